"""What a run will do: which tasks are remembered and where, which run, in what order, at what estimated cost.

`resolve` looks from the wanted outputs backwards: structural keys first, then content keys where all digests are
known. Nothing here runs a node or reads a weight.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from graph import keys
from graph.canonical import canonical
from graph.errors import Problem, WorkflowError, nearest
from graph.expand import Pending, Tasks, Undrawn
from graph.history import Estimate
from graph.memo import Action
from graph.types import Plain

PlannedState = Literal["cached", "run", "light"]


class Lookup(Protocol):
    """What planning asks of the memo (see graph.memo)."""

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Action]:
        """The remembered actions among these keys, in one batch."""

    def has_values(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those whose bytes are still here."""


class PlannedNode(NamedTuple):
    """One line of a plan. `seconds` and `peak_bytes` are learned from past runs, None before the first."""

    id: str
    type: str
    state: PlannedState
    #: How many executions this node has (elements of a mapped node), and how many of them run.
    tasks: int
    running: int
    reason: str
    place: str
    seconds: float | None
    peak_bytes: int | None


class Roots(NamedTuple):
    """What a run is for: the wanted tasks, and the values of the named outputs (`Pending` where a task gives them)."""

    tasks: list[int]
    outputs: dict[str, Any]
    #: The outputs that are printed: task and output index.
    printed: list[tuple[int, int]]
    effects: list[int]
    #: The wanted tasks and all above them, in topological order.
    ancestors: list[int]


def _roots(tasks: Tasks, wanted: Iterable[int], outputs: dict[str, Any]) -> Roots:
    printed = list(dict.fromkeys((pending.task, pending.port) for value in outputs.values() for pending in pendings(value)))
    distinct = list(dict.fromkeys([*wanted, *[task for task, _ in printed]]))
    effects = [task for task in distinct if tasks.spec_of(task).effect]
    return Roots(distinct, outputs, printed, effects, ancestors_of(tasks, distinct))


@dataclass(slots=True)
class Plan:
    """A resolved run: hand it to `Engine.start`. `hits` maps a remembered task to its outputs' digests."""

    tasks: Tasks
    roots: Roots
    #: Tasks that run, in topological order.
    run: list[int]
    hits: dict[int, tuple[bytes, ...]]
    #: Tasks that are needed by nobody because something below them is remembered.
    skipped: list[int]
    seeds: dict[tuple[int, str], int]
    absent: dict[str, str] = field(default_factory=dict)
    nodes: list[PlannedNode] = field(default_factory=list)
    #: Estimated seconds from start to end; None before every device node of it has run once.
    seconds: float | None = None
    #: Estimated seconds of work by place, and peak bytes by device.
    busy_seconds: dict[str, float] = field(default_factory=dict)
    peak_bytes: dict[str, int] = field(default_factory=dict)

    @property
    def outputs(self) -> dict[str, Any]:
        """The named outputs' values, `Pending` where a task gives them."""
        return self.roots.outputs


def roots_of(tasks: Tasks, targets: Sequence[str] | None) -> Roots:
    """The named outputs and every effect, or, with `targets` ("node" or "node.port"), these alone.

    Raises WorkflowError if a target is unknown or if there is nothing to run.
    """
    compiled = tasks.compiled
    if targets is not None:
        return _targets(tasks, targets)
    outputs = {name: tasks.outputs_of(link.node)[link.port] for name, link in compiled.outputs.items() if link is not None}
    wanted: list[int] = [task for index, spec in enumerate(compiled.specs) if spec.effect for task in tasks.tasks_of(index)]
    if not outputs and not wanted and not compiled.outputs:
        raise WorkflowError(
            [
                Problem(
                    "nothing_to_run",
                    'the workflow has no named output and no node with an effect; name one under "outputs", or add a save node',
                )
            ]
        )
    return _roots(tasks, wanted, outputs)


#: A target: a node, one element of a mapped node ("node[3]"), or one of its outputs ("node.port").
_TARGET = re.compile(r"(?P<id>[^.\[]+)(\[(?P<element>[0-9]{1,9})\])?(\.(?P<port>.+))?")


def _targets(tasks: Tasks, targets: Sequence[str]) -> Roots:
    wanted: list[int] = []
    outputs: dict[str, Any] = {}
    problems = [problem for target in targets if (problem := _add_target(tasks, target, wanted, outputs)) is not None]
    if problems:
        raise WorkflowError(problems)
    return _roots(tasks, wanted, outputs)


def _add_target(tasks: Tasks, target: str, wanted: list[int], outputs: dict[str, Any]) -> Problem | None:
    compiled = tasks.compiled
    parts = _TARGET.fullmatch(target)
    id, element, port = (parts["id"], parts["element"], parts["port"]) if parts else (target, None, None)
    index = compiled.index.get(id)
    if index is None:
        return Problem("unknown_target", f'target "{target}": there is no node "{id}".{nearest(id, compiled.ids)}', id)
    names = [output.name for output in compiled.specs[index].outputs]
    if port and port not in names:
        return Problem("unknown_target", f'target "{target}": {id} has no output "{port}".{nearest(port, names)}', id, port)
    mine = tasks.tasks_of(index)
    if element is not None:
        mine = [task for task in mine if tasks.element[task] == int(element)]
        if not mine:
            return Problem(
                "unknown_target", f'target "{target}": {id} has no element {element}; it has {len(tasks.tasks_of(index))}', id
            )
    wanted.extend(mine)
    for at, name in enumerate(names):
        if not port or name == port:
            value = tasks.outputs_of(index)[at]
            outputs[target if port else f"{target}.{name}"] = value if element is None else value[int(element)]
    return None


def pendings(value: Any) -> Iterable[Pending]:
    """The stand-ins inside an output value."""
    if isinstance(value, Pending):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from pendings(item)


class Resolution(NamedTuple):
    """Which tasks are remembered, which run, and which are needed by neither."""

    run: list[int]
    hits: dict[int, tuple[bytes, ...]]
    above: list[int]


def resolve(
    tasks: Tasks,
    roots: Roots,
    memo: Lookup,
    disk_cache: Callable[[int, bytes], bytes | None],
    lost: frozenset[bytes] = frozenset(),
) -> Resolution:
    """Decide what runs. `disk_cache(task, key)` gives a stored entry's digest; `lost` are digests known to be damaged."""
    stored: set[bytes] = set()

    def ask(task: int, key: bytes) -> bytes | None:
        digest = disk_cache(task, key)
        if digest is None or digest in lost:
            return None
        stored.add(digest)
        return digest

    hits: dict[int, tuple[bytes, ...]] = {}
    _ask_structural(tasks, roots.tasks, memo, hits)
    printed = {hits[task][port] for task, port in roots.printed if task in hits}
    here = memo.has_values(list(printed - lost if lost else printed))
    gone = {task for task, port in roots.printed if task in hits and hits[task][port] not in here}
    open_roots = [root for root in roots.tasks if root not in hits or root in gone]
    if open_roots:
        _ask_ancestors(tasks, roots, open_roots, memo, ask, hits)
        here = stored | memo.has_values(list({digest for outputs in hits.values() for digest in outputs} - lost - stored))
    needed = _needed(tasks, roots, hits, here)
    live_hits = {task: outputs for task, outputs in hits.items() if task not in needed} if needed else hits
    above = [task for task in roots.ancestors if task not in needed] if needed else roots.ancestors
    return Resolution(sorted(needed), live_hits, above)


def _ask_ancestors(
    tasks: Tasks,
    roots: Roots,
    open_roots: Sequence[int],
    memo: Lookup,
    disk_cache: Callable[[int, bytes], bytes | None],
    hits: dict[int, tuple[bytes, ...]],
) -> None:
    """Look up everything above roots that are a miss or whose value is gone, in one batch.

    What is still unknown but has known inputs is then asked by content, generation by generation.
    """
    above = roots.ancestors if len(open_roots) == len(roots.tasks) else ancestors_of(tasks, open_roots)
    candidates = [task for task in above if task not in hits]
    _ask_structural(tasks, candidates, memo, hits)
    for task in candidates:
        declared = tasks.declared.get(task)
        if declared is not None and (digest := disk_cache(task, declared)) is not None:
            hits[task] = (digest,)
    _ask_content(tasks, [task for task in candidates if task not in hits], memo, hits)


def _ask_structural(tasks: Tasks, wanted: Iterable[int], memo: Lookup, hits: dict[int, tuple[bytes, ...]]) -> None:
    structural = tasks.structural
    asked = [task for task in wanted if structural[task] is not None and task not in hits and tasks.spec_of(task).cache]
    found = memo.find([key for task in asked if (key := structural[task]) is not None])
    for task in asked:
        action = found.get(structural[task])  # type: ignore[arg-type]  # none is None
        if action is not None:
            hits[task] = action.outputs


def _ask_content(tasks: Tasks, misses: list[int], memo: Lookup, hits: dict[int, tuple[bytes, ...]]) -> None:
    asked: set[int] = set()
    waiting = misses
    while waiting:
        ready: dict[bytes, list[int]] = {}
        for task in waiting:
            if task in asked or not tasks.spec_of(task).cache or not tasks.skeleton[task]:
                continue
            refs = tasks.refs[task]
            if refs and all(ref.task in hits for ref in refs):
                asked.add(task)
                ready.setdefault(keys.content_key(tasks.skeleton[task], [hits[ref.task][ref.output] for ref in refs]), []).append(
                    task
                )
        found = memo.find(list(ready)) if ready else {}
        for key, action in found.items():
            for task in ready[key]:
                hits[task] = action.outputs
        if not found:
            return
        waiting = [task for task in waiting if task not in hits]


def ancestors_of(tasks: Tasks, roots: Iterable[int]) -> list[int]:
    """The roots and everything above them, in topological order."""
    seen: set[int] = set()
    stack = list(roots)
    refs = tasks.refs
    while stack:
        task = stack.pop()
        if task not in seen:
            seen.add(task)
            stack.extend([ref.task for ref in refs[task]])
    return sorted(seen)


def _needed(tasks: Tasks, roots: Roots, hits: Mapping[int, tuple[bytes, ...]], here: Set[bytes]) -> set[int]:
    """The tasks that must run: effects, misses behind printed outputs, and everything whose bytes they lack."""
    running: set[int] = set()
    stack: list[int] = list(roots.effects)
    stack.extend([task for task, port in roots.printed if task not in hits or hits[task][port] not in here])
    while stack:
        task = stack.pop()
        if task in running:
            continue
        running.add(task)
        for ref in tasks.refs[task]:
            if ref.task not in running and (ref.task not in hits or hits[ref.task][ref.output] not in here):
                stack.append(ref.task)
    return running


def signature_of(tasks: Tasks, task: int, environment: str) -> bytes:
    """What an execution's cost depends on: type, environment, and its numbers, sizes and recipes, but no seed or text."""
    spec = tasks.spec_of(task)
    parts: list[Plain] = [spec.id.encode(), environment.encode() if spec.place == "device" else b""]
    for name, value in tasks.constants[task].items():
        port = spec.port(name)
        seed = port is not None and port.hint is not None and type(port.hint).__name__ == "Seed"
        if not seed and not isinstance(value, (str, Undrawn)):
            parts.append(name.encode() + keys.token(value))
    return canonical(parts)


def describe(plan: Plan, estimate: Callable[[int], Estimate | None]) -> None:
    """Fill in `plan.nodes`."""
    tasks = plan.tasks
    running, above = set(plan.run), set(plan.skipped)
    for index, spec in enumerate(tasks.compiled.specs):
        mine = tasks.tasks_of(index)
        runs = [task for task in mine if task in running]
        if mine and not runs and not any(task in above for task in mine):
            continue  # not an ancestor of what is wanted
        guesses = [guess for task in runs if (guess := estimate(task)) is not None]
        seconds = sum(guess.seconds for guess in guesses) if guesses else None
        peak = max((guess.peak_bytes for guess in guesses), default=0) or None
        state: PlannedState = "light" if not mine and index in tasks.light else "run" if runs else "cached"
        reason = _reason(tasks, index, state)
        plan.nodes.append(
            PlannedNode(tasks.compiled.ids[index], spec.id, state, len(mine), len(runs), reason, spec.place, seconds, peak)
        )


def _reason(tasks: Tasks, index: int, state: PlannedState) -> str:
    spec = tasks.compiled.specs[index]
    if state == "light":
        return "evaluated while planning"
    if state == "cached":
        return "remembered"
    if spec.effect:
        return "writes its result each time"
    if index in tasks.undrawn:
        return "random seed"
    return "not remembered"
