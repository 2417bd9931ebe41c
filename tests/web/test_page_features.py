"""The table of what shows each feature of the canvas (web/tests/FEATURES.md) names tests that exist, and every flow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOWS = ROOT / "web" / "tests"
TABLE = (FLOWS / "FEATURES.md").read_text(encoding="utf-8")
LINES = [line.removeprefix("- ") for line in TABLE.splitlines() if line.startswith("- ")]
_TEST = re.compile(r'([\w./]+) "([^"]+)"')


def named(line: str) -> list[tuple[str, str]]:
    """The tests of a line: the file and the test's name."""
    return _TEST.findall(line.partition(": ")[2])


def flows_in(file: Path) -> list[str]:
    return re.findall(r'^(?:flow|longFlow)\("(.*?)",', file.read_text(encoding="utf-8"), re.MULTILINE)


def exists(file: str, name: str) -> bool:
    if file.endswith(".py"):
        return re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE) is not None
    if file.startswith("src/"):
        return f'"{name}"' in (ROOT / "web" / file).read_text(encoding="utf-8")
    return name in flows_in(FLOWS / f"{file}.test.ts")


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.partition(": ")[0])
def test_a_feature_names_tests_that_exist(line: str) -> None:
    assert named(line)
    assert [test for test in named(line) if not exists(*test)] == []


def test_every_flow_shows_a_feature() -> None:
    shown = {name for line in LINES for _, name in named(line)}
    flows = {name for file in FLOWS.glob("*.test.ts") for name in flows_in(file)}
    assert flows - shown == set()
    assert len(flows) >= 90


def test_the_table_has_the_five_parts_of_the_list() -> None:
    assert re.findall(r"^## (\d)\. ", TABLE, re.MULTILINE) == ["1", "2", "3", "4", "5"]
