"""The desk takes jobs in and sees them through: accepted durably, dispatched in order, ended once.

It owns the store and the queue and listens to the engine. It knows nothing of HTTP, and of subscribers only `HubListener`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from graph.document import Document
from server.jobs.record import Accepted, Job, JobFilter, JobPage


class Order(NamedTuple):
    """What is asked for. `document` is resolved by the route (`workflow` is the saved one's name, or "" for the document's own)."""

    document: Document
    workflow: str = ""
    inputs: Mapping[str, Any] = {}  # Any: plain JSON
    targets: tuple[str, ...] | None = None
    priority: int = 0
    client: str = ""
    webhook: str | None = None
    #: The Idempotency-Key and a digest of the request body it came with.
    idempotency: tuple[str, bytes] | None = None


class QueueFacts(NamedTuple):
    """The queue in numbers: jobs and estimated device-seconds that wait or are under way, and what is the most."""

    queued: int
    running: int
    seconds: float
    most_jobs: int
    most_seconds: float
    is_paused: bool
    is_draining: bool


class HubListener(Protocol):
    """Whom the desk tells. Called on the event loop, after what is told was committed; must not block."""

    def job_changed(self, job: Job) -> None:
        """A job was accepted, started, moved or requeued."""

    def planned(self, job: str, nodes: Sequence[Mapping[str, Any]]) -> None:
        """A running job was planned: rows as in `messages.Planned`."""

    def events(self, job: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Events of a running job, as in `messages.Events`."""

    def ended(self, job: Job) -> None:
        """A job has ended; its result is in the store."""


class Desk:
    """Accepts, orders, dispatches and ends jobs. Every method is called on the event loop; refusals are `Refusal`."""

    async def submit(self, order: Order) -> Accepted:
        """Check an order and accept it durably."""
        raise NotImplementedError

    async def get(self, id: str) -> Job:
        """A job, with its result if it has ended. Refused with `not_found`."""
        raise NotImplementedError

    async def document(self, id: str) -> bytes:
        """The frozen document of a job (canonical JSON). Refused with `not_found`."""
        raise NotImplementedError

    async def page(self, filters: JobFilter) -> JobPage:
        """A part of the list of jobs, newest first; results without `nodes`."""
        raise NotImplementedError

    async def cancel(self, id: str) -> Job:
        """End a job: a queued one at once; of a running one the engine is asked (the answer then says `running`)."""
        raise NotImplementedError

    async def retry(self, id: str, client: str, idempotency: tuple[str, bytes] | None = None) -> Accepted:
        """Accept a new job from an ended one's frozen copy: same document, inputs, targets and seeds."""
        raise NotImplementedError

    async def move(self, id: str, *, before: str | None = None, after: str | None = None, priority: int | None = None) -> Job:
        """Give a job another place among its client's queued jobs, or another priority."""
        raise NotImplementedError

    async def delete(self, id: str) -> None:
        """Forget an ended job."""
        raise NotImplementedError

    async def pause(self) -> None:
        """Dispatch nothing until `resume`, across restarts; what is under way goes on."""
        raise NotImplementedError

    async def resume(self) -> None:
        """Dispatch again."""
        raise NotImplementedError

    def queue_facts(self) -> QueueFacts:
        """The queue in numbers."""
        raise NotImplementedError

    def waiting(self, limit: int = 1000) -> list[str]:
        """The ids of queued jobs in the order in which they are expected to start."""
        raise NotImplementedError

    def drain(self) -> None:
        """Refuse new jobs and dispatch nothing more; what is under way goes on and its end is recorded."""
        raise NotImplementedError

    async def start(self) -> None:
        """Take up what the store holds: jobs that ran when the last server ended are queued again, in their order."""
        raise NotImplementedError

    async def close(self) -> None:
        """Wait for the writes under way and close the store."""
        raise NotImplementedError
