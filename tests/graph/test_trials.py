"""The ledger of tries: what it says after each way that engine and worker can end, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graph.child import child_environment, end_orphans
from graph.trials import FIRST_WORKER, PLANNERS, SLOT_BYTES, Ledger, Try, open_tries
from tests.graph.engine_kit import PATIENCE, n, until, workflow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tries"


def test_an_open_slot_names_everybody_who_shares_the_call(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open(FIRST_WORKER, [("a", 0), ("b", 2)], "sampler")
    ledger.open(FIRST_WORKER + 3, [("c", 1)], "up/decode")
    assert open_tries(path) == [Try("a", 0, "sampler"), Try("b", 2, "sampler"), Try("c", 1, "up/decode")]
    ledger.close_slot(FIRST_WORKER)
    assert open_tries(path) == [Try("c", 1, "up/decode")]
    ledger.slot(FIRST_WORKER + 3).release()
    assert open_tries(path) == []


def test_runs_without_a_name_are_charged_nothing(path: Path) -> None:
    Ledger(path).open(FIRST_WORKER, [("", 0)], "x")
    assert open_tries(path) == []


def test_so_many_are_noted_as_fit_on_a_page(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open(FIRST_WORKER, [(f"run number {at:20}", 0) for at in range(1000)], "x" * 10_000)
    ledger.open(FIRST_WORKER + 1, [("b", 0)], "y")
    found = open_tries(path)
    assert len(found) > 50
    assert found[-1] == Try("b", 0, "y")


def test_planning_is_noted_while_it_lasts_and_several_at_a_time(path: Path) -> None:
    ledger = Ledger(path)
    with ledger.planning("a", 1), ledger.planning("b", 0):
        assert open_tries(path) == [Try("a", 1, ""), Try("b", 0, "")]
    assert open_tries(path) == []
    for _ in range(3 * PLANNERS):
        with ledger.planning("a", 1):
            pass


def test_a_plan_that_ends_the_engine_is_charged_alone(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open(FIRST_WORKER, [("c", 0)], "x")
    with ledger.planning("a", 1), ledger.planning("b", 0):
        ledger.blame("b")
        assert open_tries(path) == [Try("b", 0, ""), Try("c", 0, "x")]  # a worker takes its note back itself


@pytest.mark.parametrize("damage", [b"\xff" * SLOT_BYTES, b"\x00\x00\x00\x05" + b"abcd" + b"hello", b"x"])
def test_a_damaged_slot_charges_nobody(path: Path, damage: bytes) -> None:
    Ledger(path).open(1, [("a", 0)], "x")
    with path.open("r+b") as file:
        file.write(damage)
    assert open_tries(path) == [Try("a", 0, "x")]


def test_a_ledger_that_is_not_there_or_cleared_says_nothing(path: Path) -> None:
    assert open_tries(path) == []
    Ledger(path).open(1, [("a", 0)], "x")
    Ledger(path)  # that of the next engine
    assert open_tries(path) == []


# ---- after a kill ----

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts engines in processes of their own."""
    home.mkdir()
    begun: list[subprocess.Popen[bytes]] = []

    def engine(text: str, tries: int = 0) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "tests.graph.engine_process", str(home), text, "job", str(tries)]
        begun.append(subprocess.Popen(command, env=child_environment()))
        return begun[-1]

    yield engine
    for process in begun:
        process.kill()
        process.wait()
    end_orphans(home / "spool", 0.0)


def begun(mark: Path) -> int:
    until(lambda: mark.exists() and mark.read_text() != "")
    return int(mark.read_text())


def is_gone(pid: int) -> bool:
    """Whether the process has ended (an init that does not collect it leaves a zombie)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


def killed(engine: subprocess.Popen[bytes]) -> None:
    engine.kill()
    engine.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.spec("R-C08", "R-G08")
@pytest.mark.proves(7)
def test_an_engine_that_is_killed_is_not_the_runs_fault(start: Start, home: Path) -> None:
    engine = start(workflow("h", h=n("heed", mark=str(home / "mark"), until=str(home / "never"))))
    pid = begun(home / "mark")
    assert open_tries(home / "tries") == [Try("job", 0, "h")]
    killed(engine)
    until(lambda: is_gone(pid))
    assert open_tries(home / "tries") == []
    assert list((home / "spool").iterdir())
    end_orphans(home / "spool")
    assert not list((home / "spool").iterdir())


@pytest.mark.slow
@pytest.mark.spec("R-C08")
@pytest.mark.proves(7)
def test_a_node_that_takes_everything_along_is_charged(start: Start, home: Path) -> None:
    engine = start(workflow("h", h=n("heed", mark=str(home / "mark"), until=str(home / "never"))), tries=1)
    pid = begun(home / "mark")
    os.kill(engine.pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    killed(engine)
    end_orphans(home / "spool")
    assert open_tries(home / "tries") == [Try("job", 1, "h")]


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_an_engine_that_dies_while_it_plans_names_the_run(start: Start, home: Path) -> None:
    engine = start(workflow("y", d=n("die_light"), y=n("add", a="@d")), tries=2)
    assert engine.wait(PATIENCE) == 5
    assert open_tries(home / "tries") == [Try("job", 2, "")]


@pytest.mark.slow
@pytest.mark.spec("R-G08")
def test_a_worker_that_cannot_hear_ends_with_its_engine_all_the_same(start: Start, home: Path) -> None:
    """Native code keeps Python's lock, so no thread of it reads the end of the stream; the kernel ends it."""
    engine = start(workflow("h", h=n("hang", how="lock", mark=str(home / "mark"))))
    pid = begun(home / "mark")
    killed(engine)
    until(lambda: is_gone(pid))


@pytest.mark.slow
@pytest.mark.spec("R-G08")
def test_a_stopped_worker_of_a_dead_engine_is_ended_by_whoever_comes_next(start: Start, home: Path) -> None:
    engine = start(workflow("h", h=n("hang", how="stop", mark=str(home / "mark"))))
    pid = begun(home / "mark")
    killed(engine)
    end_orphans(home / "spool", 0.1)
    assert is_gone(pid)
    assert not list((home / "spool").iterdir())


@pytest.mark.slow
@pytest.mark.spec("R-G08")
def test_an_engine_killed_while_its_worker_starts_leaves_none(start: Start, home: Path) -> None:
    engine = start(workflow("w", w=n("where")))
    until(lambda: (home / "spool").exists() and bool(children_of(engine.pid)))
    (pid,) = children_of(engine.pid)
    killed(engine)
    until(lambda: is_gone(pid))


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task")
    return [int(child) for task in found.iterdir() for child in (task / "children").read_text().split()]
