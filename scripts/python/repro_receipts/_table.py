"""Tables of names: which tensor of `repro replay` each parameter of a model of its own is.

A table has the model's names, and for each the name that replays know. `*` stands for a number, such as that of a layer, and
is the same number on both sides. What is one parameter here and several tensors there is written so:

    "blocks.*.attn.qkv.weight": ["model.layers.*.self_attn.q_proj.weight", "...k_proj.weight", "...v_proj.weight"]
    "blocks.*.attn.qkv.weight": [("...q_proj.weight", 64), ("...k_proj.weight", 32), ("...v_proj.weight", 32)]   # rows of each
    "blocks.*.moe.down": "model.layers.*.mlp.experts.#.down_proj.weight"        # (experts, out, in): one for each expert
    "blocks.*.moe.down": "model.layers.*.mlp.experts.#.down_proj.weight.T"      # (experts, in, out): the transpose
"""
from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

TRANSPOSED = ".T"
# Of transformers, which keeps the experts of a layer in one tensor.
OF_TRANSFORMERS: Dict[str, Any] = {
    "*.experts.gate_up_proj": ["experts.#.gate_proj.weight", "experts.#.up_proj.weight"],
    "*.experts.down_proj": "experts.#.down_proj.weight",
}
# What parts of a model are often called, by what replays call them: words to look for, in the model's own names.
HINTS = {
    "embed_tokens": "emb|tok|wte", "wte": "emb|tok|wte", "wpe": "pos|wpe", "lm_head": "head|out|unemb",
    "q_proj": r"\bw?q|query", "k_proj": r"\bw?k|key", "v_proj": r"\bw?v|value", "o_proj": r"\bw?o\b|out|proj",
    "gate_proj": "gate|w1", "up_proj": "up|w3", "down_proj": "down|w2|out|proj",
    "c_attn": "qkv|attn", "c_fc": "fc|up|w1|in", "c_proj": "proj|out|down|w2",
    "q_norm": r"q_?(norm|ln)", "k_norm": r"k_?(norm|ln)",
    "input_layernorm": "attn|att|1|in|pre", "post_attention_layernorm": "ffn|mlp|2|post|moe",
    "ln_1": "1|attn", "ln_2": "2|mlp|ffn", "gate": "rout|gate", "norm": "norm|ln",
}


class Part:
    """A tensor of a replay as a part of a parameter: of which expert, whether transposed, which rows."""

    def __init__(self, name: str, expert: Optional[int] = None, transposed: bool = False,
                 rows: Optional[Tuple[int, int]] = None) -> None:
        self.name, self.expert, self.transposed, self.rows = name, expert, transposed, rows

    def of(self, tensor: Any) -> Any:
        """The numbers of this part, of a parameter or anything in its shape."""
        tensor = tensor if self.expert is None else tensor[self.expert]
        tensor = tensor.T if self.transposed else tensor
        return tensor if self.rows is None else tensor[self.rows[0]:self.rows[1]]

    @property
    def is_whole(self) -> bool:
        """Whether it is the parameter itself."""
        return self.expert is None and not self.transposed and self.rows is None


def parts_of(name: str, shape: Iterable[int], table: Mapping[str, Any]) -> List[Part]:
    """The tensors that a parameter is, by a table, or else itself."""
    shape = tuple(shape)
    base, _, kind = name.rpartition(".")
    for pattern, targets in table.items():
        found = re.fullmatch(re.escape(pattern).replace(r"\*", r"(\d+)"), name)
        if found:
            return _filled(targets, list(found.groups()), shape)
    targets = OF_TRANSFORMERS.get(f"*.experts.{kind}") if base.endswith(".experts") and len(shape) == 3 else None
    if targets is None:
        return [Part(name)]
    stem = base[:-len("experts")]
    return _filled([stem + one for one in ([targets] if isinstance(targets, str) else targets)], [], shape)


def _filled(targets: Any, numbers: List[str], shape: Tuple[int, ...]) -> List[Part]:
    """The parts that some targets name; `numbers` stand for their `*`."""
    listed = [targets] if isinstance(targets, (str, tuple)) else list(targets)
    pairs = [(one, None) if isinstance(one, str) else (one[0], int(one[1])) for one in listed]
    has_experts, turned = "#" in pairs[0][0], pairs[0][0].endswith(TRANSPOSED)
    matrix = shape[1:] if has_experts else shape
    height = (matrix[-1] if turned else matrix[0]) if matrix else 1
    parts: List[Part] = []
    for expert in range(shape[0]) if has_experts else [None]:
        start = 0
        for target, rows in pairs:
            rows = height // len(pairs) if rows is None else rows
            filled = iter(numbers)
            called = re.sub(r"\*", lambda _: next(filled), target[:-2] if turned else target)
            called = called.replace("#", str(expert))
            parts.append(Part(called, expert, turned, None if len(pairs) == 1 else (start, start + rows)))
            start += rows
    return parts


# --- A table from shapes and order ---

def proposed(own: Mapping[str, Tuple[int, ...]], wanted: Iterable[Tuple[str, Tuple[int, ...]]]) -> Dict[str, Any]:
    """A table for a model's parameters, in the order of its program, from the names and shapes that a replay wants. What
    fits by shape is taken by what it is called, else by order. It is a guess."""
    ours, theirs = _patterns(own.items(), False), _patterns(wanted, True)
    table: Dict[str, Any] = {}
    taken: List[str] = []
    for target, (shape, count) in theirs.items():
        if target in taken:
            continue
        fitting = [(pattern, way) for pattern, (has, times) in ours.items()
                   if pattern not in table and _is_alike(pattern, target)
                   for way in [_way(has, times, shape, count)] if way is not None]
        if fitting:
            best = next((one for one in fitting if _is_hinted(one[0], target)), fitting[0])
            has_own_experts = best[0].count("*") > target.count("*")
            table[best[0]] = (target.replace("#", "*") if has_own_experts else target) + best[1]
            taken.append(target)
            continue
        found = _fused(target, theirs, ours, table)
        if found:
            pattern, targets = found
            table[pattern] = targets
            taken += [one if isinstance(one, str) else one[0] for one in targets]
            taken += [one[:-2] for one in taken if one.endswith(TRANSPOSED)]
    return table


Pattern = Tuple[Tuple[int, ...], int]


def _patterns(named: Iterable[Tuple[str, Tuple[int, ...]]], is_wanted: bool) -> Dict[str, Pattern]:
    """Names with `*` for their numbers (of experts, `#`), the shape of each, and how many there are of it. Names whose shapes
    differ stay as they are."""
    found: Dict[str, List[Tuple[str, Tuple[int, ...]]]] = {}
    for name, shape in named:
        pattern = re.sub(r"(?<=\.)\d+(?=\.)", "*", f".{name}.")[1:-1]
        if is_wanted and pattern.count("*") == 2:
            head, _, tail = pattern.rpartition("*")
            pattern = f"{head}#{tail}"
        found.setdefault(pattern, []).append((name, tuple(shape)))
    patterns: Dict[str, Pattern] = {}
    for pattern, members in found.items():
        if len({shape for _, shape in members}) == 1:
            patterns[pattern] = (members[0][1], len(members))
        else:
            patterns.update({name: (shape, 1) for name, shape in members})
    return patterns


def _way(has: Tuple[int, ...], times: int, shape: Tuple[int, ...], count: int) -> Optional[str]:
    """How tensors of a shape lie in parameters of another: an ending of the target, or None where they do not."""
    if times == count:
        return "" if has == shape else None
    if len(has) == 3 and times and count % times == 0 and has[0] == count // times:
        if has[1:] == shape:
            return ""
        return TRANSPOSED if has[:0:-1] == shape else None
    return None


def _is_alike(pattern: str, target: str) -> bool:
    """Whether parameters have as many numbers in their names as tensors: that of a layer, perhaps that of an expert."""
    stars = target.count("*")
    return pattern.count("*") in (stars, stars + target.count("#"))


def _fused(target: str, theirs: Mapping[str, Pattern], ours: Mapping[str, Pattern], table: Mapping[str, Any]) -> Any:
    """A parameter that is several tensors one below the other: queries, keys and values, or gate and up."""
    groups = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
    for group in groups:
        if group[0] not in target:
            continue
        names = [target.replace(group[0], one) for one in group]
        if not all(name in theirs for name in names):
            continue
        shapes = [theirs[name][0] for name in names]
        whole = (sum(shape[0] for shape in shapes), *shapes[0][1:])
        for pattern, (has, times) in ours.items():
            way = None if pattern in table or not _is_alike(pattern, target) else _way(has, times, whole, theirs[target][1])
            if way is not None:
                return pattern, [(name + way, shape[0]) for name, shape in zip(names, shapes)]
    return None


def _is_hinted(pattern: str, target: str) -> bool:
    """Whether a model calls a parameter as one expects."""
    words = [word for word in target.split(".") if word in HINTS]
    own = pattern.rpartition(".")[0].split("*.")[-1] or pattern
    return bool(words) and re.search(HINTS[words[-1]], own, re.IGNORECASE) is not None


def changes(table: Mapping[str, Any]) -> bool:
    """Whether a table calls anything otherwise."""
    return any(pattern != target for pattern, target in table.items())


def shown(table: Mapping[str, Any]) -> str:
    """A table ready to paste."""
    return "names={\n" + "".join(f"    {pattern!r}: {targets!r},\n" for pattern, targets in table.items()) + "}"
