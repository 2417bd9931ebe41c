"""What work has cost before: seconds and peak bytes by signature, for plans and schedules.

A signature is whatever its caller takes to cost the same (node type, family, size, device class). Estimates are help,
never truth: a lost or damaged row is no estimate.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from graph.blob import pack, unpack
from graph.folder import StoreUnavailable
from graph.table import Table

#: Samples remembered per signature, and how much one counts for each newer one.
SAMPLES, FADING = 16, 0.8
_WRITE_EVERY = 64
_IN_RAM = 50_000
_SIGNATURE, _NODE_TYPE = b"c", b"d"


class Estimate(NamedTuple):
    """What to expect: seconds (recent-weighted median), peak bytes (the largest remembered), samples it rests on.

    `exact` says whether they are of this signature, or only of its node type.
    """

    seconds: float
    peak_bytes: int
    samples: int
    exact: bool


class _Past(NamedTuple):
    runs: int
    samples: tuple[tuple[float, int], ...]  # oldest first

    def adding(self, seconds: float, peak_bytes: int) -> _Past:
        return _Past(self.runs + 1, (*self.samples, (seconds, peak_bytes))[-SAMPLES:])


class History:
    """Learned costs in the memo's table. Usable from several threads; between processes the last writer wins."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._past: OrderedDict[tuple[bytes, bytes], _Past | None] = OrderedDict()
        self._unwritten: set[tuple[bytes, bytes]] = set()
        self._lock = threading.Lock()

    def record(self, signature: bytes, node_type: str, seconds: float, peak_bytes: int = 0) -> None:
        """Remember one execution. Written down every 64 records and at `flush`."""
        with self._lock:
            for slot in ((_SIGNATURE, signature), (_NODE_TYPE, node_type.encode())):
                self._past[slot] = (self._look(slot) or _Past(0, ())).adding(seconds, peak_bytes)
                self._unwritten.add(slot)
            full = len(self._unwritten) >= _WRITE_EVERY
        if full:
            self.flush()

    def estimate(self, signature: bytes, node_type: str) -> Estimate | None:
        """What this signature cost lately, or else its node type; None if neither ever ran."""
        with self._lock:
            past = self._look((_SIGNATURE, signature))
            exact = past is not None
            past = past or self._look((_NODE_TYPE, node_type.encode()))
        if past is None:
            return None
        peak = max(peak for _, peak in past.samples)
        return Estimate(weighted_median([seconds for seconds, _ in past.samples]), peak, past.runs, exact)

    def flush(self) -> None:
        """Write down what is new; best effort."""
        with self._lock:
            slots, self._unwritten = self._unwritten, set()
            rows = [(*slot, pack(past)) for slot in slots if (past := self._past.get(slot)) is not None]
        if rows:
            with suppress(StoreUnavailable):
                self._table.write(rows)

    def _look(self, slot: tuple[bytes, bytes]) -> _Past | None:
        if slot not in self._past:
            prefix, key = slot
            self._past[slot] = _past_from(self._table.read(prefix, (key,)).get(key))
            if len(self._past) > _IN_RAM:
                self._forget_one()
        self._past.move_to_end(slot)
        return self._past[slot]

    def _forget_one(self) -> None:
        oldest = next(slot for slot in self._past if slot not in self._unwritten)
        del self._past[oldest]


def weighted_median(values: list[float]) -> float:
    """The median of values given oldest first, each counting `FADING` of the next.

    A median, because a first run that also loads or compiles would spoil a mean for long; fading, because costs change
    for good when a driver or a library does.
    """
    weighted = sorted((value, FADING**age) for age, value in enumerate(reversed(values)))
    half = sum(weight for _, weight in weighted) / 2
    passed = 0.0
    for value, weight in weighted:
        passed += weight
        if passed >= half:
            return value
    raise ValueError("the median of no values")


def _past_from(content: bytes | None) -> _Past | None:
    if content is None:
        return None
    try:
        count, samples = unpack(content)
        past = _Past(int(count), tuple((float(seconds), int(peak)) for seconds, peak in samples))
    except (ValueError, TypeError):
        return None
    return past if past.samples else None
