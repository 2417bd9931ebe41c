"""Live values in RAM, within a byte budget."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable


class HostValues:
    """Live values of the runs in RAM, by digest, least recently used first out, within a byte budget.

    A value held by someone is never dropped, so held values alone may exceed the budget; unheld ones only fill what is
    left of it.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes = 0
        self._held_bytes = 0
        self._values: OrderedDict[bytes, tuple[object, int]] = OrderedDict()
        self._holds: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def put(self, digest: bytes, value: object, nbytes: int) -> bool:
        """Keep a value; False if the budget has no room for it. The same digest again changes nothing but its turn."""
        with self._lock:
            if digest in self._values:
                self._values.move_to_end(digest)
                return True
            is_held = digest in self._holds
            if not is_held and self._held_bytes + nbytes > self.limit_bytes:
                return False  # it could not stay, so nothing need go for it
            self._values[digest] = (value, nbytes)
            self.bytes += nbytes
            self._held_bytes += nbytes if is_held else 0
            self._drop_to(self.limit_bytes)
            return True

    def get(self, digest: bytes) -> object | None:
        """The value, now the most recently used; None if it is not here."""
        with self._lock:
            if digest not in self._values:
                return None
            self._values.move_to_end(digest)
            return self._values[digest][0]

    def find(self, digests: Iterable[bytes]) -> dict[bytes, object]:
        """Those of the values that are here, now the most recently used: `get` for many, under one lock."""
        values, found = self._values, dict[bytes, object]()
        with self._lock:
            for digest in digests:
                kept = values.get(digest)
                if kept is not None:
                    values.move_to_end(digest)
                    found[digest] = kept[0]
        return found

    def hold(self, digest: bytes) -> None:
        """Say that the value is in use, or will be once it is put; counted."""
        with self._lock:
            if digest not in self._holds:
                self._held_bytes += self._size_of(digest)
            self._holds[digest] += 1

    def release(self, digest: bytes) -> None:
        """Take back one `hold`; the value may go from then on."""
        with self._lock:
            self._holds[digest] -= 1
            if self._holds[digest] <= 0:
                del self._holds[digest]
                self._held_bytes -= self._size_of(digest)
            self._drop_to(self.limit_bytes)

    def drop_until(self, limit_bytes: int) -> int:
        """Drop unheld values, oldest first, until at most `limit_bytes` are here or all are held; the bytes freed."""
        with self._lock:
            before = self.bytes
            self._drop_to(limit_bytes)
            return before - self.bytes

    def __len__(self) -> int:
        return len(self._values)

    def _size_of(self, digest: bytes) -> int:
        return self._values[digest][1] if digest in self._values else 0

    def _drop_to(self, limit_bytes: int) -> None:
        excess, victims = self.bytes - limit_bytes, []
        for digest, (_, nbytes) in self._values.items():
            if excess <= 0:
                break
            if digest not in self._holds:
                victims.append(digest)
                excess -= nbytes
        for digest in victims:
            self.bytes -= self._values.pop(digest)[1]
