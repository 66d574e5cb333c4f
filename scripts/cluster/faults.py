"""What goes wrong on a cluster, made to happen a hundred times: whatever it was, the workers that are started again come to the
report of one machine, byte for byte, with one result for each item.

Needs root (a full disk is a small tmpfs), strace (a worker that ends at a certain system call) and libfaketime (clocks that differ).
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

from case import FORMATS, PROGRAM, EngineTest, expect, items, results, the_case

KILLS = 100
SEED = 24
CLOCK = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class FaultTest(EngineTest):
    """Each test has a store with all results at hand, made by one worker that nothing happened to."""

    whole: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="repro-cluster-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.whole = folder / "whole"
        expect(the_case().run("cluster", "work", the_case().plan, f"--results={cls.whole}"))

    def start(self, *options: str, before: tuple[str, ...] = (), **environment: str) -> subprocess.Popen[str]:
        """A worker on the store."""
        return subprocess.Popen(
            [*before, PROGRAM, "cluster", "work", self.case.plan, f"--results={self.store}", "--threads=1", *options],
            cwd=self.case.project,
            env={**os.environ, **environment},
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def assert_ended(self, worker: subprocess.Popen[str], status: int = 0) -> str:
        _, said = worker.communicate(timeout=300)
        self.assertEqual(worker.returncode, status, said)
        return said

    def assert_same_results(self) -> None:
        """Not the report alone: each result has the bytes of the worker that nothing happened to."""
        self.assert_same_report()
        for key in self.case.keys():
            name = f"{key[:2]}/{key}"
            self.assertEqual((self.store / name).read_bytes(), (self.whole / name).read_bytes(), name)

    def without(self, key: str) -> None:
        """The store with all results but one."""
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.copytree(self.whole, self.store)
        (self.store / key[:2] / key).unlink()

    def test_workers_are_killed_at_random(self) -> None:
        draw = random.Random(SEED)
        parts = ((), ("--partition=1/2",), ("--partition=2/2",))
        kills = 0
        while kills < KILLS:
            pair = [self.start(*draw.choice(parts)) for _ in range(2)]
            time.sleep(draw.uniform(0, 0.5))
            for worker in pair:
                worker.kill()
                worker.communicate()
                kills += worker.returncode == -signal.SIGKILL
            if results(self.store) == self.case.keys():
                self.assert_same_results()
                shutil.rmtree(self.store)
        self.assert_ended(self.start())
        self.assert_same_results()

    def test_a_worker_is_killed_at_each_step_of_writing(self) -> None:
        key = items(self.case.plan)[0]["key"]
        killed_at = set()
        for call, time_of_it in self.steps_of_writing(key):
            with self.subTest(call=call, time=time_of_it):
                self.without(key)
                killed = f"inject={call}:signal=SIGKILL:when={time_of_it}"
                worker = self.start(f"--item={key}", before=("strace", "-qq", "-o", "/dev/null", "-e", killed))
                worker.communicate(timeout=300)
                # a worker may make fewer calls than the one that was watched, and end before the one that kills
                self.assertIn(worker.returncode, (-signal.SIGKILL, 0))
                if worker.returncode != 0:
                    killed_at.add(call)
                merged = self.case.run("cluster", "merge", self.case.plan, f"--results={self.store}")
                whole = results(self.store) == self.case.keys()
                self.assertEqual(merged.returncode, self.case.single().status if whole else 2, merged.stderr)
                self.assert_ended(self.start(f"--item={key}"))
                self.assert_same_results()
        self.assertLess({"openat", "write", "fsync"}, killed_at)

    def steps_of_writing(self, key: str) -> list[tuple[str, int]]:
        """The system calls by which a worker touches the store, each with how often it was made before and then."""
        self.without(key)
        log = self.folder / "calls"
        self.assert_ended(self.start(f"--item={key}", before=("strace", "-qq", "-y", "-o", str(log))))
        made: Counter[str] = Counter()
        steps = []
        for line in log.read_text(errors="replace").splitlines():
            if found := re.match(r"(\w+)\(", line):
                made[found[1]] += 1
                if str(self.store) in line and found[1] != "execve":
                    steps.append((found[1], made[found[1]]))
        return steps

    def test_two_workers_share_one_partition(self) -> None:
        parts = [self.start(f"--partition={part}/2") for part in (1, 1, 2, 2)]
        for worker in parts:
            self.assert_ended(worker)
        self.assert_same_results()

    def test_two_merges_write_at_once(self) -> None:
        paths = {name: self.folder / f"merged.{name}" for name in FORMATS}
        outputs = [f"--output={name}={path}" for name, path in paths.items()]
        command = [PROGRAM, "cluster", "merge", self.case.plan, f"--results={self.whole}", *outputs]
        for _ in range(5):
            merges = [
                subprocess.Popen(command, cwd=self.case.project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for _ in range(2)
            ]
            self.assertEqual([merge.wait() for merge in merges], [self.case.single().status] * 2)
            self.assertEqual({name: path.read_bytes() for name, path in paths.items()}, self.case.single().bytes)

    def test_the_disk_is_full(self) -> None:
        self.store.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", self.store], check=True)
        self.addCleanup(subprocess.run, ["umount", self.store], check=True)
        said = self.assert_ended(self.start(), 2)
        self.assertIn("No space left on device", said)
        self.assertTrue(results(self.store) < self.case.keys())
        for key in results(self.store):
            self.assertEqual((self.store / key[:2] / key).read_bytes(), (self.whole / key[:2] / key).read_bytes())
        subprocess.run(["mount", "-o", "remount,size=16m", self.store], check=True)
        self.assert_ended(self.start())
        self.assert_same_results()

    def test_clocks_differ(self) -> None:
        clocks = ("-3000d", "+3000d")
        skewed = [
            self.start(f"--partition={part}/3", LD_PRELOAD=str(CLOCK), FAKETIME=clock)
            for part, clock in enumerate(clocks, start=1)
        ]
        for worker in (*skewed, self.start("--partition=3/3")):
            self.assert_ended(worker)
        self.assert_same_results()

    def test_a_result_is_damaged(self) -> None:
        key = items(self.case.plan)[-1]["key"]
        good = (self.whole / key[:2] / key).read_bytes()
        half, flipped = good[: len(good) // 2], good[:-1] + bytes([good[-1] ^ 1])
        for damaged in (b"", half, flipped, good + b"\0"):
            with self.subTest(bytes=len(damaged)):
                self.without(key)
                (self.store / key[:2] / key).write_bytes(damaged)
                merged = self.case.run("cluster", "merge", self.case.plan, f"--results={self.store}")
                self.assertEqual(merged.returncode, 2)
                self.assertIn(key, merged.stderr)
                self.assert_ended(self.start())
                self.assert_same_results()


if __name__ == "__main__":
    unittest.main()
