"""The loss of a PyTorch model on a file of tokens: the evaluation that `repro replay --data` repeats."""
from __future__ import annotations

import contextlib
import math
import os
from typing import Any, Dict, Iterator, Optional, Tuple

import torch

from ._files import sha256
from ._json import Unwritable

__all__ = ["evaluated"]

SIZES = {"uint8": 1, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8}
PIECE = 1 << 20  # bytes of a file that are read at a time


def evaluated(model: Any, tokens: Any, dtype: str, length: int, rows: int, text: Optional[Any] = None) -> Dict[str, Any]:
    """The sum of nats over all tokens of a file but the first, how many they are, the bytes of their text, and the files. The
    tokens are unsigned integers of this `dtype`; they go in as `rows` rows of `length` tokens that do not overlap."""
    path = os.fspath(tokens)
    if dtype not in SIZES:
        raise Unwritable(f"tokens as {dtype}; supported are {', '.join(SIZES)}")
    count = os.path.getsize(path) // SIZES[dtype]
    if count < 2:
        raise Unwritable(f"{count} tokens in {path}")
    nats = []
    device = next(model.parameters()).device
    with still(model):
        for inputs, targets in batches(path, dtype, length, rows):
            logits = logits_of(model, inputs.to(device), targets.to(device))
            nats.append(surprise(logits, targets.to(device)))
    named = {"tokens": {**pinned(path), "dtype": dtype}, **({"text": pinned(os.fspath(text))} if text else {})}
    size = os.path.getsize(os.fspath(text)) if text else count if dtype == "uint8" else None
    if size == count:  # tokens are bytes, of which the first is not predicted
        size -= 1
    return {"nats": math.fsum(nats), "predicted_tokens": count - 1, "bytes": size, "held_out": named}


def pinned(path: str) -> Dict[str, str]:
    """A file by its name and digest."""
    with open(path, "rb") as file:
        return {"file": os.path.basename(path), "sha256": sha256(iter(lambda: file.read(PIECE), b""))}


@contextlib.contextmanager
def still(model: Any) -> Iterator[None]:
    """Runs the model without dropout and gradients, and restores the random state afterwards."""
    training = [module for module in model.modules() if module.training]
    try:
        with torch.random.fork_rng(), torch.no_grad():
            model.eval()
            yield
    finally:
        for module in training:
            module.training = True


def batches(path: str, dtype: str, length: int, rows: int) -> Iterator[Tuple[torch.Tensor, torch.Tensor]]:
    """Inputs and targets: whole rows, several at a time, and the shorter row at the end."""
    size, start = SIZES[dtype], 0
    count = os.path.getsize(path) // size - 1
    with open(path, "rb") as file:
        while start < count:
            width = min(length, count - start)
            taken = max(1, min(rows, (count - start) // width)) if width == length else 1
            file.seek(start * size)
            piece = read(file.read((taken * width + 1) * size), dtype)
            yield piece[:-1].view(taken, width), piece[1:].view(taken, width)
            start += taken * width


def read(data: bytes, dtype: str) -> torch.Tensor:
    """Integers of a file, in its byte order: little-endian."""
    size = SIZES[dtype]
    values = [int.from_bytes(data[at:at + size], "little") for at in range(0, len(data), size)]
    return torch.tensor(values, dtype=torch.long)


def logits_of(model: Any, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The logits at all positions. Some models return only the last position unless they are given targets."""
    for arguments in ((inputs,), (inputs, targets)):
        output = model(*arguments)
        parts = output if isinstance(output, (tuple, list)) else [getattr(output, "logits", output)]
        for part in parts:
            if torch.is_tensor(part) and part.dim() == 3 and part.shape[:2] == inputs.shape:
                return part
    raise Unwritable(f"a model that does not return logits of shape {list(inputs.shape)} by vocabulary")


def surprise(logits: torch.Tensor, targets: torch.Tensor) -> float:
    """The sum of the cross-entropies, added up in float64."""
    total = 0.0
    for row, wanted in zip(logits, targets):
        total += torch.nn.functional.cross_entropy(row.double(), wanted, reduction="sum").item()
    return total
