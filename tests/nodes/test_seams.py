"""Tiles of a trained decoder show no seams; without overlap they do, so the measure can fail."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from nodes.models import mini_folder
from nodes.tiling import decode_in_tiles, spans

pytestmark = pytest.mark.skipif(not (mini_folder() / "vae").is_dir(), reason="mini's weights are not in this checkout")

TILE = 32
FACTOR = 8


def strip(seed):
    """Drawings of one background side by side, (1, 3, 64, 832). `seed` also shifts them, so that over eight seeds
    tile edges fall on every part of a drawing alike."""
    from nodes.mini.data import all_scenes, draw

    rng = np.random.default_rng(seed)
    scenes = all_scenes()
    background = scenes[rng.integers(len(scenes))].background
    alike = [scene for scene in scenes if scene.background == background]
    row = np.concatenate([draw(alike[rng.integers(len(alike))], rng) for _ in range(14)], axis=1)
    shift = seed * FACTOR % 64
    return torch.from_numpy(row[:, shift : shift + 13 * 64].astype(np.float32) / 255).permute(2, 0, 1)[None]


class Seam(NamedTuple):
    """Means over columns of pixels; `at` an edge of a tile is the step across it, `near` it is within half a latent."""

    step_at: float
    step_at_when_whole: float
    step_elsewhere: float
    error_near: float
    error_inside: float
    error_step_at: float
    error_step_elsewhere: float


@pytest.fixture(scope="module")
def seams():
    """Mean `Seam` over eight strips, by overlap in latents."""
    from diffusers import AutoencoderKL

    vae = AutoencoderKL.from_pretrained(mini_folder() / "vae", local_files_only=True).eval()
    found = {8: [], 0: []}
    with torch.no_grad():
        for seed in range(8):
            latents = vae.encode(2 * strip(seed) - 1).latent_dist.mean
            whole = vae.decode(latents).sample
            for overlap, values in found.items():
                tiled = decode_in_tiles(latents, lambda part: vae.decode(part).sample, TILE, overlap, lambda done, total: None)
                values.append(seam(tiled, whole, overlap))
    return {overlap: Seam(*np.mean(values, axis=0)) for overlap, values in found.items()}


def seam(tiled, whole, overlap):
    length = whole.shape[3] // FACTOR
    edges = {edge * FACTOR for span in spans(length, TILE, overlap) for edge in (span.begin, span.end)} - {0, length * FACTOR}
    at, near = torch.zeros(length * FACTOR - 1, dtype=torch.bool), torch.zeros(length * FACTOR, dtype=torch.bool)
    for edge in edges:
        at[edge - 1] = True
        near[edge - FACTOR // 2 : edge + FACTOR // 2] = True

    def steps(picture):
        return picture.diff(dim=3).abs().mean(dim=(0, 1, 2))

    step, error, error_step = steps(tiled), (tiled - whole).abs().mean(dim=(0, 1, 2)), steps(tiled - whole)
    return Seam(*(float(part.mean()) for part in (
        step[at], steps(whole)[at], step[~at], error[near], error[~near], error_step[at], error_step[~at],
    )))  # fmt: skip


def quotients(seam):
    return (
        seam.step_at / seam.step_at_when_whole,
        seam.step_at / seam.step_elsewhere,
        seam.error_near / seam.error_inside,
        seam.error_step_at / seam.error_step_elsewhere,
    )


@pytest.mark.slow
@pytest.mark.spec("G6")
def test_overlapping_tiles_show_no_seam(seams):
    assert max(quotients(seams[8])) <= 1.1


@pytest.mark.slow
@pytest.mark.spec("G6")
def test_tiles_without_overlap_do(seams):
    assert min(quotients(seams[0])) > 1.5
