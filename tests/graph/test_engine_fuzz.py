"""Random graphs, several at once on one engine, some cancelled: every run ends, and what it gives is right."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from graph.active import RunResult
from graph.engine import Handle, Limits
from graph.events import NodeEvent, RunEvent
from tests.graph.engine_kit import PATIENCE, Lab, costly_clock, n, registry, workflow

FINAL = {"cached", "done", "failed", "skipped", "cancelled"}


class Graph:
    """A random graph of arithmetic and what it must give, computed plainly."""

    def __init__(self, seed: int, size: int) -> None:
        rng = random.Random(seed)
        self.nodes: dict[str, Any] = {}
        self.expected: dict[str, Any] = {}
        self.failed: set[str] = set()
        for at in range(size):
            self._add(f"n{at}", rng)
        self.outputs = rng.sample(list(self.expected), k=5)

    def _add(self, id: str, rng: random.Random) -> None:
        singles = [known for known, value in self.expected.items() if not isinstance(value, list)][-10:]
        lists = [known for known, value in self.expected.items() if isinstance(value, list)][-4:]
        kind = rng.choice(
            ["add", "add", "device_add", "floor", "unkept", "disk_cache", "numbers", "map", "total", "switch", "fail_if"]
        )
        if kind == "numbers" or (kind in ("map", "total") and not lists):
            self._set(id, n("numbers", n=rng.randrange(4)), [])
            self.expected[id] = [float(i) for i in range(self.nodes[id]["inputs"]["n"])]
        elif not singles:
            a = float(rng.randrange(3))
            self._set(id, n("add", a=a), [])
            self.expected[id] = a
        elif kind == "map":
            over, by = rng.choice(lists), rng.choice(singles)
            self._set(id, n("add", a=f"@{over}", b=f"@{by}"), [over, by] if self.expected[over] else [])
            self.expected[id] = [item + self.expected[by] for item in self.expected[over]]
        elif kind == "total":
            of = rng.choice(lists)
            self._set(id, n("total", values=f"@{of}"), [of])
            self.expected[id] = float(sum(self.expected[of]))
        elif kind == "switch":
            a, b, on = rng.choice(singles), rng.choice(singles), rng.random() < 0.5
            self._set(id, n("switch", on=on, a=f"@{a}", b=f"@{b}"), [a if on else b])
            self.expected[id] = self.expected[a if on else b]
        elif kind in ("add", "device_add"):
            a, b = rng.choice(singles), rng.choice(singles)
            self._set(id, n(kind, a=f"@{a}", b=f"@{b}"), [a, b])
            self.expected[id] = self.expected[a] + self.expected[b]
        else:
            a = rng.choice(singles)
            made = {
                "floor": n("floor", a=f"@{a}"),
                "unkept": n("unkept", a=f"@{a}"),
                "disk_cache": n("disk_cache", value=f"@{a}"),
            }
            fails = kind == "fail_if" and rng.random() < 0.3
            self._set(id, made.get(kind) or n("fail_if", a=f"@{a}", fail=fails), [a])
            self.expected[id] = self.expected[a]
            if fails:
                self.failed.add(id)

    def _set(self, id: str, node: dict[str, Any], parents: list[str]) -> None:
        self.nodes[id] = node
        if self.failed & set(parents):
            self.failed.add(id)

    @property
    def text(self) -> str:
        return workflow(self.outputs, **self.nodes)


def check(graph: Graph, result: RunResult, events: list[Any], was_cancelled: bool) -> None:
    names = [(one.id, one.element) for one in result.nodes]
    assert len(names) == len(set(names))
    assert {one.state for one in result.nodes} <= FINAL
    last: dict[tuple[str, int | None], str] = {}
    for event in events:
        if isinstance(event, NodeEvent):
            last[event.node, event.element] = event.state
    assert set(last.values()) <= FINAL, "a node was left running"
    assert isinstance(events[-1], RunEvent)
    for name, value in result.outputs.items():
        assert value == graph.expected[name]
    if was_cancelled:
        assert result.state in ("cancelled", "done", "failed")
        return
    wanted_failures = [name for name in graph.outputs if name in graph.failed and graph.expected[name] != []]
    assert result.state == ("failed" if wanted_failures else "done")
    assert set(graph.outputs) - set(result.outputs) <= graph.failed
    assert not [name for name in wanted_failures if name in result.outputs]


@pytest.mark.parametrize("seed", range(12))
def test_runs_at_once_all_end_with_the_right_results(open_lab: Callable[..., Lab], seed: int) -> None:
    rng = random.Random(seed)
    lab = open_lab(
        registry,
        devices=("cpu:0", "cpu:1"),
        workers="thread",
        host_lanes=3,
        clock=costly_clock(rng.choice([0.0, 0.002, 0.006])),
        limits=Limits(ram=rng.choice([0, 300, 10**6])),
    )
    graphs = [Graph(rng.choice([seed, seed + 1000]), 40) for _ in range(6)]
    handles: list[Handle] = []
    cancelled: list[bool] = []
    for graph in graphs:
        handles.append(lab.start(graph.text, priority=rng.randrange(2), client=rng.choice("ab")))
        cancelled.append(rng.random() < 0.4)
        if cancelled[-1]:
            handles[rng.randrange(len(handles))].cancel()
    for at, (graph, handle) in enumerate(zip(graphs, handles, strict=True)):
        events: list[Any] = []
        result = handle.wait(PATIENCE, on_events=events.extend)
        assert result is not None, f"run {at} did not end"
        check(graph, result, events, result.state == "cancelled" or any(cancelled))
    for graph in (graphs[0], graphs[-1]):  # and alone, with all that is remembered now
        outcome = lab.run(graph.text)
        check(graph, outcome.result, outcome.events, was_cancelled=False)
    executor = lab.engine.executor
    assert (len(executor._flights), len(executor._unshared), len(executor._owners), len(executor.schedule.runs)) == (0, 0, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_more_runs_at_once_all_end_with_the_right_results(open_lab: Callable[..., Lab], seed: int) -> None:
    test_runs_at_once_all_end_with_the_right_results(open_lab, seed)
