"""Checked rows of bytes by key: what the memo's actions, small values and learned costs lie in.

It is a `diskcache.Cache` that has been disarmed. Stock diskcache unpickles rows, opens and deletes files that rows name,
and replays any PRAGMA it finds in its Settings table, so whoever can write the folder can run code (CVE-2025-69872;
there is no fixed release), and it hands out flipped bits. Ours stores bytes in rows and nothing else, and every row
carries a check over its key and content.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from graph.database import BUSY_SECONDS, noting_damage, open_whole, patiently
from graph.folder import LOW_WATER, Outage, StoreUnavailable, private_folder, unavailable

_AT_ONCE = 500  # keys per statement: 1.3 us per key when batched, 5 us one by one
_CHECK_BYTES = 16
_RAW = 1  # diskcache's mode of a value that lies in its row as it is

_SETTINGS: Mapping[str, int | str] = {
    "statistics": 0,
    "tag_index": 0,
    "eviction_policy": "none",
    "size_limit": 1 << 62,
    "cull_limit": 0,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 8192,
    "sqlite_journal_mode": "wal",
    "sqlite_mmap_size": 0,  # mapped, a shortened file would kill the process with SIGBUS
    "sqlite_synchronous": 1,
}
_COUNTERS = ("count", "size", "hits", "misses")
_UPSERT = f"""
INSERT INTO Cache(key, raw, mode, value, store_time, access_time) VALUES (?, 1, {_RAW}, ?, ?, ?)
ON CONFLICT(key, raw) DO UPDATE SET mode = excluded.mode, filename = NULL, value = excluded.value,
store_time = excluded.store_time, access_time = excluded.access_time
"""


@cache
def _classes() -> tuple[Any, Any]:  # Any: diskcache has no types; imported only when a table is opened (35 ms)
    import diskcache  # type: ignore[import-untyped]  # has no stubs

    class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # untyped base
        """Rows of bytes: pickles nothing, unpickles nothing, opens and removes no file."""

        def __init__(self, directory: str, **_ignored: object) -> None:
            super().__init__(directory)

        def put(self, key: object) -> tuple[memoryview, bool]:
            return memoryview(_only_bytes(key)), True

        def get(self, key: object, raw: object) -> bytes:
            if not raw:
                raise ValueError("a pickled key is refused")
            return _only_bytes(key)

        def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, memoryview]:
            return 0, _RAW, None, memoryview(_only_bytes(value))

        def fetch(self, mode: object, filename: object, value: object, read: object) -> bytes:
            if mode != _RAW or filename is not None or read:
                raise ValueError("a row that is not plain bytes is refused")
            return _only_bytes(value)

        def filename(self, key: object = None, value: object = None) -> tuple[str, str]:
            raise ValueError("this cache keeps no files")

        def remove(self, file_path: object) -> None:
            """Nothing: a file name in a row is never believed."""

    class BytesCache(diskcache.Cache):  # type: ignore[misc]  # untyped base
        """A cache whose settings are ours, whatever its Settings table says."""

        def reset(self, key: str, value: Any = diskcache.core.ENOVAL, update: bool = True) -> Any:  # Any: as the base
            if key in _SETTINGS:
                return super().reset(key, _SETTINGS[key], update)
            return super().reset(key, value, update) if key in _COUNTERS else None

    return BytesCache, BytesDisk


class Table:
    """Rows of bytes in one SQLite file of limited size, for several threads and processes.

    A key is `prefix + key`; the one-letter prefix says the kind: `a` action, `v` value, `c` cost. Damage is a miss: a row
    counts only if its check holds, and a file that is no database is set aside.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Open or make `folder`/cache.db; what cannot be opened now is empty, says why in `off`, and is tried again later."""
        self.folder, self.limit_bytes = folder, limit_bytes
        self.damaged = 0
        self._path = folder / "cache.db"
        self._read_lock, self._write_lock = threading.RLock(), threading.RLock()
        self._outage = Outage()
        self._cache: Any = None  # Any: diskcache has no types
        self._page_bytes = 0
        with suppress(StoreUnavailable):
            self._opened()

    @property
    def off(self) -> StoreUnavailable | None:
        """Why nothing is written at present; None while it is."""
        return self._outage.error

    def _opened(self) -> sqlite3.Connection:
        """The reading connection; opens the file if that has not succeeded yet. Raises StoreUnavailable."""
        if self._cache is None:
            with self._write_lock, self._read_lock:
                if self._cache is None:
                    self._outage.check()
                    try:
                        private_folder(self.folder)
                        opened, self._reader = open_whole(self._path, self._open)
                        ((self._page_bytes,),) = self._reader.execute("PRAGMA page_size")
                    except StoreUnavailable as error:
                        raise self._outage.begin(error) from error.__cause__
                    except (OSError, sqlite3.Error) as error:
                        raise self._outage.begin(unavailable(self.folder, error)) from error
                    self._cache = opened
                    self._outage.end()
        return self._reader

    def _open(self) -> tuple[Any, sqlite3.Connection]:  # Any: diskcache has no types
        cache_class, disk_class = _classes()
        reader = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'Settings'").fetchone():
                # A planted name of another type stops diskcache from opening at all.
                known = (*_SETTINGS, *_COUNTERS, "disk_min_file_size", "disk_pickle_protocol")
                marks = ",".join("?" * len(known))
                reader.execute(f"DELETE FROM Settings WHERE typeof(key) != 'text' OR key NOT IN ({marks})", known)
            opened = cache_class(str(self.folder), timeout=0, disk=disk_class, **_SETTINGS)
            reader.execute("SELECT key, raw, mode, filename, value, access_time, access_count FROM Cache LIMIT 1")
        except BaseException:
            reader.close()
            raise
        return opened, reader

    def read(self, prefix: bytes, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The whole rows among `keys` (500 at a time); never raises for what is on disk. No rows of a kind: no work."""
        found: dict[bytes, bytes] = {}
        bad: list[bytes] = []
        with suppress(sqlite3.Error, StoreUnavailable), self._reading() as reader:
            if not keys or not _has_any(reader, prefix):
                return found
            for start in range(0, len(keys), _AT_ONCE):
                some = [prefix + key for key in keys[start : start + _AT_ONCE]]
                query = f"SELECT key, mode, filename, value FROM Cache WHERE raw = 1 AND key IN ({','.join('?' * len(some))})"
                for key, mode, filename, value in reader.execute(query, some):
                    content = content_of_row(key, value) if mode == _RAW and filename is None else None
                    if content is None:
                        bad.append(key)
                    else:
                        found[key[len(prefix) :]] = content
        if bad:
            self._remove(bad)
        return found

    def write(self, rows: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Keep rows (prefix, key, content), all or none, safe from kill -9 once this returns.

        The least recently used go first if there is no room. Raises StoreUnavailable, and from then on every time until
        `RETRY_SECONDS` have passed.
        """
        now = time.time()
        lines = [(*_checked_row(prefix + key, content), now, now) for prefix, key, content in rows]
        with self._writing() as connection:
            connection.executemany(_UPSERT, lines)
            self._make_room(connection)

    def note_uses(self, counts: Mapping[bytes, int]) -> None:
        """Write down how often rows (prefix + key) were used since the last time; best effort."""
        now = time.time()
        query = "UPDATE Cache SET access_time = ?, access_count = access_count + ? WHERE key = ? AND raw = 1"
        with suppress(StoreUnavailable), self._writing() as connection:
            connection.executemany(query, [(now, count, key) for key, count in counts.items()])

    def remove(self, prefix: bytes, keys: Iterable[bytes]) -> None:
        """Remove rows. Raises StoreUnavailable."""
        with self._writing() as connection:
            connection.executemany("DELETE FROM Cache WHERE key = ?", [(prefix + key,) for key in keys])

    def clear(self) -> None:
        """Remove every row. Raises StoreUnavailable."""
        with self._writing() as connection:
            connection.execute("DELETE FROM Cache")

    def keys(self, prefix: bytes) -> list[bytes]:
        """All keys of one kind."""
        query = "SELECT key FROM Cache WHERE raw = 1 AND key >= ? AND key < ?"
        with suppress(sqlite3.Error, StoreUnavailable), self._reading() as reader:
            rows = reader.execute(query, (prefix, _after(prefix))).fetchall()
            return [key[len(prefix) :] for (key,) in rows]
        return []

    def bytes_on_disk(self) -> int:
        """Size of the database, in whole pages; 0 if it cannot be read."""
        with suppress(sqlite3.Error, StoreUnavailable), self._reading() as reader:
            return int(reader.execute("PRAGMA page_count").fetchone()[0]) * int(self._page_bytes)
        return 0

    def close(self) -> None:
        """Close the reading connection and this thread's writing one; other threads' close when they end."""
        with self._write_lock, self._read_lock:
            if self._cache is not None:
                self._reader.close()
                self._cache.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The reading connection, one thread at a time. Raises StoreUnavailable or sqlite3.Error."""
        reader = self._opened()
        with self._read_lock, noting_damage(self._path):
            yield reader

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        import diskcache

        self._outage.check()
        self._opened()
        try:
            # Not retry=True: that spins for ever on a full or read-only disk. `_con`: 4 us a row against 30 for `set`.
            with self._write_lock, noting_damage(self._path), ExitStack() as stack:
                patiently(lambda: stack.enter_context(self._cache.transact()), diskcache.Timeout)
                yield self._cache._con
        except (sqlite3.Error, OSError, diskcache.Timeout) as error:
            # diskcache hides the reason: in a bare Timeout, or behind a rollback that SQLite has already done.
            hidden = str(error) == "" or "rollback" in str(error)
            raise self._outage.begin(unavailable(self.folder, (hidden and error.__context__) or error)) from error
        self._outage.end()

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Delete the least recently used rows while the pages in use exceed the low-water mark; freed pages are used again.

        The mark is below the limit because the rows just written are already in: the file stays under the limit itself.
        """
        while True:
            ((pages,), (free,)) = (connection.execute(f"PRAGMA {name}_count").fetchone() for name in ("page", "freelist"))
            (last,) = connection.execute("SELECT MAX(rowid) FROM Cache").fetchone()
            if (pages - free) * self._page_bytes <= self.limit_bytes * LOW_WATER or not last:
                return
            # By last use alone: with a bonus for past uses, a full table would drop a run's own new rows first.
            worst = "SELECT rowid FROM Cache ORDER BY access_time, rowid LIMIT ?"
            rows = connection.execute("SELECT COUNT(*) FROM Cache").fetchone()[0]
            connection.execute(f"DELETE FROM Cache WHERE rowid IN ({worst})", (rows // 10 + 1,))

    def _remove(self, damaged: Sequence[bytes]) -> None:
        self.damaged += len(damaged)
        with suppress(StoreUnavailable):
            self.remove(b"", damaged)


def _has_any(reader: sqlite3.Connection, prefix: bytes) -> bool:
    query = "SELECT 1 FROM Cache WHERE key >= ? AND key < ? LIMIT 1"
    return reader.execute(query, (prefix, _after(prefix))).fetchone() is not None


def _after(prefix: bytes) -> bytes:
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _check_of(key: bytes, content: bytes) -> bytes:
    return sha256(b"%d:%b%b" % (len(key), key, content)).digest()[:_CHECK_BYTES]


def _checked_row(key: bytes, content: bytes) -> tuple[bytes, bytes]:
    return key, _check_of(key, content) + content


def content_of_row(key: bytes, value: object) -> bytes | None:
    """The content of a row as it lies in the file; None if its check does not hold. `key` has its prefix."""
    if type(value) is not bytes:
        return None
    content = value[_CHECK_BYTES:]
    return content if value[:_CHECK_BYTES] == _check_of(key, content) else None


def _only_bytes(value: object) -> bytes:
    if type(value) is not bytes:
        raise TypeError(f"this cache stores bytes, not {type(value).__qualname__}")
    return value
