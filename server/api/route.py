"""How a route of the server is declared: what it takes, answers and refuses, in one table.

The router, the OpenAPI document, the docs page and the security tests are made from `ROUTES`. This module imports no
pydantic, so that the page and `/healthz` are served before the models are loaded; `server.api.binding` turns a
declaration into calls.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from server.api.body import Pace, Part, read_chunks, read_parts
from server.api.headers import set_headers
from server.problems import KINDS

if TYPE_CHECKING:
    from aiohttp import web

    from server.api.services import Services

Access = Literal["token", "open"]
Handler = Callable[..., Awaitable[Any]]  # Any: an answer model, an Answer, None or a stream; binding looks at the annotation

M = TypeVar("M")

METHODS: Final = ("GET", "PUT", "POST", "PATCH", "DELETE")
#: Methods that change nothing.
SAFE_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
JSON: Final = "application/json"

_PARAMETER: Final = re.compile(r"\{([a-z_][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One address and method, as declared."""

    method: str
    path: str
    handler: Handler
    answers: int
    access: Access
    tags: tuple[str, ...]
    #: Codes of `server.problems.KINDS` that the handler may raise; what the layer itself refuses is added by the document.
    refuses: tuple[str, ...]
    idempotent: bool
    if_match: bool
    etag: bool
    #: Content type of a body that the handler reads itself; None for JSON or no body.
    takes: str | None
    #: Content type, or types, of an answer that no model describes.
    produces: str | tuple[str, ...] | None
    bearer_only: bool
    #: Further request headers of the document, by name: a sentence each.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Further statuses that the answer itself may have, by status: a sentence each.
    also: Mapping[int, str] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (self.handler.__doc__ or "").strip().split("\n", 1)[0].rstrip(".")

    @property
    def description(self) -> str:
        """The rest of the handler's docstring."""
        lines = (self.handler.__doc__ or "").strip().split("\n")[1:]
        return "\n".join(line.strip() for line in lines).strip()

    @property
    def is_safe(self) -> bool:
        """Whether it changes nothing."""
        return self.method in SAFE_METHODS


#: Every route of the server, in the order of their modules' import (`server.api.table` imports them all).
ROUTES: Final[list[Route]] = []


def route(
    method: str,
    path: str,
    *,
    answers: int = 200,
    access: Access = "token",
    tags: tuple[str, ...] = (),
    refuses: tuple[str, ...] = (),
    idempotent: bool = False,
    if_match: bool = False,
    etag: bool = False,
    takes: str | None = None,
    produces: str | tuple[str, ...] | None = None,
    bearer_only: bool = False,
    headers: Mapping[str, str] | None = None,
    also: Mapping[int, str] | None = None,
) -> Callable[[Handler], Handler]:
    """Declare a handler as a route; the handler itself stays as it is.

    `idempotent`: the Idempotency-Key is read (`call.idempotency_key`). `if_match`: the header is read (`call.if_match`).
    `etag`: the answer has one, and a GET with the same If-None-Match gets 304.
    """
    assert method in METHODS, f"{method} {path}: one of {METHODS}"
    unknown = [code for code in refuses if code not in KINDS]
    assert not unknown, f"{method} {path} refuses {unknown}, which server.problems.KINDS does not have"

    def declare(handler: Handler) -> Handler:
        ROUTES.append(
            Route(
                method, path, handler, answers, access, tags, refuses, idempotent, if_match, etag, takes, produces,
                bearer_only, headers or {}, also or {},
            )
        )  # fmt: skip
        return handler

    return declare


@dataclass(frozen=True, slots=True)
class Answer(Generic[M]):
    """An answer with more than its model. `etag` is without quotes; `status` stands over the route's own."""

    body: M
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None


class Caller(NamedTuple):
    """Who calls, after authentication."""

    #: "bearer", "session", or "nobody" on an open route.
    kind: Literal["bearer", "session", "nobody"]
    #: Name for fairness between clients; at most 64 visible characters.
    client: str
    #: Id of the session; "" without one.
    session: str = ""


@dataclass(slots=True)
class Call:
    """One request, as a handler sees it."""

    request: web.Request
    #: None only in routes of `server.api.routes.page`, while the rest is loaded.
    services: Services
    route: Route
    caller: Caller
    pace: Pace
    request_id: str
    #: Answer headers that hold however the call ends.
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def client(self) -> str:
        """The client's name for fairness."""
        return self.caller.client

    @property
    def origin_is_browser(self) -> bool:
        """Whether a page sent it: with a session cookie."""
        return self.caller.kind == "session"

    @property
    def idempotency_key(self) -> str | None:
        """The Idempotency-Key, checked to be 1..255 visible ASCII characters."""
        return self.request.headers.get("Idempotency-Key")

    @property
    def if_match(self) -> str | None:
        """The value of If-Match without quotes; None without the header."""
        return _unquoted(self.request.headers.get("If-Match"))

    @property
    def if_none_match(self) -> str | None:
        """The value of If-None-Match without quotes; "*" stays "*"."""
        return _unquoted(self.request.headers.get("If-None-Match"))

    async def begin(self, response: web.StreamResponse) -> None:
        """Send the head of an answer that the handler writes itself."""
        set_headers(response)
        await response.prepare(self.request)

    def chunks(self, limit_bytes: int) -> AsyncIterator[bytes]:
        """The body as it comes, at most `limit_bytes`. Raises Refusal `too_large` (at once, if its header says so), `too_slow`."""
        return read_chunks(self.request, limit_bytes, self.pace)

    def parts(self, limit_bytes: int, most_parts: int = 32) -> AsyncIterator[Part]:
        """The parts of a multipart body, one after the other: read or leave each before asking for the next.

        All together at most `limit_bytes`. Raises Refusal `too_large`, `too_slow`, `malformed`, `unsupported_type`.
        """
        return read_parts(self.request, limit_bytes, most_parts, self.pace)


def _unquoted(value: str | None) -> str | None:
    return None if value is None else value.strip().removeprefix("W/").strip('"')
