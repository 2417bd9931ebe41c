"""What a failure says of memory that ran out: whether it did, how much was wanted, how much was free.

Frameworks tell it as exceptions of many kinds, which reach us as a type name and a text, often from another process; so
it is read from these. It knows no framework.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: Types that mean it by themselves.
_TYPES: Final = frozenset(("MemoryError", "_ArrayMemoryError", "ArrayMemoryError", "OutOfMemoryError", "PoolFull"))
#: Types that carry a driver's or an allocator's message. A node's own ValueError about "out of memory" is none of these.
_CARRIERS: Final = frozenset(("RuntimeError", "AcceleratorError", "CudaError", "OSError", "SafetensorError", "XPUError"))
_SIGNS: Final = re.compile(
    r"out of memory|not enough memory|can't allocate memory|cannot allocate memory|hipErrorOutOfMemory|CUDNN_STATUS_ALLOC_FAILED"
    r"|CUBLAS_STATUS_ALLOC_FAILED|CUSOLVER_STATUS_ALLOC_FAILED|CUSPARSE_STATUS_ALLOC_FAILED|CUFFT_ALLOC_FAILED"
    r"|DEVICE_ALLOCATION_FAILED|bad_alloc|unable to allocate [\d.]+ [KMGT]iB",
    re.IGNORECASE,
)
_UNITS: Final = {"bytes": 1, "b": 1, **{f"{unit}{i}b": 1024**power for i in ("", "i") for power, unit in enumerate("kmgt", 1)}}
_AMOUNT: Final = r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>bytes|[KMGT]?i?B)\b"
_WANTED: Final = re.compile(rf"(?:tried to allocate|unable to allocate|needs) {_AMOUNT}", re.IGNORECASE)
_FREE: Final = re.compile(rf"of which {_AMOUNT} is free", re.IGNORECASE)


class Shortage(NamedTuple):
    """Memory that ran out: bytes asked for and bytes that were free, as far as the failure says so."""

    wanted: int | None
    free: int | None

    @property
    def text(self) -> str:
        """ "2048 MiB were asked for, 300 MiB were free", or as much of it as is known."""
        parts = [f"{_mib(self.wanted)} were asked for"] if self.wanted is not None else []
        if self.free is not None:
            parts.append(f"{_mib(self.free)} were free")
            if self.wanted is not None and self.wanted > self.free:
                parts.append(f"{_mib(self.wanted - self.free)} are missing")
        return ", ".join(parts)


def shortage_in(kind: str, message: str) -> Shortage | None:
    """The shortage that an error of this type name and message tells of; None if it tells of something else."""
    if kind not in _TYPES and not (kind in _CARRIERS and _SIGNS.search(message)):
        return None
    return Shortage(_bytes(_WANTED.search(message)), _bytes(_FREE.search(message)))


def _bytes(found: re.Match[str] | None) -> int | None:
    return None if found is None else int(float(found["number"]) * _UNITS[found["unit"].lower()])


def _mib(size: int) -> str:
    """In MiB, rounded up, so that a shortage is never 0."""
    return f"{-(-size // 2**20):,} MiB"
