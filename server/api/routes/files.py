"""Uploaded files over HTTP: send, list, look at, delete. A file's id is the SHA-256 of its content."""

from __future__ import annotations

import os
from typing import Final, Literal
from urllib.parse import unquote_to_bytes

from aiohttp import web
from pydantic import Field

from graph.document import Document, document_to_json
from server.api.content import RANGE_HEADERS, content_headers, file_response
from server.api.models import JsonObject, Model, Sha256
from server.api.route import Answer, Call, route
from server.library.media import Media
from server.library.uploads import Upload, media_at
from server.problems import Refusal

WEBP: Final = Media("image", "image/webp", ".webp")
_NAME: Final = {"X-File-Name": "The name that it is shown by: UTF-8, percent-encoded. It never becomes a path."}
_LONGEST_NAME: Final = 3000


class FileView(Model):
    """An uploaded file."""

    sha256: Sha256
    """Its id: what a workflow names it by, beside its name."""
    name: str
    """For show; cleaned of what could mislead."""
    size: int
    kind: Literal["image", "video", "curve", "other"]
    """Decided by its bytes, not by its name."""
    created: float
    """When it came or was last named, in seconds since 1970."""


class FilePage(Model):
    """Files, newest first."""

    files: list[FileView]
    next: str | None
    """`cursor` of the next page; null on the last."""


class FileQuery(Model):
    """Which files."""

    cursor: str | None = Field(None, max_length=120)
    """`next` of the page before."""
    limit: int = Field(50, ge=1, le=200)


class ThumbnailQuery(Model):
    """How large."""

    size: int = Field(256, ge=16, le=512)
    """Pixels of the longer side, rounded up to 128, 256 or 512."""


class CarriedWorkflow(Model):
    """What a picture carries. It was not run, and nothing was installed for it."""

    workflow: JsonObject
    """The document, as POST /v1/jobs and PUT /v1/workflows/{name} take it."""


@route(
    "POST", "/v1/files", answers=201, tags=("files",), takes="application/octet-stream", headers=_NAME,
    refuses=("too_large", "disk_full", "malformed"),
)  # fmt: skip
async def upload_file(call: Call) -> Answer[FileView]:
    """Send a file: its bytes as they are, its name in a header.

    The same content again is the same file. It is kept while a job or a saved workflow names it, and for a day otherwise.
    """
    limit = call.services.files.most_bytes
    upload = await call.services.files.store(call.chunks(limit), _name(call.request.headers.get("X-File-Name", "")))
    return Answer(_view(upload), headers={"Location": f"/v1/files/{upload.sha256}"})


@route("GET", "/v1/files", tags=("files",))
async def list_files(call: Call, query: FileQuery) -> FilePage:
    """List the files, newest first."""
    page = await call.services.files.page(query.limit, query.cursor)
    return FilePage(files=[_view(upload) for upload in page.files], next=page.next)


@route("GET", "/v1/files/{sha256}", tags=("files",), refuses=("not_found",))
async def read_file(call: Call, sha256: Sha256) -> FileView:
    """Tell whether a file is here, and what it is. HEAD tells the same by its status."""
    return _view(await call.services.files.find(sha256))


@route(
    "GET", "/v1/files/{sha256}/content", tags=("files",), refuses=("not_found", "range_not_satisfiable"), produces="*/*",
    etag=True, headers=RANGE_HEADERS,
)  # fmt: skip
async def download_file(call: Call, sha256: Sha256) -> web.StreamResponse:
    """Download a file, or a part of it. Only raster pictures and videos are shown in place; all else is an attachment."""
    upload = await call.services.files.find(sha256)
    opened = call.services.files.open(sha256)
    return await file_response(call, opened, media_at(opened), upload.name, sha256)


@route("DELETE", "/v1/files/{sha256}", answers=204, tags=("files",), refuses=("not_found", "in_use"))
async def delete_file(call: Call, sha256: Sha256) -> None:
    """Delete a file that no job and no saved workflow names."""
    await call.services.files.delete(sha256)
    call.services.pictures.forget(_kept_as(sha256))


@route(
    "GET", "/v1/files/{sha256}/thumbnail", tags=("files",), produces="image/webp", etag=True,
    refuses=("not_found", "unreadable_picture", "not_implemented"),
)  # fmt: skip
async def file_thumbnail(call: Call, sha256: Sha256, query: ThumbnailQuery) -> web.StreamResponse:
    """A small WebP of an uploaded picture."""
    opened = call.services.files.open(sha256)
    try:
        image = await call.services.pictures.thumbnail(_kept_as(sha256), opened.file, query.size)
    finally:
        os.close(opened.file)
    return picture_response(call, image, WEBP, f"{sha256[:12]}.webp", f"{sha256[:32]}-{query.size}")


@route("POST", "/v1/files/{sha256}/workflow", tags=("files",), refuses=("not_found", "unreadable_picture", "invalid_workflow"))
async def file_workflow(call: Call, sha256: Sha256) -> CarriedWorkflow:
    """Read the workflow that an uploaded PNG or WebP carries. It is read as strictly as any other, and never run by this."""
    opened = call.services.files.open(sha256)
    try:
        document: Document = await call.services.pictures.workflow(opened.file)
    finally:
        os.close(opened.file)
    return CarriedWorkflow(workflow=document_to_json(document))


def picture_response(call: Call, image: bytes, media: Media, name: str, etag: str) -> web.Response:
    """A picture made here, kept by the client for good."""
    headers = content_headers(media, name, etag)
    if call.if_none_match in (etag, "*"):
        return web.Response(status=304, headers=headers)
    return web.Response(body=image, headers=headers)


def _view(upload: Upload) -> FileView:
    return FileView(**upload._asdict())


def _kept_as(sha256: str) -> str:
    return f"file-{sha256}"


def _name(header: str) -> str:
    """The name that the header gives. Raises Refusal `malformed` for one that is no percent-encoded UTF-8."""
    try:
        if len(header) > _LONGEST_NAME or not header.isascii():
            raise ValueError
        return unquote_to_bytes(header).decode()
    except ValueError:
        message = f"X-File-Name is no percent-encoded UTF-8 of at most {_LONGEST_NAME} characters. Send encodeURIComponent(name)."
        raise Refusal("malformed", message) from None
