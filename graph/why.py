"""Why a node runs, or does not: the parts of its key now against the parts it had when its result was last kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from graph import keys
from graph.expand import Tasks, Undrawn
from graph.memo import Action
from graph.plan import Plan

_SHOWN = 60


class Reason(NamedTuple):
    """One sentence about a node. `part` names the input, "code" or "environment" that it is about, or is empty."""

    node: str
    part: str
    message: str


class Known(Protocol):
    """What the explanation asks of the memo."""

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Action]:
        """The actions of these keys."""


def last_key(workflow: str, node: str, element: int | None) -> bytes:
    """The key under which the last kept result of a node of a named workflow stands, for comparing."""
    return sha256(f"latentgraph last\0{workflow}\0{node}\0{element}".encode()).digest()


def parts_of(tasks: Tasks, task: int, environment: str, digest_of: Callable[[int, int], bytes | None]) -> dict[str, str]:
    """What the key of a task is made of, each part short enough to show. `digest_of(task, output)` may not know yet."""
    spec = tasks.spec_of(task)
    parts = {"code": f"version {spec.version}, code {spec.code[:12]}"}
    if spec.place == "device":
        parts["environment"] = environment
    for name, value in tasks.constants[task].items():
        parts[name] = _shown(value)
    for ref in tasks.refs[task]:
        digest = digest_of(ref.task, ref.output)
        name = ref.port if ref.position is None else f"{ref.port}[{ref.position}]"
        parts[name] = "not made yet" if digest is None else f"content {digest.hex()[:12]}"
    return parts


def _shown(value: Any) -> str:
    if isinstance(value, Undrawn):
        return "random"
    if value is None or isinstance(value, (bool, int, float, str)):
        said = repr(value)
        return said if len(said) <= _SHOWN else f"{said[: _SHOWN - 15]}... ({sha256(said.encode()).hexdigest()[:8]})"
    return f"{type(value).__name__} {sha256(keys.token(value)).hexdigest()[:12]}"


def explain(plan: Plan, node: str, environment: str, memo: Known) -> list[Reason]:
    """Sentences about a node and, where its inputs changed because something above it runs, about that too."""
    tasks = plan.tasks
    reasons: list[Reason] = []
    running = set(plan.run)
    todo, seen = [tasks.compiled.index[node]], set[int]()
    while todo:
        index = todo.pop(0)
        if index in seen:
            continue
        seen.add(index)
        id, mine = tasks.compiled.ids[index], tasks.tasks_of(index)
        runs = [task for task in mine if task in running]
        if not mine:
            reasons.append(Reason(id, "", f"{id} is light: it is evaluated while planning, each time."))
        elif not runs:
            reasons.append(_remembered(plan, id, mine[0]))
        else:
            reasons.extend(_why_it_runs(plan, id, runs[0], environment, memo))
            todo.extend(tasks.node[ref.task] for task in runs[:1] for ref in tasks.refs[task] if ref.task in running)
    return reasons


def _remembered(plan: Plan, id: str, task: int) -> Reason:
    if task in plan.hits:
        return Reason(id, "", f"{id} is remembered: nothing that its result depends on has changed.")
    if task in plan.skipped:
        return Reason(id, "", f"{id} need not run: everything that reads it is remembered.")
    return Reason(id, "", f"{id} is not needed for what was asked for.")


def _why_it_runs(plan: Plan, id: str, task: int, environment: str, memo: Known) -> list[Reason]:
    tasks = plan.tasks
    spec = tasks.spec_of(task)
    if spec.effect:
        return [Reason(id, "", f"{id} runs each time: it writes its result, which is never remembered.")]
    if not spec.cache:
        return [Reason(id, "", f"{id} runs each time: its type is declared cache=False.")]
    if not tasks.skeleton[task]:
        return [Reason(id, "", f"{id} runs: its seed is random and not drawn yet.")]
    key = last_key(tasks.compiled.document.name, id, tasks.element[task])
    last = memo.find([key]).get(key)
    if last is None:
        return [Reason(id, "", f"{id} runs: no result of it is kept for this workflow (results of less than 1 ms never are).")]
    now = parts_of(tasks, task, environment, lambda above, port: plan.hits[above][port] if above in plan.hits else None)
    changed = [
        _changed(id, part, str(last.notes[part]) if part in last.notes else None, now.get(part))
        for part in sorted({*now, *last.notes})
    ]
    found = [reason for reason in changed if reason is not None]
    return found or [
        Reason(id, "", f"{id} runs: its key is as it was, but its result is gone from the cache (evicted, cleared or damaged).")
    ]


def _changed(id: str, part: str, before: str | None, now: str | None) -> Reason | None:
    if before == now:
        return None
    if now == "not made yet":
        return Reason(id, part, f"{id} runs: its input {part} is made anew.")
    if before is None:
        return Reason(id, part, f"{id} runs: {part} is {now}; it was not there before.")
    if now is None:
        return Reason(id, part, f"{id} runs: {part} was {before}; it is gone.")
    return Reason(id, part, f"{id} runs: {part} was {before}, is {now}.")
