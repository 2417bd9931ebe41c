"""Events of jobs as they happen, as server-sent events: a snapshot first, then numbered deltas, resumable.

Written with aiohttp's own stream: aiohttp-sse encodes each event per reader and keeps a task per stream for its pings,
which a thousand streams that share every byte need not have.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

from aiohttp import web

from server.api.models import JobId
from server.api.route import Call, route
from server.jobs.hub import Reader, Stream

#: Bytes that the kernel may hold for one stream; it takes what is above as backpressure, and the stream skips to the latest.
SEND_BUFFER_BYTES: Final = 128 * 1024

_HEADERS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_BEGIN: Final = b"retry: 1000\n\n"
_ALIVE: Final = b": alive\n\n"
_LAST_ID: Final = {"Last-Event-ID": "The id of the last event that was received; what came since is sent, or a new snapshot."}


@route(
    "GET",
    "/v1/jobs/{id}/events",
    tags=("events",),
    refuses=("not_found",),
    produces="text/event-stream",
    headers=_LAST_ID,
)
async def job_events(call: Call, id: JobId) -> web.StreamResponse:
    """Follow a job.

    First a `snapshot` with every node's row, then `job`, `planned`, `cached`, `node`, `progress` and `note` events, and
    `end` last, after which the stream closes. Every event says all there is to say of its node. A comment is sent every
    15 seconds. Readers that do not read are disconnected. After `end` a reconnect with its id is answered 204.
    """
    facts = call.services.hub.look(id)
    job = facts.job if facts is not None else await call.services.desk.get(id)
    return await follow(call, call.services.hub.stream(job))


@route("GET", "/v1/events", tags=("events",), produces="text/event-stream", headers=_LAST_ID)
async def all_events(call: Call) -> web.StreamResponse:
    """Follow every job's state, and the queue.

    First a `snapshot` with the running jobs and the queue, then `job`, `end`, `deleted` and `queue` events.
    """
    return await follow(call, call.services.hub.all)


async def follow(call: Call, stream: Stream) -> web.StreamResponse:
    """Write a stream to the client until it ends or the client is gone."""
    request, hub = call.request, call.services.hub
    last_id = request.headers.get("Last-Event-ID")
    if stream.has_ended and stream.place_of(last_id) == stream.seq:
        return web.Response(status=204)  # tells EventSource not to come again
    response = web.StreamResponse(headers=_HEADERS)
    transport = request.transport
    if transport is None or request.method == "HEAD":
        return response
    reader = hub.reader(transport, transport.abort)
    try:
        reader.add(stream, last_id)  # before anything is awaited: the stream of a job that waits is kept by its readers
        await call.begin(response)
        bound_send_buffer(transport)
        await _write(response, reader, stream)
    except ConnectionResetError:
        pass  # the client is gone
    finally:
        reader.close()
    return response


async def _write(response: web.StreamResponse, reader: Reader, stream: Stream) -> None:
    await response.write(_BEGIN)
    while stream.name in reader and not reader.is_over:
        await reader.wait()
        await response.write(reader.take_sse(stream.name) or _ALIVE)
    await response.write_eof()


def bound_send_buffer(transport: asyncio.Transport) -> None:
    """Have the kernel hold little of what a slow reader does not take: what it gets then is new, and memory is bounded."""
    found = transport.get_extra_info("socket")
    if found is not None:
        with suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
