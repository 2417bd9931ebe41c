"""Nodes called one by one give bit for bit what the library's pipelines give (the reference contract)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nodes.decode import decode
from nodes.denoise import denoise
from nodes.grey import from_grey
from nodes.image import from_picture
from nodes.latents import empty_latents, encode_image
from nodes.load import load_pipeline
from nodes.tensors import WireTensor
from nodes.values import Image, Mask

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


def some_picture(seed=5, mode="RGB", size=(80, 64)):
    from PIL import Image as Picture

    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    return Picture.fromarray(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def painted_mask(size=(80, 64)):
    """A grey blob with soft edges, that no multiple of eight pixels bounds."""
    from PIL import Image as Picture
    from PIL import ImageDraw, ImageFilter

    sheet = Picture.new("L", size, 0)
    ImageDraw.Draw(sheet).ellipse((13, 9, 51, 47), fill=255)
    return sheet.filter(ImageFilter.GaussianBlur(3))


def inpainted(pipelines, name, picture, mask, **asked):
    """What the library's pipeline gives, as latents."""
    from diffusers import ZImageInpaintPipeline

    pipeline = ZImageInpaintPipeline(**pipelines(name).components)
    pipeline.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(3)
    return pipeline(prompt=PROMPT, image=picture, mask_image=mask, generator=generator, output_type="latent", **asked).images


@pytest.mark.parametrize("guidance", [0.0, 3.0])
@pytest.mark.parametrize("strength", [0.6, 1.0])
@pytest.mark.parametrize("name", ["tiny", "tiny_bf16"])
def test_inpainting_equals_the_library(references, embed, name, strength, guidance):
    picture, mask = some_picture(), painted_mask()
    model = load_pipeline(name)
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), encode_image(model.vae, from_picture(picture)),
        negative=embed(model, ""), mask=from_grey([mask]), steps=5, guidance=guidance, seed=3, strength=strength,
    )  # fmt: skip
    asked = {"num_inference_steps": 5, "guidance_scale": guidance, "strength": strength}
    assert torch.equal(sampled.latents.samples.torch(), inpainted(references, name, picture, mask, **asked))


@pytest.mark.parametrize("size", [(80, 64), (101, 77), (64, 80), (33, 20)])
@pytest.mark.parametrize("of", ["blob", "noise"])
def test_a_mask_of_any_size_is_brought_to_the_picture_as_the_library_does_it(references, embed, size, of):
    picture, mask = some_picture(), painted_mask(size) if of == "blob" else some_picture(6, "L", size)
    model = load_pipeline("tiny")
    latents = encode_image(model.vae, from_picture(picture))
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), latents, mask=from_grey([mask]), steps=2, guidance=0.0, seed=3,
    )  # fmt: skip
    asked = {"num_inference_steps": 2, "guidance_scale": 0.0}  # its strength, as ours, is 1 if nothing is said
    assert torch.equal(sampled.latents.samples.torch(), inpainted(references, "tiny", picture, mask, **asked))


def test_a_mask_of_numbers_between_the_levels_of_a_picture_counts_from_one_half_on(references, embed):
    values = np.full((1, 1, 64, 80), 0.4999, dtype=np.float32)
    values[..., 40:] = 0.5
    picture, model = some_picture(), load_pipeline("tiny")
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), encode_image(model.vae, from_picture(picture)),
        mask=Mask(WireTensor.of_numpy(values)), steps=2, guidance=0.0, seed=3,
    )  # fmt: skip
    asked = {"num_inference_steps": 2, "guidance_scale": 0.0}
    expected = inpainted(references, "tiny", picture, torch.from_numpy(values.copy()), **asked)
    assert torch.equal(sampled.latents.samples.torch(), expected)


def test_what_a_mask_keeps_are_the_pictures_own_latents_and_the_rest_is_drawn_anew(embed):
    model = load_pipeline("tiny")
    latents = encode_image(model.vae, from_picture(some_picture()))
    call = {"positive": embed(model, PROMPT), "latents": latents, "steps": 3, "guidance": 0.0}
    left = np.zeros((1, 1, 64, 80), dtype=np.float32)
    left[..., :40] = 1
    one, other = (
        denoise(model.denoiser, model.scheduler, **call, mask=Mask(WireTensor.of_numpy(left)), seed=3, strength=strength)
        for strength in (1.0, 0.5)
    )
    drawn, again = (sampled.latents.samples.torch() for sampled in (one, other))
    assert torch.equal(drawn[..., 5:], again[..., 5:])  # the same draw of the same picture, however it was noised on the way
    assert not torch.equal(drawn[..., :5], again[..., :5])
