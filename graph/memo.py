"""The memo: which work gave which results, and the results themselves (small ones in the table, large ones in the store).

It joins `Table`, `Store` and `HostValues` and decides what lies where. It knows keys and digests, not nodes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from graph.blob import Damaged, image_of, pack, read_image, unpack
from graph.folder import StoreUnavailable
from graph.host_values import HostValues
from graph.store import Report, Stats, Store
from graph.table import Table
from graph.types import Packed

#: Plain values up to this many encoded bytes live in the table, others in files.
INLINE_BYTES = 4096
#: A group commit waits for this many rows or this long, whatever comes first.
GROUP_ROWS, GROUP_SECONDS = 512, 0.05
#: Keys whose actions are kept in RAM (two or three a node, about 0.3 KB each): a run of 100,000 nodes is remembered whole.
_ACTIONS_IN_RAM = 400_000
_ACTION, _VALUE = b"a", b"v"


class Action(NamedTuple):
    """What one piece of work gave: per output the digest (32 bytes) and the wire type; seconds it took; when (Unix time)."""

    outputs: tuple[bytes, ...]
    types: tuple[str, ...]
    seconds: float
    node_type: str
    created: float
    #: Further plain facts, for `why` and for looking back.
    notes: Mapping[str, str | int | float] = {}


class Finished(NamedTuple):
    """One piece of finished work to write down: its keys (structural, content), the action, and values not yet stored."""

    keys: tuple[bytes, ...]
    action: Action
    values: tuple[tuple[bytes, Packed], ...] = ()


class MemoStats(NamedTuple):
    """Counts of a memo: actions and small values in the table, its bytes, live values' bytes, damage seen, the store."""

    actions: int
    small_values: int
    table_bytes: int
    ram_bytes: int
    damaged: int
    store: Stats


_Line = tuple[bytes, bytes, bytes]  # prefix, key, content: a row of the table


class Memo:
    """Actions by key and values by digest, of all runs and processes that share a folder.

    `store` holds the large values, `values` the live ones in RAM. Reading never raises for what is on disk: damaged or
    missing is a miss. Writing raises StoreUnavailable when the folder cannot be written, from then on always (`off`).
    """

    def __init__(self, folder: Path, limit_bytes: int, ram_bytes: int) -> None:
        """Open or make `folder` (LATENTGRAPH_HOME/memo). At most an eighth of `limit_bytes`, and 1 GiB, is for the table.

        Raises StoreUnavailable.
        """
        table_bytes = min(limit_bytes // 8, 1 << 30)
        self.table = Table(folder, table_bytes)
        self.store = Store(folder, limit_bytes - table_bytes)
        self.values = HostValues(ram_bytes)
        self._actions: dict[bytes, Action] = {}
        self._uses: Counter[bytes] = Counter()
        self._pinned: dict[bytes, tuple[Packed, int]] = {}
        self._lock = threading.Lock()
        self._group: list[_Line] = []
        self._wake = threading.Condition()
        self._committing = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closed = False

    @property
    def off(self) -> StoreUnavailable | None:
        """Why nothing more is written in this run; None while it is."""
        return self.table.off or self.store.off

    @property
    def damaged(self) -> int:
        """Rows and files found damaged by this process; each was a miss."""
        return self.table.damaged + len(self.store.damaged)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Action]:
        """The actions known for `keys`: from RAM, then from disk in batches."""
        found = {key: action for key in keys if (action := self._actions.get(key)) is not None}
        if len(found) < len(keys):
            rows = self.table.read(_ACTION, [key for key in keys if key not in found])
            read = {key: action for key, content in rows.items() if (action := _action_from(content)) is not None}
            self._remember(read.items())
            found |= read
        self._count(_ACTION, found)
        return found

    def known(self, key: bytes) -> Action | None:
        """The action that this process knows for a key; the disk is not asked (7 us)."""
        return self._actions.get(key)

    def remember(self, keys: Sequence[bytes], action: Action) -> None:
        """Know an action in this process only."""
        self._remember((key, action) for key in keys)

    def commit(self, rows: Sequence[Finished]) -> None:
        """Write down finished work with its values, in one transaction; safe from kill -9 when this returns.

        Values come before the action that names them. Raises StoreUnavailable; the work is remembered in RAM even so.
        """
        lines = [line for row in rows for line in self._lines(row)]
        self.table.write(lines)

    def commit_later(self, row: Finished) -> None:
        """Write down finished work with the next group, within 50 ms or 512 rows; known to this process at once.

        A failure to write shows in `off`, no later than after `flush`.
        """
        with suppress(StoreUnavailable):
            lines = self._lines(row)
            with self._wake:
                before = len(self._group)
                self._group.extend(lines)
                if self._writer is None:
                    self._writer = threading.Thread(target=self._write_groups, name="memo-writer", daemon=True)
                    self._writer.start()
                if not before or before < GROUP_ROWS <= len(self._group):
                    self._wake.notify()

    def get_value(self, digest: bytes) -> Packed | None:
        """The value of a digest, read-only; None if it is not here or damaged."""
        return self.get_values((digest,)).get(digest)

    def get_values(self, digests: Sequence[bytes]) -> dict[bytes, Packed]:
        """Those of `digests` that are here and whole; small ones are read in batches."""
        found = {digest: pinned[0] for digest in digests if (pinned := self._pinned.get(digest)) is not None}
        wanted = [digest for digest in dict.fromkeys(digests) if digest not in found]
        rows = self.table.read(_VALUE, wanted)
        self._count(_VALUE, rows)
        for digest in wanted:
            content = rows.get(digest)
            packed = self.store.get(digest) if content is None else _small_value(digest, content)
            if packed is not None:
                found[digest] = packed
        return found

    def has_values(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those of `digests` that are here, small or large; whether they are whole shows in `get_value`."""
        small = self.table.read(_VALUE, digests)
        return small.keys() | {digest for digest in digests if digest not in small and self.store.has(digest)}

    def pin(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those of `digests` that are here; they stay readable until unpinned as often (small ones are held in RAM)."""
        wanted = list(set(digests))
        rows = self.table.read(_VALUE, wanted)
        small = {digest: packed for digest, row in rows.items() if (packed := _small_value(digest, row)) is not None}
        with self._lock:
            for digest, packed in small.items():
                self._pinned[digest] = (packed, self._pinned.get(digest, (packed, 0))[1] + 1)
        return small.keys() | self.store.pin([digest for digest in wanted if digest not in small])

    def unpin(self, digests: Sequence[bytes]) -> None:
        """Take back one `pin` of each."""
        with self._lock:
            large = [digest for digest in set(digests) if digest not in self._pinned]
            for digest in set(digests) - set(large):
                packed, count = self._pinned.pop(digest)
                if count > 1:
                    self._pinned[digest] = (packed, count - 1)
        self.store.unpin(large)

    def flush(self) -> None:
        """Write what waits for a group commit, and the uses counted since the last flush."""
        self._commit_group()
        with self._lock:
            uses, self._uses = self._uses, Counter()
        if uses:
            self.table.note_uses(uses)
        self.store.flush()

    def stats(self) -> MemoStats:
        """Counts, now. Raises StoreUnavailable if the store's index cannot be read."""
        small = len(self.table.keys(_VALUE))
        return MemoStats(
            len(self.table.keys(_ACTION)), small, self.table.bytes_on_disk(), self.values.bytes, self.damaged, self.store.stats()
        )

    def verify(self) -> Report:
        """Read every row and every file; what is damaged is removed or set aside, and counted in `damaged`."""
        for prefix in (_ACTION, _VALUE):
            self.table.read(prefix, self.table.keys(prefix))
        return self.store.verify()

    def clear(self) -> int:
        """Forget every action and every value not in use; the bytes freed. Raises StoreUnavailable."""
        before = self.table.bytes_on_disk()
        self._actions.clear()
        self.table.clear()
        return self.store.clear() + before

    def close(self) -> None:
        """Flush and let go of the folder."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._writer is not None:
            self._writer.join()
        self.flush()
        self.store.close()
        self.table.close()

    def _remember(self, pairs: Iterable[tuple[bytes, Action]]) -> None:
        with self._lock:
            self._actions.update(pairs)
            while len(self._actions) > _ACTIONS_IN_RAM:
                del self._actions[next(iter(self._actions))]

    def _count(self, prefix: bytes, keys: Iterable[bytes]) -> None:
        with self._lock:
            if len(self._uses) > _ACTIONS_IN_RAM:  # nobody flushes: forget, rather than grow
                self._uses.clear()
            self._uses.update([prefix + key for key in keys])

    def _lines(self, row: Finished) -> list[_Line]:
        """The rows that finished work needs in the table; values for the store are put there."""
        self.remember(row.keys, row.action)
        values = [line for digest, packed in row.values for line in self._place(packed, digest, row.action.seconds)]
        content = pack(tuple(row.action))
        return values + [(_ACTION, key, content) for key in row.keys]

    def _place(self, packed: Packed, digest: bytes, seconds: float) -> list[_Line]:
        """The row a value needs in the table: one if it is small, none once the store has it."""
        if not packed.tensors:
            image = b"".join(image_of(packed))
            if len(image) <= INLINE_BYTES:
                return [(_VALUE, digest, image)]
        self.store.put(packed, digest, seconds=seconds)
        return []

    def _write_groups(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._group or self._closed)
                if self._closed:
                    return
                self._wake.wait_for(lambda: len(self._group) >= GROUP_ROWS or self._closed, timeout=GROUP_SECONDS)
            self._commit_group()

    def _commit_group(self) -> None:
        with self._committing:
            with self._wake:
                group, self._group = self._group, []
            if group:
                with suppress(StoreUnavailable):  # it stays in `off`, where the executor looks
                    self.table.write(group)


def _action_from(content: bytes) -> Action | None:
    """The action in a checked row; None for one of another version."""
    try:
        outputs, types, seconds, node_type, created, notes = unpack(content)
        return Action(tuple(outputs), tuple(types), seconds, node_type, created, notes)
    except (ValueError, TypeError):
        return None


def _small_value(digest: bytes, content: bytes) -> Packed | None:
    """The value in a checked row; None if it is not the one its digest names."""
    with suppress(Damaged):
        if sha256(content).digest() == digest:
            return read_image(memoryview(content)).packed
    return None
