"""The gallery over HTTP: pages, parts of files, downloads with and without what made them."""

from __future__ import annotations

import io
import json
from email.utils import formatdate

import pytest
from PIL import Image as Pillow

from graph.publish import publish
from tests.server.api.files_kit import WORKFLOW, library, save
from tests.server.api.kit import run
from tests.server.library.picture_corpus import picture

JOB = "0" * 26
IDS = ["image-0", "image-1", "image-2", f"image-{JOB}-3", "image-4"]


def test_the_list_gives_pages_that_follow_each_other(home):
    async def scenario():
        async with library(home) as front:
            for number in range(5):
                save(home, IDS[number], picture(), job=JOB if number == 3 else "")
            seen, cursor = [], ""
            while cursor is not None:
                _, _, page = await front.ask("GET", f"/v1/outputs?limit=2{cursor and '&cursor='}{cursor}", headers=front.bearer)
                seen += [output["id"] for output in page["outputs"]]
                cursor = page["next"]
            assert seen == IDS[::-1]
            _, _, page = await front.ask("GET", f"/v1/outputs?job={JOB}", headers=front.bearer)
            (found,) = page["outputs"]
            own = f"/v1/outputs/{IDS[3]}"
            assert found["links"] == {
                "self": own, "file": f"{own}/file", "thumbnail": f"{own}/thumbnail", "workflow": f"{own}/workflow",
                "job": f"/v1/jobs/{JOB}",
            }  # fmt: skip
            assert (found["prompt"], found["model"], found["seed"], found["width"], found["starred"]) == (
                "a red circle", "mini", 7, 40, False,
            )  # fmt: skip
            for query, count in (("text=RED", 5), ("text=blue", 0), ("kind=curve", 0), ("workflow=flow", 5), ("offset=4", 1)):
                _, _, page = await front.ask("GET", f"/v1/outputs?{query}", headers=front.bearer)
                assert len(page["outputs"]) == count
            for query in ("limit=0", "limit=201", "offset=-1", "cursor=nonsense", "job=../x"):
                status, _, body = await front.ask("GET", f"/v1/outputs?{query}", headers=front.bearer)
                assert (status, body["code"]) == (422, "invalid")

    run(scenario())


def test_one_output_tells_its_settings_its_run_and_its_workflow(home):
    async def scenario():
        async with library(home) as front:
            content = save(home, "image-1", picture(), job=JOB)
            _, _, found = await front.ask("GET", "/v1/outputs/image-1", headers=front.bearer)
            assert (found["size"], found["settings"]["seed"], found["run"]["job"]) == (len(content), 7, JOB)
            assert "workflow" not in found["run"]
            _, _, body = await front.ask("GET", "/v1/outputs/image-1/workflow", headers=front.bearer)
            assert list(body["workflow"]["nodes"]) == list(WORKFLOW["nodes"])
            save(home, "image-2", picture(), workflow=None)
            status, _, body = await front.ask("GET", "/v1/outputs/image-2/workflow", headers=front.bearer)
            assert (status, body["detail"]) == (404, "Output image-2 does not say which workflow made it.")
            save(home, "image-3", picture(), workflow={"nodes": 3})
            status, _, body = await front.ask("GET", "/v1/outputs/image-3/workflow", headers=front.bearer)
            assert (status, body["code"]) == (422, "invalid_workflow")

    run(scenario())


@pytest.mark.spec("J7")
def test_a_file_is_sent_whole_or_in_the_part_that_is_asked_for(home):
    async def scenario():
        async with library(home) as front:
            content = save(home, "image-1", picture(300, 300))
            address, size = "/v1/outputs/image-1/file", len(content)
            status, headers, body = await front.ask("GET", address, headers=front.bearer)
            assert (status, body, headers["Content-Type"], headers["Accept-Ranges"]) == (200, content, "image/png", "bytes")
            assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
            etag, modified = headers["ETag"], headers["Last-Modified"]
            for text, part in (
                ("bytes=0-99", content[:100]), ("bytes=-100", content[-100:]), ("bytes=100-", content[100:]),
                (f"bytes=0-{size + 5}", content), (f"bytes=-{size + 5}", content), (f"bytes={size - 1}-", content[-1:]),
            ):  # fmt: skip
                status, headers, body = await front.ask("GET", address, headers=front.bearer | {"Range": text})
                assert (status, body) == (206, part), text
                start = content.index(part) if len(part) > 1 else size - 1
                assert headers["Content-Range"] == f"bytes {start}-{start + len(part) - 1}/{size}"
            for text in (f"bytes={size}-", "bytes=-0", f"bytes={size + 10}-{size + 20}"):
                status, headers, body = await front.ask("GET", address, headers=front.bearer | {"Range": text})
                assert (status, headers["Content-Range"], body["code"]) == (416, f"bytes */{size}", "range_not_satisfiable")
            for text in ("bytes=9-1", "lines=0-1", "bytes=0-1,5-6", "bytes=a-b", "bytes=-", "bytes=" + "9" * 40 + "-"):
                status, _, body = await front.ask("GET", address, headers=front.bearer | {"Range": text})
                assert (status, body) == (200, content)
            for version, status in (
                (etag, 206), (modified, 206), ('"other"', 200), (f"W/{etag}", 200), (formatdate(0, usegmt=True), 200),
            ):  # fmt: skip
                asked = front.bearer | {"Range": "bytes=0-9", "If-Range": version}
                assert (await front.ask("GET", address, headers=asked))[0] == status
            status, _, body = await front.ask("GET", address, headers=front.bearer | {"If-None-Match": etag})
            assert (status, body) == (304, b"")
            status, headers, body = await front.ask("HEAD", address, headers=front.bearer)
            assert (status, headers["Content-Length"], body) == (200, str(size), b"")

    run(scenario())


@pytest.mark.spec("J5", "R-P01")
@pytest.mark.parametrize(
    "id",
    ["..%2f..%2fetc%2fpasswd", "%2e%2e", "..%5cx", "image-1.png", "%00", "image-1%0a", "*", "%5Bim%5Dage-1", "x" * 129, "%C3%A9"],
)
def test_an_id_that_leads_elsewhere_is_404(home, id):
    async def scenario():
        async with library(home) as front:
            save(home, "image-1", picture())
            for method, tail in (
                ("GET", ""), ("GET", "/file"), ("GET", "/thumbnail"), ("GET", "/workflow"), ("DELETE", ""), ("PUT", "/star"),
            ):  # fmt: skip
                status, _, body = await front.ask(method, f"/v1/outputs/{id}{tail}", headers=front.bearer)
                assert (status, body["code"]) == (404, "not_found")
            assert (home / "outputs" / "image-1.png").exists()

    run(scenario())


@pytest.mark.spec("R-N09")
def test_what_a_node_wrote_is_shown_only_if_its_bytes_are_a_raster_picture(home):
    async def scenario():
        async with library(home) as front:
            page = b"<svg><script>alert(1)</script></svg>"
            publish(home / "outputs", "evil", ".png", page, {"id": "evil", "file": "evil.png", "kind": "image"})
            _, headers, body = await front.ask("GET", "/v1/outputs/evil/file", headers=front.bearer)
            assert body == page
            assert headers["Content-Type"] == "application/octet-stream"
            assert headers["Content-Disposition"].startswith("attachment; filename=\"evil.png\"; filename*=UTF-8''evil.png")
            assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
            assert headers["X-Content-Type-Options"] == "nosniff"
            status, _, body = await front.ask("GET", "/v1/outputs/evil/thumbnail", headers=front.bearer)
            assert (status, body["code"]) == (422, "unreadable_picture")

    run(scenario())


def test_without_metadata_the_pixels_are_the_same_and_nothing_else_is_in_it(home):
    async def scenario():
        async with library(home) as front:
            content = save(home, "image-1", picture(), prompt="canary")
            assert b"canary" in content
            _, headers, body = await front.ask("GET", "/v1/outputs/image-1/file?metadata=none", headers=front.bearer)
            assert headers["Content-Disposition"].startswith("attachment;")
            assert b"canary" not in body
            assert Pillow.open(io.BytesIO(body)).tobytes() == Pillow.open(io.BytesIO(content)).tobytes()
            publish(home / "outputs", "curve", ".curve", b"{}", {"id": "curve", "file": "curve.curve", "kind": "curve"})
            status, _, body = await front.ask("GET", "/v1/outputs/curve/file?metadata=none", headers=front.bearer)
            assert (status, body["detail"]) == (
                422, "Output curve is no picture; it has no metadata to leave out. Download it as it is.",
            )  # fmt: skip

    run(scenario())


@pytest.mark.spec("J8")
@pytest.mark.parametrize("form", ["webm", "gif"])
def test_a_form_without_an_encoder_is_501(home, form):
    async def scenario():
        async with library(home) as front:
            save(home, "image-1", picture())
            status, _, body = await front.ask("GET", f"/v1/outputs/image-1/file?form={form}", headers=front.bearer)
            assert (status, body["code"]) == (501, "not_implemented")
            assert body["detail"] == f"This server has no encoder for {form}. Download the original."

    run(scenario())


def test_stars_thumbnails_and_deleting(home):
    async def scenario():
        async with library(home) as front:
            for id in ("image-1", "image-2"):
                save(home, id, picture(800, 400))
                assert (await front.ask("GET", f"/v1/outputs/{id}/thumbnail", headers=front.bearer))[0] == 200
            assert (await front.ask("PUT", "/v1/outputs/image-1/star", headers=front.bearer))[0] == 204
            _, _, page = await front.ask("GET", "/v1/outputs?starred=true", headers=front.bearer)
            assert [output["id"] for output in page["outputs"]] == ["image-1"]
            assert (await front.ask("DELETE", "/v1/outputs/image-1/star", headers=front.bearer))[0] == 204
            assert (await front.ask("DELETE", "/v1/outputs/image-1", headers=front.bearer))[0] == 204
            assert (await front.ask("GET", "/v1/outputs/image-1", headers=front.bearer))[0] == 404
            assert sorted(path.name for path in (home / "outputs").iterdir()) == ["image-2.json", "image-2.png"]
            assert [path.name for path in (home / "thumbnails").iterdir()] == ["output-image-2.256.webp"]

    run(scenario())


def test_half_an_output_is_never_sent(home):
    async def scenario():
        async with library(home) as front:
            save(home, "image-1", picture())
            (home / "outputs" / "image-1.json").unlink()
            (home / "outputs" / "note.json").write_text(json.dumps({"id": "note", "file": "note.png", "kind": "image"}))
            for id in ("image-1", "note"):
                assert (await front.ask("GET", f"/v1/outputs/{id}/file", headers=front.bearer))[0] == 404
            _, _, page = await front.ask("GET", "/v1/outputs", headers=front.bearer)
            assert page == {"outputs": [], "next": None}

    run(scenario())
