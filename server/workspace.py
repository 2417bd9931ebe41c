"""What most commands start with: the data folder, the node types from the catalogue, the workflow from its file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graph.catalogue import Catalogue, load_catalogue
from graph.document import Document, read_document
from graph.errors import Problem, WorkflowError
from graph.registry import Registry
from server import shipped


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
        """The file that is meant: a path as it is; where a bare name is no file, the saved workflow or the template so called."""
        if named.exists() or named.name != str(named) or named.suffix == ".json":
            return named
        folders = (self.home / "workflows", shipped.templates())
        places = (folder / f"{named}.json" for folder in folders if folder is not None)
        return next((place for place in places if place.is_file()), named)


def read_workflow(path: Path) -> Document:
    """The document in a file. Raises WorkflowError with every problem of its form, or that it cannot be read."""
    try:
        text = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); give the path of a workflow file, or the name of a saved one or a template."
        raise WorkflowError([Problem("unreadable", message, file=str(path))]) from None
    return read_document(text, file=str(path))
