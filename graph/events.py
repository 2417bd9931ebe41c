"""What a run tells while it goes: typed records, batched per tick. `time` is seconds since the run started."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

#: The same words everywhere: the command line, the API, the page.
NodeStateName = Literal["waiting", "cached", "running", "done", "failed", "skipped", "cancelled"]
RunStateName = Literal["queued", "running", "done", "failed", "cancelled"]


#: Previews are made at the first step and then at most this often.
PREVIEW_SECONDS: Final = 0.2


class NodeEvent(NamedTuple):
    """A node (or one element of a mapped node) entered a state."""

    node: str
    element: int | None
    state: NodeStateName
    time: float
    device: str = ""
    seconds: float = 0.0
    message: str = ""


class CachedEvent(NamedTuple):
    """These nodes need not run: they, or something below them, are remembered. One event for all of them."""

    nodes: list[str]
    time: float


class ProgressEvent(NamedTuple):
    """`step` of `total` steps are done; `eta_seconds` from the mean step time after the first step, None before that."""

    node: str
    element: int | None
    step: int
    total: int
    eta_seconds: float | None
    time: float


class PreviewEvent(NamedTuple):
    """An encoded picture (WebP, at most 512 px) of a node's unfinished result."""

    node: str
    element: int | None
    image: bytes
    time: float


class NoteEvent(NamedTuple):
    """One sentence about a node's result or about the run ("the disk is full: nothing more is cached")."""

    node: str
    message: str
    time: float


class TriedEvent(NamedTuple):
    """How often in a row a process died under the run is now `tries`: one more, or 0 once a result of it was kept.

    `message` says how the process under the node died; "" when the count went back to 0.
    """

    node: str
    element: int | None
    tries: int
    message: str
    time: float


class RunEvent(NamedTuple):
    """The run entered a state."""

    state: RunStateName
    time: float


Event = NodeEvent | CachedEvent | ProgressEvent | PreviewEvent | NoteEvent | TriedEvent | RunEvent
EventKind = Literal["node", "cached", "progress", "preview", "note", "tried", "run"]

_KINDS: Final[dict[type[Event], EventKind]] = {
    NodeEvent: "node",
    CachedEvent: "cached",
    ProgressEvent: "progress",
    PreviewEvent: "preview",
    NoteEvent: "note",
    TriedEvent: "tried",
    RunEvent: "run",
}


def kind_of(event: Event) -> EventKind:
    """The kind of an event in one word, for messages."""
    return _KINDS[type(event)]
