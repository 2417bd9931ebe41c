"""The pool: one live part per recipe, whole or not at all, within its budget."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from nodes.pool import Pool, PoolFull


class Live:
    """Something built."""


@dataclass(frozen=True)
class Part:
    """A recipe that counts its builds."""

    weights: str
    nbytes: int = 10
    builds: list = field(default_factory=list, compare=False)

    def build(self, device):
        self.builds.append(device)
        return Live()


def resident(pool):
    return [part.weights for part in pool.resident()]


def test_a_part_is_built_once_and_shared():
    pool, part = Pool("cpu:1", 100), Part("a")
    with pool.borrow(part) as one, pool.borrow(Part("a")) as other:
        assert one is other
    with pool.borrow(part) as again:
        assert again is one
    assert part.builds == ["cpu:1"]
    assert pool.resident()[0]._asdict() == {"kind": "Part", "weights": "a", "nbytes": 10, "pins": 0}


@pytest.mark.spec("R-G10")
def test_threads_that_meet_at_a_part_build_it_once():
    pool, part, together = Pool("cpu", 100), Part("a"), threading.Barrier(8)

    def use(_):
        together.wait()
        with pool.borrow(part) as live:
            return live

    with ThreadPoolExecutor(8) as threads:
        assert len({id(live) for live in threads.map(use, range(8))}) == 1
    assert len(part.builds) == 1


@pytest.mark.spec("R-G10")
def test_the_part_unused_longest_makes_room():
    pool = Pool("cpu", 30)
    for name in "abcad":
        with pool.borrow(Part(name)):
            pass
    assert resident(pool) == ["c", "a", "d"]
    assert pool.used_bytes == 30


def test_a_part_in_use_is_not_evicted():
    pool = Pool("cpu", 30)
    with pool.borrow(Part("a")) as held:
        for name in "bcde":
            with pool.borrow(Part(name)):
                pass
        with pool.borrow(Part("a")) as again:
            assert again is held
    assert sorted(resident(pool)) == ["a", "d", "e"]


@pytest.mark.spec("H2")
def test_what_cannot_fit_is_refused_with_sizes_and_nothing_is_evicted():
    pool = Pool("cpu", 30 * 2**20)
    with pool.borrow(Part("idle", 5 * 2**20)):
        pass
    with pool.borrow(Part("used", 20 * 2**20)):
        message = "Part needs 16 MiB on cpu, whose models may take 30 MiB; 20 MiB of that are in use. Use a smaller dtype"
        large = Part("large", 16 * 2**20)
        with pytest.raises(PoolFull, match=message), pool.borrow(large):
            pass
    assert large.builds == []
    assert sorted(resident(pool)) == ["idle", "used"]
    with pytest.raises(PoolFull, match="Part needs 31 MiB on cpu"), pool.borrow(Part("huge", 31 * 2**20)):
        pass


@pytest.mark.spec("R-G10")
def test_an_evicted_part_is_freed():
    pool = Pool("cpu", 10)
    with pool.borrow(Part("a")) as live:
        alive = weakref.ref(live)
    del live
    with pool.borrow(Part("b")):
        assert alive() is None
    assert pool.evict() == 10
    assert pool.resident() == ()


@dataclass(frozen=True)
class Failing(Part):
    """A recipe whose build fails half way, with debris in its frame, in a cycle, and in a chained error."""

    debris: list = field(default_factory=list, compare=False)

    def build(self, device):
        half = Live()
        half.itself = half
        self.debris.append(weakref.ref(half))
        try:
            raise OSError("a file is unreadable")
        except OSError as error:
            other = Live()
            self.debris.append(weakref.ref(other))
            raise RuntimeError("cannot build") from error


@pytest.mark.spec("H13")
def test_a_failed_build_leaves_nothing_behind():
    pool, part = Pool("cpu", 100), Failing("a")
    gc.disable()  # the pool itself must collect
    try:
        with pytest.raises(RuntimeError, match="cannot build") as failure, pool.borrow(part):
            pass
        assert failure.value.__traceback__ is not None
        assert [ref() for ref in part.debris] == [None, None]
    finally:
        gc.enable()
    assert pool.used_bytes == 0
    assert pool.resident() == ()


@pytest.mark.spec("H13")
def test_a_part_that_failed_once_can_be_built_later():
    @dataclass(frozen=True)
    class Flaky(Part):
        def build(self, device):
            live = super().build(device)
            if len(self.builds) == 1:
                raise OSError("not yet")
            return live

    pool, part = Pool("cpu", 100), Flaky("a")
    with pytest.raises(OSError, match="not yet"), pool.borrow(part):
        pass
    with pool.borrow(part) as live:
        assert isinstance(live, Live)
    assert pool.used_bytes == 10


def test_a_thread_that_waited_for_a_failed_build_tries_itself():
    entered, go = threading.Event(), threading.Event()

    @dataclass(frozen=True)
    class Slow(Part):
        def build(self, device):
            super().build(device)
            if len(self.builds) == 1:
                entered.set()
                go.wait(5)
                raise OSError("lost")
            return Live()

    pool, part = Pool("cpu", 100), Slow("a")

    def use():
        with pool.borrow(part) as live:
            return live

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(use)
        entered.wait(5)
        second = threads.submit(use)
        go.set()
        with pytest.raises(OSError, match="lost"):
            first.result()
        live = second.result()
    assert isinstance(live, Live)
    assert [(part.weights, part.pins) for part in pool.resident()] == [("a", 0)]
    assert pool.used_bytes == 10


@pytest.mark.spec("H12")
def test_trimming_returns_memory_to_the_driver():
    trimmed = []
    pool = Pool("cpu", 10, lambda: trimmed.append(1))
    pool.trim()
    assert trimmed == [1]
    for name in "ab":  # b evicts a
        with pool.borrow(Part(name)):
            pass
    assert trimmed == [1, 1]


def test_real_parts_fit_their_ledger(tiny):
    pool = Pool("cpu", tiny.denoiser.nbytes + tiny.vae.nbytes)
    for recipe in (tiny.denoiser, tiny.vae, tiny.text_encoder):
        with pool.borrow(recipe) as live:
            assert not live.training
    assert [part.kind for part in pool.resident()] == ["Vae", "TextEncoder"]
