"""What is served before anything else is loaded: the page, its files and `/healthz`. Imports no pydantic."""

from __future__ import annotations

import json
import mimetypes
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web

from server import shipped
from server.api.headers import page_policy
from server.api.route import Call, route
from server.problems import Refusal

#: A small page, for where the canvas was not built.
OWN: Final = Path(__file__).parents[1] / "page"


class Asset(NamedTuple):
    """A file of the page."""

    path: Path
    content_type: str


@cache
def page_folder() -> Path:
    """Where the page lies."""
    return shipped.canvas() or OWN


@cache
def assets(folder: Path) -> dict[str, Asset]:
    """The page's files by name (and those of our own pages), listed once: a request picks from the list and names no path."""
    return {
        path.name: Asset(path, mimetypes.guess_type(path.name)[0] or "application/octet-stream")
        for place in (OWN, folder)
        for path in sorted((place / "assets").iterdir())
        if path.is_file()
    }


@route("GET", "/", access="open", tags=("page",), produces="text/html")
async def read_page(call: Call) -> web.StreamResponse:
    """The page.

    Opened as `/#token=...` it trades the token for a session and forgets it.
    """
    return page_response(call, (page_folder() / "index.html").read_bytes(), "text/html")


@route("GET", "/assets/{name}", access="open", tags=("page",), produces="*/*", refuses=("not_found",))
async def read_asset(call: Call, name: str) -> web.StreamResponse:
    """A file of the page."""
    asset = assets(page_folder()).get(name)
    if asset is None:
        raise Refusal("not_found", "The page has no such file. Load the page again.")
    response = page_response(call, asset.path.read_bytes(), asset.content_type)
    response.headers["Cache-Control"] = "no-cache"
    return response


@route("GET", "/healthz", access="open", tags=("operation",), produces="application/json", also={503: "Work does not go on."})
async def read_health(call: Call) -> web.StreamResponse:
    """Whether work goes on: 200 {"status": "ok"}, or 503 {"status": "stalled"}.

    Also 200 while the server starts. `/readyz` tells more, to who has the token.
    """
    starting = call.services is None
    stalled = not starting and call.services.health.stalled() is not None
    status = "starting" if starting else "stalled" if stalled else "ok"
    return web.json_response({"status": status}, status=503 if stalled else 200, dumps=json.dumps)


def page_response(call: Call, body: bytes, content_type: str) -> web.Response:
    """One of our own pages or its files, with the policy that lets it run."""
    response = web.Response(body=body, content_type=content_type)
    if content_type.startswith("text/"):
        response.charset = "utf-8"
    response.headers["Content-Security-Policy"] = page_policy(call.request.headers["Host"])
    return response
