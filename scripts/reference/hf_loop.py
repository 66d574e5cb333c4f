#!/usr/bin/env python3
"""A training loop of the kind that people write around a model of Hugging Face's transformers, with receipts.

    scripts/reference/hf_loop.py --model llama|qwen2|qwen3|mixtral|olmoe|qwen3_moe|gpt2 --text FILE --out DIR --name NAME
        [--hidden N] [--layers N] [--steps N] [--slice K:N ...] [--optimizer adamw|adam|amsgrad|sgd] [--lr X]
        [--micro N] [--gradients] [--freeze TEXT] [--balance X] [--seed S] [--threads N]

Two groups of parameters, matrices with weight decay and the rest without; linear warmup and a cosine; gradients clipped at
1 and accumulated over micro-batches. Everything that `repro replay` needs is kept by `scripts/python/repro_torch.py`.

Needs `pip install torch==2.15.0 transformers==5.23.0 numpy`; nothing here is used by the product.
"""
import argparse
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
import transformers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import repro_receipts as receipts  # noqa: E402
import repro_torch  # noqa: E402

CONFIGS = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config, "qwen3": transformers.Qwen3Config,
           "mixtral": transformers.MixtralConfig, "olmoe": transformers.OlmoeConfig,
           "qwen3_moe": transformers.Qwen3MoeConfig, "gpt2": transformers.GPT2Config}
EXPERTS = {"mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
           "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
           "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True}}
OPTIMIZERS = {
    "adamw": lambda groups, lr: torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95)),
    "amsgrad": lambda groups, lr: torch.optim.AdamW(groups, lr=lr, amsgrad=True),
    "adam": lambda groups, lr: torch.optim.Adam(groups, lr=lr),
    "sgd": lambda groups, lr: torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True),
}
BATCH, LENGTH, WARMUP = 4, 32, 5


def model_of(chosen):
    """The config and the model, with first weights by the seed."""
    shape = {"vocab_size": 256, "hidden_size": chosen.hidden, "intermediate_size": 2 * chosen.hidden,
             "num_hidden_layers": chosen.layers, "num_attention_heads": 4, "num_key_value_heads": 2,
             "max_position_embeddings": LENGTH, **EXPERTS.get(chosen.model, {})}
    if chosen.model == "gpt2":
        shape = {"vocab_size": 256, "n_embd": chosen.hidden, "n_layer": chosen.layers, "n_head": 4, "n_positions": LENGTH,
                 "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
    if chosen.model in ("qwen3", "qwen3_moe"):
        shape["head_dim"] = chosen.hidden // 4
    if chosen.model == "qwen3_moe":
        shape["moe_intermediate_size"] = chosen.hidden
    if chosen.balance:
        shape.update(output_router_logits=True, router_aux_loss_coef=chosen.balance)
    config = CONFIGS[chosen.model](**shape)
    torch.manual_seed(chosen.seed)
    return config, transformers.AutoModelForCausalLM.from_config(config).float().train()


def groups_of(model):
    """Matrices decay, norms and biases do not; what is frozen is in neither group."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return [{"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1},
            {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0}]


def main():
    parser = argparse.ArgumentParser(description="a plain loop around a model of transformers that leaves receipts")
    parser.add_argument("--model", choices=CONFIGS, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True, help="the text, read as bytes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the bundle is made")
    parser.add_argument("--name", required=True, help="the name of the run and of its folder")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--slice", action="append", metavar="K:N", default=[], help="keep the N updates from update K")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--micro", type=int, default=1, help="micro-batches of an update")
    parser.add_argument("--gradients", action="store_true", help="log the gradients, for replays of some micro-batches")
    parser.add_argument("--freeze", metavar="TEXT", help="freeze parameters with this in their names")
    parser.add_argument("--balance", type=float, default=0.0, help="weight of the balance loss of transformers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    config, model = model_of(chosen)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not (chosen.freeze and chosen.freeze in name))
    optimizer = OPTIMIZERS[chosen.optimizer](groups_of(model), chosen.lr)
    scheduler = transformers.get_cosine_schedule_with_warmup(optimizer, WARMUP, 2 * chosen.steps)

    run = receipts.init(
        name=chosen.name, dir=chosen.out, seeds={"init": chosen.seed, "data": chosen.seed},
        config={**json.loads(config.to_json_string(use_diff=False)), "dtype": "float32", "steps": chosen.steps,
                "batch_size": BATCH * chosen.micro, "seq_len": LENGTH, "learning_rate": chosen.lr,
                "optimizer": chosen.optimizer, "lr_scheduler_type": "cosine", "warmup_steps": WARMUP,
                "max_grad_norm": 1.0, "gradient_accumulation_steps": chosen.micro},
        trainer={"name": "hf_loop.py", "version": transformers.__version__, "arithmetic": "pytorch-f32"},
        environment={"device": "cpu", "threads": chosen.threads})
    slices = [tuple(map(int, text.split(":"))) for text in chosen.slice]
    record = repro_torch.Recorder(run, model, optimizer, slices=slices, grad_clip=1.0, gradients=chosen.gradients)

    text = torch.frombuffer(bytearray(chosen.text.read_bytes()), dtype=torch.uint8).long()
    order = torch.Generator().manual_seed(chosen.seed)
    for step in range(1, chosen.steps + 1):
        total = 0.0
        for _ in range(chosen.micro):
            starts = torch.randint(len(text) - LENGTH, (BATCH,), generator=order)
            rows = torch.stack([text[start:start + LENGTH + 1] for start in starts])
            inputs, targets = rows[:, :-1], rows[:, 1:]
            record.batch(inputs, targets)
            output = model(input_ids=inputs)
            loss = F.cross_entropy(output.logits.flatten(0, 1), targets.flatten())
            record.loss(loss)
            added = chosen.balance * output.aux_loss if chosen.balance else 0.0
            ((loss + added) / chosen.micro).backward()
            total += loss.item() / chosen.micro
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rate = scheduler.get_last_lr()[0]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        run.log({"loss": total, "lr": rate}, step=step, tokens=step * BATCH * chosen.micro * LENGTH)
    print(run.finish())


if __name__ == "__main__":
    main()
