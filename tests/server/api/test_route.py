"""A declared handler is called with what its parameters say, and answered in one form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from aiohttp import web
from pydantic import Field, StringConstraints

from server.api.models import JobId, Model, Name
from server.api.route import Answer, Call, Route, route
from server.api.sentences import FORMS
from server.api.table import whole_table
from server.problems import Refusal
from tests.server.api.kit import declared, run, served

JOB = "0" * 26


class Order(Model):
    name: str
    steps: Annotated[int, Field(ge=1, le=9)] = 1
    tags: tuple[str, ...] = ()
    source: dict[str, Any] | Name = "template"
    label: Annotated[str, StringConstraints(min_length=2, max_length=4)] = "none"
    parts: list[bool] = Field([], min_length=1, max_length=2)
    form: Literal["webp", "png"] = "png"
    scale: float = 1.0
    rest: Annotated[str, StringConstraints(pattern="^[0-9]$")] = "0"


class Filter(Model):
    limit: int = 10
    state: list[Literal["a", "b", "done"]] = []


class View(Model):
    name: str
    steps: int


@pytest.fixture(scope="module")
def routes() -> list[Route]:
    def declare() -> None:
        @route("POST", "/v1/orders", answers=202, refuses=("queue_full",), idempotent=True)
        async def create(call: Call, body: Order) -> Answer[View]:
            """Take an order."""
            if body.name == "full":
                raise Refusal("queue_full", "There is no room. Wait.", retry_after_s=2.5)
            if body.name == "broken":
                raise RuntimeError("/secret/path token=abc")
            return Answer(View(name=body.name, steps=body.steps), headers={"Location": f"/v1/orders/{JOB}"})

        @route("GET", "/v1/orders/{id}", etag=True)
        async def read(call: Call, id: JobId) -> Answer[View]:
            """One order."""
            return Answer(View(name=id, steps=1), etag="one")

        @route("GET", "/v1/orders")
        async def filtered(call: Call, query: Filter) -> View:
            """Some orders."""
            return View(name=",".join(query.state), steps=query.limit)

        @route("DELETE", "/v1/orders/{id}")
        async def delete(call: Call, id: JobId) -> None:
            """Away with it."""

        @route("GET", "/v1/broken-stream", produces="text/plain")
        async def break_off(call: Call) -> web.StreamResponse:
            """Begin, then refuse."""
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(call.request)
            await response.write(b"begun")
            raise Refusal("in_use", "Too late to say so.")

        @route("POST", "/v1/bytes", takes="application/octet-stream")
        async def take(call: Call) -> View:
            """Count bytes."""
            return View(name="bytes", steps=sum([len(chunk) async for chunk in call.chunks(1000)]))

    return declared(declare)


def test_a_body_becomes_a_model_and_an_answer_json(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            body = {"name": "one", "steps": 3, "tags": ["a"]}
            status, headers, answer = await server.ask("POST", "/v1/orders", json=body, headers=server.bearer)
            assert (status, answer) == (202, {"name": "one", "steps": 3})
            assert headers["Location"] == f"/v1/orders/{JOB}"

    run(step())


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        (b'{"name": "a", "name": "b"}', 400, "malformed", "/name"),
        (b'{"name": "a", "steps": NaN}', 400, "malformed", "/steps"),
        (b"{", 400, "malformed", ""),
        (b'{"name": "a", "steps": "3"}', 422, "invalid", "/steps"),
        (b'{"name": "a", "steps": 0}', 422, "invalid", "/steps"),
        (b'{"name": "a", "more": 0}', 422, "invalid", "/more"),
        (b'{"steps": 1}', 422, "invalid", "/name"),
        (b"[]", 422, "invalid", ""),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_its_place(
    home: Path, routes: list[Route], body: bytes, status: int, code: str, pointer: str
) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            headers = server.bearer | {"Content-Type": "application/json"}
            found, answered, problem = await server.ask("POST", "/v1/orders", data=body, headers=headers)
            assert (found, problem["code"], problem["pointer"]) == (status, code, pointer)
            assert answered["Content-Type"].startswith("application/problem+json")

    run(step())


def test_a_refusal_says_when_to_come_back(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, headers, problem = await server.ask("POST", "/v1/orders", json={"name": "full"}, headers=server.bearer)
            assert (status, headers["Retry-After"], problem["detail"]) == (429, "3", "There is no room. Wait.")

    run(step())


@pytest.mark.spec("L9", "I10")
def test_an_unforeseen_error_tells_the_client_nothing_of_itself(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, headers, problem = await server.ask("POST", "/v1/orders", json={"name": "broken"}, headers=server.bearer)
            assert (status, problem["code"], problem["request"]) == (500, "internal", headers["Request-Id"])
            assert "secret" not in str(problem)
            assert "abc" not in str(problem)

    run(step())


def test_path_and_query_are_read_by_their_types(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await server.ask("GET", f"/v1/orders/{JOB}", headers=server.bearer))[2] == {"name": JOB, "steps": 1}
            assert (await server.ask("GET", "/v1/orders/..%2f", headers=server.bearer))[0] == 404
            path = "/v1/orders?limit=3&state=a&state=b"
            assert (await server.ask("GET", path, headers=server.bearer))[2] == {"name": "a,b", "steps": 3}
            for query in ("limit=x", "limit=1&limit=2", "other=1", "state=c"):
                status, _, problem = await server.ask("GET", f"/v1/orders?{query}", headers=server.bearer)
                assert (status, problem["code"], problem["parameter"]) == (422, "invalid", query.split("=")[0])

    run(step())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("state=don", 'The query parameter "state" is "don". Known: a, b, done. Did you mean "done"?'),
        ("state=a&state=x", 'The query parameter "state" is "x". Known: a, b, done.'),
        ("limit=x", 'The query parameter "limit" is "x". Write a whole number.'),
        ("stat=a", 'The query parameter "stat" is not known here. Known: limit, state. Did you mean "state"?'),
    ],
)
def test_a_query_that_does_not_fit_is_told_by_the_parameters_name(
    home: Path, routes: list[Route], query: str, message: str
) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, _, problem = await server.ask("GET", f"/v1/orders?{query}", headers=server.bearer)
            name = query.partition("=")[0]
            assert (status, problem["code"], problem["detail"], problem["parameter"]) == (422, "invalid", message, name)
            assert problem["errors"] == [{"pointer": name, "message": message}]

    run(step())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": None}, "/name is null. Write a text."),
        ({"steps": "3"}, '/steps is "3". Write a whole number.'),
        ({"steps": 0}, "/steps is 0. Set it to at least 1."),
        ({"steps": 10}, "/steps is 10. Set it to at most 9."),
        ({"tags": ["x", 5]}, "/tags/1 is 5. Write a text."),
        ({"tags": {"x": 5}}, "/tags is an object. Write a list."),
        ({"source": "a/b"}, '/source is "a/b". Write the name of a workflow: 1 to 128 letters, digits, ".", "_", "-" and spaces, a letter or digit first.'),
        ({"source": 5}, "/source is 5. Write an object or a text."),
        ({"source": ["x"]}, "/source is a list. Write an object or a text."),
        ({"label": "x"}, "/label has 1 character. Send at least 2."),
        ({"label": "x" * 5}, "/label has 5 characters. Send at most 4."),
        ({"parts": []}, "/parts has 0 entries. Send at least 1."),
        ({"parts": [True] * 3}, "/parts has 3 entries. Send at most 2."),
        ({"parts": [1]}, "/parts/0 is 1. Write true or false."),
        ({"form": "pgn"}, '/form is "pgn". Known: png, webp. Did you mean "png"?'),
        ({"form": 5}, "/form is 5. Known: png, webp."),
        ({"scale": "1"}, '/scale is "1". Write a number.'),
        ({"rest": "x"}, '/rest is "x". Write it as /v1/docs shows it.'),
        ({"step": 1}, '/step is not known here. Known: form, label, name, parts, rest, scale, source, steps, tags. Did you mean "steps"?'),
        ({"a/\u202e": 1}, "/a~1  is not known here. Known: form, label, name, parts, rest, scale, source, steps, tags."),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_told_with_what_to_write(
    home: Path, routes: list[Route], more: dict[str, Any], said: str
) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, _, problem = await server.ask("POST", "/v1/orders", json={"name": "one", **more}, headers=server.bearer)
            assert (status, problem["code"], problem["detail"]) == (422, "invalid", f"The body's {said}")

    run(step())


def test_every_fault_of_a_body_is_told_once_with_its_place(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            _, _, problem = await server.ask("POST", "/v1/orders", json={"source": 5, "steps": 0}, headers=server.bearer)
            assert problem["errors"] == [
                {"pointer": "/name", "message": "The body's /name is missing. Add it."},
                {"pointer": "/steps", "message": "The body's /steps is 0. Set it to at least 1."},
                {"pointer": "/source", "message": "The body's /source is 5. Write an object or a text."},
            ]
            assert (problem["detail"], problem["pointer"]) == (problem["errors"][0]["message"], "/name")
            _, _, problem = await server.ask("POST", "/v1/orders", json=[], headers=server.bearer)
            assert (problem["detail"], problem["pointer"]) == ("The body is a list. Write an object.", "")

    run(step())


def test_every_pattern_of_a_request_is_told_in_words() -> None:
    def patterns(schema: Any) -> set[str]:
        inner = list(schema.values()) if isinstance(schema, dict) else schema if isinstance(schema, list) else []
        own = {schema["pattern"]} if isinstance(schema, dict) and isinstance(schema.get("pattern"), str) else set()
        return own.union(*map(patterns, inner))

    models = [model for one in whole_table().bindings.values() for model in (one.body, one.query) if model is not None]
    assert set().union(*(patterns(model.model_json_schema()) for model in models)) == set(FORMS)


def test_none_is_204_and_a_known_etag_304(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await server.ask("DELETE", f"/v1/orders/{JOB}", headers=server.bearer))[0] == 204
            headers = server.bearer | {"If-None-Match": '"one"'}
            status, answered, body = await server.ask("GET", f"/v1/orders/{JOB}", headers=headers)
            assert (status, answered["ETag"], body) == (304, '"one"', b"")

    run(step())


def test_unknown_addresses_and_methods_are_told(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await server.ask("GET", "/v1/nothing", headers=server.bearer))[2]["code"] == "not_found"
            status, headers, problem = await server.ask("PUT", "/v1/orders", headers=server.bearer)
            assert (status, problem["code"], headers["Allow"]) == (405, "method_not_allowed", "GET, HEAD, POST")

    run(step())


def test_an_answer_that_has_begun_is_broken_off_and_not_mixed_with_a_refusal(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            lines = f"GET /v1/broken-stream HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: {server.bearer['Authorization']}\r\n\r\n"
            assert (await server.raw(lines.encode())).endswith(b"\r\n\r\nbegun")

    run(step())


def test_a_stream_is_counted_while_it_comes(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            headers = server.bearer | {"Content-Type": "application/octet-stream"}
            assert (await server.ask("POST", "/v1/bytes", data=b"x" * 1000, headers=headers))[2]["steps"] == 1000
            status, _, problem = await server.ask("POST", "/v1/bytes", data=b"x" * 1001, headers=headers)
            assert (status, problem["code"]) == (413, "too_large")

    run(step())
