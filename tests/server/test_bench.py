"""`latentgraph bench` starts modules of tests/bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.bench import bench
from server.settings import WrongUsage

MODULE = 'import os, sys, pathlib\nopen(os.environ["LATENTGRAPH_BENCH_ROWS"], "a").write("{name} ")\npathlib.Path("{name}.ran").touch()\nif __name__ == "__main__":\n    sys.exit({code})\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tests" / "bench"
    folder.mkdir(parents=True)
    (folder / "table.py").write_text('def show_all(path):\n    open("all", "w").write(open(path).read())\n')
    for name, code in (("engine", 0), ("store", 1)):
        (folder / f"{name}.py").write_text(MODULE.format(name=name, code=code))
    return tmp_path


def test_one_benchmark_is_run_and_its_missed_bar_gives_1(root: Path) -> None:
    assert (bench("engine", root), bench("store", root)) == (0, 1)


def test_without_a_name_all_are_run(root: Path) -> None:
    assert bench(None, root) == 1
    assert {path.name for path in root.glob("*.ran")} == {"engine.ran", "store.ran"}


def test_all_of_them_are_shown_in_one_table_at_the_end(root: Path) -> None:
    bench(None, root)
    assert (root / "all").read_text() == "engine store "


def test_an_unknown_name_is_refused_with_the_nearest(root: Path) -> None:
    with pytest.raises(WrongUsage, match=r'There is no benchmark "enginee"\. Did you mean "engine"\?'):
        bench("enginee", root)


def test_without_a_checkout_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="bench needs the checkout, not an installed copy"):
        bench("engine", tmp_path)
