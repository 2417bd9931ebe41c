"""Workers: where a node's function is called. The contract, and the kind that calls in the lane's own thread.

`ThreadWorker` serves tests, host nodes and a one-device command-line run; `graph.processes` has the kind with a child
process of its own. Both pass the same contract tests.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from graph.blob import digest_of
from graph.context import Context, Preview, Recipe
from graph.errors import Cancelled, LatentgraphError
from graph.expand import Functions, complete, outputs_in, widened
from graph.spec import NodeSpec
from graph.trace import trace_of
from graph.types import PLAIN_NAMES, Packed, WireType, decode, encode

#: A text up to this many bytes in UTF-8 is kept with what is told of a node.
SMALL_BYTES: Final = 4096
_PLAIN_TYPES: Final = frozenset(PLAIN_NAMES.values())


class WorkerLost(LatentgraphError):
    """The worker process died under a task (out of memory, killed, a crash in native code).

    `how`: in a few words; `out_of_memory`: the kernel killed it, by its own count, for want of memory.
    """

    def __init__(self, message: str, how: str = "", out_of_memory: bool = False) -> None:
        super().__init__(message)
        self.how = how or message
        self.out_of_memory = out_of_memory


class StartFailed(WorkerLost):
    """The worker process did not come up, so no task is to blame."""


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

    __slots__ = ("__weakref__", "_object", "_packed", "digest", "lost")

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

    def small(self) -> int | float | str | bool | None:
        """The value itself if it is a finite number of at most 64 bits, a text of at most `SMALL_BYTES` or a truth; else None."""
        made = self._object
        if made is None and self._packed is not None and not self._packed.tensors and self._packed.type in _PLAIN_TYPES:
            made = self._packed.fields["value"]
        return made if is_small(made) else None

    def packed(self) -> Packed:
        """The packed form, zero-copy."""
        return self._packed if self._packed is not None else encode(self._object)

    @property
    def nbytes(self) -> int:
        """Bytes it takes in memory: its tensors (a mapped file counts like memory) and its texts."""
        if self._object is not None:
            return _size(self._object)
        if self._packed is None:
            return 64
        return _size(self._packed.fields) + sum(len(tensor.data) for tensor in self._packed.tensors.values())


def is_small(value: object) -> bool:
    """Whether a value is plain, is not longer than `SMALL_BYTES`, and comes out of any frame and of JSON as it was."""
    kind = type(value)
    if kind is bool:
        return True
    if kind is str:
        try:
            return len(value) <= SMALL_BYTES and len(value.encode()) <= SMALL_BYTES  # type: ignore[arg-type,attr-defined]  # a str
        except UnicodeEncodeError:
            return False
    if kind is int:
        return -(2**63) <= value < 2**63  # type: ignore[operator]  # an int
    return kind is float and math.isfinite(value)  # type: ignore[arg-type]  # a float


def _size(value: Any) -> int:  # Any: a wire value or its plain fields
    if isinstance(value, (str, bytes)):
        return 64 + len(value)
    if isinstance(value, dict):
        return 64 + sum(map(_size, value.values()))
    if isinstance(value, (list, tuple)):
        return 64 + sum(map(_size, value))
    return int(getattr(value, "nbytes", 64)) if hasattr(value, "write") else 64


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

    def start(self, cancelled: Callable[[], bool]) -> None:
        """Be ready for a call. Raises StartFailed if that cannot be, Cancelled if the call is not wanted any more."""

    def run(self, request: Request, report: Report) -> Result:
        """Call the node."""

    def resident(self) -> Mapping[str, int]:
        """Weights held now: identity to bytes."""

    def trim(self) -> None:
        """Give pooled memory back, as far as that is possible; never raises."""

    def close(self) -> None:
        """End the worker."""

    def kill(self) -> None:
        """End the worker's process at once, if it has one. For any thread; nothing is waited for."""

    def replace(self) -> bool:
        """Have the next call made in another process than those before. False if the worker has no process of its own."""


class WorkerContext(Context):
    """The `ctx` of a node in a run."""

    def __init__(self, request: Request, device: str, report: Report, runtime: Runtime) -> None:
        self.device = device
        self.node_id = request.node_id
        self.element = request.element
        self.home = request.home
        self.output_folder = request.output_folder
        # Seeds, ids and times of a run are in no key, so only what is never remembered may read them.
        self._resolved = request.resolved if request.spec.effect else dict
        self._report = report
        self._runtime = runtime

    def progress(self, step: int, total: int, preview: Preview | None = None) -> None:
        """See `Context.progress`. Raises TypeError unless both are whole numbers."""
        if not isinstance(step, int) or not isinstance(total, int):
            raise TypeError(f"ctx.progress takes whole numbers; {self.node_id} gave step {step!r} of {total!r}")
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

    def start(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """A thread is always there."""

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
        values = _values(request, outputs_in(spec, made)) if spec.outputs else ()
        return Result(values, max(seconds - loading, 0.0), loading, peak)

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

    def replace(self) -> bool:
        """Nor can it be replaced."""
        return False


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


def _values(request: Request, outputs: Sequence[Any]) -> tuple[Value, ...]:
    """The outputs as values. Raises TypeError if they are not what the node declares."""
    declared = request.spec.outputs
    if len(outputs) != len(declared):
        raise TypeError(
            f"{request.node_id} ({request.spec.id}) gave {len(outputs)} outputs and declares {len(declared)}; return one value for each"
        )
    values: list[Value] = []
    for output, port in zip(outputs, declared, strict=True):
        found = float(output) if port.type.name == "float" and type(output) is int else output
        packed = encode(found)
        if packed.type != port.type.name and not port.type.is_generic:
            raise TypeError(
                f"{request.node_id} ({request.spec.id}) gave a {packed.type} as {port.name}, which is declared {port.type}; return that"
            )
        values.append(Value(digest_of(packed), object=found))
    return tuple(values)


class RemoteFailure(LatentgraphError):
    """A node raised in a worker process: the error's type and message, and its trace (`graph.trace`)."""

    def __init__(self, type_name: str, message: str, trace: str) -> None:
        super().__init__(message)
        self.type_name = type_name
        self.trace = trace


def failure_of(error: BaseException) -> tuple[str, str, str]:
    """Type name, message and trace (`graph.trace`) of an error, also of one from a worker process."""
    if isinstance(error, RemoteFailure):
        return error.type_name, str(error), error.trace
    return type(error).__name__, said_of(error), trace_of(error)


def said_of(error: BaseException) -> str:
    """An error's message, also of one that cannot say it."""
    try:
        return str(error)
    except Exception:  # a node's own exception class may do anything
        return "(its message cannot be shown)"
