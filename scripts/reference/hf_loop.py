#!/usr/bin/env python3
"""A training loop of the kind that people write around a model of Hugging Face's transformers, with receipts.

    scripts/reference/hf_loop.py --model FAMILY --text FILE --out DIR --name NAME [--set FIELD=JSON ...]
        [--optimizer adamw|adam|amsgrad|sgd|sgd-momentum|sgd-plain|lion|muon] [--lr X]
        [--schedule cosine|sqrt|linear|constant] [--groups two|one|depth] [--clip X] [--freeze TEXT] [--zero TEXT]
        [--balance X] [--smoothing X] [--z-loss X] [--skip N] [--autocast] [--masters] [--gradients]
        [--hidden N] [--layers N] [--heads N] [--length N] [--rows N] [--micro N] [--steps N] [--slice K:N ...]
        [--vocabulary N] [--seed S] [--threads N]

A short warmup and a schedule; gradients clipped and accumulated over micro-batches; groups of parameters with weight decay
and without, or with rates that fall with depth. Everything that `repro replay` needs is kept by
`scripts/python/repro_receipts/torch.py`. With `--set` any field of the model's config is another one.

Needs `pip install torch==2.15.0 transformers==5.23.0 numpy`; nothing here is used by the product.
"""
import contextlib
import json
import math

import torch
import torch.nn.functional as F
import transformers

import shared
import repro_receipts as receipts
import repro_receipts.torch

CONFIGS = {"llama": transformers.LlamaConfig, "mistral": transformers.MistralConfig, "qwen2": transformers.Qwen2Config,
           "qwen3": transformers.Qwen3Config, "olmo2": transformers.Olmo2Config, "olmo3": transformers.Olmo3Config,
           "gemma": transformers.GemmaConfig, "gemma2": transformers.Gemma2Config,
           "gemma3": transformers.Gemma3TextConfig, "nanochat": transformers.NanoChatConfig,
           "gpt2": transformers.GPT2Config, "mixtral": transformers.MixtralConfig, "olmoe": transformers.OlmoeConfig,
           "qwen3_moe": transformers.Qwen3MoeConfig}
EXPERTS = {"mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
           "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
           "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True}}
OWN_HEADS = ("qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3")
WARMUP = 5


class Lion(torch.optim.Optimizer):
    """The sign of a mean that leans on the newest gradient (https://arxiv.org/abs/2302.06675)."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (newest, kept), decay = group["betas"], group["weight_decay"]
            for p in (p for p in group["params"] if p.grad is not None):
                mean = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * decay).add_(mean.lerp(p.grad, 1 - newest).sign(), alpha=-group["lr"])
                mean.lerp_(p.grad, 1 - kept)


OPTIMIZERS = {
    "adamw": lambda groups, lr: torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95)),
    "amsgrad": lambda groups, lr: torch.optim.AdamW(groups, lr=lr, amsgrad=True),
    "adam": lambda groups, lr: torch.optim.Adam(groups, lr=lr),
    "sgd": lambda groups, lr: torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True),
    "sgd-momentum": lambda groups, lr: torch.optim.SGD(groups, lr=lr, momentum=0.9, dampening=0.1),
    "sgd-plain": lambda groups, lr: torch.optim.SGD(groups, lr=lr),
    "lion": Lion,
}


def model_of(chosen):
    """The config and the model, with first weights by the seed."""
    shape = {"vocab_size": chosen.vocabulary, "hidden_size": chosen.hidden, "intermediate_size": 2 * chosen.hidden,
             "num_hidden_layers": chosen.layers, "num_attention_heads": chosen.heads,
             "num_key_value_heads": max(1, chosen.heads // 2), "max_position_embeddings": chosen.length,
             "pad_token_id": None, "bos_token_id": None, "eos_token_id": None, **EXPERTS.get(chosen.model, {})}
    if chosen.model == "gpt2":
        shape = {"vocab_size": chosen.vocabulary, "n_embd": chosen.hidden, "n_layer": chosen.layers, "n_head": chosen.heads,
                 "n_positions": chosen.length, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
    if chosen.model in OWN_HEADS:
        shape["head_dim"] = chosen.hidden // chosen.heads
    if chosen.model == "qwen3_moe":
        shape["moe_intermediate_size"] = chosen.hidden
    if chosen.balance:
        shape.update(output_router_logits=True, router_aux_loss_coef=chosen.balance)
    shape.update({name: json.loads(value) for name, value in (text.split("=", 1) for text in chosen.set)})
    config = CONFIGS[chosen.model](**shape)
    torch.manual_seed(chosen.seed)
    return config, transformers.AutoModelForCausalLM.from_config(config).float().train()


def groups_of(chosen, named):
    """Groups of what is trained: matrices decay, norms and biases do not; or all alike; or rates that fall with depth."""
    trained = [(name, p) for name, p in named.items() if p.requires_grad]
    matrices, others = ([p for _, p in trained if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    if chosen.groups == "one":
        groups = [{"params": [p for _, p in trained], "weight_decay": 0.05}]
    elif chosen.groups == "depth":
        groups = [{"params": [p for _, p in trained[at::3]], "weight_decay": 0.1 * at, "lr": chosen.lr * 0.8 ** at}
                  for at in range(3)]
    else:
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def optimizers_of(chosen, named):
    """One optimizer, or Muon for the matrices of blocks beside AdamW for the rest."""
    if chosen.optimizer != "muon":
        return [OPTIMIZERS[chosen.optimizer](groups_of(chosen, named), chosen.lr)]
    inner = {id(p) for name, p in named.items() if p.dim() == 2 and "layers." in name}
    matrices, others = ([p for p in named.values() if p.requires_grad and (id(p) in inner) == is_inner]
                        for is_inner in (True, False))
    return [torch.optim.Muon(matrices, lr=5 * chosen.lr, weight_decay=0.1), torch.optim.AdamW(others, lr=chosen.lr)]


def masters_of(model):
    """Makes a model one of bfloat16; answers its weights in float32, by name."""
    masters = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in model.named_parameters()}
    model.bfloat16()
    return masters


def share_of(chosen, step):
    """By what the rates of update `step` (from 0) are multiplied."""
    if chosen.schedule == "constant":
        return 1.0
    if step < WARMUP:
        return (step + 1) / (WARMUP + 1)
    done = (step - WARMUP) / (2 * chosen.steps)
    return {"cosine": 0.5 * (1 + math.cos(math.pi * done)), "linear": 1 - done,
            "sqrt": math.sqrt(WARMUP / step)}[chosen.schedule]


def main():
    parser = shared.parser_of("a plain loop around a model of transformers that leaves receipts")
    parser.add_argument("--model", choices=CONFIGS, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=JSON", help="a field of the model's config")
    parser.add_argument("--optimizer", choices=[*OPTIMIZERS, "muon"], default="adamw")
    parser.add_argument("--schedule", choices=("cosine", "sqrt", "linear", "constant"), default="cosine")
    parser.add_argument("--groups", choices=("two", "one", "depth"), default="two")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--clip", type=float, default=1.0, help="the largest norm of gradients, 0 for any")
    parser.add_argument("--gradients", action="store_true", help="log the gradients, for replays of some micro-batches")
    parser.add_argument("--freeze", metavar="TEXT", help="freeze parameters with this in their names")
    parser.add_argument("--zero", metavar="TEXT", help="start parameters with this in their names at zero")
    parser.add_argument("--balance", type=float, default=0.0, help="weight of the balance loss of transformers")
    parser.add_argument("--smoothing", type=float, default=0.0, help="label smoothing")
    parser.add_argument("--z-loss", type=float, default=0.0, help="weight of the squares of logsumexp")
    parser.add_argument("--skip", type=int, default=0, help="targets at the beginning of each row that do not count")
    parser.add_argument("--autocast", action="store_true", help="forward passes under autocast to bfloat16")
    parser.add_argument("--masters", action="store_true", help="a model in bfloat16, whose weights are kept in float32")
    chosen = shared.begin(parser)
    config, model = model_of(chosen)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not (chosen.freeze and chosen.freeze in name))
        if chosen.zero and chosen.zero in name:
            torch.nn.init.zeros_(parameter)
    masters = masters_of(model) if chosen.masters else {}
    moved = masters or dict(model.named_parameters())
    optimizers = optimizers_of(chosen, moved)
    first = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]

    run = receipts.init(
        name=chosen.name, dir=chosen.out, seeds={"init": chosen.seed, "data": chosen.seed},
        config={**json.loads(config.to_json_string(use_diff=False)), "dtype": "bfloat16" if masters else "float32", "steps": chosen.steps,
                "batch_size": chosen.rows * chosen.micro, "seq_len": chosen.length, "learning_rate": chosen.lr,
                "optimizer": chosen.optimizer, "lr_scheduler_type": chosen.schedule, "warmup_steps": WARMUP,
                "max_grad_norm": chosen.clip, "gradient_accumulation_steps": chosen.micro},
        trainer={"name": "hf_loop.py", "version": transformers.__version__, "arithmetic": "pytorch-f32"},
        environment={"device": "cpu", "threads": chosen.threads})
    record = receipts.torch.Recorder(run, model, optimizers, slices=chosen.slices, grad_clip=chosen.clip or None,
                                  gradients=chosen.gradients, label_smoothing=chosen.smoothing, z_loss=chosen.z_loss,
                                  masters=masters)
    cast = torch.autocast("cpu", dtype=torch.bfloat16) if chosen.autocast else contextlib.nullcontext()
    drawn = shared.batches(chosen)
    for step in range(chosen.steps):
        total = 0.0
        for optimizer, rates in zip(optimizers, first):
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * share_of(chosen, step)
        for _ in range(chosen.micro):
            inputs, targets = next(drawn)
            targets = targets.clone()
            targets[:, :chosen.skip] = -100
            record.batch(inputs, targets)
            with cast:
                output = model(input_ids=inputs)
            logits = output.logits.float().flatten(0, 1)
            loss = F.cross_entropy(logits, targets.flatten(), label_smoothing=chosen.smoothing)
            record.loss(loss)
            added = chosen.balance * output.aux_loss if chosen.balance else 0.0
            if chosen.z_loss:
                counted = targets.flatten() >= 0
                added = added + chosen.z_loss * logits.logsumexp(-1)[counted].square().mean()
            ((loss + added) / chosen.micro).backward()
            total += loss.item() / chosen.micro
        own = dict(model.named_parameters())
        for name, master in masters.items():
            master.grad = own[name].grad.float()
        if chosen.clip:
            torch.nn.utils.clip_grad_norm_(moved.values(), chosen.clip)
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad()
        with torch.no_grad():
            for name, master in masters.items():
                own[name].copy_(master)
        run.log({"loss": total, "lr": optimizers[0].param_groups[0]["lr"]}, step=step + 1,
                tokens=(step + 1) * chosen.rows * chosen.micro * chosen.length)
    print(run.finish())


if __name__ == "__main__":
    main()
