"""Values of named outputs as JSON and as text: plain values whole, pictures and other tensors by type and shape."""

from __future__ import annotations

import json
import math
from typing import Any

from graph.types import Packed, encode


def value_json(value: object) -> Any:  # Any: plain JSON
    """Plain JSON for a value that left a wire.

    A number (one that is not finite as a text), a text, true or false as it is; a list element by element; a record or a tensor value as an object with
    its wire type, its fields, and dtype and shape of each tensor. Bytes are told by their size.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [value_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): value_json(item) for key, item in value.items()}
    if isinstance(value, (bytes, memoryview)):
        return {"bytes": len(value)}
    return packed_json(encode(value))


def packed_json(packed: Packed) -> dict[str, Any]:  # Any: plain JSON
    """Plain JSON for a value taken apart: its wire type, its fields, and dtype and shape of each tensor."""
    tensors = {name: {"dtype": tensor.dtype, "shape": list(tensor.shape)} for name, tensor in packed.tensors.items()}
    return {"type": packed.type, **{name: value_json(field) for name, field in packed.fields.items()}, **tensors}


def value_text(value: object) -> str:
    """A value on one line: a text as it is, anything else as JSON."""
    plain = value_json(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
