"""The published schema: current, and of one mind with the reader and the check."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.document import document_from_json, document_to_json, read_document, write_document
from graph.errors import WorkflowError
from graph.schema import node_schema, port_schema, schema_text, workflow_schema
from graph.validate import validate
from tests.graph.small_nodes import SHA, catalogue, link, n, workflow

CATALOGUE = catalogue()
VECTORS = json.loads((Path(__file__).parent / "json_vectors.json").read_text())
PUBLISHED = Path(__file__).parents[2] / "workflows" / "workflow-1.schema.json"
HEAD = {"format": "latentgraph/workflow", "version": "1.0"}
NOTES = {"$schema", "$id", "$defs", "title", "description", "default", "deprecated", "x-type"}
KINDS: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_kind(value: Any, kind: str) -> bool:
    if kind in KINDS:
        return isinstance(value, KINDS[kind])
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (kind == "number" or float(value).is_integer())


def fits(value: Any, schema: Any, root: Any = None) -> bool:
    """Whether a value fits a JSON Schema (the keywords of 2020-12 that ours use; any other is an error here)."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        return schema
    return all(keyword in NOTES or KEYWORDS[keyword](value, argument, schema, root) for keyword, argument in schema.items())


def properties_fit(value: Any, properties: Any, schema: Any, root: Any) -> bool:
    return not isinstance(value, dict) or all(fits(value[key], inner, root) for key, inner in properties.items() if key in value)


def patterns_fit(value: Any, patterns: Any, schema: Any, root: Any) -> bool:
    if not isinstance(value, dict):
        return True
    return all(
        fits(item, inner, root) for pattern, inner in patterns.items() for key, item in value.items() if re.search(pattern, key)
    )


def additional_fit(value: Any, inner: Any, schema: Any, root: Any) -> bool:
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    rest = [
        item for key, item in value.items() if key not in known and not any(re.search(pattern, key) for pattern in patterns)
    ] if isinstance(value, dict) else []  # fmt: skip
    return all(fits(item, inner, root) for item in rest)


def condition_fits(value: Any, condition: Any, schema: Any, root: Any) -> bool:
    return fits(value, schema.get("then" if fits(value, condition, root) else "else", True), root)


def is_equal(value: Any, other: Any) -> bool:
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def is_number(value: Any) -> bool:
    return is_kind(value, "number")


KEYWORDS: dict[str, Any] = {
    "type": lambda v, a, s, r: any(is_kind(v, kind) for kind in ([a] if isinstance(a, str) else a)),
    "const": lambda v, a, s, r: is_equal(v, a),
    "enum": lambda v, a, s, r: any(is_equal(v, option) for option in a),
    "anyOf": lambda v, a, s, r: any(fits(v, option, r) for option in a),
    "$ref": lambda v, a, s, r: fits(v, r["$defs"][a.removeprefix("#/$defs/")], r),
    "pattern": lambda v, a, s, r: not isinstance(v, str) or re.search(a, v) is not None,
    "maxLength": lambda v, a, s, r: not isinstance(v, str) or len(v) <= a,
    "minimum": lambda v, a, s, r: not is_number(v) or v >= a,
    "maximum": lambda v, a, s, r: not is_number(v) or v <= a,
    "multipleOf": lambda v, a, s, r: not is_number(v) or (v / a).is_integer(),
    "items": lambda v, a, s, r: not isinstance(v, list) or all(fits(item, a, r) for item in v),
    "minItems": lambda v, a, s, r: not isinstance(v, list) or len(v) >= a,
    "required": lambda v, a, s, r: not isinstance(v, dict) or all(key in v for key in a),
    "propertyNames": lambda v, a, s, r: not isinstance(v, dict) or all(fits(key, a, r) for key in v),
    "properties": properties_fit,
    "patternProperties": patterns_fit,
    "additionalProperties": additional_fit,
    "if": condition_fits,
    "then": lambda v, a, s, r: True,
    "else": lambda v, a, s, r: True,
}


def test_the_checked_in_schema_is_current() -> None:
    assert PUBLISHED.read_text() == schema_text(), "run: python -m graph.schema > workflows/workflow-1.schema.json"


@pytest.mark.parametrize("source", [source for source, _ in VECTORS["documents"]])
def test_sample_documents_fit_the_schema(source: str) -> None:
    assert fits(json.loads(source), workflow_schema())


SHIPPED = sorted(path for path in PUBLISHED.parent.glob("*.json") if path != PUBLISHED)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_workflows_fit_the_schema_and_are_canonical(path: Path) -> None:
    text = path.read_text()
    assert fits(json.loads(text), workflow_schema())
    assert write_document(read_document(text)) == text


SPOILT = [
    [],
    {},
    HEAD,
    HEAD | {"version": "2.0", "nodes": {}},
    HEAD | {"nodes": {"A": n("x")}},
    HEAD | {"nodes": {"a": {}}},
    HEAD | {"nodes": {"a": n("a b")}},
    HEAD | {"nodes": {"a": n("x", "off")}},
    HEAD | {"nodes": {"a": n("x") | {"type_version": 0}}},
    HEAD | {"nodes": {"a": n("x") | {"stat": 1}}},
    HEAD | {"nodes": {}, "input": {}},
    HEAD | {"nodes": {}, "inputs": {"p": {"to": []}}},
    HEAD | {"nodes": {}, "inputs": {"p": {"to": "a"}}},
    HEAD | {"nodes": {}, "outputs": {"o": {"from": 5}}},
    HEAD | {"nodes": {}, "view": []},
    HEAD | {"nodes": {}, "requires": {"packs": {}}},
    HEAD | {"nodes": {}, "subgraphs": {"s": {"nodes": {"a": {}}}}},
]
RIGHT = [
    HEAD | {"nodes": {}},
    HEAD | {"nodes": {"a": {"type": "x", "x-note": [{}]}}, "x-own": 1},
    HEAD | {"nodes": {"a": n("acme/glow", "muted", v=[1, "x"], s={"random": True}, f={"file": "a", "sha256": SHA})}},
    HEAD | {"nodes": {"a": n("#s", v=None)}, "subgraphs": {"s": {"nodes": {}, "view": {}}}},
    HEAD | {"nodes": {}, "inputs": {"p": {"to": ["a.b"]}}, "outputs": {"o": {"from": "a.b", "label": "L"}}},
]


@pytest.mark.parametrize("raw", SPOILT)
def test_what_the_reader_refuses_the_schema_refuses(raw: Any) -> None:
    assert not fits(raw, workflow_schema())
    with pytest.raises(WorkflowError):
        document_from_json(raw)


@pytest.mark.parametrize("raw", RIGHT)
def test_what_the_reader_takes_the_schema_takes(raw: Any) -> None:
    document = document_from_json(raw)
    assert fits(raw, workflow_schema())
    assert fits(document_to_json(document), workflow_schema())


# Node types.

LITERALS = st.one_of(
    st.none(), st.booleans(), st.integers(-10, 600), st.sampled_from([0.5, 2.0, 31.0, "euler", "x", "", -1]),
    st.sampled_from([{"random": True}, {"file": "a", "sha256": SHA}, {"sha256": "x"}, {}, {"random": 1}]),
    st.lists(st.sampled_from(["a", 1, None, True]), max_size=2),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(CATALOGUE)), st.data())
def test_node_schemas_and_the_check_agree_on_literals(type: str, data: st.DataObject) -> None:
    spec = CATALOGUE[type]
    names = [port.name for port in spec.inputs if port.type.name in ("int", "float", "text", "bool")]
    inputs = {name: data.draw(LITERALS, name) for name in names if data.draw(st.booleans(), "set")}
    problems = validate(workflow({"x": n(type, **inputs)}), CATALOGUE)
    assert fits(n(type, **inputs), node_schema(spec)) == (not problems)


def test_muted_nodes_need_no_inputs() -> None:
    schema = node_schema(CATALOGUE["draw"])
    assert not fits({"type": "draw"}, schema)
    assert fits({"type": "draw", "state": "muted"}, schema)


def test_a_port_tells_its_range_default_and_wire_type() -> None:
    port = CATALOGUE["draw"].port("steps")
    assert port is not None
    schema = port_schema(port)
    assert schema["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 200}
    assert schema["default"] == 20
    assert schema["x-type"] == "int"


def test_a_port_of_a_value_only_nodes_give_takes_links_only() -> None:
    port = CATALOGUE["sharpen"].port("picture")
    assert port is not None
    assert fits(link("a.picture"), port_schema(port))
    assert not fits("a", port_schema(port))


def test_former_names_are_known_and_marked_as_such() -> None:
    schema = node_schema(CATALOGUE["resize"])
    assert fits({"type": "scale", "inputs": {"picture": link("a.b"), "ratio": 2}}, schema)
    assert schema["properties"]["inputs"]["properties"]["ratio"] == {"deprecated": True, "description": "Now called factor."}
