"""Workers: where a node's function is called. One contract, two kinds.

`ThreadWorker` calls in the lane's own thread (tests, host nodes, a one-device command-line run). `ProcessWorker` has a
child process of its own (`graph.worker`), reached by framed msgpack over a socket pair: no pickling, tensors cross as
mapped files of the store, and the child is told only a node type id, value references and resolved recipes. It dies
alone: the lane sees the end of the stream, the task fails with the reason, and the next task starts a new child.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgpack  # type: ignore[import-untyped]  # it ships no types

from graph.blob import digest_of
from graph.context import Context, Preview, Recipe
from graph.errors import Cancelled, LatentgraphError
from graph.expand import Functions, complete, outputs_in, widened
from graph.spec import NodeSpec
from graph.store import Store
from graph.types import Packed, WireType, decode, encode


class WorkerLost(LatentgraphError):
    """The worker process died under a task (out of memory, killed, a crash in native code)."""


class InputChanged(LatentgraphError):
    """A node wrote into the memory of its inputs; `digests` say which values are no longer what they were."""

    def __init__(self, message: str, digests: frozenset[bytes]) -> None:
        super().__init__(message)
        self.digests = digests


class Runtime(Protocol):
    """What a worker needs of the layer above: how to call a function, and its models. One per worker, one thread."""

    def call(self, function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:
        """Call a node's function (gradients off, threads set). Any: each node has its own signature."""

    def borrow(self, recipe: Recipe[Any]) -> AbstractContextManager[Any]:
        """The live model part, pinned while the block runs."""

    def resident(self) -> Mapping[str, int]:
        """Weights held now: identity to bytes."""

    def peak_bytes(self) -> int:
        """Most memory held at once during the last call, weights included, as far as the device can tell; else 0."""

    def prepare(self, spec: NodeSpec) -> None:
        """Get ready for a node of this type (imports); not counted as the node's time."""

    def loading_seconds(self) -> float:
        """Seconds of the last call that went into building model parts; not counted as the node's time either."""

    def trim(self) -> None:
        """Give pooled memory back to the driver; called after each run that used this worker, however it ended."""


class PlainRuntime:
    """A runtime without models: calls the function and builds recipes on the spot."""

    def __init__(self, device: str = "cpu", threads: int = 1) -> None:
        self.device = device

    def call(self, function: Callable[..., Any], ctx: Context, inputs: dict[str, Any]) -> Any:
        """Call the function."""
        return function(ctx, **inputs)

    def borrow(self, recipe: Recipe[Any]) -> AbstractContextManager[Any]:
        """Build the recipe for one use."""
        return Context.borrow(_on(self.device), recipe)

    def resident(self) -> Mapping[str, int]:
        """Nothing is kept."""
        return {}

    def peak_bytes(self) -> int:
        """Not measured."""
        return 0

    def prepare(self, spec: NodeSpec) -> None:
        """Nothing to import."""

    def loading_seconds(self) -> float:
        """Nothing is loaded."""
        return 0.0

    def trim(self) -> None:
        """Nothing to give back."""


def _on(device: str) -> Context:
    ctx = Context()
    ctx.device = device
    return ctx


class Value:
    """A wire value in a run: its digest, and the live object or its packed form, whichever exists. Made lazily."""

    __slots__ = ("_object", "_packed", "digest", "lost")

    def __init__(self, digest: bytes, *, object: Any = None, packed: Packed | None = None) -> None:  # Any: any wire value
        self.digest = digest
        self._object = object
        self._packed = packed
        #: Why there is no value any more; "" while there is.
        self.lost = ""

    def replace(self, packed: Packed | None, reason: str) -> None:
        """Drop the live object for a packed one; without one the value is lost, for this reason."""
        self._object, self._packed = None, packed
        self.lost = "" if packed is not None else reason

    def get(self, wire_types: Mapping[str, WireType]) -> Any:
        """The live object. Raises ValueError if it is lost."""
        if self.lost:
            raise ValueError(f"an input is lost: {self.lost}; run again")
        if self._object is None and self._packed is not None:
            self._object = decode(self._packed, wire_types)
        return self._object

    def packed(self) -> Packed:
        """The packed form, zero-copy."""
        return self._packed if self._packed is not None else encode(self._object)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors (a mapped file counts like memory); a plain value counts 64."""
        if self._object is not None:
            return int(getattr(self._object, "nbytes", 64))
        return 64 + sum(len(tensor.data) for tensor in self._packed.tensors.values()) if self._packed else 64


class Request(NamedTuple):
    """One call: the node type, its inputs by port (`Value`, plain or light values, lists of these), its surroundings."""

    spec: NodeSpec
    inputs: dict[str, Any]
    node_id: str
    element: int | None
    home: Path
    output_folder: Path
    resolved: Callable[[], Mapping[str, Any]]  # Any: plain JSON


class Report(Protocol):
    """What the caller of a worker listens to while the call goes on. Called from the worker's thread."""

    def cancelled(self) -> bool:
        """Whether the work is no longer wanted."""

    def watched(self) -> bool:
        """Whether someone looks at previews now."""

    def progress(self, step: int, total: int, preview: Preview | None) -> None:
        """A step is done. `preview` makes the picture; call it only if someone looks."""

    def note(self, message: str) -> None:
        """A sentence for the user."""


class Result(NamedTuple):
    """What a call gave: output values in port order; the function's own seconds without loading models; seconds of
    loading; peak bytes (0: not measured)."""

    values: tuple[Value, ...]
    seconds: float
    loading: float
    peak_bytes: int


class Worker(Protocol):
    """Both kinds. `run` blocks; it raises what the node raised, `Cancelled`, or `WorkerLost`."""

    def run(self, request: Request, report: Report) -> Result:
        """Call the node."""

    def resident(self) -> Mapping[str, int]:
        """Weights held now: identity to bytes."""

    def trim(self) -> None:
        """Give pooled memory back, as far as that is possible; never raises."""

    def close(self) -> None:
        """End the worker."""

    def kill(self) -> None:
        """End the worker's process at once, if it has one."""


class WorkerContext(Context):
    """The `ctx` of a node in a run."""

    def __init__(self, request: Request, device: str, report: Report, runtime: Runtime) -> None:
        self.device = device
        self.node_id = request.node_id
        self.element = request.element
        self.home = request.home
        self.output_folder = request.output_folder
        self._resolved = request.resolved
        self._report = report
        self._runtime = runtime

    def progress(self, step: int, total: int, preview: Preview | None = None) -> None:
        """See `Context.progress`."""
        self._report.progress(step, total, preview)
        self.check_cancelled()

    def check_cancelled(self) -> None:
        """See `Context.check_cancelled`."""
        if self._report.cancelled():
            raise Cancelled

    def note(self, message: str) -> None:
        """See `Context.note`."""
        self._report.note(message)

    @property
    def resolved(self) -> Mapping[str, Any]:
        """See `Context.resolved`."""
        return self._resolved()

    def borrow(self, recipe: Recipe[Any]) -> AbstractContextManager[Any]:
        """See `Context.borrow`."""
        self.check_cancelled()
        return self._runtime.borrow(recipe)


class ThreadWorker:
    """Calls nodes in the thread that calls `run`. The runtime is made on the first call, in that thread."""

    def __init__(
        self, device: str, functions: Functions, runtime: Callable[[], Runtime], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.device = device
        self.functions = functions
        self.clock = clock
        self._make = runtime
        self._runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """This worker's runtime, made when first asked for."""
        if self._runtime is None:
            self._runtime = self._make()
        return self._runtime

    def run(self, request: Request, report: Report) -> Result:
        """See `Worker`."""
        spec, runtime = request.spec, self.runtime
        call = self.functions.function(spec.id).call
        inputs = complete(spec, {name: self._live(spec, name, value) for name, value in request.inputs.items()})
        watched = _watched(request.inputs, inputs)
        ctx = WorkerContext(request, self.device, report, runtime)
        runtime.prepare(spec)
        started = self.clock()
        try:
            made = runtime.call(call, ctx, inputs)
        except BaseException as error:
            _refuse_changed(request, watched, error)
            raise
        seconds = self.clock() - started
        loading = runtime.loading_seconds() if spec.borrows else 0.0
        peak = runtime.peak_bytes() if spec.borrows else 0
        _refuse_changed(request, watched, None)
        if not spec.outputs:
            return Result((), seconds, loading, peak)
        return Result(tuple([_value(output) for output in outputs_in(spec, made)]), max(seconds - loading, 0.0), loading, peak)

    def _live(self, spec: NodeSpec, name: str, value: Any) -> Any:
        if isinstance(value, Value):
            return widened(spec, name, value.get(self.functions.wire_types))
        if isinstance(value, list):
            return [self._live(spec, name, item) for item in value]
        return value

    def resident(self) -> Mapping[str, int]:
        """See `Worker`."""
        return self._runtime.resident() if self._runtime is not None else {}

    def trim(self) -> None:
        """See `Worker`."""
        if self._runtime is not None:
            with suppress(Exception):  # memory that is not given back is no reason to end a lane, a worker or an engine
                self._runtime.trim()

    def close(self) -> None:
        """See `Worker`."""
        self.trim()

    def kill(self) -> None:
        """A thread cannot be killed; it ends with the process."""


#: An input that could be written to: port, live object, its version before the call, and its digest if it came by a link.
_Watched = tuple[str, Any, int, bytes | None]


def _watched(given: Mapping[str, Any], live: Mapping[str, Any]) -> list[_Watched]:
    found: list[_Watched] = []
    for name, value in given.items():
        pairs = zip(value, live[name], strict=True) if isinstance(value, list) else [(value, live[name])]
        for source, one in pairs:
            if hasattr(one, "version") and hasattr(one, "write"):
                found.append((name, one, one.version, source.digest if isinstance(source, Value) else None))
    return found


def _refuse_changed(request: Request, watched: Sequence[_Watched], cause: BaseException | None) -> None:
    """Raise InputChanged if the call wrote into one of its inputs, whether it failed or not."""
    changed = [(name, digest) for name, one, before, digest in watched if one.version != before]
    if changed:
        names = ", ".join(dict.fromkeys(name for name, _ in changed))
        raise InputChanged(
            f"{request.node_id} ({request.spec.id}) changed its input {names} in place; values on wires are frozen: clone it first",
            frozenset(digest for _, digest in changed if digest is not None),
        ) from cause


def _value(output: Any) -> Value:
    return Value(digest_of(encode(output)), object=output)


# ---- processes ----

#: Values up to this many bytes cross inside a frame; larger ones, and all tensors, as files.
INLINE_BYTES: Final = 65_536
_HEADER: Final = struct.Struct(">I")
_LARGEST_FRAME: Final = 64 * 2**20


class Channel:
    """Framed msgpack over a stream socket. Sending is locked, receiving belongs to one thread."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send one message. Raises OSError if the other end is gone."""
        body = msgpack.packb(message, use_bin_type=True)
        with self._lock:
            self._stream.sendall(_HEADER.pack(len(body)) + body)

    def receive(self) -> list[Any]:
        """The next message. Raises EOFError at the end of the stream."""
        (size,) = _HEADER.unpack(self._exactly(_HEADER.size))
        if size > _LARGEST_FRAME:
            raise EOFError(f"a frame of {size} bytes is not ours")
        message: list[Any] = msgpack.unpackb(self._exactly(size), raw=False, strict_map_key=False)
        return message

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._stream.recv(size - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()


def to_wire(value: Any, stores: Sequence[Store]) -> list[Any]:
    """A reference for a frame: inline if the value is small and plain, else a file in one of the stores."""
    if isinstance(value, list):
        return ["l", [to_wire(item, stores) for item in value]]
    if isinstance(value, dict):  # a file literal
        return ["j", value]
    if not isinstance(value, Value):
        packed = encode(value)
        if not packed.tensors:
            return ["p", packed.type, packed.fields]
        value = Value(digest_of(packed), packed=packed)
    for at, store in enumerate(stores):
        if store.has(value.digest):
            return ["f", value.digest, at]
    packed = value.packed()
    if not packed.tensors and len(repr(packed.fields)) < INLINE_BYTES:
        return ["p", packed.type, packed.fields]
    stores[-1].put(packed, value.digest)
    return ["f", value.digest, len(stores) - 1]


def from_wire(reference: list[Any], stores: Sequence[Store]) -> Any:
    """What is behind a reference: a `Value`, a list, or a file literal. Raises WorkerLost if a value's file is gone."""
    kind = reference[0]
    if kind == "l":
        return [from_wire(item, stores) for item in reference[1]]
    if kind == "j":
        return reference[1]
    if kind == "p":
        packed = Packed(reference[1], reference[2], {})
        return Value(digest_of(packed), packed=packed)
    found = stores[reference[2]].get(reference[1])
    if found is None:
        raise WorkerLost("a value handed to a worker is gone from the store; run again")
    return Value(reference[1], packed=found)


@dataclass
class ProcessWorker:
    """A device in a child process. Started on the first call (or by `start`), started anew after a death."""

    device: str
    threads: int
    #: "module:function" of what makes the child's functions and runtime: `(device, threads, home) -> (Functions, Runtime)`.
    setup: str
    home: Path
    #: The shared store and, last, the run's spool for values that the store does not keep.
    stores: Sequence[Store]
    _process: subprocess.Popen[bytes] | None = None
    _channel: Channel | None = None
    _resident: dict[str, int] = field(default_factory=dict)
    _calls: int = 0

    def start(self) -> None:
        """Start the child now and wait until it has set itself up."""
        if self._process is not None:
            return
        ours, theirs = socket.socketpair()
        folders = [f"{store.limit_bytes}:{store.folder}" for store in self.stores]
        command = [
            sys.executable,
            "-m",
            "graph.worker",
            str(theirs.fileno()),
            self.device,
            str(self.threads),
            self.setup,
            str(self.home),
            *folders,
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with theirs:
            self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(),), env=environment, stdin=subprocess.DEVNULL)
        self._channel = Channel(ours)
        try:
            kind, *rest = self._channel.receive()
        except (EOFError, OSError) as error:
            raise self._lost("while it started") from error
        if kind == "failed":
            raise self._lost(f"while it started: {rest[0]}: {rest[1]}") from RemoteFailure(*rest)

    def run(self, request: Request, report: Report) -> Result:
        """See `Worker`."""
        self.start()
        assert self._channel is not None
        self._calls += 1
        inputs = {name: to_wire(value, self.stores) for name, value in request.inputs.items()}
        place = [request.node_id, request.element, str(request.home), str(request.output_folder)]
        try:
            if report.watched():  # before the call, so that the first step has its picture
                self._channel.send("watch", self._calls, True)
            self._channel.send(
                "run",
                self._calls,
                [request.spec.id, request.spec.code],
                inputs,
                place,
                dict(request.resolved()) if request.spec.effect else {},
            )
            return self._listen(request, report)
        except (EOFError, OSError) as error:
            raise self._lost(f"while it ran {request.node_id}") from error

    def _listen(self, request: Request, report: Report) -> Result:
        channel = self._channel
        assert channel is not None
        watching = threading.Event()
        watcher = threading.Thread(target=_forward, args=(report, channel, self._calls, watching), daemon=True)
        watcher.start()
        try:
            while True:
                kind, *rest = channel.receive()
                if kind == "progress":
                    report.progress(rest[0], rest[1], partial(bytes, rest[2]) if rest[2] is not None else None)
                elif kind == "note":
                    report.note(rest[0])
                elif kind == "done":
                    outputs, seconds, loading, peak, self._resident = rest
                    return Result(tuple(from_wire(reference, self.stores) for reference in outputs), seconds, loading, peak)
                elif kind == "cancelled":
                    raise Cancelled
                elif kind == "failed":
                    raise RemoteFailure(*rest)
        finally:
            watching.set()

    def _lost(self, when: str) -> WorkerLost:
        process, self._process = self._process, None
        if self._channel is not None:
            self._channel.close()
        self._channel, self._resident = None, {}
        code = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=1)
            process.kill()
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
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


class RemoteFailure(LatentgraphError):
    """A node raised in a worker process: the error's type, message and traceback text."""

    def __init__(self, type_name: str, message: str, trace: str) -> None:
        super().__init__(message)
        self.type_name = type_name
        self.trace = trace


def _forward(report: Report, channel: Channel, call: int, stop: threading.Event) -> None:
    """While a call goes on, tell the child who looks at it and that it is not wanted any more."""
    watched = report.watched()
    with suppress(OSError):
        while not stop.wait(0.02):
            if report.cancelled():
                channel.send("cancel", call)
                return
            if report.watched() != watched:
                watched = not watched
                channel.send("watch", call, watched)


def failure_of(error: BaseException) -> tuple[str, str, str]:
    """Type name, message and traceback of an error, also of one from a worker process."""
    if isinstance(error, RemoteFailure):
        return error.type_name, str(error), error.trace
    trace = "".join(traceback.format_exception(error))
    return type(error).__name__, said_of(error), trace


def said_of(error: BaseException) -> str:
    """An error's message, also of one that cannot say it."""
    try:
        return str(error)
    except Exception:  # a node's own exception class may do anything
        return "(its message cannot be shown)"
