#!/usr/bin/env python3
"""Builds the program as it is published, tries it where nothing else is installed, and packs it.

    scripts/release.py TARGET [--out DIR]      DIR/repro-VERSION-TARGET.tar.gz, and for an image the checker alone, DIR/image-TARGET/repro
    scripts/release.py TARGET --kernels KIND [--out DIR]      DIR/repro-VERSION-TARGET-KIND.tar.gz

TARGET is a triple of Rust whose standard library is installed. KIND is `cuda` (under scripts/cuda.sh) or `metal`: the program
has candle's kernels for these devices. Programs for Linux are linked statically, but not those with kernels, which load
libraries. Equal sources and tools give an equal archive: names are sorted, and times and owners are left out.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    with open(ROOT / "Cargo.toml", "rb") as manifest:
        return tomllib.load(manifest)["workspace"]["package"]["version"]


def build(target: str, profile: str, *features: str, static: bool) -> Path:
    """The program, linked statically where that is asked for."""
    registry = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    # where it was built is nobody's business, and would make another program of it
    flags = [flag for flag in os.environ.get("CARGO_ENCODED_RUSTFLAGS", "").split("\x1f") if flag]
    flags += [f"--remap-path-prefix={ROOT}=/repro", f"--remap-path-prefix={registry}=/cargo"]
    if static:
        # musl links statically by itself; said once more, the same holds for glibc
        flags += ["-C", "target-feature=+crt-static"]
    environment = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)}
    command = ["cargo", "build", "--locked", "--profile", profile, "--target", target, "--bin", "repro", *features]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return ROOT / "target" / target / profile / "repro"


JUDGES = [(["verify", "--post", "0004"], 1), (["verify", "--post", "all", "--locked"], 0)]
BITS = [(["devices", "--device", "cpu"], 0)]


def without_device(kernels: str) -> tuple[list[str], int]:
    """What a program with kernels does where the device is missing: it says so, and ends with status 4."""
    return ["replay", "receipts/tiny-moe-torch-moe-s1", "--engine", "candle", "--device", f"{kernels}:9"], 4


def try_out(program: Path, commands: list[tuple[list[str], int]], static: bool) -> None:
    """What a release has to do, in an empty environment: its main job, and the bits of the arithmetic."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments], cwd=ROOT, env={}, capture_output=True, text=True, check=False
        )

    if static:
        dynamic = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        if not any(words in dynamic.stdout + dynamic.stderr for words in ("statically linked", "not a dynamic")):
            sys.exit(f"{program} is not linked statically:\n{dynamic.stdout}{dynamic.stderr}")
    for arguments, status in commands:
        ran = run(*arguments)
        if ran.returncode != status:
            sys.exit(f"repro {' '.join(arguments)} ended with {ran.returncode}, not {status}:\n{ran.stderr}")
    told = run("--version").stdout.split()
    if told[1:2] != [version()]:
        sys.exit(f"the program calls itself {told}, and its version is {version()}")


def pack(program: Path, name: str, out: Path) -> Path:
    """`name.tar.gz` with the program, the licence and the README in a folder `name`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, mode in sorted([(program, 0o755), (ROOT / "LICENSE", 0o644), (ROOT / "README.md", 0o644)],
                                 key=lambda file: file[0].name):
            member = tarfile.TarInfo(f"{name}/{path.name}")
            content = path.read_bytes()
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    file = out / f"{name}.tar.gz"
    with open(file, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as compressed:
        compressed.write(packed.getvalue())
    return file


def report(*files: Path) -> None:
    for file in files:
        print(f"{file}: {file.stat().st_size / 2**20:.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "release-files")
    parser.add_argument("--kernels", choices=("cuda", "metal"))
    given = parser.parse_args()
    name, static = f"repro-{version()}-{given.target}", "linux" in given.target and not given.kernels
    if given.kernels:
        program = build(given.target, "dist", "--features", given.kernels, static=static)
        try_out(program, JUDGES + BITS + [without_device(given.kernels)], static)
        given.out.mkdir(parents=True, exist_ok=True)
        report(pack(program, f"{name}-{given.kernels}", given.out), program)
        return
    program = build(given.target, "dist", static=static)
    try_out(program, JUDGES + BITS, static)
    image = given.out / f"image-{given.target}"
    image.mkdir(parents=True, exist_ok=True)
    file = pack(program, name, given.out)
    # an image judges; whoever trains has a GPU, for which a static program is of no use
    checker = build(given.target, "release", "--no-default-features", static=static)
    try_out(checker, JUDGES, static)
    shutil.copy(checker, image / "repro")
    report(file, program, image / "repro")


if __name__ == "__main__":
    main()
