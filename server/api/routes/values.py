"""What a node's port held in a job that has ended, for looking: nothing is computed and nothing is published."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from aiohttp import web
from pydantic import Field

from server.api.models import JobId, Model, NodeId, PortName
from server.api.route import JSON, Call, route
from server.jobs.record import Job
from server.library.values import find_port


class ValueQuery(Model):
    """Which value, and how it is shown."""

    element: int | None = Field(None, ge=0, le=1_000_000)
    """Of a mapped node: which execution, counted from 0."""
    index: int = Field(0, ge=0, le=1_000_000)
    """Which picture, where one value holds several, counted from 0."""
    form: Literal["webp", "png", "facts"] = "webp"
    """How a picture is shown; facts: its shape and range instead."""


@route(
    "GET", "/v1/jobs/{id}/values/{node}/{port}", tags=("jobs",), produces=(JSON, "image/webp", "image/png"),
    refuses=("not_found", "conflict", "unreadable_picture", "catalogue_unavailable"),
)  # fmt: skip
async def read_value(call: Call, id: JobId, node: NodeId, port: PortName, query: ValueQuery) -> web.StreamResponse:
    """Look at what a port held: a picture as WebP or PNG, a text or number as JSON, tensors by shape, dtype and range.

    A `/` in a node's path is written `%2F`. What is not kept any more is refused with what to do.
    """
    job: Job = await call.services.desk.get(id)
    specs: Mapping[str, Any] = call.services.catalogue.specs  # Any: NodeSpec
    names = {type_id: tuple(output.name for output in spec.outputs) for type_id, spec in specs.items()}
    found = find_port(job, node, query.element, names, port)
    answer = await call.services.values.look(found, query.index, query.form) if isinstance(found, bytes) else found
    if "image" not in answer:
        return web.Response(body=json.dumps(_finite(answer), allow_nan=False).encode(), content_type=JSON)
    headers = {"Content-Type": f"image/{query.form}", "Pictures": str(answer["count"]), "Cache-Control": "private, max-age=3600"}
    return web.Response(body=bytes(answer["image"]), headers=headers)


def _finite(value: Any) -> Any:  # Any: plain values
    """The same with NaN and infinities as texts, which JSON has no numbers for."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
