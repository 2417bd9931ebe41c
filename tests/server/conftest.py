"""The command line in this process, on a data folder with the catalogue made once."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from graph.catalogue import load_catalogue
from nodes.builtin import MODULES
from server.cli import app


class Outcome(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalogue")
    load_catalogue(folder, MODULES)
    load_catalogue(folder, MODULES, packs=False)
    return folder


@pytest.fixture
def home(home: Path, catalogue: Path) -> Path:
    """The data folder of this test, with the catalogue in it."""
    shutil.copytree(catalogue, home)
    return home


@pytest.fixture
def latentgraph(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*arguments: object) -> Outcome:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


SUM = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "name": "sum",
    "nodes": {
        "first": {"type": "number", "inputs": {"value": 3}},
        "sum": {"type": "math", "inputs": {"operation": "add", "a": {"link": "first.value"}, "b": 4}},
    },
    "inputs": {"first": {"to": "first.value"}, "second": {"to": "sum.b"}, "operation": {"to": "sum.operation"}},
    "outputs": {"sum": {"from": "sum.value"}},
}


@pytest.fixture
def write_workflow(tmp_path: Path) -> Callable[[Any], Path]:
    """Writes a workflow file and gives its path."""

    def write(document: Any, name: str = "workflow.json") -> Path:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


@pytest.fixture
def sum_file(write_workflow: Callable[[Any], Path]) -> Path:
    """A workflow of two numbers that needs no model."""
    return write_workflow(SUM)


def tree(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(Path(root, name).relative_to(folder)) for root, _, names in os.walk(folder) for name in names}
