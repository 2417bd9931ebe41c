"""From what is asked to what can be accepted: checked against the catalogue, inputs set, seeds drawn, cost estimated.

Pure, except that random seeds are drawn. It knows no store and no queue; the desk calls it, in a thread if it may take long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from graph.compile import Compiled, compile_document, draw_seeds
from graph.document import Document, Node, pack_document, read_document
from graph.errors import Problem, WorkflowError, nearest
from graph.jsontext import MAX_DEPTH, is_deeper_than
from graph.spec import NodeSpec
from server.problems import Refusal, too_many_nodes

#: Documents with more nodes than this are checked in a thread (measured: about 20 us a node).
QUICK_NODES: Final = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """What one order may hold, and how its names look. Readable from the API (`to_json`)."""

    nodes: int = 10_000
    depth: int = MAX_DEPTH
    text: int = 1_000_000
    inputs: int = 1_000
    targets: int = 1_000
    #: Priorities go from minus this to this.
    priority: int = 100
    client: int = 128
    idempotency_key: int = 255

    def to_json(self) -> dict[str, int]:
        """The limits by name."""
        return asdict(self)


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
    """Check a document with these inputs and draw its seeds. Refused with `invalid_workflow` and every problem, or `invalid`."""
    _check_values(inputs.items(), "/inputs", limits)
    for _, node in _nodes(document):
        if node.inputs:
            _check_values(node.inputs.items(), "/workflow", limits)
    try:
        whole = document.with_inputs(inputs) if inputs else document
        compiled = compile_document(whole, specs)
        if len(compiled.ids) > limits.nodes:
            raise too_many_nodes(f"{len(compiled.ids)} nodes when its subgraphs are unfolded", limits.nodes)
        roots = roots_of(compiled, targets)
        return Prepared(compiled, pack_document(whole), roots, draw_seeds(compiled))
    except WorkflowError as error:
        raise Refusal.of_workflow(error) from None


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


def _nodes(document: Document) -> Iterator[tuple[str, Node]]:
    yield from document.nodes.items()
    for subgraph in document.subgraphs.values():
        yield from subgraph.nodes.items()


def _check_values(values: Iterable[tuple[str, Any]], pointer: str, limits: Limits) -> None:
    for name, value in values:
        if type(value) is dict and len(value) == 1 and type(text := next(iter(value.values()))) is str:  # a link
            longest = len(text)
        elif type(value) in (dict, list):
            if is_deeper_than(value, limits.depth):
                raise Refusal(
                    "invalid", f'The value of "{name}" nests more than {limits.depth} deep. Flatten it.', pointer=pointer
                )
            longest = max((len(text) for text in _texts(value)), default=0)
        else:
            longest = len(value) if type(value) is str else 0
        if longest > limits.text:
            raise _over(pointer, f'The text of "{name}" has {longest} characters', limits.text)


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) is str:
            yield one
        elif type(one) is list:
            stack.extend(one)
        elif type(one) is dict:
            stack.extend(one.values())


def _files_in(value: Any) -> Iterator[Mapping[str, Any]]:
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) is list:
            stack.extend(one)
        elif type(one) is dict and isinstance(one.get("sha256"), str):
            yield one


def _over(pointer: str, found: str, most: int) -> Refusal:
    return Refusal("invalid", f"{found}; the most is {most}. See the limits of the API.", pointer=pointer, limit=most)
