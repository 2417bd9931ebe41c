"""What else a device result depends on: library versions and the class of the device, told without importing torch."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: The libraries whose versions enter the keys of nodes that borrow a model.
LIBRARIES = ("torch", "diffusers", "transformers", "torchao")
_ISA = ("amx_tile", "avx512_bf16", "avx512f", "avx2", "asimd")


@cache
def library_versions() -> dict[str, str]:
    """Installed versions by library; "none" for one that is not installed."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


@cache
def cpu_isa() -> str:
    """The widest instruction set of this CPU that changes how torch computes: results differ in the last bits across these."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return os.uname().machine
    return next((name for name in _ISA if name in flags), os.uname().machine)


def threads_per_device(devices: int) -> int:
    """Threads of one CPU device when so many share the cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)) // max(1, devices)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def host_memory_bytes() -> int:
    """All memory of this machine, or of the control group that this process is confined to."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return min(memory, int(Path(limit).read_text(encoding="ascii")))
    return memory


def cpu_class(devices: int) -> str:
    """The device class of CPU devices: thread count changes bits, so it is part of the class."""
    return f"cpu:{cpu_isa()}:{threads_per_device(devices)}"


def environment_of(device_class: str) -> str:
    """The environment string that enters keys."""
    return ";".join([f"{name} {value}" for name, value in library_versions().items()] + [device_class])
