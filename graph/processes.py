"""Workers in processes of their own: one child per device, reached by framed msgpack over a socket pair.

No pickling: a frame holds a node type id, value references and resolved recipes; tensors cross as mapped files, of the
store or of the engine's spool. Every frame names its call, so nothing of one call is taken for another's. A child dies
alone: the lane sees the end of the stream, the task fails with the reason, and the next task starts a new child. A
child whose parent is gone ends at once.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from graph.blob import Damaged, digest_of, image_of, pack, read_image, suffix_of, unpack
from graph.errors import Cancelled
from graph.folder import map_file, unavailable, write_all
from graph.owner import Owner, is_gone
from graph.store import Store
from graph.types import Packed, encode
from graph.workers import RemoteFailure, Report, Request, Result, Value, WorkerLost

#: Values up to this many bytes cross inside a frame; larger ones, and all tensors, as files.
INLINE_BYTES: Final = 4096
#: Messages and traces are cut to this length.
LONGEST_TEXT: Final = 65_536
#: How long a child may take to import the model libraries and set itself up.
START_SECONDS: Final = 300.0
_HEADER: Final = struct.Struct(">I")
_LARGEST_FRAME: Final = 256 * 2**20


class Channel:
    """Framed msgpack over a stream socket. Sending is locked, receiving belongs to one thread."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send one message. Raises OSError if the other end is gone, ValueError if it is too long for a frame."""
        body = pack(message)
        if len(body) > _LARGEST_FRAME:
            raise ValueError(f"a message of {len(body):,} bytes is too long for a worker; hand over fewer or smaller values")
        with self._lock:
            self._stream.sendall(_HEADER.pack(len(body)) + body)

    def receive(self) -> list[Any]:
        """The next message. Raises EOFError at the end of the stream."""
        (size,) = _HEADER.unpack(self._exactly(_HEADER.size))
        if size > _LARGEST_FRAME:
            raise EOFError(f"a frame of {size} bytes is not ours")
        message: list[Any] = unpack(self._exactly(size))
        return message

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._stream.recv(size - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def set_timeout(self, seconds: float | None) -> None:
        """How long receiving waits before it raises TimeoutError (an OSError)."""
        self._stream.settimeout(seconds)

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()


def shown(text: str) -> str:
    """A text that any frame can hold: cut, and without what UTF-8 cannot say."""
    return text[:LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()


class Spool:
    """Values on their way between processes: a folder with no limit and no eviction, emptied as the values are let go.

    The folder is named by its owner; those of dead owners are removed when a new one is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._serial = itertools.count()

    @classmethod
    def under(cls, parent: Path) -> Spool:
        """A new spool under `parent`, or where the system keeps temporary files if that cannot be written."""
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for old in parent.iterdir():
                if is_gone(old.name):
                    rmtree(old, ignore_errors=True)
            folder = parent / f"{Owner.current()}.{os.urandom(4).hex()}"
            folder.mkdir(mode=0o700)
        except OSError:
            folder = Path(tempfile.mkdtemp(prefix="latentgraph-"))
        return cls(folder)

    def put(self, packed: Packed) -> Path:
        """Write a value to a file of its own. Raises StoreUnavailable if the disk does not take it."""
        path = self.folder / f"{os.getpid()}.{next(self._serial)}{suffix_of(packed)}"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                for buffer in image_of(packed):
                    write_all(file, buffer)
            finally:
                os.close(file)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise unavailable(self.folder, error) from error
        return path

    def close(self) -> None:
        """Remove the folder; what is mapped stays readable."""
        rmtree(self.folder, ignore_errors=True)


class Courier:
    """Turns values into references for a frame, and back. One per process; `store` is None in a child."""

    def __init__(self, spool: Spool, store: Store | None) -> None:
        self.spool, self.store = spool, store
        self._files: weakref.WeakKeyDictionary[Value, str] = weakref.WeakKeyDictionary()

    def refer(self, value: Any, keep: list[Value]) -> list[Any]:
        """A reference: inline if the value is plain and small, else a file of the store or the spool.

        Values made here are added to `keep`: their files stay as long as the list does.
        """
        if isinstance(value, list):
            return ["l", [self.refer(item, keep) for item in value]]
        if isinstance(value, dict):  # a file literal
            return ["j", value]
        if not isinstance(value, Value):
            packed = encode(value)
            if not packed.tensors:
                return ["p", packed.type, packed.fields]
            value = Value(digest_of(packed), packed=packed)
            keep.append(value)
        packed = value.packed()
        if _is_small(packed):
            return ["p", packed.type, packed.fields]
        stored = self.store.file_of(value.digest) if self.store is not None else None
        path = str(stored) if stored is not None else self._files.get(value) or self._own(value, self.spool.put(packed))
        return ["f", value.digest, path]

    def hand_over(self, value: Value) -> list[Any]:
        """A reference for another process that removes the file itself (`resolve` with `own`)."""
        packed = value.packed()
        if _is_small(packed):
            return ["p", packed.type, packed.fields]
        return ["f", value.digest, str(self.spool.put(packed))]

    def _own(self, value: Value, path: Path) -> str:
        """Let the spool's file go with the value."""
        self._files[value] = str(path)
        weakref.finalize(value, _remove, str(path))
        return str(path)

    def resolve(self, reference: list[Any], *, own: bool = False) -> Any:
        """What is behind a reference: a `Value`, a list, or a file literal. With `own`, its file is ours to remove."""
        kind = reference[0]
        if kind == "l":
            return [self.resolve(item, own=own) for item in reference[1]]
        if kind == "j":
            return reference[1]
        if kind == "p":
            packed = Packed(reference[1], reference[2], {})
            return Value(digest_of(packed), packed=packed)
        path = Path(reference[2])
        try:
            view, _ = map_file(path)
            value = Value(reference[1], packed=read_image(view).packed)
        except (OSError, Damaged) as error:
            raise WorkerLost(f"a value handed between processes cannot be read ({error}); run again") from error
        if own:
            self._own(value, path)
        return value


def _is_small(packed: Packed) -> bool:
    return not packed.tensors and len(pack(packed.fields)) <= INLINE_BYTES


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def child_environment() -> dict[str, str]:
    """The environment of a child that imports what we import, wherever it is started."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


@dataclass
class ProcessWorker:
    """A device in a child process. Started on the first call (or by `start`), started anew after a death."""

    device: str
    threads: int
    budget_bytes: int
    #: "module:function": `(device, threads, budget_bytes, home) -> (Functions, Runtime)`, called in the child.
    setup: str
    home: Path
    courier: Courier
    _process: subprocess.Popen[bytes] | None = None
    _channel: Channel | None = None
    _resident: dict[str, int] = field(default_factory=dict)
    _calls: int = 0

    def start(self) -> None:
        """Start the child now and wait until it has set itself up. Raises WorkerLost if it cannot."""
        if self._process is not None:
            return
        ours, theirs = socket.socketpair()
        facts = [
            self.device,
            str(self.threads),
            str(self.budget_bytes),
            self.setup,
            str(self.home),
            str(self.courier.spool.folder),
        ]
        # -P: the current folder may hold a folder called graph. What a node prints goes to stderr: stdout is for results.
        command = [sys.executable, "-P", "-m", "graph.worker", str(theirs.fileno()), *facts]
        with theirs:
            self._process = subprocess.Popen(
                command, pass_fds=(theirs.fileno(),), env=child_environment(), stdin=subprocess.DEVNULL, stdout=2
            )
        self._channel = Channel(ours)
        self._channel.set_timeout(START_SECONDS)
        try:
            kind, *rest = self._channel.receive()
        except (EOFError, OSError) as error:
            raise self._lost("while it started") from error
        if kind == "failed":
            raise self._lost(f"while it started: {rest[0]}: {rest[1]}") from RemoteFailure(*rest)
        self._channel.set_timeout(None)

    def run(self, request: Request, report: Report) -> Result:
        """See `Worker`."""
        self.start()
        channel = self._channel
        assert channel is not None
        self._calls += 1
        used = list(_digests(request.inputs.values()))
        pinned = self.courier.store.pin(used) if self.courier.store is not None else set()
        try:
            kept: list[Value] = []
            inputs = {name: self.courier.refer(value, kept) for name, value in request.inputs.items()}
            place = [request.node_id, request.element, str(request.home), str(request.output_folder)]
            if report.watched():  # before the call, so that the first step has its picture
                channel.send("watch", self._calls, True)
            resolved = dict(request.resolved()) if request.spec.effect else {}
            channel.send("run", self._calls, [request.spec.id, request.spec.code], inputs, place, resolved)
            return self._listen(channel, report)
        except (EOFError, OSError) as error:
            raise self._lost(f"while it ran {request.node_id}") from error
        except (Cancelled, RemoteFailure, ValueError):
            raise  # the child has ended this call, or never got it
        except BaseException:
            self._lost("")  # it is still at this call and nobody listens: it must not go on
            raise
        finally:
            if pinned and self.courier.store is not None:
                self.courier.store.unpin(list(pinned))

    def _listen(self, channel: Channel, report: Report) -> Result:
        call, ended = self._calls, threading.Event()
        watcher = threading.Thread(target=_forward, args=(report, channel, call, ended), daemon=True)
        watcher.start()
        try:
            while True:
                kind, named, *rest = channel.receive()
                if named != call:
                    continue
                if kind == "progress":
                    report.progress(rest[0], rest[1], partial(bytes, rest[2]) if rest[2] is not None else None)
                elif kind == "note":
                    report.note(rest[0])
                elif kind == "done":
                    outputs, seconds, loading, peak, self._resident = rest
                    values = tuple(self.courier.resolve(reference, own=True) for reference in outputs)
                    return Result(values, seconds, loading, peak)
                elif kind == "cancelled":
                    raise Cancelled
                elif kind == "failed":
                    raise RemoteFailure(*rest)
        finally:
            ended.set()

    def _lost(self, when: str) -> WorkerLost:
        """Forget the child, making sure that it is gone: the device's memory is needed by the next one."""
        process, self._process = self._process, None
        if self._channel is not None:
            self._channel.close()
        self._channel, self._resident = None, {}
        code = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=1)
            if code is None:
                process.kill()
                process.wait()
        how = "it did not end by itself" if code is None else f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return WorkerLost(
            f"the worker of {self.device} died {when} ({how}); other devices go on, and the next task starts it anew"
        )

    def resident(self) -> Mapping[str, int]:
        """See `Worker`."""
        return self._resident

    def trim(self) -> None:
        """See `Worker`."""
        if self._channel is not None:
            with suppress(OSError):
                self._channel.send("trim")

    def close(self) -> None:
        """See `Worker`."""
        if self._channel is not None:
            with suppress(OSError):
                self._channel.send("quit")
            self._channel.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = self._channel = None

    def kill(self) -> None:
        """See `Worker`."""
        if self._process is not None:
            self._process.kill()


def _digests(values: Iterable[Any]) -> Iterable[bytes]:
    for value in values:
        if isinstance(value, Value):
            yield value.digest
        elif isinstance(value, list):
            yield from _digests(value)


def _forward(report: Report, channel: Channel, call: int, ended: threading.Event) -> None:
    """While a call goes on, tell the child who looks at it and that it is not wanted any more."""
    watched = report.watched()
    with suppress(OSError):
        while not ended.wait(0.02):
            if report.cancelled():
                channel.send("cancel", call)
                return
            if report.watched() != watched:
                watched = not watched
                channel.send("watch", call, watched)
