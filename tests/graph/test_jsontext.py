"""JSON read strictly and written canonically, against the vectors that the page's reader and writer share."""

import json
import math
import re
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.jsontext import MAX_DEPTH, JsonError, is_deeper_than, number_text, read_json, write_json

VECTORS = json.loads((Path(__file__).parent / "json_vectors.json").read_text())


def from_bits(bits: str) -> float:
    return struct.unpack(">d", bytes.fromhex(bits))[0]


@pytest.mark.parametrize(("bits", "text"), VECTORS["numbers"])
def test_numbers_are_printed_as_ecmascript_prints_them(bits: str, text: str) -> None:
    assert number_text(from_bits(bits)) == text


@pytest.mark.parametrize(("units", "text"), VECTORS["strings"])
def test_strings_are_escaped_as_ecmascript_escapes_them(units: list[int], text: str) -> None:
    string = struct.pack(f"<{len(units)}H", *units).decode("utf-16-le")
    assert write_json(string) == text + "\n"
    assert read_json(text) == string


@pytest.mark.parametrize(("source", "canonical"), VECTORS["values"])
def test_values_are_laid_out_as_ecmascript_lays_them_out(source: str, canonical: str) -> None:
    assert write_json(read_json(source)) == canonical


@pytest.mark.spec("R-I02", "R-I03")
@pytest.mark.parametrize(("source", "code", "path", "position"), VECTORS["refused"])
def test_a_flaw_is_refused_with_its_place(source: str, code: str, path: str, position: str) -> None:
    with pytest.raises(JsonError) as caught:
        read_json(source)
    (flaw,) = caught.value.flaws
    assert (flaw.code, flaw.place) == (code, f"{path} ({position})" if path else position)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('{"a": 1,\n "a": 2}', 'The key "a" for the second time at a (line 2, column 2). Keep one of the two.'),
        ('{"a": NaN}', "NaN at a (line 1, column 7). Write a finite number; JSON has no such value."),
        ("[1e400]", "1e400, which is beyond the largest number, at [0] (line 1, column 2). Write a finite number."),
        (
            '{"seed": 9007199254740993}',
            "The integer 9007199254740993, which is beyond 2^53-1, at seed (line 1, column 10). "
            "Write a smaller number; other programs would round this one.",
        ),
        ('"\\udfff"', "A lone surrogate at line 1, column 1. Replace it: half of a surrogate pair is no character."),
        ("{,}", "No valid JSON (expecting property name enclosed in double quotes) at line 1, column 2. Mend the text there."),
        ("\ufeff1", "A byte order mark at line 1, column 1. Save the file as UTF-8 without one."),
        (b'{\n"a": "\xff"}', "Byte 0xff, which is not UTF-8, at line 2, column 7. Save the file as UTF-8."),
        ("{}".encode("utf-16"), "Byte 0xff, which is not UTF-8, at line 1, column 1. Save the file as UTF-8."),
        ("[" * 65 + "]" * 65, "Nesting of more than 64 levels at [0][0][0][0] (line 1, column 65). Flatten the value."),
    ],
)
def test_each_flaw_says_what_where_and_what_to_do(source: str | bytes, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        read_json(source)
    assert str(caught.value) == message


def test_all_flaws_of_a_text_are_told_at_once() -> None:
    with pytest.raises(JsonError) as caught:
        read_json('{"a": NaN, "a": [1e999, 9007199254740992], "b": "\\ud800"}')
    codes = ["not_finite", "duplicate_key", "not_finite", "integer_too_large", "lone_surrogate"]
    assert [flaw.code for flaw in caught.value.flaws] == codes


@pytest.mark.spec("R-I03")
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 1_000_000])
def test_deep_nesting_is_refused_without_recursion(depth: int) -> None:
    for source in ("[" * depth, "[" * depth + "]" * depth, '{"a":' * depth):
        with pytest.raises(JsonError):
            read_json(source)


def test_the_deepest_allowed_nesting_is_read_and_written() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    value = read_json(text)
    assert not is_deeper_than(value, MAX_DEPTH)
    assert read_json(write_json(value)) == value


@pytest.mark.spec("R-I02")
def test_an_integer_of_five_thousand_digits_is_refused_shortly() -> None:
    with pytest.raises(JsonError) as caught:
        read_json("[" + "9" * 5_000 + "]")
    assert len(str(caught.value)) < 200


KEYS = st.sampled_from(["a", "b", "a:", '"', '":', ' "', "\\", '\\":', "{"])
SPACES = st.sampled_from(["", " ", "\n\t "])


@st.composite
def objects(draw: st.DrawFn, depth: int = 3) -> str:
    """The text of an object whose keys may stand in it twice, and whose strings look like keys and their ends."""
    members = []
    for _ in range(draw(st.integers(0, 3))):
        value = draw(objects(depth - 1)) if depth and draw(st.booleans()) else json.dumps(draw(KEYS))
        members.append(f"{json.dumps(draw(KEYS))}{draw(SPACES)}:{draw(SPACES)}{value}")
    return "{" + ",".join(members) + "}"


@settings(max_examples=400, deadline=None)
@given(objects())
def test_a_key_that_stands_twice_is_refused_wherever_and_no_other_is(text: str) -> None:
    doubled: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in members]
        doubled.extend(key for key in set(keys) if keys.count(key) > 1)
        return dict(members)

    value = json.loads(text, object_pairs_hook=pairs)
    if not doubled:
        assert read_json(text) == value
        return
    with pytest.raises(JsonError) as caught:
        read_json(text)
    assert {flaw.code for flaw in caught.value.flaws} == {"duplicate_key"}


def test_a_million_double_keys_are_refused_in_a_short_message() -> None:
    with pytest.raises(JsonError) as caught:
        read_json("{" + ",".join(['"a":1'] * 200_000) + "}")
    assert len(caught.value.flaws) == 100


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [math.nan]}, "At a[0]: nan is not a finite number, and JSON has no other. Use a finite number."),
        ({"a": -math.inf}, "At a: -inf is not a finite number, and JSON has no other. Use a finite number."),
        ({"a": 2**53}, "At a: 9007199254740992 is beyond 2^53-1, where other programs round. Use a smaller number."),
        ({"a": 1e20}, "At a: 1e+20 is beyond 2^53-1, where other programs round. Use a smaller number."),
        ({"a": "\ud800"}, "At a: a lone surrogate, which is no character. Replace it."),
        ({1: 2}, "At : the key 1 is no string. Use a string."),
        ({"a": {3}}, "At a: a set is no JSON value. Use text, numbers, lists and objects."),
    ],
)
def test_what_would_not_be_read_again_is_not_written(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        write_json(value)


def test_nesting_beyond_the_limit_is_not_written() -> None:
    value: Any = []
    for _ in range(MAX_DEPTH):
        value = [value]
    with pytest.raises(ValueError, match="nesting of more than 64 levels"):
        write_json(value)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not 2**53 <= abs(x) < 1e21)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_what_is_written_is_read_as_the_same_value(value: Any) -> None:
    text = write_json(value)
    assert read_json(text) == value
    assert write_json(read_json(text.encode())) == text


@settings(max_examples=150, deadline=None)
@given(NUMBERS)
def test_a_number_text_means_the_same_number(number: float) -> None:
    assert float(number_text(number)) == number


@settings(max_examples=150, deadline=None)
@given(st.text() | st.binary() | st.text('[]{}",:0123456789eE.-aNItrufnl\\ \n', max_size=30))
def test_any_text_is_read_or_refused_with_a_reason(source: str | bytes) -> None:
    value, flaws = None, None
    try:
        value = read_json(source)
    except JsonError as error:
        flaws = error.flaws
    assert flaws or read_json(write_json(value)) == value


@pytest.mark.parametrize("end", ["", "\\"])
@pytest.mark.parametrize("filling", ['\\"', 'NaN,\\"', "a"])
def test_a_flawed_text_with_an_unended_string_takes_time_with_its_length_only(filling: str, end: str) -> None:
    """One pass over 128 KiB takes some milliseconds; a pass from each quote takes minutes."""
    text = '[NaN,"' + filling * (2**17 // len(filling)) + end
    started = time.process_time()
    with pytest.raises(JsonError) as caught:
        read_json(text)
    assert time.process_time() - started < 2
    assert caught.value.flaws[0].code == "not_finite"
