"""How often mini draws what the caption says, read back from the pixels of held-out attribute combinations.

`measure` takes any way of rendering; `python -m nodes.mini.fidelity` measures the stock diffusers pipeline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from nodes.mini.check import read
from nodes.mini.data import Case, Picture, Scene
from nodes.mini.defaults import GUIDANCE, HEIGHT_PX, STEPS, WEIGHTS, WIDTH_PX

if TYPE_CHECKING:
    from diffusers.pipelines.z_image.pipeline_z_image import ZImagePipeline

HELD_OUT_FILE: Final = Path(__file__).parent / "heldout.json"

Render = Callable[[Sequence[str], Sequence[int]], Sequence[Picture]]
"""Gives one picture for each prompt, from the noise of the seed beside it."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How many of `count` pictures were read back right, attribute by attribute and in all of them."""

    count: int
    colour: int
    shape: int
    size: int
    place: int
    background: int
    everything: int

    @property
    def rate(self) -> float:
        """The share of pictures that are right in every attribute."""
        return self.everything / self.count

    def __str__(self) -> str:
        """A table, one attribute a line."""
        rows = asdict(self).items()
        return "\n".join(f"{name:12}{right:4} / {self.count}" for name, right in rows if name != "count")


def held_out() -> list[Case]:
    """The committed cases; none of their scenes was trained on."""
    return [
        Case(entry["caption"], entry["seed"], Scene(**entry["scene"]))
        for entry in json.loads(HELD_OUT_FILE.read_text(encoding="utf-8"))
    ]


def write_held_out(cases: Sequence[Case], path: Path) -> None:
    """The file `held_out` reads, one case a line."""
    lines = [json.dumps({**case._asdict(), "scene": case.scene._asdict()}) for case in cases]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def measure(render: Render, cases: Sequence[Case]) -> Fidelity:
    """Renders every case and compares what the pictures show with what the captions say."""
    pictures = render([case.caption for case in cases], [case.seed for case in cases])
    wanted = np.array([case.scene for case in cases])
    right = np.array([read(picture) for picture in pictures]) == wanted
    by_attribute = dict(zip(Scene._fields, right.sum(axis=0).tolist(), strict=True))
    return Fidelity(count=len(cases), everything=int(right.all(axis=1).sum()), **by_attribute)


def stock_render(pipeline: ZImagePipeline, steps: int = STEPS, guidance: float = GUIDANCE, batch: int = 20) -> Render:
    """Rendering with the unchanged diffusers pipeline, each picture with a generator of its own."""
    import torch  # heavy, and only this way of rendering needs it

    def render(prompts: Sequence[str], seeds: Sequence[int]) -> list[Picture]:
        pictures: list[Picture] = []
        for first in range(0, len(prompts), batch):
            images = pipeline(
                prompt=list(prompts[first : first + batch]),
                generator=[torch.Generator().manual_seed(seed) for seed in seeds[first : first + batch]],
                width=WIDTH_PX,
                height=HEIGHT_PX,
                num_inference_steps=steps,
                guidance_scale=guidance,
            ).images
            pictures += [np.asarray(image) for image in images]
        return pictures

    return render


def main() -> None:
    """Prints the table of the shipped weights at their default steps and guidance."""
    from diffusers.pipelines.z_image.pipeline_z_image import ZImagePipeline  # heavy, and `measure` does not need it

    pipeline = ZImagePipeline.from_pretrained(WEIGHTS)
    pipeline.set_progress_bar_config(disable=True)  # type: ignore[no-untyped-call]  # it has no annotations
    print(measure(stock_render(pipeline), held_out()))


if __name__ == "__main__":
    main()
