"""How long a plan will take and what it will hold: the scheduler itself, driven by a virtual clock over learned costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from graph.history import Estimate
from graph.schedule import HOST, Device, RunTasks, Schedule


class Forecast(NamedTuple):
    """Seconds from start to end, seconds each place works, and the most bytes each device holds (0: never measured)."""

    seconds: float
    busy: dict[str, float]
    peak_bytes: dict[str, int]


def forecast(
    queue: RunTasks,
    devices: Mapping[str, Device],
    estimate: Callable[[int], Estimate | None],
    loading_seconds: Callable[[str], float],
    *,
    host_lanes: int,
) -> Forecast | None:
    """Play a run through. `devices` are the real ones' ledgers (copied); `loading_seconds` is by weights identity.

    None if a device task was never seen before, or nothing was: a guess would be no help. Else host tasks never seen
    count as nothing (what takes less than 1 ms is not learned).
    """
    schedule = Schedule({name: device.budget_bytes for name, device in devices.items()})
    for name, device in devices.items():
        schedule.devices[name].resident = dict(device.resident)
        schedule.devices[name].start_seconds = device.start_seconds
        if device.is_disabled:
            schedule.devices[name].available_at = device.available_at
    schedule.add(queue)
    idle = [*devices, *[HOST] * host_lanes]
    under_way: list[tuple[float, int, str]] = []
    busy: dict[str, float] = {}
    peaks: dict[str, int] = {}
    now, seen = 0.0, not queue.open
    while queue.open:
        for place in list(idle):
            assignment = schedule.take(place, now)
            if assignment is None:
                continue
            guess = estimate(assignment.task)
            if guess is None and place != HOST:
                return None
            seen = seen or guess is not None
            seconds = (guess.seconds if guess else 0.0) + _preparation(schedule, queue, assignment.task, place, loading_seconds)
            busy[place] = busy.get(place, 0.0) + seconds
            if guess is not None and place != HOST:
                peaks[place] = max(peaks.get(place, 0), guess.peak_bytes)
            idle.remove(place)
            heappush(under_way, (now + seconds, assignment.task, place))
        if not under_way:
            return None  # nothing can go on: the real run would say why
        now, task, place = heappop(under_way)
        idle.append(place)
        schedule.finished(queue, place, 0.0, now)
        queue.complete(task)
    return Forecast(now, busy, peaks) if seen else None


def _preparation(schedule: Schedule, queue: RunTasks, task: int, place: str, loading_seconds: Callable[[str], float]) -> float:
    """Seconds a device needs before the task: starting up, loading weights it does not hold."""
    if place == HOST:
        return 0.0
    device = schedule.devices[place]
    seconds, device.start_seconds = device.start_seconds, 0.0
    for identity, size in queue.needs[task].weights:
        if identity not in device.resident:
            device.resident[identity] = size
            seconds += loading_seconds(identity)
    return seconds
