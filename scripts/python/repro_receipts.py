"""Receipts of a training run, written while it trains: a folder that `repro verify` reads.

Copy this file beside your trainer; it needs nothing but Python 3.9. Then

    import repro_receipts as receipts

    run = receipts.init(
        name="my-run-s1",                       # the folder is DIR/NAME
        dir="receipts",
        config={"hidden_size": 64, "lr": 4e-3},
        trainer={"name": "my-trainer", "version": "1", "arithmetic": "pytorch-f32"},
        seeds={"init": 1, "data": 1},
    )
    for step in range(1, steps + 1):
        ...
        run.log({"loss": loss, "grad_norm": norm, "lr": rate}, step=step, tokens=seen)
        run.timing({"seconds": seconds}, step=step)
    run.evaluation(steps, nats=sum_of_nats, predicted_tokens=count, bytes=text_bytes, tokens_seen=seen)
    run.checkpoint(steps, model.state_dict(), optimizer=moments, tokens_seen=seen)
    print(run.finish())                         # the digest of the bundle, to be pinned by a post

What it holds to:

- `init` raises where its arguments cannot stand in a receipt, or where the folder holds a run already. Nothing
  raises after it: what cannot be written is said once on stderr and listed in the receipt under
  `extra.emitter_problems`. A folder that cannot be made is said too, and the run trains on without a receipt.
- A record is one line of RFC 8785 JSON, handed to the system before `log` returns and chained to the line
  before. Checkpoints make all that was written durable.
- A run that was killed leaves a folder without `bagit.txt`, which `repro verify` calls unfinished. `finish` writes
  that file last of all, after it has read back every file and found what was written.
- Only rank 0 writes: `rank`, or else RANK, SLURM_PROCID or OMPI_COMM_WORLD_RANK. On other ranks all calls do
  nothing. Gather what is sharded on every rank before the call.
- A number that is not finite is left out, and the record says `"nonfinite": "nan"` (`"inf"`, `"-inf"`). An integer
  that JSON readers would round, beyond 2^53, becomes a string.

Tensors may be of PyTorch or NumPy (anything with `shape`, `dtype` and `tobytes`), or `(dtype, shape, bytes)` with
the least significant byte first. F32 and U32 are written; F16 and BF16 are widened to F32, other integers become
U32 where they fit.
"""
import array
import functools
import hashlib
import json
import math
import operator
import os
import pathlib
import platform
import re
import struct
import sys
import threading

__all__ = ["Run", "Unwritable", "canonical", "init"]

EXACT = 1 << 53  # every integer up to here is the same in every reader of JSON
LN_2 = 0.6931471805599453
DEPTH_CAP, LINE_CAP, DOCUMENT_CAP = 60, 1 << 20, 16 << 20  # what `repro verify` reads; four levels go to the envelope
PROBLEM_CAP = 100  # of the problems that are listed
RECEIPT, PARTIAL = "data/receipt.json", ".partial"
DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
TAGS = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt")
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
# Bundles never hold pickles or archives, so no name may end like one.
OPAQUE = ".pt .pth .bin .pkl .pickle .ckpt .joblib .npy .npz .zip .tar .gz .tgz .bz2 .xz .zst .lz4 .7z .rar .jar .whl"


class Unwritable(ValueError):
    """A value that has no place in a receipt."""


# --- Canonical JSON (RFC 8785) ---

def _float(value):
    """The text of a finite float as ECMAScript writes it: Python's digits, another layout."""
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # value = 0.DIGITS * 10^point
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." if len(digits) > 1 else "") + digits[1:] + f"e{point - 1:+}"
    return "-" + text if value < 0 else text


def _text(value):
    """A string as JSON; what UTF-8 cannot say has no canonical text."""
    try:
        str.encode(value, "utf-8")
    except UnicodeEncodeError:
        raise Unwritable("a string with half a surrogate pair") from None
    return json.dumps(str.__str__(value), ensure_ascii=False)


def canonical(value, words=None, depth=0):
    """The canonical text of a value. Where `words` is a list, a member that is not finite is left out and its
    word added to the list: such a member answers None. Otherwise it is refused."""
    if depth > DEPTH_CAP:
        raise Unwritable(f"more than {DEPTH_CAP} levels")
    if not isinstance(value, (str, int, float, dict, list, tuple)) and hasattr(value, "item"):
        value = value.item()  # a number of PyTorch or NumPy
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        text = int.__repr__(value)
        return text if abs(value) <= EXACT else f'"{text}"'
    if isinstance(value, float):
        if math.isfinite(value):
            text = _float(value)
            return text if abs(value) <= EXACT or abs(value) >= 1e21 else f'"{text}"'
        word = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        if words is None:
            raise Unwritable(f"a number that is not finite ({word})")
        words.append(word)
        return None
    if isinstance(value, (list, tuple)):
        items = [canonical(item, words, depth + 1) for item in value]
        return None if None in items else "[" + ",".join(items) + "]"
    if isinstance(value, dict):
        members = []
        for key, item in value.items():
            if not isinstance(key, str):
                raise Unwritable(f"a key that is no string: {key!r}")
            members.append((_text(key), key, canonical(item, words, depth + 1)))
        members.sort(key=lambda member: member[1].encode("utf-16-be"))
        return "{" + ",".join(f"{text}:{item}" for text, _, item in members if item is not None) + "}"
    raise Unwritable(f"a value of the type {type(value).__name__}")


# --- Tensors (safetensors) ---

KINDS = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "U32": "uint32", "I64": "int64", "I32": "int32",
         "U8": "uint8"}
MOMENTS = {"exp_avg": "optimizer.m.", "momentum_buffer": "optimizer.m.", "exp_avg_sq": "optimizer.v.",
           "max_exp_avg_sq": "optimizer.x."}
INTEGERS = {"int64": "q", "int32": "i", "uint8": "B"}


def _outline(tensor):
    """The kind of a tensor's elements, the type they are written as, and its shape."""
    kind, shape = tensor[:2] if isinstance(tensor, tuple) else (str(tensor.dtype).rsplit(".", 1)[-1], tensor.shape)
    kind, shape = KINDS.get(kind, kind), [operator.index(size) for size in shape]
    if kind not in KINDS.values():
        raise Unwritable(f"a tensor of {kind}; convert it to float32 or int64")
    return kind, "F32" if "float" in kind else "U32", shape


def _elements(tensor):
    """The bytes of a tensor's elements, as they are written."""
    kind, _, shape = _outline(tensor)
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
        values = memoryview(raw).cast(INTEGERS[kind])
        if len(values) and not 0 <= min(values) <= max(values) < 1 << 32:
            raise Unwritable(f"integers from {min(values)} to {max(values)}, where 32 bits have room for 0 and up")
        raw = array.array("I", values).tobytes()
    if len(raw) != 4 * math.prod(shape) or not raw:
        raise Unwritable(f"{len(raw)} bytes of elements in the shape {shape}")
    return raw


def _finite(raw):
    """Whether all of these float32 are finite: their sum fits a float64 unless one of them is not."""
    return math.isfinite(sum(memoryview(raw).cast("f")))


class _TensorFile:
    """Named tensors; what is known only after `chunks` has run are the digest of the tensors and `finite`."""

    def __init__(self, tensors, metadata=None):
        self.tensors, self.metadata = dict(sorted(tensors.items())), metadata or {}
        self.tensors_sha256, self.finite = hashlib.sha256(), True
        for name in self.tensors:
            if not name or name == "__metadata__" or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
                raise Unwritable(f"a tensor called {name!r}")
        if not self.tensors:
            raise Unwritable("no tensors")

    def chunks(self):
        """The bytes of the file, tensor by tensor: equal contents are equal bytes."""
        outlines, entries, end = [], [], 0
        if self.metadata:
            text = ",".join(f"{_text(key)}:{_text(value)}" for key, value in sorted(self.metadata.items()))
            entries.append(f'"__metadata__":{{{text}}}')
        for name, tensor in self.tensors.items():
            _, dtype, shape = _outline(tensor)
            start, end = end, end + 4 * math.prod(shape)
            sizes = ",".join(map(str, shape))
            entries.append(f'{_text(name)}:{{"dtype":"{dtype}","shape":[{sizes}],"data_offsets":[{start},{end}]}}')
            outlines.append(f"{name}\n{dtype}\n{sizes}\n")
        header = ("{" + ",".join(entries) + "}").encode()
        header += b" " * (-len(header) % 8)
        yield len(header).to_bytes(8, "little") + header
        for outline, tensor in zip(outlines, self.tensors.values()):
            raw = _elements(tensor)
            self.tensors_sha256.update(outline.encode() + raw)
            self.finite = self.finite and ("\nF32\n" not in outline or _finite(raw))
            yield raw


def _moved(before, after):
    """The norm of a change in float64, added up in the order of the elements."""
    total = 0.0
    for old, new in zip(*(memoryview(_elements(tensor)).cast("f") for tensor in (before, after))):
        total += (new - old) * (new - old)
    return math.sqrt(total)


# --- What a receipt may say ---

def _count(value):
    if isinstance(value, bool) or not 0 <= operator.index(value) <= EXACT:
        raise Unwritable(f"expected a count, found {value!r}")
    return operator.index(value)


def _kind(kind, wanted, holds=lambda value: True):
    def check(value):
        if isinstance(value, bool) is not (kind is bool) or not isinstance(value, kind) or not holds(value):
            raise Unwritable(f"expected {wanted}, found {value!r}")
        return value
    return check


STRING, TRUTH, OPEN = _kind(str, "a string"), _kind(bool, "True or False"), _kind(dict, "a table")
DIGEST = _kind(str, "64 lower-case hexadecimal digits", re.compile("[0-9a-f]{64}").fullmatch)
REAL = _kind((int, float), "a number that JSON can hold", lambda value: abs(value) <= EXACT)
STRINGS = _kind(list, "a list of strings", lambda value: all(isinstance(item, str) for item in value))
VERSIONS = _kind(dict, "a table of strings", lambda value: all(isinstance(item, str) for item in value.values()))
SECTIONS = {
    "trainer": {"name": STRING, "version": STRING, "source_revision": STRING, "dirty": TRUTH,
                "lockfile_sha256": DIGEST, "arithmetic": STRING},
    "model": {"family": STRING, "params_total": _count, "params_active": _count, "breakdown": OPEN, "tensors": _count},
    "contract": {"match": STRING, "match_target": STRING, "mismatch": REAL, "horizon": STRING, "coefficient": REAL,
                 "tokens": _count, "tokens_per_step": _count, "fraction": REAL},
    # A seed may exceed 2^53, so it is text.
    "seeds": dict.fromkeys(("init", "data"), lambda seed: seed if isinstance(seed, str) else str(operator.index(seed))),
    "data": {"name": STRING, "sha256": DIGEST, "unique_tokens": _count, "unique_bytes": _count, "tokenizer": STRING,
             "order": STRING, "validation_sha256": DIGEST, "epochs": REAL},
    "environment": {"cpu": STRING, "features": STRINGS, "threads": _count, "device": STRING, "os": STRING,
                    "libraries": VERSIONS, "memory_bytes": _count},
}
INPUTS = ("counted", "documents", "positions")  # of a slice, beside its tokens; all else was logged
NEEDED = {"trainer": '{"name": "my-trainer"}', "seeds": '{"init": 1, "data": 1}'}


def _section(section, given):
    """A part of the receipt with its fields checked, because a reader refuses what it does not know."""
    if given is None:
        return None
    checked, place = {}, section
    try:
        for key, value in OPEN(given).items():
            place, check = f"{section}.{key}", SECTIONS[section].get(key)
            if check is None:
                known = ", ".join(SECTIONS[section])
                raise Unwritable(f"a receipt has no such field; there are {known}, and `extra` has room")
            value = None if value is None else check(value)
            if value not in (None, {}, []):
                checked[key] = json.loads(canonical(value))
        if section == "trainer" and "name" not in checked:
            raise Unwritable("expected a `name`")
    except (TypeError, ValueError) as error:
        raise Unwritable(f"{place}: {error}") from None
    return checked


def _line_of(path, name):
    """What follows `name` and a colon in the first such line of a file of the system."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
    except OSError:
        return None


def _environment(given):
    """The machine as it is found; what is given wins. Libraries are looked at where they are loaded already."""
    loaded = {name: sys.modules[name] for name in ("torch", "numpy", "jax", "tensorflow", "mlx") if name in sys.modules}
    torch = loaded.get("torch")
    memory = (_line_of("/proc/meminfo", "MemTotal") or "").partition(" ")[0]
    found = {
        "cpu": _line_of("/proc/cpuinfo", "model name") or platform.processor() or None,
        "os": f"{platform.system().lower()} {platform.machine()}",
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": int(memory) * 1024 if memory.isdigit() else None,
        "libraries": {name: str(getattr(module, "__version__", "unknown")) for name, module in loaded.items()},
    }
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        found["threads"] = int(os.environ["OMP_NUM_THREADS"])
    found["libraries"]["python"] = platform.python_version()
    if not set(loaded) - {"torch", "numpy"}:
        found["device"] = "cpu"
    if torch is not None:
        found["threads"] = torch.get_num_threads()
        if torch.cuda.is_initialized():
            found["device"] = torch.cuda.get_device_name()
        elif getattr(torch.backends, "mps", None) and torch.backends.mps.is_available():
            found.pop("device", None)  # it may be either: the trainer has to say
    return _section("environment", {**found, **(given or {})})


# --- Files ---

class _Lines:
    """A file that grows by whole lines. It is made with its first line: an absent part is an absent file."""

    def __init__(self, path):
        self.path, self.descriptor = path, None
        # What is written and known to be: length, digest, chain. One value, so that no interrupt parts them.
        self.written = (0, hashlib.sha256(), "")

    def append(self, line, chain=""):
        """Adds a line, or leaves no more than a torn one that the next line replaces."""
        if len(line) > LINE_CAP:
            raise Unwritable(f"a line of {len(line)} bytes, more than {LINE_CAP}")
        if self.descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self.descriptor = os.open(self.path, flags, 0o666)
        self.cut()
        left = memoryview(line)
        while left:
            left = left[os.write(self.descriptor, left):]
        size, digest, _ = self.written
        digest = digest.copy()
        digest.update(line)
        self.written = (size + len(line), digest, chain)

    def cut(self):
        """Takes away what a write that failed has left."""
        if os.fstat(self.descriptor).st_size > self.written[0]:
            os.ftruncate(self.descriptor, self.written[0])

    def settle(self):
        """Makes the lines durable; a file that got none goes."""
        if self.descriptor is None:
            return
        self.cut()
        os.fsync(self.descriptor)
        if not self.written[0]:
            os.close(self.descriptor)
            self.descriptor = self.path.unlink()


def _sync_folder(path):
    if os.name != "nt":  # there folders cannot be opened
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sha256(chunks):
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _quiet(method):
    """Runs a method of a run on rank 0; what goes wrong is said once and listed, never raised."""
    @functools.wraps(method)
    def call(self, *arguments, **named):
        if self._idle or os.getpid() != self._process:  # a forked worker is no writer
            return None
        name, thread = method.__name__.lstrip("_"), threading.get_ident()
        if self._writer == thread:  # a signal's handler, in the middle of a line
            return self._problem(name, Unwritable("called inside another call"))
        with self._lock:
            self._writer = thread
            try:
                if self._bundle is not None:
                    raise Unwritable("the run is finished")
                return method(self, *arguments, **named)
            except Exception as error:
                return self._problem(name, error)
            finally:
                self._writer = None
    return call


class Run:
    """A run that is being written; `init` makes it."""

    def __init__(self, folder, head, arithmetic=None, environment=None, extra=None, idle=False):
        self._folder, self._head, self._arithmetic = folder, head, arithmetic
        self._environment, self._extra, self._idle = environment, extra or {}, idle
        self._process, self._lock, self._writer = os.getpid(), threading.Lock(), None
        self._problems, self._files, self._bundle = {}, {}, None
        self._checkpoints, self._slices = {}, []
        self._config, self._closing = {}, []  # the config, and what is called before the end
        if not idle:
            self._metrics, self._timing = (_Lines(folder / "data" / f"{name}.jsonl") for name in ("metrics", "timing"))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.finish(finished=kind is None)

    @property
    def is_idle(self):
        """Whether nothing is written: on ranks other than 0, and where the folder could not be made."""
        return self._idle

    @property
    def config(self):
        """The config as it is written so far."""
        return dict(self._config)

    @_quiet
    def complete(self, fields):
        """Adds to the config what it does not say yet."""
        more = {name: value for name, value in fields.items() if name not in self._config}
        if more:
            self._document("data/config.json", {**self._config, **more})
            self._config.update(json.loads(canonical(more)))

    @_quiet
    def log(self, metrics, step, tokens=None):
        """Adds a record of training: its numbers, after `step` updates and so many tokens."""
        tokens = {} if tokens is None else {"tokens": tokens}
        record = self._record("log", {**metrics, **tokens, "step": _count(step)})
        record.pop("chain", None)
        bare = canonical(record)
        link = hashlib.sha256((self._metrics.written[2] + bare).encode()).hexdigest()
        self._metrics.append((canonical({**record, "chain": link}) + "\n").encode(), link)

    @_quiet
    def timing(self, values, step):
        """Adds wall-clock times, which are no part of what a replay compares."""
        record = self._record("timing", {**values, "step": _count(step)})
        self._timing.append((canonical(record) + "\n").encode())

    @_quiet
    def evaluation(self, step, *, nats, predicted_tokens, bytes, blocks=None, tokens_seen=None, block_bytes=None,
                   **more):
        """Writes what held-out text costs after `step` updates: the sum of nats over so many predicted tokens, which
        stand for so many bytes of text; `blocks` has the nats of each `block_bytes` of it. The mean and the bits of
        a byte follow from these."""
        computed = sorted({"loss", "bpb", "nonfinite", "step"} & set(more))
        if computed:
            raise Unwritable(f"{', '.join(computed)}: computed from the sums")
        nats, predicted_tokens, bytes = float(nats), _count(predicted_tokens), _count(bytes)
        record = {**more, "step": _count(step), "tokens_seen": tokens_seen, "predicted_tokens": predicted_tokens,
                  "bytes": bytes, "block_bytes": block_bytes}
        if math.isfinite(nats) and predicted_tokens and bytes:
            record.update(nats=nats, loss=nats / predicted_tokens, bpb=nats / (LN_2 * bytes), blocks=blocks)
        else:
            record["nonfinite"] = "inf" if math.isinf(nats) else "nan"
        name = f"data/evaluation/step-{record['step']:06}.json"
        self._document(name, self._record("evaluation", record))
        self._point(step, tokens_seen)["evaluation"] = name

    @_quiet
    def checkpoint(self, step, weights, optimizer=None, tokens_seen=None, keep=True, rng=None):
        """Saves or (`keep=False`) only hashes the tensors after `step` updates. `weights` has them by name, `optimizer`
        by the same names tables with `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq` or `momentum_buffer`, as PyTorch has
        them; `rng` says in words where randomness stands."""
        if "weights_sha256" in self._checkpoints.get(_count(step), {}):
            raise Unwritable(f"a second checkpoint of step {step}")
        tensors = dict(weights)
        for name, moments in (optimizer or {}).items():
            tensors.update({f"{MOMENTS[kind]}{name}": moment for kind, moment in moments.items() if kind in MOMENTS})
        metadata = {"arithmetic": self._arithmetic, "rng": rng, "step": _count(step)}
        metadata = {key: str(value) for key, value in metadata.items() if value is not None}
        file, name, digest = _TensorFile(tensors, metadata), f"data/checkpoints/step-{step:06}.safetensors", None
        if keep:
            try:
                digest = self._put(name, file.chunks())
                reason = None if file.finite else Unwritable("a weight that is not finite")
            except OSError as error:
                reason = error
            if reason:
                self._problem(f"checkpoint of step {step} is hashed and not kept", reason)
                self._drop(name)
                file, digest = _TensorFile(tensors, metadata), None
        kept = {"weights": name} if digest else {}
        digest = digest or _sha256(file.chunks())
        entry = {"weights_sha256": digest, "tensors_sha256": file.tensors_sha256.hexdigest()}
        self._point(step, tokens_seen).update(entry, **kept)
        for lines in (self._metrics, self._timing):
            lines.settle()

    @_quiet
    def slice(self, from_step, tokens, logged, tensors, seconds=None, checkpoint_step=None, stated=None):
        """Writes what another program needs to execute updates `from_step`, `from_step + 1`, ... again.

        `tokens` are the batches, [steps, batch, length + 1]; `logged` has by name what came out of each step, the
        first dimension being the steps: `loss`, `grad_norm`, `tensor_grad_norm`, `tensor_update_norm`, `tensor_norm`,
        `routed`, of micro-batches `micro_loss` and `micro_grad_norm`, and as `gradient.NAME` the gradients that were
        learned from; and of each place [steps, batch, length], where it is not as usual: as `counted` whether its target
        counts, as `documents` the number of the document whose tokens it sees (0 is padding), as `positions` where in
        that it stands. `tensors` has for each tensor, in sorted order, a pair of it before and after the slice, or a
        table with `sha256_after` and `update_norm`. The slice starts from the kept checkpoint of `from_step`. `stated`
        says how the updates were made, where no config does (`repro explain slices`)."""
        steps, stem = _outline(tokens)[2][0], f"data/slices/slice-{_count(from_step):06}"
        if any(entry["from_step"] == from_step for entry in self._slices):
            raise Unwritable(f"a second slice from step {from_step}")
        arrays = {"tokens": tokens, **{name if name in INPUTS or name.startswith("gradient.") else f"logged.{name}": value
                                       for name, value in logged.items()}}
        for name, value in arrays.items():
            if _outline(value)[2][:1] != [steps]:
                raise Unwritable(f"`{name}` of the shape {_outline(value)[2]} in a slice of {steps} steps")
        lines = ""
        for name, value in sorted(tensors.items()):
            if isinstance(value, tuple):
                after = hashlib.sha256(_elements(value[1])).hexdigest()
                value = {"sha256_after": after, "update_norm": _moved(*value)}
            lines += canonical({**value, "name": name}) + "\n"
        if checkpoint_step is None and "weights" in self._checkpoints.get(from_step, {}):
            checkpoint_step = from_step
        entry = {"from_step": from_step, "steps": steps, "file": f"{stem}.safetensors"}
        entry.update({} if checkpoint_step is None else {"checkpoint_step": _count(checkpoint_step)})
        entry.update({} if seconds is None else {"seconds": REAL(float(seconds))})
        file = _TensorFile(arrays)
        try:
            self._put(entry["file"], file.chunks())
            if not file.finite:
                raise Unwritable(f"a number that is not finite in the slice from step {from_step}")
            self._put(f"{stem}.tensors.jsonl", [lines.encode()])
            if stated is not None:
                self._document(f"{stem}.stated.json", stated)
        except Exception:
            self._drop(entry["file"])
            self._drop(f"{stem}.tensors.jsonl")
            raise
        self._slices.append(entry)

    def finish(self, finished=True):
        """Seals the folder and answers the digest of the bundle; None where it stays unfinished, or on other ranks.
        `finished=False` says that the run ended before its plan, as one that diverged does."""
        closing, self._closing = self._closing, []
        for close in closing:
            close()
        if self._bundle is None:
            self._finish(finished)
        return self._bundle

    @property
    def problems(self):
        """What could not be written so far."""
        return [text if count == 1 else f"{text} ({count} times)" for text, count in self._problems.items()]

    @_quiet
    def _finish(self, finished):
        files = self._payload()
        environment = self._environment
        try:
            environment = _environment(environment)
        except Exception as error:
            self._problem("environment", error)
        predicate = {
            **self._head,
            "files": [{"name": name, "bytes": size} for name, (size, _) in files.items()],
            "environment": environment,
            "checkpoints": [self._checkpoints[step] for step in sorted(self._checkpoints)],
            "slices": self._slices,
            "extra": {**self._extra, **({"emitter_problems": self.problems} if self._problems else {})},
        }
        predicate["run"] = {**predicate["run"], "finished": bool(finished)}
        statement = {
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "https://repro.example/receipt/v1",
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, (_, digest) in files.items()],
            "predicate": {key: value for key, value in predicate.items() if value not in (None, {}, [])},
        }
        self._document(RECEIPT, statement)
        files = dict(sorted({**files, RECEIPT: self._files.pop(RECEIPT)}.items()))
        for folder, _, _ in os.walk(self._folder / "data"):
            _sync_folder(folder)
        manifest = "".join(f"{digest}  {name}\n" for name, (_, digest) in files.items())
        oxum = f"Payload-Oxum: {sum(size for size, _ in files.values())}.{len(files)}\n"
        tags = dict(zip(TAGS, (oxum, DECLARATION, manifest)))
        tags[TAGS[3]] = "".join(f"{_sha256([text.encode()])}  {name}\n" for name, text in tags.items())
        for name in (TAGS[0], TAGS[2], TAGS[3]):
            self._put(name, [tags[name].encode()], listed=False)
        _sync_folder(self._folder)
        self._bundle = "sha256:" + _sha256([tags[TAGS[3]].encode()])
        try:
            self._put(TAGS[1], [DECLARATION.encode()], listed=False)
        finally:
            if not (self._folder / TAGS[1]).exists():
                self._bundle = None
        _sync_folder(self._folder)

    def _payload(self):
        """Sizes and digests of all files, read back; anything that is not as it was written stays in the way."""
        files = dict(self._files)
        for lines in (self._metrics, self._timing):
            lines.settle()
            size, digest, _ = lines.written
            if size:
                files[f"data/{lines.path.name}"] = (size, digest.hexdigest())
        ours = {*files, *TAGS, RECEIPT}
        for folder, folders, names in os.walk(self._folder, topdown=False):
            for name in names:
                path = pathlib.Path(folder, name)
                name = path.relative_to(self._folder).as_posix()
                if name not in ours and name.endswith(PARTIAL):
                    path.unlink()
                elif name not in ours:
                    raise Unwritable(f"a file that the run did not write: {name}; move it away and finish again")
            if not os.listdir(folder):
                os.rmdir(folder)  # what was to lie there could not be written
        for name, (size, digest) in files.items():
            path = self._folder / name
            with open(path, "rb") as file:
                if _sha256(iter(lambda: file.read(1 << 20), b"")) != digest or os.fstat(file.fileno()).st_size != size:
                    raise Unwritable(f"{name} is not as it was written")
        return dict(sorted(files.items()))

    def _put(self, name, chunks, listed=True):
        """Writes a file in one step: it has all of its bytes, or it is not there. Answers its digest."""
        path, partial = self._folder / name, self._folder / (name + PARTIAL)
        path.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        try:
            with open(partial, "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            self._drop(name + PARTIAL)
            raise
        if listed:
            self._files[name] = (size, digest.hexdigest())
        return digest.hexdigest()

    def _drop(self, name):
        self._files.pop(name, None)
        try:
            (self._folder / name).unlink()
        except OSError:
            pass  # it was not there, or will be found when the bundle is made

    def _document(self, name, value):
        data = (canonical(value) + "\n").encode()
        if len(data) > DOCUMENT_CAP:
            raise Unwritable(f"a document of {len(data)} bytes, more than {DOCUMENT_CAP}")
        self._put(name, [data])

    def _record(self, what, values):
        """The members that can be written; what is not finite leaves its word, what is no value is a problem."""
        record, words = {}, []
        for key, value in values.items():
            try:
                text = None if value is None else canonical({key: value}, words, 1)
            except Exception as error:
                self._problem(f"{what}, `{key}` left out", error)
                continue
            if text is not None:
                record.update(json.loads(text))
        if words:
            record.setdefault("nonfinite", words[0])
        return record

    def _point(self, step, tokens_seen):
        point = self._checkpoints.setdefault(operator.index(step), {"step": operator.index(step)})
        if tokens_seen is not None:
            point["tokens_seen"] = _count(tokens_seen)
        return point

    def _problem(self, what, error):
        """Lists a failure, and says it where it is new. The text names no folder of this machine."""
        reason = getattr(error, "strerror", None) or (
            str(error) if isinstance(error, Unwritable) else f"{type(error).__name__}: {error}")
        text = f"{what}: {reason}".encode("utf-8", "replace").decode()[:500]
        if len(self._problems) >= PROBLEM_CAP and text not in self._problems:
            text = "further problems"
        self._problems[text] = self._problems.get(text, 0) + 1
        if self._problems[text] == 1:
            try:
                sys.stderr.write(f"repro_receipts: {text}\n")
                sys.stderr.flush()
            except Exception:
                pass  # stderr is gone; the receipt still lists it


def _rank(rank):
    """The rank of this process: as given, or as launchers say; one process is rank 0."""
    named = (os.environ.get(name, "") for name in RANKS)
    return operator.index(rank) if rank is not None else next((int(text) for text in named if text.isdigit()), 0)


def _head(name, dir, sections, names, config, extra):
    """What a receipt begins with; all that cannot stand there is refused at once."""
    reasons, head = [], {}
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", name) \
            or name.lower().endswith(tuple(OPAQUE.split())):
        reasons.append(f"name: expected letters, digits, `.`, `_` and `-`, found {name!r}")
    if dir is None:
        reasons.append("dir: expected the folder in which that of the run is made")
    if sys.byteorder != "little":
        reasons.append("the tensors of this machine have their most significant byte first")
    for section, value in (("config", config), ("extra", extra or {})):
        try:
            canonical(OPEN(value))
        except (TypeError, ValueError) as error:
            reasons.append(f"{section}: {error}")
    reasons += [f"{section}: expected a table, such as {NEEDED[section]}" for section in NEEDED
                if sections[section] is None]
    for section, value in sections.items():
        try:
            head[section] = _section(section, value)
        except Unwritable as error:
            reasons.append(str(error))
    head.update(schema="repro.receipt/1", origin="emitted", run={})
    for key, value in names.items():
        try:
            head["run"].update({} if value is None else {key: STRING(value)})
        except Unwritable as error:
            reasons += [f"{key}: {error}"] if key != "id" else []
    if reasons:
        raise Unwritable("; ".join(reasons))
    return head


def init(name=None, dir=None, config=None, trainer=None, seeds=None, model=None, data=None, contract=None, study=None,
         arm=None, environment=None, extra=None, rank=None):
    """Makes the folder DIR/NAME and answers the run that writes into it. Needed are all up to `seeds`."""
    if _rank(rank):
        return Run(None, None, idle=True)
    sections = {"trainer": trainer, "seeds": seeds, "model": model, "data": data, "contract": contract,
                "environment": environment}
    head = _head(name, dir, sections, {"id": name, "study": study, "arm": arm}, config, extra)
    extra = json.loads(canonical(extra or {}))  # as it is now, whatever becomes of the table
    environment = head.pop("environment")
    folder = pathlib.Path(dir) / name
    run = Run(folder, head, (head["trainer"] or {}).get("arithmetic"), environment, extra)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            state = "finished" if (folder / TAGS[1]).exists() else "unfinished"
            raise FileExistsError(f"{folder} holds a run already ({state}); take another name, or move it away")
        (folder / "data").mkdir()
        run._document("data/config.json", config)
        run._config = json.loads(canonical(config))
    except FileExistsError:
        raise
    except OSError as error:
        run._problem(f"{folder} cannot be written, and this run leaves no receipt", error)
        run._idle = True
    return run
