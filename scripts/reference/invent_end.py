#!/usr/bin/env python3
"""Invents the last third of a run of `repro train`, for the demonstration of a challenge.

    scripts/reference/invent_end.py BUNDLE
    repro bundle seal BUNDLE

From the first committed state after two thirds of the steps on, losses are 3% lower, the last evaluation agrees with
them, and the committed states are of weights that never were. All sums, means and chains are made right again;
`repro bundle seal` does the same for sizes and digests.
"""
import hashlib
import json
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from repro_receipts import canonical

LOWER = 0.97


def single(number):
    """The nearest float32."""
    return struct.unpack("f", struct.pack("f", number))[0]


def change(path, edit):
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(canonical(document) + "\n")
    return document


def chained(path, edit):
    """Edits each line of a chained file, and returns the chain of the last one."""
    chain, lines = "", []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        del record["chain"]
        edit(record)
        chain = hashlib.sha256((chain + canonical(record)).encode()).hexdigest()
        lines.append(canonical({**record, "chain": chain}) + "\n")
    path.write_text("".join(lines))
    return chain


def main():
    data = pathlib.Path(sys.argv[1]) / "data"
    end = json.loads((data / "config.json").read_text())["steps"]
    states = [json.loads(line)["step"] for line in (data / "states.jsonl").read_text().splitlines()]
    honest = max(step for step in states if 3 * step <= 2 * end)

    def invented(step):
        return hashlib.sha256(f"weights that never were, after {step} steps".encode()).hexdigest()

    def record(line):
        if line["step"] > honest:
            line["loss"] = single(LOWER * line["loss"])

    def state(line):
        if line["step"] > honest:
            line["tensors_sha256"] = invented(line["step"])
        if line["step"] == end and "evaluation_sha256" in line:
            files = sorted(data.glob(f"evaluation/step-{end:06}.*"))
            digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
            names = [f"{digest}  data/evaluation/{file.name}\n" for digest, file in zip(digests, files)]
            line["evaluation_sha256"] = hashlib.sha256("".join(names).encode()).hexdigest()

    def evaluation(document):
        document["tensors_sha256"] = invented(end)
        blocks = [LOWER * block for block in document["blocks"]]
        nats = math.fsum(blocks)
        document.update(blocks=blocks, nats=nats, loss=nats / document["predicted_tokens"],
                        bpb=nats / (math.log(2) * document["bytes"]))

    chained(data / "metrics.jsonl", record)
    change(data / f"evaluation/step-{end:06}.json", evaluation)
    root = chained(data / "states.jsonl", state)

    def receipt(document):
        predicate = document["predicate"]
        predicate["states"]["root"] = root
        for checkpoint in predicate["checkpoints"]:
            state(checkpoint)

    change(data / "receipt.json", receipt)


main()
