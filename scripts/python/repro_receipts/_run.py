"""A run that is being written."""
from __future__ import annotations

import contextlib
import json
import operator
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Type

from . import _evaluation as evaluations
from . import _names as names
from ._budget import FOLDERS, Budget, size_of
from ._files import ABANDONED, Folder, Lines, sha256, sync_folder
from ._found import (CONFIG, DECLARED, METRICS, RECEIPT, SCHEMA, STATE, SUMMARY, TAGS, TIMING, Found, Retelling, Told,
                     first_from, link)
from ._head import count, environment, real
from ._json import Unwritable, canonical, canonical_or_left_out, plain
from ._lock import LOCK, RunLock
from ._quiet import SEALED, Quiet, quiet, say
from ._tensors import MOMENTS, TensorFile, elements, moved, outline

DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
INPUTS = ("counted", "documents", "positions")  # of a slice, beside its tokens; all else was logged


class Run(Quiet):
    """A run that is being written; `init` creates it. No method raises: each problem is printed once on stderr and
    listed in the receipt under `extra.emitter_problems`; after `finish` it is only printed, and the bundle stays unchanged.
    On ranks other than 0 all methods do nothing."""

    def __init__(self, folder: Optional[pathlib.Path], head: Dict[str, Any], environment: Optional[Dict[str, Any]] = None,
                 extra: Optional[Dict[str, Any]] = None, max_mb: Optional[float] = None) -> None:
        super().__init__(idle=folder is None)
        self._budget = Budget(max_mb)
        self._unkept: Dict[int, int] = {}  # the bytes of the weights that the budget left out, by step
        self._folder = Folder(folder or pathlib.Path())
        self._head, self._environment, self._extra = head, environment, extra or {}
        self._checkpoints: Dict[int, Dict[str, Any]] = {}
        self._slices: List[Dict[str, Any]] = []
        self._config: Dict[str, Any] = {}
        self._closing: List[Callable[[], None]] = []  # what is called before the end
        self._metrics, self._timing = (Lines(self._folder.path / name) for name in (METRICS, TIMING))
        self._resumes: List[Dict[str, Any]] = []
        self._told: Optional[Retelling] = None
        self._remade: Set[int] = set()  # checkpoints from before a kill, which may be made again
        self._resliced: Set[int] = set()  # and slices
        self._timed: Optional[List[Told]] = None  # times from before a kill
        self._last_step: Optional[int] = None
        self._lock: Optional[RunLock] = None

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Any, trace: Any) -> None:
        self.finish(finished=kind is None)

    @property
    def path(self) -> pathlib.Path:
        """The folder of the run."""
        return self._folder.path

    @property
    def is_idle(self) -> bool:
        """Whether nothing is written: on ranks other than 0, or if the folder could not be created."""
        return self._idle

    @property
    def is_resumed(self) -> bool:
        """Whether this resumes a killed run."""
        return bool(self._resumes)

    @property
    def last_step(self) -> Optional[int]:
        """The step of the last record; None if there is none. After a resume, the last record that survived."""
        return self._last_step

    @property
    def first_batch(self) -> Dict[str, Any]:
        """The comparison of the first batch, also from before a kill; empty before it was made, or after the config changed."""
        is_same = not any({"config", "trainer"} & set(one.get("before", {})) for one in self._resumes)
        return dict(self._extra.get("first_batch", {})) if is_same else {}

    @property
    def config(self) -> Dict[str, Any]:
        """The config written so far."""
        return dict(self._config)

    # --- Beginning ---

    def _start(self, config: Mapping[str, Any]) -> None:
        """Starts in an empty folder."""
        (self.path / "data").mkdir(exist_ok=True)
        self._folder.document(CONFIG, config)
        self._config = plain(config)
        self._save()

    def _resume(self, found: Found, config: Dict[str, Any], before: Dict[str, Any]) -> None:
        """Resumes a killed run. `before` has the arguments that differed then."""
        state, number = found.state, len(found.state["resumes"]) + 1
        self._resumes = [*state["resumes"], {"records": len(found.metrics), "torn_bytes": found.torn_bytes,
                                             **({"before": before} if before else {})}]
        self._folder.aside = lambda name: f"{ABANDONED}/{number:03}/{name.partition('/')[2]}"
        self._problems = dict.fromkeys(state["problems"], 1)
        self._budget.left_out = list(state["extra"].get("left_out", {}).get("what", []))
        self._slices = state["slices"]
        for entry in state["checkpoints"]:
            entry.pop("evaluation", None)
            self._checkpoints[entry["step"]] = entry
        self._remade, self._resliced = set(self._checkpoints), {entry["from_step"] for entry in self._slices}
        for step, record in found.evaluations(self._folder).items():
            self._point(step, record.get("tokens_seen"))["evaluation"] = evaluations.file_of(step)
        for lines, told in ((self._metrics, found.metrics), (self._timing, found.timing)):
            if lines.path.exists():
                lines.reopen(told[-1].end if told else 0, told[-1].chain if told else "")
        self._told, self._timed = Retelling(found.metrics), found.timing
        self._last_step = found.metrics[-1].step if found.metrics else None
        self._config = {**found.config, **plain(config)}
        if self._config != found.config:
            self._folder.inherited.discard(CONFIG)  # what it was is told among the resumes
            self._folder.document(CONFIG, self._config)
        self._save()
        for name in found.leftovers:
            self._folder.drop(name)

    def _save(self) -> None:
        """Saves the state from which a killed run resumes."""
        points = [{key: value for key, value in self._checkpoints[step].items() if key != "evaluation"}
                  for step in sorted(self._checkpoints)]
        state = {"schema": SCHEMA, "head": {key: value for key, value in self._head.items() if value is not None},
                 "extra": self._extra, "checkpoints": [point for point in points if "weights_sha256" in point],
                 "slices": self._slices, "problems": list(self._problems), "resumes": self._resumes}
        self._folder.document(STATE, state, listed=False)

    def _keep(self) -> None:
        if self._config or self._lock:
            with contextlib.suppress(OSError, Unwritable):  # a full disk is told already
                self._save()

    # --- Records ---

    @quiet
    def _note(self, section: str, values: Mapping[str, Any]) -> None:
        """Adds to a section of the receipt's `extra` that resumes do not compare."""
        self._extra[section] = {**self._extra.get(section, {}), **plain(dict(values))}
        self._save()

    @quiet
    def complete(self, fields: Mapping[str, Any]) -> None:
        """Adds fields that the config does not have yet."""
        more = {name: value for name, value in fields.items() if name not in self._config}
        if more:
            self._folder.document(CONFIG, {**self._config, **more})
            self._config.update(plain(more))

    @quiet
    def change(self, fields: Mapping[str, Any]) -> None:
        """Changes the config; the receipt records the earlier values, and the step after which they changed."""
        new = plain(dict(fields))
        before = {name: self._config.get(name) for name in new if self._config.get(name) != new[name]}
        if before:
            self._folder.document(CONFIG, {**self._config, **new})
            self._config.update(new)
            changes = self._extra.setdefault("config_changes", [])
            changes.append({"after_step": self._last_step, "before": before})
            self._save()

    @quiet
    def log(self, metrics: Mapping[str, Any], step: int, tokens: Optional[int] = None) -> None:
        """Adds a training record after `step` updates and `tokens` tokens: numbers under any names, or nested dicts
        of them. A metric with the name of a record's own member (`step`, `chain`) and a different value is
        kept as `metric/step`. Values that are not finite are left out, and the record states it: `"nonfinite": "nan"`, and by
        name `"not_finite": {"loss": "nan"}`. After a resume, records that are logged again are not written twice."""
        own = {"step": count(step), "chain": None, **({} if tokens is None else {"tokens": tokens})}
        record = self._record("log", metrics, own)
        bare = canonical(record)
        if self._told is not None:
            self._told.begin(record["step"])
            left = self._told.left
            if left is not None:
                if left.chain == link(self._told.chain, bare):
                    self._told.tell()
                    return
                self._abandon_records()
        chain = link(self._metrics.chain, bare)
        self._metrics.append((canonical({**record, "chain": chain}) + "\n").encode(), chain)
        self._last_step = record["step"]

    @quiet
    def timing(self, values: Mapping[str, Any], step: int) -> None:
        """Adds wall-clock times, such as `seconds` since the last record, which a replay does not compare."""
        record = self._record("timing", values, {"step": count(step)})
        if self._timed is not None:
            self._retime(record["step"])
        self._timing.append((canonical(record) + "\n").encode())

    def _abandon_records(self) -> None:
        """Moves the results of a killed run to `data/abandoned` from the step at which the run now differs: states and
        evaluations first, and the records last, so that a further kill would find the difference again."""
        assert self._told is not None and self._told.left is not None
        left, before = self._told.left, self._told.chain
        for step in [step for step in self._checkpoints if step >= left.step]:
            self._abandon_point(step)
        for entry in [one for one in self._slices if one["from_step"] in self._resliced]:
            if entry["from_step"] + entry["steps"] >= left.step:
                self._slices.remove(entry)
                self._put_aside(entry["file"].rpartition(".")[0])
        self._save()
        self._move(self._metrics, METRICS, left.start, before)
        self._told.give_up()

    def _abandon_point(self, step: int) -> None:
        """Moves an evaluation and a checkpoint aside, unless they were made again already."""
        point = self._checkpoints[step]
        if point.get("evaluation") in self._folder.inherited:
            self._put_aside(point.pop("evaluation").rpartition(".")[0])
        if step in self._remade:
            self._remade.discard(step)
            if "weights" in point:
                self._put_aside(point.pop("weights").rpartition(".")[0])
            # Where weights were hashed and not kept, the digests are all there is.
            gone: Dict[str, Any] = {"step": step}
            gone.update({key: point.pop(key) for key in ("weights_sha256", "tensors_sha256") if key in point})
            self._resumes[-1].setdefault("abandoned", []).append(gone)
        if not {"evaluation", "weights_sha256"} & set(point):
            del self._checkpoints[step]

    def _put_aside(self, stem: str) -> None:
        """Moves files of one stem from before a kill aside."""
        for name in [name for name in self._folder.inherited if name.startswith(f"{stem}.")]:
            self._folder.put_aside(name)

    def _retime(self, step: int) -> None:
        """Keeps the times of the second execution of a step, and moves those of the first aside."""
        assert self._timed is not None
        first = first_from(self._timed, step)
        if first is not None:
            self._move(self._timing, TIMING, first.start, "")
        self._timed = None

    def _move(self, lines: Lines, name: str, start: int, chain: str) -> None:
        """Moves the end of a file aside. It is cut only after its copy is durable."""
        self._folder.put(self._folder.aside(name), [lines.path.read_bytes()[start:lines.written[0]]])
        lines.reopen(start, chain)

    # --- Evaluations ---

    @quiet
    def evaluation(self, step: int, metrics: Optional[Mapping[str, Any]] = None, *, nats: Optional[float] = None,
                   predicted_tokens: Optional[int] = None, bytes: Optional[int] = None,
                   blocks: Optional[Sequence[float]] = None, block_bytes: Optional[int] = None,
                   tokens_seen: Optional[int] = None, held_out: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Writes an evaluation after `step` updates: numbers under any names (`metrics`, or as keywords), or the loss on
        held-out text: the summed NLL (`nats`) over `predicted_tokens` tokens of `bytes` bytes of text; `blocks`
        has the nats of each block of `block_bytes`. The mean `loss`, and with bytes the bits per byte (`bpb`), follow. A
        second call for a step adds to the first. `held_out` states the files of the text (`Recorder.evaluation`). A number
        with the name of an evaluation's own member and a different value is kept as `metric/` and its name."""
        members = evaluations.sums(nats, predicted_tokens, bytes, blocks, block_bytes)
        own = {**(names.OF_SUMS if members else {}), **members, **({"held_out": plain(held_out)} if held_out else {}), "tasks": None}
        self._evaluate(step, {**(metrics or {}), **more}, own, tokens_seen)

    @quiet
    def task(self, step: int, task: str, correct: Optional[int] = None, n: Optional[int] = None, *,
             outcomes: Optional[Sequence[Any]] = None, baseline: Optional[float] = None, kind: str = "",
             tokens_seen: Optional[int] = None) -> None:
        """Writes the result of a task of the evaluation after `step` updates: `correct` of `n` items, or `outcomes`,
        whether each item was right, in order, from which they follow. `baseline` is the accuracy of guessing; `kind` is a
        word for the scoring method. The accuracy and the centered accuracy (`centered`) follow from the counts."""
        table, answers = (evaluations.file_of(count(step), ending) for ending in (".tasks.csv", ".outcomes.jsonl"))
        before = {name: self._read(name) for name in (table, answers)}
        tasks = evaluations.TaskTable(*before.values())
        tasks.add(str(task), kind, correct, n, outcomes, baseline, replaces=table in self._folder.inherited)
        files = {"table": table, **({"outcomes": answers} if tasks.outcomes else {})}
        for name, text in zip(files.values(), (tasks.table, tasks.outcomes)):
            if text != before[name]:
                self._folder.text(name, text, extends=text.startswith(before[name]))
        self._evaluate(step, {}, {"tasks": files}, tokens_seen)

    @quiet
    def summary(self, values: Mapping[str, Any]) -> None:
        """Writes numbers about the whole run, such as a best score; a later value replaces an earlier one."""
        known = evaluations.summary_of(self._read(SUMMARY))
        for name, value in values.items():
            try:
                known[name] = evaluations.decimal(value)
            except (TypeError, ValueError) as error:
                self._problem(f"summary, `{name}` left out", error)
        self._folder.text(SUMMARY, evaluations.summary_text(known))

    def _evaluate(self, step: int, metrics: Mapping[str, Any], own: Mapping[str, Any], tokens_seen: Optional[int]) -> None:
        """Adds metrics and the evaluation's own members to its document."""
        record = self._record("evaluation", metrics, {**own, "step": count(step), "tokens_seen": tokens_seen})
        name = evaluations.file_of(record["step"])
        known = json.loads(self._read(name) or "{}")
        self._extend(name, known, evaluations.merged(known, record, replaces=name in self._folder.inherited))
        self._point(step, tokens_seen)["evaluation"] = name

    def _extend(self, name: str, known: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        """Writes an evaluation with the members known so far."""
        if record != known:
            self._folder.document(name, record, extends=all(record[key] == value for key, value in known.items()))

    def _read(self, name: str) -> str:
        """A document that the run wrote, or nothing."""
        return (self.path / name).read_text("utf-8") if name in self._folder.files else ""

    def _evaluations_of_records(self) -> None:
        """Writes evaluations from metrics in records that have evaluation names."""
        if not self._metrics.path.exists():
            return
        with open(self._metrics.path, "rb") as lines:
            found = evaluations.of_records(lines)
        for step, members in found.items():
            name = evaluations.file_of(step)
            known = json.loads(self._read(name) or "{}")
            record = evaluations.later(members, known)
            for metric in evaluations.differing(members, known):
                self._problem(f"finish, `{metric}` at step {step}",
                              Unwritable("a record and the evaluation have different numbers"))
            self._extend(name, known, record)
            self._point(step, record.get("tokens_seen"))["evaluation"] = name

    # --- States ---

    @quiet
    def checkpoint(self, step: int, weights: Mapping[str, Any], optimizer: Optional[Mapping[str, Any]] = None,
                   tokens_seen: Optional[int] = None, keep: bool = True, rng: Optional[str] = None) -> None:
        """Saves or (`keep=False`) only hashes the tensors after `step` updates. `weights` has them by name, `optimizer`
        has dicts under the same names, with `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq` or `momentum_buffer` as in PyTorch;
        `rng` describes the random state in words. Everything written before is durable after it."""
        name = f"data/checkpoints/step-{count(step):06}.safetensors"
        known = self._checkpoints.get(step, {})
        if "weights_sha256" in known and step not in self._remade:
            raise Unwritable(f"a second checkpoint of step {step}")
        tensors = dict(weights)
        for tensor, moments in (optimizer or {}).items():
            tensors.update({f"{MOMENTS[kind]}{tensor}": moment for kind, moment in moments.items() if kind in MOMENTS})
        arithmetic = (self._head.get("trainer") or {}).get("arithmetic")
        given = {"arithmetic": arithmetic, "rng": rng, "step": step}
        metadata = {key: str(value) for key, value in given.items() if value is not None}
        file = TensorFile(tensors, metadata)
        if keep and not self.release(step) and not self._has_room(f"the weights of step {step}", size_of(tensors), name):
            self._unkept[step] = size_of(tensors)
            keep = False
        digest = self._kept(step, name, file) if keep else None
        if digest is None:
            file = TensorFile(tensors, metadata)
        entry: Dict[str, Any] = {"weights": name} if digest else {}
        entry.update(weights_sha256=digest or sha256(file.chunks()), tensors_sha256=file.tensors_sha256.hexdigest())
        point = self._point(step, tokens_seen)
        point.pop("weights", None)
        point.update(entry)
        self._remade.discard(step)
        for lines in (self._metrics, self._timing):
            lines.settle()
        self._save()

    @quiet
    def has_room(self, what: str, size: int) -> bool:
        """Whether `size` more bytes of tensors fit into the budget of the run (`max_mb` of `init`). If they do not, the receipt
        lists `what` as left out."""
        return self._has_room(what, size)

    @quiet
    def reserve(self, step: int, size: int) -> bool:
        """Reserves space for the start weights of a slice. If there is none, prints a message and lists the slice as left out."""
        if self._has_room(f"the slice from update {step}", size, is_asked=True):
            self._budget.reserved[step] = size
        return step in self._budget.reserved

    def release(self, step: int) -> bool:
        """Releases the space of a slice. Returns whether it had any."""
        return self._budget.reserved.pop(step, None) is not None

    def _has_room(self, what: str, size: int, name: str = "", is_asked: bool = False) -> bool:
        """The same for a file that may already exist, from before a kill."""
        kept = self._taken(name)
        if self._budget.admits(kept, size):
            return True
        self._leave_out(what, kept, size, is_asked)
        return False

    def _taken(self, name: str = "") -> int:
        """The bytes of the budget that are used or reserved, without those of a file."""
        kept = sum(bytes for file, (bytes, _) in self._folder.files.items() if file.startswith(FOLDERS) and file != name)
        return kept + sum(self._budget.reserved.values())

    def _leave_out(self, what: str, kept: int, size: int, is_asked: bool) -> None:
        self._budget.leave_out(what, kept, size, is_asked)
        self._extra["left_out"] = self._budget.told()
        self._save()

    def has_slice(self, from_step: int) -> bool:
        """Whether a slice that begins after so many updates was recorded."""
        return any(entry["from_step"] == from_step for entry in self._slices)

    def has_checkpoint(self, step: int) -> bool:
        """Whether the tensors after so many updates were saved or hashed."""
        return "weights_sha256" in self._checkpoints.get(step, {}) and step not in self._remade

    def _kept(self, step: int, name: str, file: TensorFile) -> Optional[str]:
        """Writes the tensors; if that fails, prints the reason and returns None."""
        reason: Exception
        try:
            digest = self._folder.put(name, file.chunks())
            if file.finite:
                return digest
            reason = Unwritable("a weight that is not finite")
        except OSError as error:
            reason = error
        self._problem(f"the checkpoint of step {step} is hashed but not kept", reason)
        self._folder.drop(name)
        return None

    @quiet
    def slice(self, from_step: int, tokens: Any, logged: Mapping[str, Any], tensors: Mapping[str, Any],
              seconds: Optional[float] = None, checkpoint_step: Optional[int] = None,
              stated: Optional[Mapping[str, Any]] = None) -> None:
        """Writes the data that another program needs to execute updates `from_step`, `from_step + 1`, ... again.

        `tokens` are the batches, [steps, batch, length + 1]; `logged` has the results of each step by name, with the
        steps as first dimension: `loss`, `grad_norm`, `tensor_grad_norm`, `tensor_update_norm`, `tensor_norm`,
        `routed`, for micro-batches `micro_loss` and `micro_grad_norm`, and as `gradient.NAME` the gradients that the
        optimizer received; and per position [steps, batch, length], unless it is the default: `counted` (whether the target
        counts), `documents` (the number of the document whose tokens it sees; 0 is padding), `positions` (the position in
        the document). `tensors` has for each tensor, in sorted order, a pair of its values before and after the slice, or a
        dict with `sha256_after` and `update_norm`. The slice starts from the kept checkpoint of `from_step`. `stated`
        describes how the updates were made, if the config does not (`repro explain slices`)."""
        steps, stem = outline(tokens)[2][0], f"data/slices/slice-{count(from_step):06}"
        others = [entry for entry in self._slices if entry["from_step"] != from_step]
        if len(others) < len(self._slices) and from_step not in self._resliced:
            raise Unwritable(f"a second slice from step {from_step}")
        arrays = {"tokens": tokens, **{name if name in INPUTS or name.startswith("gradient.") else f"logged.{name}": value
                                       for name, value in logged.items()}}
        for name, value in arrays.items():
            if outline(value)[2][:1] != [steps]:
                raise Unwritable(f"`{name}` of shape {outline(value)[2]} in a slice of {steps} steps")
        if from_step in self._unkept and checkpoint_step in (None, from_step):
            self._leave_out(f"the slice from update {from_step}", self._taken(), self._unkept[from_step], is_asked=True)
            return
        if checkpoint_step is None and "weights" in self._checkpoints.get(from_step, {}):
            checkpoint_step = from_step
        entry: Dict[str, Any] = {"from_step": from_step, "steps": steps, "file": f"{stem}.safetensors"}
        entry.update({} if checkpoint_step is None else {"checkpoint_step": count(checkpoint_step)})
        entry.update({} if seconds is None else {"seconds": real(seconds)})
        self._write_slice(stem, TensorFile(arrays), _tensor_lines(tensors), stated)
        self._slices = [*others, entry]
        self._resliced.discard(from_step)
        self._save()

    def _write_slice(self, stem: str, file: TensorFile, lines: str, stated: Optional[Mapping[str, Any]]) -> None:
        """Writes the files of a slice, all or none."""
        try:
            self._folder.put(f"{stem}.safetensors", file.chunks())
            if not file.finite:
                raise Unwritable(f"a number that is not finite in {stem.rpartition('/')[2]}")
            self._folder.put(f"{stem}.tensors.jsonl", [lines.encode()])
            if stated is not None:
                self._folder.document(f"{stem}.stated.json", stated)
        except Exception:
            self._folder.drop(f"{stem}.safetensors")
            self._folder.drop(f"{stem}.tensors.jsonl")
            raise

    # --- The end ---

    def before_finish(self, close: Callable[[], None]) -> None:
        """Registers a function to call before the folder is sealed: it may write what it has gathered."""
        if self.is_finished:
            self.problem("before_finish", Unwritable(SEALED))
        else:
            self._closing.append(close)

    def finish(self, finished: Optional[bool] = True) -> Optional[str]:
        """Seals the folder and returns the digest of the bundle; None if it stays unfinished, or on other ranks.
        `finished=False` records that the run ended before its plan, for example because it diverged; None records nothing."""
        if self._is_away:
            return None
        closing, self._closing = self._closing, []
        for close in closing:
            close()
        if self._bundle is None:
            self._finish(finished)
        return self._bundle

    @quiet
    def _finish(self, finished: Optional[bool]) -> None:
        if self._told is not None and self._told.left is not None:
            self._abandon_records()
        try:
            self._seal(finished)
        except BaseException:
            if self._bundle is None:
                # It may go on, and be killed.
                with contextlib.suppress(OSError, Unwritable):
                    self._save()
                    self._lock = self._lock or RunLock(self.path)
            raise

    def _seal(self, finished: Optional[bool]) -> None:
        for lines in (self._metrics, self._timing):
            lines.settle()
        self._evaluations_of_records()
        files = self._payload()
        self._folder.document(RECEIPT, self._statement(files, finished))
        files = dict(sorted({**files, RECEIPT: self._folder.files.pop(RECEIPT)}.items()))
        for folder in [path for path in (self.path / "data").rglob("*") if path.is_dir()] + [self.path / "data"]:
            sync_folder(folder)
        manifest = "".join(f"{digest}  {name}\n" for name, (_, digest) in files.items())
        oxum = f"Payload-Oxum: {sum(size for size, _ in files.values())}.{len(files)}\n"
        tags = dict(zip(TAGS, (oxum, DECLARATION, manifest)))
        tags[TAGS[3]] = "".join(f"{sha256([text.encode()])}  {name}\n" for name, text in tags.items())
        for name in (TAGS[0], TAGS[2], TAGS[3]):
            self._folder.put(name, [tags[name].encode()], listed=False)
        sync_folder(self.path)
        # From here on the receipt says what the state did.
        self._folder.drop(STATE)
        if self._lock is not None:
            self._lock.release(remove=True)
            self._lock = None
        self._bundle = "sha256:" + sha256([tags[TAGS[3]].encode()])
        try:
            self._folder.put(DECLARED, [DECLARATION.encode()], listed=False)
        finally:
            if not (self.path / DECLARED).exists():
                self._bundle = None
        for lines in (self._metrics, self._timing):
            lines.close()
        sync_folder(self.path)

    def _statement(self, files: Mapping[str, Any], finished: Optional[bool]) -> Dict[str, Any]:
        """The receipt in its envelope."""
        machine = self._environment
        try:
            machine = environment(machine)
        except Exception as error:
            self._problem("environment", error)
        if self._told is not None and self._told.again:
            self._resumes[-1]["told_again"] = self._told.again
        predicate = {
            **self._head,
            "files": [{"name": name, "bytes": size} for name, (size, _) in files.items()],
            "environment": machine,
            "checkpoints": [self._checkpoints[step] for step in sorted(self._checkpoints)],
            "slices": sorted(self._slices, key=lambda entry: int(entry["from_step"])),
            "extra": {**self._extra, **({"emitter_problems": self.problems} if self._problems else {}),
                      **({"resumes": self._resumes} if self._resumes else {})},
        }
        predicate["run"] = {**predicate["run"], **({} if finished is None else {"finished": bool(finished)})}
        return {
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "https://repro.example/receipt/v1",
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, (_, digest) in files.items()],
            "predicate": {key: value for key, value in predicate.items() if value not in (None, {}, [])},
        }

    def _payload(self) -> Dict[str, Any]:
        """Sizes and digests of all files, read back; raises if one differs from what was written."""
        files = dict(self._folder.files)
        for lines, name in ((self._metrics, METRICS), (self._timing, TIMING)):
            size, digest, _ = lines.written
            if size:
                files[name] = (size, digest.hexdigest())
        self._folder.sweep({*files, *self._folder.written.intersection((*TAGS, RECEIPT)), STATE, LOCK})
        self._folder.check(files)
        return dict(sorted(files.items()))

    def _record(self, what: str, metrics: Mapping[str, Any], own: Mapping[str, Any]) -> Dict[str, Any]:
        """Metrics next to the record's `own` members, as far as they can be written; of numbers that are not finite a word
        remains, and other values are problems."""
        told, renamed = names.apart(metrics, {**names.OF_ALL, **own})
        self._tell_names(renamed)
        record: Dict[str, Any] = {}
        not_finite: Dict[str, str] = {}
        for key, value in {**told, **own}.items():
            words: List[str] = []
            try:
                text = None if value is None else canonical_or_left_out({key: value}, words, 1)
            except Exception as error:
                self._problem(f"{what}, `{key}` left out", error)
                continue
            not_finite.update({key: word for word in words[:1]})
            if text is not None:
                record.update(json.loads(text))
        if not_finite:
            # An evaluation's word is that of its sums, or of the loss that stands for them.
            word = not_finite.get("loss") if what == "evaluation" else next(iter(not_finite.values()))
            record.update({} if word is None else {"nonfinite": word}, not_finite=not_finite)
        return record

    def _tell_names(self, renamed: Mapping[str, str]) -> None:
        """Prints, and records in the receipt, which metrics are kept under different names."""
        known = self._extra.get("renamed", {})
        new = {name: called for name, called in renamed.items() if name not in known}
        for name, called in new.items():
            way = ", the argument `step`" if called == "step" else ""
            say(f"the metric `{called}` is kept as `{name}`: records have their own `{called}`{way}")
        if new:
            self._extra["renamed"] = {**known, **new}
            self._keep()

    def _point(self, step: int, tokens_seen: Optional[int]) -> Dict[str, Any]:
        point = self._checkpoints.setdefault(operator.index(step), {"step": operator.index(step)})
        if tokens_seen is not None:
            point["tokens_seen"] = count(tokens_seen)
        return point


def _tensor_lines(tensors: Mapping[str, Any]) -> str:
    """Digests of tensors after a slice, and their update norms."""
    lines = ""
    for name, value in sorted(tensors.items()):
        if isinstance(value, tuple):
            after = sha256([elements(value[1])])
            value = {"sha256_after": after, "update_norm": moved(*value)}
        lines += canonical({**value, "name": name}) + "\n"
    return lines
