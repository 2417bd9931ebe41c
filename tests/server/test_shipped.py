"""The page and the templates are found in a checkout where they are made, in an installed wheel beside the modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.shipped import CANVAS, TEMPLATES, canvas, is_checkout, templates

ROOT = Path(__file__).parents[2]


def a_page(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "index.html").touch()
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "latentgraph"\nversion = "1"\n')
    (tmp_path / "workflows").mkdir()
    return tmp_path


def test_a_checkout_serves_what_was_built_in_it_and_never_a_copy(checkout: Path) -> None:
    a_page(checkout / CANVAS)
    (checkout / TEMPLATES).mkdir()
    built = a_page(checkout / "web" / "dist")
    assert (canvas(checkout), templates(checkout)) == (built, checkout / "workflows")


def test_a_checkout_without_a_built_page_has_no_canvas(checkout: Path) -> None:
    (checkout / "web" / "dist" / "assets").mkdir(parents=True)
    assert canvas(checkout) is None


def test_an_installed_copy_has_both_beside_its_modules(tmp_path: Path) -> None:
    (tmp_path / TEMPLATES).mkdir(parents=True)
    assert (canvas(tmp_path), templates(tmp_path)) == (None, tmp_path / TEMPLATES)
    page = a_page(tmp_path / CANVAS)
    assert canvas(tmp_path) == page


@pytest.mark.parametrize("project", [None, b'[project]\nname = "another"\n', b"\xff", b'[tool.x]\nwants = ["latentgraph"]\n'])
def test_what_others_installed_or_keep_beside_us_is_not_ours(tmp_path: Path, project: bytes | None) -> None:
    """`web` and `workflows` are names of packages of others, and `pip install --target` may lead into somebody's project."""
    if project is not None:
        (tmp_path / "pyproject.toml").write_bytes(project)
    a_page(tmp_path / "web" / "dist")
    (tmp_path / "workflows").mkdir()
    assert (is_checkout(tmp_path), canvas(tmp_path), templates(tmp_path)) == (False, None, None)


def test_this_is_a_checkout() -> None:
    assert is_checkout()
    assert templates() == ROOT / "workflows"
