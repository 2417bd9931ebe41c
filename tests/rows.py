"""Which rows of the specification have tests: `python -m tests.rows` prints them, and those that have none.

The groups of the server: I (jobs), J (outputs), L (security) of the feature table, and the 92 tests of the reliability
reference, whose ids begin with R-.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
#: How many rows each group has.
GROUPS: Final = {"I": 14, "J": 10, "L": 12}
RELIABILITY: Final = {"N": 12, "I": 14, "P": 8, "M": 9, "C": 11, "K": 8, "G": 12, "L": 11, "O": 7}

#: Rows that have no test, and why.
WITHOUT: Final = {
    "I9": "there is one engine, so there is nothing to compare",
    "R-N10": "the canvas does not exist yet",
    "R-I14": "no archive is imported anywhere",
    "R-M09": "no sandbox: a pack can do what its user can, and SECURITY.md says so",
    "R-G12": "needs a GPU",
    "R-L01": "measured by tests/bench/streams.py with 1000 streams; tests follow 200 (R-L07, R-L11)",
    "R-O04": "a soak of hours is no test",
    "R-O05": "lowest versions are in pyproject.toml and constraints.txt; nothing asks for advisories",
}


class Marked(NamedTuple):
    """A test and what its marks say."""

    id: str
    rows: tuple[str, ...]
    proves: tuple[int, ...]
    #: Whether only `make test-all` runs it.
    is_long: bool


def all_rows() -> list[str]:
    """Every id, as tests name it."""
    rows = [f"{group}{number}" for group, count in GROUPS.items() for number in range(1, count + 1)]
    return rows + [f"R-{group}{number:02}" for group, count in RELIABILITY.items() for number in range(1, count + 1)]


def marked_tests() -> Iterator[Marked]:
    """The test functions under tests/."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        yield from marks_in(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def marks_in(path: str, source: str) -> list[Marked]:
    """The test functions of a file; they have its `pytestmark` too."""
    tree = ast.parse(source)
    of_all: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            of_all += node.value.elts if isinstance(node.value, ast.List) else [node.value]
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    tests = [function for function in functions if function.name.startswith("test")]
    return [_marked(f"{path}::{test.name}", [*test.decorator_list, *of_all]) for test in tests]


def _marked(id: str, decorators: Iterable[ast.expr]) -> Marked:
    marks: dict[str, list[object]] = {}
    for decorator in decorators:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = ast.unparse(call.func if call else decorator).removeprefix("pytest.mark.")
        found = marks.setdefault(name, [])
        if call is not None and name in ("spec", "proves"):
            found.extend(ast.literal_eval(argument) for argument in call.args)
    rows, proves = tuple(map(str, marks.get("spec", ()))), tuple(int(str(number)) for number in marks.get("proves", ()))
    return Marked(id, rows, proves, "long" in marks)


def coverage() -> dict[str, list[Marked]]:
    """The tests of each row."""
    rows: dict[str, list[Marked]] = {row: [] for row in all_rows()}
    for test in marked_tests():
        for row in test.rows:
            rows.setdefault(row, []).append(test)
    return {row: rows[row] for row in all_rows()}


def without_tests() -> list[str]:
    """The rows that no test is marked with."""
    return [row for row, tests in coverage().items() if not tests]


def main() -> int:
    """Print a line per row: how many tests `make test` and only `make test-all` runs, and one of them."""
    found = coverage()
    for row, tests in found.items():
        count = sum(not test.is_long for test in tests)
        shown = next((test.id for test in sorted(tests, key=lambda test: test.is_long)), WITHOUT.get(row, "no test"))
        print(f"{row:<6} {count:>3} {len(tests) - count:>3}  {shown}")
    without = without_tests()
    print(f"{len(found) - len(without)} of {len(found)} rows have tests; without: {', '.join(without) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
