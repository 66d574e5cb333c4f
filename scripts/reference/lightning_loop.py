#!/usr/bin/env python3
"""A run of Lightning's `Trainer` around a Llama of Hugging Face's transformers, with receipts by a callback.

    scripts/reference/lightning_loop.py --text FILE --out DIR --name NAME [--precision 32-true|bf16-mixed]
        [--hidden N] [--layers N] [--heads N] [--length N] [--rows N] [--micro N] [--steps N] [--slice K:N ...] [--lr X]
        [--seed S] [--threads N]

Needs `pip install torch==2.15.0 transformers==5.23.0 lightning==2.6.6 numpy`; nothing here is used by the product.
"""
import lightning
import torch
import transformers

import shared
import repro_receipts as receipts
import repro_receipts.torch


class Rows(torch.utils.data.IterableDataset):
    """The batches that the seed draws."""

    def __init__(self, chosen):
        self.chosen = chosen

    def __iter__(self):
        for inputs, _ in shared.batches(self.chosen):
            yield inputs


class Module(lightning.LightningModule):
    """A Llama and its AdamW."""

    def __init__(self, chosen):
        super().__init__()
        self.rate = chosen.lr
        self.llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=256, hidden_size=chosen.hidden, intermediate_size=2 * chosen.hidden,
            num_hidden_layers=chosen.layers, num_attention_heads=chosen.heads, num_key_value_heads=chosen.heads // 2,
            max_position_embeddings=chosen.length))

    def training_step(self, rows, _):
        return self.llama(input_ids=rows, labels=rows).loss

    def validation_step(self, rows, _):
        self.log("validation", self.llama(input_ids=rows, labels=rows).loss)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.llama.parameters(), lr=self.rate, weight_decay=0.1)
        rates = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, 1.0, 10)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": rates, "interval": "step"}}


def main():
    parser = shared.parser_of("a run of Lightning that leaves receipts")
    parser.add_argument("--precision", default="32-true")
    parser.add_argument("--lr", type=float, default=3e-3)
    chosen = shared.begin(parser)
    run = receipts.init(name=chosen.name, dir=chosen.out, config={}, seeds={"init": chosen.seed, "data": chosen.seed},
                        trainer={"name": "lightning_loop.py", "version": lightning.__version__, "arithmetic": "pytorch-f32"})
    trainer = lightning.Trainer(
        max_steps=chosen.steps, accelerator="cpu", precision=chosen.precision, gradient_clip_val=1.0,
        accumulate_grad_batches=chosen.micro, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        val_check_interval=5 * chosen.micro, limit_val_batches=2,
        callbacks=[receipts.torch.lightning_callback(run, chosen.slices)])
    loader = torch.utils.data.DataLoader(Rows(chosen), batch_size=None)
    trainer.fit(Module(chosen), loader, loader)
    print(run.finish())


if __name__ == "__main__":
    main()
