"""A run under way: what it has, what it tells, how it ends. The executor changes it under its lock."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from graph import keys
from graph.context import Preview
from graph.events import PREVIEW_SECONDS, Event, NodeStateName, NoteEvent, PreviewEvent, ProgressEvent, RunEvent, RunStateName
from graph.expand import Pending
from graph.faults import is_disk_full
from graph.plan import Plan
from graph.schedule import RunTasks
from graph.shortage import shortage_in
from graph.types import WireType
from graph.workers import Value, Worker, said_of

#: Events that may wait for a run's reader before they are thinned; states are kept whatever their number.
MOST_EVENTS: Final = 1000
#: Small plain outputs that one run keeps.
MOST_SMALL_BYTES: Final = 2**20


class NodeResult(NamedTuple):
    """How one task, or all of a remembered or light node, ended."""

    id: str
    element: int | None
    type: str
    state: NodeStateName
    seconds: float
    device: str
    key: str
    error: str = ""
    note: str = ""
    #: Why it failed, for machines: "worker_lost", "timed_out", "out_of_memory", "disk_full", "refused", "input_changed" or
    #: "node_failed".
    code: str = ""
    #: Where a failure came from (`graph.trace`). It names files of this machine: for logs, not for others' eyes.
    trace: str = ""
    #: The digests (hex) of its outputs, in port order.
    outputs: tuple[str, ...] = ()


class Failure(NamedTuple):
    """Why a task failed: the sentence for people, the code for machines, the trace for logs."""

    message: str
    code: str
    trace: str


class RunResult(NamedTuple):
    """How a run ended. `outputs` are live values (Any: any wire value, or lists of them)."""

    state: RunStateName
    nodes: list[NodeResult]
    outputs: dict[str, Any]
    absent: dict[str, str]
    seeds: dict[str, int]
    seconds: float
    messages: list[str]
    #: Seconds of work on devices, which its client is charged with.
    device_seconds: float = 0.0


class Flight:
    """One execution under way, and every (run, task) that waits for it."""

    __slots__ = ("cancelled", "key", "slot", "subscribers")

    def __init__(self, key: bytes, run: ActiveRun, task: int) -> None:
        self.key = key
        self.subscribers: list[tuple[ActiveRun, int]] = [(run, task)]
        #: Nobody wants it any more. One that leaves does not take the others along.
        self.cancelled = False
        #: Where the ledger of tries names who shares it, while it is called in a worker process.
        self.slot: int | None = None


class ActiveRun:
    """A plan being carried out."""

    def __init__(
        self,
        plan: Plan,
        queue: RunTasks,
        values: dict[int, dict[int, Value]],
        output_folder: Path,
        resolved: Callable[[ActiveRun, int], Mapping[str, Any]],
        id: str = "",
        tries: int = 0,
    ) -> None:
        """`id` is that of the server's job, "" on the command line: for the ledger of tries and the names of outputs.

        `tries`: how often in a row a process died under it before.
        """
        self.id, self.tries = id, tries
        #: How these died, as far as it was seen here.
        self.deaths: list[str] = []
        #: Tasks that met a faulty device once.
        self.faulted: set[int] = set()
        self.plan, self.queue, self.values = plan, queue, values
        self.tasks = plan.tasks
        self.output_folder = output_folder
        self.resolved = resolved
        self.started = time.monotonic()
        self.state: RunStateName = "running"
        self.cancelled = False
        self.wants_previews = False
        self.events: list[Event] = []
        #: When so many wait to be drained, steps that later ones replaced are left out.
        self._thin_at = MOST_EVENTS
        self._telling = threading.Lock()
        self.results: dict[int, NodeResult] = {}
        #: Of a server's job: the small plain outputs (see `Value.small`) of tasks, so far as they have room.
        self.small: dict[int, tuple[Any, ...]] = {}
        self._small_bytes = 0
        self.notes: dict[int, str] = {}
        self.messages: list[str] = []
        self.executing = 0
        self.writing = 0
        self.seconds = 0.0
        self.device_seconds = 0.0
        self.changed = threading.Condition()
        #: Called once per batch of events; by `pass_on`, as a rule in a thread that holds no lock and drops its errors.
        self.listener: Callable[[], object] | None = None
        self.pass_on: Callable[[Callable[[], object]], object] | None = None
        self._told = False
        #: Who called something of this run: these give memory back when it ends.
        self.workers: set[Worker] = set()
        #: Content keys of tasks that have no structural key, once their inputs exist.
        self.content_keys: dict[int, bytes] = {}
        self.printed = {task for task, _ in plan.roots.printed}
        self.uses: dict[int, int] = {}
        for task in plan.run:
            for ref in self.tasks.refs[task]:
                self.uses[ref.task] = self.uses.get(ref.task, 0) + 1

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def key_of(self, task: int) -> str:
        """The key (hex) that a task's result is remembered under; "" while there is none, or if it never is."""
        tasks = self.tasks
        key = tasks.structural[task] or self.content_keys.get(task)
        if key is None and tasks.skeleton[task] and tasks.spec_of(task).cache:
            hits = self.plan.hits
            if all(ref.task in hits for ref in tasks.refs[task]):
                key = keys.content_key(tasks.skeleton[task], [hits[ref.task][ref.output] for ref in tasks.refs[task]])
        return key.hex() if key else ""

    def keep_small(self, task: int, values: Sequence[Value]) -> None:
        """Keep the small plain ones of a task's outputs, unless they are too many by now."""
        found = tuple([value.small() for value in values])
        size = sum([64 + len(one) if type(one) is str else 8 for one in found if one is not None])
        if size and self._small_bytes + size <= MOST_SMALL_BYTES:
            self.small[task] = found
            self._small_bytes += size

    def tell(self, event: Event) -> None:
        """Add an event to the batch; the listener hears of a batch once."""
        with self._telling:
            self.events.append(event)
            if len(self.events) >= self._thin_at:
                self.events = thinned(self.events)
                self._thin_at = max(MOST_EVENTS, 2 * len(self.events))
            is_first, self._told = not self._told, True
        if is_first:
            self._wake()

    def _wake(self) -> None:
        if self.listener is not None and self.pass_on is not None:
            self.pass_on(self.listener)
        with self.changed:
            self.changed.notify_all()

    def end(self, state: RunStateName) -> None:
        """Enter the last state. Its event comes first, so that whoever sees the state finds the event."""
        with self._telling:
            self.events.append(RunEvent(state, self.now))
        self.state = state
        self._wake()

    def wait(self, seconds: float) -> None:
        """Wait for an event, or for the end, at most so long."""
        with self.changed:  # whoever tells an event after this look needs the lock to wake us
            if not self.events and self.state == "running":
                self.changed.wait(seconds)

    def drain(self) -> list[Event]:
        """The events since the last call."""
        with self._telling:
            events, self.events = self.events, []
            self._thin_at = MOST_EVENTS
            self._told = False
        return events

    def say(self, message: str) -> None:
        """A sentence about the whole run, once."""
        if message not in self.messages:
            self.messages.append(message)
            self.tell(NoteEvent("", message, self.now))


def thinned(events: Sequence[Event]) -> list[Event]:
    """The same without steps, pictures and notes that a later one of the same node replaces. No state is left out."""
    seen: set[tuple[type[Event], str, int | None]] = set()
    kept: list[Event] = []
    for event in reversed(events):
        if isinstance(event, (ProgressEvent, PreviewEvent, NoteEvent)) and not (isinstance(event, NoteEvent) and not event.node):
            place = (type(event), event.node, getattr(event, "element", None))
            if place in seen:
                continue
            seen.add(place)
        kept.append(event)
    kept.reverse()
    return kept


def keys_of(run: ActiveRun, task: int) -> tuple[bytes, ...]:
    """A task's structural key (if it has one) and, last, its content key; one key if it has no heavy input."""
    tasks = run.tasks
    refs = tasks.refs[task]
    structural = tasks.structural[task]
    if not refs and structural is not None:
        return (structural,)
    content = keys.content_key(tasks.skeleton[task], [run.values[ref.task][ref.output].digest for ref in refs])
    return (content,) if structural is None else (structural, content)


def inputs_of(run: ActiveRun, task: int) -> dict[str, Any]:
    """A task's inputs by port: constants as they are, heavy inputs as `Value`, list ports as lists of both."""
    tasks = run.tasks
    inputs = dict(tasks.constants[task])
    lists: set[str] = set()
    for ref in tasks.refs[task]:
        value = run.values[ref.task][ref.output]
        if ref.position is None:
            inputs[ref.port] = value
            continue
        if ref.port not in lists:
            lists.add(ref.port)
            inputs[ref.port] = list(inputs[ref.port])
        inputs[ref.port][ref.position] = value
    return inputs


def outputs_of(run: ActiveRun, wire_types: Mapping[str, WireType]) -> dict[str, Any]:
    """The named outputs that exist, as live values."""
    outputs: dict[str, Any] = {}
    values, nothing = run.values, dict[int, Value]()
    for name, value in run.plan.roots.outputs.items():
        if type(value) is Pending:  # nearly all; looked up once
            made = values.get(value[0], nothing).get(value[1])
            if made is not None and not made.lost:
                outputs[name] = made.get(wire_types)
        elif _exists(value, run):
            outputs[name] = _live(value, run, wire_types)
    return outputs


def values_of(run: ActiveRun) -> dict[str, Any]:
    """The named outputs that exist: a `Value` where a task gave it, lists of these, or what a light node gave."""
    return {name: _made(value, run) for name, value in run.plan.roots.outputs.items() if _exists(value, run)}


def _made(value: Any, run: ActiveRun) -> Any:
    if isinstance(value, Pending):
        return run.values[value.task][value.port]
    return [_made(item, run) for item in value] if isinstance(value, list) else value


# Functions of the module, not inside `outputs_of`: a nested function that calls itself is a cycle, which would keep the
# run and its pictures until the collector's next round.
def _live(value: Any, run: ActiveRun, wire_types: Mapping[str, WireType]) -> Any:
    if isinstance(value, Pending):
        return run.values[value.task][value.port].get(wire_types)
    return [_live(item, run, wire_types) for item in value] if isinstance(value, list) else value


def _exists(value: Any, run: ActiveRun) -> bool:
    if isinstance(value, Pending):
        made = run.values.get(value.task, {}).get(value.port)
        return made is not None and not made.lost
    return all(_exists(item, run) for item in value) if isinstance(value, list) else True


class FlightReport:
    """What a worker tells while it runs a job; heard by every run that waits for it."""

    def __init__(self, flight: Flight, limit_s: float = math.inf) -> None:
        """`limit_s`: how long the call may take, once it has begun."""
        self._flight = flight
        self.limit_s = limit_s
        self._until = math.inf
        #: It took longer, and was told to stop.
        self.timed_out = False
        self._moved_at = time.monotonic()
        self._first: tuple[int, float] | None = None
        self._preview_at = float("-inf")

    def begin(self) -> None:
        """The call begins: its time counts from here, not from the start of a worker."""
        self._moved_at = time.monotonic()
        self._until = self._moved_at + self.limit_s

    def cancelled(self) -> bool:
        """Whether nobody wants the work any more, or it takes too long."""
        if not self.timed_out and time.monotonic() >= self._until:
            self.timed_out = True
        return self._flight.cancelled or self.timed_out

    def idle_seconds(self) -> float:
        """Seconds since the call began or told a step."""
        return time.monotonic() - self._moved_at

    def watched(self) -> bool:
        """Whether one of the runs that wait for the work shows previews."""
        return any(run.wants_previews for run, _ in list(self._flight.subscribers))

    def progress(self, step: int, total: int, preview: Preview | None) -> None:
        """Tell the step; the estimate is the mean step time after the first step (which warms up)."""
        now = self._moved_at = time.monotonic()
        eta = None
        if self._first is None:
            self._first = (step, now)
        elif step > self._first[0]:
            eta = (now - self._first[1]) / (step - self._first[0]) * (total - step)
        for run, task in list(self._flight.subscribers):
            id, element = run.tasks.id_of(task), run.tasks.element[task]
            run.tell(ProgressEvent(id, element, step, total, eta, run.now))
        if preview is not None and now - self._preview_at >= PREVIEW_SECONDS:
            watching = [(run, task) for run, task in self._flight.subscribers if run.wants_previews]
            if watching:
                self._preview_at = now
                try:
                    image = preview()
                except Exception as error:  # a picture nobody needs must not fail the work
                    self.note(f"no preview could be made: {said_of(error)}")
                    return
                for run, task in watching:
                    run.tell(PreviewEvent(run.tasks.id_of(task), run.tasks.element[task], image, run.now))

    def note(self, message: str) -> None:
        """A sentence about the node's result, kept in the run's record."""
        for run, task in list(self._flight.subscribers):
            run.notes[task] = message
            run.tell(NoteEvent(run.tasks.id_of(task), message, run.now))


def sentence_of(run: ActiveRun, task: int, place: str, kind: str, message: str) -> str:
    """What went wrong where, for people: node, place, and of a lack of memory by how much and what to do."""
    node = f"{run.tasks.id_of(task)} ({run.tasks.spec_of(task).id})"
    if is_disk_full(kind, message):
        advice = "Free some space there, then run it again"
        return f"{node} failed because the disk is full. {advice}.\n  {kind}: {message}\n  inputs: {summary_of(run, task)}"
    shortage = shortage_in(kind, message)
    if shortage is None:
        return f"{node} failed: {kind}: {message}\n  inputs: {summary_of(run, task)}"
    lack = f": {shortage.text}" if shortage.text else ""
    advice = "Make the picture smaller, compute in a smaller dtype, or use a device with more memory"
    return f"{node} ran out of memory on {place}{lack}. {advice}.\n  {kind}: {message}\n  inputs: {summary_of(run, task)}"


def summary_of(run: ActiveRun, task: int) -> str:
    """The inputs of a task in one line, for an error."""
    parts = [f"{name}={_short(value)}" for name, value in run.tasks.constants[task].items()]
    parts.extend(f"{ref.port}=<{run.tasks.id_of(ref.task)}>" for ref in run.tasks.refs[task])
    return ", ".join(parts)


def _short(value: Any) -> str:
    try:
        said = repr(value)
    except Exception:  # a failing repr must not hide the failure it is part of
        said = f"<{type(value).__name__}>"
    return said if len(said) <= 80 else said[:77] + "..."
