"""Runs a workflow as GitHub's runners would, on this machine: its `run:` steps by bash, each job in a folder of its own, and of the
actions those that move files, with folders for artifacts. What it does not know fails the test."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from case import PROGRAM

EXPRESSION = re.compile(r"\$\{\{ *([^}]*?) *\}\}")
COMPARISON = re.compile(r"([\w.-]+) (==|!=) '([^']*)'")
LIST = re.compile(r"\$\{\{ *fromJSON\(([\w.]+)\) *\}\}")
PRESENT = {"runner.os": "Linux", "runner.arch": "X64", "steps.program.outputs.cache-hit": "true"}
"""The program is in the cache, so that no step builds it."""


@dataclass
class Job:
    """A job that ran, one of several where it has a matrix."""

    folder: Path
    values: dict[str, str]
    failed: bool = False
    log: str = ""


@dataclass
class Workflow:
    """A run of a workflow over a repository."""

    text: str
    repository: Path
    folder: Path
    ran: dict[str, list[Job]] = field(default_factory=dict)
    """The latest attempt at each job."""

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    def about(self, name: str) -> dict[str, Any]:
        return dict(yaml.safe_load(self.text)["jobs"][name])

    def run(self, name: str) -> list[Job]:
        """A job as often as its matrix says, one after the other."""
        self.ran[name] = [self.attempt(name, matrix) for matrix in self.matrix(name)]
        return self.ran[name]

    def run_again(self, name: str) -> None:
        """`Re-run failed jobs`."""
        self.ran[name] = [
            self.attempt(name, matrix) if job.failed else job
            for job, matrix in zip(self.ran[name], self.matrix(name), strict=True)
        ]

    def matrix(self, name: str) -> list[dict[str, str]]:
        about = self.about(name)
        if "strategy" not in about:
            return [{}]
        ((key, text),) = about["strategy"]["matrix"].items()
        listed = LIST.fullmatch(text)
        assert listed, f"{text} is not known here"
        values = json.loads(self.needed(about)[listed[1]])
        return [{f"matrix.{key}": str(value)} for value in values]

    def needed(self, about: Mapping[str, Any]) -> dict[str, str]:
        """Results and outputs of the jobs that a job needs."""
        values = {}
        for name in [about["needs"]] if isinstance(about.get("needs"), str) else about.get("needs", []):
            jobs = self.ran[name]
            values[f"needs.{name}.result"] = "failure" if any(job.failed for job in jobs) else "success"
            for output, text in self.about(name).get("outputs", {}).items():
                values[f"needs.{name}.outputs.{output}"] = filled(text, jobs[0].values)
        return values

    def attempt(self, name: str, matrix: Mapping[str, str]) -> Job:
        about = self.about(name)
        environment = {key: str(value) for key, value in yaml.safe_load(self.text)["env"].items()}
        values = {**PRESENT, **self.needed(about), **matrix, **{f"env.{key}": text for key, text in environment.items()}}
        job = Job(Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder)), values)
        assert holds(about.get("if"), values, failed="failure" in values.values()), f"{name} is skipped"
        for step in about["steps"]:
            if holds(step.get("if"), values, job.failed):
                self.step(step, job, environment)
        return job

    def step(self, step: Mapping[str, Any], job: Job, environment: Mapping[str, str]) -> None:
        if "uses" in step:
            given = {name: filled(str(value), job.values) for name, value in step["with"].items()}
            self.use(step["uses"].partition("@")[0], given, job)
            return
        output = job.folder.with_suffix(".output")
        output.write_text("")
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=job.folder,
            env={
                "PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]]),
                "GITHUB_ACTIONS": "true",
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(job.folder.with_suffix(".summary")),
                **environment,
                **{name: filled(value, job.values) for name, value in step.get("env", {}).items()},
            },
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        job.log += ran.stdout
        job.failed = job.failed or ran.returncode != 0
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            job.values[f"steps.{step['id']}.outputs.{name}"] = value

    def use(self, action: str, given: Mapping[str, str], job: Job) -> None:
        match action.removeprefix("actions/"):
            case "checkout":
                shutil.copytree(self.repository, job.folder, dirs_exist_ok=True)
            case "cache":
                assert PROGRAM.name == Path(given["path"]).name, given
            case "upload-artifact":
                self.upload(given, job)
            case "download-artifact":
                self.download(given, job)
            case _:
                raise AssertionError(f"{action} is not known here")

    def upload(self, given: Mapping[str, str], job: Job) -> None:
        source, kept = job.folder / given["path"], self.artifacts / given["name"]
        assert source.exists() or given.get("if-no-files-found") != "error", f"{source} is not there"
        if kept.exists():
            assert given.get("overwrite") == "True", f"there is an artifact {kept.name}"
            shutil.rmtree(kept)
        if source.exists():
            # an artifact keeps no permissions
            shutil.copytree(source, kept, copy_function=shutil.copyfile)

    def download(self, given: Mapping[str, str], job: Job) -> None:
        pattern = given.get("name") or given["pattern"]
        found = [kept for kept in sorted(self.artifacts.glob("*")) if fnmatch.fnmatchcase(kept.name, pattern)]
        assert found or "name" not in given, f"there is no artifact {pattern}"
        merged = "name" in given or given.get("merge-multiple") == "True"
        for kept in found:
            into = job.folder / given["path"] / ("" if merged else kept.name)
            shutil.copytree(kept, into, dirs_exist_ok=True, copy_function=shutil.copyfile)


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its expressions replaced; a value that is not known fails the test."""
    return EXPRESSION.sub(lambda found: values[found[1]], text)


def holds(condition: str | None, values: Mapping[str, str], failed: bool) -> bool:
    """A condition of a job or step: comparisons, joined by `&&`; one that does not say `always()` fails after a failure."""
    parts = condition.split(" && ") if condition else []
    always = "always()" in parts
    return (always or not failed) and all(compared(part, values) for part in parts if part != "always()")


def compared(comparison: str, values: Mapping[str, str]) -> bool:
    found = COMPARISON.fullmatch(comparison)
    assert found, f"{comparison} is not known here"
    return (values[found[1]] == found[3]) is (found[2] == "==")
