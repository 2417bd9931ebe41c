"""The desk takes jobs in and sees them through: accepted durably, dispatched in order, ended once.

It owns the store and the queue and listens to the engine. It knows nothing of HTTP, and of subscribers only
`HubListener`. Everything runs on the event loop; what blocks goes to the store's threads or `in_thread`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from graph.compile import Compiled
from graph.errors import Problem
from graph.spec import NodeSpec
from server.engine.messages import Ended, Hello, Planned, Status, Submit, Tried
from server.jobs import orders
from server.jobs.costs import Costs
from server.jobs.orders import DEFAULT_LIMITS, QUICK_NODES, Limits, Order, Prepared
from server.jobs.queue import MOST_HOURS, MOST_JOBS, Entry, Queue
from server.jobs.record import (
    FINAL,
    MOST_TRIES,
    Accepted,
    Job,
    JobFilter,
    JobPage,
    JobResult,
    JobState,
    NewJob,
    lost_problem,
    new_id,
    problem_of,
)  # fmt: skip
from server.jobs.store import JobStore, Started, replay
from server.problems import Refusal

__all__ = ["Accepted", "Desk", "Health", "HubListener", "Limits", "Order", "QueueFacts"]

log = logging.getLogger(__name__)

T = TypeVar("T")
#: How long a write is left alone that the disk refused, before it is tried again.
RETRY_SECONDS: Final = 1.0
#: What a draining server tells to come back after: it is started again soon, or not at all.
DRAINING_RETRY_S: Final = 10.0


class QueueFacts(NamedTuple):
    """The queue in numbers: jobs and estimated device-seconds that wait or are under way, and what is the most."""

    queued: int
    running: int
    seconds: float
    most_jobs: int
    most_seconds: float
    is_paused: bool
    is_draining: bool


class Health(NamedTuple):
    """What /healthz and /readyz go by; ages in seconds."""

    queue: QueueFacts
    #: Since the job under way that has been silent longest was last heard of; None if none is under way.
    oldest_progress_age_s: float | None
    has_engine: bool
    last_commit_age_s: float
    #: Why the last write failed; "" while all is well.
    store_error: str
    #: Ends that the disk has refused so far and that are tried again.
    unwritten: int


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


class Catalogue(Protocol):
    """Where the node types come from."""

    @property
    def specs(self) -> Mapping[str, NodeSpec]:
        """Node types by id; refused with `catalogue_unavailable` while they are being read."""


class Files(Protocol):
    """Where the uploads lie."""

    def missing(self, compiled: Compiled) -> Iterable[Problem]:
        """A problem for each file that the workflow names and that is not here; called in a thread."""


@dataclass(slots=True)
class _UnderWay:
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


class Desk:
    """Accepts, orders, dispatches and ends jobs. Every method is called on the event loop; refusals are `Refusal`.

    Works without an engine: what is accepted waits for one.
    """

    def __init__(
        self, store: JobStore, catalogue: Catalogue, files: Files, engine: Engine, hub: HubListener, *,
        limits: Limits = DEFAULT_LIMITS, most_jobs: int = MOST_JOBS, most_hours: float = MOST_HOURS,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread, monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.limits = limits
        self._store, self._catalogue, self._files, self._engine, self._hub = store, catalogue, files, engine, hub
        self._in_thread, self._monotonic = in_thread, monotonic
        self._most_hours = most_hours
        self._queue = Queue(most_jobs=most_jobs, most_seconds=most_hours * 3600)
        self._costs = Costs({})
        self._under_way: dict[str, _UnderWay] = {}
        #: Tries of jobs that have not ended, as they were told last: what the disk refused to note counts all the same.
        self._tries: dict[str, int] = {}
        #: Requests under way by client and key: one with the same key waits for the first.
        self._arriving: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._arriving_files: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._has_engine = self._is_paused = self._is_draining = False
        self._retry_at: asyncio.TimerHandle | None = None
        self._moving = asyncio.Lock()
        self._cancelling: dict[str, asyncio.Task[Job]] = {}
        #: Ends that the disk refused.
        self._unwritten: dict[str, Ended] = {}
        self._is_closed = False
        self._taking_over = 0

    # ---- life ----

    async def start(self) -> None:
        """Take up what the store holds: jobs that ran when the last server ended are queued again, in their order."""
        self._is_paused = await self._kept(self._store.is_paused())
        past = await self._kept(self._store.costs())
        self._costs = Costs(past)
        for job in await self._kept(self._store.recover()):
            self._queue.add(Entry(job.id, job.priority, job.client, job.cost_s, job.position))

    def drain(self) -> None:
        """Refuse new jobs and dispatch nothing more; what is under way goes on and its end is recorded."""
        self._is_draining = True
        self._hub.queue_changed()

    async def close(self) -> None:
        """Wait for the writes under way and close the store."""
        self._is_draining = self._is_closed = True
        if self._retry_at is not None:
            self._retry_at.cancel()
        self._has_engine = False
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        costs = self._costs.unwritten()
        if costs:
            self._store.keep_costs(costs)
        await self._in_thread(self._store.close)

    # ---- accepting ----

    async def submit(self, order: Order) -> Accepted:
        """Check an order and accept it durably: when this returns, the job is on the disk."""
        orders.check_form(order, self.limits)
        return await self._once(order.client, order.idempotency, lambda: self._accept_order(order))

    async def retry(self, id: str, client: str, idempotency: tuple[str, bytes] | None = None) -> Accepted:
        """Accept a new job from an ended one's frozen copy: same document, inputs, targets, priority and seeds."""
        return await self._once(client, idempotency, lambda: self._accept_again(id, client, idempotency))

    async def _once(
        self, client: str, idempotency: tuple[str, bytes] | None, accept: Callable[[], Coroutine[Any, Any, Accepted]]
    ) -> Accepted:
        """Have a request accepted, or answer with the job that its key stands for, also while the first one is under way."""
        if idempotency is None:
            return await self._to_the_end(accept())
        place = (client, idempotency[0])
        while place in self._arriving:
            await asyncio.wait((self._arriving[place],))
        arrived = self._arriving[place] = asyncio.get_running_loop().create_future()

        async def first() -> Accepted:
            try:
                known = await self._kept(self._store.find_key(*place))
                if known is not None:
                    return replay(known, idempotency[1], await self._kept(self._store.get(known.job)))
                return await accept()
            finally:
                del self._arriving[place]
                arrived.set_result(None)

        return await self._to_the_end(first())

    async def _to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """What a request gives. It goes on if the client leaves: half a job must not be left behind."""
        return await asyncio.shield(self._spawn(work))

    async def _accept_order(self, order: Order) -> Accepted:
        self._refuse_draining()
        specs = self._catalogue.specs
        prepared = await self._prepared(order, specs)
        new = self._new(prepared, order, order.workflow or order.document.name, order.inputs)
        return await self._accept(new, prepared)

    async def _prepared(self, order: Order, specs: Mapping[str, NodeSpec]) -> Prepared:
        def work() -> Prepared:
            return orders.prepare(order.document, order.inputs, order.targets, specs, self.limits)

        is_quick = orders.node_count(order.document) <= QUICK_NODES and not order.document.subgraphs
        return work() if is_quick else await self._in_thread(work)

    def _new(self, prepared: Prepared, order: Order, workflow: str, inputs: Mapping[str, Any]) -> NewJob:
        return NewJob(
            new_id(), workflow, prepared.document, dict(inputs), order.targets, prepared.seeds, prepared.files, order.priority,
            order.client, self._costs.of(prepared.compiled, prepared.roots), None, order.webhook, order.idempotency,
        )  # fmt: skip

    async def _accept_again(self, id: str, client: str, idempotency: tuple[str, bytes] | None) -> Accepted:
        self._refuse_draining()
        job = await self.get(id)
        if not job.is_final:
            raise Refusal("conflict", f"The job is {job.state}; only one that has ended is retried. Cancel it first, or wait.")
        document = await self.document(id)
        specs = self._catalogue.specs
        prepared = await self._in_thread(lambda: orders.prepare_again(document, job.targets, specs, self.limits))
        seeds = {name: job.seeds.get(name, seed) for name, seed in prepared.seeds.items()}
        new = NewJob(
            new_id(), job.workflow, document, job.inputs, job.targets, seeds, prepared.files, job.priority, client,
            self._costs.of(prepared.compiled, prepared.roots), id, job.webhook, idempotency,
        )  # fmt: skip
        return await self._accept(new, prepared)

    async def _accept(self, new: NewJob, prepared: Prepared) -> Accepted:
        self._arriving_files.update(new.files)  # before the look: an upload that is here now must not go before the commit
        try:
            if prepared.compiled.files:
                await self._refuse_missing(prepared.compiled)
            self._refuse_draining()
            self._queue.admit(new.id, new.cost_s)
            try:
                accepted = await self._kept(self._store.accept(new))
            except BaseException:
                self._queue.release(new.id)
                raise
        finally:
            self._arriving_files.subtract(new.files)
            self._arriving_files += Counter()  # drops the zeros
        if accepted.replayed:
            self._queue.release(new.id)
            return accepted
        job = accepted.job
        self._queue.add(Entry(job.id, job.priority, job.client, job.cost_s, job.position))
        self._hub.job_changed(job)
        self._dispatch()
        return accepted

    async def _refuse_missing(self, compiled: Compiled) -> None:
        problems = list(await self._in_thread(lambda: self._files.missing(compiled)))
        if problems:
            more = f" (and {len(problems) - 1} more, see `problems`)" if len(problems) > 1 else ""
            raise Refusal(
                "invalid_workflow", problems[0].message + more, problems=problems, node=problems[0].node, port=problems[0].port
            )

    def _refuse_draining(self) -> None:
        if self._is_draining:
            raise Refusal(
                "draining",
                "The server is shutting down and takes no new jobs. Send it again later.",
                retry_after_s=DRAINING_RETRY_S,
            )

    # ---- reading ----

    async def get(self, id: str) -> Job:
        """A job, with its result if it has ended. Refused with `not_found`."""
        return _found(await self._kept(self._store.get(id)), id)

    async def document(self, id: str) -> bytes:
        """The frozen document of a job (canonical JSON). Refused with `not_found`."""
        return _found(await self._kept(self._store.document(id)), id)

    async def page(self, filters: JobFilter) -> JobPage:
        """A part of the list of jobs, newest first; results without `nodes`."""
        return await self._kept(self._store.page(filters))

    async def files_named(self) -> frozenset[str]:
        """SHA-256 (hex) of every upload that a job names, or one that is being accepted now."""
        arriving = frozenset(self._arriving_files)  # first: what is committed meanwhile is in one of the two
        named = await self._kept(self._store.files_named())
        return arriving | named

    async def documents_named(self) -> frozenset[str]:
        """The names of the workflows that jobs which have not ended came from."""
        return await self._kept(self._store.documents_named())

    def queue_facts(self) -> QueueFacts:
        """The queue in numbers."""
        queue = self._queue
        return QueueFacts(
            len(queue.waiting), len(queue.under_way), queue.seconds, queue.most_jobs, queue.most_seconds,
            self._is_paused, self._is_draining,
        )  # fmt: skip

    def waiting(self, limit: int = 1000) -> list[str]:
        """The ids of queued jobs in the order in which they are expected to start."""
        return self._queue.upcoming(limit)

    def active(self) -> list[str]:
        """The ids of all jobs that have not ended, with a client attached or not: what guards and shutdown must count."""
        return [*self._queue.under_way, *self._queue.waiting]

    def health(self) -> Health:
        """What /healthz and /readyz go by."""
        now = self._monotonic()
        heard = [one.heard for one in self._under_way.values() if one.is_started]
        committer = self._store.committer
        return Health(
            self.queue_facts(), now - min(heard) if heard else None, self._has_engine, self._store.last_commit_age_s,
            committer.error, len(self._unwritten),
        )  # fmt: skip

    # ---- changing ----

    async def cancel(self, id: str) -> Job:
        """End a job: a queued one at once; of a running one the engine is asked (the answer then says `running`).

        Refused with `not_found`, and with `conflict` if it has ended.
        """
        under_way = self._under_way.get(id)
        if under_way is not None:
            return await self._cancel_under_way(id, under_way)
        if id in self._cancelling:
            return await asyncio.shield(self._cancelling[id])
        if id in self._queue.waiting:
            entry = self._queue.hold(id)  # now: it must not be started while its end is written
            task = self._cancelling[id] = self._spawn(self._cancel_waiting(entry))
            return await asyncio.shield(task)
        job = await self.get(id)
        if not job.is_final:
            raise Refusal("conflict", "The job is being accepted this moment. Try again.", retry_after_s=1, state=job.state)
        raise Refusal("conflict", f"The job is {job.state} already; what has ended cannot be cancelled.", state=job.state)

    async def _cancel_waiting(self, entry: Entry) -> Job:
        try:
            job = await self._write_end(entry.id, "cancelled", JobResult())
        except BaseException:
            self._queue.add(entry)
            raise
        else:
            self._queue.release(entry.id)
            self._tries.pop(entry.id, None)
            return job
        finally:
            del self._cancelling[entry.id]
            self._dispatch()

    async def _cancel_under_way(self, id: str, under_way: _UnderWay) -> Job:
        under_way.is_cancelled = True
        if under_way.is_started and not under_way.is_ending:
            if under_way.is_handed_over:
                self._engine.cancel(id)
            else:  # nobody carries it out
                self._end(Ended(id, "cancelled", {}))
        return await self.get(id)

    async def move(self, id: str, *, before: str | None = None, after: str | None = None, priority: int | None = None) -> Job:
        """Give a job another place among its client's queued jobs, or another priority (a running one only that).

        Refused with `not_found`, `conflict` and `invalid`.
        """
        if (before is not None and after is not None) or (before is None and after is None and priority is None):
            raise Refusal("invalid", "A move names one of `before`, `after` and `priority`. Say where the job shall go.")
        if priority is not None and abs(priority) > self.limits.priority:
            raise Refusal(
                "invalid",
                f"`priority` is {priority}; it takes -{self.limits.priority} to {self.limits.priority}.",
                pointer="/priority",
            )
        return await self._to_the_end(self._move(id, before, after, priority))

    async def _move(self, id: str, before: str | None, after: str | None, priority: int | None) -> Job:
        async with self._moving:
            job = await self.get(id)
            if job.is_final:
                raise Refusal("conflict", f"The job is {job.state}; only jobs that wait or run are moved.", state=job.state)
            if id in self._queue.under_way and before is None and after is None and priority is not None:
                places = {id: (priority, job.position)}
            else:
                places = self._queue.moved(id, before=before, after=after, priority=priority)
            await self._kept(self._store.place(places))
            self._queue.place(places)
        if id in self._under_way and self._under_way[id].is_started:
            self._engine.prioritise(id, places[id][0])
        job = await self.get(id)
        self._hub.job_changed(job)
        return job

    async def delete(self, id: str) -> None:
        """Forget an ended job. Refused with `not_found`, and with `conflict` if it has not ended."""
        if not await self._to_the_end(self._kept(self._store.delete(id))):
            raise _not_found(id)
        self._hub.deleted(id)

    async def pause(self) -> None:
        """Dispatch nothing until `resume`, across restarts; what is under way goes on."""
        await self._to_the_end(self._set_paused(True))

    async def resume(self) -> None:
        """Dispatch again."""
        await self._to_the_end(self._set_paused(False))

    async def _set_paused(self, paused: bool) -> None:
        await self._kept(self._store.set_paused(paused))
        self._is_paused = paused
        self._hub.queue_changed()
        self._dispatch()

    # ---- dispatching ----

    def _dispatch(self) -> None:
        """Give the engine what it has room for."""
        if not self._has_engine or self._taking_over or self._is_paused or self._is_draining or self._retry_at is not None:
            return
        while self._queue.has_room() and (entry := self._queue.take()) is not None:
            self._under_way[entry.id] = _UnderWay(heard=self._monotonic())
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
        if started is None:  # it is not there any more; nothing of ours does that
            self._forget(id, 0.0)
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
        self._under_way[id] = _UnderWay(is_started=True, heard=self._monotonic())
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
        if job is None:  # it was ended before, and told
            return await self.get(id)
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


def _found(value: T | None, id: str) -> T:
    if value is None:
        raise _not_found(id)
    return value


def _not_found(id: str) -> Refusal:
    return Refusal(
        "not_found", f"There is no job {id}. It may have been deleted, or be so old that it was forgotten; list the jobs."
    )
