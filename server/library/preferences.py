"""What the page remembers for its user (theme, panels, last folder): one small JSON object in the data folder."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple

from graph.jsontext import JsonError, read_json, write_json
from server.library.confine import Root
from server.library.folder import Folder
from server.library.precondition import Precondition, etag_of
from server.problems import Refusal

FILE: Final = "page.json"
MOST_BYTES: Final = 64 * 1024


class Kept(NamedTuple):
    """The preferences and their version."""

    values: dict[str, Any]  # Any: plain JSON
    etag: str


class Preferences:
    """The page's preferences. Methods work in threads and raise Refusal."""

    def __init__(self, home: Path) -> None:
        self._folder = Folder(Root(home), "", "the data folder")
        self._lock = threading.Lock()

    async def read(self) -> Kept:
        """What is kept; nothing yet, or damaged from outside: an empty object."""
        return await asyncio.to_thread(self._read)

    async def save(self, values: dict[str, Any], match: str | None) -> Kept:
        """Keep these instead. With `match` only if that version is there: Raises Refusal `precondition_failed`, `too_large`."""
        return await asyncio.to_thread(self._save, values, match)

    def _read(self) -> Kept:
        try:
            data = self._folder.read(FILE, 2 * MOST_BYTES).data
            values = read_json(data)
        except (FileNotFoundError, JsonError, Refusal):
            return _EMPTY
        return Kept(values, etag_of(data)) if type(values) is dict else _EMPTY

    def _save(self, values: dict[str, Any], match: str | None) -> Kept:
        try:
            data = write_json(values).encode()
        except ValueError as error:
            raise Refusal("invalid", f"The preferences cannot be written. {error}") from error
        if len(data) > MOST_BYTES:
            raise Refusal("too_large", f"The preferences have {len(data)} bytes; at most {MOST_BYTES} are kept. Keep less.")
        with self._lock:
            if match is not None:
                Precondition(match).check(self._read().etag, "What the page keeps")
            self._folder.write(FILE, data)
        return Kept(values, etag_of(data))


_EMPTY: Final = Kept({}, etag_of(b""))
