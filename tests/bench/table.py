"""One table for all benchmarks: what was measured, against which bar, how often, how much it varied."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One line of a benchmark. `met` is None where there is no bar, or where the machine did not allow judging it."""

    name: str
    measured: str
    bar: str
    met: bool | None
    n: int
    spread: str
    note: str = ""


def row(
    name: str,
    samples: Sequence[float],
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    by: float = 0.5,
    note: str = "",
) -> Row:
    """A row judged by a quantile of samples (`by`, the median if not said); the spread is their 10th to 90th percentile."""
    value = quantile(samples, by)
    bar = at_most if at_most is not None else at_least
    met = None if bar is None else value <= bar if at_most is not None else value >= bar
    sign = "" if bar is None else "<= " if at_most is not None else ">= "
    label = name if by == 0.5 else f"{name}, p{round(100 * by)}"
    spread = f"{_number(quantile(samples, 0.1))}-{_number(quantile(samples, 0.9))}"
    measured = f"{_number(value)} {unit}".strip()
    return Row(
        label, measured, f"{sign}{_number(bar)} {unit}".strip() if bar is not None else "", met, len(samples), spread, note
    )


def quantile(samples: Sequence[float], q: float) -> float:
    """The smallest sample that at least the part `q` of all does not exceed."""
    ranked = sorted(samples)
    return statistics.median(ranked) if q == 0.5 else ranked[min(len(ranked) - 1, int(q * len(ranked)))]


class BusyElsewhere:
    """How many cores other processes used inside the block (from /proc/stat), in `cores`; 0 where that is not known."""

    cores = 0.0

    def __enter__(self) -> BusyElsewhere:
        self._start = (time.perf_counter(), _busy_seconds(), _own_seconds())
        return self

    def __exit__(self, *_: object) -> None:
        wall, busy, own = self._start
        wall = time.perf_counter() - wall
        self.cores = max(0.0, (_busy_seconds() - busy - (_own_seconds() - own)) / wall) if wall > 0 else 0.0


def _busy_seconds() -> float:
    try:
        with open("/proc/stat") as file:
            user, nice, system, _idle, _wait, *rest = map(int, file.readline().split()[1:])
    except OSError:
        return 0.0
    return (user + nice + system + sum(rest[:2])) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(rows: Iterable[Row]) -> bool:
    """Print rows as aligned text; True if no bar was missed."""
    lines = [("", "measured", "bar", "", "n", "p10-p90", "note")]
    lines += [
        (r.name, r.measured, r.bar, {True: "met", False: "NOT MET", None: "-"}[r.met], str(r.n), r.spread, r.note) for r in rows
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(7)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return all(line[3] != "NOT MET" for line in lines)
