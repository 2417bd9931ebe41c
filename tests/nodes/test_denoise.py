"""What denoise fills in, refuses, reports and stops at."""

from __future__ import annotations

import io

import pytest
import torch
from PIL import Image as Pillow

from graph.errors import Cancelled, Refused
from graph.node import declaration_of
from nodes.decode import decode
from nodes.denoise import denoise, mag_cache
from nodes.latents import check_size, empty_latents
from nodes.sampling.options import StepCache
from nodes.sampling.preview import encoded_preview, projected
from nodes.tensors import WireTensor
from nodes.values import Latents, Mask, Posterior, TextEmbedding


def resolve(inputs):
    """As planning asks, with nothing linked to `mask` unless a test says so."""
    return declaration_of(denoise).resolve({"mask": None, **inputs})


def a_picture(count=1):
    return Latents(64, 64, "z-image", WireTensor.of(torch.zeros(count, 4, 8, 8)))


def a_mask(count=1):
    return Mask(WireTensor.of(torch.ones(count, 1, 64, 64)))


def test_steps_and_guidance_come_from_the_model_if_not_set(tiny):
    assert resolve({"denoiser": tiny.denoiser, "steps": None, "guidance": None}) == {"steps": 20, "guidance": 4.0}


def test_what_is_not_known_yet_is_not_filled_in(tiny):
    assert resolve({"denoiser": tiny.denoiser}) == {}
    assert resolve({"denoiser": tiny.denoiser, "latents": Latents(64, 64)}) == {}


def test_what_is_set_stays(tiny):
    assert resolve({"denoiser": tiny.denoiser, "steps": 3, "guidance": 0.0}) == {}


def test_nothing_is_filled_in_while_the_denoiser_is_not_known():
    assert resolve({"steps": None}) == {}


@pytest.mark.spec("C9")
def test_a_cache_without_a_curve_is_off_in_the_plan(tiny):
    filled = resolve({"denoiser": tiny.denoiser, "steps": 3, "guidance": 0.0, "step_cache": mag_cache()})
    assert filled == {"step_cache": StepCache("off")}


def test_strength_is_one_for_a_new_picture_and_the_familys_for_a_given_one(tiny):
    posterior = Posterior(None, None, 0.0, 1.0)
    asked = {"denoiser": tiny.denoiser, "strength": None}
    assert resolve({**asked, "latents": Latents(64, 64)}) == {"strength": 1.0}
    assert resolve({**asked, "latents": Latents(64, 64, "z-image", None, posterior)}) == {"strength": 0.6}
    assert resolve({**asked, "latents": Latents(64, 64, "z-image", None, posterior), "strength": 0.3}) == {}


@pytest.mark.spec("H1", "H2")
@pytest.mark.parametrize(
    ("width", "height", "message"),
    [
        (40, 64, "width is 40; z-image takes multiples of 16 from 16 to 1024. The nearest is 32"),
        (64, 0, "height is 0; z-image takes multiples of 16 from 16 to 1024. The nearest is 16"),
        (10**6, 64, "width is 1000000; .* The nearest is 1024"),
        (64, 1040, "height is 1040; .* The nearest is 1024"),
    ],
)
def test_a_size_out_of_bounds_is_refused_while_planning(tiny, width, height, message):
    with pytest.raises(Refused, match=message) as refusal:
        resolve({"denoiser": tiny.denoiser, "latents": empty_latents(width, height)})
    assert refusal.value.port == "latents"


@pytest.mark.spec("H1")
@pytest.mark.parametrize("side", [16, 1024])
def test_sizes_at_the_bounds_are_taken(side):
    check_size(side, side, "z-image", 1024, "latents")


def test_guidance_without_a_negative_text_is_refused(tiny):
    with pytest.raises(Refused, match=r"guidance is 4.0, but nothing is linked to negative; link encode_text of an empty prompt"):
        resolve({"denoiser": tiny.denoiser, "negative": None, "guidance": None})
    assert resolve({"denoiser": tiny.denoiser, "negative": None, "guidance": 0.0}) == {}
    assert resolve({"denoiser": tiny.denoiser, "guidance": None}) == {"guidance": 4.0}


def test_strength_without_a_picture_is_refused(tiny):
    with pytest.raises(
        Refused, match=r"strength is 0.5, but the latents are empty: there is no picture to keep. Link encode_image"
    ):
        resolve({"denoiser": tiny.denoiser, "latents": Latents(64, 64), "strength": 0.5})


@pytest.mark.parametrize("port", ["scheduler", "positive", "negative", "latents"])
def test_parts_of_another_family_are_refused(tiny, port):
    class Other:
        family = "flux"

    with pytest.raises(Refused, match=f"the denoiser belongs to z-image, {port} to flux; use parts of one model"):
        resolve({"denoiser": tiny.denoiser, port: Other()})


@pytest.fixture
def render(tiny, embed, call):
    positive = embed(tiny, "a red circle")

    def render(ctx, **options):
        asked = {"steps": 4, "guidance": 0.0, "seed": 1, "latents": empty_latents(80, 64)} | options
        return call(ctx, denoise, tiny.denoiser, tiny.scheduler, positive, **asked)

    return render


def test_strength_that_leaves_no_step_is_refused_while_planning(tiny):
    posterior = Posterior(WireTensor.of(torch.zeros(1, 4, 8, 8)), WireTensor.of(torch.zeros(1, 4, 8, 8)), 0.0, 1.0)
    asked = {"denoiser": tiny.denoiser, "latents": Latents(64, 64, "z-image", None, posterior), "steps": 4}
    with pytest.raises(Refused, match=r"strength 0.0 of 4 steps leaves no step to run; raise strength or steps") as refusal:
        resolve({**asked, "strength": 0.0})
    assert refusal.value.port == "strength"
    assert resolve({**asked, "strength": 0.25}) == {}
    assert resolve({**asked, "steps": None, "strength": 0.05}) == {"steps": 20}
    with pytest.raises(Refused, match=r"strength 0.0 of 20 steps leaves no step"):
        resolve({**asked, "steps": None, "strength": 0.0})


def test_strength_computed_in_the_run_that_leaves_no_step_is_an_error(render, recording):
    start = render(recording()).latents
    with pytest.raises(Refused, match=r"strength 0.0 of 4 steps leaves no step to run; raise strength or steps"):
        render(recording(), latents=start, strength=0.0)


def test_several_pictures_or_texts_in_one_value_are_refused(tiny, embed):
    pair = Latents(64, 64, "z-image", WireTensor.of(torch.zeros(2, 4, 8, 8)))
    with pytest.raises(Refused, match="latents holds 2, but denoise draws one picture; give it one"):
        resolve({"denoiser": tiny.denoiser, "latents": pair})
    text = embed(tiny, "a")
    texts = TextEmbedding(text.texts * 3, text.length, text.family, text.prunable)
    with pytest.raises(Refused, match="negative holds 3, but denoise draws one picture; give it one") as refusal:
        resolve({"denoiser": tiny.denoiser, "positive": text, "negative": texts})
    assert refusal.value.port == "negative"


def test_strength_is_one_where_a_mask_says_what_to_change(tiny):
    asked = {"denoiser": tiny.denoiser, "strength": None, "latents": a_picture()}
    assert resolve({**asked, "mask": a_mask()}) == {"strength": 1.0}
    assert declaration_of(denoise).resolve(asked) == {"strength": 1.0}  # linked, but not known yet
    assert resolve({**asked, "mask": a_mask(), "strength": 0.3}) == {}


@pytest.mark.parametrize("mask", [{"mask": a_mask()}, {}], ids=["known", "linked"])
def test_a_mask_without_a_picture_is_refused_while_planning(tiny, mask):
    message = r"a mask is linked, but the latents are empty: .*\. Link encode_image to latents, or remove the mask"
    with pytest.raises(Refused, match=message) as refusal:
        declaration_of(denoise).resolve({"denoiser": tiny.denoiser, "latents": Latents(64, 64), **mask})
    assert refusal.value.port == "mask"


def test_several_masks_in_one_value_are_refused(tiny):
    with pytest.raises(Refused, match="mask holds 3, but denoise draws one picture; give it one") as refusal:
        resolve({"denoiser": tiny.denoiser, "latents": a_picture(), "mask": a_mask(3)})
    assert refusal.value.port == "mask"


def test_a_mask_that_holds_no_numbers_is_an_error(render, recording):
    mask = Mask(WireTensor.of(torch.full((1, 1, 64, 80), float("nan"))))
    start = render(recording()).latents
    with pytest.raises(ValueError, match="the mask holds values that are no numbers; link another one"):
        render(recording(), latents=start, mask=mask)


def test_a_step_cache_leaves_what_a_mask_keeps_alone(render, recording):
    start = render(recording()).latents
    half = torch.zeros(1, 1, 64, 80)
    half[..., :40] = 1
    asked = {"latents": start, "mask": Mask(WireTensor.of(half)), "steps": 6}
    sampled = render(recording(), step_cache=StepCache("first_block", "fast", threshold=5.0), **asked)
    assert sampled.steps_computed < 6
    assert torch.equal(sampled.latents.samples.torch()[..., 5:], start.samples.torch()[..., 5:])
    assert not torch.equal(sampled.latents.samples.torch()[..., :5], start.samples.torch()[..., :5])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_preview_of_latents_that_went_wrong_is_a_picture_still(bad):
    latents = torch.randn(1, 16, 8, 8)
    latents[0, 3, 2, 2] = bad
    latents[0, 4, 0, 0] = 1e38
    assert torch.isfinite(projected(latents)).all()
    assert Pillow.open(io.BytesIO(encoded_preview(latents, latents, torch.tensor(0.5)))).size == (64, 64)


def test_a_picture_of_values_that_are_no_numbers_is_an_error(tiny, call, recording):
    latents = Latents(64, 64, "z-image", WireTensor.of(torch.full((1, 4, 8, 8), float("nan"))))
    with pytest.raises(
        ValueError, match="image: 12288 of 12288 values of the picture are no finite numbers; the model overflowed"
    ):
        call(recording(), decode, tiny.vae, latents)


def test_finished_latents_can_be_denoised_again(render, recording):
    start = render(recording()).latents
    again = render(recording(), latents=start, strength=0.5, steps=4)
    assert again.steps_computed == 2
    assert again.latents.samples.torch().shape == start.samples.torch().shape
    assert not torch.equal(again.latents.samples.torch(), start.samples.torch())


@pytest.mark.spec("I12")
def test_the_seed_decides_the_picture(render, recording):
    one, same, other = (render(recording(), seed=seed).latents.samples.torch() for seed in (2**53 - 1, 2**53 - 1, 0))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_virtual_device_gives_the_same_bits(render, recording):
    ctx = recording()
    ctx.device = "cpu:1"
    assert torch.equal(render(ctx).latents.samples.torch(), render(recording()).latents.samples.torch())


def test_every_step_is_told(render, recording):
    ctx = recording()
    render(ctx)
    assert ctx.steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert ctx.notes == []


def test_cancelling_stops_at_the_step(render, recording):
    ctx = recording(cancel_at=2)
    with pytest.raises(Cancelled):
        render(ctx)
    assert ctx.steps == [(1, 4), (2, 4)]


def test_a_preview_is_a_small_webp_of_what_is_expected(render, recording):
    ctx = recording()
    finished = render(ctx).latents.samples.torch()
    pictures = [Pillow.open(io.BytesIO(preview())) for preview in ctx.previews]
    assert {(picture.format, picture.size) for picture in pictures} == {("WEBP", (80, 64))}
    # After the last step the expected picture is the finished one.
    last = pictures[-1].resize((10, 8), Pillow.Resampling.BOX)
    found = torch.tensor(list(last.convert("RGB").tobytes())).reshape(8, 10, 3) / 255
    assert (found - projected(finished)).abs().mean() < 0.1


def test_a_large_preview_is_at_most_512_pixels():
    noise = torch.randn(1, 16, 256, 128)
    assert Pillow.open(io.BytesIO(encoded_preview(noise, noise, torch.tensor(0.5)))).size == (256, 512)


def test_the_inputs_are_not_written_to(tiny, embed):
    positive, negative = embed(tiny, "a"), embed(tiny, "")
    before = positive.version, negative.version
    denoise(tiny.denoiser, tiny.scheduler, positive, empty_latents(64, 64), negative=negative, steps=2, guidance=2.0)
    assert (positive.version, negative.version) == before


def test_no_gradients_are_kept(tiny, embed):
    sampled = denoise(tiny.denoiser, tiny.scheduler, embed(tiny, "a"), empty_latents(64, 64), steps=1, guidance=0.0)
    assert sampled.latents.samples.torch().grad_fn is None
