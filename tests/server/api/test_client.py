"""The Python client: runs workflows, lives through lost answers and restarts, and says what was refused."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from server import client as module
from server.client import AsyncClient, Client, ClientError, JobEvent, JobFailed, Unreachable, WaitedTooLong
from server.jobs.record import JobResult
from server.problems import Refusal
from tests.server.api.fakes import DOCUMENT, FakeDesk, a_node, with_desk
from tests.server.api.kit import TOKEN, Served, run

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.01,))


class Proxy:
    """A way to a server that can be cut: `cut(n)` ends the next connection after n bytes of its answer."""

    def __init__(self) -> None:
        self.target: int | None = None
        self.port = 0
        self._cut: int | None = None
        self.cuts = 0
        self.longest = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self, count: int) -> None:
        self._cut = count

    def drop_all(self) -> None:
        """Lose every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left, self._cut = self._cut, None
        self._writers.add(writer)
        try:
            if self.target is None:
                return
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            upward = asyncio.ensure_future(pump(reader, up_writer))
            sent = 0
            while data := await up_reader.read(65536):
                if left is not None and sent + len(data) >= left:
                    writer.write(data[: left - sent])
                    await writer.drain()
                    self.cuts += 1
                    break
                sent += len(data)
                self.longest = max(self.longest, sent)
                writer.write(data)
            upward.cancel()
            up_writer.close()
        except ConnectionError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxy() -> AsyncIterator[Proxy]:
    found = Proxy()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        found.drop_all()
        server.close()


@asynccontextmanager
async def behind(proxy: Proxy, home: Path, desk: FakeDesk | None = None) -> AsyncIterator[tuple[Served, FakeDesk]]:
    """A server that is reached through the proxy."""
    async with with_desk(home, desk, hosts=(f"127.0.0.1:{proxy.port}",)) as (server, desk):
        proxy.target = server.port
        try:
            yield server, desk
        finally:
            proxy.target = None
            proxy.drop_all()


@asynccontextmanager
async def with_losses(home: Path) -> AsyncIterator[tuple[Proxy, FakeDesk, AsyncClient]]:
    """A proxy that can cut answers, the desk behind it, and a client that goes through it."""
    async with proxy() as way, behind(way, home) as (_, desk), AsyncClient(f"http://127.0.0.1:{way.port}", TOKEN) as client:
        yield way, desk, client


def test_a_workflow_is_run_and_its_events_are_heard(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk), AsyncClient(server.url, TOKEN, name="ann") as client:
            desk.has_engine = True
            heard: list[JobEvent] = []
            outcome = await client.run(DOCUMENT, prompt="a dog", on_event=heard.append)
            assert (outcome.state, outcome.outputs, outcome.seeds) == ("done", {"text": "a cat"}, {"text.seed": 7})
            assert (heard[0].kind, heard[-1].kind, heard[-1].state) == ("snapshot", "end", "done")
            (job,) = desk.jobs.values()
            assert (job.inputs, job.client) == ({"prompt": "a dog"}, "ann")
            assert await client.job(outcome.id).outputs() == {"text": "a cat"}

    run(check())


def test_a_job_is_followed_cancelled_retried_and_listed(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk), AsyncClient(server.url, TOKEN) as client:
            job = await client.submit("portrait", targets=["text"], priority=2)
            assert job.accepted is not None
            assert (job.accepted.state, job.accepted.view["priority"]) == ("queued", 2)
            assert (await job.document())["nodes"]["text"]["type"] == "Text"
            assert (await job.cancel()).state == "cancelled"
            assert (await job.wait()).state == "cancelled"
            again = await job.retry()
            assert [one.id async for one in client.jobs()] == [again.id, job.id]
            assert [one.id async for one in client.jobs(states=["cancelled"])] == [job.id]
            await job.delete()
            with pytest.raises(ClientError, match="There is no job") as caught:
                await job.read()
            assert (caught.value.code, caught.value.status) == ("not_found", 404)

    run(check())


def test_a_workflow_is_a_file_a_document_or_a_saved_name(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(DOCUMENT | {"name": "mine"}))

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk), AsyncClient(server.url, TOKEN) as client:
            for workflow in (tmp_path / "mine.json", str(tmp_path / "mine.json"), DOCUMENT, "portrait"):
                await client.submit(workflow)
            assert [job.workflow for job in desk.jobs.values()] == ["mine", "mine", "portrait", "portrait"]
            with pytest.raises(FileNotFoundError):
                await client.submit("nowhere.json")

    run(check())


def test_a_refusal_is_an_error_with_its_document(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk), AsyncClient(server.url, TOKEN) as client:
            desk.refusal = Refusal("invalid_workflow", "sample.steps got 0.", node="sample", port="steps")
            with pytest.raises(ClientError, match="sample.steps got 0") as caught:
                await client.submit(DOCUMENT)
            error = caught.value
            assert (error.code, error.status, error.node, error.port, error.pointer) == (
                "invalid_workflow",
                422,
                "sample",
                "steps",
                None,
            )
            desk.refusal = Refusal("queue_full", "The queue is full.", retry_after_s=3)
            with pytest.raises(ClientError) as caught:
                await client.submit(DOCUMENT)
            assert (caught.value.code, caught.value.retry_after_s) == ("queue_full", 3)
            async with AsyncClient(server.url, "wrong" * 10) as stranger:
                with pytest.raises(ClientError) as caught:
                    await stranger.submit(DOCUMENT)
                assert caught.value.code == "unauthorized"

    run(check())


def test_a_failed_job_is_an_error_of_run_and_an_outcome_of_wait(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk), AsyncClient(server.url, TOKEN) as client:
            problem = {"code": "out_of_memory", "detail": "There is not enough memory.", "node": "text"}
            desk.has_engine = True
            desk.carry_out = lambda id: desk.end(id, "failed", JobResult(1.0, 0.0, (), problem=problem)) and None  # type: ignore[method-assign]
            with pytest.raises(JobFailed, match="There is not enough memory") as caught:
                await client.run(DOCUMENT)
            assert (caught.value.code, caught.value.node, caught.value.outcome.state) == ("out_of_memory", "text", "failed")
            outcome = await (await client.submit(DOCUMENT)).wait()
            assert (outcome.state, outcome.problem) == ("failed", problem)

    run(check())


def test_waiting_ends_in_time_and_the_job_goes_on(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk), AsyncClient(server.url, TOKEN) as client:
            job = await client.submit(DOCUMENT)
            with pytest.raises(WaitedTooLong, match="had not ended after 0.05 s. It goes on"):
                await job.wait(timeout_s=0.05)
            assert (await job.read()).state == "queued"

    run(check())


def test_a_timeout_of_the_callers_own_is_not_taken_for_the_end_of_waiting(tmp_path: Path) -> None:
    def time_out(event: JobEvent) -> None:
        raise TimeoutError("of the caller")

    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk), AsyncClient(server.url, TOKEN) as client:
            job = await client.submit(DOCUMENT)

            def wait_in_a_thread(timeout_s: float | None) -> None:
                with Client(server.url, TOKEN) as other:
                    other.job(job.id).wait(on_event=time_out, timeout_s=timeout_s)

            for timeout_s in (None, 20.0):
                for waiting in (job.wait(on_event=time_out, timeout_s=timeout_s), asyncio.to_thread(wait_in_a_thread, timeout_s)):
                    with pytest.raises(TimeoutError, match="^of the caller$") as caught:
                        await waiting
                    assert not isinstance(caught.value, WaitedTooLong)

    run(check())


def test_the_inputs_of_a_plan_and_of_a_check_are_given_as_those_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, Any]] = []

    async def fake(self: AsyncClient, method: str, path: str, **more: Any) -> Any:
        sent.append((path, more["json"]))
        return {}

    monkeypatch.setattr(AsyncClient, "_send", fake)

    async def ask() -> None:
        client = AsyncClient("http://127.0.0.1:1", TOKEN)
        await client.plan("portrait", inputs={"prompt": "a dog"}, targets=["text"], seed=3)
        await client.validate("portrait", inputs={"prompt": "a dog"}, seed=3)

    run(ask())
    with Client("http://127.0.0.1:1", TOKEN) as client:
        client.plan("portrait", inputs={"prompt": "a dog"}, targets=["text"], seed=3)
        client.validate("portrait", inputs={"prompt": "a dog"}, seed=3)
    body = {"workflow": "portrait", "inputs": {"prompt": "a dog", "seed": 3}}
    assert sent == [("/v1/workflows/plan", body | {"targets": ["text"]}), ("/v1/workflows/validate", body)] * 2


def test_a_path_given_for_an_input_is_uploaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(b"png")
    sent: list[tuple[Any, ...]] = []

    async def fake(self: AsyncClient, method: str, path: str, **more: Any) -> Any:
        sent.append((method, path, more.get("data"), more.get("headers"), more.get("json")))
        return {"sha256": "ab" * 32, "name": "cat.png"} if path == "/v1/files" else {"id": "x", "state": "queued"}

    monkeypatch.setattr(AsyncClient, "_send", fake)

    async def check() -> None:
        client = AsyncClient("http://127.0.0.1:1", TOKEN)
        await client.submit("portrait", image=picture, prompt="cat.png")
        assert sent[0][:4] == (
            "POST",
            "/v1/files",
            picture,
            {"Content-Type": "application/octet-stream", "X-File-Name": "cat.png"},
        )
        assert sent[1][4]["inputs"] == {"image": {"file": "cat.png", "sha256": "ab" * 32}, "prompt": "cat.png"}

    run(check())


def test_a_link_with_its_token_is_enough(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _), AsyncClient(f"{server.url}/#token={TOKEN}") as client:
            assert [job async for job in client.jobs()] == []

    run(check())
    with pytest.raises(ValueError, match="is no address of a server"):
        AsyncClient("127.0.0.1:8765")


def test_a_server_that_is_not_there_is_waited_for_and_then_told(tmp_path: Path) -> None:
    async def check() -> None:
        async with AsyncClient("http://127.0.0.1:1", TOKEN, patience_s=0.05) as client:
            with pytest.raises(Unreachable, match=r"No answer came from http://127.0.0.1:1 .*Is the server running there"):
                await client.nodes()
            with pytest.raises(Unreachable):
                await client.job("x").wait()

    run(check())


@pytest.mark.spec("I8", "R-L11")
def test_events_go_on_across_a_restart_of_the_server(tmp_path: Path) -> None:
    async def check() -> None:
        async with proxy() as way, AsyncClient(f"http://127.0.0.1:{way.port}", TOKEN) as client:
            async with behind(way, tmp_path / "h") as (_, desk):
                job = await client.submit(DOCUMENT)
                desk.play(job.id)
                events = job.events()
                assert (await anext(events)).kind == "snapshot"
                desk.tell(job.id, a_node("running"))
                assert (await anext(events)).state == "running"
            waiting = asyncio.ensure_future(anext(events))  # nobody is there
            async with behind(way, tmp_path / "h", desk) as (_, desk):
                desk.play(job.id)
                again = await waiting
                assert (again.kind, again.state) == ("snapshot", "running")
                desk.end(job.id)
                assert [event.kind async for event in events][-1] == "end"

    run(check())


@pytest.mark.spec("R-L11")
def test_a_lost_connection_loses_no_event(tmp_path: Path) -> None:
    async def check() -> None:
        async with (
            proxy() as way,
            AsyncClient(f"http://127.0.0.1:{way.port}", TOKEN) as client,
            behind(way, tmp_path / "h") as (_, desk),
        ):
            job = await client.submit(DOCUMENT)
            desk.play(job.id)
            events = job.events()
            first = await anext(events)
            assert first.kind == "snapshot"
            for number in range(20):
                way.drop_all()
                desk.tell(job.id, a_node("running", message=str(number)))
                event = await anext(events)
                assert (event.members["message"], event.seq) == (str(number), first.seq + number + 1)
            desk.end(job.id)
            assert [event.kind async for event in events] == ["end"]

    run(check())


async def cut_at(tmp_path: Path, places: Callable[[int], list[int]]) -> None:
    """Cut the answer to a submission at each of these bytes; every time one job is there, and the client knows it."""
    async with with_losses(tmp_path / "h") as (way, desk, client):
        await client.submit(DOCUMENT)
        await client.close()
        tried = places(way.longest)
        for place in tried:
            before = set(desk.jobs)
            way.cut(place)
            job = await client.submit(DOCUMENT)
            assert set(desk.jobs) - before == {job.id}, place
            await client.close()
        assert way.cuts == len(tried)


@pytest.mark.proves(6)
@pytest.mark.spec("R-L11", "R-C07")
def test_a_submission_whose_answer_is_cut_is_one_job(tmp_path: Path) -> None:
    run(cut_at(tmp_path, lambda length: sorted({0, 1, *range(2, length, 97), length - 1})))


@pytest.mark.long
@pytest.mark.spec("R-L11")
def test_a_submission_whose_answer_is_cut_at_any_byte_is_one_job(tmp_path: Path) -> None:
    asyncio.run(cut_at(tmp_path, lambda length: list(range(length))))


@pytest.mark.spec("R-L11")
def test_a_cancel_or_a_deletion_whose_answer_is_lost_is_none_the_less_done(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_losses(tmp_path / "h") as (way, desk, client):
            job = await client.submit(DOCUMENT)
            await client.close()
            way.cut(0)
            assert (await job.cancel()).state == "cancelled"
            await client.close()
            way.cut(0)
            await job.delete()
            assert (way.cuts, desk.jobs) == (2, {})

    run(check())


@pytest.mark.spec("R-L11")
def test_what_is_refused_though_no_answer_was_lost_stays_refused(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, _desk), AsyncClient(server.url, TOKEN) as client:
            job = await client.submit(DOCUMENT)
            await job.cancel()
            with pytest.raises(ClientError, match="The job is cancelled already"):
                await job.cancel()
            await job.delete()
            with pytest.raises(ClientError, match="There is no job"):
                await job.delete()

    run(check())


def test_a_cancel_that_is_sent_again_does_not_hide_another_end(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_losses(tmp_path / "h") as (way, desk, client):
            job = await client.submit(DOCUMENT)
            desk.end(job.id)
            await client.close()
            way.cut(0)
            with pytest.raises(ClientError, match="The job is done already"):
                await job.cancel()
            assert way.cuts == 1

    run(check())


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_download_waits_for_a_server_that_is_restarting_or_busy(tmp_path: Path, status: int) -> None:
    statuses = [status, status]

    async def listed(_: web.Request) -> web.Response:
        return web.json_response({"outputs": [{"id": "one", "file": "ring.png"}]})

    async def content(_: web.Request) -> web.Response:
        return web.Response(status=statuses.pop()) if statuses else web.Response(body=b"png")

    async def check() -> None:
        app = web.Application()
        app.add_routes([web.get("/v1/outputs", listed), web.get("/v1/outputs/one/file", content)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            async with AsyncClient(f"http://127.0.0.1:{runner.addresses[0][1]}", TOKEN) as client:
                (path,) = await client.download("job", tmp_path / "pictures")
            assert (path.name, path.read_bytes(), statuses) == ("ring.png", b"png", [])
            assert list(path.parent.iterdir()) == [path]
        finally:
            await runner.cleanup()

    run(check())


@pytest.mark.spec("R-C07")
def test_a_job_that_was_committed_and_never_told_is_found_after_a_restart(tmp_path: Path) -> None:
    """The server dies after the commit and before its answer; the client asks the next one with the same key."""

    async def check() -> None:
        async with proxy() as way, AsyncClient(f"http://127.0.0.1:{way.port}", TOKEN) as client:
            async with behind(way, tmp_path / "h") as (_, desk):
                committed = asyncio.Event()
                submit = desk.submit

                async def submit_and_die(order: Any) -> Any:
                    await submit(order)
                    committed.set()
                    await asyncio.Event().wait()

                desk.submit = submit_and_die  # type: ignore[method-assign]
                asking = asyncio.ensure_future(client.submit(DOCUMENT))
                await committed.wait()
            desk.submit = submit  # type: ignore[method-assign]
            async with behind(way, tmp_path / "h", desk):
                job = await asking
                assert list(desk.jobs) == [job.id]

    run(check())


def test_the_client_without_await_works_in_threads_and_where_a_loop_runs(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):
            desk.has_engine = True
            loop, ends = asyncio.get_running_loop(), []

            def use(client: Client) -> None:
                heard: list[tuple[str, int]] = []
                outcome = client.run(
                    DOCUMENT, prompt="a dog", on_event=lambda event: heard.append((event.kind, threading.get_ident()))
                )
                assert (outcome.state, heard[-1]) == ("done", ("end", threading.get_ident()))
                job = client.submit("portrait")
                assert [event.kind for event in job.events()][-1] == "end"
                assert (job.wait().state, job.outputs, client.job(job.id).read().state) == ("done", {"text": "a cat"}, "done")
                assert job.id in {one.id for one in client.jobs()}
                loop.call_soon_threadsafe(ends.append, outcome.id)

            def inside_a_loop(client: Client) -> None:
                async def notebook() -> None:
                    use(client)

                asyncio.run(notebook())

            with Client(server.url, TOKEN) as client:
                await asyncio.gather(
                    *(asyncio.to_thread(use, client) for _ in range(4)), asyncio.to_thread(inside_a_loop, client)
                )
            assert len(set(ends)) == 5
            with pytest.raises(RuntimeError, match="This client was closed"):
                client.nodes()

    run(check())


def test_events_may_be_left_before_the_end_and_waiting_ends_in_time(tmp_path: Path) -> None:
    async def check() -> None:
        async with with_desk(tmp_path / "h") as (server, desk):

            def use() -> str:
                with Client(server.url, TOKEN) as client:
                    job = client.submit(DOCUMENT)
                    for event in job.events():
                        assert event.kind == "snapshot"
                        break
                    for on_event in (None, lambda event: None):
                        with pytest.raises(WaitedTooLong):
                            job.wait(on_event=on_event, timeout_s=0.05)
                    return job.id

            id = await asyncio.to_thread(use)
            assert desk.jobs[id].state == "queued"

    run(check())


def test_a_program_that_forgets_to_close_its_client_ends_quietly() -> None:
    program = (
        "from server.client import Client\n"
        "client = Client('http://127.0.0.1:1', 't', patience_s=0)\n"
        "try: client.nodes()\nexcept Exception as error: print(error.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "unreachable\n", "")


def test_the_client_imports_nothing_else_of_ours_and_no_torch() -> None:
    program = "import sys, server.client; print(sorted(m for m in sys.modules if m.split('.')[0] in ('server', 'graph', 'nodes', 'torch', 'numpy', 'pydantic')))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['server', 'server.client']\n"
