"""A node that writes to its input fails by name; the process, the stored file and later runs are unharmed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PACK = '''
from __future__ import annotations
from graph.context import Context
from graph.node import node
from nodes.values import Image

@node(title="Brighten", version=1)
def brighten(ctx: Context, image: Image) -> Image:
    """Writes to its input, which is a mistake."""
    image.pixels.torch().mul_(0.5)
    return image
'''

PROGRAM = """
import json, sys
from pathlib import Path
from graph.engine import Engine
from graph.registry import Registry
from nodes.builtin import MODULES
from nodes.runtime import DeviceRuntime

home, workflow = Path(sys.argv[1]), sys.argv[2]
with Engine(Registry.load((*MODULES, "writing_pack"), packs=False), home, runtime=lambda device, _: DeviceRuntime(device, 1)) as engine:
    result = engine.run(engine.load(workflow), output_folder=home / "out")
    print(json.dumps({"state": result.state, "nodes": {node.id: [node.state, node.error] for node in result.nodes}}))
"""


@pytest.fixture
def run(tmp_path):
    """Run a workflow in a process of its own, since what is tested would end it."""
    (tmp_path / "writing_pack.py").write_text(PACK)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "OMP_NUM_THREADS": "1"}

    def run(document):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "home"), json.dumps(document)],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.slow
def test_a_node_that_writes_to_a_remembered_input_fails_and_harms_nothing(run, tmp_path):
    from PIL import Image as Pillow

    buffer = io.BytesIO()
    picture = Pillow.effect_noise((512, 512), 80).convert("RGB")  # far larger than what is copied instead of mapped
    picture.save(buffer, "PNG")
    digest = sha256(buffer.getvalue()).hexdigest()
    (tmp_path / "home" / "files").mkdir(parents=True)
    (tmp_path / "home" / "files" / digest).write_bytes(buffer.getvalue())
    nodes = {
        "load": {"type": "load_image", "inputs": {"file": {"file": "x.png", "sha256": digest}}},
        "save": {"type": "save_image", "inputs": {"image": {"link": "load.image"}}},
    }
    workflow = {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes}
    assert run(workflow)["state"] == "done"
    bad = {"type": "brighten", "inputs": {"image": {"link": "load.image"}}}
    found = run({**workflow, "nodes": {"load": nodes["load"], "bad": bad}, "outputs": {"bad": {"from": "bad.value"}}})
    assert (found["nodes"]["load"][0], found["nodes"]["bad"][0]) == ("cached", "failed")
    assert "image" in found["nodes"]["bad"][1]
    assert "changed" in found["nodes"]["bad"][1]
    assert run(workflow)["nodes"]["load"][0] == "cached"
    assert {Pillow.open(path).tobytes() for path in (tmp_path / "home" / "out").glob("*.png")} == {picture.tobytes()}
