"""Masks: what of a picture is read as one, and what the nodes on them do."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image as Pillow

from nodes.image import from_picture, load_image
from nodes.mask import composite_images, feather_mask, grow_mask, image_from_mask, invert_mask, load_mask, mask_from_image
from nodes.tensors import WireTensor
from nodes.values import Image, Mask

NOT_A_NUMBER = "the mask holds values that are no numbers; link another one"


@pytest.fixture
def opened(recording, call):
    """Upload a picture, or bytes, and open it."""

    def opened(picture, node=load_mask, form="PNG", **options):
        data = picture
        if not isinstance(picture, bytes):
            buffer = io.BytesIO()
            picture.save(buffer, form, **{name: options.pop(name) for name in ("exif",) if name in options})
            data = buffer.getvalue()
        ctx, digest = recording(), hashlib.sha256(data).hexdigest()
        (ctx.home / "files").mkdir(parents=True, exist_ok=True)
        (ctx.home / "files" / digest).write_bytes(data)
        return call(ctx, node, {"file": "mask.png", "sha256": digest}, **options)

    return opened


def levels(mask):
    """The first mask's values in 255ths."""
    return (mask.values.numpy()[0, 0] * 255).round().astype(int).tolist()


def mask_of(rows, dtype=np.float32):
    return Mask(WireTensor.of_numpy(np.array(rows, dtype=dtype)[None, None]))


def holes(color=(255, 255, 255)):
    """Two by one pixels: opaque, and half transparent."""
    picture = Pillow.new("RGBA", (2, 1), (*color, 255))
    picture.putpixel((1, 0), (*color, 100))
    return picture


@pytest.mark.parametrize("read", ["auto", "luminance"])
def test_white_is_where_something_is_to_happen(opened, read):
    painted = Pillow.new("L", (3, 1), 0)
    painted.putpixel((1, 0), 255)
    painted.putpixel((2, 0), 100)
    mask = opened(painted, read=read)
    assert mask.values.shape == (1, 1, 1, 3)
    assert levels(mask) == [[0, 255, 100]]


@pytest.mark.parametrize(
    ("read", "expected"), [("auto", [0, 155]), ("transparency", [0, 155]), ("alpha", [255, 100]), ("luminance", [76, 76])]
)
def test_transparency_is_read_as_asked_and_counts_before_luminance(opened, read, expected):
    assert levels(opened(holes((255, 0, 0)), read=read)) == [expected]


def test_an_alpha_channel_without_a_transparent_place_says_nothing(opened):
    painted = Pillow.new("RGBA", (2, 1), (0, 0, 0, 255))
    painted.putpixel((0, 0), (255, 255, 255, 255))
    assert levels(opened(painted)) == [[255, 0]]
    assert levels(opened(painted, read="transparency")) == [[0, 0]]


def test_the_transparent_colour_of_a_palette_counts_as_transparency(opened):
    painted = Pillow.new("P", (2, 1), 0)
    painted.putpixel((1, 0), 1)
    painted.putpalette([0, 0, 0, 255, 255, 255])
    painted.info["transparency"] = 1
    assert levels(opened(painted)) == [[0, 255]]


@pytest.mark.parametrize("read", ["alpha", "transparency"])
def test_alpha_of_a_picture_that_has_none_is_refused(opened, read):
    message = rf"mask\.png has no alpha channel \(it is RGB\), but read is {read}\. Set read to luminance, or save the picture"
    with pytest.raises(ValueError, match=message):
        opened(Pillow.new("RGB", (2, 1)), read=read)


def test_a_mask_is_turned_as_its_camera_says(opened):
    exif = Pillow.Exif()
    exif[0x0112] = 6
    assert opened(Pillow.new("L", (20, 10)), form="JPEG", exif=exif).values.shape == (1, 1, 20, 10)


def test_sixteen_bits_of_grey_become_eight(opened):
    painted = Pillow.fromarray(np.array([[0, 257 * 3, 65535]], dtype=np.uint16))
    assert levels(opened(painted)) == [[0, 3, 255]]


@pytest.mark.parametrize("data", [b"%PDF-1.4", b"GIF89a" + bytes(20)])
def test_what_is_no_picture_is_refused_in_load_images_words(opened, data):
    refusals = []
    for node in (load_image, load_mask):
        with pytest.raises(ValueError, match=r"mask\.png is no picture that can be read") as refusal:
            opened(data, node)
        refusals.append(str(refusal.value).partition(":")[0])  # what follows names a buffer in memory
    assert refusals[0] == refusals[1]


def test_a_side_of_more_than_4096_pixels_is_refused(opened):
    with pytest.raises(ValueError, match=r"mask\.png is 4097x1 pixels; a side may have 4096\. Make it smaller first"):
        opened(Pillow.new("1", (4097, 1)))


def test_a_picture_becomes_a_mask_by_its_luminance_as_load_mask_reads_it(opened):
    picture = Pillow.fromarray(np.random.default_rng(3).integers(0, 256, (9, 7, 3), dtype=np.uint8))
    made, read = mask_from_image(from_picture(picture)), opened(picture)
    assert made.values.numpy().tolist() == read.values.numpy().tolist()


def test_a_batch_of_pictures_becomes_as_many_masks():
    pixels = np.zeros((3, 3, 2, 4), dtype=np.float32)
    pixels[1] = 1
    mask = mask_from_image(Image(WireTensor.of_numpy(pixels)))
    assert mask.values.numpy()[:, 0, 0, 0].tolist() == [0, 1, 0]


def test_a_mask_becomes_a_grey_picture_and_that_the_same_mask():
    mask = mask_of(np.arange(256).reshape(16, 16) / np.float32(255))
    picture = image_from_mask(mask)
    assert picture.pixels.shape == (1, 3, 16, 16)
    assert mask_from_image(picture).values.numpy().tolist() == mask.values.numpy().tolist()


def test_inverting_turns_each_value_around_one_half():
    assert invert_mask(mask_of([[0, 1, 0.25]])).values.numpy().tolist() == [[[[1, 0, 0.75]]]]


def plainly_grown(values, pixels):
    """The slow way: for each pixel, all others."""
    height, width = values.shape
    pick = max if pixels > 0 else min
    grown = np.empty_like(values)
    for y in range(height):
        for x in range(width):
            near = [
                values[v, u] for v in range(height) for u in range(width) if (v - y) ** 2 + (u - x) ** 2 <= pixels**2
            ]  # fmt: skip
            grown[y, x] = pick(near)
    return grown


@pytest.mark.parametrize("pixels", [1, 2, 3, 7, 40, -1, -4])
def test_a_mask_grows_and_shrinks_by_a_disk(pixels):
    values = np.random.default_rng(4).random((11, 17), dtype=np.float32)
    assert np.array_equal(grow_mask(mask_of(values), pixels).values.numpy()[0, 0], plainly_grown(values, pixels))


def test_growing_by_nothing_changes_nothing():
    mask = mask_of([[0, 1]])
    assert grow_mask(mask, 0) is mask
    assert feather_mask(mask, 0) is mask


def test_each_mask_of_a_batch_grows_by_itself():
    values = np.zeros((2, 1, 5, 5), dtype=np.float32)
    values[1, 0, 2, 2] = 1
    grown = grow_mask(Mask(WireTensor.of_numpy(values)), 1).values.numpy()
    assert grown.sum(axis=(1, 2, 3)).tolist() == [0, 5]


def test_a_feathered_edge_is_soft_as_wide_as_asked_and_stays_in_its_place():
    values = np.zeros((9, 100), dtype=np.float32)
    values[:, 50:] = 1
    soft = feather_mask(mask_of(values), 10).values.numpy()[0, 0, 4]
    assert (np.diff(soft) >= 0).all()
    assert soft[49] < 0.5 <= soft[50]
    assert soft[38] < 0.03 < 0.05 < soft[43]
    assert soft[[0, 99]].tolist() == [0, 1]


@pytest.mark.parametrize(
    "change",
    [lambda mask: grow_mask(mask, 2), lambda mask: feather_mask(mask, 2), lambda mask: composite_images(PAIR, PAIR, mask)],
)
def test_a_mask_of_values_that_are_no_numbers_is_an_error(change):
    with pytest.raises(ValueError, match=NOT_A_NUMBER):
        change(mask_of([[np.nan, 1]]))


def image_of(rows):
    return Image(WireTensor.of_numpy(np.repeat(np.array(rows, dtype=np.float32)[None, None], 3, axis=1)))


PAIR = image_of([[0.25, 0.5]])


def test_a_composite_is_each_picture_where_the_mask_says_so_and_a_blend_between():
    over, under = image_of([[0.1, np.inf, 1.0]]), image_of([[np.nan, 0.7, 0.0]])
    made = composite_images(over, under, mask_of([[1, 0, 0.25]])).pixels.numpy()
    assert made[0, 0].tolist() == [[np.float32(0.1), np.float32(0.7), 0.25]]


def test_a_mask_of_another_size_is_stretched_over_the_pictures():
    over, under = image_of(np.ones((8, 16))), image_of(np.zeros((8, 16)))
    made = composite_images(over, under, mask_of([[1, 0], [1, 0]])).pixels.numpy()[0, 0]
    assert made.shape == (8, 16)
    assert (made[:, :4] > 0.9).all()
    assert (made[:, 12:] < 0.1).all()


def test_one_background_and_one_mask_serve_a_batch_of_pictures():
    batch = Image(WireTensor.of_numpy(np.stack([np.full((3, 1, 2), level, dtype=np.float32) for level in (0.25, 1)])))
    made = composite_images(batch, PAIR, mask_of([[1, 0]])).pixels.numpy()
    assert made[:, 0, 0].tolist() == [[0.25, 0.5], [1, 0.5]]


def test_pictures_of_two_sizes_are_no_composite():
    with pytest.raises(ValueError, match=r"image is 2x1 pixels, background 1x1\. Put resize_image before one of them"):
        composite_images(PAIR, image_of([[1]]), mask_of([[1]]))


def test_a_batch_that_does_not_fit_the_pictures_is_refused():
    pair = Mask(WireTensor.of_numpy(np.ones((2, 1, 1, 2), dtype=np.float32)))
    with pytest.raises(ValueError, match="mask holds 2, image holds 1; give mask as many, or one"):
        composite_images(PAIR, PAIR, pair)
