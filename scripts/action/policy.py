"""Which findings fail the job: a line of each sort that the workflow states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commands import Refusal

DEFAULT: Mapping[str, str] = {"refuted": "fail", "changed": "fail", "weaker": "fail", "inconclusive": "pass", "unreadable": "fail"}
"""What is found, from the worst on, and what then happens to the job."""
ANSWERS = ("fail", "pass")
WORDS: Mapping[str, str] = {"changed": "not as recorded", "weaker": "gone or weaker"}
"""How sorts are told whose word in the policy says too little."""


def words(sort: str) -> str:
    return WORDS.get(sort, sort)


def counted(sort: str, count: int) -> str:
    return f"{count} {words(sort)}"


@dataclass(frozen=True)
class Policy:
    """For each sort of finding `fail` or `pass`."""

    answers: Mapping[str, str]

    def fails(self, counts: Mapping[str, int]) -> list[str]:
        """The sorts of findings that fail the job."""
        return [sort for sort in DEFAULT if counts[sort] > 0 and self.answers[sort] == "fail"]

    def __str__(self) -> str:
        return " · ".join(f"{sort}: {self.answers[sort]}" for sort in DEFAULT)


def parse(text: str) -> Policy:
    """Reads lines as `refuted: fail`; a sort that has none keeps its default, and a word that is not known is refused."""
    stated: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        sort, colon, answer = (part.strip() for part in line.partition(":"))
        if not colon or sort not in DEFAULT or answer not in ANSWERS:
            raise unknown(number, line)
        if sort in stated:
            raise Refusal(
                "each sort of finding once in `policy`",
                f"`{sort}` again in line {number}",
                "leave one of the two lines",
            )
        stated[sort] = answer
    return Policy({**DEFAULT, **stated})


def unknown(number: int, line: str) -> Refusal:
    sorts, answers = ("` or `".join(words) for words in (DEFAULT, ANSWERS))
    return Refusal(
        f"`{sorts}`, a colon, and `{answers}`, in line {number} of `policy`",
        f"`{line.strip()}`",
        "correct the line, or leave it out for the default",
    )
