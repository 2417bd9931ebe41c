"""What doctor says of the server's part of a data folder: settings, token, jobs, free space."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from server import doctor
from server.api.session import check_keys
from server.configuration import Settings
from server.doctor import Finding
from server.jobs.store import JobStore
from server.open_files import OpenFiles
from server.workspace import Workspace


def findings(home: Path, name: str) -> dict[str, Finding]:
    return {finding.subject: finding for finding in getattr(doctor, f"_{name}")(Workspace(home))}


def test_every_setting_is_shown_with_its_value_and_where_that_comes_from(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "settings.toml").write_text(
        'max_nodes = 99\n[webhooks.me]\nurl = "https://me.example"\nsecret = "canary-canary-canary"\n'
    )
    monkeypatch.setenv("LATENTGRAPH_PORT", "9000")
    found = findings(home, "settings")
    assert {f"setting {name}" for name in Settings.model_fields} < found.keys()
    assert found["setting max_nodes"].message == f"99 ({home / 'settings.toml'})"
    assert found["setting port"].message == "9000 (LATENTGRAPH_PORT)"
    assert found["setting host"].message == "127.0.0.1 (default)"
    assert found["setting webhooks"].message == f"me=*** ({home / 'settings.toml'})"
    assert "canary" not in str(found)


def test_a_setting_that_cannot_be_used_is_told(home: Path) -> None:
    (home / "settings.toml").write_text("max_nods = 99\n")
    (finding,) = findings(home, "settings").values()
    assert finding.state == "wrong"
    assert '"max_nods", which is no setting. Did you mean "max_nodes"?' in finding.message


def test_what_ends_the_start_of_the_server_is_told_with_its_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.devices.accelerators_at_once", lambda: ())
    path = home / "settings.toml"
    path.write_text(
        'port = 0\ndevices = "cuda:0"\nworkflows_folder = "/nosuch"\noutput_folder = "/proc/x"\n'
        '[webhooks.me]\nurl = "http://me.example"\nsecret = "canary-canary-canary"\n'
    )
    found = list(doctor._use(Workspace(home)))
    assert [finding.state for finding in found] == ["wrong"] * 4 + ["ok"]
    for name, finding in zip(("devices", "workflows_folder", "output_folder", "webhooks"), found):
        assert f"{path}: {name}" in finding.message
    path.write_text("port = 0\n")
    assert list(doctor._use(Workspace(home))) == [
        Finding("ok", "settings", "what they name can be used here"),
        Finding("ok", "address", "127.0.0.1:0 is free"),
    ]


def test_what_is_mistyped_and_stops_nothing_is_a_note(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATENTGRAPH_PROT", "9")
    (home / "settings.toml").write_text("port = 0\n[time_limits_s]\ndenois = 600\ndenoise = 600\n")
    notes = [finding.message for finding in doctor._use(Workspace(home)) if finding.state == "note"]
    assert notes == [
        'LATENTGRAPH_PROT does nothing here: there is no setting "prot". Did you mean "port"? Rename or unset it.',
        f'{home / "settings.toml"}: time_limits_s names "denois", which is no node type here, so nothing has that limit. '
        'Did you mean "denoise"?',
    ]


def test_where_the_server_could_not_listen_is_told(home: Path) -> None:
    def address(text: str) -> Finding:
        (home / "settings.toml").write_text(text)
        return findings(home, "use")["address"]

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert address(f"port = {port}") == Finding(
            "note", "address", f"127.0.0.1:{port} is in use, by a server that runs or by something else"
        )
    assert address('host = "0.0.0.0"').state == "wrong"
    assert "listens on every network of this machine" in address('host = "0.0.0.0"').message


def test_a_data_folder_on_which_the_server_does_not_start_is_wrong(home: Path) -> None:
    home.chmod(0o770)
    assert [finding.state for finding in doctor._home(Workspace(home))] == ["wrong", "ok"]
    assert "can be written by others" in next(doctor._home(Workspace(home))).message
    home.chmod(0o750)
    assert [finding.state for finding in doctor._home(Workspace(home))] == ["note", "ok"]
    home.chmod(0o700)
    assert [finding.state for finding in doctor._home(Workspace(home))] == ["ok"]


def test_folders_of_models_that_are_not_there_and_models_that_no_family_runs_are_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, index in {"empty": "{}", "damaged": "{", "other": '{"_class_name": "OtherPipeline"}'}.items():
        (home / "models" / name).mkdir(parents=True)
        (home / "models" / name / "model_index.json").write_text(index)
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(tmp_path / "gone"))
    found = findings(home, "models")
    assert list(found) == ["models", "model damaged", "model empty", "model other"]
    assert found["models"] == Finding("ok", "models", "damaged, empty, mini, other")
    assert next(doctor._models(Workspace(home))) == Finding(
        "wrong", "models", f"LATENTGRAPH_MODELS names {tmp_path / 'gone'}, which is no folder; make it, or take it out"
    )
    assert all(found[f"model {name}"].state == "note" for name in ("damaged", "empty", "other"))
    assert 'the model folder is a "", which no model family here can run' in found["model empty"].message
    assert "is not readable JSON" in found["model damaged"].message
    assert 'the model folder is a "OtherPipeline"' in found["model other"].message


def test_the_version_of_latentgraph_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "own_version", lambda: "9.8.7")
    assert findings(home, "version")["latentgraph"] == Finding("ok", "latentgraph", "9.8.7")


def test_too_little_free_space_is_told_before_the_server_refuses(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(home, "settings")["disk floor"].state == "ok"
    monkeypatch.setenv("LATENTGRAPH_MIN_FREE_BYTES", str(2**50))
    finding = findings(home, "settings")["disk floor"]
    assert finding.state == "wrong"
    assert re.search(
        r"The disk has \d+ MiB free; below 1073741824 MiB nothing new is taken\. .*lower min_free_bytes\.", finding.message
    )


def test_too_few_open_files_are_told_with_what_follows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "open_files", lambda: OpenFiles(256, 5000))
    assert findings(home, "settings")["open files"] == Finding(
        "ok", "open files", "the system allows 5000, which is enough for max_connections"
    )
    monkeypatch.setattr(doctor, "open_files", lambda: OpenFiles(256, 1024))
    assert findings(home, "settings")["open files"] == Finding(
        "note",
        "open files",
        "The system allows the server 1024 open files, so it takes 768 connections at a time instead of max_connections = 4096. "
        "Raise that limit to 4352 (`ulimit -n`; LimitNOFILE of a systemd unit), or lower max_connections.",
    )


def test_the_token_is_looked_at_and_never_made_or_shown(home: Path) -> None:
    assert findings(home, "keys")["token"] == Finding(
        "note", "token", "no token and no secret yet; `latentgraph serve` makes what is missing"
    )
    assert not (home / "token").exists()
    token, _ = check_keys(home)
    finding = findings(home, "keys")["token"]
    assert finding == Finding("ok", "token", "token and secret are there, for this user alone")
    assert token not in finding.message
    (home / "token").chmod(0o644)
    finding = findings(home, "keys")["token"]
    assert (finding.state, "other users can read" in finding.message) == ("wrong", True)


@pytest.mark.parametrize(("text", "mode", "said"), [("abc", 0o600, "shorter than 32"), ("x" * 43, 0o644, "other users can read")])
def test_a_token_that_cannot_be_used_is_told_though_the_secret_is_not_there(home: Path, text: str, mode: int, said: str) -> None:
    (home / "token").write_text(text)
    (home / "token").chmod(mode)
    finding = findings(home, "keys")["token"]
    assert (finding.state, said in finding.message) == ("wrong", True)
    (home / "token").unlink()
    check_keys(home)
    (home / "secret").unlink()
    assert findings(home, "keys")["token"].message == "no secret yet; `latentgraph serve` makes what is missing"
    assert not (home / "secret").exists()


def test_the_job_store_is_counted_and_a_damaged_one_told(home: Path) -> None:
    assert findings(home, "jobs")["jobs"].message == "no job store yet; the first `latentgraph serve` makes it"
    store = JobStore(home / "jobs.sqlite")
    try:
        assert findings(home, "jobs")["jobs"].message.startswith("no jobs; ")
    finally:
        store.close()
    (home / "jobs.sqlite.damaged-1").write_text("")
    (home / "jobs.sqlite").write_bytes(b"nothing like a database" * 1000)
    found = list(doctor._jobs(Workspace(home)))
    assert [finding.state for finding in found] == ["note", "wrong"]
    assert "jobs.sqlite.damaged-1 was damaged and set aside" in found[0].message
    assert "restore a backup" in found[1].message


def test_a_page_that_was_not_built_is_told_with_what_to_do(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shipped, "canvas", lambda: None)
    finding = findings(home, "page")["page"]
    assert (finding.state, finding.message.rpartition("; ")[2]) == ("note", "run `make page`")
    monkeypatch.setattr(doctor.shipped, "is_checkout", lambda: False)
    assert findings(home, "page")["page"].message.endswith("install Latentgraph again, from its wheel and with its dependencies")
    monkeypatch.setattr(doctor.shipped, "canvas", lambda: tmp_path)
    assert findings(home, "page")["page"] == Finding("ok", "page", f"the canvas in {tmp_path}")


def test_the_templates_are_told_with_the_folder_to_run_them_from(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b.json", "a.json", "workflow-1.schema.json", "a.png"):
        (tmp_path / name).touch()
    monkeypatch.setattr(doctor.shipped, "templates", lambda: tmp_path)
    assert findings(home, "templates")["templates"] == Finding("ok", "templates", f"a, b in {tmp_path}")
    monkeypatch.setattr(doctor.shipped, "templates", lambda: None)
    assert findings(home, "templates")["templates"].message.startswith("none here; take a whole checkout and run: pip install")
