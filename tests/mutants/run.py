"""Applies the faults one by one to a copy of the tree and runs the tests that must notice: `python tests/mutants/run.py [NAME]...`.

Prints a table and exits with 1 if a fault is not caught. The copy is made once; each edit is undone before the next.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

if not __package__:  # run as a file
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mutants.faults import FAULTS, ROOT, Fault

#: A fault that makes a test hang is caught too.
LIMIT_SECONDS = 300
PARTS = ("graph", "nodes", "server", "tests", "workflows", "pyproject.toml")
TESTS_FAILED = 1


def copy_tree(target: Path) -> None:
    """The parts of the tree that tests need, without caches."""
    ignore = shutil.ignore_patterns("__pycache__", ".*_cache", "node_modules")
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.exists():
            shutil.copy(source, target / name)


def run_tests(root: Path, tests: Sequence[str]) -> tuple[int, str]:
    """pytest's exit code and output; a timeout counts as failed tests."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, check=False, cwd=root, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return TESTS_FAILED, f"FAILED by taking more than {LIMIT_SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def first_failure(output: str) -> str:
    """The test that noticed."""
    found = [line for line in output.splitlines() if line.startswith("FAILED")]
    return found[0].removeprefix("FAILED ").split(" - ")[0] if found else ""


def check(root: Path, fault: Fault) -> tuple[str, str]:
    """ "caught", "NOT CAUGHT" or "BROKEN" (the tests could not run), and what to show beside it."""
    path = root / fault.file
    before = path.read_text(encoding="utf-8")
    try:
        fault.apply(root)
        code, output = run_tests(root, fault.tests)
    finally:
        path.write_text(before, encoding="utf-8")
    if code == TESTS_FAILED:
        return "caught", first_failure(output)
    return ("NOT CAUGHT", " ".join(fault.tests)) if code == 0 else ("BROKEN", output.strip()[-500:])


def main(names: Sequence[str]) -> int:
    """Run the faults whose name contains one of `names`, or all. The exit code."""
    chosen = [fault for fault in FAULTS if not names or any(name in fault.name for name in names)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder)
        copy_tree(root)
        tests = sorted({test for fault in chosen for test in fault.tests})
        code, output = run_tests(root, tests)
        if code != 0:
            print(output, file=sys.stderr)
            print("The tests fail without any fault, so nothing can be said of the faults. Mend them first.", file=sys.stderr)
            return 1
        escaped = 0
        for fault in chosen:
            started = time.perf_counter()
            verdict, shown = check(root, fault)
            escaped += verdict != "caught"
            print(f"{verdict:<10} {time.perf_counter() - started:5.1f} s  {fault.name:<45} {shown}", flush=True)
    print(f"{len(chosen) - escaped} of {len(chosen)} faults caught")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
