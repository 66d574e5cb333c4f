"""Evaluations: the loss on held-out text, right answers by task, numbers by name, and evaluation metrics in records."""
from __future__ import annotations

import csv
import io
import json
import math
import operator
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ._head import count
from ._json import Unwritable, canonical

LN_2 = 0.6931471805599453
COLUMNS = ("task", "type", "n", "correct", "accuracy", "baseline", "centered")
# A metric whose name has one of these words is of an evaluation, for `repro import` too.
WORDS = {"eval", "val", "valid", "validation", "test", "dev", "metrics"}
STEPS_CAP = 4096  # of records that become evaluations


def file_of(step: int, ending: str = ".json") -> str:
    """The file of the evaluation after this many updates, or one next to it."""
    return f"data/evaluation/step-{step:06}{ending}"


def sums(nats: Any, predicted_tokens: Any, bytes: Any, blocks: Any, block_bytes: Any) -> Dict[str, Any]:
    """The loss on a text: sums, and the ratios that follow from them."""
    if nats is None:
        given = [name for name, value in (("predicted_tokens", predicted_tokens), ("bytes", bytes), ("blocks", blocks))
                 if value is not None]
        if given:
            raise Unwritable(f"{', '.join(given)} without `nats`, the summed cross-entropy of all tokens")
        return {}
    if predicted_tokens is None:
        raise Unwritable("`nats` without `predicted_tokens`, the number of tokens in the sum")
    nats, predicted_tokens = float(nats), count(predicted_tokens)
    record: Dict[str, Any] = {"predicted_tokens": predicted_tokens, "block_bytes": block_bytes}
    if bytes is not None:
        record["bytes"] = count(bytes)
    if not (math.isfinite(nats) and predicted_tokens and record.get("bytes", 1)):
        return {**record, "nonfinite": "inf" if math.isinf(nats) else "nan"}
    record.update(nats=nats, loss=nats / predicted_tokens, blocks=blocks)
    if bytes is not None:
        record["bpb"] = nats / (LN_2 * record["bytes"])
    return record


def merged(known: Mapping[str, Any], more: Mapping[str, Any], replaces: bool) -> Dict[str, Any]:
    """An evaluation with further numbers. A different value for an existing number is rejected, unless it `replaces` one
    from before a kill."""
    joined = {"tasks": {**known.get("tasks", {}), **more.get("tasks", {})},
              "nonfinite": known.get("nonfinite", more.get("nonfinite"))}
    other = [name for name in differing(known, more) if name not in joined]
    if other and not replaces:
        raise Unwritable(", ".join(f"a second value of `{name}` at step {more['step']}" for name in other))
    return {**later(known, more), **{name: value for name, value in joined.items() if value}}


class TaskTable:
    """Right answers by task, as a table of one evaluation, and the outcome of each item if given."""

    def __init__(self, table: str = "", outcomes: str = "") -> None:
        self._rows: Dict[str, List[str]] = {row[0]: row for row in list(csv.reader(io.StringIO(table)))[1:]}
        self._lines: Dict[str, str] = {json.loads(line)["task"]: line for line in outcomes.splitlines()}

    def add(self, task: str, kind: str, correct: Optional[int], n: Optional[int], outcomes: Optional[Sequence[Any]],
            baseline: Optional[float], replaces: bool) -> None:
        """Adds a task; its counts follow from its outcomes if they are given."""
        if outcomes is not None:
            answers = [bool(operator.index(bool(answer))) for answer in outcomes]
            told = (sum(answers), len(answers))
            if (correct, n) not in ((None, None), told):
                raise Unwritable(f"{correct} of {n} are stated as right, but {told[0]} of {told[1]} outcomes are")
            correct, n = told
            self._lines[task] = canonical({"bits": _bits(answers), "n": n, "task": task})
        if correct is None or n is None:
            raise Unwritable(f"task {task}: expected `correct` and `n`, or `outcomes`")
        if not 0 <= count(correct) <= count(n) or n == 0:
            raise Unwritable(f"task {task}: {correct} right answers of {n}")
        accuracy = correct / n
        chance = [] if baseline is None else [canonical(float(baseline)),
                                              canonical((accuracy - baseline) / (1 - baseline))]
        row = [task, kind, str(n), str(correct), canonical(accuracy), *(chance or ["", ""])]
        if not replaces and self._rows.get(task, row) != row:
            raise Unwritable(f"a second result of the task {task}")
        self._rows[task] = row

    @property
    def table(self) -> str:
        """The text of the table."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([list(COLUMNS), *self._rows.values()])
        return text.getvalue()

    @property
    def outcomes(self) -> str:
        """The lines of the outcomes, in the order of the table."""
        return "".join(f"{self._lines[task]}\n" for task in self._rows if task in self._lines)


def _bits(answers: Sequence[bool]) -> str:
    """One bit an item in hexadecimal, the first item in the highest."""
    digits = -(-len(answers) // 4)
    text = "".join("1" if answer else "0" for answer in answers).ljust(4 * digits, "0")
    return f"{int(text, 2):0{digits}x}"


def _is_of_evaluation(name: str) -> bool:
    return not WORDS.isdisjoint(re.split("[^a-z]+", name.lower()))


def _is_number(value: Any) -> bool:
    """Whether a member of a record is a number; numbers beyond 2^53 are stored as text."""
    if isinstance(value, str):
        return re.fullmatch(r"-?\d{16,}", value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def of_records(lines: Iterable[bytes]) -> Dict[int, Dict[str, Any]]:
    """By step, the metrics of training records that have evaluation names, and the words of those that
    are not finite; the last of each."""
    found: Dict[int, Dict[str, Any]] = {}
    for line in lines:
        record = json.loads(line)
        members = {name: value for name, value in record.items() if _is_of_evaluation(name) and _is_number(value)}
        words = {name: word for name, word in record.get("not_finite", {}).items() if _is_of_evaluation(name)}
        if members or words:
            tokens = {"tokens_seen": record["tokens"]} if isinstance(record.get("tokens"), int) else {}
            before = found.get(record["step"], {"step": record["step"]})
            found[record["step"]] = later(before, {**members, **tokens, **({"not_finite": words} if words else {})})
    return {step: found[step] for step in sorted(found)[-STEPS_CAP:]}


def later(before: Mapping[str, Any], now: Mapping[str, Any]) -> Dict[str, Any]:
    """An evaluation with the later of two values of each number; a value is a number, or the word of one that is not finite."""
    words = {**{name: word for name, word in before.get("not_finite", {}).items() if name not in now},
             **now.get("not_finite", {})}
    values = {**{name: value for name, value in before.items() if name not in words}, **now}
    return {**values, "not_finite": words} if words else {key: values[key] for key in values if key != "not_finite"}


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> List[str]:
    """The numbers with different values in two evaluations of a step; the word of one that is not finite is a value."""
    was, is_now = ({**values, **values.get("not_finite", {})} for values in (one, other))
    return [name for name in is_now if name in was and was[name] != is_now[name] and name not in ("not_finite", "nonfinite")]


def decimal(value: Any) -> str:
    """A number in the form of a table, which needs no text for numbers beyond 2^53."""
    text = canonical(value)
    if isinstance(value, str) or not isinstance(json.loads(text.strip('"')), (int, float)):
        raise Unwritable(f"expected a number, found {value!r}")
    return text.strip('"')


def summary_text(values: Mapping[str, str]) -> str:
    """Numbers about the whole run, as a table."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("metric", "value"), *values.items()])
    return text.getvalue()


def summary_of(table: str) -> Dict[str, str]:
    """The numbers of such a table."""
    return {name: value for name, value in list(csv.reader(io.StringIO(table)))[1:]}
