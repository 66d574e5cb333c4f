"""What a step says to the runner of GitHub Actions: workflow commands, outputs, the job summary."""

from __future__ import annotations

import os
import re
import secrets
import sys

ANNOTATION = re.compile(r"::(?:error|warning|notice) [^:]*::")
"""How a line of `--format github` begins; every colon of a property is escaped there."""


def escaped(text: str) -> str:
    """Text after the second `::`, in which a line end would end the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotate(level: str, text: str) -> None:
    """An annotation without a place: `notice`, `warning` or `error`."""
    print(f"::{level} title=repro::{escaped(text)}", flush=True)


def say(text: str) -> None:
    """Prints words of the action's own."""
    print(text, flush=True)


def show(text: str) -> None:
    """Prints text of others, in which no line is a command."""
    if not text.strip():
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::", flush=True)


def relay(text: str) -> None:
    """Prints the annotations of `--format github` as commands, and everything else as text."""
    lines = text.split("\n")
    commands = [line for line in lines if ANNOTATION.match(line)]
    print("".join(f"{line}\n" for line in commands), end="", flush=True)
    show("\n".join(line for line in lines if not ANNOTATION.match(line)))


def output(name: str, value: str) -> None:
    """Sets an output of the step; a value cannot end itself and begin another one."""
    end = secrets.token_hex(16)
    append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def summarize(markdown: str) -> None:
    """Adds to the job summary."""
    append("GITHUB_STEP_SUMMARY", "\n" + markdown.strip("\n") + "\n\n")


def append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(text)


class Refusal(Exception):
    """The step cannot do its work: what was expected, what was found, and the way out."""

    def __init__(self, expected: str, found: str, way_out: str) -> None:
        super().__init__(f"expected {expected}, found {found}; {way_out}")


def refused(refusal: Refusal) -> int:
    """Says why the step ends here."""
    sys.stdout.flush()
    annotate("error", str(refusal))
    return 2
