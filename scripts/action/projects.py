"""Where posts lie: the project that is verified, and others in the repository that are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from commands import Refusal

PLAIN = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*", re.ASCII)
"""Names of folders that can be told anywhere: they hold no markup and no command."""
POST = re.compile(rb'^\s*schema\s*=\s*"repro\.post/', re.MULTILINE)
"""What every post file says."""
LOOK = 1 << 20
"""So many bytes of a file are looked at."""
NAMED = 5
"""So many folders are told."""


@dataclass(frozen=True)
class Project:
    """A folder that holds `repro/`, relative to the top of the repository, and whether the workflow names it."""

    folder: Path
    is_named: bool

    def posts(self) -> list[Path]:
        return list((self.folder / "repro").glob("*.toml"))

    def locks(self) -> list[Path]:
        return list((self.folder / "repro").glob("*.lock"))

    def is_of_posts(self, name: str) -> bool:
        """Whether a file is a post or a lock of the project."""
        path = Path(name)
        return path.parent == self.folder / "repro" and path.suffix in (".toml", ".lock")

    def is_input(self, name: str) -> bool:
        """Whether a file is one that the posts of the project may rest on."""
        return any(Path(name).is_relative_to(self.folder / part) for part in ("repro", "receipts"))


def of(environment: Mapping[str, str]) -> Project:
    """The project that the input names; the top of the repository, where it names none."""
    named = environment.get("REPRO_PROJECT", "").strip()
    folder = Path(named)
    is_within = not folder.is_absolute() and ".." not in folder.parts
    if named and not (is_within and (folder / "repro").is_dir()):
        raise Refusal(
            "a folder of the repository that holds `repro/` in the input `project`", f"{named!r}", "correct it"
        )
    return Project(folder, bool(named))


def elsewhere(names: Iterable[str]) -> list[str]:
    """Folders below the top whose posts, locks or receipts a change touches: they hold posts that nobody verifies."""
    owners = {owner for name in names for owner in owners_of(PurePosixPath(name))}
    return sorted(str(owner) for owner in owners)


def owners_of(name: PurePosixPath) -> Iterable[PurePosixPath]:
    """The folders whose `repro/` or `receipts/` a file lies in."""
    for above in name.parents:
        owner = above.parent
        if owner == PurePosixPath(".") or above.name not in ("repro", "receipts"):
            continue
        is_own = above.name == "repro" and name.parent == above and is_of_posts(name)
        if is_own or above.name == "receipts" and holds_posts(Path(owner)):
            yield owner


def is_of_posts(name: PurePosixPath) -> bool:
    """Whether a file is a post, or was one, or is a lock."""
    if name.suffix == ".toml":
        return is_post(Path(name)) if Path(name).exists() else True
    return name.suffix == ".lock" and Path(name.with_suffix(".toml")).exists()


def holds_posts(folder: Path) -> bool:
    return any(is_post(path) for path in (folder / "repro").glob("*.toml"))


def is_post(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return POST.search(file.read(LOOK)) is not None


def warning(folders: list[str]) -> str:
    """What is said of posts that are not verified; a name that is not plain is counted only."""
    plain = [folder for folder in folders if PLAIN.fullmatch(folder)][:NAMED]
    others = len(folders) - len(plain)
    told = [f"`{folder}`" for folder in plain]
    if others:
        told.append(f"{others} {'folder' if others == 1 else 'folders'}")
    example = plain[0] if plain else "FOLDER"
    return (
        f"posts or receipts changed below {' and '.join(told)}, and are not verified: "
        f"name the folder in a step of its own, as in `project: {example}`"
    )
