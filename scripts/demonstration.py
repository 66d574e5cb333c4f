#!/usr/bin/env python3
"""Executes a page of the documentation, and checks that it shows what comes out.

    scripts/demonstration.py            fails where an output of docs/explanation/demonstration.md is another one
    scripts/demonstration.py --write    writes the outputs into the page

In its blocks of `console`, lines that begin with `$ ` are commands for bash; what follows is what they print, and their
exit status where it is not 0. All are executed in a new folder with the studies and scripts of the project. Times are not compared.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs/explanation/demonstration.md"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


def executed(command, folder):
    path = f"{PROJECT / 'target/release'}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path, "COLUMNS": "100"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    status = f"[exit status {run.returncode}]\n" if run.returncode else ""
    end = "" if run.stdout.endswith("\n") or not run.stdout else "\n"
    return run.stdout + end + status


def main():
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(PROJECT / "scripts", pathlib.Path(folder) / "scripts")
        shutil.copytree(PROJECT / "repro/studies", pathlib.Path(folder) / "repro/studies")

        def block(found):
            commands = [line for line in found.group().splitlines() if line.startswith("$ ")]
            return "".join(f"{line}\n{executed(line[2:], folder)}" for line in commands)

        made, blocks = BLOCK.subn(block, page)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made)
        return
    said, came = (TIME.sub("TIME", text).splitlines() for text in (page, made))
    if blocks == 0 or said != came:
        other = [f"{at + 1}: {a!r} came out as {b!r}" for at, (a, b) in enumerate(zip(said, came)) if a != b]
        sys.exit("\n".join(other[:20]) or "the page has more or fewer lines than come out")
    print(f"{PAGE.name}: {blocks} blocks, as they came out")


main()
