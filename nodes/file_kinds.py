"""What a file is by its first bytes, whatever it is called, for the messages about files that are not what they should be.

Nothing is decided by a name, and nothing here reads more than a file's start.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

#: Bytes of a file's start that `kind_of` looks at.
START_BYTES: Final = 64
_PICKLE_ADVICE: Final = (
    "it could run code when it is read, so it is never loaded. Take the model as safetensors, or convert it where you trust it"
)
_OTHER_ADVICE: Final = "only safetensors files are read. Take the model in that format"
_KINDS: Final = (
    (rb"PK(?:\x03\x04|\x05\x06)", "a zip archive (PyTorch and numpy keep pickles in these)", _PICKLE_ADVICE),
    (rb"\x80[\x02-\x05]", "a pickle", _PICKLE_ADVICE),
    (rb"c[\w.]+\n[\w.]+\n", "a pickle", _PICKLE_ADVICE),
    (rb"\(?(?:lp|dp|cp|c__)", "a pickle", _PICKLE_ADVICE),
    (rb"\x93NUMPY", "a numpy array, which can hold a pickle", _PICKLE_ADVICE),
    (rb"GGUF", "a GGUF file", _OTHER_ADVICE),
    (rb"\x89HDF", "an HDF5 file", _OTHER_ADVICE),
    (rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf", "a compressed file", _OTHER_ADVICE),
    (rb"\x7fELF|MZ|#!", "a program", _OTHER_ADVICE),
    (rb"version https://git-lfs", "a pointer of Git LFS and not the file itself", "Fetch the file with git lfs pull"),
    (rb"<(?:!DOCTYPE|html)", "a web page", "Download the file again"),
)
_SAFETENSORS: Final = re.compile(rb".{5}\x00{3}\{", re.DOTALL)


def kind_of(start: bytes) -> tuple[str, str] | None:
    """What a file that begins with these bytes is, and what to do about it; None for what is not known."""
    return next(((kind, advice) for pattern, kind, advice in _KINDS if re.match(pattern, start, re.IGNORECASE)), None)


def is_safetensors(start: bytes) -> bool:
    """Whether a file begins like a safetensors file: a length below 2^40, then an object."""
    return _SAFETENSORS.match(start) is not None


def start_of(path: Path) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(START_BYTES)
    except OSError:
        return b""
