"""Frames hold messages of ours and nothing else."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.engine import messages
from server.engine.framing import LARGEST_FRAME, BadFrame, Pipe, Vocabulary, encode, receive
from tests.server.engine.odd_engine import ODD, frame

FROM_ENGINE, FROM_SERVER = Vocabulary(messages.FROM_ENGINE), Vocabulary(messages.FROM_SERVER)

EXAMPLES = [
    messages.Submit("j", b'{"a": 1}', ["x"], {"a.b": 2**53 - 1}, 1, "me", 0),
    messages.Submit("j", b"", None, {}, -1, "", 2),
    messages.Cancel("j"),
    messages.Prioritise("j", 3),
    messages.Watch("j", True),
    messages.Ask(1, "plan", {"document": b"x", "targets": None}),
    messages.Ping(7),
    messages.Quit(2.5),
    messages.Quit(2),
    messages.Hello(1, ["cpu"], "torch 2", "abc"),
    messages.Failed("no"),
    messages.Pong(7),
    messages.Planned("j", [{"id": "n", "type": "t", "state": "cached", "elements": 1}]),
    messages.Events([["j", {"event": "preview", "image": b"x", "time": 0.5}]]),
    messages.Ended("j", "done", {"outputs": {"a": [1, None, "ä"]}}),
    messages.Tried("j", 1, "killed"),
    messages.Answer(1, {"a": 1}),
    messages.Refused(1, {"code": "internal"}),
    messages.Status([], {}),
]


async def read(data: bytes, vocabulary: Vocabulary) -> tuple[Any, ...]:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await receive(reader, vocabulary)


def read_blocking(data: bytes, vocabulary: Vocabulary) -> tuple[Any, ...]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=lambda: (ours.sendall(data), ours.shutdown(socket.SHUT_WR)))
        sender.start()
        try:
            return Pipe(theirs, vocabulary).receive()
        finally:
            sender.join()


def read_both(data: bytes, vocabulary: Vocabulary) -> tuple[Any, ...]:
    """What one end gets, after making sure that the other gets the same, or refuses with the same words."""
    outcomes = [said_by(lambda: read_blocking(data, vocabulary)), said_by(lambda: asyncio.run(read(data, vocabulary)))]
    assert outcomes[0] == outcomes[1]
    return read_blocking(data, vocabulary)


def said_by(attempt: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...] | str:
    try:
        return attempt()
    except BadFrame as error:
        return str(error)


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was(message: tuple[Any, ...]) -> None:
    vocabulary = FROM_SERVER if type(message) in messages.FROM_SERVER else FROM_ENGINE
    found = read_both(encode(message), vocabulary)
    assert (type(found), found) == (type(message), message)


def test_every_message_has_an_example() -> None:
    assert {type(message) for message in EXAMPLES} == {*messages.FROM_SERVER, *messages.FROM_ENGINE}


def test_the_end_of_the_stream_between_frames_is_no_mistake() -> None:
    with pytest.raises(EOFError):
        asyncio.run(read(b"", FROM_ENGINE))
    with pytest.raises(EOFError):
        read_blocking(b"", FROM_ENGINE)


SAID = {
    "too_large": "a frame says that it has 2,147,483,648 bytes; the most is 67,108,864",
    "cut": "the stream ended inside a frame",
    "header": "the stream ended inside a frame",
    "unknown": "is none of Hello, Failed, Pong",
    "wrong_way": "is none of Hello, Failed, Pong",
    "fields": "Pong came with 2 fields; it has 1",
    "type": "Pong.number came as str",
    "extension": "cannot be read",
    "timestamp": "cannot be read",
    "no_list": "is none of Hello",
    "empty": "a frame of 0 bytes cannot be read",
    "noise": "cannot be read",
    "deep": "cannot be read",
    "more": "cannot be read",
}


@pytest.mark.spec("R-I12")
@pytest.mark.parametrize("how", SAID)
def test_what_is_no_message_is_refused_with_what_is_wrong(how: str) -> None:
    with pytest.raises(BadFrame, match=SAID[how]):
        read_both(ODD[how], FROM_ENGINE)


def test_a_bool_is_no_number_and_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadFrame, match="Pong.number came as bool"):
        read_both(frame(msgpack.packb(["Pong", True])), FROM_ENGINE)
    with pytest.raises(BadFrame, match="cannot be read"):
        read_both(frame(msgpack.packb(["Answer", 1, {5: 1}])), FROM_ENGINE)


@pytest.mark.spec("R-I12")
@given(st.binary(max_size=200))
def test_noise_is_a_bad_frame_or_a_message_and_nothing_else(body: bytes) -> None:
    with suppress(BadFrame):
        assert type(FROM_ENGINE.read(body)) in messages.FROM_ENGINE


@pytest.mark.spec("R-I12")
@given(st.sampled_from(EXAMPLES), st.data())
def test_a_spoilt_message_is_a_bad_frame_or_a_message(message: tuple[Any, ...], data: st.DataObject) -> None:
    body = bytearray(encode(message)[4:])
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    for vocabulary in (FROM_ENGINE, FROM_SERVER):
        with suppress(BadFrame):
            vocabulary.read(bytes(body))


def test_what_a_frame_cannot_say_is_said_in_another_way() -> None:
    found = read_both(encode(messages.Failed("half \ud800 pair")), FROM_ENGINE)
    assert found == messages.Failed("half \\ud800 pair")
    assert read_both(encode(messages.Answer(1, {"n": 2**70})), FROM_ENGINE) == messages.Answer(1, {"n": hex(2**70)})


def test_a_message_that_is_too_long_or_not_plain_is_not_sent() -> None:
    with pytest.raises(ValueError, match=f"is too long for a frame of {LARGEST_FRAME:,}"):
        encode(messages.Failed("x" * LARGEST_FRAME))
    with pytest.raises(TypeError, match="a set is no part of a message"):
        encode(messages.Answer(1, {"a": {1}}))
