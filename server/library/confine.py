"""Files below a folder, by names that clients sent: none reaches outside, not even in a race with a swapped link.

The folder is opened once. The kernel resolves every name below it (`openat2`), or, where it cannot, each part is opened
from the one before without following links. What is not a plain file of ours (a link, a pipe, a device, a folder, a file
that has another name elsewhere) is as good as missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_OPENAT2: Final = 437  # the number on every architecture that Python is built for, alpha aside
_NO_MAGIC_LINKS, _NO_SYMBOLIC_LINKS, _BENEATH = 0x02, 0x04, 0x08
_RESOLVE: Final = _BENEATH | _NO_SYMBOLIC_LINKS | _NO_MAGIC_LINKS
#: Opening a pipe must not wait for its other end; nothing opened here becomes a terminal or is handed to a child.
_SAFE: Final = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
#: The kernel asks to be asked again when something was renamed while it looked.
_ATTEMPTS: Final = 100
_LONGEST_NAME: Final = 4095
#: How the names of unfinished files end; they begin with a dot.
TEMPORARY: Final = ".tmp"

_Opener = Callable[[int, str, int], int]


class Opened(NamedTuple):
    """A plain file, open for reading: close `file` when done."""

    file: int
    size: int
    mtime_ns: int
    inode: int


class Temporary(NamedTuple):
    """A file that has no name yet, open for writing."""

    file: int
    folder: int
    name: str

    def place(self, name: str) -> None:
        """Make its content and then its name durable; it replaces what has the name. Raises FileNotFoundError for an unfit one."""
        _refuse_unfit(name)
        os.fsync(self.file)
        os.rename(self.name, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        os.fsync(self.folder)


class Root:
    """A folder whose files are opened by name. Usable from several threads; every method raises OSError as the disk does."""

    def __init__(self, folder: Path, *, by_kernel: bool = True) -> None:
        """Open `folder`, making it for this user only (0700). `by_kernel=False`: as where the kernel has no `openat2`."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open: _Opener = _by_kernel if by_kernel and _kernel_can(self._root) else _by_walking

    def open(self, name: str) -> Opened:
        """The plain file of this name. Raises FileNotFoundError for anything else, quickly, and without waiting."""
        file = self._opened(name, os.O_RDONLY)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or not self._is_only_here(name, file, status):
                raise _missing(name)
            os.set_blocking(file, True)
            return Opened(file, status.st_size, status.st_mtime_ns, status.st_ino)
        except BaseException:
            os.close(file)
            raise

    @contextmanager
    def opened(self, name: str) -> Iterator[Opened]:
        """The same for the length of a block."""
        found = self.open(name)
        try:
            yield found
        finally:
            os.close(found.file)

    def read(self, name: str, most_bytes: int) -> bytes:
        """The content. Raises FileNotFoundError, or ValueError if it is longer than `most_bytes`."""
        with self.opened(name) as found:
            content = bytearray()
            while len(content) <= most_bytes and (part := os.read(found.file, min(1 << 20, most_bytes + 1 - len(content)))):
                content += part
        if len(content) > most_bytes:
            raise ValueError(f"{name} has more than {most_bytes} bytes")
        return bytes(content)

    def touch(self, name: str) -> None:
        """Note that the file is used now. Raises FileNotFoundError."""
        with self.opened(name) as found:
            os.utime(found.file)

    def has(self, name: str) -> bool:
        """Whether there is a plain file of this name."""
        try:
            with self.opened(name):
                return True
        except FileNotFoundError:
            return False

    def write(self, name: str, content: bytes) -> None:
        """Put this content there, whole or not at all, durable when it returns; replaces what is there. Folders above are made."""
        above = name.rpartition("/")[0]
        with self.temporary(above) as new:
            view = memoryview(content)
            while view:
                view = view[os.write(new.file, view) :]
            new.place(name.rpartition("/")[2])

    @contextmanager
    def temporary(self, below: str = "") -> Iterator[Temporary]:
        """A new file (0600) for the length of a block, in the folder or in one below it; removed unless it was placed."""
        name = f".{secrets.token_hex(8)}{TEMPORARY}"
        folder, last = self._folder_of(f"{below}/{name}" if below else name, make=True)
        try:
            file = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600, dir_fd=folder)
            try:
                yield Temporary(file, folder, last)
            finally:
                os.close(file)
                with suppress(FileNotFoundError):
                    os.unlink(last, dir_fd=folder)
        finally:
            os.close(folder)

    def rename(self, name: str, new: str) -> None:
        """Give a file of the folder itself another name there. Raises FileNotFoundError."""
        for one in (name, new):
            _refuse_unfit(one)
            if "/" in one:
                raise _missing(one)
        os.rename(name, new, src_dir_fd=self._root, dst_dir_fd=self._root)

    def remove(self, name: str) -> None:
        """Remove the file or link of this name; what a link points to stays. Raises FileNotFoundError for a folder too."""
        folder, last = self._folder_of(name)
        try:
            os.unlink(last, dir_fd=folder)
        except OSError as error:
            if error.errno in _NOT_OURS or _is_folder(last, folder):  # of a folder some systems say that it is not permitted
                raise _missing(name) from None
            raise
        finally:
            os.close(folder)

    def names(self, below: str = "") -> list[str]:
        """What lies in the folder, or in the folder `below` it; none if there is no such folder."""
        try:
            with self.entries(below) as found:
                return [entry.name for entry in found]
        except FileNotFoundError:
            return []

    @contextmanager
    def entries(self, below: str = "") -> Iterator[Iterator[os.DirEntry[str]]]:
        """The same one by one, with kind and inode, for the length of a block. Raises FileNotFoundError for no such folder."""
        file = self._opened(below, os.O_RDONLY | os.O_DIRECTORY) if below else self._again()
        try:
            with os.scandir(file) as found:
                yield found
        finally:
            os.close(file)

    @property
    def changed_ns(self) -> int:
        """When a name in the folder itself was last made or removed."""
        return os.fstat(self._root).st_mtime_ns

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._root)

    def _opened(self, name: str, flags: int) -> int:
        _refuse_unfit(name)
        try:
            return self._open(self._root, name, flags | _SAFE)
        except OSError as error:
            if error.errno in _NOT_OURS:
                raise _missing(name) from None
            raise

    def _again(self) -> int:
        """The folder opened once more: a duplicate would share its place in the list of names with all others."""
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._root)

    def _folder_of(self, name: str, make: bool = False) -> tuple[int, str]:
        """The open folder that a name is in, and the last part of the name."""
        _refuse_unfit(name)
        above, _, last = name.rpartition("/")
        if not above:
            return self._again(), last
        if make:
            self._make_folder(above)
        return self._opened(above, os.O_RDONLY | os.O_DIRECTORY), last

    def _make_folder(self, name: str) -> None:
        parts = name.split("/")
        for count in range(1, len(parts) + 1):
            above, last = self._folder_of("/".join(parts[:count]))
            try:
                with suppress(FileExistsError):
                    os.mkdir(last, 0o700, dir_fd=above)
                    os.fsync(above)
            finally:
                os.close(above)

    def _is_only_here(self, name: str, file: int, status: os.stat_result) -> bool:
        """Whether every name of the file lies beside this one: a hard link from elsewhere is a door to there.

        A file that is just being published has two names here, its own and a temporary one.
        """
        if status.st_nlink == 1:
            return True
        folder, _ = self._folder_of(name)
        try:
            with os.scandir(folder) as entries:
                here = sum(entry.inode() == status.st_ino for entry in entries)
        finally:
            os.close(folder)
        return os.fstat(file).st_nlink <= here


def _refuse_unfit(name: str) -> None:
    """Refuse what would mean different things to different resolvers. The resolvers refuse it too, most of it."""
    parts = name.split("/")
    if "\0" in name or len(name) > _LONGEST_NAME or any(part in ("", ".", "..") for part in parts):
        raise _missing(name)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise _missing(name) from None


def _missing(name: str) -> FileNotFoundError:
    shown = name[:80].encode("utf-8", "backslashreplace").decode()
    return FileNotFoundError(errno.ENOENT, f"there is no plain file {shown!r} here")


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


#: What a resolver answers when the name is not that of a plain file below the folder: links (ELOOP), ways out (EXDEV), files
#: in place of folders, sockets and devices that nothing serves, names that no file can have.
_NOT_OURS: Final = frozenset(
    (errno.ENOENT, errno.ELOOP, errno.EXDEV, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG, errno.EINVAL)
)  # fmt: skip


class _How(ctypes.Structure):
    """The kernel's `struct open_how`."""

    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def _by_kernel(root: int, name: str, flags: int) -> int:
    """Open by `openat2`. Raises OSError."""
    how = _How(flags, 0, _RESOLVE)
    for _ in range(_ATTEMPTS):
        file = int(_LIBC.syscall(_OPENAT2, root, os.fsencode(name), ctypes.byref(how), ctypes.sizeof(how)))
        if file >= 0:
            return file
        if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)


def _kernel_can(root: int) -> bool:
    """Whether `openat2` works: kernels before 5.6 lack it, and older containers forbid it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(_by_kernel(root, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _by_walking(root: int, name: str, flags: int) -> int:
    """Open part by part, following no link: no part can lead out, whatever is swapped meanwhile. Raises OSError."""
    *folders, last = name.split("/")
    at = root
    try:
        for folder in folders:
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=at)
            if at != root:
                os.close(at)
            at = below
        return os.open(last, flags, dir_fd=at)
    finally:
        if at != root:
            os.close(at)
