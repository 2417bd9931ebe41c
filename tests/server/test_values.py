"""Named outputs as JSON and as text."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from graph.types import Packed, TensorBytes, record, wire
from server.report import tell
from server.values import value_json, value_text


@record("Corner")
@dataclass(frozen=True)
class Corner:
    x: int
    y: float


@wire("Ribbon")
class Ribbon:
    nbytes, version = 4, 0

    def write(self) -> Packed:
        return Packed("Ribbon", {"colour": "red", "seal": b"1234"}, {"points": TensorBytes("F32", (1, 2), memoryview(bytes(8)))})

    @classmethod
    def read(cls, packed: Packed) -> Ribbon:
        return cls()

    def to(self, device: str) -> Ribbon:
        return self


@pytest.mark.parametrize("value", [None, True, 3, 2.5, "a", [1, [2]], {"a": [True]}])
def test_plain_values_are_themselves(value: object) -> None:
    assert value_json(value) == value


@pytest.mark.parametrize(("value", "text"), [(float("inf"), "inf"), (float("-inf"), "-inf"), (float("nan"), "nan")])
def test_a_number_that_is_not_finite_becomes_a_text(value: float, text: str) -> None:
    assert json.dumps(value_json([value]), allow_nan=False) == f'["{text}"]'


def test_records_and_tensors_are_told_by_type_fields_and_shape() -> None:
    assert value_json([Corner(1, 2.0), Ribbon()]) == [
        {"type": "Corner", "x": 1, "y": 2.0},
        {"type": "Ribbon", "colour": "red", "seal": {"bytes": 4}, "points": {"dtype": "F32", "shape": [1, 2]}},
    ]


def test_a_text_is_printed_bare_and_anything_else_as_json() -> None:
    assert (value_text("a b"), value_text([1, "é"]), value_text(2.5)) == ("a b", '[1, "é"]', "2.5")


def test_what_is_told_to_a_person_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tell("one\ntwo \x1b[2J \x9b1m")
    assert capsys.readouterr().err == "one\ntwo \\x1b[2J \\x9b1m\n"
