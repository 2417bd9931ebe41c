"""Damage and full disks: a miss and a sentence, never an error and never a wrong value."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph import execute
from graph import store as store_module
from graph.engine import Handle
from graph.events import NodeEvent
from graph.folder import unavailable
from graph.leases import Leases
from graph.table import Table
from tests.graph.engine_kit import Lab, chain, costly_clock, n, until, workflow

TEXT = workflow(
    ["s", "b.tensor"],
    t=n("make_tensor", fill=3, size=1000),
    b=n("brighten", tensor="@t.tensor"),
    s=n("tensor_sum", tensor="@b.tensor"),
)


def blobs(home: Path) -> list[Path]:
    return sorted((home / "memo" / "objects").rglob("*.safetensors"))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    replace(path, bytes(content))


def cut(path: Path) -> None:
    replace(path, path.read_bytes()[:-100])


def empty(path: Path) -> None:
    replace(path, b"")


def replace(path: Path, content: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(content)


@pytest.mark.spec("R-K01")
@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_a_damaged_value_is_computed_again_and_told(
    open_lab: Callable[..., Lab], home: Path, damage: Callable[[Path], None]
) -> None:
    with open_lab(clock=costly_clock()) as first:
        expected = first.run(TEXT).outputs
    assert len(blobs(home)) == 2
    for path in blobs(home):
        damage(path)
    with open_lab(clock=costly_clock()) as second:
        outcome = second.run(TEXT)
        assert outcome.ran == ["t", "b"]
        assert outcome.outputs["s"] == expected["s"]
        assert outcome.outputs["b_tensor"].data == expected["b_tensor"].data
        assert any("damaged cache entry was set aside and is computed again" in said for said in outcome.result.messages)
        assert second.run(TEXT).result.messages == []
    assert open_lab().run(TEXT).ran == []


def test_a_value_found_damaged_during_the_run_is_told_by_that_run(open_lab: Callable[..., Lab], home: Path) -> None:
    """The plan does not look at it: only when the work turns out to be remembered by content is the value read."""
    text = workflow("b.tensor", a=n("make_tensor", fill=1), b=n("brighten", tensor="@a.tensor"))
    other = workflow(
        "b.tensor", z=n("make_tensor", fill=0), a=n("brighten", tensor="@z.tensor"), b=n("brighten", tensor="@a.tensor")
    )
    with open_lab(clock=costly_clock()) as first:
        first.run(text)
    for path in blobs(home):
        flip(path)
    with open_lab(clock=costly_clock()) as second:
        outcome = second.run(other)
    assert outcome.ran == ["z", "a", "b"]
    assert outcome.output.data == bytes([2]) * 1000
    assert any("damaged cache entry" in said for said in outcome.result.messages)


def test_a_removed_value_is_computed_again(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab(clock=costly_clock()) as first:
        first.run(TEXT)
    for path in blobs(home):
        path.unlink()
    assert open_lab().run(TEXT).ran == ["t", "b"]


def test_flipped_rows_of_small_values_are_computed_again_and_told(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab(clock=costly_clock()) as first:
        expected = first.run(chain(3)).output
    with sqlite3.connect(home / "memo" / "cache.db") as connection:
        rows = connection.execute("SELECT rowid, value FROM Cache").fetchall()
        assert rows
        for row, value in rows:
            connection.execute("UPDATE Cache SET value = ? WHERE rowid = ?", (value[:-1] + bytes([value[-1] ^ 1]), row))
    connection.close()
    with open_lab(clock=costly_clock()) as second:
        outcome = second.run(chain(3))
    assert outcome.output == expected
    assert outcome.ran == ["n0", "n1", "n2"]
    assert "damaged rows of the cache were removed and are computed again" in outcome.result.messages
    assert open_lab().run(chain(3)).ran == []


def test_a_table_that_is_no_database_is_begun_anew(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab(clock=costly_clock()) as first:
        first.run(chain(3))
    for name in ("cache.db", "index.db", "leases.db"):
        (home / "memo" / name).write_bytes(b"nonsense " * 1000)
        for suffix in ("-wal", "-shm"):
            (home / "memo" / (name + suffix)).unlink(missing_ok=True)
    assert open_lab().run(chain(3)).output == 4.0


def test_a_full_disk_ends_the_caching_and_not_the_run(open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, buffer: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lab = open_lab(clock=costly_clock())
    monkeypatch.setattr(store_module, "write_all", full)
    outcome = lab.run(TEXT)
    assert outcome.state == "done"
    assert outcome.outputs["s"] == 4000
    (said,) = outcome.result.messages
    assert said.startswith("nothing more is cached in this run:")
    assert "No space left on device" in said
    assert lab.run(TEXT).ran == []  # what is in RAM is still remembered
    assert list((lab.engine.home / "memo" / "tmp").iterdir()) == []


def test_a_full_disk_under_the_table_is_told_by_every_run(open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Table, rows: object) -> None:
        raise self._outage.begin(unavailable(self.folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))

    lab = open_lab(clock=costly_clock())
    monkeypatch.setattr(Table, "write", full)
    for first in (1.0, 2.0):
        outcome = lab.run(chain(3, first=first))
        assert outcome.output == first + 3
        (said,) = outcome.result.messages
        assert said.startswith("nothing more is cached in this run:")


def test_leases_that_cannot_be_taken_cost_only_the_sharing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(self: Leases, keys: object) -> None:
        raise unavailable(Path("memo"), sqlite3.OperationalError("disk I/O error"))

    monkeypatch.setattr(Leases, "acquire_many", locked)
    outcome = lab.run(chain(3))
    assert outcome.state == "done"
    assert any(said.startswith("work is not shared with other processes in this run:") for said in outcome.result.messages)


def test_a_lease_that_cannot_be_given_back_does_not_end_the_lane(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(self: Leases, *leases: object) -> None:
        raise unavailable(Path("memo"), sqlite3.OperationalError("disk I/O error"))

    with Lab(home, host_lanes=1) as lab:
        monkeypatch.setattr(Leases, "release", locked)
        assert lab.run(chain(3)).state == "done"
        assert lab.run(chain(3, first=7.0)).state == "done"


@pytest.mark.parametrize("limit", [execute.LANE_WRITE_BYTES, 100])
def test_a_result_is_told_done_only_when_it_is_written(
    open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """By the lane itself, and by the writer that takes the large ones."""
    monkeypatch.setattr(execute, "LANE_WRITE_BYTES", limit)
    lab = open_lab(clock=costly_clock())
    memo = lab.engine.memories.memo
    commit = memo.commit
    told_before: list[str] = []
    handles: list[Handle] = []
    known = threading.Event()

    def slow_commit(rows: Any) -> None:
        assert known.wait(20)
        threading.Event().wait(0.05)  # long enough for a `done` told too early to arrive
        told_before.extend(event.state for event in list(handles[0]._run.events) if isinstance(event, NodeEvent))
        commit(rows)

    monkeypatch.setattr(memo, "commit", slow_commit)
    compiled = lab.engine.load(workflow("t.tensor", t=n("make_tensor", fill=1)))
    plan = lab.engine.plan(compiled)
    handles.append(lab.engine.start(plan))
    known.set()
    until(lambda: handles[0].state != "running")
    assert told_before == ["running"]
    result = handles[0].result()
    assert [one.state for one in result.nodes] == ["done"]


def test_a_writer_that_breaks_does_not_hang_the_run(open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "LANE_WRITE_BYTES", 100)
    lab = open_lab(clock=costly_clock())

    def broken(rows: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(lab.engine.memories.memo, "commit", broken)
    outcome = lab.run(workflow("t.tensor", t=n("make_tensor", fill=1)))
    assert outcome.state == "done"
    assert outcome.result.messages == ["a result of t was not kept: a bug"]


@pytest.mark.spec("R-K01")
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
def test_a_disk_full_or_read_only_from_the_start_costs_caching_and_nothing_else(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(path: Any, *_: object, **__: object) -> None:
        if home in (Path(path), *Path(path).parents):
            raise OSError(error, os.strerror(error), str(path))
        mkdir(path)

    mkdir = os.mkdir
    monkeypatch.setattr(os, "mkdir", refuse)
    text = workflow("y", x=n("add", a=1.0), kept=n("disk_cache", value="@x"), y=n("device_add", a="@kept"))
    with Lab(home, clock=costly_clock()) as lab:
        outcome = lab.run(text)
        assert (outcome.state, outcome.output) == ("done", 1.0)
        said = f"{home / 'memo'} cannot be used for caching: "
        assert any(said in message and os.strerror(error) in message for message in outcome.result.messages)
        assert lab.run(text).ran == ["kept"]  # the rest is remembered in RAM
    assert not home.exists()


def test_a_home_that_can_be_no_folder_is_refused(home: Path) -> None:
    home.write_text("a file where the folder should be")
    with pytest.raises(FileExistsError):
        Lab(home)
