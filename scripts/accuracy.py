#!/usr/bin/env python3
"""Measures how well `repro verify` judges the sentences of tests/corpus/sentences.

    scripts/accuracy.py [PROGRAM] [--wrong]

PROGRAM is a built `repro`; the default is target/debug/repro. Each case becomes one post of a scratch project. The
tables are those of docs/explanation/accuracy.md. With --wrong, every case that came out against its label is listed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests/corpus/sentences"
OUTCOMES = ["refuted", "linted", "open", "verified", "refused"]
TRUTHS = ["true", "wrong_digit", "wrong_unit", "wrong_direction", "wrong_binding"]


def toml(value):
    """A value in TOML: strings, lists and tables of them."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml(key)} = {toml(of)}" for key, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def post(case, post_id, shared):
    """The post file of a case, and its text."""
    head = {"schema": "repro.post/2", "id": post_id, "title": "A case", "text": f"{post_id}.md"}
    if "aliases" in case:
        head["aliases"] = case["aliases"]
    if "table" in case:
        kind, text = "table", case["table"]
        keys = {"head": text.strip().splitlines()[0], "rows": case["rows"], "columns": case["columns"]}
    else:
        kind, text = "sentence", case.get("paragraph", case["quote"])
        keys = {key: case[key] for key in ("quote", "is", "says", "reading") if key in case}
    lines = [f"{key} = {toml(value)}" for key, value in head.items()] + [shared, f"[[{kind}]]"]
    lines += [f"{key} = {toml(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n", text + "\n"


def outcome(claims):
    """What the claims of one case come to, the strongest objection first."""
    verdicts = [claim["verdict"] for claim in claims]
    if "refuted" in verdicts:
        return "refuted"
    if any("answer" not in lint for claim in claims for lint in claim.get("lints", [])):
        return "linted"
    return "verified" if verdicts and set(verdicts) == {"verified"} else "open"


def verify(program, cases, shared):
    """The outcome of every case."""
    with tempfile.TemporaryDirectory() as folder:
        repro = Path(folder) / "repro"
        repro.mkdir()
        os.symlink(ROOT / "receipts", Path(folder) / "receipts")
        os.symlink(ROOT / "repro/studies", repro / "studies")
        ids = [f"c{at:04}" for at in range(len(cases))]
        for post_id, case in zip(ids, cases):
            page, text = post(case, post_id, shared)
            (repro / f"{post_id}.toml").write_text(page, encoding="utf-8")
            (repro / f"{post_id}.md").write_text(text, encoding="utf-8")
        command = [program, "verify", "--post", "all", "--format", "json"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not ran.stdout:
        sys.exit(ran.stderr)
    report = json.loads(ran.stdout)
    refused = {match[0] for failure in report["failures"] if (match := re.search(r"c\d{4}", failure["place"]["file"]))}
    claims = {one["id"]: one["claims"] for one in report["posts"]}
    return ["refused" if post_id in refused or post_id not in claims else outcome(claims[post_id]) for post_id in ids]


def share(part, whole):
    """A share as a percentage, or a dash where there is nothing."""
    return f"{100 * part / whole:.1f}%" if whole else "-"


def markdown(head, rows):
    """A table of Markdown; all but the first columns are numbers."""
    texts = sum(not str(cell).replace(".", "").rstrip("%").isdigit() and cell != "-" for cell in rows[0])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * texts + "---:|" * (len(head) - texts)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def counts(scored):
    """Cases by family and truth, and what they came to."""
    table = defaultdict(Counter)
    for case, found in scored:
        table[case["family"], case["truth"]][found] += 1
    order = sorted(table, key=lambda key: (key[0], TRUTHS.index(key[1])))
    rows = [[*key, table[key].total(), *(table[key][one] for one in OUTCOMES)] for key in order]
    return markdown(["family", "truth", "cases", *OUTCOMES], rows)


def rates(scored):
    """Precision and recall for each group of cases."""
    groups = [("two-sided readings", lambda case: case["family"] != "one_sided")]
    groups += [("one-sided readings", lambda case: case["family"] == "one_sided")]
    groups += [(f"all, {truth.replace('_', ' ')}", lambda case, truth=truth: case["truth"] in ("true", truth)) for truth in TRUTHS[1:]]
    groups += [("all", lambda case: True)]
    rows = []
    for name, belongs in groups:
        own = [(case["truth"] != "true", found) for case, found in scored if belongs(case)]
        wrong = [found for is_wrong, found in own if is_wrong]
        right = [found for is_wrong, found in own if not is_wrong]
        refuted = wrong.count("refuted")
        noticed = refuted + wrong.count("linted")
        rows.append([
            name, len(right), len(wrong),
            share(refuted, refuted + right.count("refuted")), share(refuted, len(wrong)),
            share(noticed, noticed + right.count("refuted") + right.count("linted")), share(noticed, len(wrong)),
        ])
    head = ["cases", "true", "wrong", "precision, refuted", "recall, refuted", "precision, with lints", "recall, with lints"]
    return markdown(head, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "target/debug/repro", type=Path)
    parser.add_argument("--wrong", action="store_true", help="list the cases that came out against their label")
    options = parser.parse_args()
    shared = (CORPUS / "names.toml").read_text(encoding="utf-8")
    files = sorted(CORPUS.glob("sentences-*.toml"))
    cases = [case for file in files for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]]
    scored = list(zip(cases, verify(options.program.resolve(), cases, shared)))
    print(rates(scored), counts(scored), sep="\n\n")
    if options.wrong:
        for case, found in scored:
            expected = ("verified",) if case["truth"] == "true" else ("refuted", "linted")
            if found not in expected:
                words = case.get("quote") or case["table"]
                print(f"{case['id']}: {case['truth']}, {found}: {words!r}")


if __name__ == "__main__":
    main()
