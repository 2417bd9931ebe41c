"""What the engine writes to stderr: one JSON object a line, which the server takes into its own log.

Nothing that a user wrote is in it, so no message of an error either (`graph.trace`).
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Final, TextIO

from graph.trace import kind_of, trace_of

#: A traceback is cut to its last characters.
LONGEST_TRACE: Final = 16_384


class Log:
    """Writes lines, whole, from any thread."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()

    def write(self, level: str, message: str, **facts: str) -> None:
        """A line; `level` is one of logging's names in small letters. Empty facts are left out."""
        found = {"level": level, "message": message, **{name: fact for name, fact in facts.items() if fact}}
        if "trace" in found:
            found["trace"] = found["trace"][-LONGEST_TRACE:]
        with self._lock:
            self._stream.write(json.dumps(found) + "\n")
            self._stream.flush()

    def mistake(self, error: BaseException, job: str = "") -> None:
        """An error that should not have been."""
        self.write("error", kind_of(error), job=job, trace=trace_of(error))
