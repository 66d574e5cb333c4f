"""The hooks by the real pre-commit, in a scratch repository; those in `rust` differ by how the program is built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from project import PROGRAM, REPORT, WRONG_REPORT, Project
from ruamel.yaml import YAML
from steps import CHECKOUT, clean_environment

MANIFEST = CHECKOUT / ".pre-commit-hooks.yaml"
CONFIG = """
repos:
  - repo: {hooks}
    rev: {revision}
    hooks:
      - id: repro-check-system
      - id: repro-verify-system
"""


class Hooks(unittest.TestCase):
    def setUp(self) -> None:
        self.project = Project()
        self.addCleanup(self.project.remove)
        hooks, programs = self.project.folder / "hooks", self.project.folder / "programs"
        hooks.mkdir()
        programs.mkdir()
        (programs / "repro").symlink_to(PROGRAM)
        shutil.copy(MANIFEST, hooks)
        self.project.git("init", "--quiet", at=hooks)
        self.project.git("add", "--all", at=hooks)
        self.project.git("commit", "--quiet", "--message=hooks", at=hooks)
        revision = self.project.git("rev-parse", "HEAD", at=hooks)
        self.project.write(".pre-commit-config.yaml", CONFIG.format(hooks=hooks, revision=revision))
        self.project.commit()
        self.environment = {
            **clean_environment(),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PRE_COMMIT_HOME": str(self.project.folder / "cache"),
        }

    def commit(self, files: dict[str, str | None]) -> tuple[int, str]:
        """What pre-commit says of a commit with these files."""
        self.project.git("reset", "--quiet", "--hard")
        for name, text in files.items():
            if text is None:
                (self.project.workspace / name).unlink()
            else:
                self.project.write(name, text)
        self.project.git("add", "--all")
        command = [str(Path(sys.executable).parent / "pre-commit"), "run", "--color=never"]
        ran = subprocess.run(
            command, cwd=self.project.workspace, env=self.environment, capture_output=True, check=False
        )
        return ran.returncode, (ran.stdout + ran.stderr).decode(errors="replace")

    def test_a_commit_is_judged_by_what_it_changes(self) -> None:
        status, said = self.commit({"report.md": REPORT + "\nA closing line.\n", "code.py": "pass\n"})
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"repro verify\.+Passed")
        status, said = self.commit({"-rf wrong.md": WRONG_REPORT})
        self.assertEqual(status, 1, said)
        self.assertIn("-rf wrong.md", said)
        self.assertIn("86,420", said)
        status, said = self.commit({"notes.txt": "other notes\n", "tsconfig.json": "{ // strict\n}\n"})
        self.assertEqual(status, 0, said)

    def test_a_post_that_changed_is_held_against_its_lock(self) -> None:
        text = (self.project.workspace / "repro/first.md").read_text(encoding="utf-8")
        status, said = self.commit({"repro/first.md": text + "\nAnother sentence.\n"})
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"repro verify\.+Failed")

    def test_a_deleted_lock_or_receipt_is_noticed(self) -> None:
        for name in ("repro/first.lock", "receipts/example-invented-numbers/bagit.txt"):
            status, said = self.commit({name: None})
            self.assertEqual(status, 1, said)
            self.assertRegex(said, r"repro verify\.+Failed")

    def test_both_ways_to_come_by_the_program_run_the_same(self) -> None:
        hooks = {hook["id"]: hook for hook in YAML(typ="safe").load(MANIFEST)}
        for name in ("repro-check", "repro-verify"):
            built, system = ({**hooks[name + way], "id": "", "description": ""} for way in ("", "-system"))
            self.assertEqual((built.pop("language"), system.pop("language")), ("rust", "system"))
            self.assertEqual(built, system)


if __name__ == "__main__":
    unittest.main()
