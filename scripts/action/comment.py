"""The one comment on a pull request: what it says, and how it is found again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from api import Api, ApiError

LIMIT = 65_000
"""GitHub takes comments of up to 65,536 characters; these are bytes, which are never fewer."""
BOT = "github-actions[bot]"
"""Who the token of a job speaks for, where it may not ask."""
REST = "\n\nThe rest did not fit here: the summary of the job has all.\n"


def marker(environment: Mapping[str, str]) -> str:
    """A line that readers do not see, of its own for each job, so that two jobs keep two comments."""
    job = "\0".join(environment.get(name, "") for name in ("GITHUB_WORKFLOW", "GITHUB_JOB"))
    return f"<!-- repro-action {hashlib.sha256(job.encode()).hexdigest()[:16]} -->"


def body(mark: str, head: str, reports: Sequence[tuple[str, str]]) -> str:
    """The comment: its mark, the head, and each titled report folded up, cut at the end of a line where they are too long."""
    text = f"{mark}\n{head}\n"
    for at, (title, report) in enumerate(reports):
        opening, closing = f"\n<details><summary>{title}</summary>\n\n", "\n</details>\n"
        left = len(reports) - at
        room = (LIMIT - len(text.encode())) // left - len((opening + closing).encode())
        text += opening + fitting(report, room) + closing
    return text


def fitting(report: str, room: int) -> str:
    """As many whole lines of a report as there is room for, in bytes."""
    if len(report.encode()) <= room:
        return report
    kept, size = [], len(REST.encode())
    for line in report.splitlines(keepends=True):
        size += len(line.encode())
        if size > room:
            break
        kept.append(line)
    return "".join(kept) + REST


def publish(api: Api, number: int, mark: str, text: str, is_new_allowed: bool) -> str:
    """Edits the comment that this job made before, or makes it; answers what was done."""
    own = [comment for comment in api.all(f"issues/{number}/comments") if is_marked(comment, mark)]
    login = own_login(api) if own else BOT
    mine = next((comment for comment in own if is_by(comment, login)), None)
    if mine is not None:
        api.ask("PATCH", f"issues/comments/{int(mine['id'])}", {"body": text})
        return "the comment was edited"
    if not is_new_allowed:
        return "there is nothing to comment on"
    api.ask("POST", f"issues/{number}/comments", {"body": text})
    return "a comment was made"


def is_marked(comment: Mapping[str, Any], mark: str) -> bool:
    return str(comment.get("body") or "").startswith(mark)


def own_login(api: Api) -> str:
    try:
        return api.login()
    except ApiError:
        return BOT


def is_by(comment: Mapping[str, Any], login: str) -> bool:
    """Whether a comment is by this account: anybody may copy a mark, and a bot is told with and without its suffix."""
    author = comment.get("user") or {}
    name = str(author.get("login", ""))
    return name == login or author.get("type") == "Bot" and name == f"{login}[bot]"
