"""What `pip install ./scripts/python` calls (PEP 517 and PEP 660): a wheel of the package and the program `repro`.

The program is, in this order,

1. the one that REPRO_BIN names, if it has the version of this checkout,
2. one that this checkout has built already, if no source is newer than it,
3. built here with the profile `quick`, without the second engine of replays (candle). What the build leaves behind is deleted, except
   the program itself in `scripts/python/build/`.

Wheels of releases are built by maturin, which reads `[tool.maturin]`: they need another linker. Standard library only, Python 3.9.
"""
from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from typing import Any, Dict, IO, Iterator, List, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
BUILD = HERE / "build"
PROFILE = "quick"
FEATURES = ["--no-default-features", "--features", "train"]
PROGRAM = "repro"


class BuildError(RuntimeError):
    """No wheel can be built."""


# --- the hooks

def get_requires_for_build_wheel(config_settings: Any = None) -> List[str]:
    return []


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    package = HERE / "repro_receipts"
    files = {f"repro_receipts/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    return write_wheel(pathlib.Path(wheel_directory), files, program())


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return write_wheel(pathlib.Path(wheel_directory), {"repro_receipts.pth": f"{HERE}\n".encode()}, program())


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    raise BuildError("the package has no source distribution, as it is built from the whole checkout; install the checkout or a wheel")


# --- the program

def version() -> str:
    """The version of the workspace."""
    found = re.search(r'^version = "(.+)"$', (CHECKOUT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise BuildError(f"{CHECKOUT / 'Cargo.toml'} has no version")
    return found.group(1)


def program() -> pathlib.Path:
    """A program of this version, which is built where there is none."""
    with progress() as say:
        named = os.environ.get("REPRO_BIN")
        if named:
            found = version_of(pathlib.Path(named))
            if found != version():
                raise BuildError(f"REPRO_BIN is {named}, which is {found or 'no program'}; this checkout is version {version()}")
            say(f"takes the program that REPRO_BIN names, {named}\n")
            return pathlib.Path(named)
        newest = newest_source()
        for path in built():
            if path.stat().st_mtime < newest[0]:
                say(f"{path} is older than {newest[1]}\n")
            elif version_of(path) == version():
                say(f"takes the program that is built already, {path}\n")
                return path
        return build(say)


def version_of(path: pathlib.Path) -> Optional[str]:
    """What a program says is its version; none where it is no program, or does not run."""
    try:
        said = subprocess.run([str(path), "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    name, found = [*said.stdout.decode("utf-8", "replace").split(), "", ""][:2]
    return found if name == PROGRAM else None


def built() -> List[pathlib.Path]:
    """Programs of this checkout that may be there, the fastest first. A debug build is too slow to install."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or CHECKOUT / "target")
    paths = [target / profile / PROGRAM for profile in ("dist", "release", PROFILE)] + [BUILD / PROGRAM]
    return [path for path in paths if path.is_file() and os.access(path, os.X_OK)]


def newest_source() -> Tuple[float, str]:
    """When what the program is made of was changed last, and which file that is."""
    paths = [CHECKOUT / "Cargo.toml", CHECKOUT / "Cargo.lock"]
    paths += [path for path in (CHECKOUT / "src").rglob("*") if path.is_file() and path.name != "README.md"]
    return max((path.stat().st_mtime, str(path.relative_to(CHECKOUT))) for path in paths)


def build(say: Any) -> pathlib.Path:
    """Builds the program in a folder of its own, and keeps nothing but the program."""
    if shutil.which("cargo") is None:
        raise BuildError("there is no program yet, and no `cargo` to build it with: install Rust (https://rustup.rs), take the wheel of "
                         "a release, which needs none, or name a program in REPRO_BIN")
    BUILD.mkdir(exist_ok=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="target-", dir=BUILD) as target:
        command = ["cargo", "build", "--locked", "--profile", PROFILE, "--bin", PROGRAM, *FEATURES, "--target-dir", target]
        total = crates()
        say(f"builds the program with the profile `{PROFILE}`: {total} crates\n")
        cargo = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        done, said = 0, []
        for line in io.TextIOWrapper(cargo.stderr, "utf-8", "replace") if cargo.stderr else ():
            said.append(line)
            if line.lstrip().startswith("Compiling "):
                done += 1
                say(f"\r{done} of {total} crates, {time.monotonic() - started:.0f} s ")
        if cargo.wait() != 0:
            raise BuildError("the program cannot be built:\n" + "".join(said[-40:]))
        shutil.copy2(pathlib.Path(target) / PROFILE / PROGRAM, BUILD / PROGRAM)
    say(f"\rthe program is built, in {time.monotonic() - started:.0f} s{' ' * 12}\n")
    return BUILD / PROGRAM


def crates() -> int:
    """How many crates the program is made of."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--edges", "normal,build", *FEATURES]
    listed = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return len({line.split(" (")[0] for line in listed.stdout.decode("utf-8", "replace").splitlines() if line})


@contextlib.contextmanager
def progress() -> Iterator[Any]:
    """Says how far the build is. pip shows nothing of what a backend prints, so a person at a terminal is told there."""
    try:
        terminal: IO[str] = open("/dev/tty", "w", encoding="utf-8")
    except OSError:
        terminal = sys.stderr
    is_terminal = terminal is not sys.stderr

    def say(text: str) -> None:
        # counts go to terminals alone
        if is_terminal or not text.startswith("\r"):
            terminal.write(text if text.startswith("\r") else f"repro-receipts: {text}")
            terminal.flush()
    try:
        yield say
    finally:
        if is_terminal:
            terminal.close()


# --- the wheel

def project() -> Dict[str, Any]:
    """`[project]` of pyproject.toml, whose values are written so that Python reads them too (it has no TOML before 3.11)."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    table = text.split("\n[project]\n", 1)[1].split("\n[", 1)[0]
    values = re.findall(r"^([a-z-]+) = (\"[^\n]*\"|\[[^\]]*\])$", table, re.MULTILINE)
    return {key: ast.literal_eval(value) for key, value in values}


def metadata() -> str:
    """METADATA of the wheel (core metadata 2.4)."""
    own = project()
    lines = ["Metadata-Version: 2.4", f"Name: {own['name']}", f"Version: {version()}", f"Summary: {own['description']}"]
    lines += [f"Keywords: {','.join(own['keywords'])}", f"License-Expression: {own['license']}"]
    lines += [f"License-File: {name}" for name in own["license-files"]]
    lines += [f"Classifier: {classifier}" for classifier in own["classifiers"]]
    lines += [f"Requires-Python: {own['requires-python']}", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (HERE / own["readme"]).read_text(encoding="utf-8")


def write_wheel(folder: pathlib.Path, files: Dict[str, bytes], executable: pathlib.Path) -> str:
    """Writes a wheel of files and a program into a folder; its name."""
    name = f"{project()['name'].replace('-', '_')}-{version()}"
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"{name}.dist-info"
    entries = dict(files)
    entries[f"{name}.data/scripts/{PROGRAM}"] = executable.read_bytes()
    entries[f"{info}/METADATA"] = metadata().encode()
    for licence in project()["license-files"]:
        entries[f"{info}/licenses/{licence}"] = (HERE / licence).read_bytes()
    wheel = f"Wheel-Version: 1.0\nGenerator: repro-receipts\nRoot-Is-Purelib: false\nTag: {tag}\n"
    entries[f"{info}/WHEEL"] = wheel.encode()
    record = io.StringIO()
    for entry, content in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.write(f"{entry},sha256={digest},{len(content)}\n")
    record.write(f"{info}/RECORD,,\n")
    entries[f"{info}/RECORD"] = record.getvalue().encode()
    path = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            member = zipfile.ZipInfo(entry, (2020, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if "/scripts/" in entry else 0o100644) << 16
            archive.writestr(member, content)
    return path.name
