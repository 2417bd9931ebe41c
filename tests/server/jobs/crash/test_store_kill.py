"""The job store killed, or failed by the disk, at each of its system calls: what was answered is there, whole and once.

One system call name at a time: strace counts each name by itself, and in a combined set a name that comes often uses up
the kills. The recovery is an ordinary start in this process. See reliability.md, R-C02, R-C03 and R-C07.
"""

from __future__ import annotations

import itertools
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from server.jobs.record import FINAL, Job, JobFilter, JobResult
from server.jobs.store import FILE_NAME, JobStore
from tests.server.jobs.crash.jobs_that_are_kept import id_of, job, key_of

ROOT = Path(__file__).parents[4]
#: `write` is how answers are told: killed there, a commit was never answered (R-C07).
NAMES = ("pwrite64", "fsync", "fdatasync", "openat", "unlink", "ftruncate", "write")
#: Close together where the file is made, then further apart.
SOME = (1, 2, 4, 7, 12, 20, 33, 54, 88, 143, 232, 3000)


class Lived(NamedTuple):
    """What a child told before it ended, and its exit code."""

    code: int
    lines: list[list[str]]

    def said(self, word: str) -> list[tuple[str, int]]:
        """The (step, job) pairs of the lines that begin with this word."""
        return [(line[1], int(line[2])) for line in self.lines if line[0] == word]


class Lives:
    """Lets children live, with strace attached to each."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.jobs.crash.jobs_that_are_kept"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def heard(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def live(self, folder: Path, name: str, injected: str) -> Lived:
        """A child on an empty folder, with `injected` done to its system calls of this name."""
        self.tell(str(folder))
        child = self.heard()
        command = ["strace", "-p", str(child), "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:{injected}"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr is not None
            said = strace.stderr.readline()
            if "attached" not in said:
                self.tell("go")
                self.heard()
                pytest.skip(f"strace cannot attach here: {said}")
            self.tell("go")
            code = self.heard()
        lines = (folder / "told").read_text().split("\n")[:-1]  # a line that was cut short was not told
        return Lived(code, [line.split() for line in lines])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    made = Lives()
    yield made
    made.close()


def check_after(folder: Path, lived: Lived, *, may_keep_refused: bool = False) -> None:
    """An ordinary start after whatever happened: all that was answered is there, and every job comes to one end."""
    # A job whose start was refused waits, and what waits cannot be done: the database says so.
    assert [number for _, number in lived.said("broken") if ("start", number) not in lived.said("refused")] == []
    store = JobStore(folder / FILE_NAME)
    assert store.told == []
    recovered = store.recover().result()
    jobs = {one.id: one for one in store.page(JobFilter(limit=1000)).result().jobs}
    asked, answered = set(lived.said("ask")), lived.said("ack")
    for what, number in answered:
        check_answered(what, number, jobs.get(id_of(number)), asked, answered)
    for what, number in asked - set(answered):
        if what == "accept" and id_of(number) in jobs:  # R-C07: asked again with its key, it is the same job
            again = store.accept(job(number)).result()
            assert (again.job.id, again.replayed) == (id_of(number), True)
    if not may_keep_refused:
        refused = [number for what, number in lived.said("refused") if what == "accept"]
        assert [number for number in refused if id_of(number) in jobs] == []
    assert {one.id for one in recovered} == {one.id for one in jobs.values() if not one.is_final}
    for one in recovered:
        assert store.start(one.id).result() is not None
        assert store.end(one.id, "done", JobResult()).result() is not None
    store.close()
    check_file(folder / FILE_NAME)


def check_answered(
    what: str, number: int, found: Job | None, asked: set[tuple[str, int]], answered: list[tuple[str, int]]
) -> None:
    if ("delete", number) in answered:
        assert found is None, f"{number} was deleted"
        return
    if found is None:
        # Another place for a job that was refused is nothing to do, and answered as that.
        assert ("delete", number) in asked or what == "place", f"{number} was lost after {what}"
        return
    if what in FINAL:
        assert found.state == what
        assert found.result is not None
    if found.is_final:
        assert (found.state, number) in asked, f"{number} ended as nobody asked"


def check_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    torn = "SELECT id FROM jobs LEFT JOIN results ON results.job = id LEFT JOIN documents ON documents.job = id "
    torn += "WHERE state NOT IN ('done', 'failed', 'cancelled') OR results.job IS NULL OR document IS NULL"
    assert connection.execute(torn).fetchall() == []
    connection.close()


def sweep(lives: Lives, folder: Path, name: str, numbers: Iterable[int]) -> None:
    """Kill at each of these calls until a run survives."""
    for number in numbers:
        here = folder / str(number)
        lived = lives.live(here, name, f"signal=KILL:when={number}")
        check_after(here, lived)
        if lived.code == 0:
            assert ["lived"] in lived.lines
            return
        assert lived.code == -signal.SIGKILL, f"{name} {number}"
    raise AssertionError("no run survived")


@pytest.mark.slow
@pytest.mark.tool("strace")
@pytest.mark.spec("R-C02", "R-C07")
@pytest.mark.proves(1)
@pytest.mark.parametrize("name", NAMES)
def test_killed_at_some_of_its_system_calls_the_store_keeps_what_was_answered(lives: Lives, tmp_path: Path, name: str) -> None:
    sweep(lives, tmp_path, name, SOME)


@pytest.mark.long
@pytest.mark.tool("strace")
@pytest.mark.spec("R-C02", "R-C07")
@pytest.mark.parametrize("name", NAMES)
def test_killed_at_each_of_its_system_calls_the_store_keeps_what_was_answered(lives: Lives, tmp_path: Path, name: str) -> None:
    sweep(lives, tmp_path, name, range(1, 3000))


FAULTS = (
    ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fsync", "EIO"), ("fdatasync", "EIO"), ("ftruncate", "ENOSPC"), ("openat", "EMFILE"),
)  # fmt: skip


def fail(lives: Lives, folder: Path, name: str, error: str, number: int, *, for_ever: bool) -> bool:
    """Let the N-th call fail (and all after it); whether anything was noticed."""
    lived = lives.live(folder, name, f"error={error}:when={number}{'+' if for_ever else ''}")
    if for_ever:
        check_after(folder, lived, may_keep_refused=True)
        return any(line[0] in ("refused", "unopened") for line in lived.lines)
    check_after(folder, lived)
    assert lived.code == 0, f"{error} at {name} {number} ended the process"
    refused = [line for line in lived.lines if line[0] in ("refused", "unopened")]
    # A job whose end was refused has not ended, so deleting it is refused for that.
    assert {line[-1] for line in refused if line[1] != "delete"} <= {"disk_full"}
    # It is over: the next transaction is kept, with no new start.
    assert len({what_number for what_number in lived.said("refused") if what_number[0] == "accept"}) <= 2
    return bool(refused)


def faults(lives: Lives, folder: Path, name: str, error: str, numbers: Iterable[int]) -> None:
    """Fail at each of these calls, until ten in a row were not noticed: so many the store does not make."""
    noticed = unnoticed = 0
    for number in numbers:
        once = fail(lives, folder / f"once{number}", name, error, number, for_ever=False)
        ever = fail(lives, folder / f"ever{number}", name, error, number, for_ever=True)
        noticed += once or ever
        unnoticed = 0 if once or ever else unnoticed + 1
        if unnoticed == 10:
            break
    assert noticed, f"{error} at {name} was never noticed"


@pytest.mark.slow
@pytest.mark.tool("strace")
@pytest.mark.spec("R-C03")
@pytest.mark.proves(16)
@pytest.mark.parametrize(("name", "error"), FAULTS)
def test_a_disk_that_fails_refuses_and_keeps_what_was_answered(lives: Lives, tmp_path: Path, name: str, error: str) -> None:
    faults(lives, tmp_path, name, error, range(1, 40, 9))


@pytest.mark.long
@pytest.mark.tool("strace")
@pytest.mark.spec("R-C03")
@pytest.mark.parametrize(("name", "error"), FAULTS)
def test_a_disk_that_fails_at_any_call_refuses_and_keeps_what_was_answered(
    lives: Lives, tmp_path: Path, name: str, error: str
) -> None:
    faults(lives, tmp_path, name, error, range(1, 1000))


@pytest.mark.slow
@pytest.mark.tool("strace")
@pytest.mark.spec("R-C04")
@pytest.mark.proves(2)
def test_every_answered_transaction_was_synced(lives: Lives, tmp_path: Path) -> None:
    """Killed at the last sync it can do, a life has answered no more transactions than it has synced."""
    for number in (12, 16, 20):
        lived = lives.live(tmp_path / str(number), "fdatasync", f"signal=KILL:when={number}")
        first_answers = [line for before, line in itertools.pairwise(lived.lines) if line[0] == "ack" and before[0] == "ask"]
        assert len(first_answers) < number


def test_the_keys_of_the_children_are_those_of_their_jobs() -> None:
    assert job(7).idempotency == key_of(7)
