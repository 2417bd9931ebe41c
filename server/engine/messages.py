"""What server and engine say to each other: one NamedTuple per message, framed msgpack on a socket pair.

A frame is a 4-byte big-endian length and the msgpack of `[name, *fields]`. Every message about a job names it, so that
what comes late is recognised; sending `Submit` twice for one job is harmless.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

#: Grows when a message changes; the two sides are started from one source, so a difference is an error.
PROTOCOL: Final = 1

# Any, in all of these: plain JSON.


class Submit(NamedTuple):
    """Carry this job out. `tries`: how often in a row a process died under it already."""

    job: str
    document: bytes
    targets: list[str] | None
    seeds: dict[str, int]
    priority: int
    client: str
    tries: int


class Cancel(NamedTuple):
    """End this job; unknown ones are nothing to do."""

    job: str


class Prioritise(NamedTuple):
    """Give a job under way another priority."""

    job: str
    priority: int


class Watch(NamedTuple):
    """Whether previews of this job are wanted."""

    job: str
    wanted: bool


class Ask(NamedTuple):
    """A question with an answer: "plan", "why", "cache_stats", "cache_verify", "cache_clear", "free_memory", "holders".

    plan: {"document": bytes, "targets": [...] | None} -> what `latentgraph plan --json` gives, without "workflow".
    why: the same with "node" -> {"reasons": [...]}.
    cache_clear: {"disk_cache": bool}. free_memory: {"device": name | None}: drops what is resident and not in use.
    holders: {"model": name} -> {"devices": [...]}: those that hold weights of it.
    """

    number: int
    question: str
    arguments: dict[str, Any]


class Ping(NamedTuple):
    """Answered with `Pong` at once, by a thread that does nothing else long."""

    number: int


class Quit(NamedTuple):
    """Start nothing new; end when what runs has ended or after `grace_s`, cancelling it."""

    grace_s: float


class Hello(NamedTuple):
    """The engine is ready."""

    protocol: int
    devices: list[str]
    environment: str
    #: The catalogue file it works with is the one in the data folder; this is a digest of it.
    catalogue: str


class Failed(NamedTuple):
    """The engine cannot start, and why (a sentence)."""

    message: str


class Pong(NamedTuple):
    """The answer to `Ping`."""

    number: int


class Planned(NamedTuple):
    """A job was planned and has begun: one row per node, {"id", "type", "state": "cached" | "waiting" | "skipped", "elements": n}."""

    job: str
    nodes: list[dict[str, Any]]


class Events(NamedTuple):
    """What jobs under way told since the last batch: [job, event]; an event is {"event": kind, ...fields of graph.events}.

    Kinds: node, cached, progress, preview ("image": bytes), note. Numbers and times as in graph.events.
    """

    batch: list[list[Any]]


class Ended(NamedTuple):
    """A job has ended: state "done", "failed" or "cancelled", and the fields of `server.jobs.record.JobResult`."""

    job: str
    state: str
    result: dict[str, Any]


class Tried(NamedTuple):
    """The number of tries in a row that ended with a death is now this (0 after a node of the job was kept)."""

    job: str
    tries: int
    message: str


class Answer(NamedTuple):
    """The answer to an `Ask`."""

    number: int
    value: dict[str, Any]


class Refused(NamedTuple):
    """An `Ask` was refused: a problem document (`server.problems`)."""

    number: int
    problem: dict[str, Any]


class Status(NamedTuple):
    """Places and memory, sent when something changed, at most once a second.

    `places`: {"name": "cuda:0" | "host:0", "state": "idle" | "busy" | "starting" | "waiting" | "disabled", "job", "node",
    "resident_bytes", "budget_bytes", "restarts", "message", "progress_age_s"} each; `facts`: {"memo_bytes", "ram_bytes", ...}.
    """

    places: list[dict[str, Any]]
    facts: dict[str, Any]


FROM_SERVER: Final = (Submit, Cancel, Prioritise, Watch, Ask, Ping, Quit)
FROM_ENGINE: Final = (Hello, Failed, Pong, Planned, Events, Ended, Tried, Answer, Refused, Status)
