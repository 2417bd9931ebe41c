"""What a failure means: a word for machines, and whether the process it happened in can still be used."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from graph.shortage import shortage_in
from graph.workers import InputChanged, WorkerLost

#: After these every later call in the process fails (CUDA documentation, "sticky" errors): only a new process helps.
_DEVICE_TYPES: Final = ("RuntimeError", "AcceleratorError")
_DEVICE_WORDS: Final = (
    "device-side assert",
    "illegal memory access",
    "illegal instruction was encountered",
    "misaligned address",
    "invalid program counter",
    "hardware stack error",
    "unspecified launch failure",
    "uncorrectable ecc error",
)
_DISK_TYPES: Final = ("OSError", "StoreUnavailable", "OperationalError", "SafetensorError")
_DISK_WORDS: Final = (*(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)), "database or disk is full")


def code_of(error: BaseException, kind: str, message: str) -> str:
    """Why a task failed, as a word for machines (see `NodeResult.code`). `kind`: the name of the error's type."""
    if isinstance(error, WorkerLost):
        return "out_of_memory" if error.out_of_memory else "worker_lost"
    if isinstance(error, InputChanged):
        return "input_changed"
    if shortage_in(kind, message) is not None:
        return "out_of_memory"
    if is_disk_full(kind, message):
        return "disk_full"
    return "refused" if kind == "Refused" else "node_failed"


def is_device_fault(kind: str, message: str) -> bool:
    """Whether an error means that the device can no longer be used by this process."""
    said = message.lower()
    return kind in _DEVICE_TYPES and any(words in said for words in _DEVICE_WORDS)


def is_disk_full(kind: str, message: str) -> bool:
    """Whether an error means that the disk, or what one user may have of it, is used up."""
    return kind in _DISK_TYPES and any(words in message for words in _DISK_WORDS)


def memory_kills() -> int:
    """How many processes the kernel has killed for want of memory: of our own control group, or else of the machine.

    0 where the kernel does not say.
    """
    for path in _counters():
        try:
            fields = dict(line.split() for line in path.read_text(encoding="ascii").splitlines() if line.count(" ") == 1)
            return int(fields["oom_kill"])
        except (OSError, KeyError, ValueError):
            continue
    return 0


def _counters() -> list[Path]:
    found = [Path("/proc/vmstat")]
    try:
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            if line.startswith("0::"):
                found.insert(0, Path("/sys/fs/cgroup") / line[3:].lstrip("/") / "memory.events")
    except OSError:
        pass
    return found
