"""Model files are written by strangers: nothing in them is run, led elsewhere by, or built beyond all reason."""

from __future__ import annotations

import builtins
import io
import json
import os
import pickle
import shutil
import sys
import zipfile

import pytest
import torch
from safetensors.torch import save_file

from graph.disk_cache import DiskCacheFolder
from graph.engine import Engine
from graph.errors import Refused, WorkflowError
from graph.memo import Memo
from graph.registry import Registry
from nodes.builtin import MODULES
from nodes.image import open_picture
from nodes.load import load_pipeline
from nodes.runtime import DeviceRuntime

WEIGHTS = "transformer/diffusion_pytorch_model.safetensors"


@pytest.fixture
def folder(models, tmp_path, monkeypatch):
    """A copy of the tiny model that a test may spoil, found as `copy`."""
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(tmp_path / "own"))
    shutil.copytree(models / "tiny", tmp_path / "own" / "copy")
    return tmp_path / "own" / "copy"


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


# ---- canaries ----


class Canary:
    """Unpickled, it writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.fixture
def canary(tmp_path):
    """Where the canary would sing. It does sing when it is unpickled, or this test would show nothing."""
    path = tmp_path / "canary"
    pickle.loads(pickle.dumps(Canary(path)))
    assert path.exists()
    path.unlink()
    yield path
    assert not path.exists(), "the canary ran"


def zipped(canary):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Canary(canary)))
        archive.writestr("archive/version", "3")
    return buffer.getvalue()


FORMS = {
    "protocol 0": lambda canary: pickle.dumps(Canary(canary), 0),
    "protocol 2": lambda canary: pickle.dumps(Canary(canary), 2),
    "protocol 5": lambda canary: pickle.dumps(Canary(canary), 5),
    "zip": zipped,
    "behind a tensor header": lambda canary: b"\x02" + bytes(7) + b"{}" + pickle.dumps(Canary(canary)),
    "behind GGUF": lambda canary: b"GGUF\x03\0\0\0" + pickle.dumps(Canary(canary)),
}
SUFFIXES = (".ckpt", ".pt", ".pth", ".bin", ".pkl", ".safetensors", ".SafeTensors", ".gguf", ".npz", ".json")


@pytest.mark.spec("R-M01", "R-M03")
@pytest.mark.proves(20)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("part", ["transformer", "text_encoder", "vae"])
def test_a_pickle_under_any_name_is_refused_and_never_run(folder, canary, part, suffix, form):
    stem = "model" if part == "text_encoder" else "diffusion_pytorch_model"
    (folder / part / f"{stem}.safetensors").unlink()
    (folder / part / (stem + suffix)).write_bytes(FORMS[form](canary))
    with pytest.raises(Refused) as refusal:
        load_pipeline("copy")
    said = str(refusal.value)
    assert f"{part}/{stem}.safetensors is" in said
    known = form not in ("behind a tensor header",) and suffix != ".json"
    if known:
        assert {"p": "a pickle", "z": "a zip archive (PyTorch and numpy keep pickles in these)", "b": "a GGUF file"}[
            form[0]
        ] in said
        assert "Take the model" in said
    else:
        assert "opy" in said or "rename it" in said  # what it holds cannot be told from its start, and no loader is tried


@pytest.mark.spec("R-M01", "R-M03")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "file",
    [
        "model_index.json", "transformer/config.json", "scheduler/scheduler_config.json", "tokenizer/tokenizer_config.json",
        "latentgraph.json", f"{WEIGHTS}.index.json",
    ],
)  # fmt: skip
def test_a_pickle_in_place_of_a_configuration_is_refused(folder, canary, file, form):
    if file.endswith("index.json") and file != "model_index.json":
        (folder / WEIGHTS).unlink()
    (folder / file).write_bytes(FORMS[form](canary))
    with pytest.raises(Refused, match=r"is no JSON but|is not readable JSON"):
        load_pipeline("copy")


@pytest.mark.spec("R-M01", "R-M06")
@pytest.mark.parametrize("form", FORMS)
def test_a_pickle_in_place_of_a_vocabulary_is_refused_where_it_is_loaded(folder, canary, form):
    (folder / "tokenizer" / "tokenizer.json").write_bytes(FORMS[form](canary))
    recipe = load_pipeline("copy").tokenizer
    with pytest.raises(Refused, match=r"tokenizer/tokenizer.json is no(?:t readable)? JSON"):
        recipe.build("cpu")


@pytest.mark.spec("R-M01")
@pytest.mark.parametrize("form", FORMS)
def test_a_pickle_among_the_caches_is_a_miss_and_never_run(tmp_path, canary, form):
    digest, data = bytes(range(32)), FORMS[form](canary)
    memo = Memo(tmp_path / "memo", 2**30, 2**20)
    for suffix in (".safetensors", ".msgpack", ".pkl", ".bin"):
        path = memo.store.folder / "objects" / digest.hex()[:2] / f"{digest.hex()}{suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    assert memo.get_value(digest) is None
    assert {found.reason for found in memo.store.damaged} == {"its bytes do not have the digest it is named by"}
    memo.close()
    kept = DiskCacheFolder(tmp_path / "kept", 2**30)
    for suffix in (".safetensors", ".msgpack"):
        (tmp_path / "kept" / f"{digest.hex()}{suffix}").write_bytes(data)
    assert kept.get(digest) is None
    assert kept.digest(digest) is None
    assert len(kept.damaged) == 4


@pytest.mark.spec("R-M01")
@pytest.mark.parametrize("form", FORMS)
def test_a_pickle_as_an_uploaded_picture_is_refused_and_never_run(canary, form):
    with pytest.raises(ValueError, match=r"photo\.png is no picture that can be read \(PNG, JPEG, WEBP, BMP\)"):
        open_picture(FORMS[form](canary), "photo.png")


@pytest.mark.spec("R-M03")
def test_a_model_under_a_wrong_name_is_told_and_not_loaded(folder):
    (folder / WEIGHTS).rename(folder / "transformer" / "diffusion_pytorch_model.ckpt")
    with pytest.raises(
        Refused,
        match=r"diffusion_pytorch_model\.ckpt is a safetensors file: rename it to diffusion_pytorch_model\.safetensors if it is the model",
    ):
        load_pipeline("copy")


@pytest.mark.spec("R-M03")
def test_no_other_loader_is_tried_after_a_refusal(folder, canary):
    """A good pickle beside a damaged safetensors file: the library would find it, if it were asked to."""
    (folder / WEIGHTS).write_bytes(b"\xff" * 100)
    (folder / "transformer" / "diffusion_pytorch_model.bin").write_bytes(pickle.dumps(Canary(canary)))
    with pytest.raises(Refused, match="is damaged or no safetensors file"):
        load_pipeline("copy")


@pytest.mark.spec("R-M03")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n" + bytes(40),
            "a pointer of Git LFS .* git lfs pull",
        ),
        (b"<!doctype html><html>" + b" " * 99, "a web page: Download the file again"),
        (b"#!/bin/sh\nrm -rf ~" + bytes(99), "a program: only safetensors files are read"),
        (b"\x89HDF\r\n\x1a\n" + bytes(99), "an HDF5 file: only safetensors"),
    ],
)
def test_what_a_file_really_is_is_told(folder, content, said):
    (folder / WEIGHTS).write_bytes(content)
    with pytest.raises(Refused, match=f"is damaged or no safetensors file: it is {said}"):
        load_pipeline("copy")


# ---- names that would become code ----


def spoilt(file, **changes):
    return lambda folder: edit(folder / file, **changes)


def planted(file, text="raise SystemExit('the planted file ran')"):
    def spoil(folder):
        (folder / file).write_text(text)

    return spoil


OF_CODE = {
    "pipeline.py": (planted("pipeline.py"), "copy/pipeline.py is code"),
    "a module in a part": (planted("text_encoder/modeling_evil.py"), "text_encoder/modeling_evil.py is code"),
    "a library in a part": (planted("vae/_evil.SO"), "vae/_evil.SO is code"),
    "tokenizer code": (planted("tokenizer/tokenization_evil.py"), "tokenizer/tokenization_evil.py is code"),
    "an adapter": (planted("text_encoder/adapter_config.json", "{}"), "text_encoder/adapter_config.json is code, or leads to other files"),
    "auto_map": (spoilt("text_encoder/config.json", auto_map={"AutoModel": "evil--Evil"}), 'text_encoder/config.json sets "auto_map"'),
    "auto_map of a tokenizer": (
        spoilt("tokenizer/tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]}),
        'tokenizer/tokenizer_config.json sets "auto_map"',
    ),
    "auto_map of a denoiser": (spoilt("transformer/config.json", auto_map={}), 'transformer/config.json sets "auto_map"'),
    "auto_map deep inside": (spoilt("vae/config.json", more=[{"auto_map": "x"}]), 'vae/config.json sets "auto_map"'),
    "custom_pipeline": (spoilt("model_index.json", custom_pipeline="evil/pipeline"), 'copy/model_index.json sets "custom_pipeline"'),
    "trust_remote_code": (spoilt("model_index.json", trust_remote_code=True), 'copy/model_index.json sets "trust_remote_code"'),
    "another loader": (
        spoilt("text_encoder/config.json", quantization_config={"quant_method": "evil"}),
        'text_encoder/config.json sets "quantization_config"',
    ),
    "a kernel of the hub": (
        spoilt("text_encoder/config.json", attn_implementation="evil/kernel"),
        'text_encoder/config.json sets "attn_implementation"',
    ),
    "another base": (
        spoilt("text_encoder/config.json", base_model_name_or_path="../../other"),
        'text_encoder/config.json sets "base_model_name_or_path"',
    ),
    "a list as class": (spoilt("model_index.json", _class_name=["pipeline", "Evil"]), r'the model folder is a "\["pipeline", "Evil"\]"'),
    "an object as class": (spoilt("model_index.json", _class_name={"a": 1}), r'the model folder is a "\{"a": 1\}"'),
    "another pipeline": (spoilt("model_index.json", _class_name="EvilPipeline"), 'the model folder is a "EvilPipeline"'),
    "a part of the folder": (
        spoilt("model_index.json", vae=["pipeline", "AutoencoderKL"]),
        r'model_index.json names \["pipeline", "AutoencoderKL"\] as vae, but z-image takes AutoencoderKL of diffusers or transformers',
    ),
    "a part of another class": (
        spoilt("model_index.json", transformer=["diffusers", "DiffusionPipeline"]),
        r'model_index.json names \["diffusers", "DiffusionPipeline"\] as denoiser',
    ),
    "a tokenizer of another class": (
        spoilt("model_index.json", tokenizer=["transformers", "RagTokenizer"]),
        r'model_index.json names \["transformers", "RagTokenizer"\] as tokenizer',
    ),
    "a part that is a text": (spoilt("model_index.json", vae="os.system"), 'model_index.json names "os.system" as vae'),
    "a class in a list": (spoilt("transformer/config.json", _class_name=["evil", "Net"]), r'describes a "\["evil", "Net"\]"'),
    "an architecture that is a number": (spoilt("text_encoder/config.json", architectures=5), 'describes a "5"'),
    "an architecture that is no text": (spoilt("text_encoder/config.json", architectures=[["a"]]), r'describes a "\["a"\]"'),
    "a tokenizer class": (spoilt("tokenizer/tokenizer_config.json", tokenizer_class="EvilTokenizer"), 'describes a "EvilTokenizer"'),
    "a tokenizer class in a list": (spoilt("tokenizer/tokenizer_config.json", tokenizer_class=["a", "b"]), "describes a"),
    "no tokenizer class": (spoilt("tokenizer/tokenizer_config.json", tokenizer_class=None), 'describes a "None"'),
}  # fmt: skip


@pytest.mark.spec("R-M04")
@pytest.mark.proves(20)
@pytest.mark.parametrize("name", OF_CODE)
def test_a_folder_that_names_code_is_refused_and_nothing_of_it_imported(folder, name, monkeypatch):
    spoil, message = OF_CODE[name]
    spoil(folder)
    imported = []
    original = builtins.__import__
    monkeypatch.setattr(
        builtins, "__import__", lambda name, *rest, **more: imported.append(name) or original(name, *rest, **more)
    )
    before = set(sys.modules)
    with pytest.raises(Refused, match=message) as refusal:
        load_pipeline("copy")
    assert str(folder.parent) not in str(refusal.value)
    assert not [name for name in imported if name.split(".")[0] in ("pipeline", "evil", "os.system")]
    assert not [name for name in set(sys.modules) - before if str(folder) in str(getattr(sys.modules[name], "__file__", ""))]


# ---- sizes ----

TOO_LARGE = {
    "layers": (spoilt("text_encoder/config.json", num_hidden_layers=10**9), "sets num_hidden_layers to 1000000000; up to 1000"),
    "denoiser layers": (spoilt("transformer/config.json", n_layers=10**9), "sets n_layers to 1000000000; up to 1000"),
    "refiner layers": (spoilt("transformer/config.json", n_refiner_layers=-(10**9)), "sets n_refiner_layers to -1000000000"),
    "heads": (
        spoilt("text_encoder/config.json", num_attention_heads=10**9),
        "sets num_attention_heads to 1000000000; up to 16384",
    ),
    "width": (spoilt("text_encoder/config.json", hidden_size=10**9), "sets hidden_size to 1000000000"),
    "channels": (spoilt("vae/config.json", block_out_channels=[8, 8, 16, 10**12]), "sets block_out_channels to 1000000000000"),
    "blocks": (
        spoilt("vae/config.json", down_block_types=["DownEncoderBlock2D"] * 20_000),
        "holds 20000 items under down_block_types",
    ),
    "positions": (spoilt("transformer/config.json", axes_lens=[10**9, 64, 64]), "sets axes_lens to 1000000000"),
    "positions that are none": (
        spoilt("transformer/config.json", axes_lens=[1024, "x", 64]),
        "gives axes_lens .* three whole numbers",
    ),
    "positions of two": (spoilt("transformer/config.json", axes_lens=[1024, 64]), "gives axes_lens .* three whole numbers"),
    "no positions": (spoilt("transformer/config.json", axes_lens=[0, 0, 0]), "gives axes_lens .* three whole numbers"),
    "timesteps": (spoilt("scheduler/scheduler_config.json", num_train_timesteps=10**9), "sets num_train_timesteps to 1000000000"),
    "not a number": (spoilt("vae/config.json", scaling_factor=float("nan")), "sets scaling_factor to nan"),
    "endless": (spoilt("vae/config.json", scaling_factor=float("inf")), "sets scaling_factor to inf"),
    "depth": (spoilt("vae/config.json", x=json.loads("[" * 100 + "]" * 100)), "at depth 33; up to 10000 at depth 32"),
    "a huge file": (planted("vae/config.json", '{"a": "' + "x" * (16 * 2**20) + '"}'), "vae/config.json is larger than 16 MiB"),
    "a huge template": (
        planted("tokenizer/chat_template.jinja", "x" * (64 * 2**20 + 1)),
        "chat_template.jinja has 67108865 bytes",
    ),
}


@pytest.mark.spec("R-M06")
@pytest.mark.proves(22)
@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_configuration_beyond_all_reason_is_refused_before_anything_is_built(folder, name, monkeypatch):
    spoil, message = TOO_LARGE[name]
    spoil(folder)
    monkeypatch.setattr(torch.nn.Module, "__init__", None)
    with pytest.raises(Refused, match=message):
        load_pipeline("copy")


def with_vocabulary(change):
    def spoil(folder):
        path = folder / "tokenizer" / "tokenizer.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return spoil


WRONG_VOCABULARY = {
    "a negative id": (
        with_vocabulary(lambda c: c["model"]["vocab"].update(x=-5)),
        'gives the token "x" the id -5; ids are from 0',
    ),
    "a huge id": (with_vocabulary(lambda c: c["model"]["vocab"].update(x=2**31)), 'gives the token "x" the id 2147483648'),
    "an id that is a text": (with_vocabulary(lambda c: c["model"]["vocab"].update(x="1")), 'gives the token "x" the id 1'),
    "an added id": (with_vocabulary(lambda c: c["added_tokens"][0].update(id=-1)), 'gives the token "" the id -1'),
    "10^6 tokens": (
        with_vocabulary(lambda c: c["model"].update(vocab={str(i): i for i in range(1_000_001)})),
        "holds more than 1000000 tokens",
    ),
    "a pattern of 20,000": (
        with_vocabulary(lambda c: c.update(normalizer={"type": "Replace", "pattern": {"Regex": "a" * 20_000}, "content": ""})),
        "holds a pattern of 20000 characters",
    ),
}


@pytest.mark.spec("R-M06")
@pytest.mark.parametrize("name", WRONG_VOCABULARY)
def test_a_vocabulary_beyond_all_reason_is_refused_before_it_is_built(folder, name, monkeypatch):
    spoil, message = WRONG_VOCABULARY[name]
    spoil(folder)
    recipe = load_pipeline("copy").tokenizer
    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", None)
    with pytest.raises(Refused, match=f"tokenizer/tokenizer.json {message}"):
        recipe.build("cpu")


@pytest.mark.spec("R-M06")
def test_a_pattern_that_never_comes_to_an_end_ends(folder, call, recording):
    """The pattern engine gives up after so many retries; the worker's time limit stands behind it."""
    with_vocabulary(
        lambda c: c.update(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
        )
    )(folder)
    from nodes.text import tokenize

    model = load_pipeline("copy")
    with pytest.raises(BaseException, match="retry-limit-in-match over"):
        call(recording(), tokenize, model.tokenizer, "a" * 40 + "!")


JINJA = "{{ ''.__class__.__mro__[1].__subclasses__() }}{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}"


@pytest.mark.spec("R-M06")
@pytest.mark.proves(20)
@pytest.mark.parametrize("where", ["chat_template.jinja", "tokenizer_config.json"])
def test_a_template_in_a_model_is_never_rendered(folder, call, recording, where, monkeypatch):
    from nodes.text import tokenize

    expected = call(recording(), tokenize, load_pipeline("copy").tokenizer, "a red circle")
    if where == "chat_template.jinja":
        (folder / "tokenizer" / where).write_text(JINJA)
    else:
        (folder / "tokenizer" / "chat_template.jinja").unlink(missing_ok=True)
        edit(folder / "tokenizer" / where, chat_template=JINJA)
    monkeypatch.setattr("jinja2.environment.Template.render", None)
    monkeypatch.setattr("jinja2.environment.Template.generate", None)
    found = call(recording(), tokenize, load_pipeline("copy").tokenizer, "a red circle")
    assert torch.equal(found.ids.torch(), expected.ids.torch())


@pytest.mark.spec("R-M06")
def test_a_token_that_the_encoder_does_not_know_is_refused_before_the_device_sees_it(folder, call, recording):
    from nodes.text import encode_text, tokenize

    with_vocabulary(lambda c: c["added_tokens"][0].update(id=5000) or c["model"]["vocab"].update({"<|endoftext|>": 5000}))(folder)
    model = load_pipeline("copy")
    tokens = call(recording(), tokenize, model.tokenizer, "a red circle")
    with pytest.raises(
        ValueError, match=r"the tokenizer gave token 5000, the text encoder knows 400\. Copy the model folder again"
    ):
        call(recording(), encode_text, model.text_encoder, tokens)


# ---- the files change between planning and loading ----


def replaced(path):
    """Other weights of the same shape, under the same name."""
    from safetensors.torch import load_file

    tensors = {name: tensor + 1 for name, tensor in load_file(path).items()}
    path.unlink()
    save_file(tensors, path, metadata={"format": "pt"})


def shrunk(path):
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 64)


PARTS = {"text_encoder": "model", "transformer": "diffusion_pytorch_model", "vae": "diffusion_pytorch_model"}
ROLES = {"text_encoder": "text_encoder", "transformer": "denoiser", "vae": "vae"}
CHANGED = r"{} changed after this run was planned; run again to use them as they are now"


@pytest.mark.spec("R-I10", "R-K04", "R-M05")
@pytest.mark.proves(9)
@pytest.mark.parametrize("part", PARTS)
def test_weights_replaced_after_planning_are_not_taken_for_those_planned_with(folder, part):
    recipe = getattr(load_pipeline("copy"), ROLES[part])
    replaced(folder / part / f"{PARTS[part]}.safetensors")
    with pytest.raises(Refused, match=CHANGED.format(f"the files of copy/{part}")) as refusal:
        recipe.build("cpu")
    assert refusal.value.code == "changed_file"


@pytest.mark.spec("R-I10")
@pytest.mark.parametrize("part", PARTS)
def test_weights_cut_short_after_planning_are_an_error_and_no_signal(folder, part):
    recipe = getattr(load_pipeline("copy"), ROLES[part])
    shrunk(folder / part / f"{PARTS[part]}.safetensors")
    with pytest.raises(Refused, match="its end is missing or not its own"):
        recipe.build("cpu")


@pytest.mark.spec("R-I10", "R-M05")
def test_weights_replaced_while_they_are_loaded_are_not_used(folder, monkeypatch):
    from nodes.families.zimage import ZImage

    recipe, load = load_pipeline("copy").vae, ZImage.load

    def load_and_replace(self, role, place, dtype):
        live = load(self, role, place, dtype)
        replaced(place / "diffusion_pytorch_model.safetensors")
        return live

    monkeypatch.setattr(ZImage, "load", load_and_replace)
    with pytest.raises(Refused, match=CHANGED.format("the files of copy/vae")):
        recipe.build("cpu")


@pytest.mark.spec("R-M05")
@pytest.mark.parametrize(
    ("role", "file", "changes"),
    [
        ("vae", "vae/config.json", {"scaling_factor": 0.5}),
        ("scheduler", "scheduler/scheduler_config.json", {"shift": 9.0}),
        ("tokenizer", "tokenizer/tokenizer_config.json", {"model_max_length": 5}),
    ],
)
def test_a_configuration_changed_after_planning_is_not_taken(folder, role, file, changes):
    recipe = getattr(load_pipeline("copy"), role)
    edit(folder / file, **changes)
    with pytest.raises(Refused, match=CHANGED.format(f"the files of copy/{file.split('/', maxsplit=1)[0]}")):
        recipe.build("cpu")


# ---- nothing is fetched ----


@pytest.mark.spec("R-M05")
def test_no_load_asks_the_network_though_files_are_missing(folder, monkeypatch):
    """There is no download: whole, or with each file gone in turn, the parts are built or refused without a connection."""
    import socket

    asked = []
    monkeypatch.setattr(socket.socket, "connect", lambda *args: asked.append(args))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **more: asked.append(args))
    model = load_pipeline("copy")
    for recipe in model:
        recipe.build("cpu")
    for path in sorted(path for path in folder.glob("*/*") if path.is_file()):
        path.rename(folder / "aside")
        refused = 0
        for recipe in model:
            try:
                recipe.build("cpu")
            except Refused:
                refused += 1
        assert refused == 1 or path.name == "generation_config.json", path
        (folder / "aside").rename(path)
    assert asked == []
    assert os.environ["HF_HUB_OFFLINE"] == "1"


# ---- under the engine ----


@pytest.mark.spec("R-M01", "R-M04")
def test_a_workflow_with_a_hostile_model_is_refused_while_planning(folder, canary, tmp_path):
    (folder / WEIGHTS).write_bytes(pickle.dumps(Canary(canary)))
    document = {
        "format": "latentgraph/workflow", "version": "1.0",
        "nodes": {
            "model": {"type": "load_pipeline", "inputs": {"model": "copy"}},
            "tokens": {"type": "tokenize", "inputs": {"prompt": "x", "tokenizer": {"link": "model.tokenizer"}}},
        },
        "outputs": {"tokens": {"from": "tokens.tokens"}},
    }  # fmt: skip
    with (
        Engine(
            Registry.load(MODULES, packs=False), tmp_path / "home", runtime=lambda device, threads: DeviceRuntime(device, 1)
        ) as engine,
        pytest.raises(WorkflowError, match="model: .*is damaged or no safetensors file: it is a pickle"),
    ):
        engine.plan(engine.load(json.dumps(document)))
