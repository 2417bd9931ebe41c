"""Applies the faults one by one to a copy of the tree and runs the tests that must notice.

`python -m tests.mutants [NAME]...` runs the tests that the faults name; `python -m tests.mutants --guarantees [N]...` the
faults of tests/server/GUARANTEES.md, each against only the tests that are named for its guarantee there. Prints a table and
exits with 1 if a fault is not caught. The copy is made once; each edit is undone before the next.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

if not __package__:  # run as a file
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mutants.faults import FAULTS, ROOT, Fault
from tests.mutants.guarantees import claims

#: A fault that makes a test hang is caught too.
LIMIT_SECONDS = 300
#: All their tests together, without a fault.
SOUND_SECONDS = 1800
PARTS = ("graph", "nodes", "server", "tests", "workflows", "docs", "README.md", "pyproject.toml")
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


def run_tests(root: Path, tests: Sequence[str], limit_s: float = LIMIT_SECONDS) -> tuple[int, str]:
    """pytest's exit code and output; a timeout counts as failed tests."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, check=False, cwd=root, env=environment, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return TESTS_FAILED, f"FAILED by taking more than {limit_s:.0f} s"
    return done.returncode, done.stdout + done.stderr


def first_failure(output: str) -> str:
    """The test that noticed."""
    found = [line for line in output.splitlines() if line.startswith("FAILED")]
    return found[0].removeprefix("FAILED ").split(" - ")[0] if found else ""


def check(root: Path, fault: Fault, tests: Sequence[str]) -> tuple[str, str]:
    """ "caught", "NOT CAUGHT" or "BROKEN" (the tests could not run), and what to show beside it."""
    path = root / fault.file
    before = path.read_text(encoding="utf-8")
    try:
        fault.apply(root)
        code, output = run_tests(root, tests)
    finally:
        path.write_text(before, encoding="utf-8")
    if code == TESTS_FAILED:
        return "caught", first_failure(output)
    return ("NOT CAUGHT", " ".join(tests)) if code == 0 else ("BROKEN", output.strip()[-500:])


@contextmanager
def sound_tree(tests: Sequence[str]) -> Iterator[Path | None]:
    """A copy of the tree; None, with the reason printed, if the tests fail in it as it is."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder)
        copy_tree(root)
        code, output = run_tests(root, sorted(set(tests)), SOUND_SECONDS)
        if code != 0:
            print(output, file=sys.stderr)
            print("The tests fail without any fault, so nothing can be said of the faults. Mend them first.", file=sys.stderr)
        yield root if code == 0 else None


def run(cases: Sequence[tuple[str, Fault, Sequence[str]]]) -> int:
    """Apply each fault and run its tests, a label before each line; the exit code."""
    with sound_tree([test for _, _, tests in cases for test in tests]) as root:
        if root is None:
            return 1
        caught = 0
        for label, fault, tests in cases:
            started = time.perf_counter()
            verdict, shown = (
                check(root, fault, tests) if tests else ("NOT CAUGHT", "no test of the guarantee is among the fault's")
            )
            caught += verdict == "caught"
            print(f"{label}{verdict:<10} {time.perf_counter() - started:5.1f} s  {fault.name:<45} {shown}", flush=True)
    print(f"{caught} of {len(cases)} faults caught")
    return 0 if caught == len(cases) else 1


def main(arguments: Sequence[str]) -> int:
    """Run the faults whose name contains one of the arguments, or all; or those of guarantees. The exit code."""
    if arguments and arguments[0] == "--guarantees":
        numbers = {int(number) for number in arguments[1:]}
        return run([(f"{claim.guarantee:>2}  ", claim.fault, claim.tests) for claim in claims(numbers)])
    chosen = [fault for fault in FAULTS if not arguments or any(name in fault.name for name in arguments)]
    if not chosen:
        print(f"No fault's name contains {' or '.join(map(repr, arguments))}; see tests/mutants/faults.py.", file=sys.stderr)
        return 2
    return run([("", fault, fault.tests) for fault in chosen])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
