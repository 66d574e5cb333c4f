"""What the tests of all engines share: a project with runs that are challenged, the plan, the reports of one machine, and the
question whether the results of an engine come to the same bytes.

    case.py STUDY FOLDER      makes the project: `small` in seconds, `tiny-moe` in minutes

REPRO names the program, REPRO_CLUSTER_CASE the folder of the project.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import processes

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["REPRO"]).resolve()
FORMATS = ("json", "text")
RESULT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}")


@dataclass(frozen=True)
class Study:
    """Runs that are trained here, and how many intervals are drawn of each."""

    file: Path
    runs: tuple[str, ...]
    intervals: int
    tuning: str | None = None
    """The receipts of this checkout that chose the learning rates, as a pattern."""


STUDIES = {
    "small": Study(CHECKOUT / "scripts/cluster/small.toml", ("small-moe-short-s1",), 40),
    "tiny-moe": Study(
        CHECKOUT / "repro/studies/tiny-moe.toml",
        ("tiny-moe-moe-active12-s1", "tiny-moe-dense_active-active12-s1", "tiny-moe-moe-active12-s2"),
        20,
        tuning="tiny-moe-*-tune-*",
    ),
}
CORPUS = "target/corpus"


@dataclass(frozen=True)
class Reports:
    """What a command said of the evidence: its exit status, and its report in each format."""

    status: int
    bytes: dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """The project, its plan and the reports of one machine."""

    project: Path

    @property
    def plan(self) -> Path:
        return self.project / "plan.jsonl"

    @property
    def evidence(self) -> str:
        """What is verified, as options."""
        return (self.project / "evidence").read_text()

    @property
    def options(self) -> list[str]:
        """What `work` has to be told besides."""
        return ["--data", CORPUS] if (self.project / CORPUS).exists() else []

    def keys(self, plan: Path | None = None) -> set[str]:
        """The items of the plan."""
        return {item["key"] for item in items(plan or self.plan)}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [str(word) for word in (PROGRAM, *arguments)]
        return subprocess.run(command, cwd=self.project, text=True, capture_output=True, check=False, timeout=3600)

    def reports(self, *command: str | Path) -> Reports:
        """Runs `verify` or `merge` and keeps what it reports."""
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: Path(folder) / name for name in FORMATS}
            outputs = [f"--output={name}={path}" for name, path in paths.items()]
            ran = self.run(*command, *outputs)
            if missing := [name for name, path in paths.items() if not path.exists()]:
                raise AssertionError(f"no {missing} of {command[0]}, which ended with {ran.returncode}: {ran.stderr}")
            return Reports(ran.returncode, {name: path.read_bytes() for name, path in paths.items()})

    def single(self) -> Reports:
        """What one process on one machine said when the project was made."""
        reports = {name: (self.project / f"single.{name}").read_bytes() for name in FORMATS}
        return Reports(int((self.project / "single.status").read_text()), reports)

    def merged(self, *stores: Path, plan: Path | None = None) -> Reports:
        return self.reports("cluster", "merge", plan or self.plan, *(f"--results={store}" for store in stores))


def items(plan: Path) -> list[dict[str, Any]]:
    """The lines of a plan behind its first."""
    return [json.loads(line) for line in plan.read_text().splitlines()[1:]]


def the_case() -> Case:
    return Case(Path(os.environ["REPRO_CLUSTER_CASE"]))


def results(*stores: Path) -> set[str]:
    """The items that have a result; what a writer that was killed left behind is none."""
    files = (path.relative_to(store).as_posix() for store in stores for path in store.glob("??/*"))
    return {name.split("/")[1] for name in files if RESULT.fullmatch(name)}


def wait_until(what: str, holds: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.1)


class EngineTest(unittest.TestCase):
    """A test with a case, and a store of its own for results."""

    def setUp(self) -> None:
        self.case = the_case()
        self.folder = Path(tempfile.mkdtemp(prefix="repro-cluster-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = self.folder / "results"
        # a node that is gone may leave workers behind, as a network that is cut does
        self.addCleanup(lambda: processes.kill(*self.workers()))

    def workers(self) -> list[int]:
        """The processes that write into the store."""
        return [pid for pid in processes.with_arguments(str(self.store)) if pid in processes.workers()]

    def wait_for_the_middle(self) -> None:
        """Until some items have results, and not all."""
        wait_until("a first result", lambda: results(self.store), seconds=600)
        self.assertLess(len(results(self.store)), len(self.case.keys()), "all was done before anything could be killed")

    def assert_same_report(self, *stores: Path, plan: Path | None = None) -> None:
        """All items of a plan have results, and the reports are those of one machine, byte for byte."""
        stores = stores or (self.store,)
        self.assertEqual(results(*stores), self.case.keys(plan))
        self.assertEqual(self.case.merged(*stores, plan=plan), self.case.single())


def make(study: Study, project: Path) -> None:
    """Trains the runs, draws their challenges, makes the plan, and has one process verify it."""
    file = project / "repro/studies" / study.file.name
    file.parent.mkdir(parents=True)
    shutil.copy(study.file, file)
    if study.tuning:
        for bundle in (CHECKOUT / "receipts").glob(study.tuning):
            shutil.copytree(bundle, project / "trained" / bundle.name)
        subprocess.run([CHECKOUT / "scripts/fetch_corpus.sh", project / CORPUS / "shakespeare.txt"], check=True)
    case = Case(project)
    expect(case.run("train", file, "--out", "trained", *(f"--only={run}" for run in study.runs)))
    evidence = case.options
    for run in study.runs:
        bundle, challenge = f"trained/{run}", f"{run}.challenge.json"
        drawn = case.run("bundle", "challenge", bundle, "--seed", "drawn when the run was sealed", f"--count={study.intervals}")
        (project / challenge).write_text(expect(drawn))
        evidence += [bundle, f"--challenge={challenge}"]
    (project / "evidence").write_text(" ".join(evidence))
    expect(case.run("cluster", "plan", *evidence, "--out", case.plan))
    single = case.reports("verify", *evidence)
    for name, report in single.bytes.items():
        (project / f"single.{name}").write_bytes(report)
    (project / "single.status").write_text(str(single.status))
    print(f"{file.stem}: {len(case.keys())} items; one process ended with {single.status}")


def expect(ran: subprocess.CompletedProcess[str]) -> str:
    """The output of a command that has to succeed."""
    if ran.returncode != 0:
        raise SystemExit(f"{ran.args} ended with {ran.returncode}: {ran.stderr}")
    return ran.stdout


if __name__ == "__main__":
    make(STUDIES[sys.argv[1]], Path(sys.argv[2]))
