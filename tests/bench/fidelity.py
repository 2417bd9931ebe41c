"""How often mini draws what the caption says: 200 held-out captions, rendered by the graph and read back by the checker.

`python -m tests.bench.fidelity`, or `latentgraph bench fidelity`. Every caption is an attribute combination that mini
was never trained on; captions and seeds are fixed in `nodes/mini/heldout.json`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graph.engine import Engine
from graph.registry import Registry
from nodes.builtin import MODULES
from nodes.mini.check import read
from nodes.mini.data import Picture, Scene, draw, split
from nodes.mini.fidelity import Fidelity, held_out, measure
from nodes.runtime import DeviceRuntime
from tests.bench.table import Row, show

WORKFLOW = Path(__file__).parents[2] / "workflows" / "mini_text_to_image.json"
TRUE_DRAWINGS = 2000


def workflow(prompts: Sequence[str], seeds: Sequence[int]) -> str:
    """The default workflow without its save, mapped over prompts and seeds in step."""
    document = json.loads(WORKFLOW.read_text(encoding="utf-8"))
    nodes = document["nodes"]
    nodes["prompts"] = {"type": "texts", "inputs": {"lines": "\n".join(prompts)}}
    nodes["seeds"] = {"type": "integers", "inputs": {"written": ", ".join(map(str, seeds))}}
    nodes["tokens"]["inputs"]["prompt"] = {"link": "prompts.values"}
    nodes["denoise"]["inputs"]["seed"] = {"link": "seeds.values"}
    del nodes["save"], document["inputs"], document["view"]
    document["outputs"] = {"images": {"from": "decode.image"}}
    return json.dumps(document)


def render(prompts: Sequence[str], seeds: Sequence[int]) -> list[Picture]:
    """One picture for each prompt and seed, (64, 64, 3) uint8, rendered by the engine in a fresh home."""
    with tempfile.TemporaryDirectory() as home, Engine(Registry.load(MODULES), Path(home), runtime=DeviceRuntime) as engine:
        result = engine.run(engine.load(workflow(prompts, seeds)))
        if result.state != "done":
            raise RuntimeError("; ".join(node.error for node in result.nodes if node.error))
        return [_picture(image.pixels.numpy()) for image in result.outputs["images"]]


def _picture(pixels: np.ndarray) -> Picture:
    return (pixels[0].transpose(1, 2, 0) * 255).round().astype(np.uint8)


def checker_rows() -> list[Row]:
    """What the checker itself gets right, on true drawings of every combination and on shuffled captions."""
    rng = np.random.default_rng(0)
    everything = [*split().train, *split().validation, *split().test]
    scenes = [everything[index] for index in rng.integers(len(everything), size=TRUE_DRAWINGS)]
    readings = [read(draw(scene, rng)) for scene in scenes]
    right = sum(reading == scene for reading, scene in zip(readings, scenes, strict=True)) / TRUE_DRAWINGS
    order = rng.permutation(TRUE_DRAWINGS)
    shuffled = sum(readings[a] == scenes[b] for a, b in enumerate(order) if a != b) / TRUE_DRAWINGS
    return [
        Row("checker: true drawings read right", f"{right:.1%}", ">= 99.5%", right >= 0.995, TRUE_DRAWINGS, ""),
        Row("checker: shuffled captions that match", f"{shuffled:.1%}", "<= 2%", shuffled <= 0.02, TRUE_DRAWINGS, ""),
    ]


def fidelity_rows(found: Fidelity) -> list[Row]:
    """The table of a measurement: every attribute, and all of them together."""
    rows = [
        Row(f"mini: {name} right", f"{getattr(found, name) / found.count:.1%}", "", None, found.count, "")
        for name in Scene._fields
    ]
    return [*rows, Row("mini: everything right", f"{found.rate:.1%}", ">= 90%", found.rate >= 0.9, found.count, "")]


def rows() -> list[Row]:
    """The benchmark."""
    return [*checker_rows(), *fidelity_rows(measure(render, held_out()))]


if __name__ == "__main__":
    show(rows())
