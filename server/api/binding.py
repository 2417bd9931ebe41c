"""From a declaration to a call: parameters by name and annotation, the body strictly, the answer as JSON."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

from aiohttp import web
from pydantic import BaseModel, TypeAdapter, ValidationError

from graph.jsontext import JsonError, read_json
from server.api.body import declared_length, read_body, too_large
from server.api.models import Model
from server.api.route import JSON, Answer, Call, Route
from server.api.sentences import faults_of
from server.problems import Refusal, pointer_of

# Any, in this module: types and values that handlers declare.

#: Longer bodies are read in a thread, so that the event loop goes on.
_QUICK_BYTES: Final = 128 * 1024
#: A body that says nothing may be so long.
_EMPTY_BYTES: Final = 64


@dataclass(frozen=True)
class Binding:
    """A route with its types."""

    route: Route

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The handler's annotations."""
        return typing.get_type_hints(self.route.handler, include_extras=True)

    @cached_property
    def body(self) -> type[Model] | None:
        """The model of the JSON body."""
        return self.hints.get("body")

    @cached_property
    def query(self) -> type[Model] | None:
        """The model of the query string."""
        return self.hints.get("query")

    @cached_property
    def path(self) -> dict[str, TypeAdapter[Any]]:
        """Each path parameter's type, which its text must match."""
        return {name: TypeAdapter(self.hints[name]) for name in self.route.parameters}

    @cached_property
    def answer(self) -> Any:
        """The model of the answer; None for none (204) and for streams."""
        found = self.hints.get("return")
        if typing.get_origin(found) is Answer:
            found = typing.get_args(found)[0]
        if found is type(None) or (inspect.isclass(found) and issubclass(found, web.StreamResponse)):
            return None
        return found

    @cached_property
    def _answers_with(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.answer)

    @property
    def status(self) -> int:
        """The status of a good answer."""
        return 204 if self.hints.get("return") is type(None) and self.route.answers == 200 else self.route.answers

    def check(self) -> None:
        """Assert that the declaration is whole: our own mistakes, found when the server starts."""
        names = list(inspect.signature(self.route.handler).parameters)
        where = f"{self.route.method} {self.route.path}"
        expected = ["call", *(name for name in names[1:] if name in ("body", "query") or name in self.route.parameters)]
        assert names == expected, f"{where}: parameters {names}; it may take call, body, query and {self.route.parameters}"
        assert set(self.route.parameters) <= set(names), f"{where}: a parameter for each name of the path"
        assert "return" in self.hints, f"{where}: the return type is missing"
        assert not (self.body and self.route.takes), f"{where}: either a JSON body or takes="
        _ = self.path, self.answer

    async def call(self, call: Call, values: Mapping[str, str], limit_bytes: int) -> web.StreamResponse:
        """Read what the handler takes, call it, and give its answer as a response."""
        check_types(call.request, self.route, self.body is not None, limit_bytes)
        if self.body is None and self.route.takes is None:
            await _refuse_content(call)
        arguments: dict[str, Any] = {name: _parameter(adapter, values[name]) for name, adapter in self.path.items()}
        if self.query is not None:
            arguments["query"] = _read_query(self.query, call.request)
        elif call.request.query:
            name = next(iter(call.request.query))
            raise Refusal("invalid", f'There is no query parameter "{name[:40]}" here. Leave it out.', parameter=name[:40])
        if self.body is not None:
            arguments["body"] = await read_model(call, self.body, limit_bytes)
        return self.response(call, await self.route.handler(call, **arguments))

    def response(self, call: Call, given: Any) -> web.StreamResponse:
        """What a handler returned, as a response."""
        if isinstance(given, web.StreamResponse):
            return given
        answer = given if isinstance(given, Answer) else Answer(given)
        headers = dict(answer.headers)
        if answer.etag is not None:
            headers["ETag"] = f'"{answer.etag}"'
            if self.route.is_safe and call.if_none_match == answer.etag:
                return web.Response(status=304, headers=headers)
        status = answer.status or self.status
        if answer.body is None:
            return web.Response(status=status, headers=headers)
        body = self._answers_with.dump_json(answer.body, by_alias=True)
        return web.Response(status=status, body=body, content_type=JSON, headers=headers)


def check_types(request: web.Request, route: Route, takes_json: bool, limit_bytes: int) -> None:
    """Check a request's headers against what the route takes, before a byte of the body is read.

    Raises Refusal `too_large`, `unsupported_type`, `malformed`.
    """
    length = declared_length(request)
    if not takes_json and route.takes is None:
        if length != 0 and not _may_be_empty(request, route, length):
            raise _no_body(route)
        return
    if length is not None and length > limit_bytes:
        raise too_large(limit_bytes)
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refusal("unsupported_type", "The body is compressed (Content-Encoding). Send it as it is.")
    wanted = route.takes or JSON
    if len(request.headers.getall("Content-Type", [])) > 1:
        raise Refusal("malformed", f"There are two Content-Type headers. Send one: {wanted}.")
    if not _is_type(request.headers.get("Content-Type", ""), wanted):
        raise Refusal("unsupported_type", f"The body's type is not {wanted}. Send Content-Type: {wanted}.")


def _may_be_empty(request: web.Request, route: Route, length: int | None) -> bool:
    """Whether a body may turn out to be {}, which many clients send with every request that changes something."""
    if route.is_safe or (length is not None and length > _EMPTY_BYTES):
        return False
    is_plain = request.headers.get("Content-Encoding", "identity").lower() == "identity"
    return is_plain and _is_type(request.headers.get("Content-Type", ""), JSON)


async def _refuse_content(call: Call) -> None:
    """Read the body of a route that takes none. Raises Refusal `too_large` unless it is empty or {}."""
    if declared_length(call.request) == 0:
        return
    content = await read_body(call.request, _EMPTY_BYTES, call.pace)
    if content.strip() not in (b"", b"{}"):
        raise _no_body(call.route)


def _no_body(route: Route) -> Refusal:
    return Refusal("too_large", f"{route.method} {route.path} takes no body. Send none, or {{}}.", limit_bytes=0)


def _is_type(given: str, wanted: str) -> bool:
    kind, _, rest = given.partition(";")
    if kind.strip().lower() != wanted:
        return False
    if wanted == "multipart/form-data":
        return "boundary=" in rest.lower()
    return rest.strip().lower().replace(" ", "") in (("", "charset=utf-8", 'charset="utf-8"') if wanted == JSON else ("",))


def _parameter(adapter: TypeAdapter[Any], value: str) -> Any:
    try:
        return adapter.validate_strings(value)
    except ValidationError:
        raise Refusal("not_found", "There is nothing at this address. Look at /v1/docs for the form of its parts.") from None


def _read_query(model: type[Model], request: web.Request) -> Model:
    given: dict[str, Any] = {}
    for name in set(request.query):
        values = request.query.getall(name)
        field = model.model_fields.get(name)
        if field is not None and _is_list(field.annotation):
            given[name] = values
        elif len(values) > 1:
            raise Refusal("invalid", f'The query parameter "{name[:40]}" is given twice. Give it once.', parameter=name[:40])
        else:
            given[name] = values[0]
    try:
        return model.model_validate(given, strict=False)
    except ValidationError as error:
        found = faults_of(error, given, model.model_fields, lambda path: f'The query parameter "{str(path[0])[:40]}"')
        errors = [{"pointer": str(fault.path[0]), "message": fault.message} for fault in found]
        raise Refusal("invalid", found[0].message, parameter=errors[0]["pointer"], errors=errors) from None


def _is_list(annotation: Any) -> bool:
    if typing.get_origin(annotation) in (list, tuple):
        return True
    return any(_is_list(part) for part in typing.get_args(annotation))


async def read_model(call: Call, model: type[Model], limit_bytes: int) -> Model:
    """The JSON body as a model. Raises Refusal `too_large`, `too_slow`, `malformed` (400), `invalid` (422)."""
    content = await read_body(call.request, limit_bytes, call.pace)
    if len(content) <= _QUICK_BYTES:
        return _parsed(content, model)
    return await asyncio.get_running_loop().run_in_executor(None, _parsed, content, model)


def _parsed(content: bytes, model: type[Model]) -> Model:
    value = parse_json(content)
    try:
        return model.model_validate(value, strict=True)
    except ValidationError:
        pass
    try:
        # Once more from the text: only so a strict model takes a list for a tuple and a string for an enum.
        return model.model_validate_json(content, strict=True)
    except ValidationError as error:
        found = faults_of(error, value, model.model_fields, lambda path: f"The body's {pointer_of(path)}" if path else "The body")
        errors = [{"pointer": pointer_of(fault.path), "message": fault.message} for fault in found]
        raise Refusal("invalid", found[0].message, pointer=errors[0]["pointer"], errors=errors) from None


def parse_json(content: bytes) -> Any:
    """The value of a JSON body, read strictly. Raises Refusal `malformed` with the place of the first flaw."""
    try:
        return read_json(content)
    except JsonError as error:
        flaw = error.flaws[0]
        advice = flaw.advice.replace("Save the file", "Send the body").replace("Mend the text there", "Send valid JSON")
        position = f"line {flaw.line}, column {flaw.column}"
        text = f"{flaw.found} at {position} of the body. {advice}"
        raise Refusal("malformed", text, pointer=pointer_of(flaw.path)) from None


def bind(routes: list[Route]) -> dict[Route, Binding]:
    """The routes with their types, each checked."""
    found = {}
    for one in routes:
        binding = Binding(one)
        binding.check()
        found[one] = binding
    return found


def models_of(binding: Binding) -> list[type[BaseModel]]:
    """The models that a route's document names."""
    return [cast("type[BaseModel]", one) for one in (binding.body, binding.query, binding.answer) if inspect.isclass(one)]
