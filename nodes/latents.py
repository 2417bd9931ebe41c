"""Nodes that give a picture its place in latent space: an empty one of a size, or an encoded picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.spec import Doc, Range
from nodes.families import family
from nodes.recipes import Vae
from nodes.tensors import WireTensor
from nodes.values import Image, Latents, Posterior


@node(title="Empty latents", version=1, category="latents", light=True, output="latents")
def empty_latents(
    ctx: Context,
    width: Annotated[int, Range(16, 8192, 16), Doc("Pixels across")] = 1024,
    height: Annotated[int, Range(16, 8192, 16), Doc("Pixels down")] = 1024,
) -> Latents:
    """The place for a new picture. Noise is drawn by `denoise`, which has the seed and knows the model's channels."""
    return Latents(width, height)


def _whole_patches(inputs: dict[str, Any]) -> Mapping[str, Any]:  # Any: see graph.node.Resolve
    image, vae = inputs.get("image"), inputs.get("vae")
    if image is not None and vae is not None:
        check_size(image.width, image.height, vae.family, family(vae.family).bounds.high, "image")
    return {}


@node(title="Encode image", version=1, category="latents", output="latents", resolve=_whole_patches)
def encode_image(ctx: Context, vae: Vae, image: Image) -> Latents:
    """A picture in latent space. The encoder's random part is drawn later, by `denoise`, from its seed.

    Raises `Refused` if the sides are no multiples the model can take: put `resize_image` before it.
    """
    import torch

    from nodes.finite import demand_finite

    _whole_patches({"image": image, "vae": vae})
    adapter = family(vae.family)
    with ctx.borrow(vae) as live, torch.no_grad():
        # The library's pipeline gives pictures channels last; the same memory layout gives the same bits.
        pixels = image.to(ctx.device).pixels.torch().contiguous(memory_format=torch.channels_last)
        found = live.encode(adapter.to_vae_input(live, pixels)).latent_dist
        demand_finite(found.mean, "latents", "the encoded picture")
        shift, scale = float(live.config.shift_factor), float(live.config.scaling_factor)
    posterior = Posterior(WireTensor.of(found.mean), WireTensor.of(found.std), shift, scale)
    return Latents(image.width, image.height, adapter.name, None, posterior)


def check_size(width: int, height: int, family_name: str, high: int, port: str) -> None:
    """Raise `Refused` unless both sides are multiples of the family's, between its least and `high` pixels."""
    bounds = family(family_name).bounds
    for name, side in (("width", width), ("height", height)):
        if side % bounds.multiple or not bounds.low <= side <= high:
            takes = f"{family_name} takes multiples of {bounds.multiple} from {bounds.low} to {high}"
            nearest = min(max(round(side / bounds.multiple) * bounds.multiple, bounds.low), high)
            raise Refused(f"{name} is {side}; {takes}. The nearest is {nearest}", port=port, code="bad_size")
