"""`latentgraph bench`: each benchmark is a module of tests/bench, run in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from graph.errors import nearest
from server.report import DONE, FAILED, tell
from server.settings import WrongUsage


def bench(name: str | None, root: Path = Path(__file__).parents[1]) -> int:
    """Run one benchmark, or all one after another; gives 1 if a bar is missed. Raises WrongUsage for an unknown name."""
    folder = root / "tests" / "bench"
    known = [path.stem for path in sorted(folder.glob("*.py")) if '__name__ == "__main__"' in path.read_text(encoding="utf-8")]
    if not known:
        raise WrongUsage(f"There is no benchmark in {folder}; bench needs the checkout, not an installed copy.")
    if name is not None and name not in known:
        raise WrongUsage(f'There is no benchmark "{name}".{nearest(name, known)}')
    codes = []
    for each in [name] if name is not None else known:
        tell(f"{each}:")
        codes.append(subprocess.run([sys.executable, "-m", f"tests.bench.{each}"], cwd=root, check=False).returncode)
    return FAILED if any(codes) else DONE
