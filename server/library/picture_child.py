"""The process that looks into pictures of strangers, so that the server never does: `python -m server.library.picture_child FD`.

It is given open files over a socket and answers with plain values. It has limits on memory, time and files, no network,
and it is killed when an answer takes too long. It names no path and writes nothing.
"""

from __future__ import annotations

import ctypes
import io
import os
import resource
import signal
import socket
import struct
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, Final

import msgpack  # type: ignore[import-untyped]  # has no stubs

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

#: Memory (address space), and seconds of computing per question.
MEMORY_BYTES: Final = 2 * 1024**3
COMPUTING_SECONDS: Final = 10
#: What is looked into at all; everything else is no picture, whatever it is called.
FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MOST_FRAMES: Final = 1000
#: The text of a workflow: as it stands in the file, and unpacked.
MOST_TEXT_BYTES: Final = 1 << 20
MOST_UNPACKED_BYTES: Final = 4 << 20
#: An answer, and a file that is rewritten in memory.
MOST_ANSWER_BYTES: Final = 256 << 20

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_LENGTH: Final = struct.Struct(">I")


class Unreadable(Exception):
    """This is no picture that is looked into; the message completes "The picture ..."."""


Answer = dict[str, Any]  # Any: plain values of msgpack, as each question has it


def probe(file: IO[bytes], most_pixels: int) -> Answer:
    """Format, size in pixels, mode and number of frames, from headers alone."""
    picture = _opened(file, most_pixels)
    return {
        "format": picture.format,
        "width": picture.width,
        "height": picture.height,
        "mode": picture.mode,
        "frames": _frames(picture, file),
    }


def thumbnail(file: IO[bytes], most_pixels: int, side: int) -> Answer:
    """The first frame as WebP with sides of at most `side` pixels, turned as its camera says."""
    from PIL import ImageOps, features

    if not features.check("webp"):
        return {"missing": "WebP"}
    picture = _opened(file, most_pixels)
    _frames(picture, file)
    picture.draft(None, (side * 2, side * 2))  # a JPEG is decoded small at once
    small = _eight_bits(picture)
    small.thumbnail((side, side))
    return {"image": webp(ImageOps.exif_transpose(small)), "width": small.width, "height": small.height}


def workflow(file: IO[bytes]) -> Answer:
    """The text of the workflow that a PNG or WebP carries, unread; None if it carries none."""
    head = file.read(12)
    file.seek(0)
    if head.startswith(_PNG):
        return {"text": _text_in_png(file)}
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return {"text": _text_in_webp(file)}
    raise Unreadable("is neither PNG nor WebP; only these carry workflows")


def strip(file: IO[bytes], most_pixels: int) -> Answer:
    """The same picture without what it carries beside its pixels. The pixels' own bytes are copied, never encoded again."""
    picture = _opened(file, most_pixels)
    file.seek(0)
    parts = {"PNG": _bare_png, "WEBP": _bare_webp, "JPEG": _bare_jpeg}.get(str(picture.format))
    if parts is None:
        raise Unreadable(f"is a {picture.format}, which is not rewritten; only PNG, WebP and JPEG are")
    bare = bytearray()
    for part in parts(file):
        bare += part
        if len(bare) > MOST_ANSWER_BYTES - 1024:
            raise Unreadable(f"has more than {MOST_ANSWER_BYTES} bytes")
    if picture.format == "WEBP":
        bare[4:8] = struct.pack("<I", len(bare) - 8)
    return {"image": bytes(bare)}


def value(file: IO[bytes], digest: bytes, index: int, picture: str) -> Answer:
    """What a stored value looks like; see `server.library.value_pictures`."""
    from server.library.value_pictures import look  # reads our own files; the other questions do not need it

    return look(file.fileno(), digest, index, picture)


def webp(picture: Picture) -> bytes:
    """A small picture, encoded."""
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=80, method=2)
    return buffer.getvalue()


def _opened(file: IO[bytes], most_pixels: int) -> Picture:
    """The picture by its header, not decoded yet."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = most_pixels
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        return Image.open(file, formats=FORMATS)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise Unreadable(f"has more than {most_pixels} pixels") from None
    except UnidentifiedImageError:
        raise Unreadable(f"is none of {', '.join(FORMATS)}, or is damaged") from None


def _frames(picture: Picture, file: IO[bytes]) -> int:
    """The number of frames. Raises Unreadable if there are very many: each costs, whoever plays it."""
    at = file.tell()
    count = _frames_of_gif(file) if picture.format == "GIF" else int(getattr(picture, "n_frames", 1))
    file.seek(at)
    if count > MOST_FRAMES:
        raise Unreadable(f"has more than {MOST_FRAMES} frames")
    return count


def _frames_of_gif(file: IO[bytes]) -> int:
    """Counted block by block, without decoding (Pillow would compose them all); at most one more than may be."""
    file.seek(10)
    flags = _exactly(file, 3)[0]
    file.seek(3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0, os.SEEK_CUR)
    count = 0
    while count <= MOST_FRAMES:
        kind = file.read(1)
        if kind == b"!":
            file.seek(1, os.SEEK_CUR)
        elif kind == b",":
            count += 1
            local = _exactly(file, 9)[8]
            file.seek((3 * 2 ** ((local & 7) + 1) if local & 0x80 else 0) + 1, os.SEEK_CUR)
        else:
            break
        while (size := file.read(1)) not in (b"", b"\0"):
            file.seek(size[0], os.SEEK_CUR)
    return max(1, count)


def _eight_bits(picture: Picture) -> Picture:
    """In a mode that WebP takes: 16 bits scaled to 8, ink and palettes made colours."""
    if picture.mode.startswith("I") or picture.mode == "F":
        return picture.convert("I").point(lambda level: level * (1 / 257)).convert("L")
    has_alpha = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    return picture.convert("RGBA" if has_alpha else "RGB")


# Text.


def _text_in_png(file: IO[bytes]) -> str | None:
    """The text chunk `workflow`, wherever it stands. A second one is an attempt to show one and run another."""
    found: str | None = None
    for kind, size in _png_chunks(file):
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            file.seek(size + 4, os.SEEK_CUR)
            continue
        name = file.read(min(size, 80)).partition(b"\0")[0]
        file.seek(-min(size, 80), os.SEEK_CUR)
        if name != b"workflow":
            file.seek(size + 4, os.SEEK_CUR)
            continue
        if found is not None:
            raise Unreadable("carries two workflows; nobody can say which is meant")
        if size > MOST_TEXT_BYTES:
            raise Unreadable(f"carries a workflow of more than {MOST_TEXT_BYTES} bytes")
        data = _exactly(file, size)
        if zlib.crc32(kind + data) != _LENGTH.unpack(_exactly(file, 4))[0]:
            raise Unreadable("carries a workflow that is damaged")
        found = _text_of(kind, data)
    return found


def _png_chunks(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Kind and size of each chunk; the reader stands at its data and moves on behind its check sum."""
    file.seek(len(_PNG))
    while (head := file.read(8)) and len(head) == 8:
        yield head[4:], _LENGTH.unpack(head[:4])[0]
        if head[4:] == b"IEND":
            return


def _text_of(kind: bytes, data: bytes) -> str:
    body = data.partition(b"\0")[2]
    try:
        if kind == b"tEXt":
            return body.decode()  # Latin-1 by the standard, but JSON that others write there is UTF-8
        if kind == b"zTXt":
            return _unpacked(body[1:]).decode()
        packed, rest = body[:2], body[2:]
        text = rest.split(b"\0", 2)[2]
        return (_unpacked(text) if packed[:1] == b"\1" else text).decode()
    except (UnicodeDecodeError, IndexError, zlib.error):
        raise Unreadable("carries a workflow that is damaged") from None


def _unpacked(data: bytes) -> bytes:
    inflating = zlib.decompressobj()
    text = inflating.decompress(data, MOST_UNPACKED_BYTES + 1)
    if len(text) > MOST_UNPACKED_BYTES:
        raise Unreadable(f"carries a workflow of more than {MOST_UNPACKED_BYTES} bytes unpacked")
    return text


def _text_in_webp(file: IO[bytes]) -> str | None:
    """What a WebP carries as `workflow:...` in the EXIF fields Make or Model, as others write it."""
    from PIL import Image

    for kind, size in _riff_chunks(file):
        if kind != b"EXIF":
            file.seek(size + size % 2, os.SEEK_CUR)
            continue
        if size > MOST_TEXT_BYTES:
            raise Unreadable(f"carries notes of more than {MOST_TEXT_BYTES} bytes")
        notes = Image.Exif()
        notes.load(_exactly(file, size))
        for field in (0x010F, 0x0110):
            text = notes.get(field)
            if isinstance(text, str) and text.startswith("workflow:"):
                return text.removeprefix("workflow:").rstrip("\0")
        return None
    return None


def _riff_chunks(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    file.seek(12)
    while (head := file.read(8)) and len(head) == 8:
        yield head[:4], struct.unpack("<I", head[4:])[0]


# Without notes.

#: Chunks without which the pixels would look different: palette, transparency, colour space, frames.
_PNG_KEPT: Final = frozenset(
    (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"cICP", b"acTL", b"fcTL", b"fdAT")
)
_WEBP_NOTES: Final = {b"EXIF": 0x08, b"XMP ": 0x04}
#: JPEG segments that only carry notes: comments, and application data but for JFIF (0), the colour profile (2), Adobe's
#: colour transform (14).
_JPEG_NOTES: Final = frozenset((0xFE, *(0xE0 + number for number in range(16) if number not in (0, 2, 14))))


def _bare_png(file: IO[bytes]) -> Iterator[bytes]:
    yield _PNG
    for kind, size in _png_chunks(file):
        if kind in _PNG_KEPT:
            yield _LENGTH.pack(size) + kind + _exactly(file, size + 4)
        else:
            file.seek(size + 4, os.SEEK_CUR)


def _bare_webp(file: IO[bytes]) -> Iterator[bytes]:
    yield b"RIFF\0\0\0\0WEBP"  # the length is set at the end
    for kind, size in _riff_chunks(file):
        if kind in _WEBP_NOTES:
            file.seek(size + size % 2, os.SEEK_CUR)
            continue
        data = bytearray(_exactly(file, size))
        if kind == b"VP8X" and data:
            data[0] &= ~sum(_WEBP_NOTES.values())
        yield kind + struct.pack("<I", size) + data + bytes(size % 2)
        file.seek(size % 2, os.SEEK_CUR)


def _bare_jpeg(file: IO[bytes]) -> Iterator[bytes]:
    yield _exactly(file, 2)
    while (marker := _exactly(file, 2))[1] != 0xDA:
        if marker[0] != 0xFF:
            raise Unreadable("is damaged")
        size = _exactly(file, 2)
        body = _exactly(file, max(0, int.from_bytes(size, "big") - 2))
        if marker[1] not in _JPEG_NOTES:
            yield marker + size + body
    yield marker
    while part := file.read(1 << 20):
        yield part


def _exactly(file: IO[bytes], size: int) -> bytes:
    if size > MOST_ANSWER_BYTES:
        raise Unreadable("is damaged")
    data = file.read(size)
    if len(data) < size:
        raise Unreadable("is damaged: it ends too early")
    return data


# The process.

QUESTIONS: Final[dict[str, Callable[..., Answer]]] = {
    "probe": probe,
    "thumbnail": thumbnail,
    "workflow": workflow,
    "strip": strip,
    "value": value,
}


def answer_to(question: str, file: int, arguments: dict[str, Any]) -> Answer:
    """The answer, or {"unreadable": why}. Whatever a hostile file makes a decoder raise is such an answer."""
    try:
        with os.fdopen(file, "rb", buffering=1 << 16) as opened:
            opened.seek(0)
            return QUESTIONS[question](opened, **arguments)
    except Unreadable as error:
        return {"unreadable": str(error)}
    except MemoryError:
        return {"unreadable": "takes more memory than may be spent on looking at it"}
    except Exception as error:  # decoders raise many kinds, none of which may end this process
        return {"unreadable": f"is damaged ({type(error).__name__})"}


def _limit() -> None:
    """Take away what is not needed, as far as this system can."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    libc = ctypes.CDLL(None)
    if sys.platform.startswith("linux"):
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG: it ends with the server
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        libc.unshare(0x10000000 | 0x40000000)  # a user and a network name space of its own; refused in some containers


def _allow_more_time() -> None:
    """Seconds of computing for the next question, beside what is spent."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(spent.ru_utime + spent.ru_stime) + COMPUTING_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(arguments: list[str]) -> None:
    """Answer until the server closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to answer
    line = socket.socket(fileno=int(arguments[0]))
    _limit()
    while True:
        data, files, _, _ = socket.recv_fds(line, 1 << 16, 1)
        if not data or not files:
            return
        question, given = msgpack.unpackb(data)
        _allow_more_time()
        answer = msgpack.packb(answer_to(question, files[0], given))
        line.sendall(_LENGTH.pack(len(answer)) + answer)


if __name__ == "__main__":
    main(sys.argv[1:])
