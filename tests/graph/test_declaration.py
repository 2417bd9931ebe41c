"""Wrong declarations are refused at registration, each with its fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import pytest

from graph.context import Context
from graph.errors import DeclarationError
from graph.node import node
from graph.registry import Registry
from graph.spec import Choice, File, Range, Seed

T = TypeVar("T")


def refusal(function: Callable[..., Any], **options: Any) -> str:
    with pytest.raises(DeclarationError) as caught:
        Registry.of(node(**{"title": "Tone", "version": 1, **options})(function))
    return str(caught.value).split("): ", 1)[1]


def tone(ctx: Context, value: int) -> int:
    return value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"title": " "}, 'title is empty; write what the node is called, title="..."'),
        ({"version": 0}, "version is 0; start at 1"),
        ({"devices": 0}, "devices is 0; a node takes at least 1"),
        (
            {"light": True, "effect": True},
            "it is light and an effect; planning evaluates light nodes, so an effect cannot be one",
        ),
        (
            {"light": True, "place": "device"},
            "it is light and runs on a device; planning has no device, so drop light=True or the recipe input",
        ),
        ({"persist": True, "light": True}, "persist=True is for heavy nodes without effects; drop it"),
    ],
)
def test_contradicting_options_are_refused(options: dict[str, Any], message: str) -> None:
    assert refusal(tone, **options) == message


def range_on_text(ctx: Context, value: Annotated[str, Range(0, 1)]) -> int: ...
def range_upside_down(ctx: Context, value: Annotated[int, Range(5, 1)]) -> int: ...
def range_of_step_zero(ctx: Context, value: Annotated[float, Range(0, 1, step=0)]) -> int: ...
def default_outside(ctx: Context, value: Annotated[int, Range(1, 200)] = 0) -> int: ...
def default_of_other_type(ctx: Context, value: int = "20") -> int: ...
def default_bool_for_int(ctx: Context, value: int = True) -> int: ...
def default_infinite(ctx: Context, value: float = float("inf")) -> int: ...
def default_not_offered(ctx: Context, value: Annotated[str, Choice(("a", "b"))] = "c") -> int: ...
def choice_of_nothing(ctx: Context, value: Annotated[str, Choice(())]) -> int: ...
def seed_on_float(ctx: Context, value: Annotated[float, Seed()] = 0.0) -> int: ...
def seed_below_zero(ctx: Context, value: Annotated[int, Seed()] = -1) -> int: ...
def file_with_default(ctx: Context, value: Annotated[str, File()] = "a.png") -> int: ...
def default_list_of_objects(ctx: Context, value: list[int] = [object()]) -> int: ...
def generic_from_nothing(ctx: Context, value: int) -> T: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (range_on_text, "input value has a Range and takes text; a Range is for int and float"),
        (range_upside_down, "input value has the Range 5 to 1; the low end comes first"),
        (range_of_step_zero, "input value has a Range with step 0; it must be above 0"),
        (default_outside, "input value has the default 0, outside its Range of 1 to 200; change one of them"),
        (default_of_other_type, "input value takes int and has the default '20'; write a int, or `| None = None`"),
        (default_bool_for_int, "input value takes int and has the default True; write a int, or `| None = None`"),
        (default_infinite, "input value has the default inf; JSON has finite numbers only"),
        (default_not_offered, 'input value has the default "c", which is none of a, b; change one of them'),
        (choice_of_nothing, "input value has a Choice of nothing; name the options"),
        (seed_on_float, "input value has a Seed and takes float; a Seed is an int"),
        (seed_below_zero, "input value has the default -1; a Seed is 0 to 9007199254740991"),
        (
            file_with_default,
            "input value is a File and has a default; a file is given by the workflow, so leave the default out or make it `| None = None`",
        ),
        (generic_from_nothing, "output value is generic and no input has its type letter; use the type it has"),
    ],
)
def test_wrong_ports_are_refused_with_the_fix(function: Callable[..., Any], message: str) -> None:
    assert refusal(function) == message


def test_a_default_json_cannot_hold_is_refused() -> None:
    assert "which JSON cannot hold" in refusal(default_list_of_objects)


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(DeclarationError) as caught:
        Registry.of(node(title="", version=0)(default_outside))
    assert len(str(caught.value).splitlines()) == 3
