"""The schedule as the pure machine it is: virtual time, no threads."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import pytest

from graph.schedule import HOST, LOOK_AGAIN_SECONDS, Assignment, Needs, RunTasks, Schedule

GB = 10**9


def run_of(
    tasks: Mapping[int, Sequence[int]], needs: Mapping[int, Needs] | None = None, *, priority: int = 0, client: str = ""
) -> RunTasks:
    """A run by its tasks' dependencies."""
    return RunTasks(list(tasks), tasks, needs or {}, priority=priority, client=client)


def device(*weights: tuple[str, int], seconds: float | None = 1.0, pin: str | None = None) -> Needs:
    return Needs("device", weights, seconds, pin)


def host_order(schedule: Schedule, runs: Iterable[RunTasks]) -> list[tuple[int, int]]:
    """What one host lane does, as (run, task), completing each task at once."""
    known = list(runs)
    order: list[tuple[int, int]] = []
    while (got := schedule.take(HOST, 0.0)) is not None:
        order.append((known.index(got.run), got.task))
        got.run.complete(got.task)
        schedule.finished(got.run, HOST, 0.0, 0.0)
    return order


def added(schedule: Schedule, *runs: RunTasks) -> tuple[RunTasks, ...]:
    for run in runs:
        schedule.add(run)
    return runs


def test_a_task_is_ready_when_all_it_needs_is_there() -> None:
    schedule = Schedule({})
    (run,) = added(schedule, run_of({0: [], 1: [], 2: [0, 1]}))
    assert {schedule.take(HOST, 0.0), schedule.take(HOST, 0.0)} == {Assignment(run, 0), Assignment(run, 1)}
    assert schedule.take(HOST, 0.0) is None
    assert run.complete(0) == []
    assert schedule.take(HOST, 0.0) is None
    assert run.complete(1) == [2]
    assert schedule.take(HOST, 0.0) == Assignment(run, 2)


def test_what_was_begun_is_finished_first() -> None:
    """The deepest ready task goes first, so that few branches are open at a time."""
    schedule = Schedule({})
    runs = added(schedule, run_of({0: [], 1: [], 2: [0], 3: [1], 4: [2]}))
    assert [task for _, task in host_order(schedule, runs)] == [0, 2, 4, 1, 3]


def test_a_higher_priority_goes_first() -> None:
    schedule = Schedule({})
    runs = added(schedule, run_of({0: [], 1: []}), run_of({0: [], 1: []}, priority=5))
    assert [run for run, _ in host_order(schedule, runs)] == [1, 1, 0, 0]


def test_runs_of_one_client_go_in_the_order_in_which_they_came() -> None:
    schedule = Schedule({})
    runs = added(schedule, run_of({0: [], 1: []}, client="a"), run_of({0: []}, client="a"))
    assert [run for run, _ in host_order(schedule, runs)] == [0, 0, 1]


def device_order(schedule: Schedule, seconds: Mapping[str, float], steps: int, name: str = "d0") -> list[str]:
    """The clients a device serves; each task takes its client's seconds."""
    now, order = 0.0, []
    for _ in range(steps):
        got = schedule.take(name, now)
        if got is None:
            break
        order.append(got.run.client)
        now += seconds[got.run.client]
        got.run.complete(got.task)
        schedule.finished(got.run, name, seconds[got.run.client], now)
    return order


def many(client: str, count: int) -> RunTasks:
    return run_of({at: [] for at in range(count)}, {at: device() for at in range(count)}, client=client)


def test_clients_get_equal_device_seconds() -> None:
    """Not equal counts: the client with tasks three times as long gets a third as many."""
    schedule = Schedule({"d0": GB})
    added(schedule, many("long", 100), many("short", 100))
    order = device_order(schedule, {"long": 3.0, "short": 1.0}, 80)
    assert order.count("long") == 20
    assert all(order[:at].count("short") <= 3 * order[:at].count("long") + 3 for at in range(80))


def test_a_client_that_sends_many_runs_gets_no_more() -> None:
    schedule = Schedule({"d0": GB})
    added(schedule, *[many("many", 5) for _ in range(10)], many("one", 50))
    order = device_order(schedule, {"many": 1.0, "one": 1.0}, 40)
    assert abs(order.count("many") - order.count("one")) <= 1


def test_a_newcomer_does_not_make_the_others_wait_for_their_past() -> None:
    schedule = Schedule({"d0": GB})
    added(schedule, many("old", 200))
    device_order(schedule, {"old": 1.0}, 100)
    added(schedule, many("new", 100))
    order = device_order(schedule, {"old": 1.0, "new": 1.0}, 40)
    assert abs(order.count("old") - order.count("new")) <= 1


def test_a_delayed_task_comes_back_at_its_time() -> None:
    schedule = Schedule({})
    (run,) = added(schedule, run_of({0: []}))
    assert schedule.take(HOST, 1.0) == Assignment(run, 0)
    schedule.delay(run, 0, 1.5)
    assert schedule.take(HOST, 1.4) is None
    assert schedule.next_time(HOST, 1.4) == 1.5
    assert schedule.take(HOST, 1.5) == Assignment(run, 0)
    assert schedule.next_time(HOST, 1.5) is None


def test_a_delayed_task_of_a_cancelled_run_does_not_come_back() -> None:
    schedule = Schedule({})
    (run,) = added(schedule, run_of({0: []}))
    schedule.take(HOST, 0.0)
    schedule.delay(run, 0, 1.0)
    assert run.drop_all() == [0]
    schedule.remove(run)
    assert schedule.take(HOST, 2.0) is None


@pytest.mark.parametrize("place", [HOST, "d0"])
def test_a_delayed_task_whose_place_is_disabled_meanwhile_is_stranded_too(place: str) -> None:
    """It came back as ready when nobody looked for stranded ones any more, and its run never ended."""
    schedule = Schedule({"d0": GB, "d1": GB})
    (run,) = added(schedule, run_of({0: [], 1: []}, {} if place == HOST else {task: device(pin="d0") for task in (0, 1)}))
    assert schedule.take(place, 0.0) == Assignment(run, 0)
    schedule.delay(run, 0, 1.0)
    schedule.finished(run, place, 0.0, 0.0)
    assert schedule.stranded(run) == []
    schedule.devices["d0"].available_at = math.inf
    assert schedule.stranded(run, without_host=True) == [0, 1]
    for task in (0, 1):
        run.drop_descendants(task)
    assert schedule.take(place, 2.0) is None


def test_a_failed_task_closes_what_depends_on_it() -> None:
    run = run_of({0: [], 1: [], 2: [0], 3: [2, 1], 4: [1]})
    assert sorted(run.drop_descendants(0)) == [2, 3]
    assert run.complete(1) == [4]
    assert run.open == {4}


# ---- placement ----


def two(**resident: dict[str, int]) -> Schedule:
    schedule = Schedule({"d0": 10 * GB, "d1": 10 * GB})
    schedule.load_bandwidth = GB
    for name, held in resident.items():
        schedule.devices[name].resident = held
    return schedule


def test_a_task_goes_where_its_weights_are() -> None:
    schedule = two(d1={"model": 4 * GB})
    (run,) = added(schedule, run_of({0: []}, {0: device(("model", 4 * GB))}))
    assert schedule.take("d0", 0.0) is None
    assert schedule.take("d1", 0.0) == Assignment(run, 0)


def test_a_device_prefers_tasks_whose_weights_it_holds() -> None:
    schedule = Schedule({"d0": 10 * GB})
    schedule.devices["d0"].resident = {"b": GB}
    (run,) = added(schedule, run_of({0: [], 1: []}, {0: device(("a", GB)), 1: device(("b", GB))}))
    assert schedule.take("d0", 0.0) == Assignment(run, 1)


@pytest.mark.parametrize(("busy_for", "taken"), [(3.0, False), (3.9, False), (4.1, True), (60.0, True)])
def test_it_waits_for_the_device_with_the_weights_only_if_that_is_sooner(busy_for: float, taken: bool) -> None:
    """Loading 4 GB at 1 GB/s takes four seconds here."""
    schedule = two(d1={"model": 4 * GB})
    needs = device(("model", 4 * GB), seconds=busy_for)
    (run,) = added(schedule, run_of({0: [], 1: []}, {0: needs, 1: needs._replace(seconds=1.0)}))
    assert schedule.take("d1", 0.0) == Assignment(run, 0)
    assert schedule.take("d0", 0.0) == (Assignment(run, 1) if taken else None)


def test_a_task_that_was_left_to_a_device_that_is_late_is_taken_after_all() -> None:
    schedule = two(d1={"model": 4 * GB})
    needs = device(("model", 4 * GB))
    (run,) = added(schedule, run_of({0: [], 1: []}, {0: needs, 1: needs}))
    schedule.take("d1", 0.0)
    assert schedule.take("d0", 0.0) is None
    assert schedule.next_time("d0", 0.0) == LOOK_AGAIN_SECONDS
    assert schedule.take("d0", 4.0) is None  # late by three seconds: loading takes longer still
    assert schedule.take("d0", 5.5) == Assignment(run, 1)


def test_a_device_that_is_up_goes_before_one_that_has_to_start() -> None:
    schedule = two()
    schedule.devices["d0"].start_seconds = 5.0
    (run,) = added(schedule, run_of({0: []}, {0: device()}))
    assert schedule.take("d0", 0.0) is None
    assert schedule.take("d1", 0.0) == Assignment(run, 0)


def test_a_pinned_task_goes_to_its_device_only() -> None:
    schedule = two(d1={"model": GB})
    (run,) = added(schedule, run_of({0: []}, {0: device(("model", GB), pin="d0")}))
    assert schedule.take("d1", 0.0) is None
    assert schedule.take("d0", 0.0) == Assignment(run, 0)


def test_weights_that_fit_nowhere_are_refused_with_the_sizes() -> None:
    schedule = Schedule({"small": 2 * GB, "large": 5 * GB})
    assert schedule.too_big(device(("a", 3 * GB), ("b", 2 * GB))) is None
    assert schedule.too_big(device(("a", 3 * GB), ("b", 2 * GB + 1))) == (
        "its weights take 5,000,000,001 bytes and the largest device has 5,000,000,000; use a smaller model or a larger device"
    )
    assert "the largest device has 2,000,000,000" in (schedule.too_big(device(("a", 3 * GB), pin="small")) or "")


def test_a_pin_to_no_device_is_refused_by_name() -> None:
    assert (
        Schedule({"d0": GB, "d1": GB}).too_big(device(pin="d7"))
        == "it is pinned to d7, and the devices are d0, d1; pin it to one of these"
    )


def test_a_task_that_fits_one_device_waits_for_that_one() -> None:
    schedule = Schedule({"small": 2 * GB, "large": 5 * GB})
    (run,) = added(schedule, run_of({0: []}, {0: device(("a", 3 * GB))}))
    assert schedule.take("small", 0.0) is None
    assert schedule.take("large", 0.0) == Assignment(run, 0)


# ---- whole runs in virtual time ----


class Span(NamedTuple):
    place: str
    run: int
    task: int
    start: float
    end: float


def simulate(
    schedule: Schedule, runs: Sequence[RunTasks], seconds: Mapping[tuple[int, int], float], places: Sequence[str]
) -> list[Span]:
    """Carry the runs out on these lanes; a device keeps the weights it has loaded."""
    spans: list[Span] = []
    free = list(places)
    ends: list[tuple[float, int, str, RunTasks, int]] = []
    now, looks = 0.0, 0
    while True:
        for place in list(free):
            got = schedule.take(place, now)
            if got is None:
                continue
            free.remove(place)
            at = runs.index(got.run)
            load = 0.0
            if place != HOST:
                held, needs = schedule.devices[place], got.run.needs[got.task]
                load = held.missing_bytes(needs) / schedule.load_bandwidth
                held.resident = dict(needs.weights)
            end = now + load + seconds[at, got.task]
            spans.append(Span(place, at, got.task, now, end))
            heappush(ends, (end, len(spans), place, got.run, got.task))
        if not ends:
            looks += 1
            until = min((t for place in free if (t := schedule.next_time(place, now)) is not None), default=None)
            if until is None or looks > 1000:
                return spans
            now = until
            continue
        looks = 0
        now, _, place, run, task = heappop(ends)
        run.complete(task)
        schedule.finished(run, place, 0.0, now)
        free.append(place)


def random_run(rng: random.Random, size: int, client: str) -> tuple[RunTasks, dict[int, list[int]], dict[int, float]]:
    parents = {at: rng.sample(range(max(0, at - 6), at), k=min(at, rng.choice([0, 1, 1, 2])) if at else 0) for at in range(size)}
    parents = {at: [one for one in above if one < at] for at, above in parents.items()}
    seconds = {at: rng.choice([0.5, 1.0, 3.0]) for at in range(size)}
    needs = {
        at: device((f"model{rng.randrange(3)}", rng.choice([0, GB])), seconds=rng.choice([None, seconds[at]]))
        for at in range(size)
        if rng.random() < 0.7
    }
    return run_of(parents, needs, client=client), parents, seconds


@pytest.mark.spec("F18", "H14", "R-G11")
@pytest.mark.parametrize("seed", range(30))
def test_no_two_tasks_share_a_device_and_everything_runs_after_what_it_needs(seed: int) -> None:
    rng = random.Random(seed)
    schedule = Schedule({"d0": 10 * GB, "d1": 10 * GB})
    schedule.load_bandwidth = GB
    made = [random_run(rng, 25, client) for client in "ab"]
    runs = added(schedule, *[run for run, _, _ in made])
    seconds = {(at, task): time for at, (_, _, times) in enumerate(made) for task, time in times.items()}
    spans = simulate(schedule, runs, seconds, ["d0", "d1", HOST, HOST])
    assert len(spans) == 50  # nothing is forgotten, nothing runs twice
    assert len({(span.run, span.task) for span in spans}) == 50
    for name in ("d0", "d1"):
        on = sorted((span for span in spans if span.place == name), key=lambda span: span.start)
        assert all(one.end <= two.start for one, two in zip(on, on[1:], strict=False))
    end = {(span.run, span.task): span.end for span in spans}
    for span in spans:
        run, parents, _ = made[span.run]
        assert all(end[span.run, above] <= span.start for above in parents[span.task])
        assert (span.place == HOST) == (span.task not in run.needs)


@pytest.mark.spec("F18")
def test_independent_branches_run_on_two_devices_at_once() -> None:
    schedule = Schedule({"d0": 10 * GB, "d1": 10 * GB})
    branches: dict[int, list[int]] = {0: [], 1: [0], 2: [1], 3: [], 4: [3], 5: [4]}
    needs = {at: device(("model", GB)) for at in branches}
    runs = added(schedule, run_of(branches, needs))
    spans = simulate(schedule, runs, {(0, at): 10.0 for at in branches}, ["d0", "d1"])
    assert max(span.end for span in spans) < 32.0  # one device would need 60
    assert {span.place for span in spans} == {"d0", "d1"}
    overlap = [(a, b) for a in spans for b in spans if a.place < b.place and a.start < b.end and b.start < a.end]
    assert overlap


@pytest.mark.spec("R-G11")
def test_no_device_idles_while_a_task_that_it_could_take_at_once_is_ready() -> None:
    rng = random.Random(5)
    schedule = Schedule({"d0": 10 * GB, "d1": 10 * GB})
    tasks: dict[int, list[int]] = {at: [] for at in range(20)}
    runs = added(schedule, run_of(tasks, {at: device() for at in tasks}))
    seconds = {(0, at): rng.uniform(1, 2) for at in tasks}
    spans = simulate(schedule, runs, seconds, ["d0", "d1"])
    assert max(span.end for span in spans) <= sum(seconds.values()) / 2 + 2.0
