"""What the engine says goes out in order, in batches, and whatever is wrong with one message."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from server.engine import messages
from server.engine.framing import Vocabulary, receive
from server.engine.messages import Ended, Events, Planned, Pong, Tried
from server.engine.outbox import Outbox, Told, latest
from tests.graph.engine_kit import PATIENCE


class Sent:
    """Collects frames; the first send can be held back."""

    def __init__(self, hold: bool = False) -> None:
        self.batches: list[bytes] = []
        self.inside, self.go = threading.Event(), threading.Event()
        if not hold:
            self.go.set()

    def __call__(self, frames: bytes) -> None:
        self.inside.set()
        assert self.go.wait(PATIENCE)
        self.batches.append(frames)

    def messages(self) -> list[Any]:
        async def read() -> list[Any]:
            reader, found = asyncio.StreamReader(), []
            reader.feed_data(b"".join(self.batches))
            reader.feed_eof()
            while not reader.at_eof():
                found.append(await receive(reader, Vocabulary(messages.FROM_ENGINE)))
            return found

        return asyncio.run(read())


class Job:
    def __init__(self, told: Told) -> None:
        self.told = told

    def collect(self) -> Told:
        told, self.told = self.told, Told(self.told.job, [], [], None)
        return told


def step(at: int, node: str = "n") -> dict[str, Any]:
    return {"event": "progress", "node": node, "element": None, "step": at}


def state(name: str, node: str = "n") -> dict[str, Any]:
    return {"event": "node", "node": node, "element": None, "state": name}


def test_a_job_is_planned_before_it_tells_and_tells_before_it_ends() -> None:
    sent = Sent(hold=True)
    outbox = Outbox(sent, lambda error: None)
    outbox.put(Pong(1))
    assert sent.inside.wait(PATIENCE)  # what follows goes into one batch
    outbox.look_at(Job(Told("a", [state("done")], [Tried("a", 0, "")], Ended("a", "done", {}))))
    outbox.put(Planned("a", []))
    outbox.put(Pong(2))
    sent.go.set()
    outbox.close(PATIENCE)
    assert len(sent.batches) <= 3  # the last may be empty
    assert sent.messages() == [
        Pong(1),
        Planned("a", []),
        Pong(2),
        Events([["a", state("done")]]),
        Tried("a", 0, ""),
        Ended("a", "done", {}),
    ]


def test_only_the_last_step_and_picture_of_a_node_is_sent() -> None:
    picture = {"event": "preview", "node": "n", "element": None, "image": b"1"}
    batch = [
        ["a", state("running")],
        ["a", step(1)],
        ["b", step(1)],
        ["a", picture],
        ["a", step(2)],
        ["a", step(1, "m")],
        ["a", {**picture, "image": b"2"}],
        ["a", state("done")],
    ]
    assert latest(batch) == [batch[0], batch[2], batch[4], batch[5], batch[6], batch[7]]


def test_a_message_that_cannot_be_sent_is_left_out_and_a_job_ends_all_the_same() -> None:
    sent, errors = Sent(), list[Exception]()
    outbox = Outbox(sent, errors.append)
    outbox.put(messages.Answer(1, {"a": object()}))
    outbox.put(Ended("a", "done", {"outputs": object()}))
    outbox.put(Pong(3))
    outbox.close(PATIENCE)
    ended, pong = sent.messages()
    assert (ended.job, ended.state, ended.result["problem"]["code"]) == ("a", "failed", "internal")
    assert pong == Pong(3)
    assert [type(error) for error in errors] == [TypeError, TypeError]


def test_without_a_server_the_outbox_ends() -> None:
    def broken(frames: bytes) -> None:
        raise BrokenPipeError

    outbox = Outbox(broken, lambda error: None)
    outbox.put(Pong(1))
    outbox.close(PATIENCE)
    assert not outbox._thread.is_alive()


@pytest.mark.parametrize("count", [3])
def test_all_of_many_threads_is_sent(count: int) -> None:
    sent = Sent()
    outbox = Outbox(sent, lambda error: None)
    threads = [
        threading.Thread(target=lambda at=at: [outbox.put(Pong(at * 1000 + one)) for one in range(200)]) for at in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outbox.close(PATIENCE)
    numbers = [pong.number for pong in sent.messages()]
    assert sorted(numbers) == [at * 1000 + one for at in range(count) for one in range(200)]
    for at in range(count):
        assert [number for number in numbers if number // 1000 == at] == [at * 1000 + one for one in range(200)]
