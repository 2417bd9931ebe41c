"""Devices over HTTP: where work is done, how much memory is in use, and giving it back."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, StringConstraints

from server.api.models import JsonObject, Model
from server.api.route import Call, route
from server.problems import Refusal

DeviceName = Annotated[str, StringConstraints(pattern=r"^(cpu|mps|(cpu|cuda):[0-9]{1,4})$")]


class PlaceView(Model):
    """A process that works: one per device, and those of the host."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    """"cuda:0", "cpu", "host:0", ..."""
    state: str
    """idle, busy, starting, waiting, disabled."""
    job: str | None = None
    node: str | None = None
    resident_bytes: int | None = None
    """What is kept in the device's memory."""
    budget_bytes: int | None = None
    restarts: int = 0
    message: str | None = None


class DevicesView(Model):
    """Devices and their memory, as the engine last told."""

    engine: str
    """ready, starting, waiting (it died and is started again), stopping, stopped."""
    devices: list[str]
    """The devices in use, known once the engine is ready."""
    environment: str
    places: list[PlaceView]
    facts: JsonObject
    """Further figures in bytes: "memo_bytes", "ram_bytes", ..."""


class FreeRequest(Model):
    """Whose memory is to be given back."""

    device: DeviceName | None = None
    """One device; null: all."""


class FreedView(Model):
    """What that gave back."""

    freed_bytes: dict[str, int]
    """Bytes of weights by device, and under "ram" of values. Devices that are at a node are left out."""


@route("GET", "/v1/devices", tags=("devices",))
async def list_devices(call: Call) -> DevicesView:
    """List devices, what they do and how much memory they hold. While no engine runs, places are empty."""
    engine = call.services.engine
    if engine is None:
        return DevicesView(engine="stopped", devices=[], environment="", places=[], facts={})
    hello, status = engine.hello, engine.status
    return DevicesView(
        engine=engine.state,
        devices=list(hello.devices) if hello else [],
        environment=hello.environment if hello else "",
        places=[_place(place) for place in status.places] if status else [],
        facts=dict(status.facts) if status else {},
    )


@route("POST", "/v1/devices/free", tags=("devices",), refuses=("not_found", "in_use", "engine_unavailable", "not_ready_in_time"))
async def free_memory(call: Call, body: FreeRequest) -> FreedView:
    """Drop what devices hold and nothing uses now. The next job that needs it loads it again."""
    engine = call.services.engine
    if body.device is not None and engine.hello is not None and body.device not in engine.hello.devices:
        known = ", ".join(engine.hello.devices)
        raise Refusal("not_found", f'There is no device "{body.device}" in use; there is {known}. Name one of these.')
    found = await engine.ask("free_memory", device=body.device)
    return FreedView(freed_bytes=found["freed_bytes"])


def _place(place: dict[str, Any]) -> PlaceView:  # Any: plain JSON
    return PlaceView.model_validate(place)
