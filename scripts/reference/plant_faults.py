#!/usr/bin/env python3
"""`torch_trainer.py` with a fault in it, for tests of `repro replay`.

    scripts/reference/plant_faults.py CONFIG.json --text FILE --out DIR --name NAME --plant FAULT [...]

Training is honest up to the first slice that starts after some steps (where there is none, up to that from step
0): its checkpoint is honest, and so are the batches that it states. From its first step on the fault is there.
"""
import sys

import torch

from torch_trainer import Trainer, arguments, first_weights, main


class Planted(Trainer):
    """An honest trainer until `at` updates are made."""

    at = 0
    needs_router = needs_moments = False
    starts_from_seed = False

    @property
    def planted(self):
        return self.done >= self.at

    def plant(self):
        """What the fault changes once, before the first step of the slice."""

    def step(self, batch):
        if self.done == self.at:
            self.plant()
        return super().step(batch)


class Rate(Planted):
    def rate(self):
        return super().rate() * (1.01 if self.planted else 1)


class Schedule(Planted):
    def rate(self):
        if not self.planted:
            return super().rate()
        self.done += 1
        rate = super().rate()
        self.done -= 1
        return rate


class SwappedBatch(Planted):
    """The second and third batch of the slice in the other order."""

    def step(self, batch):
        other = {self.at + 1: self.at + 2, self.at + 2: self.at + 1}.get(self.done)
        return super().step(batch if other is None else self.text.batch(other, self.c["batch_size"]))


class ChangedToken(Planted):
    """One token of the slice's third batch, in the middle of its first row."""

    def step(self, batch):
        if self.done == self.at + 2:
            batch = batch.clone()
            batch[0, batch.shape[1] // 2] ^= 1
        return super().step(batch)


class Dropped(Planted):
    """One tensor's gradient is zero."""

    tensor = None

    def gradients(self, batch):
        loss = super().gradients(batch)
        if self.planted:
            self.model.w[f"model.layers.{self.c['num_hidden_layers'] // 2}.{self.tensor}"].grad.zero_()
        return loss


class DroppedMatrix(Dropped):
    tensor = "self_attn.q_proj.weight"


class DroppedNorm(Dropped):
    tensor = "post_attention_layernorm.weight"


class DroppedRouter(Dropped):
    tensor = "mlp.gate.weight"
    needs_router = True


class Moments(Planted):
    """Both moments are zero; the count of steps stays."""

    needs_moments = True

    def plant(self):
        for state in self.optimizer.state.values():
            state["exp_avg"].zero_()
            state["exp_avg_sq"].zero_()


class Count(Planted):
    """The count of steps that corrects the moments is one too many."""

    needs_moments = True

    def plant(self):
        for state in self.optimizer.state.values():
            state["step"] += 1


class NoDecay(Planted):
    def plant(self):
        for group in self.optimizer.param_groups:
            group["weight_decay"] = 0.0


class Beta2(Planted):
    """A memory that is a quarter longer: 0.95 becomes 0.96."""

    def plant(self):
        for group in self.optimizer.param_groups:
            first, second = group["betas"]
            group["betas"] = (first, 1 - (1 - second) * 0.8)


class Balance(Planted):
    needs_router = True

    def plant(self):
        self.model.c = {**self.c, "aux_loss_alpha": self.c["aux_loss_alpha"] * 1.01}


class OtherSeed(Planted):
    """Other first weights than those of the checkpoint."""

    starts_from_seed = True

    def plant(self):
        with torch.no_grad():
            for name, weight in first_weights(self.c, self.c["seed_init"] + 1).items():
                self.model.w[name].copy_(weight)


FAULTS = {
    "rate-1pct": Rate,
    "schedule-off-by-one": Schedule,
    "swapped-batch": SwappedBatch,
    "changed-token": ChangedToken,
    "dropped-gradient-matrix": DroppedMatrix,
    "dropped-gradient-norm": DroppedNorm,
    "dropped-gradient-router": DroppedRouter,
    "moments-reset": Moments,
    "optimizer-step-off-by-one": Count,
    "no-weight-decay": NoDecay,
    "beta2": Beta2,
    "balance-1pct": Balance,
    "other-seed": OtherSeed,
}


def choose(parser, chosen, c):
    """The trainer with the fault, which knows where it begins."""
    fault = FAULTS[chosen.plant]
    starts = [part["from_step"] for part in c["slices"]]
    fault.at = min((start for start in starts if start and not fault.starts_from_seed), default=0)
    if fault.at not in starts or fault.needs_moments and not fault.at:
        parser.error(f"--plant {chosen.plant}: no slice that starts where this fault can be")
    if fault.needs_router and c.get("balancing") != "loss":
        parser.error(f"--plant {chosen.plant}: the model has no router that is balanced by a loss")
    fault.notes = {"planted": chosen.plant}
    return fault


def arguments_with_fault():
    parser = arguments()
    parser.description = "a plain PyTorch trainer with a fault in it"
    parser.add_argument("--plant", choices=FAULTS, required=True, metavar="FAULT", help=", ".join(FAULTS))
    return parser


if __name__ == "__main__":
    asked = arguments_with_fault()
    sys.exit(main(asked, lambda chosen, c: choose(asked, chosen, c)))
