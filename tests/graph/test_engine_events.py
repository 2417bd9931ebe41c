"""What a run tells while it goes, in which order, and how it reaches a listener and an event loop."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph import active
from graph.active import MOST_EVENTS, thinned
from graph.context import Context
from graph.engine import Handle
from graph.events import CachedEvent, Event, NodeEvent, NoteEvent, PreviewEvent, ProgressEvent, RunEvent, TriedEvent, kind_of
from graph.node import node
from graph.registry import Registry
from tests.graph.engine_kit import PATIENCE, Lab, chain, gate, n, started, until, workflow


def test_each_node_is_running_before_it_is_done_and_after_what_it_needs(lab: Lab) -> None:
    events = lab.run(chain(20)).events
    order = [(event.node, event.state) for event in events if isinstance(event, NodeEvent)]
    assert order == [(f"n{i}", state) for i in range(20) for state in ("running", "done")]
    assert isinstance(events[0], RunEvent)
    assert isinstance(events[-1], RunEvent)
    assert (events[0].state, events[-1].state) == ("running", "done")
    times = [event.time for event in events]
    assert times == sorted(times)


def test_remembered_nodes_are_told_in_one_event(lab: Lab) -> None:
    lab.run(chain(50))
    events = lab.run(chain(50)).events
    (cached,) = [event for event in events if isinstance(event, CachedEvent)]
    assert sorted(cached.nodes) == sorted(f"n{i}" for i in range(50))
    assert len(events) == 3


def test_a_listener_hears_of_a_batch_once(lab: Lab) -> None:
    heard: list[int] = []
    compiled = lab.engine.load(chain(200))
    handle = lab.engine.start(lab.engine.plan(compiled), listener=lambda: heard.append(1))
    until(lambda: handle.state != "running")
    assert 1 <= len(heard) <= 2  # nobody drained: one for all the events, one for the end


class SlowFirstStep:
    """Stands for the module `time` in the executor: steps take the seconds that the node says."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@pytest.mark.spec("I11")
def test_the_estimate_is_the_mean_step_after_the_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SlowFirstStep()
    monkeypatch.setattr(active, "time", clock)

    @node(title="Steps", version=1)
    def steps(ctx: Context) -> float:
        for step, seconds in enumerate([60.0, 2.0, 2.0, 3.5], start=1):
            clock.now += seconds
            ctx.progress(step, 10)
        return 1.0

    with Lab(home, Registry.of(steps)) as lab:
        compiled = lab.engine.load(workflow("s", s=n("steps")))
        handle = lab.engine.start(lab.engine.plan(compiled))
        events: list[Event] = []
        until(lambda: handle.state != "running")
        handle.wait(on_events=events.extend)
    told = [(event.step, event.total, event.eta_seconds) for event in events if isinstance(event, ProgressEvent)]
    assert told == [(1, 10, None), (2, 10, 16.0), (3, 10, 14.0), (4, 10, 15.0)]


def test_a_preview_is_made_only_while_someone_watches_and_not_too_often(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SlowFirstStep()
    monkeypatch.setattr(active, "time", clock)
    made: list[int] = []
    handles: list[Any] = []

    @node(title="Steps", version=1, cache=False)
    def steps(ctx: Context, watched: bool) -> float:
        assert gate.wait(PATIENCE)
        for step in range(1, 11):
            clock.now += 0.05
            ctx.progress(step, 10, lambda step=step: made.append(step) or b"webp %d" % step)
        return 1.0

    with Lab(home, Registry.of(steps)) as lab:
        for watched in (False, True):
            compiled = lab.engine.load(workflow("s", s=n("steps", watched=watched)))
            handles.append(lab.engine.start(lab.engine.plan(compiled)))
            handles[-1].watch_previews(watched)
            gate.set()
            events: list[Event] = []
            until(lambda: handles[-1].state != "running")
            handles[-1].wait(on_events=events.extend)
            previews = [event.image for event in events if isinstance(event, PreviewEvent)]
            assert previews == ([b"webp 1", b"webp 5", b"webp 9"] if watched else [])
    assert made == [1, 5, 9]


def test_notes_are_told_and_kept(home: Path) -> None:
    @node(title="Note", version=1)
    def noting(ctx: Context) -> float:
        ctx.note("computed 17 of 30 steps")
        return 1.0

    with Lab(home, Registry.of(noting)) as lab:
        outcome = lab.run(workflow("x", x=n("noting")))
    assert outcome.node("x").note == "computed 17 of 30 steps"
    assert [event.message for event in outcome.events if isinstance(event, NoteEvent)] == ["computed 17 of 30 steps"]


def test_an_async_reader_gets_everything_in_order(lab: Lab) -> None:
    async def read() -> list[Event]:
        compiled = lab.engine.load(chain(300))
        handle = lab.engine.start(lab.engine.plan(compiled))
        return list(itertools.chain.from_iterable([batch async for batch in handle.stream()]))

    events = asyncio.run(asyncio.wait_for(read(), PATIENCE))
    assert [event.node for event in events if isinstance(event, NodeEvent) and event.state == "done"] == [
        f"n{i}" for i in range(300)
    ]
    assert events[-1] == RunEvent("done", events[-1].time)


def test_an_async_reader_of_a_long_node_is_told_at_once(lab: Lab) -> None:
    """The node's first step arrives while it waits, not at the end."""

    async def read() -> list[str]:
        compiled = lab.engine.load(workflow("w", w=n("wait", a=1.0)))
        handle = lab.engine.start(lab.engine.plan(compiled))
        seen: list[str] = []
        async for batch in handle.stream():
            seen.extend(type(event).__name__ for event in batch)
            if "ProgressEvent" in seen and not gate.is_set():
                gate.set()
        return seen

    seen = asyncio.run(asyncio.wait_for(read(), PATIENCE))
    assert seen[-1] == "RunEvent"


def test_a_waiting_reader_is_woken_by_every_batch(open_lab: Callable[..., Lab]) -> None:
    """A reader that drains while events come must not sleep through the next one."""

    @node(title="Ping", version=1, cache=False)
    def ping(ctx: Context) -> float:
        started.set()
        for step in range(1, 301):
            before = reader.seen
            ctx.progress(step, 300)
            for _ in range(int(PATIENCE * 1000)):
                if reader.seen > before:
                    break
                threading.Event().wait(0.001)
            else:
                raise TimeoutError(f"step {step} did not reach the reader")
        return 1.0

    class Reader:
        seen = 0

        def __call__(self, events: list[Event]) -> None:
            self.seen += sum(isinstance(event, ProgressEvent) for event in events)

    reader = Reader()
    lab = open_lab(Registry.of(ping))
    handle = lab.start(workflow("p", p=n("ping")))
    result = handle.wait(PATIENCE, on_events=reader)
    assert result is not None
    assert result.state == "done"
    assert reader.seen == 300


def test_each_batch_is_told_once_and_drained_whole(lab: Lab) -> None:
    heard: list[int] = []
    handle = lab.start(chain(1))
    handle.wait(PATIENCE)
    run = handle._run
    run.listener, run.pass_on = lambda: heard.append(1), lambda listener: listener()
    first, second, third = (NoteEvent("", name, 0.0) for name in ("first", "second", "third"))
    run.tell(first)
    run.tell(second)
    assert heard == [1]
    assert run.drain() == [first, second]
    run.tell(third)
    assert heard == [1, 1]
    assert run.drain() == [third]


def test_what_nobody_drains_is_thinned_to_the_latest_and_no_state_is_lost(lab: Lab) -> None:
    handle = lab.start(chain(1))
    handle.wait(PATIENCE)
    run = handle._run
    told: list[Event] = []
    for step in range(5 * MOST_EVENTS):
        events: list[Event] = [ProgressEvent("a", None, step, 9, None, 0.0), ProgressEvent("b", step % 2, step, 9, None, 0.0)]
        events.append(PreviewEvent("a", None, b"%d" % step, 0.0))
        if step % 100 == 0:
            events.append(NodeEvent("c", step, "done", 0.0))
            events.append(NoteEvent("", f"said {step}", 0.0))
        told.extend(events)
        for event in events:
            run.tell(event)
        assert len(run.events) <= MOST_EVENTS + 5
    left = run.drain()
    rare = (NodeEvent, NoteEvent)
    assert [event for event in left if isinstance(event, rare)] == [event for event in told if isinstance(event, rare)]
    assert left[-len(told[-3:]) :] == told[-3:]
    assert thinned(left) == thinned(told)


def test_a_listener_that_raises_or_calls_back_harms_nobody(lab: Lab) -> None:
    heard: list[str] = []
    compiled = lab.engine.load(workflow("x", x=n("add", a=1.0, b=2.0)))
    for _ in range(2):
        handles: list[Handle] = []

        def listen(handles: list[Handle] = handles) -> None:
            heard.append("told")
            for handle in handles:
                handle.cancel()
            raise RuntimeError("a closed loop")

        handles.append(lab.engine.start(lab.engine.plan(compiled, seeds={}), listener=listen))
        assert handles[0].wait(PATIENCE) is not None
    lab.engine.close()  # which waits for the listeners
    assert heard


def test_every_event_has_a_kind_in_one_word(lab: Lab) -> None:
    lab.run(chain(1))
    again = lab.run(workflow("y", x=n("add", a=1.0, b=1.0), y=n("add", a="@x", b=5.0)))
    assert {kind_of(event) for event in again.events} == {"run", "node", "cached"}
    others = [CachedEvent([], 0.0), ProgressEvent("", None, 1, 2, None, 0.0), PreviewEvent("", None, b"", 0.0)]
    others += [NoteEvent("", "", 0.0), TriedEvent("", None, 1, "", 0.0)]
    assert [kind_of(event) for event in others] == ["cached", "progress", "preview", "note", "tried"]
