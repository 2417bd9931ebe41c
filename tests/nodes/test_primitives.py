"""Plain values and lists of them."""

from __future__ import annotations

import pytest

from graph.errors import Refused
from graph.node import declaration_of
from graph.spec import MAX_SEED
from graph.types import TypeRef
from nodes.cache import disk_cache
from nodes.primitives import (
    boolean,
    integer,
    integers,
    make_list,
    math,
    number,
    numbers,
    seed,
    seeds,
    size,
    switch,
    text,
    texts,
    xy_grid,
)


@pytest.mark.parametrize(
    "node", [number, integer, boolean, text, seed, size, switch, texts, numbers, integers, seeds, make_list, xy_grid]
)
def test_plain_values_are_known_while_planning(node):
    assert declaration_of(node).spec.light


def test_math_runs_in_the_run():
    assert not declaration_of(math).spec.light


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ("add", 9),
        ("subtract", 5),
        ("multiply", 14),
        ("divide", 3.5),
        ("power", 49),
        ("minimum", 2),
        ("maximum", 7),
        ("modulo", 1),
    ],
)
def test_math_does_what_it_says(operation, result):
    assert math(operation, 7.0, 2.0) == result


@pytest.mark.parametrize("operation", ["divide", "modulo"])
def test_dividing_by_zero_says_so(operation):
    with pytest.raises(ValueError, match=f"{operation} of 7 by b = 0 has no result; set b to another number"):
        math(operation, 7.0, 0.0)


@pytest.mark.parametrize(("operation", "a", "b"), [("power", 10.0, 400.0), ("power", -8.0, 0.5), ("multiply", 1e300, 1e300)])
def test_a_result_that_is_no_number_is_an_error(operation, a, b):
    with pytest.raises(ValueError, match=f"{operation} of a = .* is no finite number"):
        math(operation, a, b)


def test_values_are_handed_on():
    marker = object()
    assert (number(1.5), integer(3), boolean(True), text("a"), seed(4), size(64, 32)) == (1.5, 3, True, "a", 4, (64, 32))
    assert switch(marker, None, True) is marker
    assert switch(None, marker, False) is marker
    assert disk_cache(marker) is marker


def test_a_disk_cache_folder_must_be_known_before_the_run():
    check = declaration_of(disk_cache).resolve
    assert check({"value": None, "folder": "texts", "limit_gb": 1.0}) == {}
    with pytest.raises(Refused, match="its value is not known before the run; give it as a literal"):
        check({"limit_gb": 1.0})


def test_lists_are_written_down():
    assert texts(" a red circle \n\nblue\n") == ["a red circle", "blue"]
    assert numbers("1, 2.5\n-3e1") == [1, 2.5, -30]
    assert integers("1, 9007199254740991 -3") == [1, 2**53 - 1, -3]
    assert seeds(MAX_SEED, 3) == [MAX_SEED, 0, 1]
    assert make_list("a", None, "b") == ["a", "b"]


@pytest.mark.parametrize(
    ("node", "written", "message"),
    [
        (numbers, "1, two", 'two" is no number; write numbers between commas'),
        (numbers, "1, nan", '"nan" is no number'),
        (numbers, "1_0", '"1_0" is no number'),
        (numbers, "1e999", "holds a number that is too large; write smaller ones"),
        (integers, "1_000", '"1_000" is no whole number'),
        (integers, "\u0663", '"\u0663" is no whole number'),
        (integers, "1, 2.5", '"2.5" is no whole number; write some between commas'),
        (integers, "9007199254740992", "holds a number beyond"),
        (integers, "", "written holds 0 values; write 1 to 1024"),
        (numbers, "", "written holds 0 values; write 1 to 1024"),
        (texts, "\n \n", "lines holds 0 values"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(node, written, message):
    with pytest.raises(Refused, match=message):
        node(written)


def test_a_grid_pairs_every_x_with_every_y():
    grid = xy_grid(["a", "b", "c"], [1, 2])
    assert list(zip(grid.x, grid.y, strict=True)) == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("c", 2)]


def test_a_grid_too_large_is_refused():
    with pytest.raises(Refused, match="100 by 11 pairings are more than 1024; shorten a list"):
        xy_grid(list(range(100)), list(range(11)))


def test_a_grid_takes_lists_of_two_types():
    spec = declaration_of(xy_grid).spec
    assert [port.type for port in spec.inputs] == [TypeRef("T", True), TypeRef("U", True)]
    assert [output.type for output in spec.outputs] == [TypeRef("T", True), TypeRef("U", True)]
