"""Calls that never raise into a training loop: each problem is printed once on stderr and listed in the receipt."""
from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from typing import Any, Callable, Dict, List, TypeVar, cast

from ._json import Unwritable

PROBLEM_CAP = 100  # of the problems that are listed

FORKED = ("a process forked from the one that started a run writes nothing into it, and its calls are lost; call "
          "`init` in the process that trains, or pass its numbers back")
SEALED = "the run is sealed, so this call after `finish` writes nothing; call `finish` last"

Method = TypeVar("Method", bound=Callable[..., Any])


def say(text: str) -> None:
    """Prints a message on stderr, if there is one."""
    with contextlib.suppress(Exception):
        sys.stderr.write(f"repro_receipts: {text}\n")
        sys.stderr.flush()


def quiet(method: Method) -> Method:
    """Runs a method of a run on rank 0, one at a time."""
    @functools.wraps(method)
    def call(self: "Quiet", *arguments: Any, **named: Any) -> Any:
        if self._is_away:
            return self._tell_away()
        name, thread = method.__name__.lstrip("_"), threading.get_ident()
        if self._writer == thread:  # a signal's handler, in the middle of a line
            return self._problem(name, Unwritable("called inside another call"), keep=False)
        with self._mutex:
            self._writer = thread
            try:
                if self._bundle is not None:
                    raise Unwritable(SEALED)
                return method(self, *arguments, **named)
            except Exception as error:
                return self._problem(name, error)
            finally:
                self._writer = None
    return cast(Method, call)


class Quiet:
    """The state that such calls share."""

    def __init__(self, idle: bool) -> None:
        self._idle = idle
        self._process, self._mutex = os.getpid(), threading.Lock()
        self._lost = "" if idle else FORKED  # what is said of calls of a process that writes nothing, where they are a loss
        self._writer: "int | None" = None
        self._bundle: "str | None" = None
        self._problems: Dict[str, int] = {}

    @property
    def problems(self) -> List[str]:
        """The problems so far."""
        return [text if count == 1 else f"{text} ({count} times)" for text, count in self._problems.items()]

    @property
    def is_finished(self) -> bool:
        """Whether the run is sealed."""
        return self._bundle is not None

    @property
    def _is_away(self) -> bool:
        """Whether this process writes nothing: it has another rank, or was forked from the one that writes."""
        return self._idle or os.getpid() != self._process

    def _tell_away(self) -> None:
        """Prints once that calls of such a process are lost."""
        lost, self._lost = self._lost, ""
        if lost:
            say(lost)

    def problem(self, what: str, error: BaseException) -> None:
        """Lists a failure of code that writes into this run: it is printed once and recorded in the receipt."""
        if self._is_away:
            return
        if self._writer == threading.get_ident():
            self._problem(what, error, keep=False)
        else:
            with self._mutex:
                self._problem(what, error)

    def _problem(self, what: str, error: BaseException, keep: bool = True) -> None:
        """Lists a failure, and prints it if it is new. The text contains no folder of this machine. In the middle of another
        call of this thread nothing may be written, and the list is not to be kept (`keep`)."""
        reason = getattr(error, "strerror", None) or (
            str(error) if isinstance(error, Unwritable) else f"{type(error).__name__}: {error}")
        text = f"{what}: {reason}".encode("utf-8", "replace").decode()[:500]
        if len(self._problems) >= PROBLEM_CAP and text not in self._problems:
            text = "further problems"
        self._problems[text] = self._problems.get(text, 0) + 1
        if self._problems[text] == 1:
            say(text)
            if keep and self._bundle is None:  # a bundle is not touched again
                self._keep()

    def _keep(self) -> None:
        """Saves run-level data, such as the list of problems, so that it survives a kill."""
