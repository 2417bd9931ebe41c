"""What doctor says of the server's part of a data folder: settings, token, jobs, free space."""

from __future__ import annotations

import re
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
