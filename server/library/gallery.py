"""The outputs folder as people look at it: newest first, in pages, by filters; one by one with everything it was made with.

Only a sidecar that says what `graph.publish` writes, with its file beside it, is an output: what is half-written, foreign
or planted is passed over. Nothing here makes an output.
"""

from __future__ import annotations

import asyncio
import bisect
import errno
import json
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from graph.publish import NAME, SIDECAR_SUFFIX
from server.library.confine import Opened, Root
from server.problems import Refusal

MOST_PER_PAGE: Final = 200
#: A sidecar, which holds the workflow.
_SIDECAR_BYTES: Final = 16 << 20
#: Summaries in memory: about 1 KB each.
_REMEMBERED: Final = 20_000
_LONGEST_PROMPT: Final = 2000
#: A folder that changed so short a time before it was listed may change again without another time.
_SETTLED_NS: Final = 2_000_000_000
_FILE: Final = re.compile(r"\.[a-z0-9]{1,8}")
_STARS: Final = "stars.json"

T = TypeVar("T")


class Output(NamedTuple):
    """An output as a list shows it. What the settings do not say is None; `job` is "" for one of the command line."""

    id: str
    file: str
    kind: str
    created: float
    job: str
    workflow: str
    prompt: str | None
    model: str | None
    seed: int | None
    width: int | None
    height: int | None


class Filter(NamedTuple):
    """Which outputs a page is to hold, and which page: at most `limit`, past the first `offset` or after the place `after`."""

    job: str | None = None
    workflow: str | None = None
    kind: str | None = None
    #: A part of the prompt, in any case of letters.
    text: str | None = None
    model: str | None = None
    starred: bool | None = None
    limit: int = 50
    offset: int = 0
    after: str | None = None


class OutputPage(NamedTuple):
    """A part of the outputs that the filter accepts, newest first; `next` is what to give as `after` for more, None at the end."""

    outputs: list[Output]
    starred: frozenset[str]
    next: str | None


class Record(NamedTuple):
    """An output with all that its sidecar says: settings, the resolved run, its workflow (None if it has none)."""

    output: Output
    settings: Mapping[str, Any]  # Any: plain JSON, here and below
    run: Mapping[str, Any]
    workflow: Mapping[str, Any] | None
    size: int
    is_starred: bool


class _Note(NamedTuple):
    """A sidecar as the folder lists it."""

    inode: int
    mtime_ns: int
    size: int


class Gallery:
    """The outputs of a data folder. Methods are called on the event loop, work in a thread, and raise Refusal."""

    def __init__(self, home: Path, forget: Callable[[str], None] = lambda id: None, *, folder: Path | None = None) -> None:
        """`forget` is told the id of each output that was deleted: what was kept for it may go. `folder`: HOME/outputs."""
        self.root = Root(folder or home / "outputs")
        self._home = Root(home)
        self._forget = forget
        #: One of its own: a long search must not take the threads that others need.
        self._thread = ThreadPoolExecutor(1, "gallery")
        self._listed_ns = -1
        self._notes: dict[str, _Note] = {}
        self._files: set[str] = set()
        #: Places in the list, oldest first: (mtime_ns of the sidecar, id).
        self._places: list[tuple[int, str]] = []
        self._summaries: OrderedDict[tuple[str, int, int], Output | None] = OrderedDict()

    async def page(self, filter: Filter) -> OutputPage:
        """A part of the list. Raises Refusal `invalid` for an `after` that no page gave."""
        return await self._in_thread(self._page, filter)

    async def get(self, id: str) -> Record:
        """An output with everything. Raises Refusal `not_found`."""
        return await self._in_thread(self._get, id)

    async def open(self, id: str) -> tuple[Output, Opened]:
        """An output and its file, open for reading: the caller closes it. Raises Refusal `not_found`."""
        output = await self._in_thread(self._found, id)
        try:
            return output, self.root.open(output.file)  # here: a caller that goes away cannot leave it open in a thread
        except FileNotFoundError:
            raise _no_such(id) from None

    async def star(self, id: str, starred: bool) -> None:
        """Mark an output, or take the mark away. Raises Refusal `not_found`."""
        await self._in_thread(self._star, id, starred)

    async def delete(self, id: str) -> None:
        """Remove an output, its thumbnails and its star. Raises Refusal `not_found`, or `forbidden` if its file cannot be."""
        await self._in_thread(self._delete, id)

    def close(self) -> None:
        """Wait for what is under way and let go of the folders."""
        self._thread.shutdown()
        self.root.close()
        self._home.close()

    async def _in_thread(self, step: Callable[..., T], *arguments: Any) -> T:  # Any: each step has its own
        return await asyncio.get_running_loop().run_in_executor(self._thread, step, *arguments)

    # In the thread.

    def _list(self) -> None:
        """List the folder again if a name in it came or went. A sidecar is never changed, so a known one is not looked at."""
        changed = self.root.changed_ns
        if changed == self._listed_ns:
            return
        is_settled = time.time_ns() - changed > _SETTLED_NS
        files, notes = set[str](), dict[str, _Note]()
        with self.root.entries() as entries:
            for entry in entries:
                name = entry.name
                if name.startswith(".") or not entry.is_file(follow_symlinks=False):
                    continue
                if not name.endswith(SIDECAR_SUFFIX):
                    files.add(name)
                    continue
                note = self._notes.get(name)
                if note is None or note.inode != entry.inode():
                    note = _note_of(entry)
                if note is not None:
                    notes[name] = note
        ids = ((note.mtime_ns, name.removesuffix(SIDECAR_SUFFIX)) for name, note in notes.items())
        self._places = sorted(place for place in ids if NAME.fullmatch(place[1]))
        self._files, self._notes = files, notes
        self._listed_ns = changed if is_settled else -1

    def _page(self, filter: Filter) -> OutputPage:
        self._list()
        starred = self._stars()
        limit = max(1, min(filter.limit, MOST_PER_PAGE))
        end = len(self._places) if filter.after is None else bisect.bisect_left(self._places, _place_of(filter.after))
        found: list[tuple[tuple[int, str], Output]] = []
        for number, (place, output) in enumerate(self._accepted(end, filter, starred)):
            if number >= filter.offset:
                found.append((place, output))
            if len(found) > limit:
                return OutputPage([one for _, one in found[:limit]], starred, _cursor(found[limit - 1][0]))
        return OutputPage([one for _, one in found], starred, None)

    def _accepted(self, end: int, filter: Filter, starred: frozenset[str]) -> Iterator[tuple[tuple[int, str], Output]]:
        """The outputs before a place, newest first, that are outputs at all and that the filter takes."""
        for at in range(end - 1, -1, -1):
            id = self._places[at][1]
            if (filter.job is not None and filter.job not in id) or (
                filter.starred is not None and filter.starred != (id in starred)
            ):
                continue
            output = self._summary(id)
            if output is not None and _takes(filter, output):
                yield self._places[at], output

    def _summary(self, id: str) -> Output | None:
        """What the list shows of an output; None if it is none."""
        note = self._notes.get(f"{id}{SIDECAR_SUFFIX}")
        if note is None:
            return None
        key = (id, note.mtime_ns, note.size)
        if key in self._summaries:
            self._summaries.move_to_end(key)
            output = self._summaries[key]
        else:
            read = self._read(id)
            output = self._summaries[key] = None if read is None else _output_of(id, read, note.mtime_ns)
            if len(self._summaries) > _REMEMBERED:
                self._summaries.popitem(last=False)
        return output if output is not None and output.file in self._files else None

    def _read(self, id: str) -> dict[str, Any] | None:
        """The sidecar, if it has the form of ours. It may have been put there by anyone."""
        try:
            found = json.loads(self.root.read(f"{id}{SIDECAR_SUFFIX}", _SIDECAR_BYTES))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and _is_record(id, found) else None

    def _found(self, id: str) -> Output:
        if NAME.fullmatch(id):
            self._list()
            output = self._summary(id)
            if output is not None:
                return output
        raise _no_such(id)

    def _get(self, id: str) -> Record:
        output = self._found(id)
        found = self._read(id)
        try:
            with self.root.opened(output.file) as opened:
                size = opened.size
        except FileNotFoundError:
            found = None
        if found is None:
            raise _no_such(id)
        run = dict(found.get("run", {}))
        workflow = run.pop("workflow", None)
        return Record(
            output, found.get("settings", {}), run, workflow if isinstance(workflow, dict) else None, size, id in self._stars()
        )

    def _delete(self, id: str) -> None:
        """The file first: should its sidecar stay, it is not listed, but should the file stay, it is listed still (J6)."""
        output = self._found(id)
        try:
            self.root.remove(output.file)
        except FileNotFoundError:
            pass  # someone else was quicker
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EACCES, errno.EROFS, errno.EBUSY):
                raise
            message = f"The file of output {id} cannot be removed ({os.strerror(error.errno)}). Make it writable, then try again."
            raise Refusal("forbidden", message) from None
        self.root.remove(f"{id}{SIDECAR_SUFFIX}")
        self._listed_ns = -1
        self._forget(id)
        if id in self._stars():
            self._write_stars(self._stars() - {id})

    def _star(self, id: str, starred: bool) -> None:
        self._found(id)
        stars = self._stars()
        if (id in stars) != starred:
            self._write_stars(stars | {id} if starred else stars - {id})

    def _stars(self) -> frozenset[str]:
        try:
            found = json.loads(self._home.read(_STARS, _SIDECAR_BYTES))
        except (FileNotFoundError, ValueError, RecursionError):
            return frozenset()
        return frozenset(id for id in found if isinstance(id, str)) if isinstance(found, list) else frozenset()

    def _write_stars(self, stars: frozenset[str]) -> None:
        self._home.write(_STARS, json.dumps(sorted(stars), indent=0).encode())


def _note_of(entry: os.DirEntry[str]) -> _Note | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # removed while the folder was listed
        return None
    return _Note(status.st_ino, status.st_mtime_ns, status.st_size)


def _is_record(id: str, found: Mapping[str, Any]) -> bool:
    """Whether a sidecar says what ours say: its own name, a file of that name, a kind, and objects where objects stand."""
    file = found.get("file")
    return (
        found.get("id") == id
        and isinstance(file, str)
        and file.startswith(f"{id}.")
        and _FILE.fullmatch(file[len(id) :]) is not None
        and file != f"{id}{SIDECAR_SUFFIX}"
        and isinstance(found.get("kind"), str)
        and isinstance(found.get("settings", {}), dict)
        and isinstance(found.get("run", {}), dict)
    )


def _output_of(id: str, found: Mapping[str, Any], mtime_ns: int) -> Output:
    settings, run = found.get("settings", {}), found.get("run", {})
    workflow, job = run.get("workflow"), run.get("job")
    prompt = _text(settings.get("prompt"))
    return Output(
        id=id,
        file=found["file"],
        kind=found["kind"][:40],
        created=mtime_ns / 1e9,
        job=job if isinstance(job, str) and NAME.fullmatch(job) else "",
        workflow=(_text(workflow.get("name")) or "") if isinstance(workflow, dict) else "",
        prompt=None if prompt is None else prompt[:_LONGEST_PROMPT],
        model=_text(settings.get("model")),
        seed=_number(settings.get("seed")),
        width=_number(settings.get("width")),
        height=_number(settings.get("height")),
    )


def _text(value: object) -> str | None:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _takes(filter: Filter, output: Output) -> bool:
    return (
        filter.job in (None, output.job)
        and filter.workflow in (None, output.workflow)
        and filter.kind in (None, output.kind)
        and filter.model in (None, output.model)
        and (filter.text is None or filter.text.casefold() in (output.prompt or "").casefold())
    )


def _cursor(place: tuple[int, str]) -> str:
    return f"{place[0]}-{place[1]}"


def _place_of(cursor: str) -> tuple[int, str]:
    moment, _, id = cursor.partition("-")
    if not re.fullmatch(r"[0-9]{1,20}", moment, re.ASCII):
        raise Refusal("invalid", "`cursor` is not what a page gave as `next`. Leave it out to begin at the newest.")
    return int(moment), id


def _no_such(id: str) -> Refusal:
    shown = id if NAME.fullmatch(id) else "of this name"
    return Refusal("not_found", f"There is no output {shown}. GET /v1/outputs lists the outputs.")
