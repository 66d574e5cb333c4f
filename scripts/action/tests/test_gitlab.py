"""The script of the GitLab template, executed by bash as one script, against GitLab's API of notes as it is documented."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from project import PROGRAM, REPORT, WRONG_REPORT, Project
from ruamel.yaml import YAML
from steps import CHECKOUT, clean_environment

TEMPLATE = CHECKOUT / "scripts/gitlab/repro.gitlab-ci.yml"
NOTES = "/projects/5/merge_requests/7/notes"


class GitLab:
    """Notes of one merge request; the token is that of account 11."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.may_write = True
        state = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                status, answer = state.answer(self, json.loads(self.rfile.read(size)) if size else None)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_PUT = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> tuple[int, Any]:
        path = handler.path.partition("?")[0]
        self.asked.append(f"{handler.command} {path}")
        if handler.headers["PRIVATE-TOKEN"] != "token-of-the-project":
            return 401, {"message": "401 Unauthorized"}
        if (handler.command, path) == ("GET", "/user"):
            return 200, {"id": 11}
        if (handler.command, path) == ("GET", NOTES):
            return 200, self.notes
        if not self.may_write or set(body) != {"body"}:
            return 403, {"message": "403 Forbidden"}
        if (handler.command, path) == ("POST", NOTES):
            return 201, self.add(11, body["body"])
        known = re.fullmatch(f"{NOTES}/(\\d+)", path)
        if handler.command == "PUT" and known:
            note = next(note for note in self.notes if note["id"] == int(known[1]))
            note.update(body)
            return 200, note
        return 404, {"message": "404 Not found"}

    def add(self, author: int, text: str) -> dict[str, Any]:
        self.notes.append({"id": 100 + len(self.notes), "author": {"id": author}, "body": text})
        return self.notes[-1]


class Template(unittest.TestCase):
    def setUp(self) -> None:
        self.project = Project()
        self.addCleanup(self.project.remove)
        self.gitlab = GitLab()
        self.addCleanup(self.gitlab.server.server_close)
        self.addCleanup(self.gitlab.server.shutdown)
        programs = self.project.folder / "programs"
        programs.mkdir()
        (programs / "repro").symlink_to(PROGRAM)
        template = YAML(typ="safe").load(TEMPLATE)
        self.script = "\n".join(["set -eo pipefail", *template["repro"]["script"]])
        self.environment = {
            **clean_environment(),
            **template["variables"],
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CI_PROJECT_DIR": str(self.project.workspace),
            "CI_JOB_NAME_SLUG": "repro",
        }

    def run_job(self, **variables: str) -> tuple[int, str]:
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", self.script],
            cwd=self.project.workspace,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return ran.returncode, ran.stdout.decode(errors="replace")

    def merge_request(self, **variables: str) -> tuple[int, str]:
        return self.run_job(
            CI_MERGE_REQUEST_DIFF_BASE_SHA=self.project.base,
            CI_MERGE_REQUEST_IID="7",
            CI_MERGE_REQUEST_PROJECT_ID="5",
            CI_API_V4_URL=f"http://127.0.0.1:{self.gitlab.server.server_port}",
            **variables,
        )

    def reports(self, name: str) -> Any:
        return json.loads((self.project.workspace / "repro-reports" / name).read_text(encoding="utf-8"))

    def propose(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            self.project.write(name, text)
        self.project.commit()

    def test_a_wrong_number_fails_the_job_and_stands_at_its_line(self) -> None:
        self.propose({"a b/größe 好 😀.md": WRONG_REPORT, "-x.txt": "notes\n"})
        status, said = self.merge_request()
        self.assertEqual(status, 1, said)
        found = self.reports("code-quality.json")
        self.assertGreater(len(found), 0)
        for finding in found:
            keys = {"description", "check_name", "severity", "location", "fingerprint"}
            self.assertEqual(set(finding), keys)
            self.assertIn(finding["severity"], ("info", "minor", "major", "critical", "blocker"))
            self.assertGreaterEqual(finding["location"]["lines"]["begin"], 1)
        self.assertIn("a b/größe 好 😀.md", {finding["location"]["path"] for finding in found})
        self.assertEqual(len({finding["fingerprint"] for finding in found}), len(found))
        self.assertTrue((self.project.workspace / "repro-reports/posts.xml").is_file())
        self.assertEqual(self.gitlab.asked, [])
        self.assertEqual(self.merge_request(REPRO_FAIL_ON="2")[0], 0)

    def test_a_post_that_goes_is_noticed(self) -> None:
        self.project.git("rm", "-r", "--quiet", "repro")
        self.propose({"notes.txt": "other notes\n"})
        status, said = self.merge_request()
        self.assertEqual(status, 1, said)
        self.assertGreater(self.reports("base.json")["lost"], 0)
        self.assertEqual(self.merge_request(REPRO_WEAKER="pass")[0], 0)

    def test_one_note_is_kept_up_to_date(self) -> None:
        theirs = self.gitlab.add(12, "<!-- repro repro -->\nlooks good")
        self.propose({"report.md": WRONG_REPORT})
        for _ in range(2):
            self.merge_request(REPRO_NOTE_TOKEN="token-of-the-project")
        self.assertEqual(len(self.gitlab.notes), 2, self.gitlab.asked)
        self.assertEqual(theirs["body"], "<!-- repro repro -->\nlooks good")
        self.assertIn("86,420", self.gitlab.notes[1]["body"])

    def test_a_note_that_is_refused_fails_no_job(self) -> None:
        self.propose({"report.md": REPORT + "\nA closing line.\n"})
        self.gitlab.may_write = False
        for token in ("token-of-the-project", "another"):
            status, said = self.merge_request(REPRO_NOTE_TOKEN=token)
            self.assertEqual(status, 0, said)
            self.assertIn("no note could be made", said)

    def test_a_branch_verifies_the_posts(self) -> None:
        status, said = self.run_job()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.reports("code-quality.json"), [])
        self.project.git("rm", "-r", "--quiet", "repro")
        self.assertEqual(self.run_job()[0], 0)


if __name__ == "__main__":
    unittest.main()
