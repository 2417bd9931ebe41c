"""Kill -9 at random moments of a run: nothing torn is left, and nothing that was told done is done again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from graph.disk_cache import DiskCacheFolder
from graph.memo import Memo

ROOT = Path(__file__).parents[3]
DONE = re.compile(r"(\S+)\[(\S+)\] done (\S+)")
#: Work of at least this long is never done twice once it was told.
KEPT = 0.005
UNKEPT = ("save_one", "save_two", "kept")


class Told(NamedTuple):
    """What a run told before it ended or was killed."""

    lines: list[str]

    @property
    def done(self) -> set[str]:
        """Nodes of 5 ms and more that were told to be done and are remembered ones."""
        found = (DONE.fullmatch(line) for line in self.lines)
        return {f"{one[1]}[{one[2]}]" for one in found if one and float(one[3]) >= KEPT and one[1] not in UNKEPT}

    @property
    def begun(self) -> set[str]:
        return {line.split()[0] for line in self.lines if line.endswith(f"running {0:.6f}")}

    @property
    def end(self) -> str:
        return self.lines[-1] if self.lines and self.lines[-1].startswith("end ") else ""


class Runs:
    """Starts runs in children of a process that has everything imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.graph.crash.nodes_that_write"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, home: Path, output: Path, kill_after: float | None = None) -> tuple[Told, int]:
        """A run that is killed so many seconds after it is ready, and its exit code."""
        self.count += 1
        told = self.folder / f"told-{self.count}"
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{home} {output} {told}\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        if kill_after is not None:
            while not told.exists() or not told.read_text():
                time.sleep(0.0005)
            time.sleep(kill_after)
            with suppress(ProcessLookupError):  # it was quicker
                os.kill(child, signal.SIGKILL)
        code = int(self.process.stdout.readline())
        lines = told.read_text().split("\n") if told.exists() else []
        return Told(lines[:-1]), code  # a line that was cut short was not told

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    made = Runs(tmp_path)
    yield made
    made.close()


def published(folder: Path) -> dict[str, set[bytes]]:
    """Contents by node of the files that have their sidecar. Each must be whole."""
    found: dict[str, set[bytes]] = {}
    for sidecar in folder.glob("*.json"):
        said = json.loads(sidecar.read_text())
        content = sidecar.with_suffix(".bin").read_bytes()
        assert len(content) == said["bytes"]
        found.setdefault(said["node"], set()).add(content)
    return found


def assert_whole(home: Path) -> None:
    """Every entry that is visible is what its name says."""
    memo = Memo(home / "memo", 2**30, 2**20)
    assert memo.verify().damaged == ()
    assert memo.table.damaged == 0
    memo.close()
    assert list((home / "memo" / "tmp").iterdir()) == []
    folder = home / "disk_cache" / "default"
    if folder.exists():
        assert DiskCacheFolder(folder, 2**30).verify().bad == ()


def kill_and_run_again(runs: Runs, folder: Path, seed: int, trials: int) -> None:
    rng = random.Random(seed)
    whole, code = runs.run(folder / "whole" / "home", folder / "whole" / "out")
    assert code == 0
    assert whole.end.startswith("end done")
    expected = published(folder / "whole" / "out")
    assert set(expected) == {"save_one", "save_two"}
    (took,) = [float(line.split()[1]) for line in whole.lines if line.startswith("took ")]
    killed = 0
    for trial in range(trials):
        home, output = folder / str(trial) / "home", folder / str(trial) / "out"
        told = Told([])
        seen: set[str] = set()
        for _ in range(rng.choice([1, 1, 2])):  # sometimes the second run is killed too
            told, code = runs.run(home, output, kill_after=rng.uniform(0, took))
            killed += code == -signal.SIGKILL
            assert told.begun & seen == set(), "work that was told done was done again"
            seen |= told.done
            assert all(contents <= expected[node] for node, contents in published(output).items())
            assert {path.read_bytes() for path in output.glob("[!.]*.bin")} <= set().union(*expected.values())
        again, code = runs.run(home, output)
        assert code == 0
        assert again.end == whole.end
        assert again.begun & seen == set(), "work that was told done was done again"
        assert published(output) == expected
        assert_whole(home)
    assert killed >= trials / 3  # else the moments were too late to mean anything


@pytest.mark.slow
def test_a_run_killed_at_random_moments_goes_on_where_it_was(runs: Runs, tmp_path: Path) -> None:
    kill_and_run_again(runs, tmp_path, seed=1, trials=12)


@pytest.mark.long
def test_a_run_killed_at_50_random_moments_goes_on_where_it_was(runs: Runs, tmp_path: Path) -> None:
    kill_and_run_again(runs, tmp_path, seed=2, trials=50)
