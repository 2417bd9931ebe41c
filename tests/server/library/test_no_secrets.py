"""Nothing that is saved carries a secret of the machine or of the server (spec L10)."""

from __future__ import annotations

import json

import pytest

from tests.server.library.picture_corpus import encoded, picture

CANARY = "canary-3f9ac1d2e4b5a697"
WORKFLOW = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "name": "copy",
    "nodes": {
        "open": {"type": "load_image", "inputs": {}},
        "save": {"type": "save_image", "inputs": {"image": {"link": "open.image"}}},
    },
    "inputs": {"picture": {"to": ["open.file"]}},
}


@pytest.mark.spec("L10", "J3")
def test_no_secret_is_in_anything_that_a_run_leaves(latentgraph, home, tmp_path, monkeypatch):
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "LATENTGRAPH_TOKEN"):
        monkeypatch.setenv(name, CANARY)
    for name in ("token", "secret"):
        (home / name).write_text(CANARY)
    (tmp_path / "flow.json").write_text(json.dumps(WORKFLOW))
    (tmp_path / "in.png").write_bytes(encoded(picture(32, 32)))
    out = home / "outputs"
    done = latentgraph("run", tmp_path / "flow.json", "--set", f"picture={tmp_path / 'in.png'}", "--output", out)
    assert done.code == 0, done.err
    left = [path for path in home.rglob("*") if path.is_file() and path.name not in ("token", "secret")]
    assert {path.suffix for path in left if path.is_relative_to(out)} == {".png", ".json"}
    for path in left:
        assert CANARY.encode() not in path.read_bytes(), path
    assert CANARY not in done.out + done.err
    (sidecar,) = out.glob("*.json")
    assert str(home) not in sidecar.read_text()
