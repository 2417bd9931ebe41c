"""What most commands start with: the data folder, the node types from the catalogue, the workflow from its file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graph.catalogue import Catalogue, load_catalogue
from graph.document import Document, read_document
from graph.errors import Problem, WorkflowError, nearest
from graph.registry import Registry
from server import shipped
from server.library.media import HEAD_BYTES, media_of


@dataclass(frozen=True)
class Workspace:
    """A data folder and whether installed packs count."""

    home: Path
    packs: bool = True

    @cached_property
    def catalogue(self) -> Catalogue:
        """The catalogue; made by a child process if it is missing or outdated."""
        from nodes.builtin import MODULES

        return load_catalogue(self.home, MODULES, packs=self.packs)

    @cached_property
    def registry(self) -> Registry:
        """All node types; no node module is imported before its node runs."""
        return self.catalogue.registry()

    def workflow_file(self, named: Path) -> Path:
        """The file that is meant: a path as it is; where a bare name is no file, the saved workflow or the template so called.

        Raises WorkflowError for a bare name that nothing has.
        """
        # os.path and not Path: that raises for a name too long to be one
        if os.path.exists(named) or named.name != str(named) or named.suffix == ".json":
            return named
        folders = [folder for folder in (self.home / "workflows", shipped.templates()) if folder is not None]
        places = (folder / f"{named}.json" for folder in folders)
        found = next((place for place in places if os.path.isfile(place)), None)
        if found is None:
            known = nearest(str(named), {file.stem for folder in folders for file in folder.glob("*.json")})
            raise _unreadable(named, f"is no file and no name of a saved workflow or a template; give one of these.{known}")
        return found


def read_workflow(path: Path) -> Document:
    """The document in a file. Raises WorkflowError with every problem of its form, or that it cannot be read."""
    try:
        text = path.read_bytes()
    except OSError as error:
        advice = "give the path of a workflow file, or the name of a saved one or a template."
        raise _unreadable(path, f"cannot be read ({error.strerror}); {advice}") from None
    if media_of(text[:HEAD_BYTES]).kind == "image":
        raise _unreadable(path, "is a picture and no workflow; `latentgraph reproduce` renders a saved picture again.")
    return read_document(text, file=str(path))


def _unreadable(named: Path, message: str) -> WorkflowError:
    return WorkflowError([Problem("unreadable", f"{named} {message}", file=str(named))])
