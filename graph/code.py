"""Code digests: when has the code of a node changed? Read from source; nothing is imported.

The digest of a module covers the module and every first-party module it imports, however deep. Comments, docstrings
and formatting are left out, so that they cost nobody a memo entry. First-party are the top-level packages the caller
names: `nodes` for built-ins, a pack's own package (and `nodes`) for packs. `graph` is left out on purpose: it carries
values and never computes them. Libraries enter a key by their version instead (see graph.keys).
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import NamedTuple

from graph.watch import FileState, SourceWatch

#: "nodes.families.zimage" or "nodes.text:tokenize" as a string in code: how lazily imported modules are named.
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:\w+)?")


class _Module(NamedTuple):
    state: FileState  # taken before the file was read: an edit in between shows as a change
    digest: str
    mentions: frozenset[str]


class CodeDigests:
    """Digests of modules, each source file read once.

    One object serves one pass over all nodes; it must not outlive a change of the files.
    """

    def __init__(self) -> None:
        self._modules: dict[str, _Module | None] = {}

    def of(self, module: str, first_party: frozenset[str]) -> str:
        """The digest (64 hex characters) of `module` and the first-party modules it reaches.

        Raises FileNotFoundError if `module` itself has no source file.
        """
        found = self._closure(module, first_party)
        if module not in found:
            raise FileNotFoundError(f"module {module} has no source file to read")
        text = "\n".join(f"{name} {found[name].digest}" for name in sorted(found))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def sources(self) -> dict[str, FileState]:
        """Every source file read so far, by the name of its module."""
        return {name: module.state for name, module in self._modules.items() if module is not None}

    def _closure(self, module: str, first_party: frozenset[str]) -> dict[str, _Module]:
        found: dict[str, _Module] = {}
        waiting, seen = [module], {module}
        while waiting:
            name = waiting.pop()
            read = self._read(name)
            if read is None:
                continue
            found[name] = read
            names = {mention for mention in read.mentions if mention.partition(".")[0] in first_party}
            waiting += names - seen
            seen |= names
        return found

    def _read(self, name: str) -> _Module | None:
        if name not in self._modules:
            spec = locate(name)
            origin = spec.origin if spec is not None and spec.has_location else None
            self._modules[name] = None if origin is None or spec is None else _parse(name, Path(origin), _is_package(spec))
        return self._modules[name]


def locate(name: str) -> ModuleSpec | None:
    """Where a module lies, without importing it or its parents. None if there is no such module."""
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    if isinstance(loaded, ModuleSpec):
        return loaded
    parent, _, _ = name.rpartition(".")
    folders: list[str] | None = None
    if parent:
        above = locate(parent)
        if above is None or above.submodule_search_locations is None:
            return None
        folders = list(above.submodule_search_locations)
    for finder in sys.meta_path:
        if isinstance(finder, SourceWatch):  # this only reads the file as it is now
            continue
        spec = finder.find_spec(name, folders)
        if spec is not None:
            return spec
    return None


def _is_package(spec: ModuleSpec) -> bool:
    return spec.submodule_search_locations is not None


def _parse(name: str, path: Path, is_package: bool) -> _Module:
    state = FileState.of(str(path))
    if state is None:
        raise FileNotFoundError(f"{path}, the source of module {name}, is gone")
    source = path.read_bytes()
    if path.suffix != ".py":  # a compiled extension: its bytes are its code
        return _Module(state, hashlib.sha256(source).hexdigest(), frozenset())
    tree = ast.parse(source, str(path))
    package = name if is_package else name.rpartition(".")[0]
    mentions = frozenset(parent for mention in _mentions(tree, package) for parent in _with_parents(mention))
    return _Module(state, code_digest(tree), mentions)


def code_digest(tree: ast.Module) -> str:
    """The digest of one module's code: its syntax tree without docstrings and positions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and _has_docstring(node):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree, include_attributes=False).encode()).hexdigest()


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = node.body[0] if node.body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _mentions(tree: ast.Module, package: str) -> Iterator[str]:
    """Names that may be modules: imports anywhere in the file, and dotted names in strings (lazy imports)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, package)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _DOTTED.fullmatch(node.value):
            yield node.value.partition(":")[0]


def _origin(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    base = package.split(".")
    base = base[: len(base) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _with_parents(name: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`: importing a module runs its parents."""
    while name:
        yield name
        name = name.rpartition(".")[0]
