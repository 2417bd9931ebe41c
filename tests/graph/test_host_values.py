from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.host_values import HostValues

step = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 9), st.integers(0, 60)),
    st.tuples(st.sampled_from(["get", "hold", "release"]), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("drop"), st.just(0), st.integers(0, 100)),
)


@pytest.mark.spec("H15")
@given(st.lists(step, max_size=80))
def test_held_values_stay_and_the_rest_keeps_the_budget(steps: list[tuple[str, int, int]]) -> None:
    """Against a plain model: sizes, holds, and the order of use."""
    values, sizes, holds = HostValues(100), dict[bytes, int](), dict[bytes, int]()
    firm: set[bytes] = set()
    for name, number, amount in steps:
        digest = bytes([number])
        if name == "put":
            if values.get(digest) is None:
                sizes[digest] = amount
            values.put(digest, f"value {number}", amount)
        elif name == "get":
            assert values.get(digest) in (None, f"value {number}")
        elif name == "hold":
            holds[digest] = holds.get(digest, 0) + 1
            held_before = values.get(digest)
            values.hold(digest)
            assert values.get(digest) == held_before
        elif name == "release" and holds.get(digest):
            holds[digest] -= 1
            values.release(digest)
        elif name == "drop":
            here = {d for d in sizes if values.get(d) is not None}
            freed = values.drop_until(amount)
            assert freed == sum(sizes[d] for d in here if values.get(d) is None)
            assert values.bytes <= amount or all(holds.get(d) for d in sizes if values.get(d) is not None and sizes[d])
        here = {d for d in sizes if values.get(d) is not None}
        held = sum(sizes[d] for d in here if holds.get(d))
        assert values.bytes == sum(sizes[d] for d in here)
        assert values.bytes <= max(100, held)
        assert {d for d in firm if holds.get(d)} <= here
        firm = {d for d in here if holds.get(d)}


@pytest.mark.spec("H15")
def test_the_least_recently_used_goes_first() -> None:
    values = HostValues(3)
    for name in (b"a", b"b", b"c"):
        values.put(name, name, 1)
    values.get(b"a")
    values.put(b"d", b"d", 1)
    assert [name for name in (b"a", b"b", b"c", b"d") if values.get(name)] == [b"a", b"c", b"d"]


@pytest.mark.spec("H15")
def test_a_held_value_is_never_dropped() -> None:
    values = HostValues(10)
    values.hold(b"a")
    assert values.put(b"a", "a", 50)
    assert not values.put(b"b", "b", 1)
    assert values.drop_until(0) == 0
    assert values.get(b"a") == "a"
    values.release(b"a")
    assert values.get(b"a") is None


def test_a_value_that_cannot_stay_displaces_nothing() -> None:
    values = HostValues(10)
    values.put(b"a", "a", 5)
    assert not values.put(b"b", "b", 11)
    assert values.get(b"a") == "a"
