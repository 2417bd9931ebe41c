"""What everybody sees of jobs under way: a snapshot of each, and numbered deltas that change it, for any number of readers.

One stream per job and one, "all", of every job's state. A reader holds only its place in a stream and takes what is new
when it can write: what was told since from the stream's ring, and the latest progress and previews, which are never
queued. So a slow reader costs nothing and delays nobody; one that falls out of the ring gets a fresh snapshot. A delta
is encoded once, whoever reads it. Knows nothing of HTTP. Everything here runs on the event loop.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgpack  # type: ignore[import-untyped]  # has no stubs

from server.jobs.record import Job
from server.jobs.rows import Plain, Rows, shortened

if TYPE_CHECKING:
    from server.jobs.desk import QueueFacts

#: The stream of every job's state and of the queue.
ALL: Final = "all"
#: How far back a reader may have fallen: so many deltas, of so many bytes (estimated).
RING_DELTAS, RING_BYTES = 1024, 256 * 1024
#: Jobs that have ended stay so long, and so many of them.
KEPT_S, MOST_KEPT = 15.0, 512
#: Readers are woken at most so often; with very many of them less often, so that the loop keeps time for requests.
TICK_S, TICK_PER_READER_S, LONGEST_TICK_S = 0.03, 0.0002, 0.4
#: The queue is told at most so often.
QUEUE_S: Final = 0.2
#: Most ids of queued jobs that are told; the rest is read in pages.
MOST_WAITING: Final = 200
#: Jobs whose place in line is known.
MOST_POSITIONS: Final = 1000
#: Places in line are good for so many times what it took to find them, so that the loop has time for all else.
KEPT_TIMES: Final = 10
#: A reader that fell out of the ring gets snapshots at most so often.
RESYNC_S: Final = 0.5
#: Silence after which a reader is woken to send a sign of life, and how often that is looked at.
HEARTBEAT_S, SWEEP_S = 15.0, 1.0
#: A reader whose unsent bytes do not get fewer for so long, or are more than this, is dropped. Sooner than the connection
#: itself is (setting `write_stall_s`), so that it can be told why.
STALL_S, MOST_UNSENT = 25.0, 1024 * 1024
#: Events of a job that nobody follows which are put aside at most.
MOST_UNREAD: Final = 200
#: Readers woken in one turn of the loop.
_WOKEN_AT_ONCE: Final = 16


class Delta:
    """One thing told on a stream. `seq` counts what changes the snapshot; progress, previews and the queue's state carry the last one."""

    __slots__ = ("_frame", "_sse", "epoch", "event", "fields", "seq", "version", "weight")

    def __init__(self, event: str, fields: Plain, epoch: str = "", seq: int = 0, version: int = 0, weight: int = 0) -> None:
        self.event, self.fields, self.epoch, self.seq, self.version, self.weight = event, fields, epoch, seq, version, weight
        self._sse: bytes | None = None
        self._frame: bytes | None = None

    @property
    def id(self) -> str:
        """The place in the stream after this delta, as `Last-Event-ID` has it."""
        return f"{self.epoch}-{self.seq}"

    def members(self) -> Plain:
        """The delta as clients see it."""
        return {"event": self.event, "seq": self.seq, **self.fields}

    def sse(self) -> bytes:
        """The delta as a server-sent event."""
        if self._sse is None:
            self._sse = f"id: {self.id}\nevent: {self.event}\ndata: {_json(self.members())}\n\n".encode()
        return self._sse

    def frame(self) -> bytes:
        """The delta as a msgpack map."""
        if self._frame is None:
            self._frame = msgpack.packb(self.members(), unicode_errors="replace")
        return self._frame


class Stream:
    """What is told about one job, or about all: the ring of deltas, and what there is only the latest of."""

    def __init__(self, name: str, epoch: str, snapshot: Callable[[], Plain]) -> None:
        self.name, self.epoch = name, epoch
        self.seq = 0
        self.version = 0
        self.has_ended = False
        #: Somebody followed it once, so somebody may come again and ask for what was told since.
        self.was_followed = False
        self.readers: set[Reader] = set()
        #: Those of them that want previews: asked for each reader that comes and goes, so not counted anew.
        self.preview_readers: set[Reader] = set()
        self._make_snapshot = snapshot
        self._snapshot: Delta | None = None
        self._ring: deque[Delta] = deque()
        self._ring_bytes = 0
        #: By kind, node and element; the newest is last.
        self._latest: OrderedDict[tuple[Any, ...], Delta] = OrderedDict()
        self._joined: tuple[tuple[int, int, int, int], bytes] | None = None

    def tell(self, event: str, fields: Plain) -> None:
        """Add a delta. It must be applied to what snapshots are made of before."""
        self.seq += 1
        self._snapshot = None
        delta = Delta(event, fields, self.epoch, self.seq, weight=_weight(fields))
        self._ring.append(delta)
        self._ring_bytes += delta.weight
        while len(self._ring) > RING_DELTAS or (self._ring_bytes > RING_BYTES and len(self._ring) > 1):
            self._ring_bytes -= self._ring.popleft().weight

    def show(self, key: tuple[Any, ...], event: str, fields: Plain) -> None:
        """Put this in the place of what was shown under this key."""
        self.version += 1
        if event != "preview":
            self._snapshot = None
        self._latest[key] = Delta(event, fields, self.epoch, self.seq, self.version)
        self._latest.move_to_end(key)

    def hide(self, *keys: tuple[Any, ...]) -> None:
        """Forget what was shown under these keys."""
        for key in keys:
            self._latest.pop(key, None)

    def hide_all(self, event: str | None = None) -> None:
        """Forget everything that there is only the latest of, or all such events."""
        self.hide(*(key for key in list(self._latest) if event in (None, key[0])))

    def changed(self) -> None:
        """What snapshots are made of has changed without a delta."""
        self._snapshot = self._joined = None

    def snapshot(self) -> Delta:
        """Everything as it is now; made once for all who ask before the next change."""
        if self._snapshot is None:
            self._snapshot = Delta("snapshot", self._make_snapshot() | {"epoch": self.epoch}, self.epoch, self.seq, self.version)
        return self._snapshot

    def place_of(self, id: str | None) -> int | None:
        """The place that a `Last-Event-ID` names, None if it is unknown or too old to go on from."""
        epoch, _, number = (id or "").rpartition("-")
        if epoch != self.epoch or not (number.isascii() and number.isdigit() and len(number) < 16):
            return None
        place = int(number)
        return place if self.holds(place) else None

    def holds(self, place: int) -> bool:
        """Whether everything told after this place is still there."""
        return self.seq - len(self._ring) <= place <= self.seq

    def since(self, place: int) -> Iterator[Delta]:
        """What was told after this place."""
        return islice(self._ring, len(self._ring) - (self.seq - place), None)

    def latest(self, version: int, previews: bool) -> list[Delta]:
        """What is shown and newer than this version, oldest first."""
        found: list[Delta] = []
        for delta in reversed(self._latest.values()):
            if delta.version <= version:
                break
            if previews or delta.event != "preview":
                found.append(delta)
        return found[::-1]

    def joined(self, place: int, version: int, deltas: Sequence[Delta]) -> bytes:
        """The deltas as server-sent events in one piece, made once for all readers at the same place."""
        key = (place, version, self.seq, self.version)
        if self._joined is None or self._joined[0] != key:
            self._joined = key, b"".join([delta.sse() for delta in deltas])
        return self._joined[1]


class _Place:
    """Where a reader is in a stream; `seq` None: it needs a snapshot."""

    __slots__ = ("not_before", "previews", "seq", "stream", "version")

    def __init__(self, stream: Stream, seq: int | None, previews: bool) -> None:
        self.stream, self.seq, self.previews = stream, seq, previews
        self.version = 0
        self.not_before = 0.0


class Wire(Protocol):
    """What a reader is written to, as far as the hub looks at it; `asyncio.Transport` is one."""

    def get_write_buffer_size(self) -> int:
        """Bytes written and not yet taken by the network."""

    def is_closing(self) -> bool:
        """Whether nobody is there any more."""


class Reader:
    """Somebody who follows streams over `wire`; `drop` is called when it does not take what is sent.

    It waits with `wait`, takes with `take` or `take_sse`, writes, and waits again, until `is_over`.
    """

    def __init__(self, hub: Hub, wire: Wire, drop: Callable[[], object]) -> None:
        self._hub, self.wire, self.drop = hub, wire, drop
        #: The server stops: nothing more will come.
        self.is_over = False
        self._places: dict[str, _Place] = {}
        self._wake: asyncio.Future[None] | None = None
        self._is_due = True
        now = hub.clock()
        #: When something was last taken.
        self.taken_at = now
        #: When its unsent bytes were last seen to get fewer, and how many they were.
        self.moved_at, self.unsent_bytes = now, 0

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, stream: Stream, last_id: str | None = None, previews: bool = False) -> None:
        """Follow a stream, from `last_id` if that is possible, else from a snapshot."""
        stream.was_followed = True
        self._places[stream.name] = _Place(stream, stream.place_of(last_id), previews)
        stream.readers.add(self)
        (stream.preview_readers.add if previews else stream.preview_readers.discard)(self)
        self._hub.watched(stream.name)
        self.wake()

    def remove(self, name: str) -> None:
        """Follow a stream no longer."""
        place = self._places.pop(name, None)
        if place is not None:
            place.stream.readers.discard(self)
            place.stream.preview_readers.discard(self)
            self._hub.left(place.stream)

    def wake(self) -> None:
        """Let `wait` return."""
        self._is_due = True
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def wait(self) -> None:
        """Until there may be something to take, or a sign of life is due."""
        if not self._is_due:
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        self._is_due = False

    def take(self) -> list[Delta]:
        """All that is new, stream by stream, in order. Streams that have ended are left."""
        self.taken_at = self._hub.clock()
        found: list[Delta] = []
        for place in list(self._places.values()):
            found += self._take(place)
        return found

    def take_sse(self, name: str) -> bytes:
        """What is new of that stream as server-sent events; b"" if there is nothing."""
        self.taken_at = self._hub.clock()
        place = self._places.get(name)
        if place is None:
            return b""
        seq, version = place.seq, place.version
        deltas = self._take(place)
        if not deltas:
            return b""
        return place.stream.joined(-1 if seq is None else seq, version, deltas)

    def _take(self, place: _Place) -> list[Delta]:
        stream, now = place.stream, self._hub.clock()
        found: list[Delta] = []
        if place.seq is not None and not stream.holds(place.seq):
            place.seq = None
            wait = place.not_before - now
            if wait > 0 and not stream.has_ended:
                self._hub.wake_later(self, wait)
        if place.seq is None:
            if now < place.not_before and not stream.has_ended:
                return []
            place.not_before = now + RESYNC_S
            found.append(stream.snapshot())
            if stream.has_ended:
                found += islice(stream.since(stream.seq - 1), 1) if stream.seq else ()
            # Progress is in the snapshot; previews are not.
            found += [delta for delta in stream.latest(0, place.previews) if delta.event == "preview"]
        else:
            found += stream.since(place.seq)
            found += stream.latest(place.version, place.previews)
        place.seq, place.version = stream.seq, stream.version
        if stream.has_ended:
            self.remove(stream.name)
        return found

    def close(self) -> None:
        """Follow nothing any more."""
        for name in list(self._places):
            self.remove(name)
        self._hub.forget_reader(self)


class _Live:
    """A job that somebody may follow."""

    __slots__ = ("_rows", "_unread", "job", "stream", "until", "watched")

    def __init__(self, job: Job, epoch: str) -> None:
        self.job = job
        self._rows: Rows | None = Rows()
        #: What was told while nobody had ever followed it, and is not in the rows yet.
        self._unread: list[Mapping[str, Any]] = []
        self.stream = Stream(job.id, epoch, self.snapshot)
        #: The engine was told that previews are wanted.
        self.watched = False
        #: When it is forgotten, once it has ended.
        self.until: float | None = None

    @property
    def rows(self) -> Rows:
        """How far its nodes are; once it has ended, as its result has it."""
        if self._rows is None:  # only now: nearly all jobs end without somebody who looks, and rows may be many
            self._rows = rows_of(self.job)
        if self._unread:
            unread, self._unread = self._unread, []
            for event in unread:
                _enter(self._rows, event)
        return self._rows

    def put_aside(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Keep events for when somebody looks."""
        self._unread += events
        if len(self._unread) > MOST_UNREAD:
            _ = self.rows

    def begin_anew(self) -> None:
        """Forget what was done: it is queued again."""
        self._rows, self._unread = Rows(), []
        self.stream.hide_all()

    def end(self, job: Job, until: float) -> None:
        """Take the outcome; its deltas are kept for a while."""
        self.job, self.until = job, until
        if job.result is not None and (job.result.nodes or not self.rows):
            self._rows, self._unread = None, []
        self.stream.hide_all()
        self.stream.has_ended = True

    def snapshot(self) -> Plain:
        """The members of a snapshot."""
        return snapshot_of(self.job, self.rows)


class Queue(Protocol):
    """Who knows the queue."""

    def queue_facts(self) -> QueueFacts:
        """The queue in numbers."""

    def waiting(self, limit: int) -> list[str]:
        """The ids of queued jobs in the order in which they are expected to start."""


class Facts(NamedTuple):
    """What is known of a job without asking the store."""

    job: Job
    rows: Rows


class Hub:
    """The streams. The desk tells it what happens, after the store has it; readers follow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: Another one for each start, so that places of an earlier life are not taken for ours.
        self.epoch = os.urandom(5).hex()
        self._streams = 0
        self._live: dict[str, _Live] = {}
        self._ended: deque[_Live] = deque()
        self._readers: set[Reader] = set()
        self._watch: Callable[[str, bool], object] = lambda job, wanted: None
        self._queue: Queue | None = None
        self._on_ended: Callable[[Job], object] | None = None
        self._positions: tuple[float, dict[str, int]] | None = None
        self._all = Stream(ALL, self._next_epoch(), self._snapshot_of_all)
        self._due: set[Stream] = set()
        self._flush_at: asyncio.TimerHandle | None = None
        self._flushed = float("-inf")
        self._queue_at: asyncio.TimerHandle | None = None
        self._sweep_at: asyncio.TimerHandle | None = None

    def connect(self, watch: Callable[[str, bool], object], queue: Queue, ended: Callable[[Job], object] | None = None) -> None:
        """Say who is told whether previews of a job are wanted, who knows the queue, and who else hears of ends."""
        self._watch, self._queue, self._on_ended = watch, queue, ended

    # The desk's side.

    def job_changed(self, job: Job) -> None:
        """A job was accepted, began, went back to the queue, or was moved in it."""
        live = self._live.get(job.id)
        if live is None and job.state == "running":
            live = self._begin(job)
        if live is not None and live.until is None:
            if job.state == "queued" and live.job.state != "queued":
                live.begin_anew()  # its process died
            live.job = job
            self._tell(live.stream, "job", lambda: {"job": job.id, **state_of(job)})
        self._tell(self._all, "job", lambda: {"job": job.id, **state_of(job)})
        self.queue_changed()

    def planned(self, job: str, nodes: Sequence[Mapping[str, Any]]) -> None:
        """A job was planned and has begun; `nodes` as in `server.engine.messages.Planned`."""
        live = self._under_way(job)
        if live is None:
            return
        plan = {"event": "planned", "nodes": nodes}
        if not live.stream.was_followed:
            live.put_aside((plan,))
            return
        _enter(live.rows, plan)
        live.stream.hide_all()
        rows, omitted = live.rows.shown()
        told = {"job": job, "nodes": rows, "counts": live.rows.counts(), "omitted": omitted}
        self._tell(live.stream, "planned", lambda: told)
        live.watched = False
        self.watched(job)

    def events(self, job: str, events: Iterable[Mapping[str, Any]]) -> None:
        """What a job under way told; events as in `server.engine.messages.Events`."""
        live = self._under_way(job)
        if live is None:
            return
        if not live.stream.was_followed:
            live.put_aside(events)
            return
        for event in events:
            self._event(live, event)

    def ended(self, job: Job) -> None:
        """A job has reached its final state, and the store has it."""
        live = self._live.get(job.id) or self._begin(job)
        if live.until is not None:
            return
        live.end(job, self.clock() + KEPT_S)
        live.stream.tell("end", {"stream": job.id, "job": job.id, **outcome_of(job)})
        self._wake(live.stream, at_once=True)
        self._tell(self._all, "end", lambda: {"job": job.id, **outcome_of(job)})
        self._ended.append(live)
        self._drop_ended()
        self.queue_changed()
        if self._on_ended is not None:
            self._on_ended(job)

    def deleted(self, id: str) -> None:
        """A job that had ended, however long ago, was deleted."""
        self._live.pop(id, None)
        self._tell(self._all, "deleted", lambda: {"job": id})

    def queue_changed(self) -> None:
        """Order, counts or estimates of the queue are others now; told soon, once for many changes."""
        self._all.changed()
        if self._queue_at is None and self._all.readers:
            self._queue_at = asyncio.get_running_loop().call_later(QUEUE_S, self._tell_queue)

    # The readers' side.

    def look(self, id: str) -> Facts | None:
        """What is known of a job that is under way or ended just now; None: ask the store."""
        live = self._live.get(id)
        return None if live is None else Facts(live.job, live.rows)

    def reader(self, wire: Wire, drop: Callable[[], object]) -> Reader:
        """A new reader; close it in the end."""
        reader = Reader(self, wire, drop)
        self._readers.add(reader)
        if self._sweep_at is None:
            self._sweep_at = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)
        return reader

    def stream(self, job: Job) -> Stream:
        """The stream of a job, as the store has it if it is not under way."""
        live = self._live.get(job.id)
        if live is not None:
            return live.stream
        live = self._begin(job)
        if job.is_final:
            self._of_store(live)
        return live.stream

    def position(self, id: str) -> int | None:
        """A queued job's place in line, 1 is next; None if very many are before it.

        It is at most `QUEUE_S` old, or `KEPT_TIMES` what it took to put the queue in order.
        """
        began = self.clock()
        if self._positions is None or began >= self._positions[0]:
            order = self._queue.waiting(MOST_POSITIONS) if self._queue is not None else []
            found, ended = {job: number for number, job in enumerate(order, 1)}, self.clock()
            self._positions = ended + max(QUEUE_S, KEPT_TIMES * (ended - began)), found
        known = self._positions[1]
        # One that came meanwhile stands at the end.
        return known.get(id, len(known) + 1 if len(known) < MOST_POSITIONS else None)

    def queue_json(self) -> Plain:
        """The queue in numbers, and the ids of the jobs next in line (at most `MOST_WAITING`)."""
        if self._queue is None:
            return {}
        return {**self._queue.queue_facts()._asdict(), "order": self._queue.waiting(MOST_WAITING)}

    @property
    def all(self) -> Stream:
        """The stream of every job's state and of the queue."""
        return self._all

    @property
    def reader_count(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    def watched(self, name: str) -> None:
        """Tell the engine whether previews of a job are wanted, if that has changed."""
        live = self._live.get(name)
        if live is None or live.until is not None:
            return
        wanted = bool(live.stream.preview_readers)
        if wanted != live.watched:
            live.watched = wanted
            if not wanted:
                live.stream.hide_all("preview")
            self._watch(name, wanted)

    def left(self, stream: Stream) -> None:
        """A reader left a stream; one that nobody follows and that is not under way is forgotten."""
        self.watched(stream.name)
        live = self._live.get(stream.name)
        if live is not None and not stream.readers and live.job.state == "queued":
            del self._live[stream.name]

    def forget_reader(self, reader: Reader) -> None:
        """A reader is gone."""
        self._readers.discard(reader)

    def wake_later(self, reader: Reader, seconds: float) -> None:
        """Wake a reader after so long."""
        asyncio.get_running_loop().call_later(seconds, reader.wake)

    def close(self) -> None:
        """Let all readers go: the server stops. Timers end."""
        for timer in (self._flush_at, self._queue_at, self._sweep_at):
            if timer is not None:
                timer.cancel()
        for reader in list(self._readers):
            reader.is_over = True
            reader.wake()

    # Inside.

    def _next_epoch(self) -> str:
        """A stream that is begun again must not take places of the one before for its own."""
        self._streams += 1
        return f"{self.epoch}{self._streams:x}"

    def _begin(self, job: Job) -> _Live:
        live = self._live[job.id] = _Live(job, self._next_epoch())
        return live

    def _of_store(self, live: _Live) -> None:
        """Make a stream that only tells how a job ended, kept for a moment for those who come again."""
        live.end(live.job, self.clock() + KEPT_S)
        live.stream.tell("end", {"stream": live.job.id, "job": live.job.id, **outcome_of(live.job)})
        self._ended.append(live)
        self._drop_ended()

    def _under_way(self, job: str) -> _Live | None:
        """The job, unless it is unknown or has ended: what comes late is dropped."""
        live = self._live.get(job)
        return None if live is None or live.until is not None else live

    def _event(self, live: _Live, event: Mapping[str, Any]) -> None:
        kind, job, stream = event["event"], live.job.id, live.stream
        _enter(live.rows, event)
        if kind == "node":
            self._node(live, event)
        elif kind == "progress":
            self._show(stream, ("progress", event["node"], event.get("element")), "progress", {"job": job, **_rest(event)})
        elif kind == "preview":
            if live.watched:
                self._show(stream, ("preview", event["node"], event.get("element")), "preview", {"job": job, **_rest(event)})
        elif kind == "cached":
            self._tell(stream, "cached", lambda: {"job": job, **_rest(event)})
        elif kind == "note":
            self._tell(stream, "note", lambda: {"job": job, **_rest(event), "message": shortened(event["message"])})

    def _node(self, live: _Live, event: Mapping[str, Any]) -> None:
        node, element = event["node"], event.get("element")
        if event["state"] != "running":
            live.stream.hide(("progress", node, element), ("preview", node, element))
        fields = {"job": live.job.id, **{name: value for name, value in _rest(event).items() if value not in (None, "")}}
        if "message" in fields:
            fields["message"] = shortened(fields["message"])
        row = live.rows.get(node)
        if element is not None and row is not None:
            fields["elements"] = row.elements_json()
        self._tell(live.stream, "node", lambda: fields)

    def _tell(self, stream: Stream, event: str, fields: Callable[[], Plain]) -> None:
        """Tell a delta, unless nobody can ever ask for it."""
        if stream.was_followed:
            stream.tell(event, {"stream": stream.name, **fields()})
            self._wake(stream, at_once=False)

    def _show(self, stream: Stream, key: tuple[Any, ...], event: str, fields: Plain) -> None:
        stream.show(key, event, {"stream": stream.name, **fields})
        self._wake(stream, at_once=False)

    def _wake(self, stream: Stream, *, at_once: bool) -> None:
        if not stream.readers:
            return
        self._due.add(stream)
        tick = min(LONGEST_TICK_S, max(TICK_S, TICK_PER_READER_S * len(self._readers)))
        wait = 0.0 if at_once else max(0.0, self._flushed + tick - self.clock())
        loop = asyncio.get_running_loop()
        if self._flush_at is not None:
            if self._flush_at.when() <= loop.time() + wait:
                return
            self._flush_at.cancel()
        self._flush_at = loop.call_later(wait, self._flush)

    def _flush(self) -> None:
        self._flush_at = None
        self._flushed = self.clock()
        due: dict[Reader, None] = {}
        for stream in self._due:
            due.update(dict.fromkeys(stream.readers))
        self._due.clear()
        self._wake_some(iter(due))

    def _wake_some(self, readers: Iterator[Reader]) -> None:
        """Wake some, and the others in later turns of the loop, so that requests get their turn in between."""
        some = list(islice(readers, _WOKEN_AT_ONCE))
        for reader in some:
            reader.wake()
        if len(some) == _WOKEN_AT_ONCE:
            asyncio.get_running_loop().call_soon(self._wake_some, readers)

    def _tell_queue(self) -> None:
        self._queue_at = None
        self._show(self._all, ("queue",), "queue", self.queue_json())

    def _snapshot_of_all(self) -> Plain:
        running = [state_of(live.job) | {"job": live.job.id} for live in self._live.values() if live.job.state == "running"]
        return {"stream": ALL, "jobs": running, "queue": self.queue_json()}

    def _drop_ended(self) -> None:
        """Forget jobs that ended a while ago; from then on the store is asked."""
        now = self.clock()
        while self._ended and (len(self._ended) > MOST_KEPT or (self._ended[0].until or now) <= now):
            live = self._ended.popleft()
            if self._live.get(live.job.id) is live:
                del self._live[live.job.id]

    def _sweep(self) -> None:
        """Drop readers that do not take what was sent; have the silent ones send a sign of life."""
        self._sweep_at = None
        self._drop_ended()
        now = self.clock()
        for reader in list(self._readers):
            self._look_at(reader, now)
        if self._readers:
            self._sweep_at = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)

    @staticmethod
    def _look_at(reader: Reader, now: float) -> None:
        if reader.wire.is_closing():
            reader.wake()  # so that it finds out
            return
        unsent = reader.wire.get_write_buffer_size()
        if unsent == 0 or unsent < reader.unsent_bytes:
            reader.moved_at = now
        reader.unsent_bytes = unsent
        if unsent > MOST_UNSENT or now - reader.moved_at > STALL_S:
            reader.drop()
            reader.wake()
        elif now - reader.taken_at >= HEARTBEAT_S:
            reader.wake()


def _enter(rows: Rows, event: Mapping[str, Any]) -> None:
    """Take what an event (or a plan, told like one) says of the nodes."""
    kind = event["event"]
    if kind == "node":
        rows.node(event)
    elif kind == "progress":
        rows.progress(event)
    elif kind == "cached":
        rows.cached(event["nodes"])
    elif kind == "note":
        rows.note(event["node"], event["message"])
    elif kind == "planned":
        rows.planned(event["nodes"])


def state_of(job: Job) -> Plain:
    """What changes of a job on its way: state, place and times."""
    found = {
        "state": job.state,
        "workflow": job.workflow,
        "client": job.client,
        "priority": job.priority,
        "tries": job.tries,
        "created": job.created,
        "started": job.started,
    }
    return found if job.retry_of is None else found | {"retry_of": job.retry_of}


def outcome_of(job: Job) -> Plain:
    """How a job ended: state, times, outputs, and the problem of a failed one."""
    found: Plain = {"state": job.state, "workflow": job.workflow, "started": job.started, "ended": job.ended}
    result = job.result
    if result is not None:
        found |= {"seconds": result.seconds, "outputs": dict(result.outputs), "absent": dict(result.absent)}
        if result.problem is not None:
            found["problem"] = dict(result.problem)
    return found


def rows_of(job: Job) -> Rows:
    """How its nodes ended, from its result."""
    if job.result is None:
        return Rows()
    rows = Rows.of_result(job.result.nodes)
    rows.messages = [shortened(message) for message in job.result.messages]
    return rows


def snapshot_of(job: Job, rows: Rows) -> Plain:
    """All there is to see of a job: its state, its nodes' rows (`omitted`: so many more are read in pages), its outcome."""
    shown, omitted = rows.shown()
    found: Plain = {"stream": job.id, "job": job.id, **state_of(job), "seeds": dict(job.seeds)}
    found |= {"nodes": shown, "counts": rows.counts(), "omitted": omitted, "messages": list(rows.messages)}
    return found | outcome_of(job) if job.is_final else found


def _rest(event: Mapping[str, Any]) -> Plain:
    return {name: value for name, value in event.items() if name != "event"}


def _weight(fields: Mapping[str, Any]) -> int:
    """About how many bytes a delta takes, without encoding it."""
    size = 150
    for value in fields.values():
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, (list, dict)):
            size += 80 * len(value)
    return size


def _json(members: Plain) -> str:
    try:
        return json.dumps(members, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:  # JSON has no infinity
        return json.dumps(_finite(members), ensure_ascii=True, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
