"""A lock on the folder of a run, so that two processes never write the same run. The system releases it when the process
ends, however it ends."""
from __future__ import annotations

import os
import pathlib
import sys
import weakref
from typing import Optional

LOCK = "lock"

if sys.platform == "win32":
    import msvcrt

    def _seize(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _seize(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class Busy(FileExistsError):
    """Another process writes this run."""


_HELD: "weakref.WeakSet[RunLock]" = weakref.WeakSet()


def _forget_all() -> None:
    """Releases locks in forked workers: one that outlives its parent must not keep runs locked."""
    for lock in list(_HELD):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class RunLock:
    """The lock; it is held from the call on."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / LOCK
        self._descriptor: Optional[int] = None
        self._descriptor = self._taken(folder)
        _HELD.add(self)

    def _taken(self, folder: pathlib.Path) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                if not _seize(descriptor):
                    holder = os.read(descriptor, 40).decode("ascii", "replace").strip()
                    raise Busy(f"process {holder or 'unknown'} writes {folder}"
                               + (", which is this one: finish that run first" if holder == str(os.getpid()) else ""))
                if self._is_there(descriptor):
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # a run that ended between the two calls took its lock away

    def _is_there(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def forget(self) -> None:
        """Closes the file; the lock lasts while another process has it open."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        self.forget()

    def release(self, remove: bool) -> None:
        """Releases the lock; `remove` also deletes the file, which is not part of a bundle."""
        if self._descriptor is None:
            return
        if remove and os.name != "nt":
            self.path.unlink()
        self.forget()
        if remove and os.name == "nt":  # an open file cannot go there
            self.path.unlink()
