"""Reasons against a replay of a PyTorch run, found before its first step, for `repro_receipts.torch`.

`check(run, model, optimizer)` returns a list of sentences, each with what was found; an empty list means that no reason
is known. `_settings.py`, generated from the source of `repro replay`, lists the settings that it reads.
"""
from __future__ import annotations

import collections
import dataclasses
import json
import math
from typing import Any, List, Mapping, Optional

import torch
import torch.nn.functional as F

from ._json import Unwritable
from ._settings import ANGLES, HARMLESS, KNOWN, READ, UPDATES

__all__ = ["Refused", "check"]

PREFIXES = ("module", "_orig_mod", "_fsdp_wrapped_module")
WRAPPERS = ("OptimizedModule", "DistributedDataParallel", "DataParallel", "FullyShardedDataParallel")
SIZES = {  # of a model, by the beginnings of its `model_type`; batch_size, seq_len and steps are seen by the recorder
    ("nanogpt",): ("block_size", "vocab_size", "n_layer", "n_head", "n_embd", "bias"),
    ("nanochat",): ("sequence_len", "vocab_size", "n_layer", "n_head", "n_kv_head", "n_embd"),
    ("gpt2",): ("vocab_size", "n_positions", "n_layer", "n_head", "n_embd", "layer_norm_epsilon"),
    ("repro-",): ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "norm_eps", "rope_theta"),
    ("",): ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "rms_norm_eps"),
}
MUON = ("Muon", "SingleDeviceMuon", "MuonWithAuxAdam", "SingleDeviceMuonWithAuxAdam")
NEWTON_SCHULZ = (3.4445, -4.775, 2.0315)  # of Keller Jordan's Muon, whose groups do not say it
PROBED, BFLOAT_PROBED = 1e-3, 0.05  # how far an optimizer may be from its rule


class Refused(Unwritable):
    """A property of a run that slices cannot represent."""


def check(run: Any, model: Any, optimizer: Any, masters: Optional[Mapping[str, Any]] = None) -> List[str]:
    """All reasons against replaying slices of this run; `run` is the result of `repro_receipts.init`, or its config.
    `masters` is the argument of `Recorder`."""
    masters = {name_of(name): master for name, master in (masters or {}).items()}
    about_config, against = examine(run, model, all_of(optimizer), masters)
    return [str(reason) for reason in about_config + against]


def examine(run, model, optimizers, masters):
    """Reasons for which `repro replay` would reject the config, and reasons for which a slice would not match the run."""
    config = {**config_of(model), **(run if isinstance(run, dict) else run.config)}
    dtype = "bfloat16" if masters else "float32"
    return against_config(config, dtype), against_run(model, optimizers, masters)


def all_of(optimizer):
    """The PyTorch optimizers, without the wrappers of accelerate and Lightning."""
    given = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
    return [getattr(one, "optimizer", one) for one in given]


def name_of(name):
    """The name of a parameter without the prefixes of wrappers."""
    return ".".join(part for part in name.split(".") if part not in PREFIXES)


def unwrapped(model):
    """The model itself, without `torch.compile` and wrappers for several devices."""
    while type(model).__name__ in WRAPPERS:
        model = next(model.children())
    return model


# --- The config ---

def config_of(model):
    """A model's own config: the config of transformers, or a dataclass as in nanoGPT and nanochat."""
    model = unwrapped(model)
    own, config = getattr(model, "config", None), {}
    if hasattr(own, "to_json_string"):
        config = json.loads(own.to_json_string(use_diff=False))
    elif dataclasses.is_dataclass(own):
        config = dataclasses.asdict(own)
        fields, names = set(config), {name for name, _ in model.named_parameters()}
        if {"block_size", "n_embd", "bias"} <= fields and "transformer.wpe.weight" in names:
            config["model_type"] = "nanogpt"
        elif {"sequence_len", "n_kv_head", "n_embd"} <= fields and "transformer.h.0.attn.c_q.weight" in names:
            config["model_type"] = "nanochat"
    kinds = {str(p.dtype).removeprefix("torch.") for p in model.parameters()}
    return {**config, **({"dtype": kinds.pop()} if len(kinds) == 1 else {})}


def against_config(config, dtype="float32"):
    """Missing settings that a replay needs, and settings that it would ignore."""
    reasons = []
    kind = config.get("model_type")
    known = dialect(config) or ""
    sizes = next(sizes for starts, sizes in SIZES.items() if known.startswith(starts))
    missing = [name for name in ("model_type", "dtype", *sizes) if config.get(name) is None]
    if missing:
        reasons.append(f"the config lacks {', '.join(f'`{name}`' for name in missing)}")
    if kind is not None and kind not in READ:
        reasons.append(f"`model_type` is {kind}; supported are {', '.join(READ)}")
    if config.get("dtype") not in (None, dtype):
        beside = "with `masters`" if dtype == "bfloat16" else "without"
        reasons.append(f"`dtype` is {config['dtype']}; {beside} it must be {dtype}")
    reasons += against_angles(config)
    unknown = [name for name, value in config.items() if not is_known(kind, name) and not is_harmless(config, name, value)]
    if unknown:
        shown = ", ".join(f"`{name}` = {str(config[name])[:40]}" for name in sorted(unknown))
        reasons.append(f"settings that no replay reads: {shown}; move those without effect on steps into a table `notes`")
    return reasons


def against_angles(config):
    """Unsupported kinds of rotary angles, and settings in their dicts that no replay reads."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    tables = [table for table in given.values() if isinstance(table, dict)] or [given]
    reasons = []
    for table in filter(None, tables):
        kind = table.get("rope_type", table.get("type", "default"))
        unread = sorted(set(table) - set(ANGLES.get(kind, table)))
        if kind not in ANGLES:
            reasons.append(f"`rope_type` is {kind}; supported are {', '.join(ANGLES)}")
        elif unread:
            reasons.append(f"settings of `{kind}` angles that no replay reads: {', '.join(f'`{name}`' for name in unread)}")
    return list(dict.fromkeys(reasons))


def dialect(config):
    """The `model_type`, except for nanochat models in transformers' config format, which is like Llama's."""
    kind = config.get("model_type")
    return "llama" if kind == "nanochat" and "n_embd" not in config else kind


def is_known(kind, name):
    """Whether a setting is read for a model at any value, changes no step, or describes updates that slices state."""
    return name in KNOWN or name in UPDATES or name in READ.get(kind, ())


def is_harmless(config, name, value):
    """Whether a setting changes nothing at this value."""
    kind, wanted = HARMLESS.get(name, (None, None))
    if kind == "off":
        return value in (None, False, "", [], 0)
    if kind == "on":
        return value is True
    if kind == "words":
        return all(word in wanted for word in (value if isinstance(value, list) else [value]))
    if kind == "same":
        return value is not None and value == config.get(wanted[0])
    if kind == "one":
        return value == 1 and value is not True
    return kind == "unless" and config.get(wanted[0]) in (None, False)


def balance_of(config, coefficient):
    """The config fields for a balance loss of routers, in the form of its `model_type`."""
    if str(config.get("model_type")).startswith("repro-"):
        return {"balancing": "loss", "aux_loss_alpha": coefficient} if coefficient else {"balancing": "none"}
    return {"output_router_logits": bool(coefficient), "router_aux_loss_coef": coefficient}


# --- The model and its optimizers ---

def against_run(model, optimizers, masters):
    """Properties of a run that its slices cannot represent."""
    own = {name_of(name): p for name, p in model.named_parameters()}
    named = {name: masters.get(name, p) for name, p in own.items()}
    unknown = [f"`{name}` among the masters, which is not a parameter of the model" for name in masters if name not in own]
    narrow = {str(p.dtype) for name, p in own.items() if name in masters} - {"torch.bfloat16"}
    unknown += [f"masters of weights in {kind}; only bfloat16 is supported" for kind in narrow]
    unmoved = [name for name in own if masters and name not in masters]
    unknown += [f"{len(unmoved)} weights without masters, where others have them: {unmoved[0]}"] if unmoved else []
    return unknown + against_devices(model, named) + against_modules(model) + against_groups(named, optimizers)


def against_devices(model, named):
    reasons = []
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        ranks = torch.distributed.get_world_size()
        if ranks > 1:
            reasons.append(f"{ranks} ranks, of which only one rank's batches are visible here (DDP and FSDP are not recorded)")
    wrappers = {type(module).__name__ for module in model.modules()}
    if "DataParallel" in wrappers:
        reasons.append("DataParallel, which splits batches by device")
    if "FullyShardedDataParallel" in wrappers or any(hasattr(p, "placements") for p in named.values()):
        reasons.append("weights that are sharded (FSDP)")
    kinds = collections.Counter(str(p.dtype) for p in named.values() if p.dtype != torch.float32)
    reasons += [f"{count} weights in {kind}; replays support float32, and bfloat16 with `masters`" for kind, count in kinds.items()]
    device = next(iter(named.values())).device.type if named else "cpu"
    products = getattr(getattr(torch.backends.mkldnn, "matmul", None), "fp32_precision", "none")
    if device == "cpu" and products in ("bf16", "tf32"):
        reasons.append("products of float32 matrices on a CPU in less than float32")
    return reasons


def against_modules(model):
    """Randomness within a forward pass: dropout of modules in training mode, noise on routers."""
    found = collections.Counter()
    for module in model.modules():
        if not module.training:
            continue
        settings = {name: value for name, value in vars(module).items()
                    if isinstance(value, float) and ("drop" in name or "jitter" in name)}
        if "Dropout" in type(module).__name__ and isinstance(getattr(module, "p", 0.0), (int, float)):
            settings["p"] = module.p
        found.update(f"`{name}` = {value:g} in {type(module).__name__}" for name, value in settings.items() if value > 0)
    return [f"randomness that a replay cannot reproduce: {setting}" + (f", {count} modules" if count > 1 else "")
            for setting, count in found.items()]


def against_groups(named, optimizers):
    names = {id(p): [name] for name, p in named.items()}
    reasons, members = [], collections.Counter()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            members.update(id(p) for p in group["params"])
            strangers = sum(id(p) not in names for p in group["params"])
            if strangers:
                reasons.append(f"{strangers} tensors in a group of {type(optimizer).__name__} that are not in the model")
            try:
                stated = stated_group(optimizer, group, names)
            except Refused as error:
                reasons.append(str(error))
                continue
            if stated["tensors"]:
                reasons += against_steps(optimizer, group, stated)
    alone = [name for name, p in named.items() if p.requires_grad and not members[id(p)]]
    if alone:
        reasons.append(f"{len(alone)} trained tensors in no optimizer group: {', '.join(alone[:3])}")
    twice = [name for name, p in named.items() if members[id(p)] > 1]
    if twice:
        reasons.append(f"{len(twice)} tensors in several groups: {', '.join(twice[:3])}")
    return list(dict.fromkeys(reasons))


def against_state(optimizers, named, done):
    """Optimizers with a different step count than the run, so that their means start elsewhere, or with means that
    are rounded more than in a replay."""
    for optimizer in optimizers:
        for name, p in named.items():
            state = optimizer.state.get(p) or {}
            narrow = [kind for kind, value in state.items()
                      if torch.is_tensor(value) and value.shape == p.shape and value.dtype != torch.float32]
            if narrow and p.dim():
                return [f"the optimizer keeps `{narrow[0]}` of `{name}` as {state[narrow[0]].dtype}"]
            if "step" in state and int(state["step"]) != done:
                return [f"the optimizer made {int(state['step'])} steps of `{name}` in {done} updates"]
            is_member = done and not state and any(p is q for group in optimizer.param_groups for q in group["params"])
            if is_member and p.requires_grad and "betas" in optimizer.param_groups[0]:
                return [f"the optimizer has no state for `{name}` after {done} updates"]
    return []


# --- Groups of optimizers ---

def stated_group(optimizer, group, names):
    """A group as a slice states it; `names` has the names of the parts of parameters by `id`."""
    if group.get("maximize"):
        raise Refused("`maximize`, which replays do not support")
    tensors = sorted({name for p in group["params"] if p.requires_grad for name in names.get(id(p), ())})
    return {"tensors": tensors, "lr": float(group["lr"]), "weight_decay": float(group.get("weight_decay", 0.0)),
            **rule_of(optimizer, group)}


def rule_of(optimizer, group):
    """The rule of a group, with what it needs."""
    kind = type(optimizer).__name__
    if kind in MUON and group.get("use_muon", True):
        return muon_of(group)
    if kind in ("AdamW", "Adam") or kind in MUON:
        rule = "adam" if kind == "Adam" and not group.get("decoupled_weight_decay") else "adamw"
        return {"optimizer": rule, **betas_of(group), "eps": float(group["eps"]),
                "amsgrad": bool(group.get("amsgrad", False))}
    if kind == "SGD":
        return {"optimizer": "sgd", "momentum": float(group["momentum"]), "dampening": float(group["dampening"]),
                "nesterov": bool(group["nesterov"])}
    if kind == "Lion":
        return {"optimizer": "lion", **betas_of(group)}
    raise Refused(f"the update rule of {kind} is not supported; supported are AdamW, Adam, SGD, Lion, {', '.join(MUON)}")


def betas_of(group):
    return {f"beta{at}": float(beta) for at, beta in enumerate(group["betas"], 1)}


def muon_of(group):
    """Muon from PyTorch, whose groups have coefficients, or from https://github.com/KellerJordan/Muon."""
    is_torch = "ns_coefficients" in group
    return {"optimizer": "muon", "momentum": float(group["momentum"]), "nesterov": bool(group.get("nesterov", True)),
            "ns_steps": int(group.get("ns_steps", 5)), "eps": float(group.get("eps", 1e-7)),
            "ns_coefficients": [float(one) for one in group.get("ns_coefficients", NEWTON_SCHULZ)],
            "dtype": "bfloat16", "adjust": group.get("adjust_lr_fn") or "original",
            "variant": "torch" if is_torch else "reference"}


def against_steps(optimizer, group, stated):
    """Whether two steps of a fresh optimizer move a tensor by its rule: a class may have a known name and do
    something else."""
    kind, source = type(optimizer).__name__, torch.Generator().manual_seed(1)
    like = min((p for p in group["params"] if p.requires_grad), key=torch.numel)
    draw = lambda: torch.randn(like.shape, generator=source).to(like)  # noqa: E731
    weights, kept, rate = draw(), {}, 0.125
    twin = object.__new__(type(optimizer))
    tensor = torch.nn.Parameter(weights.clone())
    twin.__dict__.update({name: value for name, value in vars(optimizer).items() if name != "step"},
                         state=collections.defaultdict(dict), param_groups=[{**group, "params": [tensor], "lr": rate}],
                         _optimizer_step_pre_hooks={}, _optimizer_step_post_hooks={})
    wanted = weights.double()
    try:
        for step in (1, 2):
            gradient = draw()
            wanted = moved(stated, wanted, gradient.double(), kept, step, rate)
            tensor.grad = gradient
            type(optimizer).step(twin)
    except Exception as error:
        return [f"two steps of {kind} could not be tried: {type(error).__name__}: {error}"]
    apart = ((tensor.detach().double() - wanted).norm() / (weights.double() - wanted).norm()).item()
    limit = BFLOAT_PROBED if stated["optimizer"] == "muon" else PROBED
    if apart <= limit:
        return []
    return [f"{kind} moves a tensor differently from `{stated['optimizer']}` in `repro replay`, by {apart:.2g} of the update"]


def moved(group, w, g, kept, step, rate):
    """The weights after an update by the rule of a group, in float64; `kept` has the moments."""
    rule, decay = group["optimizer"], group["weight_decay"]
    if rule in ("adam", "sgd"):
        g = g + decay * w
    else:
        w = w * (1 - rate * decay)
    mean = kept.get("mean", torch.zeros_like(g))
    if rule == "sgd":
        mean = kept["mean"] = g if step == 1 else group["momentum"] * mean + (1 - group["dampening"]) * g
        return w - rate * (g + group["momentum"] * mean if group["nesterov"] else mean)
    if rule == "muon":
        mean = kept["mean"] = mean.lerp(g, 1 - group["momentum"])
        g = g.lerp(mean, group["momentum"]) if group["nesterov"] else mean
        return w - rate * adjusted(group["adjust"], w.shape) * orthogonal(group, g)
    beta1, beta2 = group["beta1"], group["beta2"]
    if rule == "lion":
        kept["mean"] = mean.lerp(g, 1 - beta2)
        return w - rate * mean.lerp(g, 1 - beta1).sign()
    mean = kept["mean"] = mean.lerp(g, 1 - beta1)
    square = kept["square"] = kept.get("square", torch.zeros_like(g)).lerp(g.square(), 1 - beta2)
    most = kept["most"] = torch.maximum(kept.get("most", square), square) if group["amsgrad"] else square
    return w - rate * mean / (1 - beta1 ** step) / ((most / (1 - beta2 ** step)).sqrt() + group["eps"])


def adjusted(kind, shape):
    """Muon's factor for the learning rate of a matrix of this shape."""
    rows, columns = shape[-2:]
    return {"original": max(1.0, rows / columns) ** 0.5, "match_rms_adamw": 0.2 * max(rows, columns) ** 0.5,
            "spectral_unclamped": (rows / columns) ** 0.5}[kind]


def orthogonal(group, g):
    """The orthogonal factor of a matrix by Newton-Schulz steps X <- aX + (bA + cA^2)X with A = XX^T."""
    x = g.mT if g.shape[-2] > g.shape[-1] else g
    x = x / (x.norm() + group["eps"])
    a, b, c = group["ns_coefficients"]
    for _ in range(group["ns_steps"]):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if g.shape[-2] > g.shape[-1] else x


# --- Forward passes ---

def has_tf32(device):
    """Whether products of float32 matrices are in TF32."""
    matmul = torch.backends.cuda.matmul
    precision = getattr(matmul, "fp32_precision", None)
    return device == "cuda" and (matmul.allow_tf32 if precision is None else precision == "tf32")


def precision_of(device):
    """The current precision of a layer: the autocast type, and whether it uses TF32."""
    autocast = str(torch.get_autocast_dtype(device)).removeprefix("torch.") if torch.is_autocast_enabled(device) else None
    return autocast, has_tf32(device)


def is_full(found, parameters):
    """Whether layers compute in full float32."""
    return found <= {(None, False)} and all(p.dtype == torch.float32 for p in parameters)


def stated_precision(found, has_masters):
    """The members of a slice for these precisions of its forward passes."""
    if has_masters:
        if {autocast for autocast, _ in found} - {None}:
            raise Refused("autocast around a model in bfloat16")
        return {"compute": "bfloat16"}
    if len(found) > 1:
        raise Refused("forward passes of several precisions in one slice")
    autocast, tf32 = next(iter(found), (None, False))
    if autocast not in (None, "bfloat16"):
        raise Refused(f"forward passes under autocast to {autocast}; only bfloat16 is supported")
    return {"autocast": autocast, "tf32": tf32}


def seen_by(given, targets, model):
    """Documents and positions of a transformers forward pass, each None if it is the default."""
    tokens, mask, positions = (given.get(name) for name in ("input_ids", "attention_mask", "position_ids"))
    unread = [name for name in ("inputs_embeds", "past_key_values", "shift_labels") if given.get(name) is not None]
    if tokens is None or unread:
        raise Refused(f"a forward pass with {', '.join(unread) or 'no `input_ids`'}")
    kind = getattr(model.config, "_attn_implementation", "eager")
    if positions is not None:
        if positions.dim() != 2:
            raise Refused(f"`position_ids` of shape {list(positions.shape)}")
        positions = positions.expand_as(tokens)
    if mask is not None and (mask.dim() != 2 or mask.max() > 1):
        raise Refused("an attention mask that is not one number, 0 or 1, for each token")
    documents = None
    if mask is not None and not mask.bool().all():
        documents = padded(mask, targets, model)
    elif mask is None and positions is not None and (positions.diff(dim=-1) != 1).any():
        if "flash" in kind and len(tokens) > 1:
            raise Refused("positions that restart in several rows, which flash attention ignores")
        documents = 1 + F.pad((positions.diff(dim=-1) != 1).long().cumsum(-1), (1, 0))
    if kind not in ("eager", "sdpa", "flex_attention", "flash_attention_2", "flash_attention_3") and documents is not None:
        raise Refused(f"documents or padding under the attention `{kind}`")
    bounds = given.get("cu_seq_lens_q")
    if bounds is not None and "flash" in kind:
        own = 1 + torch.bucketize(torch.arange(tokens.shape[1], device=bounds.device), bounds[1:-1], right=True)
        if documents is None or not torch.equal(documents[0].cpu(), own.cpu()):
            raise Refused("`cu_seq_lens_q` that are not where `position_ids` restart")
    return documents, positions


def padded(mask, targets, model):
    """The documents of rows with padding: 1, and 0 where it lies; None where it lies behind all tokens."""
    if getattr(model.config, "output_router_logits", False):
        raise Refused("padding together with a balance loss of routers")
    if ((mask == 0) & (targets >= 0)).any():
        raise Refused("targets that count after padding; give their labels -100 (with padding on the left, that of the "
                      "first token)")
    is_behind = (mask.diff(dim=-1) <= 0).all()
    return None if is_behind else mask.long()
