"""Ctrl-C and SIGTERM: the first one cancels, a second one or two seconds end the process.

Nothing can interrupt one long operation (loading a model, an encoder), so a run that does not stop by itself is left
behind: what it was writing is removed and the process goes at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from threading import Thread, Timer
from types import FrameType
from typing import Any, Final, Self

from server.report import CANCELLED

#: How long a cancelled run may take to stop by itself.
GRACE_S: Final = 2.0

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Handles the two signals inside a `with` block of the main thread.

    Before `watch` a signal raises KeyboardInterrupt, as Python does. `clean` removes files that are being written; it
    is called only when the process leaves at once.
    """

    def __init__(self, clean: Callable[[], None], grace_s: float = GRACE_S) -> None:
        self._clean, self._grace_s = clean, grace_s
        self._cancel: Callable[[], None] | None = None
        self._timer: Timer | None = None
        self._before: dict[signal.Signals, Any] = {}  # Any: what signal.signal gives back

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._timer is not None:
            self._timer.cancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether a signal came."""
        return self._timer is not None

    def watch(self, cancel: Callable[[], None]) -> None:
        """From now on the first signal calls `cancel`."""
        self._cancel = cancel

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._cancel is None:
            raise KeyboardInterrupt
        if self._timer is not None:
            self._leave()
        self._timer = Timer(self._grace_s, self._leave)
        self._timer.daemon = True
        self._timer.start()
        # A handler runs between any two steps of the main thread, which may hold a lock or be writing to stderr: so the
        # cancel goes to a thread of its own, and the message past Python's buffers.
        os.write(2, b"\nCancelling; again to leave at once.\n")
        Thread(target=self._cancel, daemon=True).start()

    def _leave(self) -> None:
        with contextlib.suppress(Exception):  # whatever goes wrong here, the process must end
            self._clean()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(CANCELLED)
