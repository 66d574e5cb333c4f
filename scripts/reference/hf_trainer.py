#!/usr/bin/env python3
"""A run of `Trainer` of Hugging Face's transformers, with receipts by a callback.

    scripts/reference/hf_trainer.py --text FILE --out DIR --name NAME [--model llama|qwen2|qwen3|mixtral]
        [--rows-as full|right|left|packed|masked] [--smoothing X] [--balance X] [--bf16] [--compile] [--checkpointing]
        [--evaluate N] [--resume STEP] [--hidden N] [--layers N] [--length N] [--rows N] [--micro N] [--steps N]
        [--slice K:N ...] [--lr X] [--seed S] [--threads N]

Rows are whole stretches of the text (`full`), shorter ones that are padded (`right`, `left`), several in one row with
positions that start again (`packed`, by `DataCollatorWithFlattening`), or whole ones whose first tokens are no targets
(`masked`). With `--resume` the run goes on from a checkpoint of `Trainer` after so many steps, which another run without
receipts makes first.

Needs `pip install torch==2.15.0 transformers==5.23.0 accelerate numpy`; nothing here is used by the product.
"""
import pathlib
import tempfile

import torch
import transformers

import shared
import repro_receipts as receipts
import repro_receipts.torch

CONFIGS = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config, "qwen3": transformers.Qwen3Config,
           "mixtral": transformers.MixtralConfig}
PADDING = 0


class Stretches(torch.utils.data.Dataset):
    """Stretches of a text; their lengths are drawn by the seed unless all are whole."""

    def __init__(self, chosen, first=0):
        self.text, self.chosen, self.first = shared.text_of(chosen), chosen, first
        source = torch.Generator().manual_seed(chosen.seed + first)
        count = chosen.rows * chosen.micro * chosen.steps * (4 if chosen.rows_as == "packed" else 1)
        self.starts = torch.randint(len(self.text) - chosen.length, (count,), generator=source)
        shortest, longest = (chosen.length // 8, chosen.length // 4) if chosen.rows_as == "packed" else (4, chosen.length)
        self.lengths = torch.randint(shortest, longest + 1, (count,), generator=source)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, at):
        is_whole = self.chosen.rows_as in ("full", "masked")
        start, length = int(self.starts[at]), self.chosen.length if is_whole else int(self.lengths[at])
        tokens = self.text[start:start + length].tolist()
        asked = length // 3 if self.chosen.rows_as == "masked" else 1
        return {"input_ids": tokens, "labels": [-100] * asked + tokens[asked:]}


def padded(side):
    """Makes a batch of rows with padding on one side, as long as its longest row."""
    def collate(rows):
        longest = max(len(row["input_ids"]) for row in rows)

        def filled(values, by):
            rest = [by] * (longest - len(values))
            return values + rest if side == "right" else rest + values
        return {"input_ids": torch.tensor([filled(row["input_ids"], PADDING) for row in rows]),
                "labels": torch.tensor([filled(row["labels"], -100) for row in rows]),
                "attention_mask": torch.tensor([filled([1] * len(row["input_ids"]), 0) for row in rows])}
    return collate


def collator_of(chosen):
    """What makes rows a batch."""
    if chosen.rows_as == "packed":
        return transformers.DataCollatorWithFlattening()
    return padded(chosen.rows_as if chosen.rows_as in ("left", "right") else "right")


def model_of(chosen):
    """A small model with first weights by the seed."""
    shape = {"vocab_size": chosen.vocabulary, "hidden_size": chosen.hidden, "intermediate_size": 2 * chosen.hidden,
             "num_hidden_layers": chosen.layers, "num_attention_heads": chosen.heads,
             "num_key_value_heads": chosen.heads // 2, "max_position_embeddings": chosen.length}
    if chosen.model == "mixtral":
        shape.update(num_local_experts=4, num_experts_per_tok=2)
    if chosen.model == "qwen3":
        shape["head_dim"] = chosen.hidden // chosen.heads
    if chosen.balance:
        shape.update(output_router_logits=True, router_aux_loss_coef=chosen.balance)
    torch.manual_seed(chosen.seed)
    return transformers.AutoModelForCausalLM.from_config(CONFIGS[chosen.model](**shape))


def trainer_of(chosen, folder, steps, callbacks):
    """A trainer of the model over the stretches; its checkpoints lie in a folder."""
    rows = 4 * chosen.rows if chosen.rows_as == "packed" else chosen.rows
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), max_steps=chosen.steps, per_device_train_batch_size=rows,
        gradient_accumulation_steps=chosen.micro, learning_rate=chosen.lr, weight_decay=0.1, warmup_steps=5,
        lr_scheduler_type="cosine", max_grad_norm=1.0, label_smoothing_factor=chosen.smoothing, logging_steps=2,
        bf16=chosen.bf16, torch_compile=chosen.compile, activation_checkpointing=chosen.checkpointing, seed=chosen.seed,
        eval_strategy="steps" if chosen.evaluate else "no", eval_steps=chosen.evaluate or None, use_cpu=True,
        save_strategy="steps" if steps < chosen.steps else "no", save_steps=steps, report_to=[], disable_tqdm=True)
    return transformers.Trainer(model_of(chosen), arguments, data_collator=collator_of(chosen),
                                train_dataset=Stretches(chosen), eval_dataset=Stretches(chosen, 1), callbacks=callbacks)


class End(transformers.TrainerCallback):
    """Ends a run after so many steps."""

    def __init__(self, steps):
        self.steps = steps

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step >= self.steps


def main():
    parser = shared.parser_of("a run of Trainer of transformers that leaves receipts")
    parser.add_argument("--model", choices=CONFIGS, default="llama")
    parser.add_argument("--rows-as", choices=("full", "right", "left", "packed", "masked"), default="full")
    parser.add_argument("--smoothing", type=float, default=0.0, help="label smoothing")
    parser.add_argument("--balance", type=float, default=0.0, help="weight of the balance loss of experts")
    parser.add_argument("--bf16", action="store_true", help="forward passes under autocast to bfloat16")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    parser.add_argument("--checkpointing", action="store_true", help="activations are computed again for gradients")
    parser.add_argument("--evaluate", type=int, default=0, metavar="N", help="evaluate every N steps")
    parser.add_argument("--resume", type=int, default=0, metavar="STEP", help="go on from a checkpoint of this step")
    parser.add_argument("--lr", type=float, default=3e-3)
    chosen = shared.begin(parser)
    with tempfile.TemporaryDirectory() as folder:
        if chosen.resume:
            trainer_of(chosen, folder, chosen.resume, [End(chosen.resume)]).train()
        # Where batches are as long as their longest row, no slice knows how long those of another are.
        config = {} if chosen.rows_as in ("full", "masked") else {
            "seq_len": chosen.length * (chosen.rows if chosen.rows_as == "packed" else 1)}
        run = receipts.init(
            name=chosen.name, dir=chosen.out, config=config, seeds={"init": chosen.seed, "data": chosen.seed},
            trainer={"name": "hf_trainer.py", "version": transformers.__version__, "arithmetic": "pytorch-f32"})
        trainer = trainer_of(chosen, folder, chosen.steps, [receipts.torch.callback(run, chosen.slices)])
        kept = str(pathlib.Path(folder, f"checkpoint-{chosen.resume}")) if chosen.resume else None
        trainer.train(resume_from_checkpoint=kept)
    print(run.finish())


if __name__ == "__main__":
    main()
