"""Where the `disk_cache` node keeps its entries: a folder that can be carried to another machine and used for years.

One self-describing file per entry, named by its key; no index. The header holds, beside the value, what it was made
with (library versions, declared node versions) and a seal over the entry's own identity: a file that was renamed,
mixed in from another folder, cut short or changed is a miss. It knows nothing of how keys are made.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from graph.blob import Content, Damaged, digest_of, image_of, ordered, pack, read_image, suffix_of
from graph.folder import LOW_WATER, PlainFile, unavailable, write_all
from graph.owner import Owner, is_gone
from graph.store import SUFFIXES
from graph.types import Packed, Plain

#: Version of the entry's own fields; another one is a miss.
ENTRY = 1
#: What a folder is called under the data folder's `disk_cache`: a name, never a path.
FOLDER = re.compile(r"[a-z0-9_-]{1,64}")
DEFAULT_FOLDER = "default"
#: Inputs of a node that keeps its value which say where and how much is kept, and nothing of the value.
NOT_IN_KEY = frozenset({"folder", "limit_gb"})
_TOUCH_SECONDS = 3600.0


class Entry(NamedTuple):
    """A value kept, its digest (equal to `digest_of` it), and what was recorded when it was put."""

    packed: Packed
    digest: bytes
    recorded: dict[str, Plain]


class BadEntry(NamedTuple):
    """A file in the folder that is no whole entry, and why."""

    path: Path
    reason: str


class FolderReport(NamedTuple):
    """What `verify` found: whole entries by key, what each recorded, and the bad files."""

    entries: dict[bytes, dict[str, Plain]]
    bytes: int
    bad: tuple[BadEntry, ...]


class DiskCacheFolder:
    """Entries by key in a folder with its own size limit. Usable from several threads and processes at once."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        """Open or make `path`. Raises StoreUnavailable if it cannot be made."""
        self.path, self.limit_bytes = path, limit_bytes
        self.damaged: list[BadEntry] = []
        self._checked: dict[bytes, tuple[int, int, int]] = {}
        self._owner = f"{Owner.current()}.{os.urandom(4).hex()}"
        self._serial = itertools.count()
        self._lock = threading.Lock()
        self._counted = False
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unavailable(path, error) from error

    def get(self, key: bytes) -> Entry | None:
        """The entry of a key; None if there is none that is whole and its own. Never raises for what is on disk.

        The first get of a process checks the digest; later ones check size, inode, time and seal.
        """
        return self._find(key, trusting=False)

    def digest(self, key: bytes) -> bytes | None:
        """The digest that a key's entry records; None if there is no entry with this key's seal and all its bytes.

        For planning: the value itself is not read, so flipped bits in it show in `get` only.
        """
        entry = self._find(key, trusting=True)
        return entry.digest if entry is not None else None

    def _find(self, key: bytes, *, trusting: bool) -> Entry | None:
        for suffix in SUFFIXES:
            path = self._path(key, suffix)
            try:
                with PlainFile.open(path) as file:
                    status = file.status
                    mark = (status.st_ino, status.st_size, status.st_mtime_ns)
                    entry = _read(key, file, check=not trusting and self._checked.get(key) != mark)
            except FileNotFoundError:
                continue
            except (OSError, Damaged) as error:
                self.damaged.append(BadEntry(path, str(error)))
                continue
            if trusting:
                return entry
            if time.time() - status.st_mtime > _TOUCH_SECONDS:
                with suppress(OSError):  # the least recently used goes first; a read-only folder stays as it is
                    os.utime(path)
                    mark = (*mark[:2], os.stat(path).st_mtime_ns)
            self._checked[key] = mark
            return entry
        return None

    def put(self, key: bytes, packed: Packed, recorded: Mapping[str, Plain]) -> bytes:
        """Keep a value under a key, in place of what was there, and give its digest.

        `recorded` says what made it (library versions, declared versions). A value larger than the limit is not kept.
        Raises StoreUnavailable if the folder cannot be written; nothing half-written stays.
        """
        digest = digest_of(packed)
        image = image_of(packed, {"entry": _sealed(key, digest, dict(recorded))})
        size = sum(map(len, image))
        temporary = self.path / f"{self._owner}.{next(self._serial)}.tmp"
        path = self._path(key, suffix_of(packed))
        try:
            if not self._reserve(size, temporary):
                return digest
            file = os.open(temporary, os.O_WRONLY | os.O_CLOEXEC)
            try:
                for buffer in image:
                    write_all(file, buffer)
                os.fchmod(file, 0o444)
            finally:
                os.close(file)
            with self._lock, self._locked_total():  # a look at the folder must not miss a file on its way
                os.rename(temporary, path)
        except BaseException as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise unavailable(self.path, error) from error
            raise
        other = self._path(key, next(suffix for suffix in SUFFIXES if suffix != path.suffix))
        with suppress(OSError):
            other.unlink(missing_ok=True)
        return digest

    def verify(self) -> FolderReport:
        """Read every entry whole. What each one recorded is given back for comparing with today's versions."""
        entries, total, bad = {}, 0, []
        for path in sorted(self.path.iterdir()):
            if path.suffix not in SUFFIXES:
                continue
            try:
                key = bytes.fromhex(path.stem)
                with PlainFile.open(path) as file:
                    entries[key] = _read(key, file, check=True).recorded
                    total += file.size
            except FileNotFoundError:
                continue
            except (OSError, ValueError, Damaged) as error:
                bad.append(BadEntry(path, str(error)))
        return FolderReport(entries, total, tuple(bad))

    def _path(self, key: bytes, suffix: str) -> Path:
        return self.path / (key.hex() + suffix)

    def _reserve(self, size: int, temporary: Path) -> bool:
        """Make the temporary file at its full length (a hole: it takes no disk yet), evicting first; False if it cannot fit.

        So sizes in the folder are the whole truth for every process. `.lock` holds their sum, so that a put need not
        look at every file; it errs on the high side only (a killed or replaced entry still counts) until the next look.
        """
        if size > self.limit_bytes:
            return False
        with self._lock, self._locked_total() as (known, keep):
            fits = known is not None and known + size <= self.limit_bytes
            total = known if known is not None and fits else self._evict(size)
            if total + size > self.limit_bytes:
                keep(total)
                return False
            keep(total + size)
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.ftruncate(file, size)
            finally:
                os.close(file)
        return True

    @contextmanager
    def _locked_total(self) -> Iterator[tuple[int | None, Callable[[int], None]]]:
        """The sum of sizes, None if it is not known, and how to write it down; one process at a time."""
        file = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = os.pread(file, 32, 0)
            known = int(text) if self._counted and text.isdigit() else None  # files may have come while we were not here

            def keep(total: int) -> None:
                os.pwrite(file, b"%020d" % total, 0)
                self._counted = True

            yield known, keep
        finally:
            os.close(file)

    def _evict(self, size: int) -> int:
        """Look at every file, remove dead processes' and, if there is no room, the least recently used; the sum left."""
        kept = []
        for path in self.path.iterdir():
            with suppress(FileNotFoundError):
                if path.suffix == ".tmp" and is_gone(path.name):
                    path.unlink()
                elif path.suffix in (".tmp", *SUFFIXES):
                    status = path.lstat()
                    kept.append((path.suffix == ".tmp", status.st_mtime_ns, status.st_size, path))
        total = sum(item[2] for item in kept)
        if total + size <= self.limit_bytes:
            return total
        low_water = int(self.limit_bytes * LOW_WATER)
        goal = low_water if size <= low_water else self.limit_bytes
        for unfinished, _, length, path in sorted(kept):
            if unfinished or total + size <= goal:
                break
            path.unlink(missing_ok=True)
            total -= length
        return total


def _sealed(key: bytes, digest: bytes, recorded: dict[str, Plain]) -> dict[str, Plain]:
    entry: dict[str, Plain] = {"entry": ENTRY, "key": key.hex(), "digest": digest.hex(), "recorded": recorded}
    return {**entry, "seal": sha256(pack(ordered(entry))).hexdigest()}


def _read(key: bytes, file: PlainFile, *, check: bool) -> Entry:
    """The entry in a file. Raises Damaged unless it is whole, of this version and of this key, and OSError."""
    content = read_image(file.view(), file.head())
    entry = content.notes.get("entry")
    if type(entry) is not dict or entry.get("entry") != ENTRY:
        raise Damaged("it is no disk_cache entry of this version")
    try:
        digest, recorded = bytes.fromhex(str(entry["digest"])), entry["recorded"]
    except (ValueError, KeyError) as error:
        raise Damaged("its entry fields are damaged") from error
    if type(recorded) is not dict or entry != _sealed(key, digest, recorded):
        raise Damaged("it is another key's entry, or its entry fields were changed")
    if check and _digest_in(file, content) != digest:
        raise Damaged("its bytes do not have the digest it records")
    return Entry(content.packed, digest, recorded)


def _digest_in(file: PlainFile, content: Content) -> bytes:
    """`digest_of` the value in a file: its header as it is without notes, then the file's tensors, which lie as there."""
    if not content.packed.tensors:
        return digest_of(content.packed)
    return file.digest(content.header_size, bytes(image_of(content.packed)[0]))
