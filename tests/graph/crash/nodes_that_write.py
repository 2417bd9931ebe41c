"""A run that can be killed. `python nodes_that_write.py` reads lines "HOME OUTPUT EVENTS" and forks a run for each.

Nodes of about 10 ms in pure Python, a large value, and saves that publish files. Every event is written to EVENTS and
flushed before anything else happens, so what that file says was told is what a user saw.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from graph import execute
from graph.context import Context
from graph.engine import Engine
from graph.events import Event, NodeEvent
from graph.node import node
from graph.publish import publish, unique_name
from graph.registry import Registry
from tests.graph.engine_kit import Tensor, disk_cache, n, numbers, workflow

WORK_SECONDS = 0.01


def work(seconds: float = WORK_SECONDS) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@node(title="Step", version=1)
def step(ctx: Context, a: float, by: float = 1.0) -> float:
    work()
    return a + by


@node(title="Grow", version=1, output="tensor")
def grow(ctx: Context, a: float, size: int) -> Tensor:
    work()
    return Tensor.of(int(a) % 256, size)


@node(title="Digest", version=1)
def checksum(ctx: Context, tensor: Tensor) -> float:
    work()
    return float(sum(tensor.data[::997]))


@node(title="Save", version=1, effect=True)
def save(ctx: Context, value: float, tensor: Tensor) -> None:
    work(0.002)
    content = bytes(tensor.data) + repr(value).encode()
    publish(ctx.output_folder, unique_name(ctx.node_id), ".bin", content, {"node": ctx.node_id, "bytes": len(content)})


LIBRARY = Registry.of(step, grow, checksum, save, disk_cache, numbers)

TEXT = workflow(
    ["last", "all"],
    start=n("step", a=1.0),
    **{f"s{at}": n("step", a="@start" if at == 1 else f"@s{at - 1}") for at in range(1, 6)},
    kept=n("disk_cache", value="@s3"),
    list=n("numbers", n=6),
    all=n("step", a="@list", by="@kept"),
    big=n("grow", a="@s2", size=300_000),
    small=n("grow", a="@s5", size=5_000),
    sum=n("checksum", tensor="@big.tensor"),
    last=n("step", a="@sum", by="@s5"),
    save_one=n("save", value="@last", tensor="@big.tensor"),
    save_two=n("save", value="@s5", tensor="@small.tensor"),
)


def main(home: Path, output: Path, told: Path) -> None:
    """One run. The large value goes by the writer, the others by the lanes."""
    execute.LANE_WRITE_BYTES = 100_000  # type: ignore[misc]  # Final is for everyone else
    with told.open("a", buffering=1) as file:

        def write(events: list[Event]) -> None:
            for event in events:
                if isinstance(event, NodeEvent):
                    file.write(f"{event.node}[{event.element}] {event.state} {event.seconds:.6f}\n")

        with Engine(LIBRARY, home) as engine:
            file.write("ready\n")
            started = time.perf_counter()
            result = engine.start(engine.plan(engine.load(TEXT)), output_folder=output).wait(on_events=write)
            assert result is not None
            file.write(f"took {time.perf_counter() - started}\n")
            file.write(f"end {result.state} {result.outputs}\n")


def serve() -> None:
    """Fork a child per line, say its process number, wait for its end and say how it ended.

    Everything is imported once and before any thread exists, so a trial costs milliseconds.
    """
    for line in sys.stdin:
        home, output, told = map(Path, line.split())
        child = os.fork()
        if child == 0:
            try:
                main(home, output, told)
                os._exit(0)
            finally:
                os._exit(1)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
