"""The desk: what is accepted is kept, dispatched in order, ended once and told after the commit."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from graph.spec import NodeSpec
from server.engine.messages import Planned, Tried
from server.jobs import dispatch as dispatch_module
from server.jobs import store as store_module
from server.jobs.orders import Order
from server.jobs.record import FINAL, Accepted, Job, JobFilter, NewJob
from server.jobs.store import FILE_NAME, JobStore
from server.problems import Refusal
from tests.graph.small_nodes import SHA, link, n, workflow
from tests.server.jobs.jobs_kit import FakeFiles, Office, a_drawing, office, once, order, run, store_in

LOST = {"code": "worker_lost", "detail": "died"}


async def states(made: Office) -> dict[str, str]:
    return {job.id: job.state for job in (await made.desk.page(JobFilter(limit=10_000))).jobs}


# ---- accepting ----


def test_an_accepted_job_is_in_the_store_with_its_seeds_and_document(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            accepted = await made.desk.submit(order(inputs={"prompt": "a blue square"}, priority=2, webhook="site"))
            job = await made.desk.get(accepted.job.id)
            assert (job.state, job.client, job.priority, job.workflow, job.webhook) == ("queued", "ann", 2, "drawing", "site")
            assert (job.inputs, list(job.seeds)) == ({"prompt": "a blue square"}, ["draw.seed"])
            assert b"a blue square" in await made.desk.document(job.id)
            assert made.hub.told == [("job", job.id, "queued")]

    run(work())


def test_without_an_engine_jobs_are_accepted_and_wait_for_one(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            (id,) = await made.submit()
            await made.settled()
            assert made.engine.ids == []
            made.ready()
            await made.until(lambda: made.engine.ids == [id])
            assert made.engine.submitted[0].seeds == (await made.desk.get(id)).seeds

    run(work())


@pytest.mark.parametrize("key", [None, ("again", b"")])
def test_a_job_that_the_disk_refuses_takes_no_place_in_the_queue(
    home: Path, monkeypatch: pytest.MonkeyPatch, key: tuple[str, bytes] | None
) -> None:
    def full(_: object) -> None:
        raise Refusal("disk_full", "The disk is full.")

    async def work() -> None:
        async with office(home, engine=False) as made:
            with monkeypatch.context() as broken:
                broken.setattr(made.store, "accept", full)
                with pytest.raises(Refusal, match="The disk is full"):
                    await made.desk.submit(order(idempotency=key))
            assert (made.desk._queue._reserved, made.desk.queue_facts().seconds) == ({}, 0.0)
            await made.desk.submit(order(idempotency=key))
            assert made.desk.queue_facts().queued == 1

    run(work())


def test_missing_files_are_refused_by_name_and_nothing_is_kept(home: Path) -> None:
    document = workflow(
        {"open": n("open_picture", file={"file": "cat.png", "sha256": SHA}), "save": n("save", picture=link("open.picture"))}
    )

    async def work() -> None:
        async with office(home) as made:
            with pytest.raises(Refusal, match="cat.png is not here. Upload it.") as caught:
                await made.desk.submit(order(document=document))
            assert (caught.value.code, caught.value.node, caught.value.port) == ("invalid_workflow", "open", "file")
            assert await states(made) == {}
            made.files.here.add(SHA)
            (id,) = await made.submit(document=document)
            assert (await made.desk.get(id)).files == (SHA,)
            assert await made.desk.files_named() == {SHA}

    run(work())


def test_a_file_counts_as_named_from_the_look_to_the_commit(home: Path) -> None:
    """Else an upload could be deleted between the look and the commit."""
    document = workflow(
        {"open": n("open_picture", file={"file": "cat.png", "sha256": SHA}), "save": n("save", picture=link("open.picture"))}
    )
    looking, go_on = threading.Event(), threading.Event()

    class Slow(FakeFiles):
        def missing(self, compiled: Any) -> Any:
            looking.set()
            go_on.wait(20)
            return super().missing(compiled)

    async def work() -> None:
        async with office(home, files=Slow(here=[SHA])) as made:
            submitting = asyncio.ensure_future(made.desk.submit(order(document=document)))
            await asyncio.to_thread(looking.wait, 20)
            assert await made.desk.files_named() == {SHA}
            go_on.set()
            await submitting
            assert await made.desk.files_named() == {SHA}
            assert not made.desk._arriving_files

    run(work())


def test_while_the_catalogue_is_read_orders_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unread:
        @property
        def specs(self) -> dict[str, NodeSpec]:
            raise Refusal("catalogue_unavailable", "The node types are still being read. Try again in a moment.")

    async def work() -> None:
        async with office(home) as made:
            monkeypatch.setattr(made.desk, "_catalogue", Unread())
            with pytest.raises(Refusal, match="still being read"):
                await made.submit()

    run(work())


def test_a_large_document_is_checked_in_a_thread(home: Path) -> None:
    document = workflow({f"n{i}": n("draw", prompt="x") for i in range(300)} | {"save": n("save", picture=link("n0.picture"))})
    threads: list[str] = []

    async def in_thread(act: Any) -> Any:
        threads.append("used")
        return await asyncio.to_thread(act)

    async def work() -> None:
        async with office(home, in_thread=in_thread) as made:
            await made.submit()
            assert threads == []
            await made.submit(document=document)
            assert threads == ["used"]

    run(work())


@pytest.mark.spec("I1")
def test_accepting_does_not_wait_for_what_runs(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(20)  # nothing of the fake engine ever ends
            await made.settled()
            assert len(made.engine.ids) == 2
            assert Counter((await states(made)).values()) == {"queued": 18, "running": 2}
            assert set(ids) == set(await states(made))

    run(work())


# ---- the jobs of one request ----

KEYS = [("key", b"body"), ("key 1", b"body"), ("key 2", b"body")]


def pictures(*keys: tuple[str, bytes] | None) -> list[Order]:
    """The orders of a request for that many pictures."""
    return [order(inputs={"seed": number}, idempotency=key) for number, key in enumerate(keys)]


def test_the_orders_of_a_request_are_accepted_in_their_order_and_known_together(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            accepted = await made.desk.once("ann", KEYS, lambda: made.desk.submit_all(pictures(*KEYS)))
            assert [one.job.inputs["seed"] for one in accepted] == [0, 1, 2]
            again = await made.desk.once("ann", KEYS, lambda: made.desk.submit_all([]))
            assert [(one.job.id, one.replayed) for one in again] == [(one.job.id, True) for one in accepted]
            await made.settled()
            assert made.engine.ids == [one.job.id for one in accepted][:2]

    run(work())


@pytest.mark.spec("R-L02")
@pytest.mark.proves(14)
def test_where_not_all_orders_of_a_request_have_room_none_is_accepted(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False, most_jobs=3) as made:
            await made.submit()
            with pytest.raises(
                Refusal, match="The queue is too full for 3 jobs: 1 jobs wait or run, and 3 is the most. Send all 3 again"
            ) as caught:
                await made.desk.submit_all(pictures(None, None, None))
            assert (caught.value.code, len(await states(made)), made.desk._queue._reserved) == ("queue_full", 1, {})
            await made.desk.submit_all(pictures(None, None))
            assert len(await states(made)) == 3

    run(work())


def test_a_request_of_which_the_disk_refuses_one_job_leaves_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(connection: sqlite3.Connection, job: NewJob, *rest: Any) -> Job:
        if job.inputs["seed"] == 2:
            raise Refusal("disk_full", "The disk is full.")
        return insert(connection, job, *rest)

    insert = store_module._insert

    async def work() -> None:
        async with office(home, engine=False) as made:
            with monkeypatch.context() as broken:
                broken.setattr(store_module, "_insert", failing)
                with pytest.raises(Refusal, match="The disk is full"):
                    await made.desk.submit_all(pictures(*KEYS))
            assert (await states(made), made.desk.queue_facts().queued, made.desk._queue._reserved) == ({}, 0, {})
            assert not any(one.replayed for one in await made.desk.submit_all(pictures(*KEYS)))

    run(work())


def test_an_invalid_order_among_those_of_a_request_refuses_all(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            with pytest.raises(Refusal, match="nonsense"):
                await made.desk.submit_all([order(), order(document=workflow({"draw": n("nonsense")}))])
            assert await states(made) == {}

    run(work())


# ---- the Idempotency-Key ----


@pytest.mark.spec("R-C06")
@pytest.mark.proves(6)
def test_a_hundred_requests_with_one_key_are_one_job(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            asked = [once(made.desk, order(idempotency=("key", b"body"))) for _ in range(100)]
            answers = await asyncio.gather(*asked)
            assert len({answer.job.id for answer in answers}) == 1
            assert [answer.replayed for answer in answers].count(False) == 1
            assert len(await states(made)) == 1
            await made.settled()
            assert made.engine.ids == [answers[0].job.id]

    run(work())


@pytest.mark.spec("R-C06")
def test_a_known_key_with_another_body_is_refused_before_anything_else(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            await once(made.desk, order(idempotency=("key", b"body")))
            with pytest.raises(Refusal) as caught:
                await once(made.desk, order(idempotency=("key", b"other"), document=workflow({"draw": n("nonsense")})))
            assert (caught.value.code, caught.value.status) == ("idempotency_mismatch", 422)

    run(work())


@pytest.mark.spec("R-C06")
@pytest.mark.proves(6)
def test_a_key_answers_with_the_job_as_it_is_now_across_a_restart_and_a_full_queue(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            id = (await once(made.desk, order(idempotency=("key", b"body")))).job.id
            await made.settled()
            made.end(id)
            await made.settled()
        async with office(home, most_jobs=0) as made:
            answer = await once(made.desk, order(idempotency=("key", b"body"), document=workflow({"draw": n("nonsense")})))
            assert (answer.job.id, answer.job.state, answer.replayed) == (id, "done", True)

    run(work())


@pytest.mark.spec("R-C06")
def test_a_key_whose_request_was_refused_is_free(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            with pytest.raises(Refusal):
                await once(made.desk, order(idempotency=("key", b"bad"), document=workflow({"draw": n("nonsense")})))
            await once(made.desk, order(idempotency=("key", b"good")))

    run(work())


@pytest.mark.spec("R-C06")
def test_a_request_with_the_key_of_one_under_way_waits_for_it(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            reading, read = asyncio.Event(), asyncio.Event()

            async def slowly() -> list[Accepted]:
                reading.set()
                await read.wait()
                return [await made.desk.submit(order(idempotency=KEYS[0]))]

            async def gone() -> list[Accepted]:
                raise Refusal("not_found", "There is no such workflow any more.")

            first = asyncio.ensure_future(made.desk.once("ann", KEYS[:1], slowly))
            await reading.wait()
            second = asyncio.ensure_future(made.desk.once("ann", KEYS[:1], gone))
            await asyncio.sleep(0)
            read.set()
            [one], [other] = await asyncio.gather(first, second)
            assert (other.job.id, one.replayed, other.replayed) == (one.job.id, False, True)

    run(work())


def test_a_client_that_leaves_does_not_leave_half_a_job(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            for _ in range(20):
                asking = asyncio.ensure_future(once(made.desk, order(idempotency=("key", b"body"))))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                asking.cancel()
            await made.settled()
            assert len(await states(made)) == 1
            assert len(made.engine.ids) == 1
            assert made.desk.queue_facts().running == 1

    run(work())


# ---- models that are removed ----


@pytest.mark.spec("K13")
def test_while_a_model_leaves_jobs_that_name_it_are_refused_and_others_taken(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            (old,) = await made.submit(document=a_drawing(prompt="other\nmine"))
            await made.desk.cancel(old)
            async with made.desk.leaving("mine") as user:
                assert user is None
                for asked in (
                    order(document=a_drawing(prompt="mine")),
                    order(inputs={"prompt": "other\nmine"}, idempotency=("key", b"")),
                ):
                    with pytest.raises(
                        Refusal, match='names "mine", a model that is being removed. Name another model, or send'
                    ) as caught:
                        await made.desk.submit(asked)
                    assert (caught.value.code, caught.value.retry_after_s) == ("conflict", 1.0)
                with pytest.raises(Refusal, match="is being removed"):
                    await made.desk.retry(old, "ann")
                with pytest.raises(Refusal, match="is being removed"):
                    await made.desk.submit_all([order(), order(document=a_drawing(prompt="mine"))])
                await made.submit(document=a_drawing(prompt="mine-too"))
            assert made.desk.queue_facts().queued == 1
            await made.submit(document=a_drawing(prompt="mine"))

    run(work())


@pytest.mark.spec("K13")
def test_a_job_that_waits_or_runs_is_told_to_who_removes_its_model(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            await made.submit(document=a_drawing(prompt="mine-too"))
            (id,) = await made.submit(document=a_drawing(prompt="other\nmine"))
            await made.settled()
            async with made.desk.leaving("mine") as user:
                assert user == id
            made.end(id)
            await made.settled()
            async with made.desk.leaving("mine") as user:
                assert user is None

    run(work())


@pytest.mark.spec("K13")
def test_a_job_that_is_being_kept_when_its_model_shall_leave_is_seen(home: Path) -> None:
    """One that was admitted and of which the desk has not heard yet that it is on the disk."""

    async def work() -> None:
        async with office(home, engine=False) as made:
            submitting = asyncio.ensure_future(made.desk.submit(order(document=a_drawing(prompt="mine"))))
            while not made.desk._queue._reserved:
                await asyncio.sleep(0)
            async with made.desk.leaving("mine") as user:
                assert user == (await submitting).job.id

    run(work())


@pytest.mark.spec("K13")
def test_a_job_that_is_being_checked_when_its_model_leaves_is_refused(home: Path) -> None:
    checking, go_on = threading.Event(), threading.Event()

    async def in_thread(act: Any) -> Any:
        def slowly() -> Any:
            checking.set()
            go_on.wait(20)
            return act()

        return await asyncio.to_thread(slowly)

    async def work() -> None:
        document = workflow(
            {f"n{i}": n("draw", prompt="mine") for i in range(300)} | {"save": n("save", picture=link("n0.picture"))}
        )
        async with office(home, engine=False, in_thread=in_thread) as made:
            submitting = asyncio.ensure_future(made.desk.submit(order(document=document)))
            await asyncio.to_thread(checking.wait, 20)
            asyncio.get_running_loop().call_soon(go_on.set)
            async with made.desk.leaving("mine") as user:
                assert user is None
                with pytest.raises(Refusal, match="is being removed"):
                    await submitting
            assert made.desk.queue_facts().queued == 0

    run(work())


# ---- the bound ----


@pytest.mark.spec("R-L02")
@pytest.mark.proves(14)
def test_when_full_it_refuses_stores_nothing_and_takes_one_that_comes_back(home: Path) -> None:
    async def work() -> None:
        async with office(home, most_jobs=5) as made:
            answers = await asyncio.gather(*(made.desk.submit(order()) for _ in range(20)), return_exceptions=True)
            refused = [answer for answer in answers if isinstance(answer, Refusal)]
            assert len(refused) == 15
            assert {(one.code, one.status) for one in refused} == {("queue_full", 429)}
            assert all(one.retry_after_s is not None and one.retry_after_s >= 1 for one in refused)
            assert len(await states(made)) == 5
            await made.settled()
            made.end(made.engine.ids[0])
            await made.settled()
            await made.submit()
            assert made.desk.queue_facts().queued + made.desk.queue_facts().running == 5

    run(work())


def test_the_bound_in_seconds_grows_with_the_devices(home: Path) -> None:
    async def work() -> None:
        async with office(home, most_hours=15 / 3600) as made:  # a drawing is thought to take 10 s
            await made.submit()
            with pytest.raises(Refusal, match="is the most"):
                await made.submit()
            made.ready("cpu:0", "cpu:1")
            await made.submit()

    run(work())


# ---- states ----


@pytest.mark.spec("I4", "I14")
def test_conflicts_are_refused_with_the_state(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            for refused, message in (
                (made.desk.delete(id), "The job is running, and only one that has ended can be deleted. Cancel it first."),
                (made.desk.retry(id, "ann"), "The job is running; only one that has ended is retried. Cancel it first, or wait."),
                (made.desk.move(id, before="x"), f"The job {id} does not wait, so it has no place in the queue."),
            ):
                with pytest.raises(Refusal, match=message) as caught:
                    await refused
                assert (caught.value.code, caught.value.status) == ("conflict", 409)
            made.end(id)
            await made.settled()
            for refused, message in (
                (made.desk.cancel(id), "The job is done already; what has ended cannot be cancelled."),
                (made.desk.move(id, priority=1), "The job is done; only jobs that wait or run are moved."),
            ):
                with pytest.raises(Refusal, match=message):
                    await refused

    run(work())


@pytest.mark.spec("I14")
def test_jobs_that_nobody_watches_and_that_wait_count_as_active(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(4)
            await made.settled()
            assert set(made.desk.active()) == set(ids)
            made.end(ids[0])
            await made.desk.cancel(ids[3])
            await made.settled()
            assert set(made.desk.active()) == set(ids[1:3])

    run(work())


def test_unknown_jobs_are_not_found(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            for refused in (
                made.desk.get("x"), made.desk.document("x"), made.desk.cancel("x"), made.desk.retry("x", ""), made.desk.delete("x"),
                made.desk.move("x", priority=1),
            ):  # fmt: skip
                with pytest.raises(Refusal, match="There is no job x. It may have been deleted") as caught:
                    await refused
                assert caught.value.code == "not_found"

    run(work())


@pytest.mark.slow
@pytest.mark.spec("I2")
@pytest.mark.parametrize("state", sorted(FINAL))
def test_no_poll_sees_an_ended_job_without_its_outcome(home: Path, state: str) -> None:
    """Polled without a pause through 200 jobs, by the API's way and by a connection of its own."""
    problem = {"problem": {"code": "node_failed", "detail": "broken"}} if state == "failed" else {}

    async def work() -> None:
        async with office(home) as made:
            seen: dict[str, Job] = {}
            torn: list[Any] = []
            over = threading.Event()

            def look() -> None:
                connection = sqlite3.connect(made.store.path)
                while not over.is_set():
                    torn.extend(
                        connection.execute(
                            "SELECT id FROM jobs LEFT JOIN results ON job = id "
                            f"WHERE (state IN {tuple(FINAL)}) != (results.job IS NOT NULL) OR (ended IS NULL) != (results.job IS NULL)"
                        ).fetchall()
                    )
                connection.close()

            async def poll(id: str) -> None:
                while True:
                    job = await made.desk.get(id)
                    before = seen.get(id)
                    assert before is None or not before.is_final or before == job
                    assert job.is_final == (job.result is not None) == (job.ended is not None)
                    assert (job.state == "failed") == (job.result is not None and job.result.problem is not None)
                    seen[id] = job
                    if job.is_final:
                        return

            async def carry_out() -> None:
                done = 0
                while done < 200:
                    await made.until(lambda: len(made.engine.ids) > done)
                    id = made.engine.ids[done]
                    made.desk.on_planned(Planned(id, []))
                    made.end(id, state, nodes=[{"id": "draw", "type": "draw", "state": state, "seconds": 0.0}], **problem)
                    done += 1

            thread = threading.Thread(target=look)
            thread.start()
            working = asyncio.ensure_future(carry_out())
            polls = [asyncio.ensure_future(poll(id)) for id in await made.submit(200)]
            await asyncio.gather(working, *polls)
            over.set()
            thread.join()
            await made.settled()  # who polls may see the end before the hub is told
            assert torn == []
            assert {job.state for job in seen.values()} == {state}
            assert made.hub.ends() == {id: [state] for id in seen}

    run(work())


def test_an_end_is_told_once_and_late_messages_are_nothing(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            made.end(id)
            made.end(id, "failed")
            made.end("unknown")
            await made.settled()
            made.end(id, "cancelled")
            made.desk.on_planned(Planned(id, []))
            made.desk.on_events([[id, {"event": "node"}], ["unknown", {}]])
            made.desk.on_tried(Tried(id, 1, "died"))
            await made.settled()
            assert (await made.desk.get(id)).state == "done"
            assert made.hub.told == [("job", id, "queued"), ("job", id, "running"), ("ended", id, "done")]

    run(work())


@pytest.mark.spec("I2")
def test_the_hub_hears_of_an_end_after_the_store_has_it(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            seen: list[tuple[str, bool]] = []

            def ended(job: Job) -> None:
                kept = made.store.get(job.id).result(20)
                seen.append((kept.state, kept == job))

            made.hub.ended = ended  # type: ignore[method-assign]
            ids = await made.submit(3)
            await made.settled()
            await made.desk.cancel(ids[2])
            made.end(ids[0])
            await made.settled()
            assert seen == [("cancelled", True), ("done", True)]

    run(work())


def test_events_go_to_the_hub_by_job(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            one, two = await made.submit(2)
            await made.settled()
            made.desk.on_planned(Planned(one, [{"id": "draw"}]))
            made.desk.on_events([[one, {}], [two, {}], [one, {}]])
            assert made.hub.told[-3:] == [("planned", one), ("events", one, 2), ("events", two, 1)]

    run(work())


def test_a_failure_without_a_reason_gets_one(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            made.end(id, "failed")
            await made.settled()
            result = (await made.desk.get(id)).result
            assert result is not None
            assert result.problem is not None
            assert result.problem["code"] == "node_failed"

    run(work())


@pytest.mark.parametrize("value", [float("nan"), "\ud800", object()])
def test_a_result_that_cannot_be_kept_ends_the_job_all_the_same(home: Path, value: Any) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            made.end(id, outputs={"x": value}, device_seconds=2.0)
            await made.settled()
            job = await made.desk.get(id)
            assert (job.state, made.hub.ends(), made.desk.active()) == ("failed", {id: ["failed"]}, [])
            assert job.result is not None
            assert job.result.problem is not None
            assert "a value that JSON cannot carry" in job.result.problem["detail"]

    run(work())


# ---- cancel, retry, move, delete ----


def test_a_queued_job_is_cancelled_at_once_and_never_runs(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(4)
            await made.settled()
            jobs = await asyncio.gather(made.desk.cancel(ids[2]), made.desk.cancel(ids[2]))
            assert [job.state for job in jobs] == ["cancelled"] * 2
            for id in ids[:2]:
                made.end(id)
            await made.settled()
            assert made.engine.ids == [ids[0], ids[1], ids[3]]
            assert made.hub.ends()[ids[2]] == ["cancelled"]

    run(work())


def test_of_a_running_job_the_engine_is_asked(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            assert (await made.desk.cancel(id)).state == "running"
            assert made.engine.cancelled == [id]
            made.end(id, "cancelled")
            await made.settled()
            assert (await made.desk.get(id)).state == "cancelled"

    run(work())


def test_a_running_job_without_an_engine_is_cancelled_at_once(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            made.desk.on_lost("killed")
            await made.desk.cancel(id)
            await made.settled()
            assert (await made.desk.get(id)).state == "cancelled"
            made.ready()
            await made.settled()
            assert made.engine.ids == [id]

    run(work())


def test_a_cancel_that_the_engine_took_to_its_grave_is_carried_out(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            await made.desk.cancel(id)
            made.desk.on_lost("killed")
            await made.settled()
            assert (await made.desk.get(id)).state == "cancelled"

    run(work())


def test_a_job_cancelled_while_it_is_started_ends_and_never_reaches_the_engine(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            (id,) = await made.submit()
            made.ready()  # its start is on its way to the disk
            await made.desk.cancel(id)
            await made.settled()
            assert (await made.desk.get(id)).state == "cancelled"
            assert made.engine.ids == []

    run(work())


def test_a_retry_is_a_new_job_with_the_same_document_and_seeds(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            asked = order(inputs={"prompt": "x"}, targets=("save",), priority=4, workflow="mine")
            id = (await made.desk.submit(asked)).job.id
            await made.settled()
            made.end(id, "failed", problem=LOST)
            await made.settled()
            again = (await made.desk.retry(id, "bob")).job
            first = await made.desk.get(id)
            assert again.id != id
            assert (again.retry_of, again.client, again.state) == (id, "bob", "queued")
            assert (again.seeds, again.inputs, again.targets) == (first.seeds, first.inputs, first.targets)
            assert (again.priority, again.workflow) == (4, "mine")
            assert await made.desk.document(again.id) == await made.desk.document(id)
            await made.settled()
            assert made.engine.submitted[1].seeds == made.engine.submitted[0].seeds
            assert made.engine.submitted[1].document == made.engine.submitted[0].document

    run(work())


@pytest.mark.parametrize(
    ("table", "column", "key"), [("jobs", "seeds", "id"), ("jobs", "targets", "id"), ("documents", "document", "job")]
)
def test_a_job_that_the_disk_damaged_is_not_retried_as_another(home: Path, table: str, column: str, key: str) -> None:
    async def work() -> None:
        async with office(home) as made:
            id = await made.ended()
            connection = sqlite3.connect(made.store.path, isolation_level=None)
            for trigger in ("ended_is_final", "accepted_is_frozen", "document_is_frozen"):
                connection.execute(f"DROP TRIGGER {trigger}")
            connection.execute(f"UPDATE {table} SET {column} = x'7b' WHERE {key} = ?", (id,))
            connection.close()
            with pytest.raises(Refusal, match="damaged on the disk: it cannot be run again as it was") as caught:
                await made.desk.retry(id, "bob")
            assert caught.value.code == "conflict"
            assert list(await states(made)) == [id]

    run(work())


def test_a_retry_with_a_key_is_one_job(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            id = await made.ended()
            answers = await asyncio.gather(*(made.desk.retry(id, "ann", ("again", b"")) for _ in range(10)))
            assert len({answer.job.id for answer in answers}) == 1

    run(work())


def test_a_moved_job_runs_in_its_new_place(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(5)
            await made.settled()
            job = await made.desk.move(ids[4], before=ids[2])
            await made.desk.move(ids[3], priority=1)
            assert made.desk.waiting() == [ids[3], ids[4], ids[2]]
            assert ("job", job.id, "queued") in made.hub.told
            for number in range(5):
                await made.settled()
                made.end(made.engine.ids[number])
            await made.settled()
            assert made.engine.ids == [ids[0], ids[1], ids[3], ids[4], ids[2]]

    run(work())


def test_a_move_survives_a_restart(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            ids = await made.submit(4)
            await made.desk.move(ids[3], before=ids[0])
            await made.desk.move(ids[1], after=ids[2])
        async with office(home, engine=False) as made:
            assert made.desk.waiting() == [ids[3], ids[0], ids[2], ids[1]]

    run(work())


def test_a_running_job_takes_another_priority(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            assert (await made.desk.move(id, priority=7)).priority == 7
            assert made.engine.prioritised == [(id, 7)]

    run(work())


def test_a_move_says_what_it_takes(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            with pytest.raises(Refusal, match="A move names one of `before`, `after` and `priority`."):
                await made.desk.move(id)
            with pytest.raises(Refusal, match="A move names one of `before`, `after` and `priority`."):
                await made.desk.move(id, before="a", after="b")
            with pytest.raises(Refusal, match="`priority` is 101; it takes -100 to 100."):
                await made.desk.move(id, priority=101)

    run(work())


def test_a_deleted_job_is_gone_and_told(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            id = await made.ended()
            await made.desk.delete(id)
            assert made.hub.told[-1] == ("deleted", id)
            assert await states(made) == {}

    run(work())


def test_a_deletion_is_told_also_if_its_client_left(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            id = await made.ended()
            asking = asyncio.ensure_future(made.desk.delete(id))
            await asyncio.sleep(0)
            asking.cancel()
            await made.settled()
            assert made.hub.told[-1] == ("deleted", id)
            assert await states(made) == {}

    run(work())


# ---- pausing, draining ----


def test_a_paused_desk_dispatches_nothing_across_restarts_until_it_is_resumed(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            await made.desk.pause()
            (id,) = await made.submit()
            await made.settled()
            assert made.engine.ids == []
        async with office(home) as made:
            await made.settled()
            assert (made.engine.ids, made.desk.queue_facts().is_paused) == ([], True)
            await made.desk.resume()
            await made.settled()
            assert made.engine.ids == [id]

    run(work())


@pytest.mark.spec("R-O01")
@pytest.mark.proves(13)
def test_a_draining_desk_refuses_new_jobs_records_ends_and_loses_nothing(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(21)
            await made.settled()
            made.desk.drain()
            with pytest.raises(
                Refusal, match="The server is shutting down and takes no new jobs. Send it again later."
            ) as caught:
                await made.submit()
            assert (caught.value.status, caught.value.retry_after_s) == (503, 10.0)
            made.end(ids[0])
            await made.settled()
            assert made.engine.ids == ids[:2]
        async with office(home) as made:
            counted = Counter((await states(made)).values())
            assert counted["done"] == 1
            for number in range(20):
                await made.until(lambda: len(made.engine.ids) > number)
                made.end(made.engine.ids[number])
            await made.settled()
            assert await states(made) == dict.fromkeys(ids, "done")
            assert made.engine.ids == ids[1:]

    run(work())


# ---- the engine dies, the server dies ----


def test_what_runs_is_submitted_again_to_the_next_engine_in_its_order(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(4)
            await made.settled()
            made.desk.on_lost("killed")
            await made.settled()
            assert [(await states(made))[id] for id in ids] == ["running", "running", "queued", "queued"]
            made.ready("cpu:0", "cpu:1")
            await made.settled()
            assert made.engine.ids == [ids[0], ids[1], ids[0], ids[1], ids[2]]
            made.end(ids[0])
            await made.settled()
            assert Counter(made.engine.ids) == {ids[0]: 2, ids[1]: 2, ids[2]: 1, ids[3]: 1}

    run(work())


def test_tries_are_counted_durably_and_told_to_the_next_engine(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            made.desk.on_tried(Tried(id, 1, "worker died"))
            await made.settled()
            made.desk.on_lost("killed")
            made.ready()
            await made.settled()
            assert [one.tries for one in made.engine.submitted] == [0, 1]
            made.desk.on_tried(Tried(id, 2, "worker died again"))
            await made.settled()
        async with office(home) as made:
            await made.settled()
            assert [one.tries for one in made.engine.submitted] == [2]
            made.end(id, "failed", problem=LOST)
            await made.settled()
            result = (await made.desk.get(id)).result
            assert result is not None
            assert result.problem == LOST | {"history": ["worker died", "worker died again"]}

    run(work())


@pytest.mark.spec("R-C08")
@pytest.mark.proves(7)
def test_a_job_that_takes_the_server_down_is_given_up_after_three_tries_and_others_run(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            poison, other = await made.submit(2)
            await made.settled()
        for before in range(2):
            async with office(home, engine=False) as made:
                made.desk.on_tried(Tried(poison, before + 1, "died"))  # before there is an engine
                made.ready()
                await made.settled()
                assert {one.job: one.tries for one in made.engine.submitted} == {poison: before + 1, other: 0}
        async with office(home, engine=False) as made:
            for _ in range(2):  # told again, as long as no engine has begun
                made.desk.on_tried(Tried(poison, 3, "died"))
            made.ready()
            await made.settled()
            assert made.engine.ids == [other]
            assert made.hub.ends() == {poison: ["failed"]}
            result = (await made.desk.get(poison)).result
            assert result is not None
            assert result.problem is not None
            assert (result.problem["code"], result.problem["history"]) == ("worker_lost", ["died"] * 3)
            assert result.problem["detail"].startswith("The process that ran a node of this job died 3 times in a row")

    run(work())


@pytest.mark.spec("R-C08")
def test_tries_count_also_while_the_disk_takes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note was lost with the refused write, so a job could take down one engine after another."""

    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            monkeypatch.setattr(made.store, "tried", lambda *_: _refused())
            for tries in (1, 2):
                made.desk.on_tried(Tried(id, tries, "died"))
                made.desk.on_lost("killed")
                made.ready()
                await made.settled()
                assert made.engine.submitted[-1].tries == tries
            made.desk.on_tried(Tried(id, 3, "died"))
            made.desk.on_lost("killed")
            made.ready()
            await made.until(lambda: made.hub.ends() == {id: ["failed"]})
            assert made.desk._tries == {}

    run(work())


def _refused() -> Future[Job | None]:
    future: Future[Job | None] = Future()
    future.set_exception(Refusal("disk_full", "The disk is full."))
    return future


# ---- what is broken keeps nothing else up ----


@pytest.mark.spec("R-C10")
@pytest.mark.parametrize("is_deleted", [False, True])
def test_an_end_that_was_written_though_the_disk_told_otherwise_is_told_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    """Whoever followed the job waited for ever, and if it was deleted meanwhile the end was tried again each second."""
    monkeypatch.setattr(dispatch_module, "RETRY_SECONDS", 0.01)

    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            _tell_next_end_wrongly(made.store, is_deleted)
            made.end(id)
            await made.until(lambda: not made.desk.active())
            assert made.hub.ends() == ({} if is_deleted else {id: ["done"]})
            assert made.desk.health().unwritten == 0

    run(work())


@pytest.mark.spec("R-C10")
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_cancel_that_was_written_though_the_disk_told_otherwise_is_told_once_the_job_would_start(
    home: Path, is_deleted: bool
) -> None:
    """The job was dropped without a word, and whoever followed it waited for ever."""

    async def work() -> None:
        async with office(home, engine=False) as made:
            (id,) = await made.submit()
            _tell_next_end_wrongly(made.store, is_deleted)
            with pytest.raises(Refusal, match="The disk is full"):
                await made.desk.cancel(id)
            assert (made.hub.ends(), made.desk.active()) == ({}, [id])
            made.ready()
            await made.settled()
            assert (made.hub.ends(), made.desk.active()) == ({} if is_deleted else {id: ["cancelled"]}, [])
            assert made.engine.ids == []

    run(work())


def _tell_next_end_wrongly(store: JobStore, is_deleted: bool) -> None:
    """Have the next end written, and the job deleted if asked, and the disk tell that it was not."""
    end = store.end

    def told_wrongly(id: str, *given: Any) -> Future[Job | None]:
        store.end = end  # type: ignore[method-assign]
        end(id, *given).result()
        if is_deleted:
            store.delete(id).result()
        return _refused()

    store.end = told_wrongly  # type: ignore[method-assign]


def test_a_job_that_an_engine_about_to_be_replaced_did_not_take_is_cancelled_at_once(home: Path) -> None:
    """The engine was asked, which did not know the job; its end waited for that of every other one."""

    async def work() -> None:
        async with office(home) as made:
            made.engine.is_full = True
            (id,) = await made.submit()
            await made.settled()
            await made.desk.cancel(id)
            await made.settled()
            assert (await made.desk.get(id)).state == "cancelled"
            assert made.engine.cancelled == []

    run(work())


#: What a disk may make of a job's texts.
_DAMAGE = {
    "document": "UPDATE documents SET document = x'00ff00ff' WHERE job = ?",
    "seeds": """UPDATE jobs SET seeds = '{"draw.seed": 7' WHERE id = ?""",
    "inputs": "UPDATE jobs SET inputs = '{p}' WHERE id = ?",
}


@pytest.mark.parametrize("part", _DAMAGE)
@pytest.mark.parametrize("when", ["before it starts", "when the next engine gets it"])
def test_a_job_that_cannot_be_read_any_more_fails_and_others_go_on(home: Path, when: str, part: str) -> None:
    """It held its place for ever, and what was under way behind it was never submitted again."""

    async def work() -> None:
        async with office(home, engine=False) as made:
            bad, *others = await made.submit(2)
            if when != "before it starts":
                made.ready()
                await made.until(lambda: made.engine.ids == [bad, *others])
                made.desk.on_lost("killed")
                made.engine.submitted.clear()
            _damage(home, bad, part)
            made.ready()
            await made.settled()
            assert made.engine.ids == others
            assert made.hub.ends() == {bad: ["failed"]}
            result = (await made.desk.get(bad)).result
            assert result is not None
            assert result.problem is not None
            assert (
                result.problem["detail"] == "What the job is cannot be read any more. Send it again; the server's log says more."
            )
            assert list(made.desk._queue.under_way) == others

    run(work())


@pytest.mark.parametrize("part", _DAMAGE)
def test_a_server_starts_whatever_the_disk_made_of_a_job(home: Path, part: str) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            bad, other = await made.submit(2)
        _damage(home, bad, part)
        async with office(home) as made:
            await made.until(lambda: made.engine.ids == [other])
            await made.settled()
            assert {job.id: job.state for job in (await made.desk.page(JobFilter())).jobs} == {bad: "failed", other: "running"}

    run(work())


def _damage(home: Path, id: str, part: str) -> None:
    """Flip bits of what a job is, as a disk may."""
    connection = sqlite3.connect(home / FILE_NAME, isolation_level=None)
    connection.execute("DROP TRIGGER document_is_frozen")
    connection.execute("DROP TRIGGER accepted_is_frozen")
    connection.execute(_DAMAGE[part], (id,))
    connection.close()


def test_a_reader_that_fails_at_an_end_costs_no_place(home: Path) -> None:
    """The job's place was never free again, so after a few of these nothing was dispatched."""

    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(8)
            made.hub.ended = _fail  # type: ignore[method-assign]
            for number in range(8):
                await made.until(lambda number=number: len(made.engine.ids) > number)  # type: ignore[misc]
                made.end(made.engine.ids[number])
                await made.settled()
            assert sorted(made.engine.ids) == sorted(ids)
            assert set((await states(made)).values()) == {"done"}
            assert made.desk.active() == []

    run(work())


def _fail(job: Job) -> None:
    raise RuntimeError("a reader's mistake")


def test_a_result_of_odd_form_ends_the_job_all_the_same(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            await made.settled()
            made.end(id, nodes=None)
            await made.settled()
            assert (await made.desk.get(id)).state == "failed"
            assert made.desk.active() == []

    run(work())


# ---- fairness, costs ----


@pytest.mark.spec("R-L08")
def test_one_job_of_another_client_is_dispatched_next_to_a_thousand(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            await asyncio.gather(*(made.submit(50, "a") for _ in range(20)))
            await made.settled()
            before = len(made.engine.ids)
            (id,) = await made.submit(1, "b")
            for number in range(10):
                await made.settled()
                if id in made.engine.ids:
                    break
                made.end(made.engine.ids[number], device_seconds=3.0)
            assert made.engine.ids.index(id) <= before + 1

    run(work())


def test_what_ended_teaches_what_the_next_one_costs(home: Path) -> None:
    nodes = [{"id": "draw", "type": "draw", "state": "done", "seconds": 4.0}]

    async def work() -> None:
        async with office(home) as made:
            (id,) = await made.submit()
            assert (await made.desk.get(id)).cost_s == pytest.approx(10.01)
            await made.settled()
            made.end(id, nodes=nodes, device_seconds=4.0)
            await made.settled()
            (second,) = await made.submit()
            assert (await made.desk.get(second)).cost_s == pytest.approx(4.01)
        async with office(home) as made:  # and a later server knows it too
            (third,) = await made.submit()
            assert (await made.desk.get(third)).cost_s == pytest.approx(4.01)

    run(work())


# ---- the disk says no ----


class Broken:
    """Makes every write of a store fail, until it is mended."""

    def __init__(self, made: Office, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

        def refuse(*_: Any) -> None:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr(dispatch_module, "RETRY_SECONDS", 0.01)
        monkeypatch.setattr(made.store.committer, "_carry_out", refuse)

    def mend(self) -> None:
        self._patch.undo()


@pytest.mark.spec("R-C03", "R-C05")
@pytest.mark.proves(16)
def test_a_full_disk_refuses_new_jobs_and_keeps_ends_until_it_has_room(home: Path) -> None:
    async def work() -> None:
        async with office(home) as made:
            ids = await made.submit(3)
            await made.settled()
            with pytest.MonkeyPatch.context() as monkeypatch:
                broken = Broken(made, monkeypatch)
                made.end(ids[0])
                with pytest.raises(Refusal, match="The disk of the data folder is full, so no job can be kept.") as caught:
                    await made.submit()
                assert caught.value.status == 507
                with pytest.raises(Refusal, match="is full"):
                    await made.desk.cancel(ids[2])
                await made.until(lambda: made.desk.health().unwritten == 1)
                assert made.desk.health().store_error.startswith("The disk of the data folder is full")
                assert (await states(made))[ids[0]] == "running"
                assert made.hub.ends() == {}
                broken.mend()
            await made.until(lambda: made.hub.ends() == {ids[0]: ["done"]})
            await made.until(lambda: ids[2] in made.engine.ids)  # its cancel was refused, so it runs
            assert made.desk.health().store_error == ""
            await made.submit()
            assert Counter((await states(made)).values())["done"] == 1

    run(work())


def test_a_start_that_the_disk_refuses_is_tried_again_and_keeps_its_place(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            ids = await made.submit(3)
            with pytest.MonkeyPatch.context() as monkeypatch:
                broken = Broken(made, monkeypatch)
                made.ready()
                await made.until(lambda: made.desk._retry_at is not None)
                broken.mend()
            await made.until(lambda: made.engine.ids == ids[:2])

    run(work())


# ---- health ----


@pytest.mark.spec("R-O02")
def test_health_tells_the_queue_and_the_oldest_silence(home: Path) -> None:
    now = [100.0]

    async def work() -> None:
        async with office(home, monotonic=lambda: now[0]) as made:
            assert made.desk.health().oldest_progress_age_s is None
            one, two = await made.submit(2)
            await made.submit(1)
            await made.settled()
            now[0] += 30
            made.desk.on_events([[two, {}]])
            health = made.desk.health()
            assert (health.oldest_progress_age_s, health.has_engine, health.store_error) == (30.0, True, "")
            assert (health.queue.queued, health.queue.running, health.queue.seconds) == (1, 2, pytest.approx(30.03))
            made.desk.on_events([[one, {}]])
            assert made.desk.health().oldest_progress_age_s == 0.0
            assert made.desk.health().last_commit_age_s < 20

    run(work())


def test_a_closed_desk_leaves_a_store_that_opens(home: Path) -> None:
    async def work() -> list[str]:
        async with office(home) as made:
            return await made.submit(3)

    ids = run(work())
    store = store_in(home)
    assert [job.id for job in store.recover().result()] == ids
    store.close()


def test_a_workflow_edited_later_does_not_touch_the_job(home: Path) -> None:
    async def work() -> None:
        async with office(home, engine=False) as made:
            document = a_drawing("first")
            (id,) = await made.submit(document=document)
            document.nodes["draw"].inputs["prompt"] = "second"
            assert b"first" in await made.desk.document(id)

    run(work())
