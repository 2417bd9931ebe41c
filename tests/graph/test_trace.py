"""What a log is told of an error: where, what kind, never what it says."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from graph.trace import kind_of, trace_of

SAID = "canary of a user"


def fall() -> None:
    raise ValueError(SAID)


def fall_again() -> None:
    try:
        fall()
    except ValueError as error:
        raise RuntimeError(SAID) from error


def test_it_shows_the_places_and_kinds_of_all_that_led_to_it_and_no_message() -> None:
    with pytest.raises(RuntimeError, match=SAID) as caught:
        fall_again()
    caught.value.add_note(SAID)
    first, second = trace_of(caught.value).split("\nwhich led to\n")
    assert ("in fall\n" in first, first.splitlines()[-1]) == (True, "ValueError")
    assert ("in fall_again\n" in second, second.splitlines()[-1]) == (True, "RuntimeError")
    assert SAID not in first + second


def test_what_was_left_out_on_purpose_is_left_out() -> None:
    hidden = RuntimeError()
    hidden.__context__, hidden.__suppress_context__ = ValueError(), True
    assert trace_of(hidden) == "RuntimeError"


def test_errors_that_led_to_each_other_end() -> None:
    one, other = ValueError(), KeyError()
    one.__cause__, other.__cause__ = other, one
    assert trace_of(one) == "KeyError\nwhich led to\nValueError"


def test_of_the_system_and_sqlite_the_reason_is_told_without_names() -> None:
    with pytest.raises(OSError, match=SAID) as caught:
        Path(f"/{SAID}").read_bytes()
    assert kind_of(caught.value) == "FileNotFoundError: No such file or directory"
    with pytest.raises(sqlite3.OperationalError, match=SAID) as failed:
        sqlite3.connect(":memory:").execute(f'SELECT * FROM "{SAID}"')
    assert kind_of(failed.value) == "OperationalError: SQLITE_ERROR"
    assert kind_of(OSError(SAID)) == "OSError"
