"""Files of the user, as nodes find them: in the data folder, by content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, cast

_PICKED: Final[ContextVar[Mapping[str, Path]]] = ContextVar("picked files")


@contextmanager
def picked_files(paths: Mapping[str, Path]) -> Iterator[None]:
    """Let `find_file` find these too, by SHA-256, in this thread: what planning may look at before it is brought."""
    token = _PICKED.set(paths)
    try:
        yield
    finally:
        _PICKED.reset(token)


def find_file(home: Path, file: object) -> tuple[Path, str]:
    """The path and shown name of a file literal, `{"file": name, "sha256": hex}` or the bare hex, in `home`/files.

    Files lie there under their SHA-256. Raises ValueError if there is none.
    """
    named: Mapping[str, Any] = cast("Mapping[str, Any]", file) if isinstance(file, Mapping) else {"sha256": file}
    digest = str(named.get("sha256", ""))
    name = str(named.get("file", "")) or f"{digest[:12]}..."
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise ValueError(f'"{digest[:80]}" is no SHA-256 (64 small hex digits); upload the file and use the answer\'s sha256')
    path = home / "files" / digest
    if path.is_file():
        return path, name
    picked = _PICKED.get({}).get(digest)
    if picked is not None and picked.is_file():
        return picked, name
    raise ValueError(f"the file {name} (sha256 {digest[:12]}...) is not here; upload it again")
