"""Backup and restore: one moment of the job store and every file it names, while the server goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from server.api.session import check_keys
from server.jobs.record import Job, JobFilter, JobResult, NewJob, new_id
from server.jobs.store import JobStore
from server.settings import WrongUsage
from tests.server.conftest import SUM, tree

Command = Callable[..., Any]


def job(number: int, files: tuple[str, ...] = ()) -> NewJob:
    return NewJob(new_id(), f"flow {number}", b'{"nodes": {}}', {"seed": number}, None, {"a.seed": number}, files=files)


def jobs_of(store: JobStore) -> list[Job]:
    """All jobs, oldest first."""
    found: list[Job] = []
    before = None
    while True:
        page = store.page(JobFilter(before=before, limit=50)).result()
        found += page.jobs
        if page.next is None:
            return found[::-1]
        before = page.next


@pytest.fixture
def store(home: Path) -> Iterator[JobStore]:
    opened = JobStore(home / "jobs.sqlite")
    yield opened
    opened.close()


def fill(home: Path) -> None:
    """A data folder with one of everything."""
    check_keys(home)
    contents = {
        "settings.toml": "max_nodes = 99\n", "page.json": "{}", "workflows/a.json": "{}", "workflows/.versions/a/000001-x.json": "{}",
        "drafts/d.json": "{}", "files/" + "ab" * 32: "upload", "outputs/p.png": "pixels", "outputs/p.json": "{}",
        # made again, or somebody else's:
        "memo/objects/x": "m", "models/m/model_index.json": "{}", "thumbnails/p.webp": "t", "server.lock": "1", "tries": "t",
        "outputs/.p.png.tmp": "half",
    }  # fmt: skip
    for name, text in contents.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "outputs" / "link.png").symlink_to("/etc/hostname")


@pytest.mark.spec("L10")
def test_a_backup_restored_elsewhere_has_the_same_jobs_and_files(
    latentgraph: Command, home: Path, store: JobStore, tmp_path: Path
) -> None:
    fill(home)
    ids = [store.accept(job(number, files=("ab" * 32,))).result().job.id for number in range(60)]
    store.start(ids[0]).result()
    store.end(ids[0], "done", JobResult(seconds=1.5, outputs={"x": 5})).result()
    store.start(ids[1]).result()
    before = jobs_of(store)

    outcome = latentgraph("backup", tmp_path / "copy", "--json")
    assert (outcome.code, outcome.json["jobs"], outcome.json["files"]) == (0, 60, 10)
    assert latentgraph("restore", tmp_path / "copy", "--home", tmp_path / "new").out.startswith("60 jobs and 10 files (")
    restored = JobStore(tmp_path / "new" / "jobs.sqlite")
    try:
        assert jobs_of(restored) == before
        assert restored.document(ids[5]).result() == b'{"nodes": {}}'
        assert restored.told == []
    finally:
        restored.close()

    new = tmp_path / "new"
    assert tree(new) == {
        "token", "secret", "settings.toml", "page.json", "workflows/a.json", "workflows/.versions/a/000001-x.json", "drafts/d.json",
        "files/" + "ab" * 32, "outputs/p.png", "outputs/p.json", "jobs.sqlite",
    }  # fmt: skip
    for name in tree(new) - {"jobs.sqlite"}:
        assert (new / name).read_bytes() == (home / name).read_bytes(), name
    assert {path.stat().st_mode & 0o077 for path in [new, *new.rglob("*")]} == {0}
    assert check_keys(new) == check_keys(home)


def test_a_backup_taken_while_jobs_come_in_is_one_moment_of_them(
    latentgraph: Command, home: Path, store: JobStore, tmp_path: Path
) -> None:
    """What it holds is a beginning of what was accepted, never a hole: everything accepted before it began is in it."""
    accepted: list[str] = []
    enough, done = threading.Event(), threading.Event()

    def accept() -> None:
        while not done.is_set():
            accepted.append(store.accept(job(len(accepted))).result().job.id)
            if len(accepted) >= 20:
                enough.set()

    client = threading.Thread(target=accept)
    client.start()
    try:
        assert enough.wait(30)
        sure = len(accepted)
        assert latentgraph("backup", tmp_path / "copy").code == 0
    finally:
        done.set()
        client.join()
    copied = JobStore(tmp_path / "copy" / "jobs.sqlite")
    try:
        ids = [one.id for one in jobs_of(copied)]
    finally:
        copied.close()
    assert sure <= len(ids) <= len(accepted)
    assert ids == accepted[: len(ids)]


def test_a_backup_asks_for_no_log_beside_it(latentgraph: Command, store: JobStore, tmp_path: Path) -> None:
    """A read-only medium has no place for one."""
    store.accept(job(0)).result()
    latentgraph("backup", tmp_path / "copy")
    assert tree(tmp_path / "copy") == {"jobs.sqlite", "backup.json"}
    with closing(sqlite3.connect(tmp_path / "copy" / "jobs.sqlite")) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_an_older_backup_is_restored_where_no_log_can_be_made(latentgraph: Command, store: JobStore, tmp_path: Path) -> None:
    accepted = store.accept(job(0)).result().job
    latentgraph("backup", tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy" / "jobs.sqlite")) as copy:
        copy.execute("PRAGMA journal_mode = WAL")
    (tmp_path / "copy" / "jobs.sqlite-shm").symlink_to("nowhere/at-all")  # SQLite cannot make its file, as on a read-only medium
    outcome = latentgraph("restore", tmp_path / "copy", "--home", tmp_path / "new")
    assert (outcome.code, outcome.out[:6]) == (0, "1 jobs")
    restored = JobStore(tmp_path / "new" / "jobs.sqlite")
    try:
        assert jobs_of(restored) == [accepted]
    finally:
        restored.close()


def test_what_was_written_to_a_backup_meanwhile_is_restored_too(latentgraph: Command, store: JobStore, tmp_path: Path) -> None:
    """A server ran on it and was killed: what it committed lies in the log alone."""
    store.accept(job(0)).result()
    latentgraph("backup", tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy" / "jobs.sqlite")) as copy:
        copy.execute("PRAGMA journal_mode = WAL")
        with copy:
            copy.execute("INSERT INTO costs VALUES ('draw', '[1]')")
        latentgraph("restore", tmp_path / "copy", "--home", tmp_path / "new")
    restored = JobStore(tmp_path / "new" / "jobs.sqlite")
    try:
        assert restored.costs().result() == {"draw": [1]}
    finally:
        restored.close()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_restore_that_fails_leaves_nothing_and_can_be_tried_again(
    latentgraph: Command, home: Path, store: JobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    fill(home)
    store.accept(job(0)).result()
    latentgraph("backup", tmp_path / "copy")
    new = tmp_path / "new"
    if is_there:
        new.mkdir()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("server.backup.write_all", full)
        outcome = latentgraph("restore", tmp_path / "copy", "--home", new)
    assert (outcome.code, "failed (No space left on device). Mend that and try again." in outcome.err) == (2, True)
    assert [list(folder.iterdir()) for folder in tmp_path.glob("new")] == ([[]] if is_there else [])
    assert latentgraph("restore", tmp_path / "copy", "--home", new).code == 0


def test_a_backup_overwrites_nothing_and_lies_outside_the_data_folder(latentgraph: Command, home: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").write_text("")
    for target, said in (
        (taken, "is not empty, and nothing is overwritten"),
        (home / "backup", "lies in the data folder itself"),
    ):
        outcome = latentgraph("backup", target)
        assert (outcome.code, said in outcome.err) == (2, True)
    (tmp_path / "link").symlink_to(home)
    assert latentgraph("backup", tmp_path / "link" / "inner").code == 2
    assert tree(taken) == {"mine"}
    assert "There is no data folder" in latentgraph("backup", tmp_path / "b", "--home", tmp_path / "gone").err


@pytest.mark.spec("L11")
def test_a_data_folder_that_is_not_empty_is_not_restored_into(latentgraph: Command, home: Path, tmp_path: Path) -> None:
    fill(home)
    latentgraph("backup", tmp_path / "copy")
    before = tree(home)
    outcome = latentgraph("restore", tmp_path / "copy")
    assert (outcome.code, "is not empty, and nothing is overwritten. Give an empty folder" in outcome.err) == (2, True)
    assert tree(home) == before


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        (None, "is no backup: it has no readable backup.json"),
        ("{", "is no backup"),
        ("[]", "is no backup"),
        ('{"format": "latentgraph/backup", "version": 2}', "was made by a newer version"),
        ('{"format": "x", "version": 1}', "was made by a newer version (or something else)"),
    ],
)
def test_what_is_no_backup_is_not_restored(latentgraph: Command, tmp_path: Path, marker: str | None, said: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    if marker is not None:
        (source / "backup.json").write_text(marker)
    outcome = latentgraph("restore", source, "--home", tmp_path / "new")
    assert (outcome.code, said in outcome.err) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("gone", ["jobs.sqlite", "outputs/p.png"])
def test_a_backup_that_was_copied_in_part_is_not_restored_as_if_it_were_whole(
    latentgraph: Command, home: Path, store: JobStore, tmp_path: Path, gone: str
) -> None:
    fill(home)
    store.accept(job(0)).result()
    source, new = tmp_path / "source", tmp_path / "new"
    assert latentgraph("backup", source).code == 0
    (source / gone).unlink()
    named = json.loads((source / "backup.json").read_text())
    there = {**named, "jobs": int(gone != "jobs.sqlite"), "files": named["files"] - int(gone != "jobs.sqlite")}
    outcome = latentgraph("restore", source, "--home", new)
    assert outcome.code == 2
    counts = f"names 1 jobs and {named['files']} files, and {there['jobs']} and {there['files']} are there. Nothing was restored."
    assert counts in " ".join(outcome.err.split())
    assert not new.exists()
    (source / "backup.json").write_text(json.dumps(there))
    assert latentgraph("restore", source, "--home", new).code == 0


def test_a_place_that_takes_no_backup_is_told(latentgraph: Command, home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for parent in (tmp_path / "file", Path("/proc")):
        outcome = latentgraph("backup", parent / "copy")
        assert (outcome.code, f"The backup to {parent / 'copy'} failed (" in outcome.err.replace("\n", " ")) == (2, True)


def test_a_backup_that_fails_leaves_nothing_that_looks_like_one(
    latentgraph: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("server.backup.write_all", full)
    outcome = latentgraph("backup", tmp_path / "copy")
    assert (outcome.code, "failed (No space left on device)" in outcome.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


def test_a_damaged_job_store_is_not_passed_off_as_a_backup(latentgraph: Command, home: Path, tmp_path: Path) -> None:
    (home / "jobs.sqlite").write_bytes(os.urandom(20_000))
    outcome = latentgraph("backup", tmp_path / "copy")
    assert (outcome.code, "the job store cannot be read" in outcome.err) == (2, True)
    assert not (tmp_path / "copy").exists()


def test_a_file_that_goes_meanwhile_is_left_out(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from server import backup

    fill(home)
    copy = backup._copy_file

    def copying(source: Path, target: Path) -> int:
        if source.name == "p.png":
            source.unlink()
        return copy(source, target)

    monkeypatch.setattr(backup, "_copy_file", copying)
    backup.backup(home, tmp_path / "copy", json=True)
    found = json.loads((tmp_path / "copy" / "backup.json").read_text())
    assert (found["format"], found["files"]) == ("latentgraph/backup", 9)
    assert "outputs/p.png" not in tree(tmp_path / "copy")
    with pytest.raises(WrongUsage, match="is not empty"):
        backup.backup(home, tmp_path / "copy", json=True)


@contextmanager
def serving(home: Path) -> Iterator[Callable[..., Any]]:
    """A server on this data folder; gives a function that asks it."""
    command = [
        sys.executable,
        "-c",
        "from server.start import main; main()",
        "serve",
        "--port",
        "0",
        "--json",
        "--home",
        str(home),
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as server:
        assert server.stdout is not None
        link = json.loads(server.stdout.readline())

        def ask(path: str, body: Any = None) -> Any:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Authorization": f"Bearer {link['token']}", "Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(link["url"] + path, data, headers), timeout=60) as answer:
                return json.load(answer)

        try:
            yield ask
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0


@pytest.mark.slow
def test_a_server_restored_from_a_backup_of_a_running_one_lists_the_same_jobs(
    latentgraph: Command, home: Path, tmp_path: Path
) -> None:
    def listed(ask: Callable[..., Any]) -> list[Any]:
        return [[job[name] for name in ("id", "workflow", "inputs", "seeds", "created")] for job in ask("/v1/jobs")["jobs"]]

    home.chmod(0o700)
    with serving(home) as ask:
        for value in range(8):
            ask("/v1/jobs", {"workflow": SUM, "inputs": {"first": value}})
        before = listed(ask)
        assert latentgraph("backup", tmp_path / "copy").code == 0
    assert latentgraph("restore", tmp_path / "copy", "--home", tmp_path / "new").code == 0
    shutil.copy(home / "catalogue.json", tmp_path / "new")
    with serving(tmp_path / "new") as ask:
        assert listed(ask) == before
        assert len(before) == 8
