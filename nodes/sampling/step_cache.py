"""Step caches at work: objects of one denoise call, so that nothing outlives it or is left on the module.

They see a denoiser call as a `Stack` (streams, blocks, finish) and know no family.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

import torch

from nodes.families.family import Stack
from nodes.sampling.options import StepCache, resampled, skipped_steps

Streams = tuple[torch.Tensor, ...]


class RunningCache(Protocol):
    """A step cache during one denoise call."""

    #: Whether each guidance branch is a call of its own with its own state.
    per_branch: bool
    #: Calls that ran every block / left blocks out, by branch.
    computed: Counter[str]
    skipped: Counter[str]

    def run(self, step: int, branch: str, stack: Stack) -> list[torch.Tensor]:
        """The denoiser call's result at this step (from 0), computed or reused."""


def start(options: StepCache, full_steps: int, skipped_at_start: int) -> RunningCache | None:
    """The cache of a new denoise call; None for off. The schedule has `full_steps`, its first ones may be left out."""
    if options.mode == "off" or options.threshold is None:
        return None
    if options.mode == "first_block":
        return FirstBlockCache(options.threshold)
    assert options.curve is not None
    # A curve covers the whole schedule; image to image walks its tail.
    ratios = resampled(options.curve.ratios, full_steps)[skipped_at_start:]
    return MagnitudeCache(skipped_steps(ratios, options.threshold, options.max_skip, options.retention))


@dataclass
class _FirstBlockState:
    first: torch.Tensor  # the first block's image residual at the last computed step
    tail: Streams  # what the other blocks added then


@dataclass
class FirstBlockCache:
    """FBCache (ParaAttention), spec C1: run one block; if its residual changed little, reuse what the others added."""

    threshold: float
    per_branch: bool = True
    computed: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    _states: dict[str, _FirstBlockState] = field(default_factory=dict)

    def run(self, step: int, branch: str, stack: Stack) -> list[torch.Tensor]:
        """The relative change is mean|r - r_previous| / mean|r_previous| over image tokens; equal to threshold skips."""
        after_first = stack.blocks[0](stack.streams)
        residual = stack.image(after_first) - stack.image(stack.streams)
        state = self._states.get(branch)
        if state is not None and self._change(residual, state.first) <= self.threshold:
            self.skipped[branch] += 1
            return stack.finish(tuple(stream + tail for stream, tail in zip(after_first, state.tail, strict=True)))
        streams = after_first
        for block in stack.blocks[1:]:
            streams = block(streams)
        tail = tuple(last - first for last, first in zip(streams, after_first, strict=True))
        self._states[branch] = _FirstBlockState(residual, tail)
        self.computed[branch] += 1
        return stack.finish(streams)

    @staticmethod
    def _change(residual: torch.Tensor, previous: torch.Tensor) -> float:
        return float((residual - previous).abs().mean() / previous.abs().mean())


@dataclass
class MagnitudeCache:
    """MagCache, spec C2: the steps to skip are known beforehand; a skipped step adds the last computed residual."""

    skips: tuple[bool, ...]
    per_branch: bool = False  # Z-Image's reference makes one call for both branches, and one curve serves both (C20)
    computed: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    _residuals: dict[str, Streams] = field(default_factory=dict)

    def run(self, step: int, branch: str, stack: Stack) -> list[torch.Tensor]:
        """No block runs at a skipped step."""
        residuals = self._residuals.get(branch)
        if self.skips[step] and residuals is not None:
            self.skipped[branch] += 1
            return stack.finish(tuple(stream + added for stream, added in zip(stack.streams, residuals, strict=True)))
        streams = stack.streams
        for block in stack.blocks:
            streams = block(streams)
        self._residuals[branch] = tuple(last - first for last, first in zip(streams, stack.streams, strict=True))
        self.computed[branch] += 1
        return stack.finish(streams)


@dataclass
class Calibration:
    """Runs every block and records how the residual's magnitude moves; the results are the denoiser's own."""

    per_branch: bool = False
    computed: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    #: Per step, one ratio per picture of the call.
    ratios: list[list[float]] = field(default_factory=list)
    _norms: torch.Tensor | None = None

    def run(self, step: int, branch: str, stack: Stack) -> list[torch.Tensor]:
        """Record |residual| / |residual before|, averaged over image tokens."""
        streams = stack.streams
        for block in stack.blocks:
            streams = block(streams)
        norms = (stack.image(streams) - stack.image(stack.streams)).float().norm(dim=-1)  # (B, N)
        before, self._norms = self._norms, norms
        self.ratios.append([1.0] * len(norms) if before is None else (norms / before).mean(dim=-1).tolist())
        self.computed[branch] += 1
        return stack.finish(streams)
