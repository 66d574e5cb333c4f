"""The files of a run's folder: lines that grow, and documents that are written in one step."""
from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
from typing import Any, Callable, Dict, Iterable, Optional, Set, Tuple

from ._json import Unwritable, canonical

LINE_CAP, DOCUMENT_CAP = 1 << 20, 16 << 20  # what `repro verify` reads
PARTIAL = ".receipt-partial"  # no name that others give their files
ABANDONED = "data/abandoned"
BINARY = getattr(os, "O_BINARY", 0)


def sync_folder(path: pathlib.Path) -> None:
    """Makes the names in a folder durable."""
    if os.name != "nt":  # there folders cannot be opened
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256(chunks: Iterable[bytes]) -> str:
    """The digest of bytes that arrive in pieces."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


class Lines:
    """A file that grows by whole lines. It is created with its first line, so an absent part is an absent file."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.descriptor: Optional[int] = None
        # What is written and known to be: length, digest, chain. One value, so that no interrupt parts them.
        self.written: Tuple[int, Any, str] = (0, hashlib.sha256(), "")

    @property
    def chain(self) -> str:
        """The chain of the last line."""
        return self.written[2]

    def append(self, line: bytes, chain: str = "") -> None:
        """Adds a line, or leaves no more than a torn one that the next line replaces."""
        if len(line) > LINE_CAP:
            raise Unwritable(f"a line of {len(line)} bytes, more than {LINE_CAP}")
        descriptor = self.descriptor
        if descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | BINARY
            descriptor = self.descriptor = os.open(self.path, flags, 0o666)
        self.cut()
        left = memoryview(line)
        while left:
            left = left[os.write(descriptor, left):]
        size, digest, _ = self.written
        digest = digest.copy()
        digest.update(line)
        self.written = (size + len(line), digest, chain)

    def cut(self) -> None:
        """Removes the remains of a failed write."""
        if self.descriptor is not None and os.fstat(self.descriptor).st_size > self.written[0]:
            os.ftruncate(self.descriptor, self.written[0])

    def reopen(self, size: int, chain: str) -> None:
        """Continues after the first `size` bytes of the file, whose last line has this chain; the rest is cut."""
        digest = hashlib.sha256(self.path.read_bytes()[:size])
        if self.descriptor is None:
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | BINARY)
        self.written = (size, digest, chain)
        self.cut()

    def settle(self) -> None:
        """Makes the lines durable; removes a file without any."""
        if self.descriptor is None:
            return
        self.cut()
        os.fsync(self.descriptor)
        if not self.written[0]:
            os.close(self.descriptor)
            self.descriptor = None
            self.path.unlink()

    def close(self) -> None:
        """Closes the file."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class Folder:
    """The folder of a run. Files from before a kill that now have different contents are moved aside, never lost."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.files: Dict[str, Tuple[int, str]] = {}  # sizes and digests of what the run wrote
        self.written: Set[str] = set()  # what this process wrote
        self.inherited: Set[str] = set()  # those of them that were there when the run was resumed
        self.aside: Callable[[str], str] = lambda name: name  # where a file goes that came out otherwise

    def put(self, name: str, chunks: Iterable[bytes], listed: bool = True, extends: bool = False) -> str:
        """Writes a file atomically: it has all of its bytes, or it does not exist. Returns its digest. A file that only
        `extends` its version from before a kill leaves nothing to move aside."""
        path, partial = self.path / name, self.path / (name + PARTIAL)
        path.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        try:
            with open(partial, "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                file.flush()
                os.fsync(file.fileno())
            if name in self.inherited and not extends:
                self._outdated(name, digest.hexdigest())
            os.replace(partial, path)
            self.written.add(name)
        except BaseException:
            self.drop(name + PARTIAL)
            raise
        if listed:
            self.files[name] = (size, digest.hexdigest())
        return digest.hexdigest()

    def document(self, name: str, value: Any, listed: bool = True, extends: bool = False) -> None:
        """Writes canonical JSON."""
        self.text(name, canonical(value) + "\n", listed, extends)

    def text(self, name: str, text: str, listed: bool = True, extends: bool = False) -> None:
        """Writes a document."""
        data = text.encode()
        if len(data) > DOCUMENT_CAP:
            raise Unwritable(f"a document of {len(data)} bytes, more than {DOCUMENT_CAP}")
        self.put(name, [data], listed, extends)

    def _outdated(self, name: str, digest: str) -> None:
        """Moves a file from before a kill aside, unless it is the same again."""
        if self.files[name][1] != digest:
            self.put_aside(name)
        self.inherited.discard(name)

    def put_aside(self, name: str) -> None:
        """Moves a file from before a kill to the abandoned ones."""
        aside = self.aside(name)
        (self.path / aside).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.path / name, self.path / aside)
        self.files[aside] = self.files.pop(name)
        self.inherited.discard(name)

    def take(self, name: str) -> None:
        """Lists a file that already exists."""
        digest, size = hashlib.sha256(), 0
        with open(self.path / name, "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
                size += len(chunk)
        self.files[name] = (size, digest.hexdigest())
        if not name.startswith(f"{ABANDONED}/"):
            self.inherited.add(name)

    def drop(self, name: str) -> None:
        """Removes a file."""
        self.files.pop(name, None)
        with contextlib.suppress(OSError):  # it was not there, or will be found when the bundle is made
            (self.path / name).unlink()

    def check(self, files: Dict[str, Tuple[int, str]]) -> None:
        """Reads files back; raises if one differs from what was written."""
        for name, (size, digest) in files.items():
            with open(self.path / name, "rb") as file:
                found = sha256(iter(lambda: file.read(1 << 20), b""))
                if found != digest or os.fstat(file.fileno()).st_size != size:
                    raise Unwritable(f"{name} differs from what was written")

    def sweep(self, ours: Set[str]) -> None:
        """Removes the remains of interrupted writes, and folders without files. Raises if there are files that are not among
        `ours`."""
        others = []
        for folder, folders, names in os.walk(self.path, topdown=False):
            for one in (*names, *(name for name in folders if os.path.islink(os.path.join(folder, name)))):
                path = pathlib.Path(folder, one)
                name = path.relative_to(self.path).as_posix()
                if name not in ours and name.endswith(PARTIAL):
                    path.unlink()
                elif name not in ours:
                    others.append(name)
            if not os.listdir(folder):
                os.rmdir(folder)  # what was to lie there could not be written
        if others:
            told = ", ".join(sorted(others)[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
            raise Unwritable(f"files that the run did not write: {told}; move them away and finish again, or in another "
                             "process `init(..., resume=True).finish()`")
