"""Plain text for people: aligned columns, times and sizes. No colours and no terminal needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def columns(rows: Iterable[Sequence[str]], gap: int = 2) -> str:
    """Rows as aligned columns, left-justified; the last column runs on freely. Every row has equally many cells."""
    table = [[_printable(cell) for cell in row] for row in rows]
    if not table:
        return ""
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]))]
    space = " " * gap
    lines = [space.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join(lines)


def seconds_text(seconds: float) -> str:
    """A duration: "0.4 ms", "12 ms", "2.31 s", "3 min 5 s"."""
    if seconds < 0.00995:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.5:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def size_text(size_bytes: float) -> str:
    """A size in powers of 1024: "512 B", "1.5 MiB"."""
    size, unit = float(size_bytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"


def _printable(text: str) -> str:
    """One line without control characters: a node's message or a file's name must not steer the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
