#!/usr/bin/env bash
# Reports as pages, in a real browser:
#
#   scripts/page.sh [PAGE...]     opens these pages, or those of posts of this project and of a hostile one
#
# Needs Chromium and Node with npm; packages come from npm into target/page, once. What is looked at stands in
# scripts/page/checks.mjs. First a page is broken in each of these ways, and each has to be seen.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
tools=$project/target/page
packages=(playwright-core@1.65.1 axe-core@4.14.1)
if [ "$(cat "$tools/installed" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  (cd "$tools" && npm install --silent --no-audit --no-fund --no-save "${packages[@]}")
  echo "${packages[*]}" >"$tools/installed"
fi
chromium=${CHROMIUM:-$(command -v chromium)}
repro=${REPRO:-$project/target/release/repro}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The verdicts of a post are another matter.
page() {
  local root=$1 post=$2
  "$repro" verify --root "$root" --post "$post" --output html="$work/$post.html" >"$work/output" 2>&1 || true
  [ -s "$work/$post.html" ] || { cat "$work/output" >&2; exit 1; }
}
pages=("$@")
if [ ${#pages[@]} -eq 0 ]; then
  "$repro" init "$work/hostile" >"$work/output"
  cp scripts/page/hostile/first.* "$work/hostile/repro/"
  rm "$work/hostile/repro/first.lock"
  page "$work/hostile" first
  page "$project" 0004
  page "$project" tiny-moe
  pages=("$work/first.html" "$work/0004.html" "$work/tiny-moe.html")
fi
cd "$tools" && node "$project/scripts/page/browse.mjs" "$chromium" "$work/profile" "${pages[@]}"
