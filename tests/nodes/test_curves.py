"""Curves on disk: what is written comes back, and nothing else is taken for one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from graph.errors import Refused
from nodes.curves import load_curve, read_curve, save_curve
from nodes.sampling.options import Curve

CURVE = Curve((1.0, 0.98, 1.25), "a" * 64, 3, 64, 80, 2.0, "z-image:0123", 0.01)


@pytest.fixture
def put(recording):
    """Put bytes where uploads lie; gives the context and the file literal."""

    def put(data):
        ctx, digest = recording(), hashlib.sha256(data).hexdigest()
        (ctx.home / "files").mkdir(parents=True, exist_ok=True)
        (ctx.home / "files" / digest).write_bytes(data)
        return ctx, {"file": "my.curve", "sha256": digest}

    return put


@pytest.mark.spec("C20")
def test_a_saved_curve_comes_back_with_what_it_was_measured_on(recording, put, call):
    ctx = recording()
    name = call(ctx, save_curve, CURVE)
    data = (ctx.output_folder / name).read_bytes()
    here, file = put(data)
    assert call(here, load_curve, file) == CURVE
    assert json.loads(data) | {"format": None} == json.loads(data) | {
        "format": None, "ratios": [1.0, 0.98, 1.25], "weights": "a" * 64, "steps": 3, "width": 64, "height": 80,
        "guidance": 2.0, "sampler": "z-image:0123", "branch_difference": 0.01,
    }  # fmt: skip


def written(**changes):
    base = {
        "format": "latentgraph/curve-1", "ratios": [1, 0.5], "weights": "w", "steps": 2, "width": 8, "height": 8,
        "guidance": 0, "sampler": "s", "branch_difference": 0,
    }  # fmt: skip
    return json.dumps({key: value for key, value in (base | changes).items() if value is not None}).encode()


def test_whole_numbers_are_read_as_ratios():
    assert read_curve(written()).ratios == (1.0, 0.5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "my.curve is no curve: "),
        (b"[]", 'its format is not "latentgraph/curve-1"'),
        (written(format="other"), "its format is not"),
        (written(weights=None), "'weights'"),
        (written(steps=True), "its steps is True"),
        (written(ratios=[1, "2"]), "its ratios are not 1 to 1000 positive numbers"),
        (written(ratios=[1, -1]), "its ratios are not"),
        (written(ratios=[]), "its ratios are not"),
        (written(ratios=[1, float("inf")]), "its ratios are not"),
        (written(ratios=[1, float("nan")]), "its ratios are not"),
        (written(guidance=float("inf")), "its guidance is inf"),
        (written(branch_difference=float("nan")), "its branch_difference is nan"),
        (b'{"format": ' + b"[" * 100_000, "my.curve is no curve: "),
        (written(ratios=[1] * 1001), "its ratios are not"),
        (written(sampler="x" * 2**20), "it has more than 1048576 bytes"),
    ],
)
def test_what_is_no_curve_is_refused_while_planning(put, call, data, message):
    ctx, file = put(data)
    with pytest.raises(Refused, match=message) as refusal:
        call(ctx, load_curve, file)
    assert refusal.value.port == "file"
    assert str(refusal.value).endswith("Measure one with calibrate_curve")


def test_a_curve_that_is_not_here_is_refused(recording, call):
    with pytest.raises(Refused, match=r"the file my.curve \(sha256 0{12}...\) is not here; upload it again"):
        call(recording(), load_curve, {"file": "my.curve", "sha256": "0" * 64})


def test_a_curve_with_numbers_that_json_lacks_is_not_written(recording, call):
    ctx = recording()
    with pytest.raises(ValueError, match="not JSON compliant"):
        call(ctx, save_curve, replace(CURVE, ratios=(1.0, float("inf"))))
    assert not ctx.output_folder.exists()


def test_of_a_large_file_only_the_start_is_read(put, call):
    ctx, file = put(b"")
    path = ctx.home / "files" / file["sha256"]
    with path.open("wb") as sparse:
        sparse.truncate(8 * 2**30)
    with pytest.raises(Refused, match="it has more than 1048576 bytes"):
        call(ctx, load_curve, file)
