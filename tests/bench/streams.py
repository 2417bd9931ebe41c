"""Benchmark of followers: 1,000 open event streams and 50 pollers while mini jobs run (Must show 4).

`python -m tests.bench.streams [SECONDS [STREAMS [POLLERS]]]`. The pollers and each half of the streams are processes of
their own, so that what is measured is the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import aiohttp

from tests.bench.server import prepared, resident_mb
from tests.bench.table import BusyElsewhere, Row, row, show
from tests.rig.serving import ROOT, Server, running

SECONDS, STREAMS, POLLERS, THINK_S = 60.0, 1000, 50, 0.2
#: Jobs that wait or run at any time.
JOBS_AHEAD: Final = 3
PROCESSES: Final = 2
MINI: Final = ROOT / "workflows/mini_text_to_image.json"


class Followers:
    """Streams that each follow a job to its end, and then the newest; counts what they hear and what is wrong."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.events = self.ends = self.open = 0
        self.errors: list[str] = []

    async def newest(self) -> list[str]:
        """Jobs that have not ended."""
        async with self.session.get("/v1/jobs?state=running&state=queued&limit=5") as answer:
            return [job["id"] for job in (await answer.json())["jobs"]]

    async def follow(self, number: int, end: float) -> None:
        """Follow one job after the other."""
        while time.monotonic() < end:
            try:
                ids = await self.newest()
                if ids:
                    await self.one(ids[number % len(ids)], end)
                else:
                    await asyncio.sleep(0.1)
            except (aiohttp.ClientError, OSError, ValueError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")

    async def one(self, id: str, end: float) -> None:
        """A job to its end: a snapshot first, then numbers without gaps."""
        last: int | None = None
        async with self.session.get(f"/v1/jobs/{id}/events") as answer:
            self.open += 1
            try:
                async for line in answer.content:
                    if line.startswith(b"data: "):
                        last = self.heard(json.loads(line[6:]), last)
                    if time.monotonic() > end:
                        return
            finally:
                self.open -= 1

    def heard(self, event: dict[str, Any], last: int | None) -> int:
        """Count an event; the number it leaves the stream at."""
        self.events += 1
        kind, seq = event["event"], int(event["seq"])
        self.ends += kind == "end"
        if kind not in ("snapshot", "progress") and seq != (last or 0) + 1 and not (kind == "end" and seq == last):
            self.errors.append(f"{kind} has number {seq} after {last}")
        return seq


async def streams(url: str, token: str, count: int, end: float) -> dict[str, Any]:
    """Hold so many streams open until `end` (monotonic)."""
    headers = {"Authorization": f"Bearer {token}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, headers=headers, timeout=timeout, connector=connector) as session:
        followers = Followers(session)
        most = 0
        tasks = [asyncio.ensure_future(followers.follow(number, end)) for number in range(count)]
        while time.monotonic() < end:
            await asyncio.sleep(0.5)
            most = max(most, followers.open)
        await asyncio.wait(tasks, timeout=10)
        for task in tasks:
            task.cancel()
        return {"events": followers.events, "ends": followers.ends, "errors": followers.errors, "open": most}


async def pollers(url: str, token: str, count: int, end: float) -> dict[str, Any]:
    """Read jobs again and again, thinking in between; seconds of each answer."""
    samples: list[float] = []
    errors: list[str] = []
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def poll(number: int) -> None:
            await asyncio.sleep(THINK_S * number / count)
            async with session.get("/v1/jobs?limit=5") as answer:
                ids = [job["id"] for job in (await answer.json())["jobs"]]
            turn = 0
            while time.monotonic() < end:
                turn += 1
                if turn % 20 == 0:
                    async with session.get("/v1/jobs?limit=5") as answer:
                        ids = [job["id"] for job in (await answer.json())["jobs"]]
                started = time.perf_counter()
                async with session.get(f"/v1/jobs/{ids[number % len(ids)]}") as answer:
                    await answer.read()
                    if answer.status != 200:
                        errors.append(f"GET job gave {answer.status}")
                samples.append(time.perf_counter() - started)
                await asyncio.sleep(THINK_S)

        for done in await asyncio.gather(*map(poll, range(count)), return_exceptions=True):
            if isinstance(done, Exception):
                errors.append(f"{type(done).__name__}: {done}")
    return {"samples": samples, "errors": errors}


@contextmanager
def helper(kind: str, server: Server, count: int, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A process of this module that holds streams or polls, and prints what it found."""
    command = [sys.executable, "-m", "tests.bench.streams", kind, server.url, server.token, str(count), str(seconds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def jobs_until(server: Server, end: float, memory: list[float], first_seed: int = 0) -> int:
    """Keep some mini jobs ahead, each of another seed, and note the server's memory; how many were sent."""
    document = json.loads(MINI.read_text())
    sent = 0
    while time.monotonic() < end:
        queue = server.get("/v1/queue").json
        for _ in range(JOBS_AHEAD - queue["queued"] - queue["running"]):
            server.submit(document, inputs={"seed": first_seed + sent})
            sent += 1
        memory.append(resident_mb(server.pid))
        time.sleep(0.5)
    return sent


def rows(seconds: float = SECONDS, count: int = STREAMS, polls: int = POLLERS) -> list[Row]:
    """All measurements."""
    memory: list[float] = []
    with prepared() as server, running(server), BusyElsewhere() as busy:
        idle = resident_mb(server.pid)
        halves = [count // PROCESSES] * PROCESSES
        server.ended(server.submit(json.loads(MINI.read_text()), inputs={"seed": 1})["id"])  # the engine is warm
        jobs_until(server, time.monotonic() + 1, [], 1000)
        end = time.monotonic() + seconds + 5
        with (
            helper("streams", server, halves[0], seconds) as first,
            helper("streams", server, halves[1], seconds) as second,
            helper("pollers", server, polls, seconds) as polling,
        ):
            jobs_until(server, end, memory, 2000)
            followed = [json.loads(process.communicate(timeout=60)[0]) for process in (first, second)]
            polled = json.loads(polling.communicate(timeout=60)[0])
        ended = server.get("/v1/jobs?state=done&limit=200").json["jobs"]
    errors = [*polled["errors"], *(error for part in followed for error in part["errors"])]
    for error in errors[:10]:
        print(error, file=sys.stderr)
    settled = memory[len(memory) // 3 :]
    half = len(settled) // 2
    growth = max(settled[half:]) - max(settled[:half])
    events, ends, most = (sum(part[name] for part in followed) for name in ("events", "ends", "open"))
    note = f"others used {busy.cores:.1f} cores, the helpers among them"
    return [
        row("streams open at once", [most], "", at_least=count, note=f"{events} events, {ends} ends heard"),
        row("errors of streams and pollers", [len(errors)], "", at_most=0),
        row(f"GET job with {polls} pollers", polled["samples"], "s", at_most=0.15, by=0.99, note=note),
        row("mini jobs done meanwhile", [len(ended)], "", at_least=1),
        row("memory of the server process", [max(memory)], "MiB", note=f"{idle:.0f} before"),
        row("its growth from the second third to the last", [growth], "MiB", at_most=8),
    ]


def main() -> int:
    """The benchmark, or one of its helpers."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if len(sys.argv) == 6:
        kind, url, token, count, seconds = sys.argv[1:]
        act = streams if kind == "streams" else pollers
        print(json.dumps(asyncio.run(act(url, token, int(count), time.monotonic() + float(seconds)))))
        return 0
    given = sys.argv[1:]
    found = rows(
        float(given[0]) if given else SECONDS,
        int(given[1]) if len(given) > 1 else STREAMS,
        int(given[2]) if len(given) > 2 else POLLERS,
    )
    return int(not show(found))


if __name__ == "__main__":
    sys.exit(main())
