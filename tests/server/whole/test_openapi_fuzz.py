"""Schemathesis sends what the OpenAPI document allows and forbids: no 5xx, no undocumented answer (Must show 3).

Event streams and the socket never end by themselves; they have tests of their own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig.serving import Server

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
STREAMS = r"/events$|/v1/ws$"


def fuzz(server: Server, folder: Path, seconds: int, examples: int, phases: str) -> None:
    """Run schemathesis against the server; it must find nothing."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION), "run", f"{server.url}/v1/openapi.json",
        "--header", f"Authorization:Bearer {server.token}", "--checks", "all", "--phases", phases,
        "--exclude-path-regex", STREAMS, "--max-time", str(seconds), "--max-examples", str(examples), "--seed", "1",
        "--request-timeout", "30", "--continue-on-failure", "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


@pytest.mark.slow
@pytest.mark.spec("R-I01")
@pytest.mark.proves(22)
def test_the_api_answers_as_its_document_says(server: Server, tmp_path: Path) -> None:
    fuzz(server, tmp_path, 45, 5, "examples,coverage,fuzzing")
    assert server.get("/readyz").status == 200


@pytest.mark.long
@pytest.mark.spec("R-I01")
def test_the_api_answers_as_its_document_says_for_long(server: Server, tmp_path: Path) -> None:
    fuzz(server, tmp_path, 600, 200, "examples,coverage,fuzzing,stateful")
    assert server.get("/readyz").status == 200
