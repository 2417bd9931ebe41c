"""The shipped miniature: nodes give bit for bit what the library's own pipeline gives from the same folder."""

from __future__ import annotations

import pytest
import torch

from nodes.decode import decode
from nodes.denoise import denoise
from nodes.latents import empty_latents, encode_image
from nodes.load import load_pipeline
from nodes.models import mini_folder
from nodes.tokens import pad_tokens, prune_tokens
from nodes.values import Image

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (mini_folder() / "model_index.json").is_file(), reason="mini's weights are not in this checkout"),
]

PROMPT = "a large red circle on a blue background"


@pytest.fixture(scope="module")
def pipeline():
    from diffusers import ZImagePipeline

    pipeline = ZImagePipeline.from_pretrained(mini_folder(), local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


@pytest.mark.spec("0.3", "A3", "I12")
@pytest.mark.parametrize("guidance", [0.0, 2.0])
@pytest.mark.parametrize("pruned", [False, True])
def test_text_to_image_equals_the_library(pipeline, embed, guidance, pruned):
    model = load_pipeline("mini")
    positive, negative = embed(model, PROMPT), embed(model, "")
    if pruned:
        positive, negative = prune_tokens(positive), pad_tokens(prune_tokens(negative))
    place = empty_latents(64, 64)
    sampled = denoise(model.denoiser, model.scheduler, positive, place, negative=negative, guidance=guidance, seed=11)
    image = decode(model.vae, sampled.latents)
    expected = pipeline(
        prompt=PROMPT, negative_prompt="", width=64, height=64, num_inference_steps=model.denoiser.steps,
        guidance_scale=guidance, generator=torch.Generator().manual_seed(11), output_type="pt",
    ).images  # fmt: skip
    assert sampled.steps_computed == model.denoiser.steps
    assert torch.equal(image.pixels.torch(), expected)


def test_image_to_image_equals_the_library(pipeline, embed):
    from diffusers import ZImageImg2ImgPipeline

    model = load_pipeline("mini")
    start = decode(model.vae, encode_image(model.vae, picture()))
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), encode_image(model.vae, start), negative=embed(model, ""),
        guidance=2.0, seed=12, strength=0.5,
    )  # fmt: skip
    editing = ZImageImg2ImgPipeline(**pipeline.components)
    editing.set_progress_bar_config(disable=True)
    expected = editing(
        prompt=PROMPT, image=start.pixels.torch().contiguous(memory_format=torch.channels_last), strength=0.5, negative_prompt="",
        num_inference_steps=model.denoiser.steps, guidance_scale=2.0, generator=torch.Generator().manual_seed(12),
        output_type="latent",
    ).images  # fmt: skip
    assert torch.equal(sampled.latents.samples.torch(), expected)


@pytest.mark.parametrize("guidance", [0.0, 2.0])
def test_inpainting_equals_the_library(pipeline, embed, guidance):
    from diffusers import ZImageInpaintPipeline
    from PIL import Image as Pillow

    from nodes.grey import from_grey
    from nodes.image import to_pictures

    model = load_pipeline("mini")
    mask = Pillow.new("L", (64, 64), 0)
    mask.paste(255, (20, 8, 60, 44))
    sampled = denoise(
        model.denoiser, model.scheduler, embed(model, PROMPT), encode_image(model.vae, picture()), negative=embed(model, ""),
        mask=from_grey([mask]), guidance=guidance, seed=12,
    )  # fmt: skip
    inpainting = ZImageInpaintPipeline(**pipeline.components)
    inpainting.set_progress_bar_config(disable=True)
    expected = inpainting(
        prompt=PROMPT, image=to_pictures(picture())[0], mask_image=mask, negative_prompt="", guidance_scale=guidance,
        num_inference_steps=model.denoiser.steps, generator=torch.Generator().manual_seed(12), output_type="latent",
    ).images  # fmt: skip
    assert torch.equal(sampled.latents.samples.torch(), expected)


def picture() -> Image:
    """A green square on white."""
    from PIL import Image as Pillow

    from nodes.image import from_picture

    sheet = Pillow.new("RGB", (64, 64), "white")
    sheet.paste((0, 160, 0), (16, 16, 48, 48))
    return from_picture(sheet)
