"""Everything that can be wrong with a cache, over every file of it: a miss and a right value, never a wrong one."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from graph.blob import digest_of
from graph.context import Context
from graph.disk_cache import DiskCacheFolder
from graph.engine import Limits
from graph.errors import Cancelled
from graph.execute import Executor
from graph.folder import StoreUnavailable
from graph.memo import Action, Finished, Memo
from graph.node import node
from graph.registry import Registry
from graph.store import Store
from graph.types import Packed, TensorBytes
from tests.graph.engine_kit import (
    PATIENCE,
    Lab,
    add,
    chain,
    costly_clock,
    gate,
    make_tensor,
    n,
    started,
    tensor_sum,
    until,
    workflow,
)
from tests.graph.test_engine_damage import blobs

ROOT = Path(__file__).parents[2]
LIMIT = 1 << 30


def value(fill: int, size: int) -> Packed:
    return Packed("Tensor", {}, {"data": TensorBytes("U8", (size,), memoryview(bytes([fill]) * size))})


def text(content: str) -> Packed:
    return Packed("text", {"value": content}, {})


#: Small ones lie in the table, a long text and tensors in files; the largest is mapped.
VALUES = (value(1, 300), value(2, 40_000), value(3, 400_000), text("short"), text("long " * 2000))
KEYS = [bytes([i]) * 32 for i in range(len(VALUES))]


def fill(folder: Path) -> None:
    memo = Memo(folder, LIMIT, 1 << 20)
    for key, packed in zip(KEYS, VALUES, strict=True):
        memo.commit([Finished((key,), Action((digest_of(packed),), ("x",), 1.0, "t", 0.0), ((digest_of(packed), packed),))])
    memo.close()


def content_of(packed: Packed) -> tuple[Any, ...]:
    return packed.type, packed.fields, {name: (t.dtype, t.shape, bytes(t.data)) for name, t in packed.tensors.items()}


def assert_only_right_values(folder: Path) -> int:
    """Every value of a memo is the right one or not there, and what is missing can be written again. How many were there."""
    memo = Memo(folder, LIMIT, 1 << 20)
    there = 0
    try:
        actions = memo.find(KEYS)
        for key, packed in zip(KEYS, VALUES, strict=True):
            digest = digest_of(packed)
            action = actions.get(key)
            assert action is None or action.outputs == (digest,)
            found = memo.get_value(digest)
            if found is not None:
                assert content_of(found) == content_of(packed)
            there += found is not None and action is not None
            again = Action((digest,), ("x",), 1.0, "t", 0.0)
            with suppress(StoreUnavailable):
                memo.commit([Finished((key,), again, ((digest, packed),))])
                found = memo.get_value(digest)
                assert found is None or content_of(found) == content_of(packed)
    finally:
        memo.close()
    return there


def changed_at(path: Path, place: int, change: Callable[[bytearray, int], None]) -> None:
    content = bytearray(path.read_bytes())
    change(content, place)
    path.chmod(0o600)
    path.write_bytes(content)


def flip(content: bytearray, bit: int) -> None:
    content[bit // 8 % len(content)] ^= 1 << bit % 8


def zero_page(content: bytearray, at: int) -> None:
    start = at // 4096 % max(1, len(content) // 4096) * 4096
    content[start : start + 4096] = bytes(len(content[start : start + 4096]))


def cut(content: bytearray, at: int) -> None:
    del content[at % len(content) :]


def extend(content: bytearray, at: int) -> None:
    content += bytes(at % 9000 + 1)


def files_of(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small cache with files of every kind."""
    folder = tmp_path_factory.mktemp("cache") / "memo"
    fill(folder)
    assert assert_only_right_values(folder) == len(VALUES)
    return folder


def sweep(filled: Path, scratch: Path, change: Callable[[bytearray, int], None], places: int) -> None:
    drawn = random.Random(3)
    for name in files_of(filled):
        for _ in range(places):
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(filled, scratch)
            size = (scratch / name).stat().st_size
            changed_at(scratch / name, drawn.randrange(8 * size), change)
            # The first process finds the damage, the second begins the file anew, the third finds everything again.
            assert_only_right_values(scratch)
            assert_only_right_values(scratch)
            assert assert_only_right_values(scratch) == len(VALUES), name


@pytest.mark.spec("R-K01")
@pytest.mark.proves(5)
@pytest.mark.slow
@pytest.mark.parametrize("change", [flip, zero_page, cut, extend])
def test_no_damage_to_any_file_of_a_cache_gives_a_wrong_value(
    filled: Path, tmp_path: Path, change: Callable[[bytearray, int], None]
) -> None:
    sweep(filled, tmp_path / "memo", change, 4)


@pytest.mark.spec("R-K01")
@pytest.mark.long
@pytest.mark.parametrize("change", [flip, zero_page, cut, extend])
def test_no_damage_at_64_places_of_any_file_of_a_cache_gives_a_wrong_value(
    filled: Path, tmp_path: Path, change: Callable[[bytearray, int], None]
) -> None:
    sweep(filled, tmp_path / "memo", change, 64)


@pytest.mark.spec("R-K01", "R-K06")
@pytest.mark.proves(5)
def test_two_files_of_a_cache_swapped_are_two_misses(filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path / "memo")
    one, two, *_ = sorted((tmp_path / "memo" / "objects").rglob("*.safetensors"))
    aside = tmp_path / "aside"
    one.rename(aside)
    two.rename(one)
    aside.rename(two)
    store = Store(tmp_path / "memo", LIMIT)
    found = [store.get(bytes.fromhex(path.stem)) for path in (one, two)]
    assert found == [None, None]
    assert [damage.reason for damage in store.damaged] == ["its bytes do not have the digest it is named by"] * 2
    assert all(damage.moved_to is not None and damage.moved_to.parent.name == "quarantine" for damage in store.damaged)
    store.close()


TEXT = workflow(
    ["s", "b.tensor"],
    t=n("make_tensor", fill=3, size=1000),
    b=n("brighten", tensor="@t.tensor"),
    s=n("tensor_sum", tensor="@b.tensor"),
)


@pytest.mark.spec("R-K01")
@pytest.mark.proves(5)
def test_a_damaged_cache_costs_a_run_time_and_no_byte(open_lab: Callable[..., Lab], home: Path) -> None:
    """The whole way: found before use, set aside, told, computed again, right, and kept again."""
    with open_lab(clock=costly_clock()) as first:
        expected = first.run(TEXT).outputs
    for place in range(0, 8000, 500):
        for path in blobs(home):
            changed_at(path, place, flip)
        with open_lab(clock=costly_clock()) as lab:
            outcome = lab.run(TEXT)
        assert outcome.state == "done"
        assert bytes(outcome.outputs["b_tensor"].data) == bytes(expected["b_tensor"].data)
        assert any("damaged" in message or "digest" in message for message in outcome.result.messages)
        with open_lab(clock=costly_clock()) as lab:
            assert lab.run(TEXT).ran == []


# ---- one computation ----


@pytest.mark.spec("R-K03")
@pytest.mark.proves(3)
def test_50_jobs_that_need_one_key_compute_it_once(lab: Lab) -> None:
    handles = [lab.start(workflow("w", w=n("wait", a=1.0))) for _ in range(50)]
    until(lambda: any(len(flight.subscribers) == 50 for flight in list(flights(lab.engine.executor))))
    gate.set()
    results = [handle.wait(PATIENCE) for handle in handles]
    assert [result.outputs for result in results if result] == [{"w": 101.0}] * 50
    assert len({node.outputs for result in results if result for node in result.nodes}) == 1
    from tests.graph.engine_kit import ran

    assert ran == ["w"]


def flights(executor: Executor) -> list[Any]:
    return list(executor._flights.values())


@pytest.mark.spec("R-K03")
@pytest.mark.proves(3)
def test_when_the_computing_one_of_50_is_cancelled_the_work_goes_on_for_the_others(lab: Lab) -> None:
    handles = [lab.start(workflow("w", w=n("wait", a=2.0))) for _ in range(50)]
    until(lambda: any(len(flight.subscribers) == 50 for flight in flights(lab.engine.executor)))
    for handle in handles[:10]:
        handle.cancel()
    ended = [handle.wait(PATIENCE) for handle in handles[1:10]]
    assert {result.state for result in ended if result} == {"cancelled"}
    gate.set()
    results = [handle.wait(PATIENCE) for handle in handles[10:]]
    assert [result.outputs for result in results if result] == [{"w": 102.0}] * 40
    from tests.graph.engine_kit import ran

    assert ran == ["w"]


@pytest.mark.spec("R-K03", "R-K08")
@pytest.mark.proves(3)
def test_when_the_computing_one_of_50_fails_each_learns_of_it_and_no_failure_is_kept(home: Path) -> None:
    calls: list[int] = []
    broken = threading.Event()
    broken.set()

    @node(title="Broken for a while", version=1)
    def moody(ctx: Context) -> float:
        calls.append(1)
        started.set()
        assert gate.wait(PATIENCE)
        if broken.is_set():
            raise OSError("a lasting trouble")
        return 1.0

    with Lab(home, Registry.of(moody, add), clock=costly_clock()) as lab:
        handles = [lab.start(workflow("x", x=n("moody"))) for _ in range(50)]
        until(lambda: any(len(flight.subscribers) == 50 for flight in flights(lab.engine.executor)))
        gate.set()
        results = [handle.wait(PATIENCE) for handle in handles]
        assert [result.state for result in results if result] == ["failed"] * 50
        assert all("a lasting trouble" in result.nodes[0].error for result in results if result)
        assert lab.engine.executor.memory.memo.stats().actions == 0
        broken.clear()
        assert lab.run(workflow("x", x=n("moody"))).outputs == {"x": 1.0}


# ---- what is never kept ----


@node(title="Ends badly", version=1)
def ends_badly(ctx: Context, how: str) -> float:
    """Everything that is no result."""
    if how == "raises":
        raise ValueError("no")
    if how == "out of memory":
        raise MemoryError
    if how == "cancels itself":
        raise Cancelled
    if how == "exits":
        raise SystemExit(3)
    if how == "another type":
        return "text"  # type: ignore[return-value]
    if how == "too many":
        return 1.0, 2.0  # type: ignore[return-value]
    if how == "nothing":
        return None  # type: ignore[return-value]
    if how == "interrupted":
        raise KeyboardInterrupt
    return 1.0


@pytest.mark.spec("R-K08")
@pytest.mark.parametrize(
    "how", ["raises", "out of memory", "cancels itself", "exits", "another type", "too many", "nothing", "interrupted"]
)
def test_what_ended_badly_is_never_kept(home: Path, how: str) -> None:
    library = Registry.of(ends_badly, add, make_tensor, tensor_sum)
    document = workflow(["x"], x=n("ends_badly", how=how))
    for _ in range(2):
        with Lab(home, library, clock=costly_clock()) as lab:
            outcome = lab.run(document)
            assert outcome.state == "failed"
            assert outcome.node("x").outputs == ()
            stats = lab.engine.executor.memory.memo.stats()
            assert (stats.actions, stats.small_values, stats.store.objects) == (0, 0, 0)


@pytest.mark.spec("R-K08")
def test_a_cancelled_result_is_never_kept(open_lab: Callable[..., Lab]) -> None:
    with open_lab(clock=costly_clock()) as lab:
        handle = lab.start(workflow("w", w=n("wait", a=1.0)))
        assert started.wait(PATIENCE)
        handle.cancel()
        result = handle.wait(PATIENCE)
        assert result is not None
        assert result.state == "cancelled"
        assert lab.engine.executor.memory.memo.stats().actions == 0
        gate.set()
        assert lab.run(workflow("w", w=n("wait", a=1.0))).ran == ["w"]


# ---- hostile folders ----


@pytest.mark.spec("R-K06")
@pytest.mark.parametrize("mode", [0o777, 0o755, 0o770])
def test_a_folder_open_to_others_is_closed(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "memo"
    folder.mkdir()
    folder.chmod(mode)
    memo = Memo(folder, LIMIT, 1 << 20)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert memo.off is None
    memo.close()


@pytest.mark.spec("R-K06", "L12")
def test_a_folder_of_somebody_else_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "memo")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    memo = Memo(tmp_path / "memo", LIMIT, 1 << 20)
    assert "cannot be used for caching: it belongs to user" in str(memo.off)
    assert memo.find(KEYS) == {}
    memo.close()


@pytest.mark.spec("R-K06", "R-M01")
@pytest.mark.proves(5)
def test_a_planted_row_of_pickle_is_a_miss_for_the_engine(open_lab: Callable[..., Lab], home: Path, tmp_path: Path) -> None:
    import pickle

    canary = tmp_path / "canary"

    class Canary:
        def __reduce__(self) -> Any:
            return (os.system, (f"touch {canary}",))

    document = chain(3)
    with open_lab(clock=costly_clock()) as first:
        expected = first.run(document).outputs
    with sqlite3.connect(home / "memo" / "cache.db") as database:
        database.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Canary()),))
    database.close()
    with open_lab(clock=costly_clock()) as lab:
        outcome = lab.run(document)
    assert outcome.outputs == expected
    assert outcome.ran == ["n0", "n1", "n2"]
    assert not canary.exists()


# ---- mapping ----

_CUT_UNDER_THE_READER = """
import os, sys
from pathlib import Path
from graph import folder
from graph.disk_cache import DiskCacheFolder
from graph.store import Store

place, kind, digest = Path(sys.argv[1]), sys.argv[2], bytes.fromhex(sys.argv[3])
fstat = os.fstat

def cut_after(file):
    status = fstat(file)
    if status.st_size > 300_000:
        os.truncate(f"/proc/self/fd/{file}", int(sys.argv[4]))
    return status

folder.os.fstat = cut_after
if kind == "store":
    store = Store(place, 1 << 30)
    print(store.get(digest), [damage.reason for damage in store.damaged])
else:
    kept = DiskCacheFolder(place, 1 << 30)
    print(kept.get(digest), [bad.reason for bad in kept.damaged])
"""


@pytest.mark.spec("R-I10")
@pytest.mark.proves(5)
@pytest.mark.parametrize("length", [100, 8192])
@pytest.mark.parametrize("kind", ["store", "disk_cache"])
def test_a_file_cut_short_after_it_was_looked_at_is_a_miss_and_no_signal(tmp_path: Path, kind: str, length: int) -> None:
    """Mapped and then looked at, it would end the process with SIGBUS."""
    packed = value(5, 400_000)
    digest = digest_of(packed)
    if kind == "store":
        store = Store(tmp_path / kind, LIMIT)
        store.put(packed)
        store.close()
        path = store._path(digest, ".safetensors")
    else:
        folder = DiskCacheFolder(tmp_path / kind, LIMIT)
        folder.put(digest, packed, {})
        path = tmp_path / kind / f"{digest.hex()}.safetensors"
    path.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-c", _CUT_UNDER_THE_READER, str(tmp_path / kind), kind, digest.hex(), str(length)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.startswith('None ["')
    assert "could not be read whole" in done.stdout


@pytest.mark.spec("R-K07")
def test_a_mapped_value_stays_whole_while_it_is_evicted_and_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path, 1_000_000)
    packed = value(9, 400_000)
    digest = store.put(packed, seconds=0.001)
    held = store.get(digest)
    assert held is not None
    stop = threading.Event()
    wrong: list[int] = []

    def read() -> None:
        while not stop.is_set():
            if sha256(held.tensors["data"].data).digest() != sha256(packed.tensors["data"].data).digest():
                wrong.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(30):
        store.put(value(i + 20, 400_000), seconds=100.0)
    assert not store.has(digest)
    assert store.put(packed) == digest
    stop.set()
    reader.join()
    assert wrong == []
    assert store.stats().bytes <= 1_000_000
    store.close()


@pytest.mark.spec("R-K07")
def test_readers_and_writers_in_a_cache_too_small_for_all_get_whole_values_or_misses(tmp_path: Path) -> None:
    store = Store(tmp_path, 700_000)
    many = [value(i, 60_000 + i) for i in range(30)]
    digests = [digest_of(packed) for packed in many]
    wrong: list[int] = []
    hits = [0]

    def read(seed: int) -> None:
        drawn = random.Random(seed)
        for _ in range(300):
            at = drawn.randrange(30)
            found = store.get(digests[at])
            if found is not None:
                hits[0] += 1
                if content_of(found) != content_of(many[at]):
                    wrong.append(at)

    def write(seed: int) -> None:
        drawn = random.Random(seed)
        for _ in range(150):
            at = drawn.randrange(30)
            store.put(many[at], digests[at])

    for at in range(6):  # else the readers may be done before the writer has begun
        store.put(many[at], digests[at])
    threads = [threading.Thread(target=read, args=(i,)) for i in range(3)] + [threading.Thread(target=write, args=(9,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store.damaged == []
    assert hits[0] > 0
    assert store.stats().bytes <= 700_000
    store.close()


@pytest.mark.spec("R-K07")
def test_a_limit_smaller_than_any_value_costs_the_keeping_and_nothing_else(home: Path) -> None:
    with Lab(home, limits=Limits(memo=1000), clock=costly_clock()) as lab:
        outcome = lab.run(TEXT)
    assert outcome.state == "done"
    assert outcome.outputs["s"] == 4000
    assert blobs(home) == []
