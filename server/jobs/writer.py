"""Group commit: all writes that wait become one transaction, and nobody is answered before it is on the disk.

Knows nothing of what is written. When the disk fails, the writes fail and are told so; the next ones find out whether
it works again.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from traceback import clear_frames
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from server.jobs import schema
from server.problems import Refusal

T = TypeVar("T")
#: What is done inside a transaction; it may be rolled back, so it changes nothing but the database.
Act = Callable[[sqlite3.Connection], T]

#: A transaction of at most so many writes: the first of them does not wait for ever.
MOST_IN_ONE: Final = 500
#: Transactions after which the log is carried into the database. SQLite itself does so after 1000 pages, before it answers.
CARRY_AFTER: Final = 50


class Write(NamedTuple):
    """One write: what it does, whom it answers, and what takes it back if it was told failed but proves committed."""

    act: Act[Any]
    future: Future[Any]
    undo: Act[None] | None


class Lane(Protocol):
    """Carries writes or reads out, one after the other, and answers through a future."""

    def submit(self, act: Act[T], undo: Act[None] | None = None) -> Future[T]:
        """Have `act` carried out."""

    def close(self) -> None:
        """Carry out what waits, then let go of the file."""


class _Doubt(NamedTuple):
    """A transaction that failed in a way that leaves open whether it was committed."""

    number: int
    undos: list[Act[None]]


class Committer:
    """Carries batches out on a connection of its own. Used by one thread at a time.

    `at_end` is called in each transaction after its writes. After an input/output error the database is opened again,
    its log emptied, and only what is then found in it counts.
    """

    def __init__(self, path: Path, at_end: Act[None] = lambda _: None) -> None:
        self._path, self._at_end = path, at_end
        self._connection: sqlite3.Connection | None = schema.connect(path)
        self._number = _batch_of(self._connection)
        self._doubt: _Doubt | None = None
        self._outcomes: list[Any] = []
        #: Why the last transaction failed; "" while all is well.
        self.error = ""
        #: `time.monotonic` of the last commit.
        self.committed_at = time.monotonic()
        #: Transactions since the log was carried into the database.
        self._uncarried = 0

    def commit(self, writes: Sequence[Write]) -> None:
        """Carry the writes out in one transaction, then answer each: with what it gave, its own error, or the disk's refusal."""
        writes = [write for write in writes if write.future.set_running_or_notify_cancel()]
        try:
            self._carry_out(self._open(), writes)
            outcomes: list[Any] = self._outcomes
            self.error = ""
        except Exception as error:  # whatever it is: who waits must be answered, and the thread must live on
            outcomes = self._after(error, writes)
        for write, outcome in zip(writes, outcomes, strict=True):
            if isinstance(outcome, Exception):
                write.future.set_exception(outcome)
            else:
                write.future.set_result(outcome)
        if self._uncarried >= CARRY_AFTER:  # only now: nobody is to wait for it
            self._carry_log()

    def _carry_log(self) -> None:
        """Carry what the log holds into the database, as far as no reader needs it."""
        self._uncarried = 0
        if self._connection is not None:
            with suppress(sqlite3.Error):  # the log has it all, and the next commit tells what is wrong
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _carry_out(self, connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
        self._outcomes = []
        before = connection.total_changes
        connection.execute("BEGIN IMMEDIATE")
        for write in writes:
            self._outcomes.append(_one(connection, write.act))
        if connection.total_changes == before:
            connection.execute("ROLLBACK")
            return
        self._at_end(connection)
        connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'batch'")
        connection.execute("COMMIT")
        self._number += 1
        self._uncarried += 1
        self.committed_at = time.monotonic()

    def _after(self, error: Exception, writes: Sequence[Write]) -> list[Any]:
        self.error = schema.refusal_of(error).message
        failed = [schema.refusal_of(error) for _ in writes]  # one each: a raise adds frames to an error
        connection = self._connection
        if connection is None:
            return failed
        if not schema.is_undecided(error):
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            return failed
        # A second sync that succeeds proves nothing of what the first one was to write (PostgreSQL's lesson of 2018): what
        # counts is what a new connection finds.
        number = self._number + 1
        self.close()
        self._doubt = _Doubt(number, [])
        try:
            self._open()
        except (sqlite3.Error, OSError, Refusal):
            self._doubt = _Doubt(number, [write.undo for write in writes if write.undo is not None])
            return failed
        return self._outcomes if self._number >= number else failed

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = schema.connect(self._path)
            try:
                self._settle(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _settle(self, connection: sqlite3.Connection) -> None:
        """Learn what became of a transaction in doubt; if it was committed, take back what was told to have failed."""
        self._number = _batch_of(connection)
        doubt = self._doubt
        if doubt is not None and self._number >= doubt.number and doubt.undos:
            connection.execute("BEGIN IMMEDIATE")
            for undo in doubt.undos:
                undo(connection)
            connection.execute("COMMIT")
        self._doubt = None


class WriterThread:
    """The lane for writes: one thread that takes all that wait at once."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._lock, self._is_closed = threading.Lock(), False
        # A daemon: a disk that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="jobs-writer", daemon=True)
        self._thread.start()

    def submit(self, act: Act[T], undo: Act[None] | None = None) -> Future[T]:
        """Have `act` carried out in the next transaction."""
        future: Future[T] = Future()
        with self._lock:  # else a write could come after the last one was taken, and never be answered
            if self._is_closed:
                future.set_exception(_closed())
            else:
                self._waiting.put(Write(act, future, undo))
        return future

    def close(self) -> None:
        """Write what waits, then let go of the file."""
        with self._lock:
            self._is_closed = True
            self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < MOST_IN_ONE and batch[-1] is not None:
                try:
                    batch.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            writes = [write for write in batch if write is not None]
            if writes:
                self._committer.commit(writes)
            if batch[-1] is None:
                self._committer.close()
                return


class ReaderThread:
    """The lane for reads: one thread with a connection of its own, which no writer holds up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="jobs-reader")

    def submit(self, act: Act[T], undo: Act[None] | None = None) -> Future[T]:
        """Have `act` carried out; it sees everything that was committed before, and nothing that is committed meanwhile."""
        try:
            return self._pool.submit(self._read, act)
        except RuntimeError:  # it is shut down
            future: Future[T] = Future()
            future.set_exception(_closed())
            return future

    def close(self) -> None:
        """Read what waits, then let go of the file."""
        self._pool.submit(self._let_go)
        self._pool.shutdown()

    def _read(self, act: Act[T]) -> T:
        try:
            if self._connection is None:
                self._connection = schema.connect_reader(self._path)
            return _in_one_view(self._connection, act)
        except sqlite3.Error as error:
            self._let_go()  # the next read begins afresh
            raise schema.refusal_of(error) from error

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _closed() -> Refusal:
    return Refusal("draining", "The job database is closed: the server is shutting down.")


def _in_one_view(connection: sqlite3.Connection, act: Act[T]) -> T:
    """What `act` gives, all its queries answered from one state of the database.

    After an error its frames let go of their cursors: a query that was not read to its end keeps its view as long as
    somebody holds the error, and the log cannot be carried into the database meanwhile.
    """
    connection.execute("BEGIN")
    try:
        return act(connection)
    except Exception as error:
        clear_frames(error.__traceback__)
        raise
    finally:
        connection.execute("ROLLBACK")


def _one(connection: sqlite3.Connection, act: Act[Any]) -> Any:
    """What one write gives, or its error, which it has to itself. A failing disk is everybody's: it is raised."""
    connection.execute("SAVEPOINT one")
    try:
        outcome = act(connection)
    except Exception as error:  # reported as this write's result
        if schema.is_of_the_disk(error):
            raise
        connection.execute("ROLLBACK TO one")
        outcome = error
    connection.execute("RELEASE one")
    return outcome


def _batch_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT value FROM facts WHERE name = 'batch'").fetchone()[0])
