"""The docs page: the OpenAPI document as plain HTML, without a script and without anything from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final

# Any, in this module: plain JSON.

_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
    'initial-scale=1"><title>Latentgraph: the interface</title><link rel="icon" href="data:,">'
    '<link rel="stylesheet" href="/assets/page.css"></head><body><main>'
)


def docs_page(document: Mapping[str, Any]) -> str:
    """The page for a document of `server.api.openapi`."""
    parts = [_HEAD, f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>"]
    parts.append(f"<p>{_text(document['info']['description'])}</p>")
    parts.append('<p><a href="/v1/openapi.json">The same as an OpenAPI 3.1 document</a></p>')
    for tag in document["tags"]:
        parts.append(f'<h2 id="{escape(tag["name"])}">{escape(tag["name"])}</h2>')
        parts.extend(
            _operation(path, method, one) for path, method, one in _operations(document) if one["tags"][:1] == [tag["name"]]
        )
    parts.append('<h2 id="schemas">Schemas</h2>')
    for name, schema in document["components"]["schemas"].items():
        parts.append(f'<section id="schema-{escape(name)}"><h3>{escape(name)}</h3>{_json(schema)}</section>')
    return "".join([*parts, "</main></body></html>"])


def _operations(document: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    parts = [f'<section id="{escape(operation["operationId"])}"><h3><code>{method} {escape(path)}</code></h3>']
    parts.append(f"<p>{_text(operation['summary'])}.</p>")
    parts += [f"<p>{_text(text)}</p>" for text in operation.get("description", "").split("\n\n") if text]
    if parameters := operation.get("parameters"):
        parts.append(_table(("parameter", "in", "form"), ((one["name"], one["in"], _form(one)) for one in parameters)))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<p>Body: <code>{escape(kind)}</code> {_schema(content['schema'])}</p>")
    rows = ((status, _answer(response), response["description"]) for status, response in operation["responses"].items())
    parts.append(_table(("answer", "body", "what"), rows))
    return "".join([*parts, "</section>"])


def _form(parameter: Mapping[str, Any]) -> str:
    schema = {key: value for key, value in parameter["schema"].items() if key != "title"}
    return f"{json.dumps(schema)} {parameter.get('description', '')}"


def _answer(response: Mapping[str, Any]) -> str:
    for kind, content in response.get("content", {}).items():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        return str(name or kind)
    return ""


def _schema(schema: Mapping[str, Any]) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f'<a href="#schema-{escape(name)}">{escape(name)}</a>' if name else _json(schema)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _json(schema: Mapping[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(schema, indent=1))}</pre>"


def _text(text: str) -> str:
    """Text with `code` marked."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))
