"""The OpenAPI document: valid, whole and the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis

from server.api.docs import docs_page
from server.api.openapi import openapi_document, undocumented
from server.api.table import Table, whole_table
from tests.server.api.kit import run, served


@pytest.fixture(scope="module")
def table() -> Table:
    return whole_table()


@pytest.fixture(scope="module")
def document(table: Table) -> dict[str, Any]:
    return openapi_document(table.bindings, "1.2.3")


def test_every_route_is_described_and_named_once(table: Table) -> None:
    assert undocumented(table.bindings) == []


def test_the_document_keeps_the_rules_of_openapi(document: dict[str, Any]) -> None:
    schema = schemathesis.openapi.from_dict(document)
    schema.validate()
    assert sum(1 for _ in schema.get_all_operations()) == sum(len(one) for one in document["paths"].values())


def test_every_reference_leads_somewhere_and_schemas_are_json_schema(document: dict[str, Any]) -> None:
    def references(value: Any) -> Any:
        if isinstance(value, dict):
            yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for member in value.values():
                yield from references(member)
        elif isinstance(value, list):
            for member in value:
                yield from references(member)

    schemas = document["components"]["schemas"]
    assert {name.removeprefix("#/components/schemas/") for name in references(document)} <= set(schemas)
    for schema in schemas.values():
        jsonschema_rs.meta.validate(schema)


def test_the_same_routes_give_the_same_text(document: dict[str, Any], table: Table) -> None:
    assert json.dumps(openapi_document(whole_table().bindings, "1.2.3")) == json.dumps(document)


def test_each_operation_documents_its_refusals_and_who_may_ask(document: dict[str, Any]) -> None:
    operation = document["paths"]["/v1/session"]["post"]
    assert operation["security"] == []
    assert set(operation["responses"]) >= {"201", "400", "401", "403", "408", "413", "415", "421", "422", "429", "503"}
    codes = operation["responses"]["429"]["content"]["application/problem+json"]["schema"]["allOf"][1]["properties"]["code"]
    assert codes == {"enum": ["too_many_requests"]}
    assert "security" not in document["paths"]["/v1/server"]["get"]
    assert set(document["components"]["securitySchemes"]) == {"bearer", "session"}


def test_the_docs_page_shows_every_operation_and_runs_nothing(document: dict[str, Any]) -> None:
    page = docs_page(document)
    for methods in document["paths"].values():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page.replace("https://json-schema.org", "").split('id="schemas"')[0]


def test_document_and_docs_are_served(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            status, headers, document = await server.ask("GET", "/v1/openapi.json", headers=server.bearer)
            assert (status, document["openapi"]) == (200, "3.1.0")
            known = server.bearer | {"If-None-Match": headers["ETag"]}
            assert (await server.ask("GET", "/v1/openapi.json", headers=known))[0] == 304
            status, headers, page = await server.ask("GET", "/v1/docs", headers=server.session)
            assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
            assert b"Latentgraph" in page

    run(step())


def test_a_replayed_job_and_a_server_that_is_not_ready_are_answers_of_the_document(document: dict[str, Any]) -> None:
    for path in ("/v1/jobs", "/v1/jobs/{id}/retry"):
        assert document["paths"][path]["post"]["responses"]["200"]["content"].keys() == {"application/json"}
    for path in ("/readyz", "/healthz"):
        content = document["paths"][path]["get"]["responses"]["503"]["content"]
        assert content.keys() == {"application/json", "application/problem+json"}


def test_the_key_of_pictures_is_a_header_of_the_document(document: dict[str, Any]) -> None:
    for path in ("/v1/images/generations", "/v1/images/edits"):
        operation = document["paths"][path]["post"]
        assert [one["name"] for one in operation["parameters"]] == ["Idempotency-Key"]
        assert "idempotency_mismatch" in json.dumps(operation["responses"]["422"])


def test_the_key_of_a_job_that_was_deleted_is_an_answer_of_the_document(document: dict[str, Any]) -> None:
    """It was answered 409 where the document knew none: found by ten minutes of schemathesis."""
    for path in ("/v1/jobs", "/v1/jobs/{id}/retry"):
        content = document["paths"][path]["post"]["responses"]["409"]["content"]["application/problem+json"]
        assert "conflict" in json.dumps(content)


def test_an_answer_of_several_types_says_each(document: dict[str, Any]) -> None:
    """A number that a port held was answered as JSON where the document spoke of text."""
    answer = document["paths"]["/v1/jobs/{id}/values/{node}/{port}"]["get"]["responses"]["200"]["content"]
    assert answer == {
        "application/json": {"schema": {}},
        "image/webp": {"schema": {"type": "string"}},
        "image/png": {"schema": {"type": "string"}},
    }
