"""What the tests of jobs share: new jobs in one line, stores, and a desk between a fake engine and a fake hub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from graph.compile import Compiled
from graph.document import Document
from graph.errors import Problem
from graph.spec import NodeSpec
from server.engine.messages import Ended, Hello, Submit
from server.jobs.desk import Desk
from server.jobs.orders import Order
from server.jobs.record import Accepted, Job, NewJob, new_id
from server.jobs.store import FILE_NAME, JobStore
from tests.graph import small_nodes
from tests.graph.small_nodes import link, n, workflow

T = TypeVar("T")
#: A failing test ends; a passing one never waits so long.
PATIENCE = 30.0


def run(work: Coroutine[Any, Any, T]) -> T:
    """Carry out a test's coroutine."""
    return asyncio.run(asyncio.wait_for(work, PATIENCE))


def new(**fields: Any) -> NewJob:
    """A job to accept."""
    plain: dict[str, Any] = {
        "id": new_id(), "workflow": "drawing", "document": b'{"nodes": {}}', "inputs": {}, "targets": None, "seeds": {"draw.seed": 7},
    }  # fmt: skip
    return NewJob(**plain | fields)


def store_in(folder: Path, **options: Any) -> JobStore:
    """The store of a data folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return JobStore(folder / FILE_NAME, **options)


def a_drawing(prompt: str = "a red circle", **inputs: Any) -> Document:
    """A workflow of two nodes with a named input; its seed is drawn."""
    nodes = {
        "draw": n("draw", prompt=prompt, **({"seed": {"random": True}} | inputs)),
        "save": n("save", picture=link("draw.picture")),
    }
    return workflow(nodes, name="drawing", inputs={"prompt": {"to": "draw.prompt"}, "seed": {"to": "draw.seed"}})


def order(client: str = "ann", **fields: Any) -> Order:
    """An order for a drawing."""
    return Order(**{"document": a_drawing(), "client": client} | fields)


async def once(desk: Desk, wanted: Order) -> Accepted:
    """Have an order with an Idempotency-Key accepted, as the routes do."""
    assert wanted.idempotency is not None

    async def accept() -> list[Accepted]:
        return [await desk.submit(wanted)]

    [accepted] = await desk.once(wanted.client, [wanted.idempotency], accept)
    return accepted


class FakeCatalogue:
    """The small nodes; `draw` needs a device, so it is thought to take 10 s and few are dispatched at once."""

    specs: Mapping[str, NodeSpec] = small_nodes.catalogue() | {"draw": replace(small_nodes.catalogue()["draw"], place="device")}


class FakeFiles:
    """Uploads that are here, by name."""

    def __init__(self, *, here: Iterable[str] = ()) -> None:
        self.here = set(here)

    def missing(self, compiled: Compiled) -> list[Problem]:
        problems = []
        for node, port in compiled.files:
            value: Any = compiled.literals[node][port]
            if value["sha256"] not in self.here:
                problems.append(Problem("missing_file", f"{value['file']} is not here. Upload it.", compiled.ids[node], port))
        return problems


class FakeEngine:
    """Takes what is submitted and does nothing by itself; a test ends jobs with `ended`."""

    def __init__(self) -> None:
        self.submitted: list[Submit] = []
        self.cancelled: list[str] = []
        self.prioritised: list[tuple[str, int]] = []
        self.changed = asyncio.Condition()
        #: It takes nothing until it is replaced.
        self.is_full = False

    @property
    def ids(self) -> list[str]:
        return [one.job for one in self.submitted]

    def submit(self, message: Submit) -> bool:
        if not self.is_full:
            self.submitted.append(message)
        return not self.is_full

    def cancel(self, job: str) -> None:
        self.cancelled.append(job)

    def prioritise(self, job: str, priority: int) -> None:
        self.prioritised.append((job, priority))


class FakeHub:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def job_changed(self, job: Job) -> None:
        self.told.append(("job", job.id, job.state))

    def planned(self, job: str, nodes: Sequence[Mapping[str, Any]]) -> None:
        self.told.append(("planned", job))

    def events(self, job: str, events: Sequence[Mapping[str, Any]]) -> None:
        self.told.append(("events", job, len(events)))

    def ended(self, job: Job) -> None:
        self.told.append(("ended", job.id, job.state))

    def deleted(self, id: str) -> None:
        self.told.append(("deleted", id))

    def queue_changed(self) -> None:
        self.told.append(("queue",))

    def ends(self) -> dict[str, list[str]]:
        """The ends told, by job."""
        found: dict[str, list[str]] = {}
        for kind, *rest in self.told:
            if kind == "ended":
                found.setdefault(rest[0], []).append(rest[1])
        return found


class Office:
    """A desk with all that belongs to it."""

    def __init__(self, store: JobStore, **options: Any) -> None:
        self.store, self.engine, self.hub, self.files = store, FakeEngine(), FakeHub(), FakeFiles()
        self.desk = Desk(store, FakeCatalogue(), options.pop("files", self.files), self.engine, self.hub, **options)

    def ready(self, *devices: str) -> None:
        """An engine is there."""
        self.desk.on_ready(Hello(1, list(devices or ("cpu",)), "env", "catalogue"))

    def end(self, id: str, state: str = "done", **result: Any) -> None:
        """The engine tells that a job has ended."""
        self.desk.on_ended(Ended(id, state, result))

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds; every look follows something that happened on the loop."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0.001)

    async def settled(self) -> None:
        """Wait until the desk has nothing more to do by itself."""
        await self.until(lambda: not self.desk._tasks and self.desk._soon is None)

    async def submit(self, count: int = 1, client: str = "ann", **fields: Any) -> list[str]:
        """Submit that many orders; the ids."""
        return [(await self.desk.submit(order(client, **fields))).job.id for _ in range(count)]

    async def ended(self) -> str:
        """Submit an order and have it end well; its id."""
        (id,) = await self.submit()
        await self.settled()
        self.end(id)
        await self.settled()
        return id


@asynccontextmanager
async def office(
    folder: Path, *, engine: bool = True, store: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[Office]:
    """A desk on the store of a folder, started, with an engine if asked; closed at the end."""
    made = Office(store_in(folder, **(store or {})), **options)
    await made.desk.start()
    if engine:
        made.ready()
    try:
        yield made
    finally:
        await made.desk.close()
