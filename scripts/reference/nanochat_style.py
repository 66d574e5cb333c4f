#!/usr/bin/env python3
"""A model in the manner of the first release of nanochat (https://github.com/karpathy/nanochat, nanochat/gpt.py), with
receipts.

    scripts/reference/nanochat_style.py --text FILE --out DIR --name NAME [--hidden N] [--layers N] [--heads N]
        [--kv-heads N] [--length N] [--rows N] [--micro N] [--steps N] [--slice K:N ...] [--momentum-steps N]
        [--optimizer reference|torch] [--seed S] [--threads N]

Norms have no parameters, and the embedding is normed too; queries and keys are turned and then normed; the network is
relu^2; logits are 15 tanh(l / 15). Muon moves the matrices of blocks, AdamW embedding and head, each with a rate of its own
that grows as the root of 768 / width. Rates are constant and then fall to 0; the momentum of Muon grows over its first
steps.
Everything is float32, where nanochat has bfloat16 embeddings, angles and products, so that processors run it.

Needs `pip install torch==2.15.0 numpy`; nothing here is used by the product.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

import shared
import repro_receipts as receipts
import repro_receipts.torch

RATES = {"head": 0.004, "embedding": 0.2, "matrices": 0.02}
CAP, WARMDOWN, CLIP, BETAS, EPSILON = 15.0, 0.2, 1.0, (0.8, 0.95), 1e-10
FIRST_MOMENTUM, MOMENTUM = 0.85, 0.95
A, B, C = 3.4445, -4.7750, 2.0315  # https://kellerjordan.github.io/posts/muon/


@dataclasses.dataclass
class GPTConfig:
    """The fields of nanochat."""
    sequence_len: int
    vocab_size: int
    n_layer: int
    n_head: int
    n_kv_head: int
    n_embd: int


def norm(x):
    """To a root mean square of 1."""
    return F.rms_norm(x, x.shape[-1:])


class Attention(nn.Module):
    """Causal attention over (rows, length, width); several heads may share keys and values."""

    def __init__(self, config):
        super().__init__()
        self.head_dim = config.n_embd // config.n_head
        shared_width = config.n_kv_head * self.head_dim
        self.c_q = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.c_k = nn.Linear(config.n_embd, shared_width, bias=False)
        self.c_v = nn.Linear(config.n_embd, shared_width, bias=False)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)

    def turned(self, x):
        """The first half of each head against the second, by angles that grow with the place."""
        half = self.head_dim // 2
        rates = 10000 ** (-torch.arange(half, device=x.device) / half)
        angles = torch.arange(x.shape[-2], device=x.device).unsqueeze(1) * rates
        one, two = x.split(half, dim=-1)
        return torch.cat([one * angles.cos() + two * angles.sin(), two * angles.cos() - one * angles.sin()], dim=-1)

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for part in (self.c_q, self.c_k, self.c_v))
        q, k = norm(self.turned(q)), norm(self.turned(k))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.c_proj(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """A network of one hidden layer, four times as wide, with squares of what is positive."""

    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=False)

    def forward(self, x):
        return self.c_proj(self.c_fc(x).relu().square())


class Block(nn.Module):
    """Attention and network, each on the normed residual."""

    def __init__(self, config):
        super().__init__()
        self.attn, self.mlp = Attention(config), MLP(config)

    def forward(self, x):
        x = x + self.attn(norm(x))
        return x + self.mlp(norm(x))


class GPT(nn.Module):
    """The model: logits, or with targets the mean cross-entropy."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict({"wte": nn.Embedding(config.vocab_size, config.n_embd),
                                          "h": nn.ModuleList(Block(config) for _ in range(config.n_layer))})
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        for name, p in self.named_parameters():
            rows, columns = p.shape
            if name.endswith("c_proj.weight") or name == "lm_head.weight":
                nn.init.zeros_(p)
            elif name != "transformer.wte.weight":
                nn.init.normal_(p, std=min(1.0, math.sqrt(rows / columns)) / math.sqrt(columns))

    def forward(self, tokens, targets=None):
        x = norm(self.transformer.wte(tokens))
        for block in self.transformer.h:
            x = block(x)
        logits = CAP * torch.tanh(self.lm_head(norm(x)) / CAP)
        return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)


def orthogonal(x):
    """Nearly the orthogonal factor of a matrix, in bfloat16: five times X <- AX + (BG + CG^2) X with G = XX^T."""
    is_tall = x.shape[0] > x.shape[1]
    x = x.bfloat16().mT if is_tall else x.bfloat16()
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = A * x + (B * gram + C * gram @ gram) @ x
    return x.mT if is_tall else x


class Muon(torch.optim.Optimizer):
    """Momentum whose step is made orthogonal (https://github.com/KellerJordan/Muon), as nanochat has it."""

    def __init__(self, params, lr, momentum):
        super().__init__(params, {"lr": lr, "momentum": momentum, "nesterov": True, "ns_steps": 5})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                mean = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - group["momentum"])
                ahead = p.grad.lerp(mean, group["momentum"])
                p.add_(orthogonal(ahead), alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)


def optimizers_of(model, chosen):
    """AdamW for head and embedding, Muon for the matrices of blocks."""
    scale = (chosen.hidden / 768) ** -0.5
    adam = torch.optim.AdamW([{"params": [model.lm_head.weight], "lr": RATES["head"] * scale},
                              {"params": [model.transformer.wte.weight], "lr": RATES["embedding"] * scale}],
                             betas=BETAS, eps=EPSILON, weight_decay=0.0)
    matrices = list(model.transformer.h.parameters())
    if chosen.optimizer == "torch":
        muon = torch.optim.Muon(matrices, lr=RATES["matrices"], momentum=MOMENTUM, weight_decay=0.0)
    else:
        muon = Muon(matrices, RATES["matrices"], MOMENTUM)
    for group in adam.param_groups + muon.param_groups:
        group["initial_lr"] = group["lr"]
    return adam, muon


def schedule(chosen, step, adam, muon):
    """Sets rates and momentum for the update after `step` others."""
    left = (chosen.steps - step) / max(1, round(WARMDOWN * chosen.steps))
    for group in adam.param_groups + muon.param_groups:
        group["lr"] = group["initial_lr"] * min(1.0, left)
    grown = min(1.0, step / chosen.momentum_steps) if chosen.momentum_steps else 1.0
    for group in muon.param_groups:
        group["momentum"] = FIRST_MOMENTUM + (MOMENTUM - FIRST_MOMENTUM) * grown


def main():
    parser = shared.parser_of("a model in the manner of nanochat that leaves receipts")
    parser.add_argument("--kv-heads", type=int, help="heads of keys and values, as many as of queries unless given")
    parser.add_argument("--momentum-steps", type=int, default=300, help="steps over which the momentum of Muon grows")
    parser.add_argument("--optimizer", choices=("reference", "torch"), default="reference", help="whose Muon")
    chosen = shared.begin(parser)
    model = GPT(GPTConfig(sequence_len=chosen.length, vocab_size=chosen.vocabulary, n_layer=chosen.layers, n_head=chosen.heads,
                          n_kv_head=chosen.kv_heads or chosen.heads, n_embd=chosen.hidden))
    adam, muon = optimizers_of(model, chosen)
    run = receipts.init(name=chosen.name, dir=chosen.out, seeds={"init": chosen.seed, "data": chosen.seed},
                        config={"steps": chosen.steps},
                        trainer={"name": "nanochat_style.py", "version": "1", "arithmetic": "pytorch-f32"})
    record = receipts.torch.Recorder(run, model, [adam, muon], chosen.slices, grad_clip=CLIP)
    drawn = shared.batches(chosen)
    for step in range(chosen.steps):
        schedule(chosen, step, adam, muon)
        total = 0.0
        for _ in range(chosen.micro):
            inputs, targets = next(drawn)
            record.batch(inputs, targets)
            loss = model(inputs, targets)
            record.loss(loss)
            (loss / chosen.micro).backward()
            total += loss.item() / chosen.micro
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for optimizer in (adam, muon):
            optimizer.step()
        model.zero_grad(set_to_none=True)
        run.log({"loss": total}, step=step + 1)
    print(run.finish())


if __name__ == "__main__":
    main()
