"""kill -9 at any point: nothing torn, nothing lost that was said to be kept, nothing over the limit."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from graph.blob import digest_of
from graph.disk_cache import DiskCacheFolder
from graph.leases import Leases
from graph.memo import Memo
from tests.graph.leasing import wait_for

ROOT = Path(__file__).parents[2]
LIMIT = 3_000_000

WRITER = """
import sys, os, signal, pathlib, random, threading
sys.path.insert(0, "tests/graph")
from tests.graph.packed_values import tensors, text
from graph.blob import digest_of
from graph.memo import Action, Finished, Memo
from graph.disk_cache import DiskCacheFolder
from graph.leases import Leases
folder, seed, last, rounds = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])
calls, draw = 0, random.Random(seed)

def counted(real):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    return call

def trace(frame, event, arg):
    # One operation is one line of the stores' own code: the kill falls between any two of them.
    global calls
    if event == "line":
        calls += 1
        if calls >= last:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace if frame.f_code.co_filename.startswith(os.getcwd() + "/graph") else None

memo, cached, leases = Memo(folder / "memo", {limit}, 1 << 20), DiskCacheFolder(folder / "disk_cache", {limit}), Leases(folder / "memo")
os.write = counted(os.write)
os.rename = counted(os.rename)
threading.settrace(trace)
sys.settrace(trace)
for i in range(rounds):
    key = b"%d.%d" % (seed, i)
    lease = leases.acquire(key)
    values = [text(f"{{seed}} {{i}}"), tensors(1000 * seed + i, draw.randrange(1, 60_000), 17)]
    digests = tuple(map(digest_of, values))
    row = Finished((key,), Action(digests, ("text", "Sample"), 1.0, "draw", 1.0), tuple(zip(digests, values)))
    if i % 4 == 3:
        memo.commit_later(row)
    else:
        memo.commit([row])
        print("done", i, flush=True)
    cached.put(key.rjust(32), values[1], {{}})
    memo.get_value(digests[1])
    memo.pin(digests)
    leases.release(lease)
    memo.flush()
"""


def writer(folder: Path, seed: int, last: int, rounds: int = 1000) -> subprocess.Popen[str]:
    """A process that stores `rounds` values, killed by its `last` operation."""
    code = WRITER.format(limit=LIMIT)
    arguments = [sys.executable, "-c", code, str(folder), str(seed), str(last), str(rounds)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: subprocess.Popen[str], status: int) -> list[int]:
    """The numbers the writer reported as committed, once it has ended as it should."""
    output, errors = process.communicate(timeout=120)
    assert process.returncode == status, errors
    return [int(line.split()[1]) for line in output.splitlines() if line.startswith("done ")]


def killed_writer(folder: Path, seed: int, last: int) -> list[int]:
    return outcome(writer(folder, seed, last), -signal.SIGKILL)


def check_after(folder: Path, seed: int, committed: list[int], *, may_evict: bool = False) -> None:
    memo = Memo(folder / "memo", LIMIT, 1 << 20)
    keys = [b"%d.%d" % (seed, i) for i in range(1000)]
    actions = memo.find(keys)
    assert {b"%d.%d" % (seed, i) for i in committed} <= actions.keys()
    for key, action in actions.items():
        for digest in action.outputs:
            packed = memo.get_value(digest)
            assert packed is not None or may_evict, key
            assert packed is None or digest_of(packed) == digest
    report = memo.store.verify()
    assert report.damaged == () == tuple(memo.store.damaged)
    assert memo.table.damaged == 0
    assert list((folder / "memo" / "tmp").iterdir()) == []
    stats = memo.store.stats()
    assert stats.bytes == report.bytes <= memo.store.limit_bytes
    assert stats.pinned == 0 or memo.store.clear() == report.bytes, "pins of the dead hold nothing"
    cached = DiskCacheFolder(folder / "disk_cache", LIMIT)
    assert cached.verify().bad == ()
    leases = Leases(folder / "memo")
    assert all(wait_for(leases, key) is not None for key in keys[: len(committed) + 2])
    leases.close()
    memo.close()


@pytest.mark.slow
@pytest.mark.spec("A11", "R-K01")
@pytest.mark.parametrize("seed", range(4))
def test_kill_at_any_operation_tears_and_loses_nothing(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(5):
        folder = tmp_path / "shared"
        name = 10 * seed + number
        check_after(folder, name, killed_writer(folder, name, draw.randrange(1, 8000)))


@pytest.mark.slow
@pytest.mark.spec("A11", "R-K01", "R-K02")
def test_a_process_killed_beside_another_does_it_no_harm(tmp_path: Path) -> None:
    draw = random.Random(7)
    survivor = writer(tmp_path, 1, 10**9, rounds=25)
    for name in range(2, 6):
        outcome(writer(tmp_path, name, draw.randrange(1000, 6000)), -signal.SIGKILL)
    committed = outcome(survivor, 0)
    assert len(committed) == 19
    check_after(tmp_path, 1, committed, may_evict=True)


@pytest.mark.long
@pytest.mark.spec("A11", "R-K01")
def test_kill_at_any_operation_many_times(tmp_path: Path) -> None:
    draw = random.Random(99)
    for name in range(1000, 1200):
        check_after(
            tmp_path / "shared", name, killed_writer(tmp_path / "shared", name, draw.randrange(1, 40_000)), may_evict=True
        )
