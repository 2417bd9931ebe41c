"""Models over HTTP: which there are, and removing one that nothing uses."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import StringConstraints

from graph.document import read_document
from server.api.models import Model
from server.api.route import Call, route
from server.jobs.record import JobFilter
from server.library.model_folders import ModelEntry
from server.library.workflows import texts_of
from server.problems import Refusal

Part = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


class ModelView(Model):
    """A model that workflows can name."""

    name: str
    pipeline: str
    """The class that its model_index.json names."""
    size_bytes: int
    where: Literal["data folder", "elsewhere", "shipped"]
    can_be_removed: bool
    """Whether DELETE takes it: it lies in the data folder itself."""


class ModelList(Model):
    """All models, by name."""

    models: list[ModelView]


@route("GET", "/v1/models", tags=("models",))
async def list_all_models(call: Call) -> ModelList:
    """List the models that workflows can name."""
    return ModelList(models=[_view(entry) for entry in await call.services.models.entries()])


@route("GET", "/v1/models/{name}", tags=("models",), refuses=("not_found",))
async def read_model(call: Call, name: Part) -> ModelView:
    """Read one model."""
    return _view(await call.services.models.read(name))


@route("GET", "/v1/models/{maker}/{name}", tags=("models",), refuses=("not_found",))
async def read_makers_model(call: Call, maker: Part, name: Part) -> ModelView:
    """Read one model of a maker's folder."""
    return _view(await call.services.models.read(f"{maker}/{name}"))


@route("DELETE", "/v1/models/{name}", tags=("models",), refuses=("not_found", "forbidden", "in_use"))
async def remove_model(call: Call, name: Part) -> None:
    """Remove a model from the data folder for good.

    Refused while a queued or running job names it (409), and for models that lie elsewhere (403). What devices hold of it
    is dropped first.
    """
    await _remove(call, name)


@route("DELETE", "/v1/models/{maker}/{name}", tags=("models",), refuses=("not_found", "forbidden", "in_use"))
async def remove_makers_model(call: Call, maker: Part, name: Part) -> None:
    """Remove a model of a maker's folder, as above."""
    await _remove(call, f"{maker}/{name}")


async def _remove(call: Call, name: str) -> None:
    await call.services.models.read(name)  # whether there is one, before jobs are searched
    job = await _user_of(call, name)
    if job is not None:
        raise Refusal("in_use", f'Model "{name}" is used by job {job}. Cancel it or let it end, then remove the model.', job=job)
    engine = call.services.engine
    if engine is not None and engine.state == "ready":
        with suppress(Refusal):  # a device that keeps its copy of the weights reads the file no more
            await engine.ask("free_memory", device=None)
    await call.services.models.remove(name)


async def _user_of(call: Call, name: str) -> str | None:
    """A job that waits or runs and has this text as a value somewhere: rather one too many than one too few."""
    before: int | None = None
    while True:
        page = await call.services.desk.page(JobFilter(states=("queued", "running"), before=before, limit=200))
        for job in page.jobs:
            text: bytes = await call.services.desk.document(job.id)
            if name.encode() in text and await asyncio.to_thread(_names, text, name):
                return str(job.id)
        if page.next is None:
            return None
        before = page.next


def _names(text: bytes, name: str) -> bool:
    return any(value == name for _, _, value in texts_of(read_document(text)))


def _view(entry: ModelEntry) -> ModelView:
    return ModelView(**entry._asdict(), can_be_removed=entry.can_be_removed)
