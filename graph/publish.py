"""The one way a file gets into an output folder: whole, under a name of its own, its sidecar last.

A reader that takes only files with a readable sidecar never sees a torn one, whatever kills the writer (spec J1, J2).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

#: What a published name looks like, without its suffix.
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
SIDECAR_SUFFIX: Final = ".json"


def unique_name(prefix: str) -> str:
    """A name that no earlier call gave: the prefix (its unfit characters as "_"), the UTC time, 48 random bits."""
    fit = re.sub(r"[^A-Za-z0-9_-]+", "_", prefix).strip("_")[:80] or "output"
    return f"{fit}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(6)}"


def publish(folder: Path, name: str, suffix: str, content: bytes | memoryview, sidecar: Mapping[str, Any]) -> Path:
    """Write `name + suffix` and its sidecar `name + ".json"` (Any: plain JSON); gives the file's path.

    Both are written to dot-files beside their places, synced, and renamed, the sidecar last: it is the commit marker.
    Whatever goes wrong, interrupts included, leaves none of the four. Raises ValueError for an unfit name or suffix,
    FileExistsError if the name is taken, OSError as the disk does.
    """
    if not NAME.fullmatch(name) or not re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) or suffix == SIDECAR_SUFFIX:
        raise ValueError(f'"{name}{suffix}" cannot be published; a name is {NAME.pattern}, a suffix a dot and small letters')
    folder.mkdir(parents=True, exist_ok=True)
    media, note = folder / f"{name}{suffix}", folder / f"{name}{SIDECAR_SUFFIX}"
    for path in (media, note):
        if path.exists():
            raise FileExistsError(f"{path.name} exists already in {folder.name}; outputs are never overwritten, use another name")
    token = f"{os.getpid()}-{secrets.token_hex(4)}"
    pairs = [(folder / f".{path.name}.{token}.tmp", path) for path in (media, note)]
    try:
        for (temporary, _), data in zip(pairs, (content, _json(sidecar)), strict=True):
            _write(temporary, data)
        for temporary, path in pairs:
            os.rename(temporary, path)
        _sync_folder(folder)
    except BaseException:
        for temporary, path in reversed(pairs):
            path.unlink(missing_ok=True)
            temporary.unlink(missing_ok=True)
        raise
    return media


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files of this process: for one that leaves without waiting for what it is writing."""
    for path in folder.glob(f".*.{os.getpid()}-*.tmp"):
        path.unlink(missing_ok=True)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False).encode()


def _write(path: Path, data: bytes | memoryview) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the renames durable; a no-op where folders cannot be opened (Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
