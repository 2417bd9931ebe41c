"""Lists: a list into a single port maps the node, element by element."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graph import expand
from graph.context import Context
from graph.errors import WorkflowError
from graph.node import node
from graph.registry import Registry
from tests.graph import engine_kit
from tests.graph.engine_kit import Lab, add, n, total, workflow

RANGE = n("numbers", n=3)


def test_a_node_is_mapped_over_a_list(lab: Lab) -> None:
    outcome = lab.run(workflow("x", r=RANGE, x=n("add", a="@r", b=10.0)))
    assert outcome.output == [10.0, 11.0, 12.0]
    assert sorted(outcome.ran) == ["x[0]", "x[1]", "x[2]"]
    assert outcome.states["x[2]"] == "done"


def test_several_lists_go_in_step_and_single_values_are_repeated(lab: Lab) -> None:
    text = workflow(
        "z", r=RANGE, one=n("add", a=100.0), x=n("add", a="@r", b=10.0), y=n("add", a="@r", b="@x"), z=n("add", a="@y", b="@one")
    )
    assert lab.run(text).output == [110.0, 112.0, 114.0]


def test_every_output_of_a_mapped_node_is_a_list(lab: Lab) -> None:
    text = workflow(["s.whole", "s.rest"], r=RANGE, x=n("add", a="@r", b=0.25), s=n("split", a="@x"))
    assert lab.run(text).outputs == {"s_whole": [0.0, 1.0, 2.0], "s_rest": [0.25, 0.25, 0.25]}


def test_a_list_port_collects_and_keeps_the_order(lab: Lab) -> None:
    text = workflow("s", r=RANGE, x=n("add", a="@r", b=1.0), s=n("total", values="@x"))
    outcome = lab.run(text)
    assert outcome.output == 6.0
    assert outcome.ran[-1] == "s"


def test_a_list_port_takes_literals_and_results_mixed(lab: Lab) -> None:
    text = workflow(
        "s", x=n("add", a=1.0), c=n("number", value=5.0), l=n("make_list", a="@x", b="@c", c="@x"), s=n("total", values="@l")
    )
    outcome = lab.run(text)
    assert outcome.output == 7.0
    assert outcome.ran == ["x", "s"]


def test_the_order_of_a_list_is_part_of_the_key(lab: Lab) -> None:
    def listed(a: str, b: str) -> str:
        return workflow("s", x=n("add", a=1.0), y=n("add", a=2.0), l=n("make_list", a=a, b=b), s=n("total", values="@l"))

    lab.run(listed("@x", "@y"))
    assert lab.run(listed("@x", "@y")).ran == []
    assert lab.run(listed("@y", "@x")).ran == ["s"]


def test_lists_of_unequal_length_are_refused(lab: Lab) -> None:
    with pytest.raises(WorkflowError) as caught:
        lab.plan(workflow("x", r=RANGE, q=n("numbers", n=2), x=n("add", a="@r", b="@q")))
    (problem,) = caught.value.problems
    assert problem.message == (
        "x maps over lists of unequal length (a has 3, b has 2); make them equally long, or cross them with an xy_grid node"
    )
    assert (problem.code, problem.node) == ("unequal_lists", "x")


def test_a_list_of_lists_is_refused(lab: Lab) -> None:
    with pytest.raises(WorkflowError) as caught:
        lab.plan(workflow("l", r=RANGE, x=n("numbers", n="@k"), k=n("as_count", a="@r"), l=n("total", values="@x")))
    assert len(caught.value.problems) == 1


def test_an_empty_list_runs_nothing_and_gives_an_empty_list(lab: Lab) -> None:
    outcome = lab.run(workflow(["x", "s"], r=n("numbers", n=0), x=n("add", a="@r"), s=n("total", values="@x")))
    assert outcome.state == "done"
    assert outcome.outputs == {"x": [], "s": 0.0}
    assert outcome.ran == ["s"]


def test_a_list_of_one_is_still_a_list(lab: Lab) -> None:
    assert lab.run(workflow("x", r=n("numbers", n=1), x=n("add", a="@r", b=2.0))).output == [2.0]


def test_one_of_500_elements_changed_runs_one(lab: Lab) -> None:
    @node(title="Prompts", version=1, light=True)
    def prompts(ctx: Context, values: list[float]) -> list[float]:
        return values

    with Lab(lab.engine.home / "own", Registry.of(prompts, add, total)) as own:

        def text(values: list[float]) -> str:
            return workflow(
                "s", p=n("prompts", values=values), x=n("add", a="@p", b=1.0), y=n("add", a="@x"), s=n("total", values="@y")
            )

        values = [float(i) for i in range(500)]
        assert len(own.run(text(values)).ran) == 1001
        values[17] = 1e6
        assert sorted(own.run(text(values)).ran) == ["s", "x[17]", "y[17]"]
        values.insert(0, 5e6)  # the others move by one and keep their results
        assert sorted(own.run(text(values)).ran) == ["s", "x[0]", "y[0]"]


@pytest.mark.spec("I12")
def test_element_i_of_a_random_seed_gets_the_seed_plus_i(lab: Lab) -> None:
    text = workflow("d", r=RANGE, d=n("draw", seed={"random": True}, scale="@r"))
    twice = workflow(
        "d", r=n("make_list", a="@o", b="@o", c="@o"), o=n("number", value=1.0), d=n("draw", seed={"random": True}, scale="@r")
    )
    outcome = lab.run(twice, seeds={"d.seed": 40})
    assert outcome.output == [40.0, 41.0, 42.0]
    assert outcome.result.seeds == {"d.seed": 40}
    assert lab.run(text, seeds={"d.seed": 40}).output == [0.0, 41.0, 84.0]


def test_seeds_stay_within_53_bits(lab: Lab) -> None:
    ones = n("make_list", a="@o", b="@o")
    text = workflow("d", o=n("number", value=1.0), l=ones, d=n("draw", seed={"random": True}, scale="@l"))
    assert lab.run(text, seeds={"d.seed": 2**53 - 1}).output == [float(2**53 - 1), 0.0]


def test_a_fixed_seed_is_the_same_for_all_elements(lab: Lab) -> None:
    text = workflow("d", r=RANGE, d=n("draw", seed=7, scale="@r"))
    assert lab.run(text).output == [0.0, 7.0, 14.0]


@pytest.mark.spec("I12")
def test_drawn_seeds_are_53_bits_recorded_and_shared_by_a_named_input(lab: Lab) -> None:
    random: Any = {"random": True}
    text = workflow(
        ["a", "b", "c"],
        a=n("draw", seed=random),
        b=n("draw", seed=random),
        c=n("draw", seed=random),
        more={"inputs": {"seed": {"to": ["a.seed", "b.seed"]}}},
    )
    first, second = lab.run(text), lab.run(text)
    seeds = first.result.seeds
    assert seeds["a.seed"] == seeds["b.seed"] != seeds["c.seed"]
    assert all(0 <= seed < 2**53 for seed in seeds.values())
    assert first.outputs == {"a": seeds["a.seed"], "b": seeds["b.seed"], "c": seeds["c.seed"]}
    assert second.result.seeds != seeds
    json.dumps(seeds)
    engine_kit.ran.clear()
    assert lab.run(text, seeds=seeds).ran == []  # the recorded seeds bring the results back


def test_the_cells_of_a_grid_come_row_by_row(lab: Lab) -> None:
    @node(title="Grid", version=1, light=True)
    def xy_grid(ctx: Context, columns: list[float], rows: list[float]) -> engine_kit.Cells:
        return engine_kit.Cells([x for _ in rows for x in columns], [y for y in rows for _ in columns])

    with Lab(lab.engine.home / "own", Registry.of(xy_grid, add, total, engine_kit.numbers)) as own:
        text = workflow("v", c=n("numbers", n=3), g=n("xy_grid", columns="@c", rows=[10.0, 20.0]), v=n("add", a="@g.x", b="@g.y"))
        assert own.run(text).output == [10.0, 11.0, 12.0, 20.0, 21.0, 22.0]
        taller = text.replace("20.0]", "20.0, 30.0]")
        assert own.run(taller).ran == ["v[6]", "v[7]", "v[8]"]


def test_more_executions_than_a_run_may_hold_are_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    text = workflow("y", r=RANGE, x=n("add", a="@r"), y=n("add", a="@x"))
    monkeypatch.setattr(expand, "MAX_ELEMENTS", 6)
    assert lab.run(text).output == [0.0, 1.0, 2.0]
    monkeypatch.setattr(expand, "MAX_ELEMENTS", 5)
    said = r"y maps over 3 elements; with the mapped nodes above that is more than 5; shorten the lists, or split the workflow"
    with pytest.raises(WorkflowError, match=said) as refused:
        lab.plan(text)
    assert [(problem.code, problem.node) for problem in refused.value.problems] == [("too_many_elements", "y")]


def test_a_list_beyond_the_limit_is_refused_before_its_elements_are_made(lab: Lab) -> None:
    with pytest.raises(WorkflowError, match="x maps over 100001 elements; with the mapped nodes above that is more than 100000"):
        lab.plan(workflow("x", r=n("numbers", n=100_001), x=n("add", a="@r")))
