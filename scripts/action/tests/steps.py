"""Runs `action.yml` as a runner would: its own steps by bash with the environment that the file gives them; steps that use another
action are not run but named, with what they were given. What an expression may be is a short list, and any other fails the test."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

CHECKOUT = Path(__file__).resolve().parents[3]
ACTION = CHECKOUT / "action.yml"
EXPRESSION = re.compile(r"\$\{\{ *([^}]*?) *\}\}")
CONDITION = re.compile(r"([\w.-]+) (==|!=) '([^']*)'")


@dataclass
class Used:
    """A step that uses another action."""

    action: str
    given: dict[str, str]


@dataclass
class Run:
    """A run of the action: what it printed, its exit status, its outputs, and the steps that were not executed."""

    status: int = 0
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: list[Used] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)


class Runner:
    """Evaluates and executes the steps, in a workspace."""

    def __init__(
        self, workspace: Path, temporary: Path, environment: Mapping[str, str], upload: str = "success"
    ) -> None:
        self.workspace, self.temporary, self.upload = workspace, temporary, upload
        self.environment = environment
        self.action: dict[str, Any] = YAML(typ="safe").load(ACTION)
        self.values: dict[str, str] = {}
        temporary.mkdir(parents=True, exist_ok=True)

    def run(self, inputs: Mapping[str, str]) -> Run:
        """All steps, until one fails that may not."""
        self.values = {
            "runner.temp": str(self.temporary),
            "github.token": "token-of-the-job",
            "github.action_repository": "somebody/repro",
        }
        unknown = set(inputs) - set(self.action["inputs"])
        assert not unknown, f"no inputs: {unknown}"
        for name, about in self.action["inputs"].items():
            self.values[f"inputs.{name}"] = inputs.get(name, self.filled(about["default"]))
        run = Run()
        for step in self.action["runs"]["steps"]:
            if self.holds(step.get("if")):
                self.step(step, run)
            if run.status != 0:
                break
        for name, about in self.action["outputs"].items():
            run.outputs[name] = self.filled(about["value"])
        return run

    def step(self, step: Mapping[str, Any], run: Run) -> None:
        if "uses" in step:
            given = {name: self.filled(str(value)) for name, value in step["with"].items()}
            run.used.append(Used(step["uses"], given))
            self.values[f"steps.{step.get('id', '')}.outcome"] = self.upload
            assert self.upload == "success" or step.get("continue-on-error") is True, step
            return
        assert step["shell"] == "bash" and "${{" not in step["run"], "text of a script is not filled in"
        output, summary = self.temporary / "output", self.temporary / "summary"
        output.write_text("")
        summary.write_text("")
        script = self.temporary / "script.sh"
        script.write_text(step["run"])
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={
                **self.environment,
                "GITHUB_ACTION_PATH": str(CHECKOUT),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                **{name: self.filled(value) for name, value in step["env"].items()},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        run.executed.append(step["id"])
        run.log += ran.stdout.decode(errors="replace")
        run.summary += summary.read_text()
        run.status = ran.returncode
        for name, value in outputs(output.read_text()).items():
            self.values[f"steps.{step['id']}.outputs.{name}"] = value

    def filled(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self.value(found[1]), text)

    def value(self, name: str) -> str:
        """A value; an output that was not set is empty, and so is the outcome of a step that did not run."""
        if name in self.values:
            return self.values[name]
        assert re.fullmatch(r"steps\.[\w-]+\.(outputs\.\w+|outcome)", name), f"unknown expression: {name}"
        assert any(step.get("id") == name.split(".")[1] for step in self.action["runs"]["steps"]), name
        return ""

    def holds(self, condition: str | None) -> bool:
        if condition is None:
            return True
        known = CONDITION.fullmatch(condition)
        assert known, f"unknown condition: {condition}"
        return (self.value(known[1]) == known[3]) is (known[2] == "==")


def outputs(text: str) -> dict[str, str]:
    """Reads a file of outputs as GitHub documents it: `NAME<<END`, lines, `END`."""
    values, lines = {}, iter(text.splitlines())
    for line in lines:
        name, separator, end = line.partition("<<")
        assert separator, f"no output: {line}"
        kept = []
        for inner in lines:
            if inner == end:
                break
            kept.append(inner)
        values[name] = "\n".join(kept)
    return values


def clean_environment() -> dict[str, str]:
    """What a step inherits: nothing of a runner that these tests themselves may run on."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "REPRO_", "RUNNER_"))}
