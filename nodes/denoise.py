"""The node that makes a picture out of noise, and the options that make it faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.spec import Doc, Range, Seed
from nodes.families import family
from nodes.latents import check_size
from nodes.recipes import Denoiser, Scheduler
from nodes.sampling.options import Curve, StepCache, first_block, magnitude, resolve
from nodes.tensors import WireTensor
from nodes.values import Latents, Mask, TextEmbedding

if TYPE_CHECKING:
    from nodes.sampling.loop import Denoised, StartCache
    from nodes.sampling.step_cache import RunningCache

Presets = Literal["quality", "balanced", "fast"]


class Sampled(NamedTuple):
    """Finished latents, and how many of the steps were computed in full."""

    latents: Latents
    steps_computed: int


@node(title="First-block cache", version=1, category="denoise", light=True, output="step_cache")
def fb_cache(
    ctx: Context,
    preset: Annotated[Presets, Doc("How much change between steps is let pass")] = "balanced",
    threshold: Annotated[float | None, Range(0, 1, 0.01), Doc("Relative change; replaces the preset's")] = None,
) -> StepCache:
    """Leave out a step's later blocks when its first block changed little. Changes the picture a little."""
    return first_block(preset, threshold)


@node(title="Magnitude cache", version=1, category="denoise", light=True, output="step_cache")
def mag_cache(
    ctx: Context,
    preset: Annotated[Presets, Doc("Error budget, longest run of skipped steps, untouched start")] = "balanced",
    threshold: Annotated[float | None, Range(0, 1, 0.01), Doc("Error budget; replaces the preset's")] = None,
    curve: Annotated[Curve | None, Doc("Measured by calibrate_curve on this model; without one nothing is skipped")] = None,
    force: Annotated[bool, Doc("Use a curve that was measured on other weights")] = False,
    max_skip: Annotated[int | None, Range(1, 20), Doc("Longest run of skipped steps; replaces the preset's")] = None,
    retention: Annotated[float | None, Range(0, 1, 0.05), Doc("Leading part never skipped; replaces the preset's")] = None,
) -> StepCache:
    """Leave out whole steps where a measured curve says that little changes. Changes the picture a little."""
    return magnitude(preset, threshold, curve, force, max_skip=max_skip, retention=retention)


def _resolve(inputs: dict[str, Any]) -> Mapping[str, Any]:  # Any: see graph.node.Resolve
    """Fill in what depends on the model and refuse what cannot work."""
    denoiser: Denoiser | None = inputs.get("denoiser")
    if denoiser is None:
        return {}
    _check_parts(denoiser, inputs)
    _check_batches(inputs)
    advised = {"steps": denoiser.steps, "guidance": denoiser.guidance}
    filled: dict[str, Any] = {name: value for name, value in advised.items() if _is_empty(inputs, name)}
    if inputs.get("step_cache") is not None:
        filled["step_cache"] = resolve(inputs["step_cache"], denoiser.weights)
    guidance = filled.get("guidance", inputs.get("guidance"))
    if guidance and _is_empty(inputs, "negative"):
        text = f"guidance is {guidance}, but nothing is linked to negative"
        raise Refused(f"{text}; link encode_text of an empty prompt, or set guidance to 0", port="negative", code="no_negative")
    latents: Latents | None = inputs.get("latents")
    if latents is not None:
        check_size(latents.width, latents.height, denoiser.family, denoiser.max_side, "latents")
        _check_mask(latents, inputs)
        filled |= _strength(latents, inputs, denoiser)
        _check_steps(latents, inputs | filled, denoiser)
    return filled


def _check_steps(latents: Latents, inputs: dict[str, Any], denoiser: Denoiser) -> None:  # Any: as _resolve
    """Raise `Refused` if `strength` leaves nothing to do; either may not be known yet."""
    steps, strength = inputs.get("steps"), inputs.get("strength")
    if latents.is_empty or type(steps) is not int or not isinstance(strength, (int, float)):
        return
    if family(denoiser.family).left_out(steps, strength) >= steps:
        text = f"strength {strength} of {steps} steps leaves no step to run; raise strength or steps"
        raise Refused(text, port="strength", code="no_steps")


def _check_mask(latents: Latents, inputs: dict[str, Any]) -> None:  # Any: as _resolve
    """Raise `Refused` for a mask, linked or there, without a picture of which it could keep something."""
    if latents.is_empty and not _is_empty(inputs, "mask"):
        text = "a mask is linked, but the latents are empty: there is no picture to keep outside of the mask"
        raise Refused(f"{text}. Link encode_image to latents, or remove the mask", port="mask", code="nothing_to_keep")


def _check_batches(inputs: dict[str, Any]) -> None:  # Any: as _resolve
    """Raise `Refused` for several texts, pictures or masks in one value: a run draws one picture."""
    counts = {port: len(inputs[port].texts) for port in ("positive", "negative") if isinstance(inputs.get(port), TextEmbedding)}
    latents = inputs.get("latents")
    if isinstance(latents, Latents):
        counts["latents"] = max((tensor.shape[0] for tensor in latents.tensors().values() if tensor is not None), default=1)
    mask = inputs.get("mask")
    if isinstance(mask, Mask):
        counts["mask"] = mask.values.shape[0]
    for port, count in counts.items():
        if count != 1:
            raise Refused(f"{port} holds {count}, but denoise draws one picture; give it one", port=port, code="batch")


def _is_empty(inputs: dict[str, Any], port: str) -> bool:  # Any: as _resolve
    """Whether nothing feeds the port; a value that is not known yet is not empty."""
    return port in inputs and inputs[port] is None


def _strength(latents: Latents, inputs: dict[str, Any], denoiser: Denoiser) -> dict[str, Any]:  # Any: as _resolve
    empty, strength = _is_empty(inputs, "strength"), inputs.get("strength")
    if latents.is_empty and strength not in (None, 1.0):
        text = f"strength is {strength}, but the latents are empty: there is no picture to keep"
        raise Refused(f"{text}. Link encode_image to latents, or clear strength", port="strength", code="nothing_to_keep")
    if not empty:
        return {}
    advised = family(denoiser.family).defaults("")
    of_picture = advised.strength if _is_empty(inputs, "mask") else advised.inpaint_strength
    return {"strength": 1.0 if latents.is_empty else of_picture}


def _check_parts(denoiser: Denoiser, inputs: dict[str, Any]) -> None:  # Any: as _resolve
    for port in ("scheduler", "positive", "negative", "latents"):
        other = getattr(inputs.get(port), "family", "")
        if other not in ("", denoiser.family):
            text = f"the denoiser belongs to {denoiser.family}, {port} to {other}"
            raise Refused(f"{text}; use parts of one model", port=port, code="family_mismatch")


@node(title="Denoise", version=1, category="denoise", resolve=_resolve)
def denoise(
    ctx: Context,
    denoiser: Denoiser,
    scheduler: Scheduler,
    positive: Annotated[TextEmbedding, Doc("What the picture should show")],
    latents: Annotated[Latents, Doc("An empty place for a new picture, or an encoded picture to change")],
    negative: Annotated[TextEmbedding | None, Doc("What it should not show; needed with guidance")] = None,
    mask: Annotated[Mask | None, Doc("Where a given picture is drawn anew (1); the rest of it is kept")] = None,
    steps: Annotated[int | None, Range(1, 200), Doc("As the model's makers advise if not set")] = None,
    guidance: Annotated[float | None, Range(0, 20, 0.1), Doc("How strongly to follow the text; 0 is off")] = None,
    seed: Annotated[int, Seed()] = 0,
    strength: Annotated[float | None, Range(0, 1, 0.01), Doc("How much of a given picture to change")] = None,
    step_cache: Annotated[StepCache | None, Doc("fb_cache or mag_cache")] = None,
) -> Sampled:
    """Make latents out of noise along the model's schedule.

    Equals the model's reference pipeline bit for bit while no step cache is linked. With a mask that is the one for
    inpainting: the mask is stretched over the picture, half and more of white counts, and edges are as fine as a latent.
    """
    options = {"steps": steps, "guidance": guidance, "strength": strength, "step_cache": step_cache}
    values = {"positive": positive, "latents": latents, "negative": negative, "mask": mask}
    known = {"denoiser": denoiser, "scheduler": scheduler, **values}
    settings = {**options, **_resolve({**known, **options})}
    cache: StepCache = settings["step_cache"] or StepCache("off")

    def start(full_steps: int, skipped: int) -> RunningCache | None:
        from nodes.sampling import step_cache as caches

        return caches.start(cache, full_steps, skipped)

    result = _run(ctx, denoiser, scheduler, positive, negative, latents, seed, settings, start, mask)
    _note(ctx, cache, result, settings["guidance"])
    finished = Latents(latents.width, latents.height, denoiser.family, WireTensor.of(result.samples))
    return Sampled(finished, result.steps_computed)


def _resolve_calibration(inputs: dict[str, Any]) -> Mapping[str, Any]:  # Any: see graph.node.Resolve
    """As `denoise`, whose ports these are but for strength and step cache."""
    return {name: value for name, value in _resolve({**inputs, "mask": None}).items() if name in ("steps", "guidance")}


@node(title="Calibrate curve", version=1, category="denoise", output="curve", resolve=_resolve_calibration)
def calibrate_curve(
    ctx: Context,
    denoiser: Denoiser,
    scheduler: Scheduler,
    positive: TextEmbedding,
    latents: Latents,
    negative: TextEmbedding | None = None,
    steps: Annotated[int | None, Range(2, 200), Doc("Best the step count it will be used with")] = None,
    guidance: Annotated[float | None, Range(0, 20, 0.1)] = None,
    seed: Annotated[int, Seed()] = 0,
) -> Curve:
    """Measure how the denoiser's residual grows along the schedule, for `mag_cache`. Runs every step in full."""
    from nodes.sampling.step_cache import Calibration

    known = {"denoiser": denoiser, "scheduler": scheduler, "positive": positive, "latents": latents, "negative": negative}
    asked = {"steps": steps, "guidance": guidance, "strength": 1.0, "mask": None}
    settings = {**asked, **_resolve({**known, **asked})}
    measured = Calibration()
    _run(ctx, denoiser, scheduler, positive, negative, latents, seed, settings, lambda full, skipped: measured)
    branches = [(max(row) - min(row)) for row in measured.ratios]
    return Curve(
        ratios=tuple(sum(row) / len(row) for row in measured.ratios),
        weights=denoiser.weights,
        steps=settings["steps"],
        width=latents.width,
        height=latents.height,
        guidance=settings["guidance"],
        sampler=f"{scheduler.family}:{scheduler.weights[:16]}",
        branch_difference=max(branches),
    )


def _run(
    ctx: Context, denoiser: Denoiser, scheduler: Scheduler, positive: TextEmbedding, negative: TextEmbedding | None,
    latents: Latents, seed: int, settings: Mapping[str, Any], start_cache: StartCache, mask: Mask | None = None,
) -> Denoised:  # fmt: skip  # Any: settings are ports of different types, resolved
    """Borrow the parts and walk the schedule."""
    from nodes.families.family import Conditioning
    from nodes.sampling import loop

    adapter = family(denoiser.family)
    guided = settings["guidance"] > 0 and negative is not None
    told = Conditioning(
        [adapter.condition(text, denoiser, ctx.device) for text in positive.texts],
        [adapter.condition(text, denoiser, ctx.device) for text in negative.texts] if guided and negative else None,
    )
    call = loop.Call(told, latents, settings["steps"], settings["guidance"], seed, settings["strength"], mask)
    with ctx.borrow(denoiser) as net, ctx.borrow(scheduler) as schedule:
        return loop.run(ctx, adapter, net, schedule, call, start_cache)


def _note(ctx: Context, cache: StepCache, result: Denoised, guidance: float) -> None:
    """Tell what a step cache did, or why it did nothing."""
    if cache.mode == "off":
        if cache.reason:
            ctx.note(f"No steps were skipped: {cache.reason}.")
        return
    counts = "; ".join(f"{branch}: {done} of {result.steps} steps computed" for branch, done in result.computed.items())
    split = cache.mode == "first_block" and guidance > 0
    ctx.note(f"{counts}.{' Guidance ran as two calls, which rounds otherwise than one.' if split else ''}")
