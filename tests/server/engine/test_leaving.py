"""An engine that is told to end leaves its jobs to the next one, also those that it plans at that moment."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest

from graph.errors import Problem, WorkflowError
from graph.trials import Ledger, open_tries
from server.engine import process as process_module
from server.engine.log import Log
from server.engine.messages import Cancel
from server.engine.process import EngineProcess
from tests.server.engine.link_kit import PATIENCE, options, submission, tallied

CLOSED = [RuntimeError("the engine is closed"), WorkflowError([Problem("light_node_failed", "its process was ended")])]


class Pipe:
    """Keeps what was sent, by message name."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []
        self.changed = threading.Condition()

    def send(self, frames: bytes) -> None:
        while frames:
            size = 4 + int.from_bytes(frames[:4])
            with self.changed:
                self.sent.append(msgpack.unpackb(frames[4:size]))
                self.changed.notify_all()
            frames = frames[size:]

    def wait_for(self, name: str) -> list[Any]:
        with self.changed:
            assert self.changed.wait_for(lambda: any(one[0] == name for one in self.sent), PATIENCE)
            return next(one for one in self.sent if one[0] == name)


class Planner:
    """In place of the engine: its plans fail when it is closed."""

    def __init__(self, error: Exception) -> None:
        self.error, self.planning, self.closed = error, threading.Event(), threading.Event()

    def load(self, document: bytes) -> Any:
        self.planning.set()
        assert self.closed.wait(PATIENCE)
        raise self.error


def of(home: Path, engine: Any, **fields: Any) -> tuple[EngineProcess, Pipe]:
    pipe = Pipe()
    made = EngineProcess(pipe, options(home, **fields), Log(io.StringIO()))  # type: ignore[arg-type]  # of the same form
    made._engine = engine
    made._ready.set()
    return made, pipe


@pytest.mark.spec("R-G08")
@pytest.mark.parametrize("error", CLOSED, ids=["our own mistake", "a refusal"])
def test_a_job_that_is_planned_while_the_engine_closes_is_left_to_the_next_one(home: Path, error: Exception) -> None:
    """It was told as failed, though only the server was stopped."""
    planner = Planner(error)
    made, pipe = of(home, planner)
    made._submit(submission("a", tallied()))
    assert planner.planning.wait(PATIENCE)
    made._works["a"].is_left = True  # as `_drain` does before it closes the engine
    planner.closed.set()
    made._planners.shutdown(wait=True)
    made._outbox.close(PATIENCE)
    assert pipe.sent == []


def test_the_same_failure_ends_the_job_while_the_engine_goes_on(home: Path) -> None:
    planner = Planner(CLOSED[0])
    made, pipe = of(home, planner)
    made._submit(submission("a", tallied()))
    planner.closed.set()
    assert pipe.wait_for("Ended")[1:3] == ["a", "failed"]
    made._cancel(Cancel("a"))  # nothing of it is left
    made._planners.shutdown(wait=True)
    made._outbox.close(PATIENCE)
    assert [one[0] for one in pipe.sent] == ["Ended"]


def test_what_cannot_be_looked_at_does_not_let_plans_go_on_for_ever(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in telling the places ended the thread that watches over plans."""
    looks: list[float] = []

    class Over(Exception):
        pass

    def places() -> list[Any]:
        raise ValueError("a place that cannot be described")

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise Over

    made, _ = of(home, SimpleNamespace(places=places))
    watched: list[int] = []
    monkeypatch.setattr(made, "_end_if_overdue", lambda: watched.append(1))
    monkeypatch.setattr(made, "_facts", lambda engine: {})
    monkeypatch.setattr(process_module.time, "sleep", sleep)
    with pytest.raises(Over):
        made._tell_status()
    assert len(watched) == 3


def test_a_plan_without_end_costs_only_its_own_job_a_try(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was planned beside it was charged too."""
    ledger = Ledger(home / "tries")
    made, _ = of(home, SimpleNamespace(blame=ledger.blame), plan_limit_s=60.0)
    monkeypatch.setattr(process_module.os, "_exit", lambda code: None)
    made._planning = {1: (time.monotonic() - 100.0, "endless"), 2: (time.monotonic(), "quick")}
    with ledger.planning("endless", 0), ledger.planning("quick", 2):
        made._end_if_overdue()
        assert [one.run for one in open_tries(home / "tries")] == ["endless"]
