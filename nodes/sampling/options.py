"""Step caches as values on wires: which steps a denoise call may leave out, and on what evidence.

Pure: no torch. `resolve` turns what was asked for into what will happen, while planning, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from graph.errors import Refused
from graph.types import record

Mode = Literal["off", "first_block", "magnitude"]
Preset = Literal["quality", "balanced", "fast"]


class MagnitudePreset(NamedTuple):
    """MagCache: error budget, longest run of skipped steps, and the leading part of the schedule that is never skipped."""

    threshold: float
    max_skip: int
    retention: float


#: Spec C3, measured there on HunyuanVideo-1.5 and Wan 2.2.
MAGNITUDE_PRESETS: Final = MappingProxyType(
    {
        "quality": MagnitudePreset(0.06, 2, 0.3),
        "balanced": MagnitudePreset(0.12, 3, 0.2),
        "fast": MagnitudePreset(0.24, 3, 0.2),
    }
)
#: Spec C3: FBCache thresholds for (dense, quantized) weights; quantization noise enlarges the residuals.
FIRST_BLOCK_PRESETS: Final = MappingProxyType({"quality": (0.04, 0.06), "balanced": (0.08, 0.12), "fast": (0.12, 0.15)})


#: No family takes more steps; a longer curve is no curve.
LONGEST_CURVE: Final = 1000


@record("Curve")
@dataclass(frozen=True, slots=True)
class Curve:
    """How much the block stack's residual grows from step to step, measured by `calibrate_curve`, and on what.

    `ratios[i]` = mean over tokens of |residual at i| / |residual at i-1|, the first 1.0. `branch_difference` is the
    largest gap between the guided and the unguided branch (0 without guidance).
    """

    ratios: tuple[float, ...]
    weights: str
    steps: int
    width: int
    height: int
    guidance: float
    sampler: str
    branch_difference: float


@record("StepCache")
@dataclass(frozen=True, slots=True)
class StepCache:
    """A step cache of one denoise call.

    `threshold` None means the preset's. `reason` says why an asked-for cache is off; it does not enter keys.
    """

    mode: Mode
    preset: Preset = "balanced"
    threshold: float | None = None
    max_skip: int = 0
    retention: float = 0.0
    curve: Curve | None = None
    force: bool = False
    reason: str = field(default="", compare=False, metadata={"key": False})


def first_block(preset: Preset, threshold: float | None) -> StepCache:
    """FBCache as a preset says; an explicit threshold replaces the preset's."""
    return StepCache("first_block", preset, threshold)


def magnitude(
    preset: Preset, threshold: float | None, curve: Curve | None, force: bool, *,
    max_skip: int | None = None, retention: float | None = None,
) -> StepCache:  # fmt: skip
    """MagCache as a preset says; an explicit threshold, cap or retention replaces the preset's alone."""
    chosen = MAGNITUDE_PRESETS[preset]
    cap = chosen.max_skip if max_skip is None else max_skip
    kept = chosen.retention if retention is None else retention
    return StepCache("magnitude", preset, threshold, cap, kept, curve, force)


def resolve(asked: StepCache | None, weights: str, *, quantized: bool = False) -> StepCache:
    """What will happen on a denoiser of these weights: thresholds filled in, or off with the reason.

    A missing curve means uncached, never another kind of cache (spec C9). Raises `Refused` for a curve measured on
    other weights, unless it is forced.
    """
    if asked is None or asked.mode == "off":
        return asked or StepCache("off")
    if asked.mode == "first_block":
        preset = FIRST_BLOCK_PRESETS[asked.preset][quantized]
        return replace(asked, threshold=preset if asked.threshold is None else asked.threshold)
    if asked.curve is None:
        return StepCache("off", reason="mag_cache has no curve for these weights; link calibrate_curve to it")
    if asked.curve.weights != weights and not asked.force:
        text = f"the curve was measured on weights {asked.curve.weights[:12]}, the denoiser has {weights[:12]}"
        raise Refused(f"{text}; calibrate on this denoiser, or set force", port="step_cache", code="curve_of_other_weights")
    preset_threshold = MAGNITUDE_PRESETS[asked.preset].threshold
    return replace(asked, threshold=preset_threshold if asked.threshold is None else asked.threshold)


def resampled(ratios: tuple[float, ...], steps: int) -> tuple[float, ...]:
    """A curve at another step count, nearest neighbour (spec C2); one step takes the last entry."""
    if steps == len(ratios):
        return ratios
    if steps == 1:
        return ratios[-1:]
    return tuple(ratios[round(i * (len(ratios) - 1) / (steps - 1))] for i in range(steps))


def skipped_steps(ratios: tuple[float, ...], threshold: float, max_skip: int, retention: float) -> tuple[bool, ...]:
    """Which steps MagCache leaves out, one entry per step: it depends on the curve alone, not on what is computed.

    MagCache (Ma et al. 2025) as spec C2 fixes it: from step int(retention * steps + 0.5) on, the error of standing
    still accumulates as |1 - product of ratios|; a step is skipped while error and count stay within their caps.
    """
    steps = len(ratios)
    first = int(retention * steps + 0.5)
    product, count, error = 1.0, 0, 0.0
    skips: list[bool] = []
    for index, ratio in enumerate(ratios):
        skip = False
        if index >= first:
            product *= ratio
            count += 1
            error += abs(1.0 - product)
            skip = index > 0 and error <= threshold and count <= max_skip
            if not skip:
                product, count, error = 1.0, 0, 0.0
        skips.append(skip)
    return tuple(skips)
