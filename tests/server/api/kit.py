"""A front on a free port of this machine, in this process, with routes of the test's own; and a raw client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from server.api import front as fronts
from server.api.binding import bind
from server.api.connections import Connections
from server.api.front import Front
from server.api.guard import Names
from server.api.route import ROUTES, Route
from server.api.services import Services
from server.api.session import Keys
from server.api.table import Table, light_table, whole_table
from server.configuration import Settings
from server.health import Health
from server.metrics import Metrics

TOKEN = "t" * 43
SECRET = b"s" * 43
LIMIT_S = 20


@dataclass
class Served:
    """A front that listens."""

    port: int
    front: Front
    connections: Connections
    services: Services

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}"}

    @property
    def session(self) -> dict[str, str]:
        """Headers of a page with a session."""
        cookie = f"{self.services.keys.cookie}={self.services.keys.open_session()}"
        return {"Cookie": cookie, "Origin": self.url, "Sec-Fetch-Site": "same-origin"}

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any, Any]:
        """Status, headers and body (JSON where it is some)."""
        async with aiohttp.ClientSession() as client, client.request(method, self.url + path, **options) as answer:
            body = await answer.json(content_type=None) if "json" in answer.content_type else await answer.read()
            return answer.status, answer.headers, body

    async def raw(self, data: bytes, half_close: bool = False) -> bytes:
        """Everything that is answered to these bytes until the server closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        if half_close:
            writer.write_eof()
        try:
            async with asyncio.timeout(LIMIT_S):
                return await reader.read(-1)
        except ConnectionError:
            return b""
        finally:
            writer.close()


@asynccontextmanager
async def served(
    home: Path, routes: Sequence[Route] | None = None, whole: bool = False, **settings: Any
) -> AsyncIterator[Served]:
    """A front with the routes that a test declared (or all of the server's)."""
    home.mkdir(mode=0o700, exist_ok=True)
    configuration = Settings(**settings)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    keys = Keys(TOKEN, SECRET, port)
    front = Front(Names.of(port, configuration.hosts, configuration.origins), keys, light_table())
    connections = Connections(front.answer, configuration.limits())
    table = whole_table() if whole else Table(routes or (), bind(list(routes or ())))
    health = Health(home, configuration.min_free_bytes)
    services = Services(configuration, keys, Metrics(), health, front.guesses, table.bindings)
    for name in (one.name for one in fields(Services) if not one.init):
        setattr(services, name, None)  # parts that a test needs it sets itself
    front.open(table, services)
    await connections.listen(listener)
    try:
        yield Served(port, front, connections, services)
    finally:
        await connections.close(0.1)


def declared(declare: Callable[[], None]) -> list[Route]:
    """The routes that `declare` adds, taken out of the server's table again."""
    before = len(ROUTES)
    declare()
    found = ROUTES[before:]
    del ROUTES[before:]
    return found


def run(step: Awaitable[Any]) -> Any:
    """Run a test's coroutine, within a generous time."""

    async def bounded() -> Any:
        async with asyncio.timeout(LIMIT_S * 2):
            return await step

    return asyncio.run(bounded())


__all__ = ["LIMIT_S", "TOKEN", "Served", "declared", "fronts", "run", "served", "web"]
