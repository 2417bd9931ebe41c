"""Benchmark of the engine on trivial nodes: what it costs beside the nodes themselves. `python -m tests.bench.engine`.

From the document's text to the last event and the result, keys and disk included, in a process that has imported torch
and diffusers, as the engine's does (their objects make the garbage collector's rounds dearer).
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graph.active import RunResult
from graph.collector import relax_collector
from graph.engine import Engine
from graph.plan import Plan
from graph.table import Table
from tests.bench.graphs import SHAPES, registry, shape
from tests.bench.measure import Meter, Sample, judged
from tests.bench.model import quiet_libraries
from tests.bench.table import Row, row, show

ROOT = Path(__file__).parents[2]
ROUNDS = {1_000: 7, 10_000: 5, 100_000: 3}
REGISTRY = registry()


@contextmanager
def fresh_home() -> Iterator[Path]:
    """A data folder for one measurement."""
    home = Path(tempfile.mkdtemp(prefix="latentgraph-bench-"))
    try:
        yield home
    finally:
        shutil.rmtree(home)


def carry_out(engine: Engine, text: str) -> RunResult:
    """The whole way: text, plan, run, every event handed on, result."""
    result = engine.start(engine.plan(engine.load(text), seeds={})).wait(on_events=lambda events: None)
    assert result is not None
    assert result.state == "done"
    return result


def executed(result: RunResult) -> int:
    """How many nodes ran."""
    return sum(node.state == "done" for node in result.nodes)


def timed_run(meter: Meter, engine: Engine, text: str, runs: int | None = None) -> Sample:
    """One normalised run of a text; `runs` is how many nodes must execute."""
    result = meter.time(lambda: carry_out(engine, text))
    assert runs is None or executed(result) == runs, f"{executed(result)} nodes ran, not {runs}"
    return meter.last


# ---- first and second run in memory ----


def runs_in_memory(sizes: Iterable[int], kinds: Iterable[str]) -> list[Row]:
    """First run, the same bytes three times more, the same graph from another text; each round on a fresh engine and home."""
    found: list[Row] = []
    for count, kind in itertools.product(sizes, kinds):
        graph = shape(kind, count)
        text = graph.text()
        first, same, other = [], [], []
        for _ in range(ROUNDS[count]):
            with fresh_home() as home, Engine(REGISTRY, home) as engine:
                meter = Meter()
                first.append(timed_run(meter, engine, text, count))
                same += [timed_run(meter, engine, text, 0) for _ in range(3)]
                other.append(timed_run(meter, engine, text + " ", 0))
        size = f"{kind} {count:,}"
        per = 1e6 / count
        found += [
            judged(f"first run, {size}", first, "us", per, at_most=80.0 if kind == "fat" else 60.0),
            judged(f"- again, another text, {size}", other, "us", per, at_most=25.0),
            judged(f"- again, same bytes, {size}", same, "us", per, at_most=2.0),
        ]
    return found


def growth() -> list[Row]:
    """100,000 nodes against 10,000, per node, in turns; the chain of 100,000 shows that depth is no problem."""
    found = []
    for kind in ("chain", "wide", "tree"):
        texts = {count: shape(kind, count).text() for count in (10_000, 100_000)}
        ratios = []
        for _ in range(3):
            cost = {}
            for count, text in texts.items():
                with fresh_home() as home, Engine(REGISTRY, home) as engine:
                    cost[count] = timed_run(Meter(), engine, text, count).seconds / count
            ratios.append(cost[100_000] / cost[10_000])
        found.append(row(f"cost per node, {kind}, 100,000 / 10,000", ratios, "x", at_most=1.5))
    return found


# ---- memory ----

MEMORY = """
import sys
from pathlib import Path
from graph.collector import relax_collector
from graph.engine import Engine
from tests.bench.engine import REGISTRY, carry_out
from tests.bench.graphs import shape

def held(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

kind, count, home = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
text = shape(kind, count).text()
with Engine(REGISTRY, home) as engine:
    carry_out(engine, shape(kind, 10).text())
    relax_collector()
    before = held("VmRSS")
    result = carry_out(engine, text)
    after = held("VmRSS")
    print((after - before) / count, (held("VmHWM") - before) / count)
"""


def memory(count: int = 100_000) -> list[Row]:
    """What 100,000 nodes hold once they ran (document, keys, plan, records, memo, result), in a process of its own."""
    found = []
    for kind in SHAPES:
        with fresh_home() as home:
            command = [sys.executable, "-c", MEMORY, kind, str(count), str(home)]
            said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        found.append(
            row(
                f"memory per node, {kind} {count:,}",
                [float(said[0]) / 1024],
                "KB",
                at_most=8.0,
                note=f"at its most {float(said[1]) / 1024:.1f} KB",
            )
        )
    return found


# ---- disk ----


def ticking() -> Callable[[], float]:
    """A clock by which every node takes 5 ms or more: its result is written and survives the process."""
    ticks = itertools.count()
    return lambda: next(ticks) * 0.006


def restarts() -> list[Row]:
    """All from disk in a new engine; and what writing each 5 ms result before `done` costs."""
    found = []
    for count, kind in itertools.product((1_000, 10_000), ("chain", "wide", "tree")):
        text = shape(kind, count).text()
        written, again = [], []
        with fresh_home() as home:
            with Engine(REGISTRY, home, clock=ticking()) as engine:
                written.append(timed_run(Meter(), engine, text, count))
            for _ in range(ROUNDS[count]):
                with Engine(REGISTRY, home, clock=ticking()) as engine:
                    again.append(timed_run(Meter(), engine, text, 0))
        per = 1e6 / count
        found.append(judged(f"after a restart, from disk, {kind} {count:,}", again, "us", per, at_most=30.0))
        found.append(judged(f"- first run of 5 ms nodes, {kind} {count:,}", written, "us", per, note="each result committed"))
    return found


def disk_on_and_off() -> list[Row]:
    """The first run with the memo's table on disk against one that neither reads nor writes it, in turns."""
    found = []
    for kind in ("chain", "wide", "tree"):
        text = shape(kind, 10_000).text()
        ratios = []
        for number in range(7):
            cost = {}
            for disk in (True, False) if number % 2 else (False, True):
                with fresh_home() as home, table_on(disk), Engine(REGISTRY, home) as engine:
                    cost[disk] = timed_run(Meter(), engine, text, 10_000).seconds
            ratios.append(cost[True] / cost[False])
        found.append(row(f"first run, {kind} 10,000, disk on / off", ratios, "x", at_most=1.25))
    return found


@contextmanager
def table_on(disk: bool) -> Iterator[None]:
    """While the block runs, engines know no table on disk unless `disk`."""
    kept = Table.read, Table.write
    if not disk:
        Table.read = lambda self, prefix, keys: {}  # type: ignore[method-assign,assignment]
        Table.write = lambda self, rows: None  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Table.read, Table.write = kept  # type: ignore[method-assign]


# ---- changes and plans ----


def leaf_changed(count: int = 10_000, rounds: int = 7) -> list[Row]:
    """One leaf of a tree changed: the text is read anew, its way to the root runs."""
    graph = shape("tree", count)
    samples, ran = [], []
    with fresh_home() as home, Engine(REGISTRY, home) as engine:
        carry_out(engine, graph.text())
        meter = Meter()
        for number in range(rounds):
            graph.nodes[f"n{count - 1}"]["inputs"]["b"] = -1.0 - number
            text = graph.text()
            ran.append(executed(meter.time(lambda text=text: carry_out(engine, text))))
            samples.append(meter.last)
    return [
        judged(f"one leaf of a tree of {count:,} changed", samples, "us", 1e6 / count, at_most=30.0),
        row("- nodes executed", ran, "", at_most=14.0, by=1.0),
    ]


def plans(count: int = 10_000) -> list[Row]:
    """A plan as it is shown, of a graph that is remembered: from a new text, and of the same bytes."""
    found = []
    for kind in ("chain", "wide", "tree"):
        text = shape(kind, count).text()
        new, same = [], []
        with fresh_home() as home, Engine(REGISTRY, home) as engine:
            carry_out(engine, text)
            meter = Meter()
            for number in range(7):
                changed = text + " " * (number + 1)
                for samples in (new, same):
                    plan = meter.time(lambda changed=changed: engine.described(engine.plan(engine.load(changed), seeds={})))
                    samples.append(meter.last)
                    assert not plan.run
                    assert len(plan.nodes) == count
        found.append(judged(f"plan of a remembered graph, {kind} {count:,}, from text", new, "s", 1, at_most=0.3))
        found.append(judged("- same bytes", same, "ms", 1000))
    return found


# ---- the event loop ----


def lateness(count: int = 10_000, rounds: int = 3) -> list[Row]:
    """How late a 1 ms timer of the event loop is while trivial nodes execute, in another thread of this process.

    The control is a thread that counts: what the interpreter's lock (it changes hands every 5 ms) and the other
    processes on the cores give without any engine.
    """
    worst, control = [], []
    for number, kind in itertools.product(range(rounds), ("chain", "wide", "tree")):
        control.append(1000 * max(asyncio.run(_late(asyncio.to_thread(_count_for, 0.3)))))
        with fresh_home() as home, Engine(REGISTRY, home) as engine:
            plan = engine.plan(engine.load(shape(kind, count).text() + " " * number), seeds={})
            meter = Meter()
            late = max(meter.time(lambda engine=engine, plan=plan: asyncio.run(_late(_stream(engine, plan)))))
            worst.append(Sample(late * meter.last.seconds / meter.last.by_clock, late, meter.last.others))
    note = f"by the clock {1000 * max(sample.by_clock for sample in worst):.1f}, counting thread {max(control):.1f}"
    line = judged("event loop late at most", worst, "ms", 1000, at_most=15.0, by=1.0, note=note)
    if max(control) > 7.5 and not line.met:
        line = line._replace(met=None, note=f"{line.note}: no free core, not judged")
    return [
        line,
        judged("- the worst of a run, median of runs", worst, "ms", 1000),
        row("- by the clock, beside a counting thread", control, "ms"),
    ]


def _count_for(seconds: float) -> None:
    until, number = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        number += 1


async def _late(work: Coroutine[Any, Any, None]) -> list[float]:
    loop = asyncio.get_running_loop()
    late: list[float] = []

    def tick(due: float) -> None:
        nonlocal timer
        now = time.perf_counter()
        late.append(now - due)
        timer = loop.call_later(0.001, tick, now + 0.001)

    timer = loop.call_later(0.001, tick, time.perf_counter() + 0.001)
    await work
    timer.cancel()
    return late


async def _stream(engine: Engine, plan: Plan) -> None:
    handle = await asyncio.to_thread(engine.start, plan)
    async for _ in handle.stream():
        pass


# ---- all ----

PARTS: dict[str, Callable[[], list[Row]]] = {
    "small": lambda: runs_in_memory((1_000, 10_000), SHAPES),
    "large": lambda: runs_in_memory((100_000,), SHAPES),
    "growth": growth,
    "memory": memory,
    "restarts": restarts,
    "disk": disk_on_and_off,
    "leaf": leaf_changed,
    "plans": plans,
    "lateness": lateness,
}


def rows(parts: Iterable[str] = PARTS) -> list[Row]:
    """All measurements, or some parts of them."""
    quiet_libraries()
    import diffusers  # noqa: F401
    import torch  # noqa: F401

    relax_collector()
    return [found for part in parts for found in PARTS[part]()]


if __name__ == "__main__":
    sys.exit(0 if show(rows(sys.argv[1:] or PARTS)) else 1)
