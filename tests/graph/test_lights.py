"""Under a server the code of packs is called in a process of its own while planning: what it gives, and what it may break."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph.context import Context
from graph.errors import Refused, WorkflowError
from graph.node import node
from graph.registry import Registry
from graph.workers import PlainRuntime
from tests.graph import engine_kit
from tests.graph.engine_kit import Lab, Settings, T, n, workflow


@node(title="Process", version=1, light=True)
def process(ctx: Context, text: str = "") -> str:
    return f"{os.getpid()} {ctx.node_id}"


@node(title="Many", version=1, light=True)
def many(ctx: Context, n: int) -> list[float]:
    return [float(at) for at in range(n)]


@node(title="Settings", version=1, light=True)
def settings(ctx: Context, name: str, base: Settings | None = None) -> Settings:
    return Settings(name + (base.name if base else ""), (1, 2))


@node(title="Either", version=1, light=True)
def either(ctx: Context, on: bool, a: T, b: T) -> T:
    return a if on else b


@node(title="Bad", version=1, light=True)
def bad(ctx: Context, how: str) -> float:
    if how == "exit":
        os._exit(4)
    while how == "hang":
        pass
    if how == "refuse":
        raise Refused("that is too much", port="how", code="too_much")
    raise ValueError("no light")


def double(known: Mapping[str, Any]) -> dict[str, Any]:
    if known["a"] > 100:
        raise Refused("at most 100", port="a")
    return {"a": known["a"] * 2, "b": float(os.getpid())}


@node(title="Resolved", version=1, resolve=double)
def resolved(ctx: Context, a: float, b: float = 0.0) -> str:
    return f"{a} {b}"


def as_pack(library: Registry, names: tuple[str, ...]) -> Registry:
    """The same with these node types named as a pack's."""
    specs = [replace(spec, id=f"own/{spec.id}") if spec.id in names else spec for spec in library.specs.values()]
    declarations = {spec.id: library.function(spec.id.removeprefix("own/"))._replace(spec=spec) for spec in specs}
    return Registry(specs, declarations=declarations, wire_types=dict(library.wire_types))


OWN = (process, many, settings, either, bad, resolved)
REGISTRY = as_pack(Registry.of(*engine_kit.NODES, *OWN, classes=[Settings]), tuple(one.__name__ for one in OWN))


def setup(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, PlainRuntime]:
    return REGISTRY, PlainRuntime(device)


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Lab]]:
    """As the command line has it, and as a server has it."""
    with ExitStack() as stack:
        one = stack.enter_context(Lab(tmp_path_factory.mktemp("one"), REGISTRY))
        served = stack.enter_context(Lab(tmp_path_factory.mktemp("two"), REGISTRY, host_workers=1, setup=f"{__name__}:setup"))
        yield one, served


@pytest.fixture
def served(labs: tuple[Lab, Lab]) -> Lab:
    return labs[1]


def test_a_packs_light_node_is_called_elsewhere_and_a_built_in_one_here(labs: tuple[Lab, Lab]) -> None:
    text = workflow("s", p=n("own/process"), s=n("show", value="@p"))
    here, elsewhere = [lab.run(text).output for lab in labs]
    assert here == f"'{os.getpid()} p'"
    assert elsewhere.endswith(" p'")
    assert elsewhere != here


@pytest.mark.parametrize(
    "text",
    [
        workflow("t", m=n("own/many", n=4), t=n("total", values="@m")),
        workflow("y", m=n("own/many", n=3), y=n("add", a="@m", b=1.0)),
        workflow("s", a=n("own/settings", name="x"), b=n("own/settings", name="y", base="@a"), s=n("show", value="@b")),
        workflow("y", x=n("add", a=1.0), e=n("own/either", on=True, a="@x", b=5.0), y=n("add", a="@e", b=1.0)),
        workflow("y", x=n("add", a=1.0), e=n("own/either", on=False, a="@x", b=5.0), y=n("add", a="@e", b=1.0)),
    ],
    ids=["list", "mapped", "records", "a value that does not exist yet", "one that is not wanted"],
)
def test_it_gives_there_what_it_gives_here(labs: tuple[Lab, Lab], text: str) -> None:
    here, elsewhere = [lab.engine.plan(lab.engine.load(text)) for lab in labs]
    assert here.tasks.structural == elsewhere.tasks.structural
    assert here.tasks.produced == elsewhere.tasks.produced
    assert list(here.run) == list(elsewhere.run)


def test_a_planning_hook_of_a_pack_is_called_elsewhere(served: Lab) -> None:
    doubled, pid = served.run(workflow("r", r=n("own/resolved", a=4.0))).output.split()
    assert doubled == "8.0"
    assert float(pid) != os.getpid()
    with pytest.raises(WorkflowError, match="r.a: at most 100"):
        served.run(workflow("r", r=n("own/resolved", a=400.0)))


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("refuse", "too_much", "b.how: that is too much"),
        ("raise", "light_node_failed", "b (own/bad) failed while planning: ValueError: no light"),
        (
            "exit",
            "light_node_failed",
            "b (own/bad) failed while planning: the worker of packs died while it planned b (exit code 4)",
        ),
        ("hang", "light_node_failed", "(it took more than 0.3 s, so it was ended)"),
    ],
)
def test_whatever_it_does_the_plan_is_refused_and_the_next_one_works(served: Lab, how: str, code: str, said: str) -> None:
    lights = served.engine._lights
    assert lights is not None
    lights.start()
    lights.limit_s = 0.3 if how == "hang" else 30.0
    with pytest.raises(WorkflowError) as caught:
        served.plan(workflow("y", b=n("own/bad", how=how), y=n("add", a="@b")))
    (problem,) = caught.value.problems
    assert (problem.code, problem.node) == (code, "b")
    assert said in problem.message
    lights.limit_s = 30.0
    assert served.run(workflow("t", m=n("own/many", n=4), t=n("total", values="@m"))).output == 6.0
