"""The header of a safetensors file is judged before anything maps the file: refused with a sentence, or read as the reference reads it."""

from __future__ import annotations

import io
import json
import random
import tracemalloc

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save

from graph.errors import Refused
from nodes import weights
from nodes.tensor_header import MAX_HEADER_BYTES, BadHeader, read_tensor_header
from nodes.weights import weights_of


def file_of(header, body=b"", length=None):
    """The bytes of a file with this header (text, or what becomes JSON)."""
    raw = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return (len(raw) if length is None else length).to_bytes(8, "little") + raw + body


def tensor(shape, begin, end, dtype="U8", **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def header_of(data):
    return read_tensor_header(io.BytesIO(data), len(data))


GOOD = {"a": tensor([2], 0, 2), "b": tensor([1, 2], 2, 4)}
BODY = b"wxyz"
_DEEP = '{"a":' + "[" * 50_000

REFUSED = {
    "length beyond all files": (file_of(GOOD, BODY, 2**64 - 1), "its header says 18446744073709551615 bytes, the file has"),
    "length beyond the file": (file_of(GOOD, BODY, 1000), "its header says 1000 bytes, the file has"),
    "length one too long": (file_of({"a": tensor([1], 0, 1)}, b"", 10**6), "its header says 1000000 bytes"),
    "empty file": (b"", "its header says 0 bytes, the file has 0"),
    "only a length": (b"\x02" + bytes(7), "its header says 2 bytes, the file has 8"),
    "header over 16 MiB": (file_of("{}" + " " * MAX_HEADER_BYTES), "its header has 16777218 bytes, and 16777216 are taken"),
    "leading spaces": (file_of("  " + json.dumps(GOOD), BODY), "its header does not begin with an object"),
    "a list": (file_of([1, 2], BODY), "its header does not begin with an object"),
    "no JSON": (file_of('{"a"', BODY), "its header cannot be read"),
    "text behind": (file_of(json.dumps(GOOD) + "x", BODY), "its header cannot be read"),
    "deep nesting": (file_of(_DEEP, BODY), r"its header cannot be read \(nested too deep\)"),
    "UTF-16": (file_of(json.dumps(GOOD).encode("utf-16"), BODY), "its header does not begin with an object"),
    "bad UTF-8": (file_of(b'{"\xff": 1}', BODY), "its header cannot be read"),
    "doubled name": (
        file_of(f'{{"a":{json.dumps(tensor([4], 0, 4))},"a":{json.dumps(tensor([2, 2], 0, 4))}}}', BODY),
        r'its header cannot be read \("a" stands there twice\)',
    ),
    "doubled field": (file_of('{"a":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}}', BODY), '"dtype" stands there twice'),
    "no tensors": (file_of({}), "it holds no tensor"),
    "notes that are no texts": (file_of({"__metadata__": {"a": 1}, **GOOD}, BODY), "holds notes that are no texts"),
    "notes that are a list": (file_of({"__metadata__": [], **GOOD}, BODY), "holds notes that are no texts"),
    "overlap": (file_of({"a": tensor([3], 0, 3), "b": tensor([2], 2, 4)}, BODY), '"b" begins at byte 2 where 3 is due'),
    "same place twice": (file_of({"a": tensor([4], 0, 4), "b": tensor([4], 0, 4)}, BODY), '"b" begins at byte 0 where 4 is due'),
    "hole": (file_of({"a": tensor([1], 0, 1), "b": tensor([2], 2, 4)}, BODY), '"b" begins at byte 2 where 1 is due'),
    "hole at the start": (file_of({"a": tensor([2], 2, 4)}, BODY), '"a" begins at byte 2 where 0 is due'),
    "trailing bytes": (file_of(GOOD, BODY + b"#!/bin/sh"), "its tensors take 4 bytes and it has 13 for them"),
    "cut short": (file_of(GOOD, BODY[:-1]), "its tensors take 4 bytes and it has 3 for them"),
    "beyond the file": (file_of({"a": tensor([10**6], 0, 10**6)}, BODY), "its tensors take 1000000 bytes and it has 4"),
    "negative offset": (file_of({"a": tensor([4], -4, 0)}, BODY), r'"a" lies at \[-4, 0\]'),
    "offsets turned around": (file_of({"a": tensor([4], 4, 0)}, BODY), r'"a" lies at \[4, 0\]'),
    "three offsets": (file_of({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4, 4]}}, BODY), r'"a" lies at \[0, 4, 4\]'),
    "offset with a point": (file_of('{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4.0]}}', BODY), "4.0 is no whole number"),
    "offset that is true": (file_of({"a": tensor([1], 0, True)}, b"x"), r'"a" lies at \[0, True\]'),
    "shape with NaN": (file_of('{"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,4]}}', BODY), "NaN is no whole number"),
    "shape that overflows": (file_of({"a": tensor([2**33, 2**31], 0, 0)}), r'"a" has the shape \[8589934592, '),
    "shape of 17 sides": (file_of({"a": tensor([1] * 17, 0, 1)}, b"x"), "up to 16 sides"),
    "nothing times 2^60": (file_of({"a": tensor([0, 2**60], 0, 0)}), r'"a" has the shape \[0, 1152921504606846976\]'),
    "negative side": (file_of({"a": tensor([-1], 0, 1)}, b"x"), r'"a" has the shape \[-1\]'),
    "more than its bytes": (file_of({"a": tensor([8], 0, 4, "F32")}, BODY), r'"a" of F32 \[8\] does not take 4 bytes'),
    "empty ones at one place": (file_of({"a": tensor([0], 0, 0), "b": tensor([0], 0, 0), **{"c": tensor([4], 0, 4)}}, BODY), '"b" is the second empty one at byte 0'),
    "100,000 empty ones": (file_of({f"t{i}": tensor([0], 0, 0) for i in range(100_000)}), "more than 20000 tensors"),
    "20,001 tensors": (file_of({f"t{i}": tensor([1], i, i + 1) for i in range(20_001)}, bytes(20_001)), "more than 20000 tensors"),
    "millions of signs": (file_of('{"a":[' + "0," * 4_000_000 + "0]}"), "more than 20000 tensors"),
    "dtype that is no text": (file_of({"a": tensor([4], 0, 4, 7)}, BODY), '"a" has a dtype that is no text'),
    "shape that is no list": (file_of({"a": tensor("4", 0, 4)}, BODY), '"a" has a dtype that is no text, or a shape'),
    "tensor that is a number": (file_of({"a": 4}, BODY), '"a" is not described by dtype, shape and data_offsets'),
    "a field too many": (file_of({"a": tensor([4], 0, 4, code="x")}, BODY), '"a" is not described by'),
    "a field too few": (file_of({"a": {"dtype": "U8", "shape": [4]}}, BODY), '"a" is not described by'),
}  # fmt: skip


@pytest.mark.spec("R-I10")
@pytest.mark.proves(20, 22)
@pytest.mark.parametrize("name", REFUSED)
def test_a_header_that_is_not_plain_is_refused_with_a_sentence(name):
    data, message = REFUSED[name]
    with pytest.raises(BadHeader, match=message):
        header_of(data)


@pytest.mark.spec("R-I10")
@pytest.mark.parametrize("name", REFUSED)
def test_such_a_file_is_no_model(name, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(REFUSED[name][0])
    with pytest.raises(Refused, match=r"model\.safetensors is damaged or no safetensors file: .*"):
        weights_of(tmp_path, "model")


@pytest.mark.spec("R-I10")
def test_a_hostile_header_costs_little_memory():
    """The reference reader takes 200 MB for 100,000 empty tensors (reliability.md section 4)."""
    flood = file_of('{"a":[' + ",".join(f'"{i:02x}"' for i in range(250_000)) + "]}")
    for data in (REFUSED["100,000 empty ones"][0], REFUSED["millions of signs"][0], flood):
        tracemalloc.start()
        with pytest.raises(BadHeader):
            header_of(data)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 2 * len(data) + 64 * 2**20


SMALL = save(
    {"a": torch.arange(6.0).reshape(2, 3), "b": torch.arange(5, dtype=torch.int64), "c": torch.zeros(0)}, {"format": "pt"}
)


def as_the_reference_reads(data, path):
    """Name to bytes as safetensors gives them. Raises what it raises."""
    path.write_bytes(data)
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping


def as_ours(data):
    header = header_of(data)
    return {
        name: (entry.dtype, list(entry.shape), data[header.size + entry.begin : header.size + entry.end])
        for name, entry in header.tensors.items()
    }


def assert_refused_or_equal(data, path):
    try:
        ours = as_ours(data)
    except BadHeader:
        return False
    if any(dtype not in weights.DTYPES for dtype, _, _ in ours.values()):
        return False  # refused by its dtype, in `weights_of`
    reference = as_the_reference_reads(data, path)
    assert ours.keys() == reference.keys()
    for name, (dtype, shape, content) in ours.items():
        assert list(reference[name].shape) == shape
        assert str(reference[name].dtype) == f"torch.{weights.DTYPES[dtype][0]}"
        assert reference[name].contiguous().view(torch.uint8).numpy().tobytes() == content
    return True


@pytest.mark.spec("R-I10")
def test_every_truncation_is_refused(tmp_path):
    assert assert_refused_or_equal(SMALL, tmp_path / "whole")
    for size in range(len(SMALL)):
        with pytest.raises(BadHeader):
            header_of(SMALL[:size])


@pytest.mark.spec("R-I10")
@pytest.mark.slow
def test_2000_bit_flips_are_refused_or_read_as_the_reference_reads_them(tmp_path):
    drawn = random.Random(7)
    taken = 0
    for _ in range(2000):
        data, bit = bytearray(SMALL), drawn.randrange(8 * len(SMALL))
        data[bit // 8] ^= 1 << bit % 8
        taken += assert_refused_or_equal(bytes(data), tmp_path / "flipped")
    assert 0 < taken < 2000  # flips in a tensor or a name are another file, and not a damaged one


@pytest.mark.slow
@pytest.mark.spec("R-I11")
@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=200).map(lambda raw: file_of(b"{" + raw)),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=4),
                 lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "__metadata__", "a"]), inner, max_size=4), max_leaves=12)
    .map(lambda value: file_of({"a": value}, BODY)),
))  # fmt: skip
def test_any_bytes_are_a_header_or_a_bad_header(data):
    try:
        header_of(data)
    except BadHeader:
        return


@pytest.mark.long
@pytest.mark.spec("R-I11")
def test_a_long_flood_of_spoilt_files_gives_headers_or_bad_headers(tmp_path):
    drawn = random.Random(11)
    for _ in range(100_000):
        data = bytearray(SMALL)
        for _ in range(drawn.randrange(1, 8)):
            at = drawn.randrange(len(data))
            action = drawn.randrange(3)
            if action == 0:
                data[at] = drawn.randrange(256)
            elif action == 1:
                del data[at : at + drawn.randrange(1, 9)]
            else:
                data[at:at] = drawn.randbytes(drawn.randrange(1, 9))
            if not data:
                break
        assert_refused_or_equal(bytes(data), tmp_path / "flood")


@pytest.mark.spec("R-I10")
def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    path.write_bytes(SMALL)
    read = weights.read_tensor_header

    def cut_meanwhile(file, size):
        with open(path, "r+b") as other:
            other.truncate(size - 8)
        return read(file, size)

    monkeypatch.setattr(weights, "read_tensor_header", cut_meanwhile)
    with pytest.raises(Refused, match="model.safetensors changed while it was read; try again when it is copied whole"):
        weights_of(tmp_path, "model")


@pytest.mark.spec("R-I10")
def test_a_file_replaced_between_the_look_and_the_opening_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    path.write_bytes(SMALL)
    stat = weights.os.stat

    def replace_after(*args, **options):
        found = stat(*args, **options)
        (tmp_path / "new").write_bytes(SMALL)
        (tmp_path / "new").replace(path)
        return found

    monkeypatch.setattr(weights.os, "stat", replace_after)
    with pytest.raises(Refused, match="changed while it was read"):
        weights._read(path)
