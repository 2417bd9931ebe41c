"""Which process something belongs to, and whether that process still runs."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """A process that cannot be mistaken for another: the place where its number means something, its number, its start."""

    place: str
    pid: int
    start: int

    def __str__(self) -> str:
        return f"{self.place}-{self.pid}-{self.start}"

    @classmethod
    def parse(cls, text: str) -> Owner:
        """Read what `str` gave. Raises ValueError."""
        place, pid, start = text.split("-")
        return cls(place, int(pid), int(start))

    @classmethod
    def current(cls) -> Owner:
        """This process."""
        return _owner_of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Owner:
        """A process whose number is nobody else's now: this one, or a child of it that was not collected yet."""
        return cls(_place(), pid, _start_of(pid) or 0)

    def is_gone(self) -> bool:
        """Whether the process certainly runs no more.

        False for one of another container, whose number says nothing here (only its lease's time tells). A killed
        process that its parent has not collected counts as gone.
        """
        if self.place != _place():
            return self.place.split("_")[0] != _place().split("_")[0]  # another boot of this machine: gone with it
        return _start_of(self.pid) != self.start


@cache
def _owner_of(pid: int) -> Owner:
    return Owner.of(pid)


@cache
def _place() -> str:
    """Boot and process-number space, hashed: "<boot>_<namespace>"."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, space = "", ""
    return "_".join(sha256(part.encode()).hexdigest()[:8] for part in (boot, space))


def _start_of(pid: int) -> int | None:
    """The start time of a running process in clock ticks; None if there is none (0 where /proc cannot tell)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
        with suppress(OSError):
            os.kill(pid, 0)
            return 0
        return None
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def is_gone(owner: str) -> bool:
    """Whether the process that wrote its `Owner` down (a suffix after a dot is passed over) certainly runs no more."""
    try:
        return Owner.parse(owner.partition(".")[0]).is_gone()
    except ValueError:
        return True
