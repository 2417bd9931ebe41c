"""A folder of small files that are read and written whole, told in refusals where the disk or a link is in the way.

What keeps names inside the folder is `server.library.confine`; here are only the steps that saved workflows, drafts and
the page's preferences share.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from server.library.confine import Opened, Root
from server.problems import Refusal

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
#: What `Root.write` leaves if the process is killed.
_TEMPORARY: Final = re.compile(r"\.[0-9a-f]{16}\.tmp")


class Stamp(NamedTuple):
    """What tells without reading that a file is the same as before."""

    inode: int
    size_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, opened: Opened) -> Stamp:
        """The stamp of an open file."""
        return cls(opened.inode, opened.size, opened.mtime_ns)

    @property
    def modified(self) -> float:
        """When the file was last written, in seconds since 1970."""
        return self.modified_ns / 1e9


class Content(NamedTuple):
    """A file's bytes, and the stamp they were read at."""

    data: bytes
    stamp: Stamp


class Folder:
    """The folder `below` a root ("" is the root itself); `shown` names it in refusals, which hold no path."""

    def __init__(self, root: Root, below: str, shown: str) -> None:
        self.root, self.below, self.shown = root, below, shown

    def inner(self, name: str) -> Folder:
        """A folder inside this one."""
        return Folder(self.root, self._path(name), self.shown)

    def stamps(self) -> dict[str, Stamp]:
        """Every plain file by name, without hidden ones; none if the folder is not there. Raises Refusal `forbidden`."""
        found = {}
        for name in self.names():
            if name[0] != ".":
                with suppress(FileNotFoundError), self._refusing(name), self.root.opened(self._path(name)) as opened:
                    found[name] = Stamp.of(opened)
        return found

    def names(self) -> list[str]:
        """Whatever lies there. Raises Refusal `forbidden` if the folder is a link."""
        with self._refusing(self.below):
            found = self.root.names(self.below)
        if not found:
            self._refuse_link()
        return found

    def read(self, name: str, most_bytes: int) -> Content:
        """A file's content. Raises FileNotFoundError, also for what is no plain file, and Refusal `too_large`."""
        with self._refusing(name), self.root.opened(self._path(name)) as opened:
            if opened.size > most_bytes:
                raise Refusal("too_large", f'"{name}" has {opened.size} bytes; at most {most_bytes} are read. Make it smaller.')
            with open(opened.file, "rb", closefd=False) as file:
                return Content(file.read(most_bytes), Stamp.of(opened))

    def write(self, name: str, data: bytes) -> Stamp:
        """Put these bytes there, whole and durable when it returns. Raises Refusal `disk_full`, `forbidden`."""
        if not self.root.has(self._path(name)) and name in self.names():
            raise Refusal("forbidden", f'"{name}" in {self.shown} is a link or no plain file. Take it away first.')
        with self._refusing(name):
            self.root.write(self._path(name), data)
            with self.root.opened(self._path(name)) as opened:
                return Stamp.of(opened)

    def remove(self, name: str) -> None:
        """Take a file away. Raises FileNotFoundError, also for what is no plain file."""
        with self._refusing(name):
            if not self.root.has(self._path(name)):
                raise FileNotFoundError(errno.ENOENT, name)
            self.root.remove(self._path(name))

    def sweep(self) -> None:
        """Remove what a killed process left half-written. Only for folders that no other process writes to."""
        for name in self.names():
            if _TEMPORARY.fullmatch(name):
                with suppress(OSError):
                    self.root.remove(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self.below}/{name}" if self.below else name

    def _refuse_link(self) -> None:
        """A folder that is a link is not followed (spec L4); say so rather than show nothing."""
        with suppress(OSError):
            if self.below and stat.S_ISLNK(os.lstat(self.root.folder / self.below).st_mode):
                shown = self.shown[0].upper() + self.shown[1:]
                raise Refusal("forbidden", f"{shown} is a link, which is not followed. Put a folder there.")

    @contextmanager
    def _refusing(self, name: str) -> Iterator[None]:
        """What the disk says, as a refusal."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in _FULL:
                raise Refusal("disk_full", f"The disk is full, so {self.shown} cannot be written. Free some space.") from error
            if error.errno in _NOT_ALLOWED:
                message = f'"{name}" in {self.shown} may not be read or written by the server. Change its permissions.'
                raise Refusal("forbidden", message) from error
            raise
