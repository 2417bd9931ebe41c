"""The README's lines for curl do what it says (Must show 8)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.rig.serving import ROOT, running
from tests.server.whole.conftest import MakeServer

PNG = b"\x89PNG\r\n\x1a\n"


def lines() -> str:
    """The first block of commands in the section."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Over HTTP\n")[2].partition("\n## ")[0]
    return section.partition("```bash\n")[2].partition("```")[0]


@pytest.mark.slow
@pytest.mark.tool("curl", "bash")
def test_the_lines_of_the_readme_submit_follow_and_fetch(make_server: MakeServer, tmp_path: Path) -> None:
    text = lines()
    assert 0 < len(text.splitlines()) < 10
    with running(make_server(name=".latentgraph")) as server:
        script = text.replace("127.0.0.1:8765", f"127.0.0.1:{server.port}")  # the one thing that a test must choose itself
        assert script != text
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        (job,) = server.get("/v1/jobs").json["jobs"]
    assert (job["state"], job["inputs"]["prompt"]) == ("done", "a small green ring on a white background")
    assert "event: snapshot" in done.stdout
    assert "event: end" in done.stdout
    assert (tmp_path / "ring.png").read_bytes().startswith(PNG)
