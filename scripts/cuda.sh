#!/usr/bin/env bash
# Runs a command with what a build with the feature `cuda` needs; for Linux on x86-64, on machines with and without a GPU:
#
#   scripts/cuda.sh cargo build --locked --release --features cuda      the program, in target/x86_64-unknown-linux-gnu/release
#   scripts/cuda.sh scripts/release.py x86_64-unknown-linux-gnu --kernels cuda
#   scripts/cuda.sh scripts/gpu.py --pack --features cuda
#
# Needs Python 3 with pip and a C++ compiler. NVIDIA's compiler comes from PyPI into target/cuda, once; a build takes about
# 17 minutes on two cores, 10 of them for kernels.
#
# The program loads NVIDIA's libraries when a device is named, so it starts without them. A device takes a driver of CUDA 13,
# cuBLAS 13 and cuRAND, and compute capability 8.0.
set -euo pipefail
packages=$(cd "$(dirname "$0")" && pwd)/cuda.txt
tools=$(cd "$(dirname "$0")/.." && pwd)/target/cuda
toolkit=$tools/nvidia/cu13

if [ $# -eq 0 ]; then
  echo "usage: scripts/cuda.sh COMMAND [ARGUMENT...]" >&2
  exit 2
fi
if ! cmp --quiet "$packages" "$tools/installed"; then
  rm -rf "$tools"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps \
    --require-hashes --only-binary :all: --target "$tools" --requirement "$packages"
  # The linker asks for these and finds nothing in them to use: the program opens the real ones itself.
  for library in cuda nvrtc curand cublas cublasLt; do
    cc -shared -x c /dev/null -o "$toolkit/lib/lib$library.so"
  done
  # CUDA's runtime, which some of candle's kernels call, becomes part of the program.
  cp "$toolkit/lib/libcudart_static.a" "$toolkit/lib/libcudart.a"
  cp "$packages" "$tools/installed"
fi

# PTX of 8.0 serves every later device; the driver compiles it for the one that it has.
export CUDA_COMPUTE_CAP=80 CUDARC_CUDA_VERSION=13000 CUDA_HOME=$toolkit NVCC=$toolkit/bin/nvcc
# With a target that is named, even the machine's own, cargo spares build scripts the flags of the program.
export CARGO_BUILD_TARGET=${CARGO_BUILD_TARGET:-x86_64-unknown-linux-gnu}
# With this feature cudarc loads libraries. Cargo.toml cannot turn it on: cudarc's build script refuses it beside the feature
# by which candle links them.
flags=--cfg$'\x1f''feature="dynamic-loading"'
export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS:+$CARGO_ENCODED_RUSTFLAGS$'\x1f'}$flags
exec "$@"
