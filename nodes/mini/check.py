"""Reads a picture of one coloured shape back into words, from its pixels alone.

Independent of the model: numpy, the palette and the outlines of `data.py`. An attribute that is not clear is None, so
a smear never counts as a near miss.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from nodes.mini.data import (
    BACKGROUNDS,
    COLOURS,
    PALETTE,
    PLACES,
    RADII_PX,
    SHAPES,
    SIDE_PX,
    Picture,
    Reals,
    Scene,
    coverage,
)

MAX_COLOUR_ERROR: Final = 50.0
"""Farthest a colour may be from its palette entry, RGB distance; the closest two, orange and yellow, are 89 apart."""

MIN_OVERLAP: Final = 0.75
"""Least intersection over union with the ideal outline; true drawings have 0.99 or more (measured on every scene)."""

MAX_PLACE_ERROR_PX: Final = 6.0
"""Farthest a centroid may be from its place; neighbouring places are 17 px or more apart."""

MAX_RADIUS_ERROR_PX: Final = 2.5
"""Farthest a radius may be from its size; the two sizes are 6 px apart."""

_UNIT_AREAS: Final = {shape: float(coverage(shape, (32.0, 32.0), 16.0).sum()) / 16.0**2 for shape in SHAPES}


class Reading(NamedTuple):
    """What a picture shows, field for field as in `Scene`; None where it is not clear."""

    colour: str | None
    shape: str | None
    size: str | None
    place: str | None
    background: str | None

    def is_of(self, scene: Scene) -> bool:
        """Whether every attribute was read, and as the scene has it."""
        return tuple(self) == tuple(scene)


class Outline(NamedTuple):
    """The ideal shape that fits a picture best."""

    overlap: float
    radius_px: float
    shape: str


def read(picture: Picture) -> Reading:
    """The attributes of the one shape in the picture and of its background."""
    pixels = picture.astype(np.float64)
    outside = _border_colour(pixels)
    inside = _farthest_colour(pixels, outside)
    background = _nearest_colour(outside, BACKGROUNDS)
    if np.linalg.norm(inside - outside) < MAX_COLOUR_ERROR:
        return Reading(None, None, None, None, background)
    alpha = _share_of_inside(pixels, inside, outside)
    centre = _centroid(alpha)
    outline = max(_fit(shape, alpha, centre) for shape in SHAPES)
    return Reading(
        colour=_nearest_colour(inside, COLOURS),
        shape=outline.shape if outline.overlap >= MIN_OVERLAP else None,
        size=_size(outline.radius_px),
        place=_place(centre),
        background=background,
    )


def _border_colour(pixels: Reals) -> Reals:
    rim = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    return np.asarray(np.median(rim, axis=0))


def _farthest_colour(pixels: Reals, outside: Reals) -> Reals:
    """The colour of what differs most from the background; the percentile keeps one odd pixel from deciding."""
    distance = np.linalg.norm(pixels - outside, axis=-1)
    return np.asarray(np.median(pixels[distance >= 0.8 * np.percentile(distance, 98)], axis=0))


def _share_of_inside(pixels: Reals, inside: Reals, outside: Reals) -> Reals:
    """How much of each pixel is the inside colour, (64, 64), 0-1, by projection on the line between them."""
    line = inside - outside
    return np.asarray(np.clip((pixels - outside) @ line / (line @ line), 0.0, 1.0))


def _centroid(alpha: Reals) -> tuple[float, float]:
    offset = np.arange(SIDE_PX) + 0.5
    return float(alpha.sum(axis=0) @ offset / alpha.sum()), float(alpha.sum(axis=1) @ offset / alpha.sum())


def _fit(shape: str, alpha: Reals, centre: tuple[float, float]) -> Outline:
    """The outline of this shape with the same area and centroid, and how well it covers what is there."""
    radius_px = float(np.sqrt(alpha.sum() / _UNIT_AREAS[shape]))
    ideal = coverage(shape, centre, radius_px)
    overlap = np.minimum(alpha, ideal).sum() / np.maximum(alpha, ideal).sum()
    return Outline(float(overlap), radius_px, shape)


def _nearest_colour(colour: Reals, names: tuple[str, ...]) -> str | None:
    errors = {name: float(np.linalg.norm(colour - PALETTE[name])) for name in names}
    return _least(errors, MAX_COLOUR_ERROR)


def _size(radius_px: float) -> str | None:
    return _least({name: abs(ideal - radius_px) for name, ideal in RADII_PX.items()}, MAX_RADIUS_ERROR_PX)


def _place(centre: tuple[float, float]) -> str | None:
    errors = {name: float(np.hypot(x - centre[0], y - centre[1])) for name, (x, y) in PLACES.items()}
    return _least(errors, MAX_PLACE_ERROR_PX)


def _least(errors: dict[str, float], limit: float) -> str | None:
    best = min(errors, key=errors.__getitem__)
    return best if errors[best] <= limit else None
