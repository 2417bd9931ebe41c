"""What a plan says before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from graph.errors import WorkflowError
from tests.graph.engine_kit import Lab, chain, costly_clock, n, ran, workflow

TREE = workflow(
    ["x", "y"],
    top=n("add", a=1.0),
    x=n("add", a="@top", b=1.0),
    y=n("add", a="@top", b=2.0),
    other=n("add", a=9.0),
    s=n("save", value="@x"),
)


def test_a_plan_runs_nothing(lab: Lab) -> None:
    assert lab.states(TREE) == {"top": "run", "x": "run", "y": "run", "s": "run"}
    assert ran == []


def test_only_what_an_output_or_an_effect_needs_is_run(lab: Lab) -> None:
    outcome = lab.run(TREE)
    assert "other" not in outcome.states
    assert sorted(outcome.ran) == ["s", "top", "x", "y"]


def test_targets_are_wanted_alone(lab: Lab) -> None:
    compiled = lab.engine.load(TREE)
    plan = lab.engine.described(lab.engine.plan(compiled, targets=["y", "other.value"]))
    assert [one.id for one in plan.nodes] == ["top", "y", "other"]
    result = lab.engine.run(compiled, targets=["y", "other.value"])
    assert result.outputs == {"y.value": 3.0, "other.value": 9.0}
    assert sorted(ran) == ["other", "top", "y"]


def test_unknown_targets_are_refused_together_with_the_nearest_names(lab: Lab) -> None:
    with pytest.raises(WorkflowError) as caught:
        lab.engine.plan(lab.engine.load(TREE), targets=["tip", "x.values", "y"])
    assert [str(one) for one in caught.value.problems] == [
        'target "tip": there is no node "tip". Did you mean "top"?',
        'target "x.values": x has no output "values". Did you mean "value"?',
    ]


def test_a_workflow_that_wants_nothing_is_refused(lab: Lab) -> None:
    with pytest.raises(
        WorkflowError, match='no named output and no node with an effect; name one under "outputs", or add a save node'
    ):
        lab.plan(workflow(x=n("add", a=1.0)))


def test_unknown_seeds_are_refused(lab: Lab) -> None:
    compiled = lab.engine.load(workflow("d", d=n("draw", seed={"random": True})))
    with pytest.raises(WorkflowError, match=r'seed "e.seed" has no random port. Did you mean "d.seed"\?'):
        lab.engine.plan(compiled, seeds={"e.seed": 1})


def test_the_plan_says_what_is_remembered_and_why_the_rest_runs(lab: Lab) -> None:
    lab.run(TREE)
    other = json.loads(TREE)
    other["nodes"]["y"]["inputs"]["b"] = 5.0
    plan = lab.plan(json.dumps(other))
    assert {one.id: (one.state, one.reason) for one in plan.nodes} == {
        "top": ("cached", "remembered"),
        "x": ("cached", "remembered"),
        "y": ("run", "not remembered"),
        "s": ("run", "writes its result each time"),
    }


def test_what_is_remembered_below_saves_what_is_above_from_being_looked_at(lab: Lab) -> None:
    lab.run(chain(30))
    plan = lab.engine.plan(lab.engine.load(chain(30)))
    assert plan.run == []
    assert len(plan.hits) == 1


def test_a_mapped_node_says_how_many_of_its_elements_run(lab: Lab) -> None:
    lab.run(workflow("x", r=n("numbers", n=3), x=n("add", a="@r")))
    plan = lab.plan(workflow("x", r=n("numbers", n=5), x=n("add", a="@r")))
    line = {one.id: one for one in plan.nodes}["x"]
    assert (line.state, line.tasks, line.running) == ("run", 5, 2)


def test_seconds_are_learned_from_runs_whatever_the_seed_and_the_text(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(clock=costly_clock(0.5), host_lanes=1)
    text = workflow("d", d=n("draw", seed=1))
    assert lab.plan(text).seconds is None
    lab.run(text)
    lab.run(text.replace('"seed": 1', '"seed": 2'))
    plan = lab.plan(text.replace('"seed": 1', '"seed": 3'))
    assert plan.seconds == pytest.approx(0.5)
    assert plan.nodes[0].seconds == pytest.approx(0.5)
    assert lab.plan(text).seconds in (None, 0.0)  # nothing runs


def test_what_is_muted_is_told_as_skipped_and_its_outputs_as_absent(lab: Lab) -> None:
    document: dict[str, Any] = json.loads(TREE)
    document["nodes"]["y"]["state"] = "muted"
    outcome = lab.run(json.dumps(document))
    assert outcome.state == "done"
    assert outcome.outputs == {"x": 2.0}
    assert list(outcome.result.absent) == ["y"]
    assert "muted" in outcome.result.absent["y"]


def test_dependants_of_a_muted_node_are_skipped_with_the_reason(lab: Lab) -> None:
    document: dict[str, Any] = json.loads(chain(4))
    document["nodes"]["n1"]["state"] = "muted"
    document["outputs"]["first"] = {"from": "n0.value"}
    outcome = lab.run(json.dumps(document))
    assert outcome.ran == ["n0"]
    assert outcome.states["n2"] == outcome.states["n3"] == "skipped"
    assert "n1" in outcome.node("n2").error


def test_a_bypassed_node_costs_nothing_and_hands_its_input_on(lab: Lab) -> None:
    document: dict[str, Any] = json.loads(chain(3))
    document["nodes"]["n1"]["state"] = "bypassed"
    outcome = lab.run(json.dumps(document))
    assert outcome.ran == ["n0", "n2"]
    assert outcome.output == 3.0


def test_the_same_document_bytes_are_compiled_once(lab: Lab) -> None:
    assert lab.engine.load(chain(5)) is lab.engine.load(chain(5).encode())
    assert lab.engine.load(chain(5)) is not lab.engine.load(chain(5) + " ")


def test_a_chain_of_5000_needs_no_recursion(lab: Lab) -> None:
    compiled = lab.engine.load(chain(5_000))
    assert len(lab.engine.plan(compiled).run) == 5_000


def test_one_element_of_a_mapped_node_can_be_the_target(lab: Lab) -> None:
    text = workflow("y", l=n("numbers", n=3), x=n("add", a="@l", b=1.0), y=n("add", a="@x", b=2.0))
    compiled = lab.engine.load(text)
    result = lab.engine.run(compiled, targets=["y[1]", "x[2].value"])
    assert result.outputs == {"y[1].value": 4.0, "x[2].value": 3.0}
    assert sorted((node.id, node.element) for node in result.nodes if node.state == "done" and node.note != "light") == [
        ("x", 1), ("x", 2), ("y", 1),
    ]  # fmt: skip
    with pytest.raises(WorkflowError, match=r'target "y\[3\]": y has no element 3; it has 3'):
        lab.engine.plan(compiled, targets=["y[3]"])
