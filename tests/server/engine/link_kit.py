"""What the tests of the engine process share: a link to a real one, and a listener that writes down what it hears."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server.engine.link import EngineLink
from server.engine.messages import Ended, Hello, Ping, Planned, Pong, Status, Submit, Tried
from server.engine.options import EngineOptions
from tests.graph.engine_kit import n, workflow

#: How long anything may take before a test fails.
PATIENCE = 60.0


class Listener:
    """Hears; a test waits for what it hears with `until`."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.ended: dict[str, Ended] = {}
        self.planned: dict[str, Planned] = {}
        self.ends = 0
        self._arrived = asyncio.Event()

    def _hear(self, said: Any) -> None:
        self.said.append(said)
        self._arrived.set()

    def on_ready(self, hello: Hello) -> None:
        self._hear(hello)

    def on_lost(self, reason: str) -> None:
        self._hear(reason)

    def on_planned(self, message: Planned) -> None:
        self.planned[message.job] = message
        self._hear(message)

    def on_events(self, batch: list[list[Any]]) -> None:
        for job, event in batch:
            self.events.setdefault(job, []).append(event)
        self._hear(("events", batch))

    def on_ended(self, message: Ended) -> None:
        self.ends += 1
        self.ended[message.job] = message
        self._hear(message)

    def on_tried(self, message: Tried) -> None:
        self._hear(message)

    def on_status(self, message: Status) -> None:
        self._hear(message)

    def count(self, kind: type) -> int:
        return sum(isinstance(one, kind) for one in self.said)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._arrived.clear()
                await self._arrived.wait()

    async def end_of(self, *jobs: str) -> list[Ended]:
        await self.until(lambda: all(job in self.ended for job in jobs))
        return [self.ended[job] for job in jobs]


class Lab:
    """A link, its listener and its data folder."""

    def __init__(self, link: EngineLink, listener: Listener, home: Path) -> None:
        self.link, self.listener, self.home = link, listener, home

    @property
    def pid(self) -> int:
        assert self.link.pid is not None
        return self.link.pid

    def submit(self, job: str, document: str, **fields: Any) -> None:
        assert self.link.submit(submission(job, document, **fields))

    async def run(self, job: str, document: str, **fields: Any) -> Ended:
        self.submit(job, document, **fields)
        (ended,) = await self.listener.end_of(job)
        return ended

    async def ready(self, times: int = 1) -> None:
        await self.listener.until(lambda: self.listener.count(Hello) >= times)

    async def listened(self) -> None:
        """Wait until the engine has read everything that was sent so far."""
        answered = asyncio.Event()
        hear = self.link._hear

        def hear_too(message: tuple[Any, ...]) -> None:
            if message == Pong(10**9):
                answered.set()
            hear(message)

        self.link._hear = hear_too  # type: ignore[method-assign]
        await asyncio.sleep(0)  # what another task is about to send
        self.link._send(Ping(10**9))
        async with asyncio.timeout(PATIENCE):
            await answered.wait()

    async def reached(self, gate: str) -> None:
        """Wait until a node is at a gate."""
        await file_appears(self.home / f"{gate}.reached")

    def open(self, gate: str) -> None:
        (self.home / gate).touch()

    @property
    def ran(self) -> list[str]:
        path = self.home / "ran"
        return path.read_text().split() if path.exists() else []


def submission(job: str, document: str, **fields: Any) -> Submit:
    given = {"targets": None, "seeds": {}, "priority": 0, "client": "", "tries": 0} | fields
    return Submit(job=job, document=document.encode(), **given)


async def file_appears(path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not path.exists():
            await asyncio.sleep(0.005)


async def gone(*pids: int) -> None:
    """Wait until none of these processes runs."""
    async with asyncio.timeout(PATIENCE):
        while any(state_of(pid) not in ("", "Z", "X") for pid in pids):
            await asyncio.sleep(0.01)


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def processes_of(home: Path) -> list[int]:
    """The processes that run and were started for a data folder: the engine and its workers name it."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and state_of(int(name)) not in ("", "Z", "X"):
            try:
                command = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if str(home).encode() in command:
                found.append(int(name))
    return found


def options(home: Path, library: str = "equipment", **fields: Any) -> EngineOptions:
    home.mkdir(parents=True, exist_ok=True)
    return EngineOptions(home, home / "outputs", library=f"tests.server.engine.engine_nodes:{library}", **fields)


@asynccontextmanager
async def lab(
    home: Path, *, library: str = "equipment", link: dict[str, Any] | None = None, wait: bool = True, **fields: Any
) -> AsyncIterator[Lab]:
    """A started engine; with `wait` it is ready."""
    listener = Listener()
    made = Lab(EngineLink(options(home, library, **fields), listener, **(link or {})), listener, home)
    await made.link.start()
    try:
        if wait:
            await made.ready()
        yield made
    finally:
        await made.link.stop(0.0)


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(asyncio.wait_for(test, 3 * PATIENCE))


def tallied(start: int = 1, nodes: int = 2) -> str:
    """A workflow of `tally` nodes one after another."""
    made = {"n0": n("tally", a=start)} | {f"n{i}": n("tally", a=f"@n{i - 1}") for i in range(1, nodes)}
    return workflow(f"n{nodes - 1}", **made)


def gated(name: str, a: int = 0) -> str:
    """A workflow of one node that waits for a gate."""
    return workflow("held", held=n("gate", name=name, a=a))
