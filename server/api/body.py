"""Request bodies: read as they come, with a limit in bytes, a deadline for the first byte and a floor for the rate after.

What is over a limit is refused where it is met and the rest is not read: the connection is closed after the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from server.problems import Refusal

if TYPE_CHECKING:
    from aiohttp import BodyPartReader, web

T = TypeVar("T")

_CHUNK_BYTES: Final = 64 * 1024
#: Bytes of the headers of one part, and how many headers a part may have.
_PART_HEADER_BYTES: Final = 4096
_PART_HEADERS: Final = 16


class Pace(NamedTuple):
    """How slowly a body may come: `grace_s` seconds to its first byte, from then on `bytes_per_s` on average."""

    grace_s: float = 10.0
    bytes_per_s: float = 1000.0


@dataclass(slots=True)
class _Reading:
    """The bytes of one body so far, against its limit and its pace."""

    limit_bytes: int
    pace: Pace
    started: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    count: int = 0

    async def next(self, step: Awaitable[T]) -> T:
        """Wait for a step of reading, but no longer than the pace allows."""
        due = self.started + self.pace.grace_s + self.count / self.pace.bytes_per_s
        try:
            async with asyncio.timeout_at(due):
                return await step
        except TimeoutError:
            raise Refusal(
                "too_slow",
                f"The body comes too slowly: {self.count} bytes so far. Send the first byte within {self.pace.grace_s:g} s "
                f"and at least {self.pace.bytes_per_s:g} bytes per second.",
            ) from None

    def add(self, count: int) -> None:
        """Count bytes that have come. Raises Refusal `too_large`."""
        self.count += count
        if self.count > self.limit_bytes:
            raise too_large(self.limit_bytes)


def too_large(limit_bytes: int) -> Refusal:
    """The refusal of a body that is over its limit."""
    return Refusal("too_large", f"The body is longer than {limit_bytes} bytes. Send less.", limit_bytes=limit_bytes)


def declared_length(request: web.Request) -> int | None:
    """The Content-Length; 0 without a body, None for a body of unknown length (chunked)."""
    length = request.content_length
    if length is not None:
        return length
    return 0 if not request.can_read_body else None


async def _begin(request: web.Request, limit_bytes: int) -> None:
    """Refuse by header what is too long; then let a client that asked go on ("Expect: 100-continue")."""
    if (length := declared_length(request)) is not None and length > limit_bytes:
        raise too_large(limit_bytes)
    if request.headers.get("Expect", "").lower() == "100-continue" and request.can_read_body:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun


async def read_chunks(request: web.Request, limit_bytes: int, pace: Pace) -> AsyncIterator[bytes]:
    """The body in pieces. Raises Refusal `too_large`, `too_slow`, `malformed` (it ended early)."""
    await _begin(request, limit_bytes)
    reading = _Reading(limit_bytes, pace)
    while chunk := await reading.next(_piece(request)):
        reading.add(len(chunk))
        yield chunk


async def _piece(request: web.Request) -> bytes:
    """The next piece; empty at the end."""
    from aiohttp import web

    try:
        return await request.content.read(_CHUNK_BYTES)
    except web.RequestPayloadError:
        raise Refusal("malformed", "The body is not framed as HTTP says. Send it again.") from None


async def read_body(request: web.Request, limit_bytes: int, pace: Pace) -> bytes:
    """The whole body, at most `limit_bytes`. Raises Refusal as `read_chunks`."""
    content = request.content
    if content.is_eof() and content.exception() is None:  # it came with the headers, as small ones do
        await _begin(request, limit_bytes)
        found = content.read_nowait()
        if len(found) > limit_bytes:
            raise too_large(limit_bytes)
        return found
    return b"".join([chunk async for chunk in read_chunks(request, limit_bytes, pace)])


@dataclass(slots=True)
class Part:
    """One part of a multipart body; its content is read with `chunks` or `read`, or left."""

    name: str
    #: The file name that the client gave; None if it is a plain field. Never a path on this machine.
    filename: str | None
    content_type: str
    _reader: BodyPartReader
    _reading: _Reading

    async def chunks(self) -> AsyncIterator[bytes]:
        """The content in pieces."""
        while chunk := await self._reading.next(self._reader.read_chunk(_CHUNK_BYTES)):
            self._reading.add(len(chunk))
            yield chunk

    async def read(self, limit_bytes: int) -> bytes:
        """The whole content. Raises Refusal `too_large`."""
        found = bytearray()
        async for chunk in self.chunks():
            found += chunk
            if len(found) > limit_bytes:
                raise Refusal("too_large", f'The part "{self.name[:40]}" is longer than {limit_bytes} bytes. Send less.')
        return bytes(found)


async def read_parts(request: web.Request, limit_bytes: int, most_parts: int, pace: Pace) -> AsyncIterator[Part]:
    """The parts of a multipart body; what is left of a part is passed over before the next."""
    from aiohttp import BodyPartReader, MultipartReader, web
    from aiohttp.http_exceptions import HttpProcessingError

    await _begin(request, limit_bytes)
    reading = _Reading(limit_bytes, pace)
    try:
        reader = MultipartReader(request.headers, request.content, max_field_size=_PART_HEADER_BYTES, max_headers=_PART_HEADERS)
        for _ in range(most_parts + 1):
            found = await reading.next(reader.next())
            if found is None:
                return
            if not isinstance(found, BodyPartReader):
                raise Refusal("unsupported_type", "A part of the body is multipart itself. Send plain parts only.")
            part = Part(found.name or "", found.filename, found.headers.get("Content-Type", "text/plain"), found, reading)
            yield part
            async for _rest in part.chunks():
                pass
    except (
        ValueError,
        HttpProcessingError,
        web.RequestPayloadError,
        web.HTTPException,
    ):  # what aiohttp raises for what it cannot parse
        raise Refusal("malformed", "The multipart body cannot be read. Send it as RFC 7578 says.") from None
    raise Refusal("too_large", f"The body has more than {most_parts} parts. Send fewer.")
