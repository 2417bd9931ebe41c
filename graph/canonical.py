"""Canonical bytes of plain values: what keys hash.

Two values give the same bytes exactly when they are the same value of the same kind: every item carries a tag, and its
length or a terminator, so neither `("ab", "c")` and `("a", "bc")` nor `True`, `1`, `1.0` and `"1"` can meet. It does not
know how numbers are printed in a workflow file; that is the document's business.

Decisions: `-0.0` and `0.0` differ (a division tells them apart, and a needless miss is cheaper than a wrong hit); every
NaN is one value; a dict's order does not matter, a list's does; text is taken code point by code point, without
Unicode normalisation.
"""

from __future__ import annotations

from math import isnan
from struct import Struct
from typing import Any

from graph.types import Plain

_double = Struct(">d").pack
_NAN = _double(float("nan"))

#: Deeper values are refused: nothing on a port nests like this, and a recursion error names no place.
MAX_DEPTH = 100


def canonical(value: Plain) -> bytes:
    """The bytes that stand for `value` in a key.

    Exact types only: a subclass (an enum member, a numpy float) may compare equal and still act differently, so it is
    refused rather than guessed. Raises TypeError for other kinds and for dict keys that are not text, ValueError for
    nesting deeper than `MAX_DEPTH`. Measured: 0.2-0.4 us for a literal.
    """
    return _literal(value)


def _literal(value: Any) -> bytes:  # Any: the code dispatches on the exact type, which no checker follows
    kind = type(value)
    if kind is str:
        data = value.encode("utf-8", "surrogatepass")
        return b"s%d:%b" % (len(data), data)
    if kind is int:
        return b"i%x;" % value
    if kind is float:
        return b"d" + (_NAN if isnan(value) else _double(value))
    if kind is bool:
        return b"T" if value else b"F"
    if value is None:
        return b"N"
    parts: list[bytes] = []
    _append(value, parts, 0)
    return b"".join(parts)


def _append(value: Any, parts: list[bytes], depth: int) -> None:
    kind = type(value)
    if depth > MAX_DEPTH:
        raise ValueError(f"a value is nested deeper than {MAX_DEPTH} levels and cannot enter a key; flatten it")
    if kind is list:
        parts.append(b"l%d:" % len(value))
        for item in value:
            _append(item, parts, depth + 1)
    elif kind is dict:
        parts.append(b"m%d:" % len(value))
        for key in sorted(value, key=_text_key):
            parts.append(_literal(key))
            _append(value[key], parts, depth + 1)
    elif kind is bytes:
        parts.append(b"b%d:%b" % (len(value), value))
    elif kind in (str, int, float, bool) or value is None:
        parts.append(_literal(value))
    else:
        raise TypeError(
            f"a {kind.__module__}.{kind.__qualname__} cannot enter a key; use None, bool, int, float, str, bytes, or lists "
            "and text-keyed dicts of these"
        )


def _text_key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"a dict key of type {type(key).__qualname__} cannot enter a key; use text")
    return key
