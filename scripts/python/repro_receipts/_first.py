"""The first batch of a run, compared with the model that its config describes, before the first update.

This module contains no model formulas: `repro replay --first-batch` reads the config as every replay does, executes the
batch, and reports the first part that differs. Its inputs come from the training loop itself: tokens, loss, and the
gradients of the run's own backward pass. Besides, the first row is sent through the model again, in training mode and
in evaluation mode, which shows what draws random numbers and what is not the same in training.

Random numbers, buffers, gradients and modes of the model are as before afterwards.
"""
from __future__ import annotations

import contextlib
import copy
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

from ._init import init
from ._json import Unwritable
from ._program import ProgramMissing, program
from ._tensors import TensorFile

KEPT = 1 << 24  # numbers of rows that are kept of the first sequence
UNIT = 2.0 ** -24
FAR, FAR_IN_FEW_BITS = 64 * UNIT, 4 * 2.0 ** -8  # how far two passes may be apart, as rows of two engines in a replay
ENOUGH = 5e9  # operations of a comparison beyond which some rows stand for the whole batch: about half a second of a core
WORK = 2e11  # operations that a comparison may take: about ten seconds of two cores
SHORTEST = 64  # tokens of a row that are compared at least
WALKS = 12  # of a calibration, with the step itself
MINUTES = 10


class Unasked(Unwritable):
    """The program could not be run."""


# --- Asking the program ---

def ask(run, config, write=None):
    """The result of `repro replay --first-batch` for a bundle with this config, to which `write` adds."""
    try:
        executable = program()
    except ProgramMissing as error:
        raise Unasked(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        bundle = init("first-batch", folder, config, {"name": "first batch"}, {"init": "0"}, rank=0)
        if write is not None:
            write(bundle)
        if bundle.finish() is None or bundle.problems:
            raise Unasked("; ".join(bundle.problems) or "the batch could not be written")
        asked = [str(executable), "replay", str(bundle.path), "--first-batch", "--format", "json"]
        try:
            done = subprocess.run(asked, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  encoding="utf-8", errors="replace", timeout=60 * MINUTES, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unasked(f"{executable.name} could not be executed: {error}") from None
    said = done.stdout.replace(f"{bundle.path}/", "")  # no folder of this machine stands in a receipt
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != "repro.first-batch/1":
        lines = done.stderr.strip().splitlines() or ["nothing"]
        raise Unasked(f"{executable.name} exited with status {done.returncode}: {' '.join(lines)[:300]}")
    return found


def sentence(found):
    """The objection of a replay to the model, in a sentence; None if there is none."""
    if found["outcome"] in ("agrees", "undecided"):
        return None
    reason = found["reason"]
    if found["part"]:
        part = found["part"]
        reason = (f"the first part that differs is {part['name']}, a relative difference of {part['difference'] or math.inf:.1e} "
                  f"(rounding explains {part['tolerance']:.1e}); {reason}")
    return reason + agreeing(found)


def agreeing(found):
    """The settings under which the first sequence agrees, to append to a sentence."""
    changes = [", ".join(f"`{name}` = {json.dumps(value)}" for name, value in change.items()) for change in found["settings"]]
    return f"; the batch agrees with {' or with '.join(changes)} in the config" if changes else ""


# --- The first row again ---

class Rows:
    """The inputs and outputs of modules with their own parameters in a pass of one sequence, in call order."""

    def __init__(self, named, rows, length):
        self.rows, self.length, self.left, self.all = rows, length, KEPT, []
        self.names = {}
        for name, p in named.items():
            self.names.setdefault(id(p), name)

    def hooks(self, model):
        """Hooks on all such modules."""
        for module in model.modules():
            names = [self.names[id(p)] for p in module._parameters.values() if p is not None and id(p) in self.names]
            if names:
                yield module.register_forward_hook(self._hook(names[0]))

    def _hook(self, name):
        @torch.compiler.disable
        def hook(_, given, output):
            for kind, value in (("in", given[0] if given else None), ("out", output)):
                value = value[0] if isinstance(value, (tuple, list)) and value else value
                if torch.is_tensor(value) and value.is_floating_point():
                    self._keep(f"{kind}.{name}", value.detach())
        return hook

    def _keep(self, name, value):
        if any(name == known for known, _ in self.all):
            return
        if self.rows > 1 and value.shape[:1] == (self.rows * self.length,):
            value = value[:self.length]
        elif self.rows > 1 and value.shape[:1] == (self.rows,):
            value = value[:1]
        self.left -= value.numel()
        if self.left > 0:
            self.all.append((name, value.float().cpu().contiguous().clone()))


def logits_of(output, shape, vocabulary):
    """The logits of a forward pass over (rows, length), from whatever it returns; None if there are none."""
    if torch.is_tensor(output):
        if not output.is_floating_point() or output.dim() < 2 or vocabulary not in (None, output.shape[-1]):
            return None
        if tuple(output.shape[:-1]) == tuple(shape) and output.shape[-1] > 1:
            return output
        is_flat = output.dim() == 2 and output.shape[0] == shape[0] * shape[1] and vocabulary is not None
        return output.view(*shape, -1) if is_flat else None
    if isinstance(getattr(output, "logits", None), torch.Tensor):
        return logits_of(output.logits, shape, vocabulary)
    members = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else ()
    return next((found for found in (logits_of(one, shape, vocabulary) for one in members) if found is not None), None)


@contextlib.contextmanager
def untouched(model):
    """Restores the random state, buffers and modes of a model."""
    devices = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    modes = [(module, module.training) for module in model.modules()]
    stored = [(module, dict(vars(module)), [(value, value.copy()) for name, value in vars(module).items()
                                            if name[:1] != "_" and type(value) in (list, dict, set)])
              for module in model.modules()]
    numpy, state = sys.modules.get("numpy"), random.getstate()
    of_numpy = numpy.random.get_state() if numpy else None
    # Weights that autocast casts without gradients must not be found by passes that need these.
    caches = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        with torch.random.fork_rng(devices), torch.no_grad():
            yield
    finally:
        torch.set_autocast_cache_enabled(caches)
        random.setstate(state)
        if numpy:
            numpy.random.set_state(of_numpy)
        # What a forward pass leaves at its modules, such as a balance loss of routers, is that of the run's own pass.
        for module, values, containers in stored:
            vars(module).clear()
            vars(module).update(values)
            for container, content in containers:
                container.clear()
                (container.extend if isinstance(container, list) else container.update)(content)
        for module, mode in modes:
            module.training = mode
        with torch.no_grad():
            for buffer, value in buffers:
                if not torch.equal(buffer, value):
                    buffer.copy_(value)


def first_of(value, shape, wanted):
    """Arguments of a forward pass over (rows, length), for only the first `wanted` rows and tokens."""
    if torch.is_tensor(value):
        if value.dim() and value.shape[0] == shape[0]:
            value = value[:wanted[0]]
        is_by_token = value.dim() in (1, 2) and value.shape[-1] == shape[1]
        return value[..., :wanted[1]] if is_by_token else value
    if isinstance(value, dict):
        return {name: first_of(one, shape, wanted) for name, one in value.items()}
    return type(value)(first_of(one, shape, wanted) for one in value) if type(value) in (tuple, list) else value


class Given:
    """The arguments of the first forward pass, and its autocast."""

    def __init__(self, module, positional, named, batches):
        tokens = [one for one in (named.get("input_ids"), *positional) if torch.is_tensor(one) and one.dim() == 2]
        self.shape = tuple(batches[-1].counted.shape) if batches else tuple(tokens[0].shape) if tokens else None
        self.arguments, self.device = (positional, named), next(module.parameters()).device.type
        is_cast = torch.is_autocast_enabled(self.device)
        self.autocast = {"enabled": is_cast, **({"dtype": torch.get_autocast_dtype(self.device)} if is_cast else {})}

    def first(self, wanted):
        """The same for only its first rows and tokens."""
        other = copy.copy(self)
        other.arguments, other.shape = first_of(self.arguments, self.shape, wanted), tuple(wanted)
        return other

    def learned(self, model, trained, batch, smoothing, z_loss, vocabulary):
        """The mean cross-entropy of a batch, and the gradients of it and a z-loss, by a pass without side effects."""
        targets = batch.tokens[:, 1:].masked_fill(batch.counted == 0, -100).to(self.device)
        with untouched(model), torch.enable_grad():
            with torch.autocast(self.device, **self.autocast):
                output = model(*self.arguments[0], **self.arguments[1])
            logits = logits_of(output, tuple(batch.counted.shape), vocabulary).float()
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)
            squares = logits.logsumexp(-1)[targets >= 0].square()
            return loss.item(), torch.autograd.grad(loss + z_loss * squares.mean() if z_loss else loss, trained)

    def looked(self, model, named, vocabulary):
        """The first row, sent through the model again."""
        if self.shape is None:
            return None
        with torch.autocast(self.device, **self.autocast):
            return FirstRow(model, named, self.arguments, self.shape, vocabulary)


class FirstRow:
    """The first row of a run, sent through the model three times in training mode and once in evaluation mode."""

    def __init__(self, model, named, given, shape, vocabulary):
        self.model, self.named, self.vocabulary = model, named, vocabulary
        self.rows, self.length = shape
        self.given = given
        with untouched(model):
            one = first_of(given, shape, (1, self.length))
            try:
                model(*one[0], **one[1])
                self.given, self.rows = one, 1
            except Exception:
                pass  # of a model that takes nothing but its own number of rows, all are taken
            drawn = torch.get_rng_state()
            first, again, other, calm = (self._pass(drawn if same else None, training)
                                         for same, training in ((1, True), (1, True), (0, True), (1, False)))
        self.seen, self.logits = first
        self.against = self._against(first, again, other, calm)

    def _pass(self, state, training):
        """Rows and logits of a pass, with the random numbers of a state or with others."""
        if state is not None:
            torch.set_rng_state(state)
        for module in self.model.modules():
            if not training:
                module.training = False
        rows = Rows(self.named, self.rows, self.length)
        handles = list(rows.hooks(self.model))
        try:
            output = self.model(*self.given[0], **self.given[1])
        finally:
            for handle in handles:
                handle.remove()
        logits = logits_of(output, (self.rows, self.length), self.vocabulary)
        return rows.all, None if logits is None else logits[0].detach().float().cpu()

    def _against(self, first, again, other, calm):
        """The modules that draw random numbers in a forward pass, and those that differ in evaluation mode."""
        repeated = {name: apart(a, b) for (name, a), (_, b) in zip(first[0], again[0])}
        for passed, what in ((other, "uses random numbers in training"),
                             (calm, "computes differently in training and evaluation")):
            for (name, a), (same, b) in zip(first[0] + [("out.logits", first[1])], passed[0] + [("out.logits", passed[1])]):
                if a is None or b is None or name != same:
                    continue
                few = any(p.dtype != torch.float32 for p in self.named.values()) or torch.is_autocast_enabled(
                    next(iter(self.named.values())).device.type)
                if apart(a, b) > max(8 * repeated.get(name, 0.0), FAR_IN_FEW_BITS if few else FAR):
                    return f"{place_of(name)} {what}: a replay cannot reproduce that"
        return None

    def tensors(self, tokens, parts):
        """The rows by tensor names, and the nats of each target, in the form written next to a slice."""
        found = {}
        if self.logits is not None:
            wanted = tokens[0, 1:self.length + 1]
            found["nats"] = F.cross_entropy(self.logits.double(), wanted.long(), reduction="none").float()
        for name, value in self.seen:
            kind, _, own = name.partition(".")
            pieces = parts.get(own, []) if value.numel() else []  # an expert may have got no token
            if len(pieces) == 1 and pieces[0].is_whole:
                found[f"{kind}.{pieces[0].name}"] = value
            elif pieces and pieces[0].expert is None and kind == "in":
                found[f"in.{pieces[0].name}"] = value
            elif pieces and all(piece.rows and piece.expert is None for piece in pieces):
                for piece in pieces:
                    found[f"out.{piece.name}"] = value[..., piece.rows[0]:piece.rows[1]].contiguous()
        return found


def place_of(name):
    """A place in a model, in words."""
    kind, _, own = name.partition(".")
    if own == "logits":
        return "the part that computes the logits"
    return f"the part before `{own}`" if kind == "in" else f"the module of `{own}`"


def apart(a, b):
    """The distance of two tensors, relative to the first."""
    if a.shape != b.shape:
        return math.inf
    size = a.double().norm().item()
    distance = (a.double() - b.double()).norm().item()
    return distance / size if size else (0.0 if distance == 0.0 else math.inf)


def work_of(parameters, tokens):
    """The approximate number of operations of a comparison."""
    return 6.0 * parameters * tokens * WALKS


def extent(parameters, shape):
    """The number of rows and tokens of a first micro-batch (rows, length) that represent the whole batch; None if not even
    the fewest can be compared."""
    rows, length = shape
    tokens = int(ENOUGH / work_of(parameters, 1))
    wanted = (1, max(min(SHORTEST, length), tokens)) if tokens < length else (min(rows, tokens // length), length)
    return wanted if work_of(parameters, wanted[0] * wanted[1]) <= WORK else None


def write_rows(bundle, tensors):
    """Writes the rows of the first sequence into a bundle."""
    if tensors:
        bundle._folder.put("data/rows.safetensors", TensorFile(tensors).chunks())
