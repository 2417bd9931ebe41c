"""Values keep their bits through the store, do not copy, and notice writes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graph.types import TensorBytes, decode, encode, wire_type_of
from nodes.tensors import WireTensor
from nodes.values import EmbeddedText, Image, Latents, Mask, Posterior, TextEmbedding, Tokens


def wired(*shape, dtype=torch.float32):
    return WireTensor.of(torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(dtype))


def read_back(value):
    packed = encode(value)
    return decode(packed, {packed.type: wire_type_of(type(value))})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4)])
def test_a_tensor_comes_back_with_its_bits(dtype, shape):
    tensor = (torch.rand(shape) * 3).to(dtype)
    again = WireTensor.stored(WireTensor.of(tensor).bytes())
    assert torch.equal(again.torch(), tensor)
    assert again.torch().dtype == dtype
    assert again.nbytes == tensor.numel() * tensor.element_size()


def test_a_tensor_out_of_order_is_written_in_order():
    tensor = torch.arange(12.0).reshape(3, 4).T
    assert WireTensor.of(tensor).bytes().data.tobytes() == tensor.contiguous().numpy().tobytes()


def test_stored_bytes_are_shared_not_copied():
    memory = bytearray(np.arange(4, dtype=np.float32).tobytes())
    wired = WireTensor.stored(TensorBytes("F32", (4,), memoryview(memory).toreadonly()))
    assert wired.torch().tolist() == wired.numpy().tolist() == [0, 1, 2, 3]
    memory[:4] = np.float32(9).tobytes()
    assert wired.torch()[0] == wired.numpy()[0] == 9
    assert not wired.numpy().flags.writeable


def test_stored_bytes_live_as_long_as_their_tensor():
    tensor = WireTensor.stored(TensorBytes("F32", (1000,), memoryview(np.full(1000, 7, np.float32).tobytes()))).torch()
    assert tensor.eq(7).all()


def test_bfloat16_reads_as_float32_without_torch():
    tensor = torch.randn(5, 3).bfloat16()
    assert np.array_equal(WireTensor.stored(WireTensor.of(tensor).bytes()).numpy(), tensor.float().numpy())
    assert np.array_equal(WireTensor.of(tensor).numpy(), tensor.float().numpy())


def test_a_write_in_place_raises_the_version():
    image = Image(wired(1, 3, 2, 2))
    before = image.version
    image.pixels.torch().add_(1)
    assert image.version > before
    assert read_back(image).version == 0


def test_stored_bytes_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match=r"a stored tensor of F32 \(4,\) has 12 bytes, not 16; the file is damaged"):
        WireTensor.stored(TensorBytes("F32", (4,), memoryview(bytes(12))))


VALUES = {
    "image": Image(wired(1, 3, 4, 5)),
    "mask": Mask(wired(1, 1, 4, 5)),
    "empty latents": Latents(64, 32),
    "latents": Latents(64, 32, "z-image", wired(1, 4, 4, 8)),
    "encoded picture": Latents(64, 32, "z-image", None, Posterior(wired(1, 4, 4, 8), wired(1, 4, 4, 8), 0.1, 0.3)),
    "tokens": Tokens(WireTensor.of(torch.arange(6)[None]), WireTensor.of(torch.ones(1, 6).long()), "z-image"),
    "embedding": TextEmbedding(
        (
            EmbeddedText(wired(6, 4, dtype=torch.bfloat16), WireTensor.of(torch.arange(6)), WireTensor.of(torch.ones(6))),
            EmbeddedText(wired(2, 4), *(WireTensor.of(torch.arange(2)) for _ in range(3))),
        ),
        8,
        "z-image",
        True,
    ),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_comes_back_from_the_store(value):
    again = read_back(value)
    assert encode(again) == encode(value)
    assert type(again) is type(value)
    assert again.nbytes == value.nbytes == sum(tensor.data.nbytes for tensor in encode(value).tensors.values())
    assert {name: str(tensor) for name, tensor in again.tensors().items()} == {n: str(t) for n, t in value.tensors().items()}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_that_is_there_already_is_not_moved(value):
    assert value.to("cpu") is value
    assert value.to("cpu:1") is value


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_moving_a_value_moves_all_of_it(value):
    moved = value.to("meta")
    assert all(tensor.device == "meta" for tensor in moved.tensors().values())
    assert {name: tensor.shape for name, tensor in moved.tensors().items()} == {
        name: tensor.shape for name, tensor in value.tensors().items()
    }
