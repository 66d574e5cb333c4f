"""A replacement for Weights & Biases: with `import repro_receipts.wandb as wandb`, the run is written as a receipt.

It supports `init`, `log`, `finish`, `config`, `summary`, `run`, `define_metric` and `login`, with steps counted as in wandb:
a call of `log` is a step, and with `step=` or `commit=False` the values of a step are gathered until the next one. Unsupported
features (media, tables, artifacts, sweeps, `watch`, `alert`) raise an error that names them. `login` and the arguments
`entity`, `settings`, `force` and `anonymous` do not change what is recorded.

The folder is `DIR/NAME`: `dir` ("receipts" unless given), and `name`, `id`, or the time. `group` is the group of the receipt,
`project` its study. `run.dir` is a folder for files of the script, next to the receipts (`receipts-files/NAME`). Seeds come from
the config (`seed`, `data_seed`) or from `seeds=`; `trainer=` describes more than the script.
`repro_receipts` writes config and numbers, and `run.receipt` is its run, for evaluations and checkpoints.

A run that nobody finished is sealed when the interpreter ends; its receipt then does not state that it is complete.
"""
from __future__ import annotations

import fnmatch
import os
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Union

from ._ending import seal_at_exit
from ._init import init as begin
from ._json import Unwritable
from ._tracker import (TrackedRun, current, folder_name, folder_of_files, kept, not_mirrored, program_name, refuse_set,
                       seeds_of, table_of, writable)

__all__ = ["Run", "Settings", "define_metric", "finish", "init", "log", "login"]

_RUNS: List["Run"] = []


class Settings:
    """Settings of wandb's own process, which this module does not have."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass


class Run(TrackedRun):
    """A run with wandb's interface."""

    tracker = "wandb"
    settable = ("name", "notes", "tags")

    def __init__(self, *arguments: Any, id: str, notes: Optional[str], tags: Sequence[str]) -> None:
        self.id, self.notes, self.tags = id, notes, tuple(tags)
        self._gathered: Dict[str, Any] = {}
        self._axes: Dict[str, str] = {}
        super().__init__(*arguments)
        self._may_go_back = self.resumed  # to the step of the trainer's own checkpoint, once

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.finish(exit_code=0 if kind is None else 1)

    def log(self, data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
        """Logs values of a step; see wandb's documentation for `step` and `commit`."""
        row = self._row(data)
        may_go_back, self._may_go_back = self._may_go_back, False
        if step is not None and step < self.step and may_go_back:
            self.step = step
        elif step is not None and step < self.step:
            problem = Unwritable(f"values of step {step} after those of step {self.step}, which wandb drops, too")
            self.receipt.problem("log", problem)
            return
        if step is not None and step > self.step:
            self._flush()
            self.step = step
        self._gathered.update(row)
        if commit or (commit is None and step is None) or self.is_ended:  # then it says that it comes too late
            self._flush()
            self.step += 1

    def _flush(self) -> None:
        """Writes the gathered values of a step."""
        if self._gathered:
            missing = {axis for pattern, axis in self._axes.items() for name in self._gathered
                       if axis not in self._gathered and fnmatch.fnmatchcase(name, pattern)}
            self._gathered.update({axis: self.summary[axis] for axis in missing if axis in self.summary})
            self.receipt.log(self._gathered, step=self.step)
            self._gathered = {}

    def define_metric(self, name: str, step_metric: Optional[str] = None, step_sync: Optional[bool] = None,
                      hidden: Optional[bool] = None, summary: Optional[str] = None, goal: Optional[str] = None,
                      overwrite: Optional[bool] = None) -> None:
        """Logs the last value of `step_metric` with the metrics of this name, which may end with `*`. Chart settings
        are not recorded, and a `summary` by least or greatest value follows from the records."""
        if step_metric is not None and step_sync is not False:
            self._axes[name] = step_metric

    def finish(self, exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
        """Seals the run; with an exit code other than 0 its receipt states that it is not complete."""
        self.receipt.finish(finished=not exit_code)
        self.is_ended = True


def init(entity: Optional[str] = None, project: Optional[str] = None, dir: Union[str, "os.PathLike[str]", None] = None,
         id: Optional[str] = None, name: Optional[str] = None, notes: Optional[str] = None,
         tags: Optional[Sequence[str]] = None, config: Any = None, allow_val_change: Optional[bool] = None,
         group: Optional[str] = None, job_type: Optional[str] = None,
         mode: Optional[Literal["online", "offline", "disabled"]] = None, force: Optional[bool] = None,
         reinit: Union[bool, str, None] = None, resume: Union[bool, str, None] = None, settings: Any = None,
         anonymous: Any = None, *, trainer: Optional[Mapping[str, Any]] = None, seeds: Optional[Mapping[str, Any]] = None,
         model: Optional[Mapping[str, Any]] = None, data: Optional[Mapping[str, Any]] = None, rank: Optional[int] = None,
         **unsupported: Any) -> Run:
    """Starts a run, or returns the active one. `resume` ("allow", "must", True) resumes a killed run;
    `mode="disabled"`, or WANDB_MODE, writes nothing. The last five arguments are those of `repro_receipts.init`."""
    refuse_set("wandb", unsupported)
    running: Optional[Run] = current(_RUNS)
    if running is not None and reinit not in (True, "finish_previous", "create_new"):
        return running
    if running is not None and reinit != "create_new":
        running.finish()
    if isinstance(config, str):
        raise not_mirrored("wandb", "init(config=PATH)")
    values = writable(table_of(config))
    is_disabled = (mode or os.environ.get("WANDB_MODE")) == "disabled"
    folder, dir = folder_name(name, id), dir or "receipts"
    told = kept({"mirrors": "wandb", "name": name, "id": id, "entity": entity, "job_type": job_type, "tags": tags,
                 "notes": notes})
    if resume == "must" and not os.path.isdir(os.path.join(dir, folder)):
        raise FileNotFoundError(f"{os.path.join(dir, folder)}: resume=\"must\", but there is no such run")
    receipt = begin(folder, dir, values, {"name": program_name()} if trainer is None else trainer,
                    seeds_of(values) if seeds is None else seeds, model, data, study=project, group=group,
                    extra={"tracker": told}, resume=resume in (True, "allow", "must", "auto"),
                    allow_changes=bool(allow_val_change), rank=1 if is_disabled else rank)
    run = Run(receipt, folder_of_files(dir, folder), name or folder, project, group, id=id or name or folder, notes=notes,
              tags=tags or ())
    receipt.before_finish(run._flush)
    seal_at_exit(receipt)
    _RUNS.append(run)
    return run


def _running() -> Run:
    run: Optional[Run] = current(_RUNS)
    if run is None:
        raise RuntimeError("no active run: call init() first")
    return run


def log(data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None) -> None:
    """Logs values of a step of the active run."""
    _running().log(data, step, commit)


def finish(exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
    """Seals the active run, if there is one."""
    run: Optional[Run] = current(_RUNS)
    if run is not None:
        run.finish(exit_code)


def define_metric(name: str, step_metric: Optional[str] = None, **named: Any) -> None:
    """Defines a metric of the active run."""
    _running().define_metric(name, step_metric, **named)


def login(*arguments: Any, **named: Any) -> bool:
    """Does nothing: there is no server to log in to."""
    return True


def __getattr__(name: str) -> Any:
    if name == "run":
        return current(_RUNS)
    if name in ("config", "summary"):
        return getattr(_running(), name)
    if name.startswith("__"):
        raise AttributeError(name)
    raise not_mirrored("wandb", name)
