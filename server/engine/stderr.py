"""What the engine and its workers write to stderr, taken into the server's log line by line."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any, Final

#: Longer lines of workers are cut. The engine's own lines may be longer: they hold tracebacks.
LONGEST_LINE: Final = 2000
LONGEST_JSON: Final = 64 * 1024
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Lines:
    """Lines of a stream that comes in pieces; a line never takes more memory than `LONGEST_JSON`."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def add(self, piece: bytes) -> Iterator[bytes]:
        """The lines that this piece completes, without their ends; what is too long of a line is left out."""
        *whole, rest = piece.split(b"\n")
        for end in whole:
            self._append(end)
            yield bytes(self._begun)
            self._begun.clear()
        self._append(rest)

    def rest(self) -> bytes:
        """A last line without an end."""
        return bytes(self._begun)

    def _append(self, piece: bytes) -> None:
        self._begun += piece[: LONGEST_JSON - len(self._begun)]


async def log_lines(stream: asyncio.StreamReader, log: logging.Logger) -> None:
    """Log what comes until the stream ends."""
    lines = Lines()
    while piece := await stream.read(65_536):
        for line in lines.add(piece):
            log_line(line, log)
    log_line(lines.rest(), log)


def log_line(line: bytes, log: logging.Logger) -> None:
    """Log one line: the engine's own with its level, job and traceback, anything else as it is, made printable."""
    found = _own(line)
    if found is not None:
        level = _LEVELS.get(str(found.get("level")), logging.INFO)
        facts: dict[str, object] = {name: printable(str(found[name])) for name in ("job", "node", "trace") if name in found}
        log.log(level, "%s", printable(str(found["message"])), extra=facts)
        return
    text = printable(line.decode("utf-8", "backslashreplace").rstrip())
    if text:
        log.info("%s", text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + " ...")


def _own(line: bytes) -> dict[str, Any] | None:  # Any: whatever JSON holds
    if not line.startswith(b'{"level": '):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "message" in found else None


def printable(text: str) -> str:
    """A text whose control characters are shown, not sent; ends of lines inside it stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)
