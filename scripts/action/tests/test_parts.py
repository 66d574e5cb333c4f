"""Parts of the action that no run on a pull request reaches: releases, builds, long reports, commands in the log."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
import tarfile
import tempfile
import threading
import unittest
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from steps import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "scripts/action"))

import commands  # noqa: E402
import comment  # noqa: E402
import program  # noqa: E402
from api import Api, ApiError  # noqa: E402
from commands import Refusal  # noqa: E402
from server import GitHub  # noqa: E402


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class Releases(unittest.TestCase):
    """A release as the project makes them, on a server of files."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.files = self.folder / "somebody/repro/releases/download/v1.2.3"
        self.files.mkdir(parents=True)
        self.name = (
            f"repro-1.2.3-{program.MACHINES[os.uname().machine]}-{program.SYSTEMS[os.uname().sysname][-1]}.tar.gz"
        )
        handler = type(
            "Handler", (Quiet,), {"__init__": lambda own, *a: Quiet.__init__(own, *a, directory=folder.name)}
        )
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.environment = {
            "GITHUB_SERVER_URL": f"http://127.0.0.1:{server.server_port}",
            "REPRO_ACTION_REPOSITORY": "somebody/repro",
            "REPRO_TOKEN": "token-of-the-job",
        }
        self.attest(0)

    def attest(self, status: int) -> None:
        """`gh` is taken from PATH: here one that writes down how it was called, and ends as it would with or without an attestation."""
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        said = 'printf "%s\\n" "$@" "$GH_TOKEN" "$GH_HOST" > "$(dirname "$0")/asked"'
        (tools / "gh").write_text(f"#!/bin/sh\n{said}\necho no attestations found >&2\nexit {status}\n")
        (tools / "gh").chmod(0o755)
        path = mock.patch.dict(os.environ, {"PATH": f"{tools}:{os.environ['PATH']}"})
        path.start()
        self.addCleanup(path.stop)

    def put(self, members: dict[str, bytes], digest: str | None = None) -> None:
        with tarfile.open(self.files / self.name, "w:gz") as archive:
            for name, content in members.items():
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
        digest = digest or hashlib.sha256((self.files / self.name).read_bytes()).hexdigest()
        (self.files / "SHA256SUMS").write_text(f"{'0' * 64}  repro-1.2.3-other.tar.gz\n{digest}  {self.name}\n")

    def fetch(self, version: str) -> Path:
        return program.release(version, self.environment, self.folder / "program")

    def test_a_program_is_fetched_and_can_run(self) -> None:
        self.put({"repro-1.2.3/README.md": b"", "repro-1.2.3/repro": b"#!/bin/sh\necho repro 1.2.3\n"})
        for version in ("1.2.3", "v1.2.3", " 1.2.3\n"):
            self.assertEqual(program.version_of(self.fetch(version)), "repro 1.2.3")

    def test_what_the_release_workflow_did_not_attest_is_refused(self) -> None:
        self.put({"repro": b"#!/bin/sh\necho repro 1.2.3\n"})
        self.fetch("1.2.3")
        asked = (self.folder / "tools/asked").read_text().splitlines()
        host = self.environment["GITHUB_SERVER_URL"].removeprefix("http://")
        self.assertEqual(asked[:2] + asked[-2:], ["attestation", "verify", "token-of-the-job", host])
        text = " ".join(asked)
        self.assertIn("--repo somebody/repro", text)
        self.assertIn("--signer-workflow somebody/repro/.github/workflows/release.yml", text)
        self.assertIn("--source-ref refs/tags/v1.2.3", text)
        (self.folder / "program/repro").unlink()
        self.attest(1)
        with self.assertRaisesRegex(Refusal, "no attestations found"):
            self.fetch("1.2.3")
        with mock.patch.dict(os.environ, {"PATH": ""}), self.assertRaisesRegex(Refusal, "no `gh`"):
            self.fetch("1.2.3")
        self.assertFalse((self.folder / "program/repro").exists())

    def test_another_digest_is_refused(self) -> None:
        self.put({"repro": b"#!/bin/sh\n"}, digest="1" * 64)
        with self.assertRaisesRegex(Refusal, "SHA-256 1{64}"):
            self.fetch("1.2.3")
        self.assertFalse((self.folder / "program").exists())

    def test_what_is_not_a_release_is_refused(self) -> None:
        self.put({"repro": b""})
        for version in ("9.9.9", "latest", "1.2", "1.2.3/../..", "1.2.3 --x", "1.2.3\n1.2.3"):
            with self.assertRaises(Refusal, msg=version):
                self.fetch(version)
        (self.files / "SHA256SUMS").write_text("no sums\n")
        with self.assertRaisesRegex(Refusal, "SHA256SUMS"):
            self.fetch("1.2.3")

    def test_an_archive_gives_one_program_and_writes_nothing_else(self) -> None:
        for members in ({"README.md": b""}, {"a/repro": b"", "b/repro": b""}):
            self.put(members)
            with self.assertRaisesRegex(Refusal, "one program"):
                self.fetch("1.2.3")
        self.put({"../../repro": b"#!/bin/sh\necho inside\n", "/tmp/other": b""})
        path = self.fetch("1.2.3")
        self.assertEqual((path.parent, program.version_of(path)), (self.folder / "program", "inside"))
        (self.files / self.name).write_bytes(b"no archive")
        digest = hashlib.sha256(b"no archive").hexdigest()
        (self.files / "SHA256SUMS").write_text(f"{digest} *{self.name}\n")
        with self.assertRaisesRegex(Refusal, "an archive"):
            self.fetch("1.2.3")


class Programs(unittest.TestCase):
    def test_one_way_to_come_by_it(self) -> None:
        self.assertEqual(program.source({}), "build")
        self.assertEqual(program.source({"REPRO_VERSION": "1.2.3"}), "release")
        self.assertEqual(program.source({"REPRO_PROGRAM": "repro", "REPRO_VERSION": " "}), "given")
        with self.assertRaises(Refusal):
            program.source({"REPRO_PROGRAM": "repro", "REPRO_VERSION": "1.2.3"})
        with self.assertRaises(Refusal):
            program.given("no-such-program")
        with self.assertRaises(Refusal):
            program.version_of(Path("/dev/null"))

    def test_a_build_is_away_from_the_judged_repository(self) -> None:
        """Cargo is taken from PATH: here one that tells how it was called."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            cargo = folder / "cargo"
            cargo.write_text(f'#!/bin/sh\necho "$PWD" "$@" >{folder}/called\nexit 3\n')
            cargo.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
                with self.assertRaisesRegex(Refusal, "status 3"):
                    program.build(CHECKOUT, folder / "program")
            called = (folder / "called").read_text().split()
            self.assertEqual(called[0], os.path.realpath(folder / "program"))
            self.assertIn("--locked", called)
            (folder / "program/bin").mkdir()
            (folder / "program/bin/repro").touch()
            self.assertEqual(program.build(CHECKOUT, folder / "program").name, "repro")

    def test_the_key_of_a_build_follows_its_sources(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            checkout = Path(name)
            (checkout / "src").mkdir()
            (checkout / "src/main.rs").write_text("fn main() {}\n")
            first = program.checkout_key(checkout)
            (checkout / "README.md").write_text("# A page\n")
            self.assertEqual(program.checkout_key(checkout), first)
            (checkout / "src/main.rs").write_text("fn main() { }\n")
            self.assertNotEqual(program.checkout_key(checkout), first)


class Comments(unittest.TestCase):
    def test_long_reports_are_cut_between_lines_and_each_gets_its_share(self) -> None:
        rows = "".join(f"| row {at} ü |\n" for at in range(20_000))
        text = comment.body("<!-- mark -->", "head", "", [("posts", rows), ("changed files", rows)])
        self.assertLessEqual(len(text.encode()), comment.LIMIT)
        self.assertEqual(text.count("</details>"), 2)
        self.assertEqual(text.count("The rest did not fit"), 2)
        self.assertGreater(len(text.encode()), comment.LIMIT - 200)
        for line in text.splitlines():
            self.assertTrue(not line.startswith("| row") or line.endswith("ü |"), line)

    def test_one_line_that_does_not_fit_is_left_out(self) -> None:
        text = comment.body("<!-- mark -->", "head", "", [("posts", "x" * 70_000)])
        self.assertLess(len(text), 500)

    def test_each_job_has_a_mark_of_its_own(self) -> None:
        marks = {
            comment.marker({"GITHUB_WORKFLOW": workflow, "GITHUB_JOB": job})
            for workflow, job in (("a", "b"), ("a", "c"), ("ab", ""), ("-->", "b"))
        }
        self.assertEqual(len(marks), 4)
        for mark in marks:
            self.assertRegex(mark, r"\A<!-- repro-action [0-9a-f]{16} -->\Z")


class Log(unittest.TestCase):
    def printed(self, text: str) -> str:
        kept = io.StringIO()
        with contextlib.redirect_stdout(kept):
            commands.relay(text)
        return kept.getvalue()

    def test_only_annotations_are_commands(self) -> None:
        log = self.printed(
            "::error file=a,title=b::c\n::set-output name=x::y\n::add-mask::z\n##[error]x\n  ::debug::x\n"
        )
        first, stop, *inert, last = log.splitlines()
        self.assertEqual(first, "::error file=a,title=b::c")
        token = stop.removeprefix("::stop-commands::")
        self.assertEqual((len(token), last), (32, f"::{token}::"))
        self.assertEqual(len(inert), 4)

    def test_an_output_cannot_end_itself(self) -> None:
        with tempfile.NamedTemporaryFile("r") as file, mock.patch.dict(os.environ, {"GITHUB_OUTPUT": file.name}):
            commands.output("path", "a\nEND\nother=1")
            self.assertRegex(file.read(), r"\Apath<<([0-9a-f]{32})\na\nEND\nother=1\n\1\n\Z")


class Requests(unittest.TestCase):
    def test_a_redirect_is_not_followed_with_the_token(self) -> None:
        github = GitHub()
        self.addCleanup(github.stop)
        with mock.patch.object(github, "answer", lambda *_: (302, {})):
            with self.assertRaises(ApiError) as caught:
                Api(github.url, "", "somebody/results", "token-of-the-job").ask("GET", "x")
        self.assertEqual(caught.exception.status, 302)
        self.assertEqual(len(github.asked), 1)


if __name__ == "__main__":
    unittest.main()
