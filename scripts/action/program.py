"""How the action comes by `repro`: a path that was given, a release, or a build of the action's own checkout."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tarfile
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from commands import Refusal

VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)")
MACHINES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
SYSTEMS = {"Linux": ("unknown-linux-musl", "unknown-linux-gnu"), "Darwin": ("apple-darwin",)}
LARGEST = 256 << 20
"""The most bytes of an archive, and of the program in it."""
BUILT_FROM = ("Cargo.toml", "Cargo.lock", ".cargo", "src", "scripts/build.rs")
"""What of a checkout decides which program comes out."""


def source(environment: Mapping[str, str]) -> str:
    """Where the program comes from: `given`, `release` or `build`."""
    given, version = (environment.get(name, "").strip() for name in ("REPRO_PROGRAM", "REPRO_VERSION"))
    if given and version:
        raise Refusal("`program` or `version`", "both", "leave one of the two inputs")
    return "given" if given else "release" if version else "build"


def checkout_key(checkout: Path) -> str:
    """The name in the cache of what is built from a checkout: the same for the same sources, system and machine."""
    digest = hashlib.sha256()
    for part in BUILT_FROM:
        top = checkout / part
        below = sorted(top.rglob("*")) if top.is_dir() else [top]
        for path in below:
            if path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(checkout).as_posix()}\0{content}\n".encode())
    return f"repro-{platform.system()}-{platform.machine()}-{digest.hexdigest()}"


def given(path: str) -> Path:
    """The program at a path: one with a separator is a file, another is looked up as a shell does."""
    found = shutil.which(path)
    if found is None:
        raise Refusal("a program in the input `program`", f"{path!r}", "build or install it in a step before")
    return Path(found).absolute()


def build(checkout: Path, folder: Path) -> Path:
    """Builds the checker of a checkout, away from what the judged repository may say about Rust."""
    built = folder / "bin" / "repro"
    if built.is_file():
        return built
    folder.mkdir(parents=True, exist_ok=True)
    command = ["cargo", "install", "--locked", "--no-default-features", "--path", str(checkout)]
    command += ["--root", str(folder), "--target-dir", str(folder.parent / "target"), "repro-cli"]
    way_out = "give a `version` that was released, or a `program`"
    try:
        ran = subprocess.run(command, cwd=folder, check=False)
    except OSError as error:
        raise Refusal("Rust on the runner", str(error), way_out) from error
    if ran.returncode != 0:
        raise Refusal("that the checkout of the action builds", f"status {ran.returncode}", way_out)
    return built


def release(version: str, environment: Mapping[str, str], folder: Path) -> Path:
    """Fetches a released program. Its digest has to be the one of the release's list, and the workflow that makes releases has to
    have attested to it: a list can be changed by whoever can change the file."""
    known = VERSION.fullmatch(version.strip())
    if known is None:
        raise Refusal("a version as `1.2.3` in the input `version`", f"{version!r}", "correct it")
    server = environment.get("GITHUB_SERVER_URL", "https://github.com")
    repository = environment.get("REPRO_ACTION_REPOSITORY", "")
    base = f"{server}/{repository}/releases/download/v{known[1]}"
    name, digest = listed(known[1], fetched(f"{base}/SHA256SUMS").decode(errors="replace"))
    archive = fetched(f"{base}/{name}")
    found = hashlib.sha256(archive).hexdigest()
    if found != digest:
        raise Refusal(f"the SHA-256 {digest} of {name}", found, "do not use this file")
    folder.mkdir(parents=True, exist_ok=True)
    packed = folder / "archive.tar.gz"
    packed.write_bytes(archive)
    verify_attestation(packed, known[1], repository, environment)
    return unpacked(packed, name, folder / "repro")


def verify_attestation(file: Path, version: str, repository: str, environment: Mapping[str, str]) -> None:
    """Asks `gh` whether the release workflow of the action's repository built a file, from the tag of the version."""
    server = environment.get("GITHUB_SERVER_URL", "https://github.com")
    command = ["gh", "attestation", "verify", os.fspath(file), "--repo", repository, "--deny-self-hosted-runners"]
    command += ["--signer-workflow", f"{repository}/.github/workflows/release.yml"]
    command += ["--source-ref", f"refs/tags/v{version}"]
    token = {"GH_TOKEN": environment.get("REPRO_TOKEN", ""), "GH_HOST": urllib.parse.urlsplit(server).netloc}
    expected = f"an attestation of the release workflow of {repository} for the archive of version {version}"
    try:
        ran = subprocess.run(command, env={**os.environ, **token}, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Refusal(expected, f"no `gh` that could look for it ({error})", "install the GitHub CLI") from error
    if ran.returncode != 0:
        raise Refusal(expected, ran.stderr.strip()[-500:], "do not use this file, or leave `version` out")


def listed(version: str, sums: str) -> tuple[str, str]:
    """The archive for this machine, with its digest."""
    machine, systems = MACHINES.get(platform.machine()), SYSTEMS.get(platform.system(), ())
    wanted = [f"repro-{version}-{machine}-{system}.tar.gz" for system in systems]
    lines = (re.fullmatch(r"([0-9a-f]{64}) [ *](\S+)", line) for line in sums.splitlines())
    digests = {line[2]: line[1] for line in lines if line}
    for name in wanted:
        if name in digests:
            return name, digests[name]
    raise Refusal(
        f"one of {wanted} in the SHA256SUMS of the release",
        f"{sorted(digests)}",
        "leave `version` out, so that the program is built",
    )


def fetched(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = bytes(answer.read(LARGEST + 1))
    except (OSError, ValueError) as error:
        raise Refusal(f"a file at {url}", str(error), "name a `version` that was released") from error
    if len(content) > LARGEST:
        raise Refusal(f"at most {LARGEST} bytes at {url}", "more", "do not use this file")
    return content


def unpacked(packed: Path, name: str, program: Path) -> Path:
    """Takes the program out of an archive, and nothing else."""
    try:
        with tarfile.open(packed, "r:gz") as files:
            found = [one for one in files if one.isfile() and one.name.split("/")[-1] == "repro"]
            content = files.extractfile(found[0]) if len(found) == 1 else None
            if content is None or found[0].size > LARGEST:
                raise Refusal(f"one program `repro` in {name}", f"{len(found)} of them", "report it")
            program.write_bytes(content.read())
    except (tarfile.TarError, OSError, EOFError) as error:
        raise Refusal(f"an archive in {name}", str(error), "report it") from error
    program.chmod(0o755)
    return program


def version_of(program: Path) -> str:
    """What a program says that it is; whether it can run here at all."""
    try:
        ran = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Refusal(f"that {os.fspath(program)!r} runs", str(error), "give another `program`") from error
    return ran.stdout.decode(errors="replace").strip()
