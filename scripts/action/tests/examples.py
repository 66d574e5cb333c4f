"""Takes the examples out of a page and the script out of a GitLab template: examples.py PAGE TEMPLATE FOLDER."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ruamel.yaml import YAML

KINDS = {"jobs:": ("workflows", "yml"), "repos:": ("hooks", "yaml"), "include:": ("gitlab", "yml")}
"""How an example of a whole file is known, the folder that it goes to, and its ending."""


def main(page: Path, template: Path, folder: Path) -> None:
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"))
    found = set()
    for block in blocks:
        for key, (kind, ending) in KINDS.items():
            if re.search(f"(?m)^{key}", block):
                found.add(kind)
                number = len(list((folder / kind).iterdir())) + 1
                # a page cannot know the commit that its reader pins
                text = block.replace("@COMMIT", "@" + "0" * 40).replace("rev: COMMIT", "rev: '" + "0" * 40 + "'")
                (folder / kind / f"ci-{number}.{ending}").write_text(text, encoding="utf-8")
    missing = {kind for kind, _ in KINDS.values()} - found
    assert not missing, f"{page} has no example for {missing}"
    job = YAML(typ="safe").load(template)["repro"]
    script = "\n".join(["#!/usr/bin/env bash", "set -eo pipefail", *job["before_script"], *job["script"]])
    (folder / "gitlab" / "job.sh").write_text(script + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
