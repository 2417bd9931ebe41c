"""From a compiled document to tasks: light nodes evaluated, mapped nodes unrolled, keys computed. Runs nothing heavy.

A task is one execution of a node, or of one element of a mapped node. Tasks are parallel lists in topological order;
a value that only a task can give is a `Pending` stand-in until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from graph import keys
from graph.compile import Compiled
from graph.context import Context
from graph.disk_cache import NOT_IN_KEY
from graph.errors import LatentgraphError, Problem, Refused, WorkflowError
from graph.node import Declaration
from graph.spec import NodeSpec
from graph.types import WireType


class Functions(Protocol):
    """Where the functions behind node types come from (see graph.registry)."""

    def function(self, id: str) -> Declaration:
        """The declaration of a node type, importing its module if need be."""

    @property
    def wire_types(self) -> Mapping[str, WireType]:
        """The declared wire types by name."""


class FailedElsewhere(LatentgraphError):
    """A light node or a planning hook failed in another process: the error's type and message."""


class Elsewhere(Protocol):
    """Calls light nodes and planning hooks of packs in another process (see graph.lights)."""

    def light(self, spec: NodeSpec, node: str, inputs: Mapping[str, Any], wire_types: Mapping[str, WireType]) -> list[Any]:
        """The outputs of a light node. Raises Refused or FailedElsewhere."""

    def resolve(self, spec: NodeSpec, node: str, known: Mapping[str, Any], wire_types: Mapping[str, WireType]) -> dict[str, Any]:
        """What a planning hook gives. Raises Refused or FailedElsewhere."""


class Pending(NamedTuple):
    """A value that does not exist yet: output `port` (an index) of task `task`."""

    task: int
    port: int


class Ref(NamedTuple):
    """A heavy input of a task: the port, the position if it is a list port, and whose output fills it."""

    port: str
    position: int | None
    task: int
    output: int


class Undrawn:
    """Stands for a random seed while planning without running: it equals nothing, so nothing below it is a hit."""

    def __repr__(self) -> str:
        return "random"


UNDRAWN: Final = Undrawn()
#: Executions that all mapped nodes of a document may have together: lists can be crossed and mapped in a few lines.
MAX_ELEMENTS: Final = 100_000


@dataclass(slots=True)
class Tasks:
    """The tasks of one document with one set of seeds. Index = task."""

    compiled: Compiled
    node: list[int] = field(default_factory=list)
    element: list[int | None] = field(default_factory=list)
    constants: list[dict[str, Any]] = field(default_factory=list)
    refs: list[tuple[Ref, ...]] = field(default_factory=list)
    skeleton: list[bytes] = field(default_factory=list)
    #: None where nothing can be looked up before the inputs exist: for a node that is not memoized (an effect,
    #: disk_cache, cache=False) or has an undrawn seed, and for everything below one.
    structural: list[bytes | None] = field(default_factory=list)
    #: Only for `disk_cache` tasks.
    declared: dict[int, bytes] = field(default_factory=dict)
    #: Per node: the first task of a heavy unmapped node, or its output values (with `Pending` inside) by port.
    produced: list[int | list[Any]] = field(default_factory=list)
    #: Per mapped node: its tasks, in the order of their elements.
    unrolled: dict[int, list[int]] = field(default_factory=dict)
    #: Nodes evaluated while planning, and those whose seed is not drawn.
    light: set[int] = field(default_factory=set)
    undrawn: set[int] = field(default_factory=set)
    #: What is wanted by default, once worked out (a `graph.plan.Roots`; Any: that module imports this one).
    roots: dict[None, Any] = field(default_factory=dict)
    #: What is told of tasks that were remembered: the same each time (`graph.active.NodeResult`; Any as above).
    remembered: dict[int, Any] = field(default_factory=dict)

    def id_of(self, task: int) -> str:
        """The node id of a task."""
        return self.compiled.ids[self.node[task]]

    def spec_of(self, task: int) -> NodeSpec:
        """The node type of a task."""
        return self.compiled.specs[self.node[task]]

    def outputs_of(self, node: int) -> list[Any]:
        """The output values of a node by port, `Pending` where a task gives them."""
        made = self.produced[node]
        if isinstance(made, int):
            return [Pending(made, port) for port in range(len(self.compiled.specs[node].outputs))]
        return made

    def tasks_of(self, node: int) -> list[int]:
        """The tasks of a node: one, one per element, or none for a light node."""
        made = self.produced[node]
        if isinstance(made, int):
            return [made]
        return self.unrolled.get(node, [])


class LightContext(Context):
    """What light nodes get: the data folder, nothing to report to."""

    def __init__(self, home: Path, node_id: str) -> None:
        self.home = home
        self.node_id = node_id


class Expander:
    """Builds `Tasks` from a compiled document. One per registry and environment; keeps the per-type key prefixes."""

    def __init__(self, functions: Functions, home: Path, environment: str, elsewhere: Elsewhere | None = None) -> None:
        """`elsewhere` calls what packs declare; without it everything is called here."""
        self.functions = functions
        self.home = home
        self.environment = environment
        self.elsewhere = elsewhere
        self._prefixes: dict[str, tuple[bytes, bytes]] = {}

    def expand(self, compiled: Compiled, seeds: Mapping[tuple[int, str], int]) -> Tasks:
        """Evaluate light nodes, unroll mapped ones, compute keys.

        `seeds` are the values drawn for `compiled.random`; a missing one leaves its node undrawn. Raises WorkflowError
        with every problem that light nodes and planning hooks report.
        """
        return _Expansion(self, compiled, seeds).run()

    def light_call(self, spec: NodeSpec, node: str) -> Callable[[dict[str, Any]], list[Any]]:
        """What gives the outputs of a light node for its arguments. Raises DeclarationError if it cannot be imported."""
        if self.elsewhere is not None and is_of_pack(spec):
            elsewhere = self.elsewhere
            return lambda inputs: elsewhere.light(spec, node, inputs, self.functions.wire_types)
        call = self.functions.function(spec.id).call
        return lambda inputs: outputs_in(spec, call(LightContext(self.home, node), **inputs))

    def resolve_call(self, spec: NodeSpec, node: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
        """The planning hook of a node type, for the inputs that are known. Raises DeclarationError likewise."""
        if self.elsewhere is not None and is_of_pack(spec):
            elsewhere = self.elsewhere
            return lambda known: elsewhere.resolve(spec, node, known, self.functions.wire_types)
        resolve = self.functions.function(spec.id).resolve
        assert resolve is not None
        return resolve

    def prefixes(self, spec: NodeSpec) -> tuple[bytes, bytes]:
        """The key prefix and the declared key prefix of a node type."""
        found = self._prefixes.get(spec.id)
        if found is None:
            found = self._prefixes[spec.id] = (keys.prefix_of(spec, self.environment), keys.declared_prefix_of(spec))
        return found


class _Expansion:
    """One run of `Expander.expand`."""

    def __init__(self, expander: Expander, compiled: Compiled, seeds: Mapping[tuple[int, str], int]) -> None:
        self.expander = expander
        self.compiled = compiled
        self.tasks = Tasks(compiled)
        self.problems: list[Problem] = []
        self.broken: set[int] = set()
        self.random: dict[int, dict[str, int | Undrawn]] = {}
        for index, port, _ in compiled.random:
            self.random.setdefault(index, {})[port] = seeds.get((index, port), UNDRAWN)
        self.declared_keys: dict[int, bytes] = {}
        self.needs_declared = _ancestors_of_persistent(compiled)
        self.elements = 0

    def run(self) -> Tasks:
        compiled, produced = self.compiled, self.tasks.produced
        for index, spec in enumerate(compiled.specs):
            links = compiled.links[index]
            if any(link.node in self.broken for link in links.values()):
                self.broken.add(index)
                produced.append([None] * len(spec.outputs))
            elif spec.light or compiled.mapped[index] or spec.resolves or index in self.random or self._gives_values(links):
                produced.append(self._place(index, spec))
            else:
                refs = tuple([Ref(name, None, produced[link.node], link.port) for name, link in links.items()])  # type: ignore[arg-type]
                produced.append(self._add(index, None, compiled.literals[index], refs))
        if self.problems:
            raise WorkflowError(self.problems)
        return self.tasks

    def _gives_values(self, links: Mapping[str, Any]) -> bool:
        produced = self.tasks.produced
        return any(not isinstance(produced[link.node], int) for link in links.values())

    def _place(self, index: int, spec: NodeSpec) -> int | list[Any]:
        """A node that needs a look at its input values: light, mapped, or fed by one of these."""
        inputs: dict[str, Any] = dict(self.compiled.literals[index])
        for name, link in self.compiled.links[index].items():
            inputs[name] = widened(spec, name, self.tasks.outputs_of(link.node)[link.port])
        mapped = self.compiled.mapped[index]
        if not mapped:
            inputs.update(self.random.get(index, {}))
            made = self._one(index, spec, None, inputs)
            return [None] * len(spec.outputs) if made is None else made
        count = self._length(index, mapped, inputs)
        self.elements += count
        if self.elements > MAX_ELEMENTS:
            said = f"{self.compiled.ids[index]} maps over {count} elements; with the mapped nodes above that is more than {MAX_ELEMENTS}"
            self._problem(index, None, "too_many_elements", f"{said}; shorten the lists, or split the workflow into several runs")
            return [None] * len(spec.outputs)
        elements = [self._one(index, spec, i, self._element(index, inputs, mapped, i)) for i in range(count)]
        if any(made is None for made in elements):
            return [None] * len(spec.outputs)
        self.tasks.unrolled[index] = [made for made in elements if isinstance(made, int)]
        columns = [
            [Pending(made, port) if isinstance(made, int) else made[port] for made in elements if made is not None]
            for port in range(len(spec.outputs))
        ]
        return columns

    def _length(self, index: int, mapped: Iterable[str], inputs: Mapping[str, Any]) -> int:
        node = self.compiled.ids[index]
        lengths: dict[str, int] = {}
        for name in sorted(mapped):
            if isinstance(inputs[name], list):
                lengths[name] = len(inputs[name])
            else:
                self._problem(
                    index,
                    name,
                    "unknown_length",
                    f"{node}.{name} is mapped over a list whose length is not known while planning; feed it from a list node or a mapped node",
                )
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            self._problem(
                index,
                min(lengths),
                "unequal_lists",
                f"{node} maps over lists of unequal length ({said}); make them equally long, or cross them with an xy_grid node",
            )
            return 0
        return next(iter(lengths.values()), 0)

    def _element(self, index: int, inputs: Mapping[str, Any], mapped: Iterable[str], i: int) -> dict[str, Any]:
        one = dict(inputs)
        for name in mapped:
            one[name] = inputs[name][i]
        for name, seed in self.random.get(index, {}).items():
            one[name] = seed if isinstance(seed, Undrawn) else (seed + i) % 2**53
        return one

    def _one(self, index: int, spec: NodeSpec, element: int | None, inputs: dict[str, Any]) -> int | list[Any] | None:
        """Evaluate a light node or add a task; None if it was refused."""
        if spec.light and not _touches_pending(spec, inputs):
            self.tasks.light.add(index)
            return self._evaluate(index, spec, inputs)
        if spec.resolves:
            resolved = self._resolve(index, spec, inputs)
            if resolved is None:
                return None
            inputs = resolved
        constants: dict[str, Any] = {}
        refs: list[Ref] = []
        for name, value in inputs.items():
            if isinstance(value, Pending):
                refs.append(Ref(name, None, value.task, value.port))
            elif isinstance(value, list) and any(isinstance(item, Pending) for item in value):
                refs.extend(Ref(name, at, item.task, item.port) for at, item in enumerate(value) if isinstance(item, Pending))
                constants[name] = [None if isinstance(item, Pending) else item for item in value]
            else:
                constants[name] = value
        return self._add(index, element, constants, tuple(refs))

    def _evaluate(self, index: int, spec: NodeSpec, inputs: dict[str, Any]) -> list[Any] | None:
        node = self.compiled.ids[index]
        call = self.expander.light_call(spec, node)
        guessed = {name: _guess(value) for name, value in inputs.items() if _is_looked_into(spec, name) and _has_undrawn(value)}
        try:
            arguments = inputs | guessed
            if spec.resolves:
                resolved = self._resolve(index, spec, arguments)
                if resolved is None:
                    return None
                arguments = resolved
            values = call(complete(spec, arguments))
            for value in values:
                keys.token(_tokenable(value))  # refuses what cannot enter a key, here where the node is known
        except Refused as refusal:
            if guessed:
                return [UNDRAWN] * len(spec.outputs)
            self._problem(index, refusal.port, refusal.code, _at(node, refusal))
        except Exception as error:  # a light node's failure is reported as a problem of the plan, whatever it is
            if guessed:
                return [UNDRAWN] * len(spec.outputs)
            said = str(error) if isinstance(error, FailedElsewhere) else f"{type(error).__name__}: {error}"
            self._problem(index, None, "light_node_failed", f"{node} ({spec.id}) failed while planning: {said}")
        else:
            return [_undrawn_like(value) for value in values] if guessed else values
        return None

    def _resolve(self, index: int, spec: NodeSpec, inputs: dict[str, Any]) -> dict[str, Any] | None:
        node = self.compiled.ids[index]
        resolve = self.expander.resolve_call(spec, node)
        # None: nothing feeds an optional port. Absent: its value does not exist yet, so the hook must not fill it in.
        fed = complete(spec, inputs).items()
        known = {name: value for name, value in fed if not _has_pending(value) and not _has_undrawn(value)}
        try:
            return inputs | dict(resolve(known))
        except Refused as refusal:
            self._problem(index, refusal.port, refusal.code, _at(node, refusal))
        except FailedElsewhere as error:
            self._problem(index, None, "light_node_failed", f"{node} ({spec.id}) failed while planning: {error}")
        return None

    def _add(self, index: int, element: int | None, constants: dict[str, Any], refs: tuple[Ref, ...]) -> int:
        tasks, spec = self.tasks, self.compiled.specs[index]
        task = len(tasks.node)
        tokens: list[tuple[str, bytes]] = []
        drawn = True
        for name, value in constants.items():
            if _has_undrawn(value):
                drawn = False
            else:
                tokens.append((name, keys.token(value)))
        tokens.sort()
        refs = tuple(sorted(refs)) if len(refs) > 1 else refs
        prefix, declared_prefix = self.expander.prefixes(spec)
        holes = [(ref.port, ref.position) for ref in refs]
        skeleton = keys.skeleton_of(prefix, tokens, holes)
        structural = self._structural(skeleton, refs) if drawn and spec.cache and not spec.persist else None
        if not drawn:
            tasks.undrawn.add(index)
        if index in self.needs_declared:
            if spec.persist:
                tokens = [(name, token) for name, token in tokens if name not in NOT_IN_KEY]
            self._declare(task, spec, keys.skeleton_of(declared_prefix, tokens, holes), refs, drawn)
        tasks.node.append(index)
        tasks.element.append(element)
        tasks.constants.append(constants)
        tasks.refs.append(refs)
        tasks.skeleton.append(skeleton if drawn else b"")
        tasks.structural.append(structural)
        return task

    def _structural(self, skeleton: bytes, refs: tuple[Ref, ...]) -> bytes | None:
        known = self.tasks.structural
        upstream: list[tuple[bytes, int]] = []
        for ref in refs:
            key = known[ref.task]
            if key is None:
                return None
            upstream.append((key, ref.output))
        return keys.structural_key(skeleton, upstream)

    def _declare(self, task: int, spec: NodeSpec, skeleton: bytes, refs: tuple[Ref, ...], drawn: bool) -> None:
        if not drawn or any(ref.task not in self.declared_keys for ref in refs):
            return
        key = keys.structural_key(skeleton, [(self.declared_keys[ref.task], ref.output) for ref in refs])
        self.declared_keys[task] = key
        if spec.persist:
            self.tasks.declared[task] = key

    def _problem(self, index: int, port: str | None, code: str, message: str) -> None:
        self.problems.append(Problem(code, message, self.compiled.ids[index], port))
        self.broken.add(index)


def is_of_pack(spec: NodeSpec) -> bool:
    """Whether a pack declares the node type: its id then has the pack's name in front."""
    return "/" in spec.id


def _at(node: str, refusal: Refused) -> str:
    return f"{node}.{refusal.port}: {refusal}" if refusal.port else f"{node}: {refusal}"


def _has_pending(value: Any) -> bool:
    return isinstance(value, Pending) or (isinstance(value, list) and any(map(_has_pending, value)))


def _has_undrawn(value: Any) -> bool:
    return isinstance(value, Undrawn) or (isinstance(value, list) and any(map(_has_undrawn, value)))


def _guess(value: Any) -> Any:
    """A value with seeds that are not drawn as 0, so that a light node can be asked how long its lists will be."""
    return [_guess(item) for item in value] if isinstance(value, list) else 0 if isinstance(value, Undrawn) else value


def _undrawn_like(value: Any) -> Any:
    return [_undrawn_like(item) for item in value] if isinstance(value, list) else UNDRAWN


def _is_looked_into(spec: NodeSpec, name: str) -> bool:
    """Whether a node reads the value at this port. A generic port only hands its value on."""
    port = spec.port(name)
    return port is not None and not port.type.is_generic


def outputs_in(spec: NodeSpec, made: Any) -> list[Any]:
    """What a node's function gave, by output. A NamedTuple is several outputs, unless it is a wire value itself."""
    several = hasattr(made, "_fields") and not isinstance(made, Pending) and not hasattr(type(made), "__wire__")
    return list(made) if several or len(spec.outputs) > 1 else [made]


def _touches_pending(spec: NodeSpec, inputs: Mapping[str, Any]) -> bool:
    """Whether a light node would have to look into a value that does not exist yet: then it runs as a task.

    A generic port only hands its value on, so a stand-in may pass through it.
    """
    return any(_is_looked_into(spec, name) and _has_pending(value) for name, value in inputs.items())


def _tokenable(value: Any) -> Any:
    """A light output with nothing in place of its stand-ins."""
    if isinstance(value, (Pending, Undrawn)):
        return None
    if isinstance(value, list):
        return [_tokenable(item) for item in value]
    return value


def widened(spec: NodeSpec, name: str, value: Any) -> Any:
    """An int that enters a float port becomes a float, also inside lists; anything else is handed on."""
    port = spec.port(name)
    if port is None or port.type.name != "float":
        return value
    if type(value) is int:
        return float(value)
    if isinstance(value, list):
        return [float(item) if type(item) is int else item for item in value]
    return value


def complete(spec: NodeSpec, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call: None for optional ports that nothing feeds."""
    return {port.name: inputs.get(port.name) for port in spec.inputs}


def _ancestors_of_persistent(compiled: Compiled) -> set[int]:
    """The nodes whose declared keys are wanted: `disk_cache` nodes and everything above them."""
    wanted: set[int] = set()
    stack = [index for index, spec in enumerate(compiled.specs) if spec.persist]
    while stack:
        index = stack.pop()
        if index not in wanted:
            wanted.add(index)
            stack.extend(link.node for link in compiled.links[index].values())
    return wanted
