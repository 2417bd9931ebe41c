"""A node that fails: its dependants are skipped, the rest finishes, and the error says enough to mend it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from graph.context import Context
from graph.engine import Limits
from graph.node import node
from graph.registry import Registry
from tests.graph.engine_kit import Lab, Tensor, add, costly_clock, make_list, make_tensor, n, workflow

BRANCHES = workflow(
    ["good", "bad"],
    top=n("add", a=1.0),
    bad_one=n("fail_if", a="@top", fail=True),
    between=n("add", a="@bad_one", b=2.0),
    bad=n("add", a="@between"),
    side=n("add", a="@top", b=3.0),
    good=n("add", a="@side", b=4.0),
)


@pytest.mark.spec("I13")
def test_a_failed_node_fails_its_dependants_only(lab: Lab) -> None:
    outcome = lab.run(BRANCHES)
    assert outcome.state == "failed"
    assert outcome.states == {
        "top": "done",
        "bad_one": "failed",
        "between": "skipped",
        "bad": "skipped",
        "side": "done",
        "good": "done",
    }
    assert outcome.outputs == {"good": 8.0}
    assert outcome.node("between").error == "bad_one failed"


def test_the_error_holds_node_type_inputs_and_cause(lab: Lab) -> None:
    assert lab.run(BRANCHES).node("bad_one").error == (
        "bad_one (fail_if) failed: ValueError: the paper ran out\n  inputs: fail=True, a=<top>"
    )


def test_long_inputs_are_cut_short_in_the_error(lab: Lab) -> None:
    @node(title="Refuse", version=1)
    def refuse(ctx: Context, text: str) -> str:
        raise ValueError("no")

    with Lab(lab.engine.home / "own", Registry.of(refuse)) as own:
        error = own.run(workflow("x", x=n("refuse", text="word " * 1000))).node("x").error
    assert len(error) < 200
    assert error.endswith("...")


@pytest.mark.spec("I13")
def test_a_run_after_the_fix_computes_only_what_changed(lab: Lab) -> None:
    lab.run(BRANCHES)
    fixed = lab.run(BRANCHES.replace("true", "false"))
    assert fixed.state == "done"
    assert fixed.ran == ["bad_one", "between", "bad"]


def test_an_element_that_fails_leaves_the_other_elements(lab: Lab) -> None:
    @node(title="Not two", version=1)
    def not_two(ctx: Context, a: float) -> float:
        if a == 2.0:
            raise ValueError("two")
        return a

    @node(title="Values", version=1, light=True)
    def values(ctx: Context) -> list[float]:
        return [1.0, 2.0, 3.0]

    text = workflow("y", x=n("not_two", a="@l"), y=n("add", a="@x"), l=n("values"))
    with Lab(lab.engine.home / "own", Registry.of(not_two, add, values)) as own:
        outcome = own.run(text)
    assert outcome.states == {
        "l": "done",
        "x[0]": "done",
        "x[1]": "failed",
        "x[2]": "done",
        "y[0]": "done",
        "y[1]": "skipped",
        "y[2]": "done",
    }
    assert outcome.outputs == {}  # a list with a hole is no result


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even a message")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Odd(), MemoryError("no room")])
def test_whatever_a_node_raises_the_lane_lives_on(home: Path, error: BaseException) -> None:
    @node(title="Raise", version=1)
    def throw(ctx: Context) -> float:
        raise error

    with Lab(home, Registry.of(throw, add), host_lanes=1) as lab:
        outcome = lab.run(workflow(["x", "y"], x=n("throw"), y=n("add", a=1.0)))
        assert outcome.states == {"x": "failed", "y": "done"}
        assert type(error).__name__ in outcome.node("x").error
        assert lab.run(workflow("y", y=n("add", a=2.0))).state == "done"


def test_a_result_of_a_kind_that_cannot_travel_fails_the_node_with_advice(home: Path) -> None:
    @node(title="Object", version=1)
    def wrong(ctx: Context) -> float:
        return object()  # type: ignore[return-value]

    with Lab(home, Registry.of(wrong)) as lab:
        error = lab.run(workflow("x", x=n("wrong"))).node("x").error
    assert "TypeError: a builtins.object cannot travel on a wire; declare it with @wire or @record" in error


def test_a_node_that_changes_its_input_in_place_fails_with_advice(lab: Lab) -> None:
    outcome = lab.run(workflow("bad", t=n("make_tensor", fill=3), bad=n("scribble", tensor="@t.tensor")))
    assert outcome.states == {"t": "done", "bad": "failed"}
    assert (
        "bad (scribble) changed its input tensor in place; values on wires are frozen: clone it first"
        in outcome.node("bad").error
    )


def test_a_change_inside_a_list_is_seen_too(home: Path) -> None:
    @node(title="Scribble on all", version=1)
    def scribble_all(ctx: Context, tensors: list[Tensor]) -> int:
        tensors[1].fill(1)
        return 1

    with Lab(home, Registry.of(make_tensor, make_list, scribble_all)) as lab:
        text = workflow(
            "s",
            a=n("make_tensor", fill=1),
            b=n("make_tensor", fill=2),
            l=n("make_list", a="@a.tensor", b="@b.tensor"),
            s=n("scribble_all", tensors="@l"),
        )
        assert "changed its input tensors in place" in lab.run(text).node("s").error


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_a_changed_input_is_never_read_by_others(open_lab: Callable[..., Lab], fail: bool, kept: bool) -> None:
    """The changed memory must not be taken for the value it was: not in this run, not in the next."""
    clock = costly_clock() if kept else costly_clock(0.0)
    lab = open_lab(host_lanes=1, clock=clock)
    both = workflow(
        ["bad", "after"],
        t=n("make_tensor", fill=3, size=10),
        bad=n("scribble", tensor="@t.tensor", fail=fail),
        after=n("tensor_sum", tensor="@t.tensor"),
    )
    outcome = lab.run(both)
    assert outcome.ran[:2] == ["t", "bad"]
    assert outcome.states["bad"] == "failed"
    assert outcome.outputs.get("after", 30) == 30
    assert outcome.states["after"] == ("done" if kept else "failed")
    again = lab.run(workflow("after", t=n("make_tensor", fill=3, size=10), after=n("tensor_sum", tensor="@t.tensor")))
    assert again.output == 30


def test_a_failure_keeps_no_tensor_alive(home: Path) -> None:
    seen: list[weakref.ref[Tensor]] = []

    @node(title="Look and fail", version=1)
    def look_and_fail(ctx: Context, tensor: Tensor) -> float:
        seen.append(weakref.ref(tensor))
        raise ValueError("no")

    with Lab(home, Registry.of(make_tensor, look_and_fail, add), limits=Limits(ram=0)) as lab:
        lab.run(workflow("x", t=n("make_tensor", fill=1), x=n("look_and_fail", tensor="@t.tensor")))
        lab.run(workflow("y", y=n("add", a=1.0)))
        gc.collect()
        assert seen[0]() is None


class Pair(NamedTuple):
    first: float
    second: float


@node(title="Half", version=1)
def half(ctx: Context, a: float) -> Pair:
    return (a,)  # type: ignore[return-value]


@node(title="Mistyped", version=1)
def mistyped(ctx: Context, a: float) -> float:
    return "text"  # type: ignore[return-value]


@node(title="Whole", version=1)
def whole(ctx: Context, a: float) -> float:
    return int(a)


@node(title="Shouting", version=1)
def shouting(ctx: Context, a: float) -> float:
    ctx.progress(1, None)  # type: ignore[arg-type]
    return a


OWN = Registry.of(half, mistyped, whole, shouting, add)


@pytest.mark.parametrize(
    ("type", "port", "message"),
    [
        ("half", "second", "TypeError: x (half) gave 1 outputs and declares 2; return one value for each"),
        ("mistyped", "value", "TypeError: x (mistyped) gave a text as value, which is declared float; return that"),
        ("shouting", "value", "TypeError: ctx.progress takes whole numbers; x gave step 1 of None"),
    ],
)
def test_a_node_that_breaks_its_own_declaration_fails_alone(home: Path, type: str, port: str, message: str) -> None:
    text = workflow(["y", "z"], x=n(type, a=1.0), y=n("add", a=f"@x.{port}"), z=n("add", a=1.0, b=1.0))
    with Lab(home, OWN) as own:
        outcome = own.run(text)
        assert outcome.states == {"x": "failed", "y": "skipped", "z": "done"}
        assert message in outcome.node("x").error
        assert outcome.node("x").code == "node_failed"
        assert own.run(workflow("z", z=n("add", a=3.0, b=1.0))).outputs == {"z": 4.0}


def test_a_whole_number_from_a_float_output_is_a_float(home: Path) -> None:
    with Lab(home, OWN) as own:
        (value,) = own.run(workflow("x", x=n("whole", a=2.0))).outputs.values()
        assert (value, type(value)) == (2.0, float)


def test_an_engine_that_is_closed_takes_no_run(lab: Lab) -> None:
    lab.engine.close()
    with pytest.raises(RuntimeError, match="the engine is closed; make a new one"):
        lab.start(workflow("x", x=n("add", a=1.0)))
