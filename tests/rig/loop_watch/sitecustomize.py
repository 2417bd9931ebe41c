"""On PYTHONPATH of a server with RIG_LOOP_WATCH set: notes each callback of an event loop that takes long, in that file.

One line each: process, seconds of the clock, seconds of computing in the loop's thread, what it was.
"""

from __future__ import annotations

import os
import time
from asyncio import events

#: Shorter ones are not noted.
FLOOR_S = 0.02
PATH = os.environ.get("RIG_LOOP_WATCH")


def named(handle: events.Handle) -> str:
    """What was called: of a task's step the task, else the callback."""
    found = getattr(handle, "_callback", handle)
    return repr(getattr(found, "__self__", found))[:500]


if PATH:
    run = events.Handle._run

    def timed(handle: events.Handle) -> None:
        began, computed = time.perf_counter(), time.thread_time()
        run(handle)
        took, used = time.perf_counter() - began, time.thread_time() - computed
        if took >= FLOOR_S:
            with open(PATH, "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {took:.3f} {used:.3f} {named(handle)}\n")

    events.Handle._run = timed  # type: ignore[method-assign]
