"""A front with the real library of files, outputs and pictures, and jobs that a test makes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from graph.document import Document, read_document
from graph.publish import publish
from nodes.image import from_picture
from nodes.save import png_bytes
from server.jobs.hub import Hub
from server.jobs.record import Accepted, Job, JobResult, new_id
from server.library.gallery import Gallery
from server.library.pictures import Pictures
from server.library.uploads import Uploads
from server.library.values import Values
from server.problems import Refusal
from tests.server.api.kit import Served, served

WORKFLOW: dict[str, Any] = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "name": "flow",
    "nodes": {"prompt": {"type": "text", "inputs": {"value": "a red circle"}}},
}


class Jobs:
    """The desk as far as these routes use it: jobs end as `ending` says, when the test lets them."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.orders: list[Any] = []
        self.jobs: dict[str, Job] = {}
        #: Ids by client, key and digest.
        self.keys: dict[Any, str] = {}
        self.refusal: Refusal | None = None
        #: Called with the number of the job; what it gives is how that one ends, None: it goes on.
        self.ending = lambda number, job: ("done", JobResult())

    def add(self, result: JobResult | None, state: str = "done", **members: Any) -> Job:
        id = new_id()
        job = Job(
            id=id, workflow="flow", state=state, inputs={}, targets=None, seeds={}, files=(), priority=0, client="", position=1.0,
            cost_s=0.0, tries=0, created=1.0, result=result, **members,
        )  # fmt: skip
        self.jobs[id] = job
        return job

    async def once(self, client: str, keys: Any, accept: Any) -> list[Accepted]:
        ids = [self.keys.get((client, *key)) for key in keys]
        return await accept() if None in ids else [Accepted(self.jobs[id], True) for id in ids]

    async def submit_all(self, orders: Any) -> list[Accepted]:
        if self.refusal is not None:
            raise self.refusal
        return [self._accept(order) for order in orders]

    def _accept(self, order: Any) -> Accepted:
        number = len(self.orders)
        self.orders.append(order)
        job = self.add(None, "queued")
        if order.idempotency is not None:
            self.keys[order.client, *order.idempotency] = job.id
        ending = self.ending(number, job)
        if ending is not None:
            state, result = ending
            self.end(job, state, result)
        return Accepted(job, False)

    def end(self, job: Job, state: str, result: JobResult) -> None:
        import dataclasses

        ended = dataclasses.replace(job, state=state, result=result, ended=2.0)
        self.jobs[job.id] = ended
        self.hub.ended(ended)

    async def get(self, id: str) -> Job:
        if id not in self.jobs:
            raise Refusal("not_found", f"There is no job {id}.")
        return self.jobs[id]


class SavedWorkflows:
    """Documents by name."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = documents

    async def document(self, name: str) -> Document:
        if name not in self._documents:
            raise Refusal("not_found", f'There is no workflow "{name}".')
        return read_document(self._documents[name])


@asynccontextmanager
async def library(home: Path, **settings: Any) -> AsyncIterator[Served]:
    """A front with everything of the library."""
    async with served(home, whole=True, **settings) as front:
        services = front.services
        services.hub = Hub()
        services.desk = Jobs(services.hub)
        services.files = Uploads(home, most_bytes=services.settings.max_upload_bytes)
        services.pictures = pictures = Pictures(home, most_pixels=services.settings.max_pixels)
        services.outputs = Gallery(home, lambda id: pictures.forget(f"output-{id}"))
        services.values = Values(home, pictures)
        try:
            yield front
        finally:
            services.hub.close()
            await services.files.close()
            services.outputs.close()
            pictures.close()


def save(
    home: Path, id: str, picture: Any, *, job: str = "", workflow: Mapping[str, Any] | None = WORKFLOW, **settings: Any
) -> bytes:
    """Publish a picture as save_image does; its bytes."""
    found = {"prompt": "a red circle", "model": "mini", "seed": 7, "width": picture.width, "height": picture.height} | settings
    run: dict[str, Any] = {"job": job, "seeds": {}, "node": "save"}
    if workflow is not None:
        run["workflow"] = dict(workflow)
    content = png_bytes(picture, found, run)
    record = {"id": id, "file": f"{id}.png", "kind": "image", "settings": found, "run": run}
    publish(home / "outputs", id, ".png", content, record)
    return content


__all__ = ["WORKFLOW", "Jobs", "SavedWorkflows", "from_picture", "library", "save"]
