"""The files that a pull request changes, deleted ones and both names of renamed ones among them."""

from __future__ import annotations

import os
import subprocess

from api import Api, ApiError
from commands import Refusal
from event import PullRequest

LISTED = 3000
"""GitHub lists no more files of one pull request."""


def changed_files(request: PullRequest, api: Api) -> list[str]:
    """From the history where it is at hand, else from GitHub."""
    names = from_history(request)
    if names is None:
        names = from_github(request, api)
    return sorted(set(names))


def from_history(request: PullRequest) -> list[str] | None:
    """A shallow clone may lack the commit from which both ends began, and then show another as that."""
    if git("rev-parse", "--is-shallow-repository") != b"false\n":
        return None
    ends = f"{request.base}...{request.head}"
    names = git("diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", ends, "--")
    return None if names is None else [os.fsdecode(name) for name in names.split(b"\0") if name]


def git(*arguments: str) -> bytes | None:
    """What git prints; nothing where it cannot."""
    try:
        ran = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, check=False)
    except OSError:
        return None
    return ran.stdout if ran.returncode == 0 else None


def from_github(request: PullRequest, api: Api) -> list[str]:
    try:
        files = api.all(f"pulls/{request.number}/files")
    except ApiError as error:
        raise Refusal(
            "the files that the pull request changes",
            f"no full history, and GitHub does not list them ({error})",
            "give the job `pull-requests: read`, or check out with `fetch-depth: 0`",
        ) from error
    if len(files) >= LISTED:
        raise Refusal(
            f"fewer than {LISTED} changed files, which is where GitHub's list ends",
            f"{len(files)}",
            "check out with `fetch-depth: 0`, or name what to check in `paths`",
        )
    names = [file[key] for file in files for key in ("filename", "previous_filename") if key in file]
    return [str(name) for name in names]
