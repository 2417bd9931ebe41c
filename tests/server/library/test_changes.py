"""Looking for changes: only while somebody listens."""

from __future__ import annotations

import asyncio

import pytest

from server.library.changes import Changes


def test_each_listener_is_told_and_looking_ends_with_the_last() -> None:
    looks = iter([{"a": 1}, {"a": 1}, {"a": 2, "b": 1}, {"b": 1}])
    last = {"b": 1}
    changes = Changes(lambda: next(looks, last), every_s=0)

    async def listen() -> None:
        async with asyncio.timeout(20):
            first, second = changes.listen(), changes.listen()
            told = await asyncio.gather(anext(first), anext(second))
            assert all({"a", "b"} >= found for found in told)
            assert changes.is_looking
            await first.aclose()
            assert changes.is_looking
            await second.aclose()
            assert not changes.is_looking

    assert not changes.is_looking
    asyncio.run(listen())


def test_a_look_that_fails_is_told_and_the_next_listener_looks_again() -> None:
    broken = [True]

    def look() -> dict[str, int]:
        if broken[0]:
            raise PermissionError("closed")
        broken.append(False)
        return {"a": len(broken)}

    changes = Changes(look, every_s=0)

    async def listen() -> None:
        async with asyncio.timeout(20):
            listener = changes.listen()
            with pytest.raises(PermissionError, match="closed"):
                await anext(listener)
            broken[0] = False
            again = changes.listen()
            assert await anext(again) == {"a"}
            await again.aclose()

    asyncio.run(listen())
