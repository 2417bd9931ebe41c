"""The node types over HTTP: what there is, what each takes, which type goes where."""

from __future__ import annotations

from typing import Annotated, Any, cast

from aiohttp import web
from pydantic import StringConstraints

from graph.schema import workflow_schema
from server.api.models import JsonObject, Model
from server.api.route import JSON, Answer, Call, route
from server.library.node_types import type_json

Part = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]


class PortView(Model):
    """An input of a node type."""

    name: str
    type: str
    """Wire type: a name, list[name], or T for any."""
    optional: bool
    doc: str
    was: list[str]
    default: Any = None
    """Only there if the input has one."""
    hint: JsonObject | None = None
    """What the value may be: {"hint": "range" | "choice" | "text" | "seed" | "file" | "model", ...}."""


class OutputView(Model):
    """An output of a node type."""

    name: str
    type: str
    doc: str


class NodeTypeView(Model):
    """A node type."""

    id: str
    title: str
    version: int
    doc: str
    category: str
    light: bool
    """Whether planning evaluates it."""
    effect: bool
    """Whether it is run for what it does: it always runs, and is never remembered."""
    cache: bool
    persist: bool
    place: str
    devices: int
    borrows: list[str]
    was: list[str]
    inputs: list[PortView]
    outputs: list[OutputView]
    pack: str | None
    node_schema: JsonObject
    """JSON Schema of a node of this type as it stands in a workflow."""


class WireTypeView(Model):
    """A wire type; plain ones (numbers, text, true or false) can be written into a workflow."""

    name: str
    plain: bool


class PackView(Model):
    """An installed pack of nodes; `problem` says why it gives none."""

    name: str
    distribution: str
    version: str
    nodes: int
    problem: str | None


class NodesView(Model):
    """Everything known of node types."""

    version: str
    """Changes when any of it does."""
    nodes: list[NodeTypeView]
    types: list[WireTypeView]
    fits: dict[str, dict[str, str]]
    """By an output's type, by an input's: "direct", or "map" (a list: the node runs once per element). What is not there does not fit."""
    packs: list[PackView]


@route("GET", "/v1/nodes", tags=("nodes",), refuses=("catalogue_unavailable",), etag=True)
async def list_nodes(call: Call) -> Answer[NodesView]:
    """List the node types with their inputs, outputs and JSON Schemas.

    `fits` is the rule for links. A mapped node's outputs become lists. T stands for any type: all inputs T of a node take
    the same one, and its outputs T give it.
    """
    known = call.services.catalogue.known
    headers = {"ETag": f'"{known.etag}"', "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if call.if_none_match == known.etag:
        return _as_is(web.Response(status=304, headers=headers))
    if _takes_gzip(call.request):
        headers["Content-Encoding"] = "gzip"
        return _as_is(web.Response(body=known.packed, content_type=JSON, headers=headers))
    return _as_is(web.Response(body=known.body, content_type=JSON, headers=headers))


@route("GET", "/v1/nodes/{type}", tags=("nodes",), refuses=("not_found", "catalogue_unavailable"))
async def read_node(call: Call, type: Part) -> NodeTypeView:
    """Read one built-in node type, by its id or a former one."""
    return _view(call, type)


@route("GET", "/v1/nodes/{pack}/{type}", tags=("nodes",), refuses=("not_found", "catalogue_unavailable"))
async def read_pack_node(call: Call, pack: Part, type: Part) -> NodeTypeView:
    """Read one node type of a pack."""
    return _view(call, f"{pack}/{type}")


@route("GET", "/v1/workflow.schema.json", tags=("workflows",))
async def read_workflow_schema(call: Call) -> JsonObject:
    """Read the JSON Schema of workflow documents."""
    return workflow_schema()


def _view(call: Call, type_id: str) -> NodeTypeView:
    return cast(NodeTypeView, web.json_response(type_json(call.services.catalogue.find(type_id))))


def _as_is(response: web.Response) -> Answer[NodesView]:
    """Bytes made once for all clients, in the declared form; binding hands responses on as they are."""
    return cast("Answer[NodesView]", response)


def _takes_gzip(request: web.Request) -> bool:
    parts = (part.strip().replace(" ", "").lower() for part in request.headers.get("Accept-Encoding", "").split(","))
    return any(part == "gzip" or (part.startswith("gzip;q=") and part[7:].strip("0.")) for part in parts)
