"""Benchmark of the page in headless chromium: opening, panning and dragging 500 and 2,000 nodes, progress, size of the scripts.

`python -m tests.bench.page`, after `make page`. The driver is web/bench/page.mjs; here a server is started and samples are judged.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.table import BusyElsewhere, Row, row, show
from tests.rig.serving import ROOT, Server, install_pack, running

WEB = ROOT / "web"
SMALL, LARGE = 500, 2000
GZIP_KB = 220
ELEMENTS = 4000


def measured(nodes: int) -> dict[str, Any]:
    """The driver's samples for a workflow of so many nodes, on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="latentgraph-bench-page-") as folder:
        home = Path(folder) / "home"
        with running(Server(home, pack=install_pack(Path(folder) / "pack"))) as server:
            command = ["node", "bench/page.mjs", server.url, server.token, str(nodes)]
            environment = {**os.environ, "CHROMIUM": shutil.which("chromium") or ""}
            done = subprocess.run(command, cwd=WEB, env=environment, capture_output=True, text=True, timeout=900, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"the driver failed:\n{done.stderr[-4000:]}")
            for job in server.get("/v1/jobs").json["jobs"]:
                server.request("POST", f"/v1/jobs/{job['id']}/cancel")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows_of_small(found: dict[str, Any]) -> list[Row]:
    """The bars of 500 nodes."""
    seen = f"{found['in_view']} nodes in view at zoom {found['zoom']:.2f}"
    rows = [
        row("500 nodes: ready", found["ready"], "ms", at_most=1500),
        row("500 nodes: longest task of the first load", found["ready_longest"], "ms", at_most=200),
        row("500 nodes: pan", found["pan"], "ms", at_most=25, note=seen),
        row("500 nodes: pan", found["pan"], "ms", at_most=60, by=0.95),
        row("500 nodes: pan at fit", found["pan_at_fit"], "ms", at_most=35),
        row(
            "500 nodes: longest task of showing all",
            found["fit_longest"],
            "ms",
            at_most=200,
            note=f"to zoom {found['fit_zoom']:.2f}",
        ),
        Row("500 nodes: elements", *_count(max(found["elements"], found["elements_at_fit"]), ELEMENTS), 2, "", "near and at fit"),
    ]
    if found["drag"]:
        rows.insert(5, row("500 nodes: drag a node", found["drag"], "ms", at_most=30, by=0.95))
    return [*rows, *_rows_of_progress(found)]


def rows_of_large(found: dict[str, Any]) -> list[Row]:
    """The bars of 2,000 nodes."""
    return [
        row("2,000 nodes: ready", found["ready"], "ms", at_most=3000),
        row(
            "2,000 nodes: pan",
            found["pan"],
            "ms",
            at_most=30,
            note=f"{found['in_view']} nodes in view at zoom {found['zoom']:.2f}",
        ),
        row("2,000 nodes: pan", found["pan"], "ms", at_most=80, by=0.95),
        row("2,000 nodes: pan at fit", found["pan_at_fit"], "ms"),
        row("2,000 nodes: longest task of showing all", found["fit_longest"], "ms"),
        Row("2,000 nodes: elements", str(max(found["elements"], found["elements_at_fit"])), "", None, 2, ""),
    ]


def _rows_of_progress(found: dict[str, Any]) -> list[Row]:
    if "rendered" not in found:
        return [Row("nodes rendered by a message of progress", "no run", "1", None, 0, "", "no progress was told")]
    nodes = [len({node for commit in message for node in commit}) for message in found["rendered"]]
    commits = [len(message) for message in found["rendered"]]
    shown = "" if found["running_is_shown"] else "the node is not in view"
    return [
        Row("nodes rendered by a message of progress", *_count(max(nodes), 1, exactly=True), len(nodes), f"{min(nodes)}-{max(nodes)}", shown),
        row("commits by a message of progress", commits, "", at_most=1, by=1.0, note="any part of the page"),
        row("500 nodes: pan while 50 messages/s come", found["pan_told"], "ms", at_most=25),
        row("500 nodes: pan while 50 messages/s come", found["pan_told"], "ms", at_most=60, by=0.95),
    ]  # fmt: skip


def _count(value: float, bar: float, *, exactly: bool = False) -> tuple[str, str, bool]:
    return f"{value:g}", f"{'' if exactly else '<= '}{bar:g}", value == bar if exactly else value <= bar


def main() -> int:
    """Print the table; 1 if a bar is missed."""
    missing = [name for name in ("node", "chromium") if shutil.which(name) is None]
    if missing or not (WEB / "dist" / "index.html").is_file():
        print(
            f"the page is not measured: {', '.join(missing) + ' is missing' if missing else 'run make page first'}",
            file=sys.stderr,
        )
        return 0 if missing else 1
    with BusyElsewhere() as busy:
        small, large = measured(SMALL), measured(LARGE)
    sizes: dict[str, int] = small["gzip_bytes"]
    first = small["first_bytes"] / 1000
    later = f"index.html and what it imports; {sum(sizes.values()) / 1000:.0f} kB with the parts that are fetched after it"
    scripts = Row("scripts of the first load, gzipped", f"{first:.0f} kB", f"<= {GZIP_KB} kB", first <= GZIP_KB, 1, "", later)
    met = show([scripts, *rows_of_small(small), *rows_of_large(large)], "page")
    print(f"(other processes used {busy.cores:.1f} cores meanwhile)")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
