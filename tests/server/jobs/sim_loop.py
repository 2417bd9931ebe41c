"""An event loop that draws the order of what is ready from a seed, and whose time jumps to what comes next.

So a run of many virtual minutes takes milliseconds and is the same for the same seed.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from contextlib import suppress
from typing import Any


class _Jump(selectors.SelectSelector):
    """Waits by moving the loop's clock."""

    loop: SimLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        self.loop.now += max(0.0, timeout)
        return []


class SimLoop(asyncio.SelectorEventLoop):
    """The loop. Nothing in it may wait for a thread or a socket."""

    def __init__(self, draw: random.Random) -> None:
        self.now, self.draw = 1000.0, draw
        selector = _Jump()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now

    def _write_to_self(self) -> None:  # nobody else's thread wakes us
        pass

    def _run_once(self) -> None:
        ready: list[Any] = list(self._ready)  # type: ignore[attr-defined]
        self.draw.shuffle(ready)
        self._ready.clear()  # type: ignore[attr-defined]
        self._ready.extend(ready)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]

    def abandon(self) -> None:
        """End as kill -9 does: nothing that waits goes on. Whoever the tasks call must be deaf by now."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(RuntimeError):
                task.get_coro().close()  # type: ignore[union-attr]
