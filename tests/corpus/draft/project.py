"""Writes receipts for the texts beside it: a dense model and a mixture, three seeds each, and runs that no text concerns; of
`rates.md`, runs at two learning rates.

    project.py FOLDER TEXT     FOLDER/receipts; all numbers are invented
"""
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "python"))
import repro_receipts as receipts  # noqa: E402

START, TOKENS = math.log(256), 32768


def train(folder, rng, group, seed, end, model, **changes):
    """A run whose losses fall towards `end`."""
    settings = {"batch": 16, "length": 64, "steps": 200, "lr": 0.002, "warmup": 20, "min_lr": 0.0002, "betas": [0.9, 0.95],
                "wd": 0.1, "clip": 1.0, **changes}
    config = {"model": model, "train": settings, "data": {"train_bytes": 1115394}}
    run = receipts.init(f"{group}-s{seed}", folder / "receipts", config, {"name": "train.py"}, {"init": seed}, group=group, rank=0)
    for step in range(settings["steps"] + 1):
        loss = end + (START - end) * math.exp(-0.025 * step)
        if step:
            rate = settings["lr"] * min(1, step / settings["warmup"])
            run.log({"train/loss": round(loss + rng.gauss(0, 0.02), 6), "lr": rate}, step=step,
                    tokens=step * settings["batch"] * settings["length"])
        if step % 50 == 0:
            nats = (loss + 0.07 + rng.gauss(0, 0.004)) * TOKENS
            run.evaluation(step, nats=nats, predicted_tokens=TOKENS, bytes=int(TOKENS * 2.61))
    assert run.finish(), run.problems


def rates(folder, rng):
    """Runs that the text names by their learning rates."""
    model = {"n_layer": 4, "n_head": 4, "n_embd": 128, "vocab_size": 256, "params": 829440}
    for group, rate, end in (("low", 1e-3, 2.57), ("high", 3e-3, 2.68)):
        for seed in (1, 2, 3):
            train(folder, rng, group, seed, end, model, lr=rate, min_lr=1e-4, block_size=64, warmup=100, steps=400)


def main(folder, rng):
    shape = {"layers": 3, "heads": 4, "width": 96, "vocab": 512}
    dense = {**shape, "experts": 1, "top_k": 1, "params": 353664}
    mixture = {**shape, "experts": 4, "top_k": 2, "params": 685440}
    for group, end, model in (("dense", 3.11, dense), ("moe", 3.06, mixture)):
        for seed in (1, 2, 3):
            train(folder, rng, group, seed, end, model)
    # Other runs, with settings whose digits the texts have: some of these 200 steps are no run's of theirs.
    for seed in (1, 2):
        train(folder, rng, "long", seed, 2.8, mixture, steps=500, lr=0.004, batch=8)
    train(folder, rng, "debug", 7, 3.3, mixture, steps=200, lr=0.006)


(rates if sys.argv[2] == "rates.md" else main)(pathlib.Path(sys.argv[1]), random.Random(12))
