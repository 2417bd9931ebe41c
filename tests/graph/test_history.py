from __future__ import annotations

import sqlite3
import statistics
from pathlib import Path

import pytest

from graph.history import FADING, SAMPLES, Estimate, History, weighted_median
from graph.table import Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "memo", 1 << 20)


def test_nothing_is_estimated_for_what_never_ran(table: Table) -> None:
    assert History(table).estimate(b"s", "denoise") is None


def test_one_run_is_the_estimate(table: Table) -> None:
    history = History(table)
    history.record(b"s", "denoise", 2.0, 500)
    assert history.estimate(b"s", "denoise") == Estimate(2.0, 500, 1, True)


def test_an_unknown_signature_takes_its_node_types_cost(table: Table) -> None:
    history = History(table)
    history.record(b"s", "denoise", 2.0, 500)
    assert history.estimate(b"other", "denoise") == Estimate(2.0, 500, 1, False)
    assert history.estimate(b"other", "decode") is None


def test_a_slow_first_run_does_not_spoil_the_estimate(table: Table) -> None:
    history = History(table)
    for seconds in (60.0, 2.0, 2.1, 2.2):
        history.record(b"s", "denoise", seconds)
    estimate = history.estimate(b"s", "denoise")
    assert estimate is not None
    assert 2.0 <= estimate.seconds <= 2.2


def test_costs_that_changed_for_good_are_learned_within_a_few_runs(table: Table) -> None:
    history = History(table)
    for seconds in [10.0] * 20 + [1.0] * 4:
        history.record(b"s", "denoise", seconds)
    estimate = history.estimate(b"s", "denoise")
    assert estimate is not None
    assert (estimate.seconds, estimate.samples) == (1.0, 24)


def test_the_largest_remembered_peak_counts(table: Table) -> None:
    history = History(table)
    for peak in [9000, *[100] * (SAMPLES - 1)]:
        history.record(b"s", "denoise", 1.0, peak)
    assert history.estimate(b"s", "denoise") == Estimate(1.0, 9000, SAMPLES, True)
    history.record(b"s", "denoise", 1.0, 100)
    assert history.estimate(b"s", "denoise") == Estimate(1.0, 100, SAMPLES + 1, True)


def test_a_later_process_knows_what_was_flushed(table: Table) -> None:
    history = History(table)
    history.record(b"s", "denoise", 2.0, 500)
    history.flush()
    later = History(Table(table.folder, 1 << 20))
    later.record(b"s", "denoise", 2.0, 700)
    assert later.estimate(b"s", "denoise") == Estimate(2.0, 700, 2, True)


def test_records_are_written_in_batches(table: Table) -> None:
    writes = []
    write = table.write
    table.write = lambda rows: (writes.append(1), write(rows))  # type: ignore[method-assign,assignment]
    history = History(table)
    for i in range(200):
        history.record(b"%d" % i, "denoise", 1.0)
    assert 2 <= len(writes) <= 4


@pytest.mark.parametrize(
    "damage", ["UPDATE Cache SET value = zeroblob(30)", "UPDATE Cache SET value = 'text'", "UPDATE Cache SET mode = 4"]
)
def test_damage_is_no_estimate(table: Table, damage: str) -> None:
    history = History(table)
    history.record(b"s", "denoise", 2.0, 500)
    history.flush()
    with sqlite3.connect(table.folder / "cache.db") as connection:
        connection.execute(damage)
    connection.close()
    assert History(table).estimate(b"s", "denoise") is None


def test_rows_of_another_form_are_no_estimate(table: Table) -> None:
    rows = [b"", b"\xc1", b"\x01", b"\x92\x01\x90", b"\x92\x01\x91\x01", b"\x92\x01\x91\x92\xa1x\xa1y"]
    table.write((b"c", b"%d" % i, row) for i, row in enumerate(rows))
    assert [History(table).estimate(b"%d" % i, "denoise") for i in range(len(rows))] == [None] * len(rows)


def test_an_unwritable_folder_only_forgets(table: Table) -> None:
    table._cache._con.execute("PRAGMA query_only = 1")
    history = History(table)
    history.record(b"s", "denoise", 2.0)
    history.flush()
    assert history.estimate(b"s", "denoise") == Estimate(2.0, 0, 1, True)


def test_the_weighted_median_agrees_with_repeating_values() -> None:
    """Each value repeated in proportion to its weight, then the plain lower median."""
    for values in ([3.0], [1.0, 2.0], [5.0, 1.0, 4.0], [9.0, 8.0, 1.0, 2.0, 3.0, 7.0]):
        repeated = [v for age, v in enumerate(reversed(values)) for _ in range(round(100_000 * FADING**age))]
        assert weighted_median(values) == statistics.median_low(repeated)
