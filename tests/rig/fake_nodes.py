"""A pack of nodes that take time, fail and die on request. Each call is witnessed in the file RIG_WITNESS.

The witness file is the independent record: one line "node start|end pid" per call, appended with one write.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from typing import Literal

from graph.context import Context
from graph.node import node
from graph.publish import origin_of, output_name, publish
from nodes.tensors import WireTensor
from nodes.values import Image

HEARTBEAT = 0.005


def witness(ctx: Context, what: str) -> int:
    """Append a line; how often this node was witnessed like this before."""
    path = os.environ.get("RIG_WITNESS")
    if not path:
        return 0
    name = ctx.node_id if ctx.element is None else f"{ctx.node_id}[{ctx.element}]"
    before = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = sum(line.split()[:2] == [name, what] for line in file)
    file_number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file_number, f"{name} {what} {os.getpid()}\n".encode())
    finally:
        os.close(file_number)
    return before


def work(ctx: Context, seconds: float) -> None:
    """Take that long, seeing a cancel within milliseconds."""
    steps = max(int(seconds / HEARTBEAT), 1)
    waiting = threading.Event()
    for step in range(steps):
        ctx.progress(step, steps)
        waiting.wait(seconds / steps)


@node(title="Step", version=1)
def step(ctx: Context, value: float, by: float = 1.0, seconds: float = 0.0) -> float:
    """Add on the host."""
    witness(ctx, "start")
    if seconds:
        work(ctx, seconds)
    witness(ctx, "end")
    return value + by


@node(title="Gate", version=1)
def gate(ctx: Context, value: float, name: str) -> float:
    """Wait until the test opens the gate of this name, hearing a cancel."""
    witness(ctx, "start")
    path, waiting = f"{os.environ['RIG_WITNESS']}.{name}", threading.Event()
    while not os.path.exists(path):
        ctx.progress(0, 1)
        waiting.wait(HEARTBEAT)
    return value


@node(title="Quick step", version=1)
def quick(ctx: Context, value: float, by: float = 1.0) -> float:
    """Add on the host, unwitnessed: for counting jobs a second."""
    return value + by


@node(title="Device step", version=1, place="device")
def device_step(ctx: Context, value: float, by: float = 1.0, seconds: float = 0.0) -> float:
    """Add on a device."""
    witness(ctx, "start")
    if seconds:
        work(ctx, seconds)
    witness(ctx, "end")
    return value + by


@node(title="Block", version=1, place="device")
def block(ctx: Context, value: float, seconds: float = 3600.0) -> float:
    """Hear no cancel."""
    witness(ctx, "start")
    threading.Event().wait(seconds)
    return value


@node(title="Hold the interpreter", version=1, place="device")
def hold(ctx: Context, value: float, seconds: float = 3600.0) -> float:
    """Keep the interpreter's lock: no other thread of the process runs."""
    witness(ctx, "start")
    ctypes.PyDLL(None).usleep(ctypes.c_uint(int(min(seconds, 4000) * 1e6)))
    return value


How = Literal["segv", "kill", "exit0", "exit1", "stop"]


@node(title="Die", version=1, place="device")
def die(ctx: Context, value: float, how: How = "segv", times: int = 1_000_000) -> float:
    """End the device's process, the first `times` times."""
    return end_process(ctx, value, how, times)


@node(title="Die on the host", version=1)
def host_die(ctx: Context, value: float, how: How = "segv", times: int = 1_000_000) -> float:
    """End a host worker, the first `times` times."""
    return end_process(ctx, value, how, times)


def end_process(ctx: Context, value: float, how: How, times: int) -> float:
    if witness(ctx, "start") < times:
        if how == "segv":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            os._exit(int(how[-1]))
    return value


@node(title="Publish and die", version=1, effect=True, output="file")
def publish_and_die(ctx: Context, value: float, times: int = 1) -> str:
    """Publish a file, then end the process before anybody hears of it, the first `times` times."""
    name = output_name(ctx, "dying")
    content = f"{value}".encode()
    publish(ctx.output_folder, name, ".png", content, {"id": name, "file": f"{name}.png", "kind": "image", **origin_of(ctx)})
    end_process(ctx, value, "kill", times)
    return f"{name}.png"


@node(title="Fail", version=1)
def fail(ctx: Context, value: float, message: str = "no luck", times: int = 1_000_000) -> float:
    """Raise, the first `times` times; HOME in the message is the data folder, which no client names or is told."""
    if witness(ctx, "start") < times:
        raise RuntimeError(message.replace("HOME", os.environ.get("LATENTGRAPH_HOME", "")))
    return value


@node(title="Out of memory", version=1, place="device")
def out_of_memory(ctx: Context, value: float, shape: Literal["memory", "cuda", "cublas"] = "memory") -> float:
    """Run out of memory in one of its forms."""
    witness(ctx, "start")
    if shape == "memory":
        raise MemoryError
    if shape == "cuda":
        raise RuntimeError("CUDA error: out of memory")
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


@node(title="Long text", version=1)
def long_text(ctx: Context, value: float, length: int = 10) -> str:
    """A text of so many characters."""
    witness(ctx, "start")
    return "x" * length


@node(title="Paint", version=1, output="image")
def paint(ctx: Context, value: float, size: int = 16) -> Image:
    """A picture of one colour that depends on the value."""
    import numpy as np

    witness(ctx, "start")
    return Image(WireTensor.of_numpy(np.full((1, 3, size, size), (value * 0.137) % 1.0, np.float32)))
