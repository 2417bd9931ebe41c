"""What is wrong with a workflow that somebody wants to run: form, size, node types, links, values, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from graph.compile import Compiled
from graph.document import Document, document_from_json
from graph.errors import Problem, WorkflowError
from graph.spec import NodeSpec
from server.jobs.orders import Limits, compile_within
from server.problems import Refusal, pointer_of, too_many_nodes

#: A refusal's document lists so many problems; the first ones are what one mends first.
MOST_PROBLEMS: Final = 200
#: Problems whose `port` is the name of a named input.
_OF_NAMED_INPUTS: Final = frozenset(("unknown_input", "bad_named_input", "unknown_target"))

Json = Mapping[str, Any]  # Any: plain JSON


class Checked(NamedTuple):
    """What was found; `compiled` is None if there are problems."""

    problems: tuple[Problem, ...]
    nodes: int
    compiled: Compiled | None


def read_object(raw: dict[str, Any], at: str = "") -> Document:
    """The document of a JSON object; `at` is the JSON pointer to it in the body.

    Raises Refusal `invalid_workflow` with every problem of its form and the pointer to the first one.
    """
    try:
        return document_from_json(raw)
    except WorkflowError as error:
        raise refusal_of(error, raw, at) from error


def refusal_of(error: WorkflowError, raw: Json, at: str = "") -> Refusal:
    """The refusal of a workflow that stands in a body at this pointer."""
    problems = error.problems[:MOST_PROBLEMS]
    refusal = Refusal.of_workflow(WorkflowError(problems))
    refusal.pointer = at + pointer_to(problems[0], raw)
    return refusal


def pointer_to(problem: Problem, raw: Json) -> str:
    """The JSON pointer (RFC 6901) to a problem's place in a document, as far as it exists there; "" is the whole document.

    A node inside a subgraph has a path as its id ("upscale/sampler"): the pointer then leads to the instance.
    """
    steps: list[str] = []
    if problem.node is not None:
        steps = ["nodes", problem.node.partition("/")[0]]
        if problem.port is not None and "/" not in problem.node:
            steps += ["inputs", problem.port]
    elif problem.port is not None:
        steps = ["inputs" if _has(raw, ("inputs", problem.port)) else "outputs", problem.port]
    while steps and not _has(raw, steps):
        steps.pop()
    return pointer_of(steps)


def pointer_in_body(problem: Problem, workflow: Json | str, document: Document, inputs: Json) -> str:
    """The JSON pointer to a problem's place in a body of `workflow` (a document, or the name of a saved one), `inputs` and `targets`.

    What is wrong with a given input stands there, not at the port that the input goes to.
    """
    if problem.code == "unknown_target" and problem.node is not None:
        return "/targets"
    given = next((name for name in inputs if _is_about(problem, name, document)), None)
    if given is not None:
        return pointer_of(("inputs", given))
    return "/workflow" if isinstance(workflow, str) else "/workflow" + pointer_to(problem, workflow)


def _is_about(problem: Problem, name: str, document: Document) -> bool:
    """Whether a problem is about the named input of this name, or about a port that it goes to."""
    if problem.node is None:
        return problem.port == name and problem.code in _OF_NAMED_INPUTS
    named = document.inputs.get(name)
    return named is not None and f"{problem.node}.{problem.port}" in named.to


def _has(raw: Any, steps: Iterable[str]) -> bool:
    for step in steps:
        if not isinstance(raw, Mapping) or step not in raw:
            return False
        raw = raw[step]
    return True


def refuse_large(document: Document, most_nodes: int) -> None:
    """Raise Refusal `too_large` for a document with more nodes than the setting `max_nodes` says; those of subgraphs count."""
    count = document.node_count
    if count > most_nodes:
        raise too_many_nodes(f"{count} nodes", most_nodes)


def check(
    document: Document,
    inputs: Json,
    specs: Mapping[str, NodeSpec],
    limits: Limits,
    missing: Callable[[Compiled], Iterable[Problem]] | None = None,
) -> Checked:
    """Set the named inputs, validate, and look for files; the workflow's own faults are what it gives.

    Raises Refusal `too_large` for one that unfolds into more nodes than `limits` says.
    `missing` gives the problem of each file that the workflow names and this machine does not have.
    """
    nodes = len(document.nodes)
    try:
        compiled = compile_within(document, inputs, specs, limits)
    except WorkflowError as error:
        return Checked(error.problems, nodes, None)
    problems = tuple(missing(compiled)) if missing is not None else ()
    return Checked(problems, len(compiled.ids), None if problems else compiled)
