#!/usr/bin/env python3
"""A GPT-2 in the manner of nanoGPT (https://github.com/karpathy/nanoGPT), its names and its loop, with receipts.

    scripts/reference/nanogpt_style.py --text FILE --out DIR --name NAME [--hidden N] [--layers N] [--heads N] [--length N]
        [--rows N] [--micro N] [--steps N] [--slice K:N ...] [--no-bias] [--lr X] [--seed S] [--threads N]

Learned positions, LayerNorm, one projection for queries, keys and values, the exact GELU, a head tied to the embedding; two
groups of AdamW by the number of dimensions, linear warmup and a cosine, gradients clipped at 1. The config of the receipt is
that of the model: the recorder takes it by itself.

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

WARMUP, LOWEST, DECAY, BETAS, CLIP = 5, 0.1, 0.1, (0.9, 0.95), 1.0


@dataclasses.dataclass
class GPTConfig:
    """The fields of nanoGPT."""
    block_size: int
    vocab_size: int
    n_layer: int
    n_head: int
    n_embd: int
    dropout: float = 0.0
    bias: bool = True


class LayerNorm(nn.Module):
    """A normalisation to mean 0 and variance 1, with a weight, and a bias where wanted."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias)


class Attention(nn.Module):
    """Causal attention of several heads over (rows, length, width)."""

    def __init__(self, config):
        super().__init__()
        self.heads, self.dropout = config.n_head, config.dropout
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.after = nn.Dropout(config.dropout)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.after(self.c_proj(mixed.transpose(1, 2).flatten(2)))


class MLP(nn.Module):
    """A network of one hidden layer, four times as wide."""

    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.after = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.after(self.c_proj(F.gelu(self.c_fc(x))))


class Block(nn.Module):
    """Attention and network, each on the normalised residual."""

    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = LayerNorm(config.n_embd, config.bias), LayerNorm(config.n_embd, config.bias)
        self.attn, self.mlp = Attention(config), MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """The model; with targets it also answers the mean cross-entropy."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(config.vocab_size, config.n_embd), "wpe": nn.Embedding(config.block_size, config.n_embd),
            "drop": nn.Dropout(config.dropout), "h": nn.ModuleList(Block(config) for _ in range(config.n_layer)),
            "ln_f": LayerNorm(config.n_embd, config.bias)})
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        for name, p in self.named_parameters():
            if name.endswith(".bias"):
                nn.init.zeros_(p)
            elif p.dim() > 1:
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * config.n_layer) if name.endswith("c_proj.weight") else 1))

    def forward(self, tokens, targets=None):
        parts = self.transformer
        x = parts.drop(parts.wte(tokens) + parts.wpe(torch.arange(tokens.shape[1], device=tokens.device)))
        for block in parts.h:
            x = block(x)
        logits = self.lm_head(parts.ln_f(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)


def rate_of(chosen, step):
    """Linear warmup, then a cosine down to a tenth at the end."""
    if step < WARMUP:
        return chosen.lr * (step + 1) / (WARMUP + 1)
    share = (step - WARMUP) / max(1, chosen.steps - WARMUP)
    return chosen.lr * (LOWEST + (1 - LOWEST) * 0.5 * (1 + math.cos(math.pi * share)))


def main():
    parser = shared.parser_of("a GPT-2 in the manner of nanoGPT that leaves receipts")
    parser.add_argument("--no-bias", action="store_true", help="layers and norms without biases")
    parser.add_argument("--lr", type=float, default=3e-3)
    chosen = shared.begin(parser)
    model = GPT(GPTConfig(block_size=chosen.length, vocab_size=chosen.vocabulary, n_layer=chosen.layers, n_head=chosen.heads,
                          n_embd=chosen.hidden, bias=not chosen.no_bias))
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=chosen.lr, betas=BETAS)

    run = receipts.init(name=chosen.name, dir=chosen.out, seeds={"init": chosen.seed, "data": chosen.seed},
                        config={"steps": chosen.steps},
                        trainer={"name": "nanogpt_style.py", "version": "1", "arithmetic": "pytorch-f32"})
    record = receipts.torch.Recorder(run, model, optimizer, chosen.slices, grad_clip=CLIP)
    drawn = shared.batches(chosen)
    for step in range(chosen.steps):
        rate, total = rate_of(chosen, step), 0.0
        for group in optimizer.param_groups:
            group["lr"] = rate
        for _ in range(chosen.micro):
            inputs, targets = next(drawn)
            record.batch(inputs, targets)
            _, loss = model(inputs, targets)
            record.loss(loss)
            (loss / chosen.micro).backward()
            total += loss.item() / chosen.micro
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.log({"loss": total, "lr": rate}, step=step + 1)
    print(run.finish())


if __name__ == "__main__":
    main()
