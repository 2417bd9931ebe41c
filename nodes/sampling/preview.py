"""A picture of unfinished latents, without a VAE: made only when someone looks."""

from __future__ import annotations

import io
from typing import Final

import torch

PREVIEW_PX: Final = 512


def expected_picture(latents: torch.Tensor, predicted: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
    """What the denoiser expects to end at, (1, C, h, w): on a straight flow x0 = x - sigma * v."""
    expected: torch.Tensor = latents.float() - sigma.to(latents.device) * predicted
    return expected


def projected(latents: torch.Tensor) -> torch.Tensor:
    """Latents (1, C, h, w) as RGB (h, w, 3), 0..1: their three principal channels, brightest first.

    A least-squares fit to three channels needs no table per VAE; the colours are not the picture's, shapes and light
    are. Signs are fixed by the largest weight, so that previews of one run do not flicker.
    """
    # A preview of latents that went wrong is a preview still: the run ends as it would without one.
    channels = latents[0].float().nan_to_num(0.0, 0.0, 0.0).clamp(-1e4, 1e4).flatten(1)  # (C, h*w)
    centred = channels - channels.mean(dim=1, keepdim=True)
    vectors, _, _ = torch.linalg.svd(centred @ centred.T)
    basis = vectors[:, :3]
    strongest = basis.abs().argmax(dim=0)
    basis = basis * basis.gather(0, strongest[None]).sign()
    rgb = basis.T @ centred
    if len(rgb) < 3:
        rgb = rgb[:1].expand(3, -1)
    low, high = rgb.amin(dim=1, keepdim=True), rgb.amax(dim=1, keepdim=True)
    scaled: torch.Tensor = (rgb - low) / (high - low).clamp_min(1e-6)
    return scaled.T.reshape(*latents.shape[2:], 3)


def encoded_preview(latents: torch.Tensor, predicted: torch.Tensor, sigma: torch.Tensor) -> bytes:
    """The expected picture as WebP, its longest side at most 512 pixels and at most eight times the latents."""
    from PIL import Image

    with torch.no_grad():
        rgb = (projected(expected_picture(latents, predicted, sigma)) * 255).round().to(torch.uint8).cpu().numpy()
    picture = Image.fromarray(rgb, "RGB")
    factor = min(8.0, PREVIEW_PX / max(picture.size))
    size = (max(1, int(picture.width * factor)), max(1, int(picture.height * factor)))
    buffer = io.BytesIO()
    picture.resize(size, Image.Resampling.BILINEAR).save(buffer, "WEBP", quality=80)
    return buffer.getvalue()
