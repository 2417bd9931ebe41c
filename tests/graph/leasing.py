"""Waiting for a lease, as the tests and the benchmark do; the engine's lanes do other work meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

from graph.leases import Lease, Leases

#: The engine looks again as often (graph.execute.LEASE_POLL_SECONDS).
LOOK_SECONDS = 0.01


def wait_for(
    leases: Leases, key: bytes, is_made: Callable[[], bool] = lambda: False, until: float = float("inf")
) -> Lease | None:
    """The lease of `key` as soon as it is free; None once the result is made, or at the monotonic time `until`."""
    while not is_made() and time.monotonic() < until:
        lease = leases.acquire(key)
        if lease is None:
            time.sleep(LOOK_SECONDS)
        elif not is_made():  # it may have been made between the two looks
            return lease
        else:
            leases.release(lease)
    return None
