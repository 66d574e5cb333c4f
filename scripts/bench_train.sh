#!/usr/bin/env bash
# Times training, dense and with experts, against the same model in PyTorch on the same weights and batches: eager,
# and compiled by `torch.compile` where there is a C++ compiler, in turn in one run.
# Usage: scripts/bench_train.sh [ROUNDS]. For a GPU see scripts/gpu.py.
# TWIN_PYTHON names a Python that has torch, numpy and safetensors; without it one is made below target/.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${TWIN_PYTHON:-target/twin/venv/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv target/twin/venv
    target/twin/venv/bin/pip install --quiet torch==2.15.0 numpy safetensors
fi
exec "$python" scripts/bench.py train "$@"
