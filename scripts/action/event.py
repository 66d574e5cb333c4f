"""What happened, as GitHub tells it in the file that `GITHUB_EVENT_PATH` names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commands import Refusal

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class PullRequest:
    """A proposed change: its number, its two ends, and whether it comes from another repository."""

    number: int
    base: str
    head: str
    is_from_fork: bool


@dataclass(frozen=True)
class Event:
    """The name of an event, the pull request that it is about, and whether the repository is private."""

    name: str
    is_private: bool
    pull_request: PullRequest | None


def load(environment: Mapping[str, str]) -> Event:
    """Reads the event of this run."""
    name = environment.get("GITHUB_EVENT_NAME", "")
    if name == "pull_request_target":
        raise Refusal(
            "`on: pull_request`",
            "`pull_request_target`",
            "that event gives a token that can write to a run about files of strangers",
        )
    path = environment.get("GITHUB_EVENT_PATH", "")
    try:
        with open(path, encoding="utf-8") as file:
            payload = json.load(file)
        repository = payload.get("repository", {})
        return Event(name, bool(repository.get("private")), pull_request(name, payload))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refusal(
            "the event of this run in the file that GITHUB_EVENT_PATH names",
            f"{path!r}: {error!r}",
            "run this as a step of GitHub Actions",
        ) from error


def pull_request(name: str, payload: Mapping[str, Any]) -> PullRequest | None:
    if name != "pull_request":
        return None
    about = payload["pull_request"]
    base, head = about["base"], about["head"]
    # The repository of a fork may be gone by now.
    is_from_fork = (head.get("repo") or {}).get("id") != base["repo"]["id"]
    return PullRequest(int(about["number"]), commit(base), commit(head), is_from_fork)


def commit(end: Mapping[str, Any]) -> str:
    name = end["sha"]
    if not COMMIT.fullmatch(name):
        raise ValueError(f"no name of a commit: {name!r}")
    return str(name)
