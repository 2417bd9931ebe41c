"""Single flight: the same work under way is done once, in a process and across processes that share a home."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from graph.context import Context
from graph.node import node
from graph.registry import Registry
from tests.graph.engine_kit import PATIENCE, Lab, add, gate, n, ran, started, states_of, until, workflow

ROOT = Path(__file__).parents[2]


@pytest.mark.spec("R-K03")
def test_64_equal_nodes_execute_once(lab: Lab) -> None:
    nodes = {f"x{i}": n("add", a=1.0, b=2.0) for i in range(64)}
    outcome = lab.run(workflow(list(nodes), **nodes))
    assert len(outcome.ran) == 1
    assert sorted(outcome.states.values()) == ["cached"] * 63 + ["done"]
    assert set(outcome.outputs.values()) == {3.0}


def test_64_equal_nodes_under_way_at_once_execute_once(lab: Lab) -> None:
    nodes = {f"x{i}": n("wait", a=1.0) for i in range(64)}
    handle = lab.start(workflow(list(nodes), **nodes))
    assert started.wait(PATIENCE)
    gate.set()
    result = handle.wait(PATIENCE)
    assert result is not None
    assert set(result.outputs.values()) == {101.0}
    assert len(ran) == 1


def test_equal_work_by_content_is_shared_though_made_differently(lab: Lab) -> None:
    text = workflow(["x", "y"], a=n("add", a=1.0, b=2.0), b=n("add", a=2.0, b=1.0), x=n("wait", a="@a"), y=n("wait", a="@b"))
    handle = lab.start(text)
    assert started.wait(PATIENCE)
    gate.set()
    assert handle.wait(PATIENCE) is not None
    assert sorted(ran) in (["a", "b", "x"], ["a", "b", "y"])


@pytest.mark.spec("R-K03")
def test_two_runs_at_once_share_all_their_work(lab: Lab) -> None:
    text = workflow("e", w=n("wait", a=1.0), e=n("add", a="@w"))
    handles = [lab.start(text) for _ in range(5)]
    assert started.wait(PATIENCE)
    gate.set()
    results = [handle.wait(PATIENCE) for handle in handles]
    assert [result.outputs for result in results if result] == [{"e": 101.0}] * 5
    assert sorted(ran) == ["e", "w"]
    assert sorted(states_of(result)["w"] for result in results if result) == ["cached"] * 4 + ["done"]


def test_a_run_that_waits_hears_the_steps(lab: Lab) -> None:
    handles = [lab.start(workflow("w", w=n("wait", a=1.0))) for _ in range(2)]
    assert started.wait(PATIENCE)
    heard: list[list[str]] = [[], []]

    def both_heard() -> bool:
        for handle, one in zip(handles, heard, strict=True):
            handle.wait(0.01, on_events=lambda events, one=one: one.extend(type(event).__name__ for event in events))
        return all("ProgressEvent" in one for one in heard)

    until(both_heard)
    gate.set()
    assert [handle.wait(PATIENCE) is not None for handle in handles] == [True, True]


@pytest.mark.spec("R-K03")
def test_a_run_that_waits_for_one_that_fails_tries_itself(home: Path) -> None:
    calls: list[int] = []

    @node(title="Fail the first time", version=1)
    def moody(ctx: Context) -> float:
        calls.append(1)
        if len(calls) == 1:
            started.set()
            assert gate.wait(PATIENCE)
            raise OSError("a passing trouble")
        return 1.0

    with Lab(home, Registry.of(moody, add), host_lanes=2) as lab:
        one = lab.start(workflow("x", x=n("moody")))
        assert started.wait(PATIENCE)
        two = lab.start(workflow("x", x=n("moody")))
        executor = lab.engine.executor
        until(lambda: any(len(flight.subscribers) == 2 for flight in list(executor._flights.values())))
        gate.set()
        first, second = one.wait(PATIENCE), two.wait(PATIENCE)
    assert first is not None
    assert second is not None
    assert (first.state, second.state) == ("failed", "done")


def test_a_higher_priority_goes_first_on_a_busy_engine(home: Path) -> None:
    with Lab(home, host_lanes=1) as lab:
        busy = lab.start(workflow("w", w=n("wait", a=1.0)))
        assert started.wait(PATIENCE)
        low = lab.start(workflow("low", low=n("add", a=1.0)))
        high = lab.start(workflow("high", high=n("add", a=2.0)), priority=5)
        gate.set()
        assert all(handle.wait(PATIENCE) is not None for handle in (busy, low, high))
    assert ran == ["w", "high", "low"]


# ---- processes ----

NODES = """
import os, sys, time
from pathlib import Path
from graph.context import Context
from graph.engine import Engine
from graph.node import node
from graph.registry import Registry
from tests.graph.engine_kit import n, workflow

log = Path(sys.argv[2])

@node(title="Slow", version=1)
def slow(ctx: Context, a: float) -> float:
    with log.open("a") as file:
        file.write(f"{ctx.node_id} {os.getpid()}\\n")
    end = time.perf_counter() + float(sys.argv[3])
    while time.perf_counter() < end:
        time.sleep(0.001)
        ctx.check_cancelled()
    return a + 1

if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    nodes = {"n0": n("slow", a=1.0)} | {f"n{i}": n("slow", a=f"@n{i-1}") for i in range(1, int(sys.argv[4]))}
    with Engine(Registry.of(slow), Path(sys.argv[1])) as engine:
        result = engine.run(engine.load(workflow(f"n{int(sys.argv[4]) - 1}", **nodes)))
    print(result.state, *result.outputs.values(), flush=True)
"""


class Other:
    """Another process that will run a chain of slow nodes once told to go."""

    def __init__(self, folder: Path, home: Path, seconds: float, length: int) -> None:
        script = folder / "slow_nodes.py"
        script.write_text(NODES)
        self.log = folder / "log"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        arguments = [sys.executable, str(script), str(home), str(self.log), str(seconds), str(length)]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def result(self) -> str:
        out, _ = self.process.communicate(timeout=PATIENCE)
        return out.strip()

    def executed(self) -> list[str]:
        return [line.split()[0] for line in self.log.read_text().splitlines()]


@pytest.fixture
def other(tmp_path: Path, home: Path) -> Callable[..., Other]:
    return lambda seconds, length: Other(tmp_path, home, seconds, length)


@pytest.mark.slow
def test_two_processes_execute_each_expensive_node_once_in_total(other: Callable[..., Other]) -> None:
    one, two = other(0.02, 10), other(0.02, 10)
    one.go()
    two.go()
    assert (one.result(), two.result()) == ("done 11.0", "done 11.0")
    assert one.executed() == [f"n{i}" for i in range(10)]


@pytest.mark.slow
def test_a_waiter_takes_over_from_an_owner_that_was_killed(other: Callable[..., Other]) -> None:
    owner, waiter = other(10.0, 1), other(0.01, 1)
    owner.go()
    until(lambda: owner.log.exists() and bool(owner.log.read_text()))
    waiter.go()
    threading.Event().wait(0.1)
    assert owner.executed() == ["n0"]  # the waiter waits
    owner.process.send_signal(signal.SIGKILL)
    assert waiter.result() == "done 2.0"
    assert owner.executed() == ["n0", "n0"]
    owner.process.wait(PATIENCE)
