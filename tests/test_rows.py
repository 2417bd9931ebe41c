"""Every row of the specification's groups for the server has a test, or a reason why it has none."""

from __future__ import annotations

import pytest

from tests.rows import WITHOUT, Marked, all_rows, main, marked_tests, marks_in, without_tests

#: Groups of the feature table that the server's issue does not hold; their rows are marked all the same.
OTHERS = "0ABCDEFGHKMNOP"


def test_the_list_has_36_rows_of_the_table_and_92_of_the_reference() -> None:
    rows = all_rows()
    assert (len([row for row in rows if row[0] != "R"]), len([row for row in rows if row[0] == "R"])) == (36, 92)
    assert (rows[0], rows[13], rows[-1]) == ("I1", "I14", "R-O07")


def test_no_mark_names_a_row_that_does_not_exist() -> None:
    known = set(all_rows())
    marks = {row for test in marked_tests() for row in test.rows if row[0] not in OTHERS}
    assert marks <= known


@pytest.mark.parametrize("row", all_rows())
def test_every_row_has_a_test_or_a_reason(row: str, missing: set[str]) -> None:
    assert row not in missing or row in WITHOUT


@pytest.fixture(scope="module")
def missing() -> set[str]:
    return set(without_tests())


def test_the_list_is_printed_with_a_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == all_rows()
    assert lines[-1].startswith(f"{128 - len(without_tests())} of 128 rows have tests; without: ")


def test_marks_are_read_as_pytest_reads_them() -> None:
    source = """
pytestmark = [pytest.mark.slow, pytest.mark.spec("R-L09")]

@pytest.mark.spec("I2", "R-C01")
@pytest.mark.proves(1, 2)
@pytest.mark.long
def test_it(): ...

def helper(): ...
"""
    assert marks_in("a.py", source) == [Marked("a.py::test_it", ("I2", "R-C01", "R-L09"), (1, 2), True)]
