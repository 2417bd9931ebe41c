"""Streams of jobs: what a reader sees, whenever it comes, however slowly it reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from server.jobs import hub as hub_module
from server.jobs.desk import QueueFacts
from server.jobs.hub import Delta, Hub, Reader
from server.jobs.record import Job, JobResult, JobState, new_id
from server.jobs.rows import MOST_ROWS, Rows


class Wire:
    """A connection that takes everything, unless told otherwise."""

    def __init__(self) -> None:
        self.unsent, self.closed = 0, False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.closed


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeQueue:
    """A queue of these jobs."""

    def __init__(self, *ids: str) -> None:
        self.ids = list(ids)

    def queue_facts(self) -> QueueFacts:
        return QueueFacts(len(self.ids), 0, 3.0, 1000, 1e6, False, False)

    def waiting(self, limit: int) -> list[str]:
        return self.ids[:limit]


class SlowQueue(FakeQueue):
    """A queue of one job that takes a while to say so."""

    def __init__(self, clock: Clock, took_s: float) -> None:
        super().__init__("a")
        self.clock, self.took_s, self.asked = clock, took_s, 0

    def waiting(self, limit: int) -> list[str]:
        self.asked += 1
        self.clock.now += self.took_s
        return super().waiting(limit)


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on an event loop of its own."""

    def run(**given: Any) -> None:
        asyncio.run(test(**given))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    run.__signature__ = __import__("inspect").signature(test)  # type: ignore[attr-defined]  # for pytest's fixtures
    return run


def a_job(state: JobState = "running", **changes: Any) -> Job:
    job = Job(new_id(), "portrait", state, {}, None, {"sample.seed": 7}, (), 0, "ann", 1.0, 2.0, 0, 1000.0, 1001.0)
    return replace(job, **changes)


def a_node(node: str, state: str, element: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "event": "node",
        "node": node,
        "element": element,
        "state": state,
        "time": 1.0,
        "device": "",
        "seconds": 0.0,
        "message": "",
    } | more


def a_step(node: str, step: int, total: int = 10, element: int | None = None) -> dict[str, Any]:
    return {"event": "progress", "node": node, "element": element, "step": step, "total": total, "eta_seconds": None, "time": 1.0}


def a_preview(node: str, image: bytes = b"webp") -> dict[str, Any]:
    return {"event": "preview", "node": node, "element": None, "image": image, "time": 1.0}


def plan(*nodes: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": node, "type": "Sample", "state": "waiting", "elements": None, **more} for node in nodes]


def follow(hub: Hub, job: Job, last_id: str | None = None, previews: bool = False) -> Reader:
    wire = Wire()
    reader = hub.reader(wire, lambda: None)
    reader.add(hub.stream(job), last_id, previews)
    return reader


def told(deltas: list[Delta]) -> list[tuple[str, Any]]:
    """Kind and state or step of each."""
    return [(delta.event, delta.fields.get("state") or delta.fields.get("step")) for delta in deltas]


def events_of(sse: bytes) -> list[dict[str, Any]]:
    """The events in a piece of a stream, with their ids."""
    found = []
    for block in sse.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            event = json.loads(fields["data"])
            assert event["event"] == fields["event"]
            found.append(event | {"id": fields["id"]})
    return found


@pytest.mark.spec("I8")
@in_loop
async def test_a_newcomer_gets_a_snapshot_and_then_what_changes() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    hub.planned(job.id, plan("load", "sample"))
    hub.events(job.id, [a_node("load", "done", seconds=0.5, device="cpu"), a_node("sample", "running"), a_step("sample", 3)])
    reader = follow(hub, job)
    (snapshot,) = reader.take()
    assert snapshot.event == "snapshot"
    assert snapshot.fields["nodes"] == [
        {"id": "load", "type": "Sample", "state": "done", "seconds": 0.5, "device": "cpu"},
        {"id": "sample", "type": "Sample", "state": "running", "progress": {"step": 3, "total": 10, "eta_seconds": None}},
    ]
    assert snapshot.fields["counts"] == {"done": 1, "running": 1}
    hub.events(job.id, [a_node("sample", "done")])
    assert told(reader.take()) == [("node", "done")]
    assert reader.take() == []


@pytest.mark.spec("I3", "I13")
@in_loop
async def test_every_state_arrives_in_order_and_progress_only_as_its_latest() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    reader = follow(hub, job)
    reader.take()
    hub.planned(job.id, plan("sample", "decode"))
    hub.events(job.id, [a_node("sample", "running"), *[a_step("sample", step) for step in range(1, 8)]])
    assert told(reader.take()) == [("planned", None), ("node", "running"), ("progress", 7)]
    hub.events(
        job.id,
        [a_step("sample", 8), a_step("sample", 10), a_node("sample", "done"), a_node("decode", "running"), a_step("decode", 1)],
    )
    assert told(reader.take()) == [("node", "done"), ("node", "running"), ("progress", 1)]


@in_loop
async def test_numbers_have_no_gaps_and_progress_carries_the_last_one() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    reader = follow(hub, job)
    hub.planned(job.id, plan("a", "b"))
    first = reader.take()[0].seq
    seen = []
    for node in ("a", "b"):
        hub.events(job.id, [a_node(node, "running"), a_step(node, 1), a_node(node, "done")])
        seen += [delta.seq for delta in reader.take() if delta.event != "progress"]
    assert seen == list(range(first + 1, first + 5))


@pytest.mark.spec("I8")
@in_loop
async def test_a_known_last_event_id_goes_on_where_it_stopped() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    reader = follow(hub, job)
    hub.planned(job.id, plan("a", "b"))
    last = events_of(reader.take_sse(job.id))[-1]["id"]
    reader.close()
    hub.events(job.id, [a_node("a", "running"), a_node("a", "done"), a_node("b", "running"), a_step("b", 4)])
    again = follow(hub, job, last)
    assert [(event["event"], event.get("state")) for event in events_of(again.take_sse(job.id))] == [
        ("node", "running"),
        ("node", "done"),
        ("node", "running"),
        ("progress", None),
    ]


@pytest.mark.parametrize(
    "last_id", ["", "x", "-", "abc-3", "{epoch}-99", "{epoch}--1", "{epoch}-\u0661", "{epoch}-1e3", "{epoch}-" + "9" * 400]
)
def test_an_unknown_last_event_id_gets_a_snapshot(last_id: str) -> None:
    async def check() -> None:
        hub, job = Hub(), a_job()
        hub.job_changed(job)
        stream = hub.stream(job)
        reader = follow(hub, job, last_id.replace("{epoch}", stream.epoch))
        assert [delta.event for delta in reader.take()] == ["snapshot"]

    asyncio.run(check())


@in_loop
async def test_a_place_of_another_start_or_an_earlier_stream_is_unknown() -> None:
    job = a_job()
    hubs = [Hub(), Hub()]
    for hub in hubs:
        hub.job_changed(job)
    old = follow(hubs[0], job).take()[0].id
    assert [delta.event for delta in follow(hubs[1], job, old).take()] == ["snapshot"]
    waiting = a_job("queued")
    first = follow(hubs[0], waiting)
    place = first.take()[0].id
    first.close()  # nobody follows it and it does not run: the stream is forgotten
    assert [delta.event for delta in follow(hubs[0], waiting, place).take()] == ["snapshot"]


@pytest.mark.spec("R-L07")
@in_loop
async def test_a_reader_that_fell_behind_gets_a_snapshot_and_numbers_go_on_from_it() -> None:
    clock = Clock()
    hub, job = Hub(clock), a_job()
    hub.job_changed(job)
    hub.planned(job.id, plan("a"))
    slow, quick = follow(hub, job), follow(hub, job)
    slow.take(), quick.take()
    for _ in range(hub_module.RING_DELTAS + 5):
        hub.events(job.id, [a_node("a", "running")])
        assert [delta.event for delta in quick.take()] == ["node"]
    clock.now += 1
    (snapshot,) = slow.take()
    assert (snapshot.event, snapshot.seq) == ("snapshot", hub.stream(job).seq)
    hub.events(job.id, [a_node("a", "done")])
    (delta,) = slow.take()
    assert (delta.fields["state"], delta.seq) == ("done", snapshot.seq + 1)


@pytest.mark.proves(14)
@pytest.mark.spec("R-L07")
@in_loop
async def test_what_is_kept_for_readers_is_bounded_whatever_they_do() -> None:
    clock = Clock()
    hub, job = Hub(clock), a_job()
    hub.job_changed(job)
    hub.planned(job.id, plan("a"))
    readers = [follow(hub, job) for _ in range(50)]
    for reader in readers:
        reader.take()
    for number in range(5000):
        hub.events(job.id, [a_node("a", "running", message="x" * 500), a_step("a", number)])
    stream = hub.stream(job)
    assert len(stream._ring) <= hub_module.RING_DELTAS
    assert sum(delta.weight for delta in stream._ring) <= hub_module.RING_BYTES
    assert len(stream._latest) == 1
    clock.now += 1
    assert len({id(delta) for reader in readers for delta in reader.take()}) == 1  # one snapshot, shared by all


@in_loop
async def test_snapshots_of_a_reader_that_always_falls_behind_are_not_more_than_two_a_second() -> None:
    clock = Clock()
    hub, job = Hub(clock), a_job()
    hub.job_changed(job)
    reader = follow(hub, job)
    reader.take()
    snapshots = 0
    for _ in range(20):
        hub.events(job.id, [a_node("a", "running")] * (hub_module.RING_DELTAS + 1))
        clock.now += 0.1
        snapshots += sum(delta.event == "snapshot" for delta in reader.take())
    assert 3 <= snapshots <= 4


@in_loop
async def test_a_delta_is_encoded_once_for_all_readers() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    readers = [follow(hub, job) for _ in range(3)]
    for reader in readers:
        reader.take_sse(job.id)
    hub.events(job.id, [a_node("a", "running"), a_step("a", 1)])
    first, *others = [reader.take_sse(job.id) for reader in readers]
    assert [event["event"] for event in events_of(first)] == ["node", "progress"]
    assert all(other is first for other in others)
    frames = [delta.frame() for delta in hub.stream(job).since(0)]
    assert all(again.frame() is frame for again, frame in zip(hub.stream(job).since(0), frames, strict=True))
    assert msgpack.unpackb(frames[-1])["node"] == "a"


@pytest.mark.spec("I8")
@in_loop
async def test_the_end_comes_last_and_ends_the_stream_for_newcomers_too() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    reader = follow(hub, job)
    reader.take()
    done = replace(
        job,
        state="done",
        ended=1005.0,
        result=JobResult(4.0, 3.0, ({"id": "a", "element": None, "type": "T", "state": "done"},), {"image": {"type": "Image"}}),
    )
    hub.events(job.id, [a_step("a", 1)])
    hub.ended(done)
    (end,) = reader.take()
    assert (end.event, end.fields["state"], end.fields["outputs"]) == ("end", "done", {"image": {"type": "Image"}})
    assert len(reader) == 0
    late = follow(hub, done)
    snapshot, end = late.take()
    assert (snapshot.fields["state"], end.event, len(late)) == ("done", "end", 0)
    assert snapshot.fields["nodes"] == [{"id": "a", "type": "T", "state": "done"}]


@pytest.mark.spec("I6")
@in_loop
async def test_what_comes_after_the_end_or_for_unknown_jobs_is_dropped() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    hub.ended(replace(job, state="cancelled"))
    seq = hub.stream(job).seq
    hub.events(job.id, [a_node("a", "running")])
    hub.planned(job.id, plan("a"))
    hub.job_changed(job)
    hub.ended(replace(job, state="done"))
    hub.events("nobody", [a_node("a", "running")])
    facts = hub.look(job.id)
    assert facts is not None
    assert (hub.stream(job).seq, facts.job.state) == (seq, "cancelled")


@in_loop
async def test_jobs_that_ended_leave_the_hub_after_a_while() -> None:
    clock = Clock()
    hub = Hub(clock)
    jobs = [a_job() for _ in range(3)]
    for job in jobs:
        hub.job_changed(job)
        hub.ended(replace(job, state="done"))
    assert hub.look(jobs[0].id) is not None
    clock.now += hub_module.KEPT_S + 1
    hub.ended(a_job("done"))
    assert [hub.look(job.id) for job in jobs] == [None, None, None]


@in_loop
async def test_many_jobs_that_end_at_once_are_not_all_kept() -> None:
    hub = Hub()
    for _ in range(hub_module.MOST_KEPT + 100):
        hub.ended(a_job("done"))
    assert len(hub._live) == hub_module.MOST_KEPT


@in_loop
async def test_a_job_queued_again_begins_anew_and_readers_hear_of_it() -> None:
    """Its process died: what was done is planned again."""
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    hub.planned(job.id, plan("a"))
    hub.events(job.id, [a_node("a", "running"), a_step("a", 5)])
    reader = follow(hub, job)
    reader.take()
    hub.job_changed(replace(job, state="queued"))
    assert told(reader.take()) == [("job", "queued")]
    facts = hub.look(job.id)
    assert facts is not None
    assert len(facts.rows) == 0
    hub.job_changed(job)
    hub.planned(job.id, plan("a"))
    assert told(reader.take()) == [("job", "running"), ("planned", None)]


@in_loop
async def test_previews_are_made_only_while_somebody_wants_them() -> None:
    asked: list[tuple[str, bool]] = []
    hub, job = Hub(), a_job()
    hub.connect(lambda id, wanted: asked.append((id, wanted)), FakeQueue())
    hub.job_changed(job)
    hub.planned(job.id, plan("a"))
    plain = follow(hub, job)
    assert asked == []
    first, second = follow(hub, job, previews=True), follow(hub, job, previews=True)
    assert asked == [(job.id, True)]
    hub.planned(job.id, plan("a"))  # another engine has it, and was told nothing yet
    assert asked == [(job.id, True)] * 2
    first.close()
    assert asked == [(job.id, True)] * 2
    second.close()
    assert asked[2:] == [(job.id, False)]
    plain.close()


@in_loop
async def test_the_last_preview_of_a_running_node_is_there_for_newcomers_and_never_in_the_ring() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    hub.planned(job.id, plan("a"))
    watcher, plain = follow(hub, job, previews=True), follow(hub, job)
    watcher.take(), plain.take()
    hub.events(job.id, [a_node("a", "running"), a_preview("a", b"1"), a_preview("a", b"2")])
    assert [(delta.event, delta.fields.get("image")) for delta in watcher.take()] == [("node", None), ("preview", b"2")]
    assert [delta.event for delta in plain.take()] == ["node"]
    newcomer = follow(hub, job, previews=True)
    assert [delta.event for delta in newcomer.take()] == ["snapshot", "preview"]
    assert all(delta.event != "preview" for delta in hub.stream(job)._ring)
    hub.events(job.id, [a_node("a", "done")])
    assert [delta.event for delta in follow(hub, job, previews=True).take()] == ["snapshot"]


@in_loop
async def test_a_snapshot_of_very_many_nodes_is_bounded_and_shows_those_that_say_most() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    names = [f"n{number}" for number in range(10_000)]
    hub.planned(job.id, plan(*names))
    hub.events(
        job.id, [{"event": "cached", "nodes": names[:5000], "time": 0.0}, a_node("n9999", "running"), a_node("n9998", "failed")]
    )
    fields = hub.stream(job).snapshot().fields
    assert (len(fields["nodes"]), fields["omitted"]) == (MOST_ROWS, 10_000 - MOST_ROWS)
    assert [row["id"] for row in fields["nodes"][-2:]] == ["n9998", "n9999"]
    assert fields["counts"] == {"cached": 5000, "waiting": 4998, "running": 1, "failed": 1}
    assert len(hub.stream(job).snapshot().frame()) < 200_000


@pytest.mark.spec("I13")
def test_a_mapped_node_shows_counts_and_its_elements_on_request() -> None:
    rows = Rows()
    rows.planned([{"id": "m", "type": "Sample", "state": "waiting", "elements": 5000}])
    for element in range(3000):
        rows.node(a_node("m", "running", element))
        rows.node(a_node("m", "done", element, seconds=0.5))
    rows.node(a_node("m", "running", 3000))
    rows.progress(a_step("m", 2, element=3000))
    (row,) = [row.json() for row in rows]
    assert (row["state"], row["elements"]) == ("running", {"total": 5000, "waiting": 1999, "done": 3000, "running": 1})
    assert row["progress"] == {"element": 3000, "step": 2, "total": 10, "eta_seconds": None}
    page, total = rows.elements("m", "done", 2998, 10)
    assert (total, page) == (
        3000,
        [{"id": "m", "element": e, "type": "Sample", "state": "done", "seconds": 0.5} for e in (2998, 2999)],
    )


@pytest.mark.spec("I13")
def test_a_mapped_node_with_a_failed_element_has_failed_once_all_have_ended() -> None:
    rows = Rows()
    rows.planned([{"id": "m", "type": "T", "state": "waiting", "elements": 3}])
    rows.node(a_node("m", "failed", 0, message="no"))
    assert next(iter(rows)).state == "running"
    rows.node(a_node("m", "done", 1))
    rows.node(a_node("m", "done", 2))
    assert next(iter(rows)).state == "failed"


@in_loop
async def test_everybody_who_follows_all_jobs_hears_states_ends_and_the_queue() -> None:
    hub, job = Hub(), a_job("queued")
    queue = FakeQueue(job.id)
    hub.connect(lambda id, wanted: None, queue)
    reader = hub.reader(Wire(), lambda: None)
    reader.add(hub.all)
    (snapshot,) = reader.take()
    assert (snapshot.fields["jobs"], snapshot.fields["queue"]["order"]) == ([], [job.id])
    hub.job_changed(job)
    hub.job_changed(replace(job, state="running"))
    hub.events(job.id, [a_node("a", "running"), a_step("a", 1)])
    hub.ended(replace(job, state="failed", result=JobResult(problem={"code": "node_failed"})))
    assert told(reader.take()) == [("job", "queued"), ("job", "running"), ("end", "failed")]
    queue.ids.clear()
    while not (found := reader.take()):
        await reader.wait()
    assert [(delta.event, delta.fields["queued"]) for delta in found] == [("queue", 0)]
    assert hub._queue_at is None  # once for all four changes


@pytest.mark.parametrize("ago_s", [0.0, hub_module.KEPT_S + 1])
def test_everybody_who_follows_all_jobs_hears_of_a_deletion_however_long_ago_the_job_ended(ago_s: float) -> None:
    """Of one that had left the hub nothing was told, so other pages went on showing it."""

    async def check() -> None:
        clock = Clock()
        hub, job = Hub(clock), a_job()
        reader = hub.reader(Wire(), lambda: None)
        reader.add(hub.all)
        hub.ended(replace(job, state="done"))
        clock.now += ago_s
        hub._sweep()
        reader.take()
        for id in (job.id, "of-an-earlier-start"):
            hub.deleted(id)
        assert [(delta.event, delta.fields["job"]) for delta in reader.take()] == [
            ("deleted", job.id),
            ("deleted", "of-an-earlier-start"),
        ]
        assert hub.look(job.id) is None
        hub.close()

    asyncio.run(check())


@in_loop
async def test_who_comes_later_gets_the_queue_as_it_is_then() -> None:
    hub, queue = Hub(), FakeQueue("a")
    hub.connect(lambda id, wanted: None, queue)
    for ids in (["a"], ["a", "b"]):
        queue.ids = ids
        hub.queue_changed()
        reader = hub.reader(Wire(), lambda: None)
        reader.add(hub.all)
        (event,) = events_of(reader.take_sse("all"))
        assert event["queue"]["order"] == ids
        reader.close()


@in_loop
async def test_a_place_in_line_is_known_also_of_one_that_came_just_now() -> None:
    hub = Hub(Clock())
    hub.connect(lambda id, wanted: None, FakeQueue("a", "b"))
    assert [hub.position(id) for id in ("a", "b", "new")] == [1, 2, 3]


@pytest.mark.parametrize(("took_s", "good_s"), [(0.001, hub_module.QUEUE_S), (0.5, 0.5 * hub_module.KEPT_TIMES)])
def test_places_in_line_are_kept_the_longer_the_longer_it_took_to_find_them(took_s: float, good_s: float) -> None:
    """They were old before they were known, so each job of a list had the whole queue put in order anew."""
    clock = Clock()
    hub, queue = Hub(clock), SlowQueue(clock, took_s)
    hub.connect(lambda id, wanted: None, queue)
    hub.position("a")
    clock.now += good_s - 0.01
    assert (hub.position("a"), queue.asked) == (1, 1)
    clock.now += 0.02
    assert (hub.position("a"), queue.asked) == (1, 2)


@pytest.mark.spec("R-L07")
@in_loop
async def test_a_reader_whose_bytes_stay_unsent_is_dropped_and_a_slow_one_is_not() -> None:
    clock = Clock()
    hub = Hub(clock)
    dropped: list[str] = []
    wires = {name: Wire() for name in ("stalled", "slow", "idle", "full")}
    for name, wire in wires.items():
        hub.reader(wire, lambda name=name: dropped.append(name))
    wires["full"].unsent = hub_module.MOST_UNSENT + 1
    for second in range(int(hub_module.STALL_S) + 2):
        clock.now += 1
        wires["stalled"].unsent = 1000
        wires["slow"].unsent = 50_000 - second
        hub._sweep()
        if second == 1:
            assert set(dropped) == {"full"}
    assert set(dropped) == {"full", "stalled"}
    hub.close()


@in_loop
async def test_a_silent_reader_is_woken_for_a_sign_of_life() -> None:
    clock = Clock()
    hub, job = Hub(clock), a_job()
    reader = follow(hub, job)
    await reader.wait()
    reader.take()
    waiting = asyncio.ensure_future(reader.wait())
    clock.now += hub_module.HEARTBEAT_S - 1
    hub._sweep()
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.now += 1
    hub._sweep()
    await asyncio.wait_for(waiting, 10)
    assert reader.take_sse(job.id) == b""
    hub.close()


@in_loop
async def test_all_of_many_readers_are_woken() -> None:
    hub, job = Hub(), a_job()
    hub.job_changed(job)
    readers = [follow(hub, job) for _ in range(300)]
    for reader in readers:
        await reader.wait()
        reader.take()
    waiting = [asyncio.ensure_future(reader.wait()) for reader in readers]
    await asyncio.sleep(0)
    hub.events(job.id, [a_node("a", "running")])
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert {len(reader.take()) for reader in readers} == {1}
    hub.close()


@pytest.mark.spec("I10")
def test_text_that_cannot_be_encoded_does_not_break_a_stream() -> None:
    delta = Delta("node", {"message": "line\nbreak \ud800 \u2028", "seconds": float("inf"), "eta": [float("nan")]}, "e", 1)
    (event,) = events_of(delta.sse())
    assert (event["seconds"], event["eta"]) == (None, [None])
    assert event["message"].startswith("line\nbreak")
    assert msgpack.unpackb(delta.frame())["message"].startswith("line\nbreak")
