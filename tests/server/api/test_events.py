"""Server-sent events of jobs: a snapshot, then deltas, to the end; whoever comes again goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from server.jobs import hub as hubs
from server.jobs.record import JobResult
from tests.server.api.fakes import DOCUMENT, a_node, a_preview, a_step, with_desk
from tests.server.api.kit import Served, run


class Stream:
    """An open stream of events, read one by one."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.comments = 0

    async def next(self) -> dict[str, Any] | None:
        """The next event with its id; None at the end."""
        fields: dict[str, str] = {}
        while line := await self.answer.content.readline():
            text = line.decode().rstrip("\n")
            if text.startswith(":"):
                self.comments += 1
            elif text:
                name, _, value = text.partition(": ")
                fields[name] = value
            elif "data" in fields:
                event = json.loads(fields["data"])
                assert event["event"] == fields["event"]
                return event | {"id": fields["id"]}
        return None

    async def rest(self) -> list[dict[str, Any]]:
        """Every event up to the end."""
        found = []
        while (event := await self.next()) is not None:
            found.append(event)
        return found

    async def until(self, **members: Any) -> list[dict[str, Any]]:
        """The events up to one with these members."""
        found: list[dict[str, Any]] = []
        while not found or any(found[-1].get(name) != value for name, value in members.items()):
            event = await self.next()
            assert event is not None, f"the stream ended before {members}"
            found.append(event)
        return found


@asynccontextmanager
async def events(server: Served, path: str, last_id: str = "") -> AsyncIterator[Stream]:
    headers = server.bearer | ({"Last-Event-ID": last_id} if last_id else {})
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
        client.get(server.url + path, headers=headers) as answer,
    ):
        assert answer.status == 200, await answer.text()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield Stream(answer)


async def submit(server: Served) -> str:
    status, _, body = await server.ask("POST", "/v1/jobs", headers=server.bearer, json={"workflow": DOCUMENT})
    assert status == 202
    return str(body["id"])


def kinds(found: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(event["event"], event.get("state")) for event in found]


@pytest.mark.spec("I3", "I8")
def test_a_job_is_followed_from_the_queue_to_its_end(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                assert kinds([await stream.next()]) == [("snapshot", "queued")]  # type: ignore[list-item]
                desk.play(id)
                desk.tell(id, a_node("running"))
                found = await stream.until(event="node")
                desk.tell(id, a_step(5), a_node("done", seconds=0.5))
                desk.end(id)
                found += await stream.rest()
            assert kinds(found) == [("job", "running"), ("planned", None), ("node", "running"), ("node", "done"), ("end", "done")]
            assert found[-1]["outputs"] == {"text": "a cat"}
            assert [event["seq"] for event in found] == list(range(found[0]["seq"], found[0]["seq"] + 5))

    run(check())


@pytest.mark.spec("I11")
def test_progress_carries_the_step_and_the_engines_estimate(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                await stream.next()
                desk.play(id)
                desk.tell(id, a_node("running"), a_step(4))
                found = (await stream.until(event="progress"))[-1]
            assert (found["step"], found["total"], found["eta_seconds"], found["node"]) == (4, 10, 1.5, "text")

    run(check())


@pytest.mark.spec("I8")
def test_who_comes_again_hears_what_it_missed_and_nothing_twice(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            path = f"/v1/jobs/{id}/events"
            desk.play(id)
            async with events(server, path) as stream:
                last = (await stream.until(event="snapshot"))[-1]["id"]
            desk.tell(id, a_node("running"), a_node("done"))
            async with events(server, path, last) as stream:
                found = await stream.until(state="done")
            assert kinds(found) == [("node", "running"), ("node", "done")]
            desk.end(id)
            async with events(server, path, found[-1]["id"]) as stream:
                end = await stream.rest()
            assert kinds(end) == [("end", "done")]
            status, _, _ = await server.ask("GET", path, headers=server.bearer | {"Last-Event-ID": end[-1]["id"]})
            assert status == 204  # nothing more will come
            async with events(server, path, "unknown-1") as stream:
                assert kinds(await stream.rest()) == [("snapshot", "done"), ("end", "done")]

    run(check())


@pytest.mark.spec("I8")
def test_an_ended_job_is_told_from_the_store(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.end(id, "failed", JobResult(1.0, 0.0, (), problem={"code": "node_failed", "detail": "no"}))
            server.services.hub.deleted(id)  # long ago
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                found = await stream.rest()
            assert (kinds(found), found[-1]["problem"]["code"]) == ([("snapshot", "failed"), ("end", "failed")], "node_failed")

    run(check())


@pytest.mark.spec("I8")
def test_a_place_of_the_last_server_gets_a_snapshot_of_this_one(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                last = (await stream.until(event="snapshot"))[-1]["id"]
        async with with_desk(tmp_path / "h", desk) as (server, desk):
            desk.play(id)
            async with events(server, f"/v1/jobs/{id}/events", last) as stream:
                assert kinds(await stream.until(event="snapshot")) == [("snapshot", "running")]

    run(check())


@pytest.mark.spec("I8")
def test_all_jobs_are_followed_without_their_progress(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            first = await submit(server)
            desk.play(first)
            async with events(server, "/v1/events") as stream:
                snapshot = (await stream.until(event="snapshot"))[0]
                assert ([job["job"] for job in snapshot["jobs"]], snapshot["queue"]["running"]) == ([first], 1)
                second = await submit(server)
                desk.tell(first, a_node("running"), a_step(1))
                desk.end(first)
                found = await stream.until(event="end")
                assert [(event["event"], event["job"]) for event in found if event["event"] != "queue"] == [
                    ("job", second),
                    ("end", first),
                ]
                queue = (await stream.until(event="queue", queued=1))[-1]
                assert queue["order"] == [second]

    run(check())


def test_previews_are_not_in_the_stream_and_not_asked_for(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                await stream.next()
                desk.tell(id, a_preview(b"webp"), a_node("done"))
                assert kinds(await stream.until(event="node")) == [("node", "done")]
            assert desk.watched == []

    run(check())


def test_a_silent_stream_shows_that_it_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "HEARTBEAT_S", 0.01)
    monkeypatch.setattr(hubs, "SWEEP_S", 0.01)

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            id = await submit(server)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                await stream.next()
                while (await stream.answer.content.readline()) != b": alive\n":
                    pass

    run(check())


def test_head_of_a_stream_is_answered_at_once(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            id = await submit(server)
            for path in (f"/v1/jobs/{id}/events", "/v1/events"):
                assert (await server.ask("HEAD", path, headers=server.bearer))[0] == 200
            assert (await server.ask("HEAD", "/v1/ws", headers=server.bearer))[0] == 400

    run(check())


def test_streams_end_when_the_server_stops(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            id = await submit(server)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                await stream.next()
                server.services.hub.close()
                assert await stream.rest() == []

    run(check())


def test_readers_that_are_gone_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "SWEEP_S", 0.01)

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            id = await submit(server)
            for _ in range(20):
                async with events(server, f"/v1/jobs/{id}/events") as stream:
                    await stream.next()
            hub = server.services.hub
            while hub.reader_count:
                await asyncio.sleep(0)
            assert hub.look(id) is None  # it waits, and nobody follows it

    run(check())


@pytest.mark.spec("R-L07")
def test_a_reader_that_stops_reading_delays_nobody_and_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "STALL_S", 0.5)
    monkeypatch.setattr(hubs, "SWEEP_S", 0.05)

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            _reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
            writer.transport.pause_reading()
            writer.write(
                f"GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: {server.bearer['Authorization']}\r\n\r\n".encode()
            )
            hub = server.services.hub
            while not hub.reader_count:
                await asyncio.sleep(0.001)
            async with events(server, f"/v1/jobs/{id}/events") as stream:
                await stream.next()
                number = 0
                while hub.reader_count == 2:
                    number += 1
                    desk.tell(id, *[a_node("waiting", message="x" * 1900)] * 20, a_node("running", message=f"{number} "))
                    assert (await stream.until(event="node", state="running"))[-1]["message"] == f"{number} "
                desk.end(id)
                assert kinds(await stream.rest()) == [("end", "done")]
            writer.close()

    run(check())


@pytest.mark.slow
@pytest.mark.spec("R-L11", "R-L07")
def test_two_hundred_streams_hear_every_state_in_order(tmp_path: Path) -> None:
    """The small form of `tests/bench/streams.py`: no error, no gap, bounded memory."""
    count, jobs = 200, 4

    async def listen(server: Served, client: aiohttp.ClientSession, id: str, started: asyncio.Semaphore) -> list[tuple[str, Any]]:
        async with client.get(f"{server.url}/v1/jobs/{id}/events", headers=server.bearer) as answer:
            assert answer.status == 200
            stream = Stream(answer)
            first = await stream.next()
            started.release()
            found = await stream.rest()
            assert first is not None
            numbers = [event["seq"] for event in found if event["event"] != "progress"]
            assert numbers == list(range(first["seq"] + 1, first["seq"] + 1 + len(numbers)))
            return [(event["node"], event["state"]) for event in found if event["event"] == "node"]

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            ids = [await submit(server) for _ in range(jobs)]
            names = [f"n{number}" for number in range(20)]
            for id in ids:
                desk.play(id, [{"id": name, "type": "T", "state": "waiting", "elements": None} for name in names])
            started = asyncio.Semaphore(0)
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
                listening = [
                    asyncio.ensure_future(listen(server, client, ids[number % jobs], started)) for number in range(count)
                ]
                for _ in range(count):
                    await started.acquire()
                for name in names:
                    for id in ids:
                        desk.tell(
                            id, a_node("running", name), *[a_step(step, name) for step in range(1, 11)], a_node("done", name)
                        )
                    await asyncio.sleep(0)
                for id in ids:
                    desk.end(id)
                found = await asyncio.gather(*listening)
            assert found == [[(name, state) for name in names for state in ("running", "done")]] * count
            hub = server.services.hub
            while hub.reader_count:
                await asyncio.sleep(0)
            assert sum(len(live.stream._ring) for live in hub._live.values()) <= jobs * hubs.RING_DELTAS

    run(check())


@pytest.mark.slow
@pytest.mark.spec("R-L11")
def test_a_storm_of_five_hundred_reconnects_loses_nothing(tmp_path: Path) -> None:
    async def come_again(client: aiohttp.ClientSession, server: Served, path: str, last: str) -> tuple[str, list[str]]:
        headers = server.bearer | {"Last-Event-ID": last}
        async with client.get(server.url + path, headers=headers) as answer:
            assert answer.status == 200
            found = await Stream(answer).until(state="done")
            return found[-1]["id"], [event["state"] for event in found]

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            id = await submit(server)
            desk.play(id)
            path = f"/v1/jobs/{id}/events"
            async with events(server, path) as stream:
                last = (await stream.until(event="snapshot"))[-1]["id"]
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as client:
                for _ in range(5):
                    desk.tell(id, a_node("running"), a_node("done"))
                    found = await asyncio.gather(*(come_again(client, server, path, last) for _ in range(100)))
                    assert {tuple(states) for _, states in found} == {("running", "done")}
                    (last,) = {place for place, _ in found}

    run(check())
