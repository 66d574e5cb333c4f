#!/usr/bin/env bash
# Whether a device computes what the processor does, through the command line:
#
#   scripts/device.sh opencl:0     the golden bits; the smoke study, trained there and here, byte for byte; a slice of
#                                  each arm of tiny-moe, replayed there and here, word for word
#   scripts/device.sh cuda:0 full  also the whole first runs of each arm, replayed from their seeds
set -euo pipefail
cd "$(dirname "$0")/.."
device=${1:?a device, such as opencl:0}
repro=${REPRO:-target/release/repro}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Seconds are told beside what the command says.
timed() {
  local began=$SECONDS
  "$@"
  echo "  $((SECONDS - began)) s on $place" >&2
}

"$repro" devices --device "$device"

for place in cpu "$device"; do
  timed "$repro" train repro/studies/smoke.toml --quiet --out "$out/$place" --device "$place" >/dev/null
done
# What differs are wall-clock times, the machine, and what hashes them.
diff --recursive --exclude timing.jsonl --exclude receipt.json --exclude manifest-sha256.txt \
  --exclude tagmanifest-sha256.txt --exclude bag-info.txt "$out/cpu" "$out/$device"
echo "smoke: $(ls "$out/cpu" | wc -l) runs with the same bytes"

for arm in dense_active dense_total moe; do
  run=receipts/tiny-moe-$arm-active12-s1
  for place in cpu "$device"; do
    timed "$repro" replay "$run" --quiet --device "$place" --format json >"$out/$place.json"
  done
  diff "$out/cpu.json" "$out/$device.json"
  echo "$arm: a slice with the same bits"
  if [ "${2:-}" = full ]; then
    [ -f target/corpus/shakespeare.txt ] || scripts/fetch_corpus.sh
    timed "$repro" replay "$run" --device "$device" --full --data repro/studies
  fi
done
