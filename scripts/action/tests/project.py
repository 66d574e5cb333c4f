"""A scratch repository as an author has it: posts, receipts, a report, and a branch that a pull request proposes."""

from __future__ import annotations

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
PAYLOADS = Path(os.environ["REPRO_WEBHOOKS"])


class Project:
    """The repository, a checkout of its pull request, GitHub's API, and the events."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="repro-action-"))
        self.workspace = self.folder / "workspace"
        self.workspace.mkdir()
        self.github = GitHub()
        self.payload = example("pull_request", "opened")
        self.name = "pull_request"
        self.git("init", "--quiet", "--initial-branch=main")
        subprocess.run(
            [PROGRAM, "init", "."], cwd=self.workspace, check=True, stdout=subprocess.DEVNULL, env=clean_environment()
        )
        self.write("report.md", REPORT)
        self.write("notes.txt", "notes\n")
        self.base = self.commit()

    def remove(self) -> None:
        self.github.stop()
        shutil.rmtree(self.folder)

    def git(self, *arguments: str, at: Path | None = None) -> str:
        names = ("user.name=Somebody", "user.email=somebody@example.org", "protocol.file.allow=always")
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

    def make_shallow(self) -> None:
        """Leaves what `actions/checkout` fetches: one commit."""
        shallow = self.folder / "shallow"
        self.git("branch", "--force", "checkout")
        self.git("clone", "--quiet", "--depth=1", "--branch=checkout", f"file://{self.workspace}", str(shallow))
        shutil.rmtree(self.workspace)
        shallow.rename(self.workspace)

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
        run = runner.run({"program": PROGRAM, **inputs})
        assert not self.github.faults, self.github.faults
        assert TOKEN not in run.log.replace("::add-mask::", ""), "the token is in the log"
        return run


def example(name: str, action: str | None = None) -> dict[str, Any]:
    """An event as GitHub's own collection of examples has it."""
    known = json.loads(PAYLOADS.read_text(encoding="utf-8"))
    examples = next(one["examples"] for one in known if one["name"] == name)
    found = next(one for one in examples if action is None or one.get("action") == action)
    return dict(json.loads(json.dumps(found)))
