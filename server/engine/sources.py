"""Watches the source files of the node types, for authors of packs: a change starts a fresh engine (`--reload-nodes`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from graph.watch import FileState

#: Seconds between two looks. A change counts once a look finds it as the last one did: an editor may still be writing.
LOOK_S: Final = 1.0

States = Mapping[str, FileState | None]


class SourceWatcher:
    """Compares the files that a catalogue was made from with what they were."""

    def __init__(self, catalogue: Path) -> None:
        """`catalogue` is the file that `graph.catalogue` keeps."""
        self._catalogue = catalogue
        self._read: FileState | None = None
        self._states: States = {}
        self._is_changing = False

    def has_changed(self) -> bool:
        """Whether a change since the last one that was told is complete. Reads and stats files: call it in a thread."""
        catalogue = FileState.of(str(self._catalogue))
        if catalogue != self._read:
            self._read = catalogue
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # it is being made; the old list will do
                files = json.loads(self._catalogue.read_bytes())["files"]
                # What a file was when it was read, not what it is: it may have changed before we first looked.
                self._states = {path: FileState(path, size, mtime_ns) for path, size, mtime_ns in files}
        now = {path: FileState.of(path) for path in self._states}
        if now != self._states:
            self._states, self._is_changing = now, True
            return False
        was_changing, self._is_changing = self._is_changing, False
        return was_changing


async def watch_sources(
    home: Path, packs: bool, on_change: Callable[[], object], *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Call `on_change` after each change of a source file that the catalogue in `home` was made from, until cancelled."""
    from graph.catalogue import catalogue_path  # loads the declarations of nodes; only authors of packs need this

    watcher = SourceWatcher(catalogue_path(home, packs))
    while True:
        if await asyncio.to_thread(watcher.has_changed):
            on_change()
        await sleep(LOOK_S)
