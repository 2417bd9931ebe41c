"""Saved workflows: plain files, never half-written, never overwritten unseen, never outside their folder."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.document import document_from_json, read_document, write_document
from server.library import workflows as module
from server.library.node_types import NodeTypes
from server.library.precondition import CREATE, Precondition, etag_of
from server.library.workflows import MOST_VERSIONS, Saved, Workflows
from server.problems import Refusal
from server.settings import WrongUsage


def document(value: int = 1, **fields: Any) -> Any:
    nodes = {"first": {"type": "number", "inputs": {"value": value}}}
    return document_from_json({"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, **fields})


def text(value: int = 1, **fields: Any) -> str:
    return write_document(document(value, **fields))


@pytest.fixture
def library(home: Path) -> Workflows:
    """The library of an empty data folder, without templates."""
    return Workflows(home, NodeTypes(home), templates=None)


def save(library: Workflows, name: str, value: int = 1, match: str | None = None, **fields: Any) -> Saved:
    precondition = CREATE if match is None else Precondition(match)
    return asyncio.run(library.save(name, document(value, **fields), precondition))


def refused(step: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        asyncio.run(step)
    return caught.value


def test_a_saved_workflow_is_a_canonical_file_of_this_user_alone(library: Workflows, home: Path) -> None:
    saved = save(library, "my flow")
    path = home / "workflows" / "my flow.json"
    assert path.read_text() == text() == saved.text.decode()
    assert saved.etag == etag_of(path.read_bytes())
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert asyncio.run(library.read("my flow")) == saved


def test_an_existing_workflow_is_not_replaced_without_saying_which_version(library: Workflows) -> None:
    etag = save(library, "a").etag
    refusal = refused(library.save("a", document(2), Precondition()))
    assert (refusal.code, refusal.facts) == ("precondition_required", {"etag": etag})
    assert refusal.message == (
        'Workflow "a" exists already. Send If-Match with the ETag you read, or If-None-Match: * to create only.'
    )
    assert asyncio.run(library.read("a")).text == text(1).encode()


def test_a_stale_version_is_refused_and_the_file_stays(library: Workflows) -> None:
    first = save(library, "a", 1).etag
    second = save(library, "a", 2, first).etag
    refusal = refused(library.save("a", document(3), Precondition(first)))
    assert (refusal.code, refusal.facts) == ("precondition_failed", {"etag": second})
    assert "was changed meanwhile" in refusal.message
    assert asyncio.run(library.read("a")).text == text(2).encode()


def test_an_edit_from_outside_counts_as_a_change(library: Workflows, home: Path) -> None:
    etag = save(library, "a", 1).etag
    (home / "workflows" / "a.json").write_text(text(9))
    assert refused(library.save("a", document(2), Precondition(etag))).code == "precondition_failed"
    now = asyncio.run(library.read("a"))
    assert now.text == text(9).encode()
    save(library, "a", 2, now.etag)
    assert [version.etag for version in asyncio.run(library.versions("a"))][1] == now.etag  # the outside edit is kept


def test_create_only_refuses_a_taken_name_and_a_deleted_one_is_told(library: Workflows) -> None:
    etag = save(library, "a").etag
    assert refused(library.save("a", document(2), CREATE)).code == "precondition_failed"
    asyncio.run(library.delete("a", Precondition(etag)))
    refusal = refused(library.save("a", document(2), Precondition(etag)))
    assert refusal.message == 'Workflow "a" is not there any more. To create it again, send If-None-Match: * instead of If-Match.'


def test_of_two_who_save_the_same_version_at_once_one_is_refused(library: Workflows) -> None:
    etag = save(library, "a", 0).etag

    async def both() -> list[Any]:
        saves = [library.save("a", document(value), Precondition(etag)) for value in range(1, 9)]
        return await asyncio.gather(*saves, return_exceptions=True)

    results = asyncio.run(both())
    assert sum(isinstance(result, Saved) for result in results) == 1
    assert {result.code for result in results if isinstance(result, Refusal)} == {"precondition_failed"}


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../a", "a/b", "a\\b", "/etc/passwd", "a..b", ".hidden", "-rf", "a\0b", "a\nb", "~", "a" * 129, "\u00e9", "a:b",
     "[ab]", "*", "%2e%2e", "con", "nul.x", "a.", "a ", "C:\\x", "\\\\srv\\x", "$HOME", "workflow-1.schema"],
)  # fmt: skip
def test_names_that_would_be_paths_or_patterns_are_refused(library: Workflows, home: Path, name: str) -> None:
    (home / "workflows").mkdir(parents=True)
    refusal = refused(library.save(name, document(), CREATE))
    assert refusal.code == "invalid"
    assert "cannot be the name of a workflow" in refusal.message
    assert refused(library.read(name)).code == refused(library.versions(name)).code == "not_found"
    assert refused(library.delete(name, Precondition("*"))).code == refused(library.version(name, 1)).code == "not_found"
    assert list((home / "workflows").iterdir()) == []


@pytest.mark.spec("L3")
@pytest.mark.parametrize("name", ["a", "A1", "my flow", "v1.2", "a_b-c", "a" * 128, "0"])
def test_names_as_people_choose_them_are_taken(library: Workflows, name: str) -> None:
    assert save(library, name).name == name
    assert [entry.name for entry in asyncio.run(library.entries())] == [name]


@pytest.mark.spec("L4")
@pytest.mark.spec("R-P02")
def test_a_workflows_folder_that_is_a_link_is_refused_for_read_write_and_delete(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.json").write_text(text())
    home.mkdir(exist_ok=True)
    (home / "workflows").symlink_to(outside)
    library = Workflows(home, NodeTypes(home), templates=None)
    assert refused(library.read("a")).code == "not_found"
    for step in (lambda: library.save("b", document(), CREATE), library.entries):
        refusal = refused(step())
        assert (refusal.code, refusal.message) == (
            "forbidden",
            "The workflows folder is a link, which is not followed. Put a folder there.",
        )
    assert refused(library.delete("a", Precondition("*"))).code == "not_found"
    assert [path.name for path in outside.iterdir()] == ["a.json"]


@pytest.mark.spec("L4")
@pytest.mark.spec("R-P02")
@pytest.mark.parametrize("make", ["link", "pipe", "folder", "dangling"])
def test_what_is_no_plain_file_is_neither_read_nor_replaced(library: Workflows, home: Path, tmp_path: Path, make: str) -> None:
    outside = tmp_path / "secret.json"
    outside.write_text(text(7))
    path = home / "workflows" / "a.json"
    path.parent.mkdir(parents=True)
    if make == "pipe":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    else:
        path.symlink_to(outside if make == "link" else tmp_path / "nowhere")
    assert refused(library.read("a")).code == "not_found"
    assert refused(library.delete("a", Precondition("*"))).code == "not_found"
    assert refused(library.save("a", document(1), CREATE)).message == (
        '"a.json" in the workflows folder is a link or no plain file. Take it away first.'
    )
    assert asyncio.run(library.entries()) == []
    assert outside.read_text() == text(7)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.spec("L5")
def test_deleting_one_leaves_all_whose_names_look_alike(library: Workflows, home: Path) -> None:
    for name in ("a", "a.b", "aXb", "a b", "a-b"):
        save(library, name, 2, save(library, name, 1).etag)
    asyncio.run(library.delete("a.b", Precondition("*")))
    assert [entry.name for entry in asyncio.run(library.entries())] == ["a", "a b", "a-b", "aXb"]
    assert all(len(asyncio.run(library.versions(name))) == 2 for name in ("a", "aXb", "a b", "a-b"))


def test_versions_are_kept_read_and_restored_as_new_ones(library: Workflows) -> None:
    etag = save(library, "a", 1).etag
    for value in (2, 3):
        etag = save(library, "a", value, etag).etag
    versions = asyncio.run(library.versions("a"))
    assert [(version.number, version.is_current) for version in versions] == [(3, True), (2, False), (1, False)]
    assert asyncio.run(library.version("a", 1)).text == text(1).encode()
    restored = asyncio.run(library.restore("a", 1, Precondition(etag)))
    assert restored.text == asyncio.run(library.read("a")).text == text(1).encode()
    assert [version.number for version in asyncio.run(library.versions("a"))] == [4, 3, 2, 1]
    assert refused(library.version("a", 5)).message == ('Workflow "a" has no version 5. GET /v1/workflows/a/versions lists them.')
    assert refused(library.restore("a", 2, Precondition(etag))).code == "precondition_failed"


def test_saving_the_same_content_again_makes_no_version(library: Workflows) -> None:
    etag = save(library, "a").etag
    assert save(library, "a", 1, etag).etag == etag
    assert len(asyncio.run(library.versions("a"))) == 1


def test_only_the_last_versions_are_kept(library: Workflows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VERSIONS", 3)
    etag = save(library, "a", 0).etag
    for value in range(1, 6):
        etag = save(library, "a", value, etag).etag
    assert [version.number for version in asyncio.run(library.versions("a"))] == [6, 5, 4, 3]
    assert MOST_VERSIONS == 50


def test_a_deleted_workflow_can_be_brought_back(library: Workflows) -> None:
    asyncio.run(library.delete("a", Precondition(save(library, "a", 5).etag)))
    assert refused(library.read("a")).code == "not_found"
    assert [version.is_current for version in asyncio.run(library.versions("a"))] == [False]
    assert asyncio.run(library.restore("a", 1, CREATE)).text == text(5).encode()


def test_rename_takes_the_versions_along_and_replaces_nothing(library: Workflows) -> None:
    etag = save(library, "a", 2, save(library, "a", 1).etag).etag
    save(library, "taken", 9)
    assert refused(library.rename("a", "taken", Precondition(etag))).code == "precondition_failed"
    assert asyncio.run(library.rename("a", "b", Precondition(etag))).etag == etag
    assert [entry.name for entry in asyncio.run(library.entries())] == ["b", "taken"]
    assert [version.number for version in asyncio.run(library.versions("b"))] == [2, 1]
    assert refused(library.versions("a")).code == "not_found"


def test_a_copy_has_the_content_and_replaces_nothing(library: Workflows) -> None:
    saved = save(library, "a", 3)
    assert asyncio.run(library.copy("a", "b")).text == saved.text
    assert refused(library.copy("a", "b")).code == "precondition_failed"
    assert refused(library.copy("gone", "c")).message == 'There is no workflow "gone". GET /v1/workflows lists all.'


@pytest.mark.spec("L4")
def test_templates_are_read_only_and_saving_one_makes_your_own(home: Path, tmp_path: Path) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "mini.json").write_text(text(1))
    (shipped / "workflow-1.schema.json").write_text("{}")
    library = Workflows(home, NodeTypes(home), templates=shipped)
    template = asyncio.run(library.read("mini"))
    assert template.is_read_only
    assert [(entry.name, entry.source) for entry in asyncio.run(library.entries())] == [("mini", "template")]
    refusal = refused(library.delete("mini", Precondition("*")))
    assert (refusal.code, refusal.message[:44]) == ("forbidden", 'Workflow "mini" is a shipped template, which')
    save(library, "mini", 2, template.etag)
    assert (shipped / "mini.json").read_text() == text(1)
    assert [(entry.name, entry.source) for entry in asyncio.run(library.entries())] == [("mini", "own")]
    asyncio.run(library.delete("mini", Precondition("*")))
    assert asyncio.run(library.read("mini")) == template


def test_files_beside_a_template_are_brought_at_the_start(home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "a.png").write_bytes(b"pixels")
    (shipped / "b.png").write_bytes(b"others")
    (tmp_path / "c.png").write_bytes(b"outside")
    digest = etag_of(b"pixels")
    files = [("a.png", digest), ("b.png", digest), ("../c.png", etag_of(b"outside")), ("d.png", "0" * 64)]
    nodes = {
        f"n{at}": {"type": "load_image", "inputs": {"file": {"file": name, "sha256": sha}}}
        for at, (name, sha) in enumerate(files)
    }
    (shipped / "t.json").write_text(text(nodes=nodes))
    asyncio.run(Workflows(home, NodeTypes(home), templates=shipped).start())
    assert [(path.name, path.read_bytes()) for path in (home / "files").iterdir()] == [(digest, b"pixels")]


def test_workflows_of_a_named_folder_are_saved_there_and_new_ones_too(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "mine.json").write_text(text(1))
    library = Workflows(home, NodeTypes(home), folders=[folder], templates=None)
    save(library, "mine", 2, asyncio.run(library.read("mine")).etag)
    assert (folder / "mine.json").read_text() == text(2)
    assert [path.name for path in folder.iterdir()] == ["mine.json"]  # versions lie in the data folder
    assert asyncio.run(library.version("mine", 1)).text == text(1).encode()
    save(library, "new", 3)
    assert (folder / "new.json").read_text() == text(3)
    with pytest.raises(WrongUsage, match="which is no folder"):
        Workflows(home, NodeTypes(home), folders=[tmp_path / "none"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "No valid JSON"),
        ('{"format": "other"}', "This is no workflow"),
        ('{"a": 1, "a": 2}', 'The key "a" for the second time'),
        ("\ufeff{}", "A byte order mark"),
        ("[" * 100_000, "Nesting of more than 64 levels"),
    ],
)
def test_a_file_that_is_no_workflow_is_listed_with_its_problem_and_read_raw(
    library: Workflows, home: Path, content: str, said: str
) -> None:
    save(library, "good")
    (home / "workflows" / "bad.json").write_text(content)
    bad, good = asyncio.run(library.entries())
    assert (bad.name, good.problem) == ("bad", None)
    assert said in str(bad.problem)
    assert asyncio.run(library.read("bad")).text == content.encode()
    assert refused(library.document("bad")).code == "invalid_workflow"


def test_the_list_says_what_this_machine_does_not_have(home: Path, catalogue: Path) -> None:
    types = NodeTypes(home)
    asyncio.run(types.load())
    library = Workflows(home, types, templates=None)
    nodes = {
        "a": {"type": "load_pipeline", "inputs": {"model": "no-such-model"}},
        "b": {"type": "gone/sepia"},
        "c": {"type": "tokenize", "inputs": {"prompt": "mini-like text"}},
    }
    titled = document(nodes=nodes, name="My title", description="Draws.")
    asyncio.run(library.save("a", titled, CREATE))
    save(library, "b", nodes={"m": {"type": "load_pipeline", "inputs": {"model": "mini"}}})
    first, second = asyncio.run(library.entries())
    assert (first.title, first.description, first.nodes) == ("My title", "Draws.", 3)
    assert (first.missing_types, first.missing_models) == (("gone/sepia",), ("no-such-model",))
    assert (second.missing_types, second.missing_models) == ((), ())


def test_before_node_types_are_known_nothing_is_said_to_be_missing(home: Path) -> None:
    library = Workflows(home, NodeTypes(home / "elsewhere"), templates=None)
    save(library, "a")
    (entry,) = asyncio.run(library.entries())
    assert (entry.missing_types, entry.missing_models) == (None, None)


def test_files_that_workflows_and_versions_name_are_told(library: Workflows) -> None:
    def with_file(digit: str) -> dict[str, Any]:
        return {"load": {"type": "load_image", "inputs": {"file": {"file": "a.png", "sha256": digit * 64}}}}

    etag = save(library, "a", nodes=with_file("1")).etag
    save(library, "a", 1, etag, nodes=with_file("2"))
    save(library, "b")
    assert asyncio.run(library.files()) == {"1" * 64, "2" * 64}


def test_a_workflow_that_cannot_be_read_now_is_not_taken_for_one_that_names_no_file(
    library: Workflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or its uploads would be removed."""
    save(library, "a")

    def closed(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("server.library.confine.Root.open", closed)
    assert refused(library.files()).code == "forbidden"


def test_what_a_killed_server_left_is_removed_at_the_next_start(library: Workflows, home: Path) -> None:
    save(library, "a")
    (home / "workflows" / ".0123456789abcdef.tmp").write_text("half")
    asyncio.run(library.start())
    assert sorted(path.name for path in (home / "workflows").iterdir()) == ["a.json"]


def test_a_full_disk_is_told_and_the_old_content_stays(library: Workflows, monkeypatch: pytest.MonkeyPatch) -> None:
    etag = save(library, "a", 1).etag

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device", "/secret/path")

    monkeypatch.setattr(os, "write", full)
    refusal = refused(library.save("a", document(2), Precondition(etag)))
    monkeypatch.undo()
    assert (refusal.code, refusal.message) == (
        "disk_full", "The disk is full, so the workflows folder cannot be written. Free some space.",
    )  # fmt: skip
    assert asyncio.run(library.read("a")).etag == etag


def test_a_save_is_synced_before_it_takes_the_name_and_the_folder_after(
    library: Workflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(library, "a")
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(file: int) -> None:
        steps.append("sync folder" if os.path.isdir(f"/proc/self/fd/{file}") else "sync file")
        fsync(file)

    def noted_rename(*arguments: Any, **folders: Any) -> None:
        steps.append("rename")
        rename(*arguments, **folders)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    save(library, "b")
    assert steps == ["sync file", "rename", "sync folder"]
    steps.clear()
    save(library, "b", 2, "*")  # its version lies in a folder that is new
    assert steps == ["sync folder", "sync folder", *["sync file", "rename", "sync folder"] * 2]


def test_readers_never_see_a_torn_file(library: Workflows, home: Path) -> None:
    """One writes two contents in turn while another reads: each reading is one of the two, whole."""
    whole = {text(1, description="x" * 200_000).encode(), text(2, description="y" * 200_000).encode()}
    save(library, "a", 1, description="x" * 200_000)
    done = threading.Event()
    torn: list[bytes] = []

    def look() -> None:
        while not done.is_set():
            found = (home / "workflows" / "a.json").read_bytes()
            if found not in whole:
                torn.append(found)

    reader = threading.Thread(target=look)
    reader.start()
    for turn in range(20):
        save(library, "a", 2 - turn % 2, "*", description="xy"[1 - turn % 2] * 200_000)
    done.set()
    reader.join()
    assert torn == []


_SAVING = """
import asyncio, sys
from pathlib import Path
from graph.document import document_from_json
from server.library.node_types import NodeTypes
from server.library.precondition import Precondition
from server.library.workflows import Workflows
home = Path(sys.argv[1])
library = Workflows(home, NodeTypes(home), templates=None)
for value in range(int(sys.argv[2]), 10**6):
    nodes = {f"n{at}": {"type": "number", "inputs": {"value": value}} for at in range(300)}
    raw = {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes}
    asyncio.run(library.save("a", document_from_json(raw), Precondition(None if value == 0 else "*")))
    print(value, flush=True)
"""


@pytest.mark.slow
def test_what_was_saved_is_there_whole_after_a_kill(home: Path) -> None:
    """Killed after an answered save, mostly in the middle of the next: the file is the last answered one or a later one."""
    value = 0
    for _ in range(4):
        command = [sys.executable, "-c", _SAVING, str(home), str(value)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            assert child.stdout is not None
            for line in child.stdout:
                value = int(line)
                if value % 7 == 6:
                    break
            child.kill()
        library = Workflows(home, NodeTypes(home), templates=None)
        asyncio.run(library.start())
        found = asyncio.run(library.document("a"))
        values = {node.inputs["value"] for node in found.nodes.values()}
        assert len(found.nodes) == 300
        assert len(values) == 1
        assert value <= max(values) <= value + 1000
        for version in asyncio.run(library.versions("a")):
            assert etag_of(asyncio.run(library.version("a", version.number)).text) == version.etag
        assert [path.name for path in (home / "workflows").iterdir() if path.name.endswith(".tmp")] == []
        value = max(values) + 1


JSON_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), st.floats(-1e6, 1e6), JSON_TEXT)
NAMES = st.from_regex(r"\A[a-z][a-z0-9_]{0,8}\Z")
EXTRA = st.dictionaries(NAMES.map(lambda name: f"x-{name}"), st.recursive(PLAIN, st.lists, max_leaves=5), max_size=2)
NODES = st.dictionaries(
    NAMES,
    st.builds(
        lambda kind, inputs, extra: {"type": kind, "inputs": inputs, **extra},
        st.sampled_from(["number", "math", "unknown", "gone/sepia"]),
        st.dictionaries(NAMES, PLAIN, max_size=3),
        EXTRA,
    ),
    max_size=5,
)


@pytest.mark.spec("R-I06")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NODES, JSON_TEXT, EXTRA, st.sampled_from(["1.0", "1.7"]))
def test_loaded_and_saved_again_it_has_the_same_bytes(
    library: Workflows, nodes: Any, name: str, extra: Any, version: str
) -> None:
    """Of a newer minor version, fields nobody here knows are kept too."""
    newer = {"shiny": {"new": [1, 2.5]}} if version != "1.0" else {}
    raw = {"format": "latentgraph/workflow", "version": version, "name": name, "nodes": nodes, **extra, **newer}
    first = asyncio.run(
        library.save("a", document_from_json(json.loads(json.dumps(raw))), Precondition("*") if exists(library) else CREATE)
    )
    again = asyncio.run(library.save("a", read_document(first.text), Precondition(first.etag)))
    assert again.text == first.text == asyncio.run(library.read("a")).text
    kept = json.loads(first.text)
    assert {key: kept[key] for key in {**extra, **newer}} == {**extra, **newer}
    assert kept["version"] == version


def exists(library: Workflows) -> bool:
    return bool(asyncio.run(library.entries()))


@pytest.mark.spec("R-I07")
def test_a_newer_major_version_is_listed_read_raw_and_not_saved_over(library: Workflows, home: Path) -> None:
    (home / "workflows").mkdir(parents=True)
    newer = '{"format": "latentgraph/workflow", "version": "2.0", "nodes": {}}'
    (home / "workflows" / "a.json").write_text(newer)
    (entry,) = asyncio.run(library.entries())
    assert entry.problem == "The workflow has version 2.0; this program reads up to 1.x. Update Latentgraph to open it."
    assert asyncio.run(library.read("a")).text == newer.encode()


def test_changes_on_disk_are_told_to_who_listens(library: Workflows, home: Path) -> None:
    save(library, "a")

    async def listen() -> list[frozenset[str]]:
        changes = library.changes()
        first = asyncio.ensure_future(anext(changes))
        async with asyncio.timeout(20):
            # The first look is the one to compare with: change files until a later look notices.
            value = 1
            while not first.done():
                value += 1
                (home / "workflows" / "a.json").write_text(text(value))
                library._changes.look_soon()
                await asyncio.wait([first], timeout=0.01)
            second = asyncio.ensure_future(anext(changes))
            await library.save("b", document(), CREATE)
            found = [first.result(), await second]
        await changes.aclose()
        assert not library._changes.is_looking
        return found

    first, second = asyncio.run(listen())
    assert first == {"a"}
    assert "b" in second
