"""The page's WebSocket: what it tells, what it refuses, and what slow and hostile clients get."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import msgpack
import pytest
from aiohttp import WSMsgType

from server.api.routes import socket as sockets
from server.jobs import hub as hubs
from tests.server.api.fakes import DOCUMENT, FakeWorkflows, a_node, a_preview, a_step, with_desk
from tests.server.api.kit import Served, run


class Client:
    """A client of the socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def do(self, **command: Any) -> None:
        await self.socket.send_bytes(msgpack.packb(command))

    async def next(self) -> dict[str, Any]:
        message = await self.socket.receive(20)
        assert message.type == WSMsgType.BINARY, message
        found: dict[str, Any] = msgpack.unpackb(message.data)
        return found

    async def until(self, **members: Any) -> list[dict[str, Any]]:
        """The frames up to one with these members."""
        found: list[dict[str, Any]] = []
        while not found or any(found[-1].get(name) != value for name, value in members.items()):
            found.append(await self.next())
        return found

    async def close_code(self) -> int | None:
        """What the server closes with, whatever it sends before."""
        while True:
            message = await self.socket.receive(20)
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                return self.socket.close_code


@asynccontextmanager
async def opened(server: Served) -> AsyncIterator[Client]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(server.url + "/v1/ws", headers=server.bearer, max_msg_size=0) as socket,
    ):
        client = Client(socket)
        assert (await client.next())["event"] == "hello"
        yield client


async def submit(server: Served) -> str:
    status, _, body = await server.ask("POST", "/v1/jobs", headers=server.bearer, json={"workflow": DOCUMENT})
    assert status == 202
    return str(body["id"])


def kinds(frames: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(frame["event"], frame.get("state")) for frame in frames]


@pytest.mark.spec("I3", "I8")
def test_a_subscriber_gets_a_snapshot_and_every_change_with_numbers_without_gaps(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk), opened(server) as client:
            id = await submit(server)
            await client.do(do="subscribe", jobs=[id])
            snapshot = await client.next()
            assert (snapshot["event"], snapshot["job"], snapshot["state"]) == ("snapshot", id, "queued")
            desk.play(id)
            desk.tell(id, a_node("running"), a_step(3))
            found = await client.until(event="progress")
            desk.tell(id, a_node("done"))
            desk.end(id)
            found += await client.until(event="end")
            assert kinds(found) == [
                ("job", "running"),
                ("planned", None),
                ("node", "running"),
                ("progress", None),
                ("node", "done"),
                ("end", "done"),
            ]
            numbers = [frame["seq"] for frame in found if frame["event"] != "progress"]
            assert numbers == list(range(snapshot["seq"] + 1, snapshot["seq"] + 6))

    run(check())


def test_a_page_with_a_session_follows_all_jobs_and_the_queue(tmp_path: Path) -> None:
    async def check() -> None:
        async with (
            with_desk(tmp_path / "h") as (server, desk),
            aiohttp.ClientSession() as session,
            session.ws_connect(server.url + "/v1/ws", headers=server.session) as socket,
        ):
            client = Client(socket)
            await client.do(do="subscribe", jobs="all")
            assert (await client.until(event="snapshot"))[-1]["stream"] == "all"
            id = await submit(server)
            found = await client.until(event="queue")
            assert [(frame["event"], frame.get("job"), frame.get("order")) for frame in found] == [
                ("job", id, None),
                ("queue", None, [id]),
            ]
            await client.do(do="unsubscribe", jobs="all")
            await client.do(do="ping", number=1)
            await client.until(event="pong", number=1)
            desk.end(id)
            await client.do(do="ping", number=2)
            assert kinds(await client.until(event="pong", number=2)) == [("pong", None)]

    run(check())


def test_who_follows_all_hears_of_changed_workflows_and_nobody_looks_for_others(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            workflows = server.services.workflows = FakeWorkflows()  # type: ignore[assignment]
            async with opened(server) as client, opened(server) as other:
                await client.do(do="subscribe", jobs="all")
                await client.until(event="snapshot")
                await other.do(do="ping", number=1)
                await other.until(event="pong", number=1)
                assert len(workflows.listeners) == 1
                workflows.tell("b", "a")
                assert (await client.until(event="workflows"))[-1] == {"event": "workflows", "names": ["a", "b"]}
                await client.do(do="unsubscribe", jobs="all")
                await client.do(do="ping", number=2)
                await client.until(event="pong", number=2)
                assert workflows.listeners == set()
                await client.do(do="subscribe", jobs="all")
                await client.until(event="snapshot")
                workflows.tell("c")
                assert (await client.until(event="workflows"))[-1]["names"] == ["c"]
            async with asyncio.timeout(20):
                while workflows.listeners:
                    await asyncio.sleep(0)

    run(check())


def test_previews_come_as_bytes_to_who_wants_them_and_only_while_somebody_does(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            async with opened(server) as client, opened(server) as other:
                await client.do(do="subscribe", jobs=[id], previews=True)
                await other.do(do="subscribe", jobs=[id])
                await client.until(event="snapshot"), await other.until(event="snapshot")
                assert desk.watched == [(id, True)]
                image = os.urandom(50_000)
                desk.tell(id, a_node("running"), a_preview(b"old"), a_preview(image))
                assert (await client.until(event="preview"))[-1]["image"] == image
                desk.tell(id, a_node("done"))
                assert kinds(await other.until(state="done")) == [("node", "running"), ("node", "done")]
                await client.do(do="unsubscribe", jobs=[id])
                await client.do(do="ping")
                await client.until(event="pong")
                assert desk.watched == [(id, True), (id, False)]

    run(check())


@pytest.mark.spec("R-L11")
def test_who_comes_again_goes_on_from_its_number(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            async with opened(server) as client:
                await client.do(do="subscribe", jobs=[id])
                snapshot = (await client.until(event="snapshot"))[-1]
            desk.tell(id, a_node("running"), a_node("done"))
            async with opened(server) as client:
                await client.do(do="subscribe", jobs=[id], since={id: f"{snapshot['epoch']}-{snapshot['seq']}"})
                assert kinds(await client.until(state="done")) == [("node", "running"), ("node", "done")]

    run(check())


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        ({}, 'This is no command of the socket. Send "do": "subscribe", "unsubscribe" or "ping"; /v1/docs has their members.'),
        (
            {"do": "fly"},
            'This is no command of the socket. Send "do": "subscribe", "unsubscribe" or "ping"; /v1/docs has their members.',
        ),
        ({"do": "subscribe"}, "jobs: Field required. Change it; /v1/docs has the commands."),
        (
            {"do": "ping", "number": -1},
            "number: Input should be greater than or equal to 0. Change it; /v1/docs has the commands.",
        ),
        (
            {"do": "subscribe", "jobs": ["0" * 26]},
            "There is no job 00000000000000000000000000. GET /v1/jobs lists those there are.",
        ),
    ],
)
@pytest.mark.spec("R-L06")
def test_a_command_that_cannot_be_is_told_why_and_the_socket_lives_on(tmp_path: Path, command: Any, detail: str) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as client:
            await client.do(**command)
            frame = await client.next()
            assert (frame["event"], frame["detail"]) == ("error", detail)
            await client.do(do="ping", number=3)
            assert (await client.next()) == {"event": "pong", "number": 3}

    run(check())


GARBAGE: list[bytes] = [b"", b"\xc1", b"\x93\x01", b"\x01", b"\xdd\xff\xff\xff\xff", b"\x91" * 60_000, b"\x81\x01\x02", b"\xc7\x01\x05x", b"\x80\x80", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xa1\xff"]  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda data: data[:6].hex() or "empty")
@pytest.mark.spec("R-L06", "R-I11")
def test_garbage_closes_the_socket_with_1008(tmp_path: Path, garbage: bytes) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as client:
            await client.socket.send_bytes(garbage)
            assert await client.close_code() == 1008

    run(check())


@pytest.mark.spec("R-L06")
def test_text_is_no_command(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as client:
            await client.socket.send_str('{"do": "ping"}')
            assert await client.close_code() == 1008

    run(check())


@pytest.mark.spec("R-L06")
def test_a_message_over_its_limit_closes_the_socket_and_others_go_on(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as other, opened(server) as client:
            with suppress(ConnectionError):
                await client.socket.send_bytes(bytes(5 * 1024 * 1024))
            assert await client.close_code() in (1009, 1006)  # 1006: the reset came before the frame was looked at
            await other.do(do="ping")
            assert (await other.next())["event"] == "pong"

    run(check())


@pytest.mark.spec("R-L06")
@pytest.mark.parametrize("kind", ["commands", "pings", "pongs"])
def test_a_flood_of_messages_closes_the_socket_with_1008(tmp_path: Path, kind: str) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as client:
            try:
                for _ in range(sockets.MOST_AT_ONCE * 3):
                    if kind == "commands":
                        await client.do(do="ping")
                    elif kind == "pings":
                        await client.socket.ping()
                    else:
                        await client.socket.pong()
            except ConnectionError:
                pass
            assert await client.close_code() == 1008

    run(check())


def frame(opcode: int, payload: bytes, is_last: bool = True, rsv: int = 0) -> bytes:
    """A client's frame, masked with zeros."""
    first = (0x80 if is_last else 0) | rsv | opcode
    size = len(payload)
    length = (
        bytes([0x80 | size])
        if size < 126
        else b"\xfe" + struct.pack(">H", size)
        if size < 65536
        else b"\xff" + struct.pack(">Q", size)
    )
    return bytes([first]) + length + bytes(4) + payload


async def raw(server: Served, *more: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)  # so that a client that stops reading is soon felt
    link.setblocking(False)
    await asyncio.get_running_loop().sock_connect(link, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=link)
    writer.write(
        f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: {server.bearer['Authorization']}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n"
        "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 101 " in head
    assert b"permessage-deflate" not in head
    writer.write(b"".join(more))
    return reader, writer


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """Everything that came before the connection was closed, or reset because the server left the rest unread."""
    found = b""
    try:
        async with asyncio.timeout(20):
            while data := await reader.read(65536):
                found += data
    except ConnectionResetError:
        pass
    return found


def closed_with(data: bytes) -> int | None:
    """The code of the close frame at the end of what a server sent."""
    return int.from_bytes(data[(at := data.rindex(b"\x88")) + 2 : at + 4]) if b"\x88" in data else None


@pytest.mark.spec("R-L06")
@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([frame(2, bytes(40_000), is_last=False), frame(0, bytes(40_000), is_last=False)], 1009),
        ([frame(2, b"x", is_last=False), frame(2, b"x")], 1002),
        ([frame(0, b"x")], 1002),
        ([frame(2, b"x", rsv=0x40)], 1002),
        ([frame(3, b"x")], 1002),
        ([frame(9, bytes(126))], 1002),
        ([b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" + bytes(4)], 1009),
    ],
    ids=["endless fragments", "interleaved", "orphan continuation", "compressed", "unknown opcode", "long ping", "giant length"],
)
def test_frames_against_the_protocol_close_only_their_own_socket(tmp_path: Path, frames: list[bytes], code: int) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as other:
            reader, writer = await raw(server, *frames)
            data = await all_of(reader)
            writer.close()
            assert closed_with(data) == code
            await other.do(do="ping")
            assert (await other.next())["event"] == "pong"

    run(check())


@pytest.mark.spec("R-L06")
def test_fragments_never_finished_hold_a_bounded_buffer_and_nothing_else(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as other:
            half = [await raw(server, frame(2, bytes(60_000), is_last=False)) for _ in range(20)]
            for number in range(5):
                await other.do(do="ping", number=number)
                assert (await other.next())["number"] == number
            for _, writer in half:
                writer.close()

    run(check())


def test_a_plain_request_is_told_to_open_a_websocket(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            status, _, problem = await server.ask("GET", "/v1/ws", headers=server.bearer)
            assert (status, problem["code"]) == (400, "malformed")
            assert problem["detail"].startswith("GET /v1/ws is opened as a WebSocket")

    run(check())


def test_a_socket_follows_at_most_so_many_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_JOBS", 1)

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as client:
            ids = [await submit(server) for _ in range(3)]
            await client.do(do="subscribe", jobs=ids)
            found = await client.until(event="error")
            assert found[-1]["detail"] == "This socket follows 1 jobs, which is the most. Unsubscribe from one."

    run(check())


def test_sockets_are_closed_with_1001_when_the_server_stops(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), opened(server) as client:
            server.services.hub.close()
            assert await client.close_code() == 1001

    run(check())


@pytest.mark.slow
@pytest.mark.spec("R-L07")
def test_slow_clients_delay_nobody_and_get_a_snapshot_when_they_read_again(tmp_path: Path) -> None:
    """Slow ones stop reading while events flow; memory is one ring, and what they read later begins with a snapshot."""

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            slow = [await raw(server) for _ in range(10)]
            for _, writer in slow:
                writer.write(frame(2, msgpack.packb({"do": "subscribe", "jobs": [id]})))
            async with opened(server) as client:
                await client.do(do="subscribe", jobs=[id])
                await client.until(event="snapshot")
                while len(server.services.hub.stream(desk.jobs[id]).readers) < 11:
                    await asyncio.sleep(0)
                for _, writer in slow:
                    writer.transport.pause_reading()
                for number in range(60):  # about 3 MB: more than every buffer on the way
                    desk.tell(id, *[a_node("running", message="x" * 1900) for _ in range(30)], a_step(number, total=60))
                    assert (await client.until(event="progress"))[-1]["step"] == number
                stream = server.services.hub.stream(desk.jobs[id])
                assert len(stream._ring) <= hubs.RING_DELTAS
                desk.tell(id, a_node("done"))
                desk.end(id)
                await client.until(event="end")
            for reader, writer in slow:
                writer.transport.resume_reading()
                frames = [one async for one in read_frames(reader)]
                again = [number for number, one in enumerate(frames) if one["event"] == "snapshot"]
                assert len(again) >= 2  # the first one, and the one that made up for what was left out
                numbers = [one["seq"] for one in frames[again[-1] + 1 :] if one["event"] not in ("progress", "snapshot")]
                assert numbers[-1] == frames[-1]["seq"]
                assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
                assert frames[-1]["event"] == "end"
                writer.close()

    run(check())


async def read_frames(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """The maps that a server sends, up to the end of a job."""
    while True:
        head = await reader.readexactly(2)
        size = head[1]
        if size == 126:
            size = int.from_bytes(await reader.readexactly(2))
        elif size == 127:
            size = int.from_bytes(await reader.readexactly(8))
        found = msgpack.unpackb(await reader.readexactly(size))
        yield found
        if found["event"] == "end":
            return


@pytest.mark.slow
@pytest.mark.spec("R-L07")
def test_a_client_that_never_reads_again_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "STALL_S", 0.3)
    monkeypatch.setattr(hubs, "SWEEP_S", 0.05)
    monkeypatch.setattr(sockets, "_CLOSE_S", 0.1)

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            _, writer = await raw(server, frame(2, msgpack.packb({"do": "subscribe", "jobs": [id]})))
            hub = server.services.hub
            while not hub.stream(desk.jobs[id]).readers:
                await asyncio.sleep(0)
            writer.transport.pause_reading()
            while hub.reader_count:
                desk.tell(id, *[a_node("running", message="x" * 1900) for _ in range(60)])
                await asyncio.sleep(0.001)
            writer.close()

    run(check())
