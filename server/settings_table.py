"""The settings as a table for docs/operation.md: `python -m server.settings_table docs/operation.md` brings it up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from pydantic_core import PydanticUndefined

from server.configuration import PREFIX, Settings
from server.settings import FLAGS

_PLACE: Final = re.compile(r"(?<=<!-- settings -->\n).*?(?=<!-- end of settings -->)", re.DOTALL)


def with_table(text: str) -> str:
    """A document with today's table between its two marks."""
    return _PLACE.sub(lambda _: settings_table(), text)


def settings_table() -> str:
    """Every setting with its variable, flag, default and meaning, as Markdown."""
    rows = ["| setting | variable | flag | default | meaning |", "|---|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        flag = f"`{FLAGS[name]}`" if name in FLAGS else ""
        meaning = " ".join((field.description or "").split()).replace("|", "\\|")
        rows.append(f"| `{name}` | `{PREFIX}{name.upper()}` | {flag} | {_shown(field.default)} | {meaning} |")
    return "\n".join(rows) + "\n"


def _shown(default: object) -> str:
    if default is None or default is PydanticUndefined or default in ((), {}, ""):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:,}" if isinstance(default, int) and default > 9999 else str(default)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")
