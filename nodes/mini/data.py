"""What mini is trained on: pictures of one coloured shape, their captions, and which ones are held out.

Pure numpy. It knows nothing of models, tokens or latents; `check.py` reads a picture back into the same `Scene`.
"""

from __future__ import annotations

from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""A picture, (64, 64, 3), uint8, RGB."""

Reals = NDArray[np.float64]
"""Plain float arithmetic, of a shape the function says."""

SIDE_PX: Final = 64

PALETTE: Final[dict[str, tuple[int, int, int]]] = {
    "red": (215, 35, 40),
    "orange": (250, 140, 20),
    "yellow": (250, 225, 45),
    "green": (40, 160, 65),
    "blue": (40, 85, 220),
    "purple": (145, 55, 185),
    "white": (248, 248, 248),
    "black": (16, 16, 16),
    "grey": (128, 128, 128),
}
COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple", "white", "black")
BACKGROUNDS: Final = ("white", "black", "grey", "blue", "green", "yellow")
SHAPES: Final = ("circle", "square", "triangle", "ring", "cross")
RADII_PX: Final[dict[str, float]] = {"small": 10.5, "large": 16.5}
PLACES: Final[dict[str, tuple[float, float]]] = {
    "centre": (32.0, 32.0),
    "top left": (20.0, 20.0),
    "top right": (44.0, 20.0),
    "bottom left": (20.0, 44.0),
    "bottom right": (44.0, 44.0),
}
"""Centre (x, y) of the shape in px."""

RADIUS_JITTER_PX: Final = 0.5
PLACE_JITTER_PX: Final = 1.0
COLOUR_JITTER: Final = 4.0

TEST_COUNT: Final = 200
VALIDATION_COUNT: Final = 100
_SPLIT_SEED: Final = 20_261_130


class Scene(NamedTuple):
    """What one picture shows; every field is a word of the captions."""

    colour: str
    shape: str
    size: str
    place: str
    background: str


class Case(NamedTuple):
    """One thing to render and read back: a caption of the scene, and the seed of the noise."""

    caption: str
    seed: int
    scene: Scene


class Split(NamedTuple):
    """Three disjoint lists of scenes; together they are every scene there is."""

    train: list[Scene]
    validation: list[Scene]
    test: list[Scene]


def all_scenes() -> list[Scene]:
    """Every combination of the attributes in which the shape differs in colour from its background."""
    combinations = product(COLOURS, SHAPES, RADII_PX, PLACES, BACKGROUNDS)
    return [Scene(*words) for words in combinations if words[0] != words[4]]


def split() -> Split:
    """The fixed split: whole attribute combinations are held out, so no drawing of them is ever trained on."""
    scenes = all_scenes()
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(scenes))
    shuffled = [scenes[index] for index in order]
    held_out = TEST_COUNT + VALIDATION_COUNT
    return Split(shuffled[held_out:], shuffled[TEST_COUNT:held_out], shuffled[:TEST_COUNT])


def cases(scenes: list[Scene]) -> list[Case]:
    """One case for each scene, the same ones every time."""
    rng = np.random.default_rng(_SPLIT_SEED)
    return [Case(caption(scene, rng), int(rng.integers(2**31)), scene) for scene in scenes]


def coverage(shape: str, centre: tuple[float, float], radius_px: float) -> Reals:
    """How much of each pixel the shape covers, (64, 64), 0-1; anti-aliased by the signed distance to its edge."""
    offset = np.arange(SIDE_PX) + 0.5
    x, y = np.meshgrid(offset - centre[0], offset - centre[1])
    return np.asarray(np.clip(0.5 - _signed_distance(shape, x, y, radius_px), 0.0, 1.0))


def draw(scene: Scene, rng: np.random.Generator) -> Picture:
    """A drawing of the scene; `rng` moves it, scales it and tints it a little."""
    x, y = np.array(PLACES[scene.place]) + rng.uniform(-PLACE_JITTER_PX, PLACE_JITTER_PX, 2)
    radius_px = RADII_PX[scene.size] + rng.uniform(-RADIUS_JITTER_PX, RADIUS_JITTER_PX)
    tints = rng.uniform(-COLOUR_JITTER, COLOUR_JITTER, (2, 3))
    inside, outside = np.array([PALETTE[scene.colour], PALETTE[scene.background]]) + tints
    alpha = coverage(scene.shape, (float(x), float(y)), radius_px)[..., None]
    blend = np.rint(alpha * inside + (1 - alpha) * outside)
    return np.asarray(np.clip(blend, 0, 255), np.uint8)


_TEMPLATES: Final = (
    "{thing}{place} on {background}",
    "{thing} on {background}{place}",
    "on {background}, {thing}{place}",
    "{thing}{place}, {background}",
    "{background} with {thing}{place}",
)
_CENTRE_PHRASES: Final = ("", "", "", " in the centre")


def caption(scene: Scene, rng: np.random.Generator) -> str:
    """A caption that names every attribute of the scene, in one of several word orders; the centre may go unsaid."""
    return _phrase(scene, rng, f"a {scene.size} ", f"a {scene.background} background")


def training_caption(scene: Scene, rng: np.random.Generator) -> str:
    """A caption as people type them: sometimes a capital or a full stop, sometimes no size or no background named."""
    size = f"a {scene.size} " if rng.random() > 0.08 else "a "
    background = f"a {scene.background} background" if rng.random() > 0.08 else ""
    text = _phrase(scene, rng, size, background)
    text = text[0].upper() + text[1:] if rng.random() < 0.1 else text
    return text + "." if rng.random() < 0.1 else text


def _phrase(scene: Scene, rng: np.random.Generator, size: str, background: str) -> str:
    article = "an " if size == "a " and scene.colour == "orange" else size
    thing = f"{article}{scene.colour} {scene.shape}"
    place = f" in the {scene.place}" if scene.place != "centre" else str(rng.choice(_CENTRE_PHRASES))
    template = str(rng.choice(_TEMPLATES)) if background else "{thing}{place}"
    return template.format(thing=thing, place=place, background=background)


def _signed_distance(shape: str, x: Reals, y: Reals, radius_px: float) -> Reals:
    """Distance in px to the edge, negative inside; x to the right and y down, from the shape's centroid."""
    across, along = np.abs(x), np.abs(y)
    match shape:
        case "circle":
            distance = np.hypot(x, y) - radius_px
        case "square":
            distance = np.maximum(across, along) - 0.88 * radius_px
        case "triangle":
            distance = np.maximum(y, (np.sqrt(3.0) * across - y) / 2) - 0.57 * radius_px
        case "ring":
            distance = np.abs(np.hypot(x, y) - 0.76 * radius_px) - 0.24 * radius_px
        case "cross":
            longer, shorter = np.maximum(across, along), np.minimum(across, along)
            distance = np.maximum(longer - radius_px, shorter - radius_px / 3)
        case _:
            raise ValueError(f"coverage got shape {shape!r}; it draws {', '.join(SHAPES)}. Use one of these.")
    return np.asarray(distance)
