"""Whether work goes on (`/healthz`), whether new work is taken (`/readyz`), and what must be refused now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from server.problems import Refusal

GIB: Final = 1024**3
#: Free space is looked at this often at most.
_LOOK_S: Final = 1.0
_COME_BACK_S: Final = 30.0


class Check(NamedTuple):
    """One thing that must hold: its name, whether it does, and a sentence."""

    name: str
    is_ok: bool
    message: str


class Pulse(Protocol):
    """What is asked of the parts that work."""

    async def look(self) -> None:
        """Find out what `checks` is to tell, if that takes a while."""

    def checks(self) -> Iterable[Check]:
        """What must hold for new work to be done."""
        ...

    def stalled(self) -> str | None:
        """Why no work goes on although there is some; None if it does."""


class Health:
    """The state of the server as a whole."""

    def __init__(self, home: Path, min_free_bytes: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_draining = False
        self.pulses: list[Pulse] = []
        self._home, self._clock = home, clock
        self._min_free_bytes = min_free_bytes
        self._looked: tuple[float, int, int] = (-_LOOK_S, 0, 0)

    def check(self, refuses: Iterable[str]) -> None:
        """Refuse new work that cannot be taken now: `draining`, `disk_full`, where a route of jobs or uploads declares them.

        Smaller changes (a draft, a star) go on below the floor: it is there for them, and for deleting.
        """
        if self.is_draining and "draining" in refuses:
            raise Refusal(
                "draining", "The server is shutting down and takes no new work. Send it again soon.", retry_after_s=_COME_BACK_S
            )
        if "disk_full" in refuses:
            self.check_disk()

    def check_disk(self) -> None:
        """Raises Refusal `disk_full` below the floor of free space."""
        free, floor = self._free()
        if free < floor:
            text = f"The disk has {free // 2**20} MiB free; below {floor // 2**20} MiB nothing new is taken. Free some space."
            raise Refusal("disk_full", text, retry_after_s=_COME_BACK_S, free_bytes=free, min_free_bytes=floor)

    @property
    def floor_bytes(self) -> int:
        """The floor of free space."""
        return self._free()[1]

    def _free(self) -> tuple[int, int]:
        """Free bytes and the floor."""
        looked, free, floor = self._looked
        now = self._clock()
        if now - looked >= _LOOK_S:
            status = os.statvfs(self._home)
            free = status.f_bavail * status.f_frsize
            floor = min(GIB, status.f_blocks * status.f_frsize // 50) if self._min_free_bytes is None else self._min_free_bytes
            self._looked = (now, free, floor)
        return free, floor

    def stalled(self) -> str | None:
        """Why no work goes on although there is some; None if all is well."""
        for pulse in self.pulses:
            if (reason := pulse.stalled()) is not None:
                return reason
        return None

    async def checks(self) -> list[Check]:
        """Everything that must hold for new work to be taken and done."""
        free, floor = self._free()
        found = [
            Check("accepting", not self.is_draining, "draining" if self.is_draining else "new jobs are taken"),
            Check("disk", free >= floor, f"{free // 2**20} MiB free, floor {floor // 2**20} MiB"),
        ]
        for pulse in self.pulses:
            await pulse.look()
            found.extend(pulse.checks())
        return found
