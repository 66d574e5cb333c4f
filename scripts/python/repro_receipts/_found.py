"""The remains of a killed run: its state, its records up to the last whole line, and its files."""
from __future__ import annotations

import bisect
import hashlib
import json
import pathlib
from typing import Any, Dict, List, NamedTuple, Optional

from ._files import ABANDONED, PARTIAL, Folder
from ._json import Unwritable, canonical
from ._lock import LOCK

STATE, SCHEMA = "state.json", "repro.emitter-state/1"
METRICS, TIMING, CONFIG = "data/metrics.jsonl", "data/timing.jsonl", "data/config.json"
RECEIPT, EVALUATIONS = "data/receipt.json", "data/evaluation"
SUMMARY = "data/summary.csv"
OURS = (CONFIG, SUMMARY, f"{EVALUATIONS}/", f"{ABANDONED}/", "data/checkpoints/", "data/slices/")  # what runs write
DECLARED = "bagit.txt"
TAGS = ("bag-info.txt", DECLARED, "manifest-sha256.txt", "tagmanifest-sha256.txt")


class Damaged(Unwritable):
    """A folder in which no run can resume."""


class Told(NamedTuple):
    """A line that was written before a run was killed: its step, where it lies in its file, and its chain."""

    step: int
    start: int
    end: int
    chain: str


class Retelling:
    """Lines from before a kill, which the run may log again from some step on."""

    def __init__(self, lines: List[Told]) -> None:
        self._lines = lines
        self._at: Optional[int] = None
        self.again = 0  # how many were told again, as they were

    def begin(self, step: int) -> None:
        """Continues the run with this step."""
        if self._at is None:
            steps = [line.step for line in self._lines]
            # The first line of a step that is not before it: steps need not be in order.
            self._at = next((at for at, found in enumerate(steps) if found >= step), len(steps))

    @property
    def left(self) -> Optional[Told]:
        """The next line that may be logged again."""
        return None if self._at is None or self._at >= len(self._lines) else self._lines[self._at]

    @property
    def chain(self) -> str:
        """The chain before that line."""
        return self._lines[self._at - 1].chain if self._at else ""

    def tell(self) -> None:
        """Notes that the line was logged again, unchanged."""
        assert self._at is not None
        self._at += 1
        self.again += 1

    def give_up(self) -> None:
        """Notes that the remaining lines are not logged again."""
        self._at = len(self._lines)


def link(before: str, bare: str) -> str:
    """The chain of a record, from the chain of the previous record and its own text without a chain."""
    return hashlib.sha256((before + bare).encode()).hexdigest()


def whole(data: bytes) -> bytes:
    """The whole lines at the start of a file. After a power loss the file may contain zeros, which are not text."""
    text = data.partition(b"\0")[0]
    return text[:text.rfind(b"\n") + 1]


def _record(line: bytes, place: str) -> Dict[str, Any]:
    try:
        record = json.loads(line)
        if isinstance(record, dict) and isinstance(record.get("step"), int):
            return record
        problem = "no record of a step"
    except ValueError as error:
        problem = str(error)
    raise Damaged(f"{place}: {problem}; restore the original file, or start a run with a different name")


def lines_of(path: pathlib.Path, chained: bool) -> List[Told]:
    """The whole lines of a file, in order. Raises if a chain is broken, because then the file was edited."""
    told: List[Told] = []
    if not path.exists():
        return told
    at, before = 0, ""
    for number, line in enumerate(whole(path.read_bytes()).splitlines(keepends=True), 1):
        record = _record(line, f"data/{path.name}:{number}")
        chain = str(record.pop("chain", ""))
        if chained and chain != link(before, canonical(record)):
            raise Damaged(f"data/{path.name}:{number}: the chain is broken, so the file was edited; restore the original "
                          "file, or start a run with a different name")
        told.append(Told(record["step"], at, at + len(line), chain))
        at, before = at + len(line), chain
    return told


def read_state(folder: pathlib.Path) -> Optional[Dict[str, Any]]:
    """The saved state of the run; None if it was killed before it had written anything. If it was
    killed while it was sealed, its receipt contains the same."""
    try:
        state: Dict[str, Any] = json.loads((folder / STATE).read_text("utf-8"))
        if state.get("schema") != SCHEMA:
            raise Damaged(f"{STATE}: expected the schema {SCHEMA}, found {state.get('schema')!r}; resume the run with the "
                          "version of repro_receipts that began it")
        return state
    except FileNotFoundError:
        pass
    except ValueError as error:
        raise error if isinstance(error, Damaged) else Damaged(f"{STATE}: {error}") from None
    if (folder / RECEIPT).exists():
        return _of_receipt(json.loads((folder / RECEIPT).read_text("utf-8"))["predicate"])
    written = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    if [name for name in written if name not in (CONFIG, LOCK) and not name.endswith(PARTIAL)]:
        raise Damaged(f"{STATE} is missing, so the run cannot resume; start a run with a different name")
    return None


def _of_receipt(predicate: Dict[str, Any]) -> Dict[str, Any]:
    head = {key: value for key, value in predicate.items()
            if key not in ("files", "checkpoints", "slices", "environment", "extra")}
    head["run"].pop("finished", None)
    extra = predicate.get("extra", {})
    return {"head": head, "extra": {key: extra[key] for key in extra if key not in ("emitter_problems", "resumes")},
            "checkpoints": predicate.get("checkpoints", []), "slices": predicate.get("slices", []),
            "problems": extra.get("emitter_problems", []), "resumes": extra.get("resumes", [])}


class Found:
    """A run that can resume."""

    def __init__(self, folder: Folder, state: Dict[str, Any]) -> None:
        path = folder.path
        self.state = state
        self._finish_moving(path)
        self.metrics, self.timing = (lines_of(path / name, name == METRICS) for name in (METRICS, TIMING))
        self.torn_bytes = sum((path / name).stat().st_size - (lines[-1].end if lines else 0) for name, lines in (
            (METRICS, self.metrics), (TIMING, self.timing)) if (path / name).exists())
        self.config: Dict[str, Any] = json.loads((path / CONFIG).read_text("utf-8"))
        known = {name for entry in (*state["checkpoints"], *state["slices"]) for name in _files_of(entry)}
        is_sealing = (path / RECEIPT).exists()  # it is written before the tags, which else are not ours
        self.leftovers: List[str] = []  # a seal that was not closed, and files whose calls had not returned
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path).as_posix()
            if file.is_dir() or name in (METRICS, TIMING, STATE, LOCK):
                continue
            if name.endswith(PARTIAL) or is_sealing and name in (*TAGS, RECEIPT) or _is_listed(name) and name not in known:
                self.leftovers.append(name)
            elif name.startswith(OURS):
                folder.take(name)
        self.leftovers.sort(key=lambda name: name == RECEIPT)  # last: a kill in between leaves what tells them
        for entries in ("checkpoints", "slices"):
            state[entries] = [entry for entry in state[entries]
                              if all(name in folder.files for name in _files_of(entry))]

    def _finish_moving(self, path: pathlib.Path) -> None:
        """Cuts records whose copy is already among the abandoned ones: by their chains no others are equal to it."""
        kept, aside = path / METRICS, path / ABANDONED / f"{len(self.state['resumes']):03}" / "metrics.jsonl"
        if kept.exists() and aside.exists() and kept.read_bytes().endswith(aside.read_bytes()):
            with open(kept, "r+b") as file:
                file.truncate(kept.stat().st_size - aside.stat().st_size)

    def evaluations(self, folder: Folder) -> Dict[int, Dict[str, Any]]:
        """The evaluations in the folder, by step."""
        found = {}
        for name in folder.files:
            if name.startswith(f"{EVALUATIONS}/") and name.endswith(".json"):
                record = json.loads((folder.path / name).read_text("utf-8"))
                found[record["step"]] = record
        return found


def _files_of(entry: Dict[str, Any]) -> List[str]:
    """The files of a receipt entry."""
    names = [entry[key] for key in ("weights", "file") if key in entry]
    stem = entry["file"].rpartition(".")[0] if "file" in entry else None
    return names + ([f"{stem}.tensors.jsonl"] if stem else [])


def _is_listed(name: str) -> bool:
    """Whether receipts list files of this folder by name."""
    return name.startswith(("data/checkpoints/", "data/slices/")) and not name.endswith(".stated.json")


def first_from(lines: List[Told], step: int) -> Optional[Told]:
    """The first line of this step or a later one, in a file that is in order of steps."""
    at = bisect.bisect_left([line.step for line in lines], step)
    return lines[at] if at < len(lines) else None
