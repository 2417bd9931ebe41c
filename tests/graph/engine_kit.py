"""What the engine's tests share: nodes that write down that they ran, workflows in one line, a lab around an engine.

The nodes live in a module, so that worker processes can import them (`setup`).
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from graph.active import NodeResult, RunResult
from graph.context import Context
from graph.engine import Engine, Handle
from graph.events import Event
from graph.node import node
from graph.plan import Plan
from graph.registry import Registry
from graph.spec import Seed
from graph.types import Packed, TensorBytes, record, wire
from graph.workers import PlainRuntime

T = TypeVar("T")

#: Ids of the nodes that really executed, with the element of a mapped one, in order.
ran: list[str] = []
#: For nodes that wait: set by a test to let them go on. `started` is set when one is inside.
gate, started = threading.Event(), threading.Event()
#: How long a node waits at most for a test's event: a failing test ends, a passing one never waits.
PATIENCE = 20.0


def note_run(ctx: Context) -> None:
    ran.append(ctx.node_id if ctx.element is None else f"{ctx.node_id}[{ctx.element}]")


@node(title="Number", version=1, light=True)
def number(ctx: Context, value: float) -> float:
    return value


@node(title="Count", version=1, light=True)
def count(ctx: Context, value: int) -> int:
    return value


@node(title="Words", version=1, light=True)
def words(ctx: Context, value: str) -> str:
    return value


@node(title="Range", version=1, light=True)
def numbers(ctx: Context, n: int) -> list[float]:
    return [float(i) for i in range(n)]


@node(title="List", version=1, light=True)
def make_list(ctx: Context, a: T, b: T | None = None, c: T | None = None) -> list[T]:
    return [item for item in (a, b, c) if item is not None]


@node(title="Switch", version=1, light=True)
def switch(ctx: Context, on: bool, a: T, b: T) -> T:
    return a if on else b


@node(title="Add", version=1)
def add(ctx: Context, a: float, b: float = 0.0) -> float:
    note_run(ctx)
    return a + b


@node(title="Floor", version=1)
def floor(ctx: Context, a: float) -> float:
    note_run(ctx)
    return float(int(a))


@node(title="Total", version=1)
def total(ctx: Context, values: list[float]) -> float:
    note_run(ctx)
    return float(sum(values))


@node(title="Say", version=1)
def say(ctx: Context, text: str) -> str:
    note_run(ctx)
    return text.upper()


@node(title="Show", version=1)
def show(ctx: Context, value: T) -> str:
    note_run(ctx)
    return repr(value)


class Split(NamedTuple):
    whole: float
    rest: float


class Cells(NamedTuple):
    x: list[float]
    y: list[float]


@node(title="As count", version=1, light=True)
def as_count(ctx: Context, a: float) -> int:
    return int(a)


@node(title="Split", version=1)
def split(ctx: Context, a: float) -> Split:
    note_run(ctx)
    return Split(float(int(a)), a - int(a))


@node(title="Draw", version=1)
def draw(ctx: Context, seed: Annotated[int, Seed()], scale: float = 1.0) -> float:
    note_run(ctx)
    return seed * scale


@node(title="Disk cache", version=1, persist=True)
def disk_cache(ctx: Context, value: T, folder: str = "default", limit_gb: float = 50.0) -> T:
    note_run(ctx)
    return value


@node(title="Unkept", version=1, cache=False)
def unkept(ctx: Context, a: float) -> float:
    note_run(ctx)
    return a


@node(title="Save", version=1, effect=True)
def save(ctx: Context, value: float) -> None:
    note_run(ctx)


@node(title="Device add", version=1, place="device")
def device_add(ctx: Context, a: float, b: float = 0.0) -> float:
    note_run(ctx)
    return a + b


@node(title="Fail if", version=1)
def fail_if(ctx: Context, a: float, fail: bool = False) -> float:
    note_run(ctx)
    if fail:
        raise ValueError("the paper ran out")
    return a


@node(title="Wait", version=1)
def wait(ctx: Context, a: float) -> float:
    """Waits for the gate, looking for cancellation as a denoise loop does between its steps."""
    note_run(ctx)
    started.set()
    for step in range(1, int(PATIENCE * 200)):
        ctx.progress(step, 1000)
        if gate.wait(0.005):
            return a + 100
    raise TimeoutError("nobody opened the gate")


@wire("Tensor")
@dataclass(frozen=True)
class Tensor:
    """A value with bytes of its own, like a tensor: it crosses to a worker process as a file."""

    data: bytearray
    writes: list[int]

    @classmethod
    def of(cls, fill: int, size: int) -> Tensor:
        return cls(bytearray([fill]) * size, [0])

    @property
    def nbytes(self) -> int:
        return len(self.data)

    @property
    def version(self) -> int:
        return self.writes[0]

    def write(self) -> Packed:
        return Packed("Tensor", {}, {"data": TensorBytes("U8", (len(self.data),), memoryview(self.data).toreadonly())})

    @classmethod
    def read(cls, packed: Packed) -> Tensor:
        return cls(bytearray(packed.tensors["data"].data), [0])

    def to(self, device: str) -> Tensor:
        return self

    def fill(self, value: int) -> None:
        """What no node may do to its input."""
        self.data[:] = bytes([value]) * len(self.data)
        self.writes[0] += 1


@record("Settings")
@dataclass(frozen=True)
class Settings:
    """A plain record."""

    name: str
    sizes: tuple[int, ...] = ()


@node(title="Make tensor", version=1, output="tensor")
def make_tensor(ctx: Context, fill: int, size: int = 1000) -> Tensor:
    note_run(ctx)
    return Tensor.of(fill, size)


@node(title="Sum of a tensor", version=1)
def tensor_sum(ctx: Context, tensor: Tensor) -> int:
    note_run(ctx)
    return sum(tensor.data)


@node(title="Brighten", version=1, output="tensor")
def brighten(ctx: Context, tensor: Tensor, by: int = 1) -> Tensor:
    note_run(ctx)
    return Tensor(bytearray((byte + by) % 256 for byte in tensor.data), [0])


@node(title="Scribble", version=1)
def scribble(ctx: Context, tensor: Tensor, fail: bool = False) -> int:
    note_run(ctx)
    tensor.fill(9)
    if fail:
        raise ValueError("after the scribbling")
    return 1


NODES: tuple[Callable[..., Any], ...] = (
    number, count, words, numbers, make_list, switch, add, floor, total, say, show, split, draw, disk_cache, unkept, save,
    device_add, as_count, fail_if, wait, make_tensor, tensor_sum, brighten, scribble,
)  # fmt: skip

registry = Registry.of(*NODES)


def setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, PlainRuntime]:
    """For worker processes: "tests.graph.engine_kit:setup"."""
    return registry, PlainRuntime(device, threads)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another thread brings about; a test that waits in vain fails."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "what the test waits for did not happen"
        time.sleep(0.001)


# ---- workflows ----


def n(type: str, **inputs: Any) -> dict[str, Any]:
    """A node of a workflow. An input "@node.port" is a link; "@node" is its port `value`."""
    return {"type": type, "inputs": {name: _input(value) for name, value in inputs.items()}}


def _input(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("@"):
        return {"link": value[1:] if "." in value else f"{value[1:]}.value"}
    return value


def workflow(
    outputs: str | Mapping[str, str] | Iterable[str] = (), /, *, more: Mapping[str, Any] | None = None, **nodes: Any
) -> str:
    """The JSON text of a workflow. `outputs`: "node" or "node.port", some of these, or by name."""
    if isinstance(outputs, str):
        outputs = [outputs]
    named = outputs if isinstance(outputs, Mapping) else {one.replace(".", "_"): one for one in outputs}
    return json.dumps(
        {
            "format": "latentgraph/workflow",
            "version": "1.0",
            "name": "test",
            "nodes": nodes,
            "outputs": {name: {"from": place if "." in place else f"{place}.value"} for name, place in named.items()},
            **(more or {}),
        }
    )


def chain(length: int, first: float = 1.0) -> str:
    """`add` nodes n0 ... one after another."""
    nodes = {"n0": n("add", a=first, b=1.0)}
    nodes |= {f"n{i}": n("add", a=f"@n{i - 1}", b=1.0) for i in range(1, length)}
    return workflow(f"n{length - 1}", **nodes)


# ---- engines ----


def costly_clock(seconds: float = 0.006) -> Callable[[], float]:
    """A clock by which every execution takes `seconds` or a little more: results are then kept on disk."""
    ticks = itertools.count()
    return lambda: next(ticks) * seconds


class Lab:
    """Runs workflows on one engine and one home, and says what happened. The log `ran` starts empty with each run."""

    def __init__(self, home: Path, library: Registry = registry, **options: Any) -> None:
        self.engine = Engine(library, home, **options)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def plan(self, text: str, **options: Any) -> Plan:
        """The described plan."""
        return self.engine.described(self.engine.plan(self.engine.load(text), **options))

    def states(self, text: str, **options: Any) -> dict[str, str]:
        """What the plan says of each node."""
        return {node.id: node.state for node in self.plan(text, **options).nodes}

    def start(self, text: str, *, seeds: Mapping[str, int] | None = None, **options: Any) -> Handle:
        compiled = self.engine.load(text)
        plan = self.engine.plan(compiled, seeds=self.engine.draw_seeds(compiled) | dict(seeds or {}))
        return self.engine.start(plan, **options)

    def run(self, text: str, **options: Any) -> Outcome:
        ran.clear()
        events: list[Event] = []
        result = self.start(text, **options).wait(PATIENCE, on_events=events.extend)
        assert result is not None, "the run did not end"
        return Outcome(result, list(ran), events)


@dataclass
class Outcome:
    """A run that has ended."""

    result: RunResult
    ran: list[str]
    events: list[Event]

    @property
    def state(self) -> str:
        return self.result.state

    @property
    def outputs(self) -> dict[str, Any]:
        return self.result.outputs

    @property
    def output(self) -> Any:
        """The only output."""
        (value,) = self.result.outputs.values()
        return value

    @property
    def states(self) -> dict[str, str]:
        return states_of(self.result)

    def node(self, id: str) -> NodeResult:
        (found,) = [one for one in self.result.nodes if one.id == id]
        return found


def states_of(result: RunResult) -> dict[str, str]:
    """State by node id, "id[i]" for an element."""
    return {one.id if one.element is None else f"{one.id}[{one.element}]": one.state for one in result.nodes}


def with_specs(library: Registry, **changes: Any) -> Registry:
    """The same nodes with other spec fields, as after an edit of their code: `with_specs(registry, code="...")`."""
    specs = [replace(spec, **changes) for spec in library.specs.values()]
    declarations = {spec.id: library.function(spec.id)._replace(spec=spec) for spec in specs}
    return Registry(specs, declarations=declarations, wire_types=dict(library.wire_types))
