"""What a model or a node gives is looked at where it is made: no NaN, no infinity, no other shape or dtype goes on."""

from __future__ import annotations

import pytest
import torch

from graph.context import Context
from graph.engine import Engine
from graph.node import node
from graph.registry import Registry
from nodes.decode import decode
from nodes.denoise import denoise
from nodes.families.zimage import ZImage
from nodes.finite import NotFinite
from nodes.image import resize_image
from nodes.latents import empty_latents, encode_image
from nodes.runtime import DeviceRuntime
from nodes.tensors import WireTensor
from nodes.text import encode_text, tokenize
from nodes.values import EmbeddedText, Image, Latents, Mask, Posterior, Tokens

BAD = [float("nan"), float("inf"), float("-inf")]


def spoilt(tensor, bad):
    """The same with one value in its middle replaced."""
    changed = tensor.clone()
    changed.view(-1)[changed.numel() // 2] = bad
    return changed


@pytest.mark.spec("R-G09")
@pytest.mark.parametrize("bad", BAD)
def test_one_wrong_number_in_the_latents_is_told_by_denoise(tiny, embed, bad, monkeypatch):
    predict = ZImage.predict
    monkeypatch.setattr(ZImage, "predict", lambda *args, **more: spoilt(predict(*args, **more), bad))
    text = embed(tiny, "x")
    with pytest.raises(
        NotFinite, match=r"latents: .* of 256 values of the latents are no finite numbers; .* Compute it with dtype float32"
    ):
        denoise(tiny.denoiser, tiny.scheduler, text, empty_latents(64, 64), steps=2, guidance=0.0)


@pytest.mark.spec("R-G09")
@pytest.mark.parametrize("bad", BAD)
def test_one_wrong_number_in_a_picture_is_told_by_decode(tiny, bad, monkeypatch):
    from diffusers import AutoencoderKL

    original = AutoencoderKL.decode
    monkeypatch.setattr(AutoencoderKL, "decode", lambda *args, **more: (spoilt(original(*args, **more)[0], bad),))
    latents = Latents(64, 64, "z-image", WireTensor.of(torch.zeros(1, 4, 8, 8)))
    with pytest.raises(NotFinite, match="image: 1 of 12288 values of the picture are no finite numbers"):
        decode(tiny.vae, latents)


@pytest.mark.spec("R-G09")
@pytest.mark.parametrize("bad", BAD)
def test_a_wrong_number_in_a_real_token_is_told_and_in_padding_is_not(tiny, bad, monkeypatch):
    encode, tokens = ZImage.encode, tokenize(tiny.tokenizer, "x")
    at = {"position": 0}

    def spoil(self, encoder, ids, mask):
        hidden = encode(self, encoder, ids, mask).clone()
        hidden[0, at["position"], 0] = bad
        return hidden

    monkeypatch.setattr(ZImage, "encode", spoil)
    with pytest.raises(NotFinite, match="embedding: 1 of .* values of the real tokens"):
        encode_text(tiny.text_encoder, tokens)
    at["position"] = -1
    encode_text(tiny.text_encoder, tokens)


@pytest.mark.spec("R-G09")
def test_a_wrong_number_in_an_encoded_picture_is_told(tiny):
    picture = Image(WireTensor.of(torch.full((1, 3, 64, 64), float("nan"))))
    with pytest.raises(NotFinite, match="latents: .* values of the encoded picture"):
        encode_image(tiny.vae, picture)


def tensor(*shape, dtype=torch.float32):
    return WireTensor.of(torch.zeros(*shape, dtype=dtype))


@pytest.mark.spec("R-G09")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Image(tensor(3, 8, 8)), r"Image.pixels is F32 \(3, 8, 8\); it has to be F32 \(any, 3, any, any\)"),
        (lambda: Image(tensor(1, 4, 8, 8)), r"Image.pixels is F32 \(1, 4, 8, 8\)"),
        (lambda: Image(tensor(1, 3, 8, 8, dtype=torch.bfloat16)), r"Image.pixels is BF16 .* it has to be F32"),
        (lambda: Mask(tensor(1, 3, 8, 8)), r"Mask.values is F32 \(1, 3, 8, 8\)"),
        (lambda: Latents(64, 64, "z", tensor(4, 8, 8)), r"Latents.samples is F32 \(4, 8, 8\)"),
        (lambda: Latents(64, 64, "z", tensor(1, 4, 8, 8, dtype=torch.float16)), r"Latents.samples is F16"),
        (lambda: Posterior(tensor(1, 4, 8), tensor(1, 4, 8), 0.0, 1.0), r"Posterior.mean is F32 \(1, 4, 8\)"),
        (lambda: Tokens(tensor(1, 5), tensor(1, 5), "z"), r"Tokens.ids is F32 \(1, 5\); it has to be I64"),
        (
            lambda: Tokens(tensor(1, 5, dtype=torch.int64), tensor(1, 4, dtype=torch.int64), "z"),
            r"Tokens.mask is I64 \(1, 4\); it has to be I64 \(1, 5\)",
        ),
        (lambda: EmbeddedText(tensor(5), tensor(5), tensor(5)), r"EmbeddedText.hidden is F32 \(5,\)"),
        (lambda: EmbeddedText(tensor(5, 2), tensor(4, dtype=torch.int64), tensor(5)), r"EmbeddedText.ids is I64 \(4,\)"),
    ],
)
def test_a_value_of_another_shape_or_dtype_cannot_be_made(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@node(title="Half a picture", version=1, output="image")
def half_a_picture(ctx: Context, sides: int = 3) -> Image:
    return Image(tensor(*[3] * sides))


@pytest.mark.spec("R-G09")
def test_the_error_names_the_node_that_made_it(tmp_path):
    import json

    nodes = {
        "made": {"type": "half_a_picture", "inputs": {"sides": 3}},
        "next": {"type": "resize_image", "inputs": {"image": {"link": "made.image"}}},
    }
    text = json.dumps(
        {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, "outputs": {"image": {"from": "next.image"}}}
    )
    library = Registry.of(half_a_picture, resize_image)
    with Engine(library, tmp_path / "home", runtime=lambda device, threads: DeviceRuntime(device, 1)) as engine:
        result = engine.run(engine.load(text))
    states = {found.id: (found.state, found.code) for found in result.nodes}
    assert states == {"made": ("failed", "node_failed"), "next": ("skipped", "")}
    (error,) = [found.error for found in result.nodes if found.error and found.id == "made"]
    assert error.startswith("made (half_a_picture) failed: TypeError: Image.pixels is F32 (3, 3, 3)")
