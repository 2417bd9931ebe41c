"""The page's WebSocket: msgpack maps both ways; progress, previews, states and the queue.

A client subscribes to jobs, or to "all" (every job's state and the queue). Each stream begins with a snapshot, and its
frames have numbers without gaps; a client that cannot keep up gets a new snapshot when it reads again.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from typing import Annotated, Any, Final, Literal

import msgpack  # type: ignore[import-untyped]  # has no stubs
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from server.api.models import JobId, Model
from server.api.route import Call, route
from server.api.routes.events import bound_send_buffer
from server.jobs.hub import ALL, Delta, Reader
from server.problems import Refusal

#: Bytes of one message from a client, fragments together.
MOST_MESSAGE_BYTES: Final = 64 * 1024
#: Messages a second from a client, pings among them, and how many may come at once.
MESSAGES_PER_S, MOST_AT_ONCE = 20.0, 60
#: Jobs that one client may follow.
MOST_JOBS: Final = 256
#: Names of changed workflows in one message; with more of them the list says the rest.
MOST_NAMES: Final = 100
#: The server pings a silent client, and closes it without an answer.
_HEARTBEAT_S: Final = 30.0
_CLOSE_S: Final = 3.0


class Subscribe(Model):
    """Follow these jobs, or every job's state and the queue ("all")."""

    do: Literal["subscribe"]
    jobs: Annotated[list[JobId], Field(max_length=MOST_JOBS)] | Literal["all"]
    previews: bool = False
    """Whether pictures of unfinished results are wanted too; only of named jobs."""
    since: dict[str, Annotated[str, StringConstraints(max_length=64)]] = Field({}, max_length=MOST_JOBS + 1)
    """By job ("all" for all): the place to go on from, `epoch` of its snapshot, "-" and the last `seq`."""


class Unsubscribe(Model):
    """Follow these no longer."""

    do: Literal["unsubscribe"]
    jobs: Annotated[list[JobId], Field(max_length=MOST_JOBS)] | Literal["all"]


class Ping(Model):
    """Answered with `pong` and the same number."""

    do: Literal["ping"]
    number: int = Field(0, ge=0, le=2**53 - 1)


_COMMAND: Final = TypeAdapter[Subscribe | Unsubscribe | Ping](
    Annotated[Subscribe | Unsubscribe | Ping, Field(discriminator="do")]
)


@route("GET", "/v1/ws", tags=("events",), refuses=("malformed",), produces="application/vnd.msgpack")
async def open_socket(call: Call) -> web.StreamResponse:
    """Open the WebSocket.

    Binary messages, each a msgpack map. From the client: `{"do": "subscribe", "jobs": [ids] | "all", "previews": bool}`,
    `unsubscribe`, `ping`. From the server: `{"event": ...}`: hello, snapshot, job, planned, cached, node, progress,
    preview, note, queue, end, deleted, error, pong. Who follows "all" also gets `workflows` with the `names` of saved
    workflows that were made, changed or removed, by whomever. Closed with 1008 for what is no command or too many
    messages, 1009 for a message over 64 KiB, 1013 for a client that does not read, 1001 when the server stops.
    """
    socket = web.WebSocketResponse(
        compress=False, max_msg_size=MOST_MESSAGE_BYTES, autoping=False, heartbeat=_HEARTBEAT_S, timeout=_CLOSE_S
    )
    if call.request.method != "GET" or not socket.can_prepare(call.request):
        raise Refusal("malformed", "GET /v1/ws is opened as a WebSocket (version 13). Open it with a WebSocket client.")
    await socket.prepare(call.request)
    transport = call.request.transport
    if transport is not None:
        bound_send_buffer(transport)
        with suppress(ConnectionResetError):
            await _Client(call, socket, transport).serve()
    return socket


class _TooMany(Exception):
    """The client sends more messages than it may."""


class _Garbage(Exception):
    """A message is no msgpack map."""


class _Pace:
    """A bucket of `MOST_AT_ONCE` that fills up by `MESSAGES_PER_S`."""

    def __init__(self) -> None:
        self._left, self._at = float(MOST_AT_ONCE), time.monotonic()

    def count(self) -> None:
        """Count one message. Raises _TooMany."""
        now = time.monotonic()
        self._left = min(MOST_AT_ONCE, self._left + (now - self._at) * MESSAGES_PER_S) - 1
        self._at = now
        if self._left < 0:
            raise _TooMany


class _Client:
    """One open socket: it reads commands, and a task of its own writes what is new."""

    def __init__(self, call: Call, socket: web.WebSocketResponse, transport: asyncio.Transport) -> None:
        self._services, self._socket, self._transport = call.services, socket, transport
        self._reader: Reader = self._services.hub.reader(transport, self._drop)
        self._shedding: asyncio.Task[None] | None = None
        self._noticing: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Until either side ends."""
        writing = asyncio.create_task(self._write())
        try:
            await self._send({"event": "hello", "epoch": self._services.hub.epoch, "limits": _limits()})
            await self._read()
        except (_TooMany, _Garbage) as error:
            text = b"too many messages" if isinstance(error, _TooMany) else b"a message is no command"
            await self._socket.close(code=WSCloseCode.POLICY_VIOLATION, message=text)
        finally:
            noticing = self._noticing
            writing.cancel()
            self._notice(False)
            self._reader.close()
            await asyncio.gather(*filter(None, (writing, noticing, self._shedding)), return_exceptions=True)

    async def _read(self) -> None:
        pace = _Pace()
        while True:
            message = await self._socket.receive()
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                return
            pace.count()
            if message.type == WSMsgType.PING:
                await self._socket.pong(message.data)
            elif message.type != WSMsgType.PONG:
                await self._obey(_unpacked(message))

    async def _obey(self, value: Any) -> None:
        try:
            command = _COMMAND.validate_python(value, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(step)[:40] for step in first["loc"][1:])
            known = (
                'This is no command of the socket. Send "do": "subscribe", "unsubscribe" or "ping"; /v1/docs has their members.'
            )
            text = f"{place}: {first['msg']}. Change it; /v1/docs has the commands." if place else known
            await self._send({"event": "error", "code": "invalid", "detail": text})
            return
        if isinstance(command, Ping):
            await self._send({"event": "pong", "number": command.number})
        elif isinstance(command, Unsubscribe):
            for name in [ALL] if command.jobs == "all" else command.jobs:
                self._reader.remove(name)
            if command.jobs == "all":
                self._notice(False)
        elif command.jobs == "all":
            self._reader.add(self._services.hub.all, command.since.get(ALL))
            self._notice(True)
        else:
            for job in command.jobs:
                await self._follow(job, command)

    async def _follow(self, id: str, command: Subscribe) -> None:
        try:
            if id not in self._reader and len(self._reader) > MOST_JOBS:
                raise Refusal("invalid", f"This socket follows {MOST_JOBS} jobs, which is the most. Unsubscribe from one.")
            facts = self._services.hub.look(id)
            job = facts.job if facts is not None else await self._services.desk.get(id)
        except Refusal as refusal:
            await self._send({"event": "error", "code": refusal.code, "job": id, "detail": refusal.message})
            return
        self._reader.remove(id)
        self._reader.add(self._services.hub.stream(job), command.since.get(id), command.previews)

    def _notice(self, wanted: bool) -> None:
        """Look after the saved workflows, or no longer."""
        if wanted and self._noticing is None:
            self._noticing = asyncio.create_task(self._tell_changes())
        elif not wanted and self._noticing is not None:
            self._noticing.cancel()
            self._noticing = None

    async def _tell_changes(self) -> None:
        with suppress(ConnectionResetError):
            async with aclosing(self._services.workflows.changes()) as changes:
                async for names in changes:
                    await self._send({"event": "workflows", "names": sorted(names)[:MOST_NAMES]})

    async def _write(self) -> None:
        try:
            while not self._reader.is_over:
                await self._reader.wait()
                await self._write_deltas(self._reader.take())
            await self._socket.close(code=WSCloseCode.GOING_AWAY, message=b"the server stops")
        except ConnectionResetError:
            self._transport.abort()

    async def _write_deltas(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            await self._socket.send_bytes(delta.frame())

    async def _send(self, members: dict[str, Any]) -> None:
        await self._socket.send_bytes(msgpack.packb(members, unicode_errors="replace"))

    def _drop(self) -> None:
        """The client does not read: say so, should it still look, and let it go."""
        if self._shedding is None:
            self._shedding = asyncio.create_task(self._shed())

    async def _shed(self) -> None:
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=b"nothing was read for too long", drain=False)
        except (TimeoutError, ConnectionResetError):
            pass
        finally:
            self._transport.abort()


def _limits() -> dict[str, Any]:
    return {
        "message_bytes": MOST_MESSAGE_BYTES,
        "messages_per_second": MESSAGES_PER_S,
        "messages_at_once": MOST_AT_ONCE,
        "jobs": MOST_JOBS,
    }


def _unpacked(message: WSMessage) -> Any:
    """The map in a message. Raises _Garbage."""
    if message.type != WSMsgType.BINARY:
        raise _Garbage
    try:
        value = msgpack.unpackb(message.data, strict_map_key=True, ext_hook=_no_extension, timestamp=0)
    except (ValueError, msgpack.UnpackException, RecursionError, OverflowError) as error:
        raise _Garbage from error
    if not isinstance(value, dict):
        raise _Garbage
    return value


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError("extension types are not taken")
