from __future__ import annotations

import enum
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.canonical import MAX_DEPTH, canonical

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def identity(value: Any) -> Any:
    """A slow plain version: a value with its kinds, comparable by `==` (NaN is one value, -0.0 is not 0.0)."""
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else struct.pack(">d", value))
    if isinstance(value, list):
        return ("list", tuple(map(identity, value)))
    if isinstance(value, dict):
        return ("dict", frozenset((key, identity(item)) for key, item in value.items()))
    return (type(value).__name__, value)


@pytest.mark.spec("R-K05")
@given(plain, plain)
def test_bytes_are_equal_exactly_for_equal_values(left: Any, right: Any) -> None:
    assert (canonical(left) == canonical(right)) == (identity(left) == identity(right))


@pytest.mark.spec("R-K04", "R-K05")
def test_values_that_look_alike_all_differ() -> None:
    alike: list[Any] = [
        True, 1, 1.0, "1", b"1", "True", [1], ["1"], {"1": 1}, None, "", "None", False, 0, 0.0, -0.0, [], {}, [[]], b"",
        ["ab", "c"], ["a", "bc"], ["abc"], ["a", ["bc"]], [1, 23], [12, 3], "é", "e\u0301", math.inf, -math.inf, math.nan,
    ]  # fmt: skip
    assert len({canonical(value) for value in alike}) == len(alike)


@pytest.mark.spec("R-K04")
def test_the_order_of_a_dict_does_not_matter() -> None:
    assert canonical({"a": 1, "b": {"x": 1, "y": 2}}) == canonical({"b": {"y": 2, "x": 1}, "a": 1})


def test_every_nan_is_one_value() -> None:
    odd_nan = struct.unpack(">d", b"\xff\xf8\x00\x00\x00\x00\x12\x34")[0]
    assert canonical(odd_nan) == canonical(math.nan)


def test_huge_integers_and_lone_surrogates_are_taken() -> None:
    assert canonical(10**10_000) != canonical(10**10_000 + 1)
    assert canonical("\ud800") != canonical("\ud801")


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize("value", [(1, 2), {1, 2}, Colour.RED, np.float64(1.0), np.int64(1), bytearray(b"x"), object()])
def test_unknown_kinds_are_refused_with_their_name(value: Any) -> None:
    with pytest.raises(TypeError, match=f"{type(value).__qualname__} cannot enter a key; use None, bool"):
        canonical(value)
    with pytest.raises(TypeError, match="cannot enter a key"):
        canonical([value])


def test_a_dict_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="a dict key of type int cannot enter a key; use text"):
        canonical({1: "a"})  # type: ignore[dict-item]


def test_nesting_without_end_is_refused() -> None:
    value: Any = []
    for _ in range(MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        canonical(value)
