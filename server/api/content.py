"""Files to clients: in parts as they ask for them, typed by their bytes, and harmless in a browser whatever they hold."""

from __future__ import annotations

import asyncio
import os
import re
from email.utils import formatdate
from typing import Final, NamedTuple

from aiohttp import web

from server.api.route import Call
from server.library.confine import Opened
from server.library.media import Media
from server.library.names import content_disposition
from server.problems import Refusal

#: One id always stands for the same bytes; only this user's own cache may keep them.
_KEPT: Final = "private, max-age=31536000, immutable"
_PART_BYTES: Final = 256 * 1024
_RANGE: Final = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII | re.IGNORECASE)

#: Request headers that `file_response` reads, for the document.
RANGE_HEADERS: Final = {
    "Range": "One part: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Other forms are ignored.",
    "If-Range": "The ETag (or date) for which the part is wanted; if it is another, the whole is sent.",
}


class Part(NamedTuple):
    """Bytes from `start` up to before `end`."""

    start: int
    end: int


def etag_of(opened: Opened) -> str:
    """A mark of a file that is never changed in place, without quotes."""
    return f"{opened.inode:x}-{opened.mtime_ns:x}-{opened.size:x}"


async def file_response(
    call: Call, opened: Opened, media: Media, name: str, etag: str, *, attachment: bool = False
) -> web.StreamResponse:
    """Send an open file, or the part that is asked for, and close it. Raises Refusal `range_not_satisfiable`.

    Raster pictures and videos may be shown in place, everything else is a download.
    """
    try:
        headers = content_headers(media, name, etag, attachment=attachment)
        headers |= {"Accept-Ranges": "bytes", "Last-Modified": formatdate(opened.mtime_ns // 10**9, usegmt=True)}
        if call.if_none_match in (etag, "*"):
            return web.Response(status=304, headers=headers)
        part = _part(call.request, etag, headers["Last-Modified"], opened.size)
        response = web.StreamResponse(status=200 if part is None else 206, headers=headers)
        start, end = part or Part(0, opened.size)
        if part is not None:
            response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{opened.size}"
        response.content_length = end - start
        await call.begin(response)
        if call.request.method != "HEAD":
            await _send(response, opened.file, start, end)
        await response.write_eof()
        return response
    finally:
        os.close(opened.file)


def content_headers(media: Media, name: str, etag: str, *, attachment: bool = False) -> dict[str, str]:
    """The headers of bytes that a user or a node made. Sandbox and nosniff are set for every answer (`server.api.headers`)."""
    return {
        "Content-Type": media.type,
        "Content-Disposition": content_disposition(name, inline=media.is_shown and not attachment),
        "ETag": f'"{etag}"',
        "Cache-Control": _KEPT,
    }


async def _send(response: web.StreamResponse, file: int, start: int, end: int) -> None:
    while start < end:
        data = await asyncio.to_thread(os.pread, file, min(_PART_BYTES, end - start), start)
        if not data:  # it got shorter, against all rules: the client must not take what came for the whole
            raise ConnectionResetError("the file ended early")
        await response.write(data)
        start += len(data)


def _part(request: web.Request, etag: str, modified: str, size: int) -> Part | None:
    """The part that is asked for; None for the whole: no range, one of another version, or a form that is not served."""
    text = request.headers.get("Range")
    if text is None or request.headers.get("If-Range", f'"{etag}"').strip() not in (f'"{etag}"', modified):
        return None
    found = _RANGE.fullmatch(text.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        part = Part(max(0, size - int(found[2])), size)
    elif found[2] and int(found[2]) < int(found[1]):
        return None
    else:
        part = Part(int(found[1]), min(size, int(found[2]) + 1) if found[2] else size)
    if part.start >= part.end:
        message = f"The file has {size} bytes, and {text[:60]} is not among them. Ask for a part of these."
        raise Refusal("range_not_satisfiable", message, size_bytes=size)
    return part
