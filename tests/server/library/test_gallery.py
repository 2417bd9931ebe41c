"""The gallery shows whole outputs only, newest first, and deletes what it shows."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import threading
from pathlib import Path

import pytest

from graph.publish import publish
from server.library.gallery import Filter, Gallery
from server.problems import Refusal


@pytest.fixture
def folder(home):
    path = home / "outputs"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def forgotten():
    return []


@pytest.fixture
def gallery(home, folder, forgotten):
    made = Gallery(home, forgotten.append)
    yield made
    made.close()


def output(folder, id, at=None, kind="image", suffix=".png", job="", workflow="flow", **settings):
    settings = {"prompt": "a red circle", "model": "mini", "seed": 7, "width": 8, "height": 8} | settings
    run = {"job": job, "workflow": {"name": workflow, "nodes": {}}, "seeds": {}}
    path = publish(
        folder, id, suffix, b"pixels", {"id": id, "file": f"{id}{suffix}", "kind": kind, "settings": settings, "run": run}
    )
    if at is not None:
        os.utime(path.with_suffix(".json"), (at, at))
    return path


def page(gallery, **filter):
    return asyncio.run(gallery.page(Filter(**filter)))


def ids(gallery, **filter):
    return [output.id for output in page(gallery, **filter).outputs]


def refusal(step):
    with pytest.raises(Refusal) as caught:
        asyncio.run(step)
    return caught.value


def test_outputs_are_listed_newest_first_then_by_name(gallery, folder):
    for id, at in (("b", 20), ("a", 20), ("old", 10), ("new", 30)):
        output(folder, id, at)
    assert ids(gallery) == ["new", "b", "a", "old"]
    first = page(gallery, limit=1).outputs[0]
    assert first == (
        "new", "new.png", "image", 30.0, "", "flow", "a red circle", "mini", 7, 8, 8,
    )  # fmt: skip


FOREIGN = {
    "no JSON": b"{",
    "nested without end": b"[" * 100_000,
    "a list": b"[]",
    "another id": b'{"id": "other", "file": "other.png", "kind": "image"}',
    "a file elsewhere": b'{"id": "ID", "file": "../secret.png", "kind": "image"}',
    "itself as file": b'{"id": "ID", "file": "ID.json", "kind": "image"}',
    "settings no object": b'{"id": "ID", "file": "ID.png", "kind": "image", "settings": 3}',
    "run no object": b'{"id": "ID", "file": "ID.png", "kind": "image", "run": []}',
    "no kind": b'{"id": "ID", "file": "ID.png"}',
    "not text": b"\xff\xfe",
}


def foreign(folder, id, form):
    (folder / f"{id}.json").write_bytes(FOREIGN[form].replace(b"ID", id.encode()))
    (folder / f"{id}.png").write_bytes(b"pixels")


@pytest.mark.spec("J2", "J4")
@pytest.mark.parametrize("form", FOREIGN)
def test_what_does_not_say_what_ours_say_is_no_output(gallery, folder, form):
    output(folder, "ours", 10)
    foreign(folder, "foreign", form)
    assert ids(gallery) == ["ours"]
    assert refusal(gallery.get("foreign")).code == "not_found"
    assert refusal(gallery.delete("foreign")).code == "not_found"
    assert (folder / "foreign.png").exists()


@pytest.mark.spec("J2")
def test_half_a_pair_links_folders_and_temporary_files_are_no_outputs(gallery, folder, home):
    output(folder, "ours")
    (folder / "lonely.png").write_bytes(b"pixels")
    output(folder, "orphan").unlink()
    (folder / ".ours.png.owner.0a.tmp").write_bytes(b"pix")
    secret = home / "secret"
    secret.write_bytes(b"canary")
    for name, make in (("linked", lambda path: path.symlink_to(secret)), ("folder", Path.mkdir)):
        output(folder, name).unlink()
        make(folder / f"{name}.png")
    sidecar = output(folder, "moved").with_suffix(".json")
    sidecar.rename(home / "moved.json")
    sidecar.symlink_to(home / "moved.json")
    assert ids(gallery) == ["ours"]
    for id in ("lonely", "orphan", "linked", "folder", "moved"):
        assert refusal(gallery.open(id)).code == "not_found"
        assert refusal(gallery.delete(id)).code == "not_found"
    assert secret.read_bytes() == b"canary"


@pytest.mark.spec("J4")
@pytest.mark.parametrize("seed", range(6))
def test_pages_together_are_the_filtered_list_and_none_is_empty_while_more_follow(gallery, folder, seed):
    rng = random.Random(seed)
    expected = []
    for number in range(60):
        id, kind = f"o{number}", rng.choice(["image", "curve"])
        made = rng.choice(["good", "good", "foreign", "orphan", "lonely"])
        if made == "good":
            output(folder, id, 1000 - number, kind)
            expected += [id] if kind == "image" else []
        elif made == "foreign":
            foreign(folder, id, rng.choice(list(FOREIGN)))
            os.utime(folder / f"{id}.json", (1000 - number, 1000 - number))
        elif made == "orphan":
            output(folder, id, 1000 - number).unlink()
        else:
            (folder / f"{id}.png").write_bytes(b"x")
    for limit in (1, 3, 200):
        seen, after = [], None
        while True:
            part = page(gallery, kind="image", limit=limit, after=after)
            assert part.outputs
            seen += [one.id for one in part.outputs]
            after = part.next
            if after is None:
                break
            assert ids(gallery, kind="image", limit=limit, offset=len(seen))[:1] == expected[len(seen) : len(seen) + 1]
        assert seen == expected
    assert page(gallery, kind="image", offset=len(expected)) == ([], frozenset(), None)


@pytest.mark.spec("J4")
def test_a_page_has_1_to_200_outputs(gallery, folder):
    for number in range(205):
        output(folder, f"o{number}")
    assert [len(ids(gallery, limit=limit)) for limit in (-5, 0, 1, 200, 10**9)] == [1, 1, 1, 200, 200]


def test_a_new_output_moves_no_page_that_follows(gallery, folder):
    for number in range(4):
        output(folder, f"o{number}", number)
    first = page(gallery, limit=2)
    output(folder, "newer", 99)
    assert ids(gallery, limit=2, after=first.next) == ["o1", "o0"]
    asyncio.run(gallery.delete("o2"))
    assert ids(gallery, limit=2, after=first.next) == ["o1", "o0"]
    assert refusal(gallery.page(Filter(after="nonsense"))).message.startswith("`cursor` is not what a page gave")


def test_filters_take_what_they_name(gallery, folder):
    job = "0" * 26
    output(folder, f"image-{job}-0a", job=job, prompt="A Red CIRCLE", model="mini")
    output(folder, "curve", kind="curve", suffix=".curve", prompt=None, model=None)
    output(folder, "other", workflow="grid", prompt="a blue square", model="zimage")
    assert ids(gallery, job=job) == [f"image-{job}-0a"]
    assert ids(gallery, kind="curve") == ["curve"]
    assert ids(gallery, workflow="grid") == ["other"]
    assert ids(gallery, text="red circle") == [f"image-{job}-0a"]
    assert ids(gallery, model="zimage") == ["other"]
    assert ids(gallery, model="zimage", text="circle") == []


def test_a_new_output_is_seen_at_once_and_known_sidecars_are_not_read_again(gallery, folder, monkeypatch):
    read = []
    real = Gallery._read
    monkeypatch.setattr(Gallery, "_read", lambda self, id: (read.append(id), real(self, id))[1])
    for number in range(5):
        output(folder, f"o{number}", number)
        assert len(ids(gallery)) == number + 1
    assert sorted(read) == [f"o{number}" for number in range(5)]


def test_a_settled_folder_is_not_listed_again(gallery, folder, monkeypatch):
    output(folder, "one")
    os.utime(folder, (1000, 1000))
    assert ids(gallery) == ["one"]
    with monkeypatch.context() as patch:
        patch.setattr(type(gallery.root), "entries", lambda *_: pytest.fail("the folder was listed"))
        assert ids(gallery) == ["one"]
    output(folder, "two")
    assert sorted(ids(gallery)) == ["one", "two"]


def test_what_stays_in_memory_of_an_output_is_bounded(gallery, folder):
    path = output(folder, "one", prompt="p" * 10**6, model="m" * 10**6, workflow="w" * 10**6, kind="k" * 10**6)
    found = page(gallery).outputs[0]
    assert [len(text) for text in (found.prompt, found.model, found.workflow, found.kind)] == [2000, 200, 200, 40]
    path.with_suffix(".json").unlink()
    assert ids(gallery) == []
    assert gallery._listing.sidecars == {}


def test_a_search_under_way_holds_nobody_else_up(gallery, folder, monkeypatch):
    for number in range(3):
        output(folder, f"o{number}", number)
    asked, go_on, real = threading.Event(), threading.Event(), Gallery._read

    def read(self, id):
        if threading.current_thread().name.startswith("gallery-search"):
            asked.set()
            assert go_on.wait(20)
        return real(self, id)

    async def scenario():
        searching = asyncio.create_task(gallery.page(Filter(text="circle")))
        assert await asyncio.to_thread(asked.wait, 20)
        try:
            async with asyncio.timeout(20):
                os.close((await gallery.open("o2"))[1].file)
                assert (await gallery.get("o1")).size == 6
                await gallery.star("o1", True)
                await gallery.delete("o0")
                assert [one.id for one in (await gallery.page(Filter())).outputs] == ["o2", "o1"]
        finally:
            go_on.set()
        assert [one.id for one in (await searching).outputs] == ["o2", "o1", "o0"]  # as they were when it began
        assert [one.id for one in (await gallery.page(Filter(text="circle"))).outputs] == ["o2", "o1"]

    monkeypatch.setattr(Gallery, "_read", read)
    asyncio.run(scenario())


def test_an_output_tells_everything_it_was_made_with(gallery, folder):
    output(folder, "one", 10, job="0" * 26)
    record = asyncio.run(gallery.get("one"))
    assert record.settings["prompt"] == "a red circle"
    assert record.run == {"job": "0" * 26, "seeds": {}}
    assert record.workflow == {"name": "flow", "nodes": {}}
    assert (record.size, record.is_starred) == (6, False)


@pytest.mark.spec("J6")
def test_deleting_removes_the_file_first_then_its_sidecar_thumbnails_and_star(gallery, folder, forgotten, monkeypatch):
    output(folder, "one")
    output(folder, "two")
    asyncio.run(gallery.star("one", True))
    removed = []
    real = type(gallery.root).remove
    monkeypatch.setattr(type(gallery.root), "remove", lambda self, name: (removed.append(name), real(self, name)))
    asyncio.run(gallery.delete("one"))
    assert removed[:2] == ["one.png", "one.json"]
    assert forgotten == ["one"]
    assert ids(gallery) == ["two"]
    assert page(gallery).starred == frozenset()
    assert refusal(gallery.delete("one")).message == "There is no output one. GET /v1/outputs lists the outputs."


@pytest.mark.spec("J6")
def test_a_file_that_cannot_be_removed_stays_listed(gallery, folder, forgotten, monkeypatch):
    output(folder, "one")

    def refuse(name, **_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        refused = refusal(gallery.delete("one"))
    assert (refused.code, refused.status) == ("forbidden", 403)
    assert refused.message == "The file of output one cannot be removed (Permission denied). Make it writable, then try again."
    assert ids(gallery) == ["one"]
    assert forgotten == []


def test_stars_are_kept_across_restarts(gallery, folder, home):
    output(folder, "one", 1)
    output(folder, "two", 2)
    asyncio.run(gallery.star("one", True))
    asyncio.run(gallery.star("one", True))
    again = Gallery(home)
    assert page(again).starred == {"one"}
    assert ids(again, starred=True) == ["one"]
    assert ids(again, starred=False) == ["two"]
    asyncio.run(again.star("one", False))
    assert ids(again, starred=True) == []
    assert refusal(again.star("three", True)).code == "not_found"
    for text in ("{", "{}", '["two", 3]'):
        (home / "stars.json").write_text(text)
        assert ids(again, starred=True) == (["two"] if "two" in text else [])
    again.close()


def failing_writes(code):
    def write(*_):
        raise OSError(code, os.strerror(code))

    return write


NOT_WRITTEN = {
    errno.ENOSPC: ("disk_full", "The disk is full, so the data folder cannot be written. Free some space."),
    errno.EDQUOT: ("disk_full", "The disk is full, so the data folder cannot be written. Free some space."),
    errno.EROFS: (
        "forbidden", '"stars.json" in the data folder may not be read or written by the server. Change its permissions.',
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", NOT_WRITTEN, ids=errno.errorcode.get)
def test_a_star_that_the_disk_does_not_take_is_refused(gallery, folder, monkeypatch, code):
    output(folder, "one")
    output(folder, "two")
    asyncio.run(gallery.star("one", True))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_writes(code))
        refusals = [refusal(gallery.star("two", True)), refusal(gallery.star("one", False))]
    assert [(one.code, one.message) for one in refusals] == [NOT_WRITTEN[code]] * 2
    assert page(gallery).starred == {"one"}


@pytest.mark.spec("J6")
@pytest.mark.parametrize("code", [*NOT_WRITTEN, errno.EIO], ids=errno.errorcode.get)
def test_an_output_is_deleted_though_the_disk_does_not_take_that_its_star_goes(
    gallery, folder, home, forgotten, monkeypatch, code
):
    for id in ("one", "two", "three"):
        output(folder, id)
        asyncio.run(gallery.star(id, True))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_writes(code))
        asyncio.run(gallery.delete("one"))
        asyncio.run(gallery.delete("two"))
    assert (forgotten, ids(gallery), ids(gallery, starred=True)) == (["one", "two"], ["three"], ["three"])
    assert page(gallery).starred == {"three"}
    assert json.loads((home / "stars.json").read_text()) == ["one", "three", "two"]
    asyncio.run(gallery.star("three", False))
    assert json.loads((home / "stars.json").read_text()) == []


@pytest.mark.spec("J5", "R-P01")
@pytest.mark.parametrize(
    "id",
    ["../one", "..", "", ".", "one.png", "one\0", "a/b", "a\\b", "é", "*", "[ab]", "x" * 129, "one\n", "/etc/passwd", "%2e%2e"],
)
def test_an_unfit_id_is_refused_before_anything_is_looked_at(gallery, folder, id, monkeypatch):
    output(folder, "one")
    monkeypatch.setattr(gallery, "_list", lambda: pytest.fail("the folder was looked at"))
    for step in (gallery.get, gallery.open, gallery.delete):
        assert refusal(step(id)).message == "There is no output of this name. GET /v1/outputs lists the outputs."


def fill(folder, count):
    for number in range(count):
        id = f"o{number:06}"
        (folder / f"{id}.json").write_text(
            json.dumps({"id": id, "file": f"{id}.png", "kind": "image", "settings": {"prompt": "x"}})
        )
        (folder / f"{id}.png").write_bytes(b"x")


def turns_during(gallery, filter):
    """How often other tasks had their turn while a page was made, and the page."""

    async def scenario():
        turns = 0
        searching = asyncio.create_task(gallery.page(filter))
        while not searching.done():
            turns += 1
            await asyncio.sleep(0)
        return turns, await searching

    return asyncio.run(scenario())


@pytest.mark.slow
def test_a_long_search_leaves_the_loop_free(gallery, folder):
    fill(folder, 3000)
    turns, found = turns_during(gallery, Filter(text="nowhere"))
    assert found.outputs == []
    assert turns > 20


@pytest.mark.long
def test_a_hundred_thousand_outputs_leave_the_loop_free_and_are_read_once(gallery, folder, monkeypatch):
    fill(folder, 100_000)
    read = []
    real = Gallery._read
    monkeypatch.setattr(Gallery, "_read", lambda self, id: (read.append(id), real(self, id))[1])
    for filter, count in ((Filter(), 50), (Filter(text="nowhere"), 0), (Filter(offset=99_990), 10)):
        turns, found = turns_during(gallery, filter)
        assert len(found.outputs) == count
        assert turns > 20
    assert len(read) == 100_000
