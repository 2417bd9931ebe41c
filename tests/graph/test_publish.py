"""Outputs appear whole, in pairs, under names of their own, or not at all."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graph.publish as publishing
from graph.publish import publish, unique_name


def test_a_file_and_its_sidecar_appear_together(tmp_path):
    path = publish(tmp_path / "new" / "folder", "a-1", ".png", b"pixels", {"seed": 7, "prompt": "é"})
    assert path == tmp_path / "new" / "folder" / "a-1.png"
    assert path.read_bytes() == b"pixels"
    assert json.loads(path.with_suffix(".json").read_text()) == {"seed": 7, "prompt": "é"}
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["a-1.json", "a-1.png"]


@pytest.mark.spec("J1", "J2")
def test_the_sidecar_comes_last_and_only_whole_files_get_their_names(tmp_path, monkeypatch):
    seen = []
    rename = os.rename

    def spy(source, target):
        seen.append((Path(target).name, Path(source).read_bytes()[:1], Path(source).parent == Path(target).parent))
        rename(source, target)

    monkeypatch.setattr(os, "rename", spy)
    publish(tmp_path, "a", ".png", b"pixels", {})
    assert seen == [("a.png", b"p", True), ("a.json", b"{", True)]


@pytest.mark.spec("J1", "J2")
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("operation", ["write media", "write sidecar", "rename media", "rename sidecar", "sync folder"])
def test_a_failure_at_any_step_leaves_nothing(tmp_path, monkeypatch, operation, error):
    calls = {"write": 0, "rename": 0}
    place = {"media": 1, "sidecar": 2}.get(operation.split()[1])

    def failing(kind, inner):
        def run(*args):
            calls[kind] += 1
            if operation.startswith(kind) and calls[kind] == place:
                if kind == "write":
                    Path(args[0]).write_bytes(b"ha")  # the disk fills up half way
                raise error
            return inner(*args)

        return run

    monkeypatch.setattr(publishing, "_write", failing("write", publishing._write))
    monkeypatch.setattr(os, "rename", failing("rename", os.rename))
    if operation == "sync folder":
        monkeypatch.setattr(publishing, "_sync_folder", lambda folder: (_ for _ in ()).throw(error))
    with pytest.raises(type(error)):
        publish(tmp_path, "a", ".png", b"pixels", {})
    assert list(tmp_path.iterdir()) == []


def test_an_output_is_never_replaced(tmp_path):
    publish(tmp_path, "a", ".png", b"first", {})
    with pytest.raises(FileExistsError, match=r"a.png exists already in .*; outputs are never overwritten, use another name"):
        publish(tmp_path, "a", ".png", b"second", {})
    (tmp_path / "b.json").write_text("someone else's")
    with pytest.raises(FileExistsError, match=r"b.json exists already"):
        publish(tmp_path, "b", ".png", b"second", {})
    assert (tmp_path / "a.png").read_bytes() == b"first"
    assert (tmp_path / "b.json").read_text() == "someone else's"


@pytest.mark.parametrize(
    ("name", "suffix"), [("../a", ".png"), ("", ".png"), ("a" * 129, ".png"), ("a", ".json"), ("a", "/x"), ("a\n", ".png")]
)
def test_unfit_names_are_refused(tmp_path, name, suffix):
    with pytest.raises(ValueError, match="cannot be published"):
        publish(tmp_path, name, suffix, b"", {})


@pytest.mark.spec("J5", "J9")
def test_names_are_fit_and_unique():
    names = {unique_name(prefix) for prefix in ("image", "../é x/", "", "-" * 300) for _ in range(50)}
    assert len(names) == 200
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", name) for name in names)


WRITER = """
import sys
from pathlib import Path
from graph.publish import publish, unique_name
print("ready", flush=True)
while True:
    publish(Path(sys.argv[1]), unique_name("x"), ".png", b"pixels" * 20000, {"whole": True})
"""


@pytest.mark.slow
@pytest.mark.spec("J1", "J2")
def test_a_killed_writer_leaves_no_torn_file_in_the_listing(tmp_path):
    for attempt in range(15):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        writer.stdout.readline()
        deadline = time.monotonic() + 0.003 * attempt
        while time.monotonic() < deadline:
            pass
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    listed = [path for path in tmp_path.glob("*.json") if not path.name.startswith(".")]
    assert listed
    for sidecar in listed:
        assert json.loads(sidecar.read_text()) == {"whole": True}
        assert sidecar.with_suffix(".png").read_bytes() == b"pixels" * 20000
