"""Small node types for tests of documents: numbers, texts, lists, switches, and a value only nodes can give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from graph.context import Context
from graph.document import Document, document_from_json
from graph.node import Was, declaration_of, node
from graph.spec import File, Model, NodeSpec, Range, Seed
from graph.types import record

T = TypeVar("T")


@record("Picture")
@dataclass(frozen=True)
class Picture:
    """A picture by its name."""

    name: str


class Parts(NamedTuple):
    """Two outputs."""

    picture: Picture
    count: int


@node(title="Number", version=1, light=True)
def number(ctx: Context, value: float = 0.0) -> float:
    """A number."""
    return value


@node(title="Whole", version=1, light=True)
def whole(ctx: Context, value: int = 0) -> int:
    """A whole number."""
    return value


@node(title="Text", version=1, light=True)
def text(ctx: Context, value: str) -> str:
    """A text."""
    return value


@node(title="Add", version=2, light=True)
def add(ctx: Context, a: float, b: float = 1.0) -> float:
    """The sum."""
    return a + b


@node(title="Texts", version=1, light=True)
def texts(ctx: Context, values: list[str]) -> list[str]:
    """A list of texts."""
    return values


@node(title="Repeat", version=1, light=True)
def repeat(ctx: Context, value: str, times: int = 2) -> list[str]:
    """A list of one text."""
    return [value] * times


@node(title="Join", version=1)
def join(ctx: Context, values: list[str]) -> str:
    """The texts one after the other."""
    return "".join(values)


@node(title="Draw", version=1, output="picture")
def draw(
    ctx: Context,
    prompt: str,
    steps: Annotated[int, Range(1, 200)] = 20,
    seed: Annotated[int, Seed()] = 0,
    guidance: Annotated[float, Range(0.0, 30.0)] = 7.0,
    size: Annotated[int, Range(64, 512, 64, strict=True)] = 128,
    method: Literal["euler", "heun"] = "euler",
    tiled: bool = False,
    start: Picture | None = None,
    limit: int | None = None,
) -> Picture:
    """A picture of the prompt."""
    return Picture(prompt)


@node(title="Sharpen", version=1, output="picture")
def sharpen(ctx: Context, picture: Picture, amount: float = 1.0) -> Picture:
    """A sharper picture."""
    return picture


@node(title="Blend", version=1, output="picture")
def blend(ctx: Context, weight: float, first: Picture, second: Picture | None = None) -> Picture:
    """Two pictures in one."""
    return first


@node(title="Split", version=1)
def split(ctx: Context, picture: Picture) -> Parts:
    """A picture and a count."""
    return Parts(picture, 1)


@node(title="Switch", version=1, light=True)
def switch(ctx: Context, first: bool, a: T, b: T) -> T:
    """One of two values."""
    return a if first else b


@node(title="Keep", version=1, persist=True)
def keep(ctx: Context, value: T) -> T:
    """The value, kept."""
    return value


@node(title="Collect", version=1)
def collect(ctx: Context, values: list[T]) -> list[T]:
    """The list."""
    return values


@node(title="Open", version=1, light=True, output="picture")
def open_picture(ctx: Context, file: Annotated[str, File(("image",))]) -> Picture:
    """A picture from a file."""
    return Picture(file)


@node(title="Load", version=1, light=True)
def load(ctx: Context, model: Annotated[str, Model("lora")]) -> str:
    """A model's name."""
    return model


@node(title="Save", version=1, effect=True)
def save(ctx: Context, picture: Picture) -> None:
    """Save it."""


@node(title="Resize", version=3, was=("scale",), output="picture")
def resize(ctx: Context, picture: Picture, factor: Annotated[float, Was(("ratio", "by"))] = 2.0) -> Picture:
    """A larger picture."""
    return picture


@node(title="Pack node", version=1, id="acme/glow", output="picture")
def glow(ctx: Context, picture: Picture) -> Picture:
    """A glowing picture."""
    return picture


FUNCTIONS = (
    number, whole, text, add, texts, repeat, join, draw, sharpen, blend, split, switch, keep, collect, open_picture, load,
    save, resize, glow,
)  # fmt: skip


def catalogue() -> dict[str, NodeSpec]:
    """The specs of the nodes above by type id."""
    specs = [declaration.spec for function in FUNCTIONS if (declaration := declaration_of(function)) is not None]
    return {spec.id: spec for spec in specs}


SHA = "ab" * 32


def link(reference: str) -> dict[str, str]:
    """An input value that is a link."""
    return {"link": reference}


def n(type: str, state: str | None = None, /, **inputs: Any) -> dict[str, Any]:
    """A node's JSON."""
    entry: dict[str, Any] = {"type": type, "inputs": inputs}
    return entry if state is None else entry | {"state": state}


def workflow(nodes: dict[str, Any], **fields: Any) -> Document:
    """A document of these nodes."""
    return document_from_json({"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, **fields})
