from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from graph.blob import ALIGNMENT, DTYPE_BITS, Damaged, digest_of, image_of, read_image
from graph.types import Packed, TensorBytes
from tests.graph.packed_values import same, tensors, text

fields = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def whole(packed: Packed, **notes: Any) -> bytes:
    return b"".join(image_of(packed, notes))


@settings(max_examples=60)
@given(fields, st.lists(st.integers(0, 200), max_size=5), st.integers(0, 1000))
def test_any_value_comes_back_as_it_was(values: dict[str, Any], sizes: list[int], seed: int) -> None:
    packed = Packed("Sample", values, tensors(seed, *sizes).tensors)
    content = read_image(memoryview(whole(packed)))
    assert same(content.packed, packed)
    assert content.notes == {}


@settings(max_examples=40)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=6), fields)
def test_every_tensor_starts_at_64_bytes_of_the_file(sizes: list[int], values: dict[str, Any]) -> None:
    image = whole(Packed("Sample", values, tensors(0, *sizes).tensors))
    start = 8 + int.from_bytes(image[:8], "little")
    header = json.loads(image[8:start])
    offsets = [start + header[f"part{i}"]["data_offsets"][0] for i in range(len(sizes))]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)


@pytest.mark.spec("A11")
def test_the_stock_reader_opens_our_tensor_files(tmp_path: Path) -> None:
    half = np.arange(15, dtype=np.float16).reshape(3, 5)
    packed = Packed(
        "Latents",
        {"scale": 0.5, "raw": b"\x00\xff"},
        {
            "empty": TensorBytes("F32", (0, 4), memoryview(np.zeros((0, 4), np.float32))),
            "half": TensorBytes("F16", (3, 5), memoryview(half)),
            "one": TensorBytes("I64", (), memoryview(np.array(7))),
        },
    )
    (tmp_path / "x.safetensors").write_bytes(whole(packed))
    with safe_open(tmp_path / "x.safetensors", "np") as file:
        assert [name for name in file.keys() if not name.startswith("__pad.")] == ["empty", "half", "one"]  # noqa: SIM118
        assert np.array_equal(file.get_tensor("half"), half)
        assert file.get_tensor("one") == 7
        assert file.metadata()["type"] == "Latents"


def test_plain_fields_in_a_tensor_file_can_be_read_by_people() -> None:
    image = whole(tensors(1, 10, prompt="a red circle", length=3))
    header = json.loads(image[8 : 8 + int.from_bytes(image[:8], "little")])
    assert json.loads(header["__metadata__"]["fields"]) == {"length": 3, "prompt": "a red circle", "seed": 1}


@pytest.mark.parametrize("packed", [text("x"), tensors(3, 100, 7), Packed("Size", {"b": 1, "a": [{"z": 1, "y": 2}]}, {})])
def test_a_digest_is_the_sha256_of_the_file(packed: Packed) -> None:
    assert digest_of(packed) == hashlib.sha256(whole(packed)).digest()


def test_the_order_of_fields_and_tensors_changes_no_digest() -> None:
    packed = tensors(3, 100, 7, x={"b": 1, "a": 2})
    turned = Packed(packed.type, {"x": {"a": 2, "b": 1}, "seed": 3}, dict(reversed(list(packed.tensors.items()))))
    assert digest_of(packed) == digest_of(turned)


def test_values_that_look_alike_have_their_own_digests() -> None:
    alike = [True, 1, 1.0, "1", b"1", [1], {"1": 1}, None, 0.0, -0.0, 2**70, -(2**70), f"{2**70:x}", math.inf]
    assert len({digest_of(text(value)) for value in alike}) == len(alike)
    assert len({digest_of(tensors(0, 4, x=value)) for value in alike}) == len(alike)
    assert digest_of(Packed("int", {"value": 1}, {})) != digest_of(Packed("float", {"value": 1}, {}))


@pytest.mark.parametrize("value", [math.nan, "\ud800 lone", 2**200, -(2**63) - 1])
def test_awkward_plain_values_come_back(value: Any) -> None:
    for packed in (text(value), tensors(0, 4, x=value)):
        back = read_image(memoryview(whole(packed))).packed.fields
        assert repr(back) == repr(packed.fields)


def test_a_reserved_tensor_name_is_refused() -> None:
    packed = Packed("X", {}, {"__pad.1": TensorBytes("U8", (1,), memoryview(b"x"))})
    with pytest.raises(ValueError, match=r'tensor name "__pad.1" is reserved; rename the field'):
        image_of(packed)


def test_bytes_that_do_not_fit_the_shape_are_refused() -> None:
    packed = Packed("X", {}, {"a": TensorBytes("F32", (2, 2), memoryview(b"xx"))})
    with pytest.raises(ValueError, match=r'tensor "a" of shape \(2, 2\) and dtype F32 takes 16 contiguous bytes, got 2'):
        image_of(packed)


def test_a_strided_tensor_is_refused() -> None:
    packed = Packed("X", {}, {"a": TensorBytes("F32", (3, 2), memoryview(np.zeros((2, 3), np.float32).T))})
    with pytest.raises(ValueError, match="make it contiguous before packing"):
        image_of(packed)


def test_an_unknown_dtype_is_refused_with_the_known_ones() -> None:
    packed = Packed("X", {}, {"a": TensorBytes("Q3", (1,), memoryview(b"x"))})
    with pytest.raises(TypeError, match='tensor "a" has dtype Q3; the store writes BF16, BOOL, C64'):
        image_of(packed)


def test_a_field_that_is_no_plain_value_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be stored; use plain values"):
        image_of(text(object()))  # type: ignore[arg-type]


@pytest.mark.spec("A11", "R-I10")
@pytest.mark.parametrize("packed", [tensors(5, 3, 70, x="y"), Packed("Size", {"w": 3, "h": [1, 2]}, {})])
def test_no_cut_or_flip_is_taken_for_another_value_or_breaks_the_reader(packed: Packed) -> None:
    """Every truncation and every one-bit change gives Damaged, or content whose digest shows the change."""
    image, digest = whole(packed), digest_of(packed)
    changed = [image[:size] for size in range(len(image))]
    for bit in range(0, 8 * len(image), 3):
        flipped = bytearray(image)
        flipped[bit // 8] ^= 1 << bit % 8
        changed.append(bytes(flipped))
    for data in changed:
        assert hashlib.sha256(data).digest() != digest
        try:
            read_image(memoryview(data))
        except Damaged:
            continue


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x94",
        b"\x93\x01\x02\x03",
        b"\xff" * 8,
        b"\x38" + bytes(63),
        whole(text("x")) + b"\x00",
        b"\x38" + bytes(7) + b"[]" + b" " * 54,
    ],
)
def test_foreign_bytes_are_damaged_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Damaged):
        read_image(memoryview(data))


def test_the_dtype_sizes_are_those_of_the_format() -> None:
    for name, bits in DTYPE_BITS.items():
        width = "".join(filter(str.isdigit, name.split("_")[0].removeprefix("B"))) or "8"
        assert bits == int(width)
