"""What tests/server/GUARANTEES.md says: guarantees, the tests named for each, and the faults that these must catch."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tests.mutants.faults import FAULTS, ROOT, Fault

TABLE: Final = ROOT / "tests/server/GUARANTEES.md"


class Guarantee(NamedTuple):
    """A row of the table."""

    number: int
    text: str
    tests: tuple[str, ...]
    faults: tuple[str, ...]


class Claim(NamedTuple):
    """That some tests of a guarantee catch a fault."""

    guarantee: int
    fault: Fault
    tests: tuple[str, ...]


def rows_of(count: int) -> list[list[str]]:
    """The rows of the tables that have so many columns."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return [row for row in rows if len(row) == count]


def named(cell: str) -> tuple[str, ...]:
    """What stands in backticks in a cell."""
    return tuple(re.findall(r"`([^`]+)`", cell))


def guarantees() -> list[Guarantee]:
    """The first table."""
    rows = [row for row in rows_of(4) if row[0].isdigit()]
    return [Guarantee(int(number), text, named(tests), named(faults)) for number, text, tests, faults in rows]


def the_twelve() -> list[tuple[str, int, str]]:
    """The second table: a fault every list must hold, the guarantee it breaks, its name here."""
    return [(what, int(number), *named(fault)) for what, number, fault in rows_of(3) if number.isdigit()]


def first_tests() -> dict[str, tuple[str, ...]]:
    """The third table: the tests of each id that comes first."""
    return {id: named(tests) for id, tests in rows_of(2) if id.startswith("R-")}


def claims(numbers: set[int]) -> list[Claim]:
    """Each fault of these guarantees (of all for none) with those of the guarantee's tests that the fault says must notice."""
    faults = {fault.name: fault for fault in FAULTS}
    chosen = [row for row in guarantees() if not numbers or row.number in numbers]
    return [Claim(row.number, faults[name], witnesses(faults[name], row)) for row in chosen for name in row.faults]


def witnesses(fault: Fault, row: Guarantee) -> tuple[str, ...]:
    """The guarantee's tests that are among the fault's, which are files or single tests."""
    return tuple(test for test in row.tests if {test, test.partition("::")[0]} & set(fault.tests))
