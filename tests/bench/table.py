"""One table for all benchmarks: what was measured, against which bar, how often, how much it varied."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

#: The environment variable that names a file to add all rows to.
ROWS_FILE: Final = "LATENTGRAPH_BENCH_ROWS"


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


def show(rows: Iterable[Row], title: str = "") -> bool:
    """Print rows as aligned text; True if no bar was missed.

    They are also added to the file that ROWS_FILE names, if it is set: from there `show_all` prints one table of many.
    """
    rows = list(rows)
    if path := os.environ.get(ROWS_FILE):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps([title or Path(sys.argv[0]).stem, rows]) + "\n")
    _print([_line(row) for row in rows])
    return all(row.met is not False for row in rows)


def show_all(path: str) -> None:
    """One table of everything that was measured into a file, the missed bars once more below it."""
    parts = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    lines, missed = [], []
    for title, rows in parts:
        found = [Row(*row) for row in rows]
        lines += [(f"{title.upper()}", *[""] * 6), *[_line(row) for row in found]]
        missed += [f"{title}: {row.name}: {row.measured}, bar {row.bar}" for row in found if row.met is False]
    _print(lines)
    print("\n".join(["", "NOT MET:", *missed]) if missed else "\nNo bar was missed.")


def _line(row: Row) -> tuple[str, ...]:
    judgement = {True: "met", False: "NOT MET", None: "-"}[row.met]
    return (row.name, row.measured, row.bar, judgement, str(row.n), row.spread, row.note)


def _print(lines: Sequence[tuple[str, ...]]) -> None:
    lines = [("", "measured", "bar", "", "n", "p10-p90", "note"), *lines]
    widths = [max(len(line[i]) for line in lines) for i in range(7)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(), flush=True)
