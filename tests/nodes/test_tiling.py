"""Decoding in tiles: where they lie, how they blend, and what it costs."""

from __future__ import annotations

import inspect
import itertools
import weakref

import pytest
import torch

from graph.errors import Cancelled, Refused
from graph.node import declaration_of
from nodes import decode as decode_module
from nodes import tiling
from nodes.decode import decode
from nodes.tensors import WireTensor
from nodes.tiling import decode_in_tiles, needs_tiles, spans
from nodes.values import Latents

FACTOR = 8


def quiet(done, total):
    """Nobody listens."""


def pointwise(latents):
    """A decoder without a neighbourhood: each latent becomes 8x8 equal pixels."""
    return latents.tanh().repeat_interleave(FACTOR, 2).repeat_interleave(FACTOR, 3)


@pytest.mark.spec("G2")
@pytest.mark.parametrize(
    ("length", "begins"),
    [(64, [0]), (96, [0, 32]), (128, [0, 48, 64]), (192, [0, 48, 96, 128]), (256, [0, 48, 96, 144, 192]), (20, [0])],
)
def test_tiles_lie_where_the_table_says(length, begins):
    assert [span.begin for span in spans(length, 64, 16)] == begins


@pytest.mark.spec("G2")
@pytest.mark.parametrize(("tile", "overlap"), [(64, 16), (16, 4), (8, 0), (8, 7)])
def test_tiles_cover_everything_and_are_whole(tile, overlap):
    for length in range(1, 301):
        found = spans(length, tile, overlap)
        assert {at for span in found for at in range(span.begin, span.end)} == set(range(length))
        assert {span.end - span.begin for span in found} == {min(tile, length)}
        for left, right in itertools.pairwise(found):
            assert left.after == right.before == left.end - right.begin >= overlap


def test_an_overlap_as_large_as_the_tile_is_refused(tiny):
    with pytest.raises(ValueError, match="overlap is 8; it takes 0 to 7 at tile 8"):
        spans(20, 8, 8)
    with pytest.raises(Refused, match="overlap is 64 latents, tile is 64; an overlap is smaller than a tile"):
        declaration_of(decode).resolve({"tile": 64, "overlap": 64})


@pytest.mark.spec("G3")
@pytest.mark.parametrize("size", [(20, 33), (17, 8), (40, 40), (21, 16)])
@pytest.mark.parametrize("overlap", [0, 4, 12])
def test_a_decoder_without_neighbourhood_gives_the_same_in_tiles(size, overlap):
    latents = torch.randn(1, 3, *size, generator=torch.Generator().manual_seed(0))
    tiled = decode_in_tiles(latents, pointwise, 16, overlap, quiet)
    assert torch.allclose(tiled, pointwise(latents), atol=1e-6, rtol=0)


@pytest.mark.spec("G3")
def test_a_constant_stays_constant_in_half_precision():
    latents = torch.full((1, 1, 40, 24), 0.7).bfloat16()
    tiled = decode_in_tiles(latents, lambda part: part.repeat_interleave(8, 2).repeat_interleave(8, 3), 16, 6, quiet)
    assert tiled.dtype == torch.bfloat16
    assert (tiled == latents[0, 0, 0, 0]).all()


@pytest.mark.spec("G3")
def test_the_blend_is_the_ramp_of_the_formula():
    """Two tiles of known values, 2 latents (16 pixels) shared: weights (i + 1) / 17 against their mirror."""
    seen = iter([torch.zeros(1, 1, 64, 64), torch.ones(1, 1, 64, 64)])
    tiled = decode_in_tiles(torch.zeros(1, 1, 8, 14), lambda part: next(seen), 8, 2, quiet)
    rising = torch.arange(1, 17) / 17
    expected = torch.cat([torch.zeros(48), rising / (rising + rising.flip(0)), torch.ones(48)])
    assert torch.allclose(tiled[0, 0, 5], expected, atol=1e-6)


@pytest.mark.spec("G1", "G5")
def test_size_alone_decides():
    assert [needs_tiles(64, 64, 64), needs_tiles(65, 64, 64), needs_tiles(8, 66, 64)] == [False, True, True]
    source = inspect.getsource(tiling) + inspect.getsource(decode_module)
    assert "except" not in source.replace('"""', "")


@pytest.fixture
def spied(tiny, monkeypatch):
    """Sizes of the tiles that the tiny VAE was given."""
    from diffusers import AutoencoderKL

    sizes = []
    inner = AutoencoderKL.decode
    monkeypatch.setattr(AutoencoderKL, "decode", lambda self, z, **kw: sizes.append(tuple(z.shape[2:])) or inner(self, z, **kw))
    return sizes


def latents(height, width):
    samples = torch.randn(1, 4, height, width, generator=torch.Generator().manual_seed(4))
    return Latents(width * FACTOR, height * FACTOR, "z-image", WireTensor.of(samples))


@pytest.mark.spec("G1")
def test_a_picture_of_one_tile_is_decoded_plainly(tiny, spied, references):
    small = latents(16, 12)
    found = decode(tiny.vae, small, tile=16, overlap=4).pixels.torch()
    vae = references("tiny").vae
    with torch.no_grad():
        plain = vae.decode(small.samples.torch() / vae.config.scaling_factor + vae.config.shift_factor).sample
    assert torch.equal(found, (plain * 0.5 + 0.5).clamp(0, 1))
    assert spied[0] == (16, 12)


@pytest.mark.spec("G1", "G4")
def test_the_decoder_never_sees_more_than_a_tile(tiny, spied):
    decode(tiny.vae, latents(18, 40), tile=16, overlap=4)
    assert spied == [(16, 16)] * 6


@pytest.mark.spec("G9")
def test_each_tile_is_told_and_may_be_the_last(tiny, recording, call):
    ctx = recording()
    call(ctx, decode, tiny.vae, latents(18, 40), tile=16, overlap=4)
    assert ctx.steps == [(done, 6) for done in range(1, 7)]
    ctx = recording(cancel_at=2)
    with pytest.raises(Cancelled):
        call(ctx, decode, tiny.vae, latents(18, 40), tile=16, overlap=4)
    assert len(ctx.steps) == 2


@pytest.mark.spec("G4")
def test_working_memory_does_not_grow_with_the_picture():
    """No decoder input is larger than a tile, and of the decoded tiles one at most is kept, however many there are."""

    def worst(side):
        made, most = [], [0, 0]

        def decoded(part):
            kept = sum(one() is not None for one in made)
            most[:] = max(most[0], part.untyped_storage().nbytes() if part.is_contiguous() else part.nbytes), max(most[1], kept)
            pixels = pointwise(part)
            made.append(weakref.ref(pixels))
            return pixels

        picture = decode_in_tiles(torch.zeros(1, 4, side, side), decoded, 16, 4, quiet)
        assert picture.shape == (1, 4, side * FACTOR, side * FACTOR)
        assert len(made) >= (side // 16) ** 2
        return most

    assert worst(28) == worst(56) == [4 * 16 * 16 * 4, 1]


def test_latents_of_another_family_or_none_are_refused(tiny):
    with pytest.raises(Refused, match="the latents belong to flux, the VAE to z-image"):
        decode(tiny.vae, Latents(64, 64, "flux", latents(8, 8).samples))
    with pytest.raises(Refused, match="the latents are empty; link the output of denoise"):
        decode(tiny.vae, Latents(64, 64))


def test_an_encoded_picture_decodes_to_its_most_likely_self(tiny, references):
    from nodes.latents import encode_image
    from nodes.values import Image

    pixels = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    found = decode(tiny.vae, encode_image(tiny.vae, Image(WireTensor.of(pixels)))).pixels.torch()
    vae = references("tiny").vae
    with torch.no_grad():
        mean = vae.encode((2 * pixels - 1).contiguous(memory_format=torch.channels_last)).latent_dist.mean
        expected = vae.decode(mean).sample
    assert torch.allclose(found, (expected * 0.5 + 0.5).clamp(0, 1), atol=1e-5)


def test_a_picture_of_an_odd_size_is_not_encoded(tiny):
    from nodes.latents import encode_image
    from nodes.values import Image

    with pytest.raises(Refused, match=r"width is 72; z-image takes multiples of 16 from 16 to 2048. The nearest is"):
        encode_image(tiny.vae, Image(WireTensor.of(torch.rand(1, 3, 64, 72))))


@pytest.mark.spec("G7")
def test_a_device_short_of_memory_is_told_and_never_decodes_otherwise(tiny, spied, recording, call):
    from nodes.pool import Pool, PoolFull

    def decoded(budget_bytes):
        ctx, pool = recording(), Pool("cpu", budget_bytes)
        ctx.borrow = pool.borrow
        return call(ctx, decode, tiny.vae, latents(20, 24), tile=64).pixels.torch()

    roomy, tight = decoded(2**30), decoded(tiny.vae.nbytes)
    assert torch.equal(roomy, tight)
    assert spied == [(20, 24), (20, 24)]
    with pytest.raises(PoolFull, match="Vae needs"):
        decoded(tiny.vae.nbytes - 1)
    assert len(spied) == 2
