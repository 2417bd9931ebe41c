"""The link notices whatever goes wrong with an engine, and there is another one."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from graph.child import child_environment
from server.engine import link as link_module
from server.engine import messages
from server.engine.link import EngineLink, pauses, refusal_from
from server.engine.messages import Hello, Pong
from server.problems import Refusal
from tests.graph.engine_kit import n, workflow
from tests.server.engine.link_kit import (
    PATIENCE,
    Listener,
    file_appears,
    gated,
    lab,
    options,
    processes_of,
    run,
    submission,
    tallied,
)
from tests.server.engine.odd_engine import ODD

pytestmark = pytest.mark.slow


def held(job: str) -> str:
    """Two nodes that are remembered, then one that waits."""
    return workflow("end", first=n("tally", a=hash(job) % 1000), held=n("gate", name=job, a="@first"), end=n("tally", a="@held"))


@pytest.mark.spec("R-G08")
def test_the_jobs_of_a_killed_engine_end_with_the_next_one(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            documents = {job: held(job) for job in ("a", "b", "c")}
            for job, document in documents.items():
                one.submit(job, document)
                await one.reached("a")  # and the others wait for the device
            await one.listener.until(lambda: documents.keys() <= one.listener.planned.keys())
            before, workers = one.pid, set(processes_of(home))
            os.kill(before, signal.SIGKILL)
            await one.listener.until(lambda: "it was killed by signal 9" in one.listener.said)
            assert set(processes_of(home)) & workers == set()
            await one.ready(2)
            assert one.pid != before
            for job, document in documents.items():
                one.submit(job, document)
                one.open(job)
            ended = await one.listener.end_of("a", "b", "c")
            assert [end.state for end in ended] == ["done"] * 3
            assert one.listener.ends == 3
            assert one.ran.count("first") == 3  # what was remembered did not run again
            assert one.link.restarts == 1
        assert processes_of(home) == []
        assert list((home / "spool").iterdir()) == []

    run(test())


@pytest.mark.spec("R-G07")
def test_an_engine_that_answers_no_ping_is_killed_and_replaced(home: Path) -> None:
    async def test() -> None:
        async with lab(home, link={"ping_s": 0.1, "ping_deadline_s": 4.0}) as one:
            one.submit("a", gated("door"))
            await one.reached("door")
            os.kill(one.pid, signal.SIGSTOP)
            await one.listener.until(lambda: "it did not answer 40 pings in a row" in one.listener.said)
            await one.ready(2)
            one.submit("a", gated("door"))
            one.open("door")
            assert (await one.listener.end_of("a"))[0].state == "done"

    run(test())


def test_pings_are_answered_while_the_node_types_are_read(home: Path) -> None:
    async def test() -> None:
        async with lab(home, library="gated_equipment", wait=False, link={"ping_s": 0.05, "ping_deadline_s": 1.0}) as one:
            heard: list[object] = []
            hear = one.link._hear
            one.link._hear = lambda message: (heard.append(message), hear(message))  # type: ignore[assignment, func-returns-value]
            await one.reached("equipment")
            async with asyncio.timeout(PATIENCE):
                while sum(isinstance(one, Pong) for one in heard) < 40:
                    await asyncio.sleep(0.01)
            assert (one.link.state, one.link.restarts) == ("starting", 0)
            assert not one.link.submit(submission("early", tallied()))
            with pytest.raises(Refusal, match="The engine is not running; it is being started again"):
                await one.link.ask("cache_stats")
            one.open("equipment")
            await one.ready()
            assert (await one.run("a", tallied())).state == "done"

    run(test())


@pytest.mark.spec("R-I12")
@pytest.mark.parametrize("how", ODD)
def test_an_engine_that_sends_what_is_no_message_is_replaced(home: Path, how: str) -> None:
    async def test() -> None:
        listener = Listener()
        link = EngineLink(options(home, how), listener, module="tests.server.engine.odd_engine")
        await link.start()
        try:
            await listener.until(lambda: link.restarts == 1 and link.state == "ready")
            lost = [said for said in listener.said if isinstance(said, str)]
            if how == "protocol":
                assert lost == []  # it never was the engine
            else:
                assert [reason.startswith("it sent what is no message: ") for reason in lost] == [True]
            link.submit(submission("a", tallied()))
            assert (await listener.end_of("a"))[0].state == "done"
        finally:
            await link.stop(0.0)

    run(test())


@pytest.mark.spec("R-G08")
def test_starts_back_off_while_engines_die(home: Path) -> None:
    async def test() -> None:
        slept: list[float] = []
        enough = asyncio.Event()

        async def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 7:
                enough.set()

        link = EngineLink(options(home, "exit"), Listener(), module="tests.server.engine.odd_engine", sleep=sleep)
        await link.start()
        async with asyncio.timeout(PATIENCE):
            await enough.wait()
        assert slept[:7] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]  # after the first death it starts at once
        assert link.failure == "it closed the connection (exit code 3)"
        await link.stop(0.0)
        assert link.state == "stopped"

    run(test())


def test_pauses_grow_to_half_a_minute() -> None:
    waits = pauses()
    assert [next(waits) for _ in range(8)] == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_an_engine_that_was_well_for_long_starts_at_once_when_it_dies(home: Path) -> None:
    async def test() -> None:
        now = [0.0]
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async with lab(home, link={"clock": lambda: now[0], "sleep": sleep}) as one:
            for life in range(2, 5):
                now[0] += 61.0
                os.kill(one.pid, signal.SIGKILL)
                await one.ready(life)
            assert slept == []
            os.kill(one.pid, signal.SIGKILL)
            await one.ready(5)
            assert slept == [1.0]

    run(test())


def test_why_an_engine_cannot_start_is_told(home: Path) -> None:
    async def test() -> None:
        stuck = asyncio.Event()

        async def sleep(seconds: float) -> None:
            stuck.set()
            await asyncio.Event().wait()

        async with lab(home, library="broken_equipment", wait=False, link={"sleep": sleep}) as one:
            async with asyncio.timeout(PATIENCE):
                await stuck.wait()
            assert one.link.failure == "it cannot start: the disk is made of cheese"
            assert one.link.state == "waiting"

    run(test())


def test_a_question_that_takes_too_long_is_refused(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            document = workflow("x", s=n("slow_to_plan", name="plan"), x=n("tally", a="@s")).encode()
            with pytest.raises(Refusal, match="The engine did not answer within 0.01 s; try again") as caught:
                await one.link.ask("plan", document=document, timeout_s=0.01)
            assert caught.value.code == "not_ready_in_time"
            one.open("plan")
            assert (await one.link.ask("plan", document=document))["absent"] == {}

    run(test())


def test_a_question_to_an_engine_that_dies_is_refused(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            document = workflow("x", s=n("slow_to_plan", name="plan"), x=n("tally", a="@s")).encode()
            asked = asyncio.create_task(one.link.ask("plan", document=document))
            await one.reached("plan")
            os.kill(one.pid, signal.SIGKILL)
            with pytest.raises(Refusal, match="The engine is not running") as caught:
                await asked
            assert caught.value.code == "engine_unavailable"

    run(test())


def test_a_reload_waits_for_running_jobs_and_takes_no_new_ones(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:
            before = one.pid
            one.submit("a", gated("door"))
            await one.reached("door")
            one.link.reload()
            assert not one.link.submit(submission("b", tallied()))
            one.open("door")
            assert (await one.listener.end_of("a"))[0].state == "done"
            await one.ready(2)
            assert "the node types are read again" in one.listener.said
            assert one.pid != before
            one.link.reload()  # nothing is under way
            await one.ready(3)
            assert (await one.run("b", tallied())).state == "done"

    run(test())


def test_an_engine_that_does_not_end_for_a_reload_is_killed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answered pings and took nothing, so every job waited for ever."""
    monkeypatch.setattr(link_module, "ENDING_S", 0.05)

    async def test() -> None:
        link = EngineLink(options(home), Listener())
        killed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        monkeypatch.setattr(link, "_send", lambda message: None)  # it does not hear
        monkeypatch.setattr(link, "_kill", killed.set_result)
        link._process, link._writer = object(), object()  # type: ignore[assignment]  # looked at only
        link.reload()
        assert await killed == "it did not end within 0.05 s of being told to"

    run(test())


def test_a_mistake_of_ours_while_an_engine_is_looked_after_is_followed_by_another_engine(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor ended with it, and there was never an engine again."""
    lives: list[int] = []

    async def test() -> None:
        listener = Listener()
        link = EngineLink(options(home), listener)
        live = link._live

        async def fail_once() -> tuple[str, float | None]:
            lives.append(1)
            if len(lives) == 1:
                raise RuntimeError("can't start new thread")
            return await live()

        monkeypatch.setattr(link, "_live", fail_once)
        await link.start()
        await listener.until(lambda: listener.count(Hello) == 1)
        assert link.restarts == 1
        await link.stop(0.0)

    run(test())


def test_ids_of_ended_jobs_are_remembered_so_far_and_no_further(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "REMEMBERED", 3)
    link = EngineLink(options(home), Listener())
    for number in range(10):
        link._submitted.add(f"job{number}")
        link._hear(messages.Ended(f"job{number}", "done", {}))
    assert list(link._ended) == ["job7", "job8", "job9"]


@pytest.mark.spec("R-I12")
def test_what_is_said_of_jobs_that_are_not_with_the_engine_is_not_heard(home: Path) -> None:
    listener = Listener()
    link = EngineLink(options(home), listener)
    link._submitted.add("mine")
    for job in ("another", "mine"):
        link._hear(messages.Planned(job, []))
        link._hear(messages.Events([[job, {"event": "note"}]]))
        link._hear(messages.Tried(job, 1, ""))
        link._hear(messages.Ended(job, "done", {}))
        link._hear(messages.Ended(job, "failed", {}))
        link._hear(messages.Answer(99, {}))
    heard = [said[1] if type(said) is tuple else said for said in listener.said]
    assert heard == [
        messages.Planned("mine", []),
        [["mine", {"event": "note"}]],
        messages.Tried("mine", 1, ""),
        messages.Ended("mine", "done", {}),
    ]


def test_a_mistake_of_a_listener_costs_no_engine(home: Path) -> None:
    async def test() -> None:
        async with lab(home) as one:

            def broken(message: object) -> None:
                raise KeyError("oops")

            one.listener.on_planned = broken  # type: ignore[method-assign]
            assert (await one.run("a", tallied())).state == "done"
            assert one.link.restarts == 0

    run(test())


def test_what_nodes_print_is_logged_with_control_characters_shown(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with lab(home) as one:
            await one.run("a", workflow("x", x=n("speak", text="hello \x1b[31mred")))

    with caplog.at_level("INFO", logger="latentgraph.engine"):
        run(test())
    assert "hello \\x1b[31mred" in [record.getMessage() for record in caplog.records]


def test_a_failure_is_logged_with_its_job_code_and_place(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with lab(home) as one:
            await one.run("the_job", workflow("x", x=n("fail_if", a=1.0, fail=True)))

    with caplog.at_level("INFO", logger="latentgraph.engine"):
        run(test())
    (record,) = [record for record in caplog.records if "failed" in record.getMessage()]
    assert record.getMessage() == "fail_if failed: node_failed. GET /v1/jobs/the_job says more."
    assert (record.job, record.node) == ("the_job", "x")  # type: ignore[attr-defined]
    assert "in fail_if" in record.trace  # type: ignore[attr-defined]
    assert record.trace.endswith("\nValueError")  # type: ignore[attr-defined]


@pytest.mark.spec("L10")
def test_the_log_quotes_neither_the_inputs_of_a_failed_node_nor_its_message(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with lab(home) as one:
            ended = await one.run("a", workflow("x", x=n("complain", text="a canary of the user")))
            assert ended.result["problem"]["detail"].count("canary") == 2  # the message and the inputs: the job is the user's

    with caplog.at_level("DEBUG"):
        run(test())
    assert [record for record in caplog.records if getattr(record, "node", "") == "x"]
    assert [record for record in caplog.records if "canary" in str(vars(record))] == []


# ---- the server is gone ----


@pytest.mark.spec("R-G08")
@pytest.mark.parametrize("last", [b"", b"\xff\xff\xff\xff", b"\0\0\0\1\xc1"], ids=["closed", "too large", "noise"])
def test_an_engine_whose_server_is_gone_or_broken_is_gone_with_its_workers(home: Path, last: bytes) -> None:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", "-m", "server.engine.process", str(theirs.fileno()), options(home).to_json()]
    child = subprocess.Popen(command, pass_fds=(theirs.fileno(),), env=child_environment(), start_new_session=True)
    theirs.close()

    async def test() -> None:
        from server.engine.framing import Vocabulary, encode, receive
        from server.engine.messages import FROM_ENGINE

        reader, writer = await asyncio.open_connection(sock=ours)
        assert isinstance(await receive(reader, Vocabulary(FROM_ENGINE)), Hello)
        writer.write(encode(submission("a", gated("door"))))
        await file_appears(home / "door.reached")
        assert len(processes_of(home)) >= 2
        writer.write(last)
        if not last:
            writer.close()
        async with asyncio.timeout(PATIENCE):
            while processes_of(home):
                await asyncio.sleep(0.01)

    run(test())
    child.wait(PATIENCE)
    assert list((home / "spool").iterdir()) == []


@pytest.mark.spec("R-G08")
def test_a_killed_server_leaves_no_process_behind(home: Path) -> None:
    program = f"""
import asyncio
from pathlib import Path
from tests.server.engine.link_kit import lab, gated
async def main():
    async with lab(Path({str(home)!r})) as one:
        one.submit("a", gated("door"))
        await asyncio.Event().wait()
asyncio.run(main())
"""
    server = subprocess.Popen([sys.executable, "-c", program], env=child_environment())

    async def test() -> None:
        await file_appears(home / "door.reached")
        assert len(processes_of(home)) >= 3
        server.kill()
        server.wait()
        async with asyncio.timeout(PATIENCE):
            while processes_of(home):
                await asyncio.sleep(0.01)

    run(test())


def test_a_refusal_survives_the_way_as_a_document() -> None:
    refusal = Refusal("in_use", "It is in use.", node="a", retry_after_s=3.0, holder="b")
    again = refusal_from(refusal.document())
    assert again.document() == refusal.document()
