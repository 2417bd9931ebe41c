"""Numbers as people write them: digits of our own script, no underscores, no spaces inside."""

from __future__ import annotations

import re
from typing import Final

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,400}")
_REAL: Final = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")


def whole_number(text: str) -> int:
    """The number that `text` writes, spaces around it aside. Raises ValueError."""
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError("no whole number")
    return int(text)


def real_number(text: str) -> float:
    """The same for numbers with a point or an exponent; inf if it is too large for a float."""
    if not _REAL.fullmatch(text.strip()):
        raise ValueError("no number")
    return float(text)
