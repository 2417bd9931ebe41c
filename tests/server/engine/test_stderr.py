"""Whatever an engine writes to stderr becomes lines of the log that are safe to show."""

from __future__ import annotations

import asyncio
import io
import json
import logging

import pytest

from server.engine.log import Log
from server.engine.stderr import LONGEST_JSON, LONGEST_LINE, log_lines

LOG = logging.getLogger("latentgraph.test_stderr")


def logged(caplog: pytest.LogCaptureFixture, *pieces: bytes) -> list[logging.LogRecord]:
    async def read() -> None:
        stream = asyncio.StreamReader()
        for piece in pieces:
            stream.feed_data(piece)
        stream.feed_eof()
        await log_lines(stream, LOG)

    with caplog.at_level("DEBUG", logger=LOG.name):
        asyncio.run(read())
    return caplog.records


def test_lines_are_logged_one_by_one_however_they_arrive(caplog: pytest.LogCaptureFixture) -> None:
    records = logged(caplog, b"one\ntw", b"o\n\nlast")
    assert [record.getMessage() for record in records] == ["one", "two", "last"]


def test_a_line_without_end_is_cut_and_takes_no_memory(caplog: pytest.LogCaptureFixture) -> None:
    (record, after) = logged(caplog, *[b"x" * 10_000] * 100, b"\nafter\n")
    assert record.getMessage() == "x" * LONGEST_LINE + " ..."
    assert after.getMessage() == "after"


def test_control_characters_and_broken_utf8_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    (record,) = logged(caplog, b"\x1b[2J \xff ok \r\x00\n")
    assert record.getMessage() == "\\x1b[2J \\xff ok \\r\\x00"


def test_a_line_of_the_engine_has_level_job_and_trace(caplog: pytest.LogCaptureFixture) -> None:
    line = json.dumps({"level": "error", "message": "bad \x1b", "job": "j", "trace": "a\nb"}).encode()
    (record,) = logged(caplog, line + b"\n")
    assert (record.levelname, record.getMessage(), record.job, record.trace) == ("ERROR", "bad \\x1b", "j", "a\nb")  # type: ignore[attr-defined]


def test_of_a_mistake_the_engine_writes_the_kind_and_the_place_but_no_message() -> None:
    stream, said = io.StringIO(), "what a user wrote"
    with pytest.raises(KeyError) as caught:
        _ = {}[said]  # type: ignore[var-annotated]
    Log(stream).mistake(caught.value, "j")
    line = json.loads(stream.getvalue())
    assert (line["level"], line["message"], line["job"]) == ("error", "KeyError", "j")
    assert line["trace"].endswith("\nKeyError")
    assert said not in stream.getvalue()


def test_what_only_looks_like_a_line_of_the_engine_is_text(caplog: pytest.LogCaptureFixture) -> None:
    records = logged(caplog, b'{"level": oops\n', b'{"level": 5}\n', b'{"level": "fatal", "message": 7}\n')
    assert [(record.levelname, record.getMessage()) for record in records] == [
        ("INFO", '{"level": oops'),
        ("INFO", '{"level": 5}'),
        ("INFO", "7"),
    ]


def test_a_cut_json_line_is_text(caplog: pytest.LogCaptureFixture) -> None:
    (record,) = logged(caplog, b'{"level": "info", "message": "' + b"x" * LONGEST_JSON + b'"}\n')
    assert record.getMessage().endswith(" ...")
