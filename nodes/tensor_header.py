"""The header of a safetensors file, read and judged here before a library maps the file.

The reference reader takes headers that cost far more memory than the file has bytes, shapes that no machine can hold,
and two tensors of one name; a reader that differs from it in such a point sees another model. So whatever is not plain
is refused: what passes here reads alike everywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO, Final, NamedTuple, Never

from nodes.file_kinds import kind_of
from nodes.tensors import DTYPES

#: The largest headers of published models are some hundred KB.
MAX_HEADER_BYTES: Final = 16 * 2**20
MAX_TENSORS: Final = 20_000
#: Commas, colons and opening brackets of a header: seven a tensor, and those in the texts of its notes.
MAX_SIGNS: Final = 50 * MAX_TENSORS
MAX_DIMENSION: Final = 2**31
MAX_DIMENSIONS: Final = 16
_SIGNS: Final = (b",", b":", b"[", b"{")
_FIELDS: Final = frozenset(("dtype", "shape", "data_offsets"))


class BadHeader(ValueError):
    """A file that is no safetensors file, or none that is safe to map; the message says what is wrong and what to do."""


class TensorEntry(NamedTuple):
    """One tensor: dtype as the format names it, shape, and where its bytes lie behind the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class TensorHeader(NamedTuple):
    """A header that was found good: its bytes, and the tensors by name in their order in the file."""

    raw: bytes
    tensors: Mapping[str, TensorEntry]

    @property
    def size(self) -> int:
        """Bytes before the first tensor."""
        return 8 + len(self.raw)


def read_tensor_header(file: BinaryIO, size: int) -> TensorHeader:
    """The header of an open file of `size` bytes (by `fstat`, not by what anybody says). Raises `BadHeader`.

    At most `MAX_HEADER_BYTES` are read. Afterwards the file stands at the first tensor.
    """
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= size - 8 or length > MAX_HEADER_BYTES:
        raise _not_safetensors(start + file.read(56), length, size)
    raw = file.read(length)
    if len(raw) != length:
        raise BadHeader("it became shorter while it was read. Copy the file again")
    entries = _entries(raw)
    if not entries:
        raise BadHeader("it holds no tensor. Copy the file again")
    _check_places(entries, size - 8 - length)
    return TensorHeader(raw, entries)


def _not_safetensors(start: bytes, length: int, size: int) -> BadHeader:
    known = kind_of(start)
    if known is not None:
        return BadHeader(f"it is {known[0]}: {known[1]}")
    if MAX_HEADER_BYTES < length <= size - 8:
        return BadHeader(f"its header has {length} bytes, and {MAX_HEADER_BYTES} are taken. Copy the file again")
    return BadHeader(f"its header says {length} bytes, the file has {size}. Copy the file again")


def _entries(raw: bytes) -> dict[str, TensorEntry]:
    """The tensors of a header. Raises `BadHeader`."""
    if raw[:1] != b"{":
        raise BadHeader("its header does not begin with an object. Copy the file again")
    # Counted before anything is built: 16 MiB of text can become half a GB of objects.
    if raw.count(b'"data_offsets"') > MAX_TENSORS or sum(map(raw.count, _SIGNS)) > MAX_SIGNS:
        raise BadHeader(f"it holds more than {MAX_TENSORS} tensors. Take the model in larger tensors")
    try:
        found = _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadHeader(f"its header cannot be read ({_said(error)}). Copy the file again") from None
    metadata = found.pop("__metadata__", {})
    if type(metadata) is not dict or not all(type(value) is str for value in metadata.values()):
        raise BadHeader("its header holds notes that are no texts. Copy the file again")
    entries = {name: _entry(name, value) for name, value in found.items()}
    if len(entries) > MAX_TENSORS:
        raise BadHeader(f"it holds {len(entries)} tensors, and {MAX_TENSORS} are taken. Take the model in larger tensors")
    return dict(sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)))


def _entry(name: str, value: Any) -> TensorEntry:  # Any: JSON as it stands in the file
    if type(value) is not dict or value.keys() != _FIELDS:
        raise _bad(name, "is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if type(dtype) is not str or type(shape) is not list or type(offsets) is not list:
        raise _bad(name, "has a dtype that is no text, or a shape or offsets that are no lists")
    if len(offsets) != 2 or not all(type(offset) is int for offset in offsets) or not 0 <= offsets[0] <= offsets[1]:
        raise _bad(name, f"lies at {str(offsets)[:60]}, which is no place in a file")
    if len(shape) > MAX_DIMENSIONS or not all(type(side) is int and 0 <= side <= MAX_DIMENSION for side in shape):
        raise _bad(name, f"has the shape {str(shape)[:60]}; up to {MAX_DIMENSIONS} sides from 0 to 2^31 are taken")
    begin, end = offsets
    if dtype in DTYPES and end - begin != math.prod(shape) * DTYPES[dtype][1]:
        raise _bad(name, f"of {dtype[:20]} {shape} does not take {end - begin} bytes")
    return TensorEntry(dtype, tuple(shape), begin, end)


def _check_places(entries: Mapping[str, TensorEntry], size: int) -> None:
    """Raise `BadHeader` unless the tensors, in the order of their places, fill `size` bytes without a gap or an overlap."""
    at, empty_at = 0, -1
    for name, (_, _, begin, end) in entries.items():
        if begin != at:
            raise _bad(name, f"begins at byte {begin} where {at} is due, so tensors overlap or leave a hole")
        if begin == end:
            if empty_at == begin:
                raise _bad(name, f"is the second empty one at byte {begin}")
            empty_at = begin
        at = end
    if at != size:
        raise BadHeader(
            f"its tensors take {at} bytes and it has {size} for them, so its end is missing or not its own. Copy the file again"
        )


def _bad(name: str, what: str) -> BadHeader:
    shown = name if len(name) <= 60 else f"{name[:60]}..."
    return BadHeader(f'its tensor "{shown}" {what}. Copy the file again')


def _said(error: BaseException) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)[:120]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1) if len(names) < 1000 else "a name"
        raise ValueError(f'"{doubled[:60]}" stands there twice')
    return found


def _refuse_number(text: str) -> Never:
    raise ValueError(f"{text[:20]} is no whole number")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_refuse_number, parse_constant=_refuse_number)
