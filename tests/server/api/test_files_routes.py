"""Files over HTTP: raw bodies in, harmless downloads out."""

from __future__ import annotations

import hashlib
import io
from urllib.parse import quote

import pytest
from PIL import Image as Pillow

from tests.server.api.files_kit import library
from tests.server.api.kit import run
from tests.server.library.picture_corpus import REFUSED, encoded, picture, text_png

DOCUMENT = '{"format": "latentgraph/workflow", "version": "1.0", "nodes": {"one": {"type": "unheard_of", "inputs": {}}}}'


async def upload(front, content, name="picture.png", **headers):
    headers = front.bearer | {"Content-Type": "application/octet-stream", "X-File-Name": quote(name)} | headers
    return await front.ask("POST", "/v1/files", data=content, headers=headers)


def test_a_file_is_sent_raw_and_found_by_the_hash_of_its_content(home):
    async def scenario():
        async with library(home) as front:
            content = encoded(picture())
            status, headers, body = await upload(front, content, "Grüße/../blau.png")
            sha256 = hashlib.sha256(content).hexdigest()
            assert (status, headers["Location"]) == (201, f"/v1/files/{sha256}")
            assert body == {
                "sha256": sha256,
                "name": "blau.png",
                "size": len(content),
                "kind": "image",
                "created": body["created"],
            }
            assert (home / "files" / sha256).read_bytes() == content
            for method, expected in (("GET", body), ("HEAD", b"")):
                status, _, found = await front.ask(method, f"/v1/files/{sha256}", headers=front.bearer)
                assert (status, found or b"") == (200, expected)
            assert (await front.ask("HEAD", f"/v1/files/{'0' * 64}", headers=front.bearer))[0] == 404
            _, _, page = await front.ask("GET", "/v1/files?limit=1", headers=front.bearer)
            assert page == {"files": [body], "next": None}

    run(scenario())


def test_a_file_goes_when_it_is_deleted_and_stays_while_it_is_named(home):
    async def scenario():
        async with library(home) as front:
            sha256 = (await upload(front, encoded(picture())))[2]["sha256"]
            await front.ask("GET", f"/v1/files/{sha256}/thumbnail", headers=front.bearer)
            assert list((home / "thumbnails").iterdir())
            named = frozenset((sha256,))

            async def names():
                return named

            front.services.files.kept_by("a job", names)
            status, _, body = await front.ask("DELETE", f"/v1/files/{sha256}", headers=front.bearer)
            assert (status, body["code"]) == (409, "in_use")
            named = frozenset()
            assert (await front.ask("DELETE", f"/v1/files/{sha256}", headers=front.bearer))[0] == 204
            assert (await front.ask("DELETE", f"/v1/files/{sha256}", headers=front.bearer))[0] == 404
            assert list((home / "files").iterdir()) == []
            assert list((home / "thumbnails").iterdir()) == []

    run(scenario())


@pytest.mark.spec("L7")
def test_one_byte_too_many_is_413_with_and_without_a_length(home):
    async def scenario():
        async with library(home, max_upload_bytes=2000) as front:
            assert (await upload(front, bytes(2000)))[0] == 201

            async def chunked():
                for _ in range(3):
                    yield bytes(667)

            for content in (bytes(2001), chunked()):
                status, _, body = await upload(front, content)
                assert (status, body["code"], body["limit_bytes"]) == (413, "too_large", 2000)
            assert len(list((home / "files").iterdir())) == 2

    run(scenario())


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"X-File-Name": "%ff"}, 400, "malformed"),
        ({"X-File-Name": "x" * 3001}, 400, "malformed"),
        ({"Content-Type": "image/png"}, 415, "unsupported_type"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415, "unsupported_type"),
    ],
)
def test_an_upload_in_another_form_is_refused(home, headers, status, code):
    async def scenario():
        async with library(home) as front:
            found, _, body = await upload(front, b"x", **headers)
            assert (found, body["code"]) == (status, code)

    run(scenario())


@pytest.mark.spec("R-P05", "R-P01")
@pytest.mark.parametrize(
    "id",
    [
        "0" * 63,
        "A" * 64,
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e",
        "..%5c..%5cx",
        "%00",
        "\u0660" * 64,
        "0" * 64 + "%0a",
        "~",
        "x" * 300,
    ],
)
def test_an_id_that_is_no_hash_is_404(home, id):
    async def scenario():
        async with library(home) as front:
            for method, tail in (("GET", ""), ("GET", "/content"), ("GET", "/thumbnail"), ("DELETE", ""), ("POST", "/workflow")):
                status, _, body = await front.ask(method, f"/v1/files/{quote(id, safe='%')}{tail}", headers=front.bearer)
                assert (status, body["code"]) == (404, "not_found")
                assert str(home) not in str(body)

    run(scenario())


CORPUS = {
    "page.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>fetch('/beacon')</script></svg>",
    "page.html": b"<!doctype html><script>fetch('/beacon')</script>",
    "page.xhtml": b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><script>x()</script></html>",
    "page.xml": b"<?xml-stylesheet href='x.xsl'?><a/>",
    "paper.pdf": b"%PDF-1.7\n",
    "script.png": b"alert(1)",
    "polyglot.gif.js": b"GIF89a=1;alert(1)//",
    "tail.png": encoded(picture()) + b"<html><script>alert(1)</script>",
    "data.json": b'{"a": 1}',
}


@pytest.mark.spec("R-N09")
@pytest.mark.proves(19)
@pytest.mark.parametrize("name", CORPUS)
def test_what_users_send_runs_no_script(home, name):
    async def scenario():
        async with library(home) as front:
            sha256 = (await upload(front, CORPUS[name], name))[2]["sha256"]
            status, headers, _ = await front.ask("GET", f"/v1/files/{sha256}/content", headers=front.bearer)
            assert status == 200
            raster = name in ("tail.png", "polyglot.gif.js")
            assert headers["Content-Type"] == (
                {"tail.png": "image/png"}.get(name, "image/gif") if raster else "application/octet-stream"
            )
            assert headers["Content-Disposition"].startswith("inline;" if raster else "attachment;")
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
            assert name in headers["Content-Disposition"]

    run(scenario())


def test_a_thumbnail_is_a_small_webp(home):
    async def scenario():
        async with library(home) as front:
            sha256 = (await upload(front, encoded(picture(900, 300))))[2]["sha256"]
            status, headers, body = await front.ask("GET", f"/v1/files/{sha256}/thumbnail?size=200", headers=front.bearer)
            assert (status, headers["Content-Type"]) == (200, "image/webp")
            assert Pillow.open(io.BytesIO(body)).size == (256, 85)
            known = front.bearer | {"If-None-Match": headers["ETag"]}
            assert (await front.ask("GET", f"/v1/files/{sha256}/thumbnail?size=200", headers=known))[0] == 304
            assert (await front.ask("GET", f"/v1/files/{sha256}/thumbnail?size=9999", headers=front.bearer))[0] == 422

    run(scenario())


@pytest.mark.spec("R-I08")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_picture_is_422_and_the_server_goes_on(home, name):
    async def scenario():
        async with library(home) as front:
            sha256 = (await upload(front, REFUSED[name][0]()))[2]["sha256"]
            status, _, body = await front.ask("GET", f"/v1/files/{sha256}/thumbnail", headers=front.bearer)
            assert (status, body["code"]) == (422, "unreadable_picture")
            assert REFUSED[name][1] in body["detail"]

    run(scenario())


@pytest.mark.spec("R-I09")
@pytest.mark.proves(19)
def test_the_workflow_in_a_picture_is_read_and_never_run(home):
    async def scenario():
        async with library(home) as front:
            sha256 = (await upload(front, text_png(DOCUMENT)))[2]["sha256"]
            status, _, body = await front.ask("POST", f"/v1/files/{sha256}/workflow", headers=front.bearer)
            assert status == 200
            assert list(body["workflow"]["nodes"]) == ["one"]  # of a type that is unknown here: it is the user's to look at
            assert front.services.desk.orders == []
            for content, code in (
                (text_png("[" * 99_999), "invalid_workflow"),
                (encoded(picture()), "not_found"),
                (b"x", "unreadable_picture"),
            ):
                sha256 = (await upload(front, content))[2]["sha256"]
                _, _, body = await front.ask("POST", f"/v1/files/{sha256}/workflow", headers=front.bearer)
                assert body["code"] == code

    run(scenario())
