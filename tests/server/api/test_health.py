"""Whether work goes on, whether new work is taken, what is logged and counted."""

from __future__ import annotations

import io
import json
import logging
import os
import sqlite3
from collections import namedtuple
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from server.api.route import Call, Route, route
from server.engine.messages import Status
from server.health import GIB, Check, Health
from server.log import REQUEST, log_to
from server.metrics import MOST_TYPES, Metrics
from server.problems import Refusal
from server.pulse import DEAD_S, DatabasePulse, EnginePulse
from tests.server.api.kit import TOKEN, declared, run, served

LIMIT_S = 100.0


class Link:
    """What the pulse looks at of the engine."""

    def __init__(self) -> None:
        self.state, self.failure = "ready", ""
        self.status: Status | None = Status([place()], {})


def place(state: str = "idle", age_s: float | None = None, message: str = "") -> dict[str, Any]:
    return {"name": "cpu:0", "state": state, "progress_age_s": age_s, "message": message}


class Case:
    """A server's health with its parts in hand."""

    def __init__(self, folder: Path) -> None:
        self.now, self.has_work, self.link = 0.0, True, Link()
        self.database = folder / "jobs.sqlite"
        sqlite3.connect(self.database).execute("CREATE TABLE jobs (id)").connection.close()
        self.health = Health(folder, 0, lambda: self.now)
        self.pulse = EnginePulse(self.link, lambda: self.has_work, LIMIT_S, lambda: self.now)
        self.pulse.found()
        self.health.pulses += [self.pulse, DatabasePulse(self.database, lock_s=0.01)]

    def lose_engine(self, state: str, seconds: float) -> None:
        self.link.state, self.link.status, self.link.failure = state, None, "it was killed by signal 9"
        self.pulse.lost()
        self.now += seconds


def idle(case: Case) -> None:
    case.has_work = False


def running(case: Case) -> None:
    case.link.status = Status([place("busy", LIMIT_S - 1)], {})


def starting(case: Case) -> None:
    case.link.status = Status([place("starting")], {})


def stalled_worker(case: Case) -> None:
    case.link.status = Status([place("busy", LIMIT_S + 1)], {})


def worker_waits(case: Case) -> None:
    case.link.status = Status([place("waiting", message="it died 3 times")], {})


def disabled_device(case: Case) -> None:
    case.link.status = Status([place("disabled", message="it died 5 times at its start")], {})


def dead_engine(case: Case) -> None:
    case.lose_engine("waiting", 1.0)


def engine_whose_node_types_are_being_read(case: Case) -> None:
    case.lose_engine("waiting", 1.0)
    case.link.state, case.link.failure = "ready", ""


def engine_dead_for_long(case: Case) -> None:
    case.lose_engine("waiting", DEAD_S + 1)


def engine_dead_for_long_without_work(case: Case) -> None:
    case.has_work = False
    case.lose_engine("starting", DEAD_S + 1)


def draining(case: Case) -> None:
    case.health.is_draining = True


def disk_at_floor(case: Case) -> None:
    case.health._min_free_bytes = 2**62


TABLE = [
    (idle, True, True, None),
    (running, True, True, None),
    (starting, True, True, None),
    (stalled_worker, False, False, ("place cpu:0", "no progress for 101 s")),
    (worker_waits, True, False, ("place cpu:0", "it died 3 times")),
    (disabled_device, True, False, ("place cpu:0", "it died 5 times at its start")),
    (dead_engine, True, False, ("engine", "waiting: it was killed by signal 9")),
    (engine_whose_node_types_are_being_read, True, False, ("engine", "ready: its node types are being read")),
    (engine_dead_for_long, False, False, ("engine", "waiting: it was killed by signal 9")),
    (engine_dead_for_long_without_work, True, False, ("engine", "starting: it was killed by signal 9")),
    (draining, True, False, ("accepting", "draining")),
    (disk_at_floor, True, False, ("disk", None)),
]


@pytest.mark.spec("R-O02")
@pytest.mark.proves(11)
@pytest.mark.parametrize(("state", "alive", "ready", "reason"), TABLE, ids=[row[0].__name__ for row in TABLE])
def test_alive_means_work_goes_on_and_ready_that_more_is_taken(
    home: Path, tmp_path: Path, state: Any, alive: bool, ready: bool, reason: tuple[str, str | None] | None
) -> None:
    async def step() -> None:
        case = Case(tmp_path)
        state(case)
        async with served(home, whole=True) as server:
            server.services.health = case.health
            health = (await server.ask("GET", "/healthz"))[::2]
            assert health == ((200, {"status": "ok"}) if alive else (503, {"status": "stalled"}))
            status, _, found = await server.ask("GET", "/readyz", headers=server.bearer)
            assert (status, found["ready"]) == ((200, True) if ready else (503, False))
            failing = [(one["name"], one["message"]) for one in found["checks"] if not one["ok"]]
            assert [name for name, _ in failing] == ([] if reason is None else [reason[0]])
            assert reason is None or reason[1] in (None, failing[0][1])

    run(step())


@pytest.mark.spec("R-O02")
@pytest.mark.proves(11)
def test_a_locked_database_is_not_ready_until_it_is_free(tmp_path: Path) -> None:
    async def step() -> None:
        case = Case(tmp_path)
        other = sqlite3.connect(case.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert [one.name for one in await case.health.checks() if not one.is_ok] == ["database"]
        assert case.health.stalled() is None
        other.execute("ROLLBACK")
        other.close()
        assert [one for one in await case.health.checks() if not one.is_ok] == []

    run(step())


def test_health_is_open_and_tells_nothing_more(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            assert (await server.ask("GET", "/healthz"))[2] == {"status": "ok"}
            assert (await server.ask("GET", "/readyz"))[0] == 401
            assert (await server.ask("GET", "/metrics"))[0] == 401

    run(step())


# ---- the floor of free space ----

Free = namedtuple("Free", "f_bavail f_frsize f_blocks")


@pytest.mark.spec("R-C05")
@pytest.mark.proves(16)
@pytest.mark.parametrize(
    ("disk_bytes", "free_bytes", "floor", "refused"),
    [
        (1000 * GIB, GIB, None, False),
        (1000 * GIB, GIB - 4096, None, True),
        (10 * GIB, GIB // 5 + 4096, None, False),
        (10 * GIB, GIB // 5 - 4096, None, True),
        (1000 * GIB, 64 * 2**20 - 4096, 64 * 2**20, True),
        (1000 * GIB, 64 * 2**20, 64 * 2**20, False),
        (1000 * GIB, 0, 0, False),
    ],
)
def test_below_the_floor_new_work_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk_bytes: int, free_bytes: int, floor: int | None, refused: bool
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: Free(free_bytes // 4096, 4096, disk_bytes // 4096))
    health = Health(tmp_path, floor)
    health.check(("queue_full",))
    if not refused:
        health.check(("disk_full",))
        return
    with pytest.raises(Refusal, match=r"The disk has [0-9]+ MiB free; below [0-9]+ MiB nothing new is taken\. Free some space\."):
        health.check(("disk_full",))


def test_space_is_looked_at_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = 0.0, 0

    def statvfs(_: object) -> Free:
        nonlocal looks
        looks += 1
        return Free(10**9, 4096, 10**9)

    monkeypatch.setattr(os, "statvfs", statvfs)
    health = Health(tmp_path, None, lambda: now)
    for now in (0.0, 0.5, 0.99, 1.0, 1.5):
        health.check_disk()
    assert looks == 2


def draining_routes() -> list[Route]:
    def declare() -> None:
        @route("POST", "/v1/work", refuses=("draining", "disk_full"))
        async def work(call: Call) -> None:
            """Takes work."""

        @route("DELETE", "/v1/work", refuses=("disk_full",))
        async def remove(call: Call) -> None:
            """Makes room."""

        @route("GET", "/v1/look")
        async def look(call: Call) -> None:
            """Looks."""

    return declared(declare)


@pytest.mark.spec("R-O01")
@pytest.mark.proves(13)
def test_a_draining_server_refuses_new_work_and_answers_the_rest(home: Path) -> None:
    async def step() -> None:
        async with served(home, draining_routes(), min_free_bytes=0) as server:
            assert (await server.ask("POST", "/v1/work", headers=server.bearer))[0] == 204
            server.services.health.is_draining = True
            status, headers, problem = await server.ask("POST", "/v1/work", headers=server.bearer)
            assert (status, problem["code"], headers["Retry-After"]) == (503, "draining", "30")
            assert (await server.ask("GET", "/v1/look", headers=server.bearer))[0] == 204

    run(step())


@pytest.mark.spec("R-C05")
@pytest.mark.proves(16)
def test_a_full_disk_is_507_for_new_work_only(home: Path) -> None:
    async def step() -> None:
        async with served(home, draining_routes(), min_free_bytes=2**50) as server:
            status, headers, problem = await server.ask("POST", "/v1/work", headers=server.bearer)
            assert (status, problem["code"], headers["Retry-After"]) == (507, "disk_full", "30")
            assert (await server.ask("DELETE", "/v1/work", headers=server.bearer))[0] == 204
            assert (await server.ask("GET", "/v1/look", headers=server.bearer))[0] == 204

    run(step())


def test_a_pulse_may_take_its_time(tmp_path: Path) -> None:
    class Slow:
        def __init__(self) -> None:
            self.found: list[Check] = []

        async def look(self) -> None:
            self.found = [Check("slow", True, "looked")]

        def checks(self) -> Iterable[Check]:
            return self.found

        def stalled(self) -> str | None:
            return None

    health = Health(tmp_path, 0)
    health.pulses.append(Slow())
    assert run(health.checks())[-1] == Check("slow", True, "looked")


# ---- logs ----


@pytest.mark.spec("R-O03")
def test_a_log_line_is_one_line_of_json_whatever_is_said() -> None:
    stream, asked = io.StringIO(), "what a user wrote"
    before = logging.getLogger().handlers[:]
    try:
        log_to(stream, "debug")
        REQUEST.set("abc")
        log = logging.getLogger("latentgraph.test")
        log.info("a\nb\x1b[31m\u202e%s", "\x00", extra={"job": "1", "node": "x"})
        try:
            raise ValueError(asked)
        except ValueError:
            log.exception("bad")
        log.info("x" * 100_000)
        log.warning("it failed", extra={"trace": "there"})
    finally:
        logging.getLogger().handlers[:] = before
        REQUEST.set("")
    lines = stream.getvalue().splitlines()
    first, second, third, fourth = (json.loads(line) for line in lines)
    assert stream.getvalue().isascii()
    assert not any(ord(char) < 32 for line in lines for char in line)
    assert (first["message"], first["job"], first["node"], first["request"], first["level"]) == (
        "a\nb\x1b[31m\u202e\x00",
        "1",
        "x",
        "abc",
        "info",
    )
    assert "in test_a_log_line_is_one_line_of_json_whatever_is_said\n" in second["trace"]
    assert second["trace"].endswith("\nValueError")
    assert asked not in lines[1]
    assert len(third["message"]) == 8000
    assert fourth["trace"] == "there"


@pytest.mark.spec("L10", "R-O03")
def test_neither_tokens_nor_bodies_are_logged(home: Path) -> None:
    stream = io.StringIO()

    async def step() -> None:
        async with served(home, whole=True) as server:
            log_to(stream, "debug")
            await server.ask("POST", "/v1/session", json={"token": TOKEN})
            await server.ask("POST", "/v1/session", json={"token": "canary-wrong"})
            await server.ask("GET", "/v1/server?canary=1", headers=server.bearer)
            await server.ask("GET", f"/canary/{TOKEN}", headers=server.bearer)
            await server.raw(b"canary \x00\r\n\r\n")

    before = logging.getLogger().handlers[:]
    try:
        run(step())
    finally:
        logging.getLogger().handlers[:] = before
        logging.getLogger("latentgraph").setLevel(logging.NOTSET)
    text = stream.getvalue()
    assert "POST /v1/session gave 201" in text
    assert TOKEN not in text
    assert "canary" not in text


# ---- figures ----


@pytest.mark.spec("R-O03")
def test_labels_are_templates_and_never_what_clients_send(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True) as server:
            for number in range(50):
                await server.ask("GET", f"/v1/{number}", headers=server.bearer)
                await server.ask("GET", f"/assets/{number}")
            await server.ask("PROPFIND", "/", headers=server.bearer)
            status, headers, text = await server.ask("GET", "/metrics", headers=server.bearer)
            assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
            requests = [line for line in text.decode().splitlines() if line.startswith("latentgraph_requests_total")]
            assert sorted(line.rpartition(" ")[0] for line in requests) == [
                'latentgraph_requests_total{method="GET",route="/assets/{name}",status="404"}',
                'latentgraph_requests_total{method="GET",route="other",status="404"}',
                'latentgraph_requests_total{method="other",route="other",status="405"}',
            ]

    run(step())


def test_figures_can_be_switched_off(home: Path) -> None:
    async def step() -> None:
        async with served(home, whole=True, metrics=False) as server:
            assert (await server.ask("GET", "/metrics", headers=server.bearer))[0] == 404

    run(step())


def test_node_types_are_bounded_and_gauges_asked_when_read() -> None:
    metrics, value = Metrics(), 1.0
    metrics.gauge("size", "A size.", lambda: value)
    for number in range(MOST_TYPES + 100):
        metrics.node(f"type{number}", 0.1)
    metrics.job("done")
    metrics.cached(3)
    value = 2.0
    text = metrics.text().decode()
    assert sum(line.startswith("latentgraph_node_seconds_count") for line in text.splitlines()) == MOST_TYPES + 1
    assert 'latentgraph_node_seconds_count{type="other"} 100.0' in text
    assert "latentgraph_size 2.0" in text
    assert 'latentgraph_jobs_total{state="done"} 1.0' in text
    assert "latentgraph_cached_nodes_total 3.0" in text
