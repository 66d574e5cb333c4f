"""The templates on a real Slurm, with workers, scripts and a node that are killed while they work."""

from __future__ import annotations

import unittest
from pathlib import Path

import processes
from case import FORMATS, EngineTest, wait_until
from local import LocalSlurm

TEMPLATES = Path(__file__).resolve().parent
SHARES = 4
ENDED = {"COMPLETED", "FAILED"}


class SlurmTest(EngineTest):
    slurm: LocalSlurm

    @classmethod
    def setUpClass(cls) -> None:
        cls.slurm = LocalSlurm(cpus=SHARES // 2)
        cls.addClassCleanup(cls.slurm.stop)

    def submit(self, template: str, options: list[str], arguments: list[str]) -> str:
        """Submits a template, with demands that two small nodes can meet."""
        common = ["--parsable", f"--chdir={self.case.project}", "--mem=0", "--cpus-per-task=1"]
        script = [TEMPLATES / template, self.case.plan, self.store, *arguments]
        return self.slurm.asked("sbatch", *common, *options, *script)

    def submit_shares(self) -> str:
        options = [f"--array=1-{SHARES}", f"--output={self.folder}/share-%a.log"]
        return self.submit("repro.sbatch", options, self.case.options)

    def submit_merge(self, shares: str) -> str:
        options = [f"--dependency=afterany:{shares}", f"--output={self.folder}/merge.log"]
        reports = [f"--output={name}={self.folder}/merged.{name}" for name in FORMATS]
        return self.submit("merge.sbatch", options, reports)

    def shown(self, job: str, field: str) -> list[str]:
        """A field of each task of a job."""
        words = self.slurm.asked("scontrol", "show", "job", job).split()
        return [word.removeprefix(f"{field}=") for word in words if word.startswith(f"{field}=")]

    def wait_for(self, job: str) -> None:
        wait_until(f"the end of job {job}", lambda: set(self.shown(job, "JobState")) <= ENDED, seconds=1200)

    def restarts(self, job: str) -> int:
        return sum(map(int, self.shown(job, "Restarts")))

    def running_shares(self, job: str) -> list[str]:
        asked = self.slurm.asked("squeue", "--noheader", "--array", "--states=RUNNING", f"--jobs={job}", "--format=%K")
        return asked.split()

    def script_on(self, node: str) -> int:
        scripts = self.slurm.scripts(node)
        self.assertTrue(scripts, f"no share runs on {node}")
        return scripts[0]

    def assert_ended_well(self, *jobs: str) -> None:
        states = {state for job in jobs for state in self.shown(job, "JobState")}
        self.assertEqual(states, {"COMPLETED"}, [path.read_text() for path in self.folder.glob("*.log")])
        for name, report in self.case.single().bytes.items():
            self.assertEqual((self.folder / f"merged.{name}").read_bytes(), report)
        self.assert_same_report()

    def test_a_worker_and_a_node_are_killed(self) -> None:
        shares = self.submit_shares()
        merge = self.submit_merge(shares)
        self.wait_for_the_middle()
        script, *worker = processes.with_descendants(self.script_on("node1"))
        processes.kill(*worker)
        self.slurm.kill_node("node2")
        wait_until("a node is down", lambda: "down" in self.slurm.asked("sinfo", "--noheader", "--format=%T"))
        self.wait_for(merge)
        self.slurm.start_nodes()
        self.assertGreaterEqual(self.restarts(shares), 2, "the share of the worker, and one of the node")
        self.assert_ended_well(shares, merge)

    def test_the_time_of_a_share_is_over(self) -> None:
        shares = self.submit_shares()
        merge = self.submit_merge(shares)
        self.wait_for_the_middle()
        self.slurm.asked("scancel", "--batch", "--signal=USR1", f"{shares}_{self.running_shares(shares)[0]}")
        self.wait_for(merge)
        self.assertGreaterEqual(self.restarts(shares), 1)
        self.assert_ended_well(shares, merge)

    def test_a_share_that_failed_for_good_is_named_and_submitted_again(self) -> None:
        shares = self.submit_shares()
        merge = self.submit_merge(shares)
        self.wait_for_the_middle()
        processes.kill(*processes.with_descendants(self.script_on("node1")))
        self.wait_for(merge)
        self.assertIn("FAILED", self.shown(shares, "JobState"))
        self.assertEqual(self.shown(merge, "ExitCode"), ["2:0"])
        again = self.submit_shares()
        merge = self.submit_merge(again)
        self.wait_for(merge)
        self.assert_ended_well(again, merge)


if __name__ == "__main__":
    unittest.main()
