"""Who may ask: every route of the server against foreign names, foreign sites and missing tokens."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from server.api.binding import Binding, check_types
from server.api.guard import Guesses, Names, Strangers
from server.api.route import JSON, Call, Route
from server.api.session import SESSION_S, Keys
from server.api.table import whole_table
from tests.server.api.kit import SECRET, TOKEN, Served, run, served

REACHED = 299


@pytest.fixture(autouse=True)
def handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No handler is called: what gets so far is answered with REACHED."""

    async def reached(self: Binding, call: Call, values: Any, limit_bytes: int) -> web.StreamResponse:
        check_types(call.request, self.route, self.body is not None, limit_bytes)
        return web.Response(status=REACHED)

    monkeypatch.setattr(Binding, "call", reached)


def path_of(route: Route) -> str:
    """An address of the route; what stands in for its parameters does not matter here."""
    path = route.path
    for name in route.parameters:
        path = path.replace(f"{{{name}}}", "x")
    return path


def unsafe_routes() -> list[Route]:
    return [route for route in whole_table().bindings if not route.is_safe]


def with_body(binding: Binding) -> dict[str, Any]:
    """Options of a request with the body that the route takes."""
    kind = binding.route.takes or (JSON if binding.body is not None else None)
    if kind is None:
        return {}
    return {"data": b"{}", "headers": {"Content-Type": kind + ("; boundary=x" if kind.startswith("multipart") else "")}}


async def status_of(client: aiohttp.ClientSession, server: Served, method: str, path: str, **options: Any) -> int:
    skipped = () if "Content-Type" in options.get("headers", {}) else ("Content-Type",)
    async with client.request(method, server.url + path, skip_auto_headers=skipped, **options) as answer:
        return answer.status


def origins(port: int) -> dict[str | None, bool]:
    """Origins, and whether they are the server's own."""
    return {
        f"http://127.0.0.1:{port}": True,
        f"http://localhost:{port}": True,
        f"http://[::1]:{port}": True,
        "http://evil.test": False,
        "null": False,
        "http://": False,
        f"HTTP://127.0.0.1:{port}": False,
        "http://127.0.0.1": False,
        f"http://127.0.0.1:{port + 1}": False,
        f"http://127.0.0.1:{port}/": False,
        f"https://127.0.0.1:{port}": False,
        f"http://127.0.0.1:{port}.evil.test": False,
        f"http://evil.test http://127.0.0.1:{port}": False,
    }


@pytest.mark.slow
@pytest.mark.spec("R-N03", "L2")
@pytest.mark.proves(17)
def test_only_the_servers_own_page_or_a_bearer_changes_anything(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server, aiohttp.ClientSession() as client:
            bindings = [binding for route, binding in whole_table().bindings.items() if not route.is_safe]
            for binding in bindings:
                method, path = binding.route.method, path_of(binding.route)
                for origin, is_own in origins(server.port).items():
                    for who in (server.bearer, {"Cookie": server.session["Cookie"]}):
                        options = with_body(binding)
                        options["headers"] = options.get("headers", {}) | who | {"Origin": str(origin)}
                        expected = REACHED if is_own else 403
                        if is_own and binding.route.bearer_only and "Cookie" in who:
                            expected = 401
                        assert await status_of(client, server, method, path, **options) == expected, (method, path, origin)

    run(step())


@pytest.mark.spec("R-N03", "L2")
@pytest.mark.proves(17)
def test_without_an_origin_only_a_bearer_changes_anything(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server, aiohttp.ClientSession() as client:
            for binding in (found for route, found in whole_table().bindings.items() if not route.is_safe):
                route, options = binding.route, with_body(binding)
                headers = options.pop("headers", {})
                cookie = headers | {"Cookie": server.session["Cookie"]}
                found = [
                    await status_of(client, server, route.method, path_of(route), headers=one, **options)
                    for one in (headers | server.bearer, cookie)
                ]
                refused = REACHED if route.access == "open" else 401 if route.bearer_only else 403
                assert found == [REACHED, refused], route.path

    run(step())


def test_a_session_is_told_that_an_address_takes_the_token_only(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            for headers, detail in (
                (server.session, "This address takes the token only, no session. Send `Authorization: Bearer TOKEN`."),
                ({}, "There is no valid token or session with the request. Send `Authorization: Bearer TOKEN`, or open the link that "
                     "`latentgraph serve` printed."),
            ):  # fmt: skip
                status, answered, problem = await server.ask("POST", "/v1/images/edits", headers=headers)
                assert (status, problem["code"], problem["detail"]) == (401, "unauthorized", detail)
                assert answered["WWW-Authenticate"] == "Bearer"

    run(step())


@pytest.mark.spec("R-N03")
@pytest.mark.proves(17)
def test_a_body_of_another_type_is_refused_by_every_route(home: Path) -> None:
    kinds = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None, "application/json; charset=latin-1",
             "text/json", "application/json, text/plain", "application/xml"]  # fmt: skip

    async def step() -> None:
        async with served(home, whole=True) as server, aiohttp.ClientSession() as client:
            for binding in (found for route, found in whole_table().bindings.items() if not route.is_safe):
                route, options = binding.route, with_body(binding)
                for kind in kinds:
                    if kind is not None and route.takes is not None and kind.startswith(route.takes):
                        continue
                    headers = server.bearer | ({} if kind is None else {"Content-Type": kind})
                    status = await status_of(client, server, route.method, path_of(route), data=b"x=1", headers=headers)
                    assert status == (415 if options else 413), (route.path, kind)

    run(step())


@pytest.mark.spec("R-N03", "R-N04")
@pytest.mark.proves(17)
@pytest.mark.parametrize(
    ("site", "more", "status"),
    [
        ("same-origin", {}, REACHED),
        ("none", {}, REACHED),
        ("same-site", {}, 403),
        ("cross-site", {}, 403),
        ("Same-Origin", {}, 403),
        ("", {}, 403),
        ("cross-site", {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
    ],
)
def test_the_browser_says_which_site_asks(home: Path, site: str, more: dict[str, str], status: int) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            headers = {"Cookie": server.session["Cookie"], "Sec-Fetch-Site": site} | more
            assert (await server.ask("GET", "/v1/server", headers=headers))[0] == status
            assert (await server.ask("GET", "/v1/server", headers=server.bearer | {"Sec-Fetch-Site": site} | more))[0] == status

    run(step())


@pytest.mark.spec("R-N06")
def test_a_link_elsewhere_may_lead_to_the_page_and_to_nothing_else(home: Path) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    async def step() -> None:
        async with served(home, whole=True) as server:
            assert (await server.ask("GET", "/", headers=link))[0] == REACHED
            assert (await server.ask("GET", "/", headers=link | {"Sec-Fetch-Dest": "iframe"}))[0] == 403
            assert (await server.ask("GET", "/", headers=link | {"Sec-Fetch-Mode": "no-cors"}))[0] == 403
            assert (await server.ask("HEAD", "/", headers=link))[0] == 403
            assert (await server.ask("GET", "/healthz", headers=link))[0] == 403

    run(step())


@pytest.mark.spec("R-N04", "L2")
@pytest.mark.proves(17)
def test_a_websocket_needs_the_own_origin_and_a_session_or_a_bearer_and_none(home: Path) -> None:
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }  # fmt: skip

    async def step() -> None:
        async with served(home, whole=True) as server:
            cookie, own = {"Cookie": server.session["Cookie"]}, {"Origin": server.url}

            async def status(*headers: dict[str, str], path: str = "/v1/ws") -> int:
                lines = {"Host": f"127.0.0.1:{server.port}", **upgrade}
                for one in headers:
                    lines |= one
                text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(f"GET {path} HTTP/1.1\r\n{text}\r\n".encode())
                line = await reader.readline()
                writer.close()
                return int(line.split()[1])

            assert await status(cookie, own) == REACHED
            assert await status(server.bearer) == REACHED
            assert await status(cookie) == 403
            assert await status() == 401
            assert await status(own) == 401
            assert await status(own, path=f"/v1/ws?token={TOKEN}") == 401
            for foreign in (
                "http://evil.test",
                "null",
                f"http://127.0.0.1:{server.port + 1}",
                f"http://localhost:{server.port + 1}",
            ):
                assert await status(cookie, {"Origin": foreign}) == 403
                assert await status(server.bearer, {"Origin": foreign}) == 403

    run(step())


@pytest.mark.spec("R-N05", "L2")
@pytest.mark.proves(17)
def test_another_name_is_answered_with_421_and_nothing_else(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True, hosts=("canvas.example", "proxy.example:8443")) as server:
            port = server.port

            async def answer(host: str, target: str = "/", more: str = "") -> tuple[int, bytes]:
                sent = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"
                head, _, body = (await server.raw(sent.encode())).partition(b"\r\n\r\n")
                return int(head.split()[1]), body

            for own in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "canvas.example",
                        f"canvas.example:{port}", "proxy.example:8443"):  # fmt: skip
                assert (await answer(own))[0] == REACHED, own
            for foreign in ("evil.test", f"evil.test:{port}", f"127.0.0.1.evil.test:{port}", f"localhost.evil:{port}", f"0.0.0.0:{port}",
                            f"[::ffff:127.0.0.1]:{port}", "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}", f"127.1:{port}", "", f"2130706433:{port}",
                            "proxy.example", f"localhost.:{port}"):  # fmt: skip
                assert await answer(foreign) == (421, b""), foreign
            assert await answer(f"127.0.0.1:{port}", "http://evil.test/") == (421, b"")
            assert await answer(f"127.0.0.1:{port}", f"http://evil.test@127.0.0.1:{port}/") == (421, b"")
            assert await answer("evil.test", f"http://127.0.0.1:{port}/") == (421, b"")
            assert (await answer(f"127.0.0.1:{port}", f"http://127.0.0.1:{port}/"))[0] == REACHED
            assert (await answer(f"127.0.0.1:{port}", more="Host: evil.test\r\n"))[0] == 400

    run(step())


def test_another_name_is_logged_once_with_what_to_do(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def step() -> None:
        async with served(home) as server:
            for host in ("Gpu-Box:8766", "gpu-box:8766", "", f"127.0.0.1:{server.port}"):
                await server.raw(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())

    run(step())
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "A request for gpu-box:8766 was refused: this server does not go by that name. If clients are to call it so, add the name "
        "to `hosts` in settings.toml or give --allow-host."
    ]


def test_names_that_anybody_made_up_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    strangers = Strangers(most=3)
    for name in ("a\x1b[2J\u202eb", "x" * 5000, "", *(f"{number}.test" for number in range(100))):
        strangers.tell(name)
    told = [record.getMessage().removeprefix("A request for ").partition(" was refused")[0] for record in caplog.records]
    assert told == ["a?[2J?b", "x" * 100, "0.test"]


@pytest.mark.slow
@pytest.mark.spec("R-N08", "L1")
@pytest.mark.proves(18)
def test_every_route_wants_a_token_before_anything_else(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server, aiohttp.ClientSession() as client:
            server.front.guesses = Guesses(most=10**9)
            keys = server.services.keys
            stale = Keys(TOKEN, SECRET, server.port, clock=lambda: -SESSION_S - 10.0).open_session()
            other = Keys(TOKEN, b"another" * 8, server.port).open_session()
            rotated = Keys("u" * 43, SECRET, server.port).open_session()
            good = keys.open_session()
            own = {"Origin": server.url}
            nobody: list[dict[str, str]] = [
                {}, own, {"Authorization": "Bearer "}, {"Authorization": "Bearer " + "x" * 43}, {"Authorization": "Bearer " + TOKEN[:-1]},
                {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": f"Bearer {TOKEN}x"},
                {"Cookie": f"latentgraph_1={good}", **own}, *({"Cookie": f"{keys.cookie}={value}", **own} for value in (
                    stale, other, rotated, good[:-1], good.upper(), "x" + good, "..", "a.b.c", TOKEN)),
            ]  # fmt: skip
            asked = [
                (method, path_of(route))
                for route in whole_table().bindings
                for method in ((route.method, "HEAD") if route.method == "GET" else (route.method,))
                if route.access == "token"
            ]
            asked += [("GET", "/v1/nothing"), ("HEAD", "/v1/nothing"), ("POST", "/v1/nothing"), ("PUT", "/v1/server"), ("OPTIONS", "/v1/server"),
                      ("TRACE", "/v1/server"), ("GET", "/v1/"), ("GET", "//"), ("GET", "/assets/../v1/server"), ("GET", "/metrics/")]  # fmt: skip
            for method, path in asked:
                for headers in nobody:
                    body = {"data": b'{"a":1,"a":NaN', "headers": headers | {"Content-Type": "text/plain"}}
                    options = body if method in ("POST", "PUT", "PATCH") else {"headers": headers}
                    assert await status_of(client, server, method, path, **options) == 401, (method, path, headers)

    run(step())


def test_only_the_page_its_files_the_session_and_health_are_open() -> None:
    open_routes = {(route.method, route.path) for route in whole_table().bindings if route.access == "open"}
    assert open_routes == {("GET", "/"), ("GET", "/assets/{name}"), ("GET", "/healthz"), ("POST", "/v1/session")}


@pytest.mark.spec("R-N08")
@pytest.mark.proves(18)
def test_wrong_tokens_are_slowed_down_and_the_right_one_gets_in(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            now = 0.0
            server.front.guesses = Guesses(clock=lambda: now)
            wrong = {"Authorization": "Bearer " + "w" * 43}
            found = [(await server.ask("GET", "/v1/server", headers=wrong)) for _ in range(110)]
            assert [status for status, _, _ in found] == [401] * 100 + [429] * 10
            assert found[-1][2]["code"] == "too_many_requests"
            assert found[-1][1]["Retry-After"] == "1"
            assert (await server.ask("GET", "/v1/server", headers=server.bearer))[0] == REACHED
            assert (await server.ask("GET", "/v1/server"))[0] == 401

    run(step())


def test_a_fixed_address_beside_a_template_takes_its_own_methods_only(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            status, headers, _ = await server.ask("GET", "/v1/workflows/plan", headers=server.bearer)
            assert (status, headers["Allow"]) == (405, "POST")

    run(step())


def test_guesses_come_back_one_by_one_and_addresses_are_bounded() -> None:
    now = 0.0
    guesses = Guesses(most=2, every_s=3.0, addresses=2, clock=lambda: now)
    assert [guesses.wrong("a") for _ in range(3)] == [0.0, 0.0, 3.0]
    now = 3.0
    assert [guesses.wrong("a"), guesses.wrong("a")] == [0.0, 3.0]
    assert guesses.wrong("b") == guesses.wrong("c") == 0.0
    assert len(guesses._buckets) == 2


def test_port_80_is_left_out_as_browsers_do() -> None:
    names = Names.of(80)
    assert "localhost" in names.hosts
    assert {"http://localhost", "http://127.0.0.1"} <= names.origins


@pytest.mark.spec("L2")
def test_every_answer_says_what_a_browser_may_do_with_it(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            for path, headers in (("/", {}), ("/v1/server", server.bearer), ("/v1/server", {}), ("/v1/nothing", server.bearer),
                                  ("/v1/server", {"Host": "evil.test"})):  # fmt: skip
                _, found, _ = await server.ask("GET", path, headers=headers | {"Origin": server.url})
                assert found["X-Content-Type-Options"] == "nosniff"
                assert found["Referrer-Policy"] == "no-referrer"
                assert found["Cross-Origin-Resource-Policy"] == found["Cross-Origin-Opener-Policy"] == "same-origin"
                assert found["Cache-Control"] == "no-store"
                assert "default-src 'none'" in found["Content-Security-Policy"]
                assert [name for name in found if name.lower().startswith("access-control")] == []

    run(step())


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "ü"])
def test_an_idempotency_key_of_another_form_is_refused(home: Path, key: str) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            status, _, problem = await server.ask("GET", "/v1/server", headers=server.bearer | {"Idempotency-Key": key})
            assert (status, problem["detail"]) == (
                400, "The Idempotency-Key is not 1 to 255 visible ASCII characters. Send such a key, or none.",
            )  # fmt: skip

    run(step())
