"""The nodes that the worker tests call. A worker process imports this module by name, so it imports no pytest."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

import msgpack

from graph.context import Context
from graph.node import node
from graph.registry import Registry
from graph.spec import NodeSpec
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
    end_process(how)
    return 0


def end_process(how: str) -> None:
    """ "exit", "exit0", "exit1", "segv" or "kill"."""
    if how.startswith("exit"):
        os._exit(int(how.removeprefix("exit") or 3))
    os.kill(os.getpid(), signal.SIGSEGV if how == "segv" else signal.SIGKILL)
    time.sleep(PATIENCE)


@node(title="Die sometimes", version=1)
def die_first(ctx: Context, a: float, times: int, tally: str, how: str = "kill") -> float:
    """Dies as often as it is told to; `tally` is a file with one letter per call."""
    with Path(tally).open("a") as file:
        file.write("x")
    if Path(tally).stat().st_size <= times:
        end_process(how)
    return a


@node(title="Hang", version=1)
def hang(ctx: Context, how: str, mark: str, a: float = 0.0) -> float:
    """Hears nothing any more: "loop" in Python, "lock" in C with Python's lock, "stop" by a signal. Makes the file `mark` first."""
    Path(mark).write_text(str(os.getpid()))
    if how == "lock":
        ctypes.PyDLL(None).sleep(1000)
    elif how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(0.01)


@node(title="Heed", version=1)
def heed(ctx: Context, mark: str, until: str, a: float = 0.0) -> float:
    """Makes the file `mark` and waits for the file `until`, looking for cancellation."""
    Path(mark).write_text(str(os.getpid()))
    for step in range(int(PATIENCE * 200)):
        ctx.progress(step, 1_000_000)
        if Path(until).exists():
            return a
        time.sleep(0.005)
    raise TimeoutError("nobody made the file")


@node(title="Linger", version=1)
def linger(ctx: Context, a: float, seconds: float = 0.006) -> float:
    """Takes long enough to be kept."""
    time.sleep(seconds)
    return a


@node(title="Die while planning", version=1, light=True)
def die_light(ctx: Context) -> float:
    os._exit(5)


@node(title="Device where", version=1, place="device")
def device_where(ctx: Context, a: float = 0.0, device: str | None = None) -> str:
    return f"{ctx.device} {os.getpid()}"


@node(title="Device fault", version=1, place="device")
def device_fault(ctx: Context, times: int, tally: str) -> str:
    """Fails like a CUDA kernel that broke its context, as often as it is told to."""
    with Path(tally).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if len(Path(tally).read_text().split()) <= times:
        raise RuntimeError("CUDA error: device-side assert triggered")
    return str(os.getpid())


@node(title="Babble", version=1)
def babble(ctx: Context, what: str) -> float:
    """Writes what is no frame, or not one of ours, to the engine; as this process's second call."""
    said = {
        "giant": b"\xff\xff\xff\xff" + b"x" * 100,
        "extension": frame(msgpack.packb(msgpack.ExtType(5, b"os.system"))),
        "no list": frame(msgpack.packb({"a": 1})),
        "no msgpack": frame(b"\xc1\xc1\xc1"),
        "pickle": frame(b"cos\nsystem\n(S'true'\ntR."),
        "other call": frame(msgpack.packb(["done", 99, [], 0.0, 0.0, 0, {}])),
        "no call": frame(msgpack.packb(["done"])),
        "unknown kind": frame(msgpack.packb(["exec", 2, "true"])),
        "odd fields": frame(msgpack.packb(["done", 2, "x", None])),
        "foreign file": frame(msgpack.packb(["done", 2, [["f", b"0" * 32, "/etc/passwd"]], 0.0, 0.0, 0, {}])),
    }[what]
    os.write(int(sys.argv[1]), said)
    time.sleep(PATIENCE)
    return 0.0


@node(title="Cut off", version=1)
def cut_off(ctx: Context) -> float:
    os.write(int(sys.argv[1]), b"\x00\x00\x00\x10half")
    os._exit(0)


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4) + body


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
    odd_result,
    steps,
    endless,
    die,
    die_first,
    hang,
    heed,
    linger,
    die_light,
    device_where,
    device_fault,
    babble,
    cut_off,
    throw,
    where,
    long_text,
    kind,
    record_of_the_run,
    look,
    *engine_kit.NODES,
    classes=[Settings],
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


class Importing(Counting):
    """Prepares like the import of a large library: native code keeps Python's lock all the while."""

    is_prepared = False

    def prepare(self, spec: NodeSpec) -> None:
        if not self.is_prepared:
            ctypes.PyDLL(None).usleep(900_000)
        self.is_prepared = True


def importing_setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, Importing]:
    return REGISTRY, Importing(home)


def slow_setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, Counting]:
    """Comes up when the file `go` is there."""
    (home / "starting").touch()
    while not (home / "go").exists():
        time.sleep(0.005)
    return REGISTRY, Counting(home)


def setup_broken_on_first(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, Counting]:
    """The first device is broken until the file `mended` is there; the tally `starts` has a line per start."""
    with (home / "starts").open("a") as file:
        file.write(f"{device}\n")
    if device == "cpu:0" and not (home / "mended").exists():
        os._exit(7)
    return REGISTRY, Counting(home)


def broken_setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, Counting]:
    raise RuntimeError("the driver is too old")
