"""Folders and files that caches keep: who may look in, writing whole, reading without surprises."""

from __future__ import annotations

import errno
import mmap
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any

from graph.blob import ALIGNMENT, Buffer, head_size
from graph.errors import LatentgraphError

#: Eviction goes on to this part of a limit, so that it does not come back with every put.
LOW_WATER = 0.9
#: Smaller files are copied rather than mapped: a kernel holds some 65,000 mappings of a process.
COPY_BELOW = 256 * 1024
_READ_BYTES = 1 << 20
#: A folder that could not be written is tried again after this long: a full disk is emptied, a mount comes back.
RETRY_SECONDS = 10.0


class StoreUnavailable(LatentgraphError):
    """A cache folder cannot be written (full, read-only, not ours, locked). The run goes on without caching, and says so."""


def unavailable(folder: Path, error: BaseException) -> StoreUnavailable:
    """The error that tells a user why `folder` is not used: what failed, where, and what to do."""
    return StoreUnavailable(
        f"{folder} cannot be used for caching: {error}. Free space there or make it writable (LATENTGRAPH_HOME chooses the "
        "folder); until then results are not kept."
    )


class Outage:
    """Why a folder is not used at present, if it is not, and when it is due to be tried again. Usable from several threads."""

    def __init__(self) -> None:
        #: The failure, until something succeeds again; None while all is well.
        self.error: StoreUnavailable | None = None
        self._since = 0.0

    def check(self) -> None:
        """Raise StoreUnavailable if the folder failed less than `RETRY_SECONDS` ago."""
        error = self.error
        if error is not None and time.monotonic() < self._since + RETRY_SECONDS:
            raise StoreUnavailable(str(error))  # a new one: each raise adds frames to an error

    def begin(self, error: StoreUnavailable) -> StoreUnavailable:
        """Note a failure, and give it back."""
        self.error, self._since = error, time.monotonic()
        return error

    def end(self) -> None:
        """Note a success."""
        self.error = None


def private_folder(path: Path) -> Path:
    """Create `path` for this user only (0700), or close an existing one to others.

    Raises StoreUnavailable if it cannot be made or belongs to someone else, who could then plant entries.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.stat(path)
        if status.st_uid != os.geteuid():
            raise PermissionError(f"it belongs to user {status.st_uid}")
        if status.st_mode & 0o077:
            os.chmod(path, 0o700)
    except OSError as error:
        raise unavailable(path, error) from error
    return path


def write_all(file: int, buffer: Buffer) -> None:
    """Write a whole buffer to a file descriptor. Raises OSError."""
    view = memoryview(buffer)
    while view:
        view = view[os.write(file, view) :]


class PlainFile:
    """A plain file, open for reading. What has to be trusted first is read, and only then mapped.

    Others may cut a mapped file short, and whoever then looks at its end is ended by a signal. Reading gives an error.
    """

    def __init__(self, path: Path, file: int, status: os.stat_result) -> None:
        self._path, self._file, self.status = path, file, status

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[PlainFile]:
        """Open `path`. Raises OSError, also for anything but a plain file with content (a link is not followed)."""
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(file)
            if not S_ISREG(status.st_mode) or not status.st_size:
                raise OSError(errno.EINVAL, "it is not a plain file with content", str(path))
            yield cls(path, file, status)
        finally:
            os.close(file)

    @property
    def size(self) -> int:
        """Bytes, when it was opened."""
        return self.status.st_size

    @property
    def is_mapped(self) -> bool:
        """Whether `view` maps the file; small ones are copied."""
        return self.size >= COPY_BELOW

    def view(self) -> memoryview:
        """The bytes, read-only, at a multiple of 64 bytes (`graph.blob.ALIGNMENT`). Raises OSError."""
        if self.is_mapped:
            return _mapped(self._file, self.size)
        view = _aligned(self.size)
        self._fill(view, 0)
        return view.toreadonly()

    def head(self) -> bytes:
        """What says what the file holds (see `graph.blob.head_size`). Raises OSError if the file ends before."""
        start = self.read(0, min(8, self.size))
        return self.read(0, head_size(start, self.size))

    def read(self, start: int, count: int) -> bytes:
        """So many bytes. Raises OSError if the file ends before."""
        data = bytearray(count)
        self._fill(memoryview(data), start)
        return bytes(data)

    def digest(self, start: int = 0, before: bytes = b"") -> bytes:
        """SHA-256 of `before` and the file from `start` on. Raises OSError if the file became shorter."""
        hasher, buffer = sha256(before), memoryview(bytearray(min(_READ_BYTES, self.size)))
        for at in range(start, self.size, _READ_BYTES):
            part = buffer[: min(_READ_BYTES, self.size - at)]
            self._fill(part, at)
            hasher.update(part)
        return hasher.digest()

    def _fill(self, view: memoryview, at: int) -> None:
        done = 0
        while done < len(view):
            count = os.preadv(self._file, [view[done:]], at + done)
            if not count:
                raise OSError(errno.EIO, "it could not be read whole", str(self._path))
            done += count


def map_file(path: Path) -> tuple[memoryview, os.stat_result]:
    """A file's bytes, read-only, at a multiple of 64 bytes (`graph.blob.ALIGNMENT`); small ones copied, large ones mapped.

    Raises OSError, also for anything but a plain file (a link is not followed). A mapping stays valid when the file is
    removed; our files are never truncated.
    """
    with PlainFile.open(path) as file:
        return file.view(), file.status


def _aligned(size: int) -> memoryview:
    """Writable memory of the heap: 100,000 small values must not be a mapping each."""
    import ctypes

    memory = bytearray(size + ALIGNMENT)
    start = -ctypes.addressof(ctypes.c_ubyte.from_buffer(memory)) % ALIGNMENT
    return memoryview(memory)[start : start + size]


@cache
def _libc() -> Any:  # Any: ctypes has no types for it; imported when the first large file is read (5 ms)
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.mmap.restype = ctypes.c_void_p
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return libc


def _mapped(file: int, size: int) -> memoryview:
    """A file mapped for as long as anything views it. Raises OSError.

    The pages are private: a node that writes to them against the rules is told so, and neither dies nor harms the file.

    Not by the mmap module: until Python 3.13 its mappings keep a file descriptor each, and a thousand values would take
    all that a process may have.
    """
    import ctypes

    libc = _libc()
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, file, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    memory = (ctypes.c_ubyte * size).from_address(address)
    unmap = weakref.finalize(memory, libc.munmap, address, size)
    unmap.atexit = False  # views may outlive the other exit handlers; the process's end unmaps anyway
    return memoryview(memory).cast("B").toreadonly()
