"""Which model folders there are, by name. Workflows hold names only; a name never leaves the folders searched.

An entry of such a folder may be a link to anywhere: its owner put it there. Links further down must stay inside. Searched
are the `models` folder of the data folder and the folders in the environment variable LATENTGRAPH_MODELS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from graph.errors import Problem, Refused, nearest
from graph.spec import Model

if TYPE_CHECKING:
    from graph.compile import Compiled

#: The shipped miniature's name; a folder of this name elsewhere does not hide it.
MINI: Final = "mini"
ROOTS_VARIABLE: Final = "LATENTGRAPH_MODELS"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}(/[A-Za-z0-9][A-Za-z0-9._-]{0,127})?")


class ModelFolder(NamedTuple):
    """A pipeline folder and the name that workflows call it by."""

    name: str
    folder: Path


def mini_folder() -> Path:
    """Where the shipped miniature's weights lie."""
    return Path(__file__).parent / "mini" / "weights"


def model_roots(home: Path) -> tuple[Path, ...]:
    """The folders searched for models, in order."""
    return (home / "models", *named_roots())


def named_roots() -> tuple[Path, ...]:
    """The folders of LATENTGRAPH_MODELS, whether they are there or not."""
    return tuple(Path(root) for root in os.environ.get(ROOTS_VARIABLE, "").split(os.pathsep) if root)


def list_models(home: Path) -> list[ModelFolder]:
    """Every pipeline folder found (one with a model_index.json, one or two levels deep), by name."""
    found: dict[str, Path] = {}
    for root in reversed(model_roots(home)):
        found |= {path.parent.relative_to(root).as_posix(): path.parent for path in _indexes(root)}
    if (mini_folder() / "model_index.json").is_file():
        found[MINI] = mini_folder()
    return [ModelFolder(name, found[name]) for name in sorted(found) if _NAME.fullmatch(name)]


def find_model(name: str, home: Path) -> Path:
    """The folder of the model `name`. Raises `Refused` for a name that is no name, or is not found."""
    if not _NAME.fullmatch(name):
        text = f'"{name[:80]}" is not the name of a model; names are like "z-image" or "maker/z-image", never paths'
        raise Refused(f"{text}. Put the folder under models/ and use its name", port="model", code="bad_model_name")
    if name == MINI:
        return mini_folder()
    for root in model_roots(home):
        folder = root / name
        if _is_model(folder, root):
            return folder
    known = nearest(name, [model.name for model in list_models(home)])
    advice = f"Put its folder into models/ of the data folder, or name its parent in {ROOTS_VARIABLE}."
    raise Refused(f'there is no model "{name}".{known} {advice}', port="model", code="unknown_model")


def unknown_models(compiled: Compiled, home: Path) -> Iterator[Problem]:
    """A problem for each pipeline that a workflow names and that is not here; a name that comes by a link is for planning."""
    for node, port, name in _named_models(compiled):
        try:
            find_model(name, home)
        except Refused as refusal:
            yield Problem(refusal.code, f"{node}.{port}: {refusal}", node, port)


def _named_models(compiled: Compiled) -> Iterator[tuple[str, str, str]]:
    """Node, port and name of every literal that names a pipeline; other kinds of models are found by the packs that have them."""
    for node, spec, literals in zip(compiled.ids, compiled.specs, compiled.literals, strict=True):
        for port in spec.inputs:
            if isinstance(port.hint, Model) and port.hint.kind == "pipeline":
                value = literals.get(port.name)
                names = value if isinstance(value, list) else [value]
                yield from ((node, port.name, name) for name in names if isinstance(name, str))


def _indexes(root: Path) -> Iterator[Path]:
    for path in (*root.glob("*/model_index.json"), *root.glob("*/*/model_index.json")):
        if _is_model(path.parent, root):
            yield path


def _is_model(folder: Path, root: Path) -> bool:
    """Whether a pipeline lies there, inside the root or inside what an entry of the root links to."""
    if not os.path.isfile(folder / "model_index.json"):  # Path.is_file raises where a folder may not be entered
        return False
    entry = root / folder.relative_to(root).parts[0]
    return any(folder.resolve().is_relative_to(place.resolve()) for place in (root, entry))
