"""Saved workflows over HTTP: list, read, save, versions; and what would happen if one ran: validate, plan, why."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final, Literal, cast

from aiohttp import web
from pydantic import ConfigDict, Field

from graph.compile import Compiled
from graph.document import Document, write_document
from graph.errors import Problem, WorkflowError
from server.api.models import JsonObject, Model, Name, NodeId, WorkflowProblem
from server.api.route import JSON, Answer, Call, route
from server.api.routes.jobs import Inputs, JobRequest
from server.jobs.orders import Limits
from server.library.checking import MOST_PROBLEMS, Checked, check, pointer_in_body, read_object, refuse_large
from server.library.names import content_disposition
from server.library.precondition import Precondition
from server.library.workflows import Entry, Saved, Version
from server.problems import Refusal, problem_json

_READS: Final = ("invalid_workflow", "too_large", "forbidden")
_CHANGES: Final = ("precondition_required", "precondition_failed", "disk_full", "forbidden")
#: For the document: the same request to validate, to plan, and (with a node) to ask why.
_EXAMPLE: Final[JsonObject] = {"workflow": "mini_text_to_image", "inputs": {"seed": 8}}
_DOCUMENT: Final[JsonObject] = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "nodes": {"three": {"type": "number", "inputs": {"value": 3}}},
    "outputs": {"three": {"from": "three.value"}},
}


class WorkflowBody(Model):
    """A workflow document; GET /v1/workflow.schema.json has its JSON Schema."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, json_schema_extra={"examples": [_DOCUMENT]})

    @property
    def raw(self) -> dict[str, Any]:  # Any: plain JSON
        """The document as it came."""
        return self.__pydantic_extra__ or {}


class WorkflowEntry(Model):
    """A saved workflow. Times are seconds since 1970."""

    name: str
    etag: str
    """Version of its content, for If-Match."""
    modified: float
    size_bytes: int
    source: Literal["own", "folder", "template"]
    """own: in the data folder; folder: in one the operator named; template: shipped, read-only."""
    title: str
    description: str
    nodes: int
    inputs: list[str]
    outputs: list[str]
    missing_types: list[str] | None
    """Node types that this machine does not have; null while the node types are not known yet."""
    missing_models: list[str] | None
    problem: str | None
    """Why the file is no workflow; it can be read at .../file."""


class WorkflowList(Model):
    """All saved workflows, by name."""

    workflows: list[WorkflowEntry]


class SavedView(Model):
    """What was saved."""

    name: str
    etag: str
    modified: float
    source: Literal["own", "folder", "template"]


class NewName(Model):
    """Another name."""

    name: Name


class VersionView(Model):
    """A version; the current one has the highest number."""

    version: int
    etag: str
    modified: float
    size_bytes: int
    current: bool


class VersionList(Model):
    """The versions of a workflow, newest first."""

    versions: list[VersionView]


VersionNumber = Annotated[int, Field(ge=1, le=999_999)]


class RestoreRequest(Model):
    """Which version is to become the newest."""

    version: VersionNumber


class ValidateRequest(Model):
    """What is to be checked."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    workflow: JsonObject | Name
    """A workflow document, or the name of a saved one."""
    inputs: Inputs = {}
    """Values of the workflow's named inputs."""


class Validated(Model):
    """Whether it could run, and all that is in the way (the first 200 problems)."""

    valid: bool
    problems: list[WorkflowProblem]
    nodes: int
    """How many nodes it has, subgraphs unfolded."""


class WhyRequest(Model):
    """Which node is asked about."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_EXAMPLE, "node": "denoise"}]})

    workflow: JsonObject | Name
    inputs: Inputs = {}
    node: NodeId


class PlannedNodeView(Model):
    """What would happen to a node."""

    id: str
    type: str
    state: str
    """cached, run, skipped, ..."""
    tasks: int
    running: int
    """How many of its tasks (elements of a mapped node) would run."""
    reason: str
    place: str
    seconds: float | None
    """From past runs; null before the first."""
    peak_bytes: int | None


class PlanView(Model):
    """What a run would do."""

    nodes: list[PlannedNodeView]
    seconds: float | None
    peak_bytes: dict[str, int]
    """By place."""
    absent: dict[str, str]
    """Named outputs that would not be there, and why."""


class ReasonView(Model):
    """One sentence about a node; `part` is the input, "code" or "environment" it is about, or empty."""

    node: str
    part: str
    message: str


class WhyView(Model):
    """Why a node would run, or not."""

    node: str
    reasons: list[ReasonView]


# Saved workflows.


@route("GET", "/v1/workflows", tags=("workflows",), refuses=("forbidden",))
async def list_workflows(call: Call) -> WorkflowList:
    """List the saved workflows and the shipped templates."""
    return WorkflowList(workflows=[_entry(entry) for entry in await call.services.workflows.entries()])


@route("GET", "/v1/workflows/{name}", tags=("workflows",), refuses=("not_found", *_READS), etag=True)
async def read_workflow(call: Call, name: Name) -> Answer[JsonObject]:
    """Read a saved workflow's document.

    A file that is no workflow is refused with its problems; .../file gives its bytes.
    """
    saved: Saved = await call.services.workflows.read(name)
    return await _document(call, saved)


@route(
    "GET",
    "/v1/workflows/{name}/file",
    tags=("workflows",),
    refuses=("not_found", "too_large"),
    produces="application/octet-stream",
)
async def download_workflow(call: Call, name: Name) -> web.StreamResponse:
    """Download a saved workflow's file, whatever it holds."""
    saved: Saved = await call.services.workflows.read(name)
    headers = {"Content-Disposition": content_disposition(f"{name}.json", inline=False), "ETag": f'"{saved.etag}"'}
    return web.Response(body=saved.text, content_type="application/octet-stream", headers=headers)


@route(
    "PUT", "/v1/workflows/{name}", tags=("workflows",), etag=True, if_match=True,
    refuses=("invalid_workflow", "invalid", "too_large", *_CHANGES),
    headers={"If-None-Match": "`*`: create only, replace nothing."},
)  # fmt: skip
async def save_workflow(call: Call, name: Name, body: WorkflowBody) -> Answer[SavedView]:
    """Save a workflow under this name; what it replaces becomes a version.

    One that exists is replaced only with If-Match and its ETag (428 without, 412 if it was changed meanwhile, by whomever).
    Node types that this machine does not know are taken; the document's form must be right. A template of this name stays,
    and yours counts from then on.
    """
    document = await asyncio.to_thread(read_object, body.raw)
    refuse_large(document, call.services.settings.max_nodes)
    return _saved(await call.services.workflows.save(name, document, _precondition(call)))


@route("DELETE", "/v1/workflows/{name}", tags=("workflows",), refuses=("not_found", "too_large", *_CHANGES), if_match=True)
async def delete_workflow(call: Call, name: Name) -> None:
    """Delete a saved workflow; its versions stay, so that restore brings it back. Jobs made from it go on."""
    await call.services.workflows.delete(name, _precondition(call))


@route(
    "POST", "/v1/workflows/{name}/rename", tags=("workflows",), if_match=True, etag=True,
    refuses=("not_found", "invalid", "too_large", *_CHANGES),
)  # fmt: skip
async def rename_workflow(call: Call, name: Name, body: NewName) -> Answer[SavedView]:
    """Give a workflow and its versions another name that is free."""
    return _saved(await call.services.workflows.rename(name, body.name, _precondition(call)))


@route(
    "POST", "/v1/workflows/{name}/copy", tags=("workflows",), etag=True,
    refuses=("not_found", "invalid", "too_large", "precondition_failed", "disk_full", "forbidden"),
)  # fmt: skip
async def copy_workflow(call: Call, name: Name, body: NewName) -> Answer[SavedView]:
    """Copy a workflow, or a template, to a name that is free."""
    return _saved(await call.services.workflows.copy(name, body.name))


@route("GET", "/v1/workflows/{name}/versions", tags=("workflows",), refuses=("not_found", "too_large", "forbidden"))
async def list_versions(call: Call, name: Name) -> VersionList:
    """List the versions of a workflow, newest first: the current one and the last 50 it replaced; of a deleted one too."""
    return VersionList(versions=[_version(version) for version in await call.services.workflows.versions(name)])


@route(
    "GET", "/v1/workflows/{name}/versions/{version}", tags=("workflows",), etag=True,
    refuses=("not_found", *_READS),
)  # fmt: skip
async def read_version(call: Call, name: Name, version: VersionNumber) -> Answer[JsonObject]:
    """Read one version's document."""
    return await _document(call, await call.services.workflows.version(name, version))


@route(
    "POST", "/v1/workflows/{name}/restore", tags=("workflows",), if_match=True, etag=True,
    refuses=("not_found", "invalid_workflow", "invalid", "too_large", *_CHANGES),
)  # fmt: skip
async def restore_version(call: Call, name: Name, body: RestoreRequest) -> Answer[SavedView]:
    """Make an earlier version the newest one. A deleted workflow comes back without If-Match."""
    return _saved(await call.services.workflows.restore(name, body.version, _precondition(call)))


# What would happen.


@route(
    "POST", "/v1/workflows/validate", tags=("workflows",),
    refuses=("not_found", "too_large", "forbidden", "catalogue_unavailable"),
)  # fmt: skip
async def validate_workflow(call: Call, body: ValidateRequest) -> Validated:
    """Check a workflow and tell every problem; runs nothing and needs no engine.

    Files and models that it names and this machine does not have are problems too. POST /v1/jobs refuses what this does, but
    for models: a job may wait for one that is still to come, and fails if it is not there when the job's turn has come.
    """
    try:
        document = await _meant(call, body.workflow)
        checked = await _checked(call, document, body.inputs)
    except Refusal as refusal:
        if refusal.code != "invalid_workflow":
            raise
        nodes = body.workflow.get("nodes") if isinstance(body.workflow, dict) else None
        return _validated(Checked(refusal.problems, len(nodes) if isinstance(nodes, dict) else 0, None))
    return _validated(checked)


@route(
    "POST", "/v1/workflows/plan", tags=("workflows",),
    refuses=("not_found", *_READS, "catalogue_unavailable", "engine_unavailable", "not_ready_in_time"),
)  # fmt: skip
async def plan_workflow(call: Call, body: JobRequest) -> PlanView:
    """Tell what a run would do: what is remembered, what runs and where, how long, how much memory. Draws no seeds."""
    text = await _runnable(call, body.workflow, body.inputs)
    found = await call.services.engine.ask("plan", document=text, targets=body.targets)
    return PlanView.model_validate(found, strict=False)


@route(
    "POST", "/v1/workflows/why", tags=("workflows",),
    refuses=("not_found", *_READS, "catalogue_unavailable", "engine_unavailable", "not_ready_in_time"),
)  # fmt: skip
async def why_node(call: Call, body: WhyRequest) -> WhyView:
    """Tell why a node would run again, or why not."""
    text = await _runnable(call, body.workflow, body.inputs)
    found = await call.services.engine.ask("why", document=text, node=body.node)
    return WhyView.model_validate({"node": body.node, "reasons": found["reasons"]}, strict=False)


# Steps.


def _precondition(call: Call) -> Precondition:
    return Precondition(call.if_match, call.if_none_match)


async def _document(call: Call, saved: Saved) -> Answer[JsonObject]:
    """The document's text as it lies there, if it is one: writing it again would only cost time."""
    await asyncio.to_thread(saved.document)
    headers = {"ETag": f'"{saved.etag}"'}
    if call.if_none_match == saved.etag:
        return cast("Answer[JsonObject]", web.Response(status=304, headers=headers))
    return cast("Answer[JsonObject]", web.Response(body=saved.text, content_type=JSON, headers=headers))


async def _meant(call: Call, workflow: dict[str, Any] | str) -> Document:
    """The document that a request means. Raises Refusal `not_found`, `invalid_workflow`, `too_large`."""
    if isinstance(workflow, str):
        document: Document = await call.services.workflows.document(workflow)
    else:
        document = await asyncio.to_thread(read_object, workflow, "/workflow")
    refuse_large(document, call.services.settings.max_nodes)
    return document


async def _checked(call: Call, document: Document, inputs: dict[str, Any]) -> Checked:
    specs, limits = call.services.catalogue.specs, Limits(nodes=call.services.settings.max_nodes)
    files, models = call.services.files, call.services.models

    def missing(compiled: Compiled) -> list[Problem]:
        return [*files.missing(compiled), *models.missing(compiled)]

    return await asyncio.to_thread(check, document, inputs, specs, limits, missing)


async def _runnable(call: Call, workflow: dict[str, Any] | str, inputs: dict[str, Any]) -> bytes:
    """The canonical text of a valid workflow with its inputs set. Raises Refusal `invalid_workflow` with every problem."""
    document = await _meant(call, workflow)
    checked = await _checked(call, document, inputs)
    if checked.problems:
        refusal = Refusal.of_workflow(WorkflowError(checked.problems[:MOST_PROBLEMS]))
        refusal.pointer = pointer_in_body(checked.problems[0], workflow, document, inputs)
        raise refusal
    return await asyncio.to_thread(lambda: write_document(document.with_inputs(inputs)).encode())


def _validated(checked: Checked) -> Validated:
    problems = [WorkflowProblem(**problem_json(problem)) for problem in checked.problems[:MOST_PROBLEMS]]
    return Validated(valid=not problems, problems=problems, nodes=checked.nodes)


def _entry(entry: Entry) -> WorkflowEntry:
    return WorkflowEntry.model_validate(entry._asdict(), strict=False)


def _saved(saved: Saved) -> Answer[SavedView]:
    view = SavedView(name=saved.name, etag=saved.etag, modified=saved.modified, source=saved.source)
    return Answer(view, etag=saved.etag)


def _version(version: Version) -> VersionView:
    return VersionView(
        version=version.number, etag=version.etag, modified=version.modified, size_bytes=version.size_bytes,
        current=version.is_current,
    )  # fmt: skip
