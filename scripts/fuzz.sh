#!/usr/bin/env bash
# Fuzzes every reader of strangers' bytes and writes docs/explanation/fuzzing.md.
#
# usage: scripts/fuzz.sh [CPU_SECONDS] [TARGET...]
#
# Each target runs until its process has used CPU_SECONDS (900 where none are named) of processor time, with
# what earlier calls have used counted in: a call with 0 only writes the document. The rows of targets that are not
# named stay in the document as they are. Corpora, logs and inputs that broke something are
# kept below target/fuzz. tests/fuzz/README.md says what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${1:-900}
shift $(($# > 0 ? 1 : 0))
all=(bundle decimal document envelope gguf header import json post project tables timestamp work)
targets=("${@:-${all[@]}}")
kept=$PWD/target/fuzz
document=docs/explanation/fuzzing.md
triple=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TERM_COLOR=never

# The longest input of a target: long enough for its largest seed.
longest() {
  case $1 in
    decimal) echo 512 ;;
    tables) echo 2048 ;;
    header | json) echo 4096 ;;
    import) echo 49152 ;;
    *) echo 8192 ;;
  esac
}

# The folders of seeds of a target; posts begin with those of the corpus too.
seeds() {
  echo "tests/fuzz/seeds/$1"
  if [ "$1" = post ]; then printf '%s\n' tests/corpus/*/repro; fi
}

# The sum of a column of the runs of a target.
total() { awk -v column="$2" '{ sum += $column } END { printf "%d", sum }' "$kept/runs/$1.txt" 2>/dev/null || echo 0; }

fuzz() {
  local target=$1 left log=$kept/runs/$1.log status
  mkdir -p "$kept/corpus/$target" "$kept/artifacts/$target" "$kept/runs"
  while left=$((budget - $(total "$target" 2))) && [ "$left" -gt 0 ]; do
    status=0
    # shellcheck disable=SC2046
    TIMEFORMAT='%U %S'; { time "$kept/$triple/release/$target" -max_total_time="$left" -timeout=60 \
      -rss_limit_mb=1024 -max_len="$(longest "$target")" -dict="tests/fuzz/dictionaries/$target.dict" \
      -artifact_prefix="$kept/artifacts/$target/" -print_final_stats=1 \
      "$kept/corpus/$target" $(seeds "$target") 2>"$log" || status=$?; } 2>"$kept/runs/$target.time"
    echo "$(awk '/number_of_executed_units/ { print $2 }' "$log") $(awk '{ printf "%d", $1 + $2 + 0.5 }' "$kept/runs/$target.time")" \
      >>"$kept/runs/$target.txt"
    if [ "$status" -ne 0 ]; then
      echo "$target broke: see $log and $kept/artifacts/$target" >&2
      exit 1
    fi
  done
}

# A number with thousands separators from 10,000 on.
separated() { printf '%d\n' "$1" | sed -E -e '/^.{1,4}$/b' -e ':a' -e 's/^([0-9]+)([0-9]{3})/\1,\2/' -e 'ta'; }

# The row of a target: the cost of its runs and the size of its corpus.
row() {
  printf '| `%s` | %s | %s | %s |\n' "$1" "$(awk -v cpu="$(total "$1" 2)" 'BEGIN { printf "%.1f", cpu / 60 }')" \
    "$(separated "$(total "$1" 1)")" "$(separated "$(find "$kept/corpus/$1" -type f | wc -l)")"
}

named() { [[ " ${targets[*]} " == *" $1 "* ]]; }

# The row of a target as it stands in the document.
stands() { grep -F "| \`$1\` |" "$document" 2>/dev/null || true; }

cargo fuzz build --fuzz-dir tests/fuzz --sanitizer none --debug-assertions --target-dir "$kept"
for target in "${targets[@]}"; do fuzz "$target"; done

{
  cat <<'END'
# Fuzzing

This page lists how long each parser of untrusted input has been fuzzed, and which failures were found. `scripts/fuzz.sh` writes it;
failures come from `tests/fuzz/BROKE.md`. A target is a parser with the properties that it guarantees (`tests/fuzz/targets/`). libFuzzer generates
the inputs, with overflow checks and debug assertions on. The corpus contains the inputs that reached new code.

| Target | CPU minutes | Executions | Corpus |
|---|--:|--:|--:|
END
  for target in "${all[@]}"; do
    if named "$target"; then row "$target"; else stands "$target"; fi
  done
  echo
  cat tests/fuzz/BROKE.md
} >"$kept/fuzzing.md"
mkdir -p "$(dirname "$document")"
cp "$kept/fuzzing.md" "$document"
cat "$document"
