"""One child process: how it is started, heard and ended, and how those are ended whose parent is gone.

A child dies with its parent: it reads the end of the stream; if it cannot (native code keeps Python's lock), the kernel
ends it a second later; if it is stopped, `end_orphans` does, which whoever comes next calls. It knows nothing of nodes.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from graph.channel import Channel, is_ready
from graph.owner import Owner, is_gone

#: How long a child whose parent is gone may take to end by itself.
ORPHAN_SECONDS: Final = 2.0
_PR_SET_PDEATHSIG: Final = 1
_NOTE: Final = ".child"


class Silent(EOFError):
    """A child that lives but has not answered for longer than it may: native code keeps Python's lock, or it is stopped."""


class Child:
    """A child process in a session of its own, so that a terminal's Ctrl-C does not reach it, and the channel to it."""

    def __init__(self, module: str, arguments: Sequence[str], heartbeat_s: float) -> None:
        """Start `python -m module FILENO arguments...`. Raises OSError.

        The child ends with the thread that calls this (`die_with_parent`), so it must be one that lives as long.
        """
        #: How long it may be silent.
        self.heartbeat_s = heartbeat_s
        ours, theirs = socket.socketpair()
        # -P: the current folder may hold a folder called graph. What a node prints goes to stderr: stdout is for results.
        command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), *arguments]
        with theirs:
            try:
                self.process = subprocess.Popen(
                    command, pass_fds=(theirs.fileno(),), env=child_environment(), stdin=subprocess.DEVNULL, stdout=2,
                    start_new_session=True,
                )  # fmt: skip
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        self.channel = Channel(ours, heartbeat_s)
        self.began = self._heard = time.monotonic()
        self._asked: float | None = None
        self._death = _death_of(self.process.pid)
        self._events = select.poll()
        for file in (ours.fileno(), self._death):
            if file is not None:
                self._events.register(file, select.POLLIN)

    def receive(self, seconds: float) -> list[Any] | None:
        """The next message, or None if none came in `seconds`. Raises EOFError if the child is gone or says nonsense."""
        message = self.channel.buffered()
        if message is None and self._events.poll(seconds * 1000):
            message = self.channel.poll()
            if message is None and self.is_dead():  # a process that it left behind may keep the stream open
                raise EOFError
        if message is not None:
            self._heard, self._asked = time.monotonic(), None
        return message

    def check_pulse(self) -> None:
        """To be called when nothing has come. Asks for an answer after a third of the time a child may be silent.

        Raises Silent if it was silent for too long. What counts is an unanswered question, so a machine or an engine
        that slept does not cost a child its life.
        """
        now = time.monotonic()
        if self._asked is None:
            if now - self._heard >= self.heartbeat_s / 3:
                self._asked = now
                self.channel.send("ping")
        elif now - self._asked >= self.heartbeat_s * 2 / 3:
            raise Silent(f"it was silent for {self.heartbeat_s:g} s, so it was ended")

    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def wait_for_death(self, seconds: float) -> bool:
        """Wait for the end of the process, at most so long; whether it has come. Belongs to one thread, like `forget`."""
        if self._death is None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(min(seconds, 1.0))
            return self.is_dead()
        return is_ready(self._death, select.POLLIN, seconds)

    def forget(self) -> None:
        """Give the descriptor of the process back, once nobody waits for its end any more."""
        if self._death is not None:
            os.close(self._death)
            self._death = None

    def kill(self) -> None:
        """End the process at once, with those that it started. Nothing is waited for."""
        if not self.is_dead():
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self, patience_s: float) -> int | None:
        """Close the channel and wait; the exit code (negative: a signal), or None if it had to be killed."""
        self.channel.close()
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(patience_s)
        self.kill()
        self.process.wait()
        return None


def child_environment() -> dict[str, str]:
    """The environment of a child that imports what we import, wherever it is started."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def _death_of(pid: int) -> int | None:
    """A descriptor that can be read once the process has ended; None where the system has no such thing."""
    opened = getattr(os, "pidfd_open", None)
    if opened is not None:
        with suppress(OSError):
            return int(opened(pid))
    return None


# ---- in the child ----


def die_with_parent() -> None:
    """Have the kernel end this process one second after its parent. Where it cannot, the end of the stream must do.

    Not at once: the thread that reads the end of the stream has a note to take back first (`graph.trials`). So the
    parent's death sends SIGHUP, whose handler is libc's own alarm(), called with the number of the signal, which is 1;
    and SIGALRM ends the process. No Python code is needed for it, so a lock that native code keeps is no obstacle.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    libc.signal(signal.SIGHUP, ctypes.cast(libc.alarm, ctypes.c_void_p))
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)


def note_child(folder: Path, child: Owner | None = None) -> None:
    """Write a child (this process) down in the folder of the one that started it, for `end_orphans`."""
    with suppress(OSError):
        (folder / f"{child or Owner.current()}{_NOTE}").touch(mode=0o600)


# ---- after a death ----


def note_engine(spools: Path, pid: int) -> Path:
    """Write an engine down that this process started, for `end_orphans`; the folder to remove once it has ended.

    It ends with us by itself, unless it is stopped (SIGSTOP) at that moment.
    """
    folder = spools / f"{Owner.current()}.server"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    note_child(folder, Owner.of(pid))
    return folder


def end_orphans(spools: Path, patience_s: float = ORPHAN_SECONDS) -> None:
    """Make sure that no child of an engine or server that is gone still runs, and remove what such ones left in `spools`.

    For whoever finds an engine dead, before its jobs are looked at, and for the next engine. Children end by
    themselves at once, and have `patience_s` for it; those that are stopped or stuck are killed.
    """
    left = [old for old in _folders(spools) if is_gone(old.name)]
    until = time.monotonic() + patience_s
    for child in [child for folder in left for child in _children_in(folder)]:
        _end(child, max(until - time.monotonic(), 0.0))
    for folder in left:
        rmtree(folder, ignore_errors=True)


def _folders(spools: Path) -> list[Path]:
    try:
        return list(spools.iterdir())
    except OSError:
        return []


def _children_in(folder: Path) -> Iterable[Owner]:
    """The children of a dead engine that still run."""
    here = Owner.current().place
    for note in _folders(folder):
        if note.suffix == _NOTE:
            with suppress(ValueError):
                owner = Owner.parse(note.name.removesuffix(_NOTE))
                if owner.place == here and not owner.is_gone():
                    yield owner


def _end(child: Owner, patience_s: float) -> None:
    file = _death_of(child.pid)
    try:
        if child.is_gone():  # looked at after the descriptor was opened: it cannot be another process's now
            return
        if file is not None and is_ready(file, select.POLLIN, patience_s):
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        if file is not None:
            is_ready(file, select.POLLIN, ORPHAN_SECONDS)
    finally:
        if file is not None:
            os.close(file)
