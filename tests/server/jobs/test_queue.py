"""Which job goes next: priority, fairness, moves, the window to the engine, and the bound on what is taken in."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.jobs.queue import WINDOW_JOBS, Entry, Queue
from server.problems import Refusal


def a_queue(**options: Any) -> Queue:
    return Queue(**{"devices": 1} | options)


class Feed:
    """Fills a queue with jobs that count up."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.count = queue, 0

    def add(self, client: str = "a", cost_s: float = 1.0, priority: int = 0) -> str:
        self.count += 1
        id = f"{client}{self.count}"
        self.queue.admit({id: cost_s})
        self.queue.add(Entry(id, priority, client, cost_s, float(self.count)))
        return id


def taken(queue: Queue, count: int, *, took_s: float | None = None) -> list[str]:
    """Take and end so many jobs, one at a time."""
    order = []
    for _ in range(count):
        entry = queue.take()
        assert entry is not None
        order.append(entry.id)
        queue.finish(entry.id, entry.cost_s if took_s is None else took_s)
    return order


# ---- order ----


def test_jobs_of_one_client_go_in_their_order() -> None:
    feed = Feed(a_queue())
    ids = [feed.add() for _ in range(4)]
    assert taken(feed.queue, 4) == ids
    assert feed.queue.take() is None


def test_a_higher_priority_goes_first() -> None:
    feed = Feed(a_queue())
    low, high, middle = feed.add(priority=0), feed.add(priority=5), feed.add(priority=1)
    assert taken(feed.queue, 3) == [high, middle, low]


def test_clients_share_device_seconds_and_not_jobs() -> None:
    feed = Feed(a_queue())
    for _ in range(40):
        feed.add("long", 4.0)
        feed.add("short", 1.0)
    order = taken(feed.queue, 50)
    assert sum(id.startswith("short") for id in order) == 40


def test_a_job_under_way_counts_by_its_estimate() -> None:
    feed = Feed(a_queue(devices=4))
    for client in ("a", "a", "a", "b", "b", "b"):
        feed.add(client, 10.0)
    assert "".join(entry.client for _ in range(4) if (entry := feed.queue.take()) is not None) == "abab"


def test_the_true_seconds_replace_the_estimate_when_a_job_ends() -> None:
    feed = Feed(a_queue())
    for _ in range(20):
        feed.add("a", 10.0)
        feed.add("b", 10.0)
    order = []
    for _ in range(12):
        entry = feed.queue.take()
        assert entry is not None
        order.append(entry.client)
        feed.queue.finish(entry.id, 1.0 if entry.client == "a" else 10.0)  # a's take a tenth of what was thought
    assert order.count("b") <= 2


@pytest.mark.spec("R-L08")
@pytest.mark.parametrize("took_s", [0.0, 1.0, 100.0])
def test_one_job_of_another_client_starts_next_to_a_thousand(took_s: float) -> None:
    """Within the jobs that run and one per client, however long jobs take and whatever was thought."""
    feed = Feed(a_queue(devices=2))
    for _ in range(1000):
        feed.add("a", 10.0)
    running = [feed.queue.take() for _ in range(2)]
    for entry in running:
        assert entry is not None
    feed.add("b", 10.0)
    before = []
    for _ in range(10):
        entry = feed.queue.take()
        assert entry is not None
        if entry.client == "b":
            break
        before.append(entry.id)
        old = running.pop(0)
        assert old is not None
        feed.queue.finish(old.id, took_s)
        running.append(entry)
    assert entry.client == "b"
    assert len(before) <= 2 + 1


@pytest.mark.spec("R-L08")
@pytest.mark.proves(15)
def test_jobs_that_use_no_device_do_not_go_before_everybody_elses() -> None:
    feed = Feed(a_queue())
    for _ in range(1000):
        feed.add("a", 0.0)
    taken(feed.queue, 5, took_s=0.0)
    feed.add("b", 0.0)
    assert "b1001" in taken(feed.queue, 3, took_s=0.0)


def test_a_client_that_comes_back_does_not_owe_nor_is_owed() -> None:
    feed = Feed(a_queue())
    feed.add("a", 100.0)
    feed.add("b", 1.0)
    for _ in range(60):
        feed.add("b", 1.0)
    taken(feed.queue, 2)  # one of each: a has 100 s, b 1 s
    taken(feed.queue, 30)
    feed.add("a", 1.0)  # it was away; it has had its share
    assert [id[0] for id in taken(feed.queue, 5)] == ["b"] * 5
    feed.add("c", 1.0)  # a newcomer is not owed what b has had
    assert {id[0] for id in taken(feed.queue, 4)} == {"b", "c"}


@pytest.mark.long
@pytest.mark.spec("R-L08")
@pytest.mark.parametrize("newcomers", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(10))
def test_nobody_starves_over_10000_steps_of_any_load(seed: int, newcomers: float) -> None:
    starve(seed, 10_000, newcomers)


@pytest.mark.spec("R-L08")
@pytest.mark.proves(15)
@pytest.mark.parametrize("newcomers", [0.2, 0.6, 1.0])
def test_nobody_starves_over_2000_steps_of_any_load(newcomers: float) -> None:
    starve(7, 2_000, newcomers)


def starve(seed: int, steps: int, newcomers: float) -> None:
    """A patient client beside a hog and a flood of clients with one job each; more comes than goes.

    Its turn comes before everybody who waits had some, however many come after.
    """
    draw = random.Random(seed)
    feed = Feed(a_queue(devices=2, most_jobs=10**6, most_seconds=1e12))
    feed.add("patient", 1.0)
    queue, passed, clients, turns = feed.queue, 0, 0, 0
    for step in range(steps):
        if draw.random() < newcomers:
            feed.add(f"new{step}_", draw.uniform(0, 2))
        feed.add("hog", draw.uniform(0, 2))
        clients = max(clients, len(queue._jobs_of))
        while len(queue.under_way) < 3 and (entry := queue.take()) is not None:
            passed += 1
            if entry.client == "patient":
                passed, clients, turns = 0, 0, turns + 1
                feed.add("patient", 1.0)
        assert passed <= 150 + 3 * clients, f"seed {seed}, step {step}"
        ended = draw.choice(list(queue.under_way.values()))
        queue.finish(ended.id, draw.uniform(0, 2))
    assert turns > 4


# ---- moving ----


def order_of(queue: Queue, client: str = "a", priority: int = 0) -> list[str]:
    return [id for _, id in queue._lanes.get(priority, {}).get(client, [])]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=120))
def test_moves_give_the_order_that_a_list_would_have(moves: list[tuple[int, int, bool]]) -> None:
    feed = Feed(a_queue())
    ids = [feed.add() for _ in range(6)]
    expected = list(ids)
    for one, two, is_before in moves:
        if one == two:
            continue
        id, beside = ids[one], ids[two]
        places = feed.queue.moved(id, **{"before" if is_before else "after": beside})
        feed.queue.place(places)
        expected.remove(id)
        expected.insert(expected.index(beside) + (not is_before), id)
        assert order_of(feed.queue) == expected
    assert taken(feed.queue, 6) == expected


def test_a_job_moved_beside_another_takes_its_priority() -> None:
    feed = Feed(a_queue())
    high, low = feed.add(priority=3), feed.add(priority=0)
    feed.queue.place(feed.queue.moved(low, after=high))
    assert order_of(feed.queue, priority=3) == [high, low]


def test_a_new_job_comes_after_moved_ones() -> None:
    feed = Feed(a_queue())
    first, second = feed.add(), feed.add()
    feed.queue.place(feed.queue.moved(first, after=second))
    third = feed.add()
    assert taken(feed.queue, 3) == [second, first, third]


def test_moves_that_make_no_sense_are_refused() -> None:
    feed = Feed(a_queue())
    mine, other, high = feed.add("a"), feed.add("b"), feed.add("a", priority=2)
    with pytest.raises(Refusal, match="A job is moved among the waiting jobs of its own client"):
        feed.queue.moved(mine, before=other)
    with pytest.raises(Refusal, match="A job is moved among the waiting jobs of its own client"):
        feed.queue.moved(mine, before=mine)
    with pytest.raises(Refusal, match="The job gone does not wait, so it has no place in the queue"):
        feed.queue.moved("gone", before=mine)
    with pytest.raises(Refusal, match="The job to move beside has priority 2, not 1. Leave the priority out"):
        feed.queue.moved(mine, before=high, priority=1)


# ---- the window ----


@pytest.mark.parametrize(
    ("devices", "cost_s", "ahead"), [(0, 1.0, 0), (1, 10.0, 2), (3, 10.0, 4), (1, 0.1, 20), (1, 0.0, WINDOW_JOBS)]
)
def test_the_engine_is_given_few_long_jobs_or_many_short_ones(devices: int, cost_s: float, ahead: int) -> None:
    feed = Feed(a_queue(devices=devices))
    for _ in range(100):
        feed.add(cost_s=cost_s)
    while feed.queue.has_room():
        feed.queue.take()
    assert len(feed.queue.under_way) == ahead


def test_a_job_put_back_has_its_old_place() -> None:
    feed = Feed(a_queue())
    ids = [feed.add() for _ in range(3)]
    feed.queue.take()
    feed.queue.put_back(ids[0])
    assert taken(feed.queue, 3) == ids


def test_the_expected_order_is_the_one_that_comes() -> None:
    feed = Feed(a_queue())
    for number in range(30):
        feed.add("abc"[number % 3 if number % 2 else 0], 1.0 + number % 4, priority=number % 2)
    before = (dict(feed.queue.waiting), feed.queue.seconds)
    expected = feed.queue.upcoming(30)
    assert (feed.queue.waiting, feed.queue.seconds) == before
    assert [entry.id for _ in range(30) if (entry := feed.queue.take()) is not None] == expected


@pytest.mark.spec("R-L08")
@pytest.mark.parametrize("seed", range(40))
def test_the_expected_order_is_that_of_taking_one_by_one(seed: int) -> None:
    """Whatever came before, and with many clients whose turns are equal."""
    draw = random.Random(seed)
    feed = Feed(a_queue(devices=3))
    held: list[Entry] = []
    for _ in range(100):
        a_step(feed, draw, held)
        plain, before = copy.deepcopy(feed.queue), copy.deepcopy(vars(feed.queue))
        order = [entry.id for _ in range(len(plain.waiting)) if (entry := plain.take()) is not None]
        limit = draw.randint(0, len(order) + 1)
        assert (feed.queue.upcoming(len(order)), feed.queue.upcoming(limit)) == (order, order[:limit])
        assert vars(feed.queue) == before


def a_step(feed: Feed, draw: random.Random, held: list[Entry]) -> None:
    """One thing that happens to a queue."""
    queue, seconds = feed.queue, draw.choice([0.0, 0.5, 1.0, 1.0, 7.0])
    step = draw.choice(["add"] * 5 + ["take"] * 4 + ["finish"] * 3 + ["put_back", "remove", "hold", "unhold", "move", "priority"])
    if step == "add":
        feed.add(f"client{draw.randrange(12)}_", seconds, priority=draw.choice([-1, 0, 0, 0, 3]))
    elif step == "take":
        queue.take()
    elif step == "unhold" and held:
        draw.choice([queue.add, lambda entry: queue.release(entry.id)])(held.pop())
    elif step in ("finish", "put_back") and queue.under_way:
        id = draw.choice(list(queue.under_way))
        queue.put_back(id) if step == "put_back" else queue.finish(id, seconds)
    elif step in ("remove", "hold", "move", "priority") and queue.waiting:
        a_change(queue, draw, held, step)


def a_change(queue: Queue, draw: random.Random, held: list[Entry], step: str) -> None:
    """Something that is done to one job that waits."""
    entry = draw.choice(list(queue.waiting.values()))
    others = [one.id for one in queue.waiting.values() if one.client == entry.client and one.id != entry.id]
    if step == "remove":
        queue.remove(entry.id)
    elif step == "hold":
        held.append(queue.hold(entry.id))
    elif step == "priority":
        queue.place(queue.moved(entry.id, priority=draw.choice([0, 3])))
    elif others:
        queue.place(queue.moved(entry.id, **{draw.choice(["before", "after"]): draw.choice(others)}))


class Name(str):
    """A client's name that counts how often anything is looked up by it."""

    looks = 0

    def __hash__(self) -> int:
        Name.looks += 1
        return super().__hash__()


@pytest.mark.spec("R-L02")
def test_the_order_among_10000_clients_is_found_without_a_look_at_all_of_them_for_each_place() -> None:
    """It is asked on the event loop, and clients may give any names: it took 4 s for the first 1000 places."""
    queue = a_queue(most_jobs=10**6, most_seconds=1e12)
    queue.add(Entry("first", 0, "first", 1.0, 0.0))
    queue.take()
    for number in range(1, 10_001):
        queue.add(Entry(f"job{number}", 0, Name(f"client{number}"), 1.0, float(number)))
    Name.looks = 0
    assert queue.upcoming(1000) == [f"job{number}" for number in range(1, 1001)]
    assert Name.looks <= 10 * (10_000 + 1000)


# ---- admission ----


def refused(queue: Queue, id: str, cost_s: float) -> Refusal | None:
    try:
        queue.admit({id: cost_s})
    except Refusal as refusal:
        return refusal
    return None


@pytest.mark.spec("R-L02")
@pytest.mark.proves(14)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "take", "finish", "cancel", "drop"]), st.floats(0, 50)), max_size=200))
def test_the_queue_never_grows_beyond_its_bounds(steps: list[tuple[str, float]]) -> None:
    queue, count = a_queue(most_jobs=5, most_seconds=100), 0
    for step, seconds in steps:
        held = len(queue.waiting) + len(queue.under_way)
        if step in ("add", "drop"):
            count += 1
            refusal = refused(queue, str(count), seconds)
            if refusal is not None:
                assert (refusal.code, 1 <= (refusal.retry_after_s or 0) <= 3600) == ("queue_full", True)
                assert held >= 5 or queue.seconds + seconds > 100
                continue
            if step == "add":
                queue.add(Entry(str(count), 0, "a", seconds, float(count)))
            else:
                queue.release(str(count))
        elif step == "take":
            queue.take()
        elif step == "finish" and queue.under_way:
            queue.finish(next(iter(queue.under_way)), seconds)
        elif step == "cancel" and queue.waiting:
            queue.remove(next(iter(queue.waiting)))
        entries = [*queue.waiting.values(), *queue.under_way.values()]
        assert len(entries) <= 5
        assert queue.seconds == pytest.approx(sum(entry.cost_s for entry in entries), abs=1e-6)
        assert queue.seconds <= 100 or len(entries) == 1


@pytest.mark.spec("R-L02")
def test_a_full_queue_says_how_full_and_when_there_is_room() -> None:
    feed = Feed(a_queue(devices=2, most_jobs=2))
    feed.add(cost_s=30)
    feed.add(cost_s=10)
    with pytest.raises(
        Refusal, match=r"The queue is full: 2 jobs wait or run, and 2 is the most. Send the job again in about 10 s."
    ) as caught:
        feed.add()
    assert (caught.value.status, caught.value.retry_after_s) == (429, 10.0)
    feed = Feed(a_queue(devices=1, most_seconds=100))
    feed.add(cost_s=90)
    with pytest.raises(Refusal, match="the jobs in it take about 90 s and this one 40 s, and 100 s is the most") as caught:
        feed.add(cost_s=40)
    assert caught.value.retry_after_s == 30


@pytest.mark.spec("R-L02")
def test_places_are_kept_for_all_jobs_of_a_request_or_for_none() -> None:
    queue = a_queue(devices=1, most_jobs=3, most_seconds=100)
    queue.admit({"one": 90.0})
    with pytest.raises(
        Refusal, match="too full for 2 jobs: the jobs in it take about 90 s and these 2 12 s, and 100 s is the most. Send all 2"
    ):
        queue.admit({"two": 6.0, "three": 6.0})
    with pytest.raises(
        Refusal, match="too full for 3 jobs: 1 jobs wait or run, and 3 is the most. Send all 3 again in about 90 s"
    ):
        queue.admit({"two": 1.0, "three": 1.0, "four": 1.0})
    assert queue.seconds == 90.0
    queue.admit({"two": 5.0, "three": 5.0})
    assert queue.seconds == 100.0


def test_a_request_above_the_bound_is_admitted_where_nothing_else_is() -> None:
    queue = a_queue(most_seconds=10)
    queue.admit({"one": 8.0, "two": 8.0})
    assert queue.seconds == 16.0
    with pytest.raises(Refusal, match="The queue is full"):
        queue.admit({"three": 0.1})


def test_places_kept_for_jobs_on_their_way_count() -> None:
    queue = a_queue(most_jobs=1)
    queue.admit({"one": 1.0})
    with pytest.raises(Refusal, match="The queue is full"):
        queue.admit({"two": 1.0})
    queue.release("one")
    queue.admit({"two": 1.0})


def test_a_job_held_while_its_end_is_written_keeps_its_place() -> None:
    feed = Feed(a_queue(most_jobs=1))
    entry = feed.queue.hold(feed.add())
    with pytest.raises(Refusal, match="The queue is full"):
        feed.queue.admit({"two": 1.0})
    feed.queue.add(entry)
    assert (list(feed.queue.waiting), feed.queue.seconds) == ([entry.id], 1.0)
    feed.queue.hold(entry.id)
    feed.queue.release(entry.id)
    feed.queue.admit({"two": 1.0})


def test_a_job_above_the_bound_is_admitted_where_nothing_else_is() -> None:
    feed = Feed(a_queue(most_seconds=10))
    feed.add(cost_s=1000)
    with pytest.raises(Refusal):
        feed.add(cost_s=0.1)
