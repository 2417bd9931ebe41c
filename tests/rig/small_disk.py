"""A data folder on a file system of a few MiB, in namespaces of its own: nothing else on the machine runs out of space."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_MOUNT = 'mount -t tmpfs -o mode=700,size="$1" tmpfs "$2" && cp -a "$3/." "$2/" && echo ready && exec cat'


class SmallDisk:
    """A mounted tmpfs. What is to see it is started with `under`."""

    def __init__(self, holder: subprocess.Popen[bytes], folder: Path) -> None:
        self.under = ["nsenter", "-t", str(holder.pid), "-U", "-m", "--preserve-credentials"]
        self.home = folder
        #: The same folder as this process sees it.
        self.folder = Path(f"/proc/{holder.pid}/root{folder}")

    def fill(self, leave_bytes: int) -> None:
        """Take all space but this."""
        with (self.folder / "filler").open("ab", buffering=0) as file:
            while (over := self.free() - leave_bytes) > 0:
                os.write(file.fileno(), bytes(min(over, 1 << 20)))

    def empty(self) -> None:
        """Give the space back."""
        (self.folder / "filler").unlink()

    def free(self) -> int:
        """Free bytes."""
        status = os.statvfs(self.folder)
        return status.f_bavail * status.f_frsize

    def is_sound(self) -> bool:
        """Whether the job database is whole."""
        program = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('PRAGMA integrity_check').fetchall())"
        command = [*self.under, sys.executable, "-c", program, self.home / "jobs.sqlite"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "('ok',)"


@contextmanager
def small_disk(folder: Path, content: Path, size: str) -> Iterator[SmallDisk]:
    """A file system of this size at `folder` with a copy of `content`. Skips where this user may mount nothing."""
    holder = subprocess.Popen(
        ["unshare", "-Urm", "sh", "-c", _MOUNT, "sh", size, folder, content], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        if holder.stdout.readline() != b"ready\n":
            message = "this user may not mount a file system in a namespace"
            pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        yield SmallDisk(holder, folder)
    finally:
        holder.stdin.close()  # the end of `cat`, and with it of the namespaces
        holder.stdout.close()
        holder.wait()
