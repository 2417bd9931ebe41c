"""`@node`: turns a typed function into a node type. The signature is the whole declaration.

Outside a `with Graph()` block the decorated function is the plain function (its `ctx` supplied); inside, calling it
records a node and gives a stand-in typed as the result.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from types import UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Final,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from graph.context import Context
from graph.errors import DeclarationError
from graph.spec import HINTS, MISSING, Choice, Doc, Hint, NodeSpec, Output, Port
from graph.types import PLAIN_NAMES, TypeRef, WireType, wire_type_of

P = ParamSpec("P")
R = TypeVar("R")

#: Any: inputs by name as the planner knows them. None: nothing feeds this optional input; absent: its value is not known
#: while planning, so the hook must not fill it in.
Resolve = Callable[[dict[str, Any]], Mapping[str, Any]]


class Declaration(NamedTuple):
    """What `@node` leaves on a function: the spec, the function that takes ctx first, and the planning hook."""

    spec: NodeSpec
    call: Callable[..., Any]  # Any: each node has its own signature
    resolve: Resolve | None


class Recorder(Protocol):
    """What `with Graph()` puts in place (see graph.record)."""

    def record(self, declaration: Declaration, arguments: dict[str, Any]) -> Any:
        """Note a node and give its stand-in."""


recording: Final[ContextVar[Recorder | None]] = ContextVar("recording", default=None)


def node(
    *,
    title: str,
    version: int,
    id: str | None = None,
    category: str = "",
    light: bool = False,
    effect: bool = False,
    cache: bool = True,
    persist: bool = False,
    place: Literal["host", "device"] | None = None,
    devices: int = 1,
    output: str | None = None,
    was: tuple[str, ...] = (),
    resolve: Resolve | None = None,
) -> Callable[[Callable[Concatenate[Context, P], R]], Callable[P, R]]:
    """Declare a node type.

    `light` nodes are pure, quick and evaluated while planning. `effect` nodes change the world and are never
    memoized. `output` names a single output (else "value"). `resolve` is called while planning with the inputs known
    then; it returns replacements (family-dependent defaults) and raises `Refused` for inputs that cannot work.
    """

    def declare(function: Callable[Concatenate[Context, P], R]) -> Callable[P, R]:
        shape = _shape_of(function, id or function.__name__, effect, output)
        spec = NodeSpec(
            id=id or function.__name__, title=title, version=version, doc=inspect.getdoc(function) or "", category=category,
            inputs=shape.inputs, outputs=shape.outputs, light=light, effect=effect, cache=cache and not effect,
            persist=persist, place=place or ("device" if shape.on_device else "host"), devices=devices,
            resolves=resolve is not None, borrows=() if light else shape.borrows,
            entry=f"{function.__module__}:{function.__name__}", was=was,
        )  # fmt: skip
        declaration = Declaration(spec, function, resolve)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            recorder = recording.get()
            if recorder is None:
                return function(Context(), *args, **kwargs)
            bound = inspect.signature(function).bind(None, *args, **kwargs)
            arguments = dict(list(bound.arguments.items())[1:])
            return typing.cast(R, recorder.record(declaration, arguments))

        call.__node__ = declaration  # type: ignore[attr-defined]  # read back by declaration_of
        return call

    return declare


def declaration_of(function: object) -> Declaration | None:
    """What `@node` left on this function, or None."""
    found = getattr(function, "__node__", None)
    return found if isinstance(found, Declaration) else None


class _Shape(NamedTuple):
    inputs: tuple[Port, ...]
    outputs: tuple[Output, ...]
    borrows: tuple[str, ...]
    on_device: bool


def _shape_of(function: Callable[..., Any], id: str, effect: bool, output: str | None) -> _Shape:
    where = f"node {id} ({function.__module__}.{function.__qualname__})"
    if inspect.iscoroutinefunction(function):
        raise DeclarationError(f"{where} is an async def; @node takes def")
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or hints.get(parameters[0].name) is not Context:
        raise DeclarationError(f"{where} must take `ctx: Context` first")
    ports = tuple(_port(where, parameter, hints) for parameter in parameters[1:])
    recipes = {p.name: declared for p in parameters[1:] if (declared := _recipe(hints[p.name])) is not None}
    if any(_recipe(hint) is not None for hint in _output_hints(hints)):
        recipes = {}  # it describes a model part from others; it borrows none
    on_device = any(declared.device_recipe for declared in recipes.values())
    return _Shape(ports, _outputs(where, hints, effect, output), tuple(recipes), on_device)


def _recipe(hint: Any) -> WireType | None:
    for part in (hint, *get_args(hint)):
        if isinstance(part, type):
            declared = wire_type_of(part)
            if declared is not None and declared.recipe:
                return declared
    return None


def _port(where: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> Port:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise DeclarationError(f"{where} takes *{name}; name each input instead")
    if name not in hints:
        raise DeclarationError(f"{where}: input {name} has no annotation; write its type")
    hint, extras = _split(hints[name])
    hint, optional = _without_none(where, name, hint)
    ref, literal = _type_ref(where, name, hint)
    known = [extra for extra in extras if isinstance(extra, tuple(HINTS.values()))]
    doc = next((extra.text for extra in extras if isinstance(extra, Doc)), "")
    renamed = next((extra.names for extra in extras if isinstance(extra, Was)), ())
    default = MISSING if parameter.default is inspect.Parameter.empty else parameter.default
    if optional and default is None:
        default = MISSING
    return Port(name, ref, default, optional, typing.cast("Hint | None", known[0] if known else literal), doc, renamed)


class Was(NamedTuple):
    """Former names of a port, for documents written before it was renamed."""

    names: tuple[str, ...]


def _split(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is Annotated:
        first, *extras = get_args(hint)
        return first, tuple(extras)
    return hint, ()


def _without_none(where: str, name: str, hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    inner = [arg for arg in get_args(hint) if arg is not type(None)]
    if len(inner) != 1:
        raise DeclarationError(f"{where}: input {name} is a union; only `X | None` is supported")
    return inner[0], True


def _type_ref(where: str, name: str, hint: Any) -> tuple[TypeRef, Choice | None]:
    hint, _ = _split(hint)
    if isinstance(hint, TypeVar):
        return TypeRef(hint.__name__), None
    origin = get_origin(hint)
    if origin is Literal:
        options = get_args(hint)
        if not all(isinstance(option, str) for option in options):
            raise DeclarationError(f"{where}: {name} is a Literal of non-strings; use strings")
        return TypeRef("text"), Choice(options)
    if origin is list:
        (element,) = get_args(hint)
        return TypeRef(_type_ref(where, name, element)[0].name, True), None
    declared = wire_type_of(hint) if isinstance(hint, type) else None
    if declared is None:
        raise DeclarationError(
            f"{where}: {name} is a {hint!r}, which is no wire type; use {', '.join(PLAIN_NAMES.values())} or a class declared with @wire or @record"
        )
    return TypeRef(declared.name), None


def _generic_class(returned: Any) -> Any:
    """`Grid` of `Grid[T, U]`: a generic NamedTuple's fields say which letter is where."""
    origin = get_origin(returned)
    return origin if hasattr(origin, "_fields") else returned


def _output_hints(hints: dict[str, Any]) -> list[Any]:
    returned = _generic_class(hints.get("return", type(None)))
    if isinstance(returned, type) and issubclass(returned, tuple) and hasattr(returned, "_fields"):
        return list(typing.get_type_hints(returned, include_extras=True).values())
    return [] if returned is type(None) else [returned]


def _outputs(where: str, hints: dict[str, Any], effect: bool, output: str | None) -> tuple[Output, ...]:
    if "return" not in hints:
        raise DeclarationError(f"{where} has no return annotation; write what it gives, or None for an effect")
    returned = _generic_class(hints["return"])
    if returned is type(None):
        if not effect:
            raise DeclarationError(f"{where} gives nothing; return a value, or declare effect=True")
        return ()
    if isinstance(returned, type) and issubclass(returned, tuple) and hasattr(returned, "_fields"):
        fields = typing.get_type_hints(returned, include_extras=True)
        return tuple(Output(name, _type_ref(where, name, hint)[0]) for name, hint in fields.items())
    return (Output(output or "value", _type_ref(where, "the result", returned)[0]),)
