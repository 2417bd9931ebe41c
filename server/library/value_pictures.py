"""What a stored value looks like: a picture, a text or number, or the sizes and ranges of its tensors. Runs in the picture child.

It reads the value's file itself and knows wire types by their names only, so that it loads no model library.
"""

from __future__ import annotations

import io
import mmap
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from graph.blob import Damaged, read_image
from graph.types import PLAIN_NAMES, Packed, Plain, TensorBytes

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as Picture

#: The tensor of the wire types that are pictures, (B, C, H, W), float32, 0..1.
PICTURES: Final = {"Image": "pixels", "Mask": "values"}
#: Characters of a text, and of a field of a record.
LONGEST_TEXT: Final = 1 << 20
LONGEST_FIELD: Final = 1000
_ROWS: Final = 256
_ELEMENTS: Final = 1 << 20
#: safetensors dtype -> numpy's; what numpy has no type for is given without its range.
_DTYPES: Final = {
    "F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U8": "uint8", "BOOL": "bool", "U16": "uint16", "U32": "uint32", "U64": "uint64", "BF16": "uint16",
}  # fmt: skip

Answer = dict[str, Any]  # Any: plain values of msgpack


def look(file: int, digest: bytes, index: int, picture: str) -> Answer:
    """What the value in this file looks like; picture number `index` of it, as "png" or "webp", if it holds pictures
    ("facts": described like any other).

    {"image": bytes, "width", "height", "count"} or what `described` gives; {"lost": True} unless the file is what its
    digest says.
    """
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped)
        try:
            if sha256(view).digest() != digest:
                return {"lost": True}
            packed = read_image(view).packed
            if picture != "facts" and packed.type in PICTURES and PICTURES[packed.type] in packed.tensors:
                return _drawn(packed.tensors[PICTURES[packed.type]], index, picture)
            return described(packed)
        except Damaged:
            return {"lost": True}
        finally:
            packed = Packed("", {}, {})  # lets go of the views
            view.release()


def described(packed: Packed) -> Answer:
    """A value in words: {"type", "value"} for plain ones, else {"type", "fields", "tensors": [{"name", "shape", "dtype",
    "min", "max"}]}. A range is None where there is none; infinities and NaN do not count."""
    if packed.type in PLAIN_NAMES.values() or packed.type == "none":
        found = packed.fields.get("value")
        cut = isinstance(found, str) and len(found) > LONGEST_TEXT
        return {"type": packed.type, "value": found[:LONGEST_TEXT] if isinstance(found, str) else found, "is_cut": cut}
    return {
        "type": packed.type,
        "fields": {name: shown for name, value in packed.fields.items() if (shown := _field(value)) is not None},
        "tensors": [_ranged(name, packed.tensors[name]) for name in sorted(packed.tensors)],
    }


def _field(value: Plain) -> Plain:
    """A field that may be shown: numbers and short texts, but not where a file lies on this machine."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str) and len(value) <= LONGEST_FIELD and not value.startswith(("/", "\\", "~")) and value[1:3] != ":\\":
        return value
    return None


def _ranged(name: str, tensor: TensorBytes) -> Answer:
    array = _array(tensor)
    low, high = (None, None) if array is None else _range(array, tensor.dtype)
    return {"name": name, "shape": list(tensor.shape), "dtype": tensor.dtype, "min": low, "max": high}


def _array(tensor: TensorBytes) -> np.ndarray[Any, Any] | None:  # Any: shape and dtype are read at run time
    import numpy as np

    dtype = _DTYPES.get(tensor.dtype)
    return None if dtype is None else np.frombuffer(tensor.data, dtype=dtype)


def _range(array: np.ndarray[Any, Any], dtype: str) -> tuple[float | None, float | None]:
    """The least and the greatest finite element, a part at a time."""
    import numpy as np

    low = high = None
    for start in range(0, array.size, _ELEMENTS):
        part = array[start : start + _ELEMENTS]
        if dtype == "BF16":
            part = (part.astype(np.uint32) << np.uint32(16)).view(np.float32)  # the upper half of a float32
        part = part[np.isfinite(part)]
        if part.size:
            least, greatest = part.min().item(), part.max().item()
            low = least if low is None else min(low, least)
            high = greatest if high is None else max(high, greatest)
    return low, high


def _drawn(tensor: TensorBytes, index: int, form: str) -> Answer:
    count, _, height, width = tensor.shape
    if not 0 <= index < count:
        return {"outside": count}
    picture = _picture(tensor, index)
    buffer = io.BytesIO()
    if form == "png":
        picture.save(buffer, "PNG", compress_level=1)
    else:
        picture.save(buffer, "WEBP", quality=90, method=2)
    return {"image": buffer.getvalue(), "width": width, "height": height, "count": count}


def _picture(tensor: TensorBytes, index: int) -> Picture:
    """One picture in 8 bits, rounded as a saved one is; a few rows at a time, for memory. NaN is shown as black."""
    import numpy as np
    from PIL import Image

    values = np.frombuffer(tensor.data, dtype=np.float32).reshape(tensor.shape)[index]
    channels, height, width = values.shape
    pixels = np.empty((height, width, channels), np.uint8)
    for top in range(0, height, _ROWS):
        rows = np.nan_to_num(values[:, top : top + _ROWS].transpose(1, 2, 0), nan=0.0)
        pixels[top : top + _ROWS] = (rows.clip(0, 1) * 255).round().astype(np.uint8)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels)
