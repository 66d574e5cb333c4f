"""A scratch repository as an author has it: posts, receipts, a report, and a branch that a pull request proposes."""

from __future__ import annotations

import atexit
import copy
import functools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from server import REPOSITORY, TOKEN, GitHub
from steps import CHECKOUT, Run, Runner, clean_environment

PROGRAM = os.environ.get("REPRO", str(CHECKOUT / "target/release/repro"))
REPORT = (CHECKOUT / "tests/corpus/check/nanochat-report/report.md").read_text(encoding="utf-8")
WRONG_REPORT = REPORT.replace("(approx): 86,419", "(approx): 86,420")
ODD_CARD = """---
model-index:
- name: Tern-8B
  results:
  - dataset: {type: owner/sums, name: Sums}
    metrics:
    - {type: exact_match, value: 61.4}
---
| Benchmark | Other-7B | Tern-8B |
|---|---|---|
| Sums | 70.0 | 64.1 |
"""
PAYLOADS = Path(os.environ["REPRO_WEBHOOKS"])


class Project:
    """The repository, a checkout of its pull request, GitHub's API, and the events."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="repro-action-"))
        self.workspace = self.folder / "workspace"
        self.github = GitHub()
        self.payload = example("pull_request", "opened")
        self.name = "pull_request"
        self.workspace.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        shutil.copytree(first_project(), self.workspace, dirs_exist_ok=True)
        self.write("report.md", REPORT)
        self.write("notes.txt", "notes\n")
        self.base = self.commit()

    def remove(self) -> None:
        self.github.stop()
        shutil.rmtree(self.folder)

    def git(self, *arguments: str, at: Path | None = None) -> str:
        names = ("user.name=Somebody", "user.email=somebody@example.org", "init.defaultBranch=main")
        settings = [word for name in names for word in ("-c", name)]
        ran = subprocess.run(
            ["git", *settings, *arguments],
            cwd=at or self.workspace,
            check=True,
            env=clean_environment(),
            stdout=subprocess.PIPE,
        )
        return ran.stdout.decode().strip()

    def write(self, name: str, text: str) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=a change")
        return self.git("rev-parse", "HEAD")

    def propose(self, files: dict[str, str | None]) -> None:
        """Commits a branch with these files (None deletes one) and checks out its merge into `main`, which has gone on."""
        self.git("switch", "--quiet", "--force-create", "proposal", self.base)
        for name, text in files.items():
            if text is None:
                (self.workspace / name).unlink()
            else:
                self.write(name, text)
        head = self.commit()
        self.git("switch", "--quiet", "--force-create", "main", self.base)
        self.write("elsewhere.md", WRONG_REPORT)
        base = self.commit()
        self.git("switch", "--quiet", "--detach", "main")
        self.git("merge", "--quiet", "--no-ff", "--message=merged", head)
        about = self.payload["pull_request"]
        about["number"], about["base"]["sha"], about["head"]["sha"] = 7, base, head
        about["head"]["repo"]["id"] = about["base"]["repo"]["id"]

    def rewrite_locks(self) -> None:
        command = [PROGRAM, "verify", "--post", "all", "--write-lock"]
        subprocess.run(command, cwd=self.workspace, check=True, stdout=subprocess.DEVNULL, env=clean_environment())

    def make_shallow(self) -> None:
        """Leaves what `actions/checkout` fetches: one commit, of a server that gives any other by its name."""
        server = self.folder / "server"
        self.git("branch", "--force", "checkout")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")
        self.workspace.rename(server)
        self.git("clone", "--quiet", "--depth=1", "--branch=checkout", f"file://{server}", str(self.workspace), at=self.folder)

    def run(self, upload: str = "success", **inputs: str) -> Run:
        """Runs the action on the event; every request that it made has to be one that GitHub allows."""
        event = self.folder / "event.json"
        event.write_text(json.dumps(self.payload), encoding="utf-8")
        environment = {
            **clean_environment(),
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_GRAPHQL_URL": f"{self.github.url}/graphql",
            "GITHUB_EVENT_NAME": self.name,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_JOB": "numbers",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SERVER_URL": self.github.url,
            "GITHUB_WORKFLOW": "checks",
            "GITHUB_WORKSPACE": str(self.workspace),
            "REPRO_RETRY_SECONDS": "0",
        }
        runner = Runner(self.workspace, self.folder / "temporary", environment, upload)
        run = runner.run({"program": PROGRAM, "sarif": "false", **inputs})
        assert not self.github.faults, self.github.faults
        assert TOKEN not in run.log.replace("::add-mask::", ""), "the token is in the log"
        return run


@functools.cache
def first_project() -> Path:
    """What `repro init` makes, without a repository."""
    folder = tempfile.TemporaryDirectory(prefix="repro-action-")
    atexit.register(folder.cleanup)
    command = [PROGRAM, "init", folder.name, "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=clean_environment())
    return Path(folder.name)


@functools.cache
def examples() -> list[dict[str, Any]]:
    return list(json.loads(PAYLOADS.read_text(encoding="utf-8")))


def example(name: str, action: str | None = None) -> dict[str, Any]:
    """An event as GitHub's own collection of examples has it."""
    known = next(one["examples"] for one in examples() if one["name"] == name)
    return copy.deepcopy(next(one for one in known if action is None or one.get("action") == action))
