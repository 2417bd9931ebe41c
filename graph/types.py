"""Wire types: what may travel between nodes, how it becomes bytes, and which type may go into which port.

Plain values (int, float, text, bool) live here. Tensor values and recipes are declared in `nodes/` with `@wire` and
`@record`; of them the engine sees only `Packed` content, sizes and digests.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, Union, runtime_checkable

from graph.errors import DeclarationError

#: What msgpack holds without guessing: None, bool, int, float, str, bytes, and lists and str-keyed dicts of these.
Plain: TypeAlias = Union[None, bool, int, float, str, bytes, "list[Plain]", "dict[str, Plain]"]

#: The wire names of Python's own value types.
PLAIN_NAMES: Mapping[type, str] = {int: "int", float: "float", str: "text", bool: "bool"}


class TensorBytes(NamedTuple):
    """A tensor as the store sees it: safetensors dtype name ("F32", "BF16", "U8", ...), shape, C-contiguous bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview


class Packed(NamedTuple):
    """A value taken apart for the store: wire type name, plain fields, named tensors."""

    type: str
    fields: dict[str, Plain]
    tensors: dict[str, TensorBytes]


@runtime_checkable
class WireValue(Protocol):
    """What a class given to `@wire` offers. Values are frozen: nothing on a wire is changed after it is made."""

    __wire__: ClassVar[WireType]

    @property
    def nbytes(self) -> int:
        """Bytes this value holds in memory, tensors included."""

    @property
    def version(self) -> int:
        """A counter that grows when the value's memory is written to; the executor compares it around each node."""

    def write(self) -> Packed:
        """Take the value apart, zero-copy where the memory allows it."""

    @classmethod
    def read(cls, packed: Packed) -> Self:
        """Build the value from what `write` gave; the tensors' memory is read-only and may be a mapped file."""

    def to(self, device: str) -> Self:
        """The same value with its tensors on `device` ("cpu", "cuda:0", ...); self if it is there already."""


class WireType(NamedTuple):
    """The declaration behind `@wire` and `@record`: a wire name, the class, and whether it is a device recipe."""

    name: str
    python: type
    device_recipe: bool = False
    recipe: bool = False


C = TypeVar("C", bound=type)


def wire(name: str) -> Callable[[C], C]:
    """Declare a value class (see `WireValue`) under the wire name `name`."""

    def declare(cls: C) -> C:
        for method in ("nbytes", "version", "write", "read", "to"):
            if not hasattr(cls, method):
                raise DeclarationError(
                    f"wire type {name} ({cls.__qualname__}) has no `{method}`; define it (see graph.types.WireValue)"
                )
        cls.__wire__ = WireType(name, cls)  # type: ignore[attr-defined]  # the decorator is what adds it
        return cls

    return declare


def record(name: str, *, recipe: bool = False, device_recipe: bool = False) -> Callable[[C], C]:
    """Declare a frozen dataclass of plain fields (or nested records) as a wire type; packing is derived.

    `recipe` marks a description of a model part (Tokenizer, Scheduler, ...) that workers build on the host,
    `device_recipe` one that is built on a device (Denoiser, TextEncoder, Vae).
    """

    def declare(cls: C) -> C:
        if not dataclasses.is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise DeclarationError(f"record {name} ({cls.__qualname__}) is not a frozen dataclass; add @dataclass(frozen=True)")
        cls.__wire__ = WireType(name, cls, device_recipe, recipe or device_recipe)  # type: ignore[attr-defined]
        return cls

    return declare


def wire_type_of(cls: type) -> WireType | None:
    """The declaration of a class, or None if it is neither plain nor declared."""
    if cls in PLAIN_NAMES:
        return WireType(PLAIN_NAMES[cls], cls)
    declared = cls.__dict__.get("__wire__")
    return declared if isinstance(declared, WireType) else None


class TypeRef(NamedTuple):
    """A port's type as it stands in the catalogue: a wire name or a generic letter, perhaps in a list.

    `str(ref)` is "Latents", "list[Latents]", "T", ... and `TypeRef.parse` reads it back.
    """

    name: str
    is_list: bool = False

    def __str__(self) -> str:
        return f"list[{self.name}]" if self.is_list else self.name

    @property
    def is_generic(self) -> bool:
        """Whether this is the generic form: a single capital letter, one per type variable of the signature."""
        return len(self.name) == 1 and self.name.isupper()

    @classmethod
    def parse(cls, text: str) -> TypeRef:
        """Read "X" or "list[X]"."""
        if text.startswith("list[") and text.endswith("]"):
            return cls(text[5:-1], True)
        return cls(text)


Fit = Literal["direct", "map", "no"]


def fits(source: TypeRef, target: TypeRef) -> Fit:
    """How a value of type `source` enters a port of type `target`.

    "direct": as it is (an int may enter a float port); "map": `source` is a list and the node runs once per element;
    "no": it does not fit. A generic target takes anything of its listness. A generic source stands for a type that is
    not bound (validation binds generics before it asks).
    """
    same = (
        source.name == target.name or target.is_generic or source.is_generic or (source.name == "int" and target.name == "float")
    )
    if not same:
        return "no"
    if source.is_list == target.is_list:
        return "direct"
    return "map" if source.is_list else "no"


def encode(value: object, *, key: bool = False) -> Packed:
    """Take a wire value apart: plain values, declared wire values and records. Raises TypeError for others.

    With `key`, record fields declared with `field(metadata={"key": False})` are left out: where a file lies or why a
    lever is off does not enter keys, though it travels with the value.
    """
    cls = type(value)
    if cls in PLAIN_NAMES or value is None:
        return Packed(PLAIN_NAMES.get(cls, "none"), {"value": typing.cast(Plain, value)}, {})
    declared = wire_type_of(cls)
    if declared is None:
        raise TypeError(f"a {cls.__module__}.{cls.__qualname__} cannot travel on a wire; declare it with @wire or @record")
    if dataclasses.is_dataclass(value) and not hasattr(cls, "write"):
        return Packed(declared.name, plain_fields(value, for_key=key), {})
    assert isinstance(value, WireValue)
    return value.write()


def plain_fields(value: Any, *, for_key: bool = False) -> dict[str, Plain]:
    """A record's fields as plain values. With `for_key`, fields declared `field(metadata={"key": False})` are left out.

    Such a field says where something lies (a folder), not what it is. Any: dataclasses.fields has no narrower type.
    """
    return {
        field.name: _plain(getattr(value, field.name), for_key)
        for field in dataclasses.fields(value)
        if not for_key or field.metadata.get("key", True)
    }


def _plain(value: object, for_key: bool) -> Plain:
    if isinstance(value, enum.Enum):
        return _plain(value.value, for_key)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, for_key) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, for_key) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return plain_fields(value, for_key=for_key)
    raise TypeError(f"a {type(value).__qualname__} in a record cannot be written; use plain values, tuples and records")


def decode(packed: Packed, known: Mapping[str, WireType]) -> object:
    """Build the value back. `known` maps wire names to declarations (see Registry.wire_types)."""
    if packed.type in ("int", "float", "text", "bool", "none"):
        return packed.fields["value"]
    declared = known[packed.type]
    if hasattr(declared.python, "read"):
        return declared.python.read(packed)
    return _rebuild(declared.python, packed.fields)


def _rebuild(hint: Any, value: Any) -> Any:  # Any: walks runtime annotations
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        return hint(**{name: _rebuild(hints[name], item) for name, item in value.items() if name in hints})
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        return None if value is None else _rebuild(inner[0], value) if len(inner) == 1 else value
    if origin is tuple:
        element = args[0] if len(args) == 2 and args[1] is Ellipsis else None
        return tuple(_rebuild(element or args[index], item) for index, item in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    return value
