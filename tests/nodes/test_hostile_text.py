"""Texts and pictures of any kind: taken, or refused with the declared error, in time that grows with their length."""

from __future__ import annotations

import io
import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from graph.blob import Damaged, image_of, pack, read_image
from graph.context import Context
from graph.document import read_document
from graph.errors import Refused, WorkflowError
from graph.jsontext import JsonError, read_json, write_json
from graph.memo import Action, _action_from, _small_value
from graph.node import declaration_of
from graph.publish import unique_name
from graph.shortage import shortage_in
from graph.types import Packed
from nodes.configs import read_config
from nodes.curves import read_curve
from nodes.file_kinds import kind_of
from nodes.image import open_picture
from nodes.models import find_model
from nodes.primitives import integers, numbers, texts
from nodes.save import RUN_CHUNK, WORKFLOW_CHUNK, parameters_line, read_png
from nodes.weights import weights_of

# ---- linear time ----


def quietly(errors, work):
    """A call whose refusal is as good as its result."""

    def call(text):
        try:
            work(text)
        except errors:
            return

    return call


def document_of(text):
    return json.dumps(
        {
            "format": "latentgraph/workflow",
            "version": "1.0",
            "name": text,
            "nodes": {"a": {"type": "text", "inputs": {"value": text}}},
        }
    )


READERS = {
    "JSON text": lambda text: read_json(write_json(text)),
    "JSON garbage": quietly(JsonError, read_json),
    "JSON string without an end": quietly(JsonError, lambda text: read_json('"' + text.replace('"', ""))),
    "document": lambda text: read_document(document_of(text)),
    "document garbage": quietly(WorkflowError, read_document),
    "list of texts": quietly(Refused, lambda text: declaration_of(texts).call(Context(), text)),
    "list of numbers": quietly(Refused, lambda text: declaration_of(numbers).call(Context(), text)),
    "list of whole numbers": quietly(Refused, lambda text: declaration_of(integers).call(Context(), text)),
    "file name": unique_name,
    "model name": lambda text: _find(text),
    "picture's settings": lambda text: parameters_line({"prompt": text, "negative_prompt": text, "width": 1, "height": 1}),
    "kind of file": lambda text: kind_of(text.encode()),
    "error message": lambda text: shortage_in("RuntimeError", text),
    "curve": quietly((ValueError, TypeError, KeyError, RecursionError), lambda text: read_curve(text.encode())),
}


def _find(text):
    from pathlib import Path

    with pytest.raises(Refused):
        find_model(text[:100_000] + "!", Path("nowhere"))


#: What makes backtracking, nesting or repeated looking grow.
PATTERNS = [
    "(",
    "\\",
    " ",
    ",",
    "[",
    "{",
    '"',
    '\\"',
    "a",
    "a.",
    "1",
    "1.",
    "-",
    "\n",
    "(((a:1.1)",
    "{a|b}",
    "__",
    '{"a":',
    "tried to allocate 1",
    "ä",
]


def seconds(work, text):
    """The least of three, on this thread's own clock: others may use the machine."""
    best = float("inf")
    for _ in range(3):
        started = time.thread_time()
        work(text)
        best = min(best, time.thread_time() - started)
    return best


def assert_linear(name, pattern, length):
    short, long = (pattern * (length // len(pattern)), pattern * (8 * length // len(pattern)))
    once, eight = seconds(READERS[name], short), seconds(READERS[name], long)
    # Of work in proportion 8 is expected, of work with the square 64. What takes no time says nothing.
    assert eight < 0.02 or eight < 30 * once, (name, pattern, once, eight)


@pytest.mark.spec("R-I13")
@pytest.mark.proves(22)
@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_text_is_read_in_time_that_grows_with_its_length(name):
    for pattern in PATTERNS:
        assert_linear(name, pattern, 8_000)


@pytest.mark.spec("R-I13")
@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_a_text_of_a_million_is_read_in_time_that_grows_with_its_length(name):
    for pattern in PATTERNS:
        assert_linear(name, pattern, 125_000)


@pytest.mark.spec("R-I13", "R-M06")
@pytest.mark.slow
def test_a_prompt_of_a_million_signs_is_tokenized_in_time_that_grows_with_its_length(tiny, call, recording):
    from nodes.text import tokenize

    live = tiny.tokenizer.build("cpu")
    from nodes.families import family

    for pattern in ("(", "\\", " ", ",", "a ", "((a:1.1), "):
        assert_tokenized(family("z-image"), live, pattern)
    assert call(recording(), tokenize, tiny.tokenizer, "(" * 10_000).ids.shape == (1, 512)


def assert_tokenized(adapter, live, pattern):
    once, eight = (
        seconds(lambda text: adapter.tokenize(live, text), pattern * (size // len(pattern))) for size in (4_000, 32_000)
    )
    assert eight < 0.05 or eight < 30 * once, (pattern, once, eight)


# ---- any bytes ----


def png(**texts):
    chunks = PngInfo()
    for name, text in texts.items():
        chunks.add_itxt(name, text)
    buffer = io.BytesIO()
    Pillow.new("RGB", (4, 3), "red").save(buffer, "PNG", pnginfo=chunks)
    return buffer.getvalue()


PNG = png(**{RUN_CHUNK: '{"settings": {"seed": 1}, "run": {}}', WORKFLOW_CHUNK: '{"nodes": {}}'})
DOCUMENT = document_of("x").encode()
ROW = pack(tuple(Action((b"d" * 32,), ("Image",), 1.0, "t", 0.0, {"a": 1})))
IMAGE = b"".join(image_of(Packed("text", {"value": "x", "list": [1, 2.5, None]}, {})))


def read_row(data):
    assert _action_from(data) is None or isinstance(_action_from(data), Action)
    assert _small_value(b"x" * 32, data) is None


#: What reads bytes of others, what it may raise, and whole bytes to spoil.
FUZZED = {
    "document": (read_document, (WorkflowError,), DOCUMENT),
    "memo record": (read_row, (), ROW),
    "value": (lambda data: read_image(memoryview(data)), (Damaged,), IMAGE),
    "PNG metadata": (read_png, (ValueError,), PNG),
    "picture": (lambda data: open_picture(data, "x"), (ValueError,), PNG),
    "curve": (read_curve, (ValueError, TypeError, KeyError, RecursionError), b'{"format": "latentgraph/curve"}'),
}


def fuzz(name, data):
    read, errors, _ = FUZZED[name]
    try:
        read(data)
    except errors:
        return


@st.composite
def spoilt(draw, whole):
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 8))
        data[at : at + length] = draw(st.binary(max_size=8))
    return bytes(data)


@pytest.mark.spec("R-I11")
@pytest.mark.proves(22)
@pytest.mark.parametrize("name", FUZZED)
def test_spoilt_bytes_raise_nothing_but_the_declared_error(name):
    @settings(max_examples=120, deadline=None, derandomize=True)
    @given(st.one_of(st.binary(max_size=100), spoilt(FUZZED[name][2])))
    def check(data):
        fuzz(name, data)

    check()


@pytest.mark.spec("R-I11")
@pytest.mark.long
@pytest.mark.parametrize("name", FUZZED)
def test_a_long_flood_of_spoilt_bytes_raises_nothing_but_the_declared_error(name):
    drawn = random.Random(13)
    whole = FUZZED[name][2]
    for _ in range(50_000):
        data = bytearray(whole)
        for _ in range(drawn.randrange(1, 9)):
            at = drawn.randrange(len(data) + 1)
            data[at : at + drawn.randrange(9)] = drawn.randbytes(drawn.randrange(9))
        fuzz(name, bytes(data))


@pytest.mark.spec("R-I09")
@pytest.mark.proves(19, 22)
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({WORKFLOW_CHUNK: "[" * 100_000}, 'its text "workflow" is no JSON that this program wrote'),
        ({WORKFLOW_CHUNK: "[1]"}, 'its text "workflow" holds no JSON object'),
        ({RUN_CHUNK: '{"settings": []}'}, '"settings" in its text "latentgraph" is no JSON object'),
        ({WORKFLOW_CHUNK: " " * (70 * 2**20)}, "this is no readable PNG"),
    ],
)
def test_a_picture_with_hostile_texts_is_refused(texts, message):
    chunks = PngInfo()
    for name, text in texts.items():
        chunks.add_itxt(name, text, zip=len(text) > 2**20)
    buffer = io.BytesIO()
    Pillow.new("RGB", (4, 3)).save(buffer, "PNG", pnginfo=chunks)
    with pytest.raises(ValueError, match=message):
        read_png(buffer.getvalue())


@pytest.mark.spec("R-I11")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.binary(max_size=300))
def test_any_bytes_as_a_model_file_are_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    (folder / "config.json").write_bytes(data)
    (folder / "model.safetensors").write_bytes(data)
    for read in (lambda: read_config(folder / "config.json"), lambda: weights_of(folder, "model")):
        try:
            read()
        except Refused:
            continue
