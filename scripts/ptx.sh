#!/usr/bin/env bash
# The kernels of src/kernels/device/text as PTX, which CUDA's driver compiles for the device that it has:
#
#   scripts/ptx.sh            makes src/kernels/device/text/kernels.ptx and tensor_cores.ptx
#   scripts/ptx.sh --check    makes it anew, compares every byte, and has NVIDIA's assembler say what each kernel takes of
#                             six generations of devices; a kernel that spills registers is an error
#
# Needs Python 3 with pip on Linux, and no device. NVIDIA's compiler NVRTC and assembler come from PyPI into target/ptx,
# once. NVRTC is that of CUDA 12.0, so that every driver since then takes what it makes; the assembler is a
# newer one, which knows newer devices. `cargo test -p repro-kernels` reads the PTX without either.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=12.0.140
packages=("nvidia-cuda-nvrtc-cu12==$compiler" nvidia-cuda-nvcc-cu12==12.9.86)
generations=(75 80 86 89 90 100)
tools=target/ptx
folder=src/kernels/device/text
# Each with the file that names its parts, and the least generation.
made=("kernels text.rs 75" "tensor_cores tensor_cores.rs 80")

if [ "$(cat "$tools/installed" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$tools"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps \
    --target "$tools" "${packages[@]}"
  echo "${packages[*]}" >"$tools/installed"
fi

# Compiles a text, whose parts and their order are those of a file of src/kernels/device, for a generation and all later ones.
compile() {
  python3 - "$tools/nvidia/cuda_nvrtc/lib/libnvrtc.so.12" "$compiler" "$@" <<'PYTHON'
import ctypes, hashlib, pathlib, re, sys

library, compiler, source, generation = sys.argv[1:]
folder = pathlib.Path("src/kernels/device")
parts = re.findall(r'include_str!\("(text/\w+\.(?:h|cu))"\)', (folder / source).read_text())
text = b"".join((folder / part).read_bytes() for part in parts)
options = [f"--gpu-architecture=compute_{generation}".encode(), b"--fmad=false", b"--ftz=false", b"--prec-div=true",
           b"--prec-sqrt=true"]

nvrtc = ctypes.CDLL(library)
program, size = ctypes.c_void_p(), ctypes.c_size_t()


def answer(kind):
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, room)
    return room.value.decode()


if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None) != 0:
    sys.exit("ptx.sh: NVRTC takes no program")
if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) != 0:
    sys.exit(f"ptx.sh: {answer('ProgramLog')}")

# Comments name the build of the compiler, and the constants of a header of its own are used by no kernel.
lines = [line.rstrip() for line in answer("PTX").splitlines()]
constant = re.compile(r"\.global \.align 8 \.\w+ (\w*nv6target\w*)[^;]*;")
names = [found[1] for found in map(constant.fullmatch, lines) if found]
lines = [line for line in lines if line and not line.lstrip().startswith("//") and not constant.fullmatch(line)]
if any(name in line for name in names for line in lines):
    sys.exit("ptx.sh: a kernel uses a constant of the compiler's header")
print("// Made by scripts/ptx.sh.")
print(f"// SHA-256 of the text: {hashlib.sha256(text).hexdigest()}")
print(f"// Compiler: NVRTC {compiler} {b' '.join(options).decode()}")
print("\n".join(lines))
PYTHON
}

# A line for each kernel: registers of an item, bytes that it spills, bytes of its local arrays, shared bytes of a group.
assemble() {
  "$tools/nvidia/cuda_nvcc/bin/ptxas" --verbose --gpu-name "sm_$1" --output-file /dev/null "$folder/$2.ptx" 2>&1 | awk '
    /error|fatal/ { print; failed = 1 }
    /Compiling entry function/ { split($0, part, "\047"); name = part[2]; sub("repro_", "", name) }
    /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
    /Used [0-9]+ registers/ {
      shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0
      match($0, /Used [0-9]+/)
      printf "%-16s %9d %7d %5d %6d\n", name, substr($0, RSTART + 5, RLENGTH - 5), spilled, stack, shared
      count++
      if (spilled > 0) failed = 1
    }
    END { exit failed || count == 0 }'
}

for one in "${made[@]}"; do
  read -r name source least <<<"$one"
  compile "$source" "$least" >"$tools/$name.ptx"
  if [ "${1:-}" = --check ]; then
    cmp "$tools/$name.ptx" "$folder/$name.ptx"
    for generation in "${generations[@]}"; do
      [ "$generation" -ge "$least" ] || continue
      printf 'sm_%-13s registers spilled stack shared\n' "$generation"
      assemble "$generation" "$name"
    done
  else
    mv "$tools/$name.ptx" "$folder/$name.ptx"
  fi
done
