"""Names that people and clients give: which are fit to become a file's name, and how any of them is shown."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Final
from urllib.parse import quote

from pydantic import StringConstraints

#: An output's id (spec J5) and a file's, the SHA-256 of its content: anything else is 404 before a path is built of it.
OutputId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
FileId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

_FIT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,127}")
#: What Windows takes for devices, whatever follows after a dot.
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE | re.DOTALL)
_LONGEST_SHOWN_BYTES: Final = 200


def is_fit_id(text: str) -> bool:
    """Whether this may be an output's id: 1-128 of A-Z, a-z, 0-9, "_" and "-"."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,128}", text, re.ASCII) is not None


def is_file_id(text: str) -> bool:
    """Whether this may be a file's id: 64 small hexadecimal digits."""
    return re.fullmatch(r"[0-9a-f]{64}", text, re.ASCII) is not None


def is_fit_name(text: str) -> bool:
    """Whether this may name a workflow or the like, here and on any other system (spec L3)."""
    return (
        _FIT_NAME.fullmatch(text) is not None and ".." not in text and text[-1] not in ". " and _RESERVED.fullmatch(text) is None
    )


def shown_name(text: str, instead: str = "file") -> str:
    """A file's name as it is shown and offered for saving: one line, no folder, nothing invisible; `instead` if nothing is left.

    It never becomes a path here: files lie under ids. Composed (NFC), so that it looks and compares alike everywhere.
    """
    text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    text = re.split(r"[/\\]", text)[-1]
    text = "".join(" " if character.isspace() else character for character in text)
    text = "".join(
        character for character in text if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    )
    text = re.sub(r'[:*?"<>|]', "_", text)
    text = re.sub(r" +", " ", text).strip(" .")
    if text.startswith("-"):  # an option to a careless command
        text = f"_{text[1:]}"
    if _RESERVED.fullmatch(text):
        text = f"_{text}"
    return _cut(text) or instead


def _cut(text: str) -> str:
    """At most so many bytes, keeping a short suffix."""
    if len(text.encode()) <= _LONGEST_SHOWN_BYTES:
        return text
    stem, dot, suffix = text.rpartition(".")
    ending = dot + suffix if stem and len(suffix.encode()) <= 10 else ""
    body = (stem if ending else text).encode()[: _LONGEST_SHOWN_BYTES - len(ending.encode())]
    return body.decode(errors="ignore").rstrip(" .") + ending


def content_disposition(name: str, *, inline: bool) -> str:
    """The header that names a download (RFC 6266): plain letters for old programs, `filename*` with the whole name."""
    shown = shown_name(name)
    plain = "".join(character if character.isascii() and character not in '"\\%' else "_" for character in shown)
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"
