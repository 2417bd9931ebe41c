"""Sessions: the page trades the token for a cookie that scripts cannot read."""

from __future__ import annotations

from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field, SecretStr

from server.api.guard import refuse_guess, unauthorized
from server.api.models import Model
from server.api.route import Answer, Call, route
from server.api.session import SESSION_S


class SessionRequest(Model):
    """The token, once."""

    token: Annotated[SecretStr, Field(min_length=1, max_length=256)]


class SessionView(Model):
    """Who one is to the server."""

    kind: Literal["bearer", "session"]
    client: str
    """The name under which jobs are counted for fairness."""


@route("POST", "/v1/session", access="open", answers=201, tags=("session",), refuses=("unauthorized", "too_many_requests"))
async def open_session(call: Call, body: SessionRequest) -> Answer[SessionView]:
    """Open a session with the token: sets a cookie for this browser.

    The cookie is HttpOnly and SameSite=Strict, lasts 30 days and is good after a restart of the server.
    """
    keys = call.services.keys
    if not keys.is_token(body.token.get_secret_value()):
        refuse_guess(call.request, call.services.guesses)
        raise unauthorized()
    cookie = keys.open_session()
    session = keys.session_of(cookie)
    return Answer(
        SessionView(kind="session", client=f"page-{(session or '')[:12]}"),
        headers={"Set-Cookie": _cookie(keys.cookie, cookie, SESSION_S)},
    )


@route("GET", "/v1/session", tags=("session",))
async def read_session(call: Call) -> SessionView:
    """Who one is: a client with the token, or a page with a session."""
    return SessionView(kind="session" if call.origin_is_browser else "bearer", client=call.client)


@route("DELETE", "/v1/session", answers=204, tags=("session",))
async def close_session(call: Call) -> web.Response:
    """Close the session: the cookie is taken away and not taken again."""
    keys = call.services.keys
    if call.caller.session:
        keys.close_session(call.request.cookies.get(keys.cookie, ""))
    return web.Response(status=204, headers={"Set-Cookie": _cookie(keys.cookie, "", 0)})


def _cookie(name: str, value: str, seconds: int) -> str:
    return f"{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Strict"
