"""The head of a receipt: the run, its trainer, model, data, seeds and machine. Fields are checked here,
because readers reject unknown ones."""
from __future__ import annotations

import operator
import os
import platform
import re
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._json import EXACT, Unwritable, canonical, plain

# Bundles never hold pickles or archives, so no name may end like one.
OPAQUE = ".pt .pth .bin .pkl .pickle .ckpt .joblib .npy .npz .zip .tar .gz .tgz .bz2 .xz .zst .lz4 .7z .rar .jar .whl"
DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.IGNORECASE)  # on Windows
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
OWN_EXTRA = ("config_changes", "emitter_problems", "first_batch", "left_out", "renamed", "resumes", "tracker_set")  # what runs say themselves
NEEDED = {"trainer": '{"name": "my-trainer"}', "seeds": '{"init": 1, "data": 1}'}

Check = Callable[[Any], Any]


def count(value: Any) -> int:
    """A count: a whole number from 0 to 2^53."""
    if isinstance(value, bool) or not 0 <= operator.index(value) <= EXACT:
        raise Unwritable(f"expected a count, found {value!r}")
    return operator.index(value)


def _kind(kind: Any, wanted: str, holds: Callable[[Any], Any] = lambda value: True) -> Check:
    def check(value: Any) -> Any:
        if isinstance(value, bool) is not (kind is bool) or not isinstance(value, kind) or not holds(value):
            raise Unwritable(f"expected {wanted}, found {value!r}")
        return value
    return check


STRING, TRUTH, OPEN = _kind(str, "a string"), _kind(bool, "True or False"), _kind(dict, "a table")
DIGEST = _kind(str, "64 lowercase hexadecimal digits", re.compile("[0-9a-f]{64}").fullmatch)
REAL = _kind((int, float), "a number that JSON supports", lambda value: abs(value) <= EXACT)
STRINGS = _kind(list, "a list of strings", lambda value: all(isinstance(item, str) for item in value))
VERSIONS = _kind(dict, "a table of strings", lambda value: all(isinstance(item, str) for item in value.values()))


def _seed(value: Any) -> str:
    """A seed may exceed 2^53, so it is text."""
    return value if isinstance(value, str) else str(operator.index(value))


SECTIONS: Dict[str, Dict[str, Check]] = {
    "trainer": {"name": STRING, "version": STRING, "source_revision": STRING, "dirty": TRUTH,
                "lockfile_sha256": DIGEST, "arithmetic": STRING},
    "model": {"family": STRING, "params_total": count, "params_active": count, "breakdown": OPEN, "tensors": count},
    "contract": {"match": STRING, "match_target": STRING, "mismatch": REAL, "horizon": STRING, "coefficient": REAL,
                 "tokens": count, "tokens_per_step": count, "fraction": REAL},
    "seeds": {"init": _seed, "data": _seed},
    "data": {"name": STRING, "sha256": DIGEST, "unique_tokens": count, "unique_bytes": count, "tokenizer": STRING,
             "order": STRING, "validation_sha256": DIGEST, "epochs": REAL},
    "environment": {"cpu": STRING, "features": STRINGS, "threads": count, "device": STRING, "os": STRING,
                    "libraries": VERSIONS, "memory_bytes": count},
}


def _section(section: str, given: Any) -> Optional[Dict[str, Any]]:
    """A part of the receipt with its fields checked."""
    if given is None:
        return None
    checked: Dict[str, Any] = {}
    place = section
    try:
        for key, value in OPEN(given).items():
            place, check = f"{section}.{key}", SECTIONS[section].get(key)
            if check is None:
                known = ", ".join(SECTIONS[section])
                raise Unwritable(f"a receipt has no such field; use one of {known}, or `extra`")
            value = None if value is None else check(value)
            if value not in (None, {}, []):
                checked[key] = plain(value)
        if section == "trainer" and "name" not in checked:
            raise Unwritable("expected a `name`")
    except (TypeError, ValueError) as error:
        raise Unwritable(f"{place}: {error}") from None
    return checked


def head(name: Any, dir: Any, sections: Mapping[str, Any], names: Mapping[str, Any], config: Any,
         extra: Any) -> Dict[str, Any]:
    """The head of a receipt; raises at once if a field is invalid."""
    reasons: List[str] = []
    made: Dict[str, Any] = {}
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", name) \
            or name.lower().endswith((*OPAQUE.split(), ".")) or DEVICE.fullmatch(name):
        reasons.append(f"name: expected letters, digits, `.`, `_` and `-`, and not a device name, found {name!r}")
    if dir is None:
        reasons.append("dir: expected the parent folder of the run's folder")
    if sys.byteorder != "little":
        reasons.append("the tensors of this machine have their most significant byte first")
    for section, value in (("config", config), ("extra", extra or {})):
        try:
            canonical(OPEN(value))
        except (TypeError, ValueError) as error:
            reasons.append(f"{section}: {error}")
    if isinstance(extra, dict):
        reasons += [f"extra.{key}: the receipt uses this name itself; choose another" for key in OWN_EXTRA if key in extra]
    reasons += [f"{section}: expected a table, such as {NEEDED[section]}" for section in NEEDED
                if sections[section] is None]
    for section, value in sections.items():
        try:
            made[section] = _section(section, value)
        except Unwritable as error:
            reasons.append(str(error))
    made.update(schema="repro.receipt/1", origin="emitted", run={})
    for key, value in names.items():
        try:
            made["run"].update({} if value is None else {key: STRING(value)})
        except Unwritable as error:
            reasons += [f"{key}: {error}"] if key != "id" else []
    if reasons:
        raise Unwritable("; ".join(reasons))
    return made


def _line_of(path: str, name: str) -> Optional[str]:
    """The text after `name` and a colon in the first such line of a system file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
    except OSError:
        return None


def environment(given: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """The detected machine; given values take precedence. Libraries are inspected only if they are already loaded."""
    loaded: Dict[str, Any] = {name: sys.modules[name] for name in ("torch", "numpy", "jax", "tensorflow", "mlx")
                              if name in sys.modules}
    torch = loaded.get("torch")
    memory = (_line_of("/proc/meminfo", "MemTotal") or "").partition(" ")[0]
    libraries = {name: str(getattr(module, "__version__", "unknown")) for name, module in loaded.items()}
    libraries["python"] = platform.python_version()
    found: Dict[str, Any] = {
        "cpu": _line_of("/proc/cpuinfo", "model name") or platform.processor() or None,
        "os": f"{platform.system().lower()} {platform.machine()}",
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": int(memory) * 1024 if memory.isdigit() else None,
        "libraries": libraries,
    }
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        found["threads"] = int(os.environ["OMP_NUM_THREADS"])
    if not set(loaded) - {"torch", "numpy"}:
        found["device"] = "cpu"
    if torch is not None:
        found["threads"] = torch.get_num_threads()
        if torch.cuda.is_initialized():
            found["device"] = torch.cuda.get_device_name()
        elif getattr(torch.backends, "mps", None) and torch.backends.mps.is_available():
            found.pop("device", None)  # it may be either: the trainer has to say
    return _section("environment", {**found, **(given or {})})


def rank(given: Optional[int]) -> int:
    """The rank of this process: as given, or from the launcher; a single process is rank 0."""
    named = (os.environ.get(name, "") for name in RANKS)
    return operator.index(given) if given is not None else next((int(text) for text in named if text.isdigit()), 0)


def lost_by_rank(given: Optional[int]) -> str:
    """The message for calls on ranks other than 0. Empty if the rank was given, or is set together with
    WORLD_SIZE, as launchers of one training do; schedulers also number processes that train independently."""
    name = next((name for name in RANKS if os.environ.get(name, "").isdigit()), None)
    if given is not None or name is None or name == "RANK" and "WORLD_SIZE" in os.environ:
        return ""
    return (f"{name} is {os.environ[name]}, and only rank 0 writes a receipt: calls in this process are lost; if each "
            "process trains independently, pass rank=0 and a separate name to `init`")


def real(value: Any) -> float:
    """A number in a receipt."""
    number: float = REAL(float(value))
    return number
