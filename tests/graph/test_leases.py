from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from graph import folder
from graph.folder import StoreUnavailable
from graph.leases import Lease, Leases
from graph.owner import Owner
from tests.graph.leasing import wait_for

ROOT = Path(__file__).parents[2]


@pytest.fixture
def leases(tmp_path: Path):
    opened = Leases(tmp_path / "memo")
    yield opened
    opened.close()


def start(code: str, *args: object) -> subprocess.Popen[str]:
    """A process that runs `code`; it says when it is ready by a line on its stdout."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True,
    )  # fmt: skip


HOLD = """
    import sys, pathlib
    from graph.leases import Leases
    leases = Leases(pathlib.Path(sys.argv[1]), lease_seconds=float(sys.argv[2]))
    assert leases.acquire(b"key")
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_key_is_leased_once_until_released(leases: Leases, tmp_path: Path) -> None:
    other = Leases(tmp_path / "memo")
    lease = leases.acquire(b"key")
    assert lease is not None
    assert (leases.acquire(b"key"), other.acquire(b"key")) == (None, None)
    leases.release(lease)
    assert other.acquire(b"key") is not None
    other.close()


def test_many_keys_are_claimed_at_once(leases: Leases) -> None:
    taken = leases.acquire(b"2")
    assert leases.acquire_many([b"1", b"2", b"3"]).keys() == {b"1", b"3"}
    assert taken is not None


def test_closing_releases_what_is_held(tmp_path: Path, leases: Leases) -> None:
    other = Leases(tmp_path / "memo")
    other.acquire(b"key")
    other.close()
    assert leases.acquire(b"key") is not None


def test_a_lost_lease_releases_nothing_of_its_new_owner(leases: Leases) -> None:
    assert leases.acquire(b"key") is not None
    leases.release(Lease(b"key", b"an old one"))
    assert leases.acquire(b"key") is None


def test_a_waiter_takes_over_when_the_owner_gives_up(leases: Leases, tmp_path: Path) -> None:
    lease = leases.acquire(b"key")
    assert lease is not None
    other = Leases(tmp_path / "memo")
    threading.Timer(0.01, lambda: leases.release(lease)).start()
    assert wait_for(other, b"key") is not None
    other.close()


@pytest.mark.spec("R-K03")
def test_a_killed_owner_is_followed_within_a_second(leases: Leases, tmp_path: Path) -> None:
    owner = start(HOLD, tmp_path / "memo", 60)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "held\n"
    assert leases.acquire(b"key") is None
    owner.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    # Nobody has waited for it: as a zombie it must count as gone all the same.
    assert wait_for(leases, b"key") is not None
    assert time.monotonic() - killed < 1.0
    owner.wait()


@pytest.mark.slow
def test_a_stopped_owner_loses_its_lease_in_time_and_a_slow_one_keeps_it(leases: Leases, tmp_path: Path) -> None:
    owner = start(HOLD, tmp_path / "memo", 0.4)
    assert owner.stdout is not None
    owner.stdout.readline()
    until = time.monotonic() + 0.8
    assert wait_for(leases, b"key", until=until) is None, "its heart beats"
    owner.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    assert wait_for(leases, b"key") is not None
    assert time.monotonic() - stopped < 1.0
    owner.kill()
    owner.wait()


def test_a_process_number_used_again_is_not_taken_for_the_owner(leases: Leases) -> None:
    ours = Owner.current()
    assert not ours.is_gone()
    assert ours._replace(start=ours.start + 1).is_gone()
    assert ours._replace(pid=2**22 + 1).is_gone()
    assert ours._replace(place="otherbot_" + ours.place.split("_")[1]).is_gone(), "a boot before this one"
    assert not ours._replace(place=ours.place.split("_")[0] + "_othercon", pid=1).is_gone(), "another container's number"
    assert Owner.parse(str(ours)) == ours


STRESS = """
    import os, sys, pathlib, random
    from graph.leases import Leases
    from tests.graph.leasing import wait_for
    folder = pathlib.Path(sys.argv[1])
    leases, draw = Leases(folder / "memo"), random.Random(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    keys = [b"%d" % i for i in range(int(sys.argv[3]))]
    draw.shuffle(keys)
    for key in keys:
        path = folder / key.decode()
        lease = wait_for(leases, key, path.exists)
        if lease is not None:
            # A second execution would fail here, or be seen in the log.
            with open(folder / "log", "a") as log:
                log.write(key.decode() + "\\n")
            sum(range(draw.randrange(20_000)))
            path.touch(exist_ok=False)
            leases.release(lease)
    leases.close()
"""


@pytest.mark.slow
@pytest.mark.spec("R-K03")
def test_processes_together_execute_every_key_once(tmp_path: Path) -> None:
    count = 150
    processes = [start(STRESS, tmp_path, name, count) for name in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert sorted((tmp_path / "log").read_text().split()) == sorted(str(i) for i in range(count))


def test_a_folder_that_cannot_be_written_is_told_and_tried_again(leases: Leases, monkeypatch: pytest.MonkeyPatch) -> None:
    leases._database()._connection.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreUnavailable, match="memo cannot be used for caching"):
        leases.acquire(b"key")
    leases._database()._connection.execute("PRAGMA query_only = 0")
    with pytest.raises(StoreUnavailable):  # not due yet
        leases.acquire(b"key")
    monkeypatch.setattr(folder, "RETRY_SECONDS", 0)
    assert leases.acquire(b"key") is not None


def test_leases_of_a_damaged_file_are_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "memo").mkdir()
    (tmp_path / "memo" / "leases.db").write_bytes(b"no database" * 1000)
    opened = Leases(tmp_path / "memo")
    assert opened.acquire(b"key") is not None
    opened.close()
    assert any(name.startswith("leases.db.damaged") for name in os.listdir(tmp_path / "memo"))
