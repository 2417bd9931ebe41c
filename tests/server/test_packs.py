"""A pack of one node in a distribution of its own (Must show 8), found without an installer: its folder is on the path."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The whole pack: ten lines.
SEPIA = '''from typing import Annotated

from graph.context import Context
from graph.node import node
from graph.spec import Range


@node(title="Tone", version=1)
def tone(ctx: Context, value: float, strength: Annotated[float, Range(0, 1)] = 0.5) -> float:
    """Warm a value up."""
    return value * (1 + strength)
'''

WORKFLOW = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "nodes": {
        "three": {"type": "number", "inputs": {"value": 3}},
        "warm": {"type": "sepia/tone", "inputs": {"value": {"link": "three.value"}}},
    },
    "outputs": {"warm": {"from": "warm.value"}},
}


def install(folder: Path, name: str, source: str) -> Path:
    metadata = folder / f"{name}_nodes-1.2.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-nodes\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(f"[latentgraph.nodes]\n{name} = {name}_nodes\n")
    (folder / f"{name}_nodes.py").write_text(source)
    return folder


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    path = tmp_path / "warm.json"
    path.write_text(json.dumps(WORKFLOW))
    return path


def latentgraph(home: Path, packs: list[Path], *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LATENTGRAPH_HOME": str(home), "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *packs]))}
    command = [sys.executable, "-c", "from server.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.slow
def test_a_pack_appears_in_nodes_and_runs_in_a_workflow(tmp_path: Path, home: Path, workflow: Path) -> None:
    pack = install(tmp_path / "sepia", "sepia", SEPIA)
    listed = latentgraph(home, [pack], "nodes")
    assert re.search(r"^sepia/tone +Tone +float, float -> float$", listed.stdout, re.M)
    ran = latentgraph(home, [pack], "run", workflow)
    assert (ran.returncode, ran.stdout) == (0, "4.5\n")


@pytest.mark.slow
def test_without_packs_its_type_is_missing(tmp_path: Path, home: Path, workflow: Path) -> None:
    pack = install(tmp_path / "sepia", "sepia", SEPIA)
    refused = latentgraph(home, [pack], "run", workflow, "--no-packs")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "sepia/tone" in refused.stderr


@pytest.mark.slow
def test_a_pack_that_fails_to_import_is_told_and_the_rest_works(tmp_path: Path, home: Path, workflow: Path) -> None:
    packs = [install(tmp_path / "sepia", "sepia", SEPIA), install(tmp_path / "bad", "bad", "import missing_library_xyz\n")]
    listed = latentgraph(home, packs, "nodes")
    assert listed.returncode == 0
    assert "Pack bad gives no nodes: ModuleNotFoundError: No module named 'missing_library_xyz'" in listed.stderr
    assert latentgraph(home, packs, "run", workflow).stdout == "4.5\n"
    examined = latentgraph(home, packs, "doctor")
    assert examined.returncode == 1
    assert re.search(r"^ok +pack sepia +1 node types from sepia-nodes 1\.2$", examined.stdout, re.M)
    assert re.search(r"^wrong +pack bad +of bad-nodes 1\.2 gives no nodes: ModuleNotFoundError", examined.stdout, re.M)
