"""Drafts: every edit survives, also one that is no valid workflow and has no name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from server.library import drafts as module
from server.library.drafts import Draft, Drafts
from server.library.precondition import CREATE, Precondition
from server.problems import Refusal


@pytest.fixture
def drafts(home: Path) -> Drafts:
    return Drafts(home)


def save(drafts: Drafts, id: str, document: dict[str, Any], match: str | None = None, workflow: str | None = None) -> Draft:
    precondition = Precondition(match) if match else CREATE
    return asyncio.run(drafts.save(id, document, workflow, None, precondition))


def refused(step: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        asyncio.run(step)
    return caught.value


def test_an_untitled_draft_that_is_no_workflow_comes_back_as_it_was(drafts: Drafts, home: Path) -> None:
    saved = save(drafts, "d1", {"half": ["done", 1.5], "z": 1, "a": None})
    assert asyncio.run(Drafts(home).read("d1")) == saved
    assert list(saved.document) == ["half", "z", "a"]
    assert (home / "drafts" / "d1.json").stat().st_mode & 0o777 == 0o600


def test_a_draft_is_told_closed_until_it_is_kept_open_again(drafts: Drafts, home: Path) -> None:
    etag = asyncio.run(drafts.save("d1", {"a": 1}, None, None, CREATE, closed=True)).etag
    assert asyncio.run(Drafts(home).read("d1")).closed
    assert [entry.closed for entry in asyncio.run(drafts.entries())] == [True]
    save(drafts, "d1", {"a": 1}, etag)
    assert [entry.closed for entry in asyncio.run(drafts.entries())] == [False]


def test_a_draft_written_before_drafts_could_be_closed_is_open(drafts: Drafts, home: Path) -> None:
    save(drafts, "d1", {"a": 1})
    (home / "drafts" / "d1.json").write_text('{"workflow": null, "base": null, "document": {"a": 1}}')
    assert not asyncio.run(drafts.read("d1")).closed


def test_two_pages_do_not_overwrite_each_other_unseen(drafts: Drafts) -> None:
    first = save(drafts, "d1", {"a": 1})
    second = save(drafts, "d1", {"a": 2}, first.etag)
    assert refused(drafts.save("d1", {"a": 3}, None, None, Precondition(first.etag))).code == "precondition_failed"
    assert refused(drafts.save("d1", {"a": 3}, None, None, Precondition())).code == "precondition_required"
    assert asyncio.run(drafts.read("d1")) == second


def test_drafts_are_listed_last_saved_first_and_deleted(drafts: Drafts) -> None:
    save(drafts, "d1", {"name": "First"}, workflow="mini")
    etag = save(drafts, "d2", {"name": 5}).etag
    save(drafts, "d1", {"name": "Again"}, "*", workflow="mini")
    assert [(entry.id, entry.title, entry.workflow) for entry in asyncio.run(drafts.entries())] == [
        ("d1", "Again", "mini"), ("d2", "", None),
    ]  # fmt: skip
    assert refused(drafts.delete("d2", Precondition())).code == "precondition_required"
    asyncio.run(drafts.delete("d2", Precondition(etag)))
    assert [entry.id for entry in asyncio.run(drafts.entries())] == ["d1"]
    assert refused(drafts.delete("d2", Precondition(etag))).message == 'There is no draft "d2". GET /v1/drafts lists all.'


@pytest.mark.spec("L3")
@pytest.mark.parametrize("id", ["", ".", "..", "../x", "a/b", "a.json", "-a", "a b", "\u0661", "a\0", "a" * 65])
def test_ids_that_would_be_paths_are_refused(drafts: Drafts, id: str) -> None:
    assert refused(drafts.save(id, {}, None, None, CREATE)).code == "invalid"
    assert refused(drafts.read(id)).code == "not_found"


def test_number_and_size_of_drafts_are_limited(drafts: Drafts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DRAFTS", 2)
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    for id in ("a", "b"):
        save(drafts, id, {})
    assert refused(drafts.save("c", {}, None, None, CREATE)).message == "There are 2 drafts, and no more are kept. Delete some."
    refusal = refused(drafts.save("a", {"a": "x" * 1000}, None, None, Precondition("*")))
    assert (refusal.code, "at most 1000 are kept" in refusal.message) == ("too_large", True)
    assert asyncio.run(drafts.read("a")).document == {}


def test_a_damaged_file_is_listed_told_and_can_be_deleted(drafts: Drafts, home: Path) -> None:
    save(drafts, "d1", {})
    (home / "drafts" / "d1.json").write_text('{"document": [')
    (entry,) = asyncio.run(drafts.entries())
    assert entry.problem == "The file was damaged by another program. Delete the draft."
    refusal = refused(drafts.read("d1"))
    assert (refusal.code, refusal.facts) == ("conflict", {"etag": entry.etag})
    asyncio.run(drafts.delete("d1", Precondition(entry.etag)))
    assert asyncio.run(drafts.entries()) == []


def test_files_that_drafts_name_are_told(drafts: Drafts) -> None:
    save(drafts, "d1", {"nodes": {"a": {"inputs": {"file": {"file": "x", "sha256": "ab" * 32}}}}})
    assert asyncio.run(drafts.files()) == {"ab" * 32}


def test_numbers_that_json_cannot_carry_are_refused(drafts: Drafts) -> None:
    assert refused(drafts.save("d1", {"a": float("nan")}, None, None, CREATE)).pointer == "/document"
