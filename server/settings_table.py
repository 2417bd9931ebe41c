"""The settings as a table for docs/operation.md: `python -m server.settings_table` prints it, a test compares the two."""

from __future__ import annotations

import sys

from pydantic_core import PydanticUndefined

from server.configuration import FLAGS, PREFIX, Settings


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
    sys.stdout.write(settings_table())
