"""Messages as frames, for both ends of the socket pair: asyncio in the server, blocking in the engine.

What a frame may hold is decided here and nowhere else: no extension type, no field of another type than declared, no
message that is unknown or goes the other way. A frame that is not ours means that the process at the other end is
broken; nothing of it is used.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]  # has no stubs

from graph.errors import LatentgraphError

#: The largest document (4 MiB) and the largest result are far below.
LARGEST_FRAME: Final = 64 * 2**20
_HEADER: Final = struct.Struct(">I")


class BadFrame(LatentgraphError):
    """What came is no message of ours; the other process is broken."""


class Vocabulary:
    """The messages that one end may receive, by name, with the types of their fields."""

    def __init__(self, kinds: Iterable[type[tuple[Any, ...]]]) -> None:  # Any: each message has fields of its own
        self._kinds = {kind.__name__: (kind, _field_types(kind)) for kind in kinds}

    def read(self, body: bytes) -> tuple[Any, ...]:  # Any: one of the kinds
        """The message in a frame's body. Raises BadFrame."""
        try:
            found = msgpack.unpackb(body, strict_map_key=True, ext_hook=_refuse_extension, max_ext_len=0)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise BadFrame(f"a frame of {len(body)} bytes cannot be read: {error}") from None
        if not (isinstance(found, list) and found and isinstance(found[0], str) and found[0] in self._kinds):
            raise BadFrame(f"a frame of {len(body)} bytes is none of {', '.join(self._kinds)}")
        name, *fields = found
        kind, field_types = self._kinds[name]
        if len(fields) != len(field_types):
            raise BadFrame(f"{name} came with {len(fields)} fields; it has {len(field_types)}")
        for field, (field_name, allowed) in zip(fields, field_types.items(), strict=True):
            if type(field) not in allowed:
                raise BadFrame(f"{name}.{field_name} came as {type(field).__name__}")
        return kind(*fields)


def _field_types(kind: type[tuple[Any, ...]]) -> Mapping[str, frozenset[type]]:
    """What `type()` of each field may be. An int may stand for a float; what lists and dicts hold is not looked at."""
    return {name: frozenset(_plain_types(hint)) for name, hint in typing.get_type_hints(kind).items()}


def _plain_types(hint: Any) -> Iterable[type]:  # Any: a runtime annotation
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return [one for inner in typing.get_args(hint) for one in _plain_types(inner)]
    found = origin or hint
    return (float, int) if found is float else (found,)


def _refuse_extension(code: int, data: bytes) -> Any:  # Any: it never returns
    raise ValueError(f"extension type {code}")


def encode(message: tuple[Any, ...]) -> bytes:  # Any: a message of `messages.py`
    """The frame of a message. Texts that UTF-8 cannot say are escaped, whole numbers beyond 64 bits become text.

    Raises ValueError if it is too long for a frame, TypeError for what is not plain.
    """
    body = bytes(msgpack.packb([type(message).__name__, *message], default=_as_text, unicode_errors="backslashreplace"))
    if len(body) > LARGEST_FRAME:
        raise ValueError(f"a {type(message).__name__} of {len(body):,} bytes is too long for a frame of {LARGEST_FRAME:,}")
    return _HEADER.pack(len(body)) + body


def _as_text(value: object) -> str:
    if type(value) is int:
        return hex(value)
    raise TypeError(f"a {type(value).__qualname__} is no part of a message; use plain values")


def _size_of(header: bytes) -> int:
    (size,) = _HEADER.unpack(header)
    if size > LARGEST_FRAME:
        raise BadFrame(f"a frame says that it has {size:,} bytes; the most is {LARGEST_FRAME:,}")
    return int(size)


async def receive(reader: asyncio.StreamReader, vocabulary: Vocabulary) -> tuple[Any, ...]:  # Any: as above
    """The next message. Raises BadFrame, also for a frame that ends too early; EOFError at the end of the stream."""
    try:
        header = await reader.readexactly(_HEADER.size)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise BadFrame("the stream ended inside a frame") from None
        raise EOFError from None
    size = _size_of(header)
    try:
        return vocabulary.read(await reader.readexactly(size))
    except asyncio.IncompleteReadError:
        raise BadFrame("the stream ended inside a frame") from None


class Pipe:
    """The blocking end. Sending is locked; receiving belongs to one thread."""

    def __init__(self, stream: socket.socket, vocabulary: Vocabulary) -> None:
        self._stream, self._vocabulary = stream, vocabulary
        self._lock = threading.Lock()

    def send(self, frames: bytes) -> None:
        """Send what `encode` gave, one frame or several. Raises OSError if the other end is gone."""
        with self._lock:
            self._stream.sendall(frames)

    def receive(self) -> tuple[Any, ...]:  # Any: as above
        """The next message. Raises BadFrame; EOFError at the end of the stream, OSError if the connection broke."""
        header = self._exactly(_HEADER.size)
        if not header:
            raise EOFError
        size = _size_of(header) if len(header) == _HEADER.size else -1
        body = self._exactly(size) if size >= 0 else b""
        if len(body) != size:
            raise BadFrame("the stream ended inside a frame")
        return self._vocabulary.read(body)

    def _exactly(self, size: int) -> bytes:
        """So many bytes, fewer at the end of the stream."""
        parts = bytearray()
        while len(parts) < size:
            part = self._stream.recv(min(size - len(parts), 2**20))
            if not part:
                break
            parts += part
        return bytes(parts)
