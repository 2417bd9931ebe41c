"""The real miniature through the whole way: an engine process that cannot import torch, and a worker that can."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nodes.models import mini_folder
from server.run import open_engine
from server.workspace import Workspace
from tests.server.engine.link_kit import lab, run

pytestmark = pytest.mark.slow

WORKFLOW = Path(__file__).parents[3] / "workflows" / "mini_text_to_image.json"
SEED = 20_261_201


def document() -> bytes:
    """The shipped workflow with few steps."""
    found = json.loads(WORKFLOW.read_text())
    for node in found["nodes"].values():
        if node["type"] == "denoise":
            node["inputs"]["steps"] = 3
    return json.dumps(found).encode()


def drawn(folder: Path) -> tuple[dict[str, int], dict[str, tuple[str, ...]], bytes]:
    """What the command line's engine gives: seeds, digests by node, pixels of the saved picture."""
    with open_engine(Workspace(folder), ("cpu",)) as engine:
        compiled = engine.load(document())
        seeds = dict.fromkeys(engine.draw_seeds(compiled), SEED)
        result = engine.run(compiled, output_folder=folder / "outputs", seeds=seeds)
    return seeds, {node.id: node.outputs for node in result.nodes}, pixels(folder / "outputs")


def pixels(folder: Path) -> bytes:
    from PIL import Image

    (path,) = folder.glob("*.png")
    with Image.open(path) as picture:
        return picture.tobytes()


@pytest.mark.spec("K13")
def test_the_engine_says_which_devices_hold_a_model_until_they_are_freed(home: Path) -> None:
    shutil.copytree(mini_folder(), home / "models" / "mine")
    (home / "models" / "broken").mkdir()
    text = document().decode().replace('"model": "mini"', '"model": "mine"')

    async def test() -> None:
        async with lab(home, library="builtin_without_torch") as one:
            assert await one.link.ask("holders", model="mine") == {"devices": []}
            assert (await one.run("a", text)).state == "done"
            assert await one.link.ask("holders", model="mine") == {"devices": ["cpu"]}
            assert await one.link.ask("holders", model="broken") == {"devices": []}
            assert await one.link.ask("holders", model="gone") == {"devices": []}
            await one.link.ask("free_memory", device="cpu")
            assert await one.link.ask("holders", model="mine") == {"devices": []}

    run(test())


def test_the_engine_process_draws_what_the_command_line_draws_and_never_imports_torch(home: Path, tmp_path: Path) -> None:
    seeds, digests, expected = drawn(home)
    there = tmp_path / "there"
    result: dict[str, Any] = {}

    async def test() -> None:
        async with lab(there, library="builtin_without_torch") as one:
            ended = await one.run("a", document().decode(), seeds=seeds)
            assert ended.state == "done", ended
            result.update(ended.result)

    run(test())
    del digests["save"]  # the name of a new file
    assert {row["id"]: tuple(row["outputs"]) for row in result["nodes"] if row["id"] != "save"} == digests
    assert pixels(there / "outputs") == expected
