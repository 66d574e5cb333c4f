#!/usr/bin/env python3
"""A trainer in plain PyTorch whose runs `repro` checks: the models and recipe of ours, everything else its own.

    scripts/reference/torch_trainer.py CONFIG.json --text FILE --out DIR --name NAME [--seed S] [--steps N]
        [--slice K:N ...] [--threads N] [--names own|hf]

CONFIG.json is the config of a run, as bundles have it in `data/config.json`. Model and learning rate are those of
`torch_twin.py`; first weights, order of the data and AdamW are PyTorch's. The text is read as bytes, and its end
is held out. What is written to DIR/NAME is a receipt bundle (the Python package `repro_receipts`): records,
evaluations, and of each slice what `repro replay` needs to execute it again.

Needs `pip install torch==2.15.0 numpy safetensors`; nothing here is used by the product.
"""
import argparse
import functools
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

from torch_twin import Model, adamw, clip, learning_rate

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import repro_receipts as receipts  # noqa: E402

BLOCK_BYTES = 16384
ORDER = "torch.randperm of rows, epoch by epoch"


def shapes(c):
    """The shapes of all weights by name."""
    d, heads, keys = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    found = {"model.embed_tokens.weight": (c["vocab_size"], d), "model.norm.weight": (d,)}
    if not c["tie_word_embeddings"]:
        found["lm_head.weight"] = (c["vocab_size"], d)

    def swiglu(name, inner):
        found[f"{name}.gate_proj.weight"] = found[f"{name}.up_proj.weight"] = (inner, d)
        found[f"{name}.down_proj.weight"] = (d, inner)

    for layer in range(c["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            found[f"{name}.{norm}.weight"] = (d,)
        for part, count in (("q", heads), ("k", keys), ("v", keys)):
            found[f"{name}.self_attn.{part}_proj.weight"] = (count * c["head_dim"], d)
        found[f"{name}.self_attn.o_proj.weight"] = (d, heads * c["head_dim"])
        if layer not in sparse_layers(c):
            swiglu(f"{name}.mlp", c["intermediate_size"])
            continue
        found[f"{name}.mlp.gate.weight"] = (c["num_experts"], d)
        for expert in range(c["num_experts"]):
            swiglu(f"{name}.mlp.experts.{expert}", c["moe_intermediate_size"])
        if c["num_shared_experts"]:
            swiglu(f"{name}.mlp.shared_experts", c["num_shared_experts"] * c["moe_intermediate_size"])
    return found


def sparse_layers(c):
    """The numbers of the layers that have experts."""
    return range(c["num_dense_layers"] if c["model_type"] == "repro-llama-moe" else c["num_hidden_layers"],
                 c["num_hidden_layers"])


def first_weights(c, seed):
    """Ones for norms; normal deviates of 0.02, less by the root of twice the layers for matrices that write rows."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in sorted(shapes(c).items()):
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
        else:
            writes = name.endswith(("o_proj.weight", "down_proj.weight"))
            deviation = 0.02 / math.sqrt(2 * c["num_hidden_layers"]) if writes else 0.02
            weights[name] = torch.empty(shape).normal_(0, deviation, generator=generator)
    return weights


class Text:
    """A text as bytes: rows of one token more than the model's length to train on, and an end that is held out."""

    def __init__(self, path, c):
        read = path.read_bytes()
        self.sha256 = hashlib.sha256(read).hexdigest()
        self.length, self.seed = c["seq_len"], c["seed_data"]
        tokens = torch.frombuffer(bytearray(read), dtype=torch.uint8).to(torch.int64)
        self.held_bytes = c["data"]["validation"]["bytes"] // self.length * self.length
        self.train, self.held = tokens[:-self.held_bytes], tokens[-self.held_bytes - 1:]  # and the byte before it
        self.rows = (len(self.train) - 1) // self.length
        self.held_sha256 = hashlib.sha256(read[-self.held_bytes:]).hexdigest()

    @functools.lru_cache(maxsize=2)
    def order(self, epoch):
        return torch.randperm(self.rows, generator=torch.Generator().manual_seed((self.seed << 20) + epoch))

    def batch(self, step, size):
        """What update `step` reads: (size, length + 1). Each row comes once in an epoch."""
        places = (divmod(place, self.rows) for place in range(step * size, (step + 1) * size))
        starts = [int(self.order(epoch)[row]) * self.length for epoch, row in places]
        return torch.stack([self.train[start:start + self.length + 1] for start in starts])


class Trainer:
    """A model in training; `done` updates were made."""

    notes = {}  # for the receipt

    def __init__(self, config, text):
        self.c, self.text, self.done = config, text, 0
        weights = first_weights(config, config["seed_init"])
        self.model = Model(config, {name: weight.requires_grad_() for name, weight in weights.items()})
        if config.get("balancing") == "bias":
            self.model.bias = {layer: torch.zeros(config["num_experts"]) for layer in sparse_layers(config)}
        self.optimizer = adamw(config, weights.values())

    def tensors(self):
        """All tensors of the model by name: weights, and the biases that no gradient moves."""
        biases = {f"model.layers.{layer}.mlp.gate.e_score_correction_bias": b for layer, b in self.model.bias.items()}
        return {name: t.detach() for name, t in sorted({**self.model.w, **biases}.items())}

    def moments(self):
        """AdamW's moments by name; none before the first update."""
        kept = {name: self.optimizer.state.get(weight) for name, weight in self.model.w.items()}
        return {name: {"exp_avg": s["exp_avg"], "exp_avg_sq": s["exp_avg_sq"]} for name, s in kept.items() if s}

    def rate(self):
        return learning_rate(self.c, self.done)

    def batch(self):
        """What the next update reads."""
        return self.text.batch(self.done, self.c["batch_size"])

    def gradients(self, batch):
        """Sets the gradients of a batch; answers its cross-entropy, without what routers add."""
        loss, added = self.model.loss(batch[:, :-1], batch[:, 1:])
        self.optimizer.zero_grad()
        (loss + added).backward()
        return loss.item()

    def step(self, batch):
        """One update; what it was like."""
        loss, rate = self.gradients(batch), self.rate()
        norms = {name: norm64(weight.grad) for name, weight in self.model.w.items()}
        norm = clip(self.c, [weight.grad for weight in self.model.w.values()]).item()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        if self.c.get("balancing") == "bias":
            self.model.rebalance()
        self.done += 1
        return {"loss": loss, "grad_norm": norm, "lr": rate, "norms": norms, "routed": list(self.model.loads)}

    @torch.no_grad()
    def evaluate(self, rows=64):
        """The cost of the held-out text in nats, also in blocks, and where its tokens were routed."""
        inputs, targets = (held.view(-1, self.c["seq_len"]) for held in (self.text.held[:-1], self.text.held[1:]))
        nats, loads = [], []
        for x, y in zip(inputs.split(rows), targets.split(rows)):
            logits, _ = self.model.logits(x)
            nats.append(F.cross_entropy(logits, y.flatten(), reduction="none").double())
            loads.append(self.model.loads)
        nats = torch.cat(nats)
        found = {"nats": nats.sum().item(), "predicted_tokens": len(nats), "bytes": len(nats),
                 "blocks": [block.sum().item() for block in nats.split(BLOCK_BYTES)], "block_bytes": BLOCK_BYTES}
        return {**found, **router([sum(layer) for layer in zip(*loads)])}


def norm64(tensor):
    """A norm, added up in float64."""
    return torch.linalg.vector_norm(tensor, dtype=torch.float64).item()


def router(loads):
    """How evenly experts are used, layer by layer: what records say of it."""
    def layer(load):
        shares = load.double() / load.sum()
        return {"entropy": -torch.special.xlogy(shares, shares).sum().item(), "max_load": shares.max().item(),
                "cv": (shares.std(correction=0) / shares.mean()).item(), "dead": int((load == 0).sum())}

    return {"router": {"layers": [layer(load) for load in loads]}} if loads else {}


class Slice:
    """Steps that are kept so that somebody can execute them again: what they read, and what came of it."""

    def __init__(self, start, steps, tensors):
        self.start, self.steps, self.seconds = start, steps, 0.0
        self.first = self.before = {name: t.clone() for name, t in tensors.items()}
        self.tokens, self.logged = [], {"loss": [], "grad_norm": [], "tensor_grad_norm": [],
                                        "tensor_update_norm": [], "tensor_norm": [], "routed": []}

    def add(self, batch, stepped, tensors, seconds):
        self.tokens.append(batch)
        self.seconds += seconds
        of_tensors = {"tensor_grad_norm": [stepped["norms"].get(name, 0.0) for name in tensors],
                      "tensor_update_norm": [norm64(t.double() - self.before[name]) for name, t in tensors.items()],
                      "tensor_norm": [norm64(t) for t in tensors.values()]}
        for name, value in {**stepped, **of_tensors}.items():
            if name in self.logged:
                self.logged[name].append(torch.stack(value) if name == "routed" and value else torch.tensor(value))
        self.before = {name: t.clone() for name, t in tensors.items()}

    def write(self, run, names):
        """Writes the slice, its tensors called `names[...]`, in the order of these names."""
        own = list(self.first)
        order = sorted(range(len(own)), key=lambda at: names(own[at]))
        logged = {name: torch.stack(values) for name, values in self.logged.items()}
        for name in ("tensor_grad_norm", "tensor_update_norm", "tensor_norm"):
            logged[name] = logged[name][:, order].float()
        if not logged["routed"].numel():
            del logged["routed"]
        ends = {names(name): (self.first[name], self.before[name]) for name in own}
        run.slice(self.start, torch.stack(self.tokens), logged, ends, seconds=self.seconds,
                  checkpoint_step=self.start)


def hf_name(name):
    """The name that a weight has in Hugging Face's Llama and Mixtral."""
    name = name.replace(".mlp.gate.", ".block_sparse_moe.gate.")
    if ".mlp.experts." in name:
        name = name.replace(".mlp.experts.", ".block_sparse_moe.experts.")
        for own, theirs in (("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")):
            name = name.replace(own, theirs)
    return name


def save(trainer, run, names, keep):
    """Evaluates, and writes the checkpoint or its digests."""
    c = trainer.c
    seen = trainer.done * c["batch_size"] * c["seq_len"]
    run.evaluation(trainer.done, tokens_seen=seen, **trainer.evaluate())
    weights = {names(name): t for name, t in trainer.tensors().items()}
    moments = {names(name): both for name, both in trainer.moments().items()}
    run.checkpoint(trainer.done, weights, optimizer=moments or None, tokens_seen=seen, keep=keep,
                   rng=f"{ORDER}, seed {c['seed_data']}")


def train(trainer, run, names):
    """The whole run, as its config says."""
    c, opened, spent, logged = trainer.c, [], 0.0, 0
    tokens = c["batch_size"] * c["seq_len"]
    while True:
        if trainer.done in c["checkpoints"]:
            save(trainer, run, names, trainer.done in c["kept_checkpoints"])
        if trainer.done == c["steps"]:
            return
        opened += [Slice(s["from_step"], s["steps"], trainer.tensors())
                   for s in c["slices"] if s["from_step"] == trainer.done]
        batch, before = trainer.batch(), time.perf_counter()
        stepped = trainer.step(batch)
        seconds = time.perf_counter() - before
        spent += seconds
        for part in opened:
            part.add(batch, stepped, trainer.tensors(), seconds)
            if part.start + part.steps == trainer.done:
                part.write(run, names)
        opened = [part for part in opened if part.start + part.steps > trainer.done]
        if trainer.done in (1, c["steps"]) or trainer.done % c["log_every"] == 0:
            run.log({"loss": stepped["loss"], "grad_norm": stepped["grad_norm"], "lr": stepped["lr"],
                     **router(stepped["routed"])}, step=trainer.done, tokens=trainer.done * tokens)
            run.timing({"seconds": spent, "tokens_per_second": (trainer.done - logged) * tokens / spent},
                       step=trainer.done)
            spent, logged = 0.0, trainer.done


def config_of(chosen):
    """The config that is trained: that of the file, less what this trainer does not do, with what was chosen."""
    c = json.loads(chosen.config.read_text())
    for field in ("arithmetic", "tasks", "reuse", "max_epochs"):
        c.pop(field, None)
    steps = chosen.steps or c["steps"]
    slices = chosen.slice if chosen.slice is not None else [
        s for s in c["slices"] if s["from_step"] + s["steps"] <= steps]
    starts = sorted(s["from_step"] for s in slices)
    checkpoints = sorted({*starts, steps, *(step for step in c["checkpoints"] if step <= steps)})
    seeds = {} if chosen.seed is None else {"seed_init": chosen.seed, "seed_data": chosen.seed}
    return {**c, **seeds, "dtype": "float32", "steps": steps, "slices": slices, "checkpoints": checkpoints,
            "kept_checkpoints": starts}


def model_of(c):
    """What a receipt says of the model."""
    sizes = {name: math.prod(shape) for name, shape in shapes(c).items()}
    total, routed = sum(sizes.values()), sum(size for name, size in sizes.items() if ".experts." in name)
    idle = routed * (c["num_experts"] - c["num_experts_per_tok"]) // c["num_experts"] if routed else 0
    return {"family": c["model_type"], "params_total": total, "params_active": total - idle, "tensors": len(sizes)}


def source():
    """The revision of this file's repository, where there is one."""
    def git(*words):
        return subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"source_revision": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.CalledProcessError):
        return {}


def open_run(chosen, trainer):
    """Begins the bundle of a run."""
    c, text = trainer.c, trainer.text
    tokens = c["batch_size"] * c["seq_len"]
    unique = min(c["steps"] * c["batch_size"], text.rows) * c["seq_len"]
    seeds = {"init": c["seed_init"], "data": c["seed_data"]}
    return receipts.init(
        name=chosen.name, dir=chosen.out, config=c, seeds=seeds, model=model_of(c),
        trainer={"name": "torch_trainer.py", "version": torch.__version__, "arithmetic": "pytorch-f32", **source()},
        data={"name": chosen.text.stem, "sha256": text.sha256, "tokenizer": "bytes", "order": ORDER,
              "unique_tokens": unique, "unique_bytes": unique, "validation_sha256": text.held_sha256,
              "epochs": c["steps"] * tokens / unique},
        contract={"match": "none", "tokens": c["steps"] * tokens, "tokens_per_step": tokens},
        environment={"threads": chosen.threads, "device": "cpu"}, extra=trainer.notes)


def stretch(text):
    start, steps = map(int, text.split(":"))
    return {"from_step": start, "steps": steps}


def arguments():
    parser = argparse.ArgumentParser(description="a plain PyTorch trainer that leaves receipts")
    parser.add_argument("config", type=pathlib.Path, help="config.json of a run")
    parser.add_argument("--text", type=pathlib.Path, required=True, help="the text, read as bytes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the bundle is made")
    parser.add_argument("--name", required=True, help="the name of the run and of its folder")
    parser.add_argument("--seed", type=int, help="of weights and data, instead of the config's")
    parser.add_argument("--steps", type=int, help="stop here; the schedule stays")
    parser.add_argument("--slice", type=stretch, action="append", metavar="K:N",
                        help="keep the N steps from step K, instead of the config's slices")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--names", choices=["own", "hf"], default="own",
                        help="names of tensors: ours, or those of Hugging Face's Llama and Mixtral")
    return parser


def main(parser, choose=lambda chosen, c: Trainer):
    """Trains what the command line says, with the trainer that is chosen for it."""
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    c = config_of(chosen)
    if chosen.names == "hf" and sparse_layers(c) and (
            c["num_shared_experts"] or c["num_dense_layers"] or c["balancing"] == "bias"):
        parser.error("--names hf: Mixtral has no shared experts, no dense layers and no biases of routers")
    text = Text(chosen.text, c)
    c["data"] = {"name": chosen.text.stem, "source": "text", "sha256": text.sha256, "tokenizer": "bytes",
                 "order": ORDER, "validation": {"bytes": text.held_bytes, "place": "the end of the text"}}
    trainer = choose(chosen, c)(c, text)
    run = open_run(chosen, trainer)
    train(trainer, run, hf_name if chosen.names == "hf" else str)
    digest = run.finish()
    print(digest)
    return digest is None


if __name__ == "__main__":
    sys.exit(main(arguments()))
