"""What a model folder is, by its headers: identity, and every way it can be wrong, told while planning."""

from __future__ import annotations

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from graph.compile import compile_document
from graph.document import document_from_json
from graph.errors import Refused
from graph.registry import Registry
from graph.types import encode, plain_fields
from nodes.load import load_pipeline
from nodes.models import find_model, list_models, unknown_models
from nodes.primitives import text
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


@pytest.mark.proves(9)
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


def written_at(path, where):
    """Change one byte in place."""
    with open(path, "r+b") as file:
        file.seek(where)
        byte = file.read(1)
        file.seek(where)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("back", [1, 9000, 21_000])
def test_any_changed_byte_of_a_small_file_is_noticed(tmp_path, back):
    path = tmp_path / "model.safetensors"
    save_file({"weight": torch.arange(8192.0)}, path)
    before = weights_of(tmp_path, "model").identity
    written_at(path, path.stat().st_size - back)
    assert weights_of(tmp_path, "model").identity != before


@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_in_a_large_file_the_start_middle_and_end_of_a_tensor_are_looked_at(tmp_path, monkeypatch, place):
    monkeypatch.setattr("nodes.weights.WHOLE_BYTES", 0)
    path = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(25 * 4096), "b": torch.zeros(25 * 4096)}, path)
    start = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    before = weights_of(tmp_path, "model").identity
    written_at(path, start + int(place * 100 * 4096))
    assert weights_of(tmp_path, "model").identity != before


def test_other_values_throughout_a_large_tensor_are_noticed_though_its_ends_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("nodes.weights.WHOLE_BYTES", 0)
    path, values = tmp_path / "model.safetensors", torch.zeros(64 * 1024)
    save_file({"weight": values}, path)
    before = weights_of(tmp_path, "model").identity
    values[1024:30_000] = values[36_000:-1024] = 1  # all but the first, the middle and the last block
    save_file({"weight": values}, path)
    assert weights_of(tmp_path, "model").identity != before


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


def spoil_index(folder):
    """A shard of another model under the right name."""
    shard(folder)
    save_file({"stranger": torch.zeros(4)}, folder / "transformer" / "b.safetensors")


def spoil_ambiguous(folder):
    kept = (folder / WEIGHTS).read_bytes()
    shard(folder)
    (folder / WEIGHTS).write_bytes(kept)


def spoil_empty_index(folder):
    (folder / WEIGHTS).unlink()
    (folder / f"{WEIGHTS}.index.json").write_text('{"weight_map": ["a.safetensors"]}')


def spoil_dtype(folder):
    path = folder / WEIGHTS
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"F32"', b'"X32"'))


def spoil_missing_shard(folder):
    shard(folder)
    (folder / "transformer" / "b.safetensors").unlink()


def spoil_pickle(folder):
    (folder / WEIGHTS).unlink()
    torch.save({"weight": torch.zeros(1)}, folder / "transformer" / "diffusion_pytorch_model.bin")


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


def spoil_tokenizer(folder):
    """Half of the older form is no vocabulary."""
    (folder / "tokenizer" / "tokenizer.json").unlink()
    (folder / "tokenizer" / "vocab.json").write_text("{}")


def advise(text):
    def spoil(folder):
        (folder / "latentgraph.json").write_text(text)

    spoil.__name__ = f"advise {text[:20]}"
    return spoil


WRONG = {
    spoil_tokenizer: "tokenizer holds neither tokenizer.json nor vocab.json with merges.txt; the model folder is incomplete",
    advise('{"steps": 0}'): "copy/latentgraph.json says steps 0; it takes a whole number from 1 to 200. Correct it or remove",
    advise('{"steps": 201}'): "copy/latentgraph.json says steps 201; it takes a whole number from 1 to 200",
    advise('{"steps": 7.5}'): "copy/latentgraph.json says steps 7.5; it takes a whole number",
    advise('{"steps": true}'): "copy/latentgraph.json says steps true; it takes a whole number",
    advise('{"guidance": -1}'): "copy/latentgraph.json says guidance -1; it takes a number from 0 to 20",
    advise('{"guidance": NaN}'): "copy/latentgraph.json says guidance NaN; it takes a number from 0 to 20",
    advise('{"guidance": "4"}'): 'copy/latentgraph.json says guidance "4"; it takes a number from 0 to 20',
    advise("[1]"): "copy/latentgraph.json holds no JSON object",
    advise('{"steps":' + "[" * 100_000): "copy/latentgraph.json is not readable JSON",
    advise("{"): "copy/latentgraph.json is not readable JSON",
    spoil_index: "transformer/diffusion_pytorch_model.safetensors.index.json and b.safetensors do not belong together: "
    "b.safetensors does not hold .*; copy the model folder again",
    spoil_ambiguous: "transformer/diffusion_pytorch_model.safetensors stands beside diffusion_pytorch_model.safetensors.index."
    "json, and only one of them can be the model; remove the one that does not belong, or copy the folder again",
    spoil_empty_index: "diffusion_pytorch_model.safetensors.index.json lists no shards; copy the file again",
    spoil_dtype: "the weights in transformer hold numbers of the type X32, which is not known here; take the model in one of ",
    spoil_missing_shard: "transformer/diffusion_pytorch_model.safetensors.index.json lists 2 shards, of which b.safetensors "
    "is missing; copy the model folder again",
    spoil_pickle: r"diffusion_pytorch_model.bin is a zip archive \(.*pickles.*\): it could run code when it is read, so it is never "
    "loaded. Take the model as safetensors, or convert it where you trust it",
    spoil_cut_short: "transformer/diffusion_pytorch_model.safetensors is damaged or no safetensors file: its tensors take .* bytes and "
    "it has .* for them, so its end is missing or not its own. Copy the file again",
    spoil_garbage: "is damaged or no safetensors file: its header says .* bytes, the file has 64. Copy the file again",
    spoil_header: "is damaged or no safetensors file: its header does not begin with an object",
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


PARTS = {"text_encoder": "model", "transformer": "diffusion_pytorch_model", "vae": "diffusion_pytorch_model"}


def build(part):
    found = load_pipeline("copy")
    return {"text_encoder": found.text_encoder, "transformer": found.denoiser, "vae": found.vae}[part].build("cpu")


@pytest.mark.parametrize("part", PARTS)
def test_weights_that_lack_a_tensor_are_refused_not_made_up(folder, part):
    path = folder / part / f"{PARTS[part]}.safetensors"
    tensors = load_file(path)
    name = sorted(tensors)[3]
    save_file({key: tensor for key, tensor in tensors.items() if key != name}, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=rf"the weights in {part} lack 1 tensor of the model \({name}\)\. Copy the model folder"):
        build(part)


@pytest.mark.parametrize("part", PARTS)
def test_weights_with_a_tensor_of_another_shape_are_refused(folder, part):
    path = folder / part / f"{PARTS[part]}.safetensors"
    tensors = load_file(path)
    name = sorted(tensors)[3]
    save_file(tensors | {name: torch.zeros(3, 5)}, path, metadata={"format": "pt"})
    with pytest.raises(
        ValueError, match=rf"the weights in {part} do not fit its config\.json \(.*\)\. Copy the model folder again"
    ):
        build(part)


@pytest.mark.parametrize("part", PARTS)
def test_weights_with_a_tensor_that_has_no_place_are_refused(folder, part):
    path = folder / part / f"{PARTS[part]}.safetensors"
    save_file(load_file(path) | {"stranger": torch.zeros(3)}, path, metadata={"format": "pt"})
    wanted = rf"the weights in {part} hold 1 tensor that the model has no place for \(stranger\)"
    with pytest.raises(ValueError, match=wanted):
        build(part)


def test_a_text_encoder_may_bring_the_head_that_it_does_not_need(folder):
    path = folder / "text_encoder" / "model.safetensors"
    tensors = {f"model.{name}": tensor for name, tensor in load_file(path).items()}
    head = torch.zeros_like(tensors["model.embed_tokens.weight"])
    save_file(tensors | {"lm_head.weight": head}, path, metadata={"format": "pt"})
    live = build("text_encoder")
    assert torch.equal(live.embed_tokens.weight, tensors["model.embed_tokens.weight"])


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
    advice = "Put its folder into models/ of the data folder, or name its parent in LATENTGRAPH_MODELS."
    with pytest.raises(Refused, match=rf'^there is no model "tinny"\. Did you mean "tiny"\? {advice}$'):
        load_pipeline("tinny")


@pytest.mark.parametrize("name", ["a" * 129, "maker/" + "a" * 1000])
def test_a_name_longer_than_a_folders_is_no_name_and_not_repeated_whole(name):
    with pytest.raises(Refused, match=rf'^"{name[:80]}" is not the name of a model'):
        load_pipeline(name)


def test_only_models_that_a_workflow_names_itself_are_looked_for(models, tmp_path):
    nodes = {
        "known": {"type": "load_pipeline", "inputs": {"model": "tiny"}},
        "wrong": {"type": "load_pipeline", "inputs": {"model": "../tiny"}},
        "gone": {"type": "load_pipeline", "inputs": {"model": "tinny"}},
        "muted": {"type": "load_pipeline", "state": "muted", "inputs": {"model": "tinny"}},
        "name": {"type": "text", "inputs": {"value": "tinny"}},
        "linked": {"type": "load_pipeline", "inputs": {"model": {"link": "name.value"}}},
    }
    raw = {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes}
    compiled = compile_document(document_from_json(raw), Registry.of(load_pipeline, text).specs)
    found = {(problem.code, problem.node, problem.port) for problem in unknown_models(compiled, tmp_path)}
    assert found == {("bad_model_name", "wrong", "model"), ("unknown_model", "gone", "model")}


@pytest.mark.parametrize("linked", ["outside", "maker"])
def test_an_entry_of_the_models_folder_may_be_a_link(models, tmp_path, monkeypatch, linked):
    root = tmp_path / "root"
    root.mkdir()
    (root / linked).symlink_to(models / "tiny" if linked == "outside" else models)
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(root))
    name = linked if linked == "outside" else "maker/tiny"
    assert name in {model.name for model in list_models(tmp_path)}
    assert find_model(name, tmp_path) == root / name


def test_a_link_further_down_that_leads_out_is_neither_listed_nor_found(models, tmp_path, monkeypatch):
    root = tmp_path / "root"
    (root / "maker").mkdir(parents=True)
    (root / "maker" / "outside").symlink_to(models / "tiny")
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(root))
    assert "maker/outside" not in {model.name for model in list_models(tmp_path)}
    with pytest.raises(Refused, match='there is no model "maker/outside"'):
        find_model("maker/outside", tmp_path)


def test_models_of_the_data_folder_come_first(models, tmp_path):
    shutil.copytree(models / "tiny", tmp_path / "models" / "tiny")
    shutil.copytree(models / "tiny", tmp_path / "models" / "maker" / "small")
    found = {model.name: model.folder for model in list_models(tmp_path)}
    assert found["tiny"] == find_model("tiny", tmp_path) == tmp_path / "models" / "tiny"
    assert {"maker/small", "tiny_bf16"} <= found.keys()


@pytest.mark.spec("G8")
def test_a_float32_vae_is_read_from_its_file_and_never_by_way_of_bfloat16(tiny, models):
    import torch
    from safetensors.torch import load_file

    from nodes.load import load_pipeline

    vae = load_pipeline("tiny", dtype="float32").vae.build("cpu")
    stored = load_file(models / "tiny" / "vae" / "diffusion_pytorch_model.safetensors")
    assert all(torch.equal(value, stored[name]) for name, value in vae.state_dict().items())
    assert any(not torch.equal(value, value.bfloat16().float()) for value in stored.values())
    assert load_pipeline("tiny").vae.dtype == "float32"
    assert load_pipeline("tiny_bf16").vae.dtype == "bfloat16"
