"""What `repro` says: one command, its reports in a folder, and how much of each sort it found."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import commands
import policy
from commands import Refusal

KNOWN_STATUS = {
    0: (),
    1: ("refuted", "changed"),
    2: ("unreadable",),
    3: ("inconclusive",),
    4: ("unreadable",),
}
"""The exit statuses of `repro`, and which sorts of findings each may stand for; the first, where the report has none of them."""
FORMATS = ("json", "markdown")


@dataclass(frozen=True)
class Judgement:
    """The counts of one command; `documents` is how much there was to judge."""

    title: str
    documents: int
    counts: dict[str, int]

    def save(self, folder: Path) -> None:
        (folder / "judgement.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> Judgement | None:
        """The judgement in a folder; none, where nothing was judged."""
        path = folder / "judgement.json"
        if not path.is_file():
            return None
        return Judgement(**json.loads(path.read_text(encoding="utf-8")))


def judge(title: str, program: str, arguments: list[str], folder: Path, sarif: bool) -> Judgement:
    """Runs one command of `repro`: its annotations go to the log, its summary to the job's, its other reports into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    command, *rest = arguments
    formats = [*FORMATS, "sarif"] if sarif else FORMATS
    reports = [f"--output={name}={folder / ('report.' + name)}" for name in formats]
    ran = subprocess.run(
        [program, command, "--format=github", *reports, *rest],
        capture_output=True,
        env=without_token(os.environ),
        check=False,
    )
    commands.show(ran.stderr.decode(errors="replace"))
    commands.relay(ran.stdout.decode(errors="replace"))
    found = folder / "report.json"
    if ran.returncode not in KNOWN_STATUS or not found.is_file():
        raise Refusal(
            f"a report of `repro {command}`, with an exit status that it documents",
            f"status {ran.returncode}",
            "see what it says in the log: it could not begin, or it broke",
        )
    judgement = counted(title, ran.returncode, json.loads(found.read_text(encoding="utf-8")))
    judgement.save(folder)
    return judgement


def held_against(base: str, program: str, arguments: list[str], folder: Path) -> Judgement:
    """Compares the posts with those of a commit: what is gone or weaker is taken away by the change, whatever its locks say."""
    folder.mkdir(parents=True, exist_ok=True)
    reports = [f"--output={name}={folder / ('report.' + name)}" for name in FORMATS]
    ran = subprocess.run(
        [program, "diff", base, *reports, *arguments], capture_output=True, env=without_token(os.environ), check=False
    )
    commands.show(ran.stderr.decode(errors="replace"))
    commands.show(ran.stdout.decode(errors="replace"))
    found = folder / "report.json"
    if ran.returncode not in KNOWN_STATUS or not found.is_file():
        raise Refusal(
            "a report of `repro diff`", f"status {ran.returncode}", "see what it says in the log: it could not begin, or it broke"
        )
    report = json.loads(found.read_text(encoding="utf-8"))
    for lock in report["locks"]:
        if lock["with"]:
            commands.annotate("notice", f"{lock['lock']} is {lock['how']} together with {', '.join(lock['with'])}")
    judgement = Judgement("posts against the base", 0, {**dict.fromkeys(policy.DEFAULT, 0), "weaker": report["lost"]})
    judgement.save(folder)
    return judgement


def without_token(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "REPRO_TOKEN"}


def counted(title: str, status: int, found: Mapping[str, Any]) -> Judgement:
    """Counts what a report says. Against locks it is the differences that count, whatever the verdicts are: those of a verdict, and
    those of words, expressions and files alone."""
    summary = found.get("summary", {})
    differences = found.get("locked")
    of_verdicts = sum(1 for one in differences or [] if one["is_of_verdict"])
    counts = {
        "refuted": summary.get("refuted", 0) if differences is None else of_verdicts,
        "changed": len(differences or []) - of_verdicts,
        "weaker": 0,
        "inconclusive": undecided(summary) if differences is None else 0,
        "unreadable": len(found.get("failures", [])),
    }
    least = KNOWN_STATUS[status]
    if least and not any(counts[sort] for sort in least):
        counts[least[0]] = 1
    documents = len(found.get("posts", [])) + len(found.get("documents", []))
    return Judgement(title, documents, counts)


def undecided(summary: Mapping[str, int]) -> int:
    return summary.get("inconclusive", 0) + summary.get("unchecked", 0)
