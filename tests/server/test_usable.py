"""Whether folders can be written, and which time limits hold for nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.usable import Given, unknown_limits, why_unwritable

ROOT = Path(__file__).parents[2]


def test_a_folder_that_can_be_made_and_written_is_good_and_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert why_unwritable(folder) == why_unwritable(folder / "deep" / "er") == ""
    assert list(folder.iterdir()) == []


def test_a_file_in_the_way_is_told_and_so_is_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert why_unwritable(tmp_path / "file" / "deeper") == f"{tmp_path / 'file'} is no folder"
    assert why_unwritable(tmp_path / "link") == f"{tmp_path / 'link'} is no folder"


def test_a_folder_of_others_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)
    assert why_unwritable(tmp_path / "new") == f"{tmp_path} is not yours to write"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_where_nothing_can_be_made_it_is_told_whatever_the_permissions_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: True)
    assert why_unwritable(Path("/proc/x")) == "/proc takes nothing new: No such file or directory"


def test_looking_at_flags_takes_nothing_heavy(tmp_path: Path) -> None:
    """The link is printed after it, and is to come at once."""
    program = (
        "import sys, pathlib, server.serve\n"
        "from server.usable import given_by_flags, refuse_unusable\n"
        "refuse_unusable(given_by_flags({'devices': 'cpu', 'workflows_folder': pathlib.Path(sys.argv[1])}))\n"
        "print(sorted({'torch', 'numpy', 'pydantic', 'networkx'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_limit_of_a_node_type_that_is_none_is_told_where_it_stands() -> None:
    limits = Given("time_limits_s", {"denois": 1.0, "denoise": 2.0}, "LATENTGRAPH_TIME_LIMITS_S")
    assert list(unknown_limits(limits, ["decode", "denoise"])) == [
        'LATENTGRAPH_TIME_LIMITS_S names "denois", which is no node type here, so nothing has that limit. Did you mean "denoise"?'
    ]
