"""Uploads are kept by content, whole or not at all, for as long as something names them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import shutil
import threading
import time
from types import SimpleNamespace

import pytest
from PIL import Image as Pillow

from server.library import uploads as uploads_module
from server.library.uploads import KEPT_SECONDS, Uploads
from server.problems import Refusal


def png():
    buffer = io.BytesIO()
    Pillow.new("RGB", (8, 8), "red").save(buffer, "PNG")
    return buffer.getvalue()


async def chunks(*parts):
    for part in parts:
        yield part


class Clock:
    def __init__(self):
        self.now, self.ran = 2_000_000_000.0, 0.0

    def __call__(self):
        return self.now

    def uptime(self):
        return self.ran


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def files(home, clock):
    made = Uploads(home, clock=clock, uptime=clock.uptime)
    yield made
    made.root.close()


def store(files, content, name="picture.png", parts=1):
    size = max(1, -(-len(content) // parts))
    return asyncio.run(files.store(chunks(*(content[at : at + size] for at in range(0, len(content), size))), name))


def refusal(step):
    with pytest.raises(Refusal) as caught:
        asyncio.run(step)
    return caught.value


def listed(home):
    return sorted(path.name for path in (home / "files").iterdir())


def test_a_file_lies_under_the_hash_of_its_content(files, home):
    content = os.urandom(3_000_000)
    upload = store(files, content, "noise.bin", parts=50)
    sha256 = hashlib.sha256(content).hexdigest()
    assert (upload.sha256, upload.name, upload.size, upload.kind) == (sha256, "noise.bin", 3_000_000, "other")
    path = home / "files" / sha256
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert asyncio.run(files.find(sha256)) == upload
    assert listed(home) == [sha256, f"{sha256}.json"]


@pytest.mark.spec("R-N09")
def test_the_kind_is_decided_by_the_bytes_and_not_by_the_name(files):
    assert store(files, png(), "movie.html").kind == "image"
    assert store(files, b"<svg><script>alert(1)</script></svg>", "picture.png").kind == "other"


def test_an_empty_file_is_a_file(files):
    assert store(files, b"", "").name == "e3b0c44298fc"


@pytest.mark.spec("R-P06")
def test_the_shown_name_is_cleaned_and_twins_keep_their_own(files):
    one, two = store(files, b"1", "../../café\x1b\n.png"), store(files, b"2", "cafe\u0301 .png")
    assert (one.name, two.name) == ("café .png", "café .png")
    assert one.sha256 != two.sha256
    assert {asyncio.run(files.find(upload.sha256)).size for upload in (one, two)} == {1}


def test_the_same_content_again_is_the_same_file_with_the_newer_name(files, home):
    first, second = store(files, png(), "a.png"), store(files, png(), "b.png")
    assert first.sha256 == second.sha256
    assert asyncio.run(files.find(first.sha256)).name == "b.png"
    assert store(files, png(), "").name == "b.png"
    assert len(listed(home)) == 2


def test_a_damaged_file_is_replaced_by_a_whole_one(files, home):
    upload = store(files, png())
    (home / "files" / upload.sha256).write_bytes(png()[:-3])
    store(files, png())
    assert (home / "files" / upload.sha256).read_bytes() == png()


@pytest.mark.spec("L7")
def test_one_byte_over_the_limit_is_refused_while_it_comes_and_leaves_nothing(home, clock):
    files = Uploads(home, most_bytes=1000, clock=clock)
    assert store(files, bytes(1000)).size == 1000
    before = listed(home)
    taken = []

    async def long():
        for _ in range(50):
            taken.append(1)
            yield bytes(100)

    refused = refusal(files.store(long(), "big"))
    assert refused.code == "too_large"
    assert refused.message == "The file has more than 1000 bytes. Send a smaller one."
    assert len(taken) == 11  # the rest was not asked for
    assert listed(home) == before


@pytest.mark.spec("L7")
def test_uploads_that_come_together_share_the_room_that_is_left(home, clock):
    files = Uploads(home, quota_bytes=2000, clock=clock)

    async def together():
        both_began = asyncio.Event()

        async def first():
            yield bytes(900)
            await both_began.wait()
            yield bytes(300)

        async def second():
            yield b"x" * 900
            both_began.set()
            yield b"x" * 50

        return await asyncio.gather(files.store(first(), "first"), files.store(second(), "second"), return_exceptions=True)

    first, second = asyncio.run(together())
    assert (first.code, second.size) == ("disk_full", 950)
    assert store(files, bytes(900)).size == 900  # what was refused takes no room


@pytest.mark.spec("L7")
def test_more_than_all_may_take_is_refused_as_a_full_disk(home, clock):
    files = Uploads(home, quota_bytes=2000, clock=clock)
    store(files, bytes(1500))
    refused = refusal(files.store(chunks(b"x" * 600), "more"))
    assert (refused.code, refused.status) == ("disk_full", 507)
    assert refused.message.startswith("The uploaded files would take more room than they may. Delete files or outputs")
    assert len(listed(home)) == 2


def test_the_last_of_the_disk_is_not_used(home, clock, monkeypatch):
    files = Uploads(home, floor_bytes=1000, clock=clock)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=999, total=10**12))
    refused = refusal(files.store(chunks(b"x"), "more"))
    assert refused.message.startswith("The disk is nearly full.")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1100, total=10**12))
    assert refusal(files.store(chunks(b"x" * 101), "more")).code == "disk_full"
    assert store(files, b"x" * 100).size == 100


@pytest.mark.spec("L8", "J1")
@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_failure_at_any_step_leaves_what_was_there_before(files, home, monkeypatch, call, number):
    kept = store(files, b"kept")
    before = {name: (home / "files" / name).read_bytes() for name in listed(home)}
    real, count = getattr(os, call), iter(range(1, 100))

    def failing(*args, **options):
        if next(count) == number:
            raise OSError(28, "No space left on device")
        return real(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        try:
            upload = store(files, b"new content")
        except Refusal as refused:
            refused_as = refused.code
        else:
            refused_as = "" if upload.size == 11 else "?"
    after = {name: (home / "files" / name).read_bytes() for name in listed(home)}
    whole = hashlib.sha256(b"new content").hexdigest()
    if whole in after:  # it may have failed after the name was given, which is no harm
        assert after.pop(whole) == b"new content"
        assert after.pop(f"{whole}.json")
    assert after == before
    assert refused_as in ("", "disk_full")
    assert asyncio.run(files.find(kept.sha256)) == kept


def test_the_content_is_on_the_disk_before_it_has_its_name(files, monkeypatch):
    done = []
    real_rename = os.rename

    def synced(file):
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{file}") else "file")

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", lambda *args, **options: (done.append("name"), real_rename(*args, **options)))
    store(files, b"content")
    assert done == ["file", "name", "folder"] * 2


def test_the_file_of_a_cancelled_upload_is_closed_after_the_last_write(files, home, monkeypatch):
    """Else the thread would write to whatever got the file's number next."""
    writing, go_on, order = threading.Event(), threading.Event(), []
    real_write, real_close = os.write, os.close

    def slow_write(file, data):
        writing.set()
        go_on.wait(20)
        order.append("written")
        return real_write(file, data)

    async def scenario():
        storing = asyncio.create_task(files.store(chunks(b"content"), "x"))
        await asyncio.to_thread(writing.wait, 20)
        monkeypatch.setattr(os, "close", lambda file: (order.append("closed"), real_close(file)))
        storing.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(storing, return_exceptions=True)
        monkeypatch.setattr(os, "close", real_close)
        return storing.cancelled()

    monkeypatch.setattr(os, "write", slow_write)
    assert asyncio.run(scenario())
    assert order[0] == "written"
    assert listed(home) == []


def test_a_client_that_goes_away_leaves_nothing(files, home):
    async def broken():
        yield bytes(2_000_000)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(files.store(broken(), "half"))
    assert listed(home) == []


def test_the_list_is_newest_first_in_parts(files, home):
    made = [store(files, bytes([number]), f"{number}.bin") for number in range(5)]
    for number, upload in enumerate(made):
        os.utime(home / "files" / upload.sha256, (number, number // 2))
    seen, after = [], None
    while True:
        page = asyncio.run(files.page(2, after))
        seen += [upload.sha256 for upload in page.files]
        after = page.next
        if after is None:
            break
    assert sorted(seen) == sorted(upload.sha256 for upload in made)
    assert seen[0] == made[4].sha256
    assert refusal(files.page(2, "nonsense")).message.startswith("`cursor` is not what a page gave as `next`")


# Keeping and removing.


def names(*digests):
    async def named():
        return frozenset(digests)

    return named


def test_a_file_that_a_job_or_a_workflow_names_is_not_removed(files, home):
    one, two, free = store(files, b"1", "one"), store(files, b"2", "two"), store(files, b"3", "free")
    files.kept_by("a job", names(one.sha256))
    files.kept_by("a saved workflow", names(two.sha256))
    refused = refusal(files.delete(one.sha256))
    assert (refused.code, refused.status) == ("in_use", 409)
    assert refused.message == 'The file "one" is named by a job. Delete that first, or leave the file.'
    assert 'The file "two" is named by a saved workflow' in refusal(files.delete(two.sha256)).message
    asyncio.run(files.delete(free.sha256))
    assert (
        refusal(files.find(free.sha256)).message == f"There is no file {free.sha256[:12]}... here. Upload it with POST /v1/files."
    )
    assert refusal(files.delete(free.sha256)).code == "not_found"
    assert len(listed(home)) == 4


def test_after_a_day_what_nothing_names_is_removed(files, home, clock):
    kept, old, young = store(files, b"1"), store(files, b"2"), store(files, b"3")
    brought = hashlib.sha256(b"brought").hexdigest()
    (home / "files" / brought).write_bytes(b"brought")  # by the command line
    (home / "files" / ".left.tmp").write_bytes(b"half")
    for name in (kept.sha256, old.sha256, brought, ".left.tmp"):
        os.utime(home / "files" / name, (0, clock.now - KEPT_SECONDS - 1))
    os.utime(home / "files" / young.sha256, (0, clock.now - KEPT_SECONDS + 1))
    clock.ran = KEPT_SECONDS + 1
    files.kept_by("a job", names(kept.sha256))
    assert asyncio.run(files.sweep()) == 1
    assert {name for name in listed(home) if not name.endswith(".json")} == {kept.sha256, young.sha256, brought}
    assert f"{old.sha256}.json" not in listed(home)


def made_old(home, sha256):
    """As a clock that jumped ahead makes it."""
    os.utime(home / "files" / sha256, (0, 0))


@pytest.mark.spec("R-C10")
def test_no_jump_of_the_clock_removes_an_upload_early(files, home, clock):
    came, named = store(files, b"1"), store(files, b"2")
    clock.ran = KEPT_SECONDS / 2
    files.missing(compiled(named.sha256))
    for upload in (came, named):
        made_old(home, upload.sha256)
    clock.ran = KEPT_SECONDS - 1
    assert asyncio.run(files.sweep()) == 0
    clock.ran = KEPT_SECONDS + 1
    assert asyncio.run(files.sweep()) == 1
    assert named.sha256 in listed(home)
    clock.ran = KEPT_SECONDS * 1.5 + 1
    assert asyncio.run(files.sweep()) == 1
    assert files._used == {}


@pytest.mark.spec("R-C10")
@pytest.mark.parametrize(("started", "left"), [(1000.0, KEPT_SECONDS - 1000.0), (0.0, KEPT_SECONDS)])
def test_the_day_of_an_upload_goes_on_at_the_next_start(files, home, clock, started, left):
    """Where the uptime of the last minutes was not written down, it begins with that start."""
    clock.ran = 500.0 * (started == 0)
    upload = store(files, b"1")
    made_old(home, upload.sha256)
    clock.ran = started
    later = Uploads(home, clock=clock, uptime=clock.uptime)
    clock.ran = started + left - 1
    assert asyncio.run(later.sweep()) == 0
    clock.ran += 2
    assert asyncio.run(later.sweep()) == 1
    later.root.close()


@pytest.mark.parametrize("note", ["{", "[]", '{"name": "a"}', '{"uptime_s": "x"}', '{"uptime_s": 1' + "0" * 400 + "}"])
def test_an_upload_without_a_readable_uptime_goes_by_the_clock(files, home, clock, note):
    """Those of older versions have none."""
    upload = store(files, b"1")
    (home / "files" / f"{upload.sha256}.json").write_text(note)
    made_old(home, upload.sha256)
    clock.ran = KEPT_SECONDS + 1
    later = Uploads(home, clock=clock, uptime=clock.uptime)
    clock.ran = 2 * KEPT_SECONDS + 2
    assert asyncio.run(later.sweep()) == 1
    later.root.close()


@pytest.mark.spec("R-C10")
def test_no_jump_of_the_clock_takes_the_temporary_file_of_an_upload_under_way(files, home, clock):
    async def parts():
        yield b"first"
        clock.now += 10 * KEPT_SECONDS
        await files.sweep()
        yield b"second"

    clock.now = time.time()
    clock.ran = 2 * KEPT_SECONDS
    (home / "files" / ".left.tmp").write_bytes(b"half")
    upload = asyncio.run(files.store(parts(), "x"))
    assert listed(home) == [".left.tmp", upload.sha256, f"{upload.sha256}.json"]
    asyncio.run(files.sweep())
    assert listed(home) == [upload.sha256, f"{upload.sha256}.json"]


def compiled(*digests):
    literals = [{"file": {"file": "cat.png", "sha256": digest}} for digest in digests]
    return SimpleNamespace(files=[(at, "file") for at in range(len(digests))], literals=literals, ids=["load"] * len(digests))


def test_missing_files_are_named_and_those_that_are_here_are_kept_for_the_job(files, home, clock):
    here, absent = store(files, b"here"), "0" * 64
    os.utime(home / "files" / here.sha256, (0, 0))
    (problem,) = files.missing(compiled(here.sha256, absent, "../../etc/passwd"))[:1]
    assert problem.message == (
        'load.file needs the file "cat.png" (sha256 000000000000...), which is not here. Upload it with POST /v1/files.'
    )
    assert (problem.code, problem.node, problem.port) == ("missing_file", "load", "file")
    refused = refusal(files.delete(here.sha256))
    assert "is named by a job that is just coming in" in refused.message
    assert asyncio.run(files.sweep()) == 0
    clock.now += 10 * KEPT_SECONDS
    assert "is just coming in" in refusal(files.delete(here.sha256)).message
    clock.ran += 31
    asyncio.run(files.delete(here.sha256))
    assert len(files.missing(compiled(here.sha256))) == 1


def test_an_order_that_comes_while_its_file_is_being_removed_is_never_left_without_it(files):
    upload = store(files, b"content")

    async def scenario():
        looked = asyncio.Event()

        async def slow():
            looked.set()
            await asyncio.sleep(0)
            return frozenset()

        files.kept_by("a job", slow)
        deleting = asyncio.create_task(files.delete(upload.sha256))
        await looked.wait()
        problems = files.missing(compiled(upload.sha256))  # the order comes in between
        outcome = await asyncio.gather(deleting, return_exceptions=True)
        return problems, outcome[0]

    problems, outcome = asyncio.run(scenario())
    assert problems == []
    assert isinstance(outcome, Refusal)
    assert outcome.code == "in_use"


@pytest.mark.spec("R-P05")
@pytest.mark.parametrize("id", ["", "0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61, "\u0660" * 64, "0" * 64 + "\n", "x" * 64])
def test_an_id_that_is_no_hash_is_refused_before_a_path_is_made_of_it(files, id, monkeypatch):
    monkeypatch.setattr(type(files.root), "_opened", lambda *_: pytest.fail("a path was opened"))

    async def open(id):
        files.open(id)

    for step in (files.find, open, files.delete):
        assert refusal(step(id)).message.startswith("A file's id is its SHA-256: 64 digits and letters a-f.")


def test_a_sidecar_that_cannot_be_read_costs_the_name_alone(files, home):
    upload = store(files, png(), "a.png")
    for text in ("{", "[]", json.dumps({"name": 3}), "[" * 100_000):
        (home / "files" / f"{upload.sha256}.json").write_text(text)
        assert asyncio.run(files.find(upload.sha256)).name in (f"{upload.sha256[:12]}.png", "3")


def test_tidying_goes_on_after_a_failure_and_ends_with_the_server(files, monkeypatch):
    async def scenario():
        failed = asyncio.Event()

        async def fails():
            failed.set()
            raise OSError("the disk is away")

        monkeypatch.setattr(uploads_module, "_SWEEP_SECONDS", 0)
        monkeypatch.setattr(files, "sweep", fails)
        await files.start()
        await asyncio.wait_for(failed.wait(), 20)
        failed.clear()
        await asyncio.wait_for(failed.wait(), 20)
        files._tidying.cancel()

    asyncio.run(scenario())
