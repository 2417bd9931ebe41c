"""What bytes are, decided from the bytes: the few kinds that may be shown in a page, and everything else."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

Kind = Literal["image", "video", "curve", "other"]

#: So many bytes of the beginning are enough to tell.
HEAD_BYTES: Final = 4096


class Media(NamedTuple):
    """What a file is: kind, content type and usual suffix."""

    kind: Kind
    type: str
    suffix: str

    @property
    def is_shown(self) -> bool:
        """Whether a page may show it in place: raster pictures and videos, which run no script."""
        return self.kind in ("image", "video")


OTHER: Final = Media("other", "application/octet-stream", "")

_PATTERNS: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", re.DOTALL), Media("image", "image/png", ".png")),
    (re.compile(rb"\xff\xd8\xff[\xc0-\xfe]", re.DOTALL), Media("image", "image/jpeg", ".jpg")),
    (re.compile(rb"GIF8[79]a", re.DOTALL), Media("image", "image/gif", ".gif")),
    (re.compile(rb"RIFF....WEBPVP8[ LX]", re.DOTALL), Media("image", "image/webp", ".webp")),
    (re.compile(rb"BM....\0\0\0\0....[\x28\x6c\x7c]\0\0\0", re.DOTALL), Media("image", "image/bmp", ".bmp")),
    (re.compile(rb"\0\0\0.ftyp(?:avif|avis)", re.DOTALL), Media("image", "image/avif", ".avif")),
    (re.compile(rb"\0\0\0.ftyp(?:isom|iso[2-9]|mp4[12]|avc1|M4V )", re.DOTALL), Media("video", "video/mp4", ".mp4")),
    (re.compile(rb"\x1a\x45\xdf\xa3.{1,40}?\x42\x82.webm", re.DOTALL), Media("video", "video/webm", ".webm")),
    # what save_curve writes, which load_curve takes: no script, but nothing to show either
    (re.compile(rb'\s*\{\s*"format":\s*"latentgraph/curve-1"', re.DOTALL), Media("curve", "application/json", ".curve")),
)


def media_of(head: bytes) -> Media:
    """What begins with these bytes. Never goes by a name."""
    return next((media for pattern, media in _PATTERNS if pattern.match(head)), OTHER)
