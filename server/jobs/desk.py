"""The desk takes jobs in, durably, and changes them until they end; `Dispatch`, which it is, sees them through.

It owns the store and the queue. It knows nothing of HTTP, and of subscribers only `HubListener`. Everything runs on the
event loop; what blocks goes to the store's threads or `in_thread`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from graph.compile import Compiled
from graph.errors import Problem
from graph.spec import NodeSpec
from server.engine.messages import Ended
from server.jobs import orders
from server.jobs.costs import Costs
from server.jobs.dispatch import Dispatch, Engine, HubListener, UnderWay, found, not_found
from server.jobs.mentions import Mention
from server.jobs.orders import DEFAULT_LIMITS, Key, Limits, Order, Prepared, is_quick
from server.jobs.queue import MOST_HOURS, MOST_JOBS, Entry, Queue
from server.jobs.record import Accepted, Job, JobFilter, JobPage, JobResult, NewJob, new_id
from server.jobs.store import JobStore, replay
from server.problems import Refusal

__all__ = ["Accepted", "Desk", "Health", "HubListener", "Key", "Limits", "Order", "QueueFacts"]

T = TypeVar("T")
#: What a draining server tells to come back after: it is started again soon, or not at all.
DRAINING_RETRY_S: Final = 10.0
#: And one that removes a model which a job names: whether it goes is decided soon.
LEAVING_RETRY_S: Final = 1.0


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


class Catalogue(Protocol):
    """Where the node types come from."""

    @property
    def specs(self) -> Mapping[str, NodeSpec]:
        """Node types by id; refused with `catalogue_unavailable` while they are being read."""


class Files(Protocol):
    """Where the uploads lie."""

    def missing(self, compiled: Compiled) -> Iterable[Problem]:
        """A problem for each file that the workflow names and that is not here; called in a thread."""


class Desk(Dispatch):
    """Accepts, orders, dispatches and ends jobs. Every method is called on the event loop; refusals are `Refusal`.

    Works without an engine: what is accepted waits for one.
    """

    def __init__(
        self, store: JobStore, catalogue: Catalogue, files: Files, engine: Engine, hub: HubListener, *,
        limits: Limits = DEFAULT_LIMITS, most_jobs: int = MOST_JOBS, most_hours: float = MOST_HOURS,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread, monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        queue = Queue(most_jobs=most_jobs, most_seconds=most_hours * 3600)
        super().__init__(store, engine, hub, queue, most_hours, monotonic)
        self.limits = limits
        self._catalogue, self._files, self._in_thread = catalogue, files, in_thread
        #: Requests under way by client and key: one with the same key waits for the first.
        self._arriving: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._arriving_files: Counter[str] = Counter()
        #: Models that are being removed.
        self._leaving: list[Mention] = []
        self._moving = asyncio.Lock()
        self._cancelling: dict[str, asyncio.Task[Job]] = {}

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
        return await self._to_the_end(self._accept_order(order))

    async def submit_all(self, wanted: Sequence[Order]) -> list[Accepted]:
        """The same for the orders of one request: all of them are accepted, or none."""
        for order in wanted:
            orders.check_form(order, self.limits)
        return await self._to_the_end(self._accept_all(wanted))

    async def retry(self, id: str, client: str, idempotency: Key | None = None) -> Accepted:
        """Accept a new job from an ended one's frozen copy: same document, inputs, targets, priority and seeds."""
        return await self._to_the_end(self._accept_again(id, client, idempotency))

    async def once(
        self, client: str, keys: Sequence[Key], accept: Callable[[], Coroutine[Any, Any, list[Accepted]]]
    ) -> list[Accepted]:
        """What `accept` gives, or, where the keys are known, the jobs that they stand for: then it is not called.

        A key for each job of the request; they are known together. A request that comes while another with its first key
        is under way waits for that one. Refused with `idempotency_mismatch`, and with `conflict` for a job that was deleted.
        """
        place = (client, keys[0][0])
        while place in self._arriving:
            await asyncio.wait((self._arriving[place],))
        arrived = self._arriving[place] = asyncio.get_running_loop().create_future()

        async def first() -> list[Accepted]:
            try:
                return await self._known(client, keys) or await accept()
            finally:
                del self._arriving[place]
                arrived.set_result(None)

        return await self._to_the_end(first())

    async def _known(self, client: str, keys: Sequence[Key]) -> list[Accepted]:
        """The jobs that these keys stand for; none if one of them is new."""
        jobs = []
        for key, digest in keys:
            known = await self._kept(self._store.find_key(client, key))
            if known is None:
                return []
            jobs.append(replay(known, digest, await self._kept(self._store.get(known.job))))
        return jobs

    async def _to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """What a request gives. It goes on if the client leaves: half a job must not be left behind."""
        return await asyncio.shield(self._spawn(work))

    async def _accept_order(self, order: Order) -> Accepted:
        self._refuse_draining()
        specs = self._catalogue.specs
        if is_quick(order.document):
            prepared = self._prepared(order, specs)
        else:
            prepared = await self._in_thread(lambda: self._prepared(order, specs))
        return await self._accept(self._new(prepared, order), prepared)

    async def _accept_all(self, wanted: Sequence[Order]) -> list[Accepted]:
        self._refuse_draining()
        specs = self._catalogue.specs
        prepared = await self._in_thread(lambda: [self._prepared(order, specs) for order in wanted])
        news = [self._new(one, order) for one, order in zip(prepared, wanted, strict=True)]
        with self._naming(news):
            await self._admit(news, prepared)
            accepted = await self._kept_admitted(news, lambda: self._store.accept_all(news))
            return [self._taken_in(*one) for one in zip(news, accepted, strict=True)]

    def _prepared(self, order: Order, specs: Mapping[str, NodeSpec]) -> Prepared:
        return orders.prepare(order.document, order.inputs, order.targets, specs, self.limits)

    def _new(self, prepared: Prepared, order: Order) -> NewJob:
        workflow = order.workflow or order.document.name
        return NewJob(
            new_id(), workflow, prepared.document, dict(order.inputs), order.targets, prepared.seeds, prepared.files, order.priority,
            order.client, self._costs.of(prepared.compiled, prepared.roots), None, order.webhook, order.idempotency,
        )  # fmt: skip

    async def _accept_again(self, id: str, client: str, idempotency: Key | None) -> Accepted:
        self._refuse_draining()
        job, document = found(await self._kept(self._store.frozen(id)), id)
        if not job.is_final:
            raise Refusal("conflict", f"The job is {job.state}; only one that has ended is retried. Cancel it first, or wait.")
        specs = self._catalogue.specs
        prepared = await self._in_thread(lambda: orders.prepare_again(document, job.targets, specs, self.limits))
        seeds = {name: job.seeds.get(name, seed) for name, seed in prepared.seeds.items()}
        new = NewJob(
            new_id(), job.workflow, document, job.inputs, job.targets, seeds, prepared.files, job.priority, client,
            self._costs.of(prepared.compiled, prepared.roots), id, job.webhook, idempotency,
        )  # fmt: skip
        return await self._accept(new, prepared)

    async def _accept(self, new: NewJob, prepared: Prepared) -> Accepted:
        with self._naming([new]):
            await self._admit([new], [prepared])
            return self._taken_in(new, await self._kept_admitted([new], lambda: self._store.accept(new)))

    @contextmanager
    def _naming(self, news: Sequence[NewJob]) -> Iterator[None]:
        """Uploads count as named from before the look to after the commit: what is here now must not go meanwhile."""
        files = [file for new in news for file in new.files]
        self._arriving_files.update(files)
        try:
            yield
        finally:
            self._arriving_files.subtract(files)
            self._arriving_files += Counter()  # drops the zeros

    async def _admit(self, news: Sequence[NewJob], prepared: Sequence[Prepared]) -> None:
        """Keep a place in the queue for each job of a request, or for none: the last look before they are kept."""
        for one in prepared:
            await self._refuse_missing(one.compiled)
        self._refuse_draining()
        for one in prepared:
            self._refuse_leaving(one)
        self._queue.admit({new.id: new.cost_s for new in news})

    def _refuse_leaving(self, prepared: Prepared) -> None:
        for mention in self._leaving:
            if mention.is_in(prepared.compiled.document):
                raise Refusal(
                    "conflict",
                    f'The workflow names "{mention.name}", a model that is being removed. Name another model, or send '
                    "the job again if this one is kept.",
                    retry_after_s=LEAVING_RETRY_S,
                )

    async def _kept_admitted(self, news: Sequence[NewJob], keep: Callable[[], Future[T]]) -> T:
        """What the store gives that is to keep admitted jobs; they lose their places if it does not."""
        try:
            return await self._kept(keep())
        except BaseException:
            for new in news:
                self._queue.release(new.id)
            raise

    def _taken_in(self, new: NewJob, accepted: Accepted) -> Accepted:
        """What the store answered; a job that is new waits from now on."""
        if accepted.replayed:
            self._queue.release(new.id)
            return accepted
        job = accepted.job
        self._queue.add(Entry(job.id, job.priority, job.client, job.cost_s, job.position))
        self._hub.job_changed(job)
        self._dispatch_soon()
        return accepted

    async def _refuse_missing(self, compiled: Compiled) -> None:
        if not compiled.files:
            return
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

    @asynccontextmanager
    async def leaving(self, model: str) -> AsyncIterator[str | None]:
        """Refuse jobs that name this model while the block runs. Gives a job that came before and names it, None if there is none."""
        mention = Mention(model)
        self._leaving.append(mention)
        try:
            if self._tasks:  # among them are jobs that were admitted and do not wait yet
                await asyncio.wait(tuple(self._tasks))
            yield await self._job_that_names(mention)
        finally:
            self._leaving.remove(mention)

    async def _job_that_names(self, mention: Mention) -> str | None:
        for id in self.active():
            text = await self._kept(self._store.document(id))
            if text is not None and await self._in_thread(partial(mention.is_in_text, text)):
                return id
        return None

    # ---- reading ----

    async def get(self, id: str) -> Job:
        """A job, with its result if it has ended. Refused with `not_found`."""
        return found(await self._kept(self._store.get(id)), id)

    async def document(self, id: str) -> bytes:
        """The frozen document of a job (canonical JSON). Refused with `not_found`."""
        return found(await self._kept(self._store.document(id)), id)

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

    async def _cancel_under_way(self, id: str, under_way: UnderWay) -> Job:
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
        await self._to_the_end(self._delete(id))

    async def _delete(self, id: str) -> None:
        if not await self._kept(self._store.delete(id)):
            raise not_found(id)
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
