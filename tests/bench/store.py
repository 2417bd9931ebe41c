"""Benchmark of the store: hits, puts, the limit, waiting for another process. `python -m tests.bench.store`.

Ratios are taken between neighbours of one interleaved run: the disk of a shared machine varies 3-10x from one minute to
the next.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from graph.blob import digest_of, image_of
from graph.folder import write_all
from graph.leases import Leases
from graph.memo import Action, Finished, Memo
from graph.store import Store
from graph.types import Packed, TensorBytes
from tests.bench.table import BusyElsewhere, Row, row, show
from tests.graph.leasing import wait_for

ROOT = Path(__file__).parents[2]
MB = 1_000_000
#: Others may use this part of a core while a pair is measured that needs two cores to itself.
FREE = 0.3


def value(seed: int, size: int) -> Packed:
    """A value of one tensor of `size` random bytes."""
    data = memoryview(random.Random(seed).randbytes(size))
    return Packed("Sample", {"seed": seed}, {"data": TensorBytes("U8", (size,), data)})


def milliseconds(act: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


def hits(folder: Path) -> list[Row]:
    """A hit to a mapped 50 MB value: the first of a process reads and checks all of it, later ones map it."""
    digest = Store(folder, 200 * MB).put(value(0, 50 * MB))
    first, later = [], []
    for _ in range(5):
        store = Store(folder, 200 * MB)
        first.append(milliseconds(lambda: store.get(digest)))
        later += [milliseconds(lambda: store.get(digest)) for _ in range(20)]
        store.close()
    return [
        row("hit of 50 MB, second and later", later, "ms", at_most=0.3),
        row("hit of 50 MB, first of a process", first, "ms", note="reads and checks it whole"),
    ]


def puts(folder: Path, pairs: int = 10) -> list[Row]:
    """A put of 50 MB with its digest against a plain write of a new file and a rename of the same bytes.

    No file is removed before the end: writing into pages just freed is faster than what a store sees. Only pairs during
    which another core was free are judged: the digest needs it.
    """
    store = Store(folder, 2000 * MB)
    data = bytearray(random.Random(1).randbytes(50 * MB))
    packed = Packed("Sample", {}, {"data": TensorBytes("U8", (len(data),), memoryview(data))})
    image = image_of(packed)
    plain_ms, put_ms, digest_ms, others = [], [], [], []

    def plain() -> None:
        file = os.open(folder / "plain.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        for buffer in image:
            write_all(file, buffer)
        os.close(file)
        os.rename(folder / "plain.tmp", folder / f"plain.{len(plain_ms)}")

    order: list[tuple[Callable[[], object], list[float]]] = [(plain, plain_ms), (lambda: store.put(packed), put_ms)]
    for number in range(pairs):
        data[0] = number  # another value each time
        order.reverse()
        with BusyElsewhere() as elsewhere:
            for act, samples in order:
                samples.append(milliseconds(act))
        others.append(elsewhere.cores)
        digest_ms.append(milliseconds(lambda: digest_of(packed)))
    digest = digest_of(packed)
    known = [milliseconds(lambda: store.put(packed, digest)) for _ in range(50)]
    ratios = [put / base for put, base in zip(put_ms, plain_ms, strict=True)]
    free = [ratio for ratio, cores in zip(ratios, others, strict=True) if cores < FREE]
    name, note = "put of 50 MB with digest / write + rename", f"{len(free)} of {pairs} pairs had a free core"
    return [
        row(name, free, "x", at_most=1.25, note=note) if len(free) >= 3 else row(name, ratios, "x", note=f"{note}: not judged"),
        row("- put of 50 MB", put_ms, "ms"),
        row("- write + rename of 50 MB", plain_ms, "ms"),
        row("- digest of 50 MB alone", digest_ms, "ms"),
        row("put of a value already there", known, "ms", at_most=0.3),
    ]


def limit(folder: Path) -> list[Row]:
    """The most that lay in the folder during puts of three times the limit, as a part of the limit."""
    most, store, draw = 0, Store(folder, 20 * MB), random.Random(2)
    for number in range(120):
        store.put(value(number, draw.randrange(1000, MB)))
        most = max(most, sum(path.lstat().st_size for name in ("objects", "tmp") for path in (folder / name).rglob("*.*")))
    return [row("most bytes held / limit", [most / (20 * MB)], "x", at_most=1.0, note="3x the limit put, sampled after each put")]


OWNER = """
import sys, time, pathlib
from graph.leases import Leases
leases = Leases(pathlib.Path(sys.argv[1]))
for line in sys.stdin:
    lease = leases.acquire(line.strip().encode())
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
    start = time.monotonic()
    leases.release(lease)
    print(start, flush=True)
"""


def owner(folder: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that takes the lease of each key it is told, holds it for `seconds` and says when it gave it back."""
    command = [sys.executable, "-c", OWNER, str(folder), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def told(process: subprocess.Popen[str], key: bytes) -> None:
    """Tell an owner a key and wait until it holds it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(key.decode() + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "held\n"


def waiting(folder: Path) -> list[Row]:
    """How long a waiter takes to notice that another process is done, and to take over from one killed -9."""
    leases = Leases(folder)
    notices, takeovers = [], []
    process = owner(folder, 0.05)
    for number in range(60):
        key = b"notice%d" % number
        told(process, key)
        assert wait_for(leases, key) is not None
        noticed = time.monotonic()
        assert process.stdout is not None
        notices.append(1000 * (noticed - float(process.stdout.readline())))
    process.kill()
    process.wait()
    for number in range(8):
        key = b"takeover%d" % number
        process = owner(folder, 3600)
        told(process, key)
        process.kill()
        takeovers.append(milliseconds(lambda key=key: wait_for(leases, key)))
        process.wait()
    leases.close()
    return [
        row("waiter notices the end", notices, "ms", at_most=30.0, by=0.95),
        row("takeover after kill -9", takeovers, "ms", at_most=1000.0, by=1.0),
    ]


def actions(folder: Path, count: int = 5000) -> list[Row]:
    """The action table: looking up, and writing one by one and in groups."""
    memo = Memo(folder, 200 * MB, MB)
    draw = random.Random(3)
    rows = [
        Finished((draw.randbytes(32), draw.randbytes(32)), Action((draw.randbytes(32),), ("Sample",), 1.0, "draw", 1.0))
        for _ in range(count)
    ]
    keys = [finished.keys[0] for finished in rows]
    empty = [milliseconds(lambda: memo.find(keys)) * 1000 / count for _ in range(5)]
    single = [milliseconds(lambda one=one: memo.commit([one])) * 1000 for one in rows[:300]]
    group = [milliseconds(lambda start=start: memo.commit(rows[start : start + 500])) * 2 for start in range(500, count, 500)]
    ram = [milliseconds(lambda: memo.find(keys)) * 1000 / count for _ in range(5)]
    memo.close()
    disk = []
    for _ in range(5):
        later = Memo(folder, 200 * MB, MB)
        disk.append(milliseconds(lambda later=later: later.find(keys)) * 1000 / count)
        later.close()
    return [
        row("find in a new memo, per key", empty, "us"),
        row("find in RAM, per key", ram, "us"),
        row("find on disk, per key", disk, "us"),
        row("commit of one action, two keys", single, "us"),
        row("commit of 500 actions, per action", group, "us"),
    ]


def rows() -> list[Row]:
    """All measurements, each in a folder of its own."""
    found: list[Row] = []
    for measure in (hits, puts, limit, waiting, actions):
        folder = Path(tempfile.mkdtemp(prefix="latentgraph-bench-"))
        try:
            found += measure(folder / "store")
        finally:
            shutil.rmtree(folder)
    return found


if __name__ == "__main__":
    sys.exit(0 if show(rows()) else 1)
