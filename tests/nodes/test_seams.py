"""Tiles of a trained decoder show no seams; without overlap they do, so the measure can fail."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nodes.models import mini_folder
from nodes.tiling import decode_in_tiles, spans

pytestmark = pytest.mark.skipif(not (mini_folder() / "vae").is_dir(), reason="mini's weights are not in this checkout")

TILE = 32
FACTOR = 8


def strip(seed, pictures=14):
    """Drawings of one background side by side, (1, 3, 64, 832), cut so that no joint lies on a tile's edge."""
    from nodes.mini.data import all_scenes, draw

    rng = np.random.default_rng(seed)
    scenes = all_scenes()
    background = scenes[rng.integers(len(scenes))].background
    alike = [scene for scene in scenes if scene.background == background]
    row = np.concatenate([draw(alike[rng.integers(len(alike))], rng) for _ in range(pictures)], axis=1)
    return torch.from_numpy(row[:, 32:-32].astype(np.float32) / 255).permute(2, 0, 1)[None]


@pytest.fixture(scope="module")
def decoded():
    """Per overlap: (gradient at tile edges / median elsewhere, error near edges / error inside), over six strips."""
    from diffusers import AutoencoderKL

    vae = AutoencoderKL.from_pretrained(mini_folder() / "vae", local_files_only=True).eval()
    found = {8: [], 0: []}
    with torch.no_grad():
        for seed in range(6):
            latents = vae.encode(2 * strip(seed) - 1).latent_dist.mean
            full = vae.decode(latents).sample
            for overlap, values in found.items():
                tiled = decode_in_tiles(latents, lambda part: vae.decode(part).sample, TILE, overlap, lambda done, total: None)
                values.append(seam(tiled, full, overlap))
    return {overlap: np.mean(values, axis=0) for overlap, values in found.items()}


def seam(tiled, full, overlap):
    length = full.shape[3] // FACTOR
    edges = {edge * FACTOR for span in spans(length, TILE, overlap) for edge in (span.begin, span.end)} - {0, length * FACTOR}
    gradients = tiled.diff(dim=3).abs().mean(dim=(0, 1, 2))
    at = torch.zeros(len(gradients), dtype=torch.bool)
    at[[edge - 1 for edge in edges]] = True
    errors = (tiled - full).abs().mean(dim=(0, 1, 2))
    near = torch.zeros(len(errors), dtype=torch.bool)
    for edge in edges:
        near[edge - FACTOR // 2 : edge + FACTOR // 2] = True
    return float(gradients[at].mean() / gradients[~at].median()), float(errors[near].mean() / errors[~near].mean())


@pytest.mark.slow
@pytest.mark.spec("G6")
def test_overlapping_tiles_show_no_seam(decoded):
    gradient, error = decoded[8]
    assert gradient <= 1.1
    assert error <= 1.0


@pytest.mark.slow
@pytest.mark.spec("G6")
def test_tiles_without_overlap_do(decoded):
    gradient, error = decoded[0]
    assert gradient > 1.5
    assert error > 1.5
