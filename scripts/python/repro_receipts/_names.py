"""Names that a record has for members of its own, and the names under which metrics that are called so are kept."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Tuple

from ._json import canonical

BEFORE = "metric/"
# Of every record: what is said of numbers that are not finite.
OF_ALL = dict.fromkeys(("nonfinite", "not_finite"))
# Of an evaluation whose sums are told: these, and what follows from them.
OF_SUMS = dict.fromkeys(("nats", "predicted_tokens", "bytes", "blocks", "block_bytes", "loss", "bpb"))


def apart(values: Mapping[str, Any], own: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """Metrics beside members that a record has of its `own`: one of the same name and another value gets a name that is
    free. Answers the metrics, and by their new names what such were called. An own member whose value is None has one that
    is not known yet, and no metric is equal to it."""
    told: Dict[str, Any] = {}
    renamed: Dict[str, str] = {}
    for name, value in values.items():
        if name not in own:
            told[name] = value
        elif value is not None and not _is_same(value, own[name]):
            free = f"{BEFORE}{name}"
            while free in values:
                free = f"{BEFORE}{free}"
            told[free], renamed[free] = value, name
    return told, renamed


def _is_same(value: Any, own: Any) -> bool:
    try:
        return own is not None and canonical(value) == canonical(own)
    except Exception:  # of what has no place in a receipt, such as a number that is not finite
        return False
