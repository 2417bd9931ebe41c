"""The desk, its queue and its store in a world drawn from a seed: crashes, deaths, delays, disk errors, cancels, moves.

R-C11. The desk and the SQL are the real ones; the loop's time, the engine, the hub, the threads and the disk's faults are
not. Printed on failure: the seed, which gives the same run again (`run_world(seed)`).
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from server.engine.messages import Ended, Hello, Planned, Submit, Tried
from server.jobs import schema
from server.jobs.desk import Desk
from server.jobs.record import FINAL, MOST_TRIES, Job, JobFilter
from server.jobs.store import FILE_NAME, JobStore
from server.jobs.writer import Act, Committer, Write
from server.problems import Refusal
from tests.server.jobs.jobs_kit import FakeCatalogue, FakeFiles, FakeHub, once, order
from tests.server.jobs.sim_loop import SimLoop

#: Virtual seconds: of trouble in one life of the server, and after the last crash until everything must have ended.
TROUBLE_S, PEACE_S = 12.0, 3000.0
MOST_JOBS, DEVICES = 12, 2
#: A job that waits beside a free place for so long is forgotten.
IDLE_S = 5.0


class SimWrites:
    """The store's writes, late and sometimes refused by the disk."""

    def __init__(self, world: World, committer: Committer) -> None:
        self.world, self.committer = world, committer
        self.waiting: list[Write] = []

    def submit(self, act: Act[Any], undo: Act[None] | None = None) -> Future[Any]:
        write = Write(act, Future(), undo)
        if not self.waiting and not self.world.is_dead:
            self.world.later(self.world.draw.expovariate(100), self.commit)
        self.waiting.append(write)
        return write.future

    def commit(self) -> None:
        writes, self.waiting = self.waiting, []
        fault = self.world.fault()
        real = self.committer._carry_out
        if fault:
            self.committer._carry_out = _failing(self.committer, real, fault)  # type: ignore[method-assign]
        try:
            self.committer.commit(writes)
        finally:
            self.committer._carry_out = real  # type: ignore[method-assign]

    def close(self) -> None:
        if self.waiting:
            self.commit()
        self.committer.close()


def _failing(committer: Committer, real: Callable[..., None], fault: str) -> Callable[..., None]:
    def carry_out(connection: sqlite3.Connection, writes: Any) -> None:
        if fault == "told wrongly":  # an error of the last sync: committed, but nobody knows
            before = committer._number
            real(connection, writes)
            committer._number = before
        error = sqlite3.OperationalError(fault)
        error.sqlite_errorcode = sqlite3.SQLITE_FULL if fault == "full" else sqlite3.SQLITE_IOERR
        raise error

    return carry_out


class SimReads:
    """The store's reads, late."""

    def __init__(self, world: World, path: Path) -> None:
        self.world, self.path = world, path
        self.connection = sqlite3.connect(path, isolation_level=None)

    def submit(self, act: Act[Any], undo: Act[None] | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        value = act(self.connection)
        if self.world.loop is None:  # the store is being opened
            future.set_result(value)
        else:
            self.world.later(self.world.draw.expovariate(200), future.set_result, value)
        return future

    def close(self) -> None:
        self.connection.close()


class SimEngine:
    """Engines, one after another: each tells late, in any order, and may die with everything it holds."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.desk: Desk | None = None
        self.number = 0
        self.jobs: dict[str, int] = {}

    def tell(self, hear: Callable[[Any], object], message: Any) -> None:
        number = self.number

        def arrive() -> None:
            if number == self.number or self.world.draw.random() < 0.2:  # sometimes a dead one is still heard
                hear(message)

        self.world.later(self.world.draw.expovariate(20), arrive)

    def submit(self, message: Submit) -> bool:
        self.world.submitted(message)
        if message.job not in self.jobs:
            self.jobs[message.job] = message.tries
            assert self.desk is not None
            self.tell(self.desk.on_planned, Planned(message.job, []))
            self.world.later(self.world.draw.expovariate(1), self.go_on, message.job, self.number)
        return True

    def go_on(self, job: str, number: int) -> None:
        if number != self.number or job not in self.jobs:
            return
        assert self.desk is not None
        dice = self.world.draw.random()
        if dice < 0.15:  # the worker dies under it
            self.jobs[job] += 1
            self.tell(self.desk.on_tried, Tried(job, self.jobs[job], "died"))
            if self.jobs[job] >= MOST_TRIES:
                self.end(job, "failed", {"problem": {"code": "worker_lost"}})
            else:
                self.world.later(self.world.draw.expovariate(1), self.go_on, job, number)
        elif dice < 0.4:
            self.desk.on_events([[job, {"event": "progress"}]])
            self.world.later(self.world.draw.expovariate(1), self.go_on, job, number)
        else:
            self.end(job, "done" if dice < 0.9 else "failed", {"device_seconds": dice})

    def end(self, job: str, state: str, result: dict[str, Any]) -> None:
        del self.jobs[job]
        assert self.desk is not None
        self.tell(self.desk.on_ended, Ended(job, state, result))

    def cancel(self, job: str) -> None:
        if job in self.jobs:
            self.end(job, "cancelled", {})

    def prioritise(self, job: str, priority: int) -> None:
        pass

    def begin(self) -> None:
        """The next engine is ready."""
        assert self.desk is not None
        self.number += 1
        self.jobs = {}
        self.desk.on_ready(Hello(1, ["cpu"] * DEVICES, "", ""))
        if self.world.is_troubled or self.number == 1:  # also the first of a peaceful life: what it runs is not to be lost
            self.world.later(self.world.draw.expovariate(1 / 20 if self.world.is_troubled else 1), self.die, self.number)

    def die(self, number: int) -> None:
        if number == self.number:
            assert self.desk is not None
            self.number += 1
            self.jobs = {}
            self.desk.on_lost("killed")
            self.world.later(self.world.draw.expovariate(1), self.begin)


class Hub(FakeHub):
    """Believes the first end it hears of a job."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def ended(self, job: Job) -> None:
        self.world.told_end(job)


class World:
    """All lives of one server, and what its clients know."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.loop: SimLoop | None = None
        self.is_troubled, self.is_dead = True, False
        #: By key: the job that a client was told, and all that were ever tried.
        self.accepted: dict[str, str] = {}
        self.asked: list[str] = []
        self.ends: dict[str, str] = {}
        self.idle_since: float | None = None
        self.store: JobStore | None = None

    def later(self, seconds: float, act: Callable[..., object], *values: Any) -> None:
        assert self.loop is not None
        self.loop.call_later(seconds, act, *values)

    def fault(self) -> str:
        return self.draw.choice(["full", "lost", "told wrongly"]) if self.is_troubled and self.draw.random() < 0.05 else ""

    # What must hold.

    def told_end(self, job: Job) -> None:
        assert job.is_final
        if self.is_dead:
            return
        assert self.ends.setdefault(job.id, job.state) == job.state, f"{job.id} ended twice"
        assert self.store is not None
        row = self.store._reads.connection.execute("SELECT state FROM jobs WHERE id = ?", (job.id,)).fetchone()  # type: ignore[attr-defined]
        assert row == (job.state,), f"{job.id} was told to have ended before it was written"

    def submitted(self, message: Submit) -> None:
        assert self.is_dead or message.job not in self.ends, f"{message.job} runs after its end"
        assert message.tries < MOST_TRIES

    def look(self, desk: Desk) -> None:
        """After any step: the bound is kept, and no job waits beside a free place."""
        queue = desk._queue
        assert len(queue.waiting) + len(queue.under_way) <= MOST_JOBS
        is_stuck = (
            bool(queue.waiting) and queue.has_room() and desk._has_engine and not desk._is_paused and desk._retry_at is None
        )
        assert self.loop is not None
        if not is_stuck:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = self.loop.now
        assert self.idle_since is None or self.loop.now - self.idle_since < IDLE_S, "a job waits beside a free place"

    # A life.

    def live(self, seconds: float, *, crash: bool) -> None:
        """One life of the server, ended by a crash or, when all is done, in peace."""
        self.loop, self.is_dead = None, False
        store = self.store = JobStore(
            self.folder / FILE_NAME,
            clock=lambda: self.draw.uniform(0, 2e9),  # it jumps as it likes
            lanes=(lambda committer: SimWrites(self, committer), lambda path: SimReads(self, path)),
        )
        assert store.told == []
        self.loop = loop = SimLoop(self.draw)
        self.idle_since = None
        try:
            loop.run_until_complete(self._life(store, seconds))
        finally:
            self.is_dead = True
            if crash:
                loop.abandon()
            loop.close()
            store.committer.close()
            store._reads.close()

    async def _life(self, store: JobStore, seconds: float) -> None:
        assert self.loop is not None
        engine = SimEngine(self)
        was_tried = [id for id in self.running_ids() if self.draw.random() < 0.2]
        desk = engine.desk = Desk(
            store, FakeCatalogue(), FakeFiles(), engine, Hub(self), most_jobs=MOST_JOBS,
            in_thread=self._in_thread, monotonic=lambda: self.loop.now if self.loop else 0.0,
        )  # fmt: skip
        while True:
            try:
                await desk.start()
                break
            except Refusal:
                await asyncio.sleep(1)
        for id in was_tried:  # the engine's link reads the ledger before it starts an engine
            desk.on_tried(Tried(id, 1, "died"))
        self.later(self.draw.expovariate(1), engine.begin)
        end = self.loop.now + seconds
        clients = [asyncio.ensure_future(self._client(desk, name)) for name in "abc"]
        while self.loop.now < end and not (not self.is_troubled and self._is_done(desk, clients)):
            await asyncio.sleep(0.05)
            self.look(desk)
            for client in clients:
                if client.done():
                    client.result()  # an error of a client is the test's
        if not self.is_troubled:
            assert self._is_done(desk, clients), f"not done: {desk.active()}"
            await desk.close()

    def _is_done(self, desk: Desk, clients: list[asyncio.Task[None]]) -> bool:
        return all(client.done() for client in clients) and not desk.active() and not desk._tasks

    async def _in_thread(self, act: Callable[[], Any]) -> Any:
        await asyncio.sleep(self.draw.expovariate(100))
        return act()

    def running_ids(self) -> list[str]:
        connection = sqlite3.connect(self.folder / FILE_NAME)
        found = [row[0] for row in connection.execute("SELECT id FROM jobs WHERE state = 'running' ORDER BY seq")]
        connection.close()
        return found

    async def _client(self, desk: Desk, name: str) -> None:
        """Submits, asks again with the same key until it is told, and now and then cancels, moves, retries or pauses."""
        if not self.is_troubled and name == "a" and desk.queue_facts().is_paused:
            await desk.resume()
        unknown = [key for key in self.asked if key.startswith(name) and key not in self.accepted]
        for key in unknown:  # R-C07: killed between the commit and the answer
            await self._submit(desk, name, key)
        while self.is_troubled:
            await asyncio.sleep(self.draw.expovariate(1))
            dice = self.draw.random()
            if dice < 0.6:
                key = f"{name}{len(self.asked)}"
                self.asked.append(key)
                await self._submit(desk, name, key)
            elif dice < 0.95 and self.accepted:
                await self._meddle(desk, self.accepted[self.draw.choice(sorted(self.accepted))])
            else:
                await self._quietly(desk.pause())
                await asyncio.sleep(self.draw.expovariate(1))
                await self._quietly(desk.resume())

    async def _submit(self, desk: Desk, name: str, key: str) -> None:
        while True:
            try:
                asked = [once(desk, order(name, idempotency=(key, key.encode()))) for _ in range(self.draw.choice([1, 1, 2]))]
                answers = await asyncio.gather(*asked)
                break
            except Refusal as refusal:
                if refusal.code not in ("queue_full", "disk_full"):
                    raise
                await asyncio.sleep(self.draw.expovariate(1))
        for answer in answers:
            assert self.accepted.setdefault(key, answer.job.id) == answer.job.id, "one key gave two jobs"

    async def _meddle(self, desk: Desk, id: str) -> None:
        other = self.accepted[self.draw.choice(sorted(self.accepted))]  # by key: ids of one millisecond are in any order
        choice = self.draw.randrange(4)
        if choice == 0:
            await self._quietly(desk.cancel(id))
        elif choice == 1:
            await self._quietly(desk.move(id, priority=self.draw.randint(-2, 2)))
        elif choice == 2:
            await self._quietly(desk.move(id, before=other))
        else:
            told = self.ends.get(id)  # before: what is read may be older than what is told while it is read
            found = await desk.get(id)
            assert told in (None, found.state)
            assert not found.is_final or found.result is not None

    async def _quietly(self, asked: Any) -> None:
        try:
            await asked
        except Refusal as refusal:
            if refusal.code not in ("conflict", "disk_full"):
                raise

    def check(self) -> None:
        """In the end: every accepted job is there, once, and ended as was told."""
        store = JobStore(self.folder / FILE_NAME)
        jobs = {job.id: job for job in store.page(JobFilter(limit=10_000)).result().jobs}
        store.close()
        assert set(self.accepted.values()) == set(jobs), "an accepted job vanished, or one is there that nobody knows of"
        assert {id: job.state for id, job in jobs.items()} == self.ends | {
            id: job.state for id, job in jobs.items() if id not in self.ends and job.state in FINAL
        }


def run_world(folder: Path, seed: int) -> World:
    """Some troubled lives, then a peaceful one."""
    world = World(folder, seed)
    folder.mkdir(parents=True)
    JobStore(folder / FILE_NAME).close()
    for _ in range(world.draw.randint(1, 3)):
        world.live(world.draw.expovariate(1 / TROUBLE_S), crash=True)
    world.is_troubled = False
    world.live(PEACE_S, crash=False)
    world.check()
    return world


@pytest.fixture(autouse=True)
def _no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sync: nothing here sees what it is for, and it would take most of the time."""

    def connect(path: Path) -> sqlite3.Connection:
        schema._make_file(path)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_mode = WAL")
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            schema._migrate(connection, 0)
        return connection

    monkeypatch.setattr(schema, "connect", connect)


def run_worlds(folder: Path, seeds: range) -> None:
    jobs = 0
    for seed in seeds:
        try:
            jobs += len(run_world(folder / str(seed), seed).accepted)
        except BaseException:
            print(f"seed {seed}")
            raise
    assert jobs > 10 * len(seeds)  # else there was nothing to lose


@pytest.mark.slow
@pytest.mark.spec("R-C11", "R-C10", "R-C07")
@pytest.mark.proves(1, 23)
def test_in_50_worlds_no_accepted_job_is_lost_and_none_ends_twice(tmp_path: Path) -> None:
    run_worlds(tmp_path, range(50))


@pytest.mark.long
@pytest.mark.spec("R-C11")
def test_in_2000_worlds_no_accepted_job_is_lost_and_none_ends_twice(tmp_path: Path) -> None:
    run_worlds(tmp_path, range(1000, 3000))


@pytest.mark.proves(23)
def test_the_same_seed_gives_the_same_world(tmp_path: Path) -> None:
    def story(folder: str) -> Any:
        world = run_world(tmp_path / folder, 7)
        keys = {id: key for key, id in world.accepted.items()}
        return sorted(world.accepted), sorted((keys[id], state) for id, state in world.ends.items())

    assert story("one") == story("two")
