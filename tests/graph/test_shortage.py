"""Every way in which a lack of memory is told is known as one, with the amounts that it tells."""

from __future__ import annotations

import pytest

from graph.shortage import Shortage, shortage_in

MIB, GIB = 2**20, 2**30
CUDA = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 300.00 MiB is free. Process "
    "123 has 78.00 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by "
    "PyTorch but unallocated."
)


@pytest.mark.spec("R-G02")
@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("OutOfMemoryError", CUDA, Shortage(2 * GIB, 300 * MIB)),
        ("OutOfMemoryError", "", Shortage(None, None)),
        ("AcceleratorError", "CUDA error: out of memory\nCUDA kernel errors might be reported asynchronously", Shortage(None, None)),
        ("RuntimeError", "CUDA error: out of memory", Shortage(None, None)),
        ("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", Shortage(None, None)),
        ("RuntimeError", "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", Shortage(None, None)),
        ("RuntimeError", "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", Shortage(None, None)),
        ("RuntimeError", "cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `x`", Shortage(None, None)),
        (
            "RuntimeError",
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            "8000000000000 bytes. Error code 12 (Cannot allocate memory)",
            Shortage(8 * 10**12, None),
        ),
        (
            "RuntimeError",
            "MPS backend out of memory (MPS allocated: 6.00 GiB, other allocations: 1.00 KiB, max allowed: 9.07 GiB). "
            "Tried to allocate 256.00 MiB on private pool.",
            Shortage(256 * MIB, None),
        ),
        ("RuntimeError", "HIP out of memory. Tried to allocate 20.00 MiB (GPU 0; 8 GiB total)", Shortage(20 * MIB, None)),
        ("RuntimeError", "std::bad_alloc", Shortage(None, None)),
        ("MemoryError", "", Shortage(None, None)),
        ("_ArrayMemoryError", "Unable to allocate 7.28 TiB for an array with shape (10**12,)", Shortage(int(7.28 * 2**40), None)),
        ("OSError", "[Errno 12] Cannot allocate memory", Shortage(None, None)),
        ("SafetensorError", "Error while mapping: Cannot allocate memory (os error 12)", Shortage(None, None)),
        ("PoolFull", "Denoiser needs 300 MiB on cuda:0, whose models may take 200 MiB; 10 MiB of that are in use.", Shortage(300 * MIB, None)),
    ],
)  # fmt: skip
def test_every_shape_of_a_lack_of_memory_is_known(kind: str, message: str, expected: Shortage) -> None:
    assert shortage_in(kind, message) == expected


@pytest.mark.spec("R-G02")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("RuntimeError", "CUDA error: device-side assert triggered"),
        ("AcceleratorError", "CUDA error: an illegal memory access was encountered"),
        ("RuntimeError", "The size of tensor a (3) must match the size of tensor b (4)"),
        ("ValueError", 'the prompt is "out of memory"'),
        ("Refused", "out of memory"),
        ("OSError", "[Errno 28] No space left on device"),
        ("RemoteFailure", "CUDA out of memory"),
        ("RuntimeError", ""),
    ],
)
def test_other_failures_are_no_lack_of_memory(kind: str, message: str) -> None:
    assert shortage_in(kind, message) is None


def test_a_shortage_says_by_how_much() -> None:
    assert Shortage(2 * GIB, 300 * MIB).text == "2,048 MiB were asked for, 300 MiB were free, 1,748 MiB are missing"
    assert Shortage(1, None).text == "1 MiB were asked for"
    assert Shortage(10 * MIB, 20 * MIB).text == "10 MiB were asked for, 20 MiB were free"
    assert Shortage(None, None).text == ""


def test_a_hostile_message_is_read_in_linear_time() -> None:
    assert shortage_in("RuntimeError", "tried to allocate " * 100_000 + "1" * 100_000) is None
    assert shortage_in("RuntimeError", "out of memory tried to allocate " + "1" * 200_000) == Shortage(None, None)
