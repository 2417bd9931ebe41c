"""What a worker asks of this layer: call node functions with torch set up, and lend models from the device's pool.

Importing it loads no torch; the first device call does. A process that only saves remembered pictures never does.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from graph.context import Context, Recipe
from nodes.pool.pool import Pool

#: Weights may take this part of a device; the rest is for values and working memory.
WEIGHTS_SHARE: Final = 0.8
_setting_threads: Final = threading.Lock()


class DeviceRuntime:
    """Runs node functions for one device (or for the host, `device` "cpu"), in one thread; pooled models outlive calls.

    `threads` is how many torch may use here. `budget_bytes` bounds the resident weights; by default four fifths of
    the device's memory.
    """

    def __init__(self, device: str, threads: int = 1, budget_bytes: int | None = None) -> None:
        self.device = device
        self.threads = threads
        self._budget_bytes = budget_bytes
        self._pool: Pool | None = None
        self._prepared: set[int] = set()

    @property
    def pool(self) -> Pool:
        """The device's models."""
        if self._pool is None:
            budget = self._budget_bytes
            self._pool = Pool(self.device, int(WEIGHTS_SHARE * _memory_bytes(self.device)) if budget is None else budget)
        return self._pool

    def call(self, function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:
        """Call a node's function, without gradients. Any: each node has its own signature."""
        torch = sys.modules.get("torch")
        if torch is None:
            return function(ctx, **inputs)  # a node that needs torch imports it and turns gradients off itself
        self._prepare_thread(torch)
        with torch.no_grad():
            return function(ctx, **inputs)

    def borrow(self, recipe: Recipe[Any]) -> AbstractContextManager[Any]:
        """The live model part, pinned while the block runs."""
        import torch

        self._prepare_thread(torch)
        return self.pool.borrow(recipe)

    def resident(self) -> Mapping[str, int]:
        """Weights held now: identity to bytes."""
        return {} if self._pool is None else {part.weights: part.nbytes for part in self._pool.resident()}

    def peak_bytes(self) -> int:
        """Most memory torch held at once since the last call of this; 0 where the device does not count it."""
        torch = sys.modules.get("torch")
        if torch is None or not self.device.startswith("cuda") or not torch.cuda.is_initialized():
            return 0
        peak = int(torch.cuda.max_memory_allocated(self.device))
        torch.cuda.reset_peak_memory_stats(self.device)
        return peak

    def trim(self) -> None:
        """Give pooled memory back to the driver."""
        if self._pool is not None:
            self._pool.trim()

    def _prepare_thread(self, torch: Any) -> None:  # Any: a module that may not be loaded
        """Set this thread's torch threads; the reading is what makes the setting stick (reference/engine.md, section 5)."""
        thread = threading.get_ident()
        if thread not in self._prepared:
            with _setting_threads:
                torch.set_num_threads(self.threads)
                torch.get_num_threads()
            self._prepared.add(thread)


def device_runtime(device: str, threads: int) -> DeviceRuntime:
    """The runtime of a worker that runs in this process."""
    return DeviceRuntime(device, threads)


def setup(device: str, threads: int, home: Path) -> tuple[Any, DeviceRuntime]:  # Any: graph.registry.Registry
    """What a worker process starts with: the node functions and its runtime."""
    from graph.registry import Registry
    from nodes.builtin import MODULES

    return Registry.load(MODULES), DeviceRuntime(device, threads)


def _memory_bytes(device: str) -> int:
    """All memory of the device."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.get_device_properties(device).total_memory)
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
