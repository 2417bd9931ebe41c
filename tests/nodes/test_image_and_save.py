"""Pictures in, pictures out: guards on what is opened, sizes, and everything needed to make a saved picture again."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import sys
import types
import zlib

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageFile

from graph.errors import Refused
from graph.node import declaration_of
from nodes.image import from_picture, image_grid, load_image, resize_image, snapped, to_pictures
from nodes.save import parameters_line, read_png, save_image, settings_of
from nodes.tensors import WireTensor
from nodes.values import Image


def picture(width=20, height=10, seed=0):
    return Pillow.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def encoded(image, format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


@pytest.fixture
def upload(recording):
    """Put bytes where uploads lie; gives the context and the file literal."""

    def upload(data, name="picture.png"):
        ctx, digest = recording(), hashlib.sha256(data).hexdigest()
        (ctx.home / "files").mkdir(parents=True, exist_ok=True)
        (ctx.home / "files" / digest).write_bytes(data)
        return ctx, {"file": name, "sha256": digest}

    return upload


def test_a_picture_is_opened_by_its_content(upload, call):
    original = picture()
    ctx, file = upload(encoded(original))
    image = call(ctx, load_image, file)
    assert image.pixels.shape == (1, 3, 10, 20)
    assert to_pictures(image)[0].tobytes() == original.tobytes()


def test_a_picture_is_turned_as_its_camera_says(upload, call):
    exif = Pillow.Exif()
    exif[0x0112] = 6
    ctx, file = upload(encoded(picture(20, 10), "JPEG", exif=exif))
    assert call(ctx, load_image, file).pixels.shape == (1, 3, 20, 10)


def huge_png(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.spec("H5")
@pytest.mark.parametrize(("width", "height"), [(4097, 10), (10, 4097), (60000, 60000)])
def test_a_header_that_claims_too_much_is_refused_before_any_pixel_is_decoded(upload, call, width, height, monkeypatch):
    ctx, file = upload(huge_png(width, height))
    # Pillow allocates the pixels when it loads them, out of sight of Python's own count of memory
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("pixels were decoded"))
    with pytest.raises(ValueError, match=r"picture.png is"):
        call(ctx, load_image, file)


@pytest.mark.spec("H5")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"%PDF-1.4", r"picture.png is no picture that can be read \(PNG, JPEG, WEBP, BMP\); give one of these$"),
        (encoded(picture(64, 64))[:-2000], "picture.png is damaged"),
        (b"GIF89a" + bytes(20), "picture.png is no picture that can be read"),
    ],
)
def test_what_is_no_whole_picture_is_an_error(upload, call, data, message):
    ctx, file = upload(data)
    with pytest.raises(ValueError, match=message):
        call(ctx, load_image, file)


def text_bomb():
    """A few kilobytes that unpack to much more than a picture's text may be."""
    text = b"workflow\0\1\0\0\0" + zlib.compress(bytes(2**22))
    whole = encoded(picture(8, 8))
    at = whole.index(b"IDAT") - 4
    chunk = struct.pack(">I", len(text)) + b"iTXt" + text + struct.pack(">I", zlib.crc32(b"iTXt" + text))
    return whole[:at] + chunk + whole[at:]


def test_text_that_unpacks_to_too_much_is_told_with_the_files_name(upload, call):
    ctx, file = upload(text_bomb())
    with pytest.raises(ValueError, match=r"picture\.png is no picture that can be read \(.*\): Decompressed data too large"):
        call(ctx, load_image, file)
    with pytest.raises(ValueError, match="this is no readable PNG: Decompressed data too large"):
        read_png(text_bomb())


def test_sixteen_bits_of_grey_become_eight(upload, call):
    levels = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    ctx, file = upload(encoded(Pillow.fromarray(levels)))
    (opened,) = to_pictures(call(ctx, load_image, file))
    assert np.asarray(opened)[:, :, 0].tolist() == (levels // 257).tolist()


def test_transparency_is_dropped_and_the_colours_below_stay(upload, call):
    ctx, file = upload(encoded(Pillow.new("RGBA", (4, 4), (200, 10, 30, 0))))
    assert to_pictures(call(ctx, load_image, file))[0].getpixel((0, 0)) == (200, 10, 30)


def test_pixels_that_are_no_numbers_are_an_error_and_others_are_brought_into_range():
    pixels = np.zeros((1, 3, 2, 2), dtype=np.float32)
    pixels[0, 0, 0] = (-0.5, 1.5)
    pixels[0, 1, 1, 1] = np.inf
    (made,) = to_pictures(Image(WireTensor.of_numpy(pixels)))
    assert np.asarray(made)[0, :, 0].tolist() == [0, 255]
    assert made.getpixel((1, 1)) == (0, 255, 0)
    pixels[0, 2, 0, 0] = np.nan
    with pytest.raises(ValueError, match="the picture holds values that are no numbers; the model overflowed, so compute it"):
        to_pictures(Image(WireTensor.of_numpy(pixels)))


@pytest.mark.parametrize("digest", ["../../etc/passwd", "A" * 64, "", "0" * 63])
def test_a_file_is_named_by_its_hash_only(recording, call, digest):
    with pytest.raises(ValueError, match="is no SHA-256"):
        call(recording(), load_image, {"file": "x.png", "sha256": digest})


def test_a_file_that_is_not_here_is_named(recording, call):
    with pytest.raises(ValueError, match=r"the file x.png \(sha256 000000000000...\) is not here; upload it again"):
        call(recording(), load_image, {"file": "x.png", "sha256": "0" * 64})


@pytest.mark.spec("H4")
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ((1000, 500), (1008, 496)),
        ((4096, 1024), (2048, 512)),
        ((3000, 2000), (2048, 1360)),
        ((16, 16), (16, 16)),
        ((1, 1), (16, 16)),
        ((2048, 8), (2048, 16)),
        ((24, 40), (32, 48)),
        ((23, 25), (16, 32)),
    ],
)
def test_sizes_snap_as_the_rule_says(given, taken):
    assert snapped(*given) == taken


@pytest.mark.spec("H4")
def test_resizing_gives_sides_that_models_take():
    image = from_picture(picture(100, 50))
    assert resize_image(image).pixels.shape == (1, 3, 48, 96)
    assert resize_image(image, width=64).pixels.shape == (1, 3, 32, 64)
    assert resize_image(image, height=100).pixels.shape == (1, 3, 96, 208)
    assert resize_image(image, width=64, height=64).pixels.shape == (1, 3, 64, 64)
    assert resize_image(image, width=3200).pixels.shape == (1, 3, 1600, 3200)
    assert resize_image(image, width=64, longest=32).pixels.shape == (1, 3, 32, 64)
    with pytest.raises(ValueError, match=r"the picture would be 8192x4096 pixels; a side may have 4096\. Set both sides"):
        resize_image(image, height=4096)
    fits = from_picture(picture(32, 16))
    assert resize_image(fits) is fits


def test_a_grid_lays_pictures_out_row_by_row():
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (9, 9, 9), (200, 200, 0)]
    images = [from_picture(Pillow.new("RGB", (16, 16), colour)) for colour in colours]
    (sheet,) = to_pictures(image_grid(images, columns=2))
    assert sheet.size == (36, 56)
    assert [sheet.getpixel((20 * (i % 2) + 8, 20 * (i // 2) + 8)) for i in range(5)] == colours
    (labelled,) = to_pictures(image_grid(images, columns=2, column_labels="one\ntwo", row_labels="a\nb\nc"))
    assert labelled.width > sheet.width
    assert labelled.height == sheet.height + 24
    assert np.asarray(labelled)[:20].min() < 100  # there is something written


def test_a_grid_that_is_too_large_is_refused_before_it_is_made(monkeypatch):
    tall = from_picture(Pillow.new("RGB", (16, 600)))
    made = Pillow.new
    monkeypatch.setattr(
        Pillow, "new", lambda mode, size, *rest: made(mode, size, *rest) if max(size) < 9000 else pytest.fail("made")
    )
    with pytest.raises(ValueError, match=r"the grid would be 16x18116 pixels; a side may have 16384\. Make the pictures smaller"):
        image_grid([tall] * 30, columns=1)


def test_an_empty_grid_is_an_error():
    with pytest.raises(ValueError, match="images is an empty list; link at least one picture to image_grid"):
        image_grid([])


WORKFLOW = {
    "nodes": {
        "model": {"type": "load_pipeline", "inputs": {"model": "mini"}},
        "tokens": {"type": "tokenize", "inputs": {"tokenizer": {"link": "model.tokenizer"}, "prompt": "a red circle"}},
        "yes": {"type": "encode_text", "inputs": {"tokens": {"link": "tokens.tokens"}}},
        "none": {"type": "tokenize", "inputs": {"prompt": "blurry"}},
        "no": {"type": "encode_text", "inputs": {"tokens": {"link": "none.tokens"}}},
        "sample": {"type": "denoise", "inputs": {"positive": {"link": "yes.embedding"}, "negative": {"link": "no.embedding"}}},
        "decode": {"type": "decode", "inputs": {"latents": {"link": "sample.latents"}}},
        "save": {"type": "save_image", "inputs": {"image": {"link": "decode.image"}}},
    }
}
RESOLVED = {
    "workflow": WORKFLOW,
    "created_at": "2026-01-02T03:04:05+00:00",
    "seeds": {},
    "nodes": {
        "tokens": {"type": "tokenize", "inputs": {"prompt": "a red circle"}, "links": {}},
        "none": {"type": "tokenize", "inputs": {"prompt": "blurry"}, "links": {}},
        "yes": {"type": "encode_text", "inputs": {}, "links": {"tokens": ["tokens"]}},
        "no": {"type": "encode_text", "inputs": {}, "links": {"tokens": ["none"]}},
        "sample": {
            "type": "denoise",
            "inputs": {"steps": 9, "guidance": 2.0, "seed": 2**53 - 1, "strength": 1.0},
            "links": {"positive": ["yes"], "negative": ["no"]},
        },
        "decode": {"type": "decode", "inputs": {}, "links": {"latents": ["sample"]}},
        "save": {"type": "save_image", "inputs": {"name": "image"}, "links": {"image": ["decode"]}},
    },
}


@pytest.fixture
def saving(recording):
    """A context inside a run with this record."""

    def saving(resolved=RESOLVED):
        ctx = recording()
        type(ctx).resolved = property(lambda self: resolved)
        ctx.node_id = "save"
        return ctx

    yield saving
    del type(recording()).resolved


@pytest.mark.spec("J3", "I12")
def test_a_saved_picture_tells_how_it_was_made(saving, call):
    ctx = saving()
    original = picture()
    name = call(ctx, save_image, from_picture(original))
    data = (ctx.output_folder / name).read_bytes()
    assert Pillow.open(io.BytesIO(data)).convert("RGB").tobytes() == original.tobytes()
    found = read_png(data)
    assert found["workflow"] == WORKFLOW
    assert found["run"] == {key: value for key, value in RESOLVED.items() if key != "workflow"}
    assert found["settings"] == {
        "prompt": "a red circle", "negative_prompt": "blurry", "width": 20, "height": 10, "steps": 9, "guidance": 2.0,
        "seed": 2**53 - 1, "strength": 1.0, "model": "mini", "created_at": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip
    line = Pillow.open(io.BytesIO(data)).text["parameters"]
    assert line == (
        "a red circle\nNegative prompt: blurry\n"
        "Steps: 9, CFG scale: 2.0, Seed: 9007199254740991, Denoising strength: 1.0, Model: mini, Size: 20x10"
    )
    sidecar = json.loads((ctx.output_folder / name).with_suffix(".json").read_text())
    assert (sidecar["file"], sidecar["settings"], sidecar["run"]) == (name, found["settings"], RESOLVED)


def test_a_negative_prompt_that_guidance_0_leaves_out_is_null():
    nodes = json.loads(json.dumps(RESOLVED["nodes"]))
    nodes["sample"]["inputs"]["guidance"] = 0.0
    assert settings_of(RESOLVED | {"nodes": nodes})["negative_prompt"] is None
    assert settings_of(RESOLVED)["negative_prompt"] == "blurry"


@pytest.mark.spec("J3")
def test_what_several_nodes_say_is_null():
    two = RESOLVED | {"nodes": RESOLVED["nodes"] | {"other": RESOLVED["nodes"]["sample"]}}
    assert [settings_of(two)[key] for key in ("prompt", "steps", "guidance", "seed")] == [None] * 4
    assert settings_of({})["prompt"] is None


def test_a_mapped_element_tells_its_own_prompt():
    nodes = {}
    for id, entry in RESOLVED["nodes"].items():
        for element in range(2):
            links = {port: [f"{one}[{element}]" for one in sources] for port, sources in entry["links"].items()}
            inputs = {"prompt": f"prompt {element}"} if id == "tokens" else entry["inputs"]
            nodes[f"{id}[{element}]"] = {"type": entry["type"], "inputs": inputs, "links": links}
    assert settings_of(RESOLVED | {"nodes": nodes})["prompt"] is None  # two samplers: the record holds both
    mine = {id: entry for id, entry in nodes.items() if id.endswith("[1]")}
    assert settings_of(RESOLVED | {"nodes": mine})["prompt"] == "prompt 1"


def test_a_prompt_inside_a_subgraph_is_found():
    nodes = {id: dict(entry) for id, entry in RESOLVED["nodes"].items()}
    nodes["sample"] = nodes["sample"] | {"links": {"positive": ["inner/yes"], "negative": ["no"]}}
    nodes["inner/yes"] = {"type": "encode_text", "inputs": {}, "links": {"tokens": ["none"]}}
    assert settings_of(RESOLVED | {"nodes": nodes})["prompt"] == "blurry"


def test_the_parameters_line_leaves_out_what_is_not_known():
    assert parameters_line({"prompt": None, "width": 1, "height": 2}) == "\nSize: 1x2"


@pytest.mark.spec("J9")
def test_saving_twice_gives_two_files_of_equal_pixels(recording, call):
    ctx, image = recording(), from_picture(picture())
    one, two = (call(ctx, save_image, image, "../My picture") for _ in range(2))
    assert one != two
    assert all(re.fullmatch(r"My_picture-\d{8}-\d{6}-[0-9a-f]{12}\.png", name) for name in (one, two))
    first, second = (Pillow.open(ctx.output_folder / name).tobytes() for name in (one, two))
    assert first == second
    assert len(list(ctx.output_folder.iterdir())) == 4


def test_a_batch_is_saved_picture_by_picture(recording, call):
    ctx = recording()
    both = Image(WireTensor.of_numpy(np.concatenate([from_picture(picture(seed=seed)).pixels.numpy() for seed in (1, 2)])))
    first = call(ctx, save_image, both)
    (second,) = {path.name for path in ctx.output_folder.glob("*.png")} - {first}
    assert ctx.notes == [f"Also saved: {second}."]
    found = {Pillow.open(path).tobytes() for path in ctx.output_folder.glob("*.png")}
    assert found == {picture(seed=1).tobytes(), picture(seed=2).tobytes()}


def test_eight_bits_survive_the_way_in_and_out():
    levels = Pillow.fromarray(np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, axis=2))
    assert to_pictures(from_picture(levels))[0].tobytes() == levels.tobytes()


def test_a_png_of_someone_else_has_no_settings():
    assert read_png(encoded(picture())) == {"settings": {}, "run": {}, "workflow": {}}
    with pytest.raises(ValueError, match="this is no readable PNG$"):
        read_png(b"no")


@pytest.mark.spec("J9")
def test_a_job_that_is_tried_again_saves_once(saving, call):
    ctx = saving(RESOLVED | {"job": "01job"})
    both = Image(WireTensor.of_numpy(np.concatenate([from_picture(picture(seed=seed)).pixels.numpy() for seed in (1, 2)])))
    first = call(ctx, save_image, both, "My picture")
    kept = {path.name: path.read_bytes() for path in ctx.output_folder.iterdir()}
    ctx = saving(RESOLVED | {"job": "01job", "created_at": "2026-01-02T04:00:00+00:00"})
    assert call(ctx, save_image, both, "My picture") == first
    assert {path.name: path.read_bytes() for path in ctx.output_folder.iterdir()} == kept
    assert len(kept) == 4
    assert all(name.startswith("My_picture-01job-") for name in kept)
    sidecar = json.loads(kept[first.removesuffix("png") + "json"])
    assert sidecar["origin"] == {"job": "01job", "node": "save", "element": None, "index": 0}
    assert sidecar["run"]["job"] == "01job"
    assert sidecar["sha256"] == hashlib.sha256(kept[first]).hexdigest()


@pytest.mark.spec("J10")
@pytest.mark.parametrize("stub", [None, types.SimpleNamespace()], ids=["no Pillow", "no zlib"])
def test_a_missing_encoder_is_told_while_planning(monkeypatch, stub):
    import PIL

    resolve = declaration_of(save_image).resolve
    assert resolve({}) == {}
    monkeypatch.setitem(sys.modules, "PIL._imaging", stub)
    monkeypatch.delattr(PIL, "_imaging")
    if stub is not None:
        monkeypatch.setattr(PIL, "_imaging", stub, raising=False)
    with pytest.raises(Refused, match="PNG files cannot be written here: Pillow or its zlib is missing. Install pillow again"):
        resolve({})
