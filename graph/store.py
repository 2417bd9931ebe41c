"""Blobs: immutable files by content, shared by every run and process that uses the folder.

A small SQLite index beside the files says how many bytes there are, what each cost and who needs it; reading never
touches it. The index can be lost: it is rebuilt from the files. The store knows values only as `Packed`, and nothing of
nodes or keys.

    objects/ab/<digest>.safetensors|.msgpack    0444, complete when visible
    tmp/<owner>.<n>.tmp                         being written; swept when its owner is gone
    quarantine/                                 found damaged; counted, and the first to be evicted
"""

from __future__ import annotations

import errno
import itertools
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from graph.blob import Buffer, Damaged, hash_of, image_of, read_image, suffix_of
from graph.database import Database
from graph.folder import LOW_WATER, Outage, PlainFile, StoreUnavailable, private_folder, unavailable, write_all
from graph.owner import Owner, is_gone
from graph.types import Packed

SUFFIXES = (".safetensors", ".msgpack")
#: From here on the digest is worth a second thread.
_THREAD_FROM = 1 << 20
#: No write takes this long: of a process that cannot be seen (another container's) the file is taken to be left over.
_STALE_SECONDS = 3600.0
_SEEN_AT_MOST = 100_000
_HALF_LIFE = 7 * 24 * 3600.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS blobs(
    file TEXT PRIMARY KEY, kind TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL,
    seconds REAL NOT NULL, hits INTEGER NOT NULL DEFAULT 0, used REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pins(digest TEXT, owner TEXT, PRIMARY KEY (digest, owner)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS total(id INTEGER PRIMARY KEY CHECK (id = 1), bytes INTEGER NOT NULL);
INSERT OR IGNORE INTO total SELECT 1, COALESCE(SUM(size), 0) FROM blobs;
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON blobs BEGIN UPDATE total SET bytes = bytes + NEW.size; END;
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON blobs BEGIN UPDATE total SET bytes = bytes - OLD.size; END;
CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE OF size ON blobs
BEGIN UPDATE total SET bytes = bytes + NEW.size - OLD.size; END;
"""

# Seconds to recompute x chance of reuse / bytes: reuse by Laplace's rule from the hits so far, fading with age.
_WORST_FIRST = f"""
SELECT file, size FROM blobs WHERE kind != 'tmp' AND digest NOT IN (SELECT digest FROM pins)
ORDER BY kind = 'object', seconds * (hits + 1.0) / (hits + 2.0) / (1 + MAX(0, ? - used) / {_HALF_LIFE}) / (size + 1), used
"""
_ADD_OBJECT = """
INSERT INTO blobs(file, kind, digest, size, seconds, used) VALUES (?, 'object', ?, ?, ?, ?)
ON CONFLICT(file) DO UPDATE SET size = excluded.size, seconds = excluded.seconds, used = excluded.used
"""


class Damage(NamedTuple):
    """A file that was not what its name said: the digest it was named by (hex), what was wrong, and where it lies now, if anywhere."""

    digest: str
    reason: str
    moved_to: Path | None


class Report(NamedTuple):
    """What `verify` found: files read whole, their bytes, and the damaged ones, now in quarantine."""

    files: int
    bytes: int
    damaged: tuple[Damage, ...]


class Stats(NamedTuple):
    """Counts of a store: objects and bytes on disk (quarantine and unfinished files included in `bytes`), the limit, and
    what this process did: values evicted, and values not kept because they could not fit."""

    objects: int
    bytes: int
    limit_bytes: int
    pinned: int
    quarantined: int
    evicted: int
    not_kept: int


class _Seen(NamedTuple):
    """What a file looked like when its digest was checked: inode, size, mtime, and the digest of its header."""

    mark: tuple[int, int, int]
    header_size: int
    header: bytes


class Store:
    """Values by digest in a folder of limited size. Usable from several threads and processes at once."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Open or make `folder`, and sweep what dead processes left. If it cannot be written it is read all the same, says
        why it is `off`, and is tried again later."""
        self.folder, self.limit_bytes = folder, limit_bytes
        self.damaged: list[Damage] = []
        self._outage = Outage()
        self._database: Database | None = None
        self._opening = threading.Lock()
        self._owner = f"{Owner.current()}.{os.urandom(4).hex()}"  # two stores of one process must not meet
        self._serial = itertools.count()
        self._seen: dict[bytes, _Seen] = {}
        self._pins: Counter[bytes] = Counter()
        self._uses: Counter[bytes] = Counter()
        self._lock = threading.Lock()
        self._hashers = ThreadPoolExecutor(2, "store-digest")
        self._evicted = self._not_kept = 0
        with suppress(StoreUnavailable):
            self._open()

    def _open(self) -> None:
        """Make the folders and open the index. After a failure also count again: it may have left files uncounted."""
        with self._opening, self._turning_off():
            private_folder(self.folder)
            for name in ("objects", "tmp", "quarantine"):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
            if self._database is None:
                # Without fsync: a commit never waits for the disk, and the index can be had from the files again.
                self._database = Database(self.folder / "index.db", _SCHEMA, synchronous="OFF")
            self._sweep(self._outage.error is not None)
            self._outage.end()

    @property
    def off(self) -> StoreUnavailable | None:
        """Why this store writes nothing at present; None while it does."""
        return self._outage.error

    @property
    def _index(self) -> Database:
        """The index. Raises sqlite3.OperationalError as long as it could not be opened."""
        if self._database is None:
            raise sqlite3.OperationalError(f"{self.folder / 'index.db'} is not open")
        return self._database

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, packed: Packed, digest: bytes | None = None, *, seconds: float = 1.0) -> bytes:
        """Keep a value and give its digest; a value already here costs one look at the folder.

        `digest` is what `digest_of` gave, if the caller has it; else it is computed while the file is written.
        `seconds` is what the value took to compute: eviction goes by it. A value that cannot fit (larger than the
        limit, or everything else in use) is counted in `stats` and not kept. Survives kill -9 once it returns. Raises
        StoreUnavailable if the folder cannot be written, and for `RETRY_SECONDS` from then on; nothing half-written stays.
        """
        self._outage.check()
        if self._outage.error is not None:
            self._open()
        if digest is not None and os.path.exists(self._path(digest, suffix_of(packed))):
            self._uses[digest] += 1
            return digest
        image = image_of(packed)
        size = sum(map(len, image))
        with self._turning_off():
            temporary = self._reserve(size)
            if temporary is None:
                self._not_kept += 1
                return digest or hash_of(image)
            try:
                digest = self._write(temporary, image, digest)
                self._publish(temporary, self._path(digest, suffix_of(packed)), digest, size, seconds)
            except BaseException:
                self._abandon(temporary)
                raise
        return digest

    @contextmanager
    def _turning_off(self) -> Iterator[None]:
        try:
            yield
        except StoreUnavailable as error:
            raise self._outage.begin(error) from error.__cause__
        except (OSError, sqlite3.Error) as error:
            raise self._outage.begin(unavailable(self.folder, error)) from error

    def _reserve(self, size: int) -> Path | None:
        """A temporary path with room for `size` bytes set aside in the index, evicting first; None if it cannot fit."""
        temporary = self.folder / "tmp" / f"{self._owner}.{next(self._serial)}.tmp"
        with self._index.transaction() as connection:
            if not self._make_room(connection, size):
                return None
            connection.execute(
                "INSERT INTO blobs(file, kind, digest, size, seconds, used) VALUES (?, 'tmp', '', ?, 0, ?)",
                (self._name(temporary), size, time.time()),
            )
        return temporary

    def _make_room(self, connection: sqlite3.Connection, size: int) -> bool:
        ((total,),) = connection.execute("SELECT bytes FROM total")
        if total + size <= self.limit_bytes:
            return True
        if size > self.limit_bytes:
            return False
        self._drop_dead(connection)
        ((total,),) = connection.execute("SELECT bytes FROM total")
        low_water = int(self.limit_bytes * LOW_WATER)
        goal = low_water if size <= low_water else self.limit_bytes
        worst = connection.execute(_WORST_FIRST, (time.time(),)).fetchall()
        if total - sum(freed for _, freed in worst) + size > self.limit_bytes:
            return False  # what is in use leaves no room: evict nothing in vain
        for file, freed in worst:
            if total + size <= goal:
                break
            (self.folder / file).unlink(missing_ok=True)
            connection.execute("DELETE FROM blobs WHERE file = ?", (file,))
            total -= freed
            self._evicted += 1
        return True

    def _write(self, path: Path, image: Sequence[Buffer], digest: bytes | None) -> bytes:
        large = digest is None and sum(map(len, image)) >= _THREAD_FROM
        hashing = self._hashers.submit(hash_of, image) if large else None
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            for buffer in image:
                write_all(file, buffer)
        finally:
            os.close(file)
        if digest is not None:
            return digest
        return hashing.result() if hashing else hash_of(image)

    def _publish(self, temporary: Path, path: Path, digest: bytes, size: int, seconds: float) -> None:
        """Count the file as an object and give it its name, in one transaction.

        Killed in between, the reservation stays in the index until a sweep, so the limit holds; the sweep counts again.
        """
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with self._index.transaction() as connection:
            connection.execute("DELETE FROM blobs WHERE file = ?", (self._name(temporary),))
            if path.exists():
                temporary.unlink()
                return
            connection.execute(_ADD_OBJECT, (self._name(path), digest.hex(), size, seconds, time.time()))
            os.rename(temporary, path)

    def _abandon(self, temporary: Path) -> None:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        with suppress(sqlite3.Error), self._index.transaction() as connection:
            connection.execute("DELETE FROM blobs WHERE file = ?", (self._name(temporary),))

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, digest: bytes) -> Packed | None:
        """The value of a digest, its tensors read-only and mapped from the file; None if it is not here or damaged.

        The first get of a process reads the whole file and checks its digest; later ones check size, inode, time and
        header. A damaged file goes to quarantine and into `damaged`. A value stays readable when it is evicted.
        """
        for suffix in SUFFIXES:
            path = self._path(digest, suffix)
            try:
                with PlainFile.open(path) as file:
                    packed = self._check(digest, file)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.EIO, errno.EINVAL):
                    self._quarantine(path, str(error), None)
                continue
            except Damaged as error:
                self._quarantine(path, str(error), file.status.st_ino)
                continue
            self._uses[digest] += 1
            return packed
        return None

    def has(self, digest: bytes) -> bool:
        """Whether a file of this digest is here (2 us); whether it is whole shows in `get`."""
        return any(os.path.exists(self._path(digest, suffix)) for suffix in SUFFIXES)

    def file_of(self, digest: bytes) -> Path | None:
        """The file of this digest, for another process to map; pin it first."""
        return next((path for suffix in SUFFIXES if os.path.exists(path := self._path(digest, suffix))), None)

    def _check(self, digest: bytes, file: PlainFile) -> Packed:
        """The value, if the file is the one its name says. Raises Damaged, and OSError if it cannot be read whole."""
        view, status = file.view(), file.status
        head = file.head() if file.is_mapped else bytes(view)
        mark = (status.st_ino, status.st_size, status.st_mtime_ns)
        seen = self._seen.get(digest)
        if seen is None or seen.mark != mark:
            if (file.digest() if file.is_mapped else sha256(view).digest()) != digest:
                raise Damaged("its bytes do not have the digest it is named by")
            content = read_image(view, head)
            if len(self._seen) >= _SEEN_AT_MOST:
                self._seen.clear()
            self._seen[digest] = _Seen(mark, content.header_size, sha256(head[: content.header_size]).digest())
            return content.packed
        if sha256(head[: seen.header_size]).digest() != seen.header:
            raise Damaged("its header changed after it was checked")
        return read_image(view, head).packed

    def _quarantine(self, path: Path, reason: str, inode: int | None) -> Damage | None:
        """Set a damaged file aside, unless another process has just put a whole one in its place."""
        aside = self.folder / "quarantine" / f"{path.name}.{time.time_ns()}"
        moved: Path | None = None
        try:
            with self._index.transaction() as connection:
                status = os.lstat(path)
                if inode is not None and status.st_ino != inode:
                    return None
                connection.execute("DELETE FROM blobs WHERE file = ?", (self._name(path),))
                connection.execute(
                    "INSERT INTO blobs(file, kind, digest, size, seconds, used) VALUES (?, 'quarantine', '', ?, 0, 0)",
                    (self._name(aside), status.st_size),
                )
                os.rename(path, aside)
                moved = aside
        except FileNotFoundError:
            return None
        except (OSError, sqlite3.Error):
            pass  # it stays where it is and is found damaged again: a miss each time
        damage = Damage(path.stem, reason, moved)
        self.damaged.append(damage)
        return damage

    # -- keeping house ---------------------------------------------------------------------------------------------

    def pin(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those of `digests` that are here; they are not evicted, by any process, until unpinned as often or we die."""
        with self._lock:
            present = {digest for digest in digests if self.has(digest)}
            fresh = [digest for digest in present if not self._pins[digest]]
            try:
                if fresh and self._database is not None:
                    with self._index.transaction() as connection:
                        present -= {digest for digest in fresh if not self.has(digest)}
                        rows = [(digest.hex(), self._owner) for digest in fresh if digest in present]
                        connection.executemany("INSERT OR IGNORE INTO pins VALUES (?, ?)", rows)
            except sqlite3.Error as error:  # then we evict nothing ourselves; another process might
                self._outage.begin(unavailable(self.folder, error))
            self._pins.update(present)
        return present

    def unpin(self, digests: Sequence[bytes]) -> None:
        """Take back one `pin` of each."""
        with self._lock, suppress(sqlite3.Error):
            self._pins.subtract(digest for digest in set(digests) if self._pins[digest])
            free = [digest for digest in set(digests) if not self._pins[digest]]
            for digest in free:
                self._pins.pop(digest, None)
            if free:
                with self._index.transaction() as connection:
                    rows = [(digest.hex(), self._owner) for digest in free]
                    connection.executemany("DELETE FROM pins WHERE digest = ? AND owner = ?", rows)

    def flush(self) -> None:
        """Write down what was used since the last flush; eviction goes by it."""
        with self._lock:
            uses, self._uses = self._uses, Counter()
        now = time.time()
        rows = [(count, now, self._name(self._path(digest, suffix))) for digest, count in uses.items() for suffix in SUFFIXES]
        if rows and self.off is None:
            with suppress(sqlite3.Error), self._index.transaction() as connection:
                connection.executemany("UPDATE blobs SET hits = hits + ?, used = ? WHERE file = ?", rows)

    def verify(self) -> Report:
        """Read every file and check its digest; damaged ones go to quarantine, uncounted ones are counted."""
        files = total = 0
        damaged = []
        for path in sorted(self._objects()):
            try:
                with PlainFile.open(path) as file:
                    digest = bytes.fromhex(path.stem)
                    files, total = files + 1, total + file.size
                    with self._lock:
                        self._seen.pop(digest, None)
                    self._check(digest, file)
            except FileNotFoundError:
                continue
            except Damaged as error:
                damaged.append(self._quarantine(path, str(error), file.status.st_ino))
            except (OSError, ValueError) as error:
                damaged.append(self._quarantine(path, str(error), None))
        with suppress(sqlite3.Error), self._index.transaction() as connection:
            self._count_again(connection)
        return Report(files, total, tuple(damage for damage in damaged if damage))

    def clear(self) -> int:
        """Remove everything that no live process has in use, and give the bytes freed. Raises StoreUnavailable."""
        with self._turning_off(), self._index.transaction() as connection:
            self._drop_dead(connection)
            self._count_again(connection)
            freed = 0
            for file, size in connection.execute(_WORST_FIRST, (0,)).fetchall():
                (self.folder / file).unlink(missing_ok=True)
                connection.execute("DELETE FROM blobs WHERE file = ?", (file,))
                freed += size
        return freed

    def stats(self) -> Stats:
        """Counts, now. Raises StoreUnavailable if the index cannot be read."""
        with self._turning_off():
            kinds = dict(self._index.rows("SELECT kind, COUNT(*) FROM blobs GROUP BY kind"))
            ((total,),) = self._index.rows("SELECT bytes FROM total")
            ((pinned,),) = self._index.rows("SELECT COUNT(DISTINCT digest) FROM pins")
        quarantined = kinds.get("quarantine", 0)
        return Stats(kinds.get("object", 0), total, self.limit_bytes, pinned, quarantined, self._evicted, self._not_kept)

    def close(self) -> None:
        """Unpin everything, write down the uses and close the index."""
        self.flush()
        with suppress(sqlite3.Error), self._index.transaction() as connection:
            connection.execute("DELETE FROM pins WHERE owner = ?", (self._owner,))
        self._hashers.shutdown()
        if self._database is not None:
            self._database.close()

    def _path(self, digest: bytes, suffix: str) -> Path:
        name = digest.hex()
        return self.folder / "objects" / name[:2] / (name + suffix)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _objects(self) -> Iterator[Path]:
        return (path for suffix in SUFFIXES for path in (self.folder / "objects").glob(f"??/*{suffix}"))

    def _sweep(self, count: bool) -> None:
        """Remove what dead processes left; count again if told to, if the index is new, if it was written before this boot (then a power
        cut may have spoiled it), or if a process died while naming a file."""
        boot = int(Owner.current().place[:7], 16)
        with self._index.transaction() as connection:
            (counted,) = connection.execute("PRAGMA user_version").fetchone()
            if self._drop_dead(connection) or counted != boot or count:
                self._count_again(connection)
                connection.execute(f"PRAGMA user_version = {boot}")
            rows = {file for (file,) in connection.execute("SELECT file FROM blobs WHERE kind = 'tmp'")}
            for path in (self.folder / "tmp").iterdir():
                if self._name(path) not in rows and _is_stale(path):
                    path.unlink(missing_ok=True)

    def _drop_dead(self, connection: sqlite3.Connection) -> bool:
        """Forget pins and unfinished files of dead processes; True if one of these files was perhaps named already."""
        gone = {owner for (owner,) in connection.execute("SELECT DISTINCT owner FROM pins").fetchall() if is_gone(owner)}
        connection.executemany("DELETE FROM pins WHERE owner = ?", [(owner,) for owner in gone])
        renamed = False
        for file, begun in connection.execute("SELECT file, used FROM blobs WHERE kind = 'tmp'").fetchall():
            path = self.folder / file
            if is_gone(path.name) or time.time() - begun > _STALE_SECONDS:
                renamed |= not path.exists()
                path.unlink(missing_ok=True)
                connection.execute("DELETE FROM blobs WHERE file = ?", (file,))
        return renamed

    def _count_again(self, connection: sqlite3.Connection) -> None:
        """Make the index say what the folders hold."""
        found = {self._name(path): path for path in (*self._objects(), *(self.folder / "quarantine").iterdir())}
        rows = dict(connection.execute("SELECT file, size FROM blobs WHERE kind != 'tmp'").fetchall())
        connection.executemany("DELETE FROM blobs WHERE file = ?", [(file,) for file in rows.keys() - found.keys()])
        for file, path in found.items():
            status = os.lstat(path)
            if rows.get(file) != status.st_size:
                kind = "object" if file.startswith("objects/") else "quarantine"
                connection.execute(
                    "INSERT INTO blobs(file, kind, digest, size, seconds, used) VALUES (?, ?, ?, ?, 1, ?) "
                    "ON CONFLICT(file) DO UPDATE SET size = excluded.size",
                    (file, kind, path.stem if kind == "object" else "", status.st_size, status.st_mtime),
                )


def _is_stale(path: Path) -> bool:
    """Whether an uncounted temporary file is certainly nobody's: its process is gone, or it is an hour old."""
    with suppress(OSError):
        return is_gone(path.name) or time.time() - path.lstat().st_mtime > _STALE_SECONDS
    return False
