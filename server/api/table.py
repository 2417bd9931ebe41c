"""All routes of the server, found by method and path. The library's dispatcher matches; the table is ours."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from aiohttp import hdrs, web

from server.api.route import ROUTES, Route

if TYPE_CHECKING:
    from server.api.binding import Binding

#: Modules whose import declares routes. The first one needs no pydantic and serves until the others are loaded.
LIGHT: Final = "server.api.routes.page"
MODULES: Final = (
    LIGHT,
    "server.api.routes.session",
    "server.api.routes.system",
    *(f"server.api.routes.{name}" for name in (
        "jobs", "events", "socket", "nodes", "workflows", "drafts", "models", "cache", "devices", "settings",
        "files", "outputs", "images", "values",
    )),
)  # fmt: skip


class Found(NamedTuple):
    """What an address stands for: a route and the values in its path, or the methods that it does take."""

    route: Route | None
    values: Mapping[str, str]
    allowed: tuple[str, ...] = ()


class Table:
    """Routes by method and path, with their bindings once these are loaded."""

    def __init__(self, routes: Iterable[Route], bindings: Mapping[Route, Binding] | None = None) -> None:
        self.bindings = dict(bindings or {})
        self._dispatcher = web.UrlDispatcher()
        self._routes: dict[object, Route] = {}
        #: Addresses without parameters, by path and method: such an address is no name for a template beside it.
        self._fixed: dict[str, dict[str, Route]] = {}
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        methods = [hdrs.METH_GET, hdrs.METH_HEAD] if route.method == hdrs.METH_GET else [route.method]
        for method in methods:
            self._routes[self._dispatcher.add_route(method, route.path, _unused)] = route
        if not route.parameters:
            self._fixed.setdefault(route.path, {}).update(dict.fromkeys(methods, route))

    async def find(self, request: web.Request) -> Found:
        """The route of a request, and what its path says."""
        fixed = self._fixed.get(request.path)
        if fixed is not None:
            route = fixed.get(request.method)
            return Found(None, {}, tuple(sorted(fixed))) if route is None else Found(route, {})
        match = await self._dispatcher.resolve(request)
        error = match.http_exception
        if error is None:
            return Found(self._routes[match.route], dict(match))
        allowed = error.allowed_methods if isinstance(error, web.HTTPMethodNotAllowed) else ()
        return Found(None, {}, tuple(sorted(allowed)))


async def _unused(_: web.Request) -> web.StreamResponse:
    raise AssertionError("the front calls handlers, not the dispatcher")


def light_table() -> Table:
    """The routes that are served at once."""
    importlib.import_module(LIGHT)
    return Table(route for route in ROUTES if route.handler.__module__ == LIGHT)


def whole_table() -> Table:
    """Every route with its types; imports their modules, which takes a while."""
    for name in MODULES:
        importlib.import_module(name)
    from server.api.binding import bind

    order = {name: number for number, name in enumerate(MODULES)}
    ours = [route for route in ROUTES if route.handler.__module__ in order]
    ours.sort(key=lambda route: order[route.handler.__module__])  # whichever was imported first
    return Table(ours, cast("Mapping[Route, Binding]", bind(ours)))
