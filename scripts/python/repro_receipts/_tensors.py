"""Tensors, and the files (safetensors) that hold them: equal contents are equal bytes."""
from __future__ import annotations

import array
import hashlib
import math
import operator
import struct
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ._json import Unwritable, text_of

KINDS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "U32": "uint32", "I64": "int64", "I32": "int32",
         "U8": "uint8"}
MOMENTS = {"exp_avg": "optimizer.m.", "momentum_buffer": "optimizer.m.", "exp_avg_sq": "optimizer.v.",
           "max_exp_avg_sq": "optimizer.x."}
INTEGERS = {"int64": "q", "int32": "i", "uint8": "B"}


def outline(tensor: Any) -> Tuple[str, str, List[int]]:
    """The kind of a tensor's elements, the type they are written as, and its shape."""
    kind, shape = tensor[:2] if isinstance(tensor, tuple) else (str(tensor.dtype).rsplit(".", 1)[-1], tensor.shape)
    kind, shape = KINDS.get(str(kind), str(kind)), [operator.index(size) for size in shape]
    if kind not in KINDS.values():
        raise Unwritable(f"a tensor of {kind}; convert it to float32 or int64")
    return kind, "F32" if "float" in kind else "U32", shape


def elements(tensor: Any) -> bytes:
    """The bytes of a tensor's elements, as they are written."""
    kind, _, shape = outline(tensor)
    if isinstance(tensor, tuple):
        raw = bytes(tensor[2])
    else:
        if hasattr(tensor, "detach"):
            tensor = tensor.detach().cpu()
            if kind == "bfloat16":
                tensor, kind = tensor.float(), "float32"
            tensor = tensor.contiguous().numpy()
        raw = tensor.tobytes()
    if kind == "bfloat16":  # the upper half of a float32
        wide = bytearray(2 * len(raw))
        wide[2::4], wide[3::4] = raw[0::2], raw[1::2]
        raw = bytes(wide)
    elif kind == "float16":
        raw = array.array("f", (value for value, in struct.iter_unpack("<e", raw))).tobytes()
    elif kind in INTEGERS:
        values: Any = memoryview(raw).cast(INTEGERS[kind])  # type: ignore[call-overload, unused-ignore]
        if len(values) and not 0 <= min(values) <= max(values) < 1 << 32:
            raise Unwritable(f"integers from {min(values)} to {max(values)}, outside the range of U32")
        raw = array.array("I", values).tobytes()
    if len(raw) != 4 * math.prod(shape) or not raw:
        raise Unwritable(f"{len(raw)} bytes of elements in shape {shape}")
    return raw


def _is_finite(raw: bytes) -> bool:
    """Whether all of these float32 are finite: their sum fits a float64 unless one of them is not."""
    numpy: Any = sys.modules.get("numpy")  # a hundred times as fast, and there where tensors are PyTorch's
    return bool(numpy.isfinite(numpy.frombuffer(raw, "f")).all()) if numpy else math.isfinite(sum(memoryview(raw).cast("f")))


class TensorFile:
    """Named tensors; what is known only after `chunks` has run are the digest of the tensors and `finite`."""

    def __init__(self, tensors: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None) -> None:
        self.tensors: Dict[str, Any] = dict(sorted(tensors.items()))
        self.metadata = dict(metadata or {})
        self.tensors_sha256, self.finite = hashlib.sha256(), True
        for name in self.tensors:
            if not name or name == "__metadata__" or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
                raise Unwritable(f"a tensor called {name!r}")
        if not self.tensors:
            raise Unwritable("no tensors")

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the file, tensor by tensor."""
        outlines, entries, end = [], [], 0
        if self.metadata:
            text = ",".join(f"{text_of(key)}:{text_of(value)}" for key, value in sorted(self.metadata.items()))
            entries.append(f'"__metadata__":{{{text}}}')
        for name, tensor in self.tensors.items():
            _, dtype, shape = outline(tensor)
            start, end = end, end + 4 * math.prod(shape)
            sizes = ",".join(map(str, shape))
            entries.append(f'{text_of(name)}:{{"dtype":"{dtype}","shape":[{sizes}],"data_offsets":[{start},{end}]}}')
            outlines.append(f"{name}\n{dtype}\n{sizes}\n")
        header = ("{" + ",".join(entries) + "}").encode()
        header += b" " * (-len(header) % 8)
        yield len(header).to_bytes(8, "little") + header
        for line, tensor in zip(outlines, self.tensors.values()):
            raw = elements(tensor)
            self.tensors_sha256.update(line.encode() + raw)
            self.finite = self.finite and ("\nF32\n" not in line or _is_finite(raw))
            yield raw


def moved(before: Any, after: Any) -> float:
    """The norm of a change, added up in float64."""
    numpy: Any = sys.modules.get("numpy")
    if numpy:
        old, new = (numpy.frombuffer(elements(tensor), "f").astype("d") for tensor in (before, after))
        return math.sqrt(numpy.square(new - old).sum())
    total = 0.0
    for old, new in zip(memoryview(elements(before)).cast("f"), memoryview(elements(after)).cast("f")):
        total += (new - old) * (new - old)
    return math.sqrt(total)
