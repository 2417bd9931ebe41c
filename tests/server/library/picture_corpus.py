"""Pictures that are wrong, too large or hostile, made here: small as files, whatever they claim to be."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

PNG = b"\x89PNG\r\n\x1a\n"


def picture(width=40, height=30, seed=0, mode="RGB"):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Pillow.fromarray(noise).convert(mode)


def encoded(image, format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *chunks, pixels=b"\0" * 100, colour=2):
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return PNG + chunk(b"IHDR", header) + b"".join(chunks) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def zero_png(side):
    """Honest, and 1000 times smaller than its pixels."""
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def with_chunk(data, extra):
    """A PNG with another chunk before its pixels."""
    at = data.index(b"IDAT") - 4
    return data[:at] + extra + data[at:]


def gif(frames, width=4, height=4):
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x4c\x01\0"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6) + frame * frames + b";"


def text_png(text, name="workflow", packed=False):
    notes = PngInfo()
    notes.add_itxt(name, text, zip=packed)
    return encoded(picture(), pnginfo=notes)


BOMB = zlib.compress(bytes(50 << 20), 9)

#: By name: the bytes, and a part of what is said of them.
REFUSED = {
    "12,000 squared, all zero": (lambda: zero_png(12_000), "has more than 64000000 pixels"),
    "20,000 squared, all zero": (lambda: png(20_000, 20_000), "has more than 64000000 pixels"),
    "60,000 squared, header only": (lambda: png(60_000, 60_000)[:60], "has more than 64000000 pixels"),
    "APNG of 100,000 frames": (
        lambda: with_chunk(encoded(picture()), chunk(b"acTL", struct.pack(">II", 100_000, 0))), "has more than 1000 frames"),
    "GIF of 100,000 frames": (lambda: gif(100_000), "has more than 1000 frames"),
    "cut off": (lambda: encoded(picture(200, 200))[:4000], "is damaged"),
    "empty": (lambda: b"", "is none of PNG"),
    "text": (lambda: b"hello" * 100, "is none of PNG"),
    "SVG": (lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "is none of PNG"),
    "FITS": (lambda: b"SIMPLE  =                    T".ljust(2880), "is none of PNG"),
    "EPS": (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EOF", "is none of PNG"),
    "PSD": (lambda: b"8BPS\0\1" + bytes(20), "is none of PNG"),
    "PDF": (lambda: encoded(picture(), "PDF"), "is none of PNG"),
    "TIFF": (lambda: encoded(picture(), "TIFF"), "is none of PNG"),
    "iCCP bomb": (
        lambda: with_chunk(encoded(picture()), chunk(b"iCCP", b"p\0\0" + BOMB)), "is damaged"),
    "zTXt bomb": (
        lambda: with_chunk(encoded(picture()), chunk(b"zTXt", b"t\0\0" + BOMB)), "is damaged"),
}  # fmt: skip
