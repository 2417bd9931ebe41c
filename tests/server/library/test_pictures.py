"""Strangers' pictures are looked into by a child with limits; the server decodes nothing and lives on."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from graph.blob import digest_of, image_of
from graph.types import Packed, TensorBytes
from server.library import picture_child, pictures
from server.library.pictures import MOST_PIXELS, Pictures
from server.problems import Refusal
from tests.server.library.picture_corpus import (
    BOMB,
    REFUSED,
    chunk,
    encoded,
    gif,
    picture,
    png,
    text_png,
    with_chunk,
)

WORKFLOW = '{"format": "latentgraph/workflow", "version": "1.0", "nodes": {"one": {"type": "number", "inputs": {"value": 1}}}}'


@contextmanager
def opened(data):
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.fileno()


@pytest.fixture
def asking(home):
    """Runs a step with the pictures of this test and an open file."""
    made = Pictures(home)

    def ask(step, data):
        with opened(data) as file:
            return asyncio.run(step(made, file))

    ask.pictures = made
    yield ask
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The same with one child for all tests of this module that only ask."""
    made = Pictures(tmp_path_factory.mktemp("home"), idle_s=1000)
    yield lambda step, data: _ask(made, step, data)
    made.close()


def _ask(made, step, data):
    with opened(data) as file:
        return asyncio.run(step(made, file))


def probe(made, file):
    return made.probe(file)


def question(name, **arguments):
    return lambda made, file: made.ask(name, file, **arguments)


def why(ask, step, data):
    with pytest.raises(Refusal) as refused:
        ask(step, data)
    assert refused.value.code == "unreadable_picture"
    assert refused.value.message.endswith("Use another, or save it again.")
    return refused.value.message


@pytest.mark.spec("R-I08", "L7")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_picture_is_refused_and_the_next_one_is_looked_into(shared, name):
    make, message = REFUSED[name]
    assert message in why(shared, question("thumbnail", side=128, most_pixels=MOST_PIXELS), make())
    assert shared(probe, encoded(picture())).format == "PNG"


@pytest.mark.spec("R-I08")
@pytest.mark.parametrize("name", [name for name in REFUSED if "pixels" in REFUSED[name][1] or "frames" in REFUSED[name][1]])
def test_a_picture_beyond_a_limit_is_refused_by_its_header_alone(name, monkeypatch):
    from PIL import ImageFile

    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("pixels were decoded"))
    make, message = REFUSED[name]
    with pytest.raises(picture_child.Unreadable, match=message):
        picture_child.thumbnail(io.BytesIO(make()), MOST_PIXELS, 128)


@pytest.mark.spec("R-I08")
@pytest.mark.parametrize("percent", range(1, 100, 7))
def test_a_picture_cut_off_anywhere_ends_in_an_answer(shared, percent):
    for format in ("PNG", "JPEG", "WEBP", "GIF"):
        whole = encoded(picture(), format)
        with contextlib.suppress(Refusal):  # nothing else is raised
            assert shared(question("thumbnail", side=128, most_pixels=MOST_PIXELS), whole[: len(whole) * percent // 100])["image"]


@pytest.mark.spec("R-I08")
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1", "I;16", "CMYK"])
def test_pictures_of_every_mode_are_told_exactly_and_made_small(shared, mode):
    if mode == "I;16":
        data = encoded(Pillow.fromarray(np.full((30, 40), 257 * 200, np.uint16)))
    else:
        data = encoded(picture(mode=mode), "JPEG" if mode == "CMYK" else "PNG")
    found = shared(probe, data)
    with Pillow.open(io.BytesIO(data)) as same:
        assert found == (same.format, 40, 30, same.mode, 1)
    small = Pillow.open(io.BytesIO(shared(question("thumbnail", side=128, most_pixels=MOST_PIXELS), data)["image"]))
    assert (small.format, small.size) == ("WEBP", (40, 30))
    if mode == "I;16":
        assert abs(small.convert("L").getpixel((5, 5)) - 200) <= 2


def test_animations_within_limits_are_counted_and_their_first_frame_is_shown(shared):
    frames = [picture(seed=seed) for seed in range(3)]
    for format in ("GIF", "PNG", "WEBP"):
        data = encoded(frames[0], format, save_all=True, append_images=frames[1:])
        assert shared(probe, data).frames == 3
        assert shared(question("thumbnail", side=128, most_pixels=MOST_PIXELS), data)["image"]
    assert shared(probe, gif(1000)).frames == 1000


def test_a_thumbnail_is_small_and_turned_as_the_camera_says(shared):
    exif = Pillow.Exif()
    exif[0x0112] = 6
    data = encoded(picture(2000, 1000), "JPEG", exif=exif)
    assert Pillow.open(io.BytesIO(shared(question("thumbnail", side=256, most_pixels=MOST_PIXELS), data)["image"])).size == (
        128,
        256,
    )


def test_thumbnails_are_kept_and_forgotten_by_their_exact_name(asking, home):
    data = encoded(picture(1000, 500))
    image = asking(lambda made, file: made.thumbnail("output-a", file, 200), data)
    assert Pillow.open(io.BytesIO(image)).size == (256, 128)
    assert [path.name for path in (home / "thumbnails").iterdir()] == ["output-a.256.webp"]
    assert asking(lambda made, file: made.thumbnail("output-a", file, 256), b"not looked at") == image
    assert Pillow.open(io.BytesIO(asking(lambda made, file: made.thumbnail("b", file, 9999), data))).width == 512


@pytest.mark.spec("L5")
def test_forgetting_a_name_with_pattern_characters_leaves_its_siblings(asking, home):
    folder = home / "thumbnails"
    for name in ("a.png", "b.png", "[ab].png", "*"):
        (folder / f"{name}.256.webp").write_bytes(b"small")
    asking.pictures.forget("[ab].png")
    assert sorted(path.name for path in folder.iterdir()) == ["*.256.webp", "a.png.256.webp", "b.png.256.webp"]
    asking.pictures.forget("*")
    assert sorted(path.name for path in folder.iterdir()) == ["a.png.256.webp", "b.png.256.webp"]


# The process.


def test_the_child_has_limits_and_nothing_of_the_server(asking, monkeypatch):
    monkeypatch.setenv("LATENTGRAPH_TOKEN", "canary")

    async def look(made, file):
        await made.probe(file)
        child = made._idle.get_nowait()
        made._idle.put(child)
        proc = Path(f"/proc/{child._process.pid}")
        limits = {line[:26].strip(): line[26:].split()[0] for line in (proc / "limits").read_text().splitlines()[1:]}
        return (
            limits,
            (proc / "environ").read_bytes(),
            (proc / "maps").read_text(),
            os.getpgid(child._process.pid),
            child._process.pid,
        )

    limits, environment, maps, group, pid = asking(look, encoded(picture()))
    assert limits["Max address space"] == str(picture_child.MEMORY_BYTES)
    assert limits["Max file size"] == "0"
    assert limits["Max open files"] == "32"
    assert limits["Max core file size"] == "0"
    assert int(limits["Max cpu time"]) <= picture_child.COMPUTING_SECONDS + 1
    assert b"canary" not in environment
    assert "torch" not in maps
    assert group == pid


def test_the_child_ends_when_nobody_asks(home):
    made = Pictures(home, idle_s=0)

    async def scenario():
        with opened(encoded(picture())) as file:
            await made.probe(file)
            child = made._idle.queue[0]._process
        while made._idle.qsize():
            await asyncio.sleep(0)
        return child.returncode

    assert asyncio.run(scenario()) == -signal.SIGKILL
    made.close()


@pytest.mark.timeout(60)
def test_a_question_that_takes_too_long_ends_the_child_and_the_next_one_works(home):
    made = Pictures(home, deadline_s=0.5)

    async def scenario():
        with opened(encoded(picture())) as file:
            with pytest.raises(Refusal, match="takes longer than 0.5 s to look at") as refused:
                for _ in range(2):  # the first one may only have waited for the process to start
                    made._deadline_s = 20
                    await made.probe(file)
                    child = made._idle.queue[0]._process
                    os.kill(child.pid, signal.SIGSTOP)
                    made._deadline_s = 0.5
                    await made.probe(file)
            assert child.returncode == -signal.SIGKILL
            made._deadline_s = 20
            return refused.value.code, (await made.probe(file)).format

    assert asyncio.run(scenario()) == ("unreadable_picture", "PNG")
    made.close()


def test_a_child_that_dies_is_replaced(home):
    made = Pictures(home)

    async def scenario():
        with opened(encoded(picture())) as file:
            await made.probe(file)
            os.kill(made._idle.queue[0]._process.pid, signal.SIGKILL)
            os.waitid(os.P_PID, made._idle.queue[0]._process.pid, os.WEXITED | os.WNOWAIT)
            with pytest.raises(Refusal, match="takes more memory or time than may be spent on looking at it"):
                await made.probe(file)
            return await made.probe(file)

    assert asyncio.run(scenario()).format == "PNG"
    made.close()


def test_more_memory_than_allowed_is_an_answer(monkeypatch):
    monkeypatch.setitem(picture_child.QUESTIONS, "probe", lambda file: bytearray(1 << 62))
    file = os.open(os.devnull, os.O_RDONLY)
    assert picture_child.answer_to("probe", file, {}) == {"unreadable": "takes more memory than may be spent on looking at it"}


def test_a_caller_that_goes_away_closes_nothing_of_others(home):
    made = Pictures(home)

    async def scenario():
        with opened(encoded(picture())) as file:
            await made.probe(file)
            tasks = [asyncio.create_task(made.probe(file)) for _ in range(20)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            return {type(one).__name__ for one in found[::2]}, {type(one).__name__ for one in found[1::2]}

    before = len(os.listdir("/proc/self/fd"))
    assert asyncio.run(scenario()) == ({"CancelledError"}, {"Probe"})
    made.close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_kept_thumbnails_stay_under_their_bound_and_the_oldest_go_first(home, monkeypatch):
    monkeypatch.setattr(pictures, "WRITES_PER_SWEEP", 3)
    folder = home / "thumbnails"
    folder.mkdir()
    for age in range(5):
        (folder / f"file-{age}.128.webp").write_bytes(bytes(1000))
        os.utime(folder / f"file-{age}.128.webp", ns=(10**9 * (10 - age),) * 2)
    made = Pictures(home, most_kept_bytes=3000)

    async def scenario():
        await made.start()
        first = sorted(path.name for path in folder.iterdir())
        with opened(encoded(picture())) as file:
            for name in "abc":
                await made.thumbnail(name, file, 128)
        return first

    assert asyncio.run(scenario()) == ["file-0.128.webp", "file-1.128.webp", "file-2.128.webp"]
    made.close()
    left = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert "c.128.webp" in left
    assert "file-2.128.webp" not in left
    assert 0 < sum(left.values()) <= 3000


def test_neither_pillow_nor_numpy_is_loaded_by_the_server_side():
    program = (
        "import sys, server.library.pictures, server.library.gallery, server.library.uploads, server.library.values\n"
        "print([name for name in ('PIL', 'numpy', 'torch', 'server.library.picture_child') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The workflow inside.


@pytest.mark.spec("R-I09")
@pytest.mark.parametrize("packed", [False, True])
def test_the_workflow_in_a_png_is_read_as_a_document(shared, packed):
    document = shared(lambda made, file: made.workflow(file), text_png(WORKFLOW, packed=packed))
    assert list(document.nodes) == ["one"]


def test_the_workflow_behind_the_pixels_or_in_a_webp_is_found_too(shared):
    behind = encoded(picture())
    at = behind.index(b"IEND") - 4
    behind = behind[:at] + chunk(b"iTXt", b"workflow\0\0\0\0\0" + WORKFLOW.encode()) + behind[at:]
    exif = Pillow.Exif()
    exif[0x010F] = f"workflow:{WORKFLOW}"
    for data in (behind, encoded(picture(), "WEBP", exif=exif)):
        assert list(shared(lambda made, file: made.workflow(file), data).nodes) == ["one"]


def test_a_picture_without_a_workflow_says_so(shared):
    for data in (encoded(picture()), encoded(picture(), "WEBP")):
        with pytest.raises(Refusal, match="The picture carries no workflow. Give one as Latentgraph saved it.") as refused:
            shared(lambda made, file: made.workflow(file), data)
        assert refused.value.code == "not_found"


DEEP = "[" * 100_000


@pytest.mark.spec("R-I09")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "No valid JSON"),
        ("[]", ""),
        (DEEP, "Nesting of more than 64 levels"),
        ('{"nodes": {}, "nodes": {}}', "for the second time"),
        ('{"version": NaN}', "NaN"),
        (WORKFLOW.replace("number", "../../etc/passwd"), ""),
    ],
)
def test_a_hostile_workflow_is_refused_like_one_that_is_sent(shared, text, message):
    with pytest.raises(Refusal) as refused:
        shared(lambda made, file: made.workflow(file), text_png(text))
    assert refused.value.code == "invalid_workflow"
    assert message in refused.value.message


@pytest.mark.spec("R-I09")
def test_workflows_that_are_too_long_or_doubled_are_refused(shared):
    step = question("workflow")
    long = with_chunk(encoded(picture()), chunk(b"tEXt", b"workflow\0" + b" " * (1 << 20)))
    assert "carries a workflow of more than 1048576 bytes" in why(shared, step, long)
    for kind, head in ((b"zTXt", b"workflow\0\0"), (b"iTXt", b"workflow\0\1\0\0\0")):
        bomb = with_chunk(encoded(picture()), chunk(kind, head + BOMB))
        assert "carries a workflow of more than 4194304 bytes unpacked" in why(shared, step, bomb)
    one = chunk(b"tEXt", b"workflow\0" + WORKFLOW.encode())
    assert "carries two workflows" in why(shared, step, with_chunk(encoded(picture()), one + one))
    broken = with_chunk(encoded(picture()), one[:-1] + b"\0")
    assert "carries a workflow that is damaged" in why(shared, step, broken)
    assert "is neither PNG nor WebP" in why(shared, step, encoded(picture(), "JPEG"))


# Without metadata.


def files_with_notes():
    exif = Pillow.Exif()
    exif[0x010F] = "canary"
    icc = b"profile" * 20
    source = picture()
    yield "PNG", with_chunk(text_png("canary", "anything"), chunk(b"eXIf", b"canary"))
    yield "PNG", encoded(picture(mode="P"), transparency=3)
    yield "PNG", encoded(source, save_all=True, append_images=[picture(seed=1)])
    yield "JPEG", encoded(source, "JPEG", exif=exif, comment=b"canary", quality=90)
    yield "JPEG", encoded(source.convert("CMYK"), "JPEG", icc_profile=icc, comment=b"canary")
    yield "JPEG", encoded(source, "JPEG", progressive=True, exif=exif)
    yield "WEBP", encoded(source, "WEBP", exif=exif, xmp=b"canary", lossless=True)
    yield "WEBP", encoded(picture(mode="RGBA"), "WEBP", exif=exif, save_all=True, append_images=[picture(mode="RGBA", seed=1)])


@pytest.mark.parametrize(("format", "data"), list(files_with_notes()), ids=lambda value: value if isinstance(value, str) else "")
def test_without_notes_every_pixel_is_the_same_and_the_notes_are_gone(shared, format, data):
    bare = shared(lambda made, file: made.without_notes(file), data)
    assert b"canary" not in bare
    with Pillow.open(io.BytesIO(data)) as before, Pillow.open(io.BytesIO(bare)) as after:
        assert (after.format, after.mode, after.size) == (format, before.mode, before.size)
        assert after.info.get("icc_profile") == before.info.get("icc_profile")
        for frame in range(getattr(before, "n_frames", 1)):
            before.seek(frame)
            after.seek(frame)
            assert after.convert("RGBA").tobytes() == before.convert("RGBA").tobytes()
        assert not after.getexif()
        assert not getattr(after, "text", {})


def test_a_picture_with_a_page_behind_its_end_loses_the_page(shared):
    tail = encoded(picture()) + b"<html><script>canary</script>"
    assert b"canary" not in shared(lambda made, file: made.without_notes(file), tail)


def test_what_cannot_be_rewritten_is_told(shared):
    assert "is a GIF, which is not rewritten" in why(
        shared, question("strip", most_pixels=MOST_PIXELS), encoded(picture(), "GIF")
    )
    broken = png(8, 8)[:-30]
    assert "is damaged" in why(shared, question("strip", most_pixels=MOST_PIXELS), broken)


# Values.


def stored(packed):
    return b"".join(bytes(part) for part in image_of(packed))


def tensor(array, dtype):
    return TensorBytes(dtype, array.shape, memoryview(array.tobytes()))


def look(shared, packed, index=0, form="png"):
    return shared(question("value", digest=digest_of(packed), index=index, picture=form), stored(packed))


def test_a_picture_on_a_wire_is_shown_as_it_would_be_saved(shared):
    from nodes.image import to_pictures
    from nodes.tensors import WireTensor
    from nodes.values import Image

    pixels = np.random.default_rng(0).uniform(-0.2, 1.2, (2, 3, 300, 20)).astype(np.float32)
    value = Image(WireTensor.of_numpy(pixels))
    for index, expected in enumerate(to_pictures(value)):
        found = look(shared, value.write(), index)
        shown = Pillow.open(io.BytesIO(found["image"]))
        assert (shown.format, shown.tobytes()) == ("PNG", expected.tobytes())
        assert (found["width"], found["height"], found["count"]) == (20, 300, 2)
    assert Pillow.open(io.BytesIO(look(shared, value.write(), form="webp")["image"])).format == "WEBP"
    assert look(shared, value.write(), 2) == {"outside": 2}
    facts = look(shared, value.write(), form="facts")
    assert (facts["type"], facts["tensors"][0]["shape"]) == ("Image", [2, 3, 300, 20])


def test_a_mask_is_shown_in_grey_and_what_is_no_number_is_black(shared):
    values = np.full((1, 1, 4, 4), np.nan, np.float32)
    values[0, 0, 0, 0] = 0.5
    shown = Pillow.open(io.BytesIO(look(shared, Packed("Mask", {}, {"values": tensor(values, "F32")}))["image"]))
    assert (shown.mode, shown.getpixel((0, 0)), shown.getpixel((1, 1))) == ("L", 128, 0)


def test_tensors_are_told_by_shape_and_range(shared):
    half = np.array([1.0, -2.5, np.inf, np.nan], np.float32)
    packed = Packed(
        "Latents",
        {"width": 64, "family": "zimage", "folder": "/home/user/models", "windows": "C:\\models"},
        {
            "a": tensor(np.arange(6, dtype=np.int64).reshape(2, 3), "I64"),
            "b": tensor((half.view(np.uint32) >> 16).astype(np.uint16), "BF16"),
            "c": tensor(np.zeros((0, 4), np.float32), "F32"),
            "d": tensor(np.zeros(4, np.uint8), "F8_E4M3"),
        },
    )
    assert look(shared, packed) == {
        "type": "Latents",
        "fields": {"width": 64, "family": "zimage"},
        "tensors": [
            {"name": "a", "shape": [2, 3], "dtype": "I64", "min": 0, "max": 5},
            {"name": "b", "shape": [4], "dtype": "BF16", "min": -2.5, "max": 1.0},
            {"name": "c", "shape": [0, 4], "dtype": "F32", "min": None, "max": None},
            {"name": "d", "shape": [4], "dtype": "F8_E4M3", "min": None, "max": None},
        ],
    }


def test_a_long_text_is_told_and_cut(shared):
    assert look(shared, Packed("text", {"value": "x" * 5000}, {})) == {"type": "text", "value": "x" * 5000, "is_cut": False}
    found = look(shared, Packed("text", {"value": "x" * (1 << 21)}, {}))
    assert (len(found["value"]), found["is_cut"]) == (1 << 20, True)


def test_a_damaged_value_is_lost(shared):
    packed = Packed("Latents", {}, {"a": tensor(np.zeros(4, np.float32), "F32")})
    data = bytearray(stored(packed))
    data[-1] ^= 1
    assert shared(question("value", digest=digest_of(packed), index=0, picture="png"), bytes(data)) == {"lost": True}


def test_the_answers_are_plain_json_but_for_pictures(shared):
    json.dumps(look(shared, Packed("int", {"value": 7}, {})))


def test_the_limit_of_an_answer_is_one_number():
    assert pictures.MOST_ANSWER_BYTES == picture_child.MOST_ANSWER_BYTES
