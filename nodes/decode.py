"""The node that turns latents into pixels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.spec import Doc, Range
from nodes.families import family
from nodes.recipes import Vae
from nodes.tensors import WireTensor
from nodes.values import Image, Latents

if TYPE_CHECKING:
    import torch


def _resolve(inputs: dict[str, Any]) -> Mapping[str, Any]:  # Any: see graph.node.Resolve
    tile, overlap = inputs.get("tile"), inputs.get("overlap")
    if tile is not None and overlap is not None and overlap >= tile:
        text = f"overlap is {overlap} latents, tile is {tile}"
        raise Refused(f"{text}; an overlap is smaller than a tile", port="overlap", code="out_of_range")
    vae, latents = inputs.get("vae"), inputs.get("latents")
    if vae is not None and latents is not None:
        if latents.is_empty:
            raise Refused("the latents are empty; link the output of denoise", port="latents", code="empty_latents")
        if latents.family != vae.family:
            text = f"the latents belong to {latents.family}, the VAE to {vae.family}"
            raise Refused(f"{text}; use parts of one model", port="latents", code="family_mismatch")
    return {}


@node(title="Decode", version=1, category="latents", output="image", resolve=_resolve)
def decode(
    ctx: Context,
    vae: Vae,
    latents: Latents,
    tile: Annotated[int, Range(8, 1024), Doc("Latents a side; a larger picture is decoded in tiles of this")] = 64,
    overlap: Annotated[int, Range(0, 512), Doc("Latents that neighbouring tiles share")] = 16,
) -> Image:
    """Latents as a picture. Above `tile` in tiles, which is close to but not the same as decoding it whole.

    Raises `NotFinite` if the model gives values that are no finite numbers.
    """
    import torch

    from nodes.finite import demand_finite
    from nodes.tiling import decode_in_tiles, needs_tiles

    _resolve({"vae": vae, "latents": latents, "tile": tile, "overlap": overlap})
    adapter = family(vae.family)
    with ctx.borrow(vae) as live, torch.no_grad():
        scaled = adapter.from_latents(live, _samples(latents.to(ctx.device)))

        def decoded(part: torch.Tensor) -> torch.Tensor:
            ctx.check_cancelled()
            pixels: torch.Tensor = live.decode(part, return_dict=False)[0]
            return pixels

        tiled = needs_tiles(scaled.shape[2], scaled.shape[3], tile)
        pixels = decode_in_tiles(scaled, decoded, tile, overlap, ctx.progress) if tiled else decoded(scaled)
        demand_finite(pixels, "image", "the picture")  # before they are clamped: infinity would be white
        return Image(WireTensor.of(adapter.to_pixels(pixels)))


def _samples(latents: Latents) -> torch.Tensor:
    """The latents in the denoiser's scale; an encoded picture's most likely ones."""
    if latents.posterior is not None:
        return (latents.posterior.mean.torch() - latents.posterior.shift) * latents.posterior.scale
    assert latents.samples is not None
    return latents.samples.torch()
