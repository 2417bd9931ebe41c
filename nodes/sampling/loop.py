"""The denoise loop, written once for all families: noise, steps, guidance, cancellation, progress.

What a denoiser call takes and gives is the adapter's business (`nodes.families`). Everything that changes during a
run, random generator, scheduler, step cache, is made here for this call and dropped with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from diffusers.utils.torch_utils import randn_tensor

from graph.context import Context
from nodes.families.family import Conditioning, Family, Forward, Schedule
from nodes.finite import demand_finite
from nodes.sampling.preview import encoded_preview
from nodes.sampling.step_cache import RunningCache
from nodes.tensors import torch_device
from nodes.values import Latents, Mask


class Call(NamedTuple):
    """One denoise call, all defaults filled in."""

    text: Conditioning
    latents: Latents
    steps: int
    guidance: float
    seed: int
    strength: float
    mask: Mask | None = None


class Denoised(NamedTuple):
    """Samples (1, C, h, w), float32, in the denoiser's scale; steps walked, and those computed in full, by branch."""

    samples: torch.Tensor
    steps: int
    computed: Mapping[str, int]

    @property
    def steps_computed(self) -> int:
        """Steps computed in full; of branches with caches of their own, the larger count."""
        return max(self.computed.values(), default=0)


#: Makes the step cache of a call from (steps of the full schedule, steps left out at its start).
StartCache = Callable[[int, int], RunningCache | None]


def run(
    ctx: Context,
    family: Family,
    net: Any,  # Any: the library's module, which only the adapter reads
    scheduler: Any,  # Any: the library's scheduler; copied, for it has state
    call: Call,
    start_cache: StartCache,
) -> Denoised:
    """Walk the schedule. Raises `Cancelled` between steps, ValueError if `strength` leaves no step, `NotFinite`."""
    with torch.no_grad():
        shape = family.noise_shape(net, call.latents.width, call.latents.height)
        fresh = type(scheduler).from_config(scheduler.config)
        schedule = family.schedule(fresh, call.steps, shape, call.strength, ctx.device)
        total = len(schedule.timesteps)
        if total == 0:
            raise ValueError(f"strength {call.strength} of {call.steps} steps leaves no step to run; raise strength or steps")
        cache = start_cache(call.steps, schedule.skipped)
        latents, kept = _initial(family, call, schedule, shape, ctx.device)
        for step, timestep in enumerate(schedule.timesteps):
            ctx.check_cancelled()
            forward = _forward(family, net, cache, step)
            split = cache is not None and cache.per_branch
            predicted = family.predict(net, latents, timestep, call.text, call.guidance, forward, split).to(torch.float32)
            preview = partial(encoded_preview, latents, predicted, schedule.scheduler.sigmas[schedule.skipped + step])
            latents = schedule.scheduler.step(predicted, timestep, latents, return_dict=False)[0]
            if kept is not None:
                latents = kept.put_back(latents, schedule, step)
            ctx.progress(step + 1, total, preview)
        demand_finite(latents, "latents", "the latents")
        return Denoised(latents, total, {"all": total} if cache is None else dict(cache.computed))


class _Kept(NamedTuple):
    """What a mask keeps of a picture: its latents, the noise of this call, and the mask, all of one dtype."""

    picture: torch.Tensor
    noise: torch.Tensor
    mask: torch.Tensor

    def put_back(self, latents: torch.Tensor, schedule: Schedule, step: int) -> torch.Tensor:
        """Latents after a step, with the kept part as noisy as the next step expects it; after the last one without noise."""
        following = schedule.timesteps[step + 1 : step + 2]
        # The scheduler stands at the next step already; of the timesteps it reads how many there are.
        picture = schedule.scheduler.scale_noise(self.picture, following, self.noise) if len(following) else self.picture
        blended: torch.Tensor = (1 - self.mask) * picture + self.mask * latents
        return blended


def _initial(
    family: Family, call: Call, schedule: Schedule, shape: tuple[int, ...], device: str
) -> tuple[torch.Tensor, _Kept | None]:
    """Noise, or a picture with noise added, and what a mask keeps of it.

    Drawn on the CPU, so that a seed gives the same noise on every device.
    """
    generator, place = torch.Generator("cpu").manual_seed(call.seed), torch.device(torch_device(device))
    if call.latents.is_empty:
        return _drawn(shape, generator, place, torch.float32), None
    # The reference works in the text's dtype here, and draws picture and noise from one generator, in this order.
    dtype = call.text.positive[0].dtype
    posterior = call.latents.posterior
    if posterior is not None:
        mean, std = (part.torch().to(place) for part in (posterior.mean, posterior.std))
        drawn = _drawn(tuple(mean.shape), generator, place, mean.dtype)
        picture = (mean + std * drawn - posterior.shift) * posterior.scale
    else:
        assert call.latents.samples is not None
        picture = call.latents.samples.torch().to(place, dtype)
    noise = _drawn(shape, generator, place, dtype)
    noisy: torch.Tensor = schedule.scheduler.scale_noise(picture, schedule.timesteps[:1], noise)
    if call.mask is None:
        return noisy, None
    mask = family.inpaint_mask(call.mask, call.latents.width, call.latents.height, shape).to(place, dtype)
    return noisy, _Kept(picture, noise, mask)


def _drawn(shape: tuple[int, ...], generator: torch.Generator, place: torch.device, dtype: torch.dtype) -> torch.Tensor:
    noise: torch.Tensor = randn_tensor(shape, generator=generator, device=place, dtype=dtype)
    return noise


def _forward(family: Family, net: Any, cache: RunningCache | None, step: int) -> Forward:  # Any: see run
    def whole(
        branch: str, pictures: list[torch.Tensor], moment: torch.Tensor, captions: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        outputs: list[torch.Tensor] = net(pictures, moment, captions, return_dict=False)[0]
        return outputs

    def cached(
        branch: str, pictures: list[torch.Tensor], moment: torch.Tensor, captions: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        assert cache is not None
        return cache.run(step, branch, family.open_stack(net, pictures, moment, captions))

    return whole if cache is None else cached
