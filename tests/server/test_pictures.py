"""The commands on a diffusion model of a few kilobytes: remembered runs, reproduce, cancel."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nodes.save import read_png
from server import reproduce as reproduce_module
from server import run as run_module
from server.reproduce import compare
from tests.server.conftest import Command, tree

ROOT = Path(__file__).parents[2]
WORKFLOW = json.loads((ROOT / "workflows" / "mini_text_to_image.json").read_text())

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.nodes.conftest import make_pipeline

    root = tmp_path_factory.mktemp("models")
    make_pipeline().save_pretrained(root / "tiny")
    return root


@pytest.fixture
def workflow(models: Path, write_workflow: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default workflow on the tiny model, three steps."""
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(models))
    document = json.loads(json.dumps(WORKFLOW))
    document["nodes"]["model"]["inputs"]["model"] = "tiny"
    document["nodes"]["denoise"]["inputs"] |= {"steps": 3, "guidance": 2.0}
    return write_workflow(document)


def states(found: dict) -> dict[str, str]:
    return {node["id"]: node["state"] for node in found["nodes"] if node["note"] != "light"}


@pytest.mark.spec("J9")
def test_the_second_run_is_remembered_but_for_the_save(latentgraph: Command, workflow: Path) -> None:
    first = latentgraph("run", workflow, "--json").json
    assert set(states(first).values()) == {"done"}
    second = latentgraph("run", workflow, "--json").json
    assert {id for id, state in states(second).items() if state != "cached"} == {"save"}
    pictures = [Path(found["outputs"]["image"]) for found in (first, second)]
    assert pictures[0] != pictures[1]
    assert compare(pictures[0].read_bytes(), pictures[1].read_bytes()).is_none


def test_changing_the_seed_reruns_denoise_decode_and_save(latentgraph: Command, workflow: Path) -> None:
    latentgraph("run", workflow)
    found = latentgraph("run", workflow, "--set", "seed=8", "--json").json
    assert {id for id, state in states(found).items() if state != "cached"} == {"denoise", "decode", "save"}


def test_a_save_whose_folder_goes_away_in_the_run_fails_with_the_reason(
    latentgraph: Command, workflow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    carry_out = run_module.carry_out

    def blocking(*arguments: Any) -> Any:
        blocked.write_text("")
        return carry_out(*arguments)

    monkeypatch.setattr(run_module, "carry_out", blocking)
    outcome = latentgraph("run", workflow, "--output", blocked)
    assert (outcome.code, outcome.out) == (1, "")
    assert re.search(r"^save +failed ", outcome.err, re.M)
    assert "File exists" in outcome.err
    assert blocked.read_text() == ""


@pytest.mark.spec("I12", "J3")
def test_reproduce_says_identical_and_of_an_edited_picture_what_differs(latentgraph: Command, workflow: Path, home: Path) -> None:
    picture = Path(latentgraph("run", workflow, "--set", "seed=random").out.strip())
    before = tree(home / "memo" / "objects")
    again = latentgraph("reproduce", picture)
    assert (again.code, again.out) == (0, f"{picture}: identical, all 4096 pixels\n")
    assert tree(home / "memo" / "objects") == before
    edited = edit(picture)
    outcome = latentgraph("reproduce", edited)
    assert (outcome.code, outcome.out) == (1, f"{edited}: different, 1 of 4096 pixels, at most by 9 of 255\n")
    found = latentgraph("reproduce", edited, "--json").json
    assert (found["state"], found["different_pixels"], found["largest"], found["changed"]) == ("different", 1, 9, [])


def edit(picture: Path) -> Path:
    """One pixel changed, everything that the file carries kept."""
    from nodes.save import png_bytes

    carried = read_png(picture.read_bytes())
    pixels = np.asarray(Image.open(picture).convert("RGB")).copy()
    pixels[3, 5, 1] = pixels[3, 5, 1] - 9 if pixels[3, 5, 1] > 100 else pixels[3, 5, 1] + 9
    path = picture.with_name("edited.png")
    resolved = {**carried["run"], "workflow": carried["workflow"]}
    path.write_bytes(png_bytes(Image.fromarray(pixels), carried["settings"], resolved))
    return path


def test_reproduce_refuses_a_picture_that_carries_nothing(latentgraph: Command, tmp_path: Path) -> None:
    path = tmp_path / "plain.png"
    Image.new("RGB", (4, 4)).save(path)
    outcome = latentgraph("reproduce", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"{path} carries no workflow; give a PNG as Latentgraph saved it")
    path.write_bytes(b"no picture")
    assert latentgraph("reproduce", path).code == 2


def test_what_planning_refuses_names_the_file_and_the_input_to_change(latentgraph: Command, workflow: Path) -> None:
    for command in (("run", workflow), ("plan", workflow), ("why", workflow, "denoise")):
        outcome = latentgraph(*command, "--set", "width=4096")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"{workflow}: denoise.latents: width is 4096; z-image takes multiples of 16 from 16 to ")
        assert outcome.err.endswith(" denoise.latents comes from latents.width or latents.height.\n")
    found = latentgraph("run", workflow, "--set", "width=4096", "--json").json
    assert [problem["file"] for problem in found["problems"]] == [str(workflow)]


def strangers_png(chunks: dict[str, str]) -> bytes:
    from PIL.PngImagePlugin import PngInfo

    carried = PngInfo()
    for name, text in chunks.items():
        carried.add_itxt(name, text)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG", pnginfo=carried)
    return buffer.getvalue()


def claimed(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims a size."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b""),
    ]  # fmt: skip
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def carrying(run: object, workflow: object = WORKFLOW) -> bytes:
    return strangers_png({"latentgraph": json.dumps({"run": run}), "workflow": json.dumps(workflow)})


STRANGERS = {
    "a list": (strangers_png({"latentgraph": "[1]"}), 'its text "latentgraph" holds no JSON object'),
    "deeply nested": (strangers_png({"latentgraph": "[" * 200_000}), 'its text "latentgraph" is no JSON that this program wrote'),
    "no JSON": (strangers_png({"latentgraph": "{}", "workflow": "{"}), 'its text "workflow" is no JSON that this program wrote'),
    "nested workflow": (
        strangers_png({"latentgraph": '{"run": {"node": "save"}}', "workflow": '{"a":' * 500 + "1" + "}" * 500}),
        "Nesting of more than 64 levels",
    ),
    "run is a list": (carrying([1]), '"run" in its text "latentgraph" is no JSON object'),
    "run without node": (carrying({"x": 1}), "its run does not say which node saved it"),
    "unknown node": (carrying({"node": "sav"}), 'says that "sav" saved it, which is no saving node of its workflow'),
    "a node that saves nothing": (carrying({"node": "decode"}), 'says that "decode" saved it, which is no saving node'),
    "element is a text": (carrying({"node": "save", "element": "1"}), "its run says no number for the element that it is"),
    "seeds below 0": (carrying({"node": "save", "seeds": {"denoise.seed": -5}}), "its run has seeds that are not whole numbers"),
    "seeds are a list": (carrying({"node": "save", "seeds": [1]}), "its run has seeds that are not whole numbers from 0 to"),
    "unknown seed": (carrying({"node": "save", "seeds": {"x": 1}}), 'seed "x" has no random port'),
    "versions are numbers": (carrying({"node": "save", "versions": {"torch": 2}}), "its run has versions that are no texts"),
    "another document": (carrying({"node": "save"}, {"nodes": 3}), "format"),
    "more than can be opened": (claimed(60_000, 60_000), "it has more pixels than can be opened safely"),
    "a long side": (claimed(20_000, 10), "it is 20000x10 pixels; a side may have 16384"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGERS)
def test_reproduce_refuses_pictures_of_strangers_before_anything_runs(
    latentgraph: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("server.reproduce.carry_out", None)
    data, message = STRANGERS[name]
    path = tmp_path / "strange.png"
    path.write_bytes(data)
    outcome = latentgraph("reproduce", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not outcome.err.endswith("..\n")
    assert "Traceback" not in outcome.err


def test_reproduce_refuses_a_picture_whose_pixels_are_damaged(latentgraph: Command, tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    whole = carrying({"node": "save"})
    at = whole.index(b"IDAT")
    path.write_bytes(whole[: at + 8])
    outcome = latentgraph("reproduce", path)
    assert outcome.code == 2
    assert re.search(r"cut\.png cannot be read \(.*truncated.*\); give a PNG as Latentgraph saved it", outcome.err)


def test_reproduce_tells_a_data_folder_that_cannot_be_used(latentgraph: Command, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(carrying({"node": "save"}))
    outcome = latentgraph("reproduce", path, "--home", path / "home")
    assert (outcome.code, outcome.out) == (2, "")
    assert (
        outcome.err == f"The data folder {path / 'home'} cannot be used (Not a directory); set LATENTGRAPH_HOME or give --home.\n"
    )


def test_reproduce_renders_the_one_element_that_the_picture_is(
    latentgraph: Command, workflow: Path, write_workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(workflow.read_text())
    document["nodes"]["seeds"] = {"type": "seeds", "inputs": {"first": 1, "count": 3}}
    document["nodes"]["denoise"]["inputs"]["seed"] = {"link": "seeds.values"}
    document["inputs"].pop("seed")
    pictures = latentgraph("run", write_workflow(document), "--json").json["outputs"]["image"]
    assert len(pictures) == 3
    plans = []
    carry_out = reproduce_module.carry_out
    monkeypatch.setattr(
        reproduce_module, "carry_out", lambda engine, plan, out: (plans.append(plan), carry_out(engine, plan, out))[1]
    )
    outcome = latentgraph("reproduce", pictures[1])
    assert (outcome.code, outcome.out) == (0, f"{pictures[1]}: identical, all 4096 pixels\n")
    types = [plans[0].tasks.spec_of(task).id for task in plans[0].run]
    assert (types.count("denoise"), types.count("decode"), types.count("save_image")) == (1, 1, 1)


def test_reproduce_tells_which_versions_differ(latentgraph: Command, workflow: Path) -> None:
    from nodes.save import png_bytes

    picture = Path(latentgraph("run", workflow).out.strip())
    carried = read_png(picture.read_bytes())
    run = {**carried["run"], "workflow": carried["workflow"]}
    run["versions"] = {**run["versions"], "diffusers": "0.1"}
    picture.write_bytes(png_bytes(Image.open(io.BytesIO(picture.read_bytes())), carried["settings"], run))
    outcome = latentgraph("reproduce", picture)
    assert outcome.code == 0
    assert any(line.startswith("diffusers: 0.1 then, ") for line in outcome.err.splitlines())


def test_compare_tells_pictures_of_different_sizes() -> None:
    def png(width: int) -> bytes:
        buffer = io.BytesIO()
        Image.new("RGB", (width, 2)).save(buffer, "PNG")
        return buffer.getvalue()

    difference = compare(png(2), png(3))
    assert (difference.is_none, difference.sizes) == (False, ((2, 2), (3, 2)))


def test_a_signal_while_denoising_gives_130_and_leaves_no_file(workflow: Path, models: Path, home: Path, tmp_path: Path) -> None:
    """The run tells its progress line by line without a terminal, so the test knows when it denoises."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LATENTGRAPH_HOME": str(home), "LATENTGRAPH_MODELS": str(models)}
    program = (
        "import functools, server.display, server.run\nserver.display.PLAIN_INTERVAL_S = 0.0\n"
        "server.run.Interruption = functools.partial(server.run.Interruption, grace_s=60)\n"  # however busy the machine is
        "from server.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "run", str(workflow), "--set", "steps=200", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "denoise" in line and "/200" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["state"] == "cancelled"
    assert states(json.loads(out))["denoise"] == "cancelled"
    assert not (tmp_path / "outputs").exists()
    assert [name for name in tree(home) if "tmp" in name or name.startswith(("spool", "previews"))] == []


def on_tiny(name: str, write_workflow: Callable[..., Path], folder: Path) -> Path:
    """A workflow of the repository on the tiny model, what lies beside it included."""
    for picture in (ROOT / "workflows").glob("*.png"):
        (folder / picture.name).write_bytes(picture.read_bytes())
    document = json.loads((ROOT / "workflows" / f"{name}.json").read_text())
    document["nodes"]["model"]["inputs"]["model"] = "tiny"
    return write_workflow(document, f"{name}.json")


def runs_of(found: dict, type: str) -> int:
    return sum(node["type"] == type and node["state"] == "done" for node in found["nodes"])


def test_the_picture_beside_a_workflow_is_changed(
    latentgraph: Command, models: Path, write_workflow, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(models))
    path = on_tiny("mini_image_to_image", write_workflow, tmp_path)
    found = latentgraph("run", path, "--set", "steps=4", "--set", "strength=0.5", "--json").json
    assert found["state"] == "done", found
    assert Image.open(found["outputs"]["image"]).size == (64, 64)
    again = latentgraph(
        "run", path, "--set", "steps=4", "--set", "strength=0.5", "--set", f"image={tmp_path / 'mini_input.png'}", "--json"
    )
    assert states(again.json)["denoise"] == "cached"


def test_a_part_of_the_picture_beside_a_workflow_is_drawn_anew_and_the_rest_is_kept(
    latentgraph: Command, models: Path, write_workflow, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(models))
    path = on_tiny("mini_inpaint", write_workflow, tmp_path)
    found = latentgraph("run", path, "--set", "steps=4", "--json").json
    assert found["state"] == "done", found
    before, after = (Image.open(one).convert("RGB") for one in (tmp_path / "mini_input.png", found["outputs"]["image"]))
    assert after.crop((0, 0, 32, 64)).tobytes() == before.crop((0, 0, 32, 64)).tobytes()
    assert after.crop((32, 0, 64, 64)).tobytes() != before.crop((32, 0, 64, 64)).tobytes()
    again = latentgraph("run", path, "--set", "steps=4", "--set", f"mask={tmp_path / 'mini_input.png'}", "--json")
    assert states(again.json)["denoise"] == "done"


def test_the_grid_draws_every_cell_and_encodes_each_text_once(
    latentgraph: Command, models: Path, write_workflow, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(models))
    found = latentgraph("run", on_tiny("mini_prompt_grid", write_workflow, tmp_path), "--set", "steps=1", "--json").json
    assert found["state"] == "done", found
    assert {type: runs_of(found, type) for type in ("encode_text", "denoise", "decode", "image_grid", "save_image")} == {
        "encode_text": 3, "denoise": 12, "decode": 12, "image_grid": 1, "save_image": 1,
    }  # fmt: skip


def test_two_devices_draw_both_branches(latentgraph: Command, models: Path, write_workflow, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(models))
    path = on_tiny("mini_two_devices", write_workflow, tmp_path)
    # So many steps that the second text is encoded long before the first picture is done.
    found = latentgraph("run", path, "--set", "steps=200", "--devices", "cpu:0,cpu:1", "--json").json
    assert found["state"] == "done", found
    used = {node["device"] for node in found["nodes"] if node["id"] in ("denoise", "second_denoise")}
    assert used == {"cpu:0", "cpu:1"}
