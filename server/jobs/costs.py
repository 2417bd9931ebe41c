"""What a job is likely to cost: device-seconds, from the past seconds of its node types.

Help, never truth: a plan knows more (sizes, what is remembered), but it is made by the engine, and the server accepts
without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from graph.compile import Compiled
from graph.history import SAMPLES, weighted_median
from graph.spec import NodeSpec

#: Seconds of a node type that never ran.
UNKNOWN_DEVICE_S, UNKNOWN_HOST_S = 10.0, 0.01
#: What was learned is written down after so many jobs.
WRITE_EVERY: Final = 50
#: Node types that are remembered; more than any installation has.
_MOST_TYPES: Final = 10_000


class Costs:
    """Past seconds by node type; a node's elements count together. Used on the event loop only."""

    def __init__(self, past: Mapping[str, Sequence[float]]) -> None:
        self._past = {name: list(seconds)[-SAMPLES:] for name, seconds in past.items()}
        self._expected = {name: weighted_median(seconds) for name, seconds in self._past.items() if seconds}
        self._changed: set[str] = set()
        self._jobs = 0

    def seconds_of(self, spec: NodeSpec) -> float:
        """Expected device-seconds of a node of this type (recent-weighted median)."""
        if spec.light:
            return 0.0
        known = self._expected.get(spec.id)
        if known is None:
            known = UNKNOWN_DEVICE_S if spec.place == "device" else UNKNOWN_HOST_S
        return known * (spec.devices if spec.place == "device" else 1)

    def of(self, compiled: Compiled, roots: Iterable[int]) -> float:
        """Expected device-seconds of the nodes with these indices and all that they need, if nothing is remembered."""
        wanted, stack = set[int](), list(roots)
        while stack:
            at = stack.pop()
            if at not in wanted:
                wanted.add(at)
                stack.extend(link.node for link in compiled.links[at].values())
        return sum(self.seconds_of(compiled.specs[at]) for at in wanted)

    def learn(self, nodes: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:  # Any: plain JSON
        """Learn from the nodes of a job that ended; what is to be written down now, often nothing."""
        seconds: dict[tuple[str, str], float] = {}
        partly = set[tuple[str, str]]()
        for row in nodes:
            key = (row["type"], row["id"])
            if row["state"] == "done" and row.get("note") != "light":
                seconds[key] = seconds.get(key, 0.0) + float(row["seconds"])
            else:
                partly.add(key)  # some elements remembered or failed: the rest says little
        for key in seconds.keys() - partly:
            self._add(key[0], seconds[key])
        self._jobs += 1
        return self.unwritten() if self._jobs >= WRITE_EVERY else {}

    def unwritten(self) -> dict[str, list[float]]:
        """What was learned since the last call."""
        self._jobs = 0
        changed, self._changed = self._changed, set()
        return {name: self._past[name] for name in changed}

    def _add(self, name: str, seconds: float) -> None:
        if name not in self._past and len(self._past) >= _MOST_TYPES:
            return
        self._past[name] = [*self._past.get(name, ()), seconds][-SAMPLES:]
        self._expected[name] = weighted_median(self._past[name])  # now: accepting a job is not to wait for it
        self._changed.add(name)
