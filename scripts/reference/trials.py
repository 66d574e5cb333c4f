#!/usr/bin/env python3
"""Trains runs of other programs, replays them, and says what came out.

    scripts/reference/trials.py table [--write PAGE]            every feature of a list, as a table
    scripts/reference/trials.py random --count N --seed S       honest runs with settings that the seed draws
        [--float32 | --bfloat16] [--largest N]
    both: [--engine own|candle|both] [--text FILE] [--repro PROGRAM] [--out DIR] [--jobs N] [--only TEXT]

The runs are those of hf_loop.py, hf_trainer.py, lightning_loop.py, nanogpt_style.py and nanochat_style.py of this folder.
With `--write` the table replaces what stands between its two marks in a page. The exit status is 1 where an honest run is
refuted, by one of two engines alone too, or where a run that is to be refused is not.

Needs `pip install torch==2.15.0 transformers==5.23.0 accelerate lightning numpy`; nothing here is used by the product.
"""
import argparse
import collections
import contextlib
import dataclasses
import importlib
import json
import multiprocessing
import multiprocessing.pool
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BEGIN, END = "<!-- made by scripts/reference/trials.py table -->", "<!-- end of the table -->"
CONFIRMED, REFUSED = "confirmed", "refused"


@dataclasses.dataclass
class Trial:
    """A run, and how its bundle is changed before it is replayed."""
    what: str
    trainer: str
    arguments: list
    wanted: str = CONFIRMED
    config: dict = dataclasses.field(default_factory=dict)


def hf(what, model, *arguments, **more):
    return Trial(what, "hf_loop", ["--model", model, *arguments], **more)


def of_trainer(what, *arguments, **more):
    return Trial(what, "hf_trainer", list(arguments), **more)


ROPE = {"linear": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0},
        "llama3": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 16, "rope_theta": 10000.0},
        "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10000.0},
        "dynamic": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}}


def rope(kind):
    return f"rope_parameters={json.dumps(ROPE[kind])}"


TABLE = {
    "Models": [
        hf("Llama", "llama"), hf("Mistral (sliding window)", "mistral", "--set", "sliding_window=8"),
        hf("Qwen2 (biases)", "qwen2"), hf("Qwen3 (QK norm)", "qwen3"),
        hf("OLMo 2 (post-norm)", "olmo2"), hf("OLMo 3", "olmo3", "--set", "sliding_window=8", "--layers", "4"),
        hf("Gemma", "gemma"), hf("Gemma 2 (logit soft-capping, sliding window)", "gemma2", "--set", "sliding_window=8", "--layers", "2"),
        hf("Gemma 3 (text)", "gemma3", "--set", "sliding_window=8", "--layers", "2"),
        hf("GPT-2 (transformers)", "gpt2"), hf("nanochat (transformers)", "nanochat"),
        hf("Mixtral", "mixtral"), hf("OLMoE", "olmoe"), hf("Qwen3-MoE", "qwen3_moe"),
        hf("OLMoE, gates not normalized", "olmoe", "--set", "norm_topk_prob=false"),
        hf("Mixtral, top-1 routing", "mixtral", "--set", "num_experts_per_tok=1"),
        Trial("nanoGPT", "nanogpt_style", []), Trial("nanoGPT without biases", "nanogpt_style", ["--no-bias"]),
        Trial("nanochat, AdamW and Muon", "nanochat_style", []),
        Trial("nanochat, `torch.optim.Muon`", "nanochat_style", ["--optimizer", "torch"]),
    ],
    "Model settings": [
        hf("tied embeddings", "llama", "--set", "tie_word_embeddings=true"),
        hf("attention and MLP biases", "llama", "--set", "attention_bias=true", "--set", "mlp_bias=true"),
        hf("GELU instead of SiLU", "llama", "--set", 'hidden_act="gelu"'),
        hf("RMSNorm epsilon 0.1", "llama", "--set", "rms_norm_eps=0.1"),
        *[hf(f"RoPE scaling `{kind}`", "llama", "--set", rope(kind)) for kind in ("linear", "llama3", "yarn")],
        hf("`eager` attention", "llama", "--set", '_attn_implementation="eager"'),
        hf("RoPE scaling `dynamic`", "llama", "--set", rope("dynamic"), wanted=REFUSED),
        hf("router jitter noise", "mixtral", "--set", "router_jitter_noise=0.1", wanted=REFUSED),
        hf("dropout", "gpt2", "--set", "resid_pdrop=0.1", wanted=REFUSED),
        hf("attention dropout", "llama", "--set", "attention_dropout=0.5", wanted=REFUSED),
        hf("GELU in experts", "mixtral", "--set", 'hidden_act="gelu"', wanted=REFUSED),
        hf("partial rotary embedding", "llama", "--set", "partial_rotary_factor=0.5", wanted=REFUSED),
    ],
    "Losses and batches": [
        hf("micro-batches", "llama", "--micro", "4"), hf("ignored targets", "llama", "--skip", "7"),
        hf("label smoothing", "llama", "--smoothing", "0.1"), hf("z-loss on logits", "llama", "--z-loss", "1e-3"),
        hf("balance loss over all layers", "mixtral", "--balance", "0.02", "--layers", "2"),
        hf("balance loss per micro-batch", "qwen3_moe", "--balance", "0.02", "--micro", "2"),
        of_trainer("`Trainer`, full rows"), of_trainer("`Trainer`, right padding", "--rows-as", "right"),
        of_trainer("`Trainer`, left padding", "--rows-as", "left"),
        of_trainer("`Trainer`, packed rows", "--rows-as", "packed"),
        of_trainer("`Trainer`, masked prompts, micro-batches", "--rows-as", "masked", "--micro", "2"),
        of_trainer("`Trainer`, label smoothing", "--smoothing", "0.1"),
        of_trainer("`Trainer`, balance loss, micro-batches", "--model", "mixtral", "--balance", "0.02", "--micro", "2"),
        of_trainer("`Trainer`, resumed", "--resume", "4"), of_trainer("`Trainer`, evaluations", "--evaluate", "3"),
        of_trainer("`Trainer`, gradient checkpointing", "--checkpointing"),
        of_trainer("`Trainer`, Qwen3", "--model", "qwen3"),
        Trial("Lightning", "lightning_loop", []),
    ],
    "Optimizers": [
        hf("AdamW, two parameter groups", "llama"), hf("AdamW, weight decay on all parameters", "llama", "--groups", "one"),
        hf("AdamW, learning rate by depth", "llama", "--groups", "depth"), hf("AMSGrad", "llama", "--optimizer", "amsgrad"),
        hf("Adam with L2", "llama", "--optimizer", "adam"),
        hf("SGD with Nesterov momentum", "llama", "--optimizer", "sgd", "--lr", "0.1"),
        hf("Lion", "llama", "--optimizer", "lion", "--lr", "3e-4"), hf("Muon with AdamW", "llama", "--optimizer", "muon"),
        *[hf(f"schedule: {name}", "llama", "--schedule", name) for name in ("cosine", "sqrt", "linear", "constant")],
        hf("no clipping", "llama", "--clip", "0"), hf("clipping at 0.1", "llama", "--clip", "0.1"),
        hf("frozen embedding", "qwen2", "--freeze", "embed_tokens"),
        hf("weight averaging (EMA) in the config", "llama", config={"ema_decay": 0.99}, wanted=REFUSED),
        hf("an unknown setting", "llama", config={"my_trick": True}, wanted=REFUSED),
    ],
    "Low precision": [
        hf("bfloat16 autocast", "llama", "--autocast"), hf("bfloat16 autocast, Qwen3", "qwen3", "--autocast"),
        hf("bfloat16 autocast, GPT-2", "gpt2", "--autocast"),
        hf("bfloat16, float32 master weights", "llama", "--masters"), hf("bfloat16, float32 master weights, OLMo 2", "olmo2", "--masters"),
        hf("bfloat16, float32 master weights, Mixtral", "mixtral", "--masters"),
        hf("bfloat16, float32 master weights, Gemma 2", "gemma2", "--masters"),
        of_trainer("`Trainer`, `bf16=True`", "--bf16"),
        of_trainer("`Trainer`, `bf16=True`, Mixtral", "--model", "mixtral", "--bf16"),
    ],
}
COMMON = {"hf_loop": ["--hidden", "32", "--layers", "1"], "hf_trainer": ["--hidden", "32", "--layers", "1"],
          "lightning_loop": [], "nanogpt_style": ["--hidden", "32"], "nanochat_style": ["--hidden", "32"]}


def table_trials():
    """The trials of the table, each with the section it is in."""
    for section, trials in TABLE.items():
        for trial in trials:
            arguments = [*COMMON[trial.trainer], "--steps", "12", "--slice", "6:3", *trial.arguments]
            yield section, dataclasses.replace(trial, arguments=arguments)


# --- Honest runs with settings that a seed draws ---

def parameters(hidden, layers, vocabulary, experts):
    """About how many."""
    return 2 * vocabulary * hidden + layers * hidden * hidden * (4 + 6 * experts)


def drawn(source, chosen):
    """A trial with settings that a source of random numbers draws."""
    few_bits = chosen.bfloat16 or (not chosen.float32 and source.random() < 0.25)
    trainer = source.choices(["hf_loop", "hf_trainer", "nanogpt_style", "nanochat_style"], [10, 3, 2, 2])[0]
    if few_bits:
        trainer = source.choice(["hf_loop", "hf_trainer"])
    while True:
        heads = source.choice([2, 4, 8] if trainer == "hf_trainer" else [1, 2, 4, 8])
        hidden = heads * source.choice([8, 16, 24, 32, 64])
        layers, vocabulary = source.choice([1, 1, 2, 3, 4]), source.choice([256, 256, 320, 1024, 4096, 16384])
        if 20_000 <= parameters(hidden, layers, vocabulary, 4) <= chosen.largest:
            break
    steps, micro = source.choice([6, 12, 20, 40]), source.choice([1, 1, 1, 2, 4])
    # `Trainer` begins at a rate of 0, and nanochat with matrices that get no gradient: such steps show nothing.
    least = {"hf_trainer": 1, "nanochat_style": 2}.get(trainer, 0)
    first, threads = source.randrange(least, steps - 3), source.choice([1, 2])
    length, rows = source.choice([16, 32, 64, 128]), source.choice([1, 2, 4, 8])
    arguments = ["--hidden", hidden, "--layers", layers, "--heads", heads, "--vocabulary", vocabulary, "--length", length,
                 "--rows", rows, "--micro", micro, "--steps", steps, "--slice", f"{first}:{source.choice([1, 2, 3])}",
                 "--threads", threads, "--seed", source.randrange(1 << 30)]
    arguments += {"hf_loop": drawn_loop, "hf_trainer": drawn_trainer, "nanogpt_style": drawn_nanogpt,
                  "nanochat_style": drawn_nanochat}[trainer](source, few_bits)
    model = arguments[arguments.index("--model") + 1] if "--model" in arguments else trainer
    kind = "bfloat16" if few_bits else "float32"
    size = parameters(hidden, layers, vocabulary, 4 if model in ("mixtral", "olmoe", "qwen3_moe") else 1)
    return Trial(f"{model} {size / 1e6:.2f}M {kind}", trainer, [str(one) for one in arguments])


def drawn_loop(source, few_bits):
    from hf_loop import CONFIGS
    model = source.choice(list(CONFIGS))
    optimizers = ["adamw", "adam", "amsgrad", "sgd", "sgd-momentum", "sgd-plain", "lion", "muon"]
    optimizer = source.choices(optimizers, [8, 1, 1, 1, 1, 1, 2, 2])[0]
    if optimizer == "muon" and model in ("mixtral", "olmoe", "qwen3_moe", "gpt2"):
        optimizer = "adamw"
    rate = source.choice([3e-2, 0.1, 0.3]) if optimizer.startswith("sgd") else source.choice([1e-4, 3e-4, 1e-3, 3e-3])
    arguments = ["--model", model, "--optimizer", optimizer, "--lr", rate,
                 "--schedule", source.choice(["cosine", "sqrt", "linear", "constant"]),
                 "--groups", source.choice(["two", "two", "one", "depth"]), "--clip", source.choice([0, 0.1, 1.0, 1.0, 5.0])]
    arguments += [source.choice(["--autocast", "--autocast", "--masters"])] if few_bits else []
    arguments += source.choice([[], [], [], ["--skip", 5], ["--smoothing", 0.1], ["--z-loss", 1e-4]])
    if model in ("mixtral", "olmoe", "qwen3_moe") and source.random() < 0.5:
        arguments += ["--balance", 0.01]
    if model in ("mistral", "olmo3", "gemma2", "gemma3") and source.random() < 0.5:
        arguments += ["--set", "sliding_window=8"]
    if model in ("llama", "qwen2", "qwen3") and source.random() < 0.3:
        arguments += ["--set", source.choice(["tie_word_embeddings=true", "rms_norm_eps=1e-3", 'hidden_act="gelu"', rope("yarn")])]
    return arguments


def drawn_trainer(source, few_bits):
    model = source.choice(["llama", "qwen2", "qwen3", "mixtral"])
    arguments = ["--model", model, "--rows-as", source.choice(["full", "right", "left", "packed", "masked"]),
                 "--lr", source.choice([3e-4, 1e-3, 3e-3])]
    arguments += ["--bf16"] if few_bits else source.choice([[], [], ["--checkpointing"], ["--smoothing", 0.1]])
    return arguments


def drawn_nanogpt(source, _):
    return [*source.choice([[], ["--no-bias"]]), "--lr", source.choice([3e-4, 1e-3, 3e-3])]


def drawn_nanochat(source, _):
    return ["--optimizer", source.choice(["reference", "torch"]), "--momentum-steps", source.choice([0, 300])]


# --- A run and its replay ---

def train(trial, name, chosen):
    """Makes the bundle of a trial in a process of its own; answers why there is none."""
    log = pathlib.Path(chosen.out, f"{name}.log")

    def inside():
        with log.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
            sys.argv = [trial.trainer, *trial.arguments, "--text", str(chosen.text), "--out", str(chosen.out), "--name", name]
            importlib.import_module(trial.trainer).main()

    process = multiprocessing.get_context("fork").Process(target=inside)
    process.start()
    process.join()
    if process.exitcode:
        return (log.read_text().strip().splitlines() or ["no output"])[-1]
    return None


def problem_of(bundle):
    """Why the recorder kept no slice, if it did not."""
    receipt = json.loads((bundle / "data/receipt.json").read_text())["predicate"]
    problems = receipt.get("extra", {}).get("emitter_problems", [])
    return None if receipt.get("slices") else "; ".join(problems).split("; move those without effect")[0] or "no slice"


def tried(job):
    """What came of a trial: its outcome, the reason, the smallest error of the learning rate that would be seen, seconds."""
    name, trial, chosen = job
    start, failed = time.monotonic(), train(trial, name, chosen)
    trained = time.monotonic() - start
    bundle = pathlib.Path(chosen.out, name)
    if failed:
        return name, trial, {"outcome": "not trained", "reason": failed, "seconds": [trained, 0.0]}
    if trial.config:
        config = bundle / "data/config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), **trial.config}))
        subprocess.run([chosen.repro, "bundle", "seal", bundle], check=True, capture_output=True)
    problem = problem_of(bundle)
    if problem:
        return name, trial, {"outcome": REFUSED, "reason": f"by the recorder: {problem}", "seconds": [trained, 0.0]}
    done = subprocess.run([chosen.repro, "replay", bundle, "--threads", "1", "--engine", chosen.engine, "--format", "json"],
                          capture_output=True, text=True, check=False)
    seconds = [trained, time.monotonic() - start - trained]
    pathlib.Path(chosen.out, f"{name}.json").write_text(done.stdout)
    found = outcome_of(json.loads(done.stdout)) if done.stdout else refusal_of(done.stderr)
    return name, trial, {**found, "seconds": seconds}


def refusal_of(said):
    """What an error says: its code, what was expected, what was found."""
    code, notes = re.search(r"error\[(.*?)\]", said), re.findall(r"note: (expected .*|found .*)|\^ (found .*)", said)
    notes = [" ".join(part for part in note if part) for note in notes]
    return {"outcome": REFUSED if code else "failed", "reason": f"{code[1]}: {', '.join(notes)}" if code else said[-300:]}


def outcome_of(report):
    """Verdict and reason of a replay, what each engine says, and the planted faults that it would see."""
    verdict, faults = report["verdict"], report["smallest_fault_caught"] or {}
    outcome = CONFIRMED if verdict == "verified" else verdict
    return {"outcome": outcome, "reason": "" if outcome == CONFIRMED else f"{report['code']}: {report['reason']}",
            **({"engines": engines_of(report["engines"])} if report.get("engines") else {}),
            "smallest": faults.get("learning-rate", {}).get("smallest"), "coarse": (report["tolerance"] or {}).get("too_coarse"),
            "seen": sorted(name for name, fault in faults.items() if fault["caught"])}


def engines_of(engines):
    """What each of two engines says, and the largest difference between them as a share of its tolerance."""
    own, candle = engines["own"], engines["candle"]
    largest = max(engines["largest_differences"], key=lambda one: float(one["share_of_tolerance"]), default=None)
    return {"own": own["verdict"], "candle": candle["verdict"] if candle else engines["candle_does_not_know"],
            "part": engines["part"], "largest": largest}


def run_all(jobs, chosen):
    """Tries all of them, some side by side, in the order in which they end."""
    import torch  # noqa: F401  # once for all processes, which are forked
    import transformers  # noqa: F401
    with multiprocessing.pool.ThreadPool(chosen.jobs) as pool:
        yield from pool.imap_unordered(tried, jobs)


def campaign(chosen):
    """Random honest runs; answers the exit status."""
    source = random.Random(chosen.seed)
    trials = [drawn(source, chosen) for _ in range(chosen.count)]
    jobs = [(f"run-{chosen.seed}-{at:03d}", trial, chosen) for at, trial in enumerate(trials)]
    counts, shares = collections.defaultdict(collections.Counter), []
    for name, trial, found in run_all([job for job in jobs if chosen.only in job[1].what], chosen):
        is_refuted = "refuted" in found.get("engines", {}).values()
        counts[trial.what.split()[-1]]["refuted" if is_refuted else found["outcome"]] += 1
        if found.get("engines", {}).get("largest"):
            shares.append((float(found["engines"]["largest"]["share_of_tolerance"]), name))
        print(json.dumps({"name": name, "what": trial.what, **found, "arguments": " ".join([trial.trainer, *trial.arguments])}),
              flush=True)
    if shares:
        print(f"engines at most {100 * max(shares)[0]:.0f}% of the tolerance apart, in {max(shares)[1]}", file=sys.stderr)
    for kind, outcomes in counts.items():
        print(f"{kind}: {sum(outcomes.values())} runs: {dict(outcomes)}", file=sys.stderr)
    return int(any(outcomes["refuted"] or outcomes["not trained"] or outcomes["failed"] for outcomes in counts.values()))


def table(chosen):
    """The table of features; answers the exit status."""
    listed = [(section, trial) for section, trial in table_trials() if chosen.only in trial.what]
    jobs = [(f"trial-{at:03d}", trial, chosen) for at, (_, trial) in enumerate(listed)]
    found = {}
    for name, trial, outcome in run_all(jobs, chosen):
        found[name] = outcome
        print(f"{name} {trial.what}: {outcome['outcome']} {outcome['reason']} {outcome['seconds']}", file=sys.stderr, flush=True)
    lines, last = [], None
    for (name, trial, _), (section, _) in zip(jobs, listed):
        if section != last:
            lines += ["", f"| {section} | replay | smallest error detected, or reason |", "|---|---|---|"]
            last = section
        lines.append(f"| {trial.what} | {found[name]['outcome']} | {cell(found[name])} |")
    text = "\n".join(lines[1:])
    if chosen.write:
        page = chosen.write.read_text()
        before, rest = page.split(BEGIN, 1)
        chosen.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")
    else:
        print(text)
    wrong = [trial.what for name, trial, _ in jobs if found[name]["outcome"] not in (trial.wanted, "inconclusive")]
    print(f"not as wanted: {wrong or 'none'}", file=sys.stderr)
    return int(bool(wrong))


def cell(found):
    """The smallest detected error of the learning rate, or the reason for an outcome."""
    seen = f"{100 * found['smallest']:.1g}%" if found.get("smallest") else ""
    return found["reason"].replace("|", "\\|") or seen


def main():
    parser = argparse.ArgumentParser(description="trains runs of other programs, replays them, says what came out")
    parser.add_argument("command", choices=("table", "random"))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--float32", action="store_true", help="none with fewer bits")
    parser.add_argument("--bfloat16", action="store_true", help="all under autocast to bfloat16")
    parser.add_argument("--largest", type=int, default=2_000_000, metavar="N", help="about the most parameters of a run")
    parser.add_argument("--engine", choices=("own", "candle", "both"), default="own", help="what replays them")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "target/corpus/shakespeare.txt")
    parser.add_argument("--repro", type=pathlib.Path, default=ROOT / "target/release/repro")
    parser.add_argument("--out", type=pathlib.Path, help="where bundles, reports and logs are kept")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    parser.add_argument("--only", default="", metavar="TEXT", help="those with this in their names")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="the page that the table is written into")
    chosen = parser.parse_args()
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory() as folder:
        chosen.out = chosen.out or pathlib.Path(folder)
        chosen.out.mkdir(parents=True, exist_ok=True)
        return {"table": table, "random": campaign}[chosen.command](chosen)


if __name__ == "__main__":
    sys.exit(main())
