"""Canonical JSON (RFC 8785), the format of all documents in a bundle."""
from __future__ import annotations

import json
import math
from typing import Any, List, Optional

EXACT = 1 << 53  # every integer up to here is the same in every reader of JSON
DEPTH_CAP = 60  # `repro verify` reads 64 levels; four of them go to the envelope


class Unwritable(ValueError):
    """A value that is invalid in a receipt."""


def _float(value: float) -> str:
    """The text of a finite float as in ECMAScript: Python's digits in a different layout."""
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


def text_of(value: str) -> str:
    """A string as JSON; strings that UTF-8 cannot encode have no canonical text."""
    try:
        str.encode(value, "utf-8")
    except UnicodeEncodeError:
        raise Unwritable("a string with half a surrogate pair") from None
    return json.dumps(str.__str__(value), ensure_ascii=False)


def word_of(value: float) -> str:
    """The word for a float that is not finite."""
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _elements(value: Any) -> Any:
    """The number, or list of numbers, in a PyTorch or NumPy value."""
    try:
        return value.item()
    except (TypeError, ValueError, RuntimeError):  # of more than one, or of none
        if hasattr(value, "tolist"):
            return value.tolist()
        raise


def canonical_or_left_out(value: Any, words: Optional[List[str]] = None, depth: int = 0) -> Optional[str]:
    """The canonical text of a value. Where `words` is a list, a member that is not finite is left out and its
    word added to the list: such a member answers None. Otherwise it is refused."""
    if depth > DEPTH_CAP:
        raise Unwritable(f"more than {DEPTH_CAP} levels")
    if not isinstance(value, (str, int, float, dict, list, tuple)) and hasattr(value, "item"):
        value = _elements(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, int):
        text = int.__repr__(value)
        return text if abs(value) <= EXACT else f'"{text}"'
    if isinstance(value, float):
        if math.isfinite(value):
            text = _float(value)
            return text if abs(value) <= EXACT or abs(value) >= 1e21 else f'"{text}"'
        if words is None:
            raise Unwritable(f"a number that is not finite ({word_of(value)})")
        words.append(word_of(value))
        return None
    if isinstance(value, (list, tuple)):
        items = [canonical_or_left_out(item, words, depth + 1) for item in value]
        return None if None in items else "[" + ",".join(item for item in items if item is not None) + "]"
    if isinstance(value, dict):
        members = []
        for key, item in value.items():
            if not isinstance(key, str):
                raise Unwritable(f"a key that is not a string: {key!r}")
            members.append((text_of(key), key, canonical_or_left_out(item, words, depth + 1)))
        members.sort(key=lambda member: member[1].encode("utf-16-be"))
        return "{" + ",".join(f"{text}:{item}" for text, _, item in members if item is not None) + "}"
    raise Unwritable(f"a value of type {type(value).__name__}")


def canonical(value: Any) -> str:
    """The canonical text of a value (RFC 8785). Raises `Unwritable` for what has none: a number that is not finite,
    half a surrogate pair, a key that is no string, more than 60 levels, any other type."""
    text = canonical_or_left_out(value)
    assert text is not None  # only where `words` are collected is anything left out
    return text


def plain(value: Any) -> Any:
    """A value as it reads back from its canonical text."""
    return json.loads(canonical(value))
