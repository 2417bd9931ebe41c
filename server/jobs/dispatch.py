"""Sees accepted jobs through: gives them to the engine in order, hears of them, and writes each end down once.

Everything runs on the event loop; what blocks goes to the store's threads. It knows nothing of what is accepted, or how.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol, TypeVar

from server.engine.messages import Ended, Hello, Planned, Status, Submit, Tried
from server.jobs.costs import Costs
from server.jobs.queue import Queue
from server.jobs.record import FINAL, MOST_TRIES, Job, JobResult, JobState, lost_problem, problem_of
from server.jobs.store import JobStore, Started
from server.problems import Refusal

log = logging.getLogger(__name__)

T = TypeVar("T")
#: How long a write is left alone that the disk refused, before it is tried again.
RETRY_SECONDS: Final = 1.0
#: A job that was just accepted is started so much later: its client is answered first (measured: the start's transaction, on
#: the other thread, made that answer 0.3 ms later), and jobs that come together start in one transaction.
BREATH_S: Final = 0.001


class HubListener(Protocol):
    """Whom the desk tells. Called on the event loop, after what is told was committed; must not block."""

    def job_changed(self, job: Job) -> None:
        """A job was accepted, started, moved or charged a try."""

    def planned(self, job: str, nodes: Sequence[Mapping[str, Any]]) -> None:
        """A running job was planned: rows as in `messages.Planned`."""

    def events(self, job: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Events of a running job, as in `messages.Events`."""

    def ended(self, job: Job) -> None:
        """A job has ended; its result is in the store."""

    def deleted(self, id: str) -> None:
        """An ended job was deleted."""

    def queue_changed(self) -> None:
        """The queue was paused, goes on, or drains."""


class Engine(Protocol):
    """What the desk asks of `server.engine.link.EngineLink`. Nothing here waits; without an engine it is nothing to do."""

    def submit(self, message: Submit) -> bool:
        """Have a job carried out; twice is harmless. False if it is not taken now: then `on_ready` will come."""

    def cancel(self, job: str) -> None:
        """End a job."""

    def prioritise(self, job: str, priority: int) -> None:
        """Give a job another priority."""


@dataclass(slots=True)
class UnderWay:
    """A job that was taken from the queue."""

    #: Whether the store has it as running; before that the engine does not know it.
    is_started: bool = False
    #: Whether the present engine took it; one that is about to be replaced takes nothing.
    is_handed_over: bool = False
    is_cancelled: bool = False
    #: `monotonic` of when it was last heard of.
    heard: float = 0.0
    #: Its end was told and is being written.
    is_ending: bool = False


class Dispatch:
    """The jobs that have not ended, from the queue to their end. Every method is called on the event loop."""

    def __init__(
        self, store: JobStore, engine: Engine, hub: HubListener, queue: Queue, most_hours: float, monotonic: Callable[[], float]
    ) -> None:  # fmt: skip
        self._store, self._engine, self._hub, self._queue = store, engine, hub, queue
        self._most_hours, self._monotonic = most_hours, monotonic
        self._costs = Costs({})
        self._under_way: dict[str, UnderWay] = {}
        #: Tries of jobs that have not ended, as they were told last: what the disk refused to note counts all the same.
        self._tries: dict[str, int] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._has_engine = self._is_paused = self._is_draining = False
        self._retry_at: asyncio.TimerHandle | None = None
        self._soon: asyncio.TimerHandle | None = None
        #: Ends that the disk refused.
        self._unwritten: dict[str, Ended] = {}
        self._is_closed = False
        self._taking_over = 0

    # ---- dispatching ----

    def _dispatch_soon(self) -> None:
        """Dispatch in a moment, once for all who ask until then."""
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(BREATH_S, self._dispatch_now)

    def _dispatch_now(self) -> None:
        self._soon = None
        self._dispatch()

    def _dispatch(self) -> None:
        """Give the engine what it has room for."""
        if not self._has_engine or self._taking_over or self._is_paused or self._is_draining or self._retry_at is not None:
            return
        while self._queue.has_room() and (entry := self._queue.take()) is not None:
            self._under_way[entry.id] = UnderWay(heard=self._monotonic())
            self._spawn(self._start(entry.id))

    async def _start(self, id: str) -> None:
        """Make a job a running one, durably, and hand it to the engine."""
        try:
            started = await self._kept(self._store.start(id))
        except Refusal as refusal:
            log.warning("job %s cannot be started: %s", id, refusal.message)
            under_way = self._under_way.pop(id)
            self._queue.put_back(id)
            if under_way.is_cancelled:
                self._spawn(self._cancel_later(id))
            self._try_later()
            return
        except Exception as error:
            self._give_up(id, error)
            return
        if started is None:  # its cancel was written, though the disk told otherwise, so nobody was told yet
            self._end(Ended(id, "cancelled", {}))
            return
        under_way = self._under_way[id]
        under_way.is_started, under_way.heard = True, self._monotonic()
        self._hub.job_changed(started.job)
        self._hand_over(started)

    def _hand_over(self, started: Started) -> None:
        """Give a running job to the engine, unless it was cancelled or had its tries."""
        id = started.job.id
        under_way, tries = self._under_way[id], self._tries.get(id, started.job.tries)
        if under_way.is_cancelled and not under_way.is_handed_over:  # the engine has not heard of it
            self._end(Ended(id, "cancelled", {}))
        elif tries >= MOST_TRIES:
            self._end(Ended(id, "failed", {"problem": lost_problem(tries)}))
        elif self._has_engine and not under_way.is_ending:
            under_way.is_handed_over = self._engine.submit(_submission(started.job, started.document, tries))
            under_way.heard = self._monotonic()

    def _give_up(self, id: str, error: Exception) -> None:
        """End a job that cannot even be read: it must not hang, and must not keep others from the engine."""
        log.error("job %s cannot be started", id, exc_info=error)
        self._end(Ended(id, "failed", {"problem": _unreadable()}))

    async def _cancel_later(self, id: str) -> None:
        """Cancel a job whose start was refused by the disk in the middle of it."""
        if not self._queue.remove(id):
            return
        self._under_way[id] = UnderWay(is_started=True, heard=self._monotonic())
        self._end(Ended(id, "cancelled", {}))

    def _try_later(self) -> None:
        """Try once more, soon, what the disk refused."""
        if self._retry_at is None and not self._is_closed:
            self._retry_at = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._retry_at = None
        unwritten, self._unwritten = self._unwritten, {}
        for ended in unwritten.values():
            self._spawn(self._record(ended))
        self._dispatch()

    # ---- ending ----

    def _end(self, ended: Ended) -> None:
        """Record an end, unless one is being recorded already."""
        under_way = self._under_way[ended.job]
        if not under_way.is_ending:
            under_way.is_ending = True
            self._spawn(self._record(ended))

    async def _record(self, ended: Ended) -> None:
        """Write an end down; it stays with us until the disk takes it."""
        try:
            device_seconds = await self._record_somehow(ended)
        except Refusal as refusal:
            if refusal.code == "not_found":  # ended before and deleted meanwhile
                self._forget(ended.job, 0.0)
                return
            log.warning("the end of job %s cannot be written yet: %s", ended.job, refusal.message)
            self._unwritten[ended.job] = ended
            self._try_later()
            return
        self._forget(ended.job, device_seconds)

    async def _record_somehow(self, ended: Ended) -> float:
        """Write an end down, without its result if that cannot be kept; the device-seconds it took."""
        try:
            result = _result_of(ended)
            await self._write_end(ended.job, _state_of(ended), result)
        except Refusal:
            raise
        except Exception as error:  # NaN, half a surrogate pair: no JSON. The job must end all the same.
            log.error("the result of job %s cannot be kept: %s", ended.job, error)
            result = JobResult(problem=_unkept())
            await self._write_end(ended.job, "failed", result)
        return result.device_seconds

    async def _write_end(self, id: str, state: JobState, result: JobResult) -> Job:
        """The final state and the result in one transaction; only then is anybody told."""
        job = await self._kept(self._store.end(id, state, result))
        if job is None:  # it was written before, though the disk told otherwise, so nobody was told yet
            job = found(await self._kept(self._store.get(id)), id)
        try:
            self._hub.ended(job)
            costs = self._costs.learn(result.nodes)
        except Exception:  # the job has ended: who is told, and what is learned from it, changes nothing of that
            log.exception("the end of job %s was not taken in", id)
            return job
        if costs:
            self._store.keep_costs(costs)  # not waited for: an estimate that is lost is learned again
        return job

    def _forget(self, id: str, device_seconds: float) -> None:
        self._under_way.pop(id, None)
        self._tries.pop(id, None)
        self._queue.finish(id, device_seconds)
        self._dispatch()

    # ---- the engine tells (see `EngineListener`) ----

    def on_ready(self, hello: Hello) -> None:
        """An engine is there: it gets what is running, then what waits."""
        self._has_engine = True
        for under_way in self._under_way.values():
            under_way.is_handed_over = False
        self._queue.devices = max(1, len(hello.devices))
        self._queue.most_seconds = self._most_hours * 3600 * self._queue.devices
        self._spawn(self._take_over())

    async def _take_over(self) -> None:
        """Give the engine what is running, in the order in which it began, before anything new."""
        self._taking_over += 1
        try:
            for id in [id for id, one in self._under_way.items() if one.is_started and not one.is_ending]:
                await self._submit_again(id)
        finally:
            self._taking_over -= 1
        self._dispatch()

    async def _submit_again(self, id: str) -> None:
        under_way = self._under_way.get(id)
        if under_way is None or under_way.is_ending or under_way.is_handed_over:
            return
        try:
            started = await self._kept(self._store.running(id))
        except Refusal as refusal:
            log.warning("job %s cannot be read to be submitted again: %s", id, refusal.message)
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._submit_again_later, id)
            return
        except Exception as error:
            self._give_up(id, error)
            return
        if started is not None and not under_way.is_ending:
            self._hand_over(started)

    def _submit_again_later(self, id: str) -> None:
        under_way = self._under_way.get(id)
        if self._has_engine and under_way is not None and not under_way.is_ending:
            self._spawn(self._submit_again(id))

    def on_lost(self, reason: str) -> None:
        """The engine is gone. What ran stays running: the next engine gets it again."""
        self._has_engine = False
        for id, under_way in list(self._under_way.items()):
            under_way.is_handed_over = False
            if under_way.is_cancelled and under_way.is_started:
                self._end(Ended(id, "cancelled", {}))

    def on_planned(self, message: Planned) -> None:
        """A job was planned."""
        if self._hears(message.job):
            self._hub.planned(message.job, message.nodes)

    def on_events(self, batch: Sequence[Sequence[Any]]) -> None:
        """Jobs under way tell something; what is told of an ended one is dropped."""
        by_job: dict[str, list[Mapping[str, Any]]] = {}
        for job, event in batch:
            by_job.setdefault(job, []).append(event)
        for job, events in by_job.items():
            if self._hears(job):
                self._hub.events(job, events)

    def on_tried(self, message: Tried) -> None:
        """A process died under a job, or a node of it was kept after one had: the count is kept durably.

        Also told of a job that waits: the last server died with all its processes.
        """
        if self._hears(message.job) or message.job in self._queue.waiting:
            self._tries[message.job] = message.tries
            self._spawn(self._note_tries(message))

    async def _note_tries(self, tried: Tried) -> None:
        try:
            job = await self._kept(self._store.tried(tried.job, tried.tries, tried.message))
        except Refusal as refusal:
            log.warning("the tries of job %s cannot be written: %s", tried.job, refusal.message)
            return
        if job is not None and not job.is_final:
            self._hub.job_changed(job)

    def on_ended(self, message: Ended) -> None:
        """A job has ended."""
        if self._hears(message.job):
            self._end(message)

    def on_status(self, message: Status) -> None:
        """Places changed; nothing for the desk."""

    def _hears(self, id: str) -> bool:
        """Whether a job is under way in the engine; what comes late for an ended one is nothing."""
        under_way = self._under_way.get(id)
        if under_way is None or not under_way.is_started or under_way.is_ending:
            return False
        under_way.heard = self._monotonic()
        return True

    # ---- small steps ----

    async def _kept(self, future: Future[T]) -> T:
        """What the store answers."""
        return await asyncio.wrap_future(future)

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()  # looked at here also if nobody waits for it any more
        if error is not None and not isinstance(error, Refusal):
            log.error("a job's step failed", exc_info=error)


def _submission(job: Job, document: bytes, tries: int) -> Submit:
    targets = None if job.targets is None else list(job.targets)
    return Submit(job.id, document, targets, dict(job.seeds), job.priority, job.client, tries)


def _state_of(ended: Ended) -> JobState:
    assert ended.state in FINAL, ended.state
    return ended.state  # type: ignore[return-value]  # just looked at


_RESULT_FIELDS: Final = frozenset(field.name for field in fields(JobResult))


def _result_of(ended: Ended) -> JobResult:
    """The result that the engine tells. A failed job always says why."""
    given = {name: value for name, value in ended.result.items() if name in _RESULT_FIELDS}
    for name in ("nodes", "messages"):
        given[name] = tuple(given.get(name, ()))
    if ended.state == "failed" and not given.get("problem"):
        given["problem"] = problem_of(
            "node_failed", "A node failed", "The job failed, and the engine did not say why. See the server's log."
        )
    return JobResult(**given)


def _unkept() -> dict[str, Any]:
    return problem_of(
        "node_failed",
        "A node failed",
        "The job's result holds a value that JSON cannot carry, so it was not kept. See the server's log.",
    )


def _unreadable() -> dict[str, Any]:
    return problem_of(
        "internal",
        "A mistake of the server",
        "What the job is cannot be read any more. Send it again; the server's log says more.",
    )


def found(value: T | None, id: str) -> T:
    """What the store has of a job. Refused with `not_found`."""
    if value is None:
        raise not_found(id)
    return value


def not_found(id: str) -> Refusal:
    """That there is no such job."""
    return Refusal(
        "not_found", f"There is no job {id}. It may have been deleted, or be so old that it was forgotten; list the jobs."
    )
