"""ZImageTransformer2DModel.forward cut open around its main blocks, from the transformer's own parts.

Running all blocks gives the module's own result bit for bit (tested), so a step cache changes nothing but what it skips.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from nodes.families.family import Stack

Streams = tuple[torch.Tensor, ...]


def open_stack(
    net: Any,  # Any: ZImageTransformer2DModel, whose parts the library leaves untyped
    latents: list[torch.Tensor],
    timestep: torch.Tensor,
    captions: list[torch.Tensor],
) -> Stack:
    """Embed pictures (C, 1, h, w) and captions (L, D), refine them, and join them to one stream, pictures first."""
    device = latents[0].device
    moment = net.t_embedder(timestep * net.t_scale).type_as(latents[0])
    patches, texts, sizes, patch_ids, text_ids, patch_pads, text_pads = net.patchify_and_embed(latents, captions, 2, 1)

    patch_counts = [len(item) for item in patches]
    embedded = list(net.all_x_embedder["2-1"](torch.cat(patches, dim=0)).split(patch_counts, dim=0))
    x, x_freqs, x_mask, _, _ = net._prepare_sequence(embedded, patch_ids, patch_pads, net.x_pad_token, None, device)
    for layer in net.noise_refiner:
        x = layer(x, x_mask, x_freqs, moment)

    text_counts = [len(item) for item in texts]
    embedded = list(net.cap_embedder(torch.cat(texts, dim=0)).split(text_counts, dim=0))
    text, text_freqs, text_mask, _, _ = net._prepare_sequence(embedded, text_ids, text_pads, net.cap_pad_token, None, device)
    for layer in net.context_refiner:
        text = layer(text, text_mask, text_freqs)

    joined, freqs, mask, _ = net._build_unified_sequence(
        x, x_freqs, patch_counts, None, text, text_freqs, text_counts, None, None, None, None, None, False, device
    )

    def finish(streams: Streams) -> list[torch.Tensor]:
        last = net.all_final_layer["2-1"](streams[0], c=moment)
        pictures: list[torch.Tensor] = net.unpatchify(list(last.unbind(dim=0)), sizes, 2, 1, None)
        return pictures

    blocks = [partial(_call, layer, mask, freqs, moment) for layer in net.layers]
    # All pictures of a call have one size, so their tokens lead the joined stream by the same count.
    return Stack((joined,), blocks, lambda streams: streams[0][:, : patch_counts[0]], finish)


def _call(layer: Callable[..., torch.Tensor], mask: Any, freqs: Any, moment: torch.Tensor, streams: Streams) -> Streams:
    # Any: mask and freqs are whatever the library's own sequence builder gave
    return (layer(streams[0], mask, freqs, moment),)
