"""What a plan needs of places: the weights its device tasks borrow, their learned seconds, the scheduler's view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graph.expand import Ref, Tasks
from graph.history import Estimate
from graph.plan import Plan
from graph.schedule import Needs, RunTasks
from graph.spec import NodeSpec


def weights_of(spec: NodeSpec, inputs: Mapping[str, Any]) -> dict[str, int]:
    """The weights that a task borrows: identity to bytes."""
    weights: dict[str, int] = {}
    for name in spec.borrows:
        recipe = inputs.get(name)
        for one in recipe if isinstance(recipe, list) else [recipe]:
            if one is not None and hasattr(one, "weights"):
                weights[one.weights] = int(getattr(one, "nbytes", 0))
    return weights


def loading_signature(weights: str) -> bytes:
    """The name under which the seconds of loading these weights are learned."""
    return b"load" + weights.encode()


def needs_of(tasks: Tasks, run: Iterable[int], estimate: Callable[[int], Estimate | None]) -> dict[int, Needs]:
    """What the device tasks need: the weights of the recipes they borrow, and their estimated seconds."""
    needs: dict[int, Needs] = {}
    for task in run:
        spec = tasks.spec_of(task)
        if spec.place != "device":
            continue
        weights = weights_of(spec, tasks.constants[task])
        guess = estimate(task)
        seconds = guess.seconds if guess is not None else None
        pin = tasks.constants[task].get("device")  # a text port of this name says where the node shall run
        needs[task] = Needs("device", tuple(sorted(weights.items())), seconds, pin if isinstance(pin, str) and pin else None)
    return needs


def queue_of(plan: Plan, needs: Mapping[int, Needs], *, priority: int, client: str, now: float) -> RunTasks:
    """The scheduler's view of a plan."""
    running = set(plan.run)
    dependencies = {
        task: list({ref.task for ref in plan.tasks.refs[task]} & running)
        if len(plan.tasks.refs[task]) > 1
        else _one(plan.tasks.refs[task], running)
        for task in plan.run
    }
    return RunTasks(plan.run, dependencies, needs, priority=priority, client=client, created=now)


def _one(refs: tuple[Ref, ...], running: set[int]) -> list[int]:
    return [ref.task for ref in refs if ref.task in running]
