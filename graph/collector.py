"""How Python's garbage collector is set in a process that runs an engine."""

from __future__ import annotations

import gc
from typing import Final

#: Allocations before a young collection, young ones before a middle one, middle ones before a full one.
_THRESHOLDS: Final = (50_000, 20, 50)


def relax_collector() -> None:
    """Make the collector's rounds rare, and leave what is alive now out of them for good.

    A run allocates many small records that all stay, and with the stock thresholds (700, 10, 10) each round walks
    them, and torch's objects, again: measured on 10,000 nodes with diffusers imported, 39 us a node against 23.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
