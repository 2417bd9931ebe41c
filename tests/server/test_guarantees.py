"""tests/server/GUARANTEES.md is true: every guarantee names tests that exist and claim it, and a fault that they catch."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

from tests.mutants.faults import FAULTS

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("GUARANTEES.md")
#: What cannot have a seeded bug of its own: that every other one has.
ABOUT_THE_OTHERS = 24


class Guarantee(NamedTuple):
    """A row of the table."""

    number: int
    text: str
    tests: tuple[str, ...]
    faults: tuple[str, ...]


def guarantees() -> list[Guarantee]:
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].isdigit():
            tests, faults = (tuple(re.findall(r"`([^`]+)`", cell)) for cell in cells[2:])
            rows.append(Guarantee(int(cells[0]), cells[1], tests, faults))
    return rows


def proofs() -> dict[int, set[str]]:
    """The tests marked `proves(n)` by n, as path::name."""
    found: dict[int, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for number in (number for decorator in node.decorator_list for number in proven(decorator)):
                    found.setdefault(number, set()).add(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def proven(decorator: ast.expr) -> list[int]:
    if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute) and decorator.func.attr == "proves":
        return [argument.value for argument in decorator.args if isinstance(argument, ast.Constant)]  # type: ignore[misc]
    return []


def test_all_24_guarantees_are_in_the_table_once() -> None:
    assert [row.number for row in guarantees()] == list(range(1, 25))


def test_every_named_test_exists_and_says_so_itself() -> None:
    marked = proofs()
    missing = [(row.number, test) for row in guarantees() for test in row.tests if test not in marked.get(row.number, set())]
    assert missing == []
    assert [row.number for row in guarantees() if not row.tests] == []


def test_every_guarantee_has_a_fault_and_the_fault_runs_its_tests() -> None:
    faults = {fault.name: fault for fault in FAULTS}
    for row in guarantees():
        if row.number == ABOUT_THE_OTHERS:
            continue
        assert row.faults, f"guarantee {row.number} names no fault"
        for name in row.faults:
            assert name in faults, f"guarantee {row.number} names the fault {name!r}, which tests/mutants does not have"
            files = {test.partition("::")[0] for test in row.tests}
            ran = {test.partition("::")[0] for test in faults[name].tests}
            assert ran & files, f"the fault {name!r} runs {ran}, and guarantee {row.number} is proved by {files}"
