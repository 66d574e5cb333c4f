#!/usr/bin/env python3
"""Builds the program as it is published, tries it where nothing else is installed, and packs it.

    scripts/release.py TARGET [--out DIR]      DIR/repro-VERSION-TARGET.tar.gz, and for an image the checker alone, DIR/image-TARGET/repro

TARGET is a triple of Rust whose standard library is installed. Programs for Linux are linked statically. Equal sources and
tools give an equal archive: names are sorted, and times and owners are left out.
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


def build(target: str, profile: str, *features: str) -> Path:
    """The program, linked statically where that can be."""
    registry = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    # where it was built is nobody's business, and would make another program of it
    flags = [f"--remap-path-prefix={ROOT}=/repro", f"--remap-path-prefix={registry}=/cargo"]
    if "linux" in target:
        # musl links statically by itself; said once more, the same holds for glibc
        flags += ["-C", "target-feature=+crt-static"]
    environment = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)}
    command = ["cargo", "build", "--locked", "--profile", profile, "--target", target, "--bin", "repro", *features]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return ROOT / "target" / target / profile / "repro"


JUDGES = [(["verify", "--post", "0004"], 1), (["verify", "--post", "all", "--locked"], 0)]
BITS = [(["devices", "--device", "cpu"], 0)]


def try_out(program: Path, target: str, commands: list[tuple[list[str], int]]) -> None:
    """What a release has to do, in an empty environment: its main job, and the bits of the arithmetic."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments], cwd=ROOT, env={}, capture_output=True, text=True, check=False
        )

    if "linux" in target:
        dynamic = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        if not any(words in dynamic.stdout + dynamic.stderr for words in ("statically linked", "not a dynamic")):
            sys.exit(f"{program} is not linked statically:\n{dynamic.stdout}{dynamic.stderr}")
    for arguments, status in commands:
        ran = run(*arguments)
        if ran.returncode != status:
            sys.exit(f"repro {' '.join(arguments)} ended with {ran.returncode}, not {status}:\n{ran.stderr}")
    told = run("--version").stdout.split()
    if told[-1:] != [version()]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "release-files")
    given = parser.parse_args()
    program = build(given.target, "dist")
    try_out(program, given.target, JUDGES + BITS)
    image = given.out / f"image-{given.target}"
    image.mkdir(parents=True, exist_ok=True)
    file = pack(program, f"repro-{version()}-{given.target}", given.out)
    # an image judges; whoever trains has a GPU, for which a static program is of no use
    checker = build(given.target, "release", "--no-default-features")
    try_out(checker, given.target, JUDGES)
    shutil.copy(checker, image / "repro")
    for path in (file, program, image / "repro"):
        print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
