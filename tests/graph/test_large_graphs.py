"""Graphs of any shape and size: judged as a slow checker judges them, without recursion, in time that grows with their size."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph import keys
from graph.canonical import canonical
from graph.compile import compile_document
from graph.document import read_document, write_document
from graph.engine import Engine
from graph.errors import WorkflowError
from graph.jsontext import read_json, write_json
from tests.graph.engine_kit import Lab, chain, n, registry, workflow


def fan(width: int) -> str:
    nodes = {"top": n("add", a=1.0)} | {f"f{i}": n("add", a="@top", b=float(i)) for i in range(width)}
    return workflow(f"f{width - 1}", **nodes)


def diamond(levels: int) -> str:
    nodes = {"d0": n("add", a=1.0)} | {f"d{i}": n("add", a=f"@d{i - 1}", b=f"@d{i - 1}") for i in range(1, levels)}
    return workflow(f"d{levels - 1}", **nodes)


def in_shallow_stack(work: Callable[[], Any]) -> Any:
    """Do it with 300 frames: a recursion over nodes shows as RecursionError. Its other threads get the same."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    before = sys.getrecursionlimit()
    thread = threading.Thread(target=run)
    sys.setrecursionlimit(300)
    try:
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(before)
    (result,) = found
    if isinstance(result, BaseException):
        raise result
    return result


SHAPES = {
    "chain of 10,000": chain(10_000),
    "fan of 10,000": fan(10_000),
    "diamond of 400": diamond(400),
    "diamond of 5,000": diamond(5_000),
}


@pytest.mark.spec("R-I05")
@pytest.mark.proves(22)
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_graph_is_read_checked_planned_and_written_without_recursion(home: Path, shape: str) -> None:
    text = SHAPES[shape]
    compile_document(read_document(chain(3)), registry.specs)  # what is imported on first use needs its own frames
    with Engine(registry, home) as engine:
        engine.plan(engine.load(chain(3)))

        def work() -> int:
            document = read_document(text)
            assert write_document(read_document(write_document(document))) == write_document(document)
            assert len(document.digest) == 32
            compiled = compile_document(document, registry.specs)
            plan = engine.described(engine.plan(compiled))
            assert len(set(plan.tasks.structural)) == len(document.nodes)
            return len(plan.run)

        # Of a fan, the one node that is asked for and the one above it.
        assert in_shallow_stack(work) == (2 if "fan" in shape else len(json.loads(text)["nodes"]))


@pytest.mark.spec("R-I05")
@pytest.mark.slow
@pytest.mark.parametrize("shape", ["chain of 10,000", "diamond of 400"])
def test_a_large_graph_runs(home: Path, shape: str) -> None:
    with Lab(home) as lab:
        outcome = lab.run(SHAPES[shape])
    assert outcome.state == "done"
    assert outcome.output == (10_001.0 if "chain" in shape else 2.0**399)


@pytest.mark.spec("R-I05")
def test_a_diamond_s_keys_are_made_once_for_each_node(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2^400 paths lead down a diamond of 400 levels."""
    made: list[int] = []
    structural_key = keys.structural_key
    monkeypatch.setattr(keys, "structural_key", lambda *args: made.append(1) or structural_key(*args))
    with Engine(registry, home) as engine:
        for levels in (100, 400):
            made.clear()
            engine.plan(engine.load(diamond(levels)))
            assert len(made) <= 2 * levels


@pytest.mark.spec("R-I05", "R-I03")
@pytest.mark.proves(22)
def test_deep_nesting_is_refused_and_never_a_recursion_error() -> None:
    deep: Any = 1
    for _ in range(200_000):
        deep = [deep]

    def work() -> None:
        for refuse in (lambda: canonical(deep), lambda: write_json(deep), lambda: read_json("[" * 200_000)):
            with pytest.raises(ValueError, match=r"nest|Nest"):
                refuse()
        with pytest.raises(WorkflowError):
            read_document('{"nodes":' + "[" * 200_000)
        with pytest.raises(WorkflowError):
            read_document('{"nodes":' + '{"a":' * 200_000)

    work()
    while type(deep) is list:  # else the end of the test takes it apart with a recursion of its own
        deep = deep[0]


# ---- against a slow checker ----

PORTS = ("a", "b")


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Nodes that add: links to any node or to none there is, to any port, muted ones among them, any order."""
    size = draw(st.integers(0, 9))
    names = [f"n{i}" for i in range(size)]
    nodes: dict[str, Any] = {}
    for name in draw(st.permutations(names)):
        inputs: dict[str, Any] = {}
        for port in (*PORTS, "c"):
            kind = draw(
                st.sampled_from(["literal", "link", "link", "absent", "absent"] if port != "c" else ["absent"] * 12 + ["literal"])
            )
            if kind == "literal":
                inputs[port] = float(draw(st.integers(0, 3)))
            elif kind == "link":
                target = draw(st.sampled_from([*names, *names, *names, "gone"]))
                inputs[port] = {"link": f"{target}.{draw(st.sampled_from(['value'] * 9 + ['other']))}"}
        nodes[name] = {"type": draw(st.sampled_from(["add"] * 12 + ["ad"])), "inputs": inputs}
    return nodes


def slow_verdict(nodes: dict[str, Any]) -> set[str]:
    """The codes of what is wrong, one plain look at a time."""
    wrong = set()
    graph = networkx.DiGraph()
    graph.add_nodes_from(nodes)
    for name, entry in nodes.items():
        if entry["type"] == "ad":
            wrong.add("unknown_type")
        if "a" not in entry["inputs"]:
            wrong.add("missing_input")
        for port, value in entry["inputs"].items():
            if port == "c":
                wrong.add("unknown_port")
            if not isinstance(value, dict):
                continue
            target, _, output = value["link"].partition(".")
            if target not in nodes:
                wrong.add("unknown_source")
                continue
            if output != "value":
                wrong.add("unknown_output")
            graph.add_edge(target, name)
    if not networkx.is_directed_acyclic_graph(graph):
        wrong.add("cycle")
    return wrong


def slow_value(nodes: dict[str, Any], name: str) -> float:
    inputs = nodes[name]["inputs"]
    values = {"a": 0.0, "b": 0.0} | {
        port: slow_value(nodes, value["link"].partition(".")[0]) if isinstance(value, dict) else value
        for port, value in inputs.items()
    }
    return values["a"] + values["b"]


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Lab(tmp_path_factory.mktemp("graphs") / "home") as lab:
        yield lab


def check(lab: Lab, nodes: dict[str, Any]) -> None:
    text = workflow([f"{name}.value" for name in nodes if nodes[name]["type"] == "add"], **nodes)
    wrong = slow_verdict(nodes)
    try:
        compiled = lab.engine.load(text)
    except WorkflowError as error:
        found = {problem.code for problem in error.problems}
        # Of unknown types and of what lies behind a wrong link nothing more can be said; the rest is told all at once.
        assert found, wrong
        assert found <= wrong, (found, wrong)
        assert ("cycle" in found) <= ("cycle" in wrong)
        assert {problem.node for problem in error.problems} <= {*nodes, None}  # noqa: PT017  # which error it is was drawn
        return
    assert wrong == set()
    order = {name: at for at, name in enumerate(compiled.ids)}
    assert all(
        order[value["link"].partition(".")[0]] < order[name]
        for name, entry in nodes.items()
        for value in entry["inputs"].values()
        if isinstance(value, dict)
    )
    if not nodes:
        with pytest.raises(WorkflowError, match="the workflow has no named output and no node with an effect"):
            lab.run(text)
        return
    outcome = lab.run(text)
    assert outcome.outputs == {f"{name}_value": slow_value(nodes, name) for name in nodes}


@pytest.mark.spec("R-I04")
@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(graphs())
def test_graphs_are_judged_ordered_and_computed_as_by_the_slow_checker(shared_lab: Lab, nodes: dict[str, Any]) -> None:
    check(shared_lab, nodes)


@pytest.mark.spec("R-I04")
@pytest.mark.long
@settings(max_examples=20_000, deadline=None)
@given(graphs())
def test_many_graphs_are_judged_as_by_the_slow_checker(shared_lab: Lab, nodes: dict[str, Any]) -> None:
    check(shared_lab, nodes)


# ---- canonical bytes ----

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def typed(value: Any) -> Any:
    """A value in which what Python takes for equal is told apart: 1, 1.0, True; 0.0, -0.0; the order of a dict is not."""
    if isinstance(value, dict):
        return ("dict", frozenset((key, typed(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(typed(item) for item in value))
    return (type(value).__name__, repr(value))


@pytest.mark.spec("R-K05", "R-K04")
@pytest.mark.proves(9)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(PLAIN, PLAIN)
def test_two_values_have_the_same_bytes_exactly_if_they_are_one(one: Any, two: Any) -> None:
    assert (canonical(one) == canonical(two)) == (typed(one) == typed(two))


@pytest.mark.spec("R-K05")
@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(PLAIN, max_size=4), st.lists(PLAIN, max_size=4))
def test_bytes_written_one_after_another_can_be_taken_apart_again(one: list[Any], two: list[Any]) -> None:
    """Injective also when joined: no value's bytes are the beginning of another's."""
    joined = b"".join(map(canonical, one)), b"".join(map(canonical, two))
    assert (joined[0] == joined[1]) == (typed(one) == typed(two))
