"""What bytes are, by their beginning."""

from __future__ import annotations

import io

import pytest
from PIL import Image as Pillow

from server.library.media import media_of


def encoded(format):
    buffer = io.BytesIO()
    Pillow.new("RGB", (8, 8), "red").save(buffer, format)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("format", "type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp"), ("BMP", "image/bmp")],
)
def test_pictures_are_known_by_their_bytes(format, type):
    assert media_of(encoded(format)).type == type
    assert media_of(encoded(format)).is_shown


@pytest.mark.parametrize(
    ("head", "type"),
    [
        (b"\0\0\0\x20ftypisom\0\0\2\0", "video/mp4"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "video/webm"),
        (b"\0\0\0\x20ftypavif", "image/avif"),
    ],
)
def test_videos_are_known_by_their_bytes(head, type):
    assert media_of(head).type == type


@pytest.mark.spec("R-N09")
@pytest.mark.parametrize(
    "head",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>", b"<!doctype html>", b"<html>", b"%PDF-1.7", b"<?xml version='1.0'?>",
        b"alert(1)//", b"", b"BM<script>alert(1)</script>", b"BMalert(1)\0\0\0\0", b"\x89PNG\r\n", b"RIFFxxxxWAVE", b"\x1f\x8b",
        b"PK\3\4", b"#!/bin/sh", b"<html>GIF89a", b" \x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\0\0\x20ftypqt  ", b"SIMPLE  = T",
        b"%!PS-Adobe", b"8BPS\0\1", b"II*\0", b'{"format": "other"}', b"\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska",
    ],
)  # fmt: skip
def test_nothing_else_is_shown_in_a_page(head):
    media = media_of(head)
    assert (media.kind, media.type, media.is_shown) == ("other", "application/octet-stream", False)


def test_a_curve_is_known_but_not_shown():
    media = media_of(b'{\n  "format": "latentgraph/curve-1",')
    assert (media.kind, media.is_shown) == ("curve", False)
