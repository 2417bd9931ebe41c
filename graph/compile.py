"""A valid workflow made ready to run: plain lists by node, in an order in which every node follows what it needs.

Subgraphs are unfolded, muted and bypassed nodes resolved, literals in the types of their ports, lists and generics
followed. What planning adds (values of light nodes, seeds, keys) is not here, so one compilation serves many runs.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from graph.document import Document
from graph.errors import Problem, WorkflowError
from graph.flow import Link
from graph.spec import MAX_SEED, NodeSpec
from graph.types import Plain, TypeRef
from graph.validate import Check

__all__ = ["Compiled", "Link", "compile_document", "draw_seeds"]


@dataclass(slots=True)
class Compiled:
    """A workflow as the planner reads it. All lists go by node, in topological order; treat them as frozen."""

    ids: list[str]
    specs: list[NodeSpec]
    #: Literals in the port's type, and defaults of ports that are not linked. A seed may be `{"random": True}`, a file
    #: is `{"file": name, "sha256": hex}`. An optional input with nothing is not in the dict.
    literals: list[dict[str, Plain]]
    links: list[dict[str, Link]]
    #: Ports that a list enters element by element, so that the node runs once per element; None: it runs once.
    mapped: list[frozenset[str] | None]
    #: What each output really carries: a mapped node gives lists, T is the type it stands for ("T" if nothing binds it).
    types: list[tuple[TypeRef, ...]]
    successors: list[list[int]]
    #: Named outputs; None: absent because of something muted, see `absent` for the reason.
    outputs: dict[str, Link | None]
    absent: dict[str, str]
    #: Nodes that cannot run because what they need is muted, with the reason. They are not in `ids`.
    skipped: dict[str, str]
    #: Seeds to draw: node, port, and the name of the draw (a named input, or "instance.port"): equal names share one.
    random: list[tuple[int, str, str | None]]
    files: list[tuple[int, str]]
    index: dict[str, int]
    document: Document

    @property
    def digest(self) -> bytes:
        """The document's digest. A cache by it must put the document that was asked for into `document`."""
        return self.document.digest


def compile_document(document: Document, catalogue: Mapping[str, NodeSpec], *, file: str | None = None) -> Compiled:
    """Check and compile a workflow. Raises `WorkflowError` with all its problems; `file` is named in them."""
    check = Check(document, catalogue)
    problems = check.problems
    if problems:
        raise WorkflowError(_in_file(problem, file) for problem in problems)
    return _whole(check) if check.order == list(range(len(check.order))) and not check.flow.gone else _living(check)


def draw_seeds(compiled: Compiled) -> dict[str, int]:
    """Draw the random seeds of a document, 53 bits each; ports under one named input share a draw. By "node.port"."""
    drawn: dict[str, int] = {}
    shared: dict[str, int] = {}
    for node, port, name in compiled.random:
        seed = secrets.randbelow(MAX_SEED + 1)
        drawn[f"{compiled.ids[node]}.{port}"] = seed if name is None else shared.setdefault(name, seed)
    return drawn


def _in_file(problem: Problem, file: str | None) -> Problem:
    return problem if file is None else replace(problem, message=f"{file}: {problem.message}", file=file)


def _whole(check: Check) -> Compiled:
    """Every node of the document in its order: what the check made is used as it is."""
    return _compiled(check, check.flat.ids, check.literals, check.links, list(range(len(check.flat.ids))))


def _living(check: Check) -> Compiled:
    order = [position for position in check.order if position not in check.flow.gone]
    place = {position: index for index, position in enumerate(order)}
    links = [{port: Link(place[link.node], link.port) for port, link in check.links[at].items()} for at in order]
    return _compiled(check, [check.flat.ids[at] for at in order], [check.literals[at] for at in order], links, order)


def _compiled(
    check: Check, ids: list[str], literals: list[dict[str, Plain]], links: list[dict[str, Link]], order: list[int]
) -> Compiled:
    place = {position: index for index, position in enumerate(order)} if check.flow.gone or ids is not check.flat.ids else None
    outputs, absent = _outputs(check, place)
    return Compiled(
        ids=ids,
        specs=[profile.spec for at in order if (profile := check.profiles[at]) is not None],
        literals=literals,
        links=links,
        mapped=[check.flow.mapped[at] for at in order],
        types=[check.flow.types[at] or () for at in order],
        successors=_successors(links),
        outputs=outputs,
        absent=absent,
        skipped=check.flow.skipped,
        random=_random(check, place),
        files=[(at if place is None else place[at], port) for at, port in check.files if place is None or at in place],
        index=check.index if place is None else {name: index for index, name in enumerate(ids)},
        document=check.document,
    )


def _successors(links: list[dict[str, Link]]) -> list[list[int]]:
    """Who reads from each node, each reader once."""
    successors: list[list[int]] = [[] for _ in links]
    for index, ports in enumerate(links):
        for link in ports.values():
            readers = successors[link[0]]
            if not readers or readers[-1] != index:
                readers.append(index)
    return successors


def _outputs(check: Check, place: Mapping[int, int] | None) -> tuple[dict[str, Link | None], dict[str, str]]:
    outputs: dict[str, Link | None] = {}
    absent: dict[str, str] = {}
    for name, link, reason in check.flow.settled_outputs():
        if link is None:
            outputs[name], absent[name] = None, reason
        else:
            outputs[name] = link if place is None else Link(place[link.node], link.port)
    return outputs, absent


def _random(check: Check, place: Mapping[int, int] | None) -> list[tuple[int, str, str | None]]:
    if not check.random:
        return []
    flat = check.flat
    draws = dict(flat.shared)
    for name, named in check.document.inputs.items():
        for target in named.to:
            draws.update(((node, _current(check, node, port)), name) for node, port in flat.targets(target))
    living = [(at, port) for at, port in check.random if place is None or at in place]
    return [(at if place is None else place[at], port, draws.get((flat.ids[at], port))) for at, port in living]


def _current(check: Check, node: str, port: str) -> str:
    """Today's name of a port that a document may know by a former one."""
    profile = check.profiles[check.index[node]] if node in check.index else None
    rule = profile.rules.get(port) if profile is not None else None
    return port if rule is None else rule.name
