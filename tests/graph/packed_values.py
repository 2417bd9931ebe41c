"""Packed values for the tests of everything that stores them."""

from __future__ import annotations

import random

from graph.types import Packed, Plain, TensorBytes


def text(value: Plain) -> Packed:
    return Packed("text", {"value": value}, {})


def tensors(seed: int, *sizes: int, **fields: Plain) -> Packed:
    """A value with one U8 tensor per size, its bytes drawn from `seed`."""
    draw = random.Random(seed)
    parts = {f"part{i}": TensorBytes("U8", (size,), memoryview(draw.randbytes(size))) for i, size in enumerate(sizes)}
    return Packed("Sample", {"seed": seed, **fields}, parts)


def same(left: Packed | None, right: Packed) -> bool:
    return left is not None and left.type == right.type and left.fields == right.fields and left.tensors == right.tensors
