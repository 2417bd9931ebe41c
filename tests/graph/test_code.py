"""The code digest: what changes it and what does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graph.code import CodeDigests

NODE = '''
"""Nodes."""
from .parts import double

def run(x):
    """Say it."""
    return double(x)  # twice
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `sample_pack` with a node module and a helper, on the path and never imported."""
    folder = tmp_path / "code" / "sample_pack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "parts.py").write_text("def double(x):\n    return 2 * x\n")
    (folder / "unused.py").write_text("def other():\n    return 1\n")
    (folder / "tone.py").write_text(NODE)
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def digest(module: str = "sample_pack.tone") -> str:
    return CodeDigests().of(module, frozenset({"sample_pack"}))


def edited(path: Path, old: str, new: str) -> str:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return digest()


def test_comments_docstrings_and_formatting_leave_the_digest(package: Path) -> None:
    before = digest()
    assert edited(package / "tone.py", "# twice", "# two times") == before
    assert edited(package / "tone.py", '"""Say it."""', '"""Say it\n    otherwise."""') == before
    assert edited(package / "parts.py", "2 * x", "(2*x)") == before


def test_a_node_that_has_only_a_docstring_is_read(package: Path) -> None:
    (package / "tone.py").write_text('def run(x):\n    """Nothing."""\n')
    assert digest() == edited(package / "tone.py", "Nothing.", "Nothing yet.")


def test_a_change_in_the_module_changes_the_digest(package: Path) -> None:
    before = digest()
    assert edited(package / "tone.py", "double(x)", "double(x) + 1") != before


def test_a_change_in_an_imported_module_changes_the_digest(package: Path) -> None:
    before = digest()
    assert edited(package / "parts.py", "2 * x", "3 * x") != before


def test_a_change_in_the_packages_init_changes_the_digest(package: Path) -> None:
    before = digest()
    (package / "__init__.py").write_text("FACTOR = 2\n")
    assert digest() != before


def test_a_change_in_a_module_not_imported_leaves_the_digest(package: Path) -> None:
    before = digest()
    assert edited(package / "unused.py", "return 1", "return 2") == before


@pytest.mark.parametrize(
    "statement",
    [
        "from sample_pack.unused import other",
        "from sample_pack import unused",
        "from . import unused",
        "import sample_pack.unused",
        "def later():\n    from .unused import other\n",
        'LAZY = {"other": "sample_pack.unused:other"}',
        'LAZY = "sample_pack.unused"',
    ],
)
def test_every_way_to_import_is_followed(package: Path, statement: str) -> None:
    (package / "tone.py").write_text(statement + "\n")
    before = digest()
    assert edited(package / "unused.py", "return 1", "return 2") != before


def test_modules_of_other_packages_stay_out(package: Path) -> None:
    (package / "tone.py").write_text("import json\nimport sample_other\n")
    (package.parent / "sample_other.py").write_text("x = 1\n")
    before = digest()
    (package.parent / "sample_other.py").write_text("x = 2\n")
    assert digest() == before


def test_import_cycles_end(package: Path) -> None:
    (package / "parts.py").write_text("from . import tone\ndef double(x):\n    return 2 * x\n")
    assert len(digest()) == 64


def test_nothing_is_imported(package: Path) -> None:
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    assert len(digest()) == 64
    assert not [name for name in sys.modules if name.startswith("sample_pack")]


def test_a_module_without_source_is_refused(package: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"sample_pack\.missing has no source file"):
        digest("sample_pack.missing")


def test_the_files_read_are_told(package: Path) -> None:
    digests = CodeDigests()
    digests.of("sample_pack.tone", frozenset({"sample_pack"}))
    assert sorted(Path(state.path).name for state in digests.sources.values()) == ["__init__.py", "parts.py", "tone.py"]
