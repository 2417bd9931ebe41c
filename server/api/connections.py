"""Connections: how many there may be, and how long each may take for headers, for idling and for taking what it asked for.

This is below requests: a client that never finishes its headers never becomes one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple, cast

from aiohttp import web

from server.api.headers import set_headers
from server.api.problems import problem_response
from server.problems import Refusal

_log: Final = logging.getLogger("latentgraph.http")

#: Reading what an ended request still sends, so that the client gets to read the answer instead of a reset.
LINGER_S: Final = 0.3
MOST_LINE_BYTES: Final = 8190
#: A connection whose headers have grown over this without being whole is closed.
MOST_HEADER_BYTES: Final = 16 * 1024
_MOST_HEADERS: Final = 100
#: Connections that the kernel may hold until they are accepted.
_BACKLOG: Final = 1024
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)
#: Files that are kept from connections: some 25 are open always, each upload and download has one or two, and connections that
#: are refused one each until they are closed.
RESERVED_FILES: Final = 256
#: Accepted in one go. asyncio goes on with the others even when it has no file descriptor left, and tells of each.
_ACCEPTED_AT_ONCE: Final = 16


class Limits(NamedTuple):
    """What `server.configuration.Settings` says of connections; these stand until the settings are read."""

    header_s: float = 10.0
    idle_s: float = 75.0
    write_stall_s: float = 30.0
    max_connections: int = 4096
    max_connections_per_address: int = 1024

    @property
    def open_files(self) -> int:
        """How many files a process must be allowed to have open for these."""
        return self.max_connections + RESERVED_FILES

    def within(self, open_files: int) -> Limits:
        """The same for a process that may have so many files open: with few of them a quarter is for connections."""
        most = max(open_files - RESERVED_FILES, open_files // 4)
        return self._replace(max_connections=min(self.max_connections, most))

    def shortage(self, open_files: int) -> str:
        """What it means that a process may have no more files open than so many, and what to do; "" if it means nothing."""
        found = self.within(open_files).max_connections
        if found == self.max_connections:
            return ""
        return (
            f"The system allows the server {open_files} open files, so it takes {found} connections at a time instead of "
            f"max_connections = {self.max_connections}. Raise that limit to {self.open_files} (`ulimit -n`; LimitNOFILE of a "
            "systemd unit), or lower max_connections."
        )


class Connections:
    """Listens for a handler of requests, within limits that hold for connections made from then on."""

    def __init__(self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]], limits: Limits) -> None:
        self.limits = limits
        self.count = 0
        self.by_address: Counter[str] = Counter()
        self._handler = handler
        self._server: web.Server | None = None
        self._listeners: list[asyncio.Server] = []

    async def listen(self, *sockets: socket.socket) -> None:
        """Accept connections on sockets that are bound."""
        loop = asyncio.get_running_loop()
        # Not a `web.Application`: its dispatcher and middlewares are ours (`server.api.table`, `server.api.front`).
        server = self._server = web.Server(cast(Any, self._handler), request_factory=partial(_request, loop))
        for one in sockets:
            listener = await loop.create_server(lambda: Connection(server, self), sock=one, backlog=_ACCEPTED_AT_ONCE)
            self._listeners.append(listener)
            one.listen(_BACKLOG)

    async def close(self, grace_s: float) -> None:
        """Accept no more; requests under way get `grace_s` to end."""
        for listener in self._listeners:
            listener.close()
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(grace_s)

    def admit(self, address: str) -> bool:
        """Count a connection; False if there are too many."""
        self.count += 1
        self.by_address[address] += 1
        limits = self.limits
        most = limits.max_connections if _is_loopback(address) else limits.max_connections_per_address
        return self.count <= limits.max_connections and self.by_address[address] <= most

    def release(self, address: str) -> None:
        """A counted connection is gone."""
        self.count -= 1
        self.by_address[address] -= 1
        if not self.by_address[address]:
            del self.by_address[address]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _request(
    loop: asyncio.AbstractEventLoop, message: Any, payload: Any, protocol: Any, writer: Any, task: Any
) -> web.Request:  # Any: aiohttp's own parts, handed on
    return web.Request(message, payload, protocol, writer, task, loop)


class Connection(web.RequestHandler):
    """One connection: aiohttp's protocol with deadlines."""

    __slots__ = ("_address", "_connections", "_header_bytes", "_header_timer", "_stall_timer")

    def __init__(self, server: web.Server, connections: Connections) -> None:
        limits = connections.limits
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.idle_s,
            lingering_time=LINGER_S,
            max_line_size=MOST_LINE_BYTES,
            max_field_size=MOST_LINE_BYTES,
            max_headers=_MOST_HEADERS,
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]  # aiohttp takes it for "none"
            logger=_log,
        )
        self._connections = connections
        self._address: str | None = None
        self._header_bytes = 0
        self._header_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it; one too many is told so and closed."""
        name = transport.get_extra_info("peername")
        self._address = name[0] if isinstance(name, tuple) else ""
        is_admitted = self._connections.admit(self._address)
        self._bound_sending(transport)
        super().connection_made(transport)
        if not is_admitted:
            cast(asyncio.Transport, transport).write(_TOO_MANY)
            self.force_close()

    def _bound_sending(self, transport: asyncio.BaseTransport) -> None:
        """Have the kernel (Linux) drop a client that takes nothing, also the little that is left when we have closed."""
        one = transport.get_extra_info("socket")
        if _USER_TIMEOUT is not None and one is not None and one.family in (socket.AF_INET, socket.AF_INET6):
            one.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, int(self._connections.limits.write_stall_s * 1000))

    def connection_lost(self, exc: BaseException | None) -> None:
        """Uncount it and stop its clocks."""
        if self._address is not None:
            self._connections.release(self._address)
            self._address = None
        self._stop_header_timer()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse; headers that have begun and are not whole must be so before the deadline."""
        super().data_received(data)
        waits = self._waiter is not None and not self._waiter.done() and not self._messages
        if not waits or self._payload_parser is not None or self._force_close:
            self._stop_header_timer()
            return
        self._header_bytes += len(data)
        if self._header_bytes > MOST_HEADER_BYTES:
            self._abort("its headers are too long")
        elif self._header_timer is None and data:
            seconds = self._connections.limits.header_s
            self._header_timer = self._loop.call_later(seconds, self._abort, "its headers did not come in time")

    def _stop_header_timer(self) -> None:
        self._header_bytes = 0
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def pause_writing(self) -> None:
        """The client takes nothing: it has until the deadline to go on."""
        super().pause_writing()
        seconds = self._connections.limits.write_stall_s
        self._stall_timer = self._loop.call_later(seconds, self._abort, "it does not take its answer")

    def resume_writing(self) -> None:
        """The client goes on."""
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
        super().resume_writing()

    def _abort(self, reason: str) -> None:
        _log.info("A connection was closed: %s.", reason)
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """The answer to bytes that are no HTTP: never what aiohttp found in them."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer had begun")
        if isinstance(exc, ConnectionError):
            _log.info("A client went away in the middle of its request.")
        elif status >= 500:
            _log.error("A request failed outside its route.", exc_info=exc)
        code, text = (
            ("malformed", "This is no HTTP request as RFC 9112 says.")
            if status < 500
            else ("internal", "The server made a mistake.")
        )
        response = problem_response(Refusal(code, text))
        set_headers(response)
        response.force_close()
        return response


def _refusal_bytes(refusal: Refusal) -> bytes:
    body = json.dumps(refusal.document()).encode()
    head = (
        f"HTTP/1.1 {refusal.status} {refusal.document()['title']}\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


_TOO_MANY: Final = _refusal_bytes(
    Refusal("too_many_connections", "Too many connections are open. Close some, or try again in a second.", retry_after_s=1)
)
