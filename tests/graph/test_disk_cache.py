from __future__ import annotations

import errno
import os
import random
import shutil
import threading
from pathlib import Path

import pytest
from safetensors import safe_open

from graph.blob import digest_of
from graph.disk_cache import DiskCacheFolder
from graph.folder import StoreUnavailable
from graph.types import Packed
from tests.graph.packed_values import same, tensors, text

MB = 1 << 20
KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
RECORDED = {"libraries": {"torch": "2.13"}, "versions": {"tokenize": 1}}


@pytest.fixture
def folder(tmp_path: Path) -> DiskCacheFolder:
    return DiskCacheFolder(tmp_path / "disk_cache", MB)


def fresh(folder: DiskCacheFolder) -> DiskCacheFolder:
    """The folder as another process sees it."""
    return DiskCacheFolder(folder.path, folder.limit_bytes)


def files(folder: DiskCacheFolder) -> list[Path]:
    return sorted(path for path in folder.path.iterdir() if path.name != ".lock")


def change(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)


@pytest.mark.spec("A11")
@pytest.mark.parametrize("packed", [tensors(1, 300, 5, prompt="a"), text("x" * 100)])
def test_an_entry_comes_back_with_its_digest_and_record(folder: DiskCacheFolder, packed: Packed) -> None:
    digest = folder.put(KEY, packed, RECORDED)
    assert digest == digest_of(packed)
    for reader in (folder, fresh(folder), folder):
        entry = reader.get(KEY)
        assert entry is not None
        assert same(entry.packed, packed)
        assert (entry.digest, entry.recorded) == (digest, RECORDED)


def test_an_unknown_key_is_a_miss(folder: DiskCacheFolder) -> None:
    assert folder.get(KEY) is None
    assert folder.damaged == []


@pytest.mark.spec("A11")
def test_the_folder_can_be_carried_elsewhere(folder: DiskCacheFolder, tmp_path: Path) -> None:
    packed = tensors(1, 300)
    folder.put(KEY, packed, RECORDED)
    shutil.copytree(folder.path, tmp_path / "elsewhere")
    entry = DiskCacheFolder(tmp_path / "elsewhere", MB).get(KEY)
    assert entry is not None
    assert same(entry.packed, packed)


@pytest.mark.spec("A11")
def test_a_file_describes_itself_to_the_stock_reader(folder: DiskCacheFolder) -> None:
    folder.put(KEY, tensors(1, 300), RECORDED)
    with safe_open(files(folder)[0], "np") as file:
        metadata = file.metadata()
    assert metadata["type"] == "Sample"
    assert '"torch":"2.13"' in metadata["notes"]
    assert KEY.hex() in metadata["notes"]


@pytest.mark.spec("A11", "R-K06")
def test_an_entry_under_another_key_is_a_miss(folder: DiskCacheFolder) -> None:
    folder.put(KEY, tensors(1, 300), RECORDED)
    (path,) = files(folder)
    path.rename(path.with_stem(OTHER.hex()))
    assert folder.get(OTHER) is None
    assert [bad.reason for bad in folder.damaged] == ["it is another key's entry, or its entry fields were changed"]


@pytest.mark.spec("A11")
@pytest.mark.parametrize("packed", [tensors(1, 100), text("x")])
def test_no_flipped_bit_or_cut_is_taken_for_an_entry(folder: DiskCacheFolder, packed: Packed) -> None:
    folder.put(KEY, packed, RECORDED)
    (path,) = files(folder)
    data = path.read_bytes()
    changed = [data[: len(data) * i // 20] for i in range(20)] + [data + b"\0"]
    for bit in random.Random(3).sample(range(8 * len(data)), 120):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        changed.append(bytes(flipped))
    for number, damaged in enumerate(changed):
        change(path, damaged)
        reader = fresh(folder)
        entry = reader.get(KEY)
        # Blanks of the header's padding may differ; the value may not.
        assert (entry is None and len(reader.damaged) == 1) or (entry is not None and same(entry.packed, packed)), number
    folder.put(KEY, packed, RECORDED)
    assert folder.get(KEY) is not None


def test_its_digest_is_told_without_reading_the_value(folder: DiskCacheFolder) -> None:
    assert folder.digest(KEY) is None
    made = folder.put(KEY, tensors(1, 100_000), RECORDED)
    (path,) = files(folder)
    change(path, path.read_bytes()[:-1] + b"?")  # in the value: found when it is read
    assert folder.digest(KEY) == made
    assert folder.damaged == []
    assert folder.get(KEY) is None
    assert folder.digest(OTHER) is None


@pytest.mark.parametrize("harm", ["cut", "renamed"])
def test_a_cut_or_renamed_file_has_no_digest(folder: DiskCacheFolder, harm: str) -> None:
    folder.put(KEY, tensors(1, 300), RECORDED)
    (path,) = files(folder)
    if harm == "cut":
        change(path, path.read_bytes()[:-1])
        assert folder.digest(KEY) is None
    else:
        path.rename(path.with_stem(OTHER.hex()))
        assert folder.digest(OTHER) is None
    assert len(folder.damaged) == 1


@pytest.mark.spec("A11")
@pytest.mark.parametrize("field", ['"entry":1', '"2.13"'])
def test_another_version_or_a_changed_record_is_a_miss(folder: DiskCacheFolder, field: str) -> None:
    folder.put(KEY, tensors(1, 100), RECORDED)
    (path,) = files(folder)
    old = field.replace('"', '\\"').encode()
    assert old in path.read_bytes()
    change(path, path.read_bytes().replace(old, old.replace(b"1", b"9")))
    assert folder.get(KEY) is None


def test_a_link_is_not_followed(folder: DiskCacheFolder, tmp_path: Path) -> None:
    folder.put(KEY, tensors(1, 100), RECORDED)
    (path,) = files(folder)
    path.rename(tmp_path / "elsewhere.safetensors")
    path.symlink_to(tmp_path / "elsewhere.safetensors")
    assert folder.get(KEY) is None


def test_a_newer_entry_of_another_form_replaces_the_old(folder: DiskCacheFolder) -> None:
    folder.put(KEY, text("plain"), RECORDED)
    folder.put(KEY, tensors(1, 100), RECORDED)
    assert [path.suffix for path in files(folder)] == [".safetensors"]


@pytest.mark.spec("H15")
def test_the_least_recently_used_entries_go_first_and_the_limit_holds(tmp_path: Path) -> None:
    folder = DiskCacheFolder(tmp_path / "disk_cache", 40_000)
    keys = [bytes([i]) * 32 for i in range(12)]
    for i, key in enumerate(keys[:9]):
        folder.put(key, tensors(i, 3000), RECORDED)
        os.utime(folder._path(key, ".safetensors"), (1000.0 + i, 1000.0 + i))
    assert folder.get(keys[0]) is not None
    for i, key in enumerate(keys[9:]):
        folder.put(key, tensors(50 + i, 3000), RECORDED)
        assert sum(path.stat().st_size for path in files(folder)) <= 40_000
    assert folder.get(keys[0]) is not None
    assert folder.get(keys[1]) is None


@pytest.mark.spec("H15")
def test_the_limit_holds_for_two_writers_at_once(tmp_path: Path) -> None:
    folders = [DiskCacheFolder(tmp_path / "disk_cache", 100_000) for _ in range(2)]
    largest = []

    def put(folder: DiskCacheFolder, name: int) -> None:
        for i in range(40):
            folder.put(bytes([name, i]) * 16, tensors(i, 1000 * (1 + i % 9)), RECORDED)
            with folder._locked_total():
                largest.append(sum(path.stat().st_size for path in sorted(files(folder)) if path.exists()))

    threads = [threading.Thread(target=put, args=(folder, name)) for name, folder in enumerate(folders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 50_000 < max(largest) <= 100_000
    assert len(largest) == 80


def test_a_value_larger_than_the_limit_is_not_kept(folder: DiskCacheFolder) -> None:
    folder.put(KEY, tensors(1, 2 * MB), RECORDED)
    assert files(folder) == []


def test_entries_copied_in_are_counted(folder: DiskCacheFolder) -> None:
    for i in range(3):
        shutil.copy(__file__, folder.path / f"{bytes([i]).hex() * 32}.safetensors")
    before = sum(path.stat().st_size for path in files(folder))
    small = DiskCacheFolder(folder.path, before + 100)
    small.put(KEY, tensors(1, 1000), RECORDED)
    assert sum(path.stat().st_size for path in files(folder)) <= before + 100
    assert small.get(KEY) is not None


def test_unfinished_files_of_dead_processes_are_removed(folder: DiskCacheFolder) -> None:
    (folder.path / "deadbeef_deadbeef-1-1.aa.0.tmp").write_bytes(b"x" * 1000)
    folder.put(KEY, tensors(1, 1000), RECORDED)
    assert [path.suffix for path in files(folder)] == [".safetensors"]


@pytest.mark.spec("A11")
@pytest.mark.parametrize("name", ["write", "rename", "open", "ftruncate", "pwrite"])
def test_a_failing_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The failure is put at every call in turn until a run meets none."""
    real = getattr(os, name)
    for number in range(1, 50):
        folder = DiskCacheFolder(tmp_path / str(number), MB)
        folder.put(OTHER, text("before"), {})
        calls = []

        def failing(*args, calls=calls, number=number):
            calls.append(args)
            if len(calls) == number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args)

        unavailable = None
        with monkeypatch.context() as patch:
            patch.setattr(os, name, failing)
            try:
                folder.put(KEY, tensors(1, 3000, 100), RECORDED)
            except StoreUnavailable as failure:
                unavailable = failure
        if unavailable is None:
            assert len(calls) < number > 1
            assert folder.get(KEY) is not None
            return
        assert "No space left" in str(unavailable)
        assert [path.stem for path in files(folder)] == [OTHER.hex()]
        assert folder.get(KEY) is None
        folder.put(KEY, tensors(1, 3000, 100), RECORDED)
        assert folder.get(KEY) is not None


def test_verify_gives_what_was_recorded_and_what_is_bad(folder: DiskCacheFolder) -> None:
    folder.put(KEY, tensors(1, 300), RECORDED)
    folder.put(OTHER, tensors(2, 300), RECORDED)
    path = folder._path(OTHER, ".safetensors")
    change(path, path.read_bytes()[:-1] + b"?")
    report = folder.verify()
    assert report.entries == {KEY: RECORDED}
    assert [(bad.path, bad.reason) for bad in report.bad] == [(path, "its bytes do not have the digest it records")]
