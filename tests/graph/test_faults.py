"""What a failure means: memory that is wanting in all its shapes, devices that are broken for good, lost workers."""

from __future__ import annotations

import errno
import os

import pytest

from graph.faults import code_of, is_device_fault, memory_kills
from graph.folder import StoreUnavailable
from graph.workers import InputChanged, RemoteFailure, WorkerLost


@pytest.mark.spec("R-G02")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of ..."),
        ("OutOfMemoryError", ""),
        ("MemoryError", ""),
        ("PoolFull", "the model takes more than there is"),
        ("AcceleratorError", "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
        ("RuntimeError", "CUDA error: out of memory"),
        ("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        ("RuntimeError", "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        ("RuntimeError", "cuFFT error: CUFFT_ALLOC_FAILED"),
        ("RuntimeError", "MPS backend out of memory (MPS allocated: 8.00 GB)"),
        (
            "RuntimeError",
            "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried ...",
        ),
        ("RuntimeError", "DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
        ("OSError", "[Errno 12] Cannot allocate memory"),
    ],
)
def test_memory_that_is_wanting_is_known_in_all_its_shapes(kind: str, message: str) -> None:
    assert code_of(RemoteFailure(kind, message, ""), kind, message) == "out_of_memory"


@pytest.mark.spec("R-G02")
def test_a_worker_that_was_killed_is_lost_unless_the_kernel_counted_it() -> None:
    assert code_of(WorkerLost("died (killed by signal 9)"), "WorkerLost", "") == "worker_lost"
    assert code_of(WorkerLost("died", "killed by signal 9", out_of_memory=True), "WorkerLost", "") == "out_of_memory"
    assert memory_kills() >= 0


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ValueError("no"), "ValueError", "node_failed"),
        (InputChanged("changed", frozenset()), "InputChanged", "input_changed"),
        (RemoteFailure("Refused", "no", ""), "Refused", "refused"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/b"), "OSError", "disk_full"),
        (RemoteFailure("OSError", "[Errno 122] Disk quota exceeded", ""), "OSError", "disk_full"),
        (StoreUnavailable("/a cannot be used for caching: [Errno 28] No space left on device."), "StoreUnavailable", "disk_full"),
        (StoreUnavailable("/a cannot be used for caching: [Errno 30] Read-only file system."), "StoreUnavailable", "node_failed"),
        (ValueError("No space left on device"), "ValueError", "node_failed"),
    ],
)
def test_other_failures_have_their_own_words(error: Exception, kind: str, code: str) -> None:
    assert code_of(error, kind, str(error)) == code


@pytest.mark.spec("R-G05")
@pytest.mark.parametrize(
    ("kind", "message", "is_fault"),
    [
        ("AcceleratorError", "CUDA error: device-side assert triggered", True),
        ("RuntimeError", "CUDA error: an illegal memory access was encountered", True),
        ("RuntimeError", "CUDA error: unspecified launch failure", True),
        ("RuntimeError", "CUDA error: out of memory", False),
        ("RuntimeError", "shapes do not match", False),
        ("ValueError", "a device-side assert is no value", False),
    ],
)
def test_a_device_is_broken_for_good_only_by_such_errors(kind: str, message: str, is_fault: bool) -> None:
    assert is_device_fault(kind, message) == is_fault
