"""Settings and limits over HTTP, to read; the page's preferences, to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ConfigDict

from graph.flatten import MAX_NESTING, MAX_UNFOLDED
from graph.jsontext import MAX_DEPTH, MAX_INTEGER
from server.api.models import JsonObject, Model
from server.api.route import Answer, Call, route
from server.api.routes.images import MOST_IMAGES
from server.configuration import PREFIX, Settings, Source
from server.jobs.orders import DEFAULT_LIMITS
from server.library import drafts, preferences, workflows
from server.open_files import open_files

#: Their values say where things lie on this machine or who may be told; whether they are set is all that leaves it.
_HIDDEN: Final = frozenset(("workflows_folder", "output_folder", "webhooks"))
SET, NOT_SET = "set", "not set"


class SettingView(Model):
    """A setting; changed by file, variable or flag and a restart, never over HTTP."""

    name: str
    value: bool | int | float | str | list[str] | dict[str, float] | None
    """Folders and secrets are "set" or "not set"."""
    source: Literal["default", "file", "variable", "flag"]
    """Where the value comes from."""
    description: str


class SettingList(Model):
    """Every setting."""

    settings: list[SettingView]


class Limits(Model):
    """How large what is sent may be. Above it: 413, for counts and sizes of jobs 429 or 422."""

    body_bytes: int
    """Of any JSON body."""
    upload_bytes: int
    uploads_bytes: int
    pixels: int
    workflow_nodes: int
    unfolded_nodes: int
    """After subgraphs are unfolded."""
    subgraph_nesting: int
    text_characters: int
    """Of one text that a node is given."""
    inputs: int
    """Named inputs that a job sets."""
    targets: int
    """Targets that a job names."""
    priority: int
    """Priorities go from minus this to this."""
    client_characters: int
    idempotency_key_characters: int
    images: int
    """`n` of a request to /v1/images."""
    json_depth: int
    integer: int
    """Integers beyond this are refused: other programs round them."""
    workflow_file_bytes: int
    """Larger files in the workflows folder are listed and not read."""
    workflows: int
    versions: int
    drafts: int
    draft_bytes: int
    preferences_bytes: int
    queued_jobs: int
    queued_seconds: float
    kept_jobs: int
    connections: int
    connections_per_address: int
    node_seconds: float
    """A node may run so long, unless `node_seconds_by_type` says otherwise."""
    node_seconds_by_type: dict[str, float]


class PreferencesBody(Model):
    """The page's preferences: any JSON object of at most 64 KiB."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    @property
    def raw(self) -> dict[str, Any]:  # Any: plain JSON
        """The object as it came."""
        return self.__pydantic_extra__ or {}


@route("GET", "/v1/settings", tags=("settings",))
async def list_settings(call: Call) -> SettingList:
    """List the settings, their values and where these come from."""
    origins = {source.name: source for source in call.services.sources}
    settings = call.services.settings
    return SettingList(settings=[_setting(settings, name, origins.get(name)) for name in Settings.model_fields])


@route("GET", "/v1/limits", tags=("settings",))
async def read_limits(call: Call) -> Limits:
    """Read the limits of this server."""
    settings, order = call.services.settings, DEFAULT_LIMITS
    return Limits(
        body_bytes=settings.max_body_bytes,
        upload_bytes=settings.max_upload_bytes,
        uploads_bytes=settings.max_uploads_bytes,
        pixels=settings.max_pixels,
        workflow_nodes=settings.max_nodes,
        unfolded_nodes=min(MAX_UNFOLDED, settings.max_nodes),
        subgraph_nesting=MAX_NESTING,
        text_characters=order.text,
        inputs=order.inputs,
        targets=order.targets,
        priority=order.priority,
        client_characters=order.client,
        idempotency_key_characters=order.idempotency_key,
        images=MOST_IMAGES,
        json_depth=MAX_DEPTH,
        integer=MAX_INTEGER,
        workflow_file_bytes=workflows.MOST_BYTES,
        workflows=workflows.MOST_WORKFLOWS,
        versions=workflows.MOST_VERSIONS,
        drafts=drafts.MOST_DRAFTS,
        draft_bytes=min(drafts.MOST_BYTES, settings.max_body_bytes),
        preferences_bytes=min(preferences.MOST_BYTES, settings.max_body_bytes),
        queued_jobs=settings.max_queued_jobs,
        queued_seconds=settings.max_queued_s,
        kept_jobs=settings.keep_jobs,
        connections=settings.limits().within(open_files().now).max_connections,
        connections_per_address=settings.max_connections_per_address,
        node_seconds=settings.time_limit_s,
        node_seconds_by_type=settings.time_limits_s,
    )


@route("GET", "/v1/settings/page", tags=("settings",), etag=True)
async def read_preferences(call: Call) -> Answer[JsonObject]:
    """Read the page's preferences; an empty object before anything was kept."""
    kept = await call.services.preferences.read()
    return Answer(kept.values, etag=kept.etag)


@route(
    "PUT", "/v1/settings/page", tags=("settings",), if_match=True, etag=True,
    refuses=("invalid", "too_large", "precondition_failed", "forbidden", "disk_full"),
)  # fmt: skip
async def save_preferences(call: Call, body: PreferencesBody) -> Answer[JsonObject]:
    """Keep the page's preferences, the whole object. With If-Match only over that version."""
    kept = await call.services.preferences.save(body.raw, call.if_match)
    return Answer(kept.values, etag=kept.etag)


def _setting(settings: Settings, name: str, source: Source | None) -> SettingView:
    value = getattr(settings, name)
    if name in _HIDDEN:
        value = SET if value else NOT_SET
    elif isinstance(value, tuple):
        value = list(value)
    elif isinstance(value, Path):  # one that is new: as good as hidden
        value = SET
    description = Settings.model_fields[name].description or ""
    return SettingView(name=name, value=value, source=_origin(source), description=description)


def _origin(source: Source | None) -> Literal["default", "file", "variable", "flag"]:
    """The kind of a source: its file's path stays here."""
    if source is None or source.source == "default":
        return "default"
    if source.source.startswith("--"):
        return "flag"
    return "variable" if source.source.startswith(PREFIX) else "file"
