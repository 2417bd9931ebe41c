"""What the engine writes to stderr: one JSON object a line, which the server takes into its own log."""

from __future__ import annotations

import json
import sys
import threading
import traceback
from typing import Final, TextIO

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
        trace = "".join(traceback.format_exception(error))
        self.write("error", f"{type(error).__name__}: {error}", job=job, trace=trace)
