"""Single flight across processes: who is computing which key right now, and what to do when its owner dies.

A lease is a row in a small SQLite file beside the memo. It says nothing about results: the owner commits its result to
the memo *before* it releases, so whoever gets the lease next looks there first. A lost lease
costs a second computation of the same content, never a wrong value.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from graph.database import Database
from graph.folder import Outage, StoreUnavailable, private_folder, unavailable
from graph.owner import Owner, is_gone

#: A hung owner (stopped, or its interpreter blocked) loses its leases after this long; a dead one at once.
LEASE_SECONDS = 10.0
_BEAT_SECONDS = 2.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS leases(key BLOB PRIMARY KEY, owner TEXT NOT NULL, token BLOB NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
"""


class Lease(NamedTuple):
    """The right to compute `key`, until released, or until the owner dies or hangs."""

    key: bytes
    token: bytes


class Leases:
    """The leases of one memo folder. Usable from several threads and processes; one object per process is enough.

    Every method raises StoreUnavailable if the folder cannot be written, and for `RETRY_SECONDS` from then on; the work
    then simply runs without a lease.
    """

    def __init__(self, folder: Path, *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Leases of `folder`/leases.db, which is opened when the first one is asked for."""
        self._folder = folder
        self._outage = Outage()
        self._opened: Database | None = None
        self._seconds = lease_seconds
        self._held: dict[bytes, Lease] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._heart: threading.Thread | None = None

    def acquire(self, key: bytes) -> Lease | None:
        """The lease of `key`, or None while a live owner (this process included) has it."""
        return self.acquire_many((key,)).get(key) if self._may_be_free(key) else None

    def acquire_many(self, keys: Sequence[bytes]) -> dict[bytes, Lease]:
        """Those of `keys` that are free or whose owner is gone, leased to us in one transaction (2 us per key)."""
        owner, now = Owner.current(), time.monotonic()
        gone: dict[str, bool] = {}
        taken: dict[bytes, Lease] = {}
        with self._usable() as database, database.transaction() as connection:
            for key in keys:
                lease = Lease(key, os.urandom(8))
                row = connection.execute("SELECT owner, expires FROM leases WHERE key = ?", (key,)).fetchone()
                if row is not None and not self._is_free(row, now, gone):
                    continue
                connection.execute(
                    "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", (key, str(owner), lease.token, now + self._seconds)
                )
                taken[key] = lease
        with self._lock:
            self._held.update((lease.token, lease) for lease in taken.values())
            if taken and self._heart is None and not self._closed.is_set():
                self._heart = threading.Thread(target=self._beat, name="lease-heartbeat", daemon=True)
                self._heart.start()
        return taken

    def release(self, *leases: Lease) -> None:
        """Give leases back, after the results are committed (or will not come). A lost lease is passed over."""
        if not leases:
            return
        with self._lock:
            for lease in leases:
                self._held.pop(lease.token, None)
        with self._usable() as database, database.transaction() as connection:
            connection.executemany("DELETE FROM leases WHERE key = ? AND token = ?", leases)

    def close(self) -> None:
        """Release everything held and stop the heartbeat."""
        self._closed.set()
        with self._lock:
            held, heart = tuple(self._held.values()), self._heart
        if heart is not None:
            heart.join()
        with suppress(StoreUnavailable):
            self.release(*held)
        if self._opened is not None:
            self._opened.close()

    @contextmanager
    def _usable(self) -> Iterator[Database]:
        """The database. Raises StoreUnavailable."""
        self._outage.check()
        try:
            yield self._database()
        except StoreUnavailable as error:
            raise self._outage.begin(error) from error.__cause__
        except (OSError, sqlite3.Error) as error:
            raise self._outage.begin(unavailable(self._folder, error)) from error
        self._outage.end()

    def _database(self) -> Database:
        with self._lock:
            if self._opened is None:
                private_folder(self._folder)
                self._opened = Database(self._folder / "leases.db", _SCHEMA, synchronous="OFF")
            return self._opened

    def _may_be_free(self, key: bytes) -> bool:
        """A look without the write lock, so that many waiters do not stand in the owners' way."""
        with self._usable() as database:
            rows = database.rows("SELECT owner, expires FROM leases WHERE key = ?", (key,))
        return not rows or self._is_free(rows[0], time.monotonic(), {})

    def _is_free(self, row: tuple[str, float], now: float, gone: dict[str, bool]) -> bool:
        owner, expires = row
        if type(owner) is not str or type(expires) is not float:
            return True  # a damaged row is nobody's
        # The clock is the machine's own since boot: the same in every process here; after a reboot all owners are gone.
        if expires < now or expires > now + 10 * self._seconds + LEASE_SECONDS:
            return True
        if owner not in gone:
            gone[owner] = is_gone(owner)
        return gone[owner]

    def _beat(self) -> None:
        while not self._closed.wait(min(_BEAT_SECONDS, self._seconds / 4)):
            with self._lock:
                held = tuple(self._held.values())
            expires = time.monotonic() + self._seconds
            with suppress(sqlite3.Error):  # a full disk only shortens leases
                if held:
                    with self._database().transaction() as connection:
                        connection.executemany(
                            "UPDATE leases SET expires = ? WHERE key = ? AND token = ?",
                            [(expires, lease.key, lease.token) for lease in held],
                        )
