"""Keeps stretches of a PyTorch run so that `repro replay` can execute them again, with any loop around them.

Copy this file and `repro_receipts.py` beside your trainer. In a loop of your own:

    import repro_receipts as receipts, repro_torch

    run = receipts.init(...)
    record = repro_torch.Recorder(run, model, optimizer, slices=[(0, 4), (1000, 4)], grad_clip=1.0)
    for inputs, targets in batches:
        record.batch(inputs, targets)        # what the next forward pass reads: (rows, length) each
        loss = ...
        record.loss(loss)                    # the mean cross-entropy, without what routers add
        loss.backward(); clip; optimizer.step(); ...

With `Trainer` of Hugging Face's transformers, whose batches and losses are seen by themselves:

    trainer = Trainer(..., callbacks=[repro_torch.callback(run, slices=[(0, 4), (1000, 4)])])

What is kept of each update, by hooks on parameters and optimizer: tokens and loss; the norm of each tensor's gradient
before it is clipped; how far each tensor moves, and its norm; the learning rate, weight decay and betas of each group of
the optimizer. Before the first update of a slice all weights and moments are saved as a checkpoint of the run. A
stretch of 4 updates costs their tokens and two copies of the model.

Nothing here raises into a training loop after the recorder is made: what cannot be kept is told once, by `run`.
"""
import functools
import math

import torch

__all__ = ["Recorder", "callback", "groups_of"]

PREFIXES = ("module.", "_orig_mod.", "_fsdp_wrapped_module.")
RULES = {  # by the class of an optimizer: its rule, and the options that state it
    "AdamW": ("adamw", {"eps": "eps", "amsgrad": "amsgrad"}),
    "Adam": ("adam", {"eps": "eps", "amsgrad": "amsgrad"}),
    "SGD": ("sgd", {"momentum": "momentum", "dampening": "dampening", "nesterov": "nesterov"}),
    "Lion": ("lion", {}),
}


def name_of(name):
    """The name of a parameter without what wrappers put before it."""
    for prefix in PREFIXES:
        name = name.replace(prefix, "")
    return name


def parts_of(name, tensor):
    """A tensor by name; the experts of a layer that transformers keeps in one tensor come one by one."""
    base, _, kind = name.rpartition(".")
    if not base.endswith(".experts") or tensor.dim() != 3 or kind not in ("gate_up_proj", "down_proj"):
        return {name: tensor}
    if kind == "down_proj":
        return {f"{base}.{at}.down_proj.weight": expert for at, expert in enumerate(tensor)}
    halves = {"gate_proj": slice(None, tensor.shape[1] // 2), "up_proj": slice(tensor.shape[1] // 2, None)}
    return {f"{base}.{at}.{half}.weight": expert[rows] for at, expert in enumerate(tensor)
            for half, rows in halves.items()}


def groups_of(optimizer, names):
    """The groups of an optimizer as a slice states them; `names` has the names of the parts of parameters by `id`."""
    kind = type(optimizer).__name__
    if kind not in RULES:
        raise ValueError(f"the rule of {kind} is not known to `repro replay`; known are {', '.join(RULES)}")
    groups = []
    for group in optimizer.param_groups:
        rule, options = RULES[kind]
        if rule == "adam" and group.get("decoupled_weight_decay"):
            rule = "adamw"
        if group.get("maximize"):
            raise ValueError("`maximize` is not known to `repro replay`")
        tensors = sorted({name for p in group["params"] if p.requires_grad for name in names.get(id(p), ())})
        stated = {"tensors": tensors, "optimizer": rule, "weight_decay": float(group.get("weight_decay", 0.0))}
        stated.update({ours: group[theirs] for theirs, ours in options.items()})
        if "betas" in group:
            stated["beta1"], stated["beta2"] = (float(beta) for beta in group["betas"])
        if tensors:
            groups.append((group, stated))
    return groups


def norm64(tensor):
    """A norm, added up in float64."""
    return torch.linalg.vector_norm(tensor.detach(), dtype=torch.float64).item()


def _quiet(method):
    """What goes wrong is told by the run, and ends the slice; training goes on."""
    @functools.wraps(method)
    def call(self, *arguments, **named):
        try:
            return method(self, *arguments, **named)
        except Exception as error:
            self.run._problem("slice", error)
            self.open = None
            return None
    return call


class Recorder:
    """Watches the updates of a model; `slices` are pairs: after how many updates a stretch begins, and how many it has.

    `grad_clip` is the largest norm of all gradients, None without clipping. `done` updates were made before. `mean_over`
    says whether the loss of an update is the mean of its `micro_batches`, or of all its `targets` that count."""

    def __init__(self, run, model, optimizer, slices, grad_clip=None, done=0, mean_over="micro_batches"):
        optimizer = getattr(optimizer, "optimizer", optimizer)  # that of accelerate is wrapped
        self.run, self.model, self.optimizer = run, model, optimizer
        self.grad_clip, self.done, self.mean_over, self.open = grad_clip, done, mean_over, None
        self.slices = dict(slices)
        named = {name_of(name): p for name, p in model.named_parameters()}  # tied weights come once
        self.named = dict(sorted(named.items()))
        self.groups = groups_of(optimizer, {id(p): list(parts_of(name, p)) for name, p in self.named.items()})
        self.handles = [p.register_post_accumulate_grad_hook(functools.partial(self._gradient, name))
                        for name, p in self.named.items() if p.requires_grad]
        routers = [module for _, module in model.named_modules() if type(module).__name__.endswith("TopKRouter")]
        self.handles += [module.register_forward_hook(functools.partial(self._routed, at))
                         for at, module in enumerate(routers)]
        self.handles += [optimizer.register_step_pre_hook(self._before), optimizer.register_step_post_hook(self._after)]
        self._begin()

    @_quiet
    def batch(self, inputs, targets):
        """Takes in what the next forward pass reads: tokens and the token after each, (rows, length), which is negative
        where it does not count. Several batches before one update are its micro-batches."""
        if self.open:
            counted = targets >= 0
            if not torch.equal(inputs[:, 1:][counted[:, :-1]], targets[:, :-1][counted[:, :-1]]):
                raise ValueError("targets that are not the inputs one place on")
            rows = torch.cat([inputs, targets[:, -1:].clamp(min=0)], dim=1)
            self.open["rows"].append(rows.detach().cpu().clone())
            self.open["counted"].append(counted.detach().cpu().long())

    @_quiet
    def loss(self, loss):
        """Takes in the cross-entropy of such a batch, the mean of its targets that count."""
        if self.open:
            self.open["losses"].append(float(loss.detach()))

    def close(self):
        """Takes all hooks away."""
        for handle in self.handles:
            handle.remove()

    def _values(self):
        values = {}
        for name, p in self.named.items():
            values.update(parts_of(name, p.detach().float().cpu().clone()))
        return dict(sorted(values.items()))

    def _begin(self):
        """Begins the slice that is due, if one is."""
        if self.open is None and self.done in self.slices:
            self._open(self.slices.pop(self.done))

    @_quiet
    def _open(self, count):
        kept = {}
        for name, p in self.named.items():
            for kind, moment in (self.optimizer.state.get(p) or {}).items():
                if torch.is_tensor(moment) and moment.shape == p.shape:
                    for part, value in parts_of(name, moment.detach().cpu()).items():
                        kept.setdefault(part, {})[kind] = value.clone()
        values = self._values()
        self.run.checkpoint(self.done, values, optimizer=kept or None)
        self.open = {"from": self.done, "count": count, "first": values, "before": values, "tokens": [], "rates": [],
                     "rows": [], "counted": [], "masks": [], "losses": [], "routed": {}, "micro": set(), "gradients": {}, "logged": {}}

    def _gradient(self, name, parameter):
        if self.open:
            for part, gradient in parts_of(name, parameter.grad).items():
                self.open["gradients"][part] = norm64(gradient)

    @_quiet
    def _routed(self, layer, module, _, output):
        """Counts where the router of a layer sends its tokens: its output has their experts last."""
        if self.open and torch.is_grad_enabled():
            counts = torch.bincount(output[2].detach().flatten().cpu(), minlength=module.num_experts)
            self.open["routed"].setdefault(layer, []).append(counts)

    @_quiet
    def _before(self, *_):
        if self.open:
            self.open["rates"].append([float(group["lr"]) for group, _ in self.groups])

    @_quiet
    def _after(self, *_):
        self.done += 1
        if self.open:
            self._add()
        self._begin()

    def _add(self):
        """Takes in an update that was made."""
        o, after = self.open, self._values()
        if not o["rows"] or len(o["rows"]) != len(o["losses"]):
            raise ValueError(f"{len(o['rows'])} batches and {len(o['losses'])} losses before update {self.done}; "
                             "call `batch` and `loss` once for each forward pass")
        norms = [o["gradients"].get(name, 0.0) for name in after]
        o["tokens"].append(torch.cat(o["rows"]))
        o["masks"].append(torch.cat(o["counted"]))
        o["micro"].add(len(o["rows"]))
        if len({rows.shape for rows in o["rows"]}) > 1 or len(o["micro"]) > 1:
            raise ValueError("batches of different shapes in one slice")
        weights = [float(part.sum()) if self.mean_over == "targets" else 1.0 for part in o["counted"]]
        loss = math.fsum(w * one for w, one in zip(weights, o["losses"])) / sum(weights)
        stepped = {"loss": loss, "grad_norm": math.sqrt(math.fsum(n * n for n in norms)),
                   "tensor_grad_norm": norms,
                   "tensor_update_norm": [norm64(after[n].double() - o["before"][n].double()) for n in after],
                   "tensor_norm": [norm64(value) for value in after.values()]}
        if o["routed"]:
            stepped["routed"] = [sum(counts).tolist() for _, counts in sorted(o["routed"].items())]
        for name, value in stepped.items():
            o["logged"].setdefault(name, []).append(torch.tensor(value))
        o.update(before=after, rows=[], counted=[], losses=[], gradients={}, routed={})
        if len(o["tokens"]) == o["count"]:
            self._write()

    def _write(self):
        o, self.open = self.open, None
        logged = {name: torch.stack(values) for name, values in o["logged"].items()}
        logged = {name: values if name == "routed" else values.float() for name, values in logged.items()}
        rates = list(zip(*o["rates"]))
        groups = [{**stated, "lr": list(rates[at])} for at, (_, stated) in enumerate(self.groups)]
        masks = torch.stack(o["masks"])
        if not masks.all():
            logged["counted"] = masks
        self.run.slice(o["from"], torch.stack(o["tokens"]), logged,
                       {name: (o["first"][name], o["before"][name]) for name in o["first"]}, checkpoint_step=o["from"],
                       stated={"grad_clip": float(self.grad_clip or 0.0), "groups": groups, "micro_batches": o["micro"].pop(), "mean_over": self.mean_over})


def callback(run, slices):
    """A callback for `Trainer` of transformers that records slices of its run."""
    from transformers import TrainerCallback

    class Callback(TrainerCallback):
        recorder = None

        def on_train_begin(self, args, state, control, model=None, optimizer=None, **_):
            self.recorder = Recorder(run, model, optimizer, slices, args.max_grad_norm or None, state.global_step)
            self.recorder.handles.append(model.register_forward_hook(self.forward, with_kwargs=True))

        def forward(self, module, _, given, output):
            if module.training:
                labels = given["labels"]
                mask = given.get("attention_mask")
                if (labels < 0).any() or mask is not None and not mask.bool().all():
                    return self.recorder.run._problem("slice", ValueError("masked tokens are not known to `repro replay`"))
                self.recorder.batch(given["input_ids"][:, :-1], labels[:, 1:])
                self.recorder.loss(output.loss)

        def on_train_end(self, *_, **__):
            self.recorder.close()

    return Callback()
