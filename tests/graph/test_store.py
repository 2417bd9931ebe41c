from __future__ import annotations

import errno
import mmap
import os
import random
import stat
import threading
from pathlib import Path

import pytest

import graph.store
from graph import folder
from graph.blob import digest_of, image_of
from graph.database import Database
from graph.folder import COPY_BELOW, StoreUnavailable
from graph.store import Damage, Store
from graph.types import Packed
from tests.graph.packed_values import same, tensors, text

MB = 1 << 20


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", 64 * MB)


def objects(store: Store) -> list[Path]:
    return sorted(path for path in (store.folder / "objects").rglob("*") if path.is_file())


def leftovers(store: Store) -> list[str]:
    return os.listdir(store.folder / "tmp")


def bytes_in(folder: Path) -> int:
    """Bytes of values below a folder, now; files may come and go meanwhile."""
    total = 0
    for name in ("objects", "tmp", "quarantine"):
        for path in (folder / name).rglob("*"):
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def change(path: Path, data: bytes) -> None:
    """Put other bytes under a file's name, as a bad disk or a careless hand would."""
    path.chmod(0o600)
    path.write_bytes(data)


@pytest.mark.parametrize("packed", [tensors(1, 10, 200), tensors(2, COPY_BELOW + 5, 3), tensors(3, 0), text("x" * 9000)])
def test_a_value_comes_back_as_it_was(store: Store, packed: Packed) -> None:
    digest = store.put(packed)
    assert digest == digest_of(packed)
    for _ in range(3):
        assert same(store.get(digest), packed)


@pytest.mark.parametrize("size", [100, COPY_BELOW * 2])
def test_tensors_are_read_only(store: Store, size: int) -> None:
    packed = store.get(store.put(tensors(1, size)))
    assert packed is not None
    assert packed.tensors["part0"].data.readonly


def test_folders_are_private_and_files_read_only(store: Store) -> None:
    store.put(tensors(1, 10))
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in objects(store)] == [0o444]


def test_a_value_already_here_is_not_written_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tensors(1, 10)
    digest = store.put(packed)
    monkeypatch.setattr(graph.store, "image_of", lambda _: pytest.fail("packed again"))
    assert store.put(packed, digest) == digest


def test_an_unknown_digest_is_a_miss(store: Store) -> None:
    assert store.get(bytes(32)) is None
    assert not store.has(bytes(32))
    assert store.damaged == []


def test_another_store_on_the_folder_sees_the_value(store: Store) -> None:
    packed = tensors(1, 10)
    digest = store.put(packed)
    assert same(Store(store.folder, MB).get(digest), packed)


@pytest.mark.spec("R-K01", "A11")
@pytest.mark.parametrize("kind", ["flip", "cut", "extend", "zeros", "empty", "swap"])
@pytest.mark.parametrize("size", [3000, COPY_BELOW + 3000])
def test_a_damaged_file_is_a_counted_miss_and_set_aside(store: Store, kind: str, size: int) -> None:
    packed = tensors(1, size)
    digest = store.put(packed)
    (path,) = objects(store)
    data = path.read_bytes()
    other = b"".join(image_of(tensors(2, size)))
    changed = {
        "flip": data[:-1] + bytes([data[-1] ^ 1]),
        "cut": data[:-1],
        "extend": data + b"\0",
        "zeros": data[:512] + bytes(1024) + data[1536:],
        "empty": b"",
        "swap": other,
    }
    change(path, changed[kind])
    assert store.get(digest) is None
    ((name, reason, moved_to),) = store.damaged
    assert (name, bool(reason)) == (digest.hex(), True)
    assert moved_to is not None
    assert moved_to.parent == store.folder / "quarantine"
    assert not store.has(digest)
    assert same(store.get(store.put(packed, digest)), packed)


@pytest.mark.spec("R-K01")
@pytest.mark.proves(5)
def test_every_flipped_bit_is_found_by_a_fresh_process(store: Store) -> None:
    packed = tensors(1, 300)
    digest = store.put(packed)
    (path,) = objects(store)
    data = path.read_bytes()
    draw = random.Random(7)
    for position in draw.sample(range(8 * len(data)), 64):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        change(path, bytes(flipped))
        fresh = Store(store.folder, MB)
        assert fresh.get(digest) is None
        assert len(fresh.damaged) == 1
        fresh.put(packed)


@pytest.mark.spec("R-K01")
def test_a_file_changed_after_its_first_use_is_found(store: Store) -> None:
    digest = store.put(tensors(1, 300))
    (path,) = objects(store)
    assert store.get(digest) is not None
    change(path, path.read_bytes()[:-1] + b"?")
    assert store.get(digest) is None


def test_a_header_changed_behind_an_unchanged_time_is_found(store: Store) -> None:
    digest = store.put(tensors(1, 300))
    (path,) = objects(store)
    assert store.get(digest) is not None
    before = path.stat()
    change(path, path.read_bytes().replace(b'"U8","shape":[300]', b'"I8","shape":[300]'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert store.get(digest) is None
    assert store.damaged[0].reason == "its header changed after it was checked"


@pytest.mark.spec("R-K06")
def test_a_link_in_place_of_an_entry_is_not_followed(store: Store, tmp_path: Path) -> None:
    digest = store.put(tensors(1, 300))
    (path,) = objects(store)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert store.get(digest) is None
    assert len(store.damaged) == 1
    assert (tmp_path / "elsewhere").exists()


@pytest.mark.spec("R-K06")
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    store = Store(tmp_path / "store", MB)
    with pytest.raises(StoreUnavailable, match=r"store cannot be used for caching: it belongs to user .* make it writable"):
        store.put(tensors(1, 10))
    assert list(store.folder.iterdir()) == []  # nothing of it was opened or written


def test_a_value_stays_readable_after_it_is_evicted(store: Store) -> None:
    packed = tensors(1, COPY_BELOW + 1)
    got = store.get(store.put(packed))
    store.clear()
    assert objects(store) == []
    assert same(got, packed)


@pytest.mark.spec("H15")
def test_a_value_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", 10_000)
    kept = store.put(tensors(1, 5000))
    assert not store.has(store.put(tensors(2, 20_000)))
    assert store.has(kept)
    assert store.stats().not_kept == 1


@pytest.mark.spec("H15")
def test_eviction_goes_by_seconds_per_byte_down_to_the_low_water_mark(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", 100_000)
    sizes = {"cheap": (9_500, 0.01), "dear": (9_500, 100.0), "large": (49_500, 1.0), "middle": (19_500, 1.0)}
    digests = {name: store.put(tensors(i, size), seconds=cost) for i, (name, (size, cost)) in enumerate(sizes.items())}
    store.put(tensors(9, 12_000), seconds=1.0)
    # By seconds / bytes: cheap, large, middle, dear. Room for 12,256 below 90,000 of 100,000 takes the first two.
    assert {name for name, digest in digests.items() if store.has(digest)} == {"middle", "dear"}
    assert store.stats().evicted == 2


@pytest.mark.spec("H15")
def test_what_is_used_outlives_what_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", 50_000)
    digests = [store.put(tensors(i, 9_000)) for i in range(5)]
    for _ in range(3):
        store.get(digests[0])
        store.get(digests[3])
    store.flush()
    store.put(tensors(9, 18_000))
    assert {i for i, digest in enumerate(digests) if store.has(digest)} >= {0, 3}


@pytest.mark.spec("H15")
def test_nothing_in_use_is_evicted_by_any_process(tmp_path: Path) -> None:
    store, other = Store(tmp_path / "store", 50_000), Store(tmp_path / "store", 50_000)
    pinned = store.put(tensors(0, 9_000), seconds=0.0)
    assert store.pin([pinned, bytes(32)]) == {pinned}
    for i in range(1, 20):
        other.put(tensors(i, 9_000), seconds=100.0)
    assert store.has(pinned)
    other.clear()
    assert store.has(pinned)
    store.unpin([pinned])
    other.clear()
    assert not store.has(pinned)


def test_a_value_is_pinned_as_often_as_it_was_pinned(store: Store) -> None:
    digest = store.put(tensors(0, 100))
    store.pin([digest])
    store.pin([digest])
    store.unpin([digest])
    store.clear()
    assert store.has(digest)
    store.unpin([digest])
    store.clear()
    assert not store.has(digest)


def test_pins_of_a_closed_store_are_gone(store: Store) -> None:
    digest = store.put(tensors(0, 100))
    store.pin([digest])
    store.close()
    other = Store(store.folder, MB)
    other.clear()
    assert not other.has(digest)


@pytest.mark.spec("H15")
def test_nothing_is_evicted_in_vain_when_the_rest_is_in_use(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", 50_000)
    pinned, idle = store.put(tensors(0, 30_000)), store.put(tensors(1, 5_000))
    store.pin([pinned])
    assert not store.has(store.put(tensors(2, 30_000)))
    assert store.has(idle)


@pytest.mark.spec("H15", "R-K07")
def test_the_limit_holds_at_every_moment_of_concurrent_puts(tmp_path: Path) -> None:
    limit = 600_000
    stores = [Store(tmp_path / "store", limit) for _ in range(2)]
    samples = []

    def put(store: Store, seed: int) -> None:
        draw = random.Random(seed)
        index = Database(tmp_path / "store" / "index.db", "")
        for i in range(30):
            store.put(tensors(1000 * seed + i, draw.randrange(1000, 120_000)))
            # Others may write at this moment; in a transaction they only cannot rename or evict, so none counts twice.
            with index.transaction():
                samples.append(bytes_in(tmp_path / "store"))

    writers = [threading.Thread(target=put, args=(stores[i % 2], i)) for i in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert len(samples) == 120
    assert limit * 0.5 < max(samples) <= limit
    assert stores[0].off is None is stores[1].off
    assert stores[0].stats().bytes == bytes_in(tmp_path / "store")
    assert leftovers(stores[0]) == []


def failing_at(number: int, error: int, real):
    """`real`, failing at its `number`th call; `calls` counts."""
    calls = []

    def call(*args, **kwargs):
        calls.append(args)
        if len(calls) == number:
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    return call, calls


@pytest.mark.spec("R-K01")
@pytest.mark.parametrize("name", ["write", "rename", "open", "mkdir"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_failing_disk_turns_the_store_off_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: int
) -> None:
    """The failure is put at every call in turn until a run meets none."""
    for number in range(1, 100):
        store = Store(tmp_path / str(number), 64 * MB)
        values = [tensors(10 * number, 100, 50, 3), tensors(10 * number + 1, 2 * MB, 5)]
        kept = store.put(text("kept before" * 9))
        failing, calls = failing_at(number, error, getattr(os, name))
        unavailable: StoreUnavailable | None = None
        with monkeypatch.context() as patch:
            patch.setattr(os, name, failing)
            try:
                for value in values:
                    store.put(value)
            except StoreUnavailable as failure:
                unavailable = failure
        assert store.off is unavailable
        if unavailable is None:
            assert len(calls) < number > 1
            assert all(same(store.get(digest_of(value)), value) for value in values)
            return
        assert os.strerror(error) in str(unavailable)
        assert "LATENTGRAPH_HOME" in str(unavailable)
        assert leftovers(store) == []
        assert store.get(kept) is not None
        assert all(store.get(digest_of(value)) in (None, value) for value in values)
        with pytest.raises(StoreUnavailable):
            store.put(values[0])
        again = Store(store.folder, 64 * MB)
        assert same(again.get(again.put(values[0])), values[0])
        assert again.stats().bytes == bytes_in(store.folder)
    pytest.fail("no run without a failure")


def test_files_that_a_failure_left_uncounted_are_counted_when_it_is_over(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "RETRY_SECONDS", 0)
    failing, _ = failing_at(1, errno.ENOSPC, os.rename)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(StoreUnavailable):
            store.put(tensors(1, 3000))
    with store._index.transaction() as connection:  # as if the last commits had not reached the disk
        connection.execute("DELETE FROM blobs")
    store.put(tensors(2, 3000))
    store.put(tensors(3, 3000))
    assert store.off is None
    assert store.stats().bytes == bytes_in(store.folder)


def test_a_full_disk_under_the_index_turns_the_store_off(store: Store) -> None:
    """SQLite itself meets the limit: its file may not grow."""
    pages = store._index.rows("PRAGMA page_count")[0][0]
    store._index.rows(f"PRAGMA max_page_count = {pages}")
    values = (store.put(text(f"{i}" * 20)) for i in range(2000))
    with pytest.raises(StoreUnavailable, match="full"):
        list(values)
    assert leftovers(store) == []
    assert store.off is not None


@pytest.mark.parametrize("damage", [b"", b"no database at all, but long enough to look like one" * 20])
def test_a_lost_index_is_rebuilt_from_the_files(store: Store, damage: bytes) -> None:
    packed = tensors(1, 1000)
    digest = store.put(packed)
    store.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{store.folder}/index.db{suffix}").unlink(missing_ok=True)
    (store.folder / "index.db").write_bytes(damage)
    again = Store(store.folder, MB)
    assert same(again.get(digest), packed)
    assert (again.stats().objects, again.stats().bytes) == (1, bytes_in(store.folder))


def test_files_are_counted_again_after_a_boot(store: Store) -> None:
    """A power cut may have taken the last commits with it."""
    store.put(tensors(1, 1000))
    with store._index.transaction() as connection:
        connection.execute("DELETE FROM blobs")
        connection.execute("PRAGMA user_version = 1")
    assert Store(store.folder, MB).stats().bytes == bytes_in(store.folder)


def test_an_index_found_malformed_is_begun_anew_by_the_next_process(store: Store) -> None:
    for i in range(40):
        store.put(tensors(i, 10))
    store.close()
    path = store.folder / "index.db"
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 200] = b"\xa5" * 200
    path.write_bytes(data)
    broken = Store.__new__(Store)
    for _ in range(2):
        try:
            broken = Store(store.folder, MB)
            broken.put(tensors(99, 10))
        except StoreUnavailable:
            continue
    assert broken.off is None
    assert broken.stats().objects == 41


def test_files_of_dead_processes_are_swept_and_of_live_ones_kept(store: Store) -> None:
    live = store._reserve(100)
    assert live is not None
    live.write_bytes(b"x")
    for name in ("deadbeef_deadbeef-1-1.aa.0.tmp", "nonsense.tmp"):
        (store.folder / "tmp" / name).write_bytes(b"x")
    Store(store.folder, MB)
    assert leftovers(store) == [live.name]


def test_verify_finds_what_is_damaged_and_counts_what_is_new(store: Store) -> None:
    good, bad = store.put(tensors(1, 1000)), store.put(tensors(2, 1000))
    path = store._path(bad, ".safetensors")
    change(path, path.read_bytes()[:-1] + b"?")
    report = store.verify()
    assert (report.files, [damage.digest for damage in report.damaged]) == (2, [bad.hex()])
    assert isinstance(report.damaged[0], Damage)
    assert store.has(good)
    assert store.stats().quarantined == 1
    assert store.stats().bytes == bytes_in(store.folder)


def test_a_file_under_a_foreign_name_is_set_aside_by_verify(store: Store) -> None:
    store.put(tensors(1, 1000))
    (path,) = objects(store)
    path.rename(path.with_stem("no digest"))
    assert [damage.digest for damage in store.verify().damaged] == ["no digest"]
    assert objects(store) == []


def test_values_are_read_when_no_file_can_be_mapped_any_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tensors(1, COPY_BELOW * 3)
    digest = store.put(packed)
    real = mmap.mmap

    def without_descriptors(file: int, *args: int, **kwargs: int) -> mmap.mmap:
        if file != -1:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(file, *args, **kwargs)

    monkeypatch.setattr(mmap, "mmap", without_descriptors)
    assert same(store.get(digest), packed)


def test_clear_leaves_nothing_and_says_how_much(store: Store) -> None:
    store.put(tensors(1, 1000))
    store.put(text("x" * 5000))
    held = store.stats().bytes
    assert store.clear() == held
    assert bytes_in(store.folder) == 0 == store.stats().bytes
