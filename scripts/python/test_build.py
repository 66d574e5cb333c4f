"""Tests of the build backend: python3 scripts/python/test_build.py

REPRO_BIN names a program of this checkout; without it what needs it is skipped.
"""
import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import _build  # noqa: E402

BIN = os.environ.get("REPRO_BIN")


class Wheel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def use(self, **variables):
        changed = mock.patch.dict(os.environ, variables)
        changed.start()
        self.addCleanup(changed.stop)

    def test_values_of_the_project_are_read(self):
        own = _build.project()
        self.assertEqual((own["name"], own["license-files"]), ("repro-receipts", ["LICENSE"]))
        self.assertIn("Typing :: Typed", own["classifiers"])
        self.assertIn(f"\nVersion: {_build.version()}\n", _build.metadata())

    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_a_wheel_is_whole_and_installs(self):
        name = _build.build_wheel(str(self.folder))
        with zipfile.ZipFile(self.folder / name) as wheel:
            entries = {entry: wheel.read(entry) for entry in wheel.namelist()}
            record = next(entry for entry in entries if entry.endswith("/RECORD"))
            for line in entries.pop(record).decode().splitlines():
                entry, digest, size = line.split(",")
                if entry != record:
                    content = entries.pop(entry)
                    found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), (f"sha256={found}", str(len(content))), entry)
            self.assertEqual(entries, {})
        if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("there is no pip")
        site = self.folder / "site"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", "--target", site]
        subprocess.run([*pip, self.folder / name], check=True)
        said = subprocess.run([site / "bin" / "repro", "--version"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(said.decode().split()[:2], ["repro", _build.version()])
        self.assertTrue((site / "repro_receipts" / "py.typed").is_file())

    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_a_program_that_is_built_is_taken_unless_a_source_is_newer(self):
        target = self.folder / "target"
        (target / "release").mkdir(parents=True)
        program = target / "release" / "repro"
        shutil.copy(BIN, program)
        self.use(CARGO_TARGET_DIR=str(target), REPRO_BIN="")
        newest, _ = _build.newest_source()
        os.utime(program, (newest + 1, newest + 1))
        self.assertEqual(_build.program(), program)
        os.utime(program, (newest - 1, newest - 1))
        with mock.patch.object(_build, "BUILD", self.folder / "none"), self.assertRaisesRegex(_build.BuildError, "no `cargo`"):
            self.use(PATH=str(self.folder))
            _build.program()

    def test_a_program_of_another_version_is_refused(self):
        self.use(REPRO_BIN="/bin/sh")
        with self.assertRaisesRegex(_build.BuildError, "no program"):
            _build.program()


if __name__ == "__main__":
    unittest.main()
