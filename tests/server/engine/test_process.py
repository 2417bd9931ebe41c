"""The engine process does what the server says: jobs from submit to end, questions meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from server.problems import Refusal
from tests.graph.engine_kit import n, workflow
from tests.server.engine.link_kit import Lab, gated, lab, processes_of, run, submission, tallied

pytestmark = pytest.mark.slow


def test_a_job_is_planned_tells_its_nodes_and_ends_with_its_outputs(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            ended = await one.run("a", tallied(start=1, nodes=2))
            assert ended.state == "done"
            assert ended.result["outputs"] == {"n1": 3}
            assert [(row["id"], row["state"], row["device"]) for row in ended.result["nodes"]] == [
                ("n0", "done", "cpu"),
                ("n1", "done", "cpu"),
            ]
            assert ended.result["device_seconds"] > 0
            assert "problem" not in ended.result
            assert one.listener.planned["a"].nodes == [
                {"id": "n0", "type": "tally", "state": "waiting", "elements": 1},
                {"id": "n1", "type": "tally", "state": "waiting", "elements": 1},
            ]
            states = [(event["node"], event["state"]) for event in one.listener.events["a"] if event["event"] == "node"]
            assert states == [("n0", "running"), ("n0", "done"), ("n1", "running"), ("n1", "done")]
            order = [type(said).__name__ for said in one.listener.said if type(said).__name__ in ("Planned", "tuple", "Ended")]
            assert (order[0], order[-1]) == ("Planned", "Ended")

    run(test())


def test_a_second_job_gets_what_the_first_remembered(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            await one.run("a", tallied())
            ended = await one.run("b", tallied())
            assert ended.result["outputs"] == {"n1": 3}
            assert {row["state"] for row in ended.result["nodes"]} == {"cached"}
            (digest,) = ended.result["nodes"][1]["outputs"]  # what a value of it can be asked for by
            assert digest == one.listener.ended["a"].result["nodes"][1]["outputs"][0]
            assert {row["state"] for row in one.listener.planned["b"].nodes} == {"cached"}
            assert one.ran == ["n0", "n1"]

    run(test())


def test_two_jobs_under_way_share_the_same_work(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", gated("door"))
            await one.reached("door")
            one.submit("b", gated("door"))
            await one.listener.until(lambda: "b" in one.listener.planned)
            one.open("door")
            ended = await one.listener.end_of("a", "b")
            assert [end.result["outputs"] for end in ended] == [{"held": 0}] * 2
            assert one.ran == ["held"]

    run(test())


def test_submitting_twice_is_harmless_before_and_after_the_end(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            for _ in range(2):
                one.submit("a", gated("door"))
            await one.reached("door")
            one.submit("a", gated("door"))
            one.open("door")
            await one.listener.end_of("a")
            one.submit("a", tallied())
            await one.run("b", tallied(start=5))
            assert one.listener.ends == 2
            assert one.ran == ["held", "n0", "n1"]

    run(test())


def test_what_planning_refuses_ends_the_job_with_every_problem(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            ended = await one.run("a", workflow("x", x=n("tally", b=3), y=n("talyl")))
            problem = ended.result["problem"]
            assert (ended.state, problem["code"], problem["title"]) == ("failed", "invalid_workflow", "The workflow cannot run")
            assert {one["node"] for one in problem["problems"]} == {"x", "y"}
            assert 'Did you mean "tally"?' in str(problem["problems"])

    run(test())


def test_a_node_that_fails_is_told_without_the_folders_of_this_machine(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            ended = await one.run("a", workflow("x", x=n("open_file")))
            problem = ended.result["problem"]
            assert (ended.state, problem["code"], problem["node"]) == ("failed", "node_failed", "x")
            assert "LATENTGRAPH_HOME/secrets/key.txt" in problem["detail"]
            assert str(home) not in str(one.listener.said)
            assert "Traceback" not in str(one.listener.said)

    run(test())


def test_a_mistake_of_ours_ends_the_job_with_a_fixed_sentence(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            ended = await one.run("a", workflow("x", x=n("draw", seed={"random": True})))  # seeds are drawn before
            assert ended.result["problem"] == {
                "type": "urn:latentgraph:problem:internal",
                "title": "A mistake of the server",
                "code": "internal",
                "detail": "The engine made a mistake and could not carry the job out; its log says more. Retry the job.",
            }
            assert (await one.run("b", tallied())).state == "done"

    run(test())


def test_given_seeds_and_targets_hold(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            document = workflow("x", x=n("draw", seed={"random": True}), y=n("tally", a=1))
            ended = await one.run("a", document, seeds={"x.seed": 12})
            assert ended.result["outputs"] == {"x": 12.0}
            ended = await one.run("b", document, seeds={"x.seed": 12}, targets=["y"])
            assert ended.result["outputs"] == {"y.value": 2}
            assert one.listener.planned["b"].nodes[0] == {"id": "x", "type": "draw", "state": "skipped", "elements": 1}

    run(test())


def test_a_large_output_is_only_described(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            document = workflow({"x": "x", "y": "y.tensor"}, x=n("long_text", times=100_000), y=n("make_tensor", fill=1, size=10))
            outputs = (await one.run("a", document)).result["outputs"]
            assert {**outputs["x"], "digest": ""} == {"type": "text", "digest": "", "truncated": True}
            assert {**outputs["y"], "digest": ""} == {"type": "Tensor", "data": {"dtype": "U8", "shape": [10]}, "digest": ""}
            assert len(outputs["y"]["digest"]) == 64

    run(test())


# ---- cancelling ----


def test_a_running_job_is_cancelled(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", gated("door"))
            await one.reached("door")
            one.link.cancel("a")
            (ended,) = await one.listener.end_of("a")
            assert (ended.state, ended.result["outputs"]) == ("cancelled", {})

    run(test())


def test_a_job_that_is_being_planned_is_cancelled_at_once(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", workflow("x", s=n("slow_to_plan", name="plan"), x=n("tally", a="@s")))
            await one.reached("plan")
            one.link.cancel("a")
            (ended,) = await one.listener.end_of("a")
            assert (ended.state, ended.result) == ("cancelled", {})
            one.open("plan")
            await one.run("b", tallied())
            assert "x" not in one.ran
            assert one.listener.ends == 2

    run(test())


def test_a_cancel_that_comes_with_the_submit_or_after_the_end_is_harmless(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", tallied())
            one.link.cancel("a")
            (ended,) = await one.listener.end_of("a")
            assert ended.state == "cancelled"
            one.link.cancel("a")
            one.link.cancel("never heard of")
            assert (await one.run("b", tallied())).state == "done"
            assert one.listener.ends == 2

    run(test())


def test_cancelling_one_of_two_that_share_work_leaves_the_other(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", gated("door"))
            one.submit("b", gated("door"))
            await one.listener.until(lambda: {"a", "b"} <= one.listener.planned.keys())
            await one.reached("door")
            one.link.cancel("a")
            await one.listener.end_of("a")
            one.open("door")
            (ended,) = await one.listener.end_of("b")
            assert ended.state == "done"

    run(test())


# ---- questions ----


async def planned(one: Lab, document: str, **arguments: object) -> dict[str, str]:
    answer = await one.link.ask("plan", document=document.encode(), targets=None, **arguments)
    return {node["id"]: node["state"] for node in answer["nodes"]}


def test_a_plan_is_made_while_a_job_runs_and_others_are_slow_to_plan(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            await one.run("a", tallied())
            one.submit("b", gated("door"))
            await one.reached("door")
            for job in ("c", "d", "e"):
                one.submit(job, workflow("x", s=n("slow_to_plan", name=job), x=n("tally", a="@s")))
            await one.reached("c")
            answer = await one.link.ask("plan", document=tallied(nodes=3).encode(), targets=None)
            assert [node["state"] for node in answer["nodes"]] == ["cached", "cached", "run"]
            assert set(answer) == {"nodes", "seconds", "peak_bytes", "absent"}
            for gate in ("door", "c", "d", "e"):
                one.open(gate)
            await one.listener.end_of("b", "c", "d", "e")

    run(test())


def test_a_plan_draws_no_seed_and_runs_nothing(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            document = workflow("y", x=n("draw", seed={"random": True}), y=n("show", value="@x"), z=n("tally", a=1))
            answer = await one.link.ask("plan", document=document.encode(), targets=None)
            assert [(node["id"], node["reason"]) for node in answer["nodes"]] == [("x", "random seed"), ("y", "not remembered")]
            assert one.ran == []

    run(test())


def test_a_question_about_a_bad_workflow_is_refused_with_its_problems(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            with pytest.raises(Refusal, match="x has the unknown node type") as caught:
                await one.link.ask("plan", document=workflow("x", x=n("talyl")).encode(), targets=None)
            assert (caught.value.code, caught.value.node) == ("invalid_workflow", "x")
            with pytest.raises(Refusal, match='there is no node "z"'):
                await one.link.ask("why", document=tallied().encode(), node="z")
            with pytest.raises(Refusal, match='no answer to "life"; ask one of plan, why'):
                await one.link.ask("life")

    run(test())


def test_why_and_the_cache_are_told(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            await one.run("a", tallied())
            answer = await one.link.ask("why", document=tallied().encode(), node="n1")
            assert [reason["message"] for reason in answer["reasons"]] == [
                "n1 is remembered: nothing that its result depends on has changed."
            ]
            assert (await one.link.ask("cache_stats"))["memo"]["quarantined"] == 0
            assert (await one.link.ask("cache_verify"))["damaged"] == []
            assert (await one.link.ask("cache_clear", disk_cache=False))["freed_bytes"] > 0
            assert await planned(one, tallied()) == {"n0": "run", "n1": "run"}

    run(test())


# ---- the end ----


@pytest.mark.spec("R-O01")
def test_quit_lets_what_runs_end_and_starts_nothing_new(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", gated("door"))
            one.submit("b", workflow("x", s=n("slow_to_plan", name="plan"), x=n("tally", a="@s")))
            await one.reached("door")
            await one.reached("plan")
            stopping = asyncio.create_task(one.link.stop(60.0))
            await one.listened()
            assert not one.link.submit(submission("late", tallied()))
            one.open("plan")
            one.open("door")
            await stopping
            assert [(end.job, end.state) for end in one.listener.ended.values()] == [("a", "done")]
            assert one.ran == ["held"]
            assert processes_of(home) == []
            assert list((home / "spool").iterdir()) == []

    run(test())


@pytest.mark.spec("R-O01")
def test_what_does_not_end_in_the_grace_time_is_stopped_and_not_told_as_ended(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            one.submit("a", workflow("held", x=n("tally", a=1), held=n("gate", name="door", a="@x")))
            await one.reached("door")
            await one.link.stop(0.0)
            assert one.listener.ended == {}
            assert processes_of(home) == []
        async with lab(home) as one:  # what it had done is remembered
            one.open("door")
            assert (await one.run("a", workflow("held", x=n("tally", a=1), held=n("gate", name="door", a="@x")))).state == "done"
            assert one.ran == ["x", "held", "held"]

    run(test())
