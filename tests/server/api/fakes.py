"""A desk that keeps jobs in memory, and an engine that the test plays; the hub and the routes are the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph.document import Document, document_from_json, write_document
from server.jobs.desk import Key, Order, QueueFacts
from server.jobs.hub import Hub
from server.jobs.record import Accepted, Job, JobFilter, JobPage, JobResult, JobState, new_id
from server.problems import Refusal
from tests.server.api.kit import Served, served

DOCUMENT: dict[str, Any] = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "name": "portrait",
    "nodes": {"text": {"type": "Text", "inputs": {"text": "a cat"}}},
    "inputs": {"prompt": {"to": ["text.text"]}},
    "outputs": {"text": {"from": "text.text"}},
}


class FakeDesk:
    """The desk's face over a dictionary. `play` and `end` stand for the engine."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.jobs: dict[str, Job] = {}
        self.documents: dict[str, bytes] = {}
        self.keys: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.watched: list[tuple[str, bool]] = []
        self.is_paused = False
        self.refusal: Refusal | None = None
        #: Whether an engine runs what is accepted, at once.
        self.has_engine = False
        hub.connect(lambda id, wanted: self.watched.append((id, wanted)), self)

    async def submit(self, order: Order) -> Accepted:
        if self.refusal is not None:
            raise self.refusal
        job = Job(
            new_id(), order.workflow or order.document.name, "queued", order.inputs, order.targets, {"text.seed": 7}, (),
            order.priority, order.client, float(len(self.jobs)), 2.0, 0, 1000.0 + len(self.jobs), webhook=order.webhook,
        )  # fmt: skip
        self.documents[job.id] = write_document(order.document.with_inputs(order.inputs)).encode()
        if order.idempotency is not None:
            self.keys[order.client, order.idempotency[0]] = (job.id, order.idempotency[1])
        self._keep(job)
        if self.has_engine:
            asyncio.get_running_loop().call_soon(self.carry_out, job.id)
        return Accepted(job)

    async def once(
        self, client: str, keys: Sequence[Key], accept: Callable[[], Coroutine[Any, Any, list[Accepted]]]
    ) -> list[Accepted]:
        known = [self.keys.get((client, key)) for key, _ in keys]
        if None in known:
            return await accept()
        if [one[1] for one in known if one is not None] != [digest for _, digest in keys]:
            raise Refusal("idempotency_mismatch", "This key was used for another request. Use another key.")
        return [Accepted(self.jobs[one[0]], True) for one in known if one is not None]

    def _keep(self, job: Job) -> Job:
        self.jobs[job.id] = job
        self.hub.job_changed(job)
        return job

    async def get(self, id: str) -> Job:
        if id not in self.jobs:
            raise Refusal("not_found", f"There is no job {id}. GET /v1/jobs lists those there are.")
        return self.jobs[id]

    async def document(self, id: str) -> bytes:
        await self.get(id)
        return self.documents[id]

    async def page(self, filters: JobFilter) -> JobPage:
        newest = list(enumerate(self.jobs.values()))[::-1]
        found = [
            (number, job)
            for number, job in newest
            if (not filters.states or job.state in filters.states)
            and filters.client in (None, job.client)
            and filters.workflow in (None, job.workflow)
            and (filters.before is None or number < filters.before)
        ]
        page = found[: filters.limit]
        return JobPage([job for _, job in page], page[-1][0] if len(found) > len(page) else None)

    async def cancel(self, id: str) -> Job:
        job = await self.get(id)
        if job.is_final:
            raise Refusal("conflict", f"The job is {job.state} already; what has ended cannot be cancelled.", state=job.state)
        return self.end(id, "cancelled") if job.state == "queued" else job

    async def retry(self, id: str, client: str, idempotency: Key | None = None) -> Accepted:
        job = await self.get(id)
        if not job.is_final:
            raise Refusal("conflict", f"Job {id} is {job.state}; only one that has ended is tried again. Wait for it.")
        again = replace(job, id=new_id(), state="queued", client=client, retry_of=id, result=None, ended=None, started=None)
        self.documents[again.id] = self.documents[id]
        if idempotency is not None:
            self.keys[client, idempotency[0]] = (again.id, idempotency[1])
        return Accepted(self._keep(again))

    async def move(self, id: str, *, before: str | None = None, after: str | None = None, priority: int | None = None) -> Job:
        job = await self.get(id)
        if priority is not None:
            return self._keep(replace(job, priority=priority))
        other = await self.get(before or after or "")
        return self._keep(replace(job, position=other.position + (-0.5 if before else 0.5)))

    async def delete(self, id: str) -> None:
        if not (await self.get(id)).is_final:
            raise Refusal("conflict", f"Job {id} has not ended. Cancel it first.")
        del self.jobs[id]
        self.hub.deleted(id)

    async def pause(self) -> None:
        self.is_paused = True
        self.hub.queue_changed()

    async def resume(self) -> None:
        self.is_paused = False
        self.hub.queue_changed()

    def queue_facts(self) -> QueueFacts:
        states = [job.state for job in self.jobs.values()]
        return QueueFacts(states.count("queued"), states.count("running"), 2.0 * len(states), 1000, 1e6, self.is_paused, False)

    def waiting(self, limit: int = 1000) -> list[str]:
        queued = [job for job in self.jobs.values() if job.state == "queued"]
        return [job.id for job in sorted(queued, key=lambda job: (-job.priority, job.position))][:limit]

    # The engine, played by the test.

    def play(self, id: str, nodes: Sequence[Mapping[str, Any]] = ()) -> None:
        """Begin a job."""
        self._keep(replace(self.jobs[id], state="running", started=1001.0))
        self.hub.planned(id, nodes or [{"id": "text", "type": "Text", "state": "waiting", "elements": None}])

    def tell(self, id: str, *events: Mapping[str, Any]) -> None:
        self.hub.events(id, events)

    def carry_out(self, id: str) -> None:
        """A whole run."""
        self.play(id)
        self.tell(id, a_node("running"), a_step(1), a_step(10), a_node("done", seconds=0.1))
        self.end(id)

    def end(self, id: str, state: JobState = "done", result: JobResult | None = None) -> Job:
        nodes = (
            {"id": "text", "element": None, "type": "Text", "state": state if state != "queued" else "done", "seconds": 0.1},
        )
        job = replace(self.jobs[id], state=state, ended=1002.0, result=result or JobResult(1.0, 1.0, nodes, {"text": "a cat"}))
        self.jobs[id] = job
        self.hub.ended(job)
        return job


class FakeWorkflows:
    """One saved workflow, and changes as a test tells them."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ("portrait",)
        self.listeners: set[asyncio.Queue[frozenset[str]]] = set()

    async def changes(self) -> AsyncGenerator[frozenset[str], None]:
        queue: asyncio.Queue[frozenset[str]] = asyncio.Queue()
        self.listeners.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self.listeners.discard(queue)

    def tell(self, *names: str) -> None:
        for queue in self.listeners:
            queue.put_nowait(frozenset(names))

    async def document(self, name: str) -> Document:
        if name not in self.names:
            raise Refusal("not_found", f'There is no workflow "{name}".')
        return document_from_json(DOCUMENT)


class FakeWebhooks:
    names: tuple[str, ...] = ("hook",)

    def check(self, name: str) -> None:
        if name not in self.names:
            raise Refusal("invalid", f'There is no webhook "{name}". Known: hook.', pointer="/webhook")


@asynccontextmanager
async def with_desk(home: Path, desk: FakeDesk | None = None, **settings: Any) -> AsyncIterator[tuple[Served, FakeDesk]]:
    """A front with all routes, the real hub and a desk in memory."""
    async with served(home, whole=True, **settings) as server:
        hub = Hub()
        if desk is None:
            desk = FakeDesk(hub)
        else:  # another start of the server, on the same store
            desk.hub = hub
            hub.connect(lambda id, wanted: None, desk)
        services = server.services
        services.desk, services.hub, services.workflows, services.webhooks = desk, hub, FakeWorkflows(), FakeWebhooks()
        try:
            yield server, desk
        finally:
            hub.close()


def a_node(state: str, node: str = "text", **more: Any) -> dict[str, Any]:
    return {
        "event": "node",
        "node": node,
        "element": None,
        "state": state,
        "time": 1.0,
        "device": "",
        "seconds": 0.0,
        "message": "",
        **more,
    }


def a_step(step: int, node: str = "text", total: int = 10) -> dict[str, Any]:
    return {"event": "progress", "node": node, "element": None, "step": step, "total": total, "eta_seconds": 1.5, "time": 1.0}


def a_preview(image: bytes, node: str = "text") -> dict[str, Any]:
    return {"event": "preview", "node": node, "element": None, "image": image, "time": 1.0}
