"""The program on a real Ray cluster of three nodes on this machine, one of which is removed while it works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import processes
from case import PROGRAM, EngineTest, expect, items, wait_until
from ray._private.node import Node
from ray.cluster_utils import Cluster

TEMPLATE = Path(__file__).resolve().parent / "repro_ray.py"
DEVICE = "opencl:0"
"""PoCL makes a processor one."""


class RayTest(EngineTest):
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        # tasks find the program as they would on a node, and its processes are known by the path
        os.environ["PATH"] = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cls.addClassCleanup(cls.cluster.shutdown)

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-B", TEMPLATE, self.case.plan, "--results", self.store, *self.case.options, *options],
            cwd=self.case.project,
            env={**os.environ, "RAY_ADDRESS": self.cluster.address},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def working(self, node: Node) -> list[int]:
        """The workers on a node."""
        below = set(processes.with_descendants(node.all_processes["raylet"][0].process.pid))
        return sorted(below & set(self.workers()))

    def assert_ended(self, program: subprocess.Popen[str], status: int) -> str:
        said, _ = program.communicate(timeout=1200)
        self.assertEqual(program.returncode, status, said)
        return said

    def test_a_worker_is_killed_and_a_node_removed(self) -> None:
        nodes = [self.cluster.add_node(num_cpus=1) for _ in range(2)]
        self.addCleanup(self.cluster.remove_node, nodes[1])
        program = self.start()
        self.wait_for_the_middle()
        wait_until("work on both nodes", lambda: all(self.working(node) for node in nodes))
        # it cannot end before its node does
        processes.stop(self.working(nodes[0])[0])
        processes.kill(*self.working(nodes[1]))
        self.cluster.remove_node(nodes[0], allow_graceful=False)
        said = self.assert_ended(program, 0)
        self.assertIn(f"exit status {-signal.SIGKILL}", said)
        self.assertIn("the node it was running on is dead", said)
        self.assert_same_report()

    def test_an_input_that_is_refused_is_not_tried_again(self) -> None:
        said = self.assert_ended(self.start("--no-such-option"), 1)
        self.assertNotIn("retries remaining", said)

    def test_gpus_go_to_the_items_that_may_use_one(self) -> None:
        if self.case.run("devices", "--device", DEVICE).returncode != 0:
            if "REPRO_REQUIRE_DEVICE" in os.environ:
                self.fail(f"there is no {DEVICE}")
            self.skipTest(f"there is no {DEVICE}")
        # PoCL takes its time: one item is left to it
        *quick, left = [item["key"] for item in items(self.case.plan) if item["class"] == "any"]
        done = [f"--results={self.store}", *self.case.options, *(f"--item={key}" for key in quick)]
        expect(self.case.run("cluster", "work", self.case.plan, *done))
        node = self.cluster.add_node(num_cpus=1, num_gpus=1)
        self.addCleanup(self.cluster.remove_node, node)
        program = self.start("--gpus", "1", "--device", DEVICE)
        wait_until("work on the device", lambda: processes.with_arguments(left, DEVICE))
        self.assert_ended(program, 0)
        self.assert_same_report()


if __name__ == "__main__":
    unittest.main()
