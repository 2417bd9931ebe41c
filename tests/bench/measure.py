"""Times that mean the same on a fast and a slow, an idle and a shared machine.

Each sample is multiplied by 11 ms / (the time that 10,000 x [json.loads of a node + SHA-256 of 120 bytes] takes just
before and after it): another process that takes half of the core slows both alike.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from tests.bench.table import BusyElsewhere, Row, row

T = TypeVar("T")

#: What the calibration takes on the machine that the bars were set on.
REFERENCE_SECONDS = 0.011
_NODE = json.dumps({"type": "math", "inputs": {"a": {"link": "n1.value"}, "b": 1.0}})
_BYTES = b"x" * 120


class Sample(NamedTuple):
    """One measurement: seconds as on the reference machine, seconds by the clock, and the cores that others used."""

    seconds: float
    by_clock: float
    others: float


def calibrate(count: int = 10_000) -> float:
    """Seconds that the calibration takes now."""
    start = time.perf_counter()
    for _ in range(count):
        json.loads(_NODE)
        hashlib.sha256(_BYTES)
    return (time.perf_counter() - start) * 10_000 / count


class Meter:
    """Measures pieces of one flow: a calibration stands between any two of them and serves both."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._last = calibrate()

    def time(self, act: Callable[[], T]) -> T:
        """Call `act` once; its sample is the last in `samples`."""
        with BusyElsewhere() as busy:
            start = time.perf_counter()
            made = act()
            seconds = time.perf_counter() - start
        following = calibrate()
        pace = REFERENCE_SECONDS / statistics.mean((self._last, following))
        self._last = following
        self.samples.append(Sample(seconds * pace, seconds, busy.cores))
        return made

    @property
    def last(self) -> Sample:
        """The sample of the last call."""
        return self.samples[-1]


def judged(
    name: str, samples: Sequence[Sample], unit: str, per: float, *, at_most: float | None = None, by: float = 0.5, note: str = ""
) -> Row:
    """A row of normalised samples; `per` turns seconds into the unit (1e6 / nodes: us per node)."""
    pace = statistics.median([sample.seconds / sample.by_clock for sample in samples])
    said = f"pace {pace:.2f}, others {statistics.mean([sample.others for sample in samples]):.1f} cores"
    note = f"{note}; {said}" if note else said
    return row(name, [sample.seconds * per for sample in samples], unit, at_most=at_most, by=by, note=note)
