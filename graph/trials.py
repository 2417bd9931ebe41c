"""The ledger of tries: which runs' node is being called in which worker process at this moment, on disk.

It is written before a call by a plain pwrite, which a `kill -9` of everything survives, and taken back after it. So
whoever starts next knows under which runs a process died: those whose slot is still open are charged one try. One
slot per worker, and one for planning, which the engine does itself. A worker that finds its engine gone takes its own
slot back: that death is not the run's fault.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from graph.blob import pack, unpack

#: One page each, so that a slot is written whole or not at all.
SLOT_BYTES: Final = 4096
_HEADER_BYTES: Final = 8
#: The first slots are the engine's own, while it plans: so many runs are planned at once at most.
PLANNERS: Final = 4
#: The first slot of a worker.
FIRST_WORKER: Final = PLANNERS


class Try(NamedTuple):
    """A node that was being called when its process ended: for this run, after so many tries in a row."""

    run: str
    tries: int
    node: str


class Slot(NamedTuple):
    """Where one worker's call is noted."""

    path: Path
    number: int

    def release(self) -> None:
        """Take the note back, from the worker's own process. Never raises: it is about to end."""
        with suppress(OSError):
            file = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(file, bytes(_HEADER_BYTES), self.number * SLOT_BYTES)
            finally:
                os.close(file)


class Ledger:
    """The file, held open by the engine. Usable from several threads, each with slots of its own."""

    def __init__(self, path: Path) -> None:
        """Open the ledger, with no slot open. Raises OSError."""
        self.path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Closed with the last who knows it: a lane that a closed engine has left behind may still take its note back.
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self.clear()
        self._planning: SimpleQueue[int] = SimpleQueue()
        self._planned: dict[int, str] = {}
        for number in range(PLANNERS):
            self._planning.put(number)

    def slot(self, number: int) -> Slot:
        """The name of a slot, for the worker's process."""
        return Slot(self.path, number)

    def open(self, number: int, runs: Sequence[tuple[str, int]], node: str) -> None:
        """Note a call before it is made: (run, tries so far) of all who share it. Those beyond a page are not noted.

        Never raises: work goes on where nothing can be written.
        """
        runs = [one for one in runs if one[0]]
        body = pack([runs, node[:500]])
        while len(body) > SLOT_BYTES - _HEADER_BYTES:
            runs = runs[: len(runs) // 2]
            body = pack([runs, node[:500]])
        header = len(body).to_bytes(4) + zlib.crc32(body).to_bytes(4)
        with suppress(OSError):  # a full disk: then the death of everything is charged to nobody
            os.pwrite(self._file.fileno(), header + body, number * SLOT_BYTES)

    def close_slot(self, number: int) -> None:
        """Take a note back: the call has ended, or its runs were told of the try."""
        with suppress(OSError):
            os.pwrite(self._file.fileno(), bytes(_HEADER_BYTES), number * SLOT_BYTES)

    @contextmanager
    def planning(self, run: str, tries: int) -> Iterator[None]:
        """Note that the engine plans a run, while the block lasts."""
        number = self._planning.get()
        self._planned[number] = run
        self.open(number, [(run, tries)], "")
        try:
            yield
        finally:
            del self._planned[number]
            self.close_slot(number)
            self._planning.put(number)

    def blame(self, run: str) -> None:
        """Take back the notes of all plans but this run's, before its plan ends the engine: the others only stood by."""
        for number, other in list(self._planned.items()):
            if other != run:
                self.close_slot(number)

    def clear(self) -> None:
        """Take all notes back: the engine ends its workers itself."""
        os.ftruncate(self._file.fileno(), 0)


def open_tries(path: Path) -> list[Try]:
    """The calls that were under way when everything ended; a run may be there several times. Damaged slots say nothing.

    Call `graph.child.end_orphans` first: workers that still live then have taken their slots back. `Try.node` is "" if
    the engine itself died while it planned the run. Raises OSError.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    found: list[Try] = []
    for start in range(0, len(content), SLOT_BYTES):
        found.extend(_tries_in(content[start : start + SLOT_BYTES]))
    return found


def _tries_in(slot: bytes) -> list[Try]:
    size = int.from_bytes(slot[:4])
    body = slot[_HEADER_BYTES : _HEADER_BYTES + size]
    if not size or len(body) != size or zlib.crc32(body).to_bytes(4) != slot[4:_HEADER_BYTES]:
        return []
    runs, node = unpack(body)
    return [Try(run, tries, node) for run, tries in runs]
