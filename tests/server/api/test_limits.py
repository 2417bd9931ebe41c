"""What is too long, too slow, too deep or no HTTP at all, at the border."""

from __future__ import annotations

import ast
import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from server.api.connections import Limits
from server.api.models import Model
from server.api.route import Call, Route, route
from tests.server.api.kit import LIMIT_S, Served, declared, run, served

KIB = 1024


class Value(Model):
    value: Any = None
    seed: int = 0


class Size(Model):
    size: int


@pytest.fixture(scope="module")
def routes() -> list[Route]:
    def declare() -> None:
        @route("POST", "/v1/values")
        async def take_value(call: Call, body: Value) -> Value:
            """A JSON body."""
            return body

        @route("POST", "/v1/uploads", takes="application/octet-stream")
        async def take_bytes(call: Call) -> Size:
            """A raw body."""
            return Size(size=sum([len(chunk) async for chunk in call.chunks(call.services.settings.max_upload_bytes)]))

        @route("POST", "/v1/forms", takes="multipart/form-data", bearer_only=True)
        async def take_form(call: Call) -> Size:
            """A form."""
            return Size(size=sum([len(await part.read(64 * KIB)) async for part in call.parts(256 * KIB, most_parts=4)]))

        @route("DELETE", "/v1/values")
        async def delete(call: Call) -> None:
            """No body."""

        @route("GET", "/v1/large", produces="application/octet-stream")
        async def give(call: Call) -> web.StreamResponse:
            """A long answer."""
            response = web.StreamResponse()
            await response.prepare(call.request)
            for _ in range(1024):
                await response.write(bytes(64 * KIB))
            return response

    return declared(declare)


def head(server: Served, path: str, *lines: str, method: str = "POST", kind: str = "application/json") -> bytes:
    names = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: {server.bearer['Authorization']}"]
    return "\r\n".join([*names, f"Content-Type: {kind}", *lines, "", ""]).encode()


async def post(server: Served, body: bytes, path: str = "/v1/values", kind: str = "application/json") -> tuple[int, Any]:
    status, _, answer = await server.ask("POST", path, data=body, headers=server.bearer | {"Content-Type": kind})
    return status, answer


# ---- R-I02: numbers ----

NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "9007199254740993",
    "18446744073709551616",
    "-9007199254740992",
    "1" * 5000,
]
NO_JSON = ["0x10", "010", "-01", "+1", ".5", "1.", "1e", "--1", "1_000", "٣"]


@pytest.mark.spec("R-I02")
@pytest.mark.proves(22)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:12])
def test_a_number_that_others_would_read_otherwise_is_refused_with_its_place(
    home: Path, routes: list[Route], number: str
) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            for text, pointer in (
                (f'{{"seed": {number}}}', "/seed"),
                (f'{{"value": {{"a/b": [0, {number}]}}}}', "/value/a~1b/1"),
            ):
                status, problem = await post(server, text.encode())
                assert (status, problem["code"], problem["pointer"]) == (400, "malformed", pointer)

    run(step())


@pytest.mark.spec("R-I02")
@pytest.mark.proves(22)
@pytest.mark.parametrize("number", NO_JSON)
def test_what_is_no_number_of_json_is_refused(home: Path, routes: list[Route], number: str) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, problem = await post(server, f'{{"seed": {number}}}'.encode())
            assert (status, problem["code"]) == (400, "malformed")
            assert "line 1, column" in problem["detail"]

    run(step())


@pytest.mark.spec("R-I02")
@pytest.mark.parametrize("number", [0, 2**53 - 1, -(2**53 - 1)])
def test_a_seed_comes_back_exactly(home: Path, routes: list[Route], number: int) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await post(server, json.dumps({"seed": number}).encode()))[1]["seed"] == number

    run(step())


# ---- R-I03: texts ----


def nested(depth: int) -> bytes:
    return b'{"value": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@pytest.mark.spec("R-I03")
@pytest.mark.proves(22)
@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"\xff", b"nul", b"{", b'{"value": 1}}', b'{"value": 1} x', b"\xef\xbb\xbf{}", '{"value": 1}'.encode("utf-16"), b'{"value": "\xc3"}',
        b'{"value": "\\ud800"}', b'{"value": "\\udc00\\ud800"}', b'{"value": "\x00"}', b'{"value": 1, "value": 2}', b'{"value": {"a": 1, "\\u0061": 2}}',
        nested(65), nested(1000), nested(100_000), nested(1_000_000), b"[" * 1_000_000, b'{"a":' * 200_000, b"// x\n{}", b"{'value': 1}", b'{"value": 1,}',
    ],
    ids=lambda body: repr(body[:16]) + str(len(body)),
)  # fmt: skip
def test_a_text_that_is_no_strict_json_is_malformed(home: Path, routes: list[Route], body: bytes) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, problem = await post(server, body)
            assert (status, problem["code"]) == (400, "malformed")
            assert (await post(server, b"{}"))[0] == 200

    run(step())


@pytest.mark.spec("R-I03")
@pytest.mark.parametrize(
    "value",
    [{"__proto__": {"x": 1}}, {"constructor": 1}, {"\u0000": "\u0000"}, "\U0001f600\u202e", {str(n): n for n in range(20_000)}],
    ids=["__proto__", "constructor", "nul", "emoji", "20000 keys"],
)
def test_odd_but_valid_texts_come_back_as_they_were(home: Path, routes: list[Route], value: Any) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await post(server, json.dumps({"value": value}).encode()))[1]["value"] == value

    run(step())


def test_nesting_up_to_the_limit_is_read(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await post(server, nested(64)))[0] == 200

    run(step())


# ---- R-L04, L7: size ----


@pytest.mark.spec("R-L04", "L7")
@pytest.mark.proves(22)
def test_a_body_over_the_limit_is_refused_by_its_header_alone(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, max_body_bytes=64 * KIB, max_upload_bytes=128 * KIB) as server:
            for path, kind, limit in (
                ("/v1/values", "application/json", 64 * KIB),
                ("/v1/uploads", "application/octet-stream", 128 * KIB),
            ):
                for length in (limit + 1, 2**30, 2**62):
                    answer = await server.raw(head(server, path, f"Content-Length: {length}", kind=kind))  # and not a byte of it
                    assert answer.startswith(b"HTTP/1.1 413 ")
                    assert b"Connection: close" in answer
                    assert f"longer than {limit} bytes".encode() in answer

    run(step())


@pytest.mark.spec("R-L04", "L7")
@pytest.mark.proves(22)
def test_a_body_without_a_length_is_refused_at_the_limit(home: Path, routes: list[Route]) -> None:
    """The client would go on for ever; the server reads no further than the limit and its own buffers."""

    async def sent_until_refused(server: Served, path: str, kind: str) -> tuple[bytes, int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head(server, path, "Transfer-Encoding: chunked", kind=kind))
        reading = asyncio.create_task(reader.read(4096))
        chunk, sent = b"4000\r\n" + b" " * 0x4000 + b"\r\n", 0
        try:
            while not reading.done() and sent < 64 * KIB * KIB:
                writer.write(chunk)
                sent += 0x4000
                await asyncio.wait_for(writer.drain(), LIMIT_S)
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        answer = await asyncio.wait_for(reading, LIMIT_S)
        writer.close()
        return answer, sent

    async def step() -> None:
        async with served(home, routes, max_body_bytes=64 * KIB, max_upload_bytes=128 * KIB) as server:
            before = sorted(home.rglob("*"))
            for path, kind in (("/v1/values", "application/json"), ("/v1/uploads", "application/octet-stream")):
                answer, sent = await sent_until_refused(server, path, kind)
                assert answer.startswith(b"HTTP/1.1 413 ")
                assert sent < 16 * KIB * KIB
            assert sorted(home.rglob("*")) == before

    run(step())


@pytest.mark.spec("L7")
def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, max_body_bytes=64 * KIB) as server:
            body = b'{"value": 1}'
            assert (await post(server, body.ljust(64 * KIB)))[0] == 200
            assert (await post(server, body.ljust(64 * KIB + 1)))[0] == 413

    run(step())


@pytest.mark.spec("R-L04")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity, gzip"])
def test_a_compressed_body_is_not_expanded(home: Path, routes: list[Route], coding: str) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            for path, kind in (("/v1/values", "application/json"), ("/v1/uploads", "application/octet-stream")):
                headers = server.bearer | {"Content-Type": kind, "Content-Encoding": coding}
                status, _, problem = await server.ask("POST", path, data=b"x" * 100, headers=headers)
                assert (status, problem["code"]) == (415, "unsupported_type")

    run(step())


JSON = {"Content-Type": "application/json"}


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(len(body)):
        yield body[at : at + 1]


@pytest.mark.parametrize("body", [b"", b"{}", b" {}\n"])
def test_a_route_without_a_body_takes_an_empty_one(home: Path, routes: list[Route], body: bytes) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await server.ask("DELETE", "/v1/values", data=body, headers=server.bearer | JSON))[0] == 204
            chunked = in_pieces(body)
            assert (await server.ask("DELETE", "/v1/values", data=chunked, headers=server.bearer | JSON))[0] == 204

    run(step())


@pytest.mark.parametrize(
    ("body", "more"), [(b"{}", {}), (b'{"a": 1}', JSON), (b"[]", JSON), (b"{}", JSON | {"Content-Encoding": "gzip"})]
)
def test_a_route_without_a_body_takes_nothing_else(home: Path, routes: list[Route], body: bytes, more: dict[str, str]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            status, _, problem = await server.ask("DELETE", "/v1/values", data=body, headers=server.bearer | more)
            assert (status, problem["detail"]) == (413, "DELETE /v1/values takes no body. Send none, or {}.")

    run(step())


def test_a_client_that_asks_first_is_told_to_go_on_only_if_it_may(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, max_body_bytes=64 * KIB) as server:
            refused = await server.raw(head(server, "/v1/values", "Expect: 100-continue", "Content-Length: 70000"))
            assert refused.startswith(b"HTTP/1.1 413 ")
            nobody = (
                f"POST /v1/values HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            )
            assert (await server.raw(nobody.encode())).startswith(b"HTTP/1.1 401 ")
            lines = ("Expect: 100-continue", "Content-Length: 2", "Connection: close")
            taken = await server.raw(head(server, "/v1/values", *lines) + b"{}")
            assert taken.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")

    run(step())


# ---- R-L05: multipart ----


def form(*parts: bytes) -> bytes:
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"


FIELD = b'Content-Disposition: form-data; name="a"\r\n\r\nvalue'
MULTIPART = "multipart/form-data; boundary=x"


@pytest.mark.spec("R-L05")
@pytest.mark.proves(22)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (form(FIELD, FIELD), 200),
        (form(*[FIELD] * 5), 413),
        (form(*[FIELD] * 20_000), 413),
        (form(b"X: " + b"y" * 6000 + b"\r\n\r\nz"), 400),
        (form(*[b"".join(b"X-%d: y\r\n" % n for n in range(50)) + b"\r\nz"]), 400),
        (form(b"Content-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\n\r\nz\r\n--y--"), 415),
        (form(b'Content-Disposition: form-data; name="a"\r\n\r\n' + b"z" * 65 * KIB), 413),
        (form(*[b'Content-Disposition: form-data; name="a"\r\n\r\n' + b"z" * 64 * KIB] * 4), 413),
        (b"--y\r\n\r\n", 400),
        (b"--x\r\n" + FIELD, 400),
        (b"", 400),
    ],
    ids=[
        "two",
        "five",
        "20000",
        "long header",
        "many headers",
        "nested",
        "long part",
        "long altogether",
        "other boundary",
        "cut",
        "empty",
    ],
)
def test_a_form_is_read_part_by_part_within_its_limits(home: Path, routes: list[Route], body: bytes, status: int) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            assert (await post(server, body, "/v1/forms", MULTIPART))[0] == status

    run(step())


@pytest.mark.spec("R-L05")
def test_a_form_is_taken_nowhere_else(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            body = form(*[FIELD] * 20_000)
            assert (await post(server, body, "/v1/values", MULTIPART))[0] == 415
            assert (await server.ask("POST", "/v1/forms", data=body, headers=server.session | {"Content-Type": MULTIPART}))[
                0
            ] == 401

    run(step())


@pytest.mark.spec("R-L05")
@pytest.mark.proves(22)
def test_no_code_of_the_server_reads_a_form_at_once_or_serves_a_folder() -> None:
    """aiohttp's `request.post()` makes a file per part and stalls the loop; `add_static` serves what users wrote as pages."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted((Path(__file__).parents[3] / "server").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "add_static" or (node.func.attr == "post" and not node.args and not node.keywords)
    ]  # fmt: skip
    assert found == []


# ---- R-L03: time ----


@pytest.mark.spec("R-L03")
@pytest.mark.proves(22)
def test_headers_that_drip_are_cut_off_and_others_are_served(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, header_s=0.2) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /v1/values HTTP/1.1\r\nHost: ")
            dripping = asyncio.create_task(_drip(writer))
            assert (await post(server, b"{}"))[0] == 200
            assert await asyncio.wait_for(_end_of(reader), LIMIT_S) == b""
            dripping.cancel()

    run(step())


@pytest.mark.spec("R-L03")
def test_a_second_request_on_a_connection_has_the_same_deadline(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, header_s=0.2) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head(server, "/v1/values", "Content-Length: 2") + b"{}")
            assert await reader.readuntil(b"}") != b""
            writer.write(b"GET")
            assert await asyncio.wait_for(_end_of(reader), LIMIT_S) == b""
            writer.close()

    run(step())


@pytest.mark.spec("R-L03")
def test_an_idle_connection_is_closed(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, idle_s=0.2) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            assert await asyncio.wait_for(_end_of(reader), LIMIT_S) == b""
            writer.close()

    run(step())


@pytest.mark.spec("R-L03")
@pytest.mark.proves(22)
@pytest.mark.parametrize("path", ["/v1/values", "/v1/uploads", "/v1/forms"])
def test_a_body_that_drips_is_refused(home: Path, routes: list[Route], path: str) -> None:
    kinds = {"/v1/values": "application/json", "/v1/uploads": "application/octet-stream", "/v1/forms": MULTIPART}

    async def step() -> None:
        async with served(home, routes, body_grace_s=0.2) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head(server, path, "Content-Length: 5000", kind=kinds[path]) + b"--x\r\n")
            dripping = asyncio.create_task(_drip(writer))
            answer = await asyncio.wait_for(reader.read(4096), LIMIT_S)
            dripping.cancel()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"too_slow" in answer

    run(step())


def test_a_client_that_goes_away_in_the_middle_of_a_body_is_no_error(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    def declare() -> None:
        @route("POST", "/v1/uploads", takes="application/octet-stream")
        async def take_bytes(call: Call) -> Size:
            """A raw body."""
            async for _ in call.chunks(KIB):
                begun.set()
            return Size(size=0)

    async def check() -> None:
        async with served(home, declared(declare)) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head(server, "/v1/uploads", "Content-Length: 1000", kind="application/octet-stream") + b"some")
            await begun.wait()
            writer.transport.abort()
            while not any("went away" in record.message for record in caplog.records):
                await asyncio.sleep(0)

    caplog.set_level("INFO")
    run(check())
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


@pytest.mark.spec("R-L03")
def test_a_client_that_takes_nothing_is_dropped(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, write_stall_s=0.2) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(head(server, "/v1/large", method="GET"))
            while server.connections.count == 0:
                await asyncio.sleep(0)
            async with asyncio.timeout(LIMIT_S):
                while server.connections.count:
                    await asyncio.sleep(0.01)
            writer.close()

    run(step())


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel has no such clock")
def test_the_kernel_drops_a_client_that_does_not_take_the_rest_of_an_answer(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, write_stall_s=7) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            while not server.connections.count:
                await asyncio.sleep(0)
            one = server.connections._server.connections[0].transport.get_extra_info("socket")  # type: ignore[union-attr]
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7000
            writer.close()

    run(step())


async def _drip(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.02)


async def _end_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(-1)
    except ConnectionResetError:
        return b""


# ---- connections ----


@pytest.mark.spec("R-L03")
@pytest.mark.proves(22)
def test_one_connection_too_many_is_told_so_and_room_comes_back(home: Path, routes: list[Route]) -> None:
    async def step() -> None:
        async with served(home, routes, max_connections=3) as server:
            kept = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
            while server.connections.count < 3:
                await asyncio.sleep(0)
            answer = await server.raw(b"")
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"too_many_connections" in answer
            assert b"Retry-After: 1" in answer
            kept[0][1].close()
            while server.connections.count > 2:
                await asyncio.sleep(0)
            assert (await post(server, b"{}"))[0] == 200
            for _, writer in kept:
                writer.close()

    run(step())


def test_another_address_has_its_own_cap(home: Path) -> None:
    async def step() -> None:
        async with served(home, [], max_connections=10, max_connections_per_address=2) as server:
            admit = server.connections.admit
            assert [admit("10.0.0.1"), admit("10.0.0.1"), admit("10.0.0.1"), admit("10.0.0.2")] == [True, True, False, True]
            assert [admit("127.0.0.1") for _ in range(7)] == [True] * 6 + [False]
            for address in ["10.0.0.1"] * 3 + ["10.0.0.2"] + ["127.0.0.1"] * 7:
                server.connections.release(address)
            assert (server.connections.count, server.connections.by_address) == (0, {})

    run(step())


@pytest.mark.spec("R-L03")
@pytest.mark.proves(22)
@pytest.mark.parametrize(
    ("wanted", "files", "found"),
    [
        (4096, 4352, 4096),
        (4096, 10**9, 4096),
        (4096, 4351, 4095),
        (4096, 1024, 768),
        (4096, 256, 64),
        (4096, 160, 40),
        (30, 160, 30),
    ],
)
def test_connections_leave_files_for_what_answers_them(wanted: int, files: int, found: int) -> None:
    limits = Limits(max_connections=wanted)
    assert limits.within(files) == limits._replace(max_connections=found)
    assert (limits.shortage(files) == "") == (wanted == found)
    assert limits.within(limits.open_files) == limits


# ---- headers, and what is no HTTP (R-N12) ----


@pytest.mark.parametrize(
    "lines",
    [["X: " + "y" * 20_000], [f"X-{n}: {'y' * 400}" for n in range(50)], [f"X-{n}: y" for n in range(200)]],
    ids=["one", "long", "many"],
)
def test_headers_over_the_limit_are_refused(home: Path, routes: list[Route], lines: list[str]) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            answer = await server.raw(head(server, "/v1/values", "Content-Length: 2", *lines) + b"{}")
            assert answer == b"" or answer[:13] in (b"HTTP/1.0 400 ", b"HTTP/1.1 400 ")
            assert (await post(server, b"{}"))[0] == 200

    run(step())


SMUGGLED = b"0\r\n\r\nGET /v1/large HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.spec("R-N12")
@pytest.mark.proves(22)
@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (("Content-Length: 5", "Transfer-Encoding: chunked"), SMUGGLED),
        (("Transfer-Encoding: chunked", "Content-Length: 5"), SMUGGLED),
        (("Content-Length: 2", "Content-Length: 3"), b"{}x"),
        (("Content-Length: 2, 3",), b"{}x"),
        (("Content-Length: +2",), b"{}"),
        (("Content-Length: 0x2",), b"{}"),
        (("Content-Length: -1",), b"{}"),
        (("Content-Length: 99999999999999999999999",), b"{}"),
        (("Transfer-Encoding: xchunked",), SMUGGLED),
        (("Transfer-Encoding: chunked, identity",), SMUGGLED),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), SMUGGLED),
        (("Transfer-Encoding : chunked",), SMUGGLED),
        (("Content-Length : 2",), b"{}"),
        (("X: a\r\n b", "Content-Length: 2"), b"{}"),
        (("X\x00: a", "Content-Length: 2"), b"{}"),
        (("X: a\x00b", "Content-Length: 2"), b"{}"),
        (("X: a\nTransfer-Encoding: chunked",), SMUGGLED),
        (("X: a\rb", "Content-Length: 2"), b"{}"),
        ((": a", "Content-Length: 2"), b"{}"),
        (("no colon", "Content-Length: 2"), b"{}"),
        (("Transfer-Encoding: chunked",), b"x\r\n{}\r\n0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"-2\r\n{}\r\n0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"2\n{}\n0\n\n"),
        (("Transfer-Encoding: chunked",), b"2\r\n{}x0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"FFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(
    home: Path, routes: list[Route], lines: tuple[str, ...], body: bytes
) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            answer = await server.raw(head(server, "/v1/values", *lines) + body)
            assert answer[:13] in (b"HTTP/1.0 400 ", b"HTTP/1.1 400 ")
            assert answer.count(b"HTTP/1.") == 1
            assert b'"code": "malformed"' in answer
            assert b"Traceback" not in answer

    run(step())


@pytest.mark.spec("R-N12", "L9")
@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 100,
        b"<x>\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_400_without_an_echo(home: Path, routes: list[Route], data: bytes) -> None:
    async def step() -> None:
        async with served(home, routes) as server:
            answer = await server.raw(data, half_close=True)
            assert answer == b"" or (answer.startswith(b"HTTP/1.") and b" 400 " in answer[:20])
            if answer:
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["detail"] == "This is no HTTP request as RFC 9112 says."
                assert b"nosniff" in answer

    run(step())


@pytest.mark.spec("R-L04")
def test_who_has_not_shown_the_token_can_send_only_a_short_body(home: Path) -> None:
    """Thousands of connections of nobody's may be open: each may take some kilobytes of memory, not megabytes."""

    async def body() -> None:
        async with served(home, whole=True) as server:
            status, _, problem = await server.ask("POST", "/v1/session", json={"token": "x" * 5000})
            assert (status, problem["code"], problem["limit_bytes"]) == (413, "too_large", 4096)

    run(body())
