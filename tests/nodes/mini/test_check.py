"""The checker reads true drawings right and does not say yes to anything else."""

from __future__ import annotations

import numpy as np
import pytest

from nodes.mini.check import Reading, read
from nodes.mini.data import Picture, Scene, all_scenes, draw

DRAWINGS = 2200


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    """Scenes of all kinds, in random order."""
    every = all_scenes()
    return [every[index] for index in np.random.default_rng(11).integers(len(every), size=DRAWINGS)]


@pytest.fixture(scope="module")
def readings(scenes: list[Scene]) -> list[Reading]:
    """What the checker reads in one drawing of each scene."""
    rng = np.random.default_rng(12)
    return [read(draw(scene, rng)) for scene in scenes]


@pytest.mark.slow
def test_true_drawings_are_read_back_right(scenes: list[Scene], readings: list[Reading]) -> None:
    right = sum(reading.is_of(scene) for reading, scene in zip(readings, scenes, strict=True))
    assert right >= 0.995 * DRAWINGS


@pytest.mark.slow
def test_shuffled_captions_do_not_match(scenes: list[Scene], readings: list[Reading]) -> None:
    shuffled = np.random.default_rng(13).permutation(DRAWINGS)
    matches = sum(reading.is_of(scenes[index]) for reading, index in zip(readings, shuffled, strict=True))
    assert matches <= 0.02 * DRAWINGS


def test_every_twentieth_scene_is_read_right() -> None:
    rng = np.random.default_rng(14)
    assert all(read(draw(scene, rng)).is_of(scene) for scene in all_scenes()[::20])


def test_an_empty_picture_shows_only_its_background() -> None:
    assert read(np.full((64, 64, 3), 128, np.uint8)) == Reading(None, None, None, None, "grey")


def test_noise_shows_no_shape() -> None:
    noise: Picture = np.random.default_rng(15).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    assert read(noise).shape is None


def test_a_blurred_drawing_is_still_read() -> None:
    """A decoder softens edges by a pixel or so; that is no error of composition."""
    scene = Scene("green", "cross", "small", "top left", "white")
    picture = draw(scene, np.random.default_rng(16)).astype(float)
    for axis in (0, 1):
        picture = (np.roll(picture, 1, axis) + 2 * picture + np.roll(picture, -1, axis)) / 4
    assert read(picture.astype(np.uint8)).is_of(scene)
