"""tests/server/GUARANTEES.md is true: every guarantee names tests that exist and claim it, and a fault that they catch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.mutants.faults import FAULTS
from tests.mutants.guarantees import claims, first_tests, guarantees, the_twelve
from tests.rows import ROOT, Marked, marked_tests

#: What cannot have a seeded bug of its own: that every other one has.
ABOUT_THE_OTHERS = 24
FIRST = (
    "N03", "N05", "N07", "N08", "I02", "I03", "I04", "I05", "I10", "P01", "M01", "M02", "C01", "C07", "C08", "K01", "K03", "K04",
    "G01", "G05", "G06", "L02", "L04", "L09",
)  # fmt: skip


@pytest.fixture(scope="module")
def marked() -> dict[str, Marked]:
    return {test.id: test for test in marked_tests()}


def test_all_24_guarantees_are_in_the_table_once() -> None:
    assert [row.number for row in guarantees()] == list(range(1, 25))


def test_every_named_test_exists_and_says_so_itself(marked: dict[str, Marked]) -> None:
    missing = [(row.number, test) for row in guarantees() for test in row.tests if row.number not in marked[test].proves]
    assert missing == []
    assert [row.number for row in guarantees() if not row.tests] == []
    assert [
        (row.number, test)
        for row in guarantees()
        for test in row.tests
        if marked[test].is_long and row.number != ABOUT_THE_OTHERS
    ] == []


@pytest.mark.proves(24)
def test_every_guarantee_has_a_fault_and_the_fault_runs_its_tests() -> None:
    known = {fault.name for fault in FAULTS}
    for row in guarantees():
        assert row.faults or row.number == ABOUT_THE_OTHERS, f"guarantee {row.number} names no fault"
        assert set(row.faults) <= known, f"guarantee {row.number} names faults that tests/mutants does not have"
    unseen = [(claim.guarantee, claim.fault.name, claim.fault.tests) for claim in claims(set()) if not claim.tests]
    assert unseen == []  # the fault runs none of the tests named for its guarantee


@pytest.mark.spec("R-O07")
def test_the_twelve_faults_are_among_those_of_the_guarantees() -> None:
    faults = {row.number: row.faults for row in guarantees()}
    assert len(the_twelve()) == 12
    assert [(what, fault) for what, number, fault in the_twelve() if fault not in faults[number]] == []


def test_each_test_that_comes_first_is_there_marked_and_run_by_make_test(marked: dict[str, Marked]) -> None:
    first = first_tests()
    assert list(first) == [f"R-{id}" for id in FIRST]
    for id, tests in first.items():
        assert tests, f"{id} has no test"
        unfit = [test for test in tests if test not in marked or id not in marked[test].rows or marked[test].is_long]
        assert unfit == [], f"{id} names tests that are not there, are not marked with it, or are marked long"


@pytest.mark.long
@pytest.mark.spec("R-O07")
@pytest.mark.proves(24)
def test_every_fault_of_a_guarantee_is_caught_by_the_tests_named_for_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants", "--guarantees"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
