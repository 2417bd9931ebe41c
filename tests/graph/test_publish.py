"""Outputs appear whole, in pairs, under names of their own, or not at all."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import graph.publish as publishing
from graph.context import Context
from graph.owner import Owner, _start_of
from graph.publish import NAME, origin_of, output_name, publish, unique_name

ROOT = Path(__file__).parents[2]


def test_a_file_and_its_sidecar_appear_together(tmp_path):
    path = publish(tmp_path / "new" / "folder", "a-1", ".png", b"pixels", {"seed": 7, "prompt": "é"})
    assert path == tmp_path / "new" / "folder" / "a-1.png"
    assert path.read_bytes() == b"pixels"
    assert json.loads(path.with_suffix(".json").read_text()) == {"seed": 7, "prompt": "é"}
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["a-1.json", "a-1.png"]


@pytest.mark.spec("J1", "J2")
@pytest.mark.proves(4)
def test_the_sidecar_comes_last_and_only_whole_files_get_their_names(tmp_path, monkeypatch):
    seen = []
    link = os.link

    def spy(source, target):
        seen.append((Path(target).name, Path(source).read_bytes()[:1], Path(source).parent == Path(target).parent))
        link(source, target)

    monkeypatch.setattr(os, "link", spy)
    publish(tmp_path, "a", ".png", b"pixels", {})
    assert seen == [("a.png", b"p", True), ("a.json", b"{", True)]


@pytest.mark.spec("J1", "J2")
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("operation", ["write media", "write sidecar", "link media", "link sidecar", "sync folder"])
def test_a_failure_at_any_step_leaves_nothing(tmp_path, monkeypatch, operation, error):
    calls = {"write": 0, "link": 0}
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
    monkeypatch.setattr(os, "link", failing("link", os.link))
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


def test_of_many_writers_of_one_name_one_succeeds(tmp_path, monkeypatch):
    together = threading.Barrier(8)
    write = publishing._write

    def wait(path, data):
        if ".json" not in path.name:
            together.wait(20)  # all have seen that the name is free
        write(path, data)

    monkeypatch.setattr(publishing, "_write", wait)

    def attempt(number):
        try:
            publish(tmp_path, "a", ".png", b"%d" % number, {"whole": number})
        except FileExistsError as error:
            return str(error)
        return number

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(attempt, range(8)))
    (winner,) = [outcome for outcome in outcomes if isinstance(outcome, int)]
    assert all("exists already" in outcome for outcome in outcomes if outcome != winner)
    assert (tmp_path / "a.png").read_bytes() == b"%d" % winner
    assert json.loads((tmp_path / "a.json").read_text()) == {"whole": winner}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png"]


def test_a_file_that_another_program_made_meanwhile_stays(tmp_path, monkeypatch):
    link = os.link

    def late(source, target):
        if target.suffix == ".json":
            target.write_text("another program's")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileExistsError):
        publish(tmp_path, "a", ".png", b"pixels", {})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.json", "another program's")]


@pytest.mark.parametrize("taken", [False, True])
def test_a_file_system_without_hard_links_works_and_replaces_nothing_either(tmp_path, monkeypatch, taken):
    def refuse(source, target):
        if taken:
            target.write_bytes(b"another program's")
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    if taken:
        with pytest.raises(FileExistsError, match="a.png was made by another program just now; use another name"):
            publish(tmp_path, "a", ".png", b"pixels", {})
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.png", b"another program's")]
    else:
        publish(tmp_path, "a", ".png", b"pixels", {})
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png"]


def test_a_users_own_file_without_a_sidecar_is_never_replaced(tmp_path):
    (tmp_path / "holiday.png").write_bytes(b"the user's")
    with pytest.raises(FileExistsError, match="holiday.png exists already"):
        publish(tmp_path, "holiday", ".png", b"pixels", {})
    assert (tmp_path / "holiday.png").read_bytes() == b"the user's"


DIES = """
import errno, os, signal, sys
from pathlib import Path
from graph import publish
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
at, links = sys.argv[2], sys.argv[3] == "links"
real_link, real_rename, real_write = os.link, os.rename, publish._write
def link(source, target):
    if not links: raise PermissionError(errno.EPERM, "no hard links here")
    if at == "link " + target.suffix: die()
    real_link(source, target)
def rename(source, target):
    if at == "link " + target.suffix: die()
    real_rename(source, target)
def write(path, data):
    real_write(path, bytes(data)[:3] if at.startswith("write") else data)
    if at == "write media" or (at == "write sidecar" and ".json" in path.name): die()
os.link, os.rename, publish._write = link, rename, write
if at == "sync": publish._sync_folder = die
publish.publish(Path(sys.argv[1]), "a", ".png", b"half done", {"n": 1})
"""


@pytest.mark.slow
@pytest.mark.spec("J1", "J2")
@pytest.mark.parametrize("links", ["links", "no links"])
@pytest.mark.parametrize("at", ["write media", "write sidecar", "link .png", "link .json"])
def test_the_name_of_a_killed_writer_is_free_again_and_nothing_of_it_stays(tmp_path, at, links):
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path), at, links], check=False)
    assert died.returncode == -signal.SIGKILL
    assert (tmp_path / "a.png").exists() == (at == "link .json")
    (tmp_path / "a.txt").write_text("a user's file of the same name")
    publish(tmp_path, "a", ".png", b"pixels", {"n": 2})
    assert (tmp_path / "a.png").read_bytes() == b"pixels"
    assert json.loads((tmp_path / "a.json").read_text()) == {"n": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png", "a.txt"]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_writer_that_is_killed_while_another_waits_for_the_name_leaves_it_to_that_one(tmp_path, monkeypatch):
    write = publishing._write

    def killed_meanwhile(path, data):
        if ".json" in path.name:
            assert subprocess.run([sys.executable, "-c", DIES, str(tmp_path), "link .json", "links"], check=False).returncode < 0
            assert (tmp_path / "a.png").exists()
        write(path, data)

    monkeypatch.setattr(publishing, "_write", killed_meanwhile)
    publish(tmp_path, "a", ".png", b"pixels", {"n": 2})
    assert (tmp_path / "a.png").read_bytes() == b"pixels"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png"]


def test_what_another_try_published_is_made_durable_before_it_is_told(tmp_path, monkeypatch):
    publish(tmp_path, "a", ".png", b"pixels", origin_of(InJob()))
    synced = []
    monkeypatch.setattr(publishing, "_sync_folder", synced.append)
    publish(tmp_path, "a", ".png", b"pixels", origin_of(InJob()))
    assert synced == [tmp_path]


@pytest.mark.slow
def test_a_writer_killed_when_both_have_their_names_has_published(tmp_path):
    assert subprocess.run([sys.executable, "-c", DIES, str(tmp_path), "sync", "links"], check=False).returncode < 0
    publish(tmp_path, "b", ".png", b"pixels", {})
    assert (tmp_path / "a.png").read_bytes() == b"half done"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png", "b.json", "b.png"]


def test_what_others_are_writing_now_is_left_alone(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as other:
        owner = Owner.current()._replace(pid=other.pid, start=_start_of(other.pid))
        theirs = tmp_path / f".c.png.{owner}.00aa.tmp"
        theirs.write_bytes(b"being written")
        publish(tmp_path, "a", ".png", b"pixels", {})
        assert theirs.exists()
        other.kill()
        other.wait()
    publishing._swept.clear()
    publish(tmp_path, "b", ".png", b"pixels", {})
    assert not theirs.exists()


def test_a_process_that_leaves_removes_what_it_is_writing_and_no_more(tmp_path):
    publish(tmp_path, "a", ".png", b"pixels", {})
    mine = tmp_path / f".b.png.{Owner.current()}.00aa.tmp"
    mine.write_bytes(b"half")
    publishing.remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png"]


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


class InJob(Context):
    """A node's surroundings in a job of the server."""

    def __init__(self, job="01job", node_id="sub/save", element=None):
        self.node_id, self.element = node_id, element
        self._job = job

    @property
    def resolved(self):
        return {"job": self._job} if self._job else {}


@pytest.mark.spec("J9")
@pytest.mark.proves(3)
def test_in_a_job_names_depend_on_job_node_element_and_number_alone():
    name = output_name(InJob(), "image")
    assert name == output_name(InJob(), "image")
    assert re.fullmatch(r"image-01job-[0-9a-f]{12}", name)
    others = [
        output_name(InJob(), "image", 1), output_name(InJob(element=0), "image"), output_name(InJob(element=1), "image"),
        output_name(InJob(node_id="save"), "image"), output_name(InJob(job="02job"), "image"),
    ]  # fmt: skip
    assert len({name, *others}) == 6
    longest = output_name(InJob(job="x" * 200, node_id="n" * 500), "p" * 500)
    assert NAME.fullmatch(longest)


def test_on_the_command_line_names_are_unique():
    assert output_name(InJob(job=""), "image") != output_name(InJob(job=""), "image")
    assert origin_of(InJob(job="")) == {}


@pytest.mark.spec("R-P07")
@pytest.mark.parametrize(
    "prefix",
    ["%date%", "{seed}", "{0.__class__}", "%(seed)s", "${HOME}", "%s%s%s%n", "{ctx.home}", "../../etc", "a\nb", "\ud800"],
)
def test_a_prefix_is_text_and_nothing_in_it_is_replaced(prefix):
    expected = re.sub(r"[^A-Za-z0-9_-]+", "_", prefix).strip("_") or "output"
    for ctx in (InJob(), InJob(job="")):
        name = output_name(ctx, prefix)
        assert name.startswith(f"{expected}-")
        assert NAME.fullmatch(name)


def trees(*layers):
    for layer in layers:
        for path in sorted((ROOT / layer).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


#: It formats its own captions for training.
FORMATS = {"nodes/mini/data.py"}


@pytest.mark.spec("R-P07")
def test_no_text_of_a_user_is_used_as_a_format():
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees("graph", "nodes", "server")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant)
        and node.func.attr in ("format", "format_map", "vformat", "Template", "safe_substitute") and path not in FORMATS
    ]  # fmt: skip
    assert found == []


def parents_of(tree):
    return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


#: What makes or changes files. `replace` is left out as a method: texts have it too.
MAKES_FILES = {"open", "write_text", "write_bytes", "touch", "link", "symlink", "symlink_to", "hardlink_to", "rename", "save"}


@pytest.mark.spec("J1", "J2")
def test_only_publish_makes_files_in_the_output_folder():
    """A node hands the folder to `publish` as it is; what else knows of it hands it on, and opens nothing in it."""
    found = []
    for path, tree in trees("graph", "nodes", "server"):
        parents = parents_of(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "output_folder" and path.startswith("nodes/"):
                call = parents[node]
                is_published = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "publish"
                if not is_published or call.args[0] is not node:
                    found.append(f"{path}:{node.lineno} does not hand it to publish")
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and "output_folder" in ast.unparse(node.left):
                found.append(f"{path}:{node.lineno} names a file in it")
            is_making = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKES_FILES
            if is_making and any("output_folder" in ast.unparse(part) for part in (node.func.value, *node.args)):
                found.append(f"{path}:{node.lineno} makes a file in it")
    assert found == []


def test_another_try_of_the_same_work_finds_its_file(tmp_path):
    origin = origin_of(InJob())
    first = publish(tmp_path, "a", ".png", b"first", {"try": 1, **origin})
    assert publish(tmp_path, "a", ".png", b"second", {"try": 2, **origin}) == first
    assert first.read_bytes() == b"first"
    assert json.loads((tmp_path / "a.json").read_text())["try"] == 1
    assert len(list(tmp_path.iterdir())) == 2
    for other in (origin_of(InJob(job="02job")), origin_of(InJob(), 1), {}):
        with pytest.raises(FileExistsError, match=r"a.png exists already in .*; outputs are never overwritten, use another name"):
            publish(tmp_path, "a", ".png", b"third", other)


@pytest.mark.spec("R-C04")
@pytest.mark.parametrize("content", [b"first", memoryview(b"first")])
def test_another_try_completes_what_a_power_cut_left_without_its_sidecar(tmp_path, content):
    """Of the names that were not synced any may be gone: here all but that of the file."""
    path = publish(tmp_path, "a", ".png", b"first", origin_of(InJob()))
    path.with_suffix(".json").unlink()
    inode = path.stat().st_ino
    assert publish(tmp_path, "a", ".png", content, {"try": 2, **origin_of(InJob())}) == path
    assert (path.read_bytes(), path.stat().st_ino) == (b"first", inode)
    assert json.loads(path.with_suffix(".json").read_text())["try"] == 2
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(("content", "sidecar"), [(b"second", {"origin": {}}), (b"first", {})])
def test_a_file_without_a_sidecar_that_is_not_of_this_work_stays_and_keeps_its_name(tmp_path, content, sidecar):
    (tmp_path / "a.png").write_bytes(b"first")
    with pytest.raises(FileExistsError, match=r"a.png exists already in .*; outputs are never overwritten, use another name"):
        publish(tmp_path, "a", ".png", content, sidecar)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.png", b"first")]


@pytest.mark.proves(3)
def test_of_two_tries_at_once_both_give_the_one_file(tmp_path, monkeypatch):
    together = threading.Barrier(4)
    write = publishing._write

    def wait(path, data):
        if ".json" not in path.name:
            together.wait(20)  # all have seen that the name is free
        write(path, data)

    monkeypatch.setattr(publishing, "_write", wait)
    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(lambda n: publish(tmp_path, "a", ".png", b"%d" % n, {"n": n, **origin_of(InJob())}), range(4)))
    assert set(given) == {tmp_path / "a.png"}
    assert json.loads((tmp_path / "a.json").read_text())["n"] == int((tmp_path / "a.png").read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png"]


@pytest.mark.parametrize("damage", ["media gone", "no JSON", "no object"])
def test_a_name_whose_pair_is_broken_stays_taken(tmp_path, damage):
    path = publish(tmp_path, "a", ".png", b"first", origin_of(InJob()))
    if damage == "media gone":
        path.unlink()
    else:
        path.with_suffix(".json").write_text("{" if damage == "no JSON" else "[]")
    with pytest.raises(FileExistsError):
        publish(tmp_path, "a", ".png", b"second", origin_of(InJob()))


@pytest.mark.proves(2, 4)
def test_everything_is_on_the_disk_before_a_name_is_given_and_the_names_before_it_is_told(tmp_path, monkeypatch):
    """No kill can show this: what is written outlives a process, but not a power cut."""
    done = []

    def synced(handle):
        done.append(("sync", os.path.basename(os.readlink(f"/proc/self/fd/{handle}")).partition(".tmp")[0].count(".json")
                     if not os.path.isdir(f"/proc/self/fd/{handle}") else "folder"))  # fmt: skip

    link = os.link
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", lambda source, target: (done.append(("link", target.suffix)), link(source, target)))
    publish(tmp_path, "a", ".png", b"pixels", {})
    assert done == [("sync", 0), ("sync", 1), ("link", ".png"), ("link", ".json"), ("sync", "folder")]
