from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from graph import folder
from graph.blob import digest_of
from graph.folder import StoreUnavailable
from graph.leases import Leases
from graph.memo import GROUP_ROWS, INLINE_BYTES, Action, Finished, Memo
from graph.types import Packed
from tests.graph.packed_values import same, tensors, text

MB = 1 << 20


@pytest.fixture
def memo(tmp_path: Path) -> Memo:
    return Memo(tmp_path / "memo", 64 * MB, MB)


def again(memo: Memo) -> Memo:
    """The folder as a later process finds it."""
    return Memo(memo.table.folder, 64 * MB, MB)


def key(name: object) -> bytes:
    return hashlib.sha256(str(name).encode()).digest()


def action(*values: Packed, seconds: float = 0.5, **notes: str) -> Action:
    return Action(tuple(map(digest_of, values)), tuple(value.type for value in values), seconds, "draw", 12.5, notes)


def finished(name: str, *values: Packed) -> Finished:
    return Finished((key(name), key(name + " by content")), action(*values), tuple((digest_of(v), v) for v in values))


def test_what_is_committed_is_found_by_a_later_process(memo: Memo) -> None:
    values = (text("small"), tensors(1, 5000), text("large " * 2000))
    row = finished("work", *values)
    memo.commit([row])
    later = again(memo)
    assert later.find([*row.keys, key("other")]) == dict.fromkeys(row.keys, row.action)
    assert all(same(later.get_value(digest), value) for digest, value in zip(row.action.outputs, values, strict=True))


def test_notes_of_an_action_come_back(memo: Memo) -> None:
    memo.commit([Finished((key(1),), action(text("x"), device="cpu"))])
    assert again(memo).find([key(1)])[key(1)].notes == {"device": "cpu"}


def put(memo: Memo, value: Packed) -> bytes:
    """Keep a value, as the result of some work."""
    memo.commit([finished(f"work that gives {digest_of(value).hex()}", value)])
    return digest_of(value)


def test_small_plain_values_lie_in_the_table_and_others_in_files(memo: Memo) -> None:
    for value in (text("x"), text("x" * (INLINE_BYTES - 100)), tensors(1, 3), text("x" * INLINE_BYTES)):
        put(memo, value)
    assert (len(memo.table.keys(b"v")), memo.store.stats().objects) == (2, 2)


def test_what_is_only_remembered_stays_in_this_process(memo: Memo) -> None:
    memo.remember([key(1)], action(text("x")))
    assert memo.find([key(1)]).keys() == {key(1)}
    assert again(memo).find([key(1)]) == {}


def test_group_commits_are_known_at_once_and_written_soon(memo: Memo) -> None:
    rows = [finished(f"work {i}", text(f"value {i}")) for i in range(2 * GROUP_ROWS)]
    for row in rows:
        memo.commit_later(row)
    assert len(memo.find([row.keys[0] for row in rows])) == len(rows)
    memo.flush()
    later = again(memo)
    assert later.find([row.keys[1] for row in rows]) == {row.keys[1]: row.action for row in rows}
    assert all(later.get_value(row.action.outputs[0]) is not None for row in rows)


def test_a_group_is_written_without_a_flush(memo: Memo) -> None:
    written = threading.Event()
    write = memo.table.write
    memo.table.write = lambda rows: (write(rows), written.set())  # type: ignore[method-assign,assignment]
    row = finished("work")
    memo.commit_later(row)
    assert written.wait(10)
    assert again(memo).find(row.keys).keys() == set(row.keys)


def test_closing_writes_what_waits(memo: Memo) -> None:
    row = finished("work", text("x"))
    memo.commit_later(row)
    memo.close()
    assert again(memo).find(row.keys).keys() == set(row.keys)


@pytest.mark.parametrize("damage", ["UPDATE Cache SET value = zeroblob(40)", "UPDATE Cache SET mode = 4", "DELETE FROM Cache"])
@pytest.mark.spec("R-K01")
def test_damage_to_any_row_is_a_miss(memo: Memo, damage: str) -> None:
    row = finished("work", text("x"))
    memo.commit([row])
    with sqlite3.connect(memo.table.folder / "cache.db") as connection:
        connection.execute(damage)
    connection.close()
    later = again(memo)
    assert later.find(row.keys) == {}
    assert later.get_value(row.action.outputs[0]) is None


def test_an_action_of_another_version_is_a_miss(memo: Memo) -> None:
    memo.table.write([(b"a", key(1), b"\x93\x01\x02\x03"), (b"a", key(2), b"no msgpack \xc1")])
    assert memo.find([key(1), key(2)]) == {}


def test_values_here_are_told_whatever_their_size(memo: Memo) -> None:
    here = [put(memo, value) for value in (text("x"), tensors(1, 3))]
    assert memo.has_values([*here, key("none")]) == set(here)


@pytest.mark.spec("H15")
def test_pinned_values_of_any_size_survive_a_clear(memo: Memo) -> None:
    values = [text("x"), tensors(1, 3000)]
    digests = [put(memo, value) for value in values]
    assert memo.pin([*digests, key("none")]) == set(digests)
    other = again(memo)
    other.clear()
    assert all(same(memo.get_value(digest), value) for digest, value in zip(digests, values, strict=True))
    memo.unpin(digests)
    other.clear()
    assert [memo.get_value(digest) for digest in digests] == [None, None]


def test_uses_are_counted_in_ram_and_written_at_a_flush(memo: Memo) -> None:
    row = finished("work")
    memo.commit([row])
    query = "SELECT MAX(access_count) FROM Cache"
    for _ in range(3):
        memo.find(row.keys)
    assert memo.table._reader.execute(query).fetchone() == (0,)
    memo.flush()
    assert memo.table._reader.execute(query).fetchone() == (3,)


@pytest.mark.parametrize("place", ["table", "store"])
def test_a_memo_that_cannot_write_says_so_and_goes_on_in_ram(memo: Memo, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    if place == "table":
        memo.table._cache._con.execute("PRAGMA query_only = 1")
    else:
        memo.store._index._connection.execute("PRAGMA query_only = 1")
    row = finished("work", text("small"), tensors(1, 3000))
    with pytest.raises(StoreUnavailable, match="until then results are not kept"):
        memo.commit([row])
    assert isinstance(memo.off, StoreUnavailable)
    memo.commit_later(finished("later"))
    memo.flush()
    assert memo.find([*row.keys, key("later")]).keys() == {*row.keys, key("later")}
    assert again(memo).find(row.keys) == {}
    memo.close()


def test_a_memo_whose_folder_cannot_be_opened_remembers_in_ram_and_on_disk_once_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    memo = Memo(blocked / "memo", 64 * MB, MB)
    row = finished("work", text("small"), tensors(1, 3000))
    with pytest.raises(StoreUnavailable, match="until then results are not kept"):
        memo.commit([row])
    assert memo.find(row.keys).keys() == set(row.keys)
    assert memo.get_values([digest for digest, _ in row.values]) == {}
    assert "Not a directory" in str(memo.off)
    blocked.unlink()
    with pytest.raises(StoreUnavailable):  # not due yet
        memo.commit([row])
    monkeypatch.setattr(folder, "RETRY_SECONDS", 0)
    memo.commit([row])
    assert memo.off is None
    assert again(memo).find(row.keys).keys() == set(row.keys)
    memo.close()


@pytest.mark.parametrize("place", ["table", "store"])
def test_a_memo_writes_again_when_the_disk_has_room_again(memo: Memo, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    connection = memo.table._cache._con if place == "table" else memo.store._index._connection
    connection.execute("PRAGMA query_only = 1")
    row = finished("work", text("small"), tensors(1, 3000))
    with pytest.raises(StoreUnavailable):
        memo.commit([row])
    connection.execute("PRAGMA query_only = 0")
    with pytest.raises(StoreUnavailable):  # not due yet
        memo.commit([row])
    assert memo.off is not None
    monkeypatch.setattr(folder, "RETRY_SECONDS", 0)
    memo.commit([row])
    assert memo.off is None
    assert again(memo).find(row.keys).keys() == set(row.keys)


def test_commits_from_many_threads_all_arrive(memo: Memo) -> None:
    def work(name: int) -> None:
        for i in range(20):
            memo.commit([finished(f"{name} {i}", text(f"{name} {i}"), tensors(100 * name + i, 500))])
            memo.commit_later(finished(f"later {name} {i}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memo.flush()
    later = again(memo)
    names = [f"{prefix}{name} {i}" for prefix in ("", "later ") for name in range(4) for i in range(20)]
    assert later.find([key(name) for name in names]).keys() == {key(name) for name in names}
    assert memo.off is None


@pytest.mark.slow
@pytest.mark.spec("R-K01")
@pytest.mark.parametrize("name", ["cache.db", "index.db", "leases.db"])
def test_a_flipped_bit_in_a_database_is_never_a_wrong_value_or_an_error(memo: Memo, tmp_path: Path, name: str) -> None:
    """Whatever the first process meets, the folder works again at the third at the latest."""
    leases = Leases(memo.table.folder)
    rows = [finished(f"work {i}", text(f"value {i}"), tensors(i, 300)) for i in range(12)]
    leases.acquire_many([key(i) for i in range(20)])
    memo.commit(rows)
    memo.close()
    leases._database().close()  # as a killed process leaves it
    whole = (memo.table.folder / name).read_bytes()
    draw = random.Random(name)
    for number in range(10):
        folder = tmp_path / f"copy{number}"
        shutil.copytree(memo.table.folder, folder)
        flipped = bytearray(whole)
        # Every other one in the first page, where the schema lies.
        place = draw.randrange(len(whole) if number % 2 else 4096)
        flipped[place] ^= 1 << draw.randrange(8)
        (folder / name).write_bytes(flipped)
        works = [works_at(folder, rows) for _ in range(3)]
        assert works[2], (place, works)


def works_at(folder: Path, rows: list[Finished]) -> bool:
    """Whether a process can write here; that it reads nothing wrong is asserted."""
    try:
        memo, leases = Memo(folder, 64 * MB, MB), Leases(folder)
    except StoreUnavailable:
        return False
    found = memo.find([row.keys[0] for row in rows])
    assert all(found.get(row.keys[0]) in (None, row.action) for row in rows)
    for row in rows:
        for digest, value in row.values:
            got = memo.get_value(digest)
            assert got is None or same(got, value)
    memo.pin([rows[0].action.outputs[1]])
    try:
        memo.commit([finished("new work", text("new"), tensors(99, 300))])
        leases.release(*leases.acquire_many([key("new")]).values())
        memo.stats()
        memo.verify()
        memo.clear()
    except StoreUnavailable:
        return False
    finally:
        memo.close()
        leases.close()
    return True
