"""Runs of adapters whose program ends without `finish`."""
from __future__ import annotations

import atexit
import sys
from typing import Callable, Optional

from ._run import Run


def seal_at_exit(run: Run, reached_end: Callable[[], Optional[bool]] = lambda: None) -> None:
    """Seals a run when the interpreter ends, unless that was done before. The receipt of a run that nobody finished states
    that it is complete only if `reached_end` confirms it; after an uncaught exception it states that it is not."""
    error = getattr(sys, "last_value", None)

    def seal() -> None:
        is_broken = getattr(sys, "last_value", None) is not error
        if not run.is_finished:
            run.finish(finished=False if is_broken else reached_end())

    atexit.register(seal)
