"""Which job goes next: pure bookkeeping of what waits and what is under way, in memory.

Order: priority; then the client with the fewest device-seconds (charged when a job ends, estimated while it is under
way); then position. It knows no store, no engine and no clock.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import Final, NamedTuple

from server.problems import Refusal

#: Jobs that may wait or be under way, and hours of estimated work per device, unless the settings say otherwise.
MOST_JOBS: Final = 10_000
MOST_HOURS: Final = 24.0
#: What the engine is given ahead: one job more than devices, or as many short ones as make up these seconds.
WINDOW_SECONDS, WINDOW_JOBS = 2.0, 64
#: A job counts at least so much against its client: one that uses no device must not run all its jobs before another's.
LEAST_CHARGE_S: Final = 0.01
#: A waiting client is forgiven a second for so many that others got meanwhile: without it, newcomers without end, who each
#: start as low as the least served, would keep an older client waiting for ever.
FORGIVEN_PER: Final = 50.0
#: Clients whose seconds are remembered while they have nothing in the queue.
_MOST_IDLE: Final = 10_000


class Entry(NamedTuple):
    """A job as the queue sees it. `cost_s`: estimated device-seconds; `position`: place among its client's jobs."""

    id: str
    priority: int
    client: str
    cost_s: float
    position: float


Place = tuple[int, float]


class Queue:
    """Jobs that wait and jobs under way. `devices` follows the engine; with none, nothing is taken."""

    def __init__(self, *, devices: int = 0, most_jobs: int = MOST_JOBS, most_seconds: float = MOST_HOURS * 3600) -> None:
        self.devices, self.most_jobs, self.most_seconds = devices, most_jobs, most_seconds
        self.waiting: dict[str, Entry] = {}
        self.under_way: dict[str, Entry] = {}
        #: By priority and client, (position, id) in order; no empty ones.
        self._lanes: dict[int, dict[str, list[tuple[float, str]]]] = {}
        self._reserved: dict[str, float] = {}
        self._seconds = 0.0
        self._ahead_s: dict[str, float] = {}
        self._jobs_of: dict[str, int] = {}
        self._used: dict[str, float] = {}
        self._served: set[str] = set()
        #: Seconds charged to anybody so far, and what they were when a client with jobs here last got one started.
        self._charged_s = 0.0
        self._floor = 0.0
        self._last_turn: dict[str, float] = {}

    # ---- admission ----

    @property
    def seconds(self) -> float:
        """Estimated device-seconds of everything that waits, is under way or was admitted."""
        return max(0.0, self._seconds)

    def admit(self, costs_s: Mapping[str, float]) -> None:
        """Keep a place for each job of a request that is about to be accepted (seconds by id), or for none.

        Refused with `queue_full`, saying when there is room again. What alone is above the limit in seconds is admitted when
        the queue is empty: it could never run otherwise.
        """
        self._refuse_full(len(costs_s), sum(costs_s.values()))
        for id, cost_s in costs_s.items():
            self._reserved[id] = cost_s
            self._seconds += cost_s

    def _refuse_full(self, more: int, cost_s: float) -> None:
        count = len(self.waiting) + len(self.under_way) + len(self._reserved)
        over_s = self.seconds + cost_s - self.most_seconds
        if count + more > self.most_jobs:
            mean = self.seconds / max(1, count)
            found = f"{count} jobs wait or run, and {self.most_jobs} is the most"
            raise self._full(found, more, mean * (count + more - self.most_jobs))
        if count and over_s > 0:
            these = "this one" if more == 1 else f"these {more}"
            found = f"the jobs in it take about {self.seconds:.0f} s and {these} {cost_s:.0f} s, and {self.most_seconds:.0f} s is the most"
            raise self._full(found, more, over_s)

    def _full(self, found: str, more: int, drain_s: float) -> Refusal:
        wait_s = min(3600.0, max(1.0, drain_s / max(1, self.devices)))
        full, again = ("full", "the job") if more == 1 else (f"too full for {more} jobs", f"all {more}")
        return Refusal(
            "queue_full", f"The queue is {full}: {found}. Send {again} again in about {wait_s:.0f} s.", retry_after_s=wait_s
        )

    def release(self, id: str) -> None:
        """Give up the place of a job that was not accepted after all; unknown ones are nothing to do."""
        self._seconds -= self._reserved.pop(id, 0.0)

    # ---- waiting ----

    def add(self, entry: Entry) -> None:
        """Let an accepted job wait."""
        self.release(entry.id)
        self._seconds += entry.cost_s
        self._enter(entry.client)
        self._wait(entry)

    def _enter(self, client: str) -> None:
        """A client that had nothing here starts where the least served one is: neither owed nor owing for its absence."""
        if client not in self._jobs_of:
            self._raise_floor()
            self._used[client] = max(self._used.pop(client, self._floor), self._floor)
            self._last_turn[client] = self._charged_s
        self._jobs_of[client] = self._jobs_of.get(client, 0) + 1

    def _raise_floor(self) -> None:
        # What was charged, without estimates: these may be far off, and a newcomer would pay for it. It never sinks: what
        # one client was forgiven is not for those who come.
        active = self._served or self._jobs_of.keys()
        self._floor = max(self._floor, min((self._used[client] for client in active), default=0.0))

    def _wait(self, entry: Entry) -> None:
        self.waiting[entry.id] = entry
        insort(self._lanes.setdefault(entry.priority, {}).setdefault(entry.client, []), (entry.position, entry.id))

    def _unwait(self, id: str) -> Entry:
        entry = self.waiting.pop(id)
        clients = self._lanes[entry.priority]
        lane = clients[entry.client]
        del lane[bisect_left(lane, (entry.position, id))]
        if not lane:
            del clients[entry.client]
            if not clients:
                del self._lanes[entry.priority]
        return entry

    def remove(self, id: str) -> bool:
        """Take a waiting job out for good; whether it waited."""
        if id not in self.waiting:
            return False
        self._leave(self._unwait(id))
        return True

    def hold(self, id: str) -> Entry:
        """Take a waiting job out while its end is written. Its place stays kept: `add` it again, or `release` it."""
        entry = self.waiting[id]
        self.remove(id)
        self._reserved[id] = entry.cost_s
        self._seconds += entry.cost_s
        return entry

    # ---- taking ----

    def has_room(self) -> bool:
        """Whether the engine is to be given another job."""
        count = len(self.under_way)
        if not self.devices:
            return False
        return count <= self.devices or (count < WINDOW_JOBS and sum(self._ahead_s.values()) < WINDOW_SECONDS)

    def spent(self, client: str) -> float:
        """Device-seconds of a client: what it was charged, and what its jobs under way are estimated to take."""
        return self._used.get(client, 0.0) + self._ahead_s.get(client, 0.0)

    def take(self) -> Entry | None:
        """The job that goes next, now under way; None if none waits."""
        if not self._lanes:
            return None
        clients = self._lanes[max(self._lanes)]
        client = min(clients, key=lambda name: (self._turn(name), clients[name][0]))
        entry = self._unwait(clients[client][0][1])
        self.under_way[entry.id] = entry
        self._served.add(client)
        self._use_turn(entry)
        return entry

    def _use_turn(self, entry: Entry) -> None:
        client = entry.client
        self._ahead_s[client] = self._ahead_s.get(client, 0.0) + _charge(entry.cost_s)
        self._used[client] -= self._forgiven(client)
        self._last_turn[client] = self._charged_s

    def _turn(self, client: str) -> float:
        return self.spent(client) - self._forgiven(client)

    def _forgiven(self, client: str) -> float:
        return (self._charged_s - self._last_turn[client]) / FORGIVEN_PER

    def put_back(self, id: str) -> None:
        """Let a job wait again that was taken and could not be started; its old place is kept."""
        entry = self.under_way.pop(id)
        self._unahead(entry)
        self._wait(entry)

    def finish(self, id: str, device_seconds: float) -> None:
        """A job under way has ended: its client is charged what it took. Unknown ones are nothing to do."""
        entry = self.under_way.pop(id, None)
        if entry is None:
            return
        self._unahead(entry)
        self._used[entry.client] += _charge(device_seconds)
        self._charged_s += _charge(device_seconds)
        self._leave(entry)

    def _unahead(self, entry: Entry) -> None:
        left = self._ahead_s[entry.client] - _charge(entry.cost_s)
        if left > 1e-9:
            self._ahead_s[entry.client] = left
        else:
            del self._ahead_s[entry.client]

    def _leave(self, entry: Entry) -> None:
        self._seconds -= entry.cost_s
        self._jobs_of[entry.client] -= 1
        if not self._jobs_of[entry.client]:
            del self._jobs_of[entry.client], self._last_turn[entry.client]
            self._served.discard(entry.client)
            # The last to leave is the last in the dictionary, so that the first in it is the longest gone.
            self._used[entry.client] = self._used.pop(entry.client)
            self._forget_idle()
        if not self._jobs_of:
            self._used.clear()  # nobody is left to be compared with
            self._charged_s = self._floor = 0.0
            self._seconds = sum(self._reserved.values())

    def _forget_idle(self) -> None:
        while len(self._used) - len(self._jobs_of) > _MOST_IDLE:
            del self._used[next(client for client in self._used if client not in self._jobs_of)]

    # ---- moving ----

    def moved(
        self, id: str, *, before: str | None = None, after: str | None = None, priority: int | None = None
    ) -> dict[str, Place]:
        """What a move of a waiting job changes: (priority, position) by id; nothing is changed yet, see `place`.

        Refused with `conflict`: a job that does not wait, or one of another client (between clients fairness decides).
        """
        entry = self._movable(id)
        beside = before or after
        if beside is None:
            return {id: (entry.priority if priority is None else priority, entry.position)}
        other = self._movable(beside)
        if other.client != entry.client or beside == id:
            raise Refusal(
                "conflict",
                "A job is moved among the waiting jobs of its own client; between clients the fewest used seconds decide. "
                "Name another job of the same client, or change the priority.",
            )
        if priority is not None and priority != other.priority:
            raise Refusal(
                "conflict",
                f"The job to move beside has priority {other.priority}, not {priority}. Leave the priority out: it becomes the same.",
            )
        lane = [one for one in self._lanes[other.priority][other.client] if one[1] != id]
        at = lane.index((other.position, other.id)) + (before is None)
        return _inserted(lane, at, id, other.priority)

    def _movable(self, id: str) -> Entry:
        entry = self.waiting.get(id)
        if entry is None:
            raise Refusal(
                "conflict", f"The job {id} does not wait, so it has no place in the queue. Only waiting jobs are moved."
            )
        return entry

    def place(self, places: Mapping[str, Place]) -> None:
        """Give jobs another priority and position; under way only the priority counts, unknown ones are nothing to do."""
        for id, (priority, position) in places.items():
            if id in self.waiting:
                self._wait(self._unwait(id)._replace(priority=priority, position=position))
            elif id in self.under_way:
                self.under_way[id] = self.under_way[id]._replace(priority=priority, position=position)

    def upcoming(self, limit: int) -> list[str]:
        """Ids of the waiting jobs in the order in which they would be taken if each took as long as estimated."""
        if len(self.waiting) <= 1:
            return list(self.waiting)[:limit]
        return list(islice(self._in_order(), limit))

    def _in_order(self) -> Iterator[str]:
        """The ids as `take` would give them one after the other."""
        # On one heap, not by a look at all clients for each job: until a job ends, only the client taken from gets
        # another turn. Thousands of clients may wait, and this is asked on the event loop.
        ahead = copy.copy(self)
        ahead._ahead_s, ahead._used, ahead._last_turn = dict(self._ahead_s), dict(self._used), dict(self._last_turn)
        for priority in sorted(self._lanes, reverse=True):
            lanes = {client: iter(lane) for client, lane in self._lanes[priority].items()}
            line = [(ahead._turn(client), next(lane), client) for client, lane in lanes.items()]
            heapify(line)
            while line:
                _, (_, id), client = line[0]
                yield id
                ahead._use_turn(self.waiting[id])
                following = next(lanes[client], None)
                if following is None:
                    heappop(line)
                else:
                    heapreplace(line, (ahead._turn(client), following, client))


def _charge(seconds: float) -> float:
    return max(seconds, LEAST_CHARGE_S)


def _inserted(lane: list[tuple[float, str]], at: int, id: str, priority: int) -> dict[str, Place]:
    """The position that puts a job at index `at` of a lane; all are numbered anew where no number is left between two."""
    low = lane[at - 1][0] if at > 0 else lane[at][0] - 1.0
    high = lane[at][0] if at < len(lane) else lane[at - 1][0] + 1.0
    position = (low + high) / 2 if 0 < at < len(lane) else (low if at == 0 else high)
    if at in (0, len(lane)) or low < position < high:
        return {id: (priority, position)}
    ids = [one for _, one in lane]
    ids.insert(at, id)
    last = lane[-1][0]
    return {one: (priority, last - (len(ids) - 1 - number)) for number, one in enumerate(ids)}
