"""The node behind which results are kept for months."""

from __future__ import annotations

from typing import TypeVar

from graph.context import Context
from graph.node import node

T = TypeVar("T")


@node(title="Disk cache", version=1, category="cache", persist=True, place="host")
def disk_cache(ctx: Context, value: T) -> T:
    """Keep a value in a folder of its own, so that nothing above it runs again; it survives upgrades.

    Storing and finding is the engine's work (`persist`); the node itself hands the value on.
    """
    return value
