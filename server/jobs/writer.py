"""Group commit: all writes that wait become one transaction, and nobody is answered before it is on the disk.

Knows nothing of what is written. When the disk fails, the writes fail and are told so; the next ones find out whether
it works again.
"""

from __future__ import annotations

import math
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
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
#: A commit that takes no longer is quick, and a write that comes so long after the last comes alone.
QUICK_S: Final = 0.002
REST_S: Final = 0.001
#: After a commit that was not quick nothing is carried out at once for so many times as long as it took.
_WARY: Final = 1000
#: Commits after which the log is carried into the database; SQLite itself does so after 1000 pages, in the midst of a commit.
CARRY_AFTER: Final = 50
#: A database that another program holds is tried again so often.
_LOOK_AGAIN_S: Final = 0.01


class Write(NamedTuple):
    """One write: what it does, whom it answers, and what takes it back if it was told failed but proves committed."""

    act: Act[Any]
    #: None: who brought it carries it out and has the answer then.
    future: Future[Any] | None
    undo: Act[None] | None


class Lane(Protocol):
    """Carries writes or reads out, one after the other, and answers through a future."""

    def submit(self, act: Act[T], undo: Act[None] | None = None) -> Future[T]:
        """Have `act` carried out."""

    def close(self) -> None:
        """Carry out what waits, then let go of the file."""


class WriteLane(Lane, Protocol):
    """A lane for writes."""

    def at_once(self, act: Act[T], undo: Act[None] | None = None) -> T | None:
        """What `act` gives, carried out here and now where that takes next to no time; None: it is to be submitted."""


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
        self._connection: sqlite3.Connection | None = _opened(path)
        self._number = _batch_of(self._connection)
        self._doubt: _Doubt | None = None
        self._outcomes: list[Any] = []
        #: Why the last transaction failed; "" while all is well.
        self.error = ""
        #: `time.monotonic` of the last commit, and from when on one may be made at once: not before one was seen to be quick.
        self.committed_at, self._at_once_from = time.monotonic(), math.inf
        #: Commits since the log was carried into the database.
        self._uncarried = 0

    def at_once(self, act: Act[T], undo: Act[None] | None) -> T | None:
        """What a write gives that is carried out here and now; None if that might take long, or the disk does not take it.

        None stands for a write that is to be committed by `commit`: then it is as if nothing was done. It might take long
        if a commit was slow not long ago, if another program holds the database, if the log is to be carried over, or if
        the last commit was just now: where writes come one upon the other, they are to share transactions. Raises the
        write's own error.
        """
        connection, now = self._connection, time.monotonic()
        if connection is None or now < self._at_once_from or now - self.committed_at < REST_S or self.has_long_log:
            return None
        write = Write(act, None, undo)
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._carry_out(connection, [write])
        except Exception as error:
            self._take_back(error, [write])
            return None
        [outcome] = self._outcomes
        if isinstance(outcome, Exception):
            raise outcome
        given: T = outcome
        return given

    @property
    def has_long_log(self) -> bool:
        """Whether `carry_log` is to be called."""
        return self._uncarried >= CARRY_AFTER

    def carry_log(self) -> None:
        """Carry what the log holds into the database, as far as no reader needs it. No write waits for it."""
        self._uncarried = 0
        if self._connection is not None:
            with suppress(sqlite3.Error):  # the log has it, and the next commit tells what is wrong
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def commit(self, writes: Sequence[Write], then: Callable[[], None] = lambda: None) -> None:
        """Carry the writes out in one transaction, then answer each: with what it gave, its own error, or the disk's refusal.

        `then` is called in between.
        """
        writes = [write for write in writes if write.future is not None and write.future.set_running_or_notify_cancel()]
        outcomes = self._outcomes_of(writes)
        then()
        for write, outcome in zip(writes, outcomes, strict=True):
            assert write.future is not None
            if isinstance(outcome, Exception):
                write.future.set_exception(outcome)
            else:
                write.future.set_result(outcome)

    def _outcomes_of(self, writes: Sequence[Write]) -> list[Any]:
        try:
            self._carry_out(self._open(), writes)
            self.error = ""
            return self._outcomes
        except Exception as error:  # whatever it is: who waits must be answered, and the thread must live on
            return self._after(error, writes)

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _carry_out(self, connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
        self._outcomes = []
        before = connection.total_changes
        if not connection.in_transaction:
            _begin(connection)
        for write in writes:
            self._outcomes.append(_one(connection, write.act, len(writes) == 1))
        if not connection.in_transaction:  # the only write failed, and everything was rolled back with it
            return
        if connection.total_changes == before:
            connection.execute("ROLLBACK")
            return
        self._at_end(connection)
        connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'batch'")
        started = time.monotonic()
        connection.execute("COMMIT")
        self._number += 1
        self._uncarried += 1
        self.committed_at = now = time.monotonic()
        if now - started > QUICK_S:
            self._at_once_from = now + _WARY * (now - started)
        elif self._at_once_from == math.inf:
            self._at_once_from = now

    def _after(self, error: Exception, writes: Sequence[Write]) -> list[Any]:
        failed = [schema.refusal_of(error) for _ in writes]  # one each: a raise adds frames to an error
        if not self._take_back(error, writes):
            return failed
        doubt, self._doubt = self._doubt, None  # what was committed counts: nobody was told anything yet
        assert doubt is not None
        try:
            self._open()
        except (sqlite3.Error, OSError, Refusal):
            self._doubt = doubt
            return failed
        return self._outcomes if self._number >= doubt.number else failed

    def _take_back(self, error: Exception, writes: Sequence[Write]) -> bool:
        """Leave nothing of a transaction that failed; True if it may have been committed nevertheless.

        Then the connection is given up and `_settle` takes the writes back: a second sync that succeeds proves nothing of
        what the first one was to write (PostgreSQL's lesson of 2018), and what counts is what a new connection finds.
        """
        self.error, self._at_once_from = schema.refusal_of(error).message, math.inf
        connection = self._connection
        if connection is None:  # it had not begun
            return False
        if not schema.is_undecided(error):
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            return False
        self.close()
        self._doubt = _Doubt(self._number + 1, [write.undo for write in writes if write.undo is not None])
        return True

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = _opened(self._path)
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
            _begin(connection)
            for undo in doubt.undos:
                undo(connection)
            connection.execute("COMMIT")
        self._doubt = None


class WriterThread:
    """The lane for writes: one thread that takes all that wait at once.

    `at_once` carries a write out in the caller's thread: two changes of threads take about as long as a quick commit.
    """

    def __init__(self, committer: Committer) -> None:
        self._committer = committer
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._lock, self._is_closed = threading.Lock(), False
        #: Writes that the thread has not carried out.
        self._pending = 0
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
                self._pending += 1
                self._waiting.put(Write(act, future, undo))
        return future

    def at_once(self, act: Act[T], undo: Act[None] | None = None) -> T | None:
        """What `act` gives, carried out here and now; None, while others wait or it may take long: it is to be submitted."""
        with self._lock:  # the thread takes nothing meanwhile
            return None if self._pending or self._is_closed else self._committer.at_once(act, undo)

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
                self._committer.commit(writes, partial(self._carried_out, len(writes)))
                self._carry_log()
            if batch[-1] is None:
                self._committer.close()
                return

    def _carry_log(self) -> None:
        if self._committer.has_long_log:
            with self._lock:
                self._pending += 1  # nothing passes it
            self._committer.carry_log()
            self._carried_out(1)

    def _carried_out(self, count: int) -> None:
        with self._lock:
            self._pending -= count


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


def _opened(path: Path) -> sqlite3.Connection:
    """A connection that tells at once that another program holds the database, see `_begin`."""
    connection = schema.connect(path)
    connection.execute("PRAGMA busy_timeout = 0")
    return connection


def _begin(connection: sqlite3.Connection) -> None:
    """Begin a transaction that writes; if another program has one, wait for it for `schema.BUSY_SECONDS`."""
    end = time.monotonic() + schema.BUSY_SECONDS
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(_LOOK_AGAIN_S)


def _one(connection: sqlite3.Connection, act: Act[Any], is_alone: bool) -> Any:
    """What one write gives, or its error, which it has to itself: if it is alone, the transaction is over then.

    A failing disk is everybody's: it is raised.
    """
    if not is_alone:
        connection.execute("SAVEPOINT one")
    try:
        outcome = act(connection)
    except Exception as error:  # reported as this write's result
        if schema.is_of_the_disk(error):
            raise
        connection.execute("ROLLBACK" if is_alone else "ROLLBACK TO one")
        outcome = error
    if not is_alone:
        connection.execute("RELEASE one")
    return outcome


def _batch_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT value FROM facts WHERE name = 'batch'").fetchone()[0])
