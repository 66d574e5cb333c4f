"""The files that a pull request changes, deleted ones and both names of renamed ones among them."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Mapping

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


def base_commit(request: PullRequest, server: str, token: str) -> str:
    """The commit that a pull request is held against, whose files are at hand: what GitHub merged it into, or where both ends began."""
    parents = parents_of_head()
    if len(parents) == 2 and parents[1] == request.head:
        base = parents[0]
    else:
        is_whole = git("rev-parse", "--is-shallow-repository") == b"false\n"
        began = git("merge-base", request.base, "HEAD") if is_whole else None
        if not began:
            raise no_base(request.base)
        base = began.decode().strip()
    if not (is_at_hand(base) or fetched(base, {}) or fetched(base, with_token(server, token))):
        raise no_base(base)
    return base


def parents_of_head() -> list[str]:
    """As the commit itself names them; a shallow clone hides them elsewhere."""
    head, _, _ = (git("cat-file", "commit", "HEAD") or b"").partition(b"\n\n")
    return [line[7:].decode() for line in head.splitlines() if line.startswith(b"parent ")]


def is_at_hand(commit: str) -> bool:
    return git("cat-file", "-e", f"{commit}^{{commit}}") is not None


def fetched(commit: str, settings: Mapping[str, str]) -> bool:
    """Whether the server gives the files of one commit."""
    words = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1", "origin", commit)
    return git(*words, settings={"GIT_TERMINAL_PROMPT": "0", **settings}) is not None and is_at_hand(commit)


def with_token(server: str, token: str) -> dict[str, str]:
    """The token as `actions/checkout` gives it to git, in no argument that others see."""
    secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{server}/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {secret}",
    }


def no_base(commit: str) -> Refusal:
    return Refusal(
        f"the commit {commit}, which the pull request is held against",
        "a clone without it, and no answer of its server",
        "check out with `fetch-depth: 0`",
    )


def git(*arguments: str, settings: Mapping[str, str] | None = None) -> bytes | None:
    """What git prints; nothing where it cannot."""
    environment = {**os.environ, **(settings or {})}
    try:
        ran = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, env=environment, check=False)
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
