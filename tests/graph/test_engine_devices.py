"""Devices: branches side by side, one heavy task at a time on each, and models where they already are."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph.context import Context, Recipe
from graph.engine import Limits
from graph.errors import WorkflowError
from graph.node import node
from graph.registry import Registry
from graph.types import record
from graph.workers import PlainRuntime
from tests.graph.engine_kit import PATIENCE, Lab, add, costly_clock, gate, make_list, n, numbers, ran, started, workflow

TWO = ("cpu:0", "cpu:1")


@record("TestModel", device_recipe=True)
@dataclass(frozen=True)
class Model:
    """A recipe by name; its weights are named alike."""

    name: str
    nbytes: int

    @property
    def weights(self) -> str:
        return self.name

    def build(self, device: str) -> str:
        return f"{self.name} on {device}"


@node(title="Load", version=1, light=True, output="model")
def load(ctx: Context, name: str, nbytes: int = 1000) -> Model:
    return Model(name, nbytes)


class Holding(PlainRuntime):
    """Keeps the models it was asked for."""

    def __init__(self, device: str, threads: int) -> None:
        super().__init__(device, threads)
        self.held: dict[str, int] = {}

    @contextmanager
    def borrow(self, recipe: Recipe[Any]) -> Iterator[Any]:  # type: ignore[override]
        assert isinstance(recipe, Model)
        self.held = {recipe.weights: recipe.nbytes}
        yield recipe.build(self.device)

    def resident(self) -> dict[str, int]:
        return self.held


@pytest.mark.spec("F18")
def test_independent_branches_are_on_two_devices_at_once(open_lab: Callable[..., Lab]) -> None:
    meeting = threading.Barrier(2, timeout=PATIENCE)
    seen: list[str] = []

    @node(title="Meet", version=1, place="device")
    def meet(ctx: Context, a: float) -> float:
        meeting.wait()  # both are inside, or the test fails
        seen.append(ctx.device)
        return a

    lab = open_lab(Registry.of(meet), devices=TWO, workers="thread")
    outcome = lab.run(workflow(["x", "y"], x=n("meet", a=1.0), y=n("meet", a=2.0)))
    assert outcome.state == "done"
    assert sorted(seen) == ["cpu:0", "cpu:1"]
    assert {one.device for one in outcome.result.nodes} == set(TWO)


@pytest.mark.spec("F18")
@pytest.mark.parametrize("seed", range(8))
def test_no_two_heavy_tasks_are_ever_on_one_device(open_lab: Callable[..., Lab], seed: int) -> None:
    rng = random.Random(seed)
    lock = threading.Lock()
    inside: dict[str, int] = {}
    most: dict[str, int] = {}

    @node(title="Heavy", version=1, place="device")
    def heavy(ctx: Context, id: int, a: float = 0.0, b: float = 0.0) -> float:
        with lock:
            inside[ctx.device] = inside.get(ctx.device, 0) + 1
            most[ctx.device] = max(most.get(ctx.device, 0), inside[ctx.device])
        threading.Event().wait(0.0005)  # lets the other lanes in
        with lock:
            inside[ctx.device] -= 1
        return a + b + id

    nodes: dict[str, Any] = {}
    for at in range(40):
        above = rng.sample(list(nodes)[-6:], k=min(len(nodes), rng.choice([0, 1, 2])))
        nodes[f"n{at}"] = n("heavy", id=at, **{port: f"@{id}" for port, id in zip("ab", above, strict=False)})
    lab = open_lab(Registry.of(heavy), devices=TWO, workers="thread", host_lanes=3)
    outcome = lab.run(workflow(list(nodes), **nodes))
    assert outcome.state == "done"
    assert most == {"cpu:0": 1, "cpu:1": 1}
    expected: dict[str, float] = {}
    for at, (id, made) in enumerate(nodes.items()):
        expected[id] = at + sum(
            expected[link["link"].split(".")[0]] for link in made["inputs"].values() if isinstance(link, dict)
        )
    assert outcome.outputs == expected


def test_host_nodes_go_on_while_the_device_is_busy(lab: Lab) -> None:
    @node(title="Busy", version=1, place="device")
    def busy(ctx: Context) -> float:
        started.set()
        assert gate.wait(PATIENCE)
        return 1.0

    @node(title="Open", version=1)
    def open_gate(ctx: Context) -> float:
        assert started.wait(PATIENCE)
        gate.set()  # only a host node that runs meanwhile lets the device go on
        return 2.0

    with Lab(lab.engine.home / "own", Registry.of(busy, open_gate), host_lanes=1) as own:
        assert own.run(workflow(["b", "o"], b=n("busy"), o=n("open_gate"))).state == "done"


@node(title="Use", version=1)
def use(ctx: Context, model: Model, a: float) -> str:
    with ctx.borrow(model) as net:
        return f"{net} {a:g}"


def test_a_model_is_used_where_it_already_is(open_lab: Callable[..., Lab]) -> None:
    made: dict[str, Holding] = {}

    def runtime(device: str, threads: int) -> Holding:
        return made.setdefault(device, Holding(device, threads))

    lab = open_lab(Registry.of(load, use), devices=TWO, workers="thread", runtime=runtime)
    size = 4 * 10**9
    first = lab.run(workflow("u", m=n("load", name="big", nbytes=size), u=n("use", model="@m.model", a=0.0))).node("u").device
    for at in range(1, 6):
        outcome = lab.run(workflow("u", m=n("load", name="big", nbytes=size), u=n("use", model="@m.model", a=float(at))))
        assert outcome.node("u").device == first
        assert outcome.output == f"big on {first} {at}"


def test_a_model_that_fits_no_device_is_refused_before_anything_runs(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(Registry.of(load, use, add), limits=Limits(device=1000))
    text = workflow(
        ["u", "v", "x"],
        x=n("add", a=1.0),
        m=n("load", name="m", nbytes=1001),
        u=n("use", model="@m.model", a=1.0),
        v=n("use", model="@m.model", a=2.0),
    )
    with pytest.raises(WorkflowError) as caught:
        lab.start(text)
    said = "its weights take 1,001 bytes and the largest device has 1,000; use a smaller model or a larger device"
    assert [str(one) for one in caught.value.problems] == [f"u cannot run: {said}", f"v cannot run: {said}"]
    assert lab.run(workflow("u", m=n("load", name="m", nbytes=1000), u=n("use", model="@m.model", a=1.0))).state == "done"


def test_a_node_pinned_to_a_device_runs_there_and_nowhere_else(open_lab: Callable[..., Lab]) -> None:
    @node(title="Pinned", version=1, place="device")
    def pinned(ctx: Context, a: float, device: str | None = None) -> str:
        return ctx.device

    lab = open_lab(Registry.of(pinned, numbers), devices=TWO, workers="thread")
    assert lab.run(workflow("p", r=n("numbers", n=8), p=n("pinned", a="@r", device="cpu:1"))).output == ["cpu:1"] * 8
    with pytest.raises(WorkflowError, match="p cannot run: it is pinned to cpu:7, and the devices are cpu:0, cpu:1"):
        lab.start(workflow("p", p=n("pinned", a=1.0, device="cpu:7")))


def test_values_move_between_devices(open_lab: Callable[..., Lab]) -> None:
    @node(title="Pinned", version=1, place="device")
    def pinned(ctx: Context, device: str, a: float = 0.0) -> float:
        assert ctx.device == device
        return a + 1

    lab = open_lab(Registry.of(pinned, make_list), devices=TWO, workers="thread")
    text = workflow(
        "d",
        a=n("pinned", device="cpu:0"),
        b=n("pinned", device="cpu:1", a="@a"),
        c=n("pinned", device="cpu:0", a="@b"),
        d=n("pinned", device="cpu:1", a="@c"),
    )
    assert lab.run(text).output == 4.0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_run_uses_one_device_class_whatever_the_devices_are_called(home: Path, count: int) -> None:
    with Lab(home, Registry.of(add), devices=[f"cpu:{at}" for at in range(count)], workers="thread") as lab:
        assert lab.engine.environment.endswith(f":{max(1, (os.cpu_count() or 1) // count)}")


def test_a_run_says_how_long_it_worked_on_devices(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(clock=costly_clock(0.5), host_lanes=1)
    outcome = lab.run(workflow("z", x=n("add", a=1.0), y=n("device_add", a="@x"), z=n("device_add", a="@y", b=1.0)))
    device = [node.seconds for node in outcome.result.nodes if node.type == "device_add" and node.state == "done"]
    assert outcome.result.device_seconds == sum(device) == 1.0
    assert lab.run(workflow("y", x=n("add", a=1.0), y=n("device_add", a="@x"))).result.device_seconds == 0.0


def test_a_run_that_is_given_priority_overtakes(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(host_lanes=1)
    busy = lab.start(workflow("w", w=n("wait", a=1.0)))
    assert started.wait(PATIENCE)
    slow, quick = [lab.start(workflow(name, **{name: n("add", a=2.0, b=b)})) for name, b in (("slow", 1.0), ("quick", 2.0))]
    quick.prioritise(5)
    gate.set()
    for handle in (busy, slow, quick):
        assert handle.wait(PATIENCE) is not None
    assert ran == ["w", "quick", "slow"]
