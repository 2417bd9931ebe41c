"""What a worker needs of this layer: a pool of live models, the call wrapper, and how much memory a call took.

Importing it imports no torch; that happens when the first device node runs.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from graph.catalogue import load_catalogue
from graph.context import Context, Recipe
from graph.environment import cpu_class, host_memory_bytes
from graph.registry import Registry
from graph.shortage import shortage_in
from graph.spec import NodeSpec
from graph.workers import said_of
from nodes.pool import Pool, PoolFull, clear_frames

#: torch keeps a thread's setting only if it is read back at once; two threads setting theirs at a time mix them up.
_SETTING_THREADS: Final = threading.Lock()


class DeviceRuntime:
    """Calls node functions for one device, with gradients off, and holds the device's models.

    The virtual devices `cpu:0`, `cpu:1`, ... are all the CPU; "host" is the place of nodes that need no device.
    """

    def __init__(self, device: str, threads: int, budget_bytes: int | None = None) -> None:
        """`budget_bytes` bounds the resident weights; by default the share of memory that the scheduler counts with."""
        self.device, self.threads = device, threads
        self.pool = Pool(
            "cpu" if device == "host" else device, memory_budget(device, 1) if budget_bytes is None else budget_bytes
        )
        self._prepared = threading.local()
        self._baseline: int | None = None
        self._peak = 0
        self._loading = 0.0
        self._borrowed: set[Recipe[Any]] = set()

    def prepare(self, spec: NodeSpec) -> None:
        """Import what a node of this type will, and set this thread up for torch (both settings are per thread)."""
        if self.device == "host" and not (spec.borrows or "torch" in sys.modules):
            return
        if getattr(self._prepared, "done", False):
            return
        import torch  # heavy, and not needed by a run whose results are all remembered

        with _SETTING_THREADS:
            torch.set_num_threads(self.threads)
            torch.get_num_threads()
        torch.set_grad_enabled(False)
        self._prepared.done = True

    def call(self, function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:
        """Call a node's function. Any: each node has its own signature."""
        self._loading = 0.0
        if self.device == "host":
            return self._patiently(function, ctx, inputs)
        meter = _meter(self.device)
        if self._baseline is None:
            self._baseline = meter.held()
        meter.reset()
        try:
            return self._patiently(function, ctx, inputs)
        finally:
            self._peak = max(meter.peak() - (self._baseline if meter.whole_process else 0), self.pool.used_bytes)

    def _patiently(self, function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:  # Any: as call
        """Call; out of memory, unload the models that this call does not need and call once more, with nothing changed.

        No other settings are tried: a picture made smaller, in tiles or in another dtype is not the one that was asked for.
        """
        self._borrowed.clear()
        try:
            return function(ctx, **inputs)
        except Exception as error:
            lack = _lack_of_memory(error)
            if lack is None or isinstance(lack, PoolFull):
                raise
            ctx.check_cancelled()
            clear_frames(error)  # else the tensors of the failed call stay for as long as the error
            if not self.pool.evict(keep=self._borrowed):
                raise lack from None  # it would end the same way
        result = _plainly(function, ctx, inputs)
        ctx.note("Memory ran out at the first try; models not in use were unloaded, and it ran again with the same settings.")
        return result

    @contextmanager
    def borrow(self, recipe: Recipe[Any]) -> Iterator[Any]:
        """The live model part, pinned while the block runs."""
        self._borrowed.add(recipe)
        started = time.perf_counter()
        with self.pool.borrow(recipe) as live:
            self._loading += time.perf_counter() - started
            yield live

    def loading_seconds(self) -> float:
        """Seconds of the last call that went into building models."""
        return self._loading

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


def _plainly(function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:  # Any: as DeviceRuntime.call
    """Call; a lack of memory is raised as itself, whatever a library made of it."""
    try:
        return function(ctx, **inputs)
    except Exception as error:
        lack = _lack_of_memory(error)
        if lack is None:
            raise
        raise lack from None


def _lack_of_memory(error: BaseException) -> BaseException | None:
    """The error among `error` and its causes that tells of memory that ran out: libraries wrap it in advice of their own."""
    found: BaseException | None = error
    for _ in range(20):  # a chain may be a ring
        if found is None or shortage_in(type(found).__name__, said_of(found)) is not None:
            return found
        found = found.__cause__ or found.__context__
    return None


def device_class(devices: Sequence[str]) -> str:
    """What decides the last bits of a result on these devices: "cpu:<isa>:<threads>", "cuda:sm_90", "mps".

    Raises ValueError if they are of several classes: no result may cross from one to another, so a run has one.
    """
    if all(device == "cpu" or device.startswith("cpu:") for device in devices):
        return cpu_class(len(devices))
    classes = {_accelerator_class(device) for device in devices}
    if len(classes) > 1:
        raise ValueError(
            f"{', '.join(devices)} are devices of several classes ({', '.join(sorted(classes))}); name devices of one"
        )
    return classes.pop()


def _accelerator_class(device: str) -> str:
    if not device.startswith("cuda"):
        return device.partition(":")[0]
    import torch  # only a machine with such a device comes here

    major, minor = torch.cuda.get_device_capability(device)
    return f"cuda:sm_{major}{minor}"


def memory_budget(device: str, sharers: int) -> int:
    """Bytes of weights that a device may hold: four fifths of its memory, of the host's share if it is a CPU."""
    if not device.startswith("cuda"):
        return host_memory_bytes() * 4 // 5 // sharers
    import torch

    return int(torch.cuda.get_device_properties(device).total_memory) * 4 // 5


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


def worker(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, DeviceRuntime]:
    """What a worker process of `graph.worker` sets itself up with."""
    return _worker(device, threads, budget_bytes, home, packs=True)


def worker_without_packs(device: str, threads: int, budget_bytes: int, home: Path) -> tuple[Registry, DeviceRuntime]:
    """The same for a run with `--no-packs`."""
    return _worker(device, threads, budget_bytes, home, packs=False)


def _worker(device: str, threads: int, budget_bytes: int, home: Path, *, packs: bool) -> tuple[Registry, DeviceRuntime]:
    from nodes.builtin import MODULES

    return load_catalogue(home, MODULES, packs=packs).registry(), DeviceRuntime(device, threads, budget_bytes)
