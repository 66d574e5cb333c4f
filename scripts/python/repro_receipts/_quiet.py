"""Calls that never raise into a training loop: what goes wrong is said once on stderr, and listed in the receipt."""
from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from typing import Any, Callable, Dict, List, TypeVar, cast

from ._json import Unwritable

PROBLEM_CAP = 100  # of the problems that are listed

Method = TypeVar("Method", bound=Callable[..., Any])


def quiet(method: Method) -> Method:
    """Runs a method of a run on rank 0, one at a time."""
    @functools.wraps(method)
    def call(self: "Quiet", *arguments: Any, **named: Any) -> Any:
        if self._idle or os.getpid() != self._process:  # a forked worker is no writer
            return None
        name, thread = method.__name__.lstrip("_"), threading.get_ident()
        if self._writer == thread:  # a signal's handler, in the middle of a line
            return self._problem(name, Unwritable("called inside another call"), keep=False)
        with self._mutex:
            self._writer = thread
            try:
                if self._bundle is not None:
                    raise Unwritable("the run is finished")
                return method(self, *arguments, **named)
            except Exception as error:
                return self._problem(name, error)
            finally:
                self._writer = None
    return cast(Method, call)


class Quiet:
    """What such calls share."""

    def __init__(self, idle: bool) -> None:
        self._idle = idle
        self._process, self._mutex = os.getpid(), threading.Lock()
        self._writer: "int | None" = None
        self._bundle: "str | None" = None
        self._problems: Dict[str, int] = {}

    @property
    def problems(self) -> List[str]:
        """What could not be written so far."""
        return [text if count == 1 else f"{text} ({count} times)" for text, count in self._problems.items()]

    @property
    def is_finished(self) -> bool:
        """Whether the run is sealed."""
        return self._bundle is not None

    def problem(self, what: str, error: BaseException) -> None:
        """Lists a failure of something that writes into this run: it is said once, and stands in the receipt."""
        if self._idle or os.getpid() != self._process:
            return
        if self._writer == threading.get_ident():
            self._problem(what, error, keep=False)
        else:
            with self._mutex:
                self._problem(what, error)

    def _problem(self, what: str, error: BaseException, keep: bool = True) -> None:
        """Lists a failure, and says it where it is new. The text names no folder of this machine. In the middle of another
        call of this thread nothing may be written, and it is not to `keep` the list."""
        reason = getattr(error, "strerror", None) or (
            str(error) if isinstance(error, Unwritable) else f"{type(error).__name__}: {error}")
        text = f"{what}: {reason}".encode("utf-8", "replace").decode()[:500]
        if len(self._problems) >= PROBLEM_CAP and text not in self._problems:
            text = "further problems"
        self._problems[text] = self._problems.get(text, 0) + 1
        if self._problems[text] == 1:
            with contextlib.suppress(Exception):  # stderr may be gone; the receipt still lists it
                sys.stderr.write(f"repro_receipts: {text}\n")
                sys.stderr.flush()
            if keep:
                self._keep_problems()

    def _keep_problems(self) -> None:
        """Makes the list of problems survive a kill."""
