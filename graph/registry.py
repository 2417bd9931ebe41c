"""Which node types exist: built-ins named by the caller, packs found by entry points, and their wire types.

A registry can be built by importing every node module (`Registry.load`), from functions at hand (`Registry.of`), or
from a catalogue without importing any of them (`graph.catalogue`): then a function's module is imported when the node
first runs, and a wire type's when a value of it is first read.
"""

from __future__ import annotations

import hashlib
import importlib
import marshal
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_args, get_origin

from graph.code import CodeDigests
from graph.declaration import refuse_wrong
from graph.errors import DeclarationError, nearest
from graph.node import Declaration, declaration_of
from graph.spec import NodeSpec
from graph.types import PLAIN_NAMES, WireType, wire_type_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Installed packages offer nodes in this group: `sepia = "sepia_pack.nodes"` gives the types `sepia/<function>`.
ENTRY_POINT_GROUP: Final = "latentgraph.nodes"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Pack(NamedTuple):
    """An installed pack: its name (the entry point's), its distribution and version, and the module it names."""

    name: str
    distribution: str
    version: str
    module: str


class BrokenPack(NamedTuple):
    """A pack that is installed and gives no nodes, and why."""

    pack: Pack
    reason: str


class Registry:
    """All known node types.

    `declarations` and `wire_types` hold what is imported already; for the rest `specs[id].entry` and `wire_entries`
    ("module:Class" by wire name) say where to import it from.
    """

    def __init__(
        self,
        specs: Iterable[NodeSpec],
        *,
        declarations: Mapping[str, Declaration] | None = None,
        wire_types: Mapping[str, WireType] | None = None,
        wire_entries: Mapping[str, str] | None = None,
        packs: Iterable[Pack] = (),
        broken: Iterable[BrokenPack] = (),
    ) -> None:
        #: Node types by id, sorted.
        self.specs: Mapping[str, NodeSpec] = {spec.id: spec for spec in sorted(specs, key=lambda spec: spec.id)}
        #: Wire types by name; those of a catalogue are imported when looked up.
        self.wire_types: Mapping[str, WireType] = _WireTypes(dict(wire_types or {}), dict(wire_entries or {}))
        #: Installed packs by name, the broken ones too.
        self.packs: Mapping[str, Pack] = {pack.name: pack for pack in packs}
        #: Packs that could not be used, by name, with the reason.
        self.broken: Mapping[str, BrokenPack] = {entry.pack.name: entry for entry in broken}
        #: Former type ids, each with the id that replaced it.
        self.former: Mapping[str, str] = {old: spec.id for spec in self.specs.values() for old in spec.was}
        self._declarations = dict(declarations or {})

    @classmethod
    def load(cls, modules: Iterable[str], *, packs: bool = True) -> Registry:
        """Import the built-in `modules` and, if `packs`, every installed pack.

        Raises DeclarationError, naming the fix, if a built-in is declared wrongly. A pack that fails to import, is
        declared wrongly or takes an id that is taken is left out whole and told in `broken`.
        """
        loading = Loading()
        for name in modules:
            loading.add_module(name)
        if packs:
            loading.add_packs()
        return loading.registry()

    @classmethod
    def of(cls, *functions: Callable[..., Any], classes: Iterable[type] = ()) -> Registry:
        """A registry of these functions alone, for a library user's own nodes and for tests.

        `classes` are wire types that no signature names. Raises DeclarationError if one is declared wrongly.
        """
        loading = Loading()
        for function in functions:
            loading.add_function(function)
        for declared in classes:
            loading.add_class(declared)
        return loading.registry()

    def function(self, type_id: str) -> Declaration:
        """The declaration of a node type; imports its module if that has not happened yet.

        Raises DeclarationError if the type is unknown or its module does not give it.
        """
        known = self._declarations.get(type_id)
        if known is not None:
            return known
        spec = self.specs.get(type_id)
        if spec is None:
            raise DeclarationError(f"there is no node type {type_id}.{nearest(type_id, self.specs)}")
        found = declaration_of(_import_entry(spec.entry, f"node {type_id}"))
        if found is None:
            raise DeclarationError(f"node {type_id}: {spec.entry} is not decorated with @node; the catalogue is out of date")
        declaration = self._declarations[type_id] = found._replace(spec=spec)
        return declaration


class Loading:
    """Collects declarations; `registry()` gives the result and `files` what it was read from."""

    def __init__(self) -> None:
        self._digests = CodeDigests()
        self._declarations: dict[str, Declaration] = {}
        self._former: dict[str, str] = {}
        self._wire: dict[str, WireType] = {name: WireType(name, cls) for cls, name in PLAIN_NAMES.items()}
        self._packs: list[Pack] = []
        self._broken: list[BrokenPack] = []

    @property
    def digests(self) -> CodeDigests:
        """The source files read for code digests."""
        return self._digests

    def registry(self) -> Registry:
        """What was collected."""
        return Registry(
            (declaration.spec for declaration in self._declarations.values()),
            declarations=self._declarations, wire_types=self._wire, packs=self._packs, broken=self._broken,
        )  # fmt: skip

    def add_module(self, name: str) -> None:
        """Add every node and wire type that a built-in module defines."""
        module = importlib.import_module(name)
        family = frozenset({name.partition(".")[0]})
        nodes = [found for found in _nodes_in(module) if found.call.__module__ == name]
        self._add(nodes, _classes_in(module), prefix="", code=self._digests.of(name, family))

    def add_function(self, function: Callable[..., Any]) -> None:
        """Add one decorated function."""
        declaration = declaration_of(function)
        if declaration is None:
            raise DeclarationError(f"{function!r} is not decorated with @node; decorate it to make it a node type")
        self._add([declaration], (), prefix="", code=self._code_of(declaration.call))

    def _code_of(self, function: Callable[..., Any]) -> str:
        module = function.__module__
        try:
            return self._digests.of(module, frozenset({module.partition(".")[0]}))
        except FileNotFoundError:  # defined in a notebook or at a prompt: there is no file, so its bytecode stands in
            return hashlib.sha256(marshal.dumps(function.__code__)).hexdigest()

    def add_class(self, declared: type) -> None:
        """Add a wire type that no signature names."""
        self._add((), (declared,), prefix="", code="")

    def add_packs(self) -> None:
        """Add every installed pack; one that cannot be used goes to `broken`."""
        from importlib.metadata import entry_points  # 33 ms that a process with a catalogue does not need

        found = entry_points(group=ENTRY_POINT_GROUP)
        for point in sorted(found, key=lambda point: (point.name, point.dist.name if point.dist else "")):
            pack = _pack_of(point)
            try:
                self._add_pack(pack)
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException as error:  # a pack may raise anything on import, SystemExit too: told, not fatal
                self._broken.append(BrokenPack(pack, _reason(error)))
            else:
                self._packs.append(pack)

    def _add_pack(self, pack: Pack) -> None:
        if not _NAME.fullmatch(pack.name):
            raise DeclarationError(f'the pack name "{pack.name}" is not lower case letters, digits and _; rename its entry point')
        earlier = next((known for known in self._packs if known.name == pack.name), None)
        if earlier is not None:
            raise DeclarationError(
                f"the name {pack.name} is taken by the pack of {earlier.distribution} {earlier.version}; uninstall one of the two"
            )
        module = importlib.import_module(pack.module)
        top = pack.module.partition(".")[0]
        nodes = [found for found in _nodes_in(module) if found.call.__module__.partition(".")[0] == top]
        if not nodes:
            raise DeclarationError(f"module {pack.module} has no function decorated with @node; name the module that has")
        code = self._digests.of(pack.module, frozenset({top, "nodes"}))
        self._add(nodes, _classes_in(module), prefix=f"{pack.name}/", code=code)

    def _add(self, nodes: Iterable[Declaration], classes: Iterable[type], *, prefix: str, code: str) -> None:
        """Take all or nothing, so that a refused pack leaves no half behind."""
        declarations, wire, former = dict(self._declarations), dict(self._wire), dict(self._former)
        for declared in classes:
            _note_wire_type(wire, declared)
        for declaration in nodes:
            spec = _named(declaration.spec, prefix, code)
            refuse_wrong(spec)
            for type_id in (spec.id, *spec.was):
                _refuse_taken(type_id, spec, declarations, former)
            for hint in _hints_of(declaration.call):
                _note_wire_type(wire, hint)
            declarations[spec.id] = declaration._replace(spec=spec)
            former.update(dict.fromkeys(spec.was, spec.id))
        self._declarations, self._wire, self._former = declarations, wire, former


class _WireTypes(Mapping[str, WireType]):
    """Wire types by name; one that is known by its entry only is imported on look-up."""

    def __init__(self, known: dict[str, WireType], entries: dict[str, str]) -> None:
        self._known, self._entries = known, entries

    def __getitem__(self, name: str) -> WireType:
        known = self._known.get(name)
        if known is None:
            cls = _import_entry(self._entries[name], f"wire type {name}")
            known = wire_type_of(cls) if isinstance(cls, type) else None
            if known is None or known.name != name:
                raise DeclarationError(
                    f"wire type {name}: {self._entries[name]} does not declare it; the catalogue is out of date"
                )
            self._known[name] = known
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._known, *self._entries}))

    def __len__(self) -> int:
        return len({*self._known, *self._entries})


def _named(spec: NodeSpec, prefix: str, code: str) -> NodeSpec:
    if not _NAME.fullmatch(spec.id):
        hint = "; leave the pack's name out, it is put in front" if "/" in spec.id else ""
        raise DeclarationError(f'node id "{spec.id}" ({spec.entry}) is not lower case letters, digits and _{hint}')
    return replace(spec, id=prefix + spec.id, code=code, was=tuple(prefix + old for old in spec.was))


def _refuse_taken(type_id: str, spec: NodeSpec, declarations: Mapping[str, Declaration], former: Mapping[str, str]) -> None:
    taken = declarations.get(type_id) or declarations.get(former.get(type_id, ""))
    if taken is not None:
        raise DeclarationError(f"node id {type_id} ({spec.entry}) is taken by {taken.spec.entry}; give one of the two another id")


def _note_wire_type(wire: dict[str, WireType], cls: type) -> None:
    declared = wire_type_of(cls)
    if declared is None:
        return
    known = wire.setdefault(declared.name, declared)
    if known.python is not declared.python:
        raise DeclarationError(
            f"wire type {declared.name} is declared by {_place(known.python)} and by {_place(declared.python)}; rename one of the two"
        )


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _nodes_in(module: ModuleType) -> list[Declaration]:
    found = (declaration_of(value) for value in vars(module).values())
    unique = {id(declaration): declaration for declaration in found if declaration is not None}
    return list(unique.values())


def _classes_in(module: ModuleType) -> list[type]:
    return [value for value in vars(module).values() if isinstance(value, type) and wire_type_of(value) is not None]


def _hints_of(function: Callable[..., Any]) -> Iterator[type]:
    """The classes a signature names, out of Annotated, `X | None`, list and NamedTuple results."""
    waiting: list[Any] = list(typing.get_type_hints(function, include_extras=True).values())  # Any: runtime annotations
    while waiting:
        hint = waiting.pop()
        if get_origin(hint) is Annotated:
            waiting.append(get_args(hint)[0])
        elif get_origin(hint) is not None:
            waiting += get_args(hint)
        elif isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
            waiting += typing.get_type_hints(hint, include_extras=True).values()
        elif isinstance(hint, type):
            yield hint


def _pack_of(point: EntryPoint) -> Pack:
    distribution = point.dist
    return Pack(
        point.name,
        distribution.name if distribution is not None else "unknown",
        distribution.version if distribution is not None else "0",
        point.value.partition(":")[0].strip(),
    )


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, DeclarationError) else f"{type(error).__name__}: {error}"


def _import_entry(entry: str, what: str) -> object:
    module, _, name = entry.partition(":")
    try:
        found: object = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise DeclarationError(f"{what}: {entry} cannot be imported ({error}); reinstall the package it is from") from error
    return found
