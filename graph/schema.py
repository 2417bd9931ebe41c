"""The published JSON Schema (draft 2020-12) of the workflow document, and of each node type.

Written out rather than derived: the reader is written out too, and tests hold the two together. `python -m
graph.schema` prints the file that is checked in as workflows/workflow-1.schema.json.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from graph.document import FORMAT, NAME, SCHEMA, TYPE, VERSION
from graph.jsontext import write_json
from graph.literals import bounds
from graph.spec import MISSING, Choice, File, NodeSpec, Port, Range, Seed
from graph.types import PLAIN_NAMES

Json: TypeAlias = dict[str, Any]  # Any: a JSON Schema

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PORT: Final = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
_REFERENCE: Final[Json] = {"type": "string", "pattern": rf"^{NAME.pattern}\.{_PORT}$"}
_OWN: Final[Json] = {"^x-": True}
_STATE: Final[Json] = {
    "enum": ["muted", "bypassed"],
    "description": "muted: the node is absent. bypassed: each output takes the first linked input whose type fits.",
}
_LINK: Final[Json] = {
    "type": "object",
    "properties": {"link": _REFERENCE},
    "required": ["link"],
    "additionalProperties": False,
    "description": "The output of another node.",
}
_FILE: Final[Json] = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "maxLength": 255, "description": "A name to show, without a folder."},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "required": ["sha256"],
    "additionalProperties": False,
    "description": "A file by its content.",
}
_RANDOM: Final[Json] = {
    "type": "object",
    "properties": {"random": {"const": True}},
    "required": ["random"],
    "additionalProperties": False,
    "description": "A seed that is drawn anew for each run.",
}
_PLAIN: Final[Json] = {"type": ["boolean", "number", "string"]}
_TYPES: Final = {"int": "integer", "float": "number", "text": "string", "bool": "boolean"}


def workflow_schema() -> Json:
    """The schema of a workflow document of version 1.0. Integers beyond 2^53-1 and duplicate keys are refused besides."""
    return {
        "$schema": _DIALECT,
        "$id": SCHEMA,
        "title": "Latentgraph workflow",
        **_closed(
            {
                "$schema": {"type": "string"},
                "format": {"const": FORMAT},
                "version": {"const": VERSION},
                "name": {"type": "string"},
                "description": {"type": "string"},
                "nodes": {"$ref": "#/$defs/nodes"},
                "inputs": {"$ref": "#/$defs/inputs"},
                "outputs": {"$ref": "#/$defs/outputs"},
                "subgraphs": _map_of({"$ref": "#/$defs/subgraph"}),
                "requires": _requires(),
                "view": {"type": "object", "description": "What is only looks; never part of a key."},
            },
            ["format", "version", "nodes"],
        ),
        "$defs": {
            "nodes": _map_of({"$ref": "#/$defs/node"}),
            "node": _closed(
                {
                    "type": {
                        "type": "string",
                        "pattern": f"^(?:{TYPE.pattern})$",
                        "description": "name, pack/name, or #subgraph.",
                    },
                    "type_version": {"type": "integer", "minimum": 1},
                    "inputs": {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
                    "state": _STATE,
                },
                ["type"],
            ),
            "value": {"anyOf": [{"type": "null"}, _PLAIN, {"type": "array", "items": _item()}, _LINK, _FILE, _RANDOM]},
            "inputs": _map_of(_closed({"to": _targets(), "label": {"type": "string"}}, ["to"])),
            "outputs": _map_of(_closed({"from": _REFERENCE, "label": {"type": "string"}}, ["from"])),
            "subgraph": _closed(
                {
                    "nodes": {"$ref": "#/$defs/nodes"},
                    "inputs": {"$ref": "#/$defs/inputs"},
                    "outputs": {"$ref": "#/$defs/outputs"},
                    "view": {"type": "object"},
                },
                ["nodes"],
            ),
        },
    }


def _item() -> Json:
    return {"anyOf": [_PLAIN, _FILE]}


def _targets() -> Json:
    return {"anyOf": [_REFERENCE, {"type": "array", "items": _REFERENCE, "minItems": 1}]}


def _requires() -> Json:
    return {"type": "object", "properties": {"models": {"type": "array"}, "packs": {"type": "array"}}}


def _closed(properties: Json, required: list[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "patternProperties": _OWN,
        "additionalProperties": False,
    }


def _map_of(value: Json) -> Json:
    return {"type": "object", "propertyNames": {"pattern": f"^{NAME.pattern}$"}, "additionalProperties": value}


def node_schema(spec: NodeSpec) -> Json:
    """The schema of a node of this type as it stands in a workflow: its inputs with ranges, choices and defaults."""
    properties: Json = {}
    for port in spec.inputs:
        properties[port.name] = port_schema(port)
        for former in port.was:
            properties[former] = {"deprecated": True, "description": f"Now called {port.name}."}
    required = [port.name for port in spec.inputs if port.required]
    schema: Json = {
        "$schema": _DIALECT,
        "title": spec.title,
        "description": spec.doc,
        **_closed(
            {
                "type": {"enum": [spec.id, *spec.was]} if spec.was else {"const": spec.id},
                "type_version": {"type": "integer", "minimum": 1, "maximum": spec.version},
                "inputs": {"type": "object", "properties": properties, "additionalProperties": False},
                "state": _STATE,
            },
            ["type"],
        ),
    }
    if required:
        # A port's former name counts as the port, so only ports that were never renamed can be demanded here.
        demanded = [port.name for port in spec.inputs if port.required and not port.was]
        schema |= {
            "if": {"required": ["state"]},
            "then": True,
            "else": {"required": ["inputs"], "properties": {"inputs": {"required": demanded}}},
        }
    return schema


def port_schema(port: Port) -> Json:
    """The schema of what may stand at an input: a literal of its type, or a link. `x-type` is the wire type."""
    choices = [] if isinstance(port.hint, File) else [_LINK]
    literal = _literal_schema(port)
    if literal is not None:
        choices.insert(0, {"type": "array", "items": literal} if port.type.is_list else literal)
        if isinstance(port.hint, Seed):
            choices.append(_RANDOM)
    if port.optional:
        choices.append({"type": "null"})
    schema: Json = {"anyOf": choices, "x-type": str(port.type)}
    if port.doc:
        schema["description"] = port.doc
    if port.default != MISSING:
        schema["default"] = port.default
    return schema


def _literal_schema(port: Port) -> Json | None:
    hint, name = port.hint, port.type.name
    if isinstance(hint, File):
        return _FILE
    if isinstance(hint, Choice):
        return {"enum": list(hint.options)}
    if port.type.is_generic:
        return _PLAIN
    if name not in PLAIN_NAMES.values():
        return None
    schema: Json = {"type": _TYPES[name]}
    if isinstance(hint, (Range, Seed)):
        low, high = bounds(name, hint)
        schema |= {"minimum": low, "maximum": high}
    if isinstance(hint, Range) and hint.strict and hint.step and (hint.low / hint.step).is_integer():
        schema["multipleOf"] = hint.step
    return schema


def schema_text() -> str:
    """The text of the checked-in schema file."""
    return write_json(workflow_schema())


if __name__ == "__main__":
    import sys

    sys.stdout.write(schema_text())
