"""The commands: exit codes, what goes to stdout and what to stderr, and that refusals write nothing."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from graph.disk_cache import DiskCacheFolder
from graph.environment import library_versions
from graph.table import Table
from graph.types import Packed
from server.cli import app, cache_app
from server.settings import WrongUsage
from server.workspace import Workspace
from tests.server.conftest import SUM, Command, tree

ROOT = Path(__file__).parents[2]


def edited(**nodes: dict) -> dict:
    document = copy.deepcopy(SUM)
    for name, changes in nodes.items():
        document["nodes"].setdefault(name, {"type": "number", "inputs": {}}).update(changes)
    return document


# run


def test_one_output_is_printed_alone_on_stdout(latentgraph: Command, sum_file: Path) -> None:
    outcome = latentgraph("run", sum_file)
    assert (outcome.code, outcome.out) == (0, "7.0\n")
    assert re.search(r"^sum +done .*\n2 nodes: 2 done; ", outcome.err, re.M)


def test_a_name_is_the_saved_workflow_or_the_template_so_called(
    latentgraph: Command, sum_file: Path, home: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert latentgraph("validate", "mini_text_to_image").code == 0
    refused = latentgraph("run", "adding up")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(
        "adding up is no file and no name of a saved workflow or a template; give one of these. Known: "
    )
    (home / "workflows").mkdir(parents=True)
    (home / "workflows" / "adding up.json").write_bytes(sum_file.read_bytes())
    assert latentgraph("run", "adding up").out == "7.0\n"
    (tmp_path / "adding up").write_text(json.dumps(edited(first={"inputs": {"value": 10}})))  # a file that is there comes first
    assert latentgraph("run", "adding up").out == "14.0\n"


@pytest.mark.parametrize(
    ("name", "meant"), [("mini_text_to_imag", "mini_text_to_image"), ("addin up", "adding up"), ("x" * 300, None)]
)
def test_a_name_that_nothing_has_is_answered_with_the_nearest(
    latentgraph: Command, sum_file: Path, home: Path, name: str, meant: str | None
) -> None:
    (home / "workflows").mkdir(parents=True)
    (home / "workflows" / "adding up.json").write_bytes(sum_file.read_bytes())
    refused = latentgraph("validate", name)
    known = "Known: adding up, mini_image_to_image, " if meant is None else f'Did you mean "{meant}"?\n'
    assert (refused.code, refused.out) == (2, "")
    assert f"{name} is no file and no name of a saved workflow or a template; give one of these. {known}" in refused.err


@pytest.mark.parametrize("start", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff\xe0", b"RIFF\x80\0\0\0WEBPVP8 "])
def test_a_picture_in_place_of_a_workflow_is_told_as_one(latentgraph: Command, tmp_path: Path, start: bytes) -> None:
    picture = tmp_path / "x.png"
    picture.write_bytes(start + bytes(64))
    refused = latentgraph("run", picture)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"{picture} is a picture and no workflow; `latentgraph reproduce` renders a saved picture again.\n"


def test_several_outputs_are_printed_a_line_each(latentgraph: Command, write_workflow) -> None:
    document = copy.deepcopy(SUM)
    document["outputs"]["first"] = {"from": "first.value"}
    assert latentgraph("run", write_workflow(document)).out == "sum: 7.0\nfirst: 3.0\n"


def test_set_changes_named_inputs(latentgraph: Command, sum_file: Path) -> None:
    assert latentgraph("run", sum_file, "--set", "first=10", "--set", "operation=multiply").out == "40.0\n"


def test_json_is_one_document_with_outputs_states_times_and_keys(latentgraph: Command, sum_file: Path) -> None:
    found = latentgraph("run", sum_file, "--json").json
    assert sorted(found) == ["absent", "messages", "nodes", "outputs", "seconds", "seeds", "state", "workflow"]
    assert (found["state"], found["outputs"], found["workflow"]) == ("done", {"sum": 7.0}, str(sum_file))
    light, ran = found["nodes"]
    assert (light["id"], light["type"], light["note"]) == ("first", "number", "light")
    assert (ran["id"], ran["type"], ran["state"], ran["error"]) == ("sum", "math", "done", "")
    assert re.fullmatch(r"[0-9a-f]{64}", ran["key"])
    assert ran["seconds"] > 0


def test_a_failing_node_gives_1_and_says_what_it_was_given(latentgraph: Command, write_workflow) -> None:
    outcome = latentgraph("run", write_workflow(edited(sum={"inputs": {"operation": "divide", "a": 1, "b": 0}})))
    assert (outcome.code, outcome.out) == (1, "")
    assert "divide of 1 by b = 0 has no result; set b to another number" in outcome.err
    assert re.search(r"^sum +failed", outcome.err, re.M)


def test_what_needs_a_failed_node_is_skipped_and_the_rest_finishes(latentgraph: Command, write_workflow) -> None:
    document = edited(
        sum={"inputs": {"operation": "divide", "a": 1, "b": 0}},
        after={"type": "math", "inputs": {"a": {"link": "sum.value"}, "b": 1}},
        other={"type": "math", "inputs": {"a": 1, "b": 1}},
    )
    document["outputs"] |= {"after": {"from": "after.value"}, "other": {"from": "other.value"}}
    outcome = latentgraph("run", write_workflow(document), "--json")
    states = {node["id"]: node["state"] for node in outcome.json["nodes"]}
    assert (outcome.code, states) == (1, {"first": "done", "sum": "failed", "after": "skipped", "other": "done"})
    assert outcome.json["outputs"] == {"other": 2.0}


def test_an_output_of_something_muted_is_told_absent(latentgraph: Command, write_workflow) -> None:
    document = copy.deepcopy(SUM)
    document["nodes"]["sum"]["state"] = "muted"
    document["outputs"]["first"] = {"from": "first.value"}
    outcome = latentgraph("run", write_workflow(document))
    assert outcome.out == "first: 3.0\n"
    assert re.search(r"^output sum is absent: ", outcome.err, re.M)


def test_random_seeds_are_drawn_and_told(latentgraph: Command, write_workflow) -> None:
    document = edited(first={"type": "seed", "inputs": {"value": {"random": True}}}, sum={"inputs": {"a": 1, "b": 2}})
    document["inputs"] = {}
    document["outputs"] = {"seed": {"from": "first.value"}}
    found = latentgraph("run", write_workflow(document), "--json").json
    assert found["outputs"]["seed"] == found["seeds"]["first.value"]


def test_a_drawn_seed_is_told_with_what_repeats_it(latentgraph: Command, write_workflow) -> None:
    nodes = {name: {"type": "seed", "inputs": {"value": {"random": True}}} for name in ("a", "b", "lone")}
    document = {**SUM, "nodes": nodes, "inputs": {"seed": {"to": ["a.value", "b.value"]}}}
    document["outputs"] = {name: {"from": f"{name}.value"} for name in nodes}
    path = write_workflow(document)
    first = latentgraph("run", path)
    drawn, alone = re.findall(r"[0-9]+$", first.out, re.M)[1:]
    assert f"\nseed drawn: {drawn}; --set seed={drawn} repeats it\n" in first.err
    assert f"\nlone.value drawn: {alone}; write it there to repeat it\n" in first.err
    assert first.err.count("drawn") == 2
    again = latentgraph("run", path, "--set", f"seed={drawn}")
    assert again.out.startswith(f"a: {drawn}\nb: {drawn}\n")
    assert "seed drawn" not in again.err


# refusals


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "workflow.json: "),
        ({**SUM, "version": "2.0"}, "The workflow has version 2.0; this program reads up to 1.x. Update Latentgraph"),
        (edited(sum={"type": "maths"}), 'Did you mean "math"?'),
        (edited(sum={"inputs": {"operation": "ad"}}), 'sum.operation got "ad"; it takes one of "add", '),
        (edited(sum={"inputs": {"a": "x"}}), 'sum.a got "x"; it takes a number'),
        (edited(sum={"inputs": {"c": 1}}), 'sum (math) has no input "c"'),
        (edited(sum={"inputs": {"a": {"link": "sum.value"}}}), "These nodes wait for each other: sum -> sum."),
        (edited(sum={"inputs": {"a": {"link": "frst.value"}}}), 'Did you mean "first"?'),
    ],
)
@pytest.mark.parametrize("command", ["run", "validate", "plan"])
def test_an_invalid_workflow_is_refused_with_2_and_nothing_is_written(
    latentgraph: Command, home: Path, write_workflow, command: str, document: object, message: str
) -> None:
    path = write_workflow(document)
    before = tree(home)
    outcome = latentgraph(command, path)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert all(line.startswith(f"{path}: ") for line in outcome.err.splitlines())
    assert (tree(home), list(Path.cwd().iterdir())) == (before, [])


def test_every_problem_is_told_and_json_has_them_too(latentgraph: Command, write_workflow) -> None:
    path = write_workflow(edited(sum={"inputs": {"a": "x", "b": "y", "c": 1}}))
    outcome = latentgraph("validate", path, "--json")
    assert outcome.code == 2
    assert outcome.json["state"] == "invalid"
    assert [problem["message"] for problem in outcome.json["problems"]] == outcome.err.splitlines()
    assert {(problem["node"], problem["port"], problem["file"]) for problem in outcome.json["problems"]} == {
        ("sum", port, str(path)) for port in "abc"
    }


def test_a_wrong_set_is_refused_with_2(latentgraph: Command, sum_file: Path) -> None:
    outcome = latentgraph("run", sum_file, "--set", "first=many", "--set", "secnd=1")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines() == [
        '--set first: "many" is no number; write one like 3.5.',
        '--set secnd: the workflow has no named input "secnd". Did you mean "second"?',
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("run", "missing.json"),
            "missing.json cannot be read (No such file or directory); give the path of a workflow file, or the "
            "name of a saved one or a template.",
        ),
        (
            ("run", "FILE", "--devices", "gpu"),
            '--devices got "gpu"; a device is cpu, cpu:0, cuda:0 or mps. Separate several by commas.',
        ),
        (("why", "FILE", "smu"), 'there is no node "smu". Did you mean "sum"?'),
        (("nodes", "maths"), 'There is no node type "maths". Did you mean "math"?'),
        (("bench", "nothing"), "benchmark"),
        (("reproduce", "missing.png"), "missing.png cannot be read (No such file or directory); give the path of a PNG"),
        (("frobnicate",), "No such command"),
        (("run",), "Missing argument"),
    ],
)
def test_wrong_usage_gives_2_and_says_what_to_do(
    latentgraph: Command, sum_file: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = latentgraph(*(sum_file if argument == "FILE" else argument for argument in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


@pytest.mark.parametrize("command", ["validate", "plan", "run"])
def test_a_model_and_a_file_that_are_not_here_are_told_together(latentgraph: Command, write_workflow, command: str) -> None:
    nodes = {
        "model": {"type": "load_pipeline", "inputs": {"model": "z-image"}},
        "picture": {"type": "load_image", "inputs": {"file": {"file": "in.png", "sha256": "ab" * 32}}},
    }
    path = write_workflow({**SUM, "nodes": {**SUM["nodes"], **nodes}})
    refused = latentgraph(command, path)
    assert (refused.code, refused.out) == (2, "")
    file, model = refused.err.splitlines()
    assert file.startswith(f"{path}: picture.file needs 'in.png'")
    assert model == (
        f'{path}: model.model: there is no model "z-image". Known: mini. '
        "Put its folder into models/ of the data folder, or name its parent in LATENTGRAPH_MODELS."
    )


def test_a_missing_file_of_the_user_is_refused_and_one_beside_the_workflow_is_taken(
    latentgraph: Command, home: Path, write_workflow, tmp_path: Path
) -> None:
    content = b"not really a picture"
    digest = hashlib.sha256(content).hexdigest()
    document = {
        "format": "latentgraph/workflow",
        "version": "1.0",
        "nodes": {"picture": {"type": "load_image", "inputs": {"file": {"file": "in.png", "sha256": digest}}}},
        "outputs": {"picture": {"from": "picture.image"}},
    }
    path = write_workflow(document)
    refused = latentgraph("run", path)
    assert refused.code == 2
    assert f"{path}: picture.file needs 'in.png' (sha256 {digest[:12]}...)" in refused.err
    (tmp_path / "in.png").write_bytes(b"another picture")
    assert latentgraph("validate", path).code == 2
    (tmp_path / "in.png").write_bytes(content)
    assert latentgraph("validate", path).code == 0
    assert not (home / "files").exists()
    assert latentgraph("plan", path).code == 0
    assert latentgraph("why", path, "picture").code == 0
    assert not (home / "files").exists()
    assert latentgraph("run", path).code == 1  # it is no picture, which the node tells
    assert (home / "files" / digest).read_bytes() == content


def curve_workflow(tmp_path: Path, content: bytes) -> dict:
    """A light node reads the file, so planning looks into it."""
    (tmp_path / "a.curve").write_bytes(content)
    literal = {"file": "a.curve", "sha256": hashlib.sha256(content).hexdigest()}
    return {
        "format": "latentgraph/workflow",
        "version": "1.0",
        "nodes": {
            "curve": {"type": "load_curve", "inputs": {"file": literal}},
            "save": {"type": "save_curve", "inputs": {"curve": {"link": "curve.curve"}}},
        },
    }


def a_curve() -> bytes:
    from graph.types import plain_fields
    from nodes.curves import FORMAT
    from nodes.sampling.options import Curve

    return json.dumps({"format": FORMAT, **plain_fields(Curve((1.0,), "w", 1, 64, 64, 0.0, "s", 0.0))}).encode()


def test_no_file_is_copied_for_a_workflow_that_planning_refuses(
    latentgraph: Command, home: Path, write_workflow, tmp_path: Path
) -> None:
    path = write_workflow(curve_workflow(tmp_path, b"no curve"))
    outcome = latentgraph("run", path)
    assert outcome.code == 2
    assert "a.curve is no curve: " in outcome.err
    assert not (home / "files").exists()


def test_no_file_is_copied_for_devices_that_are_not_there(
    latentgraph: Command, home: Path, write_workflow, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("nodes.devices.accelerators", lambda: ("cuda:0",))
    path = write_workflow(curve_workflow(tmp_path, b"no curve"))
    before = tree(home)
    for command in (("run", path), ("plan", path), ("why", path, "save")):
        outcome = latentgraph(*command, "--devices", "cuda:0,cuda:3")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == (
            "--devices names cuda:3, which this machine does not offer; it has cpu, cuda:0. Name one of these.\n"
        )
    assert tree(home) == before


def test_a_file_beside_the_workflow_is_read_by_planning_and_brought_by_the_run(
    latentgraph: Command, home: Path, write_workflow, tmp_path: Path
) -> None:
    content = a_curve()
    path = write_workflow(curve_workflow(tmp_path, content))
    assert latentgraph("plan", path).code == 0
    assert not (home / "files").exists()
    assert latentgraph("run", path).code == 0
    assert (home / "files" / hashlib.sha256(content).hexdigest()).read_bytes() == content


@pytest.mark.parametrize(("below", "reason"), [("", "is no folder"), ("deeper/still", "is no folder")])
def test_an_output_folder_that_cannot_be_written_is_refused_before_anything_runs(
    latentgraph: Command, home: Path, write_workflow, tmp_path: Path, below: str, reason: str
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    path = write_workflow(curve_workflow(tmp_path, b"never read"))
    before = tree(home)
    outcome = latentgraph("run", path, "--output", blocked / below)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"Nothing can be saved to {blocked / below} ({blocked} {reason}); give another folder with --output.\n"
    )
    assert tree(home) == before


@pytest.mark.parametrize("setting", ["", "elsewhere"])
def test_the_gallery_is_where_the_server_keeps_its_outputs(
    latentgraph: Command, write_workflow, home: Path, tmp_path: Path, setting: str
) -> None:
    if setting:
        home.mkdir(exist_ok=True)
        (home / "settings.toml").write_text(f"output_folder = {json.dumps(str(tmp_path / setting))}\n")
    outcome = latentgraph(
        "run", write_workflow({**curve_workflow(tmp_path, a_curve()), "outputs": {"file": {"from": "save.file"}}}), "--gallery"
    )
    folder = tmp_path / setting if setting else home / "outputs"
    assert (outcome.code, Path(outcome.out.strip()).parent) == (0, folder), outcome.err
    assert Path(outcome.out.strip()).is_file()


def test_the_gallery_and_a_folder_are_not_both_taken(latentgraph: Command, sum_file: Path) -> None:
    outcome = latentgraph("run", sum_file, "--gallery", "--output", "x")
    assert (outcome.code, "--gallery and --output name two places for saved files; give one of them." in outcome.err) == (2, True)


def test_an_output_folder_of_others_is_refused(
    latentgraph: Command, write_workflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_workflow(curve_workflow(tmp_path, b"never read"))
    monkeypatch.setattr("server.usable.os.access", lambda place, mode: place != tmp_path)
    outcome = latentgraph("run", path, "--output", tmp_path / "new")
    assert outcome.code == 2
    assert outcome.err.endswith(f"({tmp_path} is not yours to write); give another folder with --output.\n")


def test_a_workflow_that_saves_nothing_needs_no_output_folder(latentgraph: Command, sum_file: Path) -> None:
    assert latentgraph("run", sum_file, "--output", sum_file).code == 0


def test_a_data_folder_that_cannot_be_used_is_refused(latentgraph: Command, sum_file: Path, tmp_path: Path) -> None:
    outcome = latentgraph("run", sum_file, "--home", sum_file / "home")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"The data folder {sum_file / 'home'} cannot be used (Not a directory); set LATENTGRAPH_HOME or give --home.\n"
    )
    missing = latentgraph("cache", "stats", "--home", tmp_path / "nowhere")
    assert (missing.code, missing.err) == (
        2,
        f"There is no data folder {tmp_path / 'nowhere'}; run a workflow first, or give --home.\n",
    )
    assert not (tmp_path / "nowhere").exists()


# plan, why


def test_plan_tells_what_would_run_and_runs_nothing(latentgraph: Command, sum_file: Path) -> None:
    outcome = latentgraph("plan", sum_file)
    assert (outcome.code, outcome.err) == (0, "")
    assert re.search(r"^first +number +light ", outcome.out, re.M)
    assert re.search(r"^sum +math +run +host .* not remembered$", outcome.out, re.M)
    assert outcome.out.splitlines()[-1] == "1 of 2 nodes run; time unknown before the first run"
    found = latentgraph("plan", sum_file, "--json").json
    assert [(node["id"], node["state"]) for node in found["nodes"]] == [("first", "light"), ("sum", "run")]


def test_why_tells_the_reason_of_a_node(latentgraph: Command, sum_file: Path) -> None:
    assert latentgraph("why", sum_file, "first").out == "first is light: it is evaluated while planning, each time.\n"
    found = latentgraph("why", sum_file, "sum", "--json").json
    assert (found["node"], found["reasons"][0]["node"]) == ("sum", "sum")


# nodes, models, doctor, cache


def test_nodes_lists_types_and_shows_one(latentgraph: Command) -> None:
    listed = latentgraph("nodes").out
    assert re.search(r"^math +Math +text, float, float -> float$", listed, re.M)
    shown = latentgraph("nodes", "denoise").out
    assert re.search(r"^  steps +int +optional +1 to 200\. As the model's makers advise if not set$", shown, re.M)
    assert latentgraph("nodes", "math", "--json").json["id"] == "math"
    assert {spec["id"] for spec in latentgraph("nodes", "--json").json} >= {"number", "text", "math", "denoise", "save_image"}


def test_models_lists_names_and_folders(latentgraph: Command, home: Path) -> None:
    folder = home / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / "model_index.json").write_text("{}")
    assert {"name": "mine", "folder": str(folder)} in latentgraph("models", "--json").json
    assert re.search(rf"^mine +{re.escape(str(folder))}$", latentgraph("models").out, re.M)


@pytest.mark.slow
def test_doctor_finds_everything_in_place(latentgraph: Command) -> None:
    outcome = latentgraph("doctor", "--json")
    states = {finding["subject"]: finding["state"] for finding in outcome.json}
    assert outcome.code == 0, outcome.json
    assert {states[name] for name in ("python", "torch", "import names", "data folder", "node types", "devices")} == {"ok"}


def test_doctor_tells_a_data_folder_that_cannot_be_written(latentgraph: Command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("server.doctor._devices", lambda workspace: iter(()))
    blocked = tmp_path / "file"
    blocked.write_text("")
    outcome = latentgraph("doctor", "--home", blocked / "home")
    assert outcome.code == 1
    assert re.search(r"^wrong +data folder .* cannot be written \(Not a directory\); set LATENTGRAPH_HOME", outcome.out, re.M)


def test_cache_stats_verify_and_clear(latentgraph: Command, sum_file: Path, home: Path) -> None:
    assert latentgraph("cache", "stats", "--json").json["memo"]["objects"] == 0
    kept = home / "memo" / "objects" / "ab"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / ("ab" * 32 + ".msgpack")).write_bytes(b"torn")
    damaged = latentgraph("cache", "verify")
    assert damaged.code == 1
    assert "1 damaged" in damaged.out
    assert damaged.err.startswith("memo abababababab: ")
    assert latentgraph("cache", "verify", "--json").json["damaged"] == []
    assert latentgraph("cache", "clear", "--json").json["freed_bytes"] > 0


def test_cache_verify_finds_damaged_rows_too(latentgraph: Command, home: Path) -> None:
    table = Table(home / "memo", 1 << 20)
    table.write([(b"a", bytes(32), b"an action"), (b"a", bytes(31) + b"1", b"another")])
    table.close()
    with sqlite3.connect(home / "memo" / "cache.db") as connection:
        connection.execute("UPDATE Cache SET value = CAST('spoilt' AS BLOB) WHERE key = ?", (b"a" + bytes(32),))
    connection.close()
    damaged = latentgraph("cache", "verify")
    assert (damaged.code, damaged.err) == (1, "memo table: 1 damaged rows were removed\n")
    assert latentgraph("cache", "verify").code == 0


@pytest.mark.spec("A11")
def test_cache_verify_tells_which_entries_are_older_than_what_is_installed(
    latentgraph: Command, write_workflow, home: Path
) -> None:
    nodes = {
        "a": {"type": "number", "inputs": {"value": 2.0}},
        "kept": {"type": "disk_cache", "inputs": {"value": {"link": "a.value"}}},
    }
    latentgraph("run", write_workflow({**SUM, "nodes": nodes, "inputs": {}, "outputs": {"kept": {"from": "kept.value"}}}))
    verified = latentgraph("cache", "verify", "--json").json["disk_cache"]["default"]
    assert (verified["entries"], verified["made_with_others"]) == (1, {})
    folder = DiskCacheFolder(home / "disk_cache" / "default", 10**9)
    recorded = {
        "libraries": {**library_versions(), "torch": "1.0"},
        "environment": "torch 1.0;cuda:sm_90",
        "code": {"encode_text": "0" * 64, "gone/node": "1" * 64, "denoise": Workspace(home).registry.specs["denoise"].code},
    }
    folder.put(bytes(32), Packed("float", {"value": 2.0}, {}), recorded)
    older = {"torch 1.0": 1, "device cuda:sm_90": 1, "other code of encode_text": 1, "gone/node, which is not installed": 1}
    assert latentgraph("cache", "verify", "--json").json["disk_cache"]["default"]["made_with_others"] == older
    said = latentgraph("cache", "verify")
    assert said.code == 0
    assert "disk_cache/default: entries were made with device cuda:sm_90 (1), gone/node, which is not installed (1)" in said.err


def test_cache_clear_leaves_disk_cache_entries_unless_asked(latentgraph: Command, home: Path) -> None:
    entry = home / "disk_cache" / "default" / ("cd" * 32 + ".msgpack")
    entry.parent.mkdir(parents=True)
    entry.write_bytes(b"kept for months")
    latentgraph("cache", "clear")
    assert entry.exists()
    latentgraph("cache", "clear", "--disk-cache")
    assert not entry.exists()


# what stdout does not take


def buffered(home: Path) -> dict[str, str]:
    """The environment of a program that keeps what it could not write, and tries again at its end: Python's default."""
    return {**os.environ, "LATENTGRAPH_HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a place that takes no byte: /dev/full of Linux")
@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "FILE"),
        ("nodes", "--json"),
        ("run", "FILE", "--json"),
        ("validate", "missing.json", "--json"),
        ("nodes", "maths", "--json"),
    ],
)
def test_a_result_that_cannot_be_written_is_told_in_one_sentence(home: Path, sum_file: Path, arguments: tuple[str, ...]) -> None:
    program = [sys.executable, "-c", "from server.cli import main; main()"]
    given = [str(sum_file) if argument == "FILE" else argument for argument in arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*program, *given], stdout=full, stderr=subprocess.PIPE, text=True, env=buffered(home), check=False)
    assert done.returncode == 1
    told = "The result cannot be written to standard output (No space left on device). Send it elsewhere."
    assert done.stderr.splitlines()[-1] == told
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_told_nothing(home: Path) -> None:
    program = "import sys\nfrom server.cli import main\nsys.stdin.read()\nmain()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "nodes", "--json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered(home),
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        child.stdin.close()  # only now it writes
        assert child.stderr.read() == ""


# start-up


def imported_by(*arguments: str, home: Path) -> set[str]:
    program = (
        "import sys\nfrom server.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    environment = {**os.environ, "LATENTGRAPH_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=environment, check=True
    )
    return {name.partition(".")[0] for name in done.stderr.split("\n")} | set(done.stderr.split("\n"))


HEAVY = {"torch", "diffusers", "transformers", "tokenizers", "safetensors", "numpy", "networkx", "diskcache", "asyncio", "rich"}


def test_help_imports_typer_and_little_else(home: Path) -> None:
    found = imported_by("--help", home=home)
    assert found & (HEAVY | {"graph.engine", "graph.registry", "pydantic", "nodes"}) == set()


@pytest.mark.parametrize("command", ["validate", "nodes"])
def test_validate_and_nodes_import_no_engine_and_nothing_heavy(home: Path, sum_file: Path, command: str) -> None:
    found = imported_by(command, *([str(sum_file)] if command == "validate" else []), home=home)
    assert found & (HEAVY | {"graph.engine", "nodes.denoise", "sqlite3"}) == set()


def test_planning_the_default_workflow_imports_no_torch(home: Path, sum_file: Path) -> None:
    assert imported_by("plan", str(sum_file), home=home) & {"torch", "diffusers", "transformers", "networkx"} == set()


def test_the_version_is_that_of_the_distribution(latentgraph: Command) -> None:
    outcome = latentgraph("--version")
    assert (outcome.code, outcome.out) == (0, f"latentgraph {version('latentgraph')}\n")


def commands_on_a_data_folder() -> Iterator[list[str]]:
    """The words that call each of them, with something for every argument."""
    for group, before in ((app, []), (cache_app, ["cache"])):
        for command in group.registered_commands:
            given = inspect.signature(command.callback).parameters
            if "home" in given:
                arguments = [one for one in given.values() if one.default is one.empty]
                yield [*before, command.name or command.callback.__name__, *("x" for _ in arguments)]


def test_an_empty_data_folder_counts_as_not_given_by_every_command(latentgraph: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """--home "" is what a script gives whose variable is not set; it is not the current folder."""
    asked: list[Path | None] = []

    def folder(flag: Path | None) -> Path:
        asked.append(flag)
        raise WrongUsage("far enough")

    monkeypatch.setattr("server.settings.home_folder", folder)
    commands = list(commands_on_a_data_folder())
    assert len(commands) == 14
    for words in commands:
        assert [latentgraph(*words, "--home", given).err for given in ("", "x")] == ["far enough\n"] * 2, words
    assert asked == [None, Path("x")] * len(commands)


def test_every_command_has_help_of_one_line() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        assert len((command.callback.__doc__ or "").splitlines()) == 1


def test_json_of_an_error_of_ours_says_so(latentgraph: Command) -> None:
    outcome = latentgraph("nodes", "maths", "--json")
    assert json.loads(outcome.out) == {"state": "failed", "error": outcome.err.strip()}
