"""How far each node of a job is: one row per node, and for mapped nodes one per element, from events or from a result.

A snapshot of any job stays small: mapped nodes show counts, and of very many nodes only `MOST_ROWS` are shown; the rest
is read in pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from graph.events import NodeStateName

#: Most rows of a snapshot.
MOST_ROWS: Final = 1000
#: Most characters of a note or a message in a row.
MOST_TEXT: Final = 2000
#: States that a node does not leave.
_SETTLED: Final = frozenset(("done", "cached", "failed", "skipped", "cancelled"))
#: What a mapped node is, by the first of these that one of its elements is.
_WORST_FIRST: Final[tuple[NodeStateName, ...]] = ("failed", "cancelled", "skipped", "done", "cached")

Plain = dict[str, Any]  # Any: plain JSON


class Progress:
    """Steps of something that runs; `eta_seconds` is the engine's, from the mean step time after the first step."""

    __slots__ = ("eta_seconds", "step", "total")

    def __init__(self, step: int, total: int, eta_seconds: float | None) -> None:
        self.step, self.total, self.eta_seconds = step, total, eta_seconds

    def json(self) -> Plain:
        """The progress as it stands in a row."""
        return {"step": self.step, "total": self.total, "eta_seconds": self.eta_seconds}


class _Step:
    """What is known of one execution: that of a plain node, or of one element of a mapped one."""

    __slots__ = ("code", "device", "message", "note", "progress", "seconds", "state")

    def __init__(self, state: NodeStateName = "waiting") -> None:
        self.state: NodeStateName = state
        self.seconds = 0.0
        self.device = self.note = self.message = self.code = ""
        self.progress: Progress | None = None

    def enter(self, event: Mapping[str, Any]) -> None:
        """Take the state that an event or a row of a result tells."""
        self.state = event["state"]
        self.seconds = event.get("seconds") or self.seconds
        self.device = event.get("device") or self.device
        self.message = shortened(event.get("message") or event.get("error") or "")
        self.note = shortened(event.get("note") or "") or self.note
        self.code = event.get("code") or ""
        if self.state != "running":
            self.progress = None

    def json(self) -> Plain:
        """What is worth telling of it; members that say nothing are left out."""
        found: Plain = {"state": self.state}
        if self.seconds:
            found["seconds"] = round(self.seconds, 6)
        if self.progress is not None:
            found["progress"] = self.progress.json()
        found |= {name: said for name in ("device", "note", "message", "code") if (said := getattr(self, name))}
        return found


class Row:
    """A node: its own step, or those of its elements."""

    __slots__ = ("counts", "elements", "id", "own", "total", "type")

    def __init__(self, id: str, type: str = "", state: NodeStateName = "waiting", total: int | None = None) -> None:
        self.id, self.type = id, type
        self.own = _Step(state)
        #: By element; empty until one is heard of.
        self.elements: dict[int, _Step] = {}
        self.counts: Counter[str] = Counter()
        #: How many elements there are, if known.
        self.total = total

    @property
    def is_mapped(self) -> bool:
        """Whether the node runs once per element."""
        return bool(self.elements) or (self.total is not None and self.total > 1)

    @property
    def state(self) -> NodeStateName:
        """The node's state; of a mapped node what its elements are, taken together."""
        if not self.elements or self.own.state in _SETTLED:
            return self.own.state
        counts = self.counts
        if counts["running"]:
            return "running"
        if sum(counts.values()) - counts["waiting"] < (self.total or 0):
            return "running"  # some have ended and others still wait
        return next((state for state in _WORST_FIRST if counts[state]), "waiting")

    def step(self, element: int | None) -> _Step:
        """The step of an element, or of the node itself."""
        if element is None:
            return self.own
        found = self.elements.get(element)
        if found is None:
            found = self.elements[element] = _Step()
            self.counts["waiting"] += 1
            self.total = max(self.total or 0, len(self.elements), element + 1)
        return found

    def enter(self, event: Mapping[str, Any]) -> None:
        """Take what an event tells."""
        step = self.step(event.get("element"))
        before = step.state
        step.enter(event)
        if step is not self.own:
            self.counts[before] -= 1
            self.counts[step.state] += 1

    def elements_json(self) -> Plain:
        """How many elements there are and how many are in each state."""
        total = max(self.total or 0, len(self.elements))
        told = {state: count for state, count in self.counts.items() if count > 0 and state != "waiting"}
        return {"total": total, "waiting": total - sum(told.values()), **told}

    def json(self) -> Plain:
        """The row as clients get it."""
        found: Plain = {"id": self.id, "type": self.type} | self.own.json()
        if not self.is_mapped:
            return found
        found["state"] = self.state
        if self.own.state not in _SETTLED or self.elements:
            found["elements"] = self.elements_json()
        running = [(element, step.progress) for element, step in self.elements.items() if step.progress is not None]
        if running:
            element, progress = running[-1]
            found["progress"] = {"element": element} | progress.json()
        if self.elements and not found.get("seconds"):
            found["seconds"] = round(sum(step.seconds for step in self.elements.values()), 6)
        return found


class Rows:
    """The rows of a job, in the order of the plan."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        #: Sentences about the run as a whole.
        self.messages: list[str] = []

    @classmethod
    def of_result(cls, nodes: Iterable[Mapping[str, Any]]) -> Rows:
        """The rows of a job that has ended, from `JobResult.nodes`."""
        rows = cls()
        for node in nodes:
            row = rows._row(node["id"])
            row.type = node.get("type") or row.type
            row.enter(node)
        return rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def get(self, id: str) -> Row | None:
        """The row of a node, if there is one."""
        return self._rows.get(id)

    def _row(self, id: str) -> Row:
        row = self._rows.get(id)
        if row is None:
            row = self._rows[id] = Row(id)
        return row

    def planned(self, nodes: Iterable[Mapping[str, Any]]) -> None:
        """Begin anew with the rows of a plan: {"id", "type", "state", "elements"} each."""
        self._rows = {
            node["id"]: Row(node["id"], node.get("type", ""), node.get("state", "waiting"), node.get("elements"))
            for node in nodes
        }
        self.messages = []

    def node(self, event: Mapping[str, Any]) -> Row:
        """Take a node's new state; gives its row."""
        row = self._row(event["node"])
        row.enter(event)
        return row

    def cached(self, ids: Iterable[str]) -> None:
        """These need not run."""
        for id in ids:
            self._row(id).own.state = "cached"

    def progress(self, event: Mapping[str, Any]) -> None:
        """Take a step of something that runs."""
        step = self._row(event["node"]).step(event.get("element"))
        step.progress = Progress(event["step"], event["total"], event.get("eta_seconds"))

    def note(self, node: str, message: str) -> None:
        """Take a sentence about a node, or about the run ("")."""
        if not node:
            self.messages.append(shortened(message))
        else:
            self._row(node).own.note = shortened(message)

    def counts(self) -> dict[str, int]:
        """How many nodes are in each state."""
        return dict(Counter(row.state for row in self))

    def shown(self) -> tuple[list[Plain], int]:
        """Rows for a snapshot, in order, and how many were left out: of too many, those that say least."""
        if len(self) <= MOST_ROWS:
            return [row.json() for row in self], 0
        telling = {row.id for row in self if row.state not in ("waiting", "cached", "done", "skipped")}
        room = MOST_ROWS - len(telling)
        shown: list[Plain] = []
        for row in self:
            if row.id in telling:
                if len(shown) < MOST_ROWS:
                    shown.append(row.json())
            elif room > 0:
                room -= 1
                shown.append(row.json())
        return shown, len(self) - len(shown)

    def page(self, state: str | None, offset: int, limit: int) -> tuple[list[Plain], int]:
        """Some of the rows in that state (all states if None), and how many there are."""
        chosen = [row for row in self if state is None or row.state == state]
        return [row.json() for row in chosen[offset : offset + limit]], len(chosen)

    def elements(self, id: str, state: str | None, offset: int, limit: int) -> tuple[list[Plain], int]:
        """Some of the elements of a mapped node, {"id", "element", "type", ...} each, and how many there are."""
        row = self._rows[id]
        chosen = [(element, step) for element, step in sorted(row.elements.items()) if state is None or step.state == state]
        page = chosen[offset : offset + limit]
        return [{"id": id, "element": element, "type": row.type} | step.json() for element, step in page], len(chosen)


def shortened(text: str) -> str:
    """The text, cut where it is longer than a row may hold."""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."
