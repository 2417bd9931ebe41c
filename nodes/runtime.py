"""What a worker needs of this layer: a pool of live models, the call wrapper, and how much memory a call took.

Importing it imports no torch; that happens when the first device node runs.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final

from graph.catalogue import load_catalogue
from graph.context import Context, Recipe
from graph.engine import DEFAULT_LIMITS
from graph.registry import Registry
from nodes.pool import Pool

#: torch keeps a thread's setting only if it is read back at once; two threads setting theirs at a time mix them up.
_SETTING_THREADS: Final = threading.Lock()


class DeviceRuntime:
    """Calls node functions for one device, with gradients off, and holds the device's models.

    The virtual devices `cpu:0`, `cpu:1`, ... are all the CPU; "host" is the place of nodes that need no device.
    """

    def __init__(self, device: str, threads: int, budget_bytes: int = DEFAULT_LIMITS.device) -> None:
        self.device, self.threads = device, threads
        self.pool = Pool("cpu" if device == "host" else device, budget_bytes)
        self._prepared = threading.local()
        self._baseline: int | None = None
        self._peak = 0

    def call(self, function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:
        """Call a node's function. Any: each node has its own signature."""
        on_device = self.device != "host"
        if on_device or "torch" in sys.modules:
            self._prepare()
        if not on_device:
            return function(ctx, **inputs)
        meter = _meter(self.device)
        if self._baseline is None:
            self._baseline = meter.held()
        meter.reset()
        try:
            return function(ctx, **inputs)
        finally:
            self._peak = max(meter.peak() - (self._baseline if meter.whole_process else 0), self.pool.used_bytes)

    def _prepare(self) -> None:
        """Set this thread's torch threads and switch gradients off, once per thread (both are per thread)."""
        if getattr(self._prepared, "done", False):
            return
        import torch  # heavy, and not needed by a run whose results are all remembered

        with _SETTING_THREADS:
            torch.set_num_threads(self.threads)
            torch.get_num_threads()
        torch.set_grad_enabled(False)
        self._prepared.done = True

    def borrow(self, recipe: Recipe[Any]) -> AbstractContextManager[Any]:
        """The live model part, pinned while the block runs."""
        return self.pool.borrow(recipe)

    def resident(self) -> Mapping[str, int]:
        """Weights held now: identity to bytes."""
        return {part.weights: part.nbytes for part in self.pool.resident()}

    def peak_bytes(self) -> int:
        """Most memory held at once during the last call.

        On a CPU: by the whole process, above what it held before its first call (the kernel's high-water mark).
        """
        return self._peak

    def trim(self) -> None:
        """Give pooled memory back to the driver."""
        self.pool.trim()


class _ProcessMeter:
    """The process's resident memory, by the kernel's counters. Other systems than Linux: not measured (0)."""

    whole_process = True

    def held(self) -> int:
        return _status("VmRSS")

    def reset(self) -> None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")

    def peak(self) -> int:
        return _status("VmHWM")


class _CudaMeter:
    """torch's own counters of a CUDA device."""

    whole_process = False

    def __init__(self, device: str) -> None:
        self.device = device

    def held(self) -> int:
        import torch

        return int(torch.cuda.memory_allocated(self.device))

    def reset(self) -> None:
        import torch

        torch.cuda.reset_peak_memory_stats(self.device)

    def peak(self) -> int:
        import torch

        return int(torch.cuda.max_memory_allocated(self.device))


def _meter(device: str) -> _ProcessMeter | _CudaMeter:
    return _CudaMeter(device) if device.startswith("cuda") else _ProcessMeter()


def _status(name: str) -> int:
    with suppress(OSError):
        found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
        if found is not None:
            return int(found[1]) * 1024
    return 0


def worker(device: str, threads: int, home: Path) -> tuple[Registry, DeviceRuntime]:
    """What a worker process of `graph.worker` sets itself up with."""
    return _worker(device, threads, home, packs=True)


def worker_without_packs(device: str, threads: int, home: Path) -> tuple[Registry, DeviceRuntime]:
    """The same for a run with `--no-packs`."""
    return _worker(device, threads, home, packs=False)


def _worker(device: str, threads: int, home: Path, *, packs: bool) -> tuple[Registry, DeviceRuntime]:
    from nodes.builtin import MODULES

    return load_catalogue(home, MODULES, packs=packs).registry(), DeviceRuntime(device, threads)
