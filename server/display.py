"""What a run shows on stderr: bars with step, time left and preview path while it goes, times and marks at the end."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TextIO

from graph.events import Event, NodeEvent, NoteEvent, PreviewEvent, ProgressEvent
from server.text import columns, seconds_text

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

#: Most rows of the live table; a run may have thousands of nodes at once.
MOST_ROWS: Final = 12
#: Most rows of the closing table; the longest are kept.
MOST_RESULTS: Final = 40
#: Without a terminal a line per node is written at most this often.
PLAIN_INTERVAL_S: Final = 5.0

_Place = tuple[str, int | None]


class _Step(NamedTuple):
    step: int
    total: int
    eta_seconds: float | None


class RunDisplay:
    """Shows a run on `stream`, which is stderr: a live table on a terminal, now and then a line elsewhere.

    `on_events` may be called from any thread; it only notes what happened, and the table is drawn eight times a second.
    `node_count` is how many executions the plan has; what is remembered above them is not counted.
    Previews are written to `preview_folder` (one file per running node, replaced) and removed at the end.
    """

    def __init__(self, node_count: int, preview_folder: Path | None = None, stream: TextIO | None = None) -> None:
        self._node_count, self._preview_folder = node_count, preview_folder
        self._stream = stream if stream is not None else sys.stderr
        self._lock = Lock()
        self._running: dict[_Place, float] = {}
        self._steps: dict[_Place, _Step] = {}
        self._previews: dict[_Place, Path] = {}
        self._finished = 0
        self._notes: list[str] = []
        self._next_line = time.monotonic() + PLAIN_INTERVAL_S
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.console import Console  # 60 ms that a remembered run written to a file does not need
            from rich.live import Live

            console = Console(file=self._stream)
            self._live = Live(get_renderable=self._table, console=console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self.remove_previews()

    @property
    def is_live(self) -> bool:
        """Whether someone is looking: then previews are worth making."""
        return self._live is not None

    def remove_previews(self) -> None:
        """Remove the preview files; also called when the process leaves at once."""
        for path in list(self._previews.values()):
            path.unlink(missing_ok=True)

    def on_events(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        with self._lock:
            for event in events:
                self._take(event)
        if self._live is None:
            self._write_line()

    def _take(self, event: Event) -> None:
        match event:
            case NodeEvent(node=node, element=element, state="running"):
                self._running[node, element] = time.monotonic()
            case NodeEvent(node=node, element=element, state=state) if state != "waiting":
                self._finished += 1
                self._running.pop((node, element), None)
                self._steps.pop((node, element), None)
            case ProgressEvent(node=node, element=element, step=step, total=total, eta_seconds=eta):
                self._steps[node, element] = _Step(step, total, eta)
            case PreviewEvent(node=node, element=element, image=image):
                self._keep_preview((node, element), image)
            case NoteEvent(node=node, message=message):
                self._notes.append(f"{node}: {message}" if node else message)
            case _:
                pass

    def _keep_preview(self, place: _Place, image: bytes) -> None:
        if self._preview_folder is None:
            return
        name = re.sub(r"[^a-z0-9_]", "-", place_text(place))
        path = self._preview_folder / f"{os.getpid()}-{name}.webp"
        temporary = path.with_suffix(".part")
        with contextlib.suppress(OSError):  # a preview that cannot be written is no reason to disturb the run
            self._preview_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_bytes(image)
            temporary.replace(path)
            self._previews[place] = path

    def _write_line(self) -> None:
        now = time.monotonic()
        if now < self._next_line or not self._running:
            return
        self._next_line = now + PLAIN_INTERVAL_S
        with self._lock:
            running = [" ".join(cell for cell in self._row(place) if cell) for place in list(self._running)[:3]]
        print("; ".join([f"{self._finished} of {self._node_count} nodes", *running]), file=self._stream, flush=True)

    def _row(self, place: _Place) -> list[str]:
        step = self._steps.get(place)
        preview = self._previews.get(place)
        count = f"{step.step}/{step.total}" if step else ""
        eta = f"{seconds_text(step.eta_seconds)} left" if step and step.eta_seconds is not None else ""
        return [place_text(place), count, eta, str(preview) if preview else ""]

    def _table(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        with self._lock:
            rows = [(self._row(place), self._steps.get(place), since) for place, since in list(self._running.items())[:MOST_ROWS]]
            hidden, finished = len(self._running) - len(rows), self._finished
        table = Table.grid(padding=(0, 2))
        for (name, count, eta, preview), step, since in rows:
            bar = ProgressBar(total=step.total, completed=step.step, width=30) if step else ProgressBar(total=None, width=30)
            table.add_row(name, bar, count, eta or seconds_text(time.monotonic() - since), preview)
        if hidden > 0:
            table.add_row(f"and {hidden} more")
        table.add_row(
            "nodes", ProgressBar(total=max(self._node_count, 1), completed=finished, width=30), f"{finished}/{self._node_count}"
        )
        return table


def place_text(place: _Place) -> str:
    """A node, or one element of a mapped node: "denoise", "denoise[3]"."""
    node, element = place
    return node if element is None else f"{node}[{element}]"


class ResultRow(NamedTuple):
    """A node (or element) at the end of a run, as the closing table shows it."""

    node: str
    element: int | None
    state: str
    seconds: float
    device: str
    remark: str


def closing_table(rows: Sequence[ResultRow], seconds: float) -> str:
    """Times and cached marks of every node (the longest ones of a large run), and one line that counts them."""
    shown = rows
    if len(rows) > MOST_RESULTS:
        longest = sorted(rows, key=lambda row: (row.state == "failed", row.seconds), reverse=True)[:MOST_RESULTS]
        shown = [row for row in rows if row in longest]
    lines = [
        [
            place_text((row.node, row.element)),
            row.state,
            seconds_text(row.seconds) if row.state == "done" else "",
            row.device,
            row.remark,
        ]
        for row in shown
    ]
    hidden = [f"... and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else []
    counts = {state: sum(row.state == state for row in rows) for state in ("cached", "done", "failed", "skipped", "cancelled")}
    said = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return "\n".join([columns(lines), *hidden, f"{len(rows)} nodes: {said or 'none ran'}; {seconds_text(seconds)}"])
