"""`latentgraph bench`: each benchmark is a module of tests/bench, run in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from graph.errors import nearest
from server.report import DONE, FAILED, tell
from server.settings import WrongUsage


def bench(name: str | None, root: Path = Path(__file__).parents[1]) -> int:
    """Run one benchmark, or all and then print one table of them; gives 1 if a bar is missed. Raises WrongUsage for an unknown name."""
    folder = root / "tests" / "bench"
    known = [path.stem for path in sorted(folder.glob("*.py")) if '__name__ == "__main__"' in path.read_text(encoding="utf-8")]
    if not known:
        raise WrongUsage(f"There is no benchmark in {folder}; bench needs the checkout, not an installed copy. Run it there.")
    if name is not None and name not in known:
        raise WrongUsage(f'There is no benchmark "{name}".{nearest(name, known)}')
    with tempfile.TemporaryDirectory(prefix="latentgraph-bench-") as folder_of_rows:
        rows = Path(folder_of_rows) / "rows"
        codes = [_start(each, rows, root) for each in ([name] if name is not None else known)]
        if name is None and rows.is_file():
            tell("all together:")
            show = "import sys; from tests.bench.table import show_all; show_all(sys.argv[1])"
            subprocess.run([sys.executable, "-c", show, str(rows)], cwd=root, check=True)
    return FAILED if any(codes) else DONE


def _start(name: str, rows: Path, root: Path) -> int:
    """Run one benchmark, which adds its rows to a file; gives its exit code."""
    tell(f"{name}:")
    environment = {**os.environ, "LATENTGRAPH_BENCH_ROWS": str(rows)}
    return subprocess.run([sys.executable, "-m", f"tests.bench.{name}"], cwd=root, env=environment, check=False).returncode
