"""A replacement for trackio: with `import repro_receipts.trackio as trackio`, the run is written as a receipt.

It supports `init`, `log`, `finish` and `config`, with steps counted as in trackio: a call of `log` is a row, whose step is the
next one unless it is given. Unsupported features (spaces, media, tables, alerts, `show`) raise an error that names them;
`private`, `embed` and `settings` do not change what is recorded. Folder, group, study, seeds and the end of a run work as in
`repro_receipts.wandb`.
"""
from __future__ import annotations

import os
from typing import Any, List, Mapping, Optional, Union

from ._ending import seal_at_exit
from ._init import init as begin
from ._tracker import (TrackedRun, current, folder_name, folder_of_files, kept, not_mirrored, program_name, refuse_set,
                       seeds_of, table_of, writable)

__all__ = ["Run", "finish", "init", "log"]

_RUNS: List["Run"] = []


class Run(TrackedRun):
    """A run with trackio's interface."""

    tracker = "trackio"

    def log(self, metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
        """Logs a row."""
        row = self._row(metrics)
        at = self.step if step is None else step
        self.receipt.log(row, step=at)
        self.step = max(self.step, at + 1)

    def finish(self) -> None:
        """Seals the run."""
        self.receipt.finish()
        self.is_ended = True


def init(project: str, name: Optional[str] = None, group: Optional[str] = None, *, config: Any = None,
         resume: str = "never", settings: Any = None, private: Optional[bool] = None, embed: bool = True,
         dir: Union[str, "os.PathLike[str]"] = "receipts", trainer: Optional[Mapping[str, Any]] = None,
         seeds: Optional[Mapping[str, Any]] = None, model: Optional[Mapping[str, Any]] = None,
         data: Optional[Mapping[str, Any]] = None, rank: Optional[int] = None, **unsupported: Any) -> Run:
    """Starts a run, and finishes an active one first. `resume` ("allow", "must") resumes a killed run. The last
    six arguments are those of `repro_receipts.init`."""
    refuse_set("trackio", unsupported)
    finish()
    values = writable(table_of(config))
    folder = folder_name(name)
    if resume == "must" and not os.path.isdir(os.path.join(dir, folder)):
        raise FileNotFoundError(f"{os.path.join(dir, folder)}: resume=\"must\", but there is no such run")
    receipt = begin(folder, dir, values, {"name": program_name()} if trainer is None else trainer,
                    seeds_of(values) if seeds is None else seeds, model, data, study=project, group=group,
                    extra={"tracker": kept({"mirrors": "trackio", "name": name})},
                    resume=resume in ("allow", "must"), rank=rank)
    run = Run(receipt, folder_of_files(dir, folder), name or folder, project, group)
    seal_at_exit(receipt)
    _RUNS.append(run)
    return run


def log(metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
    """Logs a row of the active run."""
    run: Optional[Run] = current(_RUNS)
    if run is None:
        raise RuntimeError("no active run: call init() first")
    run.log(metrics, step)


def finish() -> None:
    """Seals the active run, if there is one."""
    run: Optional[Run] = current(_RUNS)
    if run is not None:
        run.finish()


def __getattr__(name: str) -> Any:
    if name == "config":
        run: Optional[Run] = current(_RUNS)
        if run is None:
            raise RuntimeError("no active run: call init() first")
        return run.config
    if name.startswith("__"):
        raise AttributeError(name)
    raise not_mirrored("trackio", name)
