"""Older workflow documents become current ones: steps per format version, and renames that nodes declare (`was=`).

All of it is data: any process that has the catalogue migrates, none needs a node's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from graph.spec import NodeSpec

if TYPE_CHECKING:  # graph.document reads through `upgrade`
    from graph.document import Document, NamedInput, Node

#: A raw document of one version becomes one of the next; the step need not set `version`.
Step: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]  # Any: JSON values

#: version -> (next version, step). A released version's step never changes. 1.0 is the first version.
STEPS: Final[Mapping[str, tuple[str, Step]]] = {}


def upgrade(raw: dict[str, Any], steps: Mapping[str, tuple[str, Step]] = STEPS) -> dict[str, Any]:
    """The raw document carried to the newest version that `steps` lead to; the given one is not changed."""
    while raw["version"] in steps:
        version, step = steps[raw["version"]]
        raw = {**step(dict(raw)), "version": version}
    return raw


def rename(document: Document, catalogue: Mapping[str, NodeSpec]) -> tuple[Document, list[str]]:
    """The document with today's names of node types and inputs, and one line per change, for the user.

    Running needs no rename: validation knows former names. Saving a renamed document keeps files current.
    """
    changes: list[str] = []
    renaming = _Renaming(catalogue, changes)
    nodes, inputs = renaming.scope("", document.nodes, document.inputs)
    subgraphs = {}
    for name, subgraph in document.subgraphs.items():
        inner, inner_inputs = renaming.scope(f"{name}/", subgraph.nodes, subgraph.inputs)
        subgraphs[name] = subgraph._replace(nodes=inner, inputs=inner_inputs)
    if not changes:
        return document, changes
    return replace(document, nodes=nodes, inputs=inputs, subgraphs=subgraphs), changes


class _Renaming:
    def __init__(self, catalogue: Mapping[str, NodeSpec], changes: list[str]) -> None:
        self.catalogue = catalogue
        self.former = {was: spec for spec in catalogue.values() for was in spec.was}
        self.changes = changes

    def scope(
        self, prefix: str, nodes: Mapping[str, Node], inputs: Mapping[str, NamedInput]
    ) -> tuple[dict[str, Node], dict[str, NamedInput]]:
        renamed = {name: self.node(prefix + name, node) for name, node in nodes.items()}
        tied = {
            name: entry._replace(to=tuple(self.target(f"{prefix}named input {name}", target, renamed) for target in entry.to))
            for name, entry in inputs.items()
        }
        return renamed, tied

    def node(self, path: str, node: Node) -> Node:
        spec = self.catalogue.get(node.type) or self.former.get(node.type)
        if spec is None:
            return node
        if spec.id != node.type:
            self.changes.append(f"{path}: {node.type} is now {spec.id}")
        inputs = {}
        for name, value in node.inputs.items():
            port = spec.port(name)
            current = port.name if port is not None else name
            if current != name:
                self.changes.append(f"{path}: {name} is now {current}")
            inputs[current] = value
        return node._replace(type=spec.id, inputs=inputs)

    def target(self, path: str, target: str, nodes: Mapping[str, Node]) -> str:
        name, _, port = target.partition(".")
        spec = self.catalogue.get(nodes[name].type) if name in nodes else None
        found = spec.port(port) if spec is not None else None
        if found is None or found.name == port:
            return target
        self.changes.append(f"{path}: {target} is now {name}.{found.name}")
        return f"{name}.{found.name}"
