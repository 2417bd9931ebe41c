"""What is resident on a device, and the ledger of its bytes.

Live parts are built whole from their recipes or not at all. The pool decides by the ledger (bytes known from file
headers), never by trying: some devices answer an overflow with garbage instead of an error.
"""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from graph.context import Recipe
from graph.errors import LatentgraphError

M = TypeVar("M")


class Sized(Protocol):
    """What the pool reads of a recipe beside `weights`: its live part's bytes, from file headers."""

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors in the recipe's dtype."""


class PoolFull(LatentgraphError):
    """A part does not fit the device's budget even with everything unpinned evicted."""


class Resident(NamedTuple):
    """One resident part, for status displays."""

    kind: str
    weights: str
    nbytes: int
    pins: int


@dataclass(eq=False)
class _Entry:
    recipe: Any  # Any: recipes of every kind live in one table
    nbytes: int
    pins: int = 0
    last_use: int = 0
    live: Any = None  # Any: what the recipe builds
    failed: bool = False
    building: threading.Lock = field(default_factory=threading.Lock)


class Pool:
    """The live parts of one device. Thread-safe; borrowing the same recipe twice gives the same object.

    `budget_bytes` bounds the sum of resident parts. `release_memory` returns freed blocks to the driver; the default
    empties the device's cache.
    """

    def __init__(self, device: str, budget_bytes: int, release_memory: Callable[[], None] | None = None) -> None:
        self.device = device
        self.budget_bytes = budget_bytes
        self._release_memory = release_memory or (lambda: _release(device))
        self._table = threading.RLock()
        self._entries: dict[Any, _Entry] = {}  # Any: hashable recipes
        self._clock = 0

    @contextmanager
    def borrow(self, recipe: Recipe[M]) -> Iterator[M]:
        """The live part of `recipe`, built if need be, pinned while the block runs.

        Raises `PoolFull` if it cannot fit, and whatever the build raises; a failed build leaves nothing behind.
        """
        entry = self._pin(recipe)
        try:
            while (live := self._live(entry)) is None:  # another thread's build failed while this one waited for it
                entry = self._pin(recipe)
            yield live
        finally:
            with self._table:
                entry.pins -= 1

    @property
    def used_bytes(self) -> int:
        """Bytes the ledger counts: resident parts and those being built."""
        with self._table:
            return sum(entry.nbytes for entry in self._entries.values())

    def resident(self) -> tuple[Resident, ...]:
        """What is resident, least recently used first."""
        with self._table:
            entries = sorted(self._entries.values(), key=lambda entry: entry.last_use)
            return tuple(
                Resident(type(e.recipe).__name__, e.recipe.weights, e.nbytes, e.pins) for e in entries if e.live is not None
            )

    def trim(self) -> None:
        """Return freed memory to the driver. Workers call it after every run, however the run ended (spec H12)."""
        self._release_memory()

    def sweep(self) -> None:
        """Free what only reference cycles still hold, then trim. A collection takes tenths of a second, trimming none."""
        gc.collect()
        self.trim()

    def evict(self, recipe: Recipe[Any] | None = None, *, keep: Collection[Recipe[Any]] = ()) -> int:  # Any: of any kind
        """Drop a recipe's part, or all parts but `keep`, unless pinned; gives the bytes freed in the ledger."""
        with self._table:
            keys = [
                key for key, e in self._entries.items() if e.pins == 0 and (recipe is None or key == recipe) and key not in keep
            ]
            freed = sum(self._entries.pop(key).nbytes for key in keys)
        if freed:
            self.sweep()
        return freed

    def _pin(self, recipe: Any) -> _Entry:  # Any: a Recipe that is also Sized
        with self._table:
            self._clock += 1
            entry = self._entries.get(recipe)
            if entry is None:
                entry = _Entry(recipe, getattr(recipe, "nbytes", 0))
                self._make_room(entry)
                self._entries[recipe] = entry
            entry.pins += 1
            entry.last_use = self._clock
            return entry

    def _make_room(self, wanted: _Entry) -> None:
        over = self.used_bytes + wanted.nbytes - self.budget_bytes
        if over <= 0:
            return
        idle = sorted((e for e in self._entries.values() if e.pins == 0), key=lambda e: e.last_use)
        if sum(e.nbytes for e in idle) < over:
            pinned = sum(e.nbytes for e in self._entries.values() if e.pins)
            raise PoolFull(
                f"{type(wanted.recipe).__name__} needs {_mib(wanted.nbytes)} on {self.device}, whose models may take "
                f"{_mib(self.budget_bytes)}; {_mib(pinned)} of that are in use. Use a smaller dtype, or a larger device"
            )
        for entry in idle:
            if over <= 0:
                break
            del self._entries[entry.recipe]
            over -= entry.nbytes
            entry.live = None
        self.sweep()

    def _live(self, entry: _Entry) -> Any:  # Any: what the recipe builds
        with entry.building:
            if entry.failed:
                return None
            if entry.live is None:
                try:
                    entry.live = entry.recipe.build(self.device)
                except BaseException as error:
                    self._forget(entry, error)
                    raise
            return entry.live

    def _forget(self, entry: _Entry, error: BaseException) -> None:
        """Drop a failed build's entry and debris: the frames of the error and its causes would hold half-built modules."""
        entry.failed = True
        with self._table:
            del self._entries[entry.recipe]
        clear_frames(error)
        self.sweep()


def clear_frames(error: BaseException) -> None:
    """Let go of what the frames of an error and its causes hold: one kept exception keeps a denoiser's activations alive."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        traceback.clear_frames(found.__traceback__)
        waiting += [found.__cause__, found.__context__]


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def _release(device: str) -> None:
    torch = sys.modules.get("torch")
    if torch is not None and device.startswith("cuda") and torch.cuda.is_initialized():
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()
    elif torch is not None and device == "mps":
        torch.mps.empty_cache()
