"""Are `graph`, `nodes` and `server` ours? The import names are plain words, so another distribution may bring one too."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

NAMES: Final = ("graph", "nodes", "server")


class Shadow(NamedTuple):
    """Something else under one of our import names; `wins` if Python would import it instead of ours."""

    name: str
    path: Path
    wins: bool


def shadows(ours: Path, path: Sequence[str] = sys.path, names: Iterable[str] = NAMES) -> list[Shadow]:
    """Every other package or module on `path` with one of our names. `ours` is the folder that holds our packages."""
    found = []
    for name in names:
        is_ours_seen = False
        for folder in dict.fromkeys(Path(entry or ".").resolve() for entry in path):
            if folder == ours.resolve():
                is_ours_seen = True
                continue
            for candidate in (folder / name / "__init__.py", folder / f"{name}.py"):
                if candidate.is_file():
                    found.append(Shadow(name, candidate, not is_ours_seen))
    return found
