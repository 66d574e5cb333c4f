"""The one comment on a pull request: its contents, and how a later run finds it again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from api import Api, ApiError

LIMIT = 65_000
"""In bytes. GitHub accepts up to 65,536 characters, which are never more than that many bytes."""
BOT = "github-actions[bot]"
"""The account behind the token of a job, if the token may not look it up."""
REST = "\n\nThe rest did not fit here. The job summary has the whole report.\n"


def marker(environment: Mapping[str, str]) -> str:
    """An invisible line that differs between jobs, so that two jobs keep two comments."""
    job = "\0".join(environment.get(name, "") for name in ("GITHUB_WORKFLOW", "GITHUB_JOB"))
    return f"<!-- repro-action {hashlib.sha256(job.encode()).hexdigest()[:16]} -->"


def body(mark: str, head: str, changes: str, reports: Sequence[tuple[str, str]]) -> str:
    """The comment: its mark, one sentence, the changes against the base, and each titled report folded. Every part is cut at the end
    of a line if it is too long; the changes take at most half of the room."""
    text = f"{mark}\n{head}\n"
    if changes:
        text += f"\n{fitting(changes, LIMIT // 2)}"
    for at, (title, report) in enumerate(reports):
        opening, closing = f"\n<details><summary>{title}</summary>\n\n", "\n</details>\n"
        left = len(reports) - at
        room = (LIMIT - len(text.encode())) // left - len((opening + closing).encode())
        text += opening + fitting(report, room) + closing
    return text


def fitting(report: str, room: int) -> str:
    """As many whole lines of a report as fit into so many bytes."""
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
    """Edits the earlier comment of this job, or creates it. Returns a line for the log."""
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
    """Whether this account wrote a comment. Anybody may copy a mark, and a bot appears with and without its suffix."""
    author = comment.get("user") or {}
    name = str(author.get("login", ""))
    return name == login or author.get("type") == "Bot" and name == f"{login}[bot]"
