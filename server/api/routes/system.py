"""The server itself: what it is, whether it is ready, its figures, and the documents of its own interface."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Literal

from aiohttp import web

from server.api.docs import docs_page
from server.api.models import Model
from server.api.openapi import openapi_document
from server.api.route import JSON, Answer, Call, route
from server.api.routes.page import page_response
from server.api.services import Services
from server.problems import Refusal
from server.version import own_version


class LimitsView(Model):
    """What is refused beyond."""

    max_body_bytes: int
    max_upload_bytes: int
    max_nodes: int
    max_pixels: int
    max_queued_jobs: int
    max_queued_s: float
    max_json_depth: int
    max_header_bytes: int
    images_wait_s: float


class ServerView(Model):
    """The server."""

    name: Literal["latentgraph"]
    version: str
    limits: LimitsView


class CheckView(Model):
    """One thing that must hold."""

    name: str
    ok: bool
    message: str


class ReadyView(Model):
    """Whether new work is taken and done."""

    ready: bool
    checks: list[CheckView]


@route("GET", "/v1/server", tags=("operation",))
async def read_server(call: Call) -> ServerView:
    """What this server is, and its limits."""
    from graph.jsontext import MAX_DEPTH
    from server.api.guard import MOST_HEADER_BYTES

    settings = call.services.settings
    named = {name: getattr(settings, name) for name in LimitsView.model_fields if hasattr(settings, name)}
    limits = LimitsView(max_json_depth=MAX_DEPTH, max_header_bytes=MOST_HEADER_BYTES, **named)
    return ServerView(name="latentgraph", version=own_version(), limits=limits)


@route("GET", "/readyz", tags=("operation",), also={503: "One of the checks fails."})
async def read_ready(call: Call) -> Answer[ReadyView]:
    """Whether new work is taken and done: 200, or 503 with the checks that fail."""
    checks = [CheckView(name=one.name, ok=one.is_ok, message=one.message) for one in await call.services.health.checks()]
    ready = all(check.ok for check in checks)
    return Answer(ReadyView(ready=ready, checks=checks), status=200 if ready else 503)


@route("GET", "/metrics", tags=("operation",), produces="text/plain", refuses=("not_found",))
async def read_metrics(call: Call) -> web.Response:
    """Figures for Prometheus."""
    if not call.services.settings.metrics:
        raise Refusal("not_found", "Figures are switched off. Set metrics = true in the settings file.")
    headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
    return web.Response(body=call.services.metrics.text(), headers=headers)


@route("GET", "/v1/openapi.json", tags=("operation",), etag=True, produces=JSON)
async def read_openapi(call: Call) -> web.Response:
    """This interface as an OpenAPI 3.1 document."""
    text = await _made(call.services, _openapi_text)
    etag = hashlib.sha256(text).hexdigest()[:32]
    headers = {"ETag": f'"{etag}"', "Cache-Control": "no-cache"}
    if call.if_none_match == etag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=text, content_type=JSON, headers=headers)


@route("GET", "/v1/docs", tags=("operation",), produces="text/html")
async def read_docs(call: Call) -> web.Response:
    """This interface as a page for people."""
    return page_response(call, await _made(call.services, _docs_text), "text/html")


async def _made(services: Services, make: object) -> bytes:
    """A document, made once in a thread (about 50 ms)."""
    found = services.documents.get(make)
    if found is None:
        assert callable(make)
        found = services.documents[make] = await asyncio.get_running_loop().run_in_executor(None, make, services)
    return found


def _openapi_text(services: Services) -> bytes:
    return json.dumps(openapi_document(services.bindings, own_version(), services.keys.cookie), indent=1).encode()


def _docs_text(services: Services) -> bytes:
    return docs_page(openapi_document(services.bindings, own_version(), services.keys.cookie)).encode()
