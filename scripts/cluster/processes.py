"""The processes that a test started, and those that these started: found in /proc, and killed by their numbers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path


def with_arguments(*texts: str) -> list[int]:
    """The processes that have these texts in their command line; one has to be a path that nobody else has."""
    return [pid for pid in _running() if all(text.encode() in _read(pid, "cmdline") for text in texts)]


def with_environment(text: str) -> list[int]:
    """The processes that were started with this text in their environment."""
    return [pid for pid in _running() if text.encode() in _read(pid, "environ")]


def workers() -> list[int]:
    """The processes of `repro cluster work`, whoever started them: whose they are is seen by their other arguments."""
    return [pid for pid in _running() if _read(pid, "cmdline").split(b"\0")[1:3] == [b"cluster", b"work"]]


def parent(pid: int) -> int | None:
    """None of a process that is gone, and of one whose parent left it."""
    # the name of the program stands in brackets and may hold anything
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields and fields[1] != b"1" else None


def with_descendants(pid: int) -> Iterator[int]:
    """The process, its children, theirs, and so on."""
    yield pid
    for child in [other for other in _running() if parent(other) == pid]:
        yield from with_descendants(child)


def kill(*pids: int) -> None:
    """Kills these all at once, so that none has the time to notice the end of another."""
    for sent in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)


def stop(pid: int) -> None:
    """Lets it do nothing more until it is killed."""
    os.kill(pid, signal.SIGSTOP)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _running() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return b""
