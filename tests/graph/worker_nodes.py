"""The nodes that the worker tests call. A worker process imports this module by name, so it imports no pytest."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from graph.context import Context
from graph.node import node
from graph.registry import Registry
from graph.workers import PlainRuntime
from tests.graph import engine_kit
from tests.graph.engine_kit import PATIENCE, Settings


@node(title="Steps", version=1)
def steps(ctx: Context, count: int, note: str | None = None) -> int:
    for step in range(1, count + 1):
        ctx.progress(step, count, lambda step=step: b"picture %d" % step)
    if note is not None:
        ctx.note(note)
    return count


@node(title="Endless", version=1)
def endless(ctx: Context) -> int:
    for step in range(1, int(PATIENCE * 1000)):
        ctx.progress(step, 1_000_000, lambda: b"endless")
        time.sleep(0.001)
    raise TimeoutError("nobody cancelled")


@node(title="Die", version=1)
def die(ctx: Context, how: str) -> int:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@node(title="Raise", version=1)
def throw(ctx: Context, kind: str) -> int:
    raise {"value": ValueError, "exit": SystemExit, "interrupt": KeyboardInterrupt}[kind]("the reason")


@node(title="Where", version=1)
def where(ctx: Context) -> str:
    return f"{ctx.device} {ctx.node_id} {ctx.element} {ctx.home} {ctx.output_folder} {os.getpid()}"


@node(title="Long text", version=1)
def long_text(ctx: Context, text: str, times: int) -> str:
    return text * times


@node(title="Kind", version=1)
def kind(ctx: Context, a: float, b: list[float], c: Settings | None = None, d: bool | None = None) -> str:
    return f"{a!r} {b!r} {c!r} {d!r}"


@node(title="Record of the run", version=1, effect=True)
def record_of_the_run(ctx: Context) -> str:
    return repr(dict(ctx.resolved))


@node(title="Look", version=1)
def look(ctx: Context, file: str) -> str:
    return repr(file)


@node(title="Odd result", version=1)
def odd_result(ctx: Context) -> str:
    return object()  # type: ignore[return-value]


REGISTRY = Registry.of(
    odd_result, steps, endless, die, throw, where, long_text, kind, record_of_the_run, look, *engine_kit.NODES, classes=[Settings]
)


class Counting(PlainRuntime):
    """Holds what it was told to; counts trims in a file, because it may live in another process."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home

    def resident(self) -> dict[str, int]:
        return {"abc": 1000}

    def trim(self) -> None:
        with (self.home / "trims").open("a") as file:
            file.write("x")


def setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, Counting]:
    return REGISTRY, Counting(home)


def broken_setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, Counting]:
    raise RuntimeError("the driver is too old")
