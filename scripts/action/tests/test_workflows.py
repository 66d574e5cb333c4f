"""What the workflows of this repository promise: pinned inputs, and attestations only from jobs that install and build nothing."""

from __future__ import annotations

import re
import unittest
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from steps import ACTION, CHECKOUT

WORKFLOWS = sorted((CHECKOUT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}")
ATTESTING = ("actions/download-artifact@", "actions/attest-build-provenance@")


def load(path: Any) -> Any:
    return YAML(typ="safe").load(path)


def steps(of: Any) -> Iterator[Any]:
    for job in of["jobs"].values():
        yield from job["steps"]


class Workflows(unittest.TestCase):
    def test_actions_are_pinned_by_commit(self) -> None:
        every = [step for path in WORKFLOWS for step in steps(load(path))] + load(ACTION)["runs"]["steps"]
        used = [step["uses"] for step in every if "uses" in step]
        self.assertGreater(len(used), 20)
        self.assertEqual([one for one in used if not PINNED.fullmatch(one)], [])

    def test_what_attests_builds_nothing(self) -> None:
        attesting = []
        for path in WORKFLOWS:
            for name, job in load(path)["jobs"].items():
                if job.get("permissions", {}).keys() & {"attestations", "id-token"}:
                    attesting.append(name)
                    for step in job["steps"]:
                        is_known = step.get("uses", "").startswith(ATTESTING)
                        self.assertTrue(is_known or " | docker login ghcr.io " in step["run"], f"{name}: {step}")
        self.assertEqual(attesting, ["attest", "attest-image"])

    def test_a_release_installs_by_hash_and_by_version(self) -> None:
        release = load(CHECKOUT / ".github/workflows/release.yml")
        toolchain = str(release["env"]["RUSTUP_TOOLCHAIN"])
        self.assertRegex(toolchain, r"^\d+\.\d+\.\d+$")
        runs = "\n".join(step["run"] for step in steps(release) if "run" in step)
        self.assertNotRegex(runs, r"rustup (?!toolchain install \"\$RUSTUP_TOOLCHAIN\")")
        scripts = runs + (CHECKOUT / "scripts/cuda.sh").read_text().replace("\\\n", "")
        installs = [line for line in scripts.splitlines() if re.search(r"pip\"? install", line)]
        self.assertEqual(len(installs), 3)
        for line in installs:
            self.assertRegex(line, "--require-hashes|--no-index")

    def test_one_job_waits_for_all_others(self) -> None:
        """It once compared the results with one too few, and never passed."""
        jobs = load(CHECKOUT / ".github/workflows/ci.yml")["jobs"]
        last = jobs["all"]
        self.assertEqual(set(last["needs"]), jobs.keys() - {"all"})
        [step] = last["steps"]
        self.assertEqual(step["run"], "exit 1")
        for result in ("failure", "cancelled", "skipped"):
            self.assertIn(f"contains(needs.*.result, '{result}')", step["if"])


if __name__ == "__main__":
    unittest.main()
