"""Step caches: what is skipped, what is reused, and that nothing of it outlives a call."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from graph.errors import Refused
from graph.types import decode, encode, plain_fields, wire_type_of
from nodes.denoise import calibrate_curve, denoise, fb_cache, mag_cache
from nodes.families.family import Stack
from nodes.latents import empty_latents
from nodes.sampling.options import FIRST_BLOCK_PRESETS, MAGNITUDE_PRESETS, Curve, StepCache, resampled, resolve, skipped_steps
from nodes.sampling.step_cache import FirstBlockCache, MagnitudeCache, start

# ---- the arithmetic of spec C2, against the numbers of spec Appendix 1 ----

CURVES = {
    "720p": "1.0 1.0226 1.0093 1.001 1.0008 1.0001 .9995 1.0003 .9998 .9993 .9994 .9993 .9997 1.0002 .9994 .9985 .9987 .9997 "
    ".9979 .9987 .9985 .9982 .9977 .998 .9979 .9971 .9968 .9967 .9964 .9965 .9959 .9954 .995 .9938 .9942 .9924 .9924 .9907 "
    ".9905 .9878 .9867 .9845 .9808 .9773 .9715 .9652 .9529 .9347 .9011 .83",
    "480p": "1.0 1.0077 1.0138 1.0043 1.0029 .9986 .9966 1.0 1.0006 .9996 .9993 .9986 1.0 .9993 .9966 .9986 .9988 .9991 .998 "
    ".9977 .9976 .9971 .9973 .9969 .996 .9961 .9949 .9958 .9933 .9942 .9941 .9926 .9929 .9916 .9923 .9887 .99 .9882 .9865 "
    ".9833 .9827 .9791 .9763 .9718 .9657 .9563 .9454 .9264 .8967 .8382",
    "wan5b": "1.0 .9906 .9996 .9936 .9968 .9958 .9956 .9953 .9957 .9954 .9941 .9958 .9933 .9938 .9948 .9936 .9948 .9925 .994 "
    ".9927 .9913 .9919 .9918 .9907 .989 .9901 .9892 .9903 .9884 .9868 .9851 .9848 .9849 .9831 .9818 .9804 .9781 .9756 .9733 "
    ".9717 .9688 .9646 .9611 .9559 .9503 .9443 .938 .9315 .9227 .9208",
}
COMPUTED = {  # (curve, steps): computed steps with quality, balanced, fast
    ("720p", 50): (29, 21, 20), ("720p", 40): (23, 17, 16), ("720p", 30): (17, 13, 12), ("720p", 20): (11, 9, 8),
    ("480p", 50): (29, 22, 20), ("480p", 40): (23, 17, 16), ("480p", 30): (18, 13, 12), ("480p", 20): (11, 9, 8),
    ("wan5b", 50): (31, 22, 20), ("wan5b", 40): (24, 18, 16), ("wan5b", 30): (19, 13, 12), ("wan5b", 20): (12, 8, 8),
}  # fmt: skip
QUALITY = "15 16 18 19 21 22 24 25 27 28 30 31 33 34 36 37 39 40 42 44 46"
BALANCED = "10 11 12 14 15 16 18 19 20 22 23 24 26 27 28 30 31 32 34 35 36 38 39 40 42 43"
SKIPPED = {
    ("720p", "quality"): QUALITY,
    ("720p", "balanced"): f"{BALANCED} 45 46 48",
    ("480p", "quality"): QUALITY,
    ("480p", "balanced"): f"{BALANCED} 45 47",
    ("wan5b", "quality"): "15 16 18 19 21 22 24 25 27 28 30 31 33 34 36 38 40 42 44",
    ("wan5b", "balanced"): "10 11 12 14 15 16 18 19 20 22 23 24 26 27 28 30 31 32 34 35 36 38 39 41 42 44 46 48",
}


def ratios(name):
    return tuple(float(word) for word in CURVES[name].split())


@pytest.mark.spec("C2", "C23")
@pytest.mark.parametrize(("curve", "steps"), COMPUTED)
def test_as_many_steps_are_computed_as_published(curve, steps):
    found = tuple(
        skipped_steps(resampled(ratios(curve), steps), *MAGNITUDE_PRESETS[preset]).count(False)
        for preset in ("quality", "balanced", "fast")
    )
    assert found == COMPUTED[curve, steps]


@pytest.mark.spec("C2")
@pytest.mark.parametrize(("curve", "preset"), SKIPPED)
def test_the_steps_published_are_the_ones_skipped(curve, preset):
    skips = skipped_steps(ratios(curve), *MAGNITUDE_PRESETS[preset])
    assert [step for step, skipped in enumerate(skips) if skipped] == [int(word) for word in SKIPPED[curve, preset].split()]


@pytest.mark.spec("C2")
def test_a_curve_is_resampled_to_its_nearest_entries():
    assert resampled((1.0, 2.0, 3.0, 4.0, 5.0), 3) == (1.0, 3.0, 5.0)
    assert resampled((1.0, 2.0, 3.0), 1) == (3.0,)
    assert resampled((1.0, 2.0), 4) == (1.0, 1.0, 2.0, 2.0)


@pytest.mark.spec("C2")
def test_the_first_step_is_never_skipped():
    assert skipped_steps((1.0, 1.0, 1.0), 1.0, 9, 0.0) == (False, True, True)


@pytest.mark.spec("C3")
def test_the_presets_are_those_of_the_table():
    assert MAGNITUDE_PRESETS == {"quality": (0.06, 2, 0.3), "balanced": (0.12, 3, 0.2), "fast": (0.24, 3, 0.2)}
    assert FIRST_BLOCK_PRESETS == {"quality": (0.04, 0.06), "balanced": (0.08, 0.12), "fast": (0.12, 0.15)}


CURVE = Curve((1.0, 0.99, 0.98, 0.97), "w" * 64, 4, 64, 64, 2.0, "z-image:s", 0.0)


@pytest.mark.spec("C3", "C4")
@pytest.mark.parametrize(("preset", "dense", "quantized"), [(name, *pair) for name, pair in FIRST_BLOCK_PRESETS.items()])
def test_an_explicit_threshold_replaces_the_presets(preset, dense, quantized):
    assert resolve(fb_cache(preset), "w").threshold == dense
    assert resolve(fb_cache(preset), "w", quantized=True).threshold == quantized
    assert resolve(fb_cache(preset, 0.5), "w", quantized=True).threshold == 0.5
    budget, max_skip, retention = MAGNITUDE_PRESETS[preset]
    by_preset = resolve(mag_cache(preset, curve=CURVE), CURVE.weights)
    assert (by_preset.threshold, by_preset.max_skip, by_preset.retention) == (budget, max_skip, retention)
    explicit = resolve(mag_cache(preset, 0.5, CURVE), CURVE.weights)
    assert (explicit.threshold, explicit.max_skip, explicit.retention) == (0.5, max_skip, retention)
    own = resolve(mag_cache(preset, curve=CURVE, max_skip=1, retention=0.1), CURVE.weights)
    assert (own.threshold, own.max_skip, own.retention) == (budget, 1, 0.1)


@pytest.mark.spec("C9")
def test_no_curve_means_no_cache_and_the_reason():
    resolved = resolve(mag_cache("fast"), "w")
    assert resolved == StepCache("off")
    assert resolved.reason == "mag_cache has no curve for these weights; link calibrate_curve to it"
    assert "reason" not in plain_fields(resolved, for_key=True)
    assert start(resolved, 50, 0) is None


@pytest.mark.spec("C20")
def test_a_curve_of_other_weights_is_refused_unless_forced():
    with pytest.raises(Refused, match="the curve was measured on weights wwwwwwwwwwww, the denoiser has xxxxxxxxxxxx; calibrate"):
        resolve(mag_cache(curve=CURVE), "x" * 64)
    assert resolve(mag_cache(curve=CURVE, force=True), "x" * 64).mode == "magnitude"


def test_options_come_back_from_their_bytes():
    known = {"StepCache": wire_type_of(StepCache)}
    for options in (fb_cache("fast"), mag_cache("quality", 0.2, CURVE)):
        assert decode(encode(options), known) == options


@pytest.mark.spec("C2")
def test_image_to_image_walks_the_tail_of_the_curve():
    curve = replace(CURVE, ratios=(1.0, 5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 1.0))
    options = StepCache("magnitude", threshold=0.1, max_skip=9, retention=0.0, curve=curve)
    assert start(options, 8, 4).skips == (False, True, True, True)
    assert start(options, 8, 0).skips == (False, False, False, False, True, True, True, True)


# ---- toys: three blocks on plain numbers ----


class Toy:
    """Three blocks that add a, b and c to an image stream, and add once each to a text stream; counts block calls."""

    def __init__(self):
        self.calls = 0

    def stack(self, value, adds):
        def block(add):
            def run(streams):
                self.calls += 1
                return tuple(stream + add * (1 + place) for place, stream in enumerate(streams))

            return run

        streams = (torch.full((1, 2, 1), float(value)), torch.full((1, 1, 1), 10.0))
        return Stack(streams, [block(add) for add in adds], lambda streams: streams[0], list)


def values(result):
    return [float(stream.flatten()[0]) for stream in result]


@pytest.mark.spec("C1")
def test_a_first_block_that_changed_little_reuses_what_the_others_added():
    toy, cache = Toy(), FirstBlockCache(0.5)
    assert values(cache.run(0, "positive", toy.stack(1, (2, 3, 4)))) == [10, 28]
    assert toy.calls == 3
    # |3 - 2| / 2 = 0.5 equals the threshold: the first block runs, then the tail residuals 7 and 14 are added.
    assert values(cache.run(1, "positive", toy.stack(1, (3, 100, 100)))) == [1 + 3 + 7, 10 + 6 + 14]
    assert toy.calls == 4
    # still against the last computed residual, 2: |3.1 - 2| / 2 > 0.5
    assert values(cache.run(2, "positive", toy.stack(1, (3.125, 1, 1)))) == [1 + 5.125, 10 + 10.25]
    assert toy.calls == 7
    assert (cache.computed["positive"], cache.skipped["positive"]) == (2, 1)


@pytest.mark.spec("C1")
def test_there_is_no_cap_on_skips_in_a_row():
    toy, cache = Toy(), FirstBlockCache(0.1)
    for step in range(30):
        cache.run(step, "positive", toy.stack(step, (2, 3, 4)))
    assert cache.skipped["positive"] == 29
    assert toy.calls == 3 + 29


@pytest.mark.spec("C2")
def test_a_skipped_magnitude_step_runs_no_block():
    toy, cache = Toy(), MagnitudeCache((False, True, False))
    assert values(cache.run(0, "both", toy.stack(1, (2, 3, 4)))) == [10, 28]
    assert values(cache.run(1, "both", toy.stack(5, (100, 100, 100)))) == [5 + 9, 10 + 18]
    assert toy.calls == 3
    assert values(cache.run(2, "both", toy.stack(1, (1, 1, 1)))) == [4, 16]
    assert (cache.computed["both"], cache.skipped["both"]) == (2, 1)


@pytest.mark.spec("C12")
@pytest.mark.parametrize("order", [("positive", "negative"), ("negative", "positive")])
def test_branches_skip_on_their_own_in_any_order(order):
    adds = {"positive": [2, 2, 2, 9], "negative": [2, 9, 9, 9]}
    toy, cache = Toy(), FirstBlockCache(0.1)
    found = {branch: [] for branch in order}
    for step in range(4):
        for branch in order:
            found[branch].append(values(cache.run(step, branch, toy.stack(0, (adds[branch][step], step + 1, 0))))[0])
    assert found == {"positive": [3, 3, 3, 13], "negative": [3, 11, 11, 11]}
    assert cache.computed == {"positive": 2, "negative": 2}


# ---- on the tiny denoiser ----

#: Random blocks change more from step to step than trained ones.
THRESHOLD = 0.9


@pytest.fixture
def render(tiny, embed, recording, call):
    """Render with these options; gives the latents, computed steps, and the context."""
    positive, negative = embed(tiny, "a red circle"), embed(tiny, "")

    def render(step_cache=None, size=64, steps=8, guidance=2.0, denoiser=tiny.denoiser):
        ctx = recording()
        options = {"negative": negative, "steps": steps, "guidance": guidance, "seed": 3, "step_cache": step_cache}
        sampled = call(ctx, denoise, denoiser, tiny.scheduler, positive, empty_latents(size, size), **options)
        return sampled.latents.samples.torch(), sampled.steps_computed, ctx

    return render


@pytest.fixture
def curve(tiny, embed):
    made = embed(tiny, "a red circle"), empty_latents(64, 64), embed(tiny, "")
    return calibrate_curve(tiny.denoiser, tiny.scheduler, *made, steps=8, guidance=2.0, seed=3)


def test_the_cut_open_denoiser_equals_the_whole_one(render):
    reference, _, _ = render()
    never, computed, _ = render(fb_cache(threshold=0.0), guidance=0.0)
    assert torch.equal(never, render(guidance=0.0)[0])
    assert computed == 8
    uncached = StepCache("magnitude", threshold=0.0, max_skip=0, curve=Curve((1.0,) * 8, "", 8, 0, 0, 0, "", 0.0), force=True)
    assert torch.equal(render(uncached)[0], reference)
    split, _, _ = render(fb_cache(threshold=0.0))
    assert torch.allclose(split, reference, atol=1e-4)


@pytest.mark.spec("C1", "C23", "C12")
def test_a_first_block_cache_skips_and_says_so(render):
    reference, _, _ = render()
    cached, computed, ctx = render(fb_cache(threshold=THRESHOLD))
    assert 0 < computed < 8
    assert 0 < (cached - reference).abs().max() < reference.abs().max()
    assert ctx.notes == [
        f"positive: {computed} of 8 steps computed; negative: {computed} of 8 steps computed. "
        "Guidance ran as two calls, which rounds otherwise than one."
    ]


@pytest.mark.spec("C2", "C20", "C23")
def test_a_magnitude_cache_computes_the_steps_its_curve_says(render, curve):
    options = mag_cache("fast", 10.0, curve)
    expected = skipped_steps(curve.ratios, 10.0, 3, 0.2).count(False)
    cached, computed, ctx = render(options)
    assert computed == expected < 8
    assert ctx.notes == [f"both: {computed} of 8 steps computed."]
    assert not torch.equal(cached, render()[0])


@pytest.mark.spec("C9")
def test_without_a_curve_the_render_is_the_reference_and_says_why(render):
    reference, _, _ = render()
    plain, computed, ctx = render(mag_cache("fast"))
    assert torch.equal(plain, reference)
    assert computed == 8
    assert ctx.notes == ["No steps were skipped: mag_cache has no curve for these weights; link calibrate_curve to it."]


@pytest.mark.spec("C13", "C14", "0.6")
def test_a_cached_render_leaves_nothing_behind(tiny, render, curve):
    from dataclasses import dataclass

    live = tiny.denoiser.build("cpu")
    before = {name: type(module) for name, module in live.named_modules()}

    @dataclass(frozen=True)
    class Resident(type(tiny.denoiser)):
        """The same recipe whose live part stays, as in a pool."""

        def build(self, device):
            return live

    resident = Resident(**plain_fields(tiny.denoiser))
    for options in (fb_cache(threshold=THRESHOLD), mag_cache("fast", 10.0, curve)):
        alone = render(options, denoiser=resident)[0]
        render(options, size=80, denoiser=resident)
        render(None, denoiser=resident)
        assert torch.equal(render(options, denoiser=resident)[0], alone)
    assert {name: type(module) for name, module in live.named_modules()} == before
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in live.modules())
    assert torch.equal(render(denoiser=resident)[0], render()[0])


@pytest.mark.spec("C20")
def test_calibration_is_the_same_twice_and_says_what_it_measured(tiny, embed, curve, render):
    made = embed(tiny, "a red circle"), empty_latents(64, 64), embed(tiny, "")
    assert calibrate_curve(tiny.denoiser, tiny.scheduler, *made, steps=8, guidance=2.0, seed=3) == curve
    assert len(curve.ratios) == curve.steps == 8
    assert curve.ratios[0] == 1.0
    assert all(0.1 < ratio < 10 for ratio in curve.ratios)
    assert (curve.weights, curve.width, curve.height, curve.guidance) == (tiny.denoiser.weights, 64, 64, 2.0)
    assert 0 < curve.branch_difference < 0.5
    assert curve.sampler.startswith("z-image:")


@pytest.mark.spec("C20")
def test_a_ratio_is_the_mean_over_image_tokens_of_the_norms_quotient():
    from nodes.sampling.step_cache import Calibration

    measured = Calibration()
    grown = torch.tensor([2.0, 6.0]).reshape(1, 2, 1)
    for adds in (torch.ones(1, 2, 1), grown):
        measured.run(0, "both", Stack((torch.zeros(1, 2, 1),), [lambda s, a=adds: (s[0] + a,)], lambda s: s[0], list))
    assert measured.ratios == [[1.0], [4.0]]
