"""Nodes on masks: open one, make one of a picture, change it, and lay one picture over another through it. No torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from graph.context import Context
from graph.node import node
from graph.spec import Doc, File, Range
from nodes.grey import NO_NUMBERS, from_grey, to_grey
from nodes.image import open_upload, to_pictures
from nodes.tensors import WireTensor
from nodes.values import Image, Mask

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as Picture

    Array = np.ndarray[Any, np.dtype[np.float32]]  # Any: shapes are read at run time

#: Pixels that a mask is grown or blurred by; what is beyond it is drawn faster by hand.
FARTHEST: Final = 256

Read = Literal["auto", "luminance", "alpha", "transparency"]


@node(title="Load mask", version=1, category="mask", output="mask")
def load_mask(
    ctx: Context,
    file: Annotated[str, File(("image",)), Doc("A picture, by its content")],
    read: Annotated[Read, Doc("Where the mask is 1: luminance: where it is white; alpha: where it is opaque")] = "auto",
) -> Mask:
    """Open an uploaded picture as a mask, turned as its camera says.

    `transparency` is 1 where the picture is transparent; `auto` is that for pictures with transparent places, as OpenAI's
    API wants them, and luminance for all others. Raises ValueError as `load_image`, and for `alpha` without an alpha channel.
    """
    picture, name = open_upload(ctx, file)
    alpha = picture.convert("RGBA").getchannel("A") if picture.has_transparency_data else None
    if alpha is None and read in ("alpha", "transparency"):
        text = f"{name} has no alpha channel (it is {picture.mode}), but read is {read}"
        raise ValueError(f"{text}. Set read to luminance, or save the picture with transparency")
    if alpha is None or read == "luminance" or (read == "auto" and _is_opaque(alpha)):
        return from_grey([picture.convert("RGB").convert("L")])
    opaque = from_grey([alpha])
    return opaque if read == "alpha" else _inverted(opaque)


def _is_opaque(alpha: Picture) -> bool:
    return alpha.getextrema()[0] == 255


@node(title="Mask from image", version=1, category="mask", output="mask")
def mask_from_image(ctx: Context, image: Image) -> Mask:
    """A picture's luminance as a mask: 1 where it is white. Raises ValueError if a pixel is no number."""
    return from_grey([picture.convert("L") for picture in to_pictures(image)])


@node(title="Image from mask", version=1, category="mask", output="image")
def image_from_mask(ctx: Context, mask: Mask) -> Image:
    """A mask as a grey picture, to be looked at or saved: white where it is 1."""
    return Image(WireTensor.of_numpy(_numbers(mask).repeat(3, axis=1)))


@node(title="Invert mask", version=1, category="mask", output="mask")
def invert_mask(ctx: Context, mask: Mask) -> Mask:
    """1 where the mask is 0, and the other way round."""
    return _inverted(mask)


def _inverted(mask: Mask) -> Mask:
    return Mask(WireTensor.of_numpy(1 - mask.values.numpy()))


@node(title="Grow mask", version=1, category="mask", output="mask")
def grow_mask(
    ctx: Context,
    mask: Mask,
    pixels: Annotated[int, Range(-FARTHEST, FARTHEST), Doc("How far its edge moves outwards; below 0: inwards")] = 8,
) -> Mask:
    """Move the edge of a mask by some pixels, round at corners: each pixel takes the largest (or least) value around it."""
    import numpy as np

    values = _numbers(mask)
    if pixels == 0:
        return mask
    grown = np.stack([_largest_around(one[0], pixels) if pixels > 0 else -_largest_around(-one[0], -pixels) for one in values])
    return Mask(WireTensor.of_numpy(grown[:, None]))


def _largest_around(values: Array, radius: int) -> Array:
    """The largest value within a disk around each pixel; nothing comes in from outside.

    A disk is a row of runs, from one pixel above to its whole width in the middle. The largest of a run of any length is
    the larger of two overlapping runs of a power of two, which are made by doubling: three passes per row of the disk.
    """
    import numpy as np

    height, width = values.shape
    found = np.full((height, width), -np.inf, dtype=np.float32)
    run, length = np.pad(values, radius, constant_values=-np.inf), 1  # run[:, x]: the largest of `length` pixels from x on
    for down in range(radius, -1, -1):
        half = math.isqrt(radius**2 - down**2)
        while 2 * length <= 2 * half + 1:
            run, length = np.maximum(run[:, :-length], run[:, length:]), 2 * length
        left, right = radius - half, radius + half + 1 - length
        widest = np.maximum(run[:, left : left + width], run[:, right : right + width])
        for top in {radius - down, radius + down}:
            np.maximum(found, widest[top : top + height], out=found)
    return found


@node(title="Feather mask", version=1, category="mask", output="mask")
def feather_mask(
    ctx: Context,
    mask: Mask,
    pixels: Annotated[float, Range(0, FARTHEST, 0.5), Doc("How wide the soft edge is, about, to both sides")] = 4.0,
) -> Mask:
    """Make the edge of a mask soft, for `composite_images`. `denoise` takes half and more as 1, and knows no soft edges."""
    from PIL import ImageFilter

    if pixels == 0:
        return mask
    blur = ImageFilter.GaussianBlur(pixels / 2)  # two deviations hold 95 % of the change
    return from_grey([picture.filter(blur) for picture in to_grey(mask)])


@node(title="Composite images", version=1, category="mask", output="image")
def composite_images(
    ctx: Context,
    image: Annotated[Image, Doc("What is shown where the mask is 1")],
    background: Annotated[Image, Doc("What is shown where it is 0")],
    mask: Mask,
) -> Image:
    """Lay a picture over another one through a mask: after inpainting, what lies outside of it is the picture as it was.

    The mask is stretched over them, as in `denoise`. Raises ValueError if the pictures have different sizes, or if there
    are neither as many masks and backgrounds as pictures, nor one.
    """
    import numpy as np

    sizes = [f"{one.width}x{one.height}" for one in (image, background)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"image is {sizes[0]} pixels, background {sizes[1]}. Put resize_image before one of them")
    count = image.pixels.shape[0]
    for port, held in (("background", background.pixels.shape[0]), ("mask", mask.values.shape[0])):
        if held not in (1, count):
            raise ValueError(f"{port} holds {held}, image holds {count}; give {port} as many, or one")
    weights = _numbers(_stretched(mask, image.width, image.height))
    over, under = image.pixels.numpy(), background.pixels.numpy()
    # Where a mask is all or nothing the pixel is that picture's own, to the bit and whatever the other one holds there.
    with np.errstate(invalid="ignore"):
        blended = over * weights + under * (1 - weights)
    blended = np.where(weights == 1, over, np.where(weights == 0, under, blended))
    return Image(WireTensor.of_numpy(blended.astype(np.float32, copy=False)))


def _stretched(mask: Mask, width: int, height: int) -> Mask:
    """The mask at a size; as it is if it has it."""
    from PIL.Image import Resampling

    if (mask.width, mask.height) == (width, height):
        return mask
    return from_grey([picture.resize((width, height), Resampling.LANCZOS) for picture in to_grey(mask)])


def _numbers(mask: Mask) -> Array:
    """The values, within 0..1. Raises ValueError if one is no number."""
    import numpy as np

    values: Array = mask.values.numpy()
    if np.isnan(values).any():
        raise ValueError(NO_NUMBERS)
    return values.clip(0, 1)
