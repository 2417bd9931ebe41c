"""Which version of Latentgraph this is."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1)
def own_version() -> str:
    """The version of this distribution; "0" in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # 36 ms, which `--help` does not have

    try:
        return version("latentgraph")
    except PackageNotFoundError:
        return "0"
