"""Starts a run, or resumes it after it was killed."""
from __future__ import annotations

import os
import pathlib
from typing import Any, Dict, Mapping, Optional, Union

from ._found import DECLARED, Found, read_state
from ._head import OWN_EXTRA, lost_by_rank
from ._head import head as head_of
from ._head import rank as rank_of
from ._json import Unwritable, plain
from ._lock import LOCK, Busy, RunLock
from ._run import Run

SECTIONS = ("trainer", "seeds", "model", "data", "contract", "run")


def init(name: Optional[str] = None, dir: Union[str, "os.PathLike[str]", None] = None,
         config: Optional[Mapping[str, Any]] = None, trainer: Optional[Mapping[str, Any]] = None,
         seeds: Optional[Mapping[str, Any]] = None, model: Optional[Mapping[str, Any]] = None,
         data: Optional[Mapping[str, Any]] = None, contract: Optional[Mapping[str, Any]] = None,
         study: Optional[str] = None, arm: Optional[str] = None, environment: Optional[Mapping[str, Any]] = None,
         extra: Optional[Mapping[str, Any]] = None, rank: Optional[int] = None, *, group: Optional[str] = None,
         resume: bool = False, allow_changes: bool = False, max_mb: Optional[float] = None) -> Run:
    """Creates the folder DIR/NAME and returns the run that writes into it. All arguments up to `seeds` are required; the
    dicts have the fields of a receipt. Runs of one `group` differ only in their seeds.

    With `resume`, a killed run resumes where it stopped; if there is none, a new one starts. Arguments that differ from
    before are rejected, or with `allow_changes` recorded in the receipt (`extra.resumes`).

    `max_mb` limits the size of checkpoints and slices, in megabytes (2.5 by default; the first of them is then kept
    whatever its size). Data beyond the limit is left out, in the order of training: gradients of a slice before the
    slice itself; of a checkpoint, the digest remains. A message is printed once, and the receipt lists it (`extra.left_out`).

    Raises `Unwritable`, a `ValueError`, if an argument is invalid in a receipt or differs from the run's arguments
    before it was killed, and `FileExistsError` if the folder contains a run, or another process writes it. If the folder
    cannot be created, prints a message on stderr, and the run continues without a receipt."""
    if rank_of(rank):
        idle = Run(None, {})
        idle._lost = lost_by_rank(rank)
        return idle
    more = {} if group is None else {"group": group}
    sections = {"trainer": trainer, "seeds": seeds, "model": model, "data": data, "contract": contract,
                "environment": environment}
    head = head_of(name, dir, sections, {"id": name, "study": study, "arm": arm}, config, {**(extra or {}), **more})
    kept: Dict[str, Any] = plain({**(extra or {}), **more})  # as it is now, whatever becomes of the table
    machine = head.pop("environment")
    folder = pathlib.Path(dir or "").absolute() / str(name)  # wherever the program goes later
    run = Run(folder, head, machine, kept, max_mb)
    try:
        _open(run, dict(config or {}), resume, allow_changes)
    except FileExistsError:
        raise
    except OSError as error:
        run._problem(f"{folder} is not writable, so this run leaves no receipt", error)
        run._idle, run._lost = True, ""
    return run


def _open(run: Run, config: Dict[str, Any], resume: bool, allow_changes: bool) -> None:
    """Creates the folder and starts the run, or resumes it."""
    folder = run.path
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_finished(folder)
    if not resume and _contents(folder):
        raise FileExistsError(f"{folder} already contains a run (unfinished); resume it with resume=True, choose another name, "
                              "or move it away")
    lock = RunLock(folder)
    try:
        _refuse_finished(folder)  # by the process that had the lock before
        state = read_state(folder) if _contents(folder) else None
        if state is not None and not resume:
            raise Busy(f"another process has just started a run in {folder}")
        run._lock = lock
        if state is None:
            run._start(config)
        else:
            found = Found(run._folder, state)
            run._resume(found, config, _changes(run, found, config, allow_changes))
    except BaseException:
        run._lock = None
        lock.release(remove=False)
        raise


def _contents(folder: pathlib.Path) -> bool:
    return any(path.name != LOCK for path in folder.iterdir())


def _refuse_finished(folder: pathlib.Path) -> None:
    if (folder / DECLARED).exists():
        raise FileExistsError(f"{folder} already contains a run (finished); choose another name, or move it away")


def _changes(run: Run, found: Found, config: Dict[str, Any], allowed: bool) -> Dict[str, Any]:
    """Arguments from before the run was killed that differ now."""
    head, before = found.state["head"], {}
    told = {name: (head.get(name) or {}, run._head.get(name) or {}) for name in SECTIONS}
    told.update(config=({key: value for key, value in found.config.items() if key in config}, plain(config)),
                extra=({key: value for key, value in found.state["extra"].items() if key not in OWN_EXTRA}, run._extra))
    for section, (was, is_now) in told.items():
        other = {key: was.get(key) for key in (*was, *is_now) if was.get(key) != is_now.get(key)}
        if other:
            before[section] = other
    if before and not allowed:
        words = [f"{section}.{key} was {was!r} and is {told[section][1].get(key)!r}"
                 for section, other in before.items() for key, was in other.items()]
        raise Unwritable(f"{run.path}: {'; '.join(words)}; start a run with a different name, or pass allow_changes=True, which "
                         "the receipt records")
    run._extra = {**found.state["extra"], **run._extra}
    return before
