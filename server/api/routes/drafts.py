"""Drafts over HTTP: what the page saves by itself while somebody edits."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import StringConstraints

from server.api.models import JsonObject, Model, Name
from server.api.route import Answer, Call, route
from server.library.drafts import Draft
from server.library.precondition import Precondition

DraftId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Etag = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

_CHANGES: Final = ("precondition_required", "precondition_failed")


class DraftBody(Model):
    """What is to be kept."""

    document: JsonObject
    """Whatever is being edited; it need not be a valid workflow."""
    workflow: Name | None = None
    """The saved workflow it changes; null for one without a name."""
    base: Etag | None = None
    """ETag of the version it was begun from."""
    closed: bool = False
    """Whether its tab was closed: pages list it, and do not open it by themselves."""


class DraftView(Model):
    """A draft. Times are seconds since 1970."""

    id: str
    workflow: str | None
    base: str | None
    document: JsonObject
    etag: str
    modified: float
    closed: bool


class DraftSaved(Model):
    """What was kept."""

    id: str
    etag: str
    modified: float


class DraftEntryView(Model):
    """A row of the list."""

    id: str
    workflow: str | None
    base: str | None
    title: str
    etag: str
    modified: float
    size_bytes: int
    problem: str | None
    """Why its file cannot be read."""
    closed: bool


class DraftList(Model):
    """All drafts, the last saved first."""

    drafts: list[DraftEntryView]


@route("GET", "/v1/drafts", tags=("drafts",), refuses=("forbidden",))
async def list_drafts(call: Call) -> DraftList:
    """List the drafts."""
    entries = await call.services.drafts.entries()
    return DraftList(drafts=[DraftEntryView.model_validate(entry._asdict()) for entry in entries])


@route("GET", "/v1/drafts/{id}", tags=("drafts",), refuses=("not_found", "conflict", "too_large", "forbidden"), etag=True)
async def read_draft(call: Call, id: DraftId) -> Answer[DraftView]:
    """Read a draft."""
    draft: Draft = await call.services.drafts.read(id)
    return Answer(DraftView(**draft._asdict()), etag=draft.etag)


@route(
    "PUT", "/v1/drafts/{id}", tags=("drafts",), if_match=True, etag=True,
    refuses=("invalid", "too_large", "forbidden", "disk_full", *_CHANGES),
    headers={"If-None-Match": "`*`: create only, replace nothing."},
)  # fmt: skip
async def save_draft(call: Call, id: DraftId, body: DraftBody) -> Answer[DraftSaved]:
    """Keep a draft under an id that the page chose. It survives a crash of page and server.

    One that exists is replaced only with If-Match and its ETag, so that two pages do not overwrite each other.
    """
    draft: Draft = await call.services.drafts.save(
        id, body.document, body.workflow, body.base, _precondition(call), closed=body.closed
    )
    return Answer(DraftSaved(id=draft.id, etag=draft.etag, modified=draft.modified), etag=draft.etag)


@route("DELETE", "/v1/drafts/{id}", tags=("drafts",), refuses=("not_found", "too_large", "forbidden", *_CHANGES), if_match=True)
async def delete_draft(call: Call, id: DraftId) -> None:
    """Forget a draft: it was saved as a workflow, or given up."""
    await call.services.drafts.delete(id, _precondition(call))


def _precondition(call: Call) -> Precondition:
    return Precondition(call.if_match, call.if_none_match)
