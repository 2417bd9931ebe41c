"""The job database as a file: its tables, how it becomes a newer one, and opening it so that nothing is lost silently.

A damaged file is set aside under another name and told, never deleted; one of a newer release is refused. What rows mean
is the business of `server.jobs.store`; the rules that must hold whatever the code does are triggers here.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from server.jobs.record import MOST_TRIES
from server.problems import Refusal

#: Another process's transaction is waited for so long. There should be none: a server has its data folder to itself.
BUSY_SECONDS: Final = 5.0
#: "LGjb": tells our file from any other SQLite file.
APPLICATION: Final = 0x4C476A62

_FIRST = f"""
CREATE TABLE jobs(
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    workflow TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    inputs TEXT NOT NULL, targets TEXT, seeds TEXT NOT NULL, files TEXT NOT NULL,
    priority INTEGER NOT NULL, client TEXT NOT NULL,
    place REAL,
    cost_s REAL NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0 CHECK (tries BETWEEN 0 AND {MOST_TRIES}),
    history TEXT NOT NULL DEFAULT '[]',
    created REAL NOT NULL, started REAL, ended REAL,
    ended_seq INTEGER,
    retry_of TEXT, webhook TEXT,
    CHECK ((ended_seq IS NOT NULL) = (state IN ('done', 'failed', 'cancelled')))
);
CREATE INDEX jobs_unfinished ON jobs(state) WHERE ended_seq IS NULL;
CREATE INDEX jobs_ended ON jobs(ended_seq) WHERE ended_seq IS NOT NULL;
CREATE INDEX jobs_client ON jobs(client, seq);
CREATE INDEX jobs_workflow ON jobs(workflow, seq);
CREATE TABLE documents(job TEXT PRIMARY KEY REFERENCES jobs(id) ON DELETE CASCADE, document BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE results(
    job TEXT PRIMARY KEY REFERENCES jobs(id) ON DELETE CASCADE, head BLOB NOT NULL, nodes BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE job_files(
    sha256 TEXT, job TEXT REFERENCES jobs(id) ON DELETE CASCADE, PRIMARY KEY (sha256, job)) WITHOUT ROWID;
CREATE INDEX job_files_job ON job_files(job);
CREATE TABLE keys(
    client TEXT, key TEXT, digest BLOB NOT NULL, job TEXT NOT NULL, since REAL NOT NULL, PRIMARY KEY (client, key)) WITHOUT ROWID;
CREATE INDEX keys_since ON keys(since);
CREATE TABLE deliveries(
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, target TEXT NOT NULL,
    due REAL, attempts INTEGER NOT NULL DEFAULT 0, message TEXT NOT NULL DEFAULT '');
CREATE INDEX deliveries_due ON deliveries(due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_job ON deliveries(job);
CREATE TABLE costs(node_type TEXT PRIMARY KEY, samples TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE facts(name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
INSERT INTO facts VALUES ('batch', 0), ('uptime_s', 0), ('paused', 0);

CREATE TRIGGER ended_is_final BEFORE UPDATE ON jobs WHEN OLD.ended_seq IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the job has ended and never changes again'); END;
CREATE TRIGGER legal_moves BEFORE UPDATE OF state ON jobs WHEN NOT (
    (OLD.state = 'queued' AND NEW.state IN ('running', 'failed', 'cancelled')) OR
    (OLD.state = 'running' AND NEW.state IN ('queued', 'done', 'failed', 'cancelled')))
BEGIN SELECT RAISE(ABORT, 'no such move between job states'); END;
CREATE TRIGGER begins_queued BEFORE INSERT ON jobs WHEN NEW.state != 'queued'
BEGIN SELECT RAISE(ABORT, 'a job begins queued'); END;
CREATE TRIGGER accepted_is_frozen BEFORE UPDATE OF id, workflow, inputs, targets, seeds, files, client, retry_of, webhook ON jobs
BEGIN SELECT RAISE(ABORT, 'what was accepted is frozen'); END;
CREATE TRIGGER document_is_frozen BEFORE UPDATE ON documents
BEGIN SELECT RAISE(ABORT, 'what was accepted is frozen'); END;
CREATE TRIGGER result_is_frozen BEFORE UPDATE ON results
BEGIN SELECT RAISE(ABORT, 'a result never changes'); END;
CREATE TRIGGER result_of_ended BEFORE INSERT ON results
WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE id = NEW.job AND ended_seq IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'only an ended job has a result'); END;
CREATE TRIGGER only_ended_are_forgotten BEFORE DELETE ON jobs WHEN OLD.ended_seq IS NULL
BEGIN SELECT RAISE(ABORT, 'a job that has not ended cannot be deleted'); END;
"""

#: Step n leads from version n to n + 1; a released step never changes.
MIGRATIONS: Final[tuple[str, ...]] = (_FIRST,)
VERSION: Final = len(MIGRATIONS)


class Damaged(sqlite3.DatabaseError):
    """The file is no job database, or not a whole one; the message says what was found."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the database at `path`, which is made and migrated if need be.

    Committed means safe from a power cut (synchronous=FULL). Raises Refusal for one of a newer release, Damaged, and
    sqlite3.OperationalError or OSError where the disk does not let it.
    """
    _make_file(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        version = _version_of(connection)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        for step in range(version, VERSION):
            _migrate(connection, step)
        # What the last process wrote but did not sync becomes lasting before anybody builds on it.
        checkpoint(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint(connection: sqlite3.Connection) -> None:
    """Carry the whole log into the database, synced, and empty it. Raises sqlite3.OperationalError if readers are in the way."""
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("the log could not be emptied: the database is locked")


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    return connection


def open_whole(path: Path) -> list[str]:
    """See to it that `path` is a whole database that can be written; a sentence for each file that was set aside.

    Raises Refusal: a newer release's database, a folder or disk that cannot be written.
    """
    told = []
    log = path.with_name(path.name + "-wal")
    try:
        if (not path.exists() or not path.stat().st_size) and log.exists() and log.stat().st_size:
            told.append(_set_aside(path, "the database is gone and only its log is left"))
        try:
            _check(path)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            told.append(_set_aside(path, str(error)))
            _check(path)
    except (sqlite3.Error, OSError) as error:
        raise refusal_of(error) from error
    return told


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the database itself is broken, and not only the disk full or the file locked."""
    if isinstance(error, Damaged):
        return True
    if _code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return True
    return _code_of(error) == sqlite3.SQLITE_ERROR and "no such" in str(error)


def is_undecided(error: BaseException) -> bool:
    """Whether the connection must be made anew after this, because it cannot be relied on.

    What was not synced may have been written after all; and one opened when no file descriptor was left stays read-only.
    """
    return _code_of(error) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY)


def is_of_the_disk(error: BaseException) -> bool:
    """Whether a write failed for a reason that fails every other one too."""
    return isinstance(error, sqlite3.OperationalError) or type(error) in (sqlite3.DatabaseError, Damaged)


def refusal_of(error: BaseException) -> Refusal:
    """What a client is told when the database cannot be used. Names no path."""
    code = _code_of(error)
    if code == sqlite3.SQLITE_BUSY:
        return Refusal("in_use", "Another program holds the job database. End it, then try again.", retry_after_s=5)
    if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
        return Refusal("internal", "The job database is damaged. Restart the server: it sets the file aside and says so.")
    found = "is full"
    if code == sqlite3.SQLITE_READONLY or isinstance(error, PermissionError) or code == sqlite3.SQLITE_CANTOPEN:
        found = "cannot be written (read-only, or not ours)"
    elif code == sqlite3.SQLITE_IOERR:
        found = "reports an input/output error"
    return Refusal(
        "disk_full",
        f"The disk of the data folder {found}, so no job can be kept. Free space there or make it writable, then try again.",
        retry_after_s=10,
    )


def _code_of(error: BaseException) -> int:
    """SQLite's primary code; -1 if the error is none of SQLite's."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF if hasattr(error, "sqlite_errorcode") else -1


def _make_file(path: Path) -> None:
    """An empty file that only this user can read; SQLite gives its log the same rights."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _version_of(connection: sqlite3.Connection) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if version == 0 and application == 0 and not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        return 0
    if application != APPLICATION:
        raise Damaged("it is not a database of jobs")
    if version > VERSION:
        raise Refusal(
            "conflict",
            f"The job database has version {version}; this program knows up to {VERSION}. It was written by a newer release: "
            "install that one, or start with another data folder (--home).",
        )
    return version


def _migrate(connection: sqlite3.Connection, step: int) -> None:
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE; {MIGRATIONS[step]}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {step + 1}; COMMIT;"
        )
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _check(path: Path) -> None:
    connection = connect(path)
    try:
        found = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            raise Damaged("; ".join(found))
        connection.execute("SELECT COUNT(*) FROM jobs, documents, results, keys, deliveries, costs, facts LIMIT 0")
    finally:
        connection.close()


def _set_aside(path: Path, reason: str) -> str:
    name = f"{path.name}.damaged-{time.time_ns()}"
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", path.with_name(name + suffix))
    return (
        f"The job database is damaged ({reason[:200]}) and was set aside as {name} in the data folder; the history begins "
        "anew. Restore a backup to have the old one back."
    )
