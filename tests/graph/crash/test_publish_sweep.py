"""Killed at every single system call of a publication: what is listed is whole, and a retry publishes exactly once (R-C02)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.crash.publishes import CONTENT

ROOT = Path(__file__).parents[3]
#: One name at a time: strace counts each name by itself, so in a set the interpreter's start would use up the kills.
CALLS = ("link", "linkat", "rename", "fsync", "openat", "unlink", "write", "pwrite64")


def run(folder: Path, *strace: str) -> subprocess.CompletedProcess[str]:
    """The child, under strace if anything is given for it. Without `site`, which would open hundreds of files."""
    path = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    command = [sys.executable, "-S", "-B", "-m", "tests.graph.crash.publishes", str(folder)]
    traced = ["strace", "-f", "-qq", *strace, *command] if strace else command
    environment = {"PYTHONPATH": path, "PATH": os.environ["PATH"]}
    return subprocess.run(traced, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


def first_that_matters(call: str, folder: Path, log: Path) -> int:
    """The number of the first such call that is not the interpreter's start: from the look at the folder on."""
    assert run(folder, "-e", f"trace={call},stat,newfstatat,statx", "-o", str(log)).returncode == 0
    before, found, _ = log.read_text().partition(str(folder))
    assert found
    return len(re.findall(rf"^\d+ +{call}\(", before.rpartition("\n")[0], re.MULTILINE)) + 1


def listed(folder: Path) -> dict[str, bytes]:
    """The contents of the files that have a readable sidecar."""
    return {
        path.stem: path.with_suffix(".png").read_bytes()
        for path in folder.glob("[!.]*.json")
        if json.loads(path.read_text())["bytes"]
    }


def sweep(call: str, tmp_path: Path, stride: int = 1) -> int:
    """Kill at each such call in turn, then try again; the number of kills."""
    (tmp_path / "count").mkdir()
    number = first = first_that_matters(call, tmp_path / "count", tmp_path / "log")
    while True:
        folder = tmp_path / f"{call}-{number}"
        folder.mkdir()
        killed = run(folder, "-e", f"trace={call}", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}")
        told = "published" in killed.stdout
        before = listed(folder)
        assert set(before.values()) <= {CONTENT}, f"a torn file is listed after a kill at {call} number {number}"
        assert len(before) == 2 or not told, f"what was told to be published is not there after a kill at {call} number {number}"
        again = run(folder)
        assert again.returncode == 0, f"after a kill at {call} number {number}: {again.stderr}"
        assert sorted(listed(folder).values()) == [CONTENT] * 2, f"not published once after a kill at {call} number {number}"
        left = [path.name for path in folder.iterdir() if path.suffix not in (".png", ".json") or path.name.startswith(".")]
        assert left == [], f"left over after a kill at {call} number {number}"
        assert len(list(folder.iterdir())) == 4
        if killed.returncode == 0:
            return number - first
        number += stride


@pytest.mark.slow
@pytest.mark.tool("strace")
@pytest.mark.spec("R-C02", "J1", "J2", "J9")
@pytest.mark.proves(4)
@pytest.mark.parametrize("call", CALLS)
def test_killed_at_any_call_of_this_name_a_retry_publishes_once(call, tmp_path):
    kills = sweep(call, tmp_path)
    # os.link is the call `link` or `linkat`, whichever the C library uses; nothing here renames or writes at a place
    expected = {"link": 0, "linkat": 0, "rename": 0, "pwrite64": 0}
    assert kills >= expected.get(call, 4)


@pytest.mark.slow
@pytest.mark.tool("strace")
def test_links_are_among_the_calls_that_are_killed(tmp_path):
    (tmp_path / "folder").mkdir()
    done = run(tmp_path / "folder", "-e", "trace=link,linkat", "-o", str(tmp_path / "log"))
    assert done.returncode == 0
    assert len(re.findall(r"^\d+ +link(at)?\(", (tmp_path / "log").read_text(), re.MULTILINE)) == 4
