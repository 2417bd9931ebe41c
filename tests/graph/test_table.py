"""The memo's table, and whoever can write its folder: nothing planted there runs, leaks or gets out."""

from __future__ import annotations

import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from graph.folder import StoreUnavailable
from graph.table import Table, _classes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "memo", 1 << 20)


def plant(table: Table, query: str, *values: object) -> None:
    with sqlite3.connect(table.folder / "cache.db") as connection:
        connection.execute(query, values)
    connection.close()


class Canary:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_rows_come_back_from_a_new_table(table: Table) -> None:
    table.write([(b"a", b"k1", b"one"), (b"v", b"k1", b"two"), (b"a", b"k2", b"")])
    table.write([(b"a", b"k1", b"newer")])
    again = Table(table.folder, 1 << 20)
    assert again.read(b"a", [b"k1", b"k2", b"k3"]) == {b"k1": b"newer", b"k2": b""}
    assert again.read(b"v", [b"k1"]) == {b"k1": b"two"}
    assert sorted(again.keys(b"a")) == [b"k1", b"k2"]


def test_thousands_of_keys_are_read_in_one_call(table: Table) -> None:
    keys = [b"%d" % i for i in range(2100)]
    table.write((b"a", key, key) for key in keys)
    assert table.read(b"a", keys) == {key: key for key in keys}


def test_rows_are_written_all_or_none(table: Table) -> None:
    with pytest.raises(TypeError):
        table.write([(b"a", b"k1", b"one"), (b"a", b"k2", "text")])  # type: ignore[list-item]
    assert table.read(b"a", [b"k1", b"k2"]) == {}
    table.write([(b"a", b"k1", b"one")])


def test_its_folder_is_private_and_it_keeps_no_file_but_the_database(table: Table) -> None:
    table.write([(b"v", b"k", bytes(100_000))])
    assert stat.S_IMODE(table.folder.stat().st_mode) == 0o700
    assert {name.split("-")[0] for name in os.listdir(table.folder)} == {"cache.db"}


def test_an_open_folder_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "memo").mkdir()
    (tmp_path / "memo").chmod(0o777)
    Table(tmp_path / "memo", 1 << 20)
    assert stat.S_IMODE((tmp_path / "memo").stat().st_mode) == 0o700


@pytest.mark.spec("R-K06")
@pytest.mark.parametrize("column", ["value", "key"])
def test_a_planted_pickle_never_runs(table: Table, tmp_path: Path, column: str) -> None:
    canary = tmp_path / "canary"
    evil = pickle.dumps(Canary(canary))
    table.write([(b"a", b"k", b"good")])
    if column == "value":
        plant(table, "UPDATE Cache SET mode = 4, value = ? WHERE key = ?", evil, b"ak")
    else:
        plant(table, "UPDATE Cache SET raw = 0, key = ?", evil)
    for victim in (table, Table(table.folder, 1 << 20)):
        assert victim.read(b"a", [b"k", evil[1:]]) == {}
    for act in (lambda: table._cache.get(b"ak"), lambda: list(table._cache), table._cache.peekitem):
        with suppress(ValueError, TypeError, KeyError):
            act()
    assert not canary.exists()
    pickle.loads(evil)
    assert canary.exists(), "the canary itself works"


@pytest.mark.spec("R-K06")
def test_a_planted_file_name_is_neither_read_nor_removed(table: Table, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    table.write([(b"a", b"k", b"good")])
    for mode in (1, 2, 3, 4):
        plant(table, "UPDATE Cache SET mode = ?, filename = '../secret', value = NULL", mode)
        with pytest.raises(ValueError, match="a row that is not plain bytes is refused"):
            table._cache.get(b"ak")
        assert table.read(b"a", [b"k"]) == {}
        table.write([(b"a", b"k", b"good")])
        assert table.read(b"a", [b"k"]) == {b"k": b"good"}
    plant(table, "UPDATE Cache SET filename = '../secret'")
    table._cache.set(b"ak", b"over it")
    table._cache.clear()
    assert secret.read_bytes() == b"secret"


@pytest.mark.spec("R-K06")
def test_planted_settings_change_nothing(table: Table, tmp_path: Path) -> None:
    table.write([(b"a", b"k", b"good")])
    planted = {
        "sqlite_synchronous": 0,
        "sqlite_mmap_size": 1 << 30,
        "sqlite_query_only": 1,
        "sqlite_journal_mode": "delete",
        "sqlite_temp_store_directory": f"'{tmp_path}'",
        "sqlite_user_version; DROP TABLE Cache; --": 1,
        "disk_evil": "x",
        "_disk": "x",
        "eviction_policy": "least-recently-used",
        "size_limit": 1,
        "cull_limit": 1000,
        b"blob": 1,
    }
    for key, value in planted.items():
        plant(table, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", key, value)
    again = Table(table.folder, 1 << 20)
    again.write([(b"a", b"new", b"row")])
    assert again.read(b"a", [b"k", b"new"]) == {b"k": b"good", b"new": b"row"}
    execute = again._cache._con.execute
    assert [execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "query_only", "journal_mode")] == [1, 0, "wal"]
    assert (again._cache.eviction_policy, again._cache.cull_limit) == ("none", 0)


@pytest.mark.parametrize("value", ["text", 1, 1.0, None, ["list"], bytearray(b"x"), object()])
def test_the_disk_class_stores_and_gives_bytes_only(tmp_path: Path, value: object) -> None:
    disk = _classes()[1](str(tmp_path))
    with pytest.raises(TypeError, match="this cache stores bytes, not"):
        disk.store(value, False)
    with pytest.raises(TypeError, match="this cache stores bytes, not"):
        disk.put(value)
    with pytest.raises(ValueError, match="a pickled key is refused"):
        disk.get(b"x", False)
    with pytest.raises(ValueError, match="this cache keeps no files"):
        disk.filename()


@pytest.mark.spec("R-K01", "A11")
@pytest.mark.proves(5)
def test_a_flipped_bit_of_a_row_is_a_counted_miss(table: Table) -> None:
    row = b"content of a row"
    for number, bit in enumerate(range(0, 8 * (16 + len(row)), 5), 1):
        table.write([(b"a", b"k", row)])
        with sqlite3.connect(table.folder / "cache.db") as connection:
            (value,) = connection.execute("SELECT value FROM Cache").fetchone()
            flipped = bytearray(value)
            flipped[bit // 8] ^= 1 << bit % 8
            connection.execute("UPDATE Cache SET value = ?", (bytes(flipped),))
        connection.close()
        assert table.read(b"a", [b"k"]) == {}
        assert table.damaged == number


@pytest.mark.spec("R-K06")
def test_a_row_moved_under_another_key_is_a_miss(table: Table) -> None:
    table.write([(b"a", b"k1", b"one"), (b"v", b"k1", b"value")])
    plant(table, "UPDATE Cache SET key = ? WHERE key = ?", b"ak2", b"ak1")
    assert table.read(b"a", [b"k1", b"k2"]) == {}


@pytest.mark.parametrize("damage", [b"", b"this is no database " * 300, None])
def test_a_file_that_is_no_database_is_begun_anew(table: Table, damage: bytes | None) -> None:
    table.write([(b"a", b"k", b"one")])
    table.close()
    path = table.folder / "cache.db"
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if damage is None:
        path.unlink()
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE Cache (other INTEGER)")
        connection.close()
    else:
        path.write_bytes(damage)
    again = Table(table.folder, 1 << 20)
    assert again.read(b"a", [b"k"]) == {}
    again.write([(b"a", b"k", b"two")])
    assert again.read(b"a", [b"k"]) == {b"k": b"two"}


@pytest.mark.spec("H15")
def test_the_least_recently_used_rows_go_when_there_is_no_room(tmp_path: Path) -> None:
    table = Table(tmp_path / "memo", 1 << 20)
    table.write([(b"a", b"often", bytes(1000)), (b"a", b"once", bytes(1000))])
    largest = 0
    for i in range(60):
        table.write((b"a", b"%d.%d" % (i, j), bytes(1000)) for j in range(50))
        table.note_uses({b"aoften": 5})
        largest = max(largest, table.bytes_on_disk())
    assert table.read(b"a", [b"often", b"once"]).keys() == {b"often"}
    newest = [b"%d.%d" % (i, j) for i in range(50, 60) for j in range(50)]
    assert table.read(b"a", newest).keys() == set(newest)
    assert (1 << 19) < largest <= 1 << 20


def test_a_full_disk_turns_the_table_off_and_reading_goes_on(table: Table) -> None:
    table.write([(b"a", b"k", b"one")])
    table._cache._con.execute(f"PRAGMA max_page_count = {table._cache._con.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(StoreUnavailable, match=r"memo cannot be used for caching: .*full.*LATENTGRAPH_HOME"):
        table.write([(b"a", b"k2", bytes(100_000))])
    with pytest.raises(StoreUnavailable):
        table.write([(b"a", b"k3", b"")])
    assert table.read(b"a", [b"k", b"k2"]) == {b"k": b"one"}


def test_a_read_only_database_is_told_at_once(table: Table) -> None:
    table._cache._con.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreUnavailable, match="readonly"):
        table.write([(b"a", b"k2", b"x")])


@pytest.mark.slow
def test_importing_the_memo_does_not_import_diskcache() -> None:
    code = "import sys, graph.memo, graph.history, graph.leases, graph.disk_cache; sys.exit('diskcache' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
