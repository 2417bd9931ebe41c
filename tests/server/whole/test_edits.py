"""A part of a picture drawn anew over HTTP: the shipped workflow, with masks in the form of OpenAI's API and in grey."""

from __future__ import annotations

import base64
import io
import secrets
from collections.abc import Mapping

import numpy as np
import pytest
from PIL import Image as Pillow

from tests.rig.serving import ROOT, Reply, Server

WHITE_RIGHT = Pillow.new("L", (64, 64), 0)
WHITE_RIGHT.paste(255, (32, 0, 64, 64))
INPUT = Pillow.open(ROOT / "workflows/mini_input.png").convert("RGB")


def png(picture: Pillow.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def form(parts: Mapping[str, str | bytes]) -> tuple[bytes, dict[str, str]]:
    """Texts and PNG files as multipart/form-data, and its header."""
    boundary, body = secrets.token_hex(16), b""
    for name, value in parts.items():
        is_file = isinstance(value, bytes)
        file = f'; filename="{name}.png"\r\nContent-Type: image/png' if is_file else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode()
        body += (value if isinstance(value, bytes) else value.encode()) + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def asked(server: Server, **parts: str | bytes) -> Reply:
    all_parts = {"model": "mini_inpaint", "prompt": "a large green circle on a black background", "steps": "4", "seed": "3"}
    body, headers = form({**all_parts, "image": png(INPUT), **parts})
    return server.request("POST", "/v1/images/edits", body, headers)


def edited(server: Server, **parts: str | bytes) -> np.ndarray:
    reply = asked(server, **parts)
    assert reply.status == 200, reply.body[:2000]
    (one,) = reply.json["data"]
    return np.asarray(Pillow.open(io.BytesIO(base64.b64decode(one["b64_json"]))).convert("RGB"))


def kept(picture: np.ndarray) -> tuple[bool, bool]:
    """Whether the left and the right half are the input's."""
    same = picture == np.asarray(INPUT)
    return bool(same[:, :32].all()), bool(same[:, 32:].all())


@pytest.mark.slow
def test_transparent_places_of_a_mask_are_drawn_anew_and_white_ones_of_a_grey_mask(server: Server) -> None:
    holes = INPUT.copy()
    holes.putalpha(Pillow.eval(WHITE_RIGHT, lambda level: 255 - level))  # as OpenAI's examples: the picture with a hole in it
    clear = edited(server, mask=png(holes))
    assert kept(clear) == (True, False)
    assert np.array_equal(edited(server, mask=png(WHITE_RIGHT)), clear)
    assert np.array_equal(edited(server), clear)  # the workflow's own mask is the same one
    holes.putalpha(WHITE_RIGHT)
    assert kept(edited(server, mask=png(holes))) == (False, True)


@pytest.mark.slow
def test_a_mask_that_is_no_picture_fails_with_the_nodes_words(server: Server) -> None:
    reply = asked(server, mask=b"no picture")
    assert (reply.json["code"], reply.json["node"]) == ("job_failed", "mask"), reply.body
    assert "mask.png is no picture that can be read" in reply.json["detail"]
