"""Workflows written in Python: node calls inside `with Graph()` are recorded and become a document.

    with Graph(name="circle") as g:
        prompt = g.input("prompt", "a red circle", label="Prompt")
        picture = g.name(draw(prompt=prompt, seed=random_seed()), "base")
        g.output("picture", sharpen(picture=picture))
    text = write_document(g.document())

A call gives a stand-in, typed as the node's result so that the type checker follows the wires. It has no value: it can
be handed to another node, and its outputs can be taken by name; everything else is refused with advice.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from contextvars import Token
from typing import Any, Final, Never, Self, TypeVar, cast

from graph.document import NAME, Document, NamedInput, NamedOutput, Node
from graph.errors import LatentgraphError, nearest
from graph.node import Declaration, Recorder, recording
from graph.spec import MISSING, NodeSpec

V = TypeVar("V")


class RecordingError(LatentgraphError, TypeError):
    """A recorded workflow does something that a document cannot say; the message tells what to do instead."""


class _Call:
    """A recorded node: its id may still change, so links hold the call itself."""

    __slots__ = ("arguments", "graph", "id", "spec")

    def __init__(self, graph: Graph, id: str, spec: NodeSpec, arguments: dict[str, Any]) -> None:
        self.graph, self.id, self.spec, self.arguments = graph, id, spec, arguments


class _StandIn:
    """What a recorded call gives: one output of the node, or (output None) the tuple of several."""

    __slots__ = ("_call", "_output")
    _call: _Call
    _output: str | None

    def __init__(self, call: _Call, output: str | None) -> None:
        object.__setattr__(self, "_call", call)
        object.__setattr__(self, "_output", output)

    def __getattr__(self, name: str) -> _StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        call = self._call
        if self._output == name:
            return self  # the one field of a NamedTuple
        if self._output is not None:
            raise RecordingError(f"{self!r} has no value while the workflow is recorded, so .{name} cannot be read. {_ADVICE}")
        if call.spec.output(name) is None:
            known = nearest(name, [output.name for output in call.spec.outputs]) or " It gives nothing."
            raise RecordingError(f"{call.id} ({call.spec.id}) has no output {name}.{known}")
        return _StandIn(call, name)

    def __setattr__(self, name: str, value: object) -> None:
        raise RecordingError(f"{self!r} cannot be changed (.{name}); values on wires are frozen. {_ADVICE}")

    def __repr__(self) -> str:
        return f"<{self._call.id}.{self._output}>" if self._output else f"<{self._call.id}>"

    def __iter__(self) -> Never:
        names = ", ".join(f".{output.name}" for output in self._call.spec.outputs)
        advice = f"Take its outputs by name: {names}." if self._output is None else _ADVICE
        raise RecordingError(f"{self!r} cannot be unpacked or iterated while the workflow is recorded. {advice}")

    __hash__ = object.__hash__


_ADVICE: Final = "Let a node work on the value."
_REFUSED: Final = {
    "bool": "tested", "len": "counted", "int": "converted", "float": "converted", "index": "used as an index",
    "getitem": "indexed", "contains": "searched", "call": "called", "eq": "compared", "ne": "compared", "lt": "compared",
    "le": "compared", "gt": "compared", "ge": "compared",
    **dict.fromkeys(("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "neg", "pos", "abs",
                     "radd", "rsub", "rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul", "invert"), "calculated with"),
}  # fmt: skip


def _refusal(done: str) -> Callable[..., Never]:
    def refuse(self: _StandIn, *_: object) -> Never:
        raise RecordingError(f"{self!r} has no value while the workflow is recorded, so it cannot be {done}. {_ADVICE}")

    return refuse


for _operation, _done in _REFUSED.items():
    setattr(_StandIn, f"__{_operation}__", _refusal(_done))


class _InputValue:
    """The value of a named input, on its way to the ports that it goes to."""

    def __init__(self, name: str, value: Any) -> None:  # Any: a literal
        self.name, self.value = name, value


class _Object:
    """An input value that is an object in JSON."""

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json


def random_seed() -> int:
    """A seed that is drawn anew for each run: `{"random": true}` in the document."""
    return cast(int, _Object({"random": True}))


def file(name: str, sha256: str) -> str:
    """A file by content: `{"file": name, "sha256": hex}` in the document."""
    return cast(str, _Object({"file": name, "sha256": sha256}))


class Graph(Recorder):
    """A workflow being recorded; see the top of this module."""

    def __init__(self, name: str = "", description: str = "") -> None:
        self._name, self._description = name, description
        self._calls: dict[str, _Call] = {}
        self._inputs: dict[str, tuple[list[tuple[_Call, str]], str]] = {}
        self._outputs: dict[str, tuple[_Call, str, str]] = {}
        self._token: Token[Recorder | None] | None = None

    def __enter__(self) -> Self:
        if self._token is not None:
            raise RecordingError("This Graph is being recorded already. Make a new one for another workflow.")
        self._token = recording.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            recording.reset(self._token)
            self._token = None

    def record(self, declaration: Declaration, arguments: dict[str, Any]) -> Any:
        """Note a node call and give its stand-in; called by the nodes themselves."""
        spec = declaration.spec
        call = _Call(self, self._free_id(spec.id), spec, {})
        for name, value in arguments.items():
            self._argument(call, name, value)
        self._calls[call.id] = call
        return _StandIn(call, spec.outputs[0].name if len(spec.outputs) == 1 else None)

    def name(self, value: V, id: str) -> V:
        """Give the node behind a stand-in this id, and give the stand-in back."""
        call = self._call_of(value, f'name(..., "{id}")')
        if not NAME.fullmatch(id):
            raise RecordingError(f'"{id}" is no node id: a small letter first, then small letters, digits and _. Choose another.')
        if self._calls.get(id, call) is not call:
            raise RecordingError(f'"{id}" is taken by another node. Choose another id.')
        self._calls = {id if other is call else name: other for name, other in self._calls.items()}
        call.id = id
        return value

    def input(self, name: str, value: V, *, label: str = "") -> V:
        """A named input with this value; hand what is given back to one or more nodes."""
        self._check_name(name, self._inputs, "input")
        if isinstance(value, _StandIn):
            raise RecordingError(f'Input "{name}" got {value!r}, the result of a node. Give it a plain value.')
        self._inputs[name] = ([], label)
        return cast(V, _InputValue(name, value))

    def output(self, name: str, value: object, *, label: str = "") -> None:
        """Name a result of the workflow."""
        self._check_name(name, self._outputs, "output")
        call = self._call_of(value, f'output("{name}", ...)')
        self._outputs[name] = (call, self._output_of(cast(_StandIn, value), f'output("{name}", ...)'), label)

    def document(self) -> Document:
        """The recorded workflow. Raises `RecordingError` for a named input that goes nowhere."""
        unused = [name for name, (targets, _) in self._inputs.items() if not targets]
        if unused:
            raise RecordingError(
                f"Input {', '.join(unused)} goes to no node. Hand what g.input(...) gives to a node, or leave it out."
            )
        return Document(
            name=self._name,
            description=self._description,
            nodes={call.id: Node(call.spec.id, _inputs_json(call), call.spec.version) for call in self._calls.values()},
            inputs={
                name: NamedInput(tuple(f"{call.id}.{port}" for call, port in targets), label)
                for name, (targets, label) in self._inputs.items()
            },
            outputs={name: NamedOutput(f"{call.id}.{port}", label) for name, (call, port, label) in self._outputs.items()},
        )

    def _free_id(self, type_id: str) -> str:
        stem = re.sub(r"[^a-z0-9_]", "_", type_id.rpartition("/")[2].lower())[:56].strip("_")
        stem = stem if NAME.fullmatch(stem) else f"node_{stem}"
        number, candidate = 1, stem
        while candidate in self._calls:
            number += 1
            candidate = f"{stem}_{number}"
        return candidate

    def _argument(self, call: _Call, name: str, value: Any) -> None:
        where = f"{call.id}.{name}"
        if isinstance(value, _InputValue):
            if value.name not in self._inputs:
                raise RecordingError(f'{where} got the input "{value.name}" of another Graph. Use g.input of this one.')
            self._inputs[value.name][0].append((call, name))
            value = value.value
        if isinstance(value, _StandIn):
            source = self._call_of(value, where)
            call.arguments[name] = (source, self._output_of(value, where))
        elif isinstance(value, _Object):
            call.arguments[name] = value.json
        else:
            call.arguments[name] = _literal(where, value)
        port = call.spec.port(name)
        if value is None and port is not None and port.optional and port.default == MISSING:
            del call.arguments[name]

    def _call_of(self, value: object, where: str) -> _Call:
        if not isinstance(value, _StandIn):
            raise RecordingError(
                f"{where} got a {type(value).__name__}, which is no result of a recorded node. Call the node in `with Graph()`."
            )
        call = value._call
        if call.graph is not self:
            raise RecordingError(f"{where} got {value!r}, which another Graph recorded. Call that node in this one.")
        return call

    @staticmethod
    def _output_of(value: _StandIn, where: str) -> str:
        if value._output is not None:
            return value._output
        names = ", ".join(f".{output.name}" for output in value._call.spec.outputs)
        advice = f"Take one of its outputs: {names}." if names else "It gives nothing that could be linked."
        raise RecordingError(f"{where} got all of {value!r}. {advice}")

    @staticmethod
    def _check_name(name: str, taken: dict[str, Any], what: str) -> None:
        if not NAME.fullmatch(name):
            raise RecordingError(
                f'"{name}" is no {what} name: a small letter first, then small letters, digits and _. Choose another.'
            )
        if name in taken:
            raise RecordingError(f'There is an {what} "{name}" already. Choose another name.')


def _inputs_json(call: _Call) -> dict[str, Any]:
    return {
        name: {"link": f"{value[0].id}.{value[1]}"} if isinstance(value, tuple) else value
        for name, value in call.arguments.items()
    }


def _literal(where: str, value: Any) -> Any:  # Any: a JSON literal
    if isinstance(value, enum.Enum):
        return _literal(where, value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        if any(isinstance(element, (_StandIn, _InputValue)) for element in value):
            raise RecordingError(f"{where} got a list with results of nodes in it. Join them with a list node.")
        return [_literal(where, element) for element in value]
    raise RecordingError(f"{where} got a {type(value).__name__}, which a workflow file cannot hold. Link a node that gives it.")
