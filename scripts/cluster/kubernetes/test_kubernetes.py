"""The manifests by the schemas of Kubernetes, and what they say executed (jobs.py), with pods that are killed and evicted."""

from __future__ import annotations

import copy
import shutil
import unittest
from pathlib import Path
from typing import Any

import kubernetes_validate
import processes
import yaml
from case import EngineTest, wait_until
from jobs import Job

TEMPLATES = Path(__file__).resolve().parent
VERSIONS = ("1.33", kubernetes_validate.latest_version())
"""The first in which all fields are stable, and the latest that is known."""
SHARES = 4


def manifest(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((TEMPLATES / name).read_text()))


class SchemaTest(unittest.TestCase):
    def test_the_manifests_are_valid(self) -> None:
        for name in ("work.yaml", "merge.yaml"):
            for version in VERSIONS:
                kubernetes_validate.validate(manifest(name), version, strict=True)

    def test_a_planted_fault_is_not(self) -> None:
        planted = copy.deepcopy(manifest("work.yaml"))
        planted["spec"]["podFailurePolicy"]["rules"][1]["onExitCode"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(planted, VERSIONS[-1], strict=True)


class KubernetesTest(EngineTest):
    def setUp(self) -> None:
        super().setUp()
        self.volume = self.folder / "volume"
        shutil.copytree(self.case.project, self.volume)
        self.store = self.volume / "results"
        self.claims = {"repro-project": self.volume}

    def work(self) -> Job:
        """The Job with fewer shares."""
        about = manifest("work.yaml")
        (container,) = about["spec"]["template"]["spec"]["containers"]
        (shares,) = [variable for variable in container["env"] if variable["name"] == "SHARES"]
        self.assertEqual(shares["value"], str(about["spec"]["completions"]))
        shares["value"] = str(SHARES)
        about["spec"] |= {"completions": SHARES, "parallelism": 2}
        return Job(about, self.claims)

    def merge(self) -> Job:
        job = Job(manifest("merge.yaml"), self.claims)
        job.run()
        return job

    def worker(self, job: Job) -> tuple[int, int]:
        """The index of a pod that works, and the process in it."""
        for pod in job.pods:
            for pid in set(processes.with_descendants(pod.process.pid)) & set(processes.workers()):
                return pod.index, pid
        raise AssertionError("no pod works")

    def test_a_worker_is_killed_and_a_pod_evicted(self) -> None:
        job = self.work()
        running = job.start()
        self.wait_for_the_middle()
        killed, pid = self.worker(job)
        processes.kill(pid)
        wait_until("the pod is replaced", lambda: len(job.tries(killed)) == 2)
        evicted = next(pod for pod in job.pods if pod.process.poll() is None and pod.index != killed)
        evicted.evict()
        running.join()
        self.assertEqual(job.failed, set(), [pod.log for pod in job.pods])
        self.assertEqual([pod.status for pod in job.tries(killed)], [137, 0])
        self.assertEqual([pod.status for pod in job.tries(evicted.index)], [143, 0])
        merge = self.merge()
        self.assertEqual([pod.status for pod in merge.pods], [0], merge.pods[0].log)
        self.assertEqual((self.volume / "report.json").read_bytes(), self.case.single().bytes["json"])
        self.assert_same_report()

    def test_a_plan_that_is_refused_is_not_tried_again(self) -> None:
        (self.volume / "plan.jsonl").write_text("{}\n")
        job = self.work()
        job.run()
        self.assertEqual(job.failed, set(range(SHARES)))
        self.assertEqual([pod.status for pod in job.pods], [2] * SHARES)

    def test_shares_that_are_missing_are_named(self) -> None:
        merge = self.merge()
        self.assertEqual(([pod.status for pod in merge.pods], merge.failed), ([2], {0}))
        self.assertIn("have none", merge.pods[0].log)


if __name__ == "__main__":
    unittest.main()
