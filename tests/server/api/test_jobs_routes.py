"""Jobs over HTTP: what is accepted, what is told of it, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph.errors import Problem, WorkflowError
from server.api.services import Services
from server.health import Health
from server.jobs.record import Job, JobResult
from server.problems import Refusal
from tests.server.api.fakes import DOCUMENT, a_node, a_step, with_desk
from tests.server.api.kit import Served, run


async def submit(server: Served, headers: dict[str, str] | None = None, **body: Any) -> tuple[int, Any, Any]:
    return await server.ask("POST", "/v1/jobs", headers=server.bearer | (headers or {}), json={"workflow": DOCUMENT, **body})


async def read(server: Served, path: str) -> Any:
    status, _, body = await server.ask("GET", path, headers=server.bearer)
    assert status == 200, body
    return body


async def act(server: Served, method: str, path: str, **body: Any) -> tuple[int, Any]:
    options: dict[str, Any] = {"json": body} if body or path.endswith("/retry") else {}
    status, _, found = await server.ask(method, path, headers=server.bearer, **options)
    return status, found


@pytest.mark.spec("I12")
def test_a_submission_is_accepted_with_its_seeds_and_its_address(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            status, headers, body = await submit(server, inputs={"prompt": "a dog"}, priority=3, client="ann")
            assert (status, headers["Location"]) == (202, f"/v1/jobs/{body['id']}")
            assert (body["state"], body["seeds"], body["workflow"], body["client"], body["priority"]) == (
                "queued",
                {"text.seed": 7},
                "portrait",
                "ann",
                3,
            )
            assert (body["position"], body["estimated_seconds"], body["links"]["events"]) == (
                1,
                2.0,
                f"/v1/jobs/{body['id']}/events",
            )
            document = await read(server, body["links"]["document"])
            assert document["nodes"]["text"]["inputs"]["text"] == "a dog"

    run(check())


def test_a_saved_workflow_runs_by_its_name(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            status, _, body = await submit(server, workflow="portrait", targets=["text", "text.text"])
            assert (status, body["workflow"], body["targets"]) == (202, "portrait", ["text", "text.text"])
            status, _, problem = await submit(server, workflow="nobody")
            assert (status, problem["code"], problem["detail"]) == (404, "not_found", 'There is no workflow "nobody".')

    run(check())


@pytest.mark.spec("R-C06")
def test_the_same_submission_with_its_key_is_one_job(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            key = {"Idempotency-Key": "k1"}
            status, headers, first = await submit(server, key)
            assert (status, "Idempotency-Replayed" in headers) == (202, False)
            status, headers, again = await submit(server, key)
            assert (status, headers["Idempotency-Replayed"], again["id"]) == (200, "true", first["id"])
            status, _, problem = await submit(server, key, priority=1)
            assert (status, problem["code"], len(desk.jobs)) == (422, "idempotency_mismatch", 1)

    run(check())


OBSTACLES: dict[str, tuple[Callable[[Services], None], int]] = {
    "the workflow is gone": (lambda services: setattr(services.workflows, "names", ()), 404),
    "the webhook is gone": (lambda services: setattr(services.webhooks, "names", ()), 422),
    "the disk is full": (lambda services: setattr(services, "health", Health(services.health._home, 2**62)), 507),
    "the server is to end": (lambda services: setattr(services.health, "is_draining", True), 503),
}


@pytest.mark.spec("R-C06")
@pytest.mark.proves(6)
@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_known_key_is_answered_whatever_new_work_is_refused_for(tmp_path: Path, obstacle: str) -> None:
    """A client that lost its 202 was told "no such workflow" while its job ran."""
    place, refused = OBSTACLES[obstacle]
    asked: dict[str, Any] = {"workflow": "portrait", "webhook": "hook"}

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, first = await submit(server, {"Idempotency-Key": "k1"}, **asked)
            place(server.services)
            status, headers, again = await submit(server, {"Idempotency-Key": "k1"}, **asked)
            assert (status, headers["Idempotency-Replayed"], again["id"]) == (200, "true", first["id"])
            assert (await submit(server, {"Idempotency-Key": "k2"}, **asked))[0] == refused
            assert (await submit(server, **asked))[0] == refused
            assert list(desk.jobs) == [first["id"]]

    run(check())


def test_a_known_retry_is_answered_on_a_full_disk(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            desk.end(job["id"])
            status, first = await retry(server, job["id"], {"Idempotency-Key": "k1"})
            assert status == 202
            server.services.health = Health(tmp_path, 2**62)
            assert await retry(server, job["id"], {"Idempotency-Key": "k1"}) == (200, first)
            for headers in ({"Idempotency-Key": "k2"}, {}):
                status, problem = await retry(server, job["id"], headers)
                assert (status, problem["code"]) == (507, "disk_full")

    run(check())


async def retry(server: Served, id: str, headers: dict[str, str]) -> tuple[int, Any]:
    status, _, body = await server.ask("POST", f"/v1/jobs/{id}/retry", headers=server.bearer | headers, json={})
    return status, body


@pytest.mark.parametrize(
    ("problem", "body", "pointer"),
    [
        (Problem("unknown_type", "m", "text"), {}, "/workflow/nodes/text"),
        (Problem("bad_value", "m", "text", "text"), {}, "/workflow/nodes/text/inputs/text"),
        (Problem("bad_value", "m", "text", "text"), {"inputs": {"prompt": 5}}, "/inputs/prompt"),
        (Problem("bad_value", "m", "text", "text"), {"inputs": {"prompt": 5}, "workflow": "portrait"}, "/inputs/prompt"),
        (Problem("bad_value", "m", "text", "other"), {"inputs": {"prompt": 5}}, "/workflow/nodes/text/inputs"),
        (Problem("bad_value", "m", "text", "text"), {"workflow": "portrait"}, "/workflow"),
        (Problem("unknown_input", "m", port="a/b~c"), {"inputs": {"prompt": "", "a/b~c": 1}}, "/inputs/a~1b~0c"),
        (Problem("bad_named_input", "m", port="prompt"), {"inputs": {"prompt": {"link": "a.b"}}}, "/inputs/prompt"),
        (Problem("bad_named_output", "m", port="text"), {"inputs": {"text": 1}}, "/workflow/outputs/text"),
        (Problem("unknown_target", "m", "txt"), {"targets": ["txt"]}, "/targets"),
        (Problem("unknown_target", "m", "text", "more"), {"targets": ["text.more"]}, "/targets"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
def test_what_is_wrong_with_a_workflow_is_refused_with_its_place_in_the_body(
    tmp_path: Path, problem: Problem, body: Any, pointer: str, headers: dict[str, str]
) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            desk.refusal = Refusal.of_workflow(WorkflowError([problem]))
            status, _, found = await submit(server, headers, **body)
            assert (status, found["code"], found["pointer"]) == (422, "invalid_workflow", pointer)

    run(check())


@pytest.mark.parametrize("route", ["jobs", "workflows/plan"])
def test_no_target_at_all_is_refused_with_advice(tmp_path: Path, route: str) -> None:
    """It was accepted, ran nothing, and was done without an output."""

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            body = {"workflow": DOCUMENT, "targets": []}
            status, _, problem = await server.ask("POST", f"/v1/{route}", headers=server.bearer, json=body)
            assert (status, problem["code"], problem["pointer"], desk.jobs) == (422, "invalid", "/targets", {})
            assert problem["detail"] == (
                "The body's /targets cannot be used: it is empty; name at least one node or port, or leave it out for the named "
                "outputs and every effect. /v1/docs shows its form."
            )

    run(check())


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        ({"workflow": 5}, 422, "invalid", "/workflow"),
        ({"workflow": "../x"}, 422, "invalid", "/workflow"),
        ({"priority": 1.5}, 422, "invalid", "/priority"),
        ({"priority": 101}, 422, "invalid", "/priority"),
        ({"client": "x" * 65}, 422, "invalid", "/client"),
        ({"client": "a\nb"}, 422, "invalid", "/client"),
        ({"inputs": []}, 422, "invalid", "/inputs"),
        ({"targets": ["x"] * 1001}, 422, "invalid", "/targets"),
        ({"webhook": "unknown"}, 422, "invalid", "/webhook"),
        ({"also": 1}, 422, "invalid", "/also"),
        ({"workflow": {"nodes": {"A": 1}}}, 422, "invalid_workflow", "/workflow"),
        ({"workflow": DOCUMENT | {"nodes": {"a": 1}}}, 422, "invalid_workflow", "/workflow/nodes/a"),
    ],
)
def test_what_cannot_be_a_job_is_refused_with_its_place(
    tmp_path: Path, body: Any, status: int, code: str, pointer: str | None
) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            found, _, problem = await submit(server, **body)
            assert (found, problem["code"], problem.get("pointer"), desk.jobs) == (status, code, pointer, {})

    run(check())


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"workflow": "a/b"}, 'The body\'s /workflow is "a/b". Write the name of a workflow: 1 to 128 letters,'),
        ({"workflow": 5}, "The body's /workflow is 5. Write an object or a text."),
        ({"input": {}}, "The body's /input is not known here. Known: client, inputs, priority, targets, webhook, workflow. Did you mean"),
    ],
)  # fmt: skip
def test_a_submission_that_does_not_fit_is_told_in_words(tmp_path: Path, body: Any, detail: str) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            status, _, problem = await submit(server, **body)
            assert (status, problem["detail"].startswith(detail)) == (422, True), problem["detail"]

    run(check())


def test_a_full_queue_says_when_to_come_back(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            desk.refusal = Refusal("queue_full", "The queue holds 10 jobs. Come back later.", retry_after_s=7)
            status, headers, problem = await submit(server)
            assert (status, headers["Retry-After"], problem["code"]) == (429, "7", "queue_full")

    run(check())


@pytest.mark.spec("I3", "I13")
def test_a_job_shows_its_nodes_while_it_runs_and_its_outputs_when_it_has_ended(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            path = job["links"]["self"]
            desk.play(job["id"])
            desk.tell(job["id"], a_node("running", device="cpu"), a_step(4))
            running = await read(server, path)
            assert (running["state"], running["started"], running["position"]) == ("running", 1001.0, None)
            assert running["nodes"] == [
                {
                    "id": "text",
                    "type": "Text",
                    "state": "running",
                    "device": "cpu",
                    "progress": {"step": 4, "total": 10, "eta_seconds": 1.5},
                }
            ]
            desk.end(job["id"])
            live = await read(server, path)
            assert (live["state"], live["outputs"], live["seconds"]) == ("done", {"text": "a cat"}, 1.0)
            assert live["nodes"] == [{"id": "text", "type": "Text", "state": "done", "seconds": 0.1}]
            server.services.hub.deleted(job["id"])  # from now on the store is asked
            assert await read(server, path) == live

    run(check())


@pytest.mark.spec("I2")
def test_no_poll_sees_an_end_without_an_outcome(tmp_path: Path) -> None:
    """The hub may lag behind the store, and the store behind nothing: state and outcome come from one record."""

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            for state in ("done", "failed", "cancelled"):
                _, _, job = await submit(server)
                desk.play(job["id"])
                seen = []
                result = JobResult(
                    1.0, 1.0, (), {"text": "x"}, problem={"code": "node_failed", "detail": "no"} if state == "failed" else None
                )
                for step in (lambda: None, lambda: desk.end(job["id"], state, result), lambda: None):
                    step()
                    seen.append(await read(server, job["links"]["self"]))
                assert [one["state"] for one in seen] == ["running", state, state]
                assert [one["outputs"] for one in seen] == [{}, {"text": "x"}, {"text": "x"}]
                assert [one["problem"] is not None for one in seen] == [False, state == "failed", state == "failed"]
                assert [one["ended"] for one in seen] == [None, 1002.0, 1002.0]

    run(check())


@pytest.mark.spec("I2")
def test_a_job_that_ends_while_it_is_cancelled_is_answered_with_its_outcome(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            desk.play(job["id"])

            async def too_late(id: str) -> Job:
                read_before = desk.jobs[id]
                desk.end(id)
                return read_before

            desk.cancel = too_late  # type: ignore[method-assign]
            _, body = await act(server, "POST", f"/v1/jobs/{job['id']}/cancel")
            assert (body["state"], body["outputs"], body["nodes"][0]["state"]) == ("done", {"text": "a cat"}, "done")

    run(check())


@pytest.mark.spec("I10")
def test_a_failed_job_shows_its_problem_and_no_traceback(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            desk.play(job["id"])
            node = {
                "id": "text",
                "element": None,
                "type": "Text",
                "state": "failed",
                "error": "it broke",
                "code": "node_failed",
                "trace": "File /x.py",
                "key": "ab",
            }
            problem = {"code": "node_failed", "detail": "it broke", "node": "text"}
            desk.end(job["id"], "failed", JobResult(1.0, 0.0, (node,), problem=problem))
            body = await read(server, job["links"]["self"])
            assert (body["problem"], body["nodes"]) == (
                problem,
                [{"id": "text", "type": "Text", "state": "failed", "message": "it broke", "code": "node_failed"}],
            )
            assert "x.py" not in str(body)

    run(check())


@pytest.mark.spec("J4")
def test_the_list_is_filtered_and_paged_newest_first(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            ids = [(await submit(server, client="ann" if number % 2 else "bob"))[2]["id"] for number in range(5)]
            desk.end(ids[0])
            desk.play(ids[1])
            assert [job["id"] for job in (await read(server, "/v1/jobs"))["jobs"]] == ids[::-1]
            assert [job["id"] for job in (await read(server, "/v1/jobs?state=done&state=running"))["jobs"]] == [ids[1], ids[0]]
            assert [job["id"] for job in (await read(server, "/v1/jobs?client=ann"))["jobs"]] == [ids[3], ids[1]]
            pages, cursor = [], ""
            while True:
                page = await read(server, f"/v1/jobs?limit=2{cursor}")
                pages.append([job["id"] for job in page["jobs"]])
                if page["next"] is None:
                    break
                cursor = f"&cursor={page['next']}"
            assert pages == [ids[4:2:-1], ids[2:0:-1], ids[:1]]

    run(check())


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "state=ended", "cursor=-1", "cursor=x", "other=1"])
def test_a_list_that_cannot_be_is_refused(tmp_path: Path, query: str) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            status, _, problem = await server.ask("GET", f"/v1/jobs?{query}", headers=server.bearer)
            assert (status, problem["code"]) == (422, "invalid")

    run(check())


@pytest.mark.spec("I5", "I6")
def test_cancel_ends_a_queued_job_at_once_and_leaves_an_ended_one_alone(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            first, second = [(await submit(server))[2]["id"] for _ in range(2)]
            status, body = await act(server, "POST", f"/v1/jobs/{first}/cancel")
            assert (status, body["state"]) == (200, "cancelled")
            desk.play(second)
            status, body = await act(server, "POST", f"/v1/jobs/{second}/cancel")
            assert (status, body["state"]) == (200, "running")
            desk.end(second)
            status, body = await act(server, "POST", f"/v1/jobs/{second}/cancel")
            assert (status, body["code"], body["state"]) == (409, "conflict", "done")

    run(check())


def test_retry_makes_a_new_job_of_an_ended_one(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            status, problem = await act(server, "POST", f"/v1/jobs/{job['id']}/retry")
            assert (status, problem["code"]) == (409, "conflict")
            desk.play(job["id"])
            desk.end(job["id"])
            status, again = await act(server, "POST", f"/v1/jobs/{job['id']}/retry", client="bob")
            assert (status, again["retry_of"], again["seeds"], again["client"]) == (202, job["id"], job["seeds"], "bob")

    run(check())


def test_a_job_is_moved_before_another_or_given_a_priority(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            a, b, c = [(await submit(server))[2]["id"] for _ in range(3)]
            await act(server, "POST", f"/v1/jobs/{c}/move", before=a)
            assert (await read(server, "/v1/queue"))["order"] == [c, a, b]
            status, body = await act(server, "POST", f"/v1/jobs/{b}/move", priority=5)
            assert (status, body["priority"], (await read(server, "/v1/queue"))["order"]) == (200, 5, [b, c, a])
            status, problem = await act(server, "POST", f"/v1/jobs/{b}/move", before=a, priority=1)
            assert (status, problem["detail"]) == (422, "The body has 2 of before, after and priority. Give one of them.")

    run(check())


def test_an_ended_job_is_deleted_and_gone_at_once(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            path = job["links"]["self"]
            status, problem = await act(server, "DELETE", path)
            assert (status, problem["code"]) == (409, "conflict")
            desk.end(job["id"])
            assert await act(server, "DELETE", path) == (204, b"")
            status, problem = await act(server, "GET", path)
            assert (status, problem["code"]) == (404, "not_found")

    run(check())


def test_the_queue_is_paused_and_resumed(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            assert (await act(server, "POST", "/v1/queue/pause"))[1]["is_paused"] is True
            assert (await read(server, "/v1/queue"))["is_paused"] is True
            assert (await act(server, "POST", "/v1/queue/resume"))[1]["is_paused"] is False

    run(check())


@pytest.mark.spec("I13")
def test_rows_of_very_many_nodes_and_elements_are_read_in_pages(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            _, _, job = await submit(server)
            nodes = [{"id": f"n{number}", "type": "T", "state": "waiting", "elements": None} for number in range(2500)]
            desk.play(job["id"], [*nodes, {"id": "m", "type": "T", "state": "waiting", "elements": 300}])
            desk.tell(job["id"], *[a_node("done", "m", element=element) for element in range(250)])
            body = await read(server, job["links"]["self"])
            assert (len(body["nodes"]), body["omitted"], body["counts"]) == (1000, 1501, {"waiting": 2500, "running": 1})
            found, offset = [], 0
            while offset is not None:
                page = await read(server, f"{job['links']['nodes']}?limit=1000&offset={offset}")
                found += [row["id"] for row in page["rows"]]
                offset = page["next"]
            assert found == [*(node["id"] for node in nodes), "m"]
            page = await read(server, f"{job['links']['nodes']}?node=m&state=done&offset=249")
            assert (page["total"], page["rows"], page["next"]) == (
                250,
                [{"id": "m", "element": 249, "type": "T", "state": "done"}],
                None,
            )
            status, _, problem = await server.ask("GET", f"{job['links']['nodes']}?node=nobody", headers=server.bearer)
            assert (status, problem["code"]) == (404, "not_found")

    run(check())


def test_a_job_that_is_not_there_is_not_found_at_every_address(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _):
            for id in ("0" * 26, "x", "0" * 25 + "u", "..%2f" + "0" * 21):
                for method, rest in [
                    ("GET", ""),
                    ("GET", "/nodes"),
                    ("GET", "/document"),
                    ("GET", "/events"),
                    ("POST", "/cancel"),
                    ("POST", "/retry"),
                    ("DELETE", ""),
                ]:
                    status, problem = await act(server, method, f"/v1/jobs/{id}{rest}")
                    assert (status, problem["code"]) == (404, "not_found"), (id, method, rest)

    run(check())


def test_a_thread_reads_a_document_of_very_many_nodes(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk):
            nodes = {f"n{number}": {"type": "Text", "inputs": {}} for number in range(2000)}
            status, _, body = await submit(server, workflow=DOCUMENT | {"nodes": nodes, "inputs": {}, "outputs": {}})
            assert status == 202, body

    run(check())
