"""Models over HTTP: which there are, and removing one that nothing uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import StringConstraints

from server.api.models import Model
from server.api.route import Call, route
from server.library.model_folders import ModelEntry
from server.problems import Refusal

if TYPE_CHECKING:
    from server.engine.link import EngineLink

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


_REFUSES: Final = ("not_found", "forbidden", "in_use", "engine_unavailable", "not_ready_in_time")


@route("DELETE", "/v1/models/{name}", tags=("models",), refuses=_REFUSES)
async def remove_model(call: Call, name: Part) -> None:
    """Remove a model from the data folder for good.

    Refused while a queued or running job names it (409, with the `job`) or devices hold weights of it (409, with the
    `devices`; POST /v1/devices/free frees them), and for models that lie elsewhere (403). Jobs that name it are refused
    until it is decided and done.
    """
    await _remove(call, name)


@route("DELETE", "/v1/models/{maker}/{name}", tags=("models",), refuses=_REFUSES)
async def remove_makers_model(call: Call, maker: Part, name: Part) -> None:
    """Remove a model of a maker's folder, as above."""
    await _remove(call, f"{maker}/{name}")


async def _remove(call: Call, name: str) -> None:
    services = call.services
    await services.models.demand_removable(name)  # before jobs are searched
    async with services.desk.leaving(name) as job:
        if job is not None:
            message = f'Model "{name}" is used by job {job}. Cancel it or let it end, then remove the model.'
            raise Refusal("in_use", message, job=job)
        await _refuse_held(services.engine, name)
        await services.models.remove(name)


async def _refuse_held(engine: EngineLink | None, name: str) -> None:
    """Raise Refusal while devices hold weights of a model; without an engine there are none."""
    if engine is None or engine.state != "ready":
        return
    devices = (await engine.ask("holders", model=name))["devices"]
    if devices:
        found = f'Weights of model "{name}" are in the memory of {", ".join(devices)}'
        raise Refusal("in_use", f"{found}. Free it with POST /v1/devices/free, then remove the model.", devices=devices)


def _view(entry: ModelEntry) -> ModelView:
    return ModelView(**entry._asdict(), can_be_removed=entry.can_be_removed)
