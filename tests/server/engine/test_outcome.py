"""What is told of a job is plain, bounded, and names no folder of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph.active import NodeResult
from graph.blob import digest_of
from graph.events import NodeEvent, NoteEvent, ProgressEvent
from graph.types import encode
from graph.workers import Value
from server.engine.failures import TITLES, job_problem
from server.engine.options import EngineOptions
from server.engine.outcome import LARGEST_OUTPUT, LONGEST_TEXT, Teller, output_json
from server.problems import KINDS
from tests.graph.engine_kit import Settings, Tensor

TELLER = Teller({"LATENTGRAPH_HOME": Path("/home/me/my data"), "outputs": Path("/srv/out"), "~": Path("/home/me")})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("No such file: '/home/me/my data/models/a.safetensors'", "No such file: 'LATENTGRAPH_HOME/models/a.safetensors'"),
        ("wrote /srv/out/a.png", "wrote outputs/a.png"),
        ("in /home/me/thing", "in ~/thing"),
        ("cannot open /var/lib/secret/key.pem, sorry", "cannot open .../key.pem, sorry"),
        ("open failed:/var/lib/key", "open failed:.../key"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("Tongyi-MAI/Z-Image/turbo and 1/2/3", "Tongyi-MAI/Z-Image/turbo and 1/2/3"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_folders_of_this_machine_are_not_told(said: str, told: str) -> None:
    assert TELLER.text(said) == told


def test_a_long_text_is_cut() -> None:
    assert len(TELLER.text("x" * 100_000)) == LONGEST_TEXT


def test_events_are_plain_objects_with_their_kind() -> None:
    assert TELLER.event(ProgressEvent("n", None, 1, 4, 2.5, 0.5)) == {
        "event": "progress", "node": "n", "element": None, "step": 1, "total": 4, "eta_seconds": 2.5, "time": 0.5,
    }  # fmt: skip
    failed = TELLER.event(NodeEvent("n", 2, "failed", 1.0, "cpu", 0.5, "bad /srv/out/x"))
    assert (failed["event"], failed["state"], failed["message"]) == ("node", "failed", "bad outputs/x")
    assert TELLER.event(NoteEvent("n", "saved to /srv/out/x", 1.0))["message"] == "saved to outputs/x"


def test_a_row_has_no_trace_and_no_key() -> None:
    row = NodeResult("n", None, "t", "failed", 1.0, "cpu", "key", "said", "note", "refused", "trace", ("ab",))
    assert TELLER.node(row) == {
        "id": "n", "element": None, "type": "t", "state": "failed", "seconds": 1.0, "device": "cpu",
        "error": "said", "note": "note", "code": "refused", "outputs": ("ab",),
    }  # fmt: skip


def test_the_first_node_that_failed_is_the_problem() -> None:
    rows = [
        NodeResult("a", None, "t", "done", 1.0, "host", ""),
        NodeResult("b", 3, "t", "failed", 2.0, "cuda:0", "", "b ran out of memory", code="out_of_memory"),
        NodeResult("c", None, "t", "failed", 0.0, "", "", "c too"),
    ]
    assert TELLER.failure(rows) == job_problem("out_of_memory", "b ran out of memory", node="b", element=3)
    assert TELLER.failure(rows[:1]) is None


def test_every_code_of_a_failed_job_has_a_title() -> None:
    codes = "invalid_workflow node_failed out_of_memory worker_lost timed_out input_changed refused disk_full internal"
    assert [code for code in codes.split() if code not in TITLES and code not in KINDS] == []


def value(made: object) -> Value:
    packed = encode(made)
    return Value(digest_of(packed), packed=packed)


def test_plain_outputs_are_told_as_they_are_and_others_by_type_and_digest() -> None:
    assert [output_json(value(one)) for one in (1, 1.5, "a", True, None)] == [1, 1.5, "a", True, None]
    assert output_json("light") == "light"
    settings, tensor = value(Settings("x", (1,))), value(Tensor.of(1, 5))
    assert output_json([settings, 1]) == [{"type": "Settings", "name": "x", "sizes": [1], "digest": settings.digest.hex()}, 1]
    assert output_json(tensor) == {"type": "Tensor", "data": {"dtype": "U8", "shape": [5]}, "digest": tensor.digest.hex()}


def test_large_outputs_are_described_only() -> None:
    text, many = value("x" * LARGEST_OUTPUT), [1000] * LARGEST_OUTPUT
    assert output_json(text) == {"type": "text", "digest": text.digest.hex(), "truncated": True}
    assert output_json("x" * LARGEST_OUTPUT) == {"type": "text", "digest": text.digest.hex(), "truncated": True}
    assert output_json(many) == {"type": "list", "length": len(many), "truncated": True}


def test_options_survive_the_command_line() -> None:
    options = EngineOptions(Path("/a b"), Path("/out"), ("cpu:0", "cpu:1"), packs=False, time_limits_s={"denoise": 5.0})
    assert EngineOptions.from_json(options.to_json()) == options
    assert json.loads(options.to_json())["home"] == "/a b"
