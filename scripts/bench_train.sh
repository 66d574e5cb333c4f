#!/bin/sh
# Times training, dense and with experts, against the same model in PyTorch on the same weights and batches.
# Usage: scripts/bench_train.sh [PAIRS]
# TWIN_PYTHON names a Python that has torch, numpy and safetensors; without it one is made below target/.
set -eu
cd "$(dirname "$0")/.."

python=${TWIN_PYTHON:-target/twin/venv/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv target/twin/venv
    target/twin/venv/bin/pip install --quiet torch==2.15.0 numpy safetensors
fi
exec "$python" scripts/bench.py train "$@"
