"""A process that dies under a job costs it a try; the job goes on, and ends after three."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from graph.trials import Ledger, open_tries
from server.engine.link import DIED
from server.engine.messages import Ended, Status, Tried
from server.problems import Refusal
from tests.graph.engine_kit import n, workflow
from tests.server.engine.link_kit import gated, lab, run, tallied

pytestmark = pytest.mark.slow


def tries_of(said: list[object]) -> list[tuple[str, int]]:
    return [(one.job, one.tries) for one in said if isinstance(one, Tried)]


@pytest.mark.spec("R-G08")
def test_a_job_whose_worker_is_killed_runs_its_node_again(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            ended = await one.run("a", workflow("x", x=n("die_once", name="mark")))
            assert (ended.state, ended.result["outputs"]) == ("done", {"x": 5})
            assert one.ran == ["x", "x"]
            assert tries_of(one.listener.said) == [("a", 1), ("a", 0)]
            (first, *_) = [said for said in one.listener.said if isinstance(said, Tried)]
            assert "killed by signal 9" in first.message
            assert one.link.restarts == 0  # the engine lives on

    run(test())


def test_a_job_that_kills_every_worker_ends_after_three_tries_and_others_are_not_charged(home: Path) -> None:
    async def test() -> None:
        async with lab(home, devices=("cpu:0", "cpu:1")) as one:
            one.submit("good", gated("door"))
            await one.reached("door")
            ended = await one.run("bad", workflow("x", x=n("die", how="kill")))
            assert ended.state == "failed"
            problem = ended.result["problem"]
            assert (problem["code"], problem["title"], problem["node"]) == ("worker_lost", "The process that it ran in died", "x")
            assert tries_of(one.listener.said) == [("bad", 1), ("bad", 2), ("bad", 3)]
            one.open("door")
            (good,) = await one.listener.end_of("good")
            assert good.state == "done"

    run(test())


def test_the_death_of_the_engine_is_not_its_jobs_fault_but_that_of_what_it_was_planning(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("runs", gated("door"))
            await one.reached("door")
            one.submit("plans", workflow("x", s=n("slow_to_plan", name="plan"), x=n("tally", a="@s")), tries=1)
            await one.reached("plan")
            os.kill(one.pid, signal.SIGKILL)
            await one.ready(2)
            assert [said for said in one.listener.said if isinstance(said, Tried)] == [Tried("plans", 2, DIED)]
            assert open_tries(home / "tries") == []
            lost = one.listener.said.index("it was killed by signal 9")
            assert isinstance(one.listener.said[lost - 1], Tried)  # told before anything is submitted again

    run(test())


def test_a_plan_that_never_ends_costs_its_job_a_try_and_the_engine_its_life(home: Path) -> None:
    async def test() -> None:
        async with lab(home, plan_limit_s=0.5) as one:
            one.submit("a", workflow("x", s=n("slow_to_plan", name="plan"), x=n("tally", a="@s")))
            await one.ready(2)
            assert [said for said in one.listener.said if isinstance(said, Tried)] == [Tried("a", 1, DIED)]
            assert "it closed the connection (exit code 3)" in one.listener.said

    run(test())


@pytest.mark.proves(7)
def test_what_died_before_the_server_started_is_charged_when_it_starts(home: Path) -> None:
    ledger = Ledger(home / "tries")
    ledger.open(7, [("a", 0), ("b", 1)], "x")
    ledger.open(8, [("a", 0)], "y")

    async def test() -> None:
        async with lab(home) as one:
            assert tries_of(one.listener.said) == [("a", 1), ("b", 2)]
            assert isinstance(one.listener.said[0], Tried)

    run(test())


@pytest.mark.spec("R-G07")
def test_a_node_over_its_time_limit_fails_and_its_worker_goes_on(home: Path) -> None:
    async def test() -> None:
        async with lab(home, time_limits_s={"gate": 0.2}) as one:
            ended = await one.run("a", gated("door"))
            assert (ended.state, ended.result["problem"]["code"]) == ("failed", "timed_out")
            assert ended.result["problem"]["title"] == "A node took too long"
            assert tries_of(one.listener.said) == []
            assert (await one.run("b", tallied())).state == "done"

    run(test())


def test_places_and_memory_are_told(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", gated("door"))
            await one.reached("door")

            def busy() -> bool:
                status = one.link.status
                return status is not None and any(place["state"] == "busy" for place in status.places)

            await one.listener.until(busy)
            assert one.link.status is not None
            by_name = {place["name"]: place for place in one.link.status.places}
            assert set(by_name["cpu"]) == {
                "name", "state", "job", "node", "resident_bytes", "budget_bytes", "restarts", "message", "progress_age_s",
            }  # fmt: skip
            assert set(by_name) == {"cpu", "host:0", "host:1"}
            assert (by_name["cpu"]["job"], by_name["cpu"]["node"], by_name["host:0"]["state"]) == ("a", "held", "idle")
            assert by_name["cpu"]["budget_bytes"] > 0
            assert set(one.link.status.facts) == {"ram_bytes", "memo_bytes"}
            one.open("door")
            await one.listener.end_of("a")
            await one.listener.until(lambda: not busy())
            assert isinstance(one.link.status, Status)

    run(test())


@pytest.mark.spec("I7")
def test_memory_of_idle_devices_is_freed_and_a_busy_one_is_refused(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            where = workflow("x", x=n("where"))
            before = (await one.run("a", where)).result["outputs"]
            freed = await one.link.ask("free_memory", device="cpu")
            assert freed["freed_bytes"].keys() == {"cpu", "ram"}
            assert (await one.run("b", where)).result["outputs"] != before  # a fresh process
            one.submit("c", gated("door"))
            await one.reached("door")
            with pytest.raises(Refusal, match="cpu is at a node; free its memory when that has ended") as caught:
                await one.link.ask("free_memory", device="cpu")
            assert caught.value.code == "in_use"
            assert (await one.link.ask("free_memory"))["freed_bytes"].keys() == {"ram"}
            with pytest.raises(Refusal, match='There is no device "tpu"; the devices are cpu'):
                await one.link.ask("free_memory", device="tpu")
            one.open("door")
            assert isinstance((await one.listener.end_of("c"))[0], Ended)

    run(test())


def test_a_job_under_way_gets_another_priority(home: Path) -> None:
    async def test() -> None:
        async with lab(home, host_workers=1) as one:
            one.submit("first", gated("door"))
            await one.reached("door")
            one.submit("second", workflow("second", second=n("tally", a=10)))
            one.submit("third", workflow("third", third=n("tally", a=20)))
            await one.listener.until(lambda: {"second", "third"} <= one.listener.planned.keys())
            one.link.prioritise("third", 5)
            await one.listened()
            one.open("door")
            await one.listener.end_of("second", "third")
            assert one.ran == ["held", "third", "second"]

    run(test())


def test_jobs_run_in_the_order_of_their_submission_whichever_is_planned_first(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("first", gated("door"))
            await one.reached("door")
            one.submit("second", workflow("second", s=n("slow_to_plan", name="plan"), second=n("tally", a="@s")))
            one.submit("third", workflow("third", third=n("tally", a=20)))
            await one.listener.until(lambda: "third" in one.listener.planned)
            one.open("plan")
            await one.listener.until(lambda: "second" in one.listener.planned)
            one.open("door")
            await one.listener.end_of("second", "third")
            assert one.ran == ["held", "second", "third"]

    run(test())


def test_previews_come_while_they_are_wanted(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", workflow("x", x=n("endless")))
            one.link.watch("a", True)
            await one.listener.until(lambda: any(event["event"] == "preview" for event in one.listener.events.get("a", [])))
            (picture, *_) = [event for event in one.listener.events["a"] if event["event"] == "preview"]
            assert (picture["node"], picture["image"]) == ("x", b"endless")
            one.link.cancel("a")
            assert (await one.listener.end_of("a"))[0].state == "cancelled"

    run(test())
