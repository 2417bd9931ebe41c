"""The page reads, refuses and writes workflow files as the server does: the same bytes and the same sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graph.document import read_document, write_document
from graph.errors import WorkflowError
from tests.web.page_model import ask_page

HERE = Path(__file__)
FILES = [
    *sorted((HERE.parents[2] / "workflows").glob("mini*.json")),
    *sorted((HERE.parents[1] / "graph" / "documents").glob("*/*.json")),
]
HEAD = '"format": "latentgraph/workflow", "version": "1.0"'
#: Texts that are refused or unusual, for their JSON or their form.
TEXTS = [
    "",
    "nul",
    '{"a": 1,}',
    '{"a": "\\q"}',
    '{"a": "\\u00g0"}',
    '["\\ud83c\\udfa8", "\\ud83c"]',
    '{"a" 1}',
    '{"a": 1 "b"}',
    "[1 2]",
    '["open',
    "[-]",
    "[1.]",
    '{"\U0001f3a8": NaN, "b": [1e999, 12345678901234567890], "b": 2}',
    "[]",
    '"x"',
    "{}",
    '{"format": "other"}',
    '{"3": {"class_type": "KSampler", "inputs": {}}, "4": 1}',
    '{"nodes": [], "links": null}',
    '{"nodes": {}, "links": []}',
    '{"nodes": {"class_type": {}}, "constructor": {"a": 1}}',
    '{"format": "latentgraph/workflow"}',
    '{"format": "latentgraph/workflow", "version": "2.0"}',
    '{"format": "latentgraph/workflow", "version": "0.9"}',
    '{"format": "latentgraph/workflow", "version": [1, "x", null, {"a": true}]}',
    '{"format": "latentgraph/workflow", "version": "1.9", "2": 1, "nodes": {"a": {"new": 1, "1": 1, "type": "t"}}, "1": 2}',
]
#: Documents that are refused or unusual, without their head.
FORMS = [
    '"x-own": 1',
    '"nodes": []',
    '"nodes": {"A": {}, "b": 1, "c": {}, "d": {"type": "x y"}, "e": {"type": "t", "inputs": 3}}',
    '"nodes": {"a": {"type": "t", "type_version": 0, "state": "off", "inptus": {}, "x-ok": 1}}',
    '"nodes": {"a": {"type": "t", "inputs": null, "type_version": null}}',
    '"nodes": {}, "inputs": {"a": 1, "b": {}, "c": {"to": []}, "d": {"to": ["x"]}, "e": {"to": "a.b", "label": 1}}',
    '"nodes": {}, "outputs": {"a": null, "b": {"from": 3}, "c": {"from": "a.b", "labl": ""}, "1": {}}',
    '"nodes": {}, "subgraphs": {"s": 1, "t": {"nodes": {"x": {"type": "#"}}, "view": 1, "zzz": 1}, "U": {}}',
    '"nodes": {}, "requires": {"models": 1, "packs": {}}, "view": null, "name": 1, "discription": ""',
    '"nodes": {"constructor": {"type": "t", "inputs": {"9": 1, "__proto__": 2, "1": {"b": 1, "0": []}}}}',
]


def server_says(text: str) -> dict[str, object]:
    try:
        return {"text": write_document(read_document(text))}
    except WorkflowError as error:
        return {"flaws": [(problem.code, problem.message, problem.node, problem.port) for problem in error.problems]}


def page_says(answer: dict[str, Any]) -> dict[str, object]:  # Any: JSON
    if "text" in answer:
        return answer
    return {"flaws": [(flaw["code"], flaw["message"], flaw.get("node"), flaw.get("port")) for flaw in answer["flaws"]]}


@pytest.mark.slow
def test_the_page_reads_and_refuses_as_the_server_does() -> None:
    texts = [*TEXTS, *(f"{{{HEAD}, {form}}}" for form in FORMS), *(path.read_text(encoding="utf-8") for path in FILES)]
    for text, answer in zip(texts, ask_page({"read": texts})["read"], strict=True):
        assert page_says(answer) == server_says(text), text
