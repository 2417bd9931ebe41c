"""What the engine has to say, sent in batches: at once after a quiet time, else once per tick.

Whoever has something to say adds it without waiting; one thread sends. Within a batch, first come messages that were
put, then the events of all jobs in one message, then the ends of jobs: so a job is planned before it tells, and tells
all before it ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

from server.engine.failures import INTERNAL, job_problem
from server.engine.framing import encode
from server.engine.messages import Ended, Events, Tried

#: Seconds between two batches.
TICK_S: Final = 0.02


class Told(NamedTuple):
    """What a job has to tell since it was last asked, and its end, if it has ended."""

    job: str
    events: list[dict[str, Any]]  # Any: plain JSON
    tried: list[Tried]
    ended: Ended | None


class Source(Protocol):
    """A job that tells things."""

    def collect(self) -> Told:
        """What it has to tell now."""


class Outbox:
    """Collects messages and sends them from a thread of its own."""

    def __init__(self, send: Callable[[bytes], None], on_error: Callable[[Exception], object]) -> None:
        """`send` takes whole frames and may raise OSError: then nothing more is sent. `on_error` hears of mistakes of ours."""
        self._send, self._on_error = send, on_error
        self._changed = threading.Condition()
        self._messages: list[tuple[Any, ...]] = []
        self._sources: dict[Source, None] = {}
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="latentgraph-outbox", daemon=True)
        self._thread.start()

    def put(self, message: tuple[Any, ...]) -> None:  # Any: one of `messages.FROM_ENGINE`
        """Send a message with the next batch."""
        with self._changed:
            self._messages.append(message)
            self._changed.notify()

    def look_at(self, source: Source) -> None:
        """Ask a job with the next batch."""
        with self._changed:
            self._sources[source] = None
            self._changed.notify()

    def close(self, timeout_s: float) -> None:
        """Send what waits, and end; gives up after `timeout_s`."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        due = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._messages or self._sources or self._closing)
                self._changed.wait_for(lambda: self._closing, timeout=max(0.0, due - time.monotonic()))
                messages, self._messages = self._messages, []
                sources, self._sources = self._sources, {}
                closing = self._closing
            try:
                self._send(self._frames(messages, sources))
            except OSError:
                return  # the server is gone; whoever reads from it ends the process
            if closing and not messages and not sources:
                return
            due = time.monotonic() + TICK_S

    def _frames(self, messages: Iterable[tuple[Any, ...]], sources: Iterable[Source]) -> bytes:
        told = [source.collect() for source in sources]
        batch = latest([[one.job, event] for one in told for event in one.events])
        tried = [message for one in told for message in one.tried]
        ended = [one.ended for one in told if one.ended is not None]
        return b"".join(self._frame(message) for message in [*messages, *([Events(batch)] if batch else []), *tried, *ended])

    def _frame(self, message: tuple[Any, ...]) -> bytes:
        try:
            return encode(message)
        except (TypeError, ValueError) as error:
            self._on_error(error)
            # A job must end for the server, whatever is wrong with its result.
            return encode(_broken(message.job)) if isinstance(message, Ended) else b""


def _broken(job: str) -> Ended:
    return Ended(job, "failed", {"problem": job_problem("internal", INTERNAL)})


def latest(batch: list[list[Any]]) -> list[list[Any]]:  # Any: job ids and events
    """A batch without steps and pictures that a later one of the same node replaces."""
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for job, event in reversed(batch):
        if event["event"] in ("progress", "preview"):
            slot = (job, event["event"], event["node"], event["element"])
            if slot in seen:
                continue
            seen.add(slot)
        kept.append([job, event])
    kept.reverse()
    return kept
