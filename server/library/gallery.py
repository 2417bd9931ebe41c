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
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from graph.publish import NAME, SIDECAR_SUFFIX
from server.library.confine import Opened, Root
from server.library.folder import Folder
from server.problems import Refusal

MOST_PER_PAGE: Final = 200
#: A sidecar, which holds the workflow.
_SIDECAR_BYTES: Final = 16 << 20
#: What the list shows of every output stays in memory, so it is bounded: about 1 KB for a prompt of 300 letters. Forgetting
#: some would not do: a search goes through all, and would read again each time what it is about to forget.
_LONGEST_PROMPT: Final = 2000
_LONGEST_NAME: Final = 200
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

    @property
    def is_search(self) -> bool:
        """Whether finding the page may take reading every sidecar."""
        return self.offset > 0 or any(part is not None for part in (self.workflow, self.kind, self.text, self.model))


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


@dataclass(slots=True)
class _Sidecar:
    """A sidecar as the folder lists it, and what it says once it was read (None: it is none of ours)."""

    inode: int
    mtime_ns: int
    output: Output | None = None
    is_read: bool = False


class _Listing(NamedTuple):
    """The folder as it was at one moment. Never changed, but for sidecars that are read: threads share it."""

    changed_ns: int
    sidecars: Mapping[str, _Sidecar]
    files: Set[str]
    #: Oldest first: (mtime_ns of the sidecar, id).
    places: list[tuple[int, str]]


class Gallery:
    """The outputs of a data folder. Methods are called on the event loop, work in threads, and raise Refusal."""

    def __init__(self, home: Path, forget: Callable[[str], None] = lambda id: None, *, folder: Path | None = None) -> None:
        """`forget` is told the id of each output that was deleted: what was kept for it may go. `folder`: HOME/outputs."""
        self.root = Root(folder or home / "outputs")
        self._home = Folder(Root(home), "", "the data folder")
        self._forget = forget
        #: Of their own: a long search must not take the threads that others need, and must not hold up downloads and deletes.
        self._thread, self._searching = ThreadPoolExecutor(1, "gallery"), ThreadPoolExecutor(1, "gallery-search")
        #: One lists at a time: else each would read for itself what the other has read already.
        self._listing, self._list_lock = _Listing(-1, {}, set(), []), threading.Lock()
        #: Deleted, and the disk has not taken yet that they have no star.
        self._deleted: frozenset[str] = frozenset()

    async def page(self, filter: Filter) -> OutputPage:
        """A part of the list. Raises Refusal `invalid` for an `after` that no page gave."""
        thread = self._searching if filter.is_search else self._thread
        return await asyncio.get_running_loop().run_in_executor(thread, self._page, filter)

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
        """Mark an output, or take the mark away. Raises Refusal `not_found`, `disk_full`, `forbidden`."""
        await self._in_thread(self._star, id, starred)

    async def delete(self, id: str) -> None:
        """Remove an output, its thumbnails and its star. Raises Refusal `not_found`, or `forbidden` if its file cannot be."""
        await self._in_thread(self._delete, id)

    def close(self) -> None:
        """Wait for what is under way and let go of the folders."""
        self._searching.shutdown()
        self._thread.shutdown()
        self.root.close()
        self._home.root.close()

    async def _in_thread(self, step: Callable[..., T], *arguments: Any) -> T:  # Any: each step has its own
        return await asyncio.get_running_loop().run_in_executor(self._thread, step, *arguments)

    # In the threads.

    def _list(self) -> _Listing:
        """List the folder again if a name in it came or went."""
        with self._list_lock:
            changed = self.root.changed_ns
            if changed != self._listing.changed_ns:
                self._listing = self._listed(changed, self._listing.sidecars)
            return self._listing

    def _listed(self, changed: int, known: Mapping[str, _Sidecar]) -> _Listing:
        """The folder now. A sidecar is never changed, so a known one is not looked at."""
        is_settled = time.time_ns() - changed > _SETTLED_NS
        files, sidecars = set[str](), dict[str, _Sidecar]()
        with self.root.entries() as entries:
            for entry in entries:
                name = entry.name
                if name.startswith(".") or not entry.is_file(follow_symlinks=False):
                    continue
                if not name.endswith(SIDECAR_SUFFIX):
                    files.add(name)
                    continue
                id = name.removesuffix(SIDECAR_SUFFIX)
                sidecar = known.get(id)
                if sidecar is None or sidecar.inode != entry.inode():
                    sidecar = _sidecar_of(entry) if NAME.fullmatch(id) else None
                if sidecar is not None:
                    sidecars[id] = sidecar
        places = sorted((sidecar.mtime_ns, id) for id, sidecar in sidecars.items())
        return _Listing(changed if is_settled else -1, sidecars, files, places)

    def _page(self, filter: Filter) -> OutputPage:
        listing, starred = self._list(), self._stars()
        places = listing.places
        limit = max(1, min(filter.limit, MOST_PER_PAGE))
        end = len(places) if filter.after is None else bisect.bisect_left(places, _place_of(filter.after))
        found: list[tuple[tuple[int, str], Output]] = []
        for number, (place, output) in enumerate(self._accepted(listing, end, filter, starred)):
            if number >= filter.offset:
                found.append((place, output))
            if len(found) > limit:
                return OutputPage([one for _, one in found[:limit]], starred, _cursor(found[limit - 1][0]))
        return OutputPage([one for _, one in found], starred, None)

    def _accepted(
        self, listing: _Listing, end: int, filter: Filter, starred: frozenset[str]
    ) -> Iterator[tuple[tuple[int, str], Output]]:
        """The outputs before a place, newest first, that are outputs at all and that the filter takes."""
        for at in range(end - 1, -1, -1):
            id = listing.places[at][1]
            if (filter.job is not None and filter.job not in id) or (
                filter.starred is not None and filter.starred != (id in starred)
            ):
                continue
            output = self._summary(listing, id)
            if output is not None and _takes(filter, output):
                yield listing.places[at], output

    def _summary(self, listing: _Listing, id: str) -> Output | None:
        """What the list shows of an output; None if it is none. Two threads that read it at once read the same."""
        sidecar = listing.sidecars.get(id)
        if sidecar is None:
            return None
        if not sidecar.is_read:
            read = self._read(id)
            sidecar.output = None if read is None else _output_of(id, read, sidecar.mtime_ns)
            sidecar.is_read = True
        output = sidecar.output
        return output if output is not None and output.file in listing.files else None

    def _read(self, id: str) -> dict[str, Any] | None:
        """The sidecar, if it has the form of ours. It may have been put there by anyone."""
        try:
            found = json.loads(self.root.read(f"{id}{SIDECAR_SUFFIX}", _SIDECAR_BYTES))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and _is_record(id, found) else None

    def _found(self, id: str) -> Output:
        if NAME.fullmatch(id):
            output = self._summary(self._list(), id)
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
        """The file first: should its sidecar stay, it is not listed, but should the file stay, it is listed still (J6).

        The star last, and as far as the disk lets us: that of an output which is not there is seen nowhere.
        """
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
        with self._list_lock:
            self._listing = self._listing._replace(changed_ns=-1)
        self._forget(id)
        stars = self._stars()
        if id in stars:
            self._deleted |= {id}
            with suppress(Refusal, OSError):  # the next write leaves it out
                self._write_stars(stars - {id})

    def _star(self, id: str, starred: bool) -> None:
        self._found(id)
        stars = self._stars()
        if (id in stars) != starred:
            self._write_stars(stars | {id} if starred else stars - {id})

    def _stars(self) -> frozenset[str]:
        try:
            found = json.loads(self._home.root.read(_STARS, _SIDECAR_BYTES))
        except (FileNotFoundError, ValueError, RecursionError):
            return frozenset()
        stars = frozenset(id for id in found if isinstance(id, str)) if isinstance(found, list) else frozenset()
        return stars - self._deleted

    def _write_stars(self, stars: frozenset[str]) -> None:
        self._home.write(_STARS, json.dumps(sorted(stars), indent=0).encode())
        self._deleted = frozenset()


def _sidecar_of(entry: os.DirEntry[str]) -> _Sidecar | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # removed while the folder was listed
        return None
    return _Sidecar(status.st_ino, status.st_mtime_ns)


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
    return Output(
        id=id,
        file=found["file"],
        kind=found["kind"][:40],
        created=mtime_ns / 1e9,
        job=job if isinstance(job, str) and NAME.fullmatch(job) else "",
        workflow=(_text(workflow.get("name"), _LONGEST_NAME) or "") if isinstance(workflow, dict) else "",
        prompt=_text(settings.get("prompt"), _LONGEST_PROMPT),
        model=_text(settings.get("model"), _LONGEST_NAME),
        seed=_number(settings.get("seed")),
        width=_number(settings.get("width")),
        height=_number(settings.get("height")),
    )


def _text(value: object, longest: int) -> str | None:
    return value[:longest].encode("utf-8", "replace").decode() if isinstance(value, str) else None


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
