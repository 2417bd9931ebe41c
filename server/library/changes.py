"""Notices what changes in folders by looking, at most once a second and only while somebody listens.

Looking works on every file system, network mounts too; a listing of a thousand files takes a few milliseconds in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final

EVERY_S: Final = 1.0


class Changes:
    """Tells listeners which names changed between two looks. `look` gives a stamp by name; it runs in a thread."""

    def __init__(self, look: Callable[[], Mapping[str, object]], *, every_s: float = EVERY_S) -> None:
        self._look, self._every_s = look, every_s
        self._listeners: set[asyncio.Queue[frozenset[str] | BaseException]] = set()
        self._poller: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    @property
    def is_looking(self) -> bool:
        """Whether somebody listens."""
        return self._poller is not None

    def look_soon(self) -> None:
        """Look now rather than at the next second: we changed something ourselves. Nobody listens: nothing."""
        self._hurry.set()

    async def listen(self) -> AsyncGenerator[frozenset[str], None]:
        """The names that changed (made, written, removed), once per look that found any, from the first step on.

        End it by closing the iterator. Raises what looking raises, OSError mostly.
        """
        queue: asyncio.Queue[frozenset[str] | BaseException] = asyncio.Queue()
        self._listeners.add(queue)
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())
        try:
            while True:
                found = await queue.get()
                while isinstance(found, frozenset) and not queue.empty():  # a slow listener gets one sum
                    more = queue.get_nowait()
                    found = found | more if isinstance(more, frozenset) else more
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            self._listeners.discard(queue)
            if not self._listeners and self._poller is not None:
                self._poller.cancel()
                self._poller = None

    async def _poll(self) -> None:
        try:
            before = await asyncio.to_thread(self._look)
            while True:
                await self._pause()
                now = await asyncio.to_thread(self._look)
                changed = frozenset(name for name in {*before, *now} if before.get(name) != now.get(name))
                before = now
                if changed:
                    self._tell(changed)
        except Exception as error:
            self._poller = None
            self._tell(error)

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._every_s):
                await self._hurry.wait()
        except TimeoutError:
            return
        finally:
            self._hurry.clear()

    def _tell(self, found: frozenset[str] | BaseException) -> None:
        for queue in self._listeners:
            queue.put_nowait(found)
