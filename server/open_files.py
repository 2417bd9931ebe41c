"""How many files this process may have open. A connection is one, and what answers it opens more.

Knows nothing of connections: `server.api.connections.Limits` says how many files they need, and fits itself to what there is.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from typing import NamedTuple


class OpenFiles(NamedTuple):
    """How many files a process may have open now, and how many it may allow itself."""

    now: int
    most: int


def open_files() -> OpenFiles:
    """What the system allows this process."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OpenFiles(_count(now), _count(most))


def allow_open_files(wanted: int) -> int:
    """Allow this process so many, or as many as the system lets it; how many it may have open then. Child processes inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = min(wanted, _count(hard))
    if _count(soft) < found:
        with suppress(OSError, ValueError):  # macOS has another limit besides, and says "no limit" here
            resource.setrlimit(resource.RLIMIT_NOFILE, (found, hard))
    return open_files().now


def _count(limit: int) -> int:
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
