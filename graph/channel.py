"""Framed msgpack over a stream socket: a 4-byte big-endian length, and the msgpack of a list.

One side may wait (`receive`), or look what is there (`poll`, for a socket that does not block). It knows nothing of
what the messages mean.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from typing import Any, Final

from graph.blob import pack, unpack

_HEADER: Final = struct.Struct(">I")
LARGEST_FRAME: Final = 256 * 2**20
_CHUNK: Final = 256 * 1024


def is_ready(file: int, event: int, seconds: float) -> bool:
    """Wait for an event of `select.poll` at most so long; whether it came."""
    events = select.poll()
    events.register(file, event)
    return bool(events.poll(seconds * 1000))


class NotOurs(EOFError):
    """The other end sent what none of our frames is. Nothing after it can be understood, so the channel is at its end."""


class Channel:
    """One end. Sending is locked, receiving belongs to one thread at a time."""

    def __init__(self, stream: socket.socket, send_seconds: float = 60.0) -> None:
        """`send_seconds`: how long the other end of a socket that does not block may leave a message untaken."""
        self._stream = stream
        self._send_seconds = send_seconds
        self._lock = threading.Lock()
        self._arrived = bytearray()

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._stream.fileno()

    def send(self, *message: Any) -> None:
        """Send one message. Raises OSError if the other end is gone or takes nothing, ValueError if it is too long for a frame."""
        body = pack(message)
        if len(body) > LARGEST_FRAME:
            raise ValueError(f"a message of {len(body):,} bytes is too long for a worker; hand over fewer or smaller values")
        with self._lock:
            self._send_all(memoryview(_HEADER.pack(len(body)) + body))

    def _send_all(self, data: memoryview) -> None:
        until = 0.0
        while data:
            try:
                data = data[self._stream.send(data) :]
            except BlockingIOError:
                until = until or time.monotonic() + self._send_seconds
                if not is_ready(self._stream.fileno(), select.POLLOUT, max(until - time.monotonic(), 0.0)):
                    raise TimeoutError(f"nothing was taken for {self._send_seconds:g} s") from None

    def receive(self) -> list[Any]:
        """The next message, waiting for it. Raises EOFError at the end of the stream."""
        while (message := self._whole()) is None:
            self._take_in(self._stream.recv(_CHUNK))
        return message

    def buffered(self) -> list[Any] | None:
        """The next message if it was taken in already, together with one before it."""
        return self._whole() if self._arrived else None

    def poll(self) -> list[Any] | None:
        """The next message if it is all here (of a socket that does not block). Raises EOFError at the end of the stream."""
        while (message := self._whole()) is None:
            try:
                part = self._stream.recv(_CHUNK)
            except BlockingIOError:
                return None
            self._take_in(part)
        return message

    def _take_in(self, part: bytes) -> None:
        if not part:
            raise EOFError
        self._arrived += part

    def _whole(self) -> list[Any] | None:
        arrived = self._arrived
        if len(arrived) < _HEADER.size:
            return None
        (size,) = _HEADER.unpack_from(arrived)
        if size > LARGEST_FRAME:
            raise NotOurs(f"a frame of {size:,} bytes is not ours")
        end = _HEADER.size + size
        if len(arrived) < end:
            return None
        body = bytes(arrived[_HEADER.size : end])
        del arrived[:end]
        try:
            message = unpack(body)
        except Exception as error:  # msgpack raises half a dozen kinds
            raise NotOurs(f"a frame that cannot be read is not ours ({type(error).__name__}: {error})") from error
        if not isinstance(message, list) or not message or not isinstance(message[0], str):
            raise NotOurs("a frame that names no kind of message is not ours")
        return message

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()
