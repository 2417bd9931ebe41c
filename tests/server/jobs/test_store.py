"""The job store: what it keeps, what it refuses, how it opens, and that its own rules hold whatever the code does."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.jobs import schema, writer
from server.jobs import store as store_module
from server.jobs.record import FINAL, JobFilter, JobResult, new_id
from server.jobs.store import FILE_NAME, KEY_SECONDS, JobStore
from server.jobs.writer import Committer, Write
from server.problems import Refusal
from tests.server.jobs.jobs_kit import PATIENCE, new, store_in

OpenStore = Callable[..., JobStore]


@pytest.fixture
def open_store(home: Path) -> Iterator[OpenStore]:
    """Opens the store of this test's home; closed at the end."""
    opened: list[JobStore] = []

    def open_one(**options: Any) -> JobStore:
        opened.append(store_in(home, **options))
        return opened[-1]

    yield open_one
    for store in opened:
        if threading.Thread.is_alive(store._writes._thread):  # type: ignore[attr-defined]
            store.close()


@pytest.fixture
def store(open_store: OpenStore) -> JobStore:
    return open_store()


def value(future: Future[Any]) -> Any:
    return future.result(PATIENCE)


def accepted(store: JobStore, **fields: Any) -> str:
    return str(value(store.accept(new(**fields))).job.id)


def ended(store: JobStore, state: str = "done", **fields: Any) -> str:
    id = accepted(store, **fields)
    value(store.start(id))
    value(store.end(id, state, JobResult()))  # type: ignore[arg-type]
    return id


def raw(store: JobStore, query: str, *values: Any) -> list[Any]:
    with sqlite3.connect(store.path) as connection:
        found = connection.execute(query, values).fetchall()
    connection.close()
    return found


# ---- keeping ----


def test_a_job_comes_back_as_it_was_accepted(store: JobStore) -> None:
    asked = new(
        inputs={"prompt": "a \u2713"}, targets=("save",), files=("ab" * 32,), priority=3, client="ann", cost_s=2.5,
        retry_of="x", webhook="site", document=b'{"nodes":{}}',
    )  # fmt: skip
    job = value(store.accept(asked)).job
    assert (job.id, job.workflow, job.state, job.inputs) == (asked.id, "drawing", "queued", {"prompt": "a \u2713"})
    assert (job.targets, job.seeds, job.files, job.priority) == (("save",), {"draw.seed": 7}, ("ab" * 32,), 3)
    assert (job.client, job.cost_s, job.retry_of, job.webhook, job.result) == ("ann", 2.5, "x", "site", None)
    assert value(store.get(job.id)) == job
    assert value(store.document(job.id)) == b'{"nodes":{}}'


def test_a_result_comes_back_whole_and_lists_lack_its_nodes(store: JobStore) -> None:
    id = accepted(store)
    value(store.start(id))
    result = JobResult(1.5, 0.5, ({"id": "draw", "state": "done"},), {"image": {"type": "Picture"}}, {"x": "muted"}, ("note",))
    job = value(store.end(id, "done", result))
    assert job.result == result
    assert value(store.get(id)) == job
    assert value(store.page(JobFilter())).jobs[0].result.nodes == ()


def test_the_file_is_private(store: JobStore) -> None:
    accepted(store)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.glob("jobs.sqlite*")}
    assert modes == dict.fromkeys(("jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm"), 0o600)


def test_pages_are_newest_first_and_go_on_where_they_ended(store: JobStore) -> None:
    ids = [accepted(store) for _ in range(5)]
    first = value(store.page(JobFilter(limit=2)))
    second = value(store.page(JobFilter(limit=2, before=first.next)))
    third = value(store.page(JobFilter(limit=2, before=second.next)))
    assert [job.id for page in (first, second, third) for job in page.jobs] == ids[::-1]
    assert third.next is None


def test_lists_are_filtered_by_state_client_and_workflow(store: JobStore) -> None:
    done, waiting, other = ended(store, client="ann"), accepted(store, client="ann"), accepted(store, client="bob", workflow="w")
    found = [
        [job.id for job in value(store.page(filters)).jobs]
        for filters in (
            JobFilter(states=("done",)), JobFilter(states=("queued", "done"), client="ann"), JobFilter(workflow="w"),
            JobFilter(client="nobody"),
        )
    ]  # fmt: skip
    assert found == [[done], [waiting, done], [other], []]


def test_a_result_that_the_disk_damaged_hides_no_other_job(store: JobStore) -> None:
    bad, good = ended(store), ended(store)
    connection = sqlite3.connect(store.path, isolation_level=None)
    connection.execute("DROP TRIGGER result_is_frozen")
    connection.execute("UPDATE results SET head = x'00' WHERE job = ?", (bad,))
    connection.close()
    told = {job.id: job.result.messages for job in value(store.page(JobFilter())).jobs}
    assert told == {good: (), bad: ("How this job ended was damaged on the disk: only its state is known.",)}


@pytest.mark.parametrize("length", [20, 5000])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.999])
def test_a_bit_that_the_disk_turned_in_a_document_is_found(store: JobStore, length: int, place: float) -> None:
    id = ended(store, document=json.dumps({"text": "ab" * length}).encode())
    [[kept]] = raw(store, "SELECT document FROM documents WHERE job = ?", id)
    turned = bytearray(kept)
    turned[int(len(turned) * place)] ^= 1
    connection = sqlite3.connect(store.path, isolation_level=None)
    connection.execute("DROP TRIGGER document_is_frozen")
    connection.execute("UPDATE documents SET document = ? WHERE job = ?", (bytes(turned), id))
    connection.close()
    with pytest.raises(Refusal, match="damaged on the disk: it cannot be run again as it was"):
        value(store.frozen(id))


def test_the_retries_of_a_job_are_found(store: JobStore) -> None:
    first, _ = ended(store), ended(store)
    retries = [accepted(store, retry_of=first) for _ in range(2)]
    assert [job.id for job in value(store.page(JobFilter(retry_of=first))).jobs] == retries[::-1]


def test_files_are_named_as_long_as_their_job_is_there(store: JobStore) -> None:
    one, two = "ab" * 32, "cd" * 32
    first, second = ended(store, files=(one, two)), ended(store, files=(two,))
    value(store.delete(first))
    assert value(store.files_named()) == {two}
    value(store.delete(second))
    assert value(store.files_named()) == frozenset()


def test_workflows_of_unfinished_jobs_are_named(store: JobStore) -> None:
    ended(store, workflow="old")
    accepted(store, workflow="current")
    assert value(store.documents_named()) == {"current"}


# ---- the Idempotency-Key ----


@pytest.mark.spec("R-C06")
@pytest.mark.proves(6)
def test_the_same_key_and_request_give_the_same_job(store: JobStore) -> None:
    first = value(store.accept(new(idempotency=("k", b"a"))))
    again = value(store.accept(new(idempotency=("k", b"a"))))
    assert (again.job.id, again.replayed, first.replayed) == (first.job.id, True, False)
    assert len(value(store.page(JobFilter())).jobs) == 1


@pytest.mark.spec("R-C06")
def test_the_same_key_with_another_request_is_refused(store: JobStore) -> None:
    accepted(store, idempotency=("k", b"a"))
    with pytest.raises(
        Refusal, match="This Idempotency-Key came with another request before. Use a new key for a new request."
    ) as caught:
        value(store.accept(new(idempotency=("k", b"b"))))
    assert caught.value.code == "idempotency_mismatch"


def test_keys_of_different_clients_are_different(store: JobStore) -> None:
    one, two = (accepted(store, client=client, idempotency=("k", b"a")) for client in ("ann", "bob"))
    assert one != two


@pytest.mark.spec("R-C06")
def test_the_key_of_a_deleted_job_is_not_used_again(store: JobStore) -> None:
    value(store.delete(ended(store, idempotency=("k", b"a"))))
    with pytest.raises(Refusal, match="The job of this Idempotency-Key was deleted"):
        value(store.accept(new(idempotency=("k", b"a"))))


@pytest.mark.spec("R-C06", "R-C10")
def test_a_key_is_kept_for_24_hours_in_which_a_server_runs_and_no_clock_ends_it(open_store: OpenStore) -> None:
    now, wall = [100.0], [1e9]
    store = open_store(monotonic=lambda: now[0], clock=lambda: wall[0])
    first = accepted(store, idempotency=("k", b"a"))
    wall[0] += 10 * 365 * 86400  # the clock jumps ten years ahead
    now[0] += KEY_SECONDS / 2
    accepted(store)
    store.close()
    now[0] = 5.0  # another boot, a year later
    wall[0] -= 20 * 365 * 86400
    store = open_store(monotonic=lambda: now[0], clock=lambda: wall[0])
    now[0] += KEY_SECONDS / 2 - 1
    assert value(store.accept(new(idempotency=("k", b"a")))).job.id == first
    now[0] += 2
    assert value(store.find_key("", "k")) is None
    assert accepted(store, idempotency=("k", b"a")) != first


# ---- states ----


@pytest.mark.spec("I2")
def test_an_end_is_written_once_and_the_second_changes_nothing(store: JobStore) -> None:
    id = ended(store, "done")
    before = value(store.get(id))
    assert value(store.end(id, "failed", JobResult(problem={"code": "node_failed"}))) is None
    assert value(store.get(id)) == before


@pytest.mark.spec("I2")
@pytest.mark.proves(1)
@pytest.mark.parametrize("state", sorted(FINAL))
@pytest.mark.parametrize(
    "change", ["state = 'queued'", "state = 'failed'", "tries = 1", "priority = 9", "ended = 0", "ended_seq = NULL"]
)
def test_the_database_itself_refuses_to_change_what_has_ended(store: JobStore, state: str, change: str) -> None:
    id = ended(store, state)
    with pytest.raises(sqlite3.IntegrityError, match="the job has ended and never changes again|no such move between job states"):
        raw(store, f"UPDATE jobs SET {change} WHERE id = ?", id)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE jobs SET state = 'done', ended_seq = 1", "no such move between job states"),
        ("UPDATE jobs SET state = 'running', ended_seq = 1", "CHECK constraint failed"),
        ("UPDATE jobs SET state = 'cancelled'", "CHECK constraint failed"),
        ("UPDATE jobs SET state = 'lost'", "no such move|CHECK constraint failed"),
        ("UPDATE jobs SET tries = 4", "CHECK constraint failed"),
        ("UPDATE jobs SET seeds = '{}'", "what was accepted is frozen"),
        ("UPDATE documents SET document = x'00'", "what was accepted is frozen"),
        ("DELETE FROM jobs", "a job that has not ended cannot be deleted"),
        ("INSERT INTO results SELECT id, x'00', x'00' FROM jobs", "only an ended job has a result"),
    ],
)
def test_the_database_itself_refuses_what_no_job_may_do(store: JobStore, statement: str, message: str) -> None:
    accepted(store)
    with pytest.raises(sqlite3.IntegrityError, match=message):
        raw(store, statement)


MOVES = {"queued": {"running", "failed", "cancelled"}, "running": {"queued", "done", "failed", "cancelled"}}


@settings(max_examples=60, deadline=None)
@given(moves=st.lists(st.sampled_from(["queued", "running", "done", "failed", "cancelled"]), max_size=8))
def test_only_the_moves_of_the_table_are_possible(moves: list[str]) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema.MIGRATIONS[0])
    connection.execute(
        "INSERT INTO jobs(id, workflow, inputs, seeds, files, priority, client, cost_s, created) VALUES ('a','','','','',0,'',0,0)"
    )
    state = "queued"
    for move in moves:
        try:
            connection.execute("UPDATE jobs SET state = ?, ended_seq = ?", (move, 1 if move in FINAL else None))
            was_allowed = True
        except sqlite3.IntegrityError:
            was_allowed = False
        assert was_allowed == (move in MOVES.get(state, ()))
        state = move if was_allowed else state
    assert connection.execute("SELECT state FROM jobs").fetchall() == [(state,)]
    connection.close()


def test_a_job_that_has_not_ended_is_not_deleted(store: JobStore) -> None:
    id = accepted(store)
    with pytest.raises(Refusal, match="The job is queued, and only one that has ended can be deleted. Cancel it first."):
        value(store.delete(id))
    assert value(store.delete(new_id())) is False


def test_the_oldest_ended_jobs_are_forgotten_and_no_others(open_store: OpenStore) -> None:
    store = open_store(keep_jobs=3)
    waiting = accepted(store)
    ids = [ended(store) for _ in range(6)]
    assert [job.id for job in value(store.page(JobFilter())).jobs] == [*ids[:2:-1], waiting]
    assert raw(store, "SELECT COUNT(*) FROM documents") == [(4,)]
    assert raw(store, "SELECT COUNT(*) FROM results") == [(3,)]


def test_a_job_that_a_webhook_is_still_to_tell_of_is_not_forgotten(open_store: OpenStore) -> None:
    store = open_store(keep_jobs=3)
    untold, told = ended(store, webhook="site"), ended(store, webhook="site")
    (first, second) = value(store.due_deliveries(["site"], 9))
    value(store.mark_delivery(first.id, again_in_s=60.0))
    value(store.mark_delivery(second.id, again_in_s=None))
    ids = [ended(store) for _ in range(5)]
    assert [job.id for job in value(store.page(JobFilter())).jobs] == [*ids[:1:-1], untold]
    assert value(store.get(told)) is None
    value(store.mark_delivery(first.id, again_in_s=None))
    newest = ended(store)
    assert [job.id for job in value(store.page(JobFilter())).jobs] == [newest, *ids[:2:-1]]


def test_a_target_that_never_answers_does_not_make_the_history_grow_without_end(
    open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(keep_jobs=3)
    ids = [ended(store, webhook="site") for _ in range(8)]
    assert [job.id for job in value(store.page(JobFilter())).jobs] == ids[:1:-1]
    assert "Jobs of which no webhook could be told for too long were forgotten: 1. Mend its target." in caplog.messages


def test_what_no_webhook_waits_for_is_forgotten_before_what_one_does(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where fewer are to be kept than before, it takes several steps."""
    store = open_store(keep_jobs=100)
    untold, ids = ended(store, webhook="site"), [ended(store) for _ in range(8)]
    store.keep_jobs = 2
    monkeypatch.setattr(store_module, "_FORGET_AT_ONCE", 3)
    ids += [ended(store) for _ in range(4)]
    assert [job.id for job in value(store.page(JobFilter())).jobs] == [ids[-1], ids[-2], untold]


# ---- taking up after an end ----


def test_what_ran_waits_again_in_its_old_order(open_store: OpenStore) -> None:
    store = open_store()
    ids = [accepted(store) for _ in range(4)]
    high = accepted(store, priority=5)
    for id in (ids[1], ids[0], high):
        value(store.start(id))
    value(store.place({ids[3]: (0, 0.5)}))
    store.close()
    store = open_store()
    found = value(store.recover())
    assert [job.id for job in found] == [high, ids[3], ids[0], ids[1], ids[2]]
    assert {job.state for job in found} == {"queued"}
    assert {job.started for job in found} == {None}


@pytest.mark.spec("R-C08")
def test_the_engines_end_of_a_poison_job_carries_the_history(store: JobStore) -> None:
    id = accepted(store)
    value(store.start(id))
    for tries in (1, 2, 3):
        value(store.tried(id, tries, f"worker died ({tries})"))
    job = value(store.end(id, "failed", JobResult(problem={"code": "worker_lost"})))
    assert job.result.problem["history"] == ["worker died (1)", "worker died (2)", "worker died (3)"]


def test_a_kept_node_sets_the_count_back(store: JobStore) -> None:
    id = accepted(store)
    value(store.start(id))
    assert value(store.tried(id, 2, "died")).tries == 2
    assert value(store.tried(id, 0, "")).tries == 0
    assert raw(store, "SELECT history FROM jobs") == [("[]",)]


def test_a_try_that_is_told_again_is_one_try(store: JobStore) -> None:
    id = accepted(store)
    for _ in range(2):  # the ledger is read before each start of an engine
        assert value(store.tried(id, 1, "died")).tries == 1
    assert raw(store, "SELECT history FROM jobs") == [('["died"]',)]


def test_the_pause_is_kept(open_store: OpenStore) -> None:
    store = open_store()
    value(store.set_paused(True))
    store.close()
    assert value(open_store().is_paused()) is True


# ---- clocks ----


@pytest.mark.spec("R-C10")
def test_the_order_is_that_of_acceptance_however_the_clock_jumps(open_store: OpenStore) -> None:
    wall = iter([1e9, 1e9 + 10 * 365 * 86400, 1e9 - 86400, 0.0, 5e9])
    store = open_store(clock=lambda: next(wall))
    ids = [accepted(store) for _ in range(5)]
    assert [job.id for job in value(store.recover())] == ids
    assert [job.id for job in value(store.page(JobFilter())).jobs] == ids[::-1]


@pytest.mark.spec("R-C10")
def test_forgetting_goes_by_the_order_of_ends_and_not_by_the_clock(open_store: OpenStore) -> None:
    wall = [1e9]
    store = open_store(clock=lambda: wall[0], keep_jobs=2)
    ids = []
    for _ in range(4):
        ids.append(ended(store))
        wall[0] -= 86400
    assert [job.id for job in value(store.page(JobFilter())).jobs] == ids[:1:-1]


# ---- webhooks ----


def test_the_end_of_a_job_with_a_webhook_is_due_in_the_same_transaction(store: JobStore) -> None:
    ended(store)
    id = ended(store, webhook="site")
    (delivery,) = value(store.due_deliveries(["site"], 9))
    assert (delivery.job, delivery.target, delivery.attempts) == (id, "site", 0)


def test_a_delivery_is_due_again_when_it_was_said_and_over_when_marked(open_store: OpenStore) -> None:
    now = [0.0]
    store = open_store(monotonic=lambda: now[0])
    number = value(store.add_delivery(ended(store), "site"))
    value(store.mark_delivery(number, again_in_s=30, message="503"))
    assert value(store.due_deliveries(["site"], 9)) == []
    assert value(store.next_delivery_in(["site"])) == 30
    now[0] += 31
    (delivery,) = value(store.due_deliveries(["site"], 9))
    assert delivery.attempts == 1
    value(store.mark_delivery(number, again_in_s=None))
    now[0] += 1e6
    assert value(store.due_deliveries(["site"], 9)) == []
    assert value(store.next_delivery_in(["site"])) is None


def test_many_deliveries_to_one_target_hide_none_to_another(store: JobStore) -> None:
    id = ended(store)
    numbers = [value(store.add_delivery(id, target)) for target in ("dead", "dead", "dead", "alive", "gone")]
    found = value(store.due_deliveries(["dead", "alive"], 2))
    assert [(one.id, one.target) for one in found] == [(numbers[0], "dead"), (numbers[1], "dead"), (numbers[3], "alive")]
    assert value(store.next_delivery_in(["dead"])) == 0
    assert value(store.next_delivery_in(["other"])) is None


@pytest.mark.parametrize("known", [["site"], []])
def test_deliveries_to_targets_that_are_gone_are_given_up(store: JobStore, known: list[str]) -> None:
    for target in ("site", "gone"):
        value(store.add_delivery(ended(store), target))
    value(store.give_up_deliveries(known, "no such target"))
    assert [one.target for one in value(store.due_deliveries(["site", "gone"], 9))] == known
    assert raw(store, "SELECT message FROM deliveries WHERE target = 'gone'") == [("no such target",)]


def test_deliveries_go_with_their_job(store: JobStore) -> None:
    value(store.delete(ended(store, webhook="site")))
    assert value(store.due_deliveries(["site"], 9)) == []


# ---- costs ----


def test_costs_are_kept(open_store: OpenStore) -> None:
    store = open_store()
    value(store.keep_costs({"draw": [1.0, 2.0]}))
    store.close()
    assert value(open_store().costs()) == {"draw": [1.0, 2.0]}


# ---- group commit ----


def commit_at_once(store: JobStore, *acts: Callable[[sqlite3.Connection], Any]) -> list[Future[Any]]:
    """Carry out several writes in one transaction, with a committer of our own."""
    committer = Committer(store.path)
    writes = [Write(act, Future(), None) for act in acts]
    committer.commit(writes)
    committer.close()
    return [write.future for write in writes]


def test_one_bad_write_does_not_fail_the_others_of_its_transaction(store: JobStore) -> None:
    def good(connection: sqlite3.Connection) -> str:
        connection.execute("INSERT INTO costs VALUES ('good', '[1]')")
        return "kept"

    def bad(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO costs VALUES ('bad', '[1]')")
        raise Refusal("conflict", "no")

    first, second, third = commit_at_once(
        store, good, bad, lambda connection: connection.execute("INSERT INTO costs VALUES ('too', '[1]')").rowcount
    )
    assert (first.result(), third.result()) == ("kept", 1)
    assert isinstance(second.exception(), Refusal)
    assert set(value(store.costs())) == {"good", "too"}


@pytest.mark.proves(1)
def test_nobody_is_answered_before_the_commit(store: JobStore) -> None:
    """Whoever is answered finds the write with a connection of their own."""
    seen: list[int] = []
    answered = threading.Event()

    def look(_: Future[Any]) -> None:  # called by the writer the moment it answers
        seen.append(raw(store, "SELECT COUNT(*) FROM jobs")[0][0])
        answered.set()

    for count in range(1, 4):
        answered.clear()
        store.accept(new()).add_done_callback(look)
        assert answered.wait(PATIENCE)
        assert seen[-1] == count


@pytest.mark.spec("R-C04")
@pytest.mark.proves(2)
def test_a_commit_is_synced_to_the_disk(store: JobStore) -> None:
    assert store.committer._connection is not None
    settings = [store.committer._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]
    assert settings == [2, "wal"]  # FULL: each commit waits for the disk (the sweeps of `crash` see the calls)


def test_a_write_after_the_close_is_refused_and_not_left_waiting(open_store: OpenStore) -> None:
    store = open_store()
    store.close()
    with pytest.raises(Refusal, match="The job database is closed"):
        value(store.accept(new()))


def test_the_log_is_carried_into_the_database_after_whoever_waits_has_the_answer(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_the_file() -> set[str]:
        file = sqlite3.connect(f"file:{store.path}?immutable=1", uri=True)  # without the log
        found = {row[0] for row in file.execute("SELECT node_type FROM costs")}
        file.close()
        return found

    monkeypatch.setattr(writer, "CARRY_AFTER", 2)
    committer, future = Committer(store.path), Future[Any]()
    carry, seen = committer._carry_log, list[tuple[bool, set[str]]]()
    monkeypatch.setattr(committer, "_carry_log", lambda: (seen.append((future.done(), in_the_file())), carry()))
    committer.commit([Write(lambda connection: connection.execute("INSERT INTO costs VALUES ('first', '[]')"), Future(), None)])
    assert seen == []
    committer.commit([Write(lambda connection: connection.execute("INSERT INTO costs VALUES ('second', '[]')"), future, None)])
    committer.close()
    assert (seen, in_the_file()) == ([(True, set())], {"first", "second"})


def test_a_database_that_another_program_keeps_is_told(store: JobStore) -> None:
    assert store.committer._connection is not None
    store.committer._connection.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Refusal, match="Another program holds the job database"):
        value(store.accept(new()))
    other.close()
    id = accepted(store)
    assert raw(store, "SELECT id FROM jobs") == [(id,)]


# ---- opening ----


def pristine(home: Path) -> Path:
    """A closed store with one job."""
    store = store_in(home)
    ended(store)
    store.close()
    return home / FILE_NAME


@pytest.mark.spec("R-C09")
def test_a_damaged_file_is_set_aside_and_told(home: Path, open_store: OpenStore) -> None:
    path = pristine(home)
    damaged = b"\xff" * 512 + path.read_bytes()[512:]
    path.write_bytes(damaged)
    store = open_store()
    (told,) = store.told
    (aside,) = home.glob("jobs.sqlite.damaged-*")
    assert told.startswith("The job database is damaged (file is not a database) and was set aside as jobs.sqlite.damaged-")
    assert told.endswith("the history begins anew. Restore a backup to have the old one back.")
    assert aside.name in told
    assert aside.read_bytes() == damaged
    assert accepted(store)


@pytest.mark.spec("R-C09")
def test_a_damaged_page_is_found_when_the_store_opens(home: Path, open_store: OpenStore) -> None:
    path = pristine(home)
    content = bytearray(path.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    content[page : 2 * page] = os.urandom(page)
    path.write_bytes(content)
    assert len(open_store().told) == 1
    assert len(list(home.glob("jobs.sqlite.damaged-*"))) == 1


@pytest.mark.spec("R-C09")
def test_another_programs_database_is_set_aside(home: Path, open_store: OpenStore) -> None:
    home.mkdir(exist_ok=True)
    with sqlite3.connect(home / FILE_NAME) as connection:
        connection.execute("CREATE TABLE birds(name)")
    connection.close()
    assert "it is not a database of jobs" in open_store().told[0]


@pytest.mark.spec("R-C09")
def test_a_log_without_its_database_is_set_aside_and_told(home: Path, open_store: OpenStore) -> None:
    """SQLite would delete it without a word: with it, what was accepted last."""
    home.mkdir(exist_ok=True)
    (home / f"{FILE_NAME}-wal").write_bytes(b"committed")
    assert "the database is gone and only its log is left" in open_store().told[0]
    assert [path.read_bytes() for path in home.glob("*damaged*-wal")] == [b"committed"]


@pytest.mark.spec("R-C09", "R-O06")
def test_a_newer_releases_database_is_refused_and_left_alone(home: Path) -> None:
    path = pristine(home)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(
        Refusal, match=f"version {schema.VERSION + 1}; this program knows up to {schema.VERSION}.*install that one, or start"
    ):
        store_in(home)
    assert path.read_bytes() == before


@pytest.mark.spec("R-C09")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused_with_what_to_do(home: Path) -> None:
    home.mkdir(exist_ok=True)
    home.chmod(0o500)
    with pytest.raises(Refusal, match="cannot be written .*Free space there or make it writable") as caught:
        store_in(home)
    home.chmod(0o700)
    assert (caught.value.code, caught.value.status) == ("disk_full", 507)


@pytest.mark.spec("R-C09")
def test_a_folder_that_cannot_be_written_is_refused_with_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(exist_ok=True)

    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Refusal, match=r"The disk of the data folder cannot be written \(read-only, or not ours\)") as caught:
        store_in(home)
    assert (caught.value.code, str(home) in caught.value.message) == ("disk_full", False)


@pytest.mark.spec("R-C09")
def test_a_log_left_behind_by_a_killed_server_is_taken_up(home: Path, tmp_path: Path) -> None:
    store = store_in(home)
    id = accepted(store)
    copied = tmp_path / "copied"
    copied.mkdir()
    for path in home.glob("jobs.sqlite*"):  # as kill -9 leaves them: nothing was closed
        (copied / path.name).write_bytes(path.read_bytes())
    store.close()
    assert (copied / f"{FILE_NAME}-wal").stat().st_size > 0
    again = store_in(copied)
    assert value(again.get(id)).state == "queued"
    assert again.told == []
    again.close()


@pytest.mark.spec("R-O06")
def test_a_migration_is_whole_or_not_at_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pristine(home)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE half(x); CREATE TABLE jobs(x);"))
    monkeypatch.setattr(schema, "VERSION", 2)
    with pytest.raises(Refusal):
        store_in(home)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
    connection.close()


def test_a_second_start_migrates_nothing_and_keeps_everything(open_store: OpenStore) -> None:
    store = open_store()
    id = ended(store)
    before = value(store.get(id))
    store.close()
    assert value(open_store().get(id)) == before


# ---- errors of the disk ----


class Failing:
    """A committer's connection whose COMMIT fails once with an error, before or after it took effect."""

    def __init__(self, real: sqlite3.Connection, code: int, *, after: bool) -> None:
        self.real, self.code, self.after, self.has_failed = real, code, after, False

    def execute(self, statement: str, *values: Any) -> Any:
        if statement != "COMMIT" or self.has_failed:
            return self.real.execute(statement, *values)
        self.has_failed = True
        if self.after:
            self.real.execute(statement)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = self.code
        raise error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def failing(store: JobStore, code: int, *, after: bool) -> None:
    store.committer._connection = Failing(store.committer._connection, code, after=after)  # type: ignore[assignment, arg-type]


@pytest.mark.spec("R-C03")
@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR | (4 << 8)])
def test_a_commit_that_fails_keeps_nothing_and_the_next_one_works(store: JobStore, code: int) -> None:
    first = accepted(store)
    failing(store, code, after=False)
    with pytest.raises(Refusal, match="so no job can be kept. Free space there or make it writable, then try again.") as caught:
        value(store.accept(new()))
    assert caught.value.status == 507
    assert store.committer.error != ""
    second = accepted(store)
    assert store.committer.error == ""
    assert [job.id for job in value(store.page(JobFilter())).jobs] == [second, first]


@pytest.mark.spec("R-C03")
def test_a_connection_that_was_opened_read_only_is_made_anew(store: JobStore) -> None:
    """SQLite opens a file read-only when there is no file descriptor left, and that connection stays so."""
    read_only = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    store.committer._connection = read_only
    with pytest.raises(Refusal, match=r"cannot be written \(read-only, or not ours\)"):
        value(store.accept(new()))
    assert accepted(store)


@pytest.mark.spec("R-C03")
@pytest.mark.proves(16)
def test_a_commit_that_failed_only_to_say_so_counts_as_what_the_disk_has(store: JobStore) -> None:
    """After an input/output error only a new look at the file tells: here it was committed, so it is answered as such."""
    failing(store, sqlite3.SQLITE_IOERR | (4 << 8), after=True)
    id = accepted(store)
    assert value(store.get(id)).state == "queued"


@pytest.mark.spec("R-C03")
def test_what_was_told_failed_and_proves_committed_is_taken_back(store: JobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(store, sqlite3.SQLITE_IOERR | (4 << 8), after=True)
    real = schema.connect

    def refuse(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(schema, "connect", refuse)
    with pytest.raises(Refusal):
        value(store.accept(new(idempotency=("k", b"a"))))
    with pytest.raises(Refusal):  # and as long as the fault lasts
        value(store.accept(new()))
    monkeypatch.setattr(schema, "connect", real)
    id = accepted(store)
    assert [job.id for job in value(store.page(JobFilter())).jobs] == [id]
    assert value(store.find_key("", "k")) is None


# ---- reading ----


def test_what_one_read_asks_is_answered_from_one_state(store: JobStore) -> None:
    """A job that was deleted between the query for it and that for its result was told as ended without one."""
    id = accepted(store)
    value(store.start(id))
    value(store.end(id, "done", JobResult(seconds=3.0)))

    def act(connection: sqlite3.Connection) -> tuple[int, int]:
        count = "SELECT COUNT(*) FROM jobs"
        before = connection.execute(count).fetchone()[0]
        value(store.delete(id))
        return before, connection.execute(count).fetchone()[0]

    assert value(store._reads.submit(act)) == (1, 1)
    assert value(store.get(id)) is None


def test_a_read_that_failed_half_way_does_not_hold_up_the_log(store: JobStore) -> None:
    ids = [accepted(store) for _ in range(3)]

    def act(connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT id FROM jobs")
        raise ValueError(next(rows)[0])

    failed = store._reads.submit(act)
    assert isinstance(failed.exception(PATIENCE), ValueError)
    connection = schema.connect(store.path)
    schema.checkpoint(connection)  # would be refused: the failed read is still held by its error
    connection.close()
    assert [job.id for job in value(store.page(JobFilter())).jobs] == ids[::-1]


def test_reads_after_the_end_are_refused_like_writes(open_store: OpenStore) -> None:
    store = open_store()
    store.close()
    for future in (store.get("x"), store.start("x")):
        with pytest.raises(Refusal, match="The job database is closed"):
            value(future)


def test_a_mistake_of_ours_in_a_transaction_is_answered_and_the_next_one_works(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writing thread ended, and nobody was ever answered again."""
    with monkeypatch.context() as broken:
        broken.setattr(store.committer, "_at_end", lambda _: {}["nothing"])
        with pytest.raises(Refusal):
            value(store.accept(new()))
    assert len(value(store.recover())) == 0
    assert value(store.get(accepted(store))).state == "queued"
