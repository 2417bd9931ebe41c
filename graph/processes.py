"""Workers in processes of their own: one child per device, reached by framed msgpack over a socket pair.

No pickling: a frame holds a node type id, value references and resolved recipes; tensors cross as mapped files, of the
store or of the engine's spool. Every frame names its call, so nothing of one call is taken for another's, and a child
that says what is not ours is ended. A child dies alone: the lane, which listens itself, sees the end of the stream,
the task fails with the reason, and the next task starts a new child. A child whose parent is gone ends at once.
"""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from typing import Any, Final

from graph.blob import DIGEST_BYTES, Damaged, digest_of, image_of, pack, read_image, suffix_of
from graph.channel import Channel, NotOurs
from graph.child import Child, Silent, child_environment, end_orphans
from graph.errors import Cancelled
from graph.faults import memory_kills
from graph.folder import StoreUnavailable, map_file, unavailable, write_all
from graph.owner import Owner
from graph.store import Store
from graph.trials import Slot
from graph.types import PLAIN_NAMES, Packed, encode
from graph.workers import RemoteFailure, Report, Request, Result, StartFailed, Value, WorkerLost

__all__ = ["Channel", "Courier", "ProcessWorker", "Spool", "child_environment", "shown"]

#: Values up to this many bytes cross inside a frame; larger ones, and all tensors, as files.
INLINE_BYTES: Final = 4096
#: Messages and traces are cut to this length.
LONGEST_TEXT: Final = 65_536
#: How long a child may take to import the model libraries and set itself up.
START_SECONDS: Final = 300.0
#: How long a child may be silent: nothing that keeps Python's lock takes that long, and a device is wanted by others.
HEARTBEAT_SECONDS: Final = 30.0
#: How long a call may go on after it was cancelled: one step of a large model on a slow device.
CANCEL_GRACE_SECONDS: Final = 10.0
#: How long a call listens before it looks whether it is still wanted, and looked at.
POLL_SECONDS: Final = 0.02
#: How long a child whose stream ended may take to end, for its exit code; and one that was told to quit.
EXIT_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 2.0


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
        end_orphans(parent)
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        if isinstance(value, dict) or type(value) in PLAIN_NAMES:  # a file literal, or a constant
            return ["j", value]
        if not isinstance(value, Value):
            packed = encode(value)
            value = Value(digest_of(packed), packed=packed)
            if not packed.tensors:
                return ["p", packed.type, packed.fields, value.digest]
            keep.append(value)
        packed = value.packed()
        if _is_small(packed):
            return ["p", packed.type, packed.fields, value.digest]
        stored = self.store.file_of(value.digest) if self.store is not None else None
        path = str(stored) if stored is not None else self._files.get(value) or self._own(value, self.spool.put(packed))
        return ["f", value.digest, path]

    def hand_over(self, value: Value) -> list[Any]:
        """A reference for another process that removes the file itself (`resolve` with `own`)."""
        packed = value.packed()
        if _is_small(packed):
            return ["p", packed.type, packed.fields, value.digest]
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
            return Value(reference[3], packed=Packed(reference[1], reference[2], {}))
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


@dataclass(eq=False)
class ProcessWorker:
    """A device in a child process. Started by `start` or on the first call, started anew after a death.

    One lane calls it. A thread of its own notices the death or the silence of a child that has nothing to do.
    """

    #: Its name in messages; what the child is told its device is.
    device: str
    threads: int
    budget_bytes: int
    #: "module:function": `(device, threads, budget_bytes, home) -> (Functions, Runtime)`, called in the child.
    setup: str
    home: Path
    courier: Courier
    #: "host" for one of several workers of host nodes; else the device's name.
    place: str = ""
    #: A child that does not answer for so long is ended.
    heartbeat_s: float = HEARTBEAT_SECONDS
    #: So is one that does not end a call for so long after it was told to.
    cancel_grace_s: float = CANCEL_GRACE_SECONDS
    #: Called when a child died that had nothing to do; not by the lane, unless it is the first to find out.
    on_idle_death: Callable[[WorkerLost], object] | None = None
    #: Where its tries are noted: see `graph.trials`.
    slot: Slot | None = None
    _child: Child | None = None
    _is_ready: bool = False
    _resident: dict[str, int] = field(default_factory=dict)
    _calls: int = 0
    #: How many children it has had.
    begun: int = 0
    #: Processes that the kernel had killed for want of memory, at the last two looks.
    _memory_kills: tuple[int, int] = (0, 0)
    #: Held by who talks to the child: a call, or the watch between two calls.
    _talking: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pid(self) -> int | None:
        """The child's process number, while there is a child."""
        child = self._child
        return child.process.pid if child is not None else None

    def start(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """See `Worker`. A child that is still starting when the call is cancelled goes on with it."""
        with self._talking:
            self._start(cancelled)

    def _start(self, cancelled: Callable[[], bool]) -> Child:
        child = self._child
        if child is not None and child.is_dead():  # the watch is about to find out
            lost = self._lost("while it had nothing to do")
            child = None
            if self.on_idle_death is not None:
                self.on_idle_death(lost)
        if child is None:
            child = self._begin()
        while not self._is_ready:
            if cancelled():
                raise Cancelled
            try:
                self._hear_start(child)
            except (EOFError, OSError) as error:
                raise self._lost("while it started", error, kind=StartFailed) from error
        return child

    def _begin(self) -> Child:
        spool, slot = str(self.courier.spool.folder), self.slot
        noted = [str(slot.path), str(slot.number)] if slot is not None else ["", "0"]
        facts = [self.place or self.device, str(self.threads), str(self.budget_bytes), self.setup, str(self.home), spool]
        born: SimpleQueue[Child | OSError] = SimpleQueue()
        name = f"latentgraph-watch-{self.device}"
        threading.Thread(target=self._keep, args=([*facts, *noted], born), name=name, daemon=True).start()
        child = born.get()
        if isinstance(child, OSError):
            raise StartFailed(f"the worker of {self.device} could not be started: {child}", str(child)) from child
        self._child = child
        self.begun, self._calls = self.begun + 1, 0
        self._memory_kills = (memory_kills(),) * 2
        return child

    def _hear_start(self, child: Child) -> None:
        if time.monotonic() - child.began > START_SECONDS:
            raise Silent(f"it took more than {START_SECONDS:g} s, so it was ended")
        message = child.receive(POLL_SECONDS)
        if message is None:
            return  # no pulse is looked for: loading a library may take long, and keeps Python's lock
        if message[0] == "ready":
            self._is_ready = True
        elif message[0] == "failed":
            failure = RemoteFailure(*_texts(message[1:], 3))
            raise self._lost(f"while it started: {failure.type_name}: {failure}", kind=StartFailed) from failure
        elif message[0] != "pong":
            raise NotOurs(f"it said {message[0]!r} before it was ready, so it was ended")

    def run(self, request: Request, report: Report) -> Result:
        """See `Worker`."""
        with self._talking:
            # Started by `start` a moment ago, as a rule; that looked whether it lives.
            child = self._child if self._child is not None and self._is_ready else self._start(report.cancelled)
            self._calls += 1
            child.heartbeat_s = self.heartbeat_s
            used = list(_filed(request.inputs.values()))
            pinned = self.courier.store.pin(used) if used and self.courier.store is not None else set()
            try:
                kept: list[Value] = []
                self._send(child, request, report, kept)
                return self._listen(child, report)
            except (EOFError, OSError) as error:
                raise self._lost(f"while it ran {request.node_id}", error) from error
            except (Cancelled, RemoteFailure, WorkerLost, ValueError, StoreUnavailable):
                raise  # the child has ended this call or is gone, or never got the call
            except BaseException:
                self._lost("")  # it is still at this call and nobody listens: it must not go on
                raise
            finally:
                if pinned and self.courier.store is not None:
                    self.courier.store.unpin(list(pinned))

    def _send(self, child: Child, request: Request, report: Report, kept: list[Value]) -> None:
        inputs = {name: self.courier.refer(value, kept) for name, value in request.inputs.items()}
        place = [request.node_id, request.element, str(request.home), str(request.output_folder)]
        if report.watched():  # before the call, so that the first step has its picture
            child.channel.send("watch", self._calls, True)
        resolved = dict(request.resolved()) if request.spec.effect else {}
        child.channel.send("run", self._calls, [request.spec.id, request.spec.code], inputs, place, resolved)

    def _listen(self, child: Child, report: Report) -> Result:
        """Hear the call to its end, and tell the child meanwhile who looks at it and that it is not wanted any more."""
        call, watched, told_at = self._calls, report.watched(), None
        while True:
            if told_at is None and report.cancelled():
                told_at = time.monotonic()
                child.channel.send("cancel", call)
            elif told_at is not None and time.monotonic() - told_at > self.cancel_grace_s:
                raise Silent(f"it did not end within {self.cancel_grace_s:g} s of being told to, so it was ended")
            if report.watched() != watched:
                watched = not watched
                child.channel.send("watch", call, watched)
            message = child.receive(POLL_SECONDS)
            if message is None:
                child.check_pulse()
            elif message[0] != "pong" and (result := self._heard(message, child, report)) is not None:
                return result

    def _heard(self, message: list[Any], child: Child, report: Report) -> Result | None:
        """Take in what a child said of its call. Raises NotOurs for what no child of ours says."""
        kind, call, *rest = message if len(message) > 1 else [message[0], None]
        if call != self._calls:
            raise NotOurs(f"it spoke of call {call!r} during call {self._calls}, so it was ended")
        match kind, rest:
            case "progress", [int(step), int(total), None | bytes() as image]:
                report.progress(step, total, partial(bytes, image) if image is not None else None)
            case "note", [str(said)]:
                report.note(said)
            case "preparing", []:  # it imports what the node needs: see `_hear_start`
                child.heartbeat_s = max(START_SECONDS, self.heartbeat_s)
            case "prepared", []:
                child.heartbeat_s = self.heartbeat_s
            case "done", [list(outputs), float(seconds), float(loading), int(peak), dict(resident)]:
                values = tuple([self._made(reference) for reference in outputs])
                self._resident = resident
                return Result(values, seconds, loading, peak)
            case "cancelled", [dict(resident)]:
                self._resident = resident
                raise Cancelled
            case "failed", [str(), str(), str(), dict(resident)]:
                self._resident = resident
                raise RemoteFailure(*rest[:3])
            case _:
                raise NotOurs(f"it said {kind!r} in a way that is not ours, so it was ended")
        return None

    def _made(self, reference: Any) -> Value:
        match reference:
            case ["p", str(), dict(), bytes(digest)] if len(digest) == DIGEST_BYTES:
                pass
            case ["f", bytes(), str(path)] if Path(path).parent == self.courier.spool.folder:
                pass
            case _:
                raise NotOurs("it handed over a value in a way that is not ours, so it was ended")
        value: Value = self.courier.resolve(reference, own=True)
        return value

    def _keep(self, arguments: list[str], born: SimpleQueue[Child | OSError]) -> None:
        """Start a child, and watch it until it is gone."""
        try:
            child = Child("graph.worker", arguments, self.heartbeat_s)
        except OSError as error:
            born.put(error)
            return
        born.put(child)
        self._watch(child)

    def _watch(self, child: Child) -> None:
        """Until this child is gone: notice its death, and its silence, while it has nothing to do."""
        lost: WorkerLost | None = None
        while not child.wait_for_death(min(self.heartbeat_s / 6, 5.0)):
            self._memory_kills = (self._memory_kills[1], memory_kills())
            if self._child is child and self._talking.acquire(blocking=False):  # else a call listens itself
                try:
                    lost = self._hear_idle(child)
                finally:
                    self._talking.release()
        with self._talking:  # a call that the child died under ends first, and tells it
            if self._child is child:
                lost = self._lost("while it had nothing to do")
            child.forget()
        if lost is not None and self.on_idle_death is not None:
            self.on_idle_death(lost)

    def _hear_idle(self, child: Child) -> WorkerLost | None:
        if self._child is not child or not self._is_ready:
            return None
        try:
            while (message := child.receive(0)) is not None:
                if message[0] != "pong":
                    raise NotOurs(f"it said {message[0]!r} between two calls, so it was ended")
            child.check_pulse()
        except (EOFError, OSError) as error:
            return self._lost("while it had nothing to do", error)
        return None

    def _lost(self, when: str, cause: Exception | None = None, kind: type[WorkerLost] = WorkerLost) -> WorkerLost:
        """Forget the child, making sure that it is gone: the device's memory is needed by the next one."""
        child, self._child, self._is_ready, self._resident = self._child, None, False, {}
        is_stuck = isinstance(cause, (Silent, NotOurs, TimeoutError))
        code = child.end(0.0 if is_stuck else EXIT_SECONDS) if child is not None else None
        how = _how(code) if not is_stuck else str(cause)
        is_starved = code == -signal.SIGKILL and memory_kills() > self._memory_kills[0]
        if is_starved:
            how += ": the machine was out of memory"
        said = f"the worker of {self.device} died {when} ({how}); other devices go on, and the next task starts it anew"
        return kind(said, how, is_starved)

    def resident(self) -> Mapping[str, int]:
        """See `Worker`."""
        return self._resident

    def trim(self) -> None:
        """See `Worker`."""
        child = self._child
        if child is not None:
            with suppress(OSError):
                child.channel.send("trim")

    def replace(self) -> bool:
        """See `Worker`."""
        with self._talking:
            self._end_child()
        return True

    def release(self) -> bool:
        """End the child with all that it holds, unless it is at a call; whether it was at none."""
        if not self._talking.acquire(blocking=False):
            return False
        try:
            self._end_child()
        finally:
            self._talking.release()
        return True

    def _end_child(self) -> None:
        child, self._child, self._is_ready, self._resident = self._child, None, False, {}
        if child is not None:
            child.end(0.0)

    def close(self) -> None:
        """See `Worker`."""
        child = self._child
        if child is None:
            return
        with suppress(OSError):
            child.channel.send("quit")
        if self._talking.acquire(timeout=EXIT_SECONDS):
            try:
                if self._child is child:
                    self._child, self._is_ready, self._resident = None, False, {}
                    child.end(CLOSE_SECONDS)
            finally:
                self._talking.release()
        else:  # a call that does not end: its lane finds out
            child.kill()

    def kill(self) -> None:
        """See `Worker`."""
        child = self._child
        if child is not None:
            child.kill()


def _texts(items: list[Any], count: int) -> list[str]:
    if len(items) != count or not all(isinstance(item, str) for item in items):
        raise NotOurs("it told a failure in a way that is not ours, so it was ended")
    return items


def _how(code: int | None) -> str:
    """How a process ended, for a message; None: it was killed by us."""
    return "it did not end by itself" if code is None else f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _filed(values: Iterable[Any]) -> Iterable[bytes]:
    """The digests of the values that cross as files."""
    for value in values:
        if isinstance(value, Value):
            if not _is_small(value.packed()):
                yield value.digest
        elif isinstance(value, list):
            yield from _filed(value)
