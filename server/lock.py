"""The data folder of a server: ours alone, and of one server at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from graph.errors import LatentgraphError
from server.settings import WrongUsage, unusable_home

LOCK: Final = "server.lock"


class ServerRuns(LatentgraphError):
    """Another server has the data folder; exit code 1."""


def private_home(home: Path) -> Path:
    """The data folder, made if missing (0700). Raises WrongUsage if it is another user's or others may write there."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = home.stat()
    except OSError as error:
        raise unusable_home(home, error) from None
    if status.st_uid != os.geteuid():
        raise WrongUsage(
            f"The data folder {home} belongs to user {status.st_uid}, who could plant files there. Give one of your own with --home."
        )
    if status.st_mode & 0o022:
        raise WrongUsage(
            f"The data folder {home} can be written by others, who could plant files there. Look through it, then: chmod 700 {home}"
        )
    if not os.access(home, os.W_OK | os.X_OK):
        raise unusable_home(home, PermissionError(13, "it is read-only"))
    return home


class HomeLock:
    """The lock of a data folder, held in a `with` block; the kernel frees it when the process ends, however it ends."""

    def __init__(self, home: Path) -> None:
        self._path = home / LOCK
        self._file = -1

    def __enter__(self) -> Self:
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable_home(self._path.parent, error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise ServerRuns(
                f"Another server (process {pid}) uses the data folder {self._path.parent}. Stop it, or give another folder with --home."
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)
