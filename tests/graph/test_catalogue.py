"""The catalogue file: what it holds, when it is valid, and what becomes of a damaged one."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from graph import catalogue as module_under_test
from graph.catalogue import build, load_catalogue
from graph.context import Context
from graph.engine import Engine
from graph.errors import DeclarationError
from graph.registry import Registry
from graph.watch import WATCH
from graph.workers import PlainRuntime
from tests.graph.engine_kit import with_specs, workflow

NODES = '''
"""Nodes of a made-up application."""
from dataclasses import dataclass
from graph.context import Context
from graph.node import node
from graph.types import record

print("noise while importing")

@record("Colour")
@dataclass(frozen=True)
class Colour:
    red: float

@node(title="Pick", version=1)
def pick(ctx: Context, red: float = 0.5) -> Colour:
    return Colour(red)
'''
NAME = "made_up_nodes"


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / f"{NAME}.py").write_text(NODES)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    return folder / f"{NAME}.py"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts how often a child process is asked."""
    calls: list[str] = []
    real = module_under_test._built_by_child

    def counted(modules, packs):
        calls.append(",".join(modules))
        return real(modules, packs)

    monkeypatch.setattr(module_under_test, "_built_by_child", counted)
    return calls


def test_the_file_gives_the_specs_without_importing_the_nodes(nodes: Path, home: Path) -> None:
    registry = load_catalogue(home, [NAME]).registry()
    assert registry.specs["pick"].port("red").default == 0.5
    assert set(registry.wire_types) == {"Colour", "int", "float", "text", "bool"}
    assert NAME not in sys.modules


def test_a_function_and_a_wire_type_are_imported_when_asked_for(nodes: Path, home: Path) -> None:
    registry = load_catalogue(home, [NAME]).registry()
    colour = registry.function("pick").call(Context(), 0.25)
    assert colour == registry.wire_types["Colour"].python(0.25)
    assert registry.function("pick").spec == registry.specs["pick"]


def test_it_equals_the_registry_made_by_importing(nodes: Path, home: Path) -> None:
    loaded = load_catalogue(home, [NAME])
    assert build([NAME]).to_json() == {**loaded.to_json(), "files": build([NAME]).files}


def test_an_unchanged_catalogue_is_read_and_not_made_again(nodes: Path, home: Path, builds: list[str]) -> None:
    assert load_catalogue(home, [NAME]) == load_catalogue(home, [NAME])
    assert builds == [NAME]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": 1}', b"\xff\xfe", b"null"])
def test_a_damaged_file_is_made_again(nodes: Path, home: Path, damage: bytes) -> None:
    first = load_catalogue(home, [NAME])
    (home / "catalogue.json").write_bytes(damage)
    assert load_catalogue(home, [NAME]) == first
    assert json.loads((home / "catalogue.json").read_bytes())["modules"] == [NAME]


def test_an_edited_node_file_makes_it_again(nodes: Path, home: Path, builds: list[str]) -> None:
    before = load_catalogue(home, [NAME]).specs[0].code
    nodes.write_text(NODES.replace("Colour(red)", "Colour(red * 2)"))
    after = load_catalogue(home, [NAME]).specs[0].code
    assert (len(builds), before != after) == (2, True)


def test_a_touched_comment_keeps_the_code_digest(nodes: Path, home: Path, builds: list[str]) -> None:
    before = load_catalogue(home, [NAME]).specs
    nodes.write_text(NODES + "# a note\n")
    assert load_catalogue(home, [NAME]).specs == before
    assert len(builds) == 2


def test_a_newly_installed_pack_makes_it_again(nodes: Path, home: Path, builds: list[str], tmp_path, monkeypatch) -> None:
    load_catalogue(home, [NAME])
    metadata = nodes.parent / "sepia-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sepia\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[latentgraph.nodes]\nsepia = sepia_of_catalogue\n")
    (nodes.parent / "sepia_of_catalogue.py").write_text(NODES.replace("Colour", "Tone"))
    loaded = load_catalogue(home, [NAME])
    assert [spec.id for spec in loaded.specs] == ["pick", "sepia/pick"]
    assert [pack.name for pack in loaded.packs] == ["sepia"]
    assert [spec.id for spec in load_catalogue(home, [NAME], packs=False).specs] == ["pick"]


def test_a_folder_that_cannot_be_written_is_no_obstacle(nodes: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert [spec.id for spec in load_catalogue(blocked / "home", [NAME]).specs] == ["pick"]


def test_no_temporary_file_stays_when_the_rename_fails(nodes: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    load_catalogue(home, [NAME])
    assert list(home.iterdir()) == []


def test_a_wrong_builtin_is_refused_with_its_message(nodes: Path, home: Path) -> None:
    nodes.write_text(NODES.replace('title="Pick"', 'title=""'))
    with pytest.raises(DeclarationError, match=r"node pick \(made_up_nodes:pick\): title is empty"):
        load_catalogue(home, [NAME])
    assert not home.exists()


def test_a_builtin_that_cannot_be_imported_is_refused(nodes: Path, home: Path) -> None:
    nodes.write_text("import missing_library_xyz\n")
    with pytest.raises(DeclarationError, match="No module named 'missing_library_xyz'; mend the module"):
        load_catalogue(home, [NAME])


EDITED = r"\.py changed after the node types were read, .*; start again to use the changed code"
APP = "made_up_app"
DOUBLE = """
from graph.context import Context
from graph.node import node

@node(title="Double", version=1)
def double(ctx: Context, a: float) -> float:
    from made_up_app.parts import factor
    return a * factor
"""
WORKFLOW = workflow("b", b={"type": "double", "inputs": {"a": 1.0}})


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of an application that its node imports only when it runs."""
    package = tmp_path / "app" / APP
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "nodes.py").write_text(DOUBLE)
    (package / "parts.py").write_text("factor = 2\n")
    monkeypatch.syspath_prepend(str(package.parent))
    for name in (APP, f"{APP}.nodes", f"{APP}.parts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return package / "parts.py"


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process expects of files is forgotten after the test."""
    monkeypatch.setattr(WATCH, "_states", {})


@pytest.mark.usefixtures("watch")
def test_a_module_edited_before_its_first_import_is_refused(nodes: Path, home: Path) -> None:
    registry = load_catalogue(home, [NAME]).registry()
    nodes.write_text(NODES.replace("Colour(red)", "Colour(red * 1000)"))
    with pytest.raises(DeclarationError, match=EDITED):
        registry.function("pick")
    with pytest.raises(DeclarationError, match=EDITED):
        _ = registry.wire_types["Colour"]


@pytest.mark.usefixtures("watch")
def test_an_edit_undone_before_the_first_import_is_refused_too(nodes: Path, home: Path) -> None:
    registry = load_catalogue(home, [NAME]).registry()
    nodes.write_text(NODES.replace("Colour(red)", "Colour(red * 1000)"))
    nodes.write_text(NODES)
    with pytest.raises(DeclarationError, match=EDITED):
        registry.function("pick")


@pytest.mark.usefixtures("watch")
def test_a_new_catalogue_takes_the_edited_module(nodes: Path, home: Path) -> None:
    load_catalogue(home, [NAME]).registry()
    nodes.write_text(NODES.replace("Colour(red)", "Colour(red * 1000)"))
    made = load_catalogue(home, [NAME]).registry().function("pick").call(Context(), 0.5)
    assert made.red == 500.0


@pytest.mark.usefixtures("watch")
def test_a_module_edited_before_a_call_imports_it_fails_the_node_and_nothing_is_remembered(parts: Path, home: Path) -> None:
    registry = load_catalogue(home, [f"{APP}.nodes"]).registry()
    registry.function("double")
    parts.write_text("factor = 1000\n")
    with Engine(registry, home) as engine:
        result = engine.run(engine.load(WORKFLOW))
    assert result.state == "failed"
    assert re.search(EDITED, result.nodes[0].error)
    parts.write_text("factor = 2\n")
    with Engine(load_catalogue(home, [f"{APP}.nodes"]).registry(), home) as engine:
        assert engine.run(engine.load(WORKFLOW)).outputs == {"b": 2.0}


def parts_worker(device: str, threads: int, budget: int, home: Path) -> tuple[Registry, PlainRuntime]:
    return load_catalogue(home, [f"{APP}.nodes"]).registry(), PlainRuntime(device, threads)


@pytest.mark.slow
@pytest.mark.usefixtures("watch")
def test_a_worker_process_with_newer_code_than_the_keys_refuses_the_call(
    parts: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(parts.parent.parent), *sys.path]))
    registry = load_catalogue(home, [f"{APP}.nodes"]).registry()
    parts.write_text("factor = 1000\n")
    device_nodes = with_specs(registry, place="device")
    with Engine(device_nodes, home, workers="process", setup=f"{__name__}:parts_worker") as engine:
        result = engine.run(engine.load(WORKFLOW))
    assert result.state == "failed"
    assert "the code of double changed after this run was planned; start again to use the changed code" in result.nodes[0].error


@pytest.mark.spec("R-M08")
def test_a_pack_that_never_ends_importing_is_given_up(nodes: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes.write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.setattr(module_under_test, "BUILD_TIMEOUT_S", 1.0)
    with pytest.raises(
        DeclarationError, match="importing the node modules took over 1 s; find the pack that hangs with --no-packs"
    ):
        load_catalogue(home, [NAME], packs=False)
