"""Uploaded files: kept by content under HOME/files/<sha256>, whole or not at all, as long as something names them.

What a file is called and when it came stands beside it in `<sha256>.json`; without that it is one that the command line
brought, and is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from graph.compile import Compiled
from graph.errors import Problem
from server.files import needed_files
from server.library.confine import TEMPORARY, Opened, Root, Temporary
from server.library.media import HEAD_BYTES, Kind, Media, media_of
from server.library.names import is_file_id, shown_name
from server.problems import Refusal

#: What one upload, all of them together, and the disk beside them may come to.
MOST_BYTES: Final = 500 * 1000 * 1000
QUOTA_BYTES: Final = 50 * 1000**3
FLOOR_BYTES: Final = 1024**3
#: A file that nothing names is removed so long after it came or was last named.
KEPT_SECONDS: Final = 24 * 3600.0
_SWEEP_SECONDS: Final = 3600.0
#: So long a file that an order named counts as in use: until its job is in the store.
_ACCEPTING_SECONDS: Final = 30.0
_PART_BYTES: Final = 1 << 20
_SIDECAR: Final = ".json"
_SIDECAR_BYTES: Final = 16 * 1024

P = ParamSpec("P")
T = TypeVar("T")

Named = Callable[[], Awaitable[Collection[str]]]


class Upload(NamedTuple):
    """A file that is here: its id, the name it is shown by, bytes, kind, when it came (or was last named)."""

    sha256: str
    name: str
    size: int
    kind: Kind
    created: float


class UploadPage(NamedTuple):
    """A part of the list, newest first; `next` is where the next part begins, None at the end."""

    files: list[Upload]
    next: str | None


class _Users(NamedTuple):
    what: str
    named: Named


class Uploads:
    """The uploaded files of a data folder. Methods are called on the event loop, work in threads, and raise Refusal."""

    def __init__(
        self,
        home: Path,
        *,
        most_bytes: int = MOST_BYTES,
        quota_bytes: int = QUOTA_BYTES,
        floor_bytes: int | None = None,
        clock: Callable[[], float] = time.time,
        uptime: Callable[[], float] = time.monotonic,
    ) -> None:
        """`floor_bytes` stay free on the disk; without it 1 GiB or 2 % of it, whichever is less.

        `uptime` gives the seconds that servers have run on this folder: no jump of the clock ends anything early.
        """
        self.root = Root(home / "files")
        self.most_bytes, self._quota_bytes, self._floor_bytes = most_bytes, quota_bytes, floor_bytes
        self._clock, self._uptime, self._started = clock, uptime, uptime()
        self._users: list[_Users] = []
        #: By `uptime`: files that an order named; those that came or were named since the start, of the last day.
        self._named: dict[str, float] = {}
        self._used: dict[str, float] = {}
        #: `missing` is called in threads: between its look at a file and its note nothing may be removed.
        self._deciding = threading.Lock()
        self._tidying: asyncio.Task[None] | None = None
        #: Uploads under way share the room that the first of them found: each alone would find all of it.
        self._under_way, self._room_bytes, self._come_bytes = 0, 0, 0
        self._looking = asyncio.Lock()

    def kept_by(self, what: str, named: Named) -> None:
        """Keep the files that `named` gives (SHA-256 in hex); `what` says who names them: "a job", "a saved workflow"."""
        self._users.append(_Users(what, named))

    async def start(self) -> None:
        """Remove what nothing needs, now and every hour until `close`."""
        self._tidying = asyncio.create_task(self._tidy())

    async def close(self) -> None:
        """End the tidying and let go of the folder."""
        if self._tidying is not None:
            self._tidying.cancel()
            await asyncio.gather(self._tidying, return_exceptions=True)
        self.root.close()

    async def store(self, chunks: AsyncIterator[bytes], name: str = "") -> Upload:
        """Keep what comes. The same content again is the same file, with the newer name.

        Raises Refusal `too_large` as soon as it is, or `disk_full`; then nothing of it stays.
        """
        try:
            async with self._sharing_room():
                with self.root.temporary() as new:
                    written = await self._receive(chunks, new)
                    return await _to_the_end(self._keep, new, written, shown_name(name, ""))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise _full("The disk is full") from None

    async def find(self, sha256: str) -> Upload:
        """The file of this content. Raises Refusal `not_found`."""
        found = await asyncio.to_thread(self._find, sha256)
        if found is None:
            raise _no_such(sha256)
        return found

    def open(self, sha256: str) -> Opened:
        """The content, open for reading; the caller closes it. Raises Refusal `not_found`."""
        try:
            return self.root.open(_checked(sha256))
        except FileNotFoundError:
            raise _no_such(sha256) from None

    async def page(self, limit: int = 50, after: str | None = None) -> UploadPage:
        """The files that came after place `after` of the list, newest first."""
        return await asyncio.to_thread(self._page, limit, after)

    async def delete(self, sha256: str) -> None:
        """Remove a file. Raises Refusal `not_found`, or `in_use` while a job or a saved workflow names it."""
        _checked(sha256)
        users = await self._users_of()
        if not self.root.has(sha256):
            raise _no_such(sha256)
        with self._deciding:
            self._refuse_used(sha256, users)
            aside = self._set_aside(sha256)
        await asyncio.to_thread(self.root.remove, aside)

    def missing(self, compiled: Compiled) -> list[Problem]:
        """One problem per file that a workflow names and that is not here; called in any thread. Those that are here are kept
        for the job to come."""
        problems = []
        for node, port, name, sha256 in needed_files(compiled):
            try:
                with self._deciding:
                    self.root.touch(_checked(sha256))
                    self._named[sha256] = self._used[sha256] = self._uptime()
            except (FileNotFoundError, Refusal):
                what = f'"{shown_name(name)}" (sha256 {sha256[:12]}...)'
                message = f"{node}.{port} needs the file {what}, which is not here. Upload it with POST /v1/files."
                problems.append(Problem("missing_file", message, node, port))
        return problems

    async def sweep(self) -> int:
        """Remove uploads that nothing names and that came over a day ago, and what a killed server left; how many."""
        users = await self._users_of()
        oldest, oldest_used = self._clock() - KEPT_SECONDS, self._uptime() - KEPT_SECONDS
        with self._deciding:
            self._used = {sha256: used for sha256, used in self._used.items() if used > oldest_used}
        old = await asyncio.to_thread(
            lambda: [one for one in self._uploaded() if self._mtime(one) < oldest and self._used_at(one) < oldest_used]
        )
        aside = []
        for sha256 in old:
            with self._deciding, contextlib.suppress(FileNotFoundError):
                if self._user_of(sha256, users) is None and self._mtime(sha256) < oldest:
                    aside.append(self._set_aside(sha256))
        await asyncio.to_thread(self._remove_temporary, oldest, aside)
        return len(aside)

    # Receiving.

    @contextlib.asynccontextmanager
    async def _sharing_room(self) -> AsyncIterator[None]:
        """An upload under way. What ends well is counted as used until none is under way, and the folder is looked at again."""
        async with self._looking:
            if self._under_way == 0:
                self._room_bytes, self._come_bytes = await asyncio.to_thread(self._room), 0
            self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _receive(self, chunks: AsyncIterator[bytes], new: Temporary) -> _Written:
        written, waiting = _Written(hashlib.sha256(), bytearray()), bytearray()
        total = 0
        try:
            async for chunk in chunks:
                waiting += chunk
                total += len(chunk)
                self._come_bytes += len(chunk)
                self._refuse_too_much(total)
                if len(waiting) >= _PART_BYTES:
                    part, waiting = waiting, bytearray()
                    await _to_the_end(written.add, new.file, part)
            if waiting:
                await _to_the_end(written.add, new.file, waiting)
        except BaseException:
            self._come_bytes -= total
            raise
        return written

    def _refuse_too_much(self, total: int) -> None:
        if total > self.most_bytes:
            raise Refusal(
                "too_large", f"The file has more than {self.most_bytes} bytes. Send a smaller one.", limit_bytes=self.most_bytes
            )
        if self._come_bytes > self._room_bytes:
            raise _full("The uploaded files would take more room than they may")

    def _room(self) -> int:
        """Bytes that one more file may have."""
        with self.root.entries() as entries:
            used = sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
        disk = shutil.disk_usage(self.root.folder)
        free = disk.free - (min(FLOOR_BYTES, disk.total // 50) if self._floor_bytes is None else self._floor_bytes)
        room = min(self._quota_bytes - used, free)
        if room <= 0:
            raise _full("There is no room for more files" if free > 0 else "The disk is nearly full")
        return room

    def _keep(self, new: Temporary, written: _Written, name: str) -> Upload:
        """Give the file its name, unless its content is here already, and note what it is called."""
        sha256, media = written.digest.hexdigest(), media_of(bytes(written.head))
        name = name or (self._name(sha256) or f"{sha256[:12]}{media.suffix}")
        with self._deciding:
            used = self._used[sha256] = self._uptime()
        note = {"name": name, "kind": media.kind, "created": self._clock(), "uptime_s": used}
        try:
            self.root.write(f"{sha256}{_SIDECAR}", json.dumps(note, ensure_ascii=False).encode())
            if self._size(sha256) == written.size:
                self.root.touch(sha256)
            else:
                new.place(sha256)
        except BaseException:
            if self._size(sha256) is None:
                with contextlib.suppress(OSError):
                    self.root.remove(f"{sha256}{_SIDECAR}")
            raise
        return Upload(sha256, name, written.size, media.kind, self._mtime(sha256))

    # Looking.

    def _ids(self) -> list[str]:
        return [name for name in self.root.names() if is_file_id(name)]

    def _uploaded(self) -> list[str]:
        """The ids of files that came by upload."""
        names = set(self.root.names())
        return [name for name in names if is_file_id(name) and f"{name}{_SIDECAR}" in names]

    def _find(self, sha256: str) -> Upload | None:
        try:
            with self.root.opened(_checked(sha256)) as found:
                media = media_of(os.pread(found.file, HEAD_BYTES, 0))
                name = self._name(sha256) or f"{sha256[:12]}{media.suffix}"
                return Upload(sha256, name, found.size, media.kind, found.mtime_ns / 1e9)
        except FileNotFoundError:
            return None

    def _name(self, sha256: str) -> str:
        """What it was called when it came; "" if nothing is noted."""
        return shown_name(str(self._note(sha256).get("name", "")), "")

    def _used_at(self, sha256: str) -> float:
        """When it came or was last named, by `uptime`. One of an earlier start was here at this one, whatever its note says."""
        came = self._note(sha256).get("uptime_s")
        return self._used.get(sha256, min(came, self._started) if isinstance(came, int | float) else 0.0)

    def _note(self, sha256: str) -> dict[str, Any]:  # Any: whatever stands there
        """What was noted when it came; nothing if that cannot be read."""
        try:
            note = json.loads(self.root.read(f"{sha256}{_SIDECAR}", _SIDECAR_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return note if isinstance(note, dict) else {}

    def _size(self, sha256: str) -> int | None:
        with contextlib.suppress(FileNotFoundError), self.root.opened(sha256) as found:
            return found.size
        return None

    def _mtime(self, sha256: str) -> float:
        with contextlib.suppress(FileNotFoundError), self.root.opened(sha256) as found:
            return found.mtime_ns / 1e9
        return float("inf")

    def _page(self, limit: int, after: str | None) -> UploadPage:
        places = sorted(((self._mtime(sha256), sha256) for sha256 in self._ids()), reverse=True)
        if after is not None:
            places = [place for place in places if place < _place(after)]
        found = [upload for _, sha256 in places[:limit] if (upload := self._find(sha256)) is not None]
        more = len(places) > limit
        return UploadPage(found, _cursor(places[limit - 1]) if more else None)

    # Removing.

    async def _users_of(self) -> list[tuple[str, Collection[str]]]:
        return [(user.what, await user.named()) for user in self._users]

    def _user_of(self, sha256: str, users: list[tuple[str, Collection[str]]]) -> str | None:
        """Who names a file."""
        if self._uptime() - self._named.get(sha256, float("-inf")) < _ACCEPTING_SECONDS:
            return "a job that is just coming in"
        self._named.pop(sha256, None)
        return next((what for what, named in users if sha256 in named), None)

    def _refuse_used(self, sha256: str, users: list[tuple[str, Collection[str]]]) -> None:
        user = self._user_of(sha256, users)
        if user is not None:
            name = self._name(sha256) or sha256[:12]
            raise Refusal("in_use", f'The file "{name}" is named by {user}. Delete that first, or leave the file.')

    def _set_aside(self, sha256: str) -> str:
        """Take the name away, at once: freeing the blocks of a large file takes its time. Raises FileNotFoundError."""
        temporary = f".{sha256}{TEMPORARY}"
        self.root.rename(sha256, temporary)
        with contextlib.suppress(FileNotFoundError):
            self.root.remove(f"{sha256}{_SIDECAR}")
        return temporary

    def _remove_temporary(self, oldest: float, aside: Collection[str]) -> None:
        names = set(self.root.names())
        left = {name for name in names if name.endswith(TEMPORARY)}
        left |= {name for name in names if name.endswith(_SIDECAR) and name.removesuffix(_SIDECAR) not in names}
        if self._under_way:  # some may be theirs, however old the clock makes them
            left.clear()
        for name in {*aside, *(name for name in left if self._mtime(name) < oldest)}:
            with contextlib.suppress(FileNotFoundError):
                self.root.remove(name)

    async def _tidy(self) -> None:
        while True:
            with contextlib.suppress(OSError, Refusal):  # a disk that cannot be read now may be later
                await self.sweep()
            await asyncio.sleep(_SWEEP_SECONDS)


class _Written:
    """What has come so far: its digest, its beginning, its size."""

    def __init__(self, digest: hashlib._Hash, head: bytearray) -> None:
        self.digest, self.head, self.size = digest, head, 0

    def add(self, file: int, part: bytearray) -> None:
        """Write and count a part."""
        self.digest.update(part)
        self.head += part[: max(0, HEAD_BYTES - self.size)]
        view = memoryview(part)
        while view:
            view = view[os.write(file, view) :]
        self.size += len(part)


async def _to_the_end(step: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a step in a thread; if nobody waits for it any more, its end is waited for all the same: the file that it writes
    to is closed next, and its number may be another file's soon."""
    running = asyncio.ensure_future(asyncio.to_thread(step, *arguments, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        raise


def media_at(opened: Opened) -> Media:
    """What an open file is."""
    return media_of(os.pread(opened.file, HEAD_BYTES, 0))


def _checked(sha256: str) -> str:
    if not is_file_id(sha256):
        raise Refusal("not_found", "A file's id is its SHA-256: 64 digits and letters a-f. GET /v1/files lists the files.")
    return sha256


def _no_such(sha256: str) -> Refusal:
    return Refusal("not_found", f"There is no file {sha256[:12]}... here. Upload it with POST /v1/files.")


def _full(found: str) -> Refusal:
    return Refusal("disk_full", f"{found}. Delete files or outputs that are not needed, then send it again.")


def _cursor(place: tuple[float, str]) -> str:
    return f"{place[0]!r}-{place[1]}"


def _place(cursor: str) -> tuple[float, str]:
    moment, _, sha256 = cursor.rpartition("-")
    try:
        return float(moment), sha256
    except ValueError:
        raise Refusal("invalid", "`cursor` is not what a page gave as `next`. Leave it out to begin at the newest.") from None
