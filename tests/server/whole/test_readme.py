"""What the README says of the server is true: its Python lines run as they stand, its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig.serving import ROOT, Server

README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = "http://127.0.0.1:8765/#token=..."


def python_lines() -> str:
    """The block of the section on the server, as it stands."""
    section = README.partition("\n## The server\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(block)


@pytest.mark.slow
def test_the_five_lines_of_the_client_draw_and_fetch_a_picture(server: Server, tmp_path: Path) -> None:
    lines = python_lines()
    assert len([line for line in lines.splitlines() if line]) <= 5
    assert lines.count(LINK) == 1
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    done = subprocess.run(
        [sys.executable, "-c", lines.replace(LINK, f"{server.url}/#token={server.token}")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"pictures/mini-[0-9A-Za-z-]+\.png\n", done.stdout)
    assert (tmp_path / done.stdout.strip()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md", "docs/README.md", "docs/operation.md"])
def test_every_link_of_the_documents_leads_to_a_file(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_every_target_the_readme_names_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))
    assert {"demo", "serve", "test"} <= named
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
