"""Questions about the shape of a graph: an order, the nodes of a cycle.

Nodes are positions 0..n-1; a graph is a list of the successors of each. Cycles are found by networkx, imported only
when there is one (it costs 0.15 s); `order`, which every compilation needs, is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
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
