#!/usr/bin/env bash
# `repro mcp` seen by tools of others: the official Python client talks to it in every mode, and every message of whole sessions is held
# against the official schemas (tests/mcp).
#
#   scripts/mcp.sh
#
# Needs Python 3.10 or later with venv; packages come from PyPI into target/mcp, once.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/mcp
packages=(mcp==2.3.0 jsonschema==4.26.0)
if [ "$(cat "$tools/installed" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  echo "${packages[*]}" >"$tools/installed"
fi
cargo build --release --locked --quiet
exec "$tools/venv/bin/python" scripts/interop/mcp_client.py "${REPRO:-target/release/repro}"
