"""What the parts of a running server say of themselves: the engine with its places, the jobs that wait, the job database."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Protocol

from server.engine.messages import Status
from server.health import Check

#: A restart is no standstill until it has taken so long: back-off goes up to 30 s, and the start itself takes some.
DEAD_S: Final = 90.0
#: Beyond a node's limit it has the grace of a cancel, and this, until work counts as standing still.
MARGIN_S: Final = 30.0
_LOCK_S: Final = 2.0
_WORKING: Final = ("idle", "busy", "starting")


class Engine(Protocol):
    """What is looked at of `server.engine.link.EngineLink`."""

    state: Any  # Any: its own literals
    status: Status | None
    failure: str


class EnginePulse:
    """The engine and its places. `limit_s`: the longest that a node may be without progress."""

    def __init__(
        self, engine: Engine, has_work: Callable[[], bool], limit_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine, self._has_work, self._limit_s, self._clock = engine, has_work, limit_s, clock
        #: Since when there is no engine; None while there is one.
        self._lost: float | None = clock()

    def found(self) -> None:
        """An engine is there, and its node types are known."""
        self._lost = None

    def lost(self) -> None:
        """The engine is gone."""
        if self._lost is None:
            self._lost = self._clock()

    async def look(self) -> None:
        """Nothing: the engine tells by itself."""

    def checks(self) -> Iterable[Check]:
        """The engine, then each place."""
        engine = self._engine
        is_ready = engine.state == "ready" and self._lost is None
        missing = "its node types are being read" if engine.state == "ready" else engine.failure or "not there yet"
        yield Check("engine", is_ready, "running" if is_ready else f"{engine.state}: {missing}")
        for place in self._places():
            stuck = self._is_stuck(place)
            is_ok = place["state"] in _WORKING and not stuck
            message = f"no progress for {place['progress_age_s']:.0f} s" if stuck else place.get("message") or place["state"]
            yield Check(f"place {place['name']}", is_ok, message)

    def stalled(self) -> str | None:
        """Why no work goes on: no engine for long although jobs wait, or a node without progress past every limit."""
        if self._lost is not None and self._clock() - self._lost > DEAD_S and self._has_work():
            return "the engine does not start"
        for place in self._places():
            if self._is_stuck(place):
                return f"{place['name']} makes no progress"
        return None

    def _places(self) -> list[dict[str, Any]]:  # Any: plain JSON
        return self._engine.status.places if self._engine.status is not None else []

    def _is_stuck(self, place: dict[str, Any]) -> bool:  # Any: plain JSON
        return place["state"] == "busy" and (place.get("progress_age_s") or 0.0) > self._limit_s


class DatabasePulse:
    """The job database: whether it can be written. `look` asks the file itself, in a thread, and waits for it."""

    def __init__(self, path: Path, lock_s: float = _LOCK_S) -> None:
        self._path, self._lock_s = path, lock_s
        self._found = Check("database", True, "it can be written")

    async def look(self) -> None:
        """Ask now."""
        self._found = await asyncio.to_thread(self._look)

    def _look(self) -> Check:
        try:
            connection = sqlite3.connect(self._path, timeout=self._lock_s, isolation_level=None)
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            finally:
                connection.close()
        except sqlite3.Error as error:
            return Check("database", False, f"it cannot be written: {error}")
        return self._found if self._found.is_ok else Check("database", True, "it can be written")

    def checks(self) -> Iterable[Check]:
        """What the last look found."""
        yield self._found

    def stalled(self) -> str | None:
        """Never: jobs under way go on."""
        return None
