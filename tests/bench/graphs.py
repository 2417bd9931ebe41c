"""Workflows of trivial nodes in the shapes that engines find hard: chain, wide, tree, and a chain of 8-port nodes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from graph.context import Context
from graph.node import node
from graph.registry import Registry

SHAPES = ("chain", "wide", "tree", "fat")


@node(title="Add", version=1)
def add(ctx: Context, a: float, b: float) -> float:
    return a + b


@node(title="Add with much beside", version=1)
def fat(
    ctx: Context, a: float, b: float, c: int = 1, d: int = 2, e: str = "x", f: bool = True, g: float = 0.5, h: int = 3
) -> float:
    return a + b


def registry() -> Registry:
    """The node types of these workflows."""
    return Registry.of(add, fat)


class Shape(NamedTuple):
    """Nodes by id, in document order, and the ids whose values are named outputs."""

    nodes: dict[str, Any]
    outputs: list[str]

    def text(self) -> str:
        """The workflow document."""
        outputs = {f"r{at}": {"from": f"{id}.value"} for at, id in enumerate(self.outputs)}
        return json.dumps(
            {"format": "latentgraph/workflow", "version": "1.0", "name": "bench", "nodes": self.nodes, "outputs": outputs}
        )


def shape(kind: str, count: int) -> Shape:
    """`count` nodes: a chain, one node read by all others, a binary tree (root n0, leaves last), a chain of 8-port nodes."""
    if kind in ("chain", "fat"):
        more = {"c": 5, "d": 6, "e": "hello", "f": False, "g": 0.25, "h": 9} if kind == "fat" else {}
        type_ = "fat" if kind == "fat" else "add"
        nodes = {f"n{i}": _node(type_, _link(i - 1) if i else 1.0, 1.0, more) for i in range(count)}
        return Shape(nodes, [f"n{count - 1}"])
    if kind == "wide":
        nodes = {f"n{i}": _node("add", _link(0) if i else 1.0, float(i)) for i in range(count)}
        return Shape(nodes, [f"n{i}" for i in range(1, count)])
    nodes = {f"n{i}": _node("add", _child(2 * i + 1, count), _child(2 * i + 2, count)) for i in range(count)}
    return Shape(dict(reversed(nodes.items())), ["n0"])


def _node(type_: str, a: Any, b: Any, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": type_, "inputs": {"a": a, "b": b, **(more or {})}}


def _link(index: int) -> dict[str, str]:
    return {"link": f"n{index}.value"}


def _child(index: int, count: int) -> Any:
    return _link(index) if index < count else float(index)
