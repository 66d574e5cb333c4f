"""The workflow on this machine, and a share that is killed and run again. GitHub itself is not asked: what its runners do is taken
from their documentation (workflow.py)."""

from __future__ import annotations

import threading
import unittest
from pathlib import Path

import processes
from case import EngineTest, results, wait_until
from workflow import Workflow

TEMPLATE = Path(__file__).resolve().parent / "cluster.yml"
VERIFIED = "--post all --replay all"
SHARES = '  SHARES: "8"'


class GithubTest(EngineTest):
    def setUp(self) -> None:
        super().setUp()
        text = TEMPLATE.read_text()
        for written, filled in ((VERIFIED, self.case.evidence), (SHARES, '  SHARES: "3"')):
            self.assertIn(written, text)
            text = text.replace(written, filled)
        self.workflow = Workflow(text, self.case.project, self.folder)
        self.artifacts = self.workflow.artifacts
        # times of files are part of it, so that one of a new checkout is another than one of the project
        self.plan = self.artifacts / "plan/plan.jsonl"

    def assert_ended(self, job: str, failed: int) -> None:
        jobs = self.workflow.ran[job]
        self.assertEqual(sum(job.failed for job in jobs), failed, [job.log for job in jobs])

    def assert_reported(self) -> None:
        self.assert_ended("merge", failed=0)
        self.assertEqual((self.artifacts / "report/report.json").read_bytes(), self.case.single().bytes["json"])
        self.assert_same_report(*self.artifacts.glob("results-*"), plan=self.plan)

    def test_a_share_is_killed_and_run_again(self) -> None:
        self.workflow.run("plan")
        self.assert_ended("plan", failed=0)
        killer = threading.Thread(target=self.kill_the_first_worker)
        killer.start()
        self.workflow.run("work")
        killer.join()
        self.assert_ended("work", failed=1)
        self.workflow.run("merge")
        self.assert_ended("merge", failed=1)
        missing = self.case.keys(self.plan) - results(*self.artifacts.glob("results-*"))
        self.assertIn(f"{len(missing)} items have none", self.workflow.ran["merge"][0].log)

        self.workflow.run_again("work")
        self.assert_ended("work", failed=0)
        self.workflow.run("merge")
        self.assert_reported()

    def kill_the_first_worker(self) -> None:
        """When it has finished something."""
        wait_until("a first result", lambda: results(*self.folder.glob("work-*/results")))
        processes.kill(*processes.with_arguments("cluster/repro", "cluster/plan.jsonl"))


if __name__ == "__main__":
    unittest.main()
