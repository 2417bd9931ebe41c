"""Where an error came from, for logs: the places in the code, the kinds of error, and the system's own words for it.

The messages of errors are left out: whoever raises may quote what a user wrote, and no log holds that.
"""

from __future__ import annotations

import os
import traceback


def trace_of(error: BaseException) -> str:
    """The traceback of an error, after those of the errors that led to it, without their messages."""
    return "\nwhich led to\n".join(
        ["".join(traceback.format_tb(one.__traceback__)) + kind_of(one) for one in reversed(_backwards(error))]
    )


def kind_of(error: BaseException) -> str:
    """The name of an error's type, and what the system or SQLite says of its number: "OSError: No space left on device"."""
    kind = type(error).__name__
    if isinstance(error, OSError) and isinstance(error.errno, int):
        return f"{kind}: {os.strerror(error.errno)}"
    if type(error).__module__ == "sqlite3" and hasattr(error, "sqlite_errorname"):
        return f"{kind}: {error.sqlite_errorname}"
    return kind


def _backwards(error: BaseException) -> list[BaseException]:
    """The error, then what led to it, step by step."""
    found, seen = [error], {id(error)}
    while True:
        last = found[-1]
        before = last.__cause__ if last.__cause__ is not None or last.__suppress_context__ else last.__context__
        if before is None or id(before) in seen:
            return found
        found.append(before)
        seen.add(id(before))
