"""What ports held is looked at in the memo's files: nothing is computed, nothing is published."""

from __future__ import annotations

import io
import math
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image as Pillow

from graph.blob import digest_of
from graph.memo import Action, Finished, Memo
from graph.types import Packed, encode
from nodes.tensors import WireTensor
from nodes.values import Image, Latents
from server.jobs.record import JobResult
from tests.server.api.files_kit import library
from tests.server.api.kit import run

SPECS = {
    "denoise": SimpleNamespace(outputs=(SimpleNamespace(name="latents"), SimpleNamespace(name="seed"))),
    "decode": SimpleNamespace(outputs=(SimpleNamespace(name="image"),)),
}
PIXELS = np.random.default_rng(0).uniform(0, 1, (2, 3, 16, 24)).astype(np.float32)
LATENTS = Latents(24, 16, "mini", WireTensor.of_numpy(np.linspace(-1, 2, 12, dtype=np.float32).reshape(1, 2, 2, 3)))


def keep(home, *packed: Packed):
    """Write values as an engine does, and end it."""
    memo = Memo(home / "memo", 2**30, 2**20)
    memo.commit([
        Finished((bytes([number]) * 32,), Action((digest_of(one),), ("x",), 1.0, "x", 1.0), ((digest_of(one), one),))
        for number, one in enumerate(packed)
    ])  # fmt: skip
    memo.close()


def row(id, type, *packed, element=None, state="done"):
    return {"id": id, "element": element, "type": type, "state": state, "outputs": [digest_of(one).hex() for one in packed]}


def looked_at(home, rows, address, kept=(), **query):
    async def scenario():
        if kept:
            keep(home, *kept)
        async with library(home) as front:
            front.services.catalogue = SimpleNamespace(specs=SPECS)
            job = front.services.desk.add(JobResult(nodes=tuple(rows)))
            options = "&".join(f"{name}={value}" for name, value in query.items())
            status, headers, body = await front.ask("GET", f"/v1/jobs/{job.id}/values/{address}?{options}", headers=front.bearer)
            assert not (home / "outputs").exists() or list((home / "outputs").iterdir()) == []
            return status, headers, body

    return run(scenario())


IMAGE = Image(WireTensor.of_numpy(PIXELS)).write()


def test_a_picture_is_shown(home):
    rows = [row("up/decode", "decode", IMAGE)]
    status, headers, body = looked_at(home, rows, "up%2Fdecode/image", [IMAGE], form="png", index=1)
    assert (status, headers["Content-Type"], headers["Pictures"]) == (200, "image/png", "2")
    shown = np.asarray(Pillow.open(io.BytesIO(body)))
    assert (shown == (PIXELS[1].transpose(1, 2, 0) * 255).round().astype(np.uint8)).all()


def test_by_default_it_is_a_webp_and_its_facts_are_to_be_had(home):
    rows = [row("decode", "decode", IMAGE)]
    _, headers, body = looked_at(home, rows, "decode/image", [IMAGE])
    assert (headers["Content-Type"], Pillow.open(io.BytesIO(body)).format) == ("image/webp", "WEBP")
    _, _, body = looked_at(home, rows, "decode/image", [IMAGE], form="facts")
    assert (body["type"], body["tensors"][0]["shape"]) == ("Image", [2, 3, 16, 24])
    status, _, body = looked_at(home, rows, "decode/image", [IMAGE], index=2)
    assert (status, body["detail"]) == (404, "The value holds 2 pictures, counted from 0; there is no number 2.")


def test_tensors_are_told_by_shape_dtype_and_range(home):
    rows = [row("sample", "denoise", LATENTS.write(), encode(7))]
    _, _, body = looked_at(home, rows, "sample/latents", [LATENTS.write()])
    assert body["tensors"] == [{"name": "samples", "shape": [1, 2, 2, 3], "dtype": "F32", "min": -1.0, "max": 2.0}]
    assert body["fields"] == {"width": 24, "height": 16, "family": "mini"}


@pytest.mark.parametrize("value", [7, 2**60, 0.5, True, "é" * 10, "x" * 5000])
def test_plain_values_are_json_whether_they_lie_in_the_table_or_in_a_file(home, value):
    rows = [row("sample", "denoise", LATENTS.write(), encode(value))]
    status, _, body = looked_at(home, rows, "sample/seed", [encode(value)])
    assert (status, body["value"]) == (200, value)


def test_what_is_no_json_number_is_a_text(home):
    packed = encode(math.inf)
    status, _, body = looked_at(home, [row("sample", "denoise", LATENTS.write(), packed)], "sample/seed", [packed])
    assert (status, body["value"]) == (200, "inf")


def test_a_mapped_node_is_asked_by_element(home):
    packed = [encode(float(number)) for number in range(3)]
    rows = [row("sample", "denoise", LATENTS.write(), one, element=number) for number, one in enumerate(packed)]
    _, _, body = looked_at(home, rows, "sample/seed", packed, element=2)
    assert body["value"] == 2.0
    status, _, body = looked_at(home, rows, "sample/seed", packed)
    assert (status, body["detail"]) == (404, "sample has no such element: it ran for elements 0 to 2. Set `element` accordingly.")
    _, _, body = looked_at(home, rows[:1], "sample/seed", packed, element=1)
    assert "it ran for elements 0 to 0" in body["detail"]


def test_what_is_not_there_is_told_with_what_to_do(home):
    rows = [
        row("sample", "denoise", LATENTS.write(), encode(7)),
        {"id": "cached", "element": None, "type": "decode", "state": "cached", "outputs": []},
        {"id": "failed", "element": None, "type": "decode", "state": "failed", "outputs": []},
    ]
    advice = "Run the job again with this node as its target; what is remembered of it is not computed twice."
    for address, detail in (
        ("other/image", "The job has no node other, or it was not wanted. GET /v1/jobs/"),
        ("sample/image", "sample has no output image. It has: latents, seed."),
        ("cached/image", f"What cached gave was not looked at in this job. {advice}"),
        ("failed/image", "failed was failed in this job and gave nothing."),
        ("sample/latents", f"The value is not kept: it took no time to make, or it made room for others. {advice}"),
        ("sample/seed", f"The value is not kept: it took no time to make, or it made room for others. {advice}"),
    ):
        status, _, body = looked_at(home, rows, address)
        assert (status, body["code"]) == (404, "not_found")
        assert body["detail"].startswith(detail)


def test_a_damaged_value_is_as_good_as_gone(home):
    packed = LATENTS.write()
    keep(home, packed)
    (path,) = (home / "memo" / "objects").glob("*/*")
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    status, _, body = looked_at(home, [row("sample", "denoise", packed)], "sample/latents")
    assert (status, body["detail"][:22]) == (404, "The value is not kept:")


def test_a_job_that_has_not_ended_is_409(home):
    async def scenario():
        async with library(home) as front:
            front.services.catalogue = SimpleNamespace(specs=SPECS)
            job = front.services.desk.add(None, "running")
            status, _, body = await front.ask("GET", f"/v1/jobs/{job.id}/values/a/b", headers=front.bearer)
            assert (status, body["detail"]) == (409, "The job is running; its values can be looked at when it has ended.")
            for address in ("a/..%2f..%2fx", "..%2f/b", "A/b", "a%00/b", "a/b%0a", "%2fa/b", "a%2F/b"):
                status, _, body = await front.ask("GET", f"/v1/jobs/{job.id}/values/{address}", headers=front.bearer)
                assert (status, body["code"]) == (404, "not_found")

    run(scenario())


def test_looking_leaves_the_engines_files_as_they_are(home):
    packed = encode(7)
    keep(home, packed)
    before = {path.name: path.read_bytes() for path in (home / "memo").iterdir() if path.is_file()}
    looked_at(home, [row("sample", "denoise", LATENTS.write(), packed)], "sample/seed")
    after = {path.name: path.read_bytes() for path in (home / "memo").iterdir() if path.is_file() and path.stat().st_size}
    assert {name: after.get(name) for name in before if name.endswith(".db")} == {
        name: content for name, content in before.items() if name.endswith(".db")
    }
