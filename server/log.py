"""Logs as JSON lines on stderr: time, level, message, and which job, node and request they are about.

A line never holds control characters as they are (JSON escapes them), a prompt or a token: callers log names and
numbers, not what users wrote, and of errors the kind and the place are told, not the message. What a node itself prints
is taken as it is.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from contextvars import ContextVar
from typing import Any, Final, TextIO

from graph.trace import trace_of

#: The id of the request that is being answered.
REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")
LEVELS: Final = ("debug", "info", "warning", "error")
_MOST_TEXT: Final = 8000


class JsonLines(logging.Formatter):
    """One line of JSON per record. `extra={"job": ..., "node": ...}` says what it is about, `trace` where it came from."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {  # Any: plain JSON
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_MOST_TEXT],
        }
        request = REQUEST.get()
        if request:
            line["request"] = request
        line |= {name: str(getattr(record, name)) for name in ("job", "node", "place") if hasattr(record, name)}
        error = record.exc_info[1] if record.exc_info else None
        trace = trace_of(error) if error is not None else getattr(record, "trace", "")
        if trace:
            line["trace"] = trace[-_MOST_TEXT:]
        return json.dumps(line)  # ASCII only: every control and direction character is escaped


def log_to(stream: TextIO = sys.stderr, level: str = "info") -> None:
    """Send the server's logs there, from this level on. Replaces what an earlier call set."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("latentgraph").setLevel(level.upper())
