#!/bin/sh
# Makes the runs below tests/corpus/replay anew, and the slices with a fault beside them.
# Usage: scripts/reference/replay_fixtures.sh PYTHON [TEXT]     (TEXT: target/corpus/shakespeare.txt)
#
# PYTHON has `pip install torch==2.15.0 transformers==5.23.0 numpy safetensors`. Each run is trained from the config in its own
# bundle. Of a run with a fault only the slice files that differ from the honest ones are kept.
set -eu

python=$1
here=$(dirname "$0")
text=${2:-$here/../../target/corpus/shakespeare.txt}
replay=$here/../../tests/corpus/replay
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

any="rate-1pct schedule-off-by-one swapped-batch changed-token dropped-gradient-matrix dropped-gradient-norm
    moments-reset optimizer-step-off-by-one no-weight-decay beta2 other-seed"

# make NAME NAMES FAULT ...
make() {
    name=$1 names=$2
    shift 2
    "$python" "$here/torch_trainer.py" "$replay/$name/data/config.json" --text "$text" --out "$folder" \
        --name "$name" --names "$names"
    for fault; do
        "$python" "$here/plant_faults.py" "$replay/$name/data/config.json" --text "$text" \
            --out "$folder/planted" --name "$name-$fault" --names "$names" --plant "$fault"
    done
    rm -rf "${replay:?}/$name" "$replay/$name-faults"
    mv "$folder/$name" "$replay/$name"
    for fault; do
        start=slice-000040
        [ "$fault" = other-seed ] && start=slice-000000
        mkdir -p "$replay/$name-faults/$fault"
        for file in "$start.safetensors" "$start.tensors.jsonl"; do
            planted=$folder/planted/$name-$fault/data/slices/$file
            if cmp -s "$planted" "$replay/$name/data/slices/$file"; then
                echo "$name: $fault changes nothing in $file" >&2
                exit 1
            fi
            cp "$planted" "$replay/$name-faults/$fault/"
        done
    done
}

# shellcheck disable=SC2086
make torch-dense own $any
# shellcheck disable=SC2086
make torch-moe own $any dropped-gradient-router balance-1pct
make torch-moe-hf hf rate-1pct dropped-gradient-norm dropped-gradient-router

# Loops around models of transformers, whose slices state how their updates were made.
loop() {
    name=$1
    shift
    rm -rf "${replay:?}/$name"
    "$python" "$here/hf_loop.py" --text "$text" --out "$replay" --name "$name" --hidden 16 --steps 12 "$@"
    rm "$replay/$name"/*.txt
}

loop hf-qwen3-moe --model qwen3_moe --slice 0:3 --slice 6:3 --micro 2
loop hf-llama-micro --model llama --slice 6:2 --micro 8 --gradients --hidden 8
loop hf-mixtral-ties --model mixtral --slice 0:2 --hidden 8 --zero mlp.gate.weight
loop hf-qwen2-sgd --model qwen2 --slice 6:3 --optimizer sgd --lr 0.1 --freeze embed_tokens
loop hf-llama-autocast --model llama --slice 6:2 --hidden 8 --autocast
loop hf-olmo2-masters --model olmo2 --slice 6:2 --hidden 8 --masters
