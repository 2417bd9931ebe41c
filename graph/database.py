"""Small SQLite files that several threads and processes share.

Knows nothing of what is stored. WAL needs shared memory: a folder on a network file system is not supported.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

#: How long to wait for another process's transaction (each lasts well under a millisecond), and how long between looks.
#: SQLite's own waiting backs off to 100 ms and starves beside a busy writer: measured, 10 s were not enough.
BUSY_SECONDS = 10.0
_LOOK_SECONDS = 0.0005

T = TypeVar("T")


class Database:
    """One SQLite file in WAL mode: one connection under one lock, explicit transactions.

    Committed transactions survive kill -9, not necessarily a power cut. Not to be used across a fork.
    """

    def __init__(self, path: Path, schema: str, synchronous: str = "NORMAL") -> None:
        """Open or make `path`; a damaged file is set aside first (see `open_whole`). Raises sqlite3.Error or OSError."""
        self.path = path
        self._lock = threading.RLock()

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                # Two processes that begin a file at once: SQLite does not wait here by itself, it says "locked".
                patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
                connection.execute(f"PRAGMA synchronous = {synchronous}")
                connection.executescript(schema)
                connection.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                connection.close()
                raise
            return connection

        self._connection = open_whole(path, connect)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction, begun at once so that what is read in it stays true. Rolled back on any exception."""
        with self._lock, noting_damage(self.path):
            connection = self._connection
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:  # Any: sqlite3's own row types
        """What a query outside a transaction gives."""
        with self._lock, noting_damage(self.path):
            return patiently(lambda: self._connection.execute(query, values).fetchall())

    def close(self) -> None:
        """Close the connection; further use raises sqlite3.ProgrammingError."""
        with self._lock:
            self._connection.close()


def patiently(attempt: Callable[[], T], busy: type[Exception] = sqlite3.OperationalError) -> T:
    """What `attempt` gives once the database is free; `busy` itself after `BUSY_SECONDS`, or at once if it says more."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return attempt()
        except busy as error:
            # diskcache hides the reason in a bare Timeout; a disk that cannot be written is not worth waiting for.
            if "locked" not in str(error.__context__ or error) or time.monotonic() > deadline:
                raise
        time.sleep(_LOOK_SECONDS * (0.5 + random.random()))


def open_whole(path: Path, connect: Callable[[], T]) -> T:
    """What `connect` gives for the database at `path`, which is begun anew if it is damaged.

    Damaged is one that SQLite refuses now, or was seen to be malformed by an earlier process. It is renamed to
    `<name>.damaged-<time>` with its WAL: everything kept in these files can be learned again.
    """
    if _mark(path).exists():
        _set_aside(path)
    try:
        with noting_damage(path):
            return connect()
    except sqlite3.DatabaseError:
        if not _mark(path).exists():
            raise
        _set_aside(path)
        return connect()


@contextmanager
def noting_damage(path: Path) -> Iterator[None]:
    """Leaves a mark for the next process to begin anew if the database proves malformed inside the block.

    Raises sqlite3.DatabaseError also where a damaged row shows as a value of another type or as undecodable text; the
    block therefore prepares what it writes before it begins.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _is_damage(error):
            with suppress(OSError):
                _mark(path).touch()
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        with suppress(OSError):
            _mark(path).touch()
        raise sqlite3.DatabaseError(f"{path.name} holds something unreadable: {error}") from error


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    # Operational errors are the disk's or the lock's, except a table that is not as we made it.
    if isinstance(error, sqlite3.OperationalError):
        return str(error).startswith("no such ")
    return type(error) is sqlite3.DatabaseError


def _mark(path: Path) -> Path:
    return path.with_name(path.name + ".damaged")


def _set_aside(path: Path) -> None:
    stamp = f"damaged-{time.time_ns()}"
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{path}.{stamp}{suffix}")
    _mark(path).unlink(missing_ok=True)
