"""The nodes under the engine: the whole way from a workflow to a saved picture, and what is remembered of it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections import Counter

import pytest
import torch
from PIL import Image as Pillow
from safetensors.torch import load_file, save_file

from graph.engine import Engine
from graph.errors import WorkflowError
from graph.registry import Registry
from nodes.builtin import MODULES
from nodes.image import to_pictures
from nodes.runtime import DeviceRuntime
from nodes.save import read_png
from nodes.tensors import WireTensor
from nodes.values import Image


def link(target):
    return {"link": target}


def workflow(**changes):
    nodes = {
        "model": {"type": "load_pipeline", "inputs": {"model": "tiny"}},
        "tokens": {"type": "tokenize", "inputs": {"prompt": "a red circle", "tokenizer": link("model.tokenizer")}},
        "text": {"type": "encode_text", "inputs": {"tokens": link("tokens.tokens"), "text_encoder": link("model.text_encoder")}},
        "pruned": {"type": "prune_tokens", "inputs": {"embedding": link("text.embedding")}},
        "kept": {"type": "disk_cache", "inputs": {"value": link("pruned.embedding")}},
        "no_tokens": {"type": "tokenize", "inputs": {"prompt": "blurry", "tokenizer": link("model.tokenizer")}},
        "no_text": {
            "type": "encode_text",
            "inputs": {"tokens": link("no_tokens.tokens"), "text_encoder": link("model.text_encoder")},
        },
        "place": {"type": "empty_latents", "inputs": {"width": 64, "height": 80}},
        "sample": {
            "type": "denoise",
            "inputs": {
                "denoiser": link("model.denoiser"), "scheduler": link("model.scheduler"), "positive": link("kept.value"),
                "negative": link("no_text.embedding"), "latents": link("place.latents"), "steps": 3, "seed": 5, "guidance": 2.0,
            },
        },
        "decode": {"type": "decode", "inputs": {"vae": link("model.vae"), "latents": link("sample.latents")}},
        "save": {"type": "save_image", "inputs": {"image": link("decode.image")}},
    }  # fmt: skip
    for id, inputs in changes.items():
        nodes[id]["inputs"] = {port: value for port, value in (nodes[id]["inputs"] | inputs).items() if value is not None}
    return json.dumps(
        {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, "outputs": {"file": {"from": "save.file"}}}
    )


def one_thread(device, threads):
    """Two torch threads on a busy machine wait for each other; one is as good for models this small."""
    return DeviceRuntime(device, 1)


@pytest.fixture
def engine(tmp_path):
    with Engine(Registry.load(MODULES, packs=False), tmp_path / "home", runtime=one_thread) as engine:
        yield engine


@pytest.fixture
def run(engine, tmp_path):
    def run(text):
        result = engine.run(engine.load(text), output_folder=tmp_path / "out")
        assert result.state == "done", [node for node in result.nodes if node.error]
        return tmp_path / "out" / result.outputs["file"], {node.id: node.state for node in result.nodes}

    return run


@pytest.mark.slow
@pytest.mark.spec("J3", "I12")
def test_a_workflow_gives_the_librarys_picture_and_is_remembered(run, references):
    first, _ = run(workflow())
    assert Pillow.open(first).tobytes() == expected_bytes(references)
    settings = read_png(first.read_bytes())["settings"]
    assert {key: settings[key] for key in ("prompt", "negative_prompt", "steps", "guidance", "seed", "model", "width", "height")} == {
        "prompt": "a red circle", "negative_prompt": "blurry", "steps": 3, "guidance": 2.0, "seed": 5, "model": "tiny",
        "width": 64, "height": 80,
    }  # fmt: skip
    again, states = run(workflow())
    assert Counter(states.values())["done"] == 3  # two light nodes and the save
    assert Pillow.open(again).tobytes() == Pillow.open(first).tobytes()
    other, states = run(workflow(sample={"seed": 6}))
    assert {id for id, state in states.items() if state == "done"} == {"model", "place", "sample", "decode", "save"}
    assert Pillow.open(other).tobytes() != Pillow.open(first).tobytes()


@pytest.mark.spec("H1", "H2")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"place": {"width": 72}}, r"sample.latents: width is 72; z-image takes multiples of 16"),
        ({"model": {"model": "tinny"}}, r'model.model: there is no model "tinny". Did you mean "tiny"?'),
        ({"decode": {"tile": 16, "overlap": 16}}, r"decode.overlap: overlap is 16 latents, tile is 16"),
        (
            {"sample": {"negative": None}},
            r"sample.negative: guidance is 2.0, but nothing is linked to negative; link encode_text",
        ),
        ({"kept": {"folder": "../../etc"}}, r'kept.folder: "../../etc" is no folder name; use 1 to 64 of a-z, 0-9, _ and -'),
        ({"kept": {"folder": link("tokens.tokens")}}, r"kept.folder"),
        ({"kept": {"limit_gb": 0}}, r"kept.limit_gb"),
        ({"sample": {"strength": 0.5}}, r"sample.strength: strength is 0.5, but the latents are empty"),
    ],
)
def test_what_cannot_work_is_refused_while_planning(engine, changes, message):
    with pytest.raises(WorkflowError, match=message):
        engine.plan(engine.load(workflow(**changes)))


def test_a_mask_that_is_not_opened_yet_is_refused_while_planning_where_there_is_no_picture(engine, tmp_path):
    data = io.BytesIO()
    Pillow.new("L", (64, 80)).save(data, "PNG")
    digest = hashlib.sha256(data.getvalue()).hexdigest()
    (tmp_path / "home/files").mkdir(parents=True, exist_ok=True)
    (tmp_path / "home/files" / digest).write_bytes(data.getvalue())
    document = json.loads(workflow(sample={"mask": link("mask.mask")}))
    document["nodes"]["mask"] = {"type": "load_mask", "inputs": {"file": {"file": "mask.png", "sha256": digest}}}
    with pytest.raises(WorkflowError, match=r"sample.mask: a mask is linked, but the latents are empty: .* Link encode_image"):
        engine.plan(engine.load(json.dumps(document)))


def test_what_draws_without_a_mask_has_the_key_that_it_had_before_there_were_masks(engine):
    plan = engine.plan(engine.load(workflow()))
    (sample,) = (task for task, node in enumerate(plan.tasks.node) if plan.tasks.compiled.ids[node] == "sample")
    assert sorted(plan.tasks.constants[sample]) == [
        "denoiser", "guidance", "latents", "scheduler", "seed", "steps", "strength",
    ]  # fmt: skip
    assert sorted(ref.port for ref in plan.tasks.refs[sample]) == ["negative", "positive"]


@pytest.mark.slow
@pytest.mark.spec("A3")
def test_an_embedding_kept_on_disk_gives_the_same_bits_in_another_engine(run, tmp_path, references):
    run(workflow(sample={"steps": 1}))
    with Engine(Registry.load(MODULES, packs=False), tmp_path / "home", runtime=one_thread) as other:
        result = other.run(other.load(workflow()), output_folder=tmp_path / "out")
    states = {node.id: node.state for node in result.nodes}
    assert (states["kept"], states["no_text"], states["sample"]) == ("cached", "cached", "done")
    assert Pillow.open(tmp_path / "out" / result.outputs["file"]).tobytes() == expected_bytes(references)


def edit_json(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_weights(path):
    tensors = load_file(path)
    name = sorted(tensors)[0]
    save_file(tensors | {name: tensors[name] + 1}, path, metadata={"format": "pt"})


#: What may be changed of a model, and whether an embedding kept on disk still stands for it.
EMBEDDING_DEPENDS_ON = {
    "nothing": (lambda folder: None, True),
    "denoiser weights": (lambda folder: edit_weights(folder / "transformer" / "diffusion_pytorch_model.safetensors"), True),
    "schedule": (lambda folder: edit_json(folder / "scheduler" / "scheduler_config.json", shift=1.5), True),
    "encoder weights": (lambda folder: edit_weights(folder / "text_encoder" / "model.safetensors"), False),
    "encoder configuration": (lambda folder: edit_json(folder / "text_encoder" / "config.json", rms_norm_eps=0.1), False),
    "vocabulary": (lambda folder: edit_json(folder / "tokenizer" / "tokenizer.json", version="2.0"), False),
    "tokenizer configuration": (
        lambda folder: edit_json(folder / "tokenizer" / "tokenizer_config.json", model_max_length=9),
        False,
    ),
    "chat template": (lambda folder: (folder / "tokenizer" / "chat_template.jinja").write_text("{{ messages }}"), False),
    "special tokens": (lambda folder: (folder / "tokenizer" / "special_tokens_map.json").write_text("{}"), False),
    "added tokens": (lambda folder: (folder / "tokenizer" / "added_tokens.json").write_text("{}"), False),
}


@pytest.mark.slow
@pytest.mark.spec("A10")
def test_a_kept_embedding_stands_for_exactly_what_made_it(engine, models, tmp_path, monkeypatch):
    monkeypatch.setenv("LATENTGRAPH_MODELS", os.pathsep.join([str(models), str(tmp_path / "changed")]))

    def planned(**changes):
        return engine.plan(engine.load(workflow(**changes)), targets=["kept"])

    assert engine.start(planned()).wait().state == "done"
    found = {}
    for name, (change, _) in EMBEDDING_DEPENDS_ON.items():
        folder = tmp_path / "changed" / name.replace(" ", "_")
        shutil.copytree(models / "tiny", folder)
        change(folder)
        found[name] = not planned(model={"model": folder.name}).run
    assert found == {name: stands for name, (_, stands) in EMBEDDING_DEPENDS_ON.items()}
    assert not planned().run
    assert planned(model={"dtype": "bfloat16"}).run
    assert planned(tokens={"prompt": "a red circle "}).run
    assert not planned(no_tokens={"prompt": "other"}, sample={"seed": 6, "steps": 9}).run


def expected_bytes(references):
    """The library's picture of `workflow()`."""
    images = references("tiny")(
        prompt="a red circle", negative_prompt="blurry", width=64, height=80, num_inference_steps=3, guidance_scale=2.0,
        generator=torch.Generator().manual_seed(5), output_type="pt",
    ).images  # fmt: skip
    return to_pictures(Image(WireTensor.of(images)))[0].tobytes()


@pytest.mark.slow
def test_a_computed_guidance_is_not_replaced_by_the_models_advice(run):
    document = json.loads(workflow())
    document["nodes"]["sum"] = {"type": "math", "inputs": {"operation": "add", "a": 1.5, "b": 0.5}}
    document["nodes"]["sample"]["inputs"]["guidance"] = link("sum.value")
    computed, _ = run(json.dumps(document))
    written, _ = run(workflow())
    assert Pillow.open(computed).tobytes() == Pillow.open(written).tobytes()


@pytest.mark.slow
@pytest.mark.spec("C20", "C23")
def test_a_curve_measured_in_a_run_is_used_in_it_and_remembered(engine, tmp_path):
    document = json.loads(workflow(sample={"steps": 6, "step_cache": link("cache.step_cache")}))
    shared = document["nodes"]["sample"]["inputs"]
    ports = ("denoiser", "scheduler", "positive", "negative", "latents", "steps", "guidance", "seed")
    document["nodes"]["curve"] = {"type": "calibrate_curve", "inputs": {port: shared[port] for port in ports}}
    document["nodes"]["cache"] = {
        "type": "mag_cache",
        "inputs": {"curve": link("curve.curve"), "preset": "fast", "threshold": 1.0},
    }
    document["outputs"]["computed"] = {"from": "sample.steps_computed"}
    results = [engine.run(engine.load(json.dumps(document)), output_folder=tmp_path / "out") for _ in range(2)]
    assert [result.state for result in results] == ["done", "done"]
    assert 1 < results[0].outputs["computed"] < 6
    assert results[1].outputs["computed"] == results[0].outputs["computed"]
    states = {node.id: node.state for node in results[1].nodes}
    assert (states["curve"], states["sample"]) == ("cached", "cached")
    (note,) = {node.note for node in results[0].nodes if node.id == "sample"}
    assert note == f"both: {results[0].outputs['computed']} of 6 steps computed."


@pytest.mark.slow
def test_a_grid_of_prompts_and_seeds_becomes_one_picture(engine, tmp_path):
    document = json.loads(
        workflow(sample={"steps": 1, "guidance": 0.0, "seed": link("grid.y"), "positive": link("text.embedding")})
    )
    nodes = document["nodes"]
    nodes["prompts"] = {"type": "texts", "inputs": {"lines": "one\ntwo"}}
    nodes["seeds"] = {"type": "seeds", "inputs": {"first": 1, "count": 2}}
    nodes["grid"] = {"type": "xy_grid", "inputs": {"x": link("prompts.values"), "y": link("seeds.values")}}
    nodes["tokens"]["inputs"]["prompt"] = link("grid.x")
    nodes["sheet"] = {"type": "image_grid", "inputs": {"images": link("decode.image"), "columns": 2}}
    nodes["save"]["inputs"]["image"] = link("sheet.image")
    for unused in ("pruned", "kept"):
        del nodes[unused]
    result = engine.run(engine.load(json.dumps(document)), output_folder=tmp_path / "out")
    assert result.state == "done", [node for node in result.nodes if node.error]
    sheet = Pillow.open(tmp_path / "out" / result.outputs["file"])
    assert sheet.size == (132, 164)
    assert len({sheet.crop((x, y, x + 64, y + 80)).tobytes() for x in (0, 68) for y in (0, 84)}) == 4
