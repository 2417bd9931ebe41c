"""Light nodes: planning evaluates them; what they hand on without looking may not even exist yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from graph.context import Context
from graph.errors import Refused, WorkflowError
from graph.node import node
from graph.registry import Registry
from graph.spec import Seed
from tests.graph.engine_kit import Lab, Split, add, count, device_add, draw, make_list, n, number, numbers, show, total, workflow


def test_light_nodes_are_evaluated_while_planning(lab: Lab) -> None:
    plan = lab.plan(workflow(["x", "v"], v=n("number", value=3.0), x=n("add", a="@v")))
    assert {one.id: one.state for one in plan.nodes} == {"v": "light", "x": "run"}
    assert plan.roots.outputs["v"] == 3.0
    outcome = lab.run(workflow("x", v=n("number", value=3.0), x=n("add", a="@v", b=1.0)))
    assert outcome.output == 4.0
    assert outcome.states == {"v": "done", "x": "done"}


def test_a_light_value_enters_the_key_like_a_literal(lab: Lab) -> None:
    lab.run(workflow("x", x=n("add", a=3.0)))
    assert lab.run(workflow("x", v=n("number", value=3.0), x=n("add", a="@v"))).ran == []


def test_an_int_that_enters_a_float_port_is_a_float(lab: Lab) -> None:
    lab.run(workflow("x", x=n("add", a=3.0)))
    outcome = lab.run(workflow("x", v=n("count", value=3), x=n("add", a="@v")))
    assert outcome.ran == []
    assert type(outcome.output) is float
    heavy = workflow("x", t=n("tensor_sum", tensor="@m.tensor"), m=n("make_tensor", fill=1, size=3), x=n("add", a="@t"))
    assert type(lab.run(heavy).output) is float


@pytest.mark.parametrize(("on", "expected", "ran"), [(True, 1.0, ["l"]), (False, 2.0, ["r"])])
def test_a_switch_hands_on_what_is_not_computed_yet_and_runs_one_side(
    lab: Lab, on: bool, expected: float, ran: list[str]
) -> None:
    text = workflow("s", l=n("add", a=1.0), r=n("add", a=2.0), s=n("switch", on=on, a="@l", b="@r"))
    outcome = lab.run(text)
    assert outcome.output == expected
    assert outcome.ran == ran
    assert lab.run(text).ran == []


def test_what_follows_a_switch_has_the_key_of_the_side_it_took(lab: Lab) -> None:
    switched = workflow("e", l=n("add", a=1.0), r=n("add", a=2.0), s=n("switch", on=True, a="@l", b="@r"), e=n("floor", a="@s"))
    direct = workflow("e", l=n("add", a=1.0), e=n("floor", a="@l"))
    lab.run(direct)
    assert lab.run(switched).ran == []


def test_a_switch_of_lists_and_values_keeps_them_apart(lab: Lab) -> None:
    text = workflow(
        "t", x=n("add", a=1.0), l=n("make_list", a="@x", b="@x"), m=n("add", a="@l", b=1.0), t=n("total", values="@m")
    )
    assert lab.run(text).output == 4.0


def test_a_light_node_fed_by_a_heavy_value_runs_as_a_task(lab: Lab) -> None:
    text = workflow("x", h=n("add", a=2.0, b=2.0), v=n("number", value="@h"), x=n("add", a="@v", b=0.5))
    outcome = lab.run(text)
    assert outcome.output == 4.5
    assert outcome.states == {"h": "done", "v": "done", "x": "done"}
    assert lab.run(text).ran == []


def test_a_light_node_mapped_over_values_of_both_kinds_gives_all_of_them(lab: Lab) -> None:
    text = workflow("v", h=n("add", a=2.0), c=n("number", value=7.0), l=n("make_list", a="@h", b="@c"), v=n("number", value="@l"))
    outcome = lab.run(text)
    assert outcome.output == [2.0, 7.0]
    assert outcome.states["v[0]"] == "done"


def test_a_light_value_may_be_a_named_output(lab: Lab) -> None:
    outcome = lab.run(workflow(["v", "l"], v=n("number", value=1.5), l=n("numbers", n=2)))
    assert outcome.outputs == {"v": 1.5, "l": [0.0, 1.0]}
    assert outcome.ran == []


class Refusing:
    """A library with a light node that refuses odd numbers and a heavy one whose planning hook does."""

    @staticmethod
    def library() -> Registry:
        @node(title="Even", version=1, light=True)
        def even(ctx: Context, value: int) -> int:
            if value % 2:
                raise Refused(f"{value} is odd; take the next", port="value", code="odd")
            return value

        @node(title="Broken", version=1, light=True)
        def broken(ctx: Context, value: int) -> int:
            raise KeyError("lost")

        def fill(inputs: dict[str, Any]) -> dict[str, Any]:
            if inputs.get("size") == 3:
                raise Refused("3 is no size", port="size")
            return {} if inputs.get("size") is not None else {"size": 8}

        @node(title="Sized", version=1, resolve=fill)
        def sized(ctx: Context, value: int, size: int | None = None) -> int:
            assert size is not None
            return value * size

        return Registry.of(even, broken, sized, count, add)


def test_all_refusals_are_told_at_once_with_node_and_port(home: Path) -> None:
    with Lab(home, Refusing.library()) as lab, pytest.raises(WorkflowError) as caught:
        text = workflow(
            ["s", "t", "u", "w"],
            a=n("even", value=3),
            b=n("broken", value=1),
            s=n("sized", value="@a"),
            t=n("sized", value=1, size=3),
            u=n("sized", value=1),
            w=n("sized", value="@b", size=3),
        )
        lab.plan(text)
    problems = {(one.node, one.port, one.code): one.message for one in caught.value.problems}
    assert problems == {
        ("a", "value", "odd"): "a.value: 3 is odd; take the next",
        ("b", None, "light_node_failed"): "b (broken) failed while planning: KeyError: 'lost'",
        ("t", "size", "refused"): "t.size: 3 is no size",
    }


def test_a_planning_hook_fills_in_what_is_left_open_and_it_enters_the_key(home: Path) -> None:
    with Lab(home, Refusing.library()) as lab:
        assert lab.run(workflow("s", s=n("sized", value=2))).output == 16
        again = lab.run(workflow("s", s=n("sized", value=2, size=8)))
        assert again.states == {"s": "cached"}


def test_a_light_node_may_give_several_values(home: Path) -> None:
    @node(title="Parts", version=1, light=True)
    def parts(ctx: Context, a: float) -> Split:
        return Split(float(int(a)), a - int(a))

    with Lab(home, Registry.of(parts)) as lab:
        text = workflow(["s.whole", "s.rest"], s=n("parts", a=2.5))
        assert lab.run(text).outputs == {"s_whole": 2.0, "s_rest": 0.5}


def test_planning_without_seeds_says_that_random_nodes_will_run(lab: Lab) -> None:
    text = workflow("e", d=n("draw", seed={"random": True}), e=n("add", a="@d"))
    lab.run(text)
    plan = lab.plan(text)
    assert {one.id: (one.state, one.reason) for one in plan.nodes}["d"] == ("run", "random seed")
    with pytest.raises(ValueError, match=r"the seeds of d are not drawn; plan with seeds=engine.draw_seeds"):
        lab.engine.start(plan)


def test_light_arithmetic_on_an_undrawn_seed_is_planned(home: Path) -> None:
    @node(title="Next seed", version=1, light=True)
    def next_seed(ctx: Context, seed: int, by: int = 1) -> int:
        return seed + by

    @node(title="Seeds", version=1, light=True)
    def seeds(ctx: Context, first: int, n: int) -> list[int]:
        return [first + i for i in range(n)]

    @node(title="Seed", version=1, light=True)
    def seed(ctx: Context, seed: Annotated[int, Seed()]) -> int:
        return seed

    with Lab(home, Registry.of(next_seed, seeds, seed, draw, total)) as lab:
        text = workflow(
            "d",
            s=n("seed", seed={"random": True}),
            p=n("next_seed", seed="@s"),
            l=n("seeds", first="@p", n=3),
            d=n("draw", seed="@l"),
        )
        plan = lab.plan(text)
        line = {one.id: one for one in plan.nodes}["d"]
        assert (line.state, line.tasks, line.running, line.reason) == ("run", 3, 3, "random seed")
        assert lab.run(text, seeds={"s.seed": 10}).output == [11.0, 12.0, 13.0]


def test_planning_runs_nothing_heavy_and_needs_no_device(open_lab: Callable[..., Lab]) -> None:
    def no_runtime(device: str, threads: int) -> Any:
        raise AssertionError("planning asked for a device")

    lab = open_lab(Registry.of(number, numbers, make_list, device_add, show, count), runtime=no_runtime)
    assert lab.states(workflow("d", r=n("numbers", n=2), d=n("device_add", a="@r"))) == {"r": "light", "d": "run"}
