"""Node types for tests of the engine process. Its workers import this module by name, so it imports no pytest."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from graph.context import Context
from graph.environment import cpu_class
from graph.node import node
from graph.registry import Registry
from graph.workers import PlainRuntime
from server.engine.equipment import Equipment
from server.engine.equipment import builtin as builtin_equipment
from server.engine.options import EngineOptions
from tests.graph import engine_kit
from tests.graph.engine_kit import PATIENCE


def note_run(ctx: Context) -> None:
    with (ctx.home / "ran").open("a") as file:
        file.write(f"{ctx.node_id}\n")


def wait_for_gate(home: Path, gate: str, ctx: Context | None = None) -> None:
    """Wait until a test makes the file; tell first that somebody waits."""
    (home / f"{gate}.reached").touch()
    for step in range(1, int(PATIENCE * 200)):
        if ctx is not None:
            ctx.progress(step, 1_000_000)
        if (home / gate).exists():
            return
        time.sleep(0.005)
    raise TimeoutError("nobody opened the gate")


@node(title="Tally", version=1, place="device")
def tally(ctx: Context, a: int) -> int:
    note_run(ctx)
    time.sleep(0.006)  # so that the result is kept
    return a + 1


@node(title="Gate", version=1, place="device")
def gate(ctx: Context, name: str, a: int = 0) -> int:
    note_run(ctx)
    wait_for_gate(ctx.home, name, ctx)
    return a


@node(title="Slow to plan", version=1, light=True)
def slow_to_plan(ctx: Context, name: str) -> int:
    wait_for_gate(ctx.home, name)
    return 7


@node(title="Die once", version=1, place="device")
def die_once(ctx: Context, name: str) -> int:
    note_run(ctx)
    mark = ctx.home / name
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.006)  # so that the result is kept
    return 5


@node(title="Where", version=1, place="device", cache=False)
def where(ctx: Context) -> int:
    return os.getpid()


@node(title="Open a file", version=1, place="device")
def open_file(ctx: Context) -> int:
    (ctx.home / "secrets" / "key.txt").read_text()
    return 0


@node(title="Speak", version=1, place="device")
def speak(ctx: Context, text: str) -> int:
    print(text, flush=True)
    return 0


@node(title="Complain", version=1, place="device")
def complain(ctx: Context, text: str) -> int:
    try:
        return int(text)  # the library's error quotes it
    except ValueError as error:
        raise RuntimeError(f"no number is in {text!r}") from error


@node(title="Long text", version=1, place="device")
def long_text(ctx: Context, times: int) -> str:
    return "0123456789" * times


@node(title="Die", version=1, place="device")
def die(ctx: Context, how: str) -> int:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@node(title="Endless", version=1, place="device")
def endless(ctx: Context) -> int:
    for step in range(1, int(PATIENCE * 1000)):
        ctx.progress(step, 1_000_000, lambda: b"endless")
        time.sleep(0.001)
    raise TimeoutError("nobody cancelled")


REGISTRY = Registry.of(
    die, endless,tally, gate, slow_to_plan, die_once, where, open_file, speak, complain, long_text, *engine_kit.NODES
)  # fmt: skip


def setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, PlainRuntime]:
    return REGISTRY, PlainRuntime(device, threads)


def equipment(options: EngineOptions) -> Equipment:
    return Equipment(REGISTRY, "tests.server.engine.engine_nodes:setup", cpu_class(len(options.devices)), 2**30, "test")


def gated_equipment(options: EngineOptions) -> Equipment:
    """Takes as long as a test wants."""
    wait_for_gate(options.home, "equipment")
    return equipment(options)


def broken_equipment(options: EngineOptions) -> Equipment:
    raise OSError("the disk is made of cheese")


class Blocked:
    """Refuses torch and what needs it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in ("torch", "diffusers", "transformers", "tokenizers", "accelerate", "torchao"):
            raise ImportError(f"{name} is blocked here")


def builtin_without_torch(options: EngineOptions) -> Equipment:
    sys.meta_path.insert(0, Blocked())  # type: ignore[arg-type]
    return builtin_equipment(options)
