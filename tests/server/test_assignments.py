"""`--set`: texts become literals by the type of the port they go to."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

import pytest

from graph.context import Context
from graph.document import document_from_json
from graph.errors import WorkflowError
from graph.node import node
from graph.registry import Registry
from graph.spec import File, Seed
from server.assignments import Assigned, assign


@node(title="Everything", version=1)
def everything(
    ctx: Context,
    prompt: str = "",
    steps: int = 1,
    guidance: float = 0.0,
    tiled: bool = False,
    seed: Annotated[int, Seed()] = 0,
    limit: int | None = None,
    prompts: list[str] | None = None,
    picture: Annotated[str | None, File()] = None,
) -> int:
    return steps


SPECS = Registry.of(everything).specs
PORTS = [port.name for port in SPECS["everything"].inputs]


def assigned(*assignments: str) -> Assigned:
    document = {
        "format": "latentgraph/workflow",
        "version": "1.0",
        "nodes": {"all": {"type": "everything", "inputs": {}}, "lost": {"type": "not_installed", "inputs": {}}},
        "inputs": {**{name: {"to": f"all.{name}"} for name in PORTS}, "lost": {"to": "lost.value"}},
    }
    return assign(document_from_json(document), SPECS, assignments)


def value_of(assignment: str) -> Any:
    return assigned(assignment).document.nodes["all"].inputs[assignment.partition("=")[0]]


def refusals(*assignments: str) -> list[str]:
    with pytest.raises(WorkflowError) as caught:
        assigned(*assignments)
    return [problem.message for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("prompt=a red circle = nice", "a red circle = nice"),
        ("prompt=", ""),
        ("prompt=12", "12"),
        ("prompt=null", "null"),
        ("steps=30", 30),
        ("guidance=3.5", 3.5),
        ("guidance=4", 4.0),
        ("guidance=-.5e1", -5.0),
        ("steps=-3", -3),
        ("tiled=true", True),
        ("tiled=false", False),
        ("seed=7", 7),
        ("seed=random", {"random": True}),
        ("limit=5", 5),
        ("limit=null", None),
        ('prompts=["a", "b"]', ["a", "b"]),
        ("prompts=null", None),
    ],
)
def test_values_are_read_by_the_ports_type(assignment: str, value: object) -> None:
    found = value_of(assignment)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("prompt", '--set got "prompt"; write --set name=value.'),
        ("promt=x", '--set promt: the workflow has no named input "promt". Did you mean "prompt"?'),
        ("steps=many", '--set steps: "many" is no whole number; write digits, like 30.'),
        ("steps=1.5", '--set steps: "1.5" is no whole number; write digits, like 30.'),
        ("steps=1_0", '--set steps: "1_0" is no whole number; write digits, like 30.'),
        ("steps=\u0663", '--set steps: "\u0663" is no whole number; write digits, like 30.'),
        ("guidance=1_0.5", '--set guidance: "1_0.5" is no number; write one like 3.5.'),
        ("guidance=1e999", '--set guidance: "1e999" is no number; write one like 3.5.'),
        ("guidance=nan", '--set guidance: "nan" is no number; write one like 3.5.'),
        ("tiled=yes", '--set tiled: "yes" is neither true nor false; write one of the two.'),
        ("seed=dice", '--set seed: "dice" is no whole number; write digits, like 30.'),
        ("prompts=a", """--set prompts: "a" is no JSON list; it takes list[text]. Write it like '["a", "b"]'."""),
        (
            "picture=/none/such.png",
            "--set picture: /none/such.png cannot be read (No such file or directory); give the path of a file.",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_fix(assignment: str, message: str) -> None:
    assert refusals(assignment) == [message]


def test_every_wrong_assignment_is_told_at_once() -> None:
    assert len(refusals("steps=x", "guidance=y", "nothing=z")) == 3


def test_a_name_given_twice_is_refused() -> None:
    assert refusals("steps=1", "steps=2") == ["--set gives steps twice; give it once."]


def test_a_path_becomes_the_files_name_and_digest(tmp_path: Path) -> None:
    path = tmp_path / "in.png"
    path.write_bytes(b"pixels")
    digest = hashlib.sha256(b"pixels").hexdigest()
    made = assigned(f"picture={path}")
    assert made.document.nodes["all"].inputs["picture"] == {"file": "in.png", "sha256": digest}
    assert made.files == ((path, digest),)


def test_an_input_of_a_missing_node_takes_json_or_text() -> None:
    made = assigned("lost=[1]")
    assert made.document.nodes["lost"].inputs["value"] == [1]


def test_an_input_that_leads_into_a_subgraph_has_the_inner_ports_type() -> None:
    raw = {
        "format": "latentgraph/workflow",
        "version": "1.0",
        "nodes": {"part": {"type": "#part", "inputs": {}}},
        "subgraphs": {
            "part": {
                "nodes": {"all": {"type": "everything", "inputs": {}}},
                "inputs": {"n": {"to": ["all.steps"]}},
                "outputs": {},
            }
        },
        "inputs": {"count": {"to": "part.n"}},
    }
    made = assign(document_from_json(raw), SPECS, ["count=3"])
    assert made.document.nodes["part"].inputs["n"] == 3


def test_a_subgraph_inside_itself_does_not_hang() -> None:
    raw = {
        "format": "latentgraph/workflow",
        "version": "1.0",
        "nodes": {"part": {"type": "#part", "inputs": {}}},
        "subgraphs": {
            "part": {"nodes": {"again": {"type": "#part", "inputs": {}}}, "inputs": {"n": {"to": "again.n"}}, "outputs": {}}
        },
        "inputs": {"count": {"to": "part.n"}},
    }
    assert assign(document_from_json(raw), SPECS, ["count=3"]).document.nodes["part"].inputs["n"] == 3
