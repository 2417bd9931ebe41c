"""How much is remembered, whether it is whole, and emptying it, as JSON: for the command line and for the server's engine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graph.disk_cache import DiskCacheFolder, FolderReport
from graph.engine import DEFAULT_LIMITS, Memories
from graph.environment import cpu_class
from graph.provenance import differences
from graph.spec import NodeSpec
from graph.store import SUFFIXES


def stats_json(memories: Memories) -> dict[str, Any]:  # Any: plain JSON, here and below
    """How much is kept. Raises StoreUnavailable."""
    memo = memories.memo
    folders = {name: _sizes(path) for name, path in _folders(memories.home).items()}
    return {
        "memo": {**memo.store.stats()._asdict(), "table_bytes": memo.table.bytes_on_disk()},
        "disk_cache": {name: {"entries": len(sizes), "bytes": sum(sizes)} for name, sizes in folders.items()},
    }


def verify_json(memories: Memories, specs: Callable[[], Mapping[str, NodeSpec]]) -> dict[str, Any]:
    """Read everything and check it against its digests; what is damaged is set aside. `specs` is asked if there are entries."""
    memo = memories.memo.verify()
    rows = memories.memo.table.damaged
    folders = {name: DiskCacheFolder(path, DEFAULT_LIMITS.disk_cache).verify() for name, path in _folders(memories.home).items()}
    bad = [f"memo {damage.digest[:12]}: {damage.reason}" for damage in memo.damaged]
    bad += [f"memo table: {rows} damaged rows were removed"] if rows else []
    bad += [f"disk_cache/{name} {entry.path.name}: {entry.reason}" for name, report in folders.items() for entry in report.bad]
    older = _made_with_others(specs, folders)
    kept = {
        name: {"entries": len(report.entries), "bytes": report.bytes, "made_with_others": dict(older.get(name, {}))}
        for name, report in folders.items()
    }
    return {"memo": {"files": memo.files, "bytes": memo.bytes}, "disk_cache": kept, "damaged": bad}


def clear_json(memories: Memories, disk_cache: bool) -> dict[str, Any]:
    """Forget what is remembered, and the `disk_cache` entries too if asked; how much that freed. Raises StoreUnavailable."""
    freed = memories.memo.clear()
    memories.memo.values.drop_until(0)
    if disk_cache:
        for path in _folders(memories.home).values():
            for entry in _entries(path):
                freed += entry.stat().st_size
                entry.unlink(missing_ok=True)
    return {"freed_bytes": freed}


def _folders(home: Path) -> dict[str, Path]:
    root = home / "disk_cache"
    return {path.name: path for path in sorted(root.iterdir()) if path.is_dir()} if root.is_dir() else {}


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)


def _sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in _entries(folder)]


def _made_with_others(specs: Callable[[], Mapping[str, NodeSpec]], folders: dict[str, FolderReport]) -> dict[str, Counter[str]]:
    """How many entries of each folder were made with what is not here now; folders without any are left out."""
    if not any(report.entries for report in folders.values()):
        return {}
    known = specs()
    classes = {cpu_class(devices) for devices in range(1, (os.cpu_count() or 1) + 1)}
    found = {
        name: Counter(reason for recorded in report.entries.values() for reason in differences(recorded, known, classes))
        for name, report in folders.items()
    }
    return {name: Counter(dict(sorted(reasons.items()))) for name, reasons in found.items() if reasons}
