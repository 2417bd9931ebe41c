"""The file form of a wire value, written and read by this module alone.

Values with tensors are safetensors files that any stock reader opens. Ours differ in two ways: `__metadata__` carries
the wire type and the plain fields, and every tensor starts at a 64-byte boundary of the file (a stock file starts at 8;
kernels on misaligned memory then differ from fresh values in the last bits). safetensors allows no holes, so the gaps
are U8 tensors under reserved names. Values without tensors are one msgpack envelope.

The same value always gives the same bytes, and a value's digest is the SHA-256 of its file.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

import msgpack  # type: ignore[import-untyped]  # has no stubs

from graph.types import Packed, Plain, TensorBytes

#: Marks our files and their version; the first item of an envelope, a key of `__metadata__`.
FORMAT = "latentgraph/value-1"
ALIGNMENT = 64
#: Tensor names with this prefix fill the gaps; no value may use it.
PAD = "__pad."
MAX_HEADER = 100_000_000

#: Bits per element of the safetensors dtypes we write.
DTYPE_BITS: Mapping[str, int] = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
}

_ZEROS = bytes(ALIGNMENT)
_NO_NOTES: Mapping[str, Plain] = {}

Buffer: TypeAlias = bytes | memoryview


class Damaged(Exception):
    """Bytes that are not a whole file of ours; the message says what is wrong. Never leaves the stores."""


class Content(NamedTuple):
    """What a file holds: the value, the notes written beside it, and the length of the part before the tensors."""

    packed: Packed
    notes: dict[str, Plain]
    header_size: int


def suffix_of(packed: Packed) -> str:
    """ ".safetensors" for a value with tensors, else ".msgpack"."""
    return ".safetensors" if packed.tensors else ".msgpack"


def image_of(packed: Packed, notes: Mapping[str, Plain] = _NO_NOTES) -> list[Buffer]:
    """The file of a value as buffers to write one after another; tensors are views of the caller's memory.

    `notes` are plain facts kept in the file beside the value (the `disk_cache` folder's identity); without them the
    bytes depend on the value alone. Raises TypeError for a kind the format cannot hold and ValueError for a tensor whose
    bytes do not fit its shape.
    """
    if not packed.tensors:
        return [_envelope(packed, notes)]
    metadata = {"latentgraph": FORMAT, "type": packed.type, **_metadata("fields", packed.fields)}
    if notes:
        metadata |= _metadata("notes", notes)
    entries: dict[str, object] = {"__metadata__": metadata}
    body: list[Buffer] = []
    at = 0
    for name in sorted(packed.tensors):
        if at % ALIGNMENT:
            gap = -at % ALIGNMENT
            entries[f"{PAD}{at}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [at, at + gap]}
            body.append(_ZEROS[:gap])
            at += gap
        tensor = packed.tensors[name]
        data = _bytes_of(name, tensor)
        entries[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        body.append(data)
        at += len(data)
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=True).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    return [len(header).to_bytes(8, "little") + header, *body]


#: Bytes of a digest.
DIGEST_BYTES: Final = 32


def digest_of(packed: Packed) -> bytes:
    """The value's identity, 32 bytes: SHA-256 of its file. Reads tensors in place (about 1.8 GB/s)."""
    if not packed.tensors:
        return sha256(_envelope(packed, _NO_NOTES)).digest()
    return hash_of(image_of(packed))


def hash_of(buffers: Iterable[Buffer]) -> bytes:
    """SHA-256 over buffers as if joined; releases the interpreter lock for large ones."""
    hasher = sha256()
    for buffer in buffers:
        hasher.update(buffer)
    return hasher.digest()


def head_size(start: Buffer, size: int) -> int:
    """How many bytes of a file of `size` say what it holds, by its first 8: all but the tensors."""
    if len(start) < 8 or start[0] == _FOUR_ITEMS:
        return size
    return min(8 + int.from_bytes(start[:8], "little"), size, MAX_HEADER)


def read_image(view: memoryview, head: Buffer | None = None) -> Content:
    """The value in a file's bytes; tensors and their memory are views of `view`. Raises Damaged.

    With `head`, the first `head_size` bytes as they were read from the file, nothing of `view` is looked at: a mapped file
    that others cut short ends the process that looks.
    """
    told = memoryview(view if head is None else head)
    try:
        return _read_envelope(told) if told[0] == _FOUR_ITEMS else _read_tensors(view, told)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, msgpack.UnpackException) as error:
        raise Damaged(f"not a value file: {error}") from error


def ordered(value: Plain) -> Plain:
    """The same value with every dict in key order, so that equal values give equal bytes."""
    if type(value) is dict:
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if type(value) is list else value


def pack(value: object) -> bytes:
    """msgpack bytes of a plain value as it stands; integers beyond 64 bits and lone surrogates survive."""
    return bytes(msgpack.packb(value, default=_large_int, unicode_errors="surrogatepass"))


def unpack(data: Buffer) -> Any:  # Any: whatever the bytes hold; the caller checks
    """The value `pack` wrote. Raises ValueError, or msgpack's own errors, for anything else."""
    return msgpack.unpackb(data, strict_map_key=True, ext_hook=_large_int_back, unicode_errors="surrogatepass")


_INT = 1
_FOUR_ITEMS = 0x94  # how an envelope begins; a tensor file begins with a header length that ends in 0x38, 0x78, 0xb8 or 0xf8


def _large_int(value: object) -> msgpack.ExtType:
    if type(value) is int:
        return msgpack.ExtType(_INT, b"%x" % value)
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} cannot be stored; use plain values")


def _large_int_back(code: int, data: bytes) -> int:
    if code != _INT:
        raise ValueError(f"extension type {code} is not ours")
    return int(data, 16)


def _envelope(packed: Packed, notes: Mapping[str, Plain]) -> bytes:
    return pack((FORMAT, packed.type, ordered(packed.fields), ordered(dict(notes)) if notes else None))


def _metadata(name: str, values: Mapping[str, Plain]) -> dict[str, str]:
    """JSON where it can hold the values, so that people can read a file; base64 of msgpack where bytes are among them."""
    try:
        return {name: json.dumps(values, separators=(",", ":"), sort_keys=True)}
    except TypeError:
        return {f"{name}_msgpack": base64.b64encode(pack(ordered(dict(values)))).decode()}


def _from_metadata(name: str, metadata: Mapping[str, str]) -> dict[str, Plain]:
    text = metadata.get(name)
    values = unpack(base64.b64decode(metadata[f"{name}_msgpack"], validate=True)) if text is None else json.loads(text)
    if type(values) is not dict:
        raise ValueError(f"{name} is no mapping")
    return values


def _bytes_of(name: str, tensor: TensorBytes) -> memoryview:
    if name.startswith("__"):
        raise ValueError(f'tensor name "{name}" is reserved; rename the field')
    if tensor.dtype not in DTYPE_BITS:
        raise TypeError(f'tensor "{name}" has dtype {tensor.dtype}; the store writes {", ".join(sorted(DTYPE_BITS))}')
    data = memoryview(tensor.data)
    expected = math.prod(tensor.shape) * DTYPE_BITS[tensor.dtype] // 8
    if data.nbytes != expected or not data.c_contiguous:
        raise ValueError(
            f'tensor "{name}" of shape {tuple(tensor.shape)} and dtype {tensor.dtype} takes {expected} contiguous bytes, '
            f"got {data.nbytes}; make it contiguous before packing"
        )
    return data.cast("B") if data.nbytes else memoryview(b"")


def _read_envelope(view: memoryview) -> Content:
    tag, kind, fields, notes = unpack(view)
    if tag != FORMAT or type(kind) is not str or type(fields) is not dict:
        raise ValueError(f"the envelope is not {FORMAT}")
    return Content(Packed(kind, fields, {}), notes or {}, len(view))


def _read_tensors(view: memoryview, head: memoryview) -> Content:
    start = 8 + int.from_bytes(head[:8], "little")
    if not 8 < start <= min(len(head), MAX_HEADER) or start % ALIGNMENT:
        raise ValueError("the header does not fit the file")
    entries = json.loads(bytes(head[8:start]))
    metadata = entries.pop("__metadata__")
    if metadata["latentgraph"] != FORMAT:
        raise ValueError(f"the header is not {FORMAT}")
    tensors, spans = {}, []
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        if not 0 <= begin <= end <= len(view) - start or end - begin != math.prod(shape) * DTYPE_BITS[entry["dtype"]] // 8:
            raise ValueError(f'tensor "{name}" does not fit the file')
        spans.append((begin, end))
        if not name.startswith(PAD):
            tensors[name] = TensorBytes(entry["dtype"], shape, view[start + begin : start + end])
    _check_spans(spans, len(view) - start)
    notes = _from_metadata("notes", metadata) if "notes" in metadata or "notes_msgpack" in metadata else {}
    return Content(Packed(metadata["type"], _from_metadata("fields", metadata), tensors), notes, start)


def _check_spans(spans: Sequence[tuple[int, int]], size: int) -> None:
    at = 0
    for begin, end in sorted(spans):
        if begin != at:
            raise ValueError("the tensors leave a hole or overlap")
        at = end
    if at != size:
        raise ValueError("the file is longer than its tensors, or shorter")
