#!/usr/bin/env python3
"""The trainer's model and recipe once more in plain PyTorch: what our losses and our speed are held against.

    scripts/reference/torch_twin.py RUN [--slice STEP] [--threads N] [--float64]
    scripts/reference/torch_twin.py RUN --serve [--compile] [--threads N] [--device cuda]

RUN is the folder of a run, finished or not, with a slice and the checkpoint that the slice starts from, below
its `data`: weights, moments and batches are read there, so both programs start from the same bits.
Printed is one JSON line for each step: loss before the update, gradient norm, learning rate, the loads of every
router. `--serve` makes as many steps as each line of standard input says, starting the slice again at its end,
and answers with their seconds, losses and loads: what `scripts/bench_train.sh` times. `--compile` lets
`torch.compile` make one program of the loss and one of its gradients, which needs a C++ compiler; the optimizer
is PyTorch's fused one in both cases.

Needs `pip install torch==2.15.0 numpy safetensors`; nothing here is used by the product.
"""
import argparse
import json
import math
import os
import pathlib
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


class Model:
    """A Llama-style decoder over weights named as in the checkpoint; `c` is the run's config.json."""

    def __init__(self, config, weights):
        self.c, self.w = config, weights
        half, positions = config["head_dim"] // 2, torch.arange(config["seq_len"], dtype=torch.float64)
        angles = positions[:, None] * config["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
        dtype = next(iter(weights.values())).dtype
        device = next(iter(weights.values())).device
        self.cos, self.sin = (torch.cat([x, x], -1).to(device, dtype) for x in (angles.cos(), angles.sin()))
        self.bias = {}  # of layers balanced by a bias
        self.loads = []  # slots per expert and layer, of the last forward pass

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"])

    def norm(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.w[name + ".weight"], self.c["norm_eps"])

    def rotate(self, x):  # (B, H, T, hd), the two halves of a head form the pairs
        low, high = x.chunk(2, -1)
        return x * self.cos + torch.cat([-high, low], -1) * self.sin

    def attention(self, x, layer, rows):
        name = f"model.layers.{layer}.self_attn"

        def heads(projection, count):
            return self.linear(x, f"{name}.{projection}").view(rows, -1, count, self.c["head_dim"]).transpose(1, 2)

        queries, keys = self.c["num_attention_heads"], self.c["num_key_value_heads"]
        q, k, v = heads("q_proj", queries), heads("k_proj", keys), heads("v_proj", keys)
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True,
                                           enable_gqa=queries != keys)
        return self.linear(y.transpose(1, 2).reshape(x.shape[0], -1), f"{name}.o_proj")

    def swiglu(self, x, name):
        gate, up = self.linear(x, name + ".gate_proj"), self.linear(x, name + ".up_proj")
        return self.linear(F.silu(gate) * up, name + ".down_proj")

    def mixture(self, x, layer):
        """The output of the experts, and what balancing adds to the loss."""
        c, name = self.c, f"model.layers.{layer}.mlp"
        logits = self.linear(x, name + ".gate")
        scores = logits.softmax(-1) if c["gate"] == "softmax" else logits.sigmoid()
        chosen = (scores.detach() + self.bias.get(layer, 0)).topk(c["num_experts_per_tok"], -1).indices
        gates = scores.gather(-1, chosen)
        if c["norm_topk_prob"]:
            gates = gates / gates.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for expert in range(c["num_experts"]):
            token, slot = (chosen == expert).nonzero(as_tuple=True)
            y = y.index_add(0, token, self.swiglu(x[token], f"{name}.experts.{expert}") * gates[token, slot][:, None])
        if c["num_shared_experts"]:
            y = y + self.swiglu(x, name + ".shared_experts")
        load = torch.bincount(chosen.flatten(), minlength=c["num_experts"])
        self.loads.append(load)
        added = c["router_z_loss"] * (torch.logsumexp(logits, -1) ** 2).mean()
        if c["balancing"] == "loss":
            shares = scores if c["gate"] == "softmax" else scores / scores.sum(-1, keepdim=True)
            added = added + c["aux_loss_alpha"] * c["num_experts"] * (shares.mean(0) * load / load.sum()).sum()
        return y, added

    def logits(self, inputs):
        """Logits of all tokens of a batch (rows, T), one after the other, and what routers add to the loss."""
        self.loads, added = [], 0.0
        x = self.w["model.embed_tokens.weight"][inputs.flatten()]
        for layer in range(self.c["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            x = x + self.attention(self.norm(x, name + ".input_layernorm"), layer, len(inputs))
            h = self.norm(x, name + ".post_attention_layernorm")
            if self.c["model_type"] == "repro-llama-moe" and layer >= self.c["num_dense_layers"]:
                y, more = self.mixture(h, layer)
                x, added = x + y, added + more
            else:
                x = x + self.swiglu(h, name + ".mlp")
        head = "model.embed_tokens" if self.c["tie_word_embeddings"] else "lm_head"
        return self.linear(self.norm(x, "model.norm"), head), added

    def loss(self, inputs, targets):
        """Cross-entropy of a batch (rows, T), and what routers add to it."""
        logits, added = self.logits(inputs)
        return F.cross_entropy(logits, targets.flatten()), added

    def rebalance(self):
        """Moves the biases of the routers against the loads of the last step."""
        first, rate = self.c["num_dense_layers"], self.c["router_bias_update_rate"]
        for layer, load in enumerate(self.loads, first):
            self.bias[layer] += rate * (load.to(self.bias[layer].dtype).mean() - load).sign()


def learning_rate(c, step):
    """The rate of update `step`, the first being 0: linear warmup, then constant and linear decay, or a cosine."""
    if step < c["warmup_steps"]:
        return c["lr"] * (step + 1) / c["warmup_steps"]
    floor = c["decay_floor"]
    if c["schedule"] == "cosine":
        part = min((step - c["warmup_steps"]) / max(c["schedule_steps"] - c["warmup_steps"], 1), 1)
        return c["lr"] * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * part)))
    seen = step * c["batch_size"] * c["seq_len"]
    part = min(max(seen - c["hold_tokens"], 0) / max(c["decay_tokens"], 1), 1)
    return c["lr"] * (1 - (1 - floor) * part)


def adamw(c, weights, fused=True):
    """The optimizer of a recipe: matrices decay, norms do not."""
    groups = [{"params": [w for w in weights if w.dim() > 1], "weight_decay": c["weight_decay"]},
              {"params": [w for w in weights if w.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=c["lr"], betas=(c["adam_beta1"], c["adam_beta2"]), eps=c["adam_eps"],
                             fused=fused, foreach=None if fused else True)


def clip(c, gradients):
    """Scales gradients down to the norm that they may have, and answers the norm that they had."""
    norm = torch.nn.utils.get_total_norm(gradients)
    if c["grad_clip"] and norm > c["grad_clip"]:
        torch._foreach_mul_(gradients, c["grad_clip"] / norm)
    return norm


class Twin:
    """One run, continued from its checkpoint at `start`."""

    def __init__(self, run, start, dtype, fused, device):
        data = pathlib.Path(run) / "data"
        self.config = json.loads((data / "config.json").read_text())
        self.batches = load_file(data / "slices" / f"slice-{start:06}.safetensors")["tokens"].to(device, torch.int64)
        stored = {name: tensor.to(device, dtype) for name, tensor in
                  load_file(data / "checkpoints" / f"step-{start:06}.safetensors").items()}
        biases = {name: stored.pop(name) for name in list(stored) if name.endswith("e_score_correction_bias")}
        weights = {name: tensor.requires_grad_() for name, tensor in stored.items()
                   if not name.startswith("optimizer.")}
        self.model = Model(self.config, weights)
        self.loss = self.model.loss
        self.model.bias = {int(name.split(".")[2]): bias for name, bias in biases.items()}
        if self.config.get("balancing") == "bias" and not biases:
            sparse = range(self.config["num_dense_layers"], self.config["num_hidden_layers"])
            zeros = torch.zeros(self.config["num_experts"], dtype=dtype, device=device)
            self.model.bias = {layer: zeros.clone() for layer in sparse}
        self.start = self.step = start
        self.optimizer = adamw(self.config, weights.values(), fused)
        for name, weight in weights.items() if start else ():
            self.optimizer.state[weight] = {"step": torch.tensor(float(start)),
                                            "exp_avg": stored[f"optimizer.m.{name}"],
                                            "exp_avg_sq": stored[f"optimizer.v.{name}"]}

    def compile(self):
        """Compiles the loss and its gradients, as one graph, and calls both once; no weight is updated."""
        # The number of tokens that an expert gets is a size that depends on values.
        torch._dynamo.config.capture_dynamic_output_shape_ops = True
        self.loss = torch.compile(self.loss, fullgraph=True)
        batch = self.batches[0]
        sum(self.loss(batch[:, :-1], batch[:, 1:])).backward()

    def train_step(self):
        """One update on the next batch of the slice, which starts again at its end; loss, gradient norm, rate."""
        batch = self.batches[(self.step - self.start) % len(self.batches)]
        loss, added = self.loss(batch[:, :-1], batch[:, 1:])
        self.optimizer.zero_grad()
        (loss + added).backward()
        norm = clip(self.config, [w.grad for w in self.model.w.values()])
        rate = learning_rate(self.config, self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        if self.config.get("balancing") == "bias":
            self.model.rebalance()
        self.step += 1
        return loss.item(), norm.item(), rate


def loads(twin):
    return [load.tolist() for load in twin.model.loads]


def show(twin):
    """Prints every step of the slice."""
    for _ in range(len(twin.batches)):
        loss, norm, rate = twin.train_step()
        line = {"step": twin.step - 1, "loss": loss, "grad_norm": norm, "lr": rate, "loads": loads(twin)}
        print(json.dumps(line), flush=True)


def serve(twin):
    """Trains so many steps for each line of standard input."""
    print("ready", flush=True)
    for line in sys.stdin:
        answer = {"seconds": [], "losses": [], "loads": []}
        for _ in range(int(line)):
            began = time.perf_counter()
            loss, _, _ = twin.train_step()
            answer["seconds"].append(time.perf_counter() - began)
            answer["losses"].append(loss)
            answer["loads"].append(loads(twin))
        print(json.dumps(answer), flush=True)


def main():
    parser = argparse.ArgumentParser(description="our model and recipe in plain PyTorch")
    parser.add_argument("run", help="folder of a run with a slice and its checkpoint")
    parser.add_argument("--slice", type=int, default=0, metavar="STEP", help="the step that the slice starts from")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--float64", action="store_true", help="compute in float64")
    parser.add_argument("--serve", action="store_true", help="train so many steps for each line of standard input")
    parser.add_argument("--compile", action="store_true", help="by `torch.compile`")
    parser.add_argument("--device", default="cpu", help="where tensors live; TensorFloat-32 is off")
    parser.add_argument("--unfused", action="store_true", help="the optimizer as a list of elementwise operations")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    dtype = torch.float64 if chosen.float64 else torch.float32
    twin = Twin(chosen.run, chosen.slice, dtype, not chosen.unfused, chosen.device)
    if chosen.compile:
        try:
            twin.compile()
        except Exception as error:  # no compiler, no headers, an operation that it does not know
            return print("torch.compile cannot run here: " + " ".join(str(error).split())[:300]) or 1
    serve(twin) if chosen.serve else show(twin)


if __name__ == "__main__":
    sys.exit(main())
