"""What a job is: what was accepted, its state, and how it ended. Plain data, the same in the store and in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
STATES: Final[tuple[str, ...]] = get_args(JobState)
#: States that never change again.
FINAL: Final = frozenset(("done", "failed", "cancelled"))
#: After so many tries that each ended with the death of the process its node ran in, a job is failed (`worker_lost`).
MOST_TRIES: Final = 3

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
#: Two letters for each ten bits.
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]


def new_id(now_ms: int | None = None) -> str:
    """A job id: 26 letters and digits (ULID in small letters); ids made later sort later, to the millisecond."""
    number = (now_ms if now_ms is not None else time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


class NewJob(NamedTuple):
    """What is asked to be accepted: already validated, seeds drawn, cost estimated. Nothing of it changes later."""

    id: str
    #: The saved workflow's name, or that of the document; "" if it has none. For show and for filters.
    workflow: str
    #: The document as canonical JSON, named inputs set: what runs, whatever happens to the saved workflow.
    document: bytes
    inputs: Mapping[str, Any]  # Any: plain JSON, as given
    targets: tuple[str, ...] | None
    #: The drawn seeds by "node.port".
    seeds: Mapping[str, int]
    #: SHA-256 (hex) of the uploads that the document names: these are kept as long as the job is.
    files: tuple[str, ...] = ()
    priority: int = 0
    client: str = ""
    #: Estimated device-seconds.
    cost_s: float = 0.0
    retry_of: str | None = None
    #: Name of a webhook target of the settings file.
    webhook: str | None = None
    #: The Idempotency-Key and a digest of the request it came with.
    idempotency: tuple[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the store has it. Times are seconds since 1970, for show only: order is by `position`."""

    id: str
    workflow: str
    state: JobState
    inputs: Mapping[str, Any]  # Any: plain JSON
    targets: tuple[str, ...] | None
    seeds: Mapping[str, int]
    files: tuple[str, ...]
    priority: int
    client: str
    #: Place among the queued jobs of its priority and client; smaller goes first. Moves change it.
    position: float
    cost_s: float
    #: Tries in a row that ended with the death of a process.
    tries: int
    created: float
    started: float | None = None
    ended: float | None = None
    retry_of: str | None = None
    webhook: str | None = None
    #: What came out; None until it has ended. See `JobResult`.
    result: JobResult | None = None

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINAL


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended, written in one transaction with its final state.

    `nodes`: one row per node or element as `graph.active.NodeResult` has it, without what is for logs only (trace,
    key); `outputs`: the named outputs, plain values as they are and others described ({"type", "digest", ...});
    `problem`: the problem document of a failed job.
    """

    seconds: float = 0.0
    #: Seconds on devices, which the client is charged with.
    device_seconds: float = 0.0
    nodes: tuple[Mapping[str, Any], ...] = ()  # Any: plain JSON, here and below
    outputs: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    problem: Mapping[str, Any] | None = None


class JobFilter(NamedTuple):
    """Which jobs a list is to hold: newest first, at most `limit`, those accepted before `before` (a page's `next`)."""

    states: tuple[JobState, ...] = ()
    client: str | None = None
    workflow: str | None = None
    before: int | None = None
    limit: int = 50
    retry_of: str | None = None


class JobPage(NamedTuple):
    """A part of the list of jobs. Their results lack `nodes`; `next` is the `before` of the next page, None on the last."""

    jobs: list[Job]
    next: int | None


class Accepted(NamedTuple):
    """What was accepted; `replayed` says that the Idempotency-Key was known and the job is the one of the first time."""

    job: Job
    replayed: bool = False


class Delivery(NamedTuple):
    """A webhook that is due: how often it was tried already, and which job's end it tells."""

    id: int
    job: str
    target: str
    attempts: int


def problem_of(code: str, title: str, detail: str, **facts: Any) -> dict[str, Any]:  # Any: plain JSON
    """The problem document of a failed job: like `Refusal.document`, without a status."""
    return {"type": f"urn:latentgraph:problem:{code}", "title": title, "code": code, "detail": detail, **facts}


def lost_problem(tries: int) -> dict[str, Any]:  # Any: plain JSON
    """The problem of a job that is given up because a process died under it each time."""
    detail = (
        f"The process that ran a node of this job died {tries} times in a row, so the job was given up. See `history`; "
        "start it again once the cause is mended."
    )
    return problem_of("worker_lost", "The process died under it", detail)
