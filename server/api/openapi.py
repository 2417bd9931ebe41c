"""The OpenAPI 3.1 document of the server, made from its routes: the same routes always give the same text."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from server.api.binding import Binding
from server.api.models import ProblemDocument
from server.api.problems import PROBLEM_JSON
from server.api.route import JSON, Route
from server.problems import KINDS

# Any, in this module: plain JSON.

_REFERENCE: Final = "#/components/schemas/{model}"
_DESCRIPTION: Final = (
    "Run diffusion models as typed node graphs. A job that was accepted (202) finishes, once. Errors are problem documents "
    "(RFC 9457) with a stable `code`, the place, and what to do. Every request carries the token as `Authorization: Bearer`, "
    "or the cookie of a session."
)
#: What the layer refuses before a handler is called.
_ALWAYS: Final = ("malformed", "forbidden_origin", "wrong_host", "invalid", "too_large", "too_many_connections")
_WITH_TOKEN: Final = ("unauthorized", "too_many_requests")
_WITH_BODY: Final = ("unsupported_type", "too_slow")
_HEADERS: Final = {
    "Idempotency-Key": "1 to 255 visible ASCII characters. The same key with the same request gives the first answer again.",
    "If-Match": 'The version that is changed, as ETag gave it; "*" for any.',
    "If-None-Match": "The ETag that is known: without a change the answer is 304.",
}


def openapi_document(bindings: Mapping[Route, Binding], version: str, cookie: str = "latentgraph_8765") -> dict[str, Any]:
    """The document of these routes."""
    schemas, components = _schemas(bindings.values())
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for route, binding in bindings.items():
        paths[route.path][route.method.lower()] = _operation(binding, schemas, components)
    for binding in bindings.values():
        if binding.query is not None:
            components.pop(binding.query.__name__, None)  # its members are parameters
    return {
        "openapi": "3.1.0",
        "info": {"title": "Latentgraph", "version": version, "description": _DESCRIPTION},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(tag for route in bindings for tag in route.tags)],
        "security": [{"bearer": []}, {"session": []}],
        "paths": dict(paths),
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
            },
        },
    }


Schemas = dict[tuple[Route, str], dict[str, Any]]


def _schemas(bindings: Iterable[Binding]) -> tuple[Schemas, dict[str, Any]]:
    """The schema of each part of each route, and the components that they refer to."""
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = []
    for binding in bindings:
        route = binding.route
        if binding.body is not None:
            inputs.append(((route, "body"), "validation", TypeAdapter(binding.body)))
        if binding.query is not None:
            inputs.append(((route, "query"), "validation", TypeAdapter(binding.query)))
        if binding.answer is not None:
            inputs.append(((route, "answer"), "serialization", TypeAdapter(binding.answer)))
        inputs += [((route, f"path.{name}"), "validation", adapter) for name, adapter in binding.path.items()]
    inputs.append((("problem", "problem"), "serialization", TypeAdapter(ProblemDocument)))
    found, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REFERENCE)
    return {key: schema for (key, _), schema in found.items()}, dict(definitions.get("$defs", {}))


def _operation(binding: Binding, schemas: Schemas, components: Mapping[str, Any]) -> dict[str, Any]:
    route = binding.route
    found: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "tags": list(route.tags),
        "summary": route.summary,
    }
    if route.description:
        found["description"] = route.description
    parameters = [*_path_parameters(route, schemas), *_query_parameters(binding, schemas, components), *_header_parameters(route)]
    if parameters:
        found["parameters"] = parameters
    if (body := _body(binding, schemas)) is not None:
        found["requestBody"] = body
    found["responses"] = _responses(binding, schemas)
    if route.access == "open":
        found["security"] = []
    elif route.bearer_only:
        found["security"] = [{"bearer": []}]
    return found


def _path_parameters(route: Route, schemas: Schemas) -> list[dict[str, Any]]:
    return [{"name": name, "in": "path", "required": True, "schema": schemas[route, f"path.{name}"]} for name in route.parameters]


def _query_parameters(binding: Binding, schemas: Schemas, components: Mapping[str, Any]) -> list[dict[str, Any]]:
    if binding.query is None:
        return []
    schema = schemas[binding.route, "query"]
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    found = []
    for name, member in schema.get("properties", {}).items():
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", ())}
        if "description" in member:
            parameter["description"] = member["description"]
        found.append(parameter | {"schema": {key: value for key, value in member.items() if key != "description"}})
    return found


def _header_parameters(route: Route) -> list[dict[str, Any]]:
    wanted = dict(route.headers)
    wanted |= {"Idempotency-Key": _HEADERS["Idempotency-Key"]} if route.idempotent else {}
    wanted |= {"If-Match": _HEADERS["If-Match"]} if route.if_match else {}
    wanted |= {"If-None-Match": _HEADERS["If-None-Match"]} if route.etag and route.is_safe else {}
    schemas = {"Idempotency-Key": {"type": "string", "pattern": "^[!-~]{1,255}$"}}
    return [
        {"name": name, "in": "header", "required": False, "description": text, "schema": schemas.get(name, {"type": "string"})}
        for name, text in wanted.items()
    ]


def _body(binding: Binding, schemas: Schemas) -> dict[str, Any] | None:
    route = binding.route
    if binding.body is not None:
        return {"required": True, "content": {JSON: {"schema": schemas[route, "body"]}}}
    if route.takes is None:
        return None
    schema: dict[str, Any] = (
        {"type": "object"} if route.takes.startswith("multipart/") else {"type": "string", "format": "binary"}
    )
    return {"required": True, "content": {route.takes: {"schema": schema}}}


def _responses(binding: Binding, schemas: Schemas) -> dict[str, Any]:
    """Good answers and refusals by status; one status may have both, told apart by their types."""
    found = _good(binding, schemas)
    for status, refusal in _refusals(binding).items():
        good = found.get(status)
        if good is None:
            found[status] = refusal
            continue
        content = {**good.get("content", {}), **refusal.get("content", {})}
        found[status] = {"description": f"{good['description']} Or {refusal['description']}", "content": content}
    return dict(sorted(found.items()))


def _good(binding: Binding, schemas: Schemas) -> dict[str, Any]:
    route = binding.route
    found: dict[str, Any] = {"description": route.summary}
    if binding.answer is not None:
        found["content"] = {JSON: {"schema": schemas[route, "answer"]}}
    elif route.produces is not None and binding.status not in (204, 101):
        kinds = (route.produces,) if isinstance(route.produces, str) else route.produces
        found["content"] = {kind: {"schema": {} if kind == JSON else {"type": "string"}} for kind in kinds}
    if route.etag:
        found["headers"] = {"ETag": {"description": "The version.", "schema": {"type": "string"}}}
    answers = {str(binding.status): found}
    if "Range" in route.headers:
        answers["206"] = found | {"description": "The part that Range asks for."}
    if route.etag and route.is_safe:
        answers["304"] = {"description": "It is as If-None-Match says."}
    for status, text in route.also.items():
        answers[str(status)] = found | {"description": text}
    return answers


def refusals_of(binding: Binding) -> list[str]:
    """Every code that a route may refuse with."""
    route = binding.route
    codes = [*_ALWAYS, *route.refuses]
    codes += _WITH_TOKEN if route.access == "token" else ()
    codes += _WITH_BODY if binding.body is not None or route.takes is not None else ()
    codes += ("not_found",) if route.parameters else ()
    return list(dict.fromkeys(codes))


def _refusals(binding: Binding) -> dict[str, Any]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in refusals_of(binding):
        by_status[KINDS[code].status].append(code)
    found: dict[str, Any] = {}
    for status, codes in by_status.items():
        description = "; ".join(f"`{code}`: {KINDS[code].title}" for code in codes)
        found[str(status)] = {"description": description}
        if codes != ["wrong_host"]:
            schema = {"allOf": [{"$ref": "#/components/schemas/ProblemDocument"}, {"properties": {"code": {"enum": codes}}}]}
            found[str(status)]["content"] = {PROBLEM_JSON: {"schema": schema}}
    return found


def undocumented(bindings: Mapping[Route, Binding]) -> list[str]:
    """Routes whose handler lacks a docstring, and names that stand for two: our own mistakes."""
    names = [route.handler.__name__ for route in bindings]
    lacking = [f"{route.method} {route.path} has no docstring" for route in bindings if not inspect.getdoc(route.handler)]
    return lacking + [f"{name} stands for two routes" for name in sorted(set(names)) if names.count(name) > 1]
