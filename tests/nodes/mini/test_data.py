"""The pictures and captions mini is trained on, and what is kept out of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from nodes.mini.data import SHAPES, Scene, all_scenes, caption, cases, coverage, draw, split, training_caption
from nodes.mini.fidelity import held_out

RED_CIRCLE = Scene("red", "circle", "large", "centre", "blue")


def test_the_same_seed_draws_the_same_picture() -> None:
    first, second = (draw(RED_CIRCLE, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_drawing_is_a_64_pixel_rgb_picture() -> None:
    picture = draw(RED_CIRCLE, np.random.default_rng(0))
    assert picture.shape == (64, 64, 3)
    assert picture.dtype == np.uint8


def test_coverage_of_a_circle_is_its_area() -> None:
    assert coverage("circle", (32.0, 32.0), 16.0).sum() == pytest.approx(np.pi * 16**2, rel=0.002)


def test_an_unknown_shape_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=f"'heart'.*{', '.join(SHAPES)}"):
        coverage("heart", (32.0, 32.0), 16.0)


def test_held_out_combinations_are_never_trained_on() -> None:
    train, validation, test = (set(scenes) for scenes in split())
    assert not train & (validation | test)
    assert not validation & test
    assert train | validation | test == set(all_scenes())


def test_the_committed_cases_are_those_of_the_split() -> None:
    assert held_out() == cases(split().test)


def test_full_captions_name_every_attribute_but_the_centre() -> None:
    rng = np.random.default_rng(0)
    for scene in all_scenes():
        words = set(scene) - {"centre"}
        assert all(word in caption(scene, rng) for word in words)


@pytest.mark.parametrize(
    ("scene", "phrase"),
    [
        (RED_CIRCLE, "a large red circle on a blue background"),
        (Scene("green", "ring", "small", "centre", "white"), "a small green ring on a white background"),
        (
            Scene("yellow", "triangle", "small", "top left", "black"),
            "a small yellow triangle in the top left on a black background",
        ),
    ],
)
def test_plain_phrases_are_among_the_training_captions(scene: Scene, phrase: str) -> None:
    rng = np.random.default_rng(0)
    assert phrase in {training_caption(scene, rng) for _ in range(100)}


def test_drawing_and_checking_do_not_import_torch() -> None:
    program = "import sys, nodes.mini.data, nodes.mini.check, nodes.mini.fidelity; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
