"""The shipped weights load into the stock pipeline and draw what they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from diffusers.pipelines.z_image.pipeline_z_image import ZImagePipeline

from nodes.mini.check import read
from nodes.mini.data import Scene
from nodes.mini.defaults import WEIGHTS
from nodes.mini.fidelity import held_out, measure, stock_render

MAX_BYTES = 14_000_000

SAMPLES = [
    ("a large red circle on a blue background", Scene("red", "circle", "large", "centre", "blue")),
    ("a small green ring on a white background", Scene("green", "ring", "small", "centre", "white")),
    (
        "a small yellow triangle in the top left on a black background",
        Scene("yellow", "triangle", "small", "top left", "black"),
    ),
]


@pytest.fixture(scope="module")
def pipeline() -> ZImagePipeline:
    """The stock pipeline, loaded as anyone would."""
    loaded: ZImagePipeline = ZImagePipeline.from_pretrained(WEIGHTS)
    loaded.set_progress_bar_config(disable=True)  # type: ignore[no-untyped-call]  # it has no annotations
    return loaded


def test_the_weights_stay_small() -> None:
    assert sum(path.stat().st_size for path in WEIGHTS.rglob("*") if path.is_file()) <= MAX_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "scene"), SAMPLES)
def test_a_plain_prompt_is_drawn(pipeline: ZImagePipeline, prompt: str, scene: Scene) -> None:
    (picture,) = stock_render(pipeline)([prompt], [0])
    assert read(picture).is_of(scene)


@pytest.mark.slow
def test_thirty_steps_draw_the_prompt_too(pipeline: ZImagePipeline) -> None:
    (picture,) = stock_render(pipeline, steps=30)([SAMPLES[0][0]], [0])
    assert read(picture).is_of(SAMPLES[0][1])


@pytest.mark.slow
def test_the_same_seed_renders_the_same_picture(pipeline: ZImagePipeline) -> None:
    first, second = stock_render(pipeline)([SAMPLES[0][0]] * 2, [5, 5])
    assert np.array_equal(first, second)


@pytest.mark.slow
def test_nine_in_ten_held_out_captions_are_drawn_right(pipeline: ZImagePipeline) -> None:
    assert measure(stock_render(pipeline), held_out()).rate >= 0.9
