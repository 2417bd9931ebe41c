"""Values in RAM: none lives longer than the last reader needs it, and the budget for remembered ones holds."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph.context import Context
from graph.engine import Limits
from graph.node import node
from graph.registry import Registry
from tests.graph.engine_kit import Lab, Tensor, make_tensor, n, tensor_sum, workflow

alive: weakref.WeakValueDictionary[str, Tensor] = weakref.WeakValueDictionary()


class Liveness:
    """Looks, at the start of every node, which results are still alive, and knows which are still needed."""

    def __init__(self, parents: dict[str, list[str]], printed: set[str]) -> None:
        self.parents, self.printed = parents, printed
        self.finished: set[str] = set()
        self.made: set[str] = set()
        self.surplus: list[tuple[str, set[str]]] = []
        self.peak = self.peak_needed = 0

        @node(title="Join", version=1, output="tensor")
        def join(ctx: Context, seed: int, a: Tensor | None = None, b: Tensor | None = None, c: Tensor | None = None) -> Tensor:
            self.look(ctx.node_id)
            made = Tensor.of(seed % 256, 10 + seed)
            alive[ctx.node_id] = made
            self.finished.add(ctx.node_id)
            self.made.add(ctx.node_id)
            return made

        @node(title="Join or fail", version=1, output="tensor")
        def fail(ctx: Context, seed: int, a: Tensor | None = None, b: Tensor | None = None, c: Tensor | None = None) -> Tensor:
            self.look(ctx.node_id)
            self.finished.update([ctx.node_id, *below(self.parents, ctx.node_id)])
            raise ValueError("no")

        self.library = Registry.of(join, fail)

    def needed(self) -> set[str]:
        """Results with a reader that has not finished, and printed ones."""
        wanted = {above for id, parents in self.parents.items() if id not in self.finished for above in parents}
        return (wanted | self.printed) & self.made

    def look(self, id: str) -> None:
        live, needed = set(alive.keys()), self.needed()
        self.peak, self.peak_needed = max(self.peak, len(live)), max(self.peak_needed, len(needed))
        if live - needed:
            self.surplus.append((id, live - needed))


def below(parents: dict[str, list[str]], id: str) -> set[str]:
    found: set[str] = set()
    for child, above in parents.items():
        if child not in found and (id in above or found & set(above)):
            found |= {child} | below(parents, child)
    return found


def random_graph(seed: int, size: int) -> tuple[dict[str, list[str]], list[str]]:
    rng = random.Random(seed)
    parents: dict[str, list[str]] = {}
    for at in range(size):
        known = list(parents)[-8:]
        parents[f"n{at}"] = rng.sample(known, k=min(len(known), rng.choice([0, 1, 1, 2, 3])))
    read = {above for one in parents.values() for above in one}
    return parents, [id for id in parents if id not in read or rng.random() < 0.1]


@pytest.mark.spec("H14")
@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_no_result_outlives_its_last_reader(home: Path, seed: int, failing: bool) -> None:
    alive.clear()
    parents, printed = random_graph(seed, 40)
    bad = {"n10", "n17"} if failing else set()
    liveness = Liveness(parents, set(printed))
    nodes: dict[str, Any] = {
        id: n(
            "fail" if id in bad else "join", seed=at, **{port: f"@{above}.tensor" for port, above in zip("abc", of, strict=False)}
        )
        for at, (id, of) in enumerate(parents.items())
    }
    with Lab(home, liveness.library, limits=Limits(ram=0), host_lanes=1) as lab:
        outcome = lab.run(workflow([f"{id}.tensor" for id in printed], **nodes))
        assert outcome.state == ("failed" if failing else "done")
        assert liveness.surplus == []
        assert liveness.peak == liveness.peak_needed > 2
        assert set(alive) == {id for id in printed if f"{id}_tensor" in outcome.outputs}
        del outcome
        gc.collect()
        assert set(alive) == set()  # the idle lane keeps nothing either


@pytest.mark.spec("H15")
def test_remembered_values_stay_within_their_budget(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(Registry.of(make_tensor, tensor_sum), limits=Limits(ram=10_500))
    memory = lab.engine.memories.memo.values
    for fill in range(20):
        lab.run(workflow("s", t=n("make_tensor", fill=fill, size=1000), s=n("tensor_sum", tensor="@t.tensor")))
        assert memory.bytes <= 10_500
    assert memory.bytes > 5_000
    assert lab.run(workflow("s", t=n("make_tensor", fill=19, size=1000), s=n("tensor_sum", tensor="@t.tensor"))).ran == []
    assert lab.run(workflow("t.tensor", t=n("make_tensor", fill=0, size=1000))).ran == ["t"]  # long gone


def test_a_value_larger_than_the_budget_passes_through(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(Registry.of(make_tensor, tensor_sum), limits=Limits(ram=100))
    text = workflow("s", t=n("make_tensor", fill=1, size=100_000), s=n("tensor_sum", tensor="@t.tensor"))
    assert lab.run(text).output == 100_000
    assert lab.engine.memories.memo.values.bytes <= 100


def test_many_runs_in_one_process_leave_nothing_behind(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(limits=Limits(ram=0))
    for at in range(50):
        lab.run(workflow("s", t=n("make_tensor", fill=at, size=1000), s=n("tensor_sum", tensor="@t.tensor")))
    executor = lab.engine.executor
    assert (len(executor._flights), len(executor._unshared), len(executor._owners), len(executor.schedule.runs)) == (0, 0, 0, 0)
    assert len(lab.engine._loaded) <= 8
