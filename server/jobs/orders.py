"""From what is asked to what can be accepted: checked against the catalogue, inputs set, seeds drawn, cost estimated.

Pure, except that random seeds are drawn. It knows no store and no queue; the desk calls it, in a thread if it may take long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph.compile import Compiled, compile_document, draw_seeds
from graph.document import Document, pack_document, read_document
from graph.errors import Problem, WorkflowError, nearest
from graph.jsontext import MAX_DEPTH, is_deeper_than
from graph.spec import NodeSpec
from server.problems import Refusal, too_many_nodes

#: Documents with more nodes than this are checked in a thread (measured: about 20 us a node).
QUICK_NODES: Final = 200
#: A value of an input may nest so deep: in the document it lies in `nodes`, the node and its `inputs`, and that must be read again.
MOST_NESTED: Final = MAX_DEPTH - 4


@dataclass(frozen=True, slots=True)
class Limits:
    """What one order may hold; GET /v1/limits tells it."""

    #: As written, and after subgraphs are unfolded.
    nodes: int = 10_000
    #: Characters of one text.
    text: int = 1_000_000
    inputs: int = 1_000
    targets: int = 1_000
    #: Priorities go from minus this to this.
    priority: int = 100
    client: int = 64
    idempotency_key: int = 255


DEFAULT_LIMITS: Final = Limits()


#: An Idempotency-Key and a digest of the request it came with.
Key = tuple[str, bytes]


class Order(NamedTuple):
    """What is asked for. `document` is resolved by the route (`workflow` is the saved one's name, or "" for the document's own)."""

    document: Document
    workflow: str = ""
    inputs: Mapping[str, Any] = {}  # Any: plain JSON
    targets: tuple[str, ...] | None = None
    priority: int = 0
    client: str = ""
    webhook: str | None = None
    idempotency: Key | None = None


class Prepared(NamedTuple):
    """An order that can run: the document with its inputs set, compiled, and the nodes that are wanted for themselves."""

    compiled: Compiled
    document: bytes
    roots: list[int]
    seeds: dict[str, int]

    @property
    def files(self) -> tuple[str, ...]:
        """SHA-256 (hex) of the uploads that the document names."""
        values = (self.compiled.literals[node].get(port) for node, port in self.compiled.files)
        named = {str(value["sha256"]) for one in values for value in _files_in(one)}
        return tuple(sorted(named))


def check_form(order: Order, limits: Limits) -> None:
    """Refuse what is over a limit, with `invalid` and its place in the request's body, or `too_large`; quick whatever it holds."""
    key = order.idempotency[0] if order.idempotency is not None else "-"
    if not 0 < len(key) <= limits.idempotency_key:
        raise Refusal("invalid", f"The Idempotency-Key has {len(key)} characters; it takes 1 to {limits.idempotency_key}.")
    if len(order.client) > limits.client:
        raise _over("/client", f"`client` has {len(order.client)} characters", limits.client)
    if abs(order.priority) > limits.priority:
        raise Refusal(
            "invalid",
            f"`priority` is {order.priority}; it takes -{limits.priority} to {limits.priority}. Choose one of these.",
            pointer="/priority",
        )
    for name, held, most in (
        ("inputs", len(order.inputs), limits.inputs),
        ("targets", len(order.targets or ()), limits.targets),
    ):
        if held > most:
            raise _over(f"/{name}", f"`{name}` has {held} entries", most)
    count = order.document.node_count
    if count > limits.nodes:
        raise too_many_nodes(f"{count} nodes", limits.nodes)


def is_quick(document: Document) -> bool:
    """Whether checking it takes so little time that no thread is needed."""
    return len(document.nodes) <= QUICK_NODES and not document.subgraphs


def prepare(
    document: Document, inputs: Mapping[str, Any], targets: tuple[str, ...] | None, specs: Mapping[str, NodeSpec], limits: Limits
) -> Prepared:
    """Check a document with these inputs and draw its seeds. Refused with `invalid_workflow` and its problems, or `too_large`."""
    try:
        compiled = compile_within(document, inputs, specs, limits)
        roots = roots_of(compiled, targets)
        return Prepared(compiled, pack_document(compiled.document), roots, draw_seeds(compiled))
    except WorkflowError as error:
        raise Refusal.of_workflow(error) from None


def compile_within(document: Document, inputs: Mapping[str, Any], specs: Mapping[str, NodeSpec], limits: Limits) -> Compiled:
    """The document with its inputs set, compiled: what jobs, plans and validation check alike.

    Raises WorkflowError with the problems, of values over a limit once there are no others, and Refusal `too_large` for too
    many nodes.
    """
    if inputs:
        _refuse_deep(inputs)
        document = document.with_inputs(inputs)
    compiled = compile_document(document, specs)
    if len(compiled.ids) > limits.nodes:
        raise too_many_nodes(f"{len(compiled.ids)} nodes when its subgraphs are unfolded", limits.nodes)
    problems = _long_texts(compiled, limits.text)
    if problems:
        raise WorkflowError(problems)
    return compiled


def prepare_again(document: bytes, targets: tuple[str, ...] | None, specs: Mapping[str, NodeSpec], limits: Limits) -> Prepared:
    """The same for the frozen document of a job."""
    try:
        read = read_document(document)
    except WorkflowError as error:
        raise Refusal.of_workflow(error) from None
    return prepare(read, {}, targets, specs, limits)


#: A target: a node, one element of a mapped node ("node[3]"), or one of its outputs ("node.port"). As `graph.plan` reads it.
_TARGET: Final = re.compile(r"(?P<id>[^.\[]+)(\[(?P<element>[0-9]{1,9})\])?(\.(?P<port>.+))?")


def roots_of(compiled: Compiled, targets: tuple[str, ...] | None) -> list[int]:
    """Indices of the nodes that are wanted: the named outputs' and every effect, or those named by `targets`.

    Says what planning would say (`graph.plan.roots_of`), without the engine: raises WorkflowError for unknown targets and
    where there is nothing to run. Whether a mapped node has the element named is known to planning only.
    """
    if targets is None:
        roots = {link.node for link in compiled.outputs.values() if link is not None}
        roots.update(at for at, spec in enumerate(compiled.specs) if spec.effect)
        if not roots and not compiled.outputs:
            message = 'the workflow has no named output and no node with an effect; name one under "outputs", or add a save node'
            raise WorkflowError([Problem("nothing_to_run", message)])
        return sorted(roots)
    found = [_target(compiled, target) for target in targets]
    problems = [one for one in found if isinstance(one, Problem)]
    if problems:
        raise WorkflowError(problems)
    return sorted({one for one in found if isinstance(one, int)})


def _target(compiled: Compiled, target: str) -> int | Problem:
    parts = _TARGET.fullmatch(target)
    id, port = (parts["id"], parts["port"]) if parts else (target, None)
    index = compiled.index.get(id)
    if index is None:
        return Problem("unknown_target", f'target "{target}": there is no node "{id}".{nearest(id, compiled.ids)}', id)
    names = [output.name for output in compiled.specs[index].outputs]
    if port and port not in names:
        return Problem("unknown_target", f'target "{target}": {id} has no output "{port}".{nearest(port, names)}', id, port)
    return index


def _refuse_deep(inputs: Mapping[str, Any]) -> None:
    deep = [name for name, value in inputs.items() if type(value) in (dict, list) and is_deeper_than(value, MOST_NESTED)]
    if deep:
        most = f"nests more than {MOST_NESTED} deep. Flatten it."
        raise WorkflowError(Problem("bad_named_input", f"The value of {name} {most}", port=name) for name in deep)


def _long_texts(compiled: Compiled, most: int) -> list[Problem]:
    """A problem for each text of more than `most` characters that a node is given."""
    problems = []
    for at, literals in enumerate(compiled.literals):
        for port, value in literals.items():
            if type(value) is str:
                longest = len(value)
            elif type(value) is list:
                longest = max((len(one) for one in value if type(one) is str), default=0)
            else:
                continue
            if longest > most:
                message = f"{compiled.ids[at]}.{port} got a text of {longest} characters; it takes {most} at most. Shorten it."
                problems.append(Problem("too_long", message, compiled.ids[at], port))
    return problems


def _files_in(value: Any) -> Iterator[Mapping[str, Any]]:
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) is list:
            stack.extend(one)
        elif type(one) is dict and isinstance(one.get("sha256"), str):
            yield one


def _over(pointer: str, found: str, most: int) -> Refusal:
    return Refusal(
        "invalid", f"{found}; the most is {most}. Send less; GET /v1/limits has every limit.", pointer=pointer, limit=most
    )
