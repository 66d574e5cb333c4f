#!/usr/bin/env bash
# The tests of object storage, against a real S3 server on this machine: `s3s-fs`, a server over a folder, which is built here if it
# is not there yet (two minutes of one processor, 100 MB). What is given is handed on to the tests:
#
#   scripts/storage.sh
#   scripts/storage.sh storage::fetched
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.14.1
export REPRO_S3_SERVER=${REPRO_S3_SERVER:-$PWD/target/tools/bin/s3s-fs}
if ! "$REPRO_S3_SERVER" --version 2>/dev/null | grep -qF "$version"; then
  cargo install --quiet --locked --debug --root target/tools --features binary "s3s-fs@$version"
fi
export REPRO_REQUIRE_S3=1
own=(--locked --package repro-cli --package repro-bundle --features repro-cli/cloud)
cargo test "${own[@]}" --lib
cargo test "${own[@]}" --test it -- "${@:-storage::}"
