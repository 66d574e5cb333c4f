"""The budget for tensor bytes of a run, and the list of what is left out."""
from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional

from ._json import Unwritable
from ._quiet import say
from ._tensors import outline

DEFAULT_MB = 2.5  # weights for one slice from update 0 of a model of 0.6 million parameters
FOLDERS = ("data/checkpoints/", "data/slices/")
LISTED = 100  # of what is left out


def size_of(tensors: Mapping[str, Any]) -> int:
    """The bytes of tensors by name as they are written: four for each element."""
    return sum(4 * math.prod(outline(tensor)[2]) for tensor in tensors.values())


class Budget:
    """The budget of a run, in bytes. Without a stated budget, the first item is always kept, so that one slice can be
    replayed whatever the size of the model."""

    def __init__(self, max_mb: Optional[float]) -> None:
        if max_mb is not None and not max_mb >= 0:
            raise Unwritable(f"max_mb: expected a number of megabytes, found {max_mb!r}")
        self.is_stated = max_mb is not None
        self.max_mb = DEFAULT_MB if max_mb is None else float(max_mb)
        self.left_out: List[str] = []
        self.reserved: Dict[int, int] = {}  # bytes for the weights from which slices start, by step

    def admits(self, kept: int, size: int) -> bool:
        """Whether `size` more bytes fit beside those that are `kept`."""
        return kept + size <= self.max_mb * 1e6 or not kept and not self.is_stated

    def leave_out(self, what: str, kept: int, size: int, is_asked: bool) -> None:
        """Lists an item that does not fit. Prints a message the first time, and each time for items that the caller requests."""
        if not self.left_out or is_asked and what not in self.left_out:
            say(f"{what} ({size / 1e6:.1f} MB) would take the checkpoints and slices of this run beyond {self.max_mb:g} MB and "
                f"is left out; `init(max_mb={math.ceil((kept + size) / 1e5) / 10:g})` keeps it. The receipt lists everything left out "
                "(`extra.left_out`)")
        if len(self.left_out) < LISTED and what not in self.left_out:
            self.left_out.append(what)

    def told(self) -> Dict[str, Any]:
        """The entry in the receipt."""
        return {"max_mb": self.max_mb, "what": list(self.left_out)}
