"""The program `repro`, called from Python: its report as an object, which a notebook shows as a page."""
from __future__ import annotations

import html
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Union

NAME = "repro.exe" if os.name == "nt" else "repro"
SCHEMAS = {"verify": "repro.report/2", "check": "repro.check/1"}

PathLike = Union[str, "os.PathLike[str]"]


class ProgramMissing(FileNotFoundError):
    """The program `repro` is not on this machine."""


class ProgramError(RuntimeError):
    """The program produced no report."""


def program() -> pathlib.Path:
    """The path of the program: REPRO_BIN, else next to the interpreter, among the scripts of this installation, or on PATH."""
    named = os.environ.get("REPRO_BIN")
    if named:
        if not os.access(named, os.X_OK):
            raise ProgramMissing(f"REPRO_BIN is {named}, which is not a program")
        return pathlib.Path(named)
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    folders = [os.path.dirname(sys.executable or ""), *schemes]
    for folder in folders:
        if folder and os.access(os.path.join(folder, NAME), os.X_OK):
            return pathlib.Path(folder, NAME)
    found = shutil.which("repro")
    if found is None:
        raise ProgramMissing("no program `repro` next to the interpreter or on PATH; "
                             "install the wheel, which includes it, or set REPRO_BIN to its path")
    return pathlib.Path(found)


class Report:
    """A report of the program. A notebook shows it as the page that `--output html=` writes."""

    def __init__(self, command: str, exit_status: int, document: Dict[str, Any], html: str, text: str) -> None:
        self.command = command
        self.exit_status = exit_status
        """The exit status of the program: 0 if everything holds (the table is in the README)."""
        self.document = document
        """The whole report, as `--format json` writes it."""
        self.html = html
        """The report as a page that loads nothing."""
        self._text = text

    @property
    def verdicts(self) -> Dict[str, int]:
        """The counts of `verified`, `refuted`, `inconclusive` and `unchecked` claims; for a check of documents, how many
        numbers are `consistent`, and how many findings are `refuted` or `inconclusive`."""
        return dict(self.document["summary"])

    @property
    def claims(self) -> List[Dict[str, Any]]:
        """All claims, each with its verdict, its reason and its evidence; for a check of documents, all findings."""
        if self.command == "check":
            return list(self.document["findings"])
        return [claim for post in self.document["posts"] for claim in post["claims"]]

    @property
    def failures(self) -> List[Dict[str, Any]]:
        """Inputs that could not be read or were rejected: code, message, place, expected and found."""
        return list(self.document["failures"])

    def __repr__(self) -> str:
        counts = " · ".join(f"{count} {name}" for name, count in self.verdicts.items())
        return f"<{self.command}: exit status {self.exit_status}; {counts}>"

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        # Sandboxed and given as a document of its own, so that the policy of the page holds in a notebook too.
        page = html.escape(self.html, quote=True)
        return (f'<iframe sandbox srcdoc="{page}" title="report of repro {self.command}" '
                'style="width:100%;height:36em;border:1px solid #ccc"></iframe>')


def _run(command: str, arguments: Sequence[str], cwd: Optional[PathLike], timeout: Optional[float]) -> Report:
    executable = program()
    with tempfile.TemporaryDirectory() as folder:
        outputs = {form: os.path.join(folder, f"report.{form}") for form in ("html", "json")}
        options = [f"--output={form}={path}" for form, path in outputs.items()]
        try:
            done = subprocess.run([str(executable), command, *options, *arguments], cwd=cwd, timeout=timeout,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding="utf-8", errors="replace")
        except OSError as error:
            raise ProgramMissing(f"{executable} cannot be executed: {error.strerror}") from error
        try:
            page, document = (pathlib.Path(path).read_text("utf-8") for path in outputs.values())
            read = json.loads(document)
        except (OSError, ValueError):
            said = done.stderr.strip() or done.stdout.strip() or "nothing"
            raise ProgramError(f"{executable} {command} exited with status {done.returncode} and without a report; it printed: "
                               f"{said}") from None
    if not isinstance(read, dict) or read.get("schema") != SCHEMAS[command]:
        raise ProgramError(f"{executable} is a different program or version: expected a report with schema {SCHEMAS[command]}")
    return Report(command, done.returncode, read, page, done.stdout)


def verify(*bundles: PathLike, post: Optional[str] = None, options: Sequence[str] = (), cwd: Optional[PathLike] = None,
           timeout: Optional[float] = None) -> Report:
    """Checks bundles on their own, or a `post` of the project in `cwd` against its bundles: `repro verify`. `options` are
    further ones of the program. A bundle that is refused is no error: its report says so (`failures`, exit status 2).

    Raises `ProgramMissing` where the program is not found, `ProgramError` where it does not come to a report, and
    `subprocess.TimeoutExpired` after `timeout` seconds."""
    named = [] if post is None else ["--post", post]
    return _run("verify", [*named, *options, "--", *(str(os.fspath(path)) for path in bundles)], cwd, timeout)


def check(*paths: PathLike, options: Sequence[str] = (), cwd: Optional[PathLike] = None,
          timeout: Optional[float] = None) -> Report:
    """Checks published results, logs and bundles for contradictions: `repro check`. Raises as `verify` does."""
    return _run("check", [*options, "--", *(str(os.fspath(path)) for path in paths)], cwd, timeout)
