"""Nodes for plain values: numbers, texts, seeds, choices and lists of them. All but `math` are evaluated while planning."""

from __future__ import annotations

import math as arithmetic
from typing import Annotated, Final, Generic, Literal, NamedTuple, TypeVar

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.spec import MAX_SEED, Doc, Range, Seed, Text
from nodes.written import real_number, whole_number

T = TypeVar("T")
U = TypeVar("U")

#: Lists made here are written out by people; a longer one is a mistake.
LONGEST_LIST: Final = 1024


@node(title="Number", version=1, category="values", light=True)
def number(ctx: Context, value: float = 0.0) -> float:
    """A number."""
    return value


@node(title="Integer", version=1, category="values", light=True)
def integer(ctx: Context, value: int = 0) -> int:
    """A whole number."""
    return value


@node(title="Boolean", version=1, category="values", light=True)
def boolean(ctx: Context, value: bool = False) -> bool:
    """True or false."""
    return value


@node(title="Text", version=1, category="values", light=True)
def text(ctx: Context, value: Annotated[str, Text()] = "") -> str:
    """A text."""
    return value


@node(title="Seed", version=1, category="values", light=True)
def seed(ctx: Context, value: Annotated[int, Seed()] = 0) -> int:
    """A random seed, to be used in several places."""
    return value


class Size(NamedTuple):
    """A size in pixels."""

    width: int
    height: int


@node(title="Size", version=1, category="values", light=True)
def size(
    ctx: Context,
    width: Annotated[int, Range(16, 8192, 16)] = 1024,
    height: Annotated[int, Range(16, 8192, 16)] = 1024,
) -> Size:
    """A size in pixels, to be used in several places."""
    return Size(width, height)


Operation = Literal["add", "subtract", "multiply", "divide", "power", "minimum", "maximum", "modulo"]


@node(title="Math", version=1, category="values")
def math(ctx: Context, operation: Operation = "add", a: float = 0.0, b: float = 0.0) -> float:
    """Two numbers, one result. Raises ValueError where there is none: division by zero, an overflow."""
    if operation in ("divide", "modulo") and b == 0:
        raise ValueError(f"{operation} of {a:g} by b = 0 has no result; set b to another number")
    try:
        result = {
            "add": lambda: a + b,
            "subtract": lambda: a - b,
            "multiply": lambda: a * b,
            "divide": lambda: a / b,
            "power": lambda: arithmetic.pow(a, b),
            "minimum": lambda: min(a, b),
            "maximum": lambda: max(a, b),
            "modulo": lambda: a % b,
        }[operation]()
    except (OverflowError, ValueError):
        result = arithmetic.nan
    if not arithmetic.isfinite(result):
        raise ValueError(f"{operation} of a = {a:g} and b = {b:g} is no finite number; use other numbers")
    return result


@node(title="Switch", version=1, category="values", light=True)
def switch(ctx: Context, on_true: T, on_false: T, value: bool = True) -> T:
    """One of two values. The other one's nodes do not run for it."""
    return on_true if value else on_false


@node(title="Texts", version=1, category="lists", light=True, output="values")
def texts(ctx: Context, lines: Annotated[str, Text(), Doc("One text per line; empty lines are left out")] = "") -> list[str]:
    """A list of texts."""
    found = [line.strip() for line in lines.splitlines() if line.strip()]
    return _bounded(found, "lines")


@node(title="Numbers", version=1, category="lists", light=True, output="values")
def numbers(ctx: Context, written: Annotated[str, Text(), Doc("Numbers between commas or spaces")] = "") -> list[float]:
    """A list of numbers."""
    found = []
    for word in written.replace(",", " ").split():
        try:
            found.append(real_number(word))
        except ValueError:
            raise Refused(f'"{word[:40]}" is no number; write numbers between commas, as 1, 2.5, 4', port="written") from None
    if not all(arithmetic.isfinite(one) for one in found):
        raise Refused("the list holds a number that is too large; write smaller ones", port="written")
    return _bounded(found, "written")


@node(title="Integers", version=1, category="lists", light=True, output="values")
def integers(ctx: Context, written: Annotated[str, Text(), Doc("Whole numbers between commas or spaces")] = "") -> list[int]:
    """A list of whole numbers: step counts, sizes, seeds of one's own choice."""
    found = []
    for word in written.replace(",", " ").split():
        try:
            found.append(whole_number(word))
        except ValueError:
            raise Refused(f'"{word[:40]}" is no whole number; write some between commas, as 1, 20, 300', port="written") from None
    if any(abs(one) > MAX_SEED for one in found):
        raise Refused("the list holds a number beyond 2^53 - 1; write smaller ones", port="written")
    return _bounded(found, "written")


@node(title="Seeds", version=1, category="lists", light=True, output="values")
def seeds(ctx: Context, first: Annotated[int, Seed()] = 0, count: Annotated[int, Range(1, LONGEST_LIST)] = 4) -> list[int]:
    """A list of seeds: the first one and those after it."""
    return [(first + index) % (MAX_SEED + 1) for index in range(count)]


@node(title="Make list", version=1, category="lists", light=True, output="values")
def make_list(
    ctx: Context,
    first: T,
    second: T | None = None,
    third: T | None = None,
    fourth: T | None = None,
    fifth: T | None = None,
    sixth: T | None = None,
    seventh: T | None = None,
    eighth: T | None = None,
) -> list[T]:
    """The linked values as a list, in order."""
    given = (first, second, third, fourth, fifth, sixth, seventh, eighth)
    return [value for value in given if value is not None]


class Grid(NamedTuple, Generic[T, U]):
    """Two equally long lists."""

    x: list[T]
    y: list[U]


@node(title="XY grid", version=1, category="lists", light=True)
def xy_grid(ctx: Context, x: list[T], y: list[U]) -> Grid[T, U]:
    """Every pairing of two lists, row by row: y's first value with each of x, then y's second, ..."""
    if len(x) * len(y) > LONGEST_LIST:
        raise Refused(f"{len(x)} by {len(y)} pairings are more than {LONGEST_LIST}; shorten a list", port="y")
    return Grid(x * len(y), [value for value in y for _ in x])


def _bounded(values: list[T], port: str) -> list[T]:
    if not 0 < len(values) <= LONGEST_LIST:
        raise Refused(f"{port} holds {len(values)} values; write 1 to {LONGEST_LIST}", port=port)
    return values
