"""One lock per live object: fast tokenizers and text encoders change shared state while they are called.

transformers' fast tokenizers set truncation and padding on a shared Rust object and raise "Already borrowed" when two
threads meet there; encoders may patch child modules during a forward. Different objects do not block each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

_locks: Final[WeakKeyDictionary[object, threading.RLock]] = WeakKeyDictionary()
_table: Final = threading.Lock()


@contextmanager
def exclusively(live: object) -> Iterator[None]:
    """Let one thread at a time use `live`; entering it twice in one thread is fine."""
    with _table:
        lock = _locks.setdefault(live, threading.RLock())
    with lock:
        yield
