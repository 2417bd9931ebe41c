"""What every request goes through: the guards in their order, the route, and one form of answer whatever happens."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final, cast

from aiohttp import web

from server.api.body import Pace
from server.api.guard import Guesses, Names, Strangers, authenticate, check_headers, check_host, check_origin
from server.api.headers import set_headers
from server.api.problems import internal, problem_response
from server.api.route import Call, Route
from server.api.table import Found, Table
from server.log import REQUEST
from server.problems import Refusal

if TYPE_CHECKING:
    from server.api.services import Services
    from server.api.session import Keys

_log: Final = logging.getLogger("latentgraph.http")

#: The body of a request to an open route may be so long: a token fits.
_OPEN_BYTES: Final = 4096


@dataclass
class Front:
    """The one handler of the server. `open` gives it the whole table; until then it serves the light one and lets others wait."""

    names: Names
    keys: Keys
    light: Table
    guesses: Guesses = field(default_factory=Guesses)
    strangers: Strangers = field(default_factory=Strangers)
    table: Table | None = None
    services: Services | None = None
    _opened: asyncio.Event = field(default_factory=asyncio.Event)
    #: Request-Ids are those of this run of the server, counted: reading random bytes for each took 3 % of its time.
    _run: str = field(default_factory=lambda: secrets.token_hex(3))
    _numbers: Iterator[int] = field(default_factory=count)

    def open(self, table: Table, services: Services) -> None:
        """From now on every route is served."""
        self.table, self.services = table, services
        self._opened.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The answer to a request, whatever it is."""
        request_id = f"{self._run}{next(self._numbers):06x}"
        REQUEST.set(request_id)
        started = time.perf_counter()
        found = Found(None, {})
        try:
            check_host(request, self.names, self.strangers)
            check_origin(request, self.names)
            found = await self._find(request)
            response = await self._call(request, found, request_id)
        except Refusal as refusal:
            if request.writer.output_size:
                raise ConnectionResetError("the answer had begun") from None
            response = problem_response(refusal)
        except web.HTTPException as refused:  # aiohttp's own
            set_headers(refused)
            raise
        except ConnectionError:
            raise
        except Exception as error:  # a mistake of ours: told to the log, not to the client
            _log.exception("%s %s failed", request.method, found.route.path if found.route else "?", exc_info=error)
            if request.writer.output_size:
                raise ConnectionResetError("the answer had begun") from None
            response = problem_response(internal(request_id))
        if not response.prepared:
            set_headers(response)
            response.headers["Request-Id"] = request_id
            if request.can_read_body:
                response.force_close()
        # Afterwards: the answer does not wait for what counts it.
        asyncio.get_running_loop().call_soon(
            self._note, request.method, found.route, response.status, time.perf_counter() - started
        )
        return response

    async def _find(self, request: web.Request) -> Found:
        found = await self.light.find(request) if self.table is None else await self.table.find(request)
        if found.route is None and self.table is None:
            await self._opened.wait()
            assert self.table is not None
            found = await self.table.find(request)
        return found

    async def _call(self, request: web.Request, found: Found, request_id: str) -> web.StreamResponse:
        route = found.route
        caller = authenticate(request, route, self.keys, self.guesses, self.names)
        check_headers(request)
        if route is None:
            raise _nothing(request, found)
        if self.services is None:  # a light route, while the rest is loaded
            light = Call(request, None, route, caller, Pace(), request_id)  # type: ignore[arg-type]  # see Call.services
            return cast(web.StreamResponse, await route.handler(light, **found.values))
        assert self.table is not None
        settings = self.services.settings
        pace = Pace(settings.body_grace_s, settings.body_bytes_per_s)
        call = Call(request, self.services, route, caller, pace, request_id)
        if route.takes is not None or ("draining" in route.refuses and not _may_be_known(call)):
            self.services.health.check(route.refuses)
        limit_bytes = settings.max_upload_bytes if route.takes else settings.max_body_bytes
        if caller.kind == "nobody":  # thousands of connections may ask at once, and none has shown the token
            limit_bytes = min(limit_bytes, _OPEN_BYTES)
        response = await self.table.bindings[route].call(call, found.values, limit_bytes)
        if not response.prepared:
            response.headers.update(call.headers)
        return response

    def _note(self, method: str, route: Route | None, status: int, seconds: float) -> None:
        path = route.path if route is not None else "other"
        _log.debug("%s %s gave %s in %.1f ms", method, path, status, seconds * 1000)
        if self.services is not None:
            self.services.metrics.request(method, path, status, seconds)


def _may_be_known(call: Call) -> bool:
    """Whether the request may have been taken before: its handler finds out, and then checks what new work needs."""
    return call.route.idempotent and call.idempotency_key is not None


def _nothing(request: web.Request, found: Found) -> Refusal:
    if found.allowed:
        methods = ", ".join(found.allowed)
        return Refusal("method_not_allowed", f"This address takes {methods}. Use one of these.", allowed=list(found.allowed))
    return Refusal("not_found", "There is nothing at this address. /v1/docs lists all addresses.")
