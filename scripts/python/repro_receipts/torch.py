"""Records step ranges of a PyTorch run so that `repro replay` can execute them again, with any training loop.

In all three cases `import repro_receipts as receipts, repro_receipts.torch`,
`run = receipts.init(name=..., dir=..., config={}, trainer={...}, seeds={...})`, and `slices = [(0, 4), (1000, 4)]`. With the
`Trainer` of Hugging Face transformers:

    trainer = Trainer(..., callbacks=[receipts.torch.callback(run, slices)])

With Lightning:

    trainer = lightning.Trainer(..., callbacks=[receipts.torch.lightning_callback(run, slices)])

In your own loop, where `optimizer` may be a list:

    record = receipts.torch.Recorder(run, model, optimizer, slices, grad_clip=1.0)
    for inputs, targets in batches:
        record.batch(inputs, targets)        # the inputs of the next forward pass: (rows, length) each
        loss = ...
        record.loss(loss)                    # its mean cross-entropy, without router losses or a z-loss

Hooks on parameters and optimizers record for each update: tokens and loss; the norm of each tensor's gradient
before clipping; the norm used for clipping; the update norm and the norm of each tensor; learning rate, weight decay,
betas and momentum of each optimizer group. Before the first update of a slice all weights and moments are saved as a
checkpoint of the run. A slice of 4 updates costs their tokens and two copies of the model. Missing fields of the config
are taken from the model's own config. Everything that a replay would lack or could not execute is printed when the
recorder is created, all at once (`check`).

Nothing here raises into a training loop, except `strict=True` when the recorder is created: `run` prints each problem once
and lists it in its receipt.
"""
from __future__ import annotations

import copy
import functools
import inspect
import math
from typing import Any, Callable, Iterable, List, Mapping, Optional, Set, Tuple, TypeVar, cast

import torch
import torch.nn.functional as F

from . import _first, _held_out, _replayable, _table
from ._budget import size_of
from ._replayable import Refused, check, name_of, stated_group, stated_precision, unwrapped
from ._quiet import say
from ._run import Run

__all__ = ["Recorder", "callback", "check", "lightning_callback"]

PLACES = 256  # of a row whose logits are looked at in one go
SCALED_DOWN = 1 - 1e-8  # shares of a norm below this are no rounding of its numbers
EDGE = 2.0 ** -20  # a gradient that is a smaller part of all of them is rounding
ALIKE = 1e-3  # of a gradient, by which it may be scaled otherwise than the others: less than any clipping of some of them
EXACT, ROUGH = 2e-5, 0.01  # how far gradients of logits may be from those of a loss: in float32, in bfloat16


def norm64(tensor):
    """A norm, added up in float64."""
    return torch.linalg.vector_norm(tensor.detach(), dtype=torch.float64).item()


def norm_of(norms):
    """The norm of all tensors by the norm of each."""
    return math.sqrt(math.fsum(norm ** 2 for norm in norms.values()))


def pieces(logits, targets):
    """Logits and targets of at most `PLACES` places of a row, which bounds the memory that their float64 takes."""
    for row, wanted in zip(logits, targets):
        for start in range(0, len(wanted), PLACES):
            yield slice(start, start + PLACES), row[start:start + PLACES], wanted[start:start + PLACES]


@torch.no_grad()
def cross_entropy(logits, targets, smoothing):
    """The mean cross-entropy over targets that count (are not negative), added up in float64."""
    parts = [F.cross_entropy(piece.double(), wanted, reduction="sum", ignore_index=-100, label_smoothing=smoothing)
             for _, piece, wanted in pieces(logits, targets.masked_fill(targets < 0, -100))]
    return math.fsum(part.item() for part in parts) / max(1, int((targets >= 0).sum()))


@torch.no_grad()
def scale_of(gradient, logits, targets, smoothing, z_loss):
    """The factor between a gradient of logits and that of the mean loss over targets that count; None if it belongs to a
    different loss. With p = softmax(logits), s the smoothing and K tokens, the gradient of one target is
    p - (1 - s) [target] - s / K + 2 z logsumexp(logits) p."""
    both = wanted_squares = squares = rounded = 0.0
    for row, gradients in zip(zip(logits, targets), gradient):
        for places, piece, wanted in pieces(*([part] for part in row)):
            piece, given = piece.double(), gradients[places].double()
            p, counts = piece.softmax(-1), (wanted >= 0).unsqueeze(-1)
            own = p * (1 + 2 * z_loss * piece.logsumexp(-1, keepdim=True)) - smoothing / piece.shape[-1]
            own.scatter_add_(-1, wanted.clamp(min=0).unsqueeze(-1), torch.full_like(own[:, :1], smoothing - 1))
            own = own * counts
            both, squares = both + (own * given).sum().item(), squares + given.square().sum().item()
            wanted_squares += own.square().sum().item()
            rounded += ((p.square().sum(-1, keepdim=True) + 1) * counts).sum().item()
    count, scale = max(1, int((targets >= 0).sum())), both / (wanted_squares or 1.0)
    # p - 1 is rounded as p and 1 are, however small it is.
    allowed = error_of(gradient) * math.sqrt(squares) + 2 ** -20 * abs(scale) * math.sqrt(rounded)
    return scale * count if squares - scale * both <= allowed ** 2 else None


def error_of(gradient):
    """The tolerance of a gradient for rounding."""
    return EXACT if gradient.dtype == torch.float32 else ROUGH


Method = TypeVar("Method", bound=Callable[..., Any])


def _quiet(method: Method) -> Method:
    """Reports problems by the run and ends the slice; training continues."""
    @functools.wraps(method)
    def call(self, *arguments, **named):
        try:
            return method(self, *arguments, **named)
        except Exception as error:
            self.run.problem("slice", error)
            self.open = None
            return None
    return cast(Method, torch.compiler.disable(call))


class Batch:
    """One forward pass: tokens (rows, length + 1), which targets count, and documents and positions if stated."""

    def __init__(self, inputs, targets, documents=None, positions=None):
        counted = targets >= 0
        if not torch.equal(inputs[:, 1:][counted[:, :-1]], targets[:, :-1][counted[:, :-1]]):
            raise ValueError("targets that are not the inputs shifted by one")
        rows = torch.cat([inputs, targets[:, -1:].clamp(min=0)], dim=1)
        self.tokens, self.counted = rows.detach().cpu().clone(), counted.detach().cpu().long()
        usual = {"documents": torch.ones_like(self.counted), "positions": torch.arange(counted.shape[1]).expand_as(counted)}
        given = {"documents": documents, "positions": positions}
        given = {name: part.detach().cpu().long().expand_as(counted) for name, part in given.items() if part is not None}
        self.given = {name: part.clone() for name, part in given.items() if not torch.equal(part, usual[name])}
        # By what its loss and the balance loss of its routers were multiplied before they were backpropagated.
        self.loss, self.scales, self.balances, self.has_balance, self.error = None, [], [], False, EXACT
        self.weight, self.passes = None, 0

    def first(self, rows, length):
        """The same for only its first rows and tokens."""
        other = copy.copy(self)
        other.tokens, other.counted = self.tokens[:rows, :length + 1], self.counted[:rows, :length]
        other.given = {name: part[:rows, :length] for name, part in self.given.items()}
        return other

    @property
    def is_whole(self):
        """Whether all its tokens are of documents, so that padding went through no router."""
        return bool((self.given.get("documents", torch.ones(1)) > 0).all())

    def fitted(self, name, rows, length):
        """One of its tensors with padding behind: rows and places that no target counts in, of document 0."""
        own = {"tokens": self.tokens, "counted": self.counted, **self.given}.get(name)
        if own is None:
            own = torch.ones_like(self.counted) if name == "documents" else None
        wide = length + (name == "tokens")
        if own is None:
            own = torch.arange(length).repeat(len(self.tokens), 1)
        if name != "positions":
            return F.pad(own, (0, wide - own.shape[1], 0, rows - len(own)))
        usual = torch.arange(length).repeat(rows, 1)
        usual[:len(own), :own.shape[1]] = own
        return usual


class Stretch:
    """A slice that is being recorded: the state before it, and the batches, groups and logged quantities of each update."""

    def __init__(self, start, count, values):
        self.start, self.count, self.first, self.before = start, count, values, values
        self.updates, self.groups, self.logged, self.scales = [], [], {}, []
        self.precisions = set()
        self.clear()

    def clear(self):
        """Begins the next update."""
        self.batches, self.gradients, self.routed, self.stated = [], {}, {}, {}
        self.added, self.whole, self.clipped_by, self.scale = {}, {}, 0.0, 1.0

    def shape(self):
        """Rows of a micro-batch, micro-batches of an update, length."""
        batches = [batch for update in self.updates for batch in update]
        counts = {len(update) for update in self.updates}
        if len(counts) > 1:
            raise ValueError(f"updates with {min(counts)} and with {max(counts)} micro-batches in one slice")
        rows, length = (max(batch.counted.shape[at] for batch in batches) for at in (0, 1))
        return rows, counts.pop(), length

    def tensor(self, name, rows, length):
        """(steps, rows, length) of all its updates."""
        return torch.stack([torch.cat([batch.fitted(name, rows, length) for batch in update]) for update in self.updates])

    def merged_groups(self):
        """The groups of all updates as one: rates by update, and whatever else was another number in each."""
        groups = []
        for stated in zip(*self.groups):
            group = {}
            for name, value in stated[0].items():
                values = [other[name] for other in stated]
                is_alike = all(other == value for other in values)
                if not is_alike and not isinstance(value, float):
                    raise ValueError(f"groups whose `{name}` changes")
                group[name] = value if is_alike and name != "lr" else values
            groups.append(group)
        return groups


class Recorder:
    """Records updates of a model; `slices` are pairs: the number of updates before a slice, and its length.

    `optimizer` is one or a list, each of which steps once per update. `grad_clip` is the clipping threshold for the global
    gradient norm, None without clipping. `done` updates were made before. `mean_over` states whether the loss of an update is
    the mean over its `micro_batches`, or over all its `targets` that count; `label_smoothing` is part of that loss, `z_loss`
    is the coefficient of the mean of logsumexp(logits)^2, which is added. With `watch` the batches and losses of a
    transformers model are recorded automatically: do not call `batch` and `loss`. `strict` raises if `check` finds reasons.
    With `gradients` a slice also contains losses and gradient norms of micro-batches and the gradients of each update, as
    large as the model, so that a replay can execute a sample of many micro-batches. For a bfloat16 model, `masters` are the
    float32 weights by parameter name, which the optimizer updates and of which the model has rounded copies.

    Before the first update, `repro` compares the first batch with the model that the config describes
    (`compare`; None compares a part if all of it would take more than half a second). `names` maps the model's names to
    those of replays (`_table.py`); without it, a mapping is proposed from shapes and used if the first batch confirms it.
    `balance` is the coefficient of a balance loss of routers that is added to the loss."""

    def __init__(self, run: Run, model: Any, optimizer: Any, slices: Iterable[Tuple[int, int]],
                 grad_clip: Optional[float] = None, done: int = 0, mean_over: str = "micro_batches",
                 label_smoothing: float = 0.0, z_loss: float = 0.0, watch: bool = False, strict: bool = False,
                 refused: Iterable[str] = (), gradients: bool = False, masters: Optional[Mapping[str, Any]] = None,
                 names: Optional[Mapping[str, Any]] = None, balance: Optional[float] = None,
                 compare: Optional[bool] = None) -> None:
        self.run, self.model, self.optimizers = run, model, _replayable.all_of(optimizer)
        self.grad_clip, self.done, self.mean_over = float(grad_clip or 0.0), done, mean_over
        self.label_smoothing, self.z_loss, self.watch, self.gradients = label_smoothing, z_loss, watch, gradients
        self.strict, self.compare, self.balance, self.table = strict, compare, balance, dict(names or {})
        before = run.first_batch  # of a run that goes on, whose config is the same
        self.compared = compare is False or before.get("outcome") == "agrees"
        self.first: List[_first.Given] = []
        self.looking, self.routes_of_rows, self.start, self.is_guessed = False, None, None, False
        self.table = self.table or before.get("names", {})
        self.slices = {start: count for start, count in slices if start >= done or not run.has_slice(start)}
        self.open = None
        self.handles: List[Any] = []
        self.watching: List[Any] = []
        self.stepped: Set[int] = set()
        self.heads: List[Any] = []
        self.inside, self.pending, self.balance_whole = False, None, False
        starts = sorted(slices)
        for (start, count), (later, _) in zip(starts, starts[1:]):
            if start + count > later:
                run.problem("slice", ValueError(f"the slice from update {later} starts within the one from {start}"))
        self.masters = {name_of(name): master for name, master in (masters or {}).items()}
        if balance is not None:
            run.complete(_replayable.balance_of({**_replayable.config_of(model), **run.config}, balance))
        about_config, against = _replayable.examine(run, model, self.optimizers, self.masters)
        against = [*against, *refused]
        self.is_off = bool(against) or run.is_idle
        if strict and about_config + against:
            raise Refused("\n  ".join(["no replay of this run:", *about_config, *against]))
        self._tell(about_config, against)
        if not self.is_off:
            self._name()
            self._hook()
            run.complete(_replayable.config_of(model))
            run.before_finish(self._finished)
            self._reserve()
            self._begin()

    def _reserve(self):
        """Rejects at once the slices that do not fit into the budget, with the moments that optimizers will have."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        moments = max(2 + bool(group.get("amsgrad")) if "betas" in group or "momentum" not in group else bool(group["momentum"])
                      for group in groups)
        weights = 4 * sum(p.numel() for p in self.named.values())
        self.slices = {start: count for start, count in sorted(self.slices.items())
                       if self.run.reserve(start, weights * (1 + (moments if start else 0)))}

    def _tell(self, about_config, against):
        for what, reasons in (("no slices are recorded", against), ("`repro replay` will refuse the slices", about_config)):
            for reason in reasons:
                self.run.problem(what, Refused(reason))

    def _name(self):
        """Finds the replay tensor of each parameter if no mapping was given."""
        if self.table or self.compared or hasattr(getattr(unwrapped(self.model), "config", None), "to_json_string"):
            return
        own = {name_of(name): tuple(p.shape) for name, p in self.model.named_parameters()}
        try:
            found = _first.ask(self.run, {"seq_len": 1, "batch_size": 1, "steps": 1, **self._config()})
        except _first.Unasked:
            return  # which is told when the batch is to be compared
        wanted = [(name, tuple(shape)) for name, shape in found["tensors"]]
        if wanted and dict(wanted) != own:
            self.table, self.is_guessed = _table.proposed(own, wanted), True
            covered = {part.name for name, shape in own.items() for part in _table.parts_of(name, shape, self.table)}
            self.unplaced = sorted(covered - dict(wanted).keys()), [name for name, _ in wanted if name not in covered]

    def _config(self):
        return {**_replayable.config_of(self.model), **self.run.config}

    def _hook(self):
        self.computed = {name_of(name): p for name, p in self.model.named_parameters()}  # tied weights come once
        self.named = {name: self.masters.get(name, p) for name, p in sorted(self.computed.items())}
        self.pieces = {name: _table.parts_of(name, p.shape, self.table) for name, p in self.named.items()}
        self.parts = {id(p): [piece.name for piece in self.pieces[name]] for name, p in self.named.items()}
        self.handles = []
        self.padding = {module.padding_idx for module in self.model.modules()
                        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None}
        self.routers = [module for module in self.model.modules() if type(module).__name__.endswith("TopKRouter")]
        self.handles += [module.register_forward_hook(functools.partial(self._routed, at))
                         for at, module in enumerate(self.routers)]
        for at, optimizer in enumerate(self.optimizers):
            self.handles += [optimizer.register_step_pre_hook(functools.partial(self._before, at)),
                             optimizer.register_step_post_hook(functools.partial(self._after, at))]
        self.handles += [self.model.register_forward_pre_hook(self._enter),
                         self.model.register_forward_hook(self._leave, with_kwargs=True)]
        # Autocast may begin inside the forward of the model itself, so it is looked at in a layer. In a compiled model
        # that would cut its graph in two; accelerate's autocast is the one that lies inside.
        is_compiled = type(self.model).__name__ == "OptimizedModule" and not hasattr(unwrapped(self.model), "_original_forward")
        layer = next((module for module in self.model.modules() if isinstance(module, torch.nn.Linear)), None)
        layer = self.model if is_compiled or layer is None else layer
        self.handles.append(layer.register_forward_pre_hook(self._computed))
        head = getattr(self.model, "get_output_embeddings", lambda: None)()
        if self.watch and head is not None:
            self.handles.append(head.register_forward_hook(self._head))

    def _parts_of(self, name, tensor):
        """What is of the shape of a parameter, by the tensors that it is in a replay."""
        return {piece.name: piece.of(tensor) for piece in self.pieces[name]}

    # --- What forward passes read and give ---

    @_quiet
    def batch(self, inputs: Any, targets: Any, documents: Any = None, positions: Any = None) -> None:
        """Records the inputs of the next forward pass: tokens and the token after each, (rows, length), negative
        if it does not count. Several batches before one update are its micro-batches. Tokens attend to tokens with the
        same number in `documents`, 0 being padding; give `positions` if they are not 0, 1, 2, ..."""
        if self.open:
            self._take(Batch(inputs, targets, documents, positions))

    def _take(self, batch):
        """Records a batch whose tokens all have gradients in the embedding."""
        seen = batch.counted.flip(-1).cumsum(-1).flip(-1) > 0  # tokens before a target that counts, or at one
        seen = seen & (batch.given.get("documents", batch.counted * 0 + 1) > 0)
        for padding in self.padding:
            if ((batch.tokens[:, :-1] == padding) & seen).any():
                raise Refused(f"token {padding}, whose embedding row gets no gradient (its `padding_idx`)")
        self.open.batches.append(batch)

    @_quiet
    def loss(self, loss: Any) -> None:
        """Records the cross-entropy of such a batch, the mean over its targets that count."""
        if self.open:
            waiting = [batch for batch in self.open.batches if batch.loss is None]
            if len(waiting) != 1:
                raise ValueError(f"a loss after {len(waiting)} batches without one; call `batch` and `loss` in turn")
            waiting[0].loss = float(loss.detach())
            if loss.requires_grad:
                loss.register_hook(functools.partial(self._weighed, waiting[0]))

    @_quiet
    def _weighed(self, batch, gradient):
        """The factor of a loss before backpropagation, if logits do not show it."""
        batch.weight = float(gradient)

    @_quiet
    def _enter(self, module, _):
        if self.looking:
            return
        self.inside = self.open is not None and module.training and torch.is_grad_enabled()
        self.heads, self.pending = [], None

    @_quiet
    def _leave(self, module, positional, named, output):
        if self.looking:
            return
        if self.inside and self.open and not self.compared:
            self.first.append(_first.Given(module, positional, named, self.open.batches))
        if self.inside and self.watch and self.open:
            given = dict(zip(inspect.signature(module.forward).parameters, positional), **named)
            if getattr(output, "logits", None) is None:
                raise Refused("a forward pass without logits (a fused loss); switch it off to record slices")
            if given.get("labels") is None:
                self.pending = (given, output, self.heads)
            else:
                self._seen(given, output, given["labels"], self.heads)
        elif self.inside and self.open and self.open.batches:
            self._told(output, self.open.batches[-1])
        self.inside = False

    def evaluation(self, tokens: Any, dtype: str = "uint16", text: Any = None, length: Optional[int] = None, rows: int = 16,
                   keep: bool = True, step: Optional[int] = None) -> Optional[float]:
        """Evaluates the model on a file of tokens, unsigned integers of this `dtype`, and writes the evaluation, which `repro
        replay --data` repeats. All tokens but the first are predicted, in rows of `length` tokens (`seq_len` of the config)
        that do not overlap. `text` is the file of the tokenized text; its bytes are counted for bits per byte. The weights are
        kept as a checkpoint, which repeating the evaluation requires, unless `keep=False`. `step` is the number of updates made;
        a recorder without slices takes it from the last record. Returns the mean loss."""
        try:
            length = length or self._config().get("seq_len")
            step = step if step is not None else self.done if self.handles else self.run.last_step
            if length is None or step is None:
                raise ValueError(f"an evaluation needs `{'length' if length is None else 'step'}`, which is still unknown")
            self.looking = True  # no batch of the run
            found = _held_out.evaluated(unwrapped(self.model), tokens, dtype, length, rows, text)
            self._keep_evaluated(step, keep)
            self.run.evaluation(step, **found)
            return float(found["nats"] / found["predicted_tokens"])
        except Exception as error:  # training goes on
            self.run.problem("evaluation", error)
            return None
        finally:
            self.looking = False

    def _keep_evaluated(self, step, keep):
        """Keeps the weights that were evaluated, unless a slice starts from them, which keeps their moments too."""
        if not keep or self.run.has_checkpoint(step) or self.open is not None and self.open.start == step:
            return
        own = self.model.named_parameters()  # where no slices are recorded
        values = self._values() if hasattr(self, "pieces") else {name_of(name): p.detach().cpu().clone() for name, p in own}
        if self.run.has_room(f"the weights of update {step}", size_of(values)):
            self.run.checkpoint(step, values)

    def _look(self, given):
        """Sends the first row through the model again; None if it is unknown from the inputs."""
        self.looking = True
        try:
            return given and given.looked(unwrapped(self.model), self.computed, self._config().get("vocab_size"))
        finally:
            self.looking = False

    @_quiet
    def routes(self, layer: int, indices: Any) -> None:
        """Records the experts chosen by a layer's router in the current forward pass: (tokens, k) or
        (rows, length, k)."""
        config = self._config()
        self._chosen(layer, indices, config.get("num_local_experts") or config.get("num_experts") or 0)

    def _chosen(self, layer, indices, experts):
        """Counts the experts chosen in a pass of the run, or of the rows that represent its first batch."""
        routed = self.open.routed if self.inside and self.open and not self.looking else self.routes_of_rows
        if routed is not None:
            routed.setdefault(layer, []).append(torch.bincount(indices.detach().flatten().cpu(), minlength=experts))

    @_quiet
    def labelled(self, labels):
        """Records the labels of the forward pass that had none."""
        if self.open and self.pending:
            (given, output, heads), self.pending = self.pending, None
            self._seen(given, output, labels, heads)

    def _seen(self, given, output, labels, heads):
        """Records a forward pass of a transformers model, whose labels are aligned with the tokens."""
        targets, logits = F.pad(labels[:, 1:], (0, 1), value=-100), output.logits
        batch = Batch(given["input_ids"], targets, *_replayable.seen_by(given, targets, self.model))
        batch.loss = cross_entropy(logits, targets, self.label_smoothing)
        self._take(batch)
        kept = logits.detach()
        for tensor in [logits, *heads]:
            if tensor.requires_grad and tensor.shape == logits.shape:
                tensor.register_hook(functools.partial(self._backward, batch, kept, targets))
        self._balance_of(output, batch)

    def _told(self, output, batch):
        """Reads the logits of a recorded batch, if the model returns them under that name."""
        batch.passes += 1
        if batch.passes > 1:
            raise ValueError(f"{batch.passes} forward passes after one batch; call `batch` before each")
        self._balance_of(output, batch)
        logits = getattr(output, "logits", None)
        if not torch.is_tensor(logits) or not logits.requires_grad:
            return
        if logits.shape[:2] == batch.counted.shape:
            targets = batch.tokens[:, 1:].masked_fill(batch.counted == 0, -100).to(logits.device)
            logits.register_hook(functools.partial(self._backward, batch, logits.detach(), targets))

    def _balance_of(self, output, batch):
        """Reads the factor of the balance loss of routers, if there is one."""
        balance = getattr(output, "aux_loss", None)
        if getattr(balance, "requires_grad", False):
            batch.has_balance = True
            balance.register_hook(functools.partial(self._balanced, batch))

    @_quiet
    def _balanced(self, batch, gradient):
        batch.balances.append(float(gradient) / self.model.config.router_aux_loss_coef)

    @_quiet
    def _backward(self, batch, logits, targets, gradient):
        if self.open:
            batch.error = max(batch.error, error_of(gradient))
            batch.scales.append(scale_of(gradient, logits, targets, self.label_smoothing, self.z_loss))

    @_quiet
    def _head(self, _, __, output):
        if self.inside and not self.looking:
            self.heads.append(output)

    @_quiet
    def _computed(self, module, _):
        if self.inside and self.open and not self.looking:
            self.open.precisions.add(_replayable.precision_of(next(module.parameters()).device.type))

    @_quiet
    def _routed(self, layer, module, _, output):
        """Counts where the router of a layer sends its tokens: its output has their experts last."""
        self._chosen(layer, output[2], module.num_experts)

    # A copy of the model has hooks too, which keep nothing.

    def __deepcopy__(self, _):
        return _idle()

    def __reduce__(self):
        return _idle, ()

    def close(self) -> None:
        """Removes all hooks."""
        self._unwatch()
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def _unwatch(self):
        """Removes the gradient hooks, one per tensor: between slices they would be called for nothing."""
        for handle in self.watching:
            handle.remove()
        self.watching = []

    # --- What updates do ---

    def _values(self):
        values = {}
        for name, p in self.named.items():
            values.update(self._parts_of(name, p.detach().cpu().clone()))
        return dict(sorted(values.items()))

    def _begin(self):
        """Starts the slice that is due, if there is one. The first update is always recorded."""
        if self.open is None and self.done in self.slices:
            self._open(self.slices.pop(self.done))
        elif self.open is None and not self.compared and self.slices:
            self.open = Stretch(self.done, 0, self._values())
        if self.open is None:
            self._unwatch()
        elif not self.watching:
            trained = [(name, p) for name, p in self.computed.items() if p.requires_grad]
            self.watching = [p.register_post_accumulate_grad_hook(functools.partial(self._gradient, name)) for name, p in trained]
            if self.gradients:
                self.watching += [p.register_hook(functools.partial(self._added, name)) for name, p in trained]

    @_quiet
    def _open(self, count):
        against = _replayable.against_run(self.model, self.optimizers, self.masters)
        against += _replayable.against_state(self.optimizers, self.named, self.done)
        self.run.release(self.done)
        if against:
            raise Refused("; ".join(against))
        kept = {}
        for optimizer in self.optimizers:
            for name, p in self.named.items():
                for kind, moment in (optimizer.state.get(p) or {}).items():
                    if torch.is_tensor(moment) and moment.shape == p.shape:
                        for part, value in self._parts_of(name, moment.detach().cpu()).items():
                            kept.setdefault(part, {})[kind] = value.clone()
        values = self._values()
        # What a replay needs: the weights, and the moments if there are any. Gradients come first where the budget ends.
        size = size_of(values) + sum(size_of(moments) for moments in kept.values())
        if self.gradients and not self.run.has_room(f"the gradients of the slice from update {self.done}",
                                                    size + count * size_of(values)):
            self.gradients = False
        if not self.run.reserve(self.done, size):
            return
        self.open, self.start = Stretch(self.done, count, values), kept or None
        if self.compared:
            self._keep_start()

    def _keep_start(self):
        """Writes the checkpoint from which a slice starts."""
        kept, self.start = self.start, None
        self.run.checkpoint(self.open.start, self.open.first, optimizer=kept)

    @_quiet
    def _gradient(self, name, parameter):
        if self.open:
            for part, gradient in self._parts_of(name, parameter.grad).items():
                self.open.gradients[part] = norm64(gradient)
                if self.gradients:
                    self.open.whole[part] = gradient.detach().float().cpu().clone()

    @_quiet
    def _added(self, name, gradient):
        """The contribution of a micro-batch to a gradient, before it is added."""
        if self.open and not self.looking:
            self.open.added.setdefault(name, []).append(norm64(gradient))

    def _before(self, at, optimizer, arguments, named):
        """Before a step, and where the step itself computes the gradients (its closure), after that."""
        closure = arguments[1] if len(arguments) > 1 else named.get("closure")
        if closure is None or not self.open:
            self._ready(at, optimizer)
            return None

        def watched():
            loss = closure()
            self._ready(at, optimizer)
            return loss
        return (arguments[0], watched, *arguments[2:]) if len(arguments) > 1 else arguments, {**named, "closure": watched}

    def _ready(self, at, optimizer):
        if self.open and not self.compared:
            self._before_first()
        self._state(at, optimizer)

    @_quiet
    def _state(self, at, optimizer):
        if not self.open:
            return
        if not self.stepped:
            self._unmoved()
            self._clipped()
        self.open.stated[at] = [stated_group(optimizer, group, self.parts) for group in optimizer.param_groups]

    def _before_first(self):
        """Compares the first batch before the first update, and starts the slice that is due, or gives up all slices."""
        self.compared, passed = True, None
        try:
            self._unmoved()
            self._clipped()
            part = self._part()
            passed = self._look(part.given if part else next(iter(self.first), None))
            against = self._compare(part, passed)
        except _first.Unasked as error:
            say(f"the model was not compared with its config before training: {error}")
            against = self._without_program(passed)
        except Exception as error:
            against = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        self.first = []
        if against:
            self._give_up(against)
        elif self.open.count == 0:
            self.open = None
        else:
            self._keep_start()

    def _without_program(self, passed):
        """The known objections to the model if it was not compared."""
        if self.is_guessed and any(self.unplaced):
            return self._misnamed()
        return passed and passed.against

    def _misnamed(self):
        ours, theirs = self.unplaced
        kind = self._config().get("model_type")
        have = f"`{kind}` has no {', '.join(f'`{name}`' for name in ours[:4])}; " if ours else ""
        lack = f"the model has no {', '.join(f'`{name}`' for name in theirs[:4])}; " if theirs else ""
        nearest = f"the closest mapping is {_table.shown(self.table)}" if _table.changes(self.table) else "all others are its own"
        return f"the tensors do not match the config: {have}{lack}{nearest}"

    def _give_up(self, against):
        for start in (*self.slices, *([self.open.start] if self.open else [])):
            self.run.release(start)
        self.open, self.slices = None, {}
        self.close()
        reason = Refused(f"{against}. The receipt still has metrics, evaluations, seeds, counts and digests of weights")
        self.run.problem("no slices are recorded", reason)
        if self.strict:
            raise reason

    def _part(self):
        """The first rows of the first batch, where to compare all of it takes long, with the loss, the gradients and the routes
        that they alone give. None where the whole batch is compared: it is small, or the gradients of the run's own backward pass
        are not those of its logits, which a few rows would not show. A balance loss of routers is one of all rows: where there is
        one, rows stand for the batch only where the whole batch would not be compared at all, and without it."""
        o, count = self.open, sum(p.numel() for p in self.named.values())
        self.looking = True
        try:
            self._loss()
            rows, parts, length = self._shape_of(o.batches)
            wanted = _first.extent(count, o.batches[0].counted.shape)
            is_balanced = self.balance or any(batch.has_balance for batch in o.batches)
            enough = _first.WORK if is_balanced else _first.ENOUGH
            is_small = _first.work_of(count, rows * parts * length) <= enough
            if self.compare or is_small or wanted is None or len(self.first) != len(o.batches):
                return None
            if not self._is_own(is_balanced):
                return None
            part = self._rows(*wanted)
            cut = f", {wanted[1]} of {length} tokens" if wanted[1] < length else ""
            part.told = f"{wanted[0]} of {rows * parts} rows{cut}{', without the balance loss' if is_balanced else ''}"
            part.is_balanced = is_balanced
            return part
        except Exception:  # of models that answer no logits, or take no other number of rows
            return None
        finally:
            self.looking, self.routes_of_rows = False, None

    def _rows(self, rows, length):
        """The first rows and tokens of the first batch as a batch of its own."""
        part, trained = Stretch(self.done, 0, self.open.first), self._trained()
        part.given, part.precisions = self.first[0].first((rows, length)), self.open.precisions
        part.batches = [self.open.batches[0].first(rows, length)]
        self.routes_of_rows = part.routed
        part.batches[0].loss, gradients = self._learned(part.given, part.batches[0])
        part.gradients = self._norms(dict(zip(trained, gradients)))
        part.clipped_by = norm_of(part.gradients)
        return part

    def _is_own(self, is_balanced):
        """Whether losses and gradients of the whole batch, computed once more from the logits, are those of the run. What a
        balance loss adds to the gradients is not in them: beside one, only the losses are asked."""
        o, trained = self.open, self._trained()
        losses, again = zip(*(self._learned(first, batch) for first, batch in zip(self.first, o.batches)))
        near, least = (ALIKE, ALIKE ** 2) if _replayable.is_full(o.precisions, list(trained.values())) else (ROUGH, ALIKE)
        if not all(abs(loss - batch.loss) <= near * loss for loss, batch in zip(losses, o.batches)):
            return False
        weights = [share * o.scale for share in self._weights()[self.mean_over]]
        norms = self._norms({name: sum(weight * gradient for weight, gradient in zip(weights, of))
                             for name, of in zip(trained, zip(*again))})
        least *= norm_of(o.gradients)
        return is_balanced or all(abs(norm - o.gradients.get(name, 0.0)) <= near * norm + least for name, norm in norms.items())

    def _learned(self, given, batch):
        """The loss and the gradients of a batch, by a pass without side effects."""
        told = {"smoothing": self.label_smoothing, "z_loss": self.z_loss, "vocabulary": self._config().get("vocab_size")}
        return given.learned(unwrapped(self.model), list(self._trained().values()), batch, **told)

    def _trained(self):
        return {name: p for name, p in self.computed.items() if p.requires_grad}

    def _norms(self, gradients):
        """The gradient norms by the tensors of a replay."""
        return {part: norm64(value) for name, gradient in gradients.items()
                for part, value in self._parts_of(name, gradient).items()}

    def _compare(self, part, passed):
        """The program's objection to the first batch, or a part of it, before the first update; None if it matches the
        config."""
        o, config = part or self.open, self._config()
        if passed and passed.against:
            return passed.against
        if not o.batches or any(batch.loss is None for batch in o.batches):
            raise ValueError("no batch and no loss before the first update; call `batch` and `loss` for each forward pass")
        loss = o.batches[0].loss if part else self._loss()
        rows, parts, length = self._shape_of(o.batches)
        count = sum(p.numel() for p in self.named.values())
        if self.compare is None and _first.work_of(count, rows * parts * length) > _first.WORK:
            raise _first.Unasked(f"{count:,} parameters and {rows * parts * length:,} tokens take minutes; `compare=True` "
                                 "compares them anyway")
        config.update(batch_size=rows * parts, seq_len=length, steps=1)
        if part and part.is_balanced:
            config.update(_replayable.balance_of(config, 0.0))
            config.pop("aux_loss_alpha", None)
        found = _first.ask(self.run, config, functools.partial(self._write_first, o, passed, loss))
        self._note(found, part)
        if self.is_guessed and any(self.unplaced):
            return self._misnamed() + _first.agreeing(found)
        against = _first.sentence(found)
        if self.is_guessed and _table.changes(self.table):
            shown = _table.shown(self.table)
            if against:
                return f"{against}. Names were guessed from shapes: {shown}"
            is_sure = found["outcome"] == "agrees"
            say(f"the first batch {'confirms' if is_sure else 'does not confirm'} names that were found by shapes; to state "
                f"them, pass {shown}")
        if found["lacks_routes"]:
            say("the slices will not record the routing of tokens: a replay whose rounding routes a token differently is "
                "inconclusive; call `record.routes(layer, indices)` in the forward pass")
        if found["outcome"] == "undecided":
            say(f"the first batch does not show whether the model matches its config: {found['reason']}")
        return against

    def _note(self, found, part):
        names = self.table if self.is_guessed and _table.changes(self.table) else None
        members = {"outcome": found["outcome"], "reason": found["reason"], "compared": part and part.told, "names": names}
        self.run._note("first_batch", {name: value for name, value in members.items() if value})
        if part:
            say(f"the first batch was compared by {part.told}; `compare=True` compares all of it")

    @staticmethod
    def _shape_of(batches):
        rows, length = (max(batch.counted.shape[at] for batch in batches) for at in (0, 1))
        return rows, len(batches), length

    def _write_first(self, o, passed, loss, bundle):
        """Writes the first update as a slice of one step, with only the values from before the weights move."""
        rows, _, length = self._shape_of(o.batches)
        stretch = Stretch(0, 1, o.first)
        stretch.updates, stretch.groups = [o.batches], [[self._plain_group()]]
        stretch.scales, stretch.precisions = [o.scale], o.precisions
        names = list(o.first)
        norms = [o.gradients.get(name, 0.0) for name in names]
        stretch.logged = {"loss": [loss], "grad_norm": [norm_of(o.gradients)],
                          "clip_norm": [o.clipped_by], "tensor_grad_norm": [norms]}
        is_padded = any(batch.counted.shape != (rows, length) or not batch.is_whole for batch in o.batches)
        if o.routed and not is_padded:
            stretch.logged["routed"] = [[sum(counts).tolist() for _, counts in sorted(o.routed.items())]]
        bundle.checkpoint(0, o.first)
        logged = {name: torch.as_tensor(value) if name == "routed" else torch.as_tensor(value, dtype=torch.float32)
                  for name, value in stretch.logged.items()}
        inputs, stated = self._said_of(stretch, rows, length)
        bundle.slice(0, inputs.pop("tokens"), {**logged, **inputs}, {name: {} for name in names}, checkpoint_step=0,
                     stated=stated)
        if passed is not None and passed.length == length:
            first = {"tokens": o.batches[0].fitted("tokens", rows, length)}
            _first.write_rows(bundle, passed.tensors(first["tokens"], self.pieces))

    def _plain_group(self):
        """All trained tensors in one group with a rule that needs no moments: updates are not compared."""
        tensors = sorted(name for own, p in self.named.items() if p.requires_grad for name in self.parts[id(p)])
        return {"tensors": tensors, "optimizer": "sgd", "lr": 1e-3, "weight_decay": 0.0, "momentum": 0.0,
                "dampening": 0.0, "nesterov": False}

    def _said_of(self, o, rows, length):
        """The inputs of a slice, and its stated settings."""
        batches = [batch for update in o.updates for batch in update]
        kinds = {name for batch in batches for name in batch.given}
        tensors = {name: o.tensor(name, rows, length) for name in ("tokens", "counted", *sorted(kinds))}
        if tensors["counted"].all():
            tensors.pop("counted")
        more = {"balance_whole": self.balance_whole, "label_smoothing": self.label_smoothing, "z_loss": self.z_loss,
                **stated_precision(o.precisions, bool(self.masters))}
        if any(scale != 1.0 for scale in o.scales):
            more["loss_scale"] = o.scales
        return tensors, {"grad_clip": self.grad_clip, "groups": o.merged_groups(), "micro_batches": len(o.updates[0]),
                         "mean_over": self.mean_over, "norms": "float64",
                         **{name: value for name, value in more.items() if value}}

    def _unmoved(self):
        """Checks that only optimizers change weights."""
        now = self._values()
        moved = [name for name, value in self.open.before.items() if not torch.equal(now[name], value)]
        if moved:
            raise ValueError(f"{len(moved)} tensors changed between two updates, such as {moved[0]}")
        other = [name for name, p in self.computed.items() if not torch.equal(p.detach(), self.named[name].detach().to(p.dtype))]
        if other:
            raise ValueError(f"{len(other)} weights of the model are not their rounded masters, such as {other[0]}")

    def _clipped(self):
        """Checks that the optimizers get the accumulated gradients, clipped as stated."""
        missing = [name for name, p in self.named.items() if p.requires_grad and p.grad is None]
        if missing:
            raise ValueError(f"no gradient of {', '.join(missing[:3])}: PyTorch does not update such tensors, and a replay "
                             "does")
        found = math.sqrt(math.fsum(norm64(p.grad) ** 2 for p in self.named.values() if p.grad is not None))
        whole = norm_of(self.open.gradients)
        share = found / whole if whole else 1.0
        for name, p in self.named.items():
            for part, gradient in self._parts_of(name, p.grad).items() if p.grad is not None else ():
                norm, accumulated = norm64(gradient), self.open.gradients.get(part, 0.0)
                if abs(norm - share * accumulated) > ALIKE * max(share * accumulated, EDGE * found):
                    raise ValueError(f"clipping: the optimizer gets {norm / (accumulated or 1.0):.4g} of the gradient of "
                                     f"`{part}` and {share:.4g} of all of them: a replay scales all gradients by one number")
        wanted = min(whole, self.grad_clip) if self.grad_clip else whole
        # The norm that was divided by is a sum in float32, which is off by some thousandths for many millions of numbers.
        if not abs(found - wanted) <= 1e-2 * wanted:
            raise ValueError(f"gradients of norm {found:.6g} in update {self.done + 1}, where "
                             f"grad_clip={self.grad_clip:g} makes {wanted:.6g} of {whole:.6g}")
        self.open.clipped_by = self.grad_clip * whole / found if 0 < found < whole * SCALED_DOWN else wanted

    @_quiet
    def _after(self, at, *_):
        if at in self.stepped:
            self.stepped = {at}
            raise ValueError("an optimizer that steps more often than another one")
        self.stepped.add(at)
        if len(self.stepped) == len(self.optimizers):
            self.stepped = set()
            self.done += 1
            self._update()

    @_quiet
    def _update(self):
        try:
            if self.open:
                self._add()
        finally:
            self._begin()

    def _add(self):
        """Records an update."""
        o, after = self.open, self._values()
        if not o.batches or any(batch.loss is None for batch in o.batches):
            given = sum(batch.loss is not None for batch in o.batches)
            raise ValueError(f"{len(o.batches)} batches and {given} losses before update {self.done}; "
                             "call `batch` and `loss` once for each forward pass")
        norms = [o.gradients.get(name, 0.0) for name in after]
        stepped = {"loss": self._loss(), "grad_norm": math.sqrt(math.fsum(n * n for n in norms)),
                   "clip_norm": o.clipped_by, "tensor_grad_norm": norms,
                   "tensor_update_norm": [norm64(after[n].double() - o.before[n].double()) for n in after],
                   "tensor_norm": [norm64(value) for value in after.values()]}
        if self.gradients:
            stepped.update(self._parts())
        if o.routed:
            stepped["routed"] = [sum(counts).tolist() for _, counts in sorted(o.routed.items())]
        for name, value in stepped.items():
            o.logged.setdefault(name, []).append(torch.as_tensor(value))
        o.groups.append([group for at in range(len(self.optimizers)) for group in o.stated[at] if group["tensors"]])
        o.updates.append(o.batches)
        o.scales.append(o.scale)
        o.before = after
        o.clear()
        if len(o.updates) == o.count:
            self._write()

    def _parts(self):
        """The logged values of each micro-batch of an update, and the gradients of all of them."""
        o, count = self.open, len(self.open.batches)
        other = next((name for name, norms in o.added.items() if len(norms) != count), None)
        if other is not None:
            raise ValueError(f"{len(o.added[other])} backward passes reached `{other}` in an update of {count} "
                             "micro-batches")
        norms = [math.sqrt(math.fsum(norm ** 2 for norm in part)) for part in zip(*o.added.values())]
        return {"micro_loss": [batch.loss for batch in o.batches], "micro_grad_norm": norms,
                **{f"gradient.{name}": value for name, value in o.whole.items()}}

    def _loss(self):
        """The loss of an update from its micro-batches, weighted as they were backpropagated."""
        batches, weights = self.open.batches, self._weights()
        found = [next((scale for scale in batch.scales if scale is not None), batch.weight) for batch in batches]
        if any(batch.scales and not any(batch.scales) for batch in batches):
            raise ValueError(f"the loss of update {self.done} is not the cross-entropy of its targets with "
                             f"label_smoothing={self.label_smoothing:g}, z_loss={self.z_loss:g}")
        if None not in found:
            self._weigh(weights, found)
        self._balances(weights[self.mean_over])
        return math.fsum(w * batch.loss for w, batch in zip(weights[self.mean_over], batches))

    def _weights(self):
        """The possible weights of each micro-batch's loss in that of an update."""
        counts = [int(batch.counted.sum()) for batch in self.open.batches]
        return {"targets": [count / max(1, sum(counts)) for count in counts], "micro_batches": [1 / len(counts)] * len(counts)}

    def _balances(self, weights):
        """Determines whether each micro-batch adds its fraction of the balance loss of routers, or all of it."""
        if any(batch.has_balance and not batch.balances for batch in self.open.batches):
            raise ValueError("a balance loss of routers that was not backpropagated; leave `output_router_logits` off")
        pairs = [(batch, weight) for batch, weight in zip(self.open.batches, weights) if batch.balances]
        fits = {whole: all(abs(balance - wanted) <= batch.error * wanted
                           for batch, weight in pairs for wanted in [1.0 if whole else weight] for balance in batch.balances)
                for whole in (False, True)}
        if not any(fits.values()):
            batch, weight = pairs[0]
            raise ValueError(f"the balance loss of routers was backpropagated times {batch.balances[0]:.4g} in a "
                             f"micro-batch of update {self.done} that weighs {weight:.4g}")
        if not fits[self.balance_whole]:
            if self.open.updates:
                raise ValueError("fractions of the balance loss of routers and all of it in one slice")
            self.balance_whole = not self.balance_whole

    def _weigh(self, weights, found):
        """Determines the weights of micro-batches from what was backpropagated."""
        error = max(batch.error for batch in self.open.batches)
        fits = lambda wanted, scale: all(abs(one - scale * other) <= error * scale * other  # noqa: E731
                                         for one, other in zip(found, wanted))
        fitting, scale = [name for name, wanted in weights.items() if fits(wanted, 1.0)], 1.0
        # Programs that divide by another count of targets multiply all losses of an update by one number.
        if not fitting and not any(batch.has_balance for batch in self.open.batches):
            scale = sum(found)
            fitting = [name for name, wanted in weights.items() if scale > 0 and fits(wanted, scale)]
        self.open.scale = scale
        if not fitting:
            shown = ", ".join(f"{scale:.4g}" for scale in found)
            raise ValueError(f"the losses of the micro-batches of update {self.done} were backpropagated times {shown}: "
                             "neither the mean of micro-batches nor that of targets")
        if self.mean_over not in fitting:
            if self.open.updates:
                raise ValueError("means over targets and over micro-batches in one slice")
            self.mean_over = fitting[0]

    def _write(self):
        o, self.open = self.open, None
        rows, parts, longest = o.shape()
        length = self.run.config.get("seq_len", longest)
        self.run.complete({"batch_size": rows * parts, "seq_len": length})
        for name, wanted in (("batch_size", rows * parts), ("seq_len", max(length, longest))):
            if self.run.config.get(name) != wanted:
                raise ValueError(f"`{name}` is {self.run.config.get(name)} in the config and {wanted} in the slice; "
                                 "give the largest of the run to `init`")
        batches = [batch for update in o.updates for batch in update]
        is_padded = any(batch.counted.shape != (rows, length) or not batch.is_whole for batch in batches)
        if is_padded and any(batch.has_balance for batch in batches):
            raise Refused("padding, or rows of other lengths, beside a balance loss of routers")
        logged = {name: values if name == "routed" else values.float()
                  for name, values in ((name, torch.stack(values)) for name, values in o.logged.items())
                  if name != "routed" or not is_padded}
        tensors, stated = self._said_of(o, rows, length)
        self.run.slice(o.start, tensors.pop("tokens"), {**logged, **tensors},
                       {name: (o.first[name], o.before[name]) for name in o.first}, checkpoint_step=o.start, stated=stated)

    @_quiet
    def _finished(self):
        """The steps of a run whose config does not state them: the steps made."""
        if self.open and self.open.count:
            self.run.problem("slice", ValueError(f"the run ended within the slice from update {self.open.start}"))
        for start in self.slices:
            self.run.problem("slice", ValueError(f"the run has no update {start + 1}, at which a slice was to start"))
        self.run.complete({"steps": self.done})


def _idle():
    """A recorder without a run, for hooks of copies."""
    recorder = object.__new__(Recorder)
    recorder.open, recorder.inside, recorder.watch, recorder.heads, recorder.pending = None, False, False, [], None
    recorder.slices, recorder.stepped, recorder.optimizers, recorder.done, recorder.run = {}, set(), [None], 0, None
    recorder.looking, recorder.compared, recorder.first, recorder.watching = False, True, [], []
    recorder.routes_of_rows = None
    return recorder


def refused_of(args):
    """The arguments of `Trainer` that slices cannot represent."""
    reasons = {f"{args.n_gpu} devices in one process (DataParallel)": args.n_gpu > 1,
               "float16, whose gradients are scaled": args.fp16,
               "noise on embeddings (NEFTune)": args.neftune_noise_alpha}
    return [reason for reason, holds in reasons.items() if holds]


def callback(run: Run, slices: Iterable[Tuple[int, int]], strict: bool = False, gradients: bool = False) -> Any:
    """A callback for the transformers `Trainer` that records slices of its run, and its logs."""
    from transformers import TrainerCallback
    from transformers.trainer_pt_utils import LabelSmoother

    class Callback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        recorder = None

        def on_train_begin(self, args, state, control, model=None, optimizer=None, **_):
            run.complete({"steps": state.max_steps})
            refused = refused_of(args)
            self.recorder = Recorder(run, model, optimizer, slices, args.max_grad_norm, state.global_step, "targets",
                                     label_smoothing=args.label_smoothing_factor, watch=True, strict=strict, refused=refused,
                                     gradients=gradients)
            if args.label_smoothing_factor:
                self.smoother = LabelSmoother.__call__
                LabelSmoother.__call__ = self.smoothed

        # Where Trainer smooths labels it does not give them to the model: they are seen where it uses them.
        @property
        def smoothed(self):
            own, recorder = self.smoother, self.recorder

            def call(smoother, model_output, labels, *arguments, **named):
                recorder.labelled(labels)
                return own(smoother, model_output, labels, *arguments, **named)
            return call

        def on_log(self, args, state, control, logs=None, **_):
            if logs and "loss" in logs:
                # Its loss has that of routers in it, which the loss of a slice has not.
                is_pure = not getattr(self.recorder.model.config, "output_router_logits", False)
                kept = {"loss": "loss" if is_pure else "objective", "grad_norm": "grad_norm", "learning_rate": "lr"}
                # Trainer adds losses and norms up in float32, whose last digits are its own.
                run.log({ours: float(logs[theirs]) if ours == "lr" else round(float(logs[theirs]), 5)
                         for theirs, ours in kept.items() if theirs in logs}, step=state.global_step)

        def on_train_end(self, args, *_, **__):
            if args.label_smoothing_factor:
                LabelSmoother.__call__ = self.smoother
            self.recorder.close()

    return Callback()


def model_within(module):
    """The model of a LightningModule: the outermost module within it that has a `config` and all parameters."""
    whole = {id(p) for p in module.parameters()}
    return next((part for part in module.modules() if part is not module and hasattr(part, "config")
                 and {id(p) for p in part.parameters()} == whole), module)


def lightning_callback(run: Run, slices: Iterable[Tuple[int, int]], **told: Any) -> Any:
    """A callback for Lightning's `Trainer` that records slices of its run. Batches and losses of a transformers model
    that gets `labels` are recorded automatically; otherwise `training_step` calls `batch` and `loss` of the callback's
    `recorder`. `told` has further arguments of the recorder by name (`label_smoothing`, `names`)."""
    from lightning.pytorch import Callback

    class Slices(Callback):  # type: ignore[misc, unused-ignore]
        recorder = None

        def on_train_start(self, trainer, pl_module):
            model, planned = model_within(pl_module), trainer.estimated_stepping_batches
            if math.isfinite(planned):
                run.complete({"steps": int(planned)})
            refused = {"gradients that are clipped by value": trainer.gradient_clip_algorithm == "value",
                       "float16, whose gradients are scaled": str(trainer.precision).startswith("16")}
            self.recorder = Recorder(run, model, trainer.optimizers, slices, trainer.gradient_clip_val,
                                     trainer.global_step // len(trainer.optimizers),
                                     watch=hasattr(model, "get_output_embeddings"), **told,
                                     refused=[reason for reason, holds in refused.items() if holds])

        def on_train_end(self, trainer, pl_module):
            self.recorder.close()

    return Slices()
