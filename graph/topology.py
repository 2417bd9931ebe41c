"""Questions about the shape of a graph: order, ancestors, generations, longest path, the nodes of a cycle.

Nodes are positions 0..n-1; a graph is a list of the successors of each. The answers come from networkx, imported only
when one is asked for (it costs 0.15 s); only `order`, which every compilation needs, is written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Successors = Sequence[Sequence[int]]


def order(successors: Successors) -> list[int]:
    """A topological order that keeps to the given order where it can. Nodes in or behind a cycle are left out."""
    pending = [0] * len(successors)
    for targets in successors:
        for target in targets:
            pending[target] += 1
    done = [node for node, count in enumerate(pending) if count == 0]
    for node in done:  # grows while it is walked
        for target in successors[node]:
            pending[target] -= 1
            if pending[target] == 0:
                done.append(target)
    return done


def ancestors(successors: Successors, nodes: Iterable[int]) -> set[int]:
    """All nodes from which one of `nodes` is reached, without the nodes themselves unless one lies above another."""
    networkx = _networkx()
    graph = _digraph(successors)
    return {node for start in nodes for node in networkx.ancestors(graph, start)}


def descendants(successors: Successors, nodes: Iterable[int]) -> set[int]:
    """All nodes that are reached from one of `nodes`, without the nodes themselves unless one lies below another."""
    networkx = _networkx()
    graph = _digraph(successors)
    return {node for start in nodes for node in networkx.descendants(graph, start)}


def generations(successors: Successors) -> list[list[int]]:
    """The nodes by depth: each generation depends on earlier ones only. Raises ValueError for a cycle."""
    networkx = _networkx()
    try:
        return [sorted(generation) for generation in networkx.topological_generations(_digraph(successors))]
    except networkx.NetworkXUnfeasible:
        raise ValueError("The graph has a cycle, so it has no generations. Break the cycle (see find_cycle).") from None


def longest_path(successors: Successors, seconds: Sequence[float] | None = None) -> list[int]:
    """The chain of nodes that takes longest, one after the other; each node counts 1 where no `seconds` are given.

    Raises ValueError for a cycle.
    """
    networkx = _networkx()
    cost = [1.0] * len(successors) if seconds is None else seconds
    graph = _digraph(successors)
    start = len(successors)  # an extra first node, so that a node's cost can lie on its incoming edges
    graph.add_edges_from((start, node) for node in range(start))
    for _, target, attributes in graph.edges(data=True):
        attributes["cost"] = cost[target]
    try:
        path: list[int] = networkx.dag_longest_path(graph, weight="cost")
    except networkx.NetworkXUnfeasible:
        raise ValueError("The graph has a cycle, so it has no longest path. Break the cycle (see find_cycle).") from None
    return [node for node in path if node != start]


def find_cycle(successors: Successors) -> list[int]:
    """The nodes of one cycle in the direction of the links, or an empty list. A short one is preferred."""
    networkx = _networkx()
    graph = _digraph(successors)
    parts = [part for part in networkx.strongly_connected_components(graph) if len(part) > 1]
    loops = [node for node in graph if graph.has_edge(node, node)]
    if loops:
        return [loops[0]]
    if not parts:
        return []
    smallest = graph.subgraph(min(parts, key=lambda part: (len(part), min(part))))
    cycle = [edge[0] for edge in networkx.find_cycle(smallest, source=min(smallest))]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def _networkx() -> Any:  # Any: networkx ships no types
    import networkx  # type: ignore[import-untyped]  # imported late: see the top

    return networkx


def _digraph(successors: Successors) -> Any:
    graph = _networkx().DiGraph()
    graph.add_nodes_from(range(len(successors)))
    graph.add_edges_from((node, target) for node, targets in enumerate(successors) for target in targets)
    return graph
