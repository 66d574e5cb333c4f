"""The script in a room of three hosts that share nothing, one of which loses its power, and after it was interrupted itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import processes
from case import EngineTest, wait_until
from room import Room

TEMPLATE = Path(__file__).resolve().parent / "repro-parallel.sh"
HOSTS = ("host1", "host2", "host3")
SHARES = 6


class ParallelTest(EngineTest):
    def setUp(self) -> None:
        super().setUp()
        self.room = Room(HOSTS)
        self.addCleanup(self.room.close)
        # the machine that commands has the plan and collects the results; the hosts have the project
        self.desk = self.folder / "project"
        self.desk.mkdir()
        shutil.copy(self.case.plan, self.desk / "plan.jsonl")
        (self.folder / "hosts").write_text("".join(f"1/{host}\n" for host in HOSTS))
        for host in HOSTS:
            shutil.copytree(self.case.project, self.room.home(host) / "project", ignore=shutil.ignore_patterns("plan.jsonl"))

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [TEMPLATE, "plan.jsonl", "results", self.folder / "hosts", str(SHARES), *self.case.options],
            cwd=self.desk,
            env=self.room.environment(),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def stores(self) -> list[Path]:
        return sorted((self.desk / "results").glob("share-*"))

    def recorded(self) -> list[Path]:
        """The shares that came back and stand in the log, so that they are not done again: the log is written last."""
        log = self.desk / "results/jobs.tsv"
        lines = log.read_text().splitlines()[1:] if log.exists() else []
        jobs = [line.split("\t") for line in lines]
        return [self.desk / f"results/share-{job[0]}" for job in jobs if len(job) > 8 and job[6] == "0"]

    def working(self, host: str) -> list[int]:
        below = set(processes.with_descendants(self.room.daemons[host].pid))
        return sorted(below & set(processes.workers()))

    def assert_done(self, program: subprocess.Popen[str]) -> None:
        said, _ = program.communicate(timeout=1200)
        self.assertEqual(program.returncode, 0, said)
        self.assertEqual(len(self.stores()), SHARES)
        self.assert_same_report(*self.stores())

    def test_a_host_loses_its_power(self) -> None:
        program = self.start()
        wait_until("work on host2", lambda: self.working("host2"))
        self.room.switch_off("host2")
        self.assert_done(program)
        log = (self.desk / "results/jobs.tsv").read_text()
        self.assertNotIn("host2", log, "all shares were done elsewhere")

    def test_the_script_is_interrupted_and_started_again(self) -> None:
        program = self.start()
        wait_until("a first share", self.recorded)
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        self.assertLess(len(self.stores()), SHARES)
        before = {path: path.stat().st_mtime_ns for store in self.recorded() for path in store.glob("*/*")}
        self.assertTrue(before)
        self.assert_done(self.start())
        self.assertEqual({path: path.stat().st_mtime_ns for path in before}, before, "what had come back was not made again")


if __name__ == "__main__":
    unittest.main()
