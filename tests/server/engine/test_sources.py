"""A change of a node's source file is told once, when it is complete."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from graph.watch import FileState
from server.engine.sources import SourceWatcher, watch_sources
from tests.server.engine.link_kit import lab, run


class Sources:
    """A catalogue of one source file."""

    def __init__(self, folder: Path) -> None:
        self.file, self.catalogue = folder / "nodes.py", folder / "catalogue.json"
        self.serial = 0
        self.edit()
        self.read()

    def edit(self) -> None:
        self.serial += 1
        self.file.write_text(f"VERSION = {self.serial}")
        os.utime(self.file, ns=(self.serial, self.serial))

    def read(self) -> None:
        """What the engine does: write down the file as it is."""
        self.catalogue.write_text(json.dumps({"files": [FileState.of(str(self.file))], "serial": "x" * self.serial}))


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def test_an_edit_is_told_once_it_has_stood_for_a_look(sources: Sources) -> None:
    watcher = SourceWatcher(sources.catalogue)
    assert [watcher.has_changed() for _ in range(2)] == [False, False]
    sources.edit()
    assert not watcher.has_changed()
    sources.edit()  # still being written
    assert [watcher.has_changed() for _ in range(3)] == [False, True, False]
    sources.read()
    assert [watcher.has_changed() for _ in range(2)] == [False, False]


def test_an_edit_after_the_catalogue_and_before_the_first_look_is_told(sources: Sources) -> None:
    sources.edit()
    watcher = SourceWatcher(sources.catalogue)
    assert [watcher.has_changed() for _ in range(3)] == [False, True, False]


def test_a_catalogue_that_is_missing_or_being_written_is_waited_for(sources: Sources) -> None:
    content = sources.catalogue.read_text()
    sources.catalogue.unlink()
    watcher = SourceWatcher(sources.catalogue)
    assert not watcher.has_changed()
    sources.catalogue.write_text(content[:10])
    assert not watcher.has_changed()
    sources.catalogue.write_text(content)
    assert not watcher.has_changed()
    sources.file.unlink()
    assert [watcher.has_changed() for _ in range(3)] == [False, True, False]


@pytest.mark.slow
def test_a_link_told_to_reload_nodes_starts_a_fresh_engine_after_an_edit(home: Path, tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    (home / "catalogue.json").write_bytes(sources.catalogue.read_bytes())

    async def test() -> None:
        async with lab(home, reload_nodes=True) as one:
            sources.edit()
            await one.ready(2)
            assert "the node types are read again" in one.listener.said
            assert one.link.failure == ""

    run(test())


def test_watching_calls_back(sources: Sources) -> None:
    async def test() -> int:
        changes = 0
        looks = 0

        def on_change() -> None:
            nonlocal changes
            changes += 1

        async def sleep(seconds: float) -> None:
            nonlocal looks
            looks += 1
            if looks == 2:
                sources.edit()
            if looks == 6:
                raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await watch_sources(sources.catalogue.parent, True, on_change, sleep=sleep)
        return changes

    assert asyncio.run(test()) == 1
