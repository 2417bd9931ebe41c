"""The gallery over HTTP: outputs in pages and filters; one with everything it was made with; files, thumbnails, stars."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field, StringConstraints

from graph.document import Document, document_to_json, read_document
from graph.errors import WorkflowError
from server.api.content import RANGE_HEADERS, content_headers, etag_of, file_response
from server.api.models import JobId, JsonObject, Model
from server.api.route import Call, route
from server.api.routes.files import WEBP, CarriedWorkflow, ThumbnailQuery, picture_response
from server.library.gallery import Filter, Output, Record
from server.library.names import OutputId
from server.library.uploads import media_at
from server.problems import Refusal

ShortText = Annotated[str, StringConstraints(max_length=200)]


class OutputLinks(Model):
    """Addresses of an output."""

    self: str
    file: str
    thumbnail: str
    workflow: str
    job: str | None
    """Null for one of the command line."""


class OutputSummary(Model):
    """An output of a node. What its settings do not say is null; times are seconds since 1970."""

    id: OutputId
    file: str
    kind: str
    created: float
    job: str | None
    workflow: str
    prompt: str | None
    model: str | None
    seed: int | None
    width: int | None
    height: int | None
    starred: bool
    links: OutputLinks


class OutputView(OutputSummary):
    """An output with everything it was made with."""

    size: int
    settings: JsonObject
    run: JsonObject
    """The resolved run: seeds, versions, keys. The workflow is at its own address."""


class OutputPage(Model):
    """Outputs, newest first."""

    outputs: list[OutputSummary]
    next: str | None
    """`cursor` of the next page; null on the last."""


class OutputQuery(Model):
    """Which outputs."""

    job: JobId | None = None
    workflow: ShortText | None = None
    """Name of the workflow."""
    kind: ShortText | None = None
    text: ShortText | None = None
    """A part of the prompt."""
    model: ShortText | None = None
    starred: bool | None = None
    cursor: str | None = Field(None, max_length=160)
    """`next` of the page before: new outputs do not move what follows."""
    offset: int = Field(0, ge=0, le=10_000_000)
    """So many that the filter accepts are passed over, after `cursor`."""
    limit: int = Field(50, ge=1, le=200)


class DownloadQuery(Model):
    """In which form."""

    metadata: Literal["all", "none"] = "all"
    """none: the same pixels, without workflow, settings and other notes."""
    form: Literal["original", "webm", "gif"] = "original"
    """webm and gif need a video encoder, which this server may lack (501)."""


@route("GET", "/v1/outputs", tags=("outputs",))
async def list_outputs(call: Call, query: OutputQuery) -> OutputPage:
    """List what was saved, newest first. Only whole outputs are listed, and only these count for limit, offset and pages."""
    filter = Filter(
        job=query.job, workflow=query.workflow, kind=query.kind, text=query.text, model=query.model, starred=query.starred,
        limit=query.limit, offset=query.offset, after=query.cursor,
    )  # fmt: skip
    page = await call.services.outputs.page(filter)
    outputs = [OutputSummary(**_members(output, output.id in page.starred)) for output in page.outputs]
    return OutputPage(outputs=outputs, next=page.next)


@route("GET", "/v1/outputs/{id}", tags=("outputs",), refuses=("not_found",))
async def read_output(call: Call, id: OutputId) -> OutputView:
    """Read an output with its settings and the run that made it."""
    record: Record = await call.services.outputs.get(id)
    members = _members(record.output, record.is_starred)
    return OutputView(**members, size=record.size, settings=dict(record.settings), run=dict(record.run))


@route(
    "GET", "/v1/outputs/{id}/file", tags=("outputs",), produces="*/*", etag=True, headers=RANGE_HEADERS,
    refuses=("not_found", "range_not_satisfiable", "unreadable_picture", "invalid", "not_implemented"),
)  # fmt: skip
async def download_output(call: Call, id: OutputId, query: DownloadQuery) -> web.StreamResponse:
    """Download an output, or a part of it. Only raster pictures and videos are shown in place; all else is an attachment."""
    if query.form != "original":
        raise Refusal("not_implemented", f"This server has no encoder for {query.form}. Download the original.")
    output, opened = await call.services.outputs.open(id)
    media = media_at(opened)
    if query.metadata == "all":
        return await file_response(call, opened, media, output.file, etag_of(opened))
    try:
        if media.kind != "image":
            raise Refusal("invalid", f"Output {id} is no picture; it has no metadata to leave out. Download it as it is.")
        bare = await call.services.pictures.without_notes(opened.file)
    finally:
        os.close(opened.file)
    headers = content_headers(media, output.file, f"{etag_of(opened)}-bare", attachment=True)
    return web.Response(body=bare, headers=headers)


@route(
    "GET", "/v1/outputs/{id}/thumbnail", tags=("outputs",), produces="image/webp", etag=True,
    refuses=("not_found", "unreadable_picture", "not_implemented"),
)  # fmt: skip
async def output_thumbnail(call: Call, id: OutputId, query: ThumbnailQuery) -> web.StreamResponse:
    """A small WebP of an output that is a picture."""
    _, opened = await call.services.outputs.open(id)
    try:
        image = await call.services.pictures.thumbnail(kept_as(id), opened.file, query.size)
    finally:
        os.close(opened.file)
    return picture_response(call, image, WEBP, f"{id}.webp", f"{etag_of(opened)}-{query.size}")


@route("GET", "/v1/outputs/{id}/workflow", tags=("outputs",), refuses=("not_found", "invalid_workflow"))
async def output_workflow(call: Call, id: OutputId) -> CarriedWorkflow:
    """Read the workflow that an output was made with, to load it again."""
    record: Record = await call.services.outputs.get(id)
    if record.workflow is None:
        raise Refusal("not_found", f"Output {id} does not say which workflow made it.")
    try:
        document: Document = await asyncio.to_thread(lambda: read_document(json.dumps(record.workflow)))
    except WorkflowError as error:
        raise Refusal.of_workflow(error) from None
    return CarriedWorkflow(workflow=document_to_json(document))


@route("PUT", "/v1/outputs/{id}/star", answers=204, tags=("outputs",), refuses=("not_found", "disk_full", "forbidden"))
async def star_output(call: Call, id: OutputId) -> None:
    """Mark an output with a star."""
    await call.services.outputs.star(id, True)


@route("DELETE", "/v1/outputs/{id}/star", answers=204, tags=("outputs",), refuses=("not_found", "disk_full", "forbidden"))
async def unstar_output(call: Call, id: OutputId) -> None:
    """Take the star away."""
    await call.services.outputs.star(id, False)


@route("DELETE", "/v1/outputs/{id}", answers=204, tags=("outputs",), refuses=("not_found", "forbidden"))
async def delete_output(call: Call, id: OutputId) -> None:
    """Delete an output: its file, what was noted of it, its thumbnails and its star."""
    await call.services.outputs.delete(id)


def kept_as(id: str) -> str:
    """The name that an output's thumbnails are kept under."""
    return f"output-{id}"


def _members(output: Output, starred: bool) -> JsonObject:
    own = f"/v1/outputs/{output.id}"
    job = output.job or None
    links = OutputLinks(
        self=own,
        file=f"{own}/file",
        thumbnail=f"{own}/thumbnail",
        workflow=f"{own}/workflow",
        job=f"/v1/jobs/{job}" if job else None,
    )
    return {**output._asdict(), "job": job, "starred": starred, "links": links}
