"""An engine in a process of its own, for tests that kill it: `python -m tests.graph.engine_process HOME WORKFLOW RUN TRIES`."""

from __future__ import annotations

import sys
from pathlib import Path

from graph.engine import Engine
from tests.graph.worker_nodes import REGISTRY


def main(home: Path, text: str, run_id: str, tries: int) -> None:
    """Carry one run out as a server's engine does."""
    options = {"setup": "tests.graph.worker_nodes:setup", "host_workers": 1, "most_tries": 3, "ledger": home / "tries"}
    with Engine(REGISTRY, home, devices=("cpu:0",), **options) as engine:
        plan = engine.plan(engine.load(text), run_id=run_id, tries=tries)
        engine.start(plan, run_id=run_id, tries=tries).wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
