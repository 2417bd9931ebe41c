"""The catalogue: every node type and wire type name as one JSON file, so that most commands import no node.

A child process imports the node modules and packs and prints the catalogue; the parent keeps it in the data folder. It
is valid while the source files it was read from and the installed distributions that offer packs are unchanged, which
costs one `stat` per file and one listing per folder of the path to find out.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from graph.errors import DeclarationError
from graph.registry import ENTRY_POINT_GROUP, BrokenPack, Loading, Pack, Registry
from graph.spec import NodeSpec
from graph.watch import WATCH, FileState

FILE_NAME: Final = "catalogue.json"
#: Grows when the file's form or the way digests are made changes; an older file is made again.
FORMAT: Final = 2

#: A first start imports torch, diffusers and transformers; measured 5 to 12 s on two busy cores.
BUILD_TIMEOUT_S: Final = 300.0


class Catalogue(NamedTuple):
    """What `graph.registry.Registry` needs to know of node types without importing them."""

    modules: tuple[str, ...]
    specs: tuple[NodeSpec, ...]
    #: "module:Class" by wire name.
    wire_entries: dict[str, str]
    packs: tuple[Pack, ...]
    broken: tuple[BrokenPack, ...]
    files: tuple[FileState, ...]
    #: The distributions with packs as `installed_packs` saw them; None if packs were left out.
    installed: tuple[str, ...] | None
    #: Path of the source file by module name, for the modules that code digests cover; their states are in `files`.
    sources: dict[str, str]

    def registry(self) -> Registry:
        """A registry that imports a node's module when the node first runs.

        From then on an import of one of these modules raises DeclarationError if its file is not as the catalogue read
        it, also when the import happens inside a node's call.
        """
        states = {state.path: state for state in self.files}
        WATCH.expect({module: states[path] for module, path in self.sources.items() if path in states})
        return Registry(self.specs, wire_entries=self.wire_entries, packs=self.packs, broken=self.broken)

    def is_current(self, modules: Sequence[str], packs: bool) -> bool:
        """Whether making it again for these modules would give the same."""
        return (
            self.modules == tuple(modules)
            and self.installed == (installed_packs() if packs else None)
            and all(FileState.of(state.path) == state for state in self.files)
        )

    def to_json(self) -> dict[str, Any]:
        """The file's form; `from_json` reads it back."""
        return {
            "format": FORMAT, "python": sys.version, "modules": self.modules,
            "specs": [spec.to_json() for spec in self.specs],
            "wire_entries": self.wire_entries, "packs": self.packs, "broken": self.broken,
            "files": self.files, "installed": self.installed, "sources": self.sources,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Any) -> Catalogue:
        """Read what `to_json` gave. Raises ValueError, KeyError or TypeError for anything else."""
        if data["format"] != FORMAT or data["python"] != sys.version:
            raise ValueError("made by another version")
        return cls(
            tuple(data["modules"]),
            tuple(NodeSpec.from_json(spec) for spec in data["specs"]),
            dict(data["wire_entries"]),
            tuple(Pack(*pack) for pack in data["packs"]),
            tuple(BrokenPack(Pack(*pack), reason) for pack, reason in data["broken"]),
            tuple(FileState(*state) for state in data["files"]),
            None if data["installed"] is None else tuple(data["installed"]),
            dict(data["sources"]),
        )


def load_catalogue(home: Path, modules: Sequence[str], *, packs: bool = True) -> Catalogue:
    """The catalogue of the built-in `modules` and, if `packs`, the installed packs; made in a child process if needed.

    A missing, damaged or outdated file is made again; one that cannot be written (a full disk, a folder that is
    read-only) is used from memory. Raises DeclarationError if a built-in is declared wrongly or cannot be imported.
    """
    path = catalogue_path(home, packs)
    kept = _read(path)
    if kept is not None and kept.is_current(modules, packs):
        return kept
    installed = installed_packs() if packs else None  # as this process sees the path; before, so that a change shows
    made = Catalogue.from_json(json.loads(_built_by_child(modules, packs)))._replace(installed=installed)
    with contextlib.suppress(OSError):  # the catalogue only saves time: the commands work without the file
        _write(path, json.dumps(made.to_json()))
    return made


def catalogue_path(home: Path, packs: bool = True) -> Path:
    """Where the catalogue with or without installed packs is kept."""
    return home / (FILE_NAME if packs else f"no-packs-{FILE_NAME}")


def build(modules: Sequence[str], *, packs: bool = True) -> Catalogue:
    """Make the catalogue in this process, which imports every node module and pack."""
    loading = Loading()
    for module in modules:
        loading.add_module(module)
    if packs:
        loading.add_packs()
    registry = loading.registry()
    sources = loading.digests.sources
    files = {state for path in _own_files() if (state := FileState.of(str(path))) is not None} | set(sources.values())
    wire_types = registry.wire_types.values()
    return Catalogue(
        tuple(modules),
        tuple(registry.specs.values()),
        {declared.name: f"{declared.python.__module__}:{declared.python.__qualname__}" for declared in wire_types},
        tuple(registry.packs.values()),
        tuple(registry.broken.values()),
        tuple(sorted(files)),
        installed_packs() if packs else None,
        {module: state.path for module, state in sources.items()},
    )


def installed_packs() -> tuple[str, ...]:
    """One line for each distribution on the path that offers packs: folder (with the version), entry points.

    Reads the folders itself: `importlib.metadata` gives the same and costs 36 ms of every command's start.
    """
    found = []
    for folder in dict.fromkeys(sys.path):
        for name in _metadata_folders(folder or "."):
            try:
                text = Path(folder or ".", name, "entry_points.txt").read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if f"[{ENTRY_POINT_GROUP}]" in text:
                found.append(f"{name}\n{text}")
    return tuple(found)


def _metadata_folders(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))


def _own_files() -> list[Path]:
    """The modules that decide what a catalogue says of a node."""
    own = Path(__file__).parent
    return [own / f"{name}.py" for name in ("node", "spec", "types", "declaration", "registry", "code", "catalogue")]


def _read(path: Path) -> Catalogue | None:
    try:
        return Catalogue.from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # missing, damaged or of another version: made again
        return None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _built_by_child(modules: Iterable[str], packs: bool) -> str:
    # -P: the current folder may hold anything, a folder called graph too; it must not come first on the path.
    command = [sys.executable, "-P", "-m", "graph.catalogue", *([] if packs else ["--no-packs"]), *modules]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    try:
        child = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=BUILD_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise DeclarationError(
            f"importing the node modules took over {BUILD_TIMEOUT_S:.0f} s; find the pack that hangs with --no-packs"
        ) from None
    if child.returncode != 0:
        reason = child.stderr.strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        help = "try --no-packs" if packs and child.returncode < 0 else "mend the module"
        raise DeclarationError(f"the node modules cannot be imported: {reason[0]}; {help}")
    return child.stdout


def main(arguments: Sequence[str]) -> int:
    """What the child runs: print the catalogue of the modules named in `arguments`."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a module prints while it is imported must not end up inside the JSON
    modules = [argument for argument in arguments if argument != "--no-packs"]
    try:
        catalogue = build(modules, packs="--no-packs" not in arguments)
    except DeclarationError as error:
        print(" ".join(str(error).splitlines()), file=sys.stderr)
        return 1
    with out:
        json.dump(catalogue.to_json(), out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
