"""What the adapters in the place of trackers share: the config, the summary, names, and what is refused."""
from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import time
from typing import Any, Dict, Iterator, List, Mapping, MutableMapping, Optional, Tuple, Union

from ._json import DEPTH_CAP, Unwritable, canonical, canonical_or_left_out
from ._run import Run

SEEDS = {"init": ("seed", "random_seed", "init_seed"), "data": ("data_seed",)}


class NotMirrored(AttributeError, NotImplementedError):
    """A feature of a tracker that receipts do not support."""


def not_mirrored(tracker: str, what: str) -> NotMirrored:
    """The error for a feature that an adapter does not support."""
    return NotMirrored(f"repro_receipts.{tracker} has no `{what}`: a receipt contains a config, numbers by step, evaluations and "
                       f"a summary. Remove the call, or call the real `{tracker}` as well")


def refuse_set(tracker: str, arguments: Mapping[str, Any]) -> None:
    """Raises if one of these arguments is used."""
    for name, value in arguments.items():
        if value not in (None, False):
            raise not_mirrored(tracker, f"init({name}=...)")


def table_of(config: Any) -> Dict[str, Any]:
    """A config as a table: a mapping, or an object with attributes, such as argparse makes."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "__dict__"):
        return dict(vars(config))
    raise Unwritable(f"config: expected a table, found {config!r}")


def writable(values: Mapping[Any, Any]) -> Dict[str, Any]:
    """Settings in the form of a document; paths and other values (a type, an infinity) as Python prints them."""
    return {str(name): _writable(value, 1) for name, value in values.items()}


def _writable(value: Any, depth: int) -> Any:
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    try:
        canonical_or_left_out(value, depth=depth)
        return value
    except (TypeError, ValueError, RuntimeError):
        if isinstance(value, Mapping) and depth < DEPTH_CAP:
            return {str(name): _writable(item, depth + 1) for name, item in value.items()}
        if isinstance(value, (list, tuple)) and depth < DEPTH_CAP:
            return [_writable(item, depth + 1) for item in value]
        return repr(value).encode("utf-8", "replace").decode()


def seeds_of(config: Mapping[str, Any]) -> Dict[str, Any]:
    """The seeds that a config has under their usual names."""
    found = {kind: next((config[name] for name in names if name in config), None) for kind, names in SEEDS.items()}
    return {kind: seed for kind, seed in found.items() if isinstance(seed, (int, str)) and not isinstance(seed, bool)}


def folder_name(*given: Optional[str]) -> str:
    """The first name that is given, with `-` for what no folder of a bundle may have; else one of the time and process."""
    name = next((one for one in given if one), None)
    if name is None:
        return f"run-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return re.sub("[^A-Za-z0-9._-]", "-", name).lstrip(".") or "run"


def program_name() -> str:
    """The name of the running script, for the trainer's name."""
    return pathlib.Path(sys.argv[0]).stem or "python"


def check_values(what: str, values: Mapping[str, Any]) -> None:
    """Raises if a value is invalid in a receipt."""
    for name, value in values.items():
        if not isinstance(name, str):
            raise TypeError(f"{what}: expected strings as names, found {name!r}")
        try:
            canonical_or_left_out(value, [])
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(f"{what}: `{name}` is a {type(value).__name__}, and a receipt accepts numbers, strings and nested dicts of "
                            f"them ({error})") from None


class Config(MutableMapping[str, Any]):
    """The config of a run, by items and by attributes. Values stay, unless a change is allowed."""

    def __init__(self, run: Run) -> None:
        object.__setattr__(self, "_run", run)
        object.__setattr__(self, "_values", run.config)

    _run: Run
    _values: Dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        raise Unwritable(f"config.{name}: values of a run cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"the config has no `{name}`") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __repr__(self) -> str:
        return repr(self._values)

    def update(self, values: Any = None, allow_val_change: bool = False, **more: Any) -> None:  # type: ignore[override]
        """Adds to the config. A different value for an existing key is rejected, or with `allow_val_change` recorded."""
        given = {**table_of(values), **more}
        given = {name: json.loads(canonical(value)) for name, value in writable(given).items()}
        other = [name for name in given if name in self._values and self._values[name] != given[name]]
        if other and not allow_val_change:
            raise Unwritable("; ".join(f"config.{name} is {self._values[name]!r} and would become {given[name]!r}"
                                       for name in other) + "; pass allow_val_change=True to update()")
        if other:
            self._run.change(given)
        else:
            self._run.complete(given)
        self._values.update(given)

    def setdefaults(self, values: Any) -> None:
        """Adds keys that the config does not have."""
        self.update({name: value for name, value in table_of(values).items() if name not in self._values})

    def as_dict(self) -> Dict[str, Any]:
        """The config as a table."""
        return dict(self._values)


class Summary(MutableMapping[str, Any]):
    """Summary numbers of a run. For keys that nobody set it returns the last logged value, which no file repeats."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._logged: Dict[str, Any] = {}
        self._set: Dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self._set[name] if name in self._set else self._logged[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        raise Unwritable(f"summary.{name}: values of a run cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter({**self._logged, **self._set})

    def __len__(self) -> int:
        return len({**self._logged, **self._set})

    def update(self, values: Any = (), **more: Any) -> None:  # type: ignore[override]
        """Sets numbers; those of a table within get its name before theirs."""
        given = _flat({**dict(values), **more})
        check_values("summary", given)
        words = [name for name, value in given.items() if not _is_number(value)]
        if words:
            raise TypeError(f"summary: expected numbers, found {given[words[0]]!r} as `{words[0]}`; put strings into the config")
        self._set.update(given)
        self._run.summary(given)

    def logged(self, values: Mapping[str, Any]) -> None:
        """Takes note of the last values."""
        self._logged.update(values)


def _is_number(value: Any) -> bool:
    return isinstance(value.item() if hasattr(value, "item") else value, (int, float))


def _flat(values: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    flat: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{name}."))
        else:
            flat[f"{before}{name}"] = value
    return flat


class TrackedRun:
    """A run with the interface of a tracker."""

    tracker = ""
    settable: Tuple[str, ...] = ("name",)  # by scripts; the receipt tells it beside the name of the folder
    _is_made = False

    def __init__(self, run: Run, folder: str, name: str, project: Optional[str], group: Optional[str]) -> None:
        self.receipt = run
        """The run that is written, with the calls that a tracker lacks: `evaluation`, `task`, `checkpoint`."""
        self._folder = folder
        self.name, self.project, self.group = name, project, group
        self.is_ended = False
        self.config, self.summary = Config(run), Summary(run)
        self.step = 0 if run.last_step is None else run.last_step + 1
        self._is_made = True

    def __getattr__(self, name: str) -> Any:
        raise not_mirrored(self.tracker, f"run.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_made and name in self.settable:
            self.receipt._note("tracker_set", kept({name: value}))
        elif self._is_made and name not in ("step", "is_ended") and not name.startswith("_"):
            raise not_mirrored(self.tracker, f"run.{name} = ...")
        object.__setattr__(self, name, value)

    @property
    def dir(self) -> str:
        """A folder for files of the script, outside the receipts: a bundle contains no files from others."""
        os.makedirs(self._folder, exist_ok=True)
        return self._folder

    @property
    def resumed(self) -> bool:
        """Whether the run resumes one that was killed."""
        return self.receipt.is_resumed

    def _row(self, values: Mapping[str, Any]) -> Dict[str, Any]:
        """Values that were checked, as a row."""
        if not isinstance(values, Mapping):
            raise TypeError(f"log: expected a table of metrics by name, found {values!r}")
        check_values("log", values)
        self.summary.logged(values)
        return dict(values)


def folder_of_files(dir: Union[str, "os.PathLike[str]"], name: str) -> str:
    """The folder for a run's files from scripts: `receipts-files/NAME` next to `receipts`."""
    return os.path.join(f"{os.path.abspath(dir)}-files", name)


def kept(values: Mapping[str, Any]) -> Dict[str, Any]:
    """Tracker arguments for which a receipt has no field."""
    return {name: (list(value) if isinstance(value, tuple) else value) for name, value in values.items() if value is not None}


def current(runs: List[Any]) -> Any:
    """The active run among those that were started; None if there is none."""
    return runs[-1] if runs and not (runs[-1].is_ended or runs[-1].receipt.is_finished) else None
