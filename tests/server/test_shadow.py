"""Another distribution may bring a package called `graph`, `nodes` or `server`."""

from __future__ import annotations

from pathlib import Path

from server.shadow import Shadow, shadows


def test_one_that_comes_first_wins_and_a_later_one_does_not(tmp_path: Path) -> None:
    ours, before, after = tmp_path / "ours", tmp_path / "before", tmp_path / "after"
    for package in (ours / "graph", before / "graph", after / "nodes", ours / "nodes"):
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    (after / "server.py").touch()
    found = shadows(ours, [str(before), str(ours), str(after)])
    assert found == [
        Shadow("graph", before / "graph" / "__init__.py", True),
        Shadow("nodes", after / "nodes" / "__init__.py", False),
        Shadow("server", after / "server.py", False),
    ]


def test_a_clean_path_has_none(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    assert shadows(tmp_path / "ours", [str(tmp_path)]) == []
