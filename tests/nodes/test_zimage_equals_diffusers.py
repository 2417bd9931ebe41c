"""Nodes called one by one give bit for bit what the library's pipelines give (the reference contract)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nodes.decode import decode
from nodes.denoise import denoise
from nodes.latents import empty_latents, encode_image
from nodes.load import load_pipeline
from nodes.tensors import WireTensor
from nodes.values import Image

PROMPT = "a red circle on a blue ground"


@pytest.mark.spec("A3", "0.3", "I12")
@pytest.mark.parametrize("guidance", [0.0, 3.0])
@pytest.mark.parametrize("name", ["tiny", "tiny_bf16"])
def test_text_to_image_equals_the_library(references, embed, name, guidance):
    model = load_pipeline(name)
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), empty_latents(80, 64),
        negative=embed(model, "blurry"), steps=4, guidance=guidance, seed=7,
    )  # fmt: skip
    image = decode(model.vae, sampled.latents)
    asked = {"prompt": PROMPT, "negative_prompt": "blurry", "width": 80, "height": 64}
    call = asked | {"num_inference_steps": 4, "guidance_scale": guidance}
    pipeline = references(name)
    latents = pipeline(**call, generator=torch.Generator().manual_seed(7), output_type="latent").images
    pixels = pipeline(**call, generator=torch.Generator().manual_seed(7), output_type="pt").images
    assert torch.equal(sampled.latents.samples.torch(), latents)
    assert torch.equal(image.pixels.torch(), pixels.float())
    assert image.pixels.torch().std() > 0.01


@pytest.mark.parametrize("guidance", [0.0, 3.0])
@pytest.mark.parametrize("strength", [0.6, 1.0])
@pytest.mark.parametrize("name", ["tiny", "tiny_bf16"])
def test_image_to_image_equals_the_library(references, embed, name, strength, guidance):
    from diffusers import ZImageImg2ImgPipeline
    from PIL import Image as Picture

    rng = np.random.default_rng(5)
    picture = Picture.fromarray(rng.integers(0, 256, (64, 80, 3), dtype=np.uint8))
    array = (np.array(picture).astype(np.float32) / 255.0).transpose(2, 0, 1)[None]
    model = load_pipeline(name)
    latents = encode_image(model.vae, Image(WireTensor.of_numpy(array)))
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), latents,
        negative=embed(model, ""), steps=5, guidance=guidance, seed=3, strength=strength,
    )  # fmt: skip
    pipeline = ZImageImg2ImgPipeline(**references(name).components)
    pipeline.set_progress_bar_config(disable=True)
    if name.endswith("bf16"):
        # The library passes the float32 picture's text dtype on to the VAE, so this runs as it stands.
        assert pipeline.vae.dtype == torch.bfloat16
    expected = pipeline(
        prompt=PROMPT, image=picture, num_inference_steps=5, guidance_scale=guidance, strength=strength,
        generator=torch.Generator().manual_seed(3), output_type="latent",
    ).images  # fmt: skip
    assert torch.equal(sampled.latents.samples.torch(), expected)
