"""`latentgraph cache`: how much is remembered, whether it is whole, and emptying it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.engine import DEFAULT_LIMITS, Memories
from server.cached import clear_json, stats_json, verify_json
from server.report import DONE, FAILED, print_data, print_json, tell
from server.settings import WrongUsage
from server.text import columns, size_text
from server.workspace import Workspace


def stats(home: Path, json: bool) -> int:
    """Print how much is kept; gives the exit code."""
    with _memories(home) as memories:
        found = stats_json(memories)
    if json:
        print_json(found)
        return DONE
    memo = found["memo"]
    rows = [
        (
            "memo",
            f"{memo['objects']} values, {size_text(memo['bytes'])} of {size_text(memo['limit_bytes'])}",
            f"table {size_text(memo['table_bytes'])}",
        ),
        ("quarantine", f"{memo['quarantined']} damaged files", ""),
    ]
    rows += [
        (f"disk_cache/{name}", f"{kept['entries']} entries, {size_text(kept['bytes'])}", "")
        for name, kept in found["disk_cache"].items()
    ]
    print_data(columns(rows))
    return DONE


def verify(home: Path, json: bool) -> int:
    """Read everything and check it against its digests; 1 if something was damaged (it is set aside, and made again)."""
    with _memories(home) as memories:
        found = verify_json(memories, lambda: Workspace(home).catalogue.registry().specs)
    memo, folders, bad = found["memo"], found["disk_cache"], found["damaged"]
    if json:
        print_json(found)
    else:
        entries = sum(kept["entries"] for kept in folders.values())
        print_data(
            f"{memo['files']} values ({size_text(memo['bytes'])}) and {entries} disk_cache entries read; {len(bad)} damaged"
        )
    for line in bad:
        tell(line)
    for name, kept in folders.items():
        if kept["made_with_others"]:
            said = ", ".join(f"{reason} ({count})" for reason, count in kept["made_with_others"].items())
            tell(f"disk_cache/{name}: entries were made with {said}; they are still used. To make them again, remove them")
    return FAILED if bad else DONE


def clear(home: Path, disk_cache: bool, json: bool) -> int:
    """Forget what is remembered, and the `disk_cache` entries too if asked; gives the exit code."""
    with _memories(home) as memories:
        found = clear_json(memories, disk_cache)
    print_json(found) if json else print_data(f"{size_text(found['freed_bytes'])} freed")
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
