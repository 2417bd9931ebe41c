"""Nodes on pictures: open one, change its size, lay several out as one. numpy and Pillow only; torch is not loaded."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Final

from graph.context import Context
from graph.node import node
from graph.spec import Doc, File, Range, Text
from nodes.files import find_file
from nodes.tensors import WireTensor
from nodes.values import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

#: Pixels a side, read from the header before any pixel is decoded (spec H5).
LARGEST_SIDE: Final = 4096
#: Pixels a side of what `image_grid` makes.
LARGEST_GRID_SIDE: Final = 4 * LARGEST_SIDE
LARGEST_FILE_BYTES: Final = 32 * 2**20
NO_NUMBERS: Final = "the picture holds values that are no numbers; the model overflowed, so compute it with dtype float32"
_FORMATS: Final = ("PNG", "JPEG", "WEBP", "BMP")


@node(title="Load image", version=1, category="image", output="image")
def load_image(ctx: Context, file: Annotated[str, File(("image",)), Doc("A picture, by its content")]) -> Image:
    """Open an uploaded picture: turned as its camera says, in 8 bits, without its transparency (the colours below stay).

    Raises ValueError if it is missing, no picture, above 32 MiB, or larger than 4096 pixels a side.
    """
    picture, _ = open_upload(ctx, file)
    return from_picture(picture)


def open_upload(ctx: Context, file: str) -> tuple[Picture, str]:
    """The picture of a file literal as it was saved (RGB, RGBA, L, P, ...), and the file's name. Raises ValueError as `load_image`."""
    path, name = find_file(ctx.home, file)
    if path.stat().st_size > LARGEST_FILE_BYTES:
        raise ValueError(f"{name} has {path.stat().st_size} bytes; pictures may have {LARGEST_FILE_BYTES}. Make it smaller")
    return open_picture(path.read_bytes(), name), name


def open_picture(data: bytes, name: str) -> Picture:
    """Decode a picture, in 8 bits. Raises ValueError for other data, or a side above 4096 pixels by its header alone."""
    from PIL import Image as Pillow
    from PIL import ImageOps, UnidentifiedImageError

    try:
        opened = Pillow.open(io.BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError:  # its message names an object of Python, and no reason
        raise ValueError(f"{name} is no picture that can be read ({', '.join(_FORMATS)}); give one of these") from None
    except (Pillow.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{name} is no picture that can be read ({', '.join(_FORMATS)}): {error}") from error
    if max(opened.size) > LARGEST_SIDE:
        shown = f"{opened.width}x{opened.height}"
        raise ValueError(f"{name} is {shown} pixels; a side may have {LARGEST_SIDE}. Make it smaller first")
    try:
        turned = ImageOps.exif_transpose(opened)
        return _eight_bits(turned) if turned.mode.startswith("I") else turned
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{name} is damaged: {error}. Save or upload it again") from error


def _eight_bits(picture: Picture) -> Picture:
    """A grey picture of 16 bits scaled to 8, which Pillow would cut off at 255."""
    import numpy as np
    from PIL import Image as Pillow

    levels = np.asarray(picture).astype(np.float64).clip(0, 65535)
    return Pillow.fromarray((levels / 257).round().astype(np.uint8), "L")


def from_picture(picture: Picture) -> Image:
    """An RGB picture as a value: 0..255 becomes 0..1 in float32, as the library's image processor does it."""
    import numpy as np

    array = np.asarray(picture.convert("RGB")).astype(np.float32) / 255.0
    return Image(WireTensor.of_numpy(array.transpose(2, 0, 1)[None]))


def to_pictures(image: Image) -> list[Picture]:
    """A value's pictures, rounded to 8 bits as the library does it; what is outside of 0..1 is taken as 0 or 1.

    Raises ValueError if a pixel is no number.
    """
    import numpy as np
    from PIL import Image as Pillow

    values = image.pixels.numpy()
    if np.isnan(values).any():
        raise ValueError(NO_NUMBERS)
    pixels = (values.transpose(0, 2, 3, 1).clip(0, 1) * 255).round().astype(np.uint8)
    return [Pillow.fromarray(np.ascontiguousarray(one), "RGB") for one in pixels]


def snapped(width: int, height: int, longest: int = 2048, multiple: int = 16) -> tuple[int, int]:
    """The size a picture is given (spec H4): its longest side at most `longest`, both to the nearest multiple, never 0."""
    factor = min(1.0, longest / max(width, height))
    return (_to_multiple(width * factor, multiple), _to_multiple(height * factor, multiple))


def _to_multiple(side: float, multiple: int) -> int:
    return max(multiple, int(side / multiple + 0.5) * multiple)


@node(title="Resize image", version=1, category="image", output="image")
def resize_image(
    ctx: Context,
    image: Image,
    width: Annotated[int | None, Range(16, 4096), Doc("Pixels across; from the picture if not set")] = None,
    height: Annotated[int | None, Range(16, 4096), Doc("Pixels down; from the picture if not set")] = None,
    longest: Annotated[int, Range(16, 4096), Doc("What the longest side is reduced to, if neither is set")] = 2048,
) -> Image:
    """Bring a picture to a size that models take: sides to the nearest multiple of 16. Set one side to keep the shape.

    Raises ValueError if the other side would then have more than 4096 pixels.
    """
    asked_width, asked_height = image.width if width is None else width, image.height if height is None else height
    if width is None and height is not None:
        asked_width = round(image.width * height / image.height)
    elif height is None and width is not None:
        asked_height = round(image.height * width / image.width)
    free = width is None and height is None
    size = snapped(asked_width, asked_height, longest if free else max(asked_width, asked_height))
    if max(size) > LARGEST_SIDE:
        shown = f"{size[0]}x{size[1]}"
        raise ValueError(f"the picture would be {shown} pixels; a side may have {LARGEST_SIDE}. Set both sides, or smaller ones")
    if size == (image.width, image.height):
        return image
    from PIL import Image as Pillow

    parts = [from_picture(picture.resize(size, Pillow.Resampling.LANCZOS)) for picture in to_pictures(image)]
    return _stacked(parts)


@node(title="Image grid", version=1, category="image", output="image")
def image_grid(
    ctx: Context,
    images: list[Image],
    columns: Annotated[int, Range(1, 64), Doc("Pictures in a row")] = 4,
    column_labels: Annotated[str, Text(), Doc("One line per column")] = "",
    row_labels: Annotated[str, Text(), Doc("One line per row")] = "",
) -> Image:
    """Lay pictures out as one, row by row, with labels above the columns and beside the rows."""
    from PIL import Image as Pillow
    from PIL import ImageDraw

    pictures = [picture for image in images for picture in to_pictures(image)]
    if not pictures:
        raise ValueError("images is an empty list; link at least one picture to image_grid")
    above, beside = column_labels.splitlines(), row_labels.splitlines()
    width, height = max(p.width for p in pictures), max(p.height for p in pictures)
    left, top = (_label_width(beside) if beside else 0), (24 if above else 0)
    rows = -(-len(pictures) // columns)
    across, down = left + min(columns, len(pictures)) * (width + 4) - 4, top + rows * (height + 4) - 4
    if max(across, down) > LARGEST_GRID_SIDE:
        takes = f"a side may have {LARGEST_GRID_SIDE}"
        raise ValueError(f"the grid would be {across}x{down} pixels; {takes}. Make the pictures smaller or fewer")
    sheet = Pillow.new("RGB", (across, down), "white")
    for index, picture in enumerate(pictures):
        row, column = divmod(index, columns)
        sheet.paste(picture, (left + column * (width + 4), top + row * (height + 4)))
    draw = ImageDraw.Draw(sheet)
    for column, label in enumerate(above[:columns]):
        draw.text((left + column * (width + 4) + 4, 4), label, fill="black", font_size=14)
    for row, label in enumerate(beside[:rows]):
        draw.text((4, top + row * (height + 4) + height // 2 - 8), label, fill="black", font_size=14)
    return from_picture(sheet)


def _label_width(labels: list[str]) -> int:
    from PIL import Image as Pillow
    from PIL import ImageDraw

    draw = ImageDraw.Draw(Pillow.new("RGB", (1, 1)))
    return 12 + int(max(draw.textlength(label, font_size=14) for label in labels))


def _stacked(images: list[Image]) -> Image:
    import numpy as np

    return images[0] if len(images) == 1 else Image(WireTensor.of_numpy(np.concatenate([one.pixels.numpy() for one in images])))
