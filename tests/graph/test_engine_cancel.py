"""Cancel: seen at the next step, told everywhere by the same word, and never at the cost of another run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph.active import RunResult
from graph.context import Context
from graph.engine import Handle
from graph.events import NodeEvent, RunEvent
from graph.node import node
from graph.registry import Registry
from graph.workers import PlainRuntime
from tests.graph.engine_kit import (
    PATIENCE,
    Lab,
    add,
    costly_clock,
    gate,
    n,
    ran,
    registry,
    started,
    states_of,
    until,
    with_specs,
    workflow,
)

WAITING = workflow("end", top=n("add", a=1.0), w=n("wait", a="@top"), end=n("add", a="@w", b=1.0))


def ended(handle: Handle) -> RunResult:
    result = handle.wait(PATIENCE)
    assert result is not None, "the run did not end"
    return result


@pytest.mark.spec("I5")
def test_cancel_is_seen_at_the_next_step_and_told_everywhere(lab: Lab) -> None:
    handle = lab.start(WAITING)
    assert started.wait(PATIENCE)
    handle.cancel()
    events: list[Any] = []
    result = handle.wait(PATIENCE, on_events=events.extend)
    assert result is not None
    assert result.state == handle.state == "cancelled"
    assert states_of(result) == {"top": "done", "w": "cancelled", "end": "cancelled"}
    assert result.outputs == {}
    assert ran == ["top", "w"]
    last = {event.node: event.state for event in events if isinstance(event, NodeEvent)}
    assert last == {"top": "done", "w": "cancelled", "end": "cancelled"}
    assert events[-1].state == "cancelled"
    assert isinstance(events[-1], RunEvent)


def test_cancel_before_anything_ran(lab: Lab) -> None:
    """All lanes are busy with another run, so this one has not begun."""
    lab = Lab(lab.engine.home / "own", host_lanes=1)
    with lab:
        busy = lab.start(WAITING)
        assert started.wait(PATIENCE)
        handle = lab.start(workflow("y", x=n("add", a=5.0), y=n("add", a="@x")))
        handle.cancel()
        result = ended(handle)
        assert states_of(result) == {"x": "cancelled", "y": "cancelled"}
        gate.set()
        assert ended(busy).state == "done"
    assert ran == ["top", "w", "end"]


def test_cancel_between_two_nodes(home: Path) -> None:
    """The node that runs does not look; it ends as done, and nothing after it starts."""
    handles: list[Handle] = []
    inside = threading.Event()

    @node(title="Cancel itself", version=1)
    def stubborn(ctx: Context, a: float) -> float:
        assert inside.wait(PATIENCE)
        handles[0].cancel()
        return a

    with Lab(home, Registry.of(stubborn, add)) as lab:
        handles.append(lab.start(workflow("y", x=n("stubborn", a=5.0), y=n("add", a="@x"))))
        inside.set()
        result = ended(handles[0])
        assert result.state == "cancelled"
        assert states_of(result) == {"x": "done", "y": "cancelled"}
        assert ran == []
        assert states_of(lab.run(workflow("x", x=n("stubborn", a=5.0))).result) == {"x": "cached"}  # its work is kept


@pytest.mark.spec("O")
@pytest.mark.proves(12)
def test_a_cancelled_node_stores_nothing_and_the_next_run_works(lab: Lab) -> None:
    handle = lab.start(WAITING)
    assert started.wait(PATIENCE)
    handle.cancel()
    ended(handle)
    gate.set()
    again = lab.run(WAITING)
    assert again.ran == ["w", "end"]
    assert again.output == 102.0


def test_cancelling_twice_or_after_the_end_changes_nothing(lab: Lab) -> None:
    gate.set()
    handle = lab.start(WAITING)
    ended(handle)
    handle.cancel()
    handle.cancel()
    assert handle.state == "done"


def both_at_work(lab: Lab, second: str = WAITING) -> tuple[Handle, Handle]:
    """Two runs of the same work, the second waiting for the first."""
    one = lab.start(WAITING)
    assert started.wait(PATIENCE)
    two = lab.start(second)
    executor = lab.engine.executor
    until(lambda: any(len(flight.subscribers) == 2 for flight in list(executor._flights.values())))
    return one, two


def test_a_waiter_that_cancels_leaves_the_shared_run_alone(lab: Lab) -> None:
    one, two = both_at_work(lab)
    two.cancel()
    assert states_of(ended(two)) == {"top": "cached", "w": "cancelled", "end": "cancelled"}
    assert one.state == "running"
    gate.set()
    assert ended(one).outputs == {"end": 102.0}
    assert ran == ["top", "w", "end"]


def test_an_owner_that_cancels_leaves_the_work_to_the_waiter(lab: Lab) -> None:
    one, two = both_at_work(lab)
    one.cancel()
    assert ended(one).state == "cancelled"
    assert two.state == "running"
    gate.set()
    assert ended(two).outputs == {"end": 102.0}
    assert ran == ["top", "w", "end"]


def test_who_goes_on_waiting_for_the_work_of_one_that_left_is_charged_for_it(home: Path) -> None:
    """Nobody was: the run that had begun it was over and told before."""
    with Lab(home, with_specs(registry, place="device"), devices=("cpu:0", "cpu:1"), workers="thread") as lab:
        one, two = both_at_work(lab)
        one.cancel()
        assert ended(one).device_seconds < 0.1
        before = lab.engine.executor.schedule.used_seconds.get("", 0.0)
        gate.set()
        seconds = ended(two).device_seconds
        assert seconds > 0.0
        assert lab.engine.executor.schedule.used_seconds[""] == pytest.approx(before + seconds)
        assert one.result().device_seconds < seconds


@pytest.mark.parametrize("first", [0, 1])
def test_when_both_cancel_the_work_stops_and_both_end(lab: Lab, first: int) -> None:
    handles = both_at_work(lab)
    handles[first].cancel()
    handles[1 - first].cancel()
    for handle in handles:
        result = ended(handle)
        assert result.state == "cancelled"
        assert states_of(result)["w"] == states_of(result)["end"] == "cancelled"
    assert ran == ["top", "w"]


class Stages:
    """A node whose calls a test lets go one by one."""

    def __init__(self) -> None:
        self.inside = [threading.Event() for _ in range(4)]
        self.go = [threading.Event() for _ in range(4)]
        self.calls: list[int] = []

        @node(title="Slow to stop", version=1)
        def slow(ctx: Context, a: float) -> float:
            at = len(self.calls)
            self.calls.append(at)
            self.inside[at].set()
            assert self.go[at].wait(PATIENCE)
            ctx.progress(1, 2)
            return a

        self.library = Registry.of(slow)


def test_a_run_that_comes_while_the_work_is_being_cancelled_does_it_anew_and_shares_it(home: Path) -> None:
    """The old execution is told to stop but has not yet; it must not be joined, nor take the new one along when it ends."""
    stages = Stages()
    text = workflow("x", x=n("slow", a=1.0))
    with Lab(home, stages.library, host_lanes=4, clock=costly_clock(0.0)) as lab:
        lab.engine.executor._usual["slow"] = 0.0  # it is known to be quick, and takes no lease
        old = lab.start(text)
        assert stages.inside[0].wait(PATIENCE)
        old.cancel()
        new = lab.start(text)
        assert stages.inside[1].wait(PATIENCE)
        stages.go[0].set()
        assert ended(old).state == "cancelled"
        third = lab.start(text)
        assert third.wait(0.4) is None  # longer than a second lane leaves quick nodes to the first
        stages.go[1].set()
        assert ended(new).outputs == ended(third).outputs == {"x": 1.0}
    assert len(stages.calls) == 2


def test_expensive_work_that_is_being_cancelled_is_not_begun_again_before_it_stopped(home: Path) -> None:
    stages = Stages()
    text = workflow("x", x=n("slow", a=1.0))
    with Lab(home, stages.library, host_lanes=4) as lab:
        old = lab.start(text)
        assert stages.inside[0].wait(PATIENCE)
        old.cancel()
        new = lab.start(text)
        assert new.wait(0.05) is None
        assert len(stages.calls) == 1
        stages.go[0].set()
        stages.go[1].set()
        assert ended(old).state == "cancelled"
        assert ended(new).outputs == {"x": 1.0}
    assert len(stages.calls) == 2


def test_equal_nodes_of_a_cancelled_run_are_all_told(lab: Lab) -> None:
    handle = lab.start(workflow(["a", "b", "c"], a=n("wait", a=1.0), b=n("wait", a=1.0), c=n("wait", a=1.0)))
    assert started.wait(PATIENCE)
    executor = lab.engine.executor
    until(lambda: sum(len(flight.subscribers) for flight in list(executor._flights.values())) >= 2)
    handle.cancel()
    assert states_of(ended(handle)) == {"a": "cancelled", "b": "cancelled", "c": "cancelled"}
    assert len(ran) == 1


def test_an_unshared_node_is_cancelled_too(home: Path) -> None:
    @node(title="Wait here", version=1, cache=False)
    def wait_here(ctx: Context) -> float:
        started.set()
        for step in range(1, 10_000):
            ctx.progress(step, 10_000)
            gate.wait(0.005)
        return 0.0

    with Lab(home, Registry.of(wait_here)) as lab:
        handle = lab.start(workflow("w", w=n("wait_here")))
        assert started.wait(PATIENCE)
        handle.cancel()
        assert states_of(ended(handle)) == {"w": "cancelled"}


class CountingRuntime(PlainRuntime):
    """Counts trims by device."""

    def __init__(self, device: str, threads: int) -> None:
        super().__init__(device, threads)
        self.trims = 0
        self.trimmed = threading.Event()

    def trim(self) -> None:
        self.trims += 1
        self.trimmed.set()


@pytest.mark.spec("H12")
@pytest.mark.proves(12)
@pytest.mark.parametrize("exit", ["done", "failed", "cancelled"])
def test_memory_is_given_back_after_every_run_however_it_ended(open_lab: Callable[..., Lab], exit: str) -> None:
    made: dict[str, CountingRuntime] = {}

    def runtime(device: str, threads: int) -> CountingRuntime:
        return made.setdefault(device, CountingRuntime(device, threads))

    @node(title="Work", version=1, place="device")
    def work(ctx: Context, fail: bool) -> float:
        started.set()
        if fail:
            assert gate.wait(PATIENCE)
            raise ValueError("no")
        for step in range(1, 4000):
            ctx.progress(step, 4000)
            if gate.wait(0.005):
                break
        return 1.0

    lab = open_lab(Registry.of(work), runtime=runtime)
    handle = lab.start(workflow("x", x=n("work", fail=exit == "failed")))
    assert started.wait(PATIENCE)
    assert made["cpu"].trims == 0
    if exit == "cancelled":
        handle.cancel()
    else:
        gate.set()
    assert ended(handle).state == exit
    assert made["cpu"].trimmed.wait(PATIENCE)
    assert made["cpu"].trims == 1


def test_memory_that_cannot_be_given_back_does_not_end_the_lane(home: Path) -> None:
    class Broken(PlainRuntime):
        def trim(self) -> None:
            raise RuntimeError("the driver says no")

    with Lab(home, registry, runtime=Broken, host_lanes=1) as lab:
        for value in (1.0, 2.0, 3.0):
            assert lab.run(workflow("x", x=n("device_add", a=value))).state == "done"


def test_closing_the_engine_ends_what_runs(home: Path) -> None:
    with Lab(home, registry, clock=costly_clock()) as lab:
        handle = lab.start(WAITING)
        assert started.wait(PATIENCE)
    assert handle.state == "cancelled"


@pytest.mark.spec("R-G06")
def test_a_thousand_runs_cancelled_at_once_all_end_and_leave_nothing(home: Path) -> None:
    with Lab(home, host_lanes=1) as lab:
        busy = lab.start(WAITING)
        assert started.wait(PATIENCE)
        handles = [lab.start(workflow("y", x=n("add", a=float(at)), y=n("add", a="@x"))) for at in range(1000)]
        for handle in handles:
            handle.cancel()
        assert {ended(handle).state for handle in handles} == {"cancelled"}
        gate.set()
        assert ended(busy).state == "done"
        executor = lab.engine.executor
        assert (len(executor._flights), len(executor._unshared), len(executor._owners), len(executor.schedule.runs)) == (
            0,
            0,
            0,
            0,
        )
    assert ran == ["top", "w", "end"]
