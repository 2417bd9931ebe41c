"""Benchmark of the command line's start: --help, validate, and a run of the default workflow with all remembered.

`python -m tests.bench.startup`. Each sample is a fresh process, from its start to its end. Where other processes use
the cores, wall time says nothing about us: then the CPU seconds of the process are judged against the same bars.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.table import BusyElsewhere, Row, row, show

ROOT = Path(__file__).parents[2]
SAMPLES = 15
#: Other processes may use this much of a core before wall time is no longer judged.
QUIET_CORES = 0.3

MAIN = "from server.cli import main; main()"


def sample(home: Path, *arguments: str) -> tuple[float, float]:
    """Wall and CPU seconds of one command."""
    environment = {**os.environ, "LATENTGRAPH_HOME": str(home), "PYTHONPATH": str(ROOT)}
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", MAIN, *arguments], cwd=home, env=environment, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def measure(name: str, bar_s: float, home: Path, *arguments: str) -> Row:
    """Run a command once for its caches, then `SAMPLES` times."""
    sample(home, *arguments)
    with BusyElsewhere() as busy:
        samples = [sample(home, *arguments) for _ in range(SAMPLES)]
    wall, cpu = ([one[index] for one in samples] for index in (0, 1))
    if busy.cores < QUIET_CORES:
        return row(name, wall, "s", at_most=bar_s)
    return row(
        f"{name} (CPU)", cpu, "s", at_most=bar_s, note=f"others used {busy.cores:.1f} cores; wall {min(wall):.2f} s at best"
    )


def rows() -> list[Row]:
    """All measurements, on a data folder of their own."""
    workflow = str(ROOT / "workflows" / "mini_text_to_image.json")
    with tempfile.TemporaryDirectory(prefix="latentgraph-bench-") as folder:
        home = Path(folder)
        found = [
            measure("--help", 0.25, home, "--help"),
            measure("validate", 0.35, home, "validate", workflow),
        ]
        if (ROOT / "nodes" / "mini" / "weights" / "model_index.json").is_file():
            found.append(measure("run, all remembered", 0.8, home, "run", workflow))
        return found


if __name__ == "__main__":
    sys.exit(0 if show(rows()) else 1)
