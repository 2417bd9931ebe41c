"""A mask as grey pictures of 8 bits, and back: white is 1. numpy and Pillow only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nodes.tensors import WireTensor
from nodes.values import Mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image as Picture

NO_NUMBERS: Final = "the mask holds values that are no numbers; link another one"


def to_grey(mask: Mask) -> list[Picture]:
    """A mask's pictures, in mode L; what is outside of 0..1 is taken as 0 or 1.

    Rounded to even, so that what is below one half stays below it (127 of 255), and one half does not (128). Raises
    ValueError if a value is no number.
    """
    import numpy as np
    from PIL import Image as Pillow

    values = mask.values.numpy()
    if np.isnan(values).any():
        raise ValueError(NO_NUMBERS)
    levels = (values[:, 0].clip(0, 1) * 255).round().astype(np.uint8)
    return [Pillow.fromarray(np.ascontiguousarray(one), "L") for one in levels]


def from_grey(pictures: Sequence[Picture]) -> Mask:
    """Pictures of mode L and one size as a mask: 0..255 becomes 0..1 in float32."""
    import numpy as np

    levels = np.stack([np.asarray(picture) for picture in pictures]).astype(np.float32) / 255.0
    return Mask(WireTensor.of_numpy(levels[:, None]))
