"""Who runs what next: a pure state machine. Events come in with their time, assignments go out; no clock, no thread.

Runs hold their ready tasks; a lane that is free asks `take` with its place ("host" or a device). Order: priority; then
the client that has used the fewest device-seconds, among equals the one whose first run has the least work left, less
what it has waited; of a client, its own order of runs. Within a run a device prefers
tasks whose weights it holds, then the deepest task, so that what was begun is finished first. A task goes to the
device that could begin it first: a lane leaves it alone if starting up and loading the weights here takes longer than
waiting for another device.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

HOST: Final = "host"
#: Seconds assumed for a device task never seen before: long, so that a second device is worth its load.
UNKNOWN_SECONDS: Final = 10.0
#: Bytes per second assumed for reading weights into a device, until measured (an NVMe disk).
LOAD_BANDWIDTH: Final = 2e9
#: Clients whose use is remembered; beyond that, those without a run are forgotten.
MOST_CLIENTS: Final = 1000
#: A lane that left a task to another device looks again after this long.
LOOK_AGAIN_SECONDS: Final = 0.25
#: A waiting run gains on others by this many seconds of remaining work per second waited.
AGING: Final = 0.5


class Needs(NamedTuple):
    """What a task needs of a place: weights by identity with their bytes, and estimated seconds (None: unknown)."""

    place: str
    weights: tuple[tuple[str, int], ...] = ()
    seconds: float | None = None
    #: Pins the task to one device, if set.
    device: str | None = None


def _seconds_of(needs: Needs) -> float:
    return UNKNOWN_SECONDS if needs.seconds is None else needs.seconds


class RunTasks:
    """A run as the scheduler sees it: its tasks' dependencies, needs and states. Index = task."""

    __slots__ = (
        "_groups",
        "client",
        "created",
        "depth",
        "needs",
        "open",
        "pending",
        "priority",
        "ready_on_host",
        "sequence",
        "successors",
        "work",
    )

    def __init__(
        self,
        tasks: Sequence[int],
        dependencies: Mapping[int, Sequence[int]],
        needs: Mapping[int, Needs],
        *,
        priority: int = 0,
        client: str = "",
        created: float = 0.0,
    ) -> None:
        """`tasks` in topological order; `dependencies` name only tasks that run; `needs` only tasks not on the host."""
        self.priority, self.client, self.created = priority, client, created
        self.sequence = 0
        self.needs = needs
        self.open: set[int] = set(tasks)
        #: Seconds of work that is left; what it has waited counts against it. So it is the less, the earlier it was made: the
        #: clock, which is the same for all, is left out.
        self.work = sum(map(_seconds_of, needs.values())) + AGING * created
        self.pending: dict[int, int] = {}
        self.successors: dict[int, list[int]] = {}
        self.depth: dict[int, int] = {}
        self.ready_on_host: list[tuple[int, int]] = []
        self._groups: dict[Needs, list[tuple[int, int]]] = {}
        for task in tasks:
            above = dependencies.get(task, ())
            self.depth[task] = 1 + max([self.depth[one] for one in above], default=0)
            self.pending[task] = len(above)
            for one in above:
                self.successors.setdefault(one, []).append(task)
        for task in tasks:
            if not self.pending[task]:
                self.push(task)

    def push(self, task: int) -> None:
        """Put a task whose inputs exist among the ready ones."""
        entry = (-self.depth[task], task)
        needs = self.needs.get(task)
        if needs is None:
            heappush(self.ready_on_host, entry)
        else:
            heappush(self._groups.setdefault(needs._replace(seconds=None), []), entry)

    def has_ready(self, place: str) -> bool:
        """Whether a lane of this place could find something here."""
        return bool(self.ready_on_host) if place == HOST else bool(self._groups) and any(self._groups.values())

    def pop_host(self) -> int | None:
        """The next ready host task."""
        return heappop(self.ready_on_host)[1] if self.ready_on_host else None

    def groups(self) -> Iterable[tuple[Needs, list[tuple[int, int]]]]:
        """The ready device tasks, by what they need."""
        return ((needs, heap) for needs, heap in self._groups.items() if heap)

    def complete(self, task: int) -> list[int]:
        """Note that a task's outputs exist; the tasks that became ready are pushed and returned."""
        self._close(task)
        freed: list[int] = []
        for after in self.successors.get(task, ()):
            self.pending[after] -= 1
            if not self.pending[after] and after in self.open:
                self.push(after)
                freed.append(after)
        return freed

    def drop_descendants(self, task: int) -> list[int]:
        """Close a task that gave nothing and everything below it; returns those below."""
        self._close(task)
        dropped: list[int] = []
        stack = list(self.successors.get(task, ()))
        while stack:
            after = stack.pop()
            if after in self.open:
                self._close(after)
                dropped.append(after)
                stack.extend(self.successors.get(after, ()))
        return dropped

    def _close(self, task: int) -> None:
        if task in self.open:
            self.open.remove(task)
            needs = self.needs.get(task)
            if needs is not None:
                self.work -= _seconds_of(needs)

    def drop_all(self) -> list[int]:
        """Close every open task (the run is cancelled); returns them."""
        dropped = sorted(self.open)
        self.open.clear()
        self.ready_on_host.clear()
        self._groups.clear()
        return dropped


@dataclass(slots=True)
class Device:
    """A device's ledger: what it holds, what it may hold, and when it will be free."""

    name: str
    budget_bytes: int
    resident: dict[str, int] = field(default_factory=dict)
    free_at: float = 0.0
    busy: bool = False
    #: Seconds until a worker that has not started yet can take its first task; 0 once it has.
    start_seconds: float = 0.0
    #: It takes nothing before: its worker did not come up. Infinite: it is disabled.
    available_at: float = 0.0

    @property
    def is_disabled(self) -> bool:
        """Whether it takes nothing until somebody enables it."""
        return self.available_at == math.inf

    def missing_bytes(self, needs: Needs) -> int:
        """Bytes of weights that a task would have to load here."""
        return sum(size for identity, size in needs.weights if identity not in self.resident)

    def delay(self, needs: Needs, now: float, bandwidth: float) -> float:
        """Seconds until such a task could begin its own work here: the task under way, the start, the load."""
        # One that is overdue is expected to need as long again: an estimate that was wrong does not bind tasks to it.
        waiting = abs(self.free_at - now) if self.busy else max(self.available_at - now, 0.0)
        return waiting + self.start_seconds + self.missing_bytes(needs) / bandwidth

    def fits(self, needs: Needs) -> bool:
        """Whether the task's weights fit when everything else is evicted."""
        return sum(size for _, size in needs.weights) <= self.budget_bytes


class Assignment(NamedTuple):
    """A task given to a lane."""

    run: RunTasks
    task: int


class Schedule:
    """All runs and all places of one engine. Not locked: its owner is."""

    def __init__(self, devices: Mapping[str, int]) -> None:
        """`devices`: name to budget in bytes."""
        self.devices = {name: Device(name, budget) for name, budget in devices.items()}
        self.runs: list[RunTasks] = []
        #: By client, each in the order in which its runs go.
        self._runs_of: dict[str, list[RunTasks]] = {}
        self.used_seconds: dict[str, float] = {}
        self.load_bandwidth = LOAD_BANDWIDTH
        self._delayed: list[tuple[float, int, RunTasks, int]] = []
        self._sequence = 0

    def add(self, run: RunTasks) -> None:
        """Take a run in, after those that came before unless it has a `sequence` of its own.

        A client without a run here starts level with the least served of the others.
        """
        if self._runs_of and run.client not in self._runs_of:
            least = min(self.used_seconds.get(client, 0.0) for client in self._runs_of)
            self.used_seconds[run.client] = max(self.used_seconds.get(run.client, 0.0), least)
        self._sequence += 1
        run.sequence = run.sequence or self._sequence
        self.runs.append(run)
        insort(self._runs_of.setdefault(run.client, []), run, key=_own_order)

    def remove(self, run: RunTasks) -> None:
        """Forget a run that has ended."""
        if run in self.runs:
            self.runs.remove(run)
            mine = self._runs_of[run.client]
            mine.remove(run)
            if not mine:
                del self._runs_of[run.client]
        if len(self.used_seconds) > MOST_CLIENTS:
            self.used_seconds = {client: used for client, used in self.used_seconds.items() if client in self._runs_of}

    def prioritise(self, run: RunTasks, priority: int) -> None:
        """Give a run another priority."""
        run.priority = priority
        if run in self.runs:
            self._runs_of[run.client].sort(key=_own_order)

    def delay(self, run: RunTasks, task: int, until: float) -> None:
        """Put a task back until a time (another process holds its lease)."""
        self._sequence += 1
        heappush(self._delayed, (until, self._sequence, run, task))

    def next_time(self, place: str, now: float) -> float | None:
        """When a lane of this place that found nothing should look again; None if only an event can change that."""
        delayed = self._delayed[0][0] if self._delayed else None
        left = now + LOOK_AGAIN_SECONDS if place != HOST and any(run.has_ready(place) for run in self.runs) else None
        return min((at for at in (delayed, left) if at is not None), default=None)

    def take(self, place: str, now: float) -> Assignment | None:
        """The next task for a free lane of this place, or None."""
        while self._delayed and self._delayed[0][0] <= now:
            _, _, run, task = heappop(self._delayed)
            if task in run.open:
                run.push(task)
        if place != HOST and self.devices[place].available_at > now:
            return None
        ready = [run for run in self.runs if (run.ready_on_host if place == HOST else run.has_ready(place))]
        for run in self._order(ready):
            found = self._from_host(run) if place == HOST else self._from_groups(run, self.devices[place], now)
            if found is not None:
                return Assignment(run, found)
        return None

    def finished(self, run: RunTasks, place: str, seconds: float, now: float) -> None:
        """A lane of this place is free again after `seconds` of work for this run."""
        if place != HOST:
            device = self.devices[place]
            device.busy, device.free_at = False, now
            self.used_seconds[run.client] = self.used_seconds.get(run.client, 0.0) + seconds

    def too_big(self, needs: Needs) -> str | None:
        """Why no device can ever take such a task, or None."""
        allowed = [device for device in self.devices.values() if needs.device in (None, device.name)]
        if not allowed:
            return f"it is pinned to {needs.device}, and the devices are {', '.join(self.devices)}; pin it to one of these"
        if any(device.fits(needs) for device in allowed):
            return None
        size = sum(size for _, size in needs.weights)
        most = max(device.budget_bytes for device in allowed)
        return f"its weights take {size:,} bytes and the largest device has {most:,}; use a smaller model or a larger device"

    def stranded(self, run: RunTasks, *, without_host: bool = False) -> list[int]:
        """Ready and delayed tasks that only disabled devices could take; they are ready no more.

        `without_host`: no host lane takes anything either.
        """
        found: list[int] = []
        for needs, heap in run.groups():
            if self._is_hopeless(needs):
                found.extend(task for _, task in heap)
                heap.clear()
        while without_host and (task := run.pop_host()) is not None:
            found.append(task)
        for _, _, owner, task in self._delayed:
            needs_of_it = run.needs.get(task)
            if owner is run and (without_host if needs_of_it is None else self._is_hopeless(needs_of_it)):
                found.append(task)
        return sorted({task for task in found if task in run.open})

    def _is_hopeless(self, needs: Needs) -> bool:
        return all(device.is_disabled for device in self.devices.values() if _may_take(device, needs))

    def _order(self, ready: list[RunTasks]) -> Iterator[RunTasks]:
        """Runs in the order they are looked at: by priority, then by client, of each client its own order."""
        if len(ready) < 2:
            yield from ready
            return
        used = self.used_seconds
        claims = {
            client: (round(used[client], 1) if client in used else 0.0, runs[0].work, runs[0].sequence)
            for client, runs in self._runs_of.items()
        }
        ranks = [(-run.priority, claims[run.client], run.sequence) for run in ready]
        first = ready[ranks.index(min(ranks))]  # nearly always the one that is taken: the others need no order
        yield first
        yield from [run for _, run in sorted(zip(ranks, ready, strict=True), key=_rank) if run is not first]

    @staticmethod
    def _from_host(run: RunTasks) -> int | None:
        while (task := run.pop_host()) is not None:
            if task in run.open:
                return task
        return None

    def _from_groups(self, run: RunTasks, device: Device, now: float) -> int | None:
        best: tuple[tuple[float, tuple[int, int]], Needs, list[tuple[int, int]]] | None = None
        for needs, heap in run.groups():
            while heap and heap[0][1] not in run.open:
                heappop(heap)
            if not heap or not _may_take(device, needs):
                continue
            delay = device.delay(needs, now, self.load_bandwidth)
            if delay and self._sooner_elsewhere(device, needs, delay, now):
                continue
            rank = (delay, heap[0])
            if best is None or rank < best[0]:
                best = (rank, needs, heap)
        if best is None:
            return None
        task = heappop(best[2])[1]
        seconds = run.needs[task].seconds
        device.busy = True
        device.free_at = now + best[0][0] + (UNKNOWN_SECONDS if seconds is None else seconds)
        return task

    def _sooner_elsewhere(self, device: Device, needs: Needs, delay: float, now: float) -> bool:
        """Whether another device that may take the task could begin it before this one."""
        return any(
            other.delay(needs, now, self.load_bandwidth) < delay
            for other in self.devices.values()
            if other is not device and _may_take(other, needs)
        )


def _own_order(run: RunTasks) -> tuple[int, int]:
    """Where a run stands among those of its client."""
    return -run.priority, run.sequence


def _rank(ranked: tuple[tuple[int, tuple[float, float, int], int], RunTasks]) -> tuple[int, tuple[float, float, int], int]:
    return ranked[0]


def _may_take(device: Device, needs: Needs) -> bool:
    return needs.device in (None, device.name) and device.fits(needs)
