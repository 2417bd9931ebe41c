"""Drafts: what the page saves by itself while somebody edits, untitled workflows too, so that no crash loses an edit.

One file per draft, `drafts/ID.json`, written whole and durable at each save. A draft is not a version of a workflow and
need not be valid: it is kept as it came. `base` is the version of the saved workflow it was begun from, so that the page
can tell when that has moved on.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from graph.jsontext import JsonError, read_json, write_json
from server.library.confine import Root
from server.library.folder import Content, Folder, Stamp
from server.library.precondition import Precondition, etag_of
from server.library.workflows import contents, file_names
from server.problems import Refusal

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
MOST_DRAFTS: Final = 500
MOST_BYTES: Final = 16 << 20

_SUFFIX: Final = ".json"

T = TypeVar("T")


class Draft(NamedTuple):
    """A draft as it was last saved. `etag` is its version."""

    id: str
    #: The saved workflow it changes; None for one that has no name yet.
    workflow: str | None
    #: The version of that workflow it was begun from.
    base: str | None
    document: dict[str, Any]  # Any: plain JSON, perhaps no valid workflow
    etag: str
    modified: float
    #: Whether its tab was closed: pages list it, and do not open it by themselves.
    closed: bool = False


class DraftEntry(NamedTuple):
    """A row of the list. `title` is the document's name; `problem` says why a file cannot be read."""

    id: str
    workflow: str | None
    base: str | None
    title: str
    etag: str
    modified: float
    size_bytes: int
    problem: str | None = None
    closed: bool = False


class Drafts:
    """The drafts of a data folder. Methods work in threads, one change at a time; all raise Refusal."""

    def __init__(self, home: Path) -> None:
        self._folder = Folder(Root(home), "drafts", "the drafts folder")
        self._lock = threading.Lock()
        self._read_before: dict[str, tuple[Stamp, DraftEntry]] = {}

    async def start(self) -> None:
        """Remove what a killed server left half-written."""
        await asyncio.to_thread(self._folder.sweep)

    async def entries(self) -> list[DraftEntry]:
        """Every draft, the last saved first."""
        return await asyncio.to_thread(self._entries)

    async def read(self, id: str) -> Draft:
        """One draft. Raises Refusal `not_found`, or `conflict` if its file was damaged from outside."""
        return await asyncio.to_thread(self._read, id)

    async def save(
        self,
        id: str,
        document: dict[str, Any],
        workflow: str | None,
        base: str | None,
        precondition: Precondition,
        *,
        closed: bool = False,
    ) -> Draft:
        """Keep this. Raises Refusal `precondition_required`, `precondition_failed`, `too_large`, `invalid`, `disk_full`."""
        return await self._change(lambda: self._save(Draft(id, workflow, base, document, "", 0.0, closed), precondition))

    async def delete(self, id: str, precondition: Precondition) -> None:
        """Forget a draft: it was saved as a workflow, or given up. Raises Refusal `not_found` and like `save`."""
        await self._change(lambda: self._delete(id, precondition))

    async def files(self) -> frozenset[str]:
        """SHA-256 (hex) of every upload that a draft names. Raises Refusal rather than miss one."""
        return await asyncio.to_thread(self._files)

    # In threads.

    async def _change(self, step: Callable[[], T]) -> T:
        def locked() -> T:
            with self._lock:
                return step()

        return await asyncio.to_thread(locked)

    def _content(self, id: str) -> Content | None:
        if not ID.fullmatch(id):
            return None
        with contextlib.suppress(FileNotFoundError):
            return self._folder.read(f"{id}{_SUFFIX}", MOST_BYTES)
        return None

    def _read(self, id: str) -> Draft:
        content = self._content(id)
        if content is None:
            raise _unknown(id)
        try:
            return _parsed(id, content)
        except (JsonError, KeyError, TypeError, ValueError) as error:
            message = f'The file of draft "{id}" was damaged by another program and cannot be read. Delete the draft.'
            raise Refusal("conflict", message, etag=etag_of(content.data)) from error

    def _save(self, draft: Draft, precondition: Precondition) -> Draft:
        id = draft.id
        if not ID.fullmatch(id):
            raise Refusal("invalid", f'"{id[:70]}" cannot be the id of a draft: letters, digits, "_" and "-", 64 at most.')
        found = self._content(id)
        precondition.check(etag_of(found.data) if found else None, f'Draft "{id}"')
        kept = {"workflow": draft.workflow, "base": draft.base, "closed": draft.closed, "document": draft.document}
        try:
            data = write_json(kept).encode()
        except ValueError as error:
            raise Refusal("invalid", f"The draft cannot be written. {error}", pointer="/document") from error
        if len(data) > MOST_BYTES:
            raise Refusal("too_large", f"The draft has {len(data)} bytes; at most {MOST_BYTES} are kept. Make it smaller.")
        if found is None and len(self._folder.names()) >= MOST_DRAFTS:
            raise Refusal("too_large", f"There are {MOST_DRAFTS} drafts, and no more are kept. Delete some.")
        stamp = self._folder.write(f"{id}{_SUFFIX}", data)
        return draft._replace(etag=etag_of(data), modified=stamp.modified)

    def _delete(self, id: str, precondition: Precondition) -> None:
        found = self._content(id)
        if found is None:
            raise _unknown(id)
        precondition.check(etag_of(found.data), f'Draft "{id}"')
        self._folder.remove(f"{id}{_SUFFIX}")

    def _entries(self) -> list[DraftEntry]:
        entries: dict[str, tuple[Stamp, DraftEntry]] = {}
        for file, stamp in self._folder.stamps().items():
            id = file.removesuffix(_SUFFIX)
            if file == id or not ID.fullmatch(id):
                continue
            kept = self._read_before.get(id)
            if kept is not None and kept[0] == stamp:
                entries[id] = kept
                continue
            content = self._content(id)
            if content is not None:
                entries[id] = (content.stamp, _entry(id, content))
        self._read_before = entries
        return sorted((entry for _, entry in entries.values()), key=lambda entry: (-entry.modified, entry.id))

    def _files(self) -> frozenset[str]:
        return frozenset().union(*map(file_names, contents(self._folder)))


def _unknown(id: str) -> Refusal:
    return Refusal("not_found", f'There is no draft "{id[:70]}". GET /v1/drafts lists all.')


def _parsed(id: str, content: Content) -> Draft:
    raw = read_json(content.data)
    workflow, base, document = raw["workflow"], raw["base"], raw["document"]
    if type(document) is not dict or type(workflow) not in (str, type(None)) or type(base) not in (str, type(None)):
        raise TypeError("not what a draft holds")
    closed = raw.get("closed") is True  # drafts of before have no such member
    return Draft(id, workflow, base, document, etag_of(content.data), content.stamp.modified, closed)


def _entry(id: str, content: Content) -> DraftEntry:
    try:
        draft = _parsed(id, content)
    except (JsonError, KeyError, TypeError, ValueError):
        etag = etag_of(content.data)
        problem = "The file was damaged by another program. Delete the draft."
        return DraftEntry(id, None, None, "", etag, content.stamp.modified, content.stamp.size_bytes, problem)
    name = draft.document.get("name")
    title = name if isinstance(name, str) else ""
    size_bytes = content.stamp.size_bytes
    return DraftEntry(id, draft.workflow, draft.base, title, draft.etag, draft.modified, size_bytes, closed=draft.closed)
