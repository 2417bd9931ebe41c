"""`latentgraph cache`: how much is remembered, whether it is whole, and emptying it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graph.disk_cache import DiskCacheFolder, FolderReport
from graph.engine import DEFAULT_LIMITS, Memories
from graph.environment import cpu_class
from graph.provenance import differences
from graph.store import SUFFIXES
from server.report import DONE, FAILED, print_data, print_json, tell
from server.settings import WrongUsage
from server.text import columns, size_text
from server.workspace import Workspace


def stats(home: Path, json: bool) -> int:
    """Print how much is kept; gives the exit code."""
    with _memories(home) as memories:
        memo = memories.memo.store.stats()
        table_bytes = memories.memo.table.bytes_on_disk()
    folders = {name: _sizes(path) for name, path in _disk_cache_folders(home).items()}
    if json:
        kept = {name: {"entries": len(sizes), "bytes": sum(sizes)} for name, sizes in folders.items()}
        print_json({"memo": {**memo._asdict(), "table_bytes": table_bytes}, "disk_cache": kept})
        return DONE
    rows = [
        (
            "memo",
            f"{memo.objects} values, {size_text(memo.bytes)} of {size_text(memo.limit_bytes)}",
            f"table {size_text(table_bytes)}",
        ),
        ("quarantine", f"{memo.quarantined} damaged files", ""),
    ]
    rows += [(f"disk_cache/{name}", f"{len(sizes)} entries, {size_text(sum(sizes))}", "") for name, sizes in folders.items()]
    print_data(columns(rows))
    return DONE


def verify(home: Path, json: bool) -> int:
    """Read everything and check it against its digests; 1 if something was damaged (it is set aside, and made again)."""
    with _memories(home) as memories:
        memo = memories.memo.verify()
        rows = memories.memo.table.damaged
    folders = {
        name: DiskCacheFolder(path, DEFAULT_LIMITS.disk_cache).verify() for name, path in _disk_cache_folders(home).items()
    }
    bad = [f"memo {damage.digest[:12]}: {damage.reason}" for damage in memo.damaged]
    bad += [f"memo table: {rows} damaged rows were removed"] if rows else []
    bad += [f"disk_cache/{name} {entry.path.name}: {entry.reason}" for name, report in folders.items() for entry in report.bad]
    older = _made_with_others(home, folders)
    if json:
        print_json(_verify_json(memo.files, memo.bytes, folders, older, bad))
    else:
        entries = sum(len(report.entries) for report in folders.values())
        print_data(f"{memo.files} values ({size_text(memo.bytes)}) and {entries} disk_cache entries read; {len(bad)} damaged")
    for line in bad:
        tell(line)
    for name, reasons in older.items():
        said = ", ".join(f"{reason} ({count})" for reason, count in reasons.items())
        tell(f"disk_cache/{name}: entries were made with {said}; they are still used. To make them again, remove them")
    return FAILED if bad else DONE


def clear(home: Path, disk_cache: bool, json: bool) -> int:
    """Forget what is remembered, and the `disk_cache` entries too if asked; gives the exit code."""
    with _memories(home) as memories:
        freed = memories.memo.clear()
    if disk_cache:
        for path in _disk_cache_folders(home).values():
            for entry in _entries(path):
                freed += entry.stat().st_size
                entry.unlink(missing_ok=True)
    print_json({"freed_bytes": freed}) if json else print_data(f"{size_text(freed)} freed")
    return DONE


@contextmanager
def _memories(home: Path) -> Iterator[Memories]:
    if not home.is_dir():
        raise WrongUsage(f"There is no data folder {home}; run a workflow first, or give --home.")
    memories = Memories(home, DEFAULT_LIMITS)
    try:
        yield memories
    finally:
        memories.close()


def _disk_cache_folders(home: Path) -> dict[str, Path]:
    root = home / "disk_cache"
    return {path.name: path for path in sorted(root.iterdir()) if path.is_dir()} if root.is_dir() else {}


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)


def _sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in _entries(folder)]


def _made_with_others(home: Path, folders: dict[str, FolderReport]) -> dict[str, Counter[str]]:
    """How many entries of each folder were made with what is not here now; folders without any are left out."""
    if not any(report.entries for report in folders.values()):
        return {}
    specs = Workspace(home).catalogue.registry().specs
    classes = {cpu_class(devices) for devices in range(1, (os.cpu_count() or 1) + 1)}
    found = {
        name: Counter(reason for recorded in report.entries.values() for reason in differences(recorded, specs, classes))
        for name, report in folders.items()
    }
    return {name: Counter(dict(sorted(reasons.items()))) for name, reasons in found.items() if reasons}


def _verify_json(
    files: int, size_bytes: int, folders: dict[str, FolderReport], older: dict[str, Counter[str]], bad: list[str]
) -> dict[str, Any]:  # Any: plain JSON
    kept = {
        name: {"entries": len(report.entries), "bytes": report.bytes, "made_with_others": dict(older.get(name, {}))}
        for name, report in folders.items()
    }
    return {"memo": {"files": files, "bytes": size_bytes}, "disk_cache": kept, "damaged": bad}
