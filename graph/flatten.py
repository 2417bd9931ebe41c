"""Subgraphs unfolded: a document becomes one flat list of nodes under path ids (`upscale/sampler`).

An instance's inputs are laid on the ports they stand for, inner links get the instance's path, and outputs of
instances become aliases of the inner outputs. A muted or bypassed instance stays one node, with its interface as spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from graph.document import Document, Node, Subgraph, is_reference
from graph.errors import Problem, nearest
from graph.spec import NodeSpec, Output, Port
from graph.types import TypeRef

MAX_NESTING: Final = 32
#: Nodes that subgraphs may unfold into, inner instances counted, and the inputs and outputs these may have: a kilobyte of
#: nested instances asks for millions. A document that writes its nodes out may hold more.
MAX_UNFOLDED: Final = 50_000
MAX_UNFOLDED_PORTS: Final = 1_000_000

Values: TypeAlias = dict[str, Any]  # Any: JSON input values
Find: TypeAlias = Callable[[str], NodeSpec | None]


class Flat:
    """The unfolded document. For one without subgraphs: its nodes as they are."""

    def __init__(self, document: Document) -> None:
        self.ids: list[str] = list(document.nodes)
        self.nodes: list[Node] = list(document.nodes.values())
        #: "instance.output" -> "inner.output" (which may be an alias itself).
        self.aliases: dict[str, str] = {}
        #: Path of each unfolded instance -> its subgraph.
        self.instances: dict[str, Subgraph] = {}
        #: Path of each instance that stays one node -> its interface as a spec.
        self.interfaces: dict[str, NodeSpec] = {}
        #: (path, port) -> the literal of an instance that it shares with others ("upscale.seed").
        self.shared: dict[tuple[str, str], str] = {}
        self.problems: list[Problem] = []
        #: (path, port) of links that are no "node.port"; reported in `problems`.
        self.bad_links: set[tuple[str, str]] = set()
        #: Whether it could not be unfolded, so that nothing more can be said.
        self.is_refused = False

    def source(self, reference: str) -> str:
        """The "node.port" behind an alias."""
        while reference in self.aliases:
            reference = self.aliases[reference]
        return reference

    def targets(self, reference: str) -> Iterator[tuple[str, str]]:
        """The (path, port) pairs that a value given to "node.port" reaches."""
        waiting = [reference]
        while waiting:
            node, _, port = waiting.pop().partition(".")
            subgraph = self.instances.get(node)
            if subgraph is None:
                yield node, port
            elif port in subgraph.inputs:
                waiting += [f"{node}/{target}" for target in reversed(subgraph.inputs[port].to)]


def flatten(document: Document, find: Find) -> Flat:
    """Unfold a document. `find` gives the spec of a node type, or None. Problems are collected in the result."""
    flat = Flat(document)
    if document.subgraphs or any(node.type[0] == "#" for node in flat.nodes):
        _Unfolding(document, find, flat).run()
    return flat


class _Unfolding:
    def __init__(self, document: Document, find: Find, flat: Flat) -> None:
        self.document, self.find, self.flat = document, find, flat
        self.specs: dict[str, NodeSpec] = {}
        self.sizes: dict[str, tuple[int, int]] = {}

    def run(self) -> None:
        flat = self.flat
        flat.ids, flat.nodes = [], []
        if self.has_recursion():
            flat.is_refused = True
            return
        nodes, ports = self.unfolded(self.document.nodes)
        if nodes > MAX_UNFOLDED or ports > MAX_UNFOLDED_PORTS:
            most = f"{MAX_UNFOLDED} nodes" if nodes > MAX_UNFOLDED else f"{MAX_UNFOLDED_PORTS} inputs and outputs"
            self.problem("too_large", f"The subgraphs unfold into more than {most}. Take some instances out.")
            flat.is_refused = True
            return
        for name in self.document.subgraphs:
            self.interface(name)
        self.unfold("", self.document.nodes, {})

    def unfolded(self, nodes: Mapping[str, Node]) -> tuple[int, int]:
        """How many nodes, and ports of these, the instances among `nodes` unfold into, counted without unfolding any."""
        sizes = [
            self.size_of(node.type[1:])
            for node in nodes.values()
            if node.type[0] == "#" and node.state is None and node.type[1:] in self.document.subgraphs
        ]
        return sum(size[0] for size in sizes), sum(size[1] for size in sizes)

    def size_of(self, name: str) -> tuple[int, int]:
        size = self.sizes.get(name)
        if size is None:
            subgraph = self.document.subgraphs[name]
            nodes, ports = self.unfolded(subgraph.nodes)
            ports += len(subgraph.outputs) + sum(len(tied.to) for tied in subgraph.inputs.values())
            ports += sum(len(node.inputs) for node in subgraph.nodes.values())
            size = self.sizes[name] = (nodes + len(subgraph.nodes), ports)
        return size

    def problem(self, code: str, message: str, node: str | None = None, port: str | None = None) -> None:
        self.flat.problems.append(Problem(code, message, node, port))

    def has_recursion(self) -> bool:
        """Whether a subgraph contains itself, or nests too deep; reported. Depths by repeated removal of the leaves."""
        subgraphs = self.document.subgraphs
        uses = {
            name: {node.type[1:] for node in subgraph.nodes.values() if node.type[0] == "#" and node.type[1:] in subgraphs}
            for name, subgraph in subgraphs.items()
        }
        open_ = dict(uses)
        for _ in range(MAX_NESTING):
            leaves = [name for name, inner in open_.items() if not inner & open_.keys()]
            if not leaves:
                break
            for name in leaves:
                del open_[name]
        if not open_:
            return False
        chain = self._chain(uses, open_.keys() & uses.keys())
        if chain[-1] in chain[:-1]:
            path = " -> ".join(f"#{name}" for name in chain[chain.index(chain[-1]) :])
            self.problem("subgraph_recursion", f"A subgraph contains itself: {path}. Take one of these instances out.")
        else:
            self.problem("too_deep", f"Subgraphs nest more than {MAX_NESTING} deep, below #{chain[0]}. Flatten them.")
        return True

    @staticmethod
    def _chain(uses: Mapping[str, set[str]], open_: set[str]) -> list[str]:
        chain = [min(open_)]
        while chain[-1] not in chain[:-1]:
            inner = sorted(uses[chain[-1]] & open_)
            if not inner:
                break
            chain.append(inner[0])
        return chain

    def interface(self, name: str) -> NodeSpec:
        """The spec that an instance shows to the outside: port types are those of the ports inside."""
        if name in self.specs:
            return self.specs[name]
        subgraph = self.document.subgraphs[name]
        inputs = []
        for port, tied in subgraph.inputs.items():
            ports = [self.inner_port(name, subgraph, port, target) for target in tied.to]
            known = [found for found in ports if found is not None]
            if known:
                first = known[0]
                required = all(found.required for found in known) and not self._is_set(subgraph, tied.to)
                inputs.append(Port(port, first.type, optional=not required, hint=first.hint))
        outputs = []
        for port, source in subgraph.outputs.items():
            found = self.inner_output(name, subgraph, port, source.source)
            outputs.append(Output(port, found or TypeRef("T")))
        spec = NodeSpec(f"#{name}", name, 1, tuple(inputs), tuple(outputs))
        self.specs[name] = spec
        return spec

    @staticmethod
    def _is_set(subgraph: Subgraph, targets: tuple[str, ...]) -> bool:
        pairs = (target.split(".", 1) for target in targets)
        return all(port in subgraph.nodes[node].inputs for node, port in pairs if node in subgraph.nodes)

    def inner_spec(self, name: str, subgraph: Subgraph, what: str, reference: str) -> NodeSpec | None:
        node = reference.partition(".")[0]
        inner = subgraph.nodes.get(node)
        if inner is None:
            message = (
                f'#{name}: {what} names "{reference}", and no node inside is called "{node}".{nearest(node, subgraph.nodes)}'
            )
            self.problem("unknown_target", message)
            return None
        if inner.type[0] != "#":
            return self.find(inner.type)
        return self.interface(inner.type[1:]) if inner.type[1:] in self.document.subgraphs else None

    def inner_port(self, name: str, subgraph: Subgraph, port: str, target: str) -> Port | None:
        spec = self.inner_spec(name, subgraph, f"input {port}", target)
        if spec is None:
            return None
        inside = target.partition(".")[2]
        found = spec.port(inside)
        if found is None:
            known = nearest(inside, [port.name for port in spec.inputs])
            self.problem("unknown_port", f'#{name}: input {port} goes to "{target}", and {spec.id} has no such input.{known}')
        return found

    def inner_output(self, name: str, subgraph: Subgraph, port: str, source: str) -> TypeRef | None:
        spec = self.inner_spec(name, subgraph, f"output {port}", source)
        if spec is None:
            return None
        inside = source.partition(".")[2]
        found = spec.output(inside)
        if found is None:
            known = nearest(inside, [output.name for output in spec.outputs])
            self.problem(
                "unknown_output", f'#{name}: output {port} comes from "{source}", and {spec.id} has no such output.{known}'
            )
            return None
        return found.type

    def unfold(self, prefix: str, nodes: Mapping[str, Node], laid: Mapping[str, Values]) -> None:
        """Append the nodes of one scope; `laid` holds what the instance around it lays on their ports."""
        flat = self.flat
        for name, node in nodes.items():
            path = prefix + name
            inputs = {port: self.inner_value(prefix, path, port, value) for port, value in node.inputs.items()}
            if name in laid:
                inputs |= laid[name]
            if node.type[0] == "#" and node.state is None:
                self.unfold_instance(path, node.type[1:], inputs)
                continue
            if node.type[0] == "#" and node.type[1:] in self.specs:
                flat.interfaces[path] = self.specs[node.type[1:]]
            flat.ids.append(path)
            flat.nodes.append(node._replace(inputs=inputs))

    def inner_value(self, prefix: str, path: str, port: str, value: Any) -> Any:  # Any: JSON
        if type(value) is not dict or value.keys() != {"link"}:
            return value
        link = value["link"]
        if type(link) is str and not is_reference(link):
            message = f'{path}.{port} is linked to "{link}"; a link reads "node.port" and stays in its graph. Write it so.'
            self.problem("bad_link", message, path, port)
            self.flat.bad_links.add((path, port))
            return value
        return {"link": prefix + link} if prefix and type(link) is str else value

    def unfold_instance(self, path: str, name: str, inputs: Values) -> None:
        flat = self.flat
        subgraph = self.document.subgraphs.get(name)
        if subgraph is None:
            message = f'{path} is an instance of "#{name}", which this workflow does not define.'
            known = nearest(name, self.document.subgraphs) or " Define it under `subgraphs`, or remove the node."
            self.problem("unknown_subgraph", message + known, path)
            return
        flat.instances[path] = subgraph
        laid: dict[str, Values] = {}
        for port, value in inputs.items():
            tied = subgraph.inputs.get(port)
            if tied is None:
                message = f'{path} (#{name}) has no input "{port}".{nearest(port, subgraph.inputs)}'
                self.problem("unknown_port", message, path, port)
                continue
            for target in tied.to:
                inner, _, inner_port = target.partition(".")
                laid.setdefault(inner, {})[inner_port] = value
                origin = flat.shared.get((path, port))
                if origin is not None or len(tied.to) > 1:
                    flat.shared[f"{path}/{inner}", inner_port] = origin or f"{path}.{port}"
        for port, source in subgraph.outputs.items():
            flat.aliases[f"{path}.{port}"] = f"{path}/{source.source}"
        self.unfold(f"{path}/", subgraph.nodes, laid)
