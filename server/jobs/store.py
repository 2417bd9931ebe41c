"""The jobs as they lie on the disk: the one truth about what was accepted and how it ended.

Writes go to one lane and are answered after their commit, reads to another; both answer through a
`concurrent.futures.Future` (on an event loop: `asyncio.wrap_future`). What is legal is also kept by the database's own
triggers (`server.jobs.schema`). Nothing here decides what runs when.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from server.jobs import schema
from server.jobs.record import (
    FINAL,
    MOST_TRIES,
    Accepted,
    Delivery,
    Job,
    JobFilter,
    JobPage,
    JobResult,
    JobState,
    NewJob,
)  # fmt: skip
from server.jobs.writer import Act, Committer, Lane, ReaderThread, WriterThread
from server.problems import Refusal

_log = logging.getLogger("latentgraph.store")
FILE_NAME: Final = "jobs.sqlite"
#: Idempotency keys are kept for so many seconds during which a server ran.
KEY_SECONDS: Final = 24 * 3600.0
#: Ended jobs that are kept, unless the settings say otherwise.
KEEP_JOBS: Final = 10_000
#: Ended jobs are counted after so many more (or one in a hundred); jobs that one transaction forgets at most: no write
#: waits long for it.
_FORGET_AFTER, _FORGET_AT_ONCE = 64, 200
#: The uptime is written down in steps of so many seconds: what expires by it takes hours.
_UPTIME_STEP_S: Final = 1.0
#: Shorter texts are kept as they are: compressing them takes longer than writing what it saves.
_PLAIN_BYTES: Final = 2048
#: How they begin; zlib never begins so (RFC 1950: 0x78).
_PLAIN: Final = b"="

_COLUMNS: Final = (
    "id, workflow, state, inputs, targets, seeds, files, priority, client, COALESCE(place, CAST(seq AS REAL)), cost_s, tries, created, "
    "started, ended, retry_of, webhook"
)


class Started(NamedTuple):
    """A job that is running now, and its document: what the engine is given."""

    job: Job
    document: bytes


class KnownKey(NamedTuple):
    """What an Idempotency-Key stands for."""

    job: str
    digest: bytes


class JobStore:
    """The job database in a file. Made in a thread: opening checks the whole file.

    `clock` gives the seconds since 1970 that are shown; `monotonic` those by which anything expires, counted only while
    a server runs, so that no jump of the clock ends anything early. Raises Refusal if the file cannot be used; `told`
    holds a sentence for each damaged file that was set aside. `lanes` are for tests.
    """

    def __init__(
        self, path: Path, *, keep_jobs: int = KEEP_JOBS, clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic, lanes: tuple[Callable[[Committer], Lane], Callable[[Path], Lane]] = (WriterThread, ReaderThread),
    ) -> None:  # fmt: skip
        self.path, self.keep_jobs = path, keep_jobs
        self._clock, self._monotonic = clock, monotonic
        self.told = schema.open_whole(path)
        try:
            self.committer = Committer(path, self._at_end)
        except (sqlite3.Error, OSError) as error:
            raise schema.refusal_of(error) from error
        self._writes, self._reads = lanes[0](self.committer), lanes[1](path)
        self._opened = monotonic()
        self._uptime_before = self._reads.submit(lambda connection: _fact(connection, "uptime_s")).result()
        self._uptime_written = self._uptime_before
        #: Jobs that ended since those that are kept were last counted, which takes time for each of them.
        self._ended_since = 0

    @property
    def uptime_s(self) -> float:
        """Seconds that servers have run on this database: what deliveries and keys go by."""
        return self._uptime_before + self._monotonic() - self._opened

    @property
    def last_commit_age_s(self) -> float:
        """Seconds since something was last committed (or the file was opened)."""
        return time.monotonic() - self.committer.committed_at

    def close(self) -> None:
        """Write what waits and let go of the file."""
        self._writes.close()
        self._reads.close()

    # ---- accepting and ending ----

    def accept(self, job: NewJob) -> Future[Accepted]:
        """Keep a job, or give the one that its Idempotency-Key stands for. Refused with `idempotency_mismatch`."""
        return self._writes.submit(self._accepting(job), lambda connection: _unmake(connection, job.id))

    def accept_all(self, jobs: Sequence[NewJob]) -> Future[list[Accepted]]:
        """The same for the jobs of one request: all of them are kept, or none."""
        acts = [self._accepting(job) for job in jobs]

        def undo(connection: sqlite3.Connection) -> None:
            for job in jobs:
                _unmake(connection, job.id)

        return self._writes.submit(lambda connection: [act(connection) for act in acts], undo)

    def _accepting(self, job: NewJob) -> Act[Accepted]:
        def act(connection: sqlite3.Connection) -> Accepted:
            known = _known(connection, job, self.uptime_s) if job.idempotency is not None else None
            return known or Accepted(_insert(connection, job, self._clock(), self.uptime_s))

        return act

    def start(self, id: str) -> Future[Started | None]:
        """Make a queued job a running one; None if it ended meanwhile."""

        def act(connection: sqlite3.Connection) -> Started | None:
            rows = connection.execute(
                f"UPDATE jobs SET state = 'running', started = ? WHERE id = ? AND state = 'queued' RETURNING {_COLUMNS}",
                (self._clock(), id),
            ).fetchall()
            document = _document(connection, id) if rows else None
            return _started(connection, id) if document is None else Started(_whole(rows[0]), document)

        return self._writes.submit(act)

    def running(self, id: str) -> Future[Started | None]:
        """A running job and its document; None if it runs no more."""
        return self._reads.submit(lambda connection: _started(connection, id))

    def end(self, id: str, state: JobState, result: JobResult) -> Future[Job | None]:
        """Enter a final state with its result, in one step; None if the job had ended (or was deleted) before."""
        return self._writes.submit(lambda connection: self._end(connection, id, state, result))

    def _end(self, connection: sqlite3.Connection, id: str, state: JobState, result: JobResult) -> Job | None:
        rows = connection.execute(
            "UPDATE jobs SET state = ?, ended = ?, ended_seq = (SELECT COALESCE(MAX(ended_seq), 0) + 1 FROM jobs) "
            f"WHERE id = ? AND state NOT IN {_FINAL_SQL} RETURNING {_COLUMNS}, history",
            (state, self._clock(), id),
        ).fetchall()
        if not rows:
            return None
        *columns, history = rows[0]
        if result.problem is not None and result.problem.get("code") == "worker_lost" and history != "[]":
            result = replace(result, problem={**result.problem, "history": json.loads(history)})
        job = replace(_from_row(columns), result=result)
        connection.execute("INSERT INTO results VALUES (?, ?, ?)", (id, *_packed_result(result)))
        if job.webhook is not None:
            connection.execute("INSERT INTO deliveries(job, target, due) VALUES (?, ?, ?)", (id, job.webhook, self.uptime_s))
        self._ended_since += 1
        return job

    def tried(self, id: str, tries: int, message: str) -> Future[Job | None]:
        """Note how many tries in a row ended with a death (0: one of its nodes was kept); None if the job has ended."""

        def act(connection: sqlite3.Connection) -> Job | None:
            return _charge(connection, id, tries, message)

        return self._writes.submit(act)

    def recover(self) -> Future[list[Job]]:
        """Queue again what ran when the last server ended, with their old places; all that wait, in their order."""

        def act(connection: sqlite3.Connection) -> list[Job]:
            connection.execute("UPDATE jobs SET state = 'queued', started = NULL WHERE state = 'running'")
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM jobs WHERE ended_seq IS NULL ORDER BY priority DESC, COALESCE(place, seq)"
            )
            return [_from_row(row) for row in rows]

        return self._writes.submit(act)

    # ---- the queue ----

    def place(self, places: Mapping[str, tuple[int, float]]) -> Future[None]:
        """Give unfinished jobs a priority and a position each."""

        def act(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE jobs SET priority = ?, place = ? WHERE id = ? AND ended_seq IS NULL",
                [(priority, position, id) for id, (priority, position) in places.items()],
            )

        return self._writes.submit(act)

    def set_paused(self, paused: bool) -> Future[None]:
        """Note whether anything is dispatched, for later starts too."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE facts SET value = ? WHERE name = 'paused'", (float(paused),))

        return self._writes.submit(act)

    def is_paused(self) -> Future[bool]:
        """Whether `set_paused` was last told so."""
        return self._reads.submit(lambda connection: bool(_fact(connection, "paused")))

    def delete(self, id: str) -> Future[bool]:
        """Forget an ended job; False if there is none of this id. Refused with `conflict` if it has not ended."""

        def act(connection: sqlite3.Connection) -> bool:
            row = connection.execute("SELECT state FROM jobs WHERE id = ?", (id,)).fetchone()
            if row is None:
                return False
            if row[0] not in FINAL:
                raise Refusal("conflict", f"The job is {row[0]}, and only one that has ended can be deleted. Cancel it first.")
            connection.execute("DELETE FROM jobs WHERE id = ?", (id,))
            return True

        return self._writes.submit(act)

    # ---- reading ----

    def get(self, id: str) -> Future[Job | None]:
        """A job, with its whole result if it has ended."""
        return self._reads.submit(lambda connection: _job(connection, id, with_nodes=True))

    def frozen(self, id: str) -> Future[Started | None]:
        """A job, without its result, and its document: what a retry repeats. Refused with `conflict` if any of it was damaged."""
        return self._reads.submit(lambda connection: _frozen(connection, id))

    def document(self, id: str) -> Future[bytes | None]:
        """A job's frozen document (canonical JSON)."""
        return self._reads.submit(lambda connection: _document(connection, id))

    def page(self, filters: JobFilter) -> Future[JobPage]:
        """A part of the list, newest first; results without `nodes`."""
        return self._reads.submit(lambda connection: _page(connection, filters))

    def find_key(self, client: str, key: str) -> Future[KnownKey | None]:
        """What a client's Idempotency-Key stands for, if it is still kept."""
        return self._reads.submit(lambda connection: _find_key(connection, client, key, self.uptime_s))

    def files_named(self) -> Future[frozenset[str]]:
        """SHA-256 (hex) of every upload that a job names."""
        return self._reads.submit(lambda connection: _strings(connection, "SELECT DISTINCT sha256 FROM job_files"))

    def documents_named(self) -> Future[frozenset[str]]:
        """The names of the workflows that jobs which have not ended came from."""
        return self._reads.submit(
            lambda connection: _strings(
                connection, "SELECT DISTINCT workflow FROM jobs WHERE ended_seq IS NULL AND workflow != ''"
            )
        )

    # ---- webhooks ----

    def add_delivery(self, job: str, target: str) -> Future[int]:
        """Have a webhook called for a job at once, beside the one that `end` adds by itself. The delivery's number."""

        def act(connection: sqlite3.Connection) -> int:
            done = connection.execute("INSERT INTO deliveries(job, target, due) VALUES (?, ?, ?)", (job, target, self.uptime_s))
            assert done.lastrowid is not None
            return done.lastrowid

        return self._writes.submit(act)

    def due_deliveries(self, targets: Collection[str], most_each: int) -> Future[list[Delivery]]:
        """What is to be delivered now, of each target the longest due first and at most so many."""
        query = "SELECT id, job, target, attempts FROM deliveries WHERE due <= ? AND target = ? ORDER BY due, id LIMIT ?"

        def act(connection: sqlite3.Connection) -> list[Delivery]:
            now = self.uptime_s  # by the index on `due`: past 20,000 of other targets in 1.5 ms (measured)
            return [Delivery(*row) for target in targets for row in connection.execute(query, (now, target, most_each))]

        return self._reads.submit(act)

    def next_delivery_in(self, targets: Collection[str]) -> Future[float | None]:
        """Seconds until the next delivery to one of these targets is due (0: now); None if none waits."""

        def act(connection: sqlite3.Connection) -> float | None:
            query = f"SELECT MIN(due) FROM deliveries WHERE due IS NOT NULL AND target IN ({_places(targets)})"
            due = connection.execute(query, (*targets,)).fetchone()[0]
            return None if due is None else max(0.0, due - self.uptime_s)

        return self._reads.submit(act)

    def mark_delivery(self, id: int, *, again_in_s: float | None, message: str = "") -> Future[None]:
        """Note an attempt: it is due again in so many seconds, or, with None, over (delivered or given up, `message` says)."""

        def act(connection: sqlite3.Connection) -> None:
            due = None if again_in_s is None else self.uptime_s + again_in_s
            connection.execute(
                "UPDATE deliveries SET due = ?, attempts = attempts + 1, message = ? WHERE id = ?", (due, message[:500], id)
            )

        return self._writes.submit(act)

    def give_up_deliveries(self, targets: Collection[str], message: str) -> Future[None]:
        """End those that wait for any other target than these; `message` says why."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(
                f"UPDATE deliveries SET due = NULL, message = ? WHERE due IS NOT NULL AND target NOT IN ({_places(targets)})",
                (message, *targets),
            )

        return self._writes.submit(act)

    # ---- small things ----

    def costs(self) -> Future[dict[str, list[float]]]:
        """Past seconds by node type, oldest first."""

        def act(connection: sqlite3.Connection) -> dict[str, list[float]]:
            return {name: json.loads(samples) for name, samples in connection.execute("SELECT node_type, samples FROM costs")}

        return self._reads.submit(act)

    def keep_costs(self, costs: Mapping[str, Sequence[float]]) -> Future[None]:
        """Keep the past seconds of these node types."""
        return self._writes.submit(lambda connection: _keep_costs(connection, costs))

    # ---- at the end of each transaction ----

    def _at_end(self, connection: sqlite3.Connection) -> None:
        uptime_s = self.uptime_s
        if uptime_s - self._uptime_written >= _UPTIME_STEP_S:
            connection.execute("UPDATE facts SET value = ? WHERE name = 'uptime_s'", (uptime_s,))
            self._uptime_written = uptime_s
        if self._ended_since >= max(1, min(_FORGET_AFTER, self.keep_jobs // 100)):
            self._ended_since = 0
            _forget_oldest(connection, self.keep_jobs)


# ---- rows ----

_FINAL_SQL: Final = "('" + "', '".join(sorted(FINAL)) + "')"


def _insert(connection: sqlite3.Connection, job: NewJob, now: float, uptime_s: float) -> Job:
    inserted = connection.execute(
        "INSERT INTO jobs(id, workflow, inputs, targets, seeds, files, priority, client, cost_s, created, retry_of, webhook) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            job.id, job.workflow, _json(job.inputs), None if job.targets is None else _json(job.targets), _json(job.seeds),
            _json(job.files), job.priority, job.client, job.cost_s, now, job.retry_of, job.webhook,
        ),
    )  # fmt: skip
    connection.execute("INSERT INTO documents VALUES (?, ?)", (job.id, _packed(job.document)))
    for sha256 in dict.fromkeys(job.files):
        connection.execute("INSERT INTO job_files VALUES (?, ?)", (sha256, job.id))
    if job.idempotency is not None:
        key, digest = job.idempotency
        connection.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)", (job.client, key, digest, job.id, uptime_s))
    assert inserted.lastrowid is not None
    return Job(
        job.id, job.workflow, "queued", dict(job.inputs), job.targets, dict(job.seeds), tuple(job.files), job.priority, job.client,
        float(inserted.lastrowid), job.cost_s, 0, now, None, None, job.retry_of, job.webhook,
    )  # fmt: skip


def _unmake(connection: sqlite3.Connection, id: str) -> None:
    """Take back an acceptance that was told to have failed."""
    connection.execute("DELETE FROM keys WHERE job = ?", (id,))
    connection.execute("UPDATE jobs SET state = 'cancelled', ended_seq = 0 WHERE id = ? AND ended_seq IS NULL", (id,))
    connection.execute("DELETE FROM jobs WHERE id = ?", (id,))


def _known(connection: sqlite3.Connection, job: NewJob, uptime_s: float) -> Accepted | None:
    assert job.idempotency is not None
    key, digest = job.idempotency
    connection.execute("DELETE FROM keys WHERE since < ?", (uptime_s - KEY_SECONDS,))
    known = _find_key(connection, job.client, key, uptime_s)
    if known is None:
        return None
    found = _job(connection, known.job)
    return replay(known, digest, found)


def replay(known: KnownKey, digest: bytes, job: Job | None) -> Accepted:
    """What a request with a known key is answered. Refused if it is another request, or if the job was deleted."""
    if known.digest != digest:
        raise Refusal(
            "idempotency_mismatch",
            "This Idempotency-Key came with another request before. Use a new key for a new request.",
        )
    if job is None:
        raise Refusal("conflict", "The job of this Idempotency-Key was deleted. Use a new key to run it again.")
    return Accepted(job, True)


def _find_key(connection: sqlite3.Connection, client: str, key: str, uptime_s: float) -> KnownKey | None:
    row = connection.execute(
        "SELECT job, digest FROM keys WHERE client = ? AND key = ? AND since >= ?", (client, key, uptime_s - KEY_SECONDS)
    ).fetchone()
    return None if row is None else KnownKey(*row)


def _charge(connection: sqlite3.Connection, id: str, tries: int, message: str) -> Job | None:
    row = connection.execute("SELECT history, tries FROM jobs WHERE id = ? AND ended_seq IS NULL", (id,)).fetchone()
    if row is None:
        return None
    tries = min(tries, MOST_TRIES)
    if tries == row[1]:  # told again
        return _job(connection, id)
    history = [*json.loads(row[0]), message[:500]] if tries else []
    connection.execute("UPDATE jobs SET tries = ?, history = ? WHERE id = ?", (tries, _json(history[-MOST_TRIES:]), id))
    return _job(connection, id)


def _started(connection: sqlite3.Connection, id: str) -> Started | None:
    return _with_document(connection, id, "AND state = 'running'")


def _job(connection: sqlite3.Connection, id: str, *, with_nodes: bool = False) -> Job | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (id,)).fetchone()
    if row is None:
        return None
    job = _from_row(row)
    return replace(job, result=_result(connection, id, with_nodes)) if job.is_final else job


def _with_document(connection: sqlite3.Connection, id: str, condition: str = "") -> Started | None:
    """A job, whole, and its document. Raises ValueError or zlib.error for what the disk damaged."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ? {condition}", (id,)).fetchone()
    document = _document(connection, id)
    return Started(_whole(row), document) if row is not None and document is not None else None


def _frozen(connection: sqlite3.Connection, id: str) -> Started | None:
    try:
        return _with_document(connection, id)
    except (ValueError, zlib.error):
        raise Refusal(
            "conflict", "What this job was accepted with was damaged on the disk: it cannot be run again as it was. Send it anew."
        ) from None


def _result(connection: sqlite3.Connection, id: str, with_nodes: bool) -> JobResult | None:
    row = connection.execute("SELECT head, nodes FROM results WHERE job = ?", (id,)).fetchone()
    if row is None:
        return None
    try:
        head = json.loads(_unpacked(row[0]))
        nodes = json.loads(_unpacked(row[1])) if with_nodes else ()
        return JobResult(**{**head, "messages": tuple(head["messages"])}, nodes=tuple(nodes))
    except (ValueError, zlib.error, KeyError, TypeError):
        return JobResult(messages=("How this job ended was damaged on the disk: only its state is known.",))


def _packed_result(result: JobResult) -> tuple[bytes, bytes]:
    head = {name: getattr(result, name) for name in ("seconds", "device_seconds", "outputs", "absent", "messages", "problem")}
    return _packed(_json(head).encode()), _packed(_json(result.nodes).encode())


def _packed(text: bytes) -> bytes:
    """A text as it is kept: with a checksum, which zlib gives by itself."""
    return _PLAIN + zlib.crc32(text).to_bytes(4) + text if len(text) < _PLAIN_BYTES else zlib.compress(text, 1)


def _unpacked(kept: bytes) -> bytes:
    """The text again. Raises zlib.error for what was damaged."""
    if kept[:1] != _PLAIN:
        return zlib.decompress(kept)
    text = kept[5:]
    if zlib.crc32(text).to_bytes(4) != kept[1:5]:
        raise zlib.error("the checksum is another one")
    return text


def _document(connection: sqlite3.Connection, id: str) -> bytes | None:
    row = connection.execute("SELECT document FROM documents WHERE job = ?", (id,)).fetchone()
    return None if row is None else _unpacked(row[0])


def _read(text: str, empty: Any) -> Any:  # Any: plain JSON
    """What a column holds. Raises ValueError if it is no JSON, or not of the kind of `empty`."""
    found = json.loads(text)
    if not isinstance(found, type(empty)):
        raise ValueError(f"a {type(found).__name__} where a {type(empty).__name__} stood")
    return found


def _read_or_empty(text: str, empty: Any) -> Any:
    try:
        return _read(text, empty)
    except ValueError:
        return empty


def _from_row(row: Sequence[Any], read: Callable[[str, Any], Any] = _read_or_empty) -> Job:  # Any: sqlite3's own row types
    """A job as it is told. What was damaged on the disk is empty: one bad record must not hide the others."""
    id, workflow, state, inputs, targets, seeds, files, *rest = row
    wanted = None if targets is None else tuple(read(targets, []))
    return Job(id, workflow, state, read(inputs, {}), wanted, read(seeds, {}), tuple(read(files, [])), *rest)


def _whole(row: Sequence[Any]) -> Job:
    """A job that is to run. Raises ValueError if something of it was damaged on the disk: it must not run as another job."""
    return _from_row(row, _read)


def _page(connection: sqlite3.Connection, filters: JobFilter) -> JobPage:
    where, values = ["1"], list[Any]()
    if filters.states:
        where.append(f"state IN ({_places(filters.states)})")
        values.extend(filters.states)
    for column in ("client", "workflow", "retry_of"):
        wanted = getattr(filters, column)
        if wanted is not None:
            where.append(f"{column} = ?")
            values.append(wanted)
    if filters.before is not None:
        where.append("seq < ?")
        values.append(filters.before)
    query = f"SELECT seq, {_COLUMNS} FROM jobs WHERE {' AND '.join(where)} ORDER BY seq DESC LIMIT ?"
    rows = connection.execute(query, (*values, filters.limit + 1)).fetchall()
    jobs = [_from_row(row[1:]) for row in rows[: filters.limit]]
    jobs = [replace(job, result=_result(connection, job.id, False)) if job.is_final else job for job in jobs]
    return JobPage(jobs, rows[filters.limit - 1][0] if len(rows) > filters.limit else None)


def _forget_oldest(connection: sqlite3.Connection, keep: int) -> None:
    """Forget what is beyond the newest `keep`, but nothing that a webhook is still to tell of, unless that is as many again."""
    ended = connection.execute("SELECT COUNT(*) FROM jobs WHERE ended_seq IS NOT NULL").fetchone()[0]
    is_over = "NOT EXISTS (SELECT 1 FROM deliveries WHERE job = old.id AND due IS NOT NULL)"
    forgotten = _forget(connection, ended - keep, is_over)
    if forgotten < _FORGET_AT_ONCE:
        untold = _forget(connection, ended - forgotten - 2 * keep, "1")
        if untold:
            _log.warning("Jobs of which no webhook could be told for too long were forgotten: %d. Mend its target.", untold)


def _forget(connection: sqlite3.Connection, oldest: int, condition: str) -> int:
    """Forget some of so many that ended first, those that fulfil the condition; how many."""
    if oldest <= 0:
        return 0
    return connection.execute(
        "DELETE FROM jobs WHERE seq IN (SELECT seq FROM "
        "(SELECT seq, id, ended_seq FROM jobs WHERE ended_seq IS NOT NULL ORDER BY ended_seq LIMIT ?) AS old "
        f"WHERE {condition} ORDER BY ended_seq LIMIT ?)",
        (oldest, _FORGET_AT_ONCE),
    ).rowcount


def _keep_costs(connection: sqlite3.Connection, costs: Mapping[str, Sequence[float]]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO costs VALUES (?, ?)", [(name, _json(list(past))) for name, past in costs.items()]
    )


def _fact(connection: sqlite3.Connection, name: str) -> float:
    return float(connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0])


def _strings(connection: sqlite3.Connection, query: str) -> frozenset[str]:
    return frozenset(row[0] for row in connection.execute(query))


def _places(values: Collection[str]) -> str:
    """The places of a query for these values."""
    return ", ".join("?" * len(values))


def _json(value: Any) -> str:  # Any: plain JSON
    return _ENCODER.encode(value)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
