"""What a model folder is, by its headers: identity, and every way it can be wrong, told while planning."""

from __future__ import annotations

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from graph.errors import Refused
from graph.types import encode, plain_fields
from nodes.load import load_pipeline
from nodes.models import find_model, list_models
from nodes.weights import weights_of

WEIGHTS = "transformer/diffusion_pytorch_model.safetensors"


@pytest.fixture
def folder(models, tmp_path, monkeypatch):
    """A copy of the tiny model that a test may spoil, found as `copy`."""
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(tmp_path / "own"))
    shutil.copytree(models / "tiny", tmp_path / "own" / "copy")
    return tmp_path / "own" / "copy"


def keys(model):
    return [plain_fields(part, for_key=True) for part in model]


def test_a_moved_folder_keeps_its_identity(folder):
    before = load_pipeline("copy")
    folder.rename(folder.parent / "elsewhere")
    after = load_pipeline("elsewhere")
    assert keys(after) == keys(before)
    assert after == before
    assert after.denoiser.folder != before.denoiser.folder
    assert "folder" in encode(after.denoiser).fields


@pytest.mark.parametrize("part", ["transformer", "text_encoder", "vae"])
def test_replaced_weights_are_noticed_in_the_same_process(folder, part):
    before = load_pipeline("copy")
    (path,) = (folder / part).glob("*.safetensors")
    tensors = load_file(path)
    name = sorted(tensors)[len(tensors) // 2]
    save_file(tensors | {name: tensors[name] + 1}, path)
    changed = [a.weights != b.weights for a, b in zip(before, load_pipeline("copy"), strict=True)]
    assert sum(changed) == 1


def test_weights_changed_in_place_within_a_clock_tick_are_noticed(folder):
    path, stat = folder / WEIGHTS, os.stat(folder / WEIGHTS)
    before = weights_of(folder / "transformer", "diffusion_pytorch_model").identity
    with open(path, "r+b") as file:
        file.seek(8 + int.from_bytes(file.read(8), "little"))
        file.write(b"\1\2\3\4")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert weights_of(folder / "transformer", "diffusion_pytorch_model").identity != before


def test_a_changed_configuration_is_another_model(folder):
    before = load_pipeline("copy")
    path = folder / "vae" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"scaling_factor": 0.5}))
    after = load_pipeline("copy")
    assert after.vae.weights != before.vae.weights
    assert after.denoiser == before.denoiser


def test_a_library_version_in_a_configuration_is_not_part_of_the_model(folder):
    before = load_pipeline("copy")
    path = folder / "transformer" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"_diffusers_version": "0.99"}))
    assert load_pipeline("copy") == before


def test_auto_computes_in_what_the_files_hold(models):
    assert load_pipeline("tiny").denoiser.dtype == "float32"
    assert load_pipeline("tiny_bf16").denoiser.dtype == "bfloat16"
    wide = load_pipeline("tiny_bf16", dtype="float32")
    assert wide.denoiser.dtype == "float32"
    assert wide.denoiser.nbytes == 2 * load_pipeline("tiny_bf16").denoiser.nbytes


def test_the_size_in_the_recipe_is_what_will_be_resident(tiny):
    for recipe in (tiny.denoiser, tiny.vae, tiny.text_encoder):
        live = recipe.build("cpu")
        assert recipe.nbytes == sum(p.numel() * p.element_size() for p in live.parameters())


def test_a_model_says_what_its_makers_advise(folder):
    (folder / "latentgraph.json").write_text('{"steps": 7, "guidance": 1.5}')
    assert (load_pipeline("copy").denoiser.steps, load_pipeline("copy").denoiser.guidance) == (7, 1.5)
    (folder / "latentgraph.json").unlink()
    folder.rename(folder.parent / "Z-Image-Turbo")
    assert (load_pipeline("Z-Image-Turbo").denoiser.steps, load_pipeline("Z-Image-Turbo").denoiser.guidance) == (9, 0.0)


def shard(folder):
    """Split the transformer's weights into two shards with an index."""
    tensors = load_file(folder / WEIGHTS)
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, chosen in parts.items():
        save_file({name: tensors[name] for name in chosen}, folder / "transformer" / file)
    (folder / WEIGHTS).unlink()
    index = {"metadata": {}, "weight_map": {name: file for file, chosen in parts.items() for name in chosen}}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def test_shards_are_read_and_load(folder):
    whole = load_pipeline("copy").denoiser
    expected = {name: p.clone() for name, p in whole.build("cpu").named_parameters()}
    shard(folder)
    sharded = load_pipeline("copy").denoiser
    assert sharded.nbytes == whole.nbytes
    assert all(torch.equal(p, expected[name]) for name, p in sharded.build("cpu").named_parameters())


def spoil_missing_shard(folder):
    shard(folder)
    (folder / "transformer" / "b.safetensors").unlink()


def spoil_pickle(folder):
    (folder / WEIGHTS).rename(folder / "transformer" / "diffusion_pytorch_model.bin")


def spoil_cut_short(folder):
    path = folder / WEIGHTS
    path.write_bytes(path.read_bytes()[:-100])


def spoil_garbage(folder):
    (folder / WEIGHTS).write_bytes(b"\xff" * 64)


def spoil_header(folder):
    path = folder / WEIGHTS
    data = bytearray(path.read_bytes())
    data[8:10] = b"[["
    path.write_bytes(data)


def spoil_class(folder):
    path = folder / "transformer" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"_class_name": "FluxTransformer2DModel"}))


def spoil_width(folder):
    path = folder / "transformer" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cap_feat_dim": 99}))


def spoil_pipeline(folder):
    (folder / "model_index.json").write_text('{"_class_name": "ZimagePipeline"}')


def spoil_json(folder):
    (folder / "vae" / "config.json").write_text("{")


WRONG = {
    spoil_missing_shard: "transformer/diffusion_pytorch_model.safetensors.index.json lists 2 shards, of which b.safetensors "
    "is missing; copy the model folder again",
    spoil_pickle: "diffusion_pytorch_model.bin is a pickle, which is never loaded: convert it to safetensors",
    spoil_cut_short: "transformer/diffusion_pytorch_model.safetensors is damaged: it is .* bytes long, its header says otherwise",
    spoil_garbage: "is damaged: its header says .* bytes",
    spoil_header: "is damaged: its header cannot be read",
    spoil_class: 'transformer/config.json describes a "FluxTransformer2DModel", but z-image takes ZImageTransformer2DModel',
    spoil_width: r"the denoiser takes 99 wide text \(cap_feat_dim\), the text_encoder gives 32",
    spoil_pipeline: 'the model folder is a "ZimagePipeline", which no model family here can run. Did you mean "ZImagePipeline"',
    spoil_json: "vae/config.json is not readable JSON",
}


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__)
def test_a_wrong_folder_is_refused_from_headers_alone(folder, spoil, monkeypatch):
    spoil(folder)
    monkeypatch.setattr(torch.nn.Module, "__init__", None)  # nothing may be built
    with pytest.raises(Refused, match=WRONG[spoil]) as refusal:
        load_pipeline("copy")
    assert str(folder.parent) not in str(refusal.value)


@pytest.mark.parametrize(
    "file", ["tokenizer/tokenizer_config.json", "scheduler/scheduler_config.json", "vae/config.json", WEIGHTS]
)
def test_a_missing_file_is_refused_by_name(folder, file):
    (folder / file).unlink()
    with pytest.raises(Refused, match=f"{file} is missing; the model folder is incomplete, copy it again"):
        load_pipeline("copy")


@pytest.mark.parametrize("name", ["/etc", "../tiny", "a/../../b", "a/b/c", "", ".hidden", "x\0y"])
def test_only_names_are_taken_never_paths(name):
    with pytest.raises(Refused, match="is not the name of a model"):
        load_pipeline(name)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(Refused, match=r'there is no model "tinny". Did you mean "tiny"\?'):
        load_pipeline("tinny")


def test_a_link_out_of_the_models_folder_is_not_followed(models, tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    (root / "outside").symlink_to(models / "tiny")
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(root))
    with pytest.raises(Refused, match='there is no model "outside"'):
        find_model("outside", tmp_path)


def test_models_of_the_data_folder_come_first(models, tmp_path):
    shutil.copytree(models / "tiny", tmp_path / "models" / "tiny")
    shutil.copytree(models / "tiny", tmp_path / "models" / "maker" / "small")
    found = {model.name: model.folder for model in list_models(tmp_path)}
    assert found["tiny"] == find_model("tiny", tmp_path) == tmp_path / "models" / "tiny"
    assert {"maker/small", "tiny_bf16"} <= found.keys()
