"""What the engine, the page and the API know of a node type without its function: ports, hints, flags. All JSON.

Derived from the function's signature by `graph.node`; carried in the catalogue to processes that import no node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from graph.types import TypeRef


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included; `step` is the widget's step, and a multiple is required if `strict`."""

    low: float
    high: float
    step: float | None = None
    strict: bool = False


class Choice(NamedTuple):
    """One of these strings. `Literal["a", "b"]` as the annotation says the same."""

    options: tuple[str, ...]


class Text(NamedTuple):
    """A text widget."""

    multiline: bool = True


class Seed(NamedTuple):
    """A random seed, 0 to 2^53 - 1; `{"random": true}` draws one. Element i of a mapped node uses seed + i."""


class File(NamedTuple):
    """A file by content: `{"file": name, "sha256": hex}`. `kinds` are what the page offers ("image", "video")."""

    kinds: tuple[str, ...] = ()


class Model(NamedTuple):
    """The name of a model of this kind ("pipeline", "lora", ...), as `latentgraph models` lists them."""

    kind: str


class Doc(NamedTuple):
    """One sentence about the port."""

    text: str


Hint = Range | Choice | Text | Seed | File | Model
HINTS: Final = {"range": Range, "choice": Choice, "text": Text, "seed": Seed, "file": File, "model": Model}

MAX_SEED: Final = 2**53 - 1
MISSING: Final = "\0missing"  # a default no literal can equal; JSON-safe, so that the catalogue needs no special case


@dataclass(frozen=True, slots=True)
class Port:
    """An input. `default` is MISSING if there is none; `optional` says that None (nothing linked) is allowed."""

    name: str
    type: TypeRef
    default: Any = MISSING  # Any: a JSON literal of the port's type
    optional: bool = False
    hint: Hint | None = None
    doc: str = ""
    was: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a node without a value here is incomplete."""
        return bool(self.default == MISSING) and not self.optional


@dataclass(frozen=True, slots=True)
class Output:
    """An output port."""

    name: str
    type: TypeRef
    doc: str = ""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node type. `place` is "device" for nodes that borrow a device recipe and return none, else "host"."""

    id: str
    title: str
    version: int
    inputs: tuple[Port, ...]
    outputs: tuple[Output, ...]
    doc: str = ""
    category: str = ""
    light: bool = False
    effect: bool = False
    cache: bool = True
    #: The memo kind: "disk_cache" for the one node whose hit skips everything above it.
    persist: bool = False
    place: Literal["host", "device"] = "host"
    devices: int = 1
    #: Whether the node has a planning hook (`resolve=`): its module is then imported while planning.
    resolves: bool = False
    #: Names of the inputs that are recipes, in order: what must be resident before the node starts.
    borrows: tuple[str, ...] = ()
    #: "module:function", for the worker that runs it.
    entry: str = ""
    #: Digest (hex) of the module's and its first-party imports' code, comments and docstrings left out.
    code: str = ""
    was: tuple[str, ...] = ()
    _ports: dict[str, Port] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for port in self.inputs:
            for name in (port.name, *port.was):
                self._ports[name] = port

    def port(self, name: str) -> Port | None:
        """The input of this name (or of this former name)."""
        return self._ports.get(name)

    def output(self, name: str) -> Output | None:
        """The output of this name."""
        return next((output for output in self.outputs if output.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """The catalogue's form; `from_json` reads it back."""
        return {
            "id": self.id, "title": self.title, "version": self.version, "doc": self.doc, "category": self.category,
            "light": self.light, "effect": self.effect, "cache": self.cache, "persist": self.persist,
            "place": self.place, "devices": self.devices, "borrows": list(self.borrows), "entry": self.entry,
            "code": self.code, "resolves": self.resolves, "was": list(self.was),
            "inputs": [_port_json(port) for port in self.inputs],
            "outputs": [{"name": o.name, "type": str(o.type), "doc": o.doc} for o in self.outputs],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> NodeSpec:
        """Read what `to_json` gave."""
        plain = {
            key: data[key]
            for key in (
                "id",
                "title",
                "version",
                "doc",
                "category",
                "light",
                "effect",
                "cache",
                "persist",
                "place",
                "devices",
                "entry",
                "code",
                "resolves",
            )
        }
        return cls(
            **plain,
            borrows=tuple(data["borrows"]),
            was=tuple(data["was"]),
            inputs=tuple(_port_from(port) for port in data["inputs"]),
            outputs=tuple(Output(o["name"], TypeRef.parse(o["type"]), o["doc"]) for o in data["outputs"]),
        )


def _port_json(port: Port) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": port.name,
        "type": str(port.type),
        "optional": port.optional,
        "doc": port.doc,
        "was": list(port.was),
    }
    if port.default != MISSING:
        entry["default"] = port.default
    if port.hint is not None:
        entry["hint"] = {
            "hint": type(port.hint).__name__.lower(),
            **{k: list(v) if isinstance(v, tuple) else v for k, v in port.hint._asdict().items()},
        }
    return entry


def _port_from(data: dict[str, Any]) -> Port:
    hint: Hint | None = None
    if "hint" in data:
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in data["hint"].items() if k != "hint"}
        hint = HINTS[data["hint"]["hint"]](**values)
    return Port(
        data["name"],
        TypeRef.parse(data["type"]),
        data.get("default", MISSING),
        data["optional"],
        hint,
        data["doc"],
        tuple(data["was"]),
    )
