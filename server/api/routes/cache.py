"""The cache over HTTP: how much is remembered, whether it is whole, and forgetting it. The engine answers."""

from __future__ import annotations

from typing import Final

from server.api.models import Model
from server.api.route import Call, route

#: Everything that is kept is read once: 100 GB at 200 MB/s.
VERIFY_S: Final = 600.0
CLEAR_S: Final = 120.0

_REFUSES: Final = ("engine_unavailable", "not_ready_in_time")


class MemoView(Model):
    """Results of nodes that are remembered."""

    objects: int
    bytes: int
    limit_bytes: int
    quarantined: int
    """Damaged files that were set aside."""
    table_bytes: int


class FolderView(Model):
    """A folder of `disk_cache` nodes."""

    entries: int
    bytes: int


class CacheView(Model):
    """How much is kept."""

    memo: MemoView
    disk_cache: dict[str, FolderView]


class ClearRequest(Model):
    """What is to be forgotten."""

    disk_cache: bool = False
    """The entries of `disk_cache` nodes too."""


class ClearedView(Model):
    """How much that freed."""

    freed_bytes: int


class CheckedMemo(Model):
    """What was read of the memo."""

    files: int
    bytes: int


class CheckedFolder(Model):
    """What was read of a `disk_cache` folder."""

    entries: int
    bytes: int
    made_with_others: dict[str, int]
    """Entries made with library versions or devices that are not here now, which are still used: how many, by what differs."""


class VerifiedView(Model):
    """What was read, and what of it is damaged: it was set aside, and is made again when it is needed."""

    memo: CheckedMemo
    disk_cache: dict[str, CheckedFolder]
    damaged: list[str]


@route("GET", "/v1/cache", tags=("cache",), refuses=_REFUSES)
async def read_cache(call: Call) -> CacheView:
    """Tell how much is remembered."""
    found = await call.services.engine.ask("cache_stats")
    memo = {name: found["memo"].get(name, 0) for name in MemoView.model_fields}
    return CacheView.model_validate({"memo": memo, "disk_cache": found["disk_cache"]}, strict=False)


@route("POST", "/v1/cache/clear", tags=("cache",), refuses=_REFUSES)
async def clear_cache(call: Call, body: ClearRequest) -> ClearedView:
    """Forget what is remembered and not in use; the entries of `disk_cache` nodes stay, unless asked for."""
    found = await call.services.engine.ask("cache_clear", timeout_s=CLEAR_S, disk_cache=body.disk_cache)
    return ClearedView(freed_bytes=found["freed_bytes"])


@route("POST", "/v1/cache/verify", tags=("cache",), refuses=_REFUSES)
async def verify_cache(call: Call) -> VerifiedView:
    """Read everything that is kept and check it. Takes as long as reading it; jobs go on meanwhile.

    It goes on when the client has gone, and asking again then is answered anew.
    """
    return VerifiedView.model_validate(await call.services.engine.ask("cache_verify", timeout_s=VERIFY_S), strict=False)
