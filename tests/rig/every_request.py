"""Every request that the OpenAPI document describes, with a chosen text in each of its string fields, one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.rig.serving import Reply, Server, n, workflow

#: Streams that never end by themselves.
ENDLESS = ("/v1/events", "/v1/jobs/{id}/events", "/v1/ws")

#: A workflow with every kind of literal that names something: a model, a file, a picture's name, a choice, a device.
DOCUMENT = {
    **workflow(
        {"picture": "save.file"}, {"prompt": "tokens.prompt"},
        model=n("load_pipeline", model="mini"), tokens=n("tokenize", tokenizer="@model.tokenizer", prompt="a circle"),
        text=n("text", value="words"), paint=n("fake/paint", value=1.0),
        load={"type": "load_image", "inputs": {"file": {"file": "picture.png", "sha256": "0" * 64}}},
        save=n("save_image", image="@paint.image", name="picture"),
    ),
    "description": "all that can be named", "requires": {"models": ["mini"], "packs": ["fake"]},
}  # fmt: skip
#: The same without what is not there, so that it runs.
RUNNING = {**DOCUMENT, "nodes": {name: node for name, node in DOCUMENT["nodes"].items() if name != "load"}}

#: A good body by operation; {} for others.
BODIES: Mapping[str, Any] = {
    "create_job": {"workflow": RUNNING, "inputs": {"prompt": "a"}, "targets": ["save"], "client": "c", "webhook": "studio"},
    "validate_workflow": {"workflow": DOCUMENT, "inputs": {"prompt": "a"}},
    "plan_workflow": {"workflow": RUNNING, "inputs": {"prompt": "a"}, "targets": ["save"], "client": "c", "webhook": "studio"},
    "why_node": {"workflow": RUNNING, "inputs": {"prompt": "a"}, "node": "save"},
    "save_workflow": RUNNING,
    "rename_workflow": {"name": "renamed"},
    "copy_workflow": {"name": "copied"},
    "restore_version": {"version": 1},
    "save_draft": {"document": DOCUMENT, "workflow": "swept", "base": "0" * 64},
    "save_preferences": {"theme": "dark"},
    "generate_images": {"model": "swept", "prompt": "a", "size": "auto", "response_format": "url", "user": "u"},
    "move_job": {"before": "0" * 26},
    "free_memory": {"device": "cpu:0"},
    "open_session": {"token": "wrong"},
    "retry_job": {"client": "c"},
}
HEADERS = ("X-File-Name", "Idempotency-Key", "If-Match", "If-None-Match", "Range", "Last-Event-ID", "Latentgraph-Client")


class Request(NamedTuple):
    """One request; `field` says where its text stands."""

    field: str
    method: str
    path: str
    body: bytes | None
    headers: Mapping[str, str]


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Method, path and operation of what ends by itself."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path not in ENDLESS:
                yield method.upper(), path, operation


def requests(document: Mapping[str, Any], there: Mapping[str, str], text: str) -> Iterator[Request]:
    """Each operation with `text` in each of its string fields. `there` has what a parameter names by its name, where it is left."""
    for method, path, operation in operations(document):
        parameters = operation.get("parameters", [])
        names = [one["name"] for one in parameters if one["in"] == "path"]
        own = {name: _there(path, name, there) for name in names}
        body, headers = _body(operation)
        for name in names:
            address = _filled(path, {**own, name: text})
            yield Request(f"{method} {path} path {name}", method, address, body, headers)
        good = _filled(path, own)
        for one in parameters:
            if one["in"] == "query":
                where = f"{good}?{quote(one['name'], safe='')}={quote(text, safe='')}"
                yield Request(f"{method} {path} query {one['name']}", method, where, body, headers)
        for name in HEADERS:
            if any(one["in"] == "header" and one["name"] == name for one in parameters):
                yield Request(f"{method} {path} header {name}", method, good, body, {**headers, name: _header(text)})
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            for place, changed in _with_text(BODIES.get(operation["operationId"], {}), text):
                yield Request(f"{method} {path} body {place}", method, good, json.dumps(changed).encode(), headers)
        if "multipart/form-data" in operation.get("requestBody", {}).get("content", {}):
            for place, form in _forms(text):
                yield Request(f"{method} {path} part {place}", method, good, form, headers)


def _there(path: str, name: str, there: Mapping[str, str]) -> str:
    kind = path.split("/")[2] if path.count("/") > 1 else path
    return there.get(f"{kind}.{name}", there.get(name, "x"))


def _filled(path: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", quote(value, safe="%"))
    return path


def _header(text: str) -> str:
    return quote(text, safe="%/\\:.$~ ")


def _body(operation: Mapping[str, Any]) -> tuple[bytes | None, dict[str, str]]:
    for kind in operation.get("requestBody", {}).get("content", {}):
        if kind == "application/json":
            return json.dumps(BODIES.get(operation["operationId"], {})).encode(), {"Content-Type": kind}
        if kind == "multipart/form-data":
            return b"", {"Content-Type": f"{kind}; boundary=edge"}
        return b"some bytes", {"Content-Type": kind}
    return None, {}


def _with_text(value: Any, text: str, place: str = "") -> Iterator[tuple[str, Any]]:
    """The value with the text in place of each string, and of each member's name, one at a time."""
    if isinstance(value, str):
        yield place, text
    elif isinstance(value, Mapping):
        for name, item in value.items():
            for inner, changed in _with_text(item, text, f"{place}/{name}"):
                yield inner, {**value, name: changed}
            yield f"{place}/{name} (name)", {text if key == name else key: one for key, one in value.items()}
        yield f"{place}/ (new name)", {**value, text: text}
    elif isinstance(value, list):
        for at, item in enumerate(value):
            for inner, changed in _with_text(item, text, f"{place}/{at}"):
                yield inner, [*value[:at], changed, *value[at + 1 :]]


def _forms(text: str) -> Iterator[tuple[str, bytes]]:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "%00")
    for place, name, file, value in (
        ("name", quoted, "a.png", "x"), ("filename", "image", quoted, "x"), ("prompt", "prompt", "", text), ("model", "model", "", text),
    ):  # fmt: skip
        filename = f'; filename="{file}"' if file else ""
        parts = f'--edge\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n\r\n{value}\r\n'
        for other, given in (("model", "swept"), ("prompt", "a")):
            if other != name:
                parts += f'--edge\r\nContent-Disposition: form-data; name="{other}"\r\n\r\n{given}\r\n'
        yield place, f"{parts}--edge--\r\n".encode("utf-8", "replace")


def send(server: Server, request: Request) -> Reply:
    """The answer to a request."""
    return server.request(request.method, request.path, request.body, request.headers)
