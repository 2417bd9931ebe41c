"""Carries a plan out: long-lived lanes pull tasks from the schedule under one lock, call workers, and remember results.

One lane per device and a few for host nodes. A lane takes, runs, completes and takes again without a hop to any event
loop; listeners are told at most once per batch. Work that is the same is done once: in this process by the table of
flights, across processes by leases.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, Protocol

from graph.active import ActiveRun, Failure, Flight, FlightReport, NodeResult, code_of, inputs_of, keys_of, sentence_of
from graph.disk_cache import DiskCacheFolder
from graph.errors import Cancelled
from graph.events import (
    CachedEvent,
    NodeEvent,
    NodeStateName,
    RunEvent,
)
from graph.folder import StoreUnavailable
from graph.history import History
from graph.leases import Lease, Leases
from graph.memo import Action, Finished, Memo
from graph.needs import loading_signature, weights_of
from graph.plan import signature_of
from graph.provenance import recorded_of
from graph.schedule import HOST, RunTasks, Schedule
from graph.spec import NodeSpec
from graph.why import last_key, parts_of
from graph.workers import InputChanged, Request, Value, Worker, failure_of, said_of

#: A result that took this long is written before `done` is told; half a millisecond to here goes by group commit.
KEEP_SECONDS: Final = 0.005
GROUP_SECONDS: Final = 0.001
#: A lane that is at a quick node for longer than this is away, and another takes its place.
AWAY_SECONDS: Final = 0.1
#: What a node type that never ran here may take, for the two above; halved by each quick run.
UNKNOWN_SECONDS: Final = 0.02
#: Values up to this many bytes are written by the lane itself, larger ones by the writer while the lane goes on.
LANE_WRITE_BYTES: Final = 16 * 2**20
#: How soon a task whose lease another process holds is looked at again.
LEASE_POLL_SECONDS: Final = 0.01
#: Uses and learned costs are written at the end of a run, at most this often (and when the engine closes).
FLUSH_SECONDS: Final = 5.0


class Memory(Protocol):
    """What the executor remembers with: see graph.memo, graph.leases, graph.history, graph.disk_cache."""

    memo: Memo
    leases: Leases
    history: History

    def disk_cache(self, constants: Mapping[str, Any]) -> DiskCacheFolder:
        """The folder that a `disk_cache` node with these inputs writes to. Raises StoreUnavailable."""

    def damage(self) -> list[str]:
        """What was found damaged since the last call, a sentence each."""


@dataclass(eq=False)
class _Job:
    """A task a lane works on."""

    run: ActiveRun
    task: int
    spec: NodeSpec
    flight: Flight
    keys: tuple[bytes, ...]
    #: Held until what the job gave is written down, so that other processes find it or wait.
    lease: Lease | None = None


class Executor:
    """The lanes of one engine."""

    def __init__(
        self, schedule: Schedule, workers: Mapping[str, Worker], host: Worker, memory: Memory,
        environment: str, home: Path, *, host_lanes: int = 2, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.schedule, self.workers, self.host, self.memory = schedule, workers, host, memory
        self.environment, self.home = environment, home
        self._clock = clock
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._flights: dict[bytes, Flight] = {}
        self._unshared: set[Flight] = set()
        self._owners: dict[int, ActiveRun] = {}
        self._trims: set[str] = set()
        self._idle = 0
        #: Host lanes at a node that is quick, by thread, and since when. One lane is enough for quick nodes: two would take
        #: turns at the lock and the interpreter (60 us a node against 27 on two free cores, and an event loop late by 26 ms).
        self._quick: dict[int, float] = {}
        self._closing = False
        #: Seconds that a node type may take, as seen here: one quick run does not make a type quick, a slow one makes it slow.
        self._usual: dict[str, float] = {}
        self._flushed = time.monotonic()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="latentgraph-writer")
        places = [*workers, *[HOST] * host_lanes]
        self._threads = [
            threading.Thread(target=self._lane, args=(place,), name=f"latentgraph-{place}", daemon=True) for place in places
        ]
        self._heard: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads.append(threading.Thread(target=self._call_listeners, name="latentgraph-listeners", daemon=True))
        self._started = False

    def _call_listeners(self) -> None:
        while (listener := self._heard.get()) is not None:
            with suppress(Exception):  # an event loop that is closed, say; the run is none of its business
                listener()

    # ---- runs ----

    def start(self, run: ActiveRun) -> None:
        """Take a run in; it is over when its state says so."""
        with self._lock:
            if self._closing:
                raise RuntimeError("the engine is closed; make a new one")
            if not self._started:
                self._started = True
                for thread in self._threads:
                    thread.start()
        run.pass_on = self._heard.put
        run.tell(RunEvent("running", 0.0))
        self._tell_planned(run)
        with self._ready:
            self._owners[id(run.queue)] = run
            self.schedule.add(run.queue)
            self._settle(run)
            self._ready.notify_all()

    def _tell_planned(self, run: ActiveRun) -> None:
        tasks, plan = run.tasks, run.plan
        running = {tasks.node[task] for task in plan.run}
        above = {tasks.node[task] for task in plan.skipped}
        cached = [tasks.compiled.ids[node] for node in sorted(above - running)]
        if cached:
            run.tell(CachedEvent(cached, run.now))
        for id, reason in tasks.compiled.skipped.items():
            run.tell(NodeEvent(id, None, "skipped", run.now, message=reason))

    def cancel(self, run: ActiveRun) -> None:
        """End a run: what waits is dropped, what runs is told at its next step."""
        with self._ready:
            if run.state != "running" or run.cancelled:
                return
            run.cancelled = True
            kept = self._unsubscribe(run)
            for task in run.queue.drop_all():
                if task not in kept:
                    self._record(run, task, "cancelled")
            self._settle(run)

    def _unsubscribe(self, run: ActiveRun) -> set[int]:
        """Leave the flights that others still want; the tasks of those that only this run wants, which are told to stop."""
        alone: set[int] = set()
        for flight in [*self._flights.values(), *self._unshared]:
            mine = [task for owner, task in flight.subscribers if owner is run]
            if mine and all(owner.cancelled for owner, _ in flight.subscribers):
                flight.cancelled = True
                alone.update(mine)
            elif mine:
                flight.subscribers = [(owner, task) for owner, task in flight.subscribers if owner is not run]
                run.executing -= len(mine)
        return alone

    def close(self) -> None:
        """Cancel everything and end the lanes that are idle; a lane inside a long operation is a daemon thread."""
        with self._lock:
            runs = list(self._owners.values())
        for run in runs:
            self.cancel(run)
        with self._ready:
            self._closing = True
            self._ready.notify_all()
        self._heard.put(None)
        if self._started:
            for thread in self._threads:
                thread.join(timeout=2)
        self._writer.shutdown(wait=True)

    # ---- lanes ----

    def _lane(self, place: str) -> None:
        worker = self.host if place == HOST else self.workers[place]
        while self._step(place, worker):
            pass

    def _step(self, place: str, worker: Worker) -> bool:
        """Wait for one thing to do and do it; False to end. A call of its own, so that an idle lane keeps no run alive."""
        with self._ready:
            job = self._next(place)
        if job is None:
            return False
        if isinstance(job, str):
            worker.trim()
        else:
            self._carry_out(job, place, worker)
        return True

    def _next(self, place: str) -> _Job | str | None:
        """The next job of a lane, "trim", or None to end. Waits; the lock is held."""
        me = threading.get_ident()
        while not self._closing:
            if place in self._trims:
                self._trims.discard(place)
                return "trim"
            now = self._clock()
            self._quick.pop(me, None)
            is_left_to_another = place == HOST and any(now - since < AWAY_SECONDS for since in self._quick.values())
            assignment = None if is_left_to_another else self.schedule.take(place, now)
            if assignment is not None:
                run = self._owners[id(assignment.run)]
                try:
                    job = self._join(run, assignment.task)
                except Exception as error:  # our own mistake: the task fails, and the lane lives on
                    self._broken(run, assignment.task, place, error)
                    continue
                if job is not None:
                    is_quick = place == HOST and self._usual.get(job.spec.id, UNKNOWN_SECONDS) < GROUP_SECONDS
                    if is_quick:
                        self._quick[me] = now
                    if self._idle and (
                        assignment.run.has_ready("")
                        or (not is_quick and (len(self.schedule.runs) > 1 or assignment.run.has_ready(HOST)))
                    ):
                        self._ready.notify()
                    return job
                self._free(assignment.run, place, 0.0)
                continue
            until = self.schedule.next_time(place, now)
            left = None if until is None else max(until - now, 0.0)
            if is_left_to_another:
                left = AWAY_SECONDS if left is None else min(left, AWAY_SECONDS)
            self._idle += 1
            self._ready.wait(left)
            self._idle -= 1
        return None

    def _join(self, run: ActiveRun, task: int) -> _Job | None:
        """Make a job of a task, or let it wait for the same work under way elsewhere."""
        tasks = run.tasks
        spec = tasks.spec_of(task)
        run.executing += 1
        if not spec.cache or spec.persist:
            flight = Flight(b"", run, task)
            self._unshared.add(flight)
            return _Job(run, task, spec, flight, ())
        found = keys_of(run, task)
        content = found[-1]
        if tasks.structural[task] is None:
            run.content_keys[task] = content
        under_way = self._flights.get(content)
        if under_way is not None and not under_way.cancelled:
            under_way.subscribers.append((run, task))
            return None
        self._flights[content] = flight = Flight(content, run, task)
        return _Job(run, task, spec, flight, found)

    def _broken(self, run: ActiveRun, task: int, place: str, error: Exception) -> None:
        run.executing -= 1
        self._free(run.queue, place, 0.0)
        kind, message, trace = failure_of(error)
        said = f"{run.tasks.id_of(task)} could not be started: {kind}: {message}"
        self._record(run, task, "failed", 0.0, place, Failure(said, "node_failed", trace))
        for dropped in run.queue.drop_descendants(task):
            self._record(run, dropped, "skipped", message=f"{run.tasks.id_of(task)} failed")
        self._settle(run)

    def _land(self, flight: Flight) -> None:
        if flight.key:
            if self._flights.get(flight.key) is flight:  # a cancelled one may have been replaced meanwhile
                del self._flights[flight.key]
        else:
            self._unshared.discard(flight)

    def _free(self, queue: RunTasks, place: str, seconds: float) -> None:
        self.schedule.finished(queue, place, seconds, self._clock())

    # ---- one job ----

    def _carry_out(self, job: _Job, place: str, worker: Worker) -> None:
        started = time.perf_counter()
        try:
            if job.keys:
                if self._hit(job, place):
                    return
                if self._worth_a_lease(job.spec):
                    try:
                        job.lease = self.memory.leases.acquire(job.flight.key)
                    except StoreUnavailable as error:
                        job.run.say(f"work is not shared with other processes in this run: {error}")
                    else:
                        if job.lease is None:
                            self._put_back(job, place)
                            return
                        if self._hit(job, place, again=True):
                            return
            self._run(job, place, worker)
        except Cancelled:
            self._end(job, place, "cancelled", time.perf_counter() - started)
        except InputChanged as error:
            self._forget_changed(job, error)
            self._fail(job, place, error, time.perf_counter() - started)
        except BaseException as error:  # whatever a node raises is the node's result; the lane lives on
            self._fail(job, place, error, time.perf_counter() - started)
        finally:
            self._give_up(job)

    def _give_up(self, job: _Job) -> None:
        """Let go of a job's lease, if it still has one."""
        lease, job.lease = job.lease, None
        if lease is not None:
            with suppress(StoreUnavailable):  # then it ends with this process, or by its time
                self.memory.leases.release(lease)

    def _worth_a_lease(self, spec: NodeSpec) -> bool:
        return self._usual.get(spec.id, UNKNOWN_SECONDS) >= KEEP_SECONDS

    def _hit(self, job: _Job, place: str, again: bool = False) -> bool:
        """Early cut-off: the same work is remembered by content. Then the task is `cached` without running."""
        memo = self.memory.memo
        wanted = job.keys if again else job.keys[-1:]
        if self._usual.get(job.spec.id, UNKNOWN_SECONDS) < GROUP_SECONDS:
            known = memo.known(job.keys[-1])  # what is this quick was never written
            actions = {} if known is None else {job.keys[-1]: known}
        else:
            actions = memo.find(wanted)
        for key in wanted:
            action = actions.get(key)
            if action is None:
                continue
            loaded = self.load(action.outputs)
            if len(loaded) < len(set(action.outputs)):
                continue
            values = tuple([loaded[digest] for digest in action.outputs])
            if key != job.keys[0]:
                memo.remember(job.keys[:1], action)
            self._finish(job, place, values, "cached", 0.0)
            return True
        return False

    def load(self, digests: Sequence[bytes]) -> dict[bytes, Value]:
        """Those values that are in memory or whole in the store."""
        memo = self.memory.memo
        kept = {digest: value for digest, value in memo.values.find(digests).items() if isinstance(value, Value)}
        if len(kept) < len(digests):
            for digest, packed in memo.get_values([digest for digest in digests if digest not in kept]).items():
                value = kept[digest] = Value(digest, packed=packed)
                memo.values.put(digest, value, value.nbytes)
        return kept

    def _put_back(self, job: _Job, place: str) -> None:
        """Another process is at it: look again soon, and do something else meanwhile."""
        with self._ready:
            if self._leave(job):
                self.schedule.delay(job.run.queue, job.task, self._clock() + LEASE_POLL_SECONDS)
            self._free(job.run.queue, place, 0.0)
            self._settle(job.run)
            self._ready.notify()

    def _leave(self, job: _Job) -> bool:
        """Take a job's flight away without a result; others that waited for it go back among the ready tasks.

        Returns whether the job's own run still wanted it.
        """
        self._land(job.flight)
        subscribers, job.flight.subscribers = job.flight.subscribers, []
        for run, task in subscribers:
            run.executing -= 1
            if (run, task) == (job.run, job.task):
                continue
            if run.cancelled:
                self._record(run, task, "cancelled")
            elif task in run.queue.open:
                run.queue.push(task)
            if run is not job.run:
                self._settle(run)
        return (job.run, job.task) in subscribers

    def _run(self, job: _Job, place: str, worker: Worker) -> None:
        run, task, spec = job.run, job.task, job.spec
        id, element = run.tasks.id_of(task), run.tasks.element[task]
        inputs = inputs_of(run, task)
        report = FlightReport(job.flight)
        if report.cancelled():
            raise Cancelled
        for owner, its_task in list(job.flight.subscribers):  # a run that was cancelled meanwhile has left
            owner.tell(NodeEvent(owner.tasks.id_of(its_task), owner.tasks.element[its_task], "running", owner.now, place))
        run.places.add(place)
        request = Request(spec, inputs, id, element, self.home, run.output_folder, lambda: run.resolved(run, task))
        try:
            result = worker.run(request, report)
        finally:  # also what a failed call loaded or lost; before the run goes on, since its next task may be placed by it
            if place != HOST:
                self.schedule.devices[place].resident = dict(worker.resident())
        if place != HOST:
            self.schedule.devices[place].start_seconds = 0.0
        self._usual[spec.id] = max(result.seconds, self._usual.get(spec.id, UNKNOWN_SECONDS) / 2)
        if result.loading:
            self._note_loading(spec, inputs, result.loading)
        if spec.persist:
            self._persist(job, result.values[0])
        if result.seconds >= GROUP_SECONDS:
            self.memory.history.record(
                signature_of(run.tasks, task, self.environment), spec.id, result.seconds, result.peak_bytes
            )
        if not job.keys:
            self._finish(job, place, result.values, "done", result.seconds)
            return
        self._remember(job, place, result.values, result.seconds)

    def _note_loading(self, spec: NodeSpec, inputs: Mapping[str, Any], seconds: float) -> None:
        """Learn how long these weights take to load."""
        for weights in sorted(weights_of(spec, inputs)):
            self.memory.history.record(loading_signature(weights), "load", seconds / len(weights_of(spec, inputs)))

    def _remember(self, job: _Job, place: str, values: tuple[Value, ...], seconds: float) -> None:
        """Write what was worth its time before `done` is told; a large value is written while the lane goes on."""
        memo = self.memory.memo
        for value in values:
            memo.values.put(value.digest, value, value.nbytes)
        action = Action(
            tuple([value.digest for value in values]),
            tuple([output.name for output in job.spec.outputs]),
            seconds,
            job.spec.id,
            time.time(),
        )
        # Below a disk_cache there are no structural keys: what comes after a quick node there is found only by the digest
        # of its output, so that is written however quick it was (else a new process runs it, and imports torch for it).
        is_way_to_others = job.run.tasks.structural[job.task] is None
        if seconds < GROUP_SECONDS and not is_way_to_others:
            memo.remember(job.keys, action)
            self._finish(job, place, values, "done", seconds)
        elif seconds < KEEP_SECONDS and job.lease is None:
            memo.commit_later(_finished(job, values, action, self.environment))
            self._finish(job, place, values, "done", seconds)
        elif sum(value.nbytes for value in values) <= LANE_WRITE_BYTES:
            self._commit(job, values, action)
            self._finish(job, place, values, "done", seconds)
        else:
            memo.remember(job.keys, action)
            lease, job.lease = job.lease, None  # the writer's from here on
            waiting = self._finish(job, place, values, "done", seconds, quiet=True)
            written = _Job(job.run, job.task, job.spec, job.flight, job.keys, lease)
            self._writer.submit(self._write_large, written, values, action, waiting)

    def _commit(self, job: _Job, values: Sequence[Value], action: Action) -> None:
        try:
            self.memory.memo.commit([_finished(job, values, action, self.environment)])
        except StoreUnavailable as error:
            job.run.say(f"nothing more is cached in this run: {error}")

    def _write_large(self, job: _Job, values: Sequence[Value], action: Action, waiting: Sequence[tuple[ActiveRun, int]]) -> None:
        try:
            self._commit(job, values, action)
        except Exception as error:  # the run has its value; it must end, whatever became of the copy on disk
            job.run.say(f"a result of {job.run.tasks.id_of(job.task)} was not kept: {said_of(error)}")
        self._give_up(job)
        with self._ready:
            for run, task in waiting:
                run.writing -= 1
                result = run.results[task]
                run.tell(NodeEvent(result.id, result.element, result.state, run.now, result.device, result.seconds))
                self._settle(run)

    def _persist(self, job: _Job, value: Value) -> None:
        """Write a `disk_cache` node's value to its folder; the node's own limit and place are its inputs."""
        tasks = job.run.tasks
        key = tasks.declared.get(job.task)
        if key is None:
            return
        try:
            folder = self.memory.disk_cache(tasks.constants[job.task])
            folder.put(key, value.packed(), recorded_of(tasks, job.task, self.environment))
        except StoreUnavailable as error:
            job.run.say(f"{tasks.id_of(job.task)}: the entry was not written: {error}")

    def _forget_changed(self, job: _Job, error: InputChanged) -> None:
        """A node wrote into values that others read: they are read again from the store, or lost if they are not there."""
        memo = self.memory.memo
        memo.values.drop_until(0)
        for ref in job.run.tasks.refs[job.task]:
            value = job.run.values[ref.task][ref.output]
            if value.digest in error.digests:
                value.replace(memo.get_value(value.digest), f"its memory was changed by {job.run.tasks.id_of(job.task)}")

    # ---- endings ----

    def _finish(
        self, job: _Job, place: str, values: tuple[Value, ...], state: NodeStateName, seconds: float, quiet: bool = False
    ) -> list[tuple[ActiveRun, int]]:
        """Give the values to all who waited for them; returns these. With `quiet` they are told when it is written."""
        with self._ready:
            self._free(job.run.queue, place, seconds)
            self._land(job.flight)
            subscribers, job.flight.subscribers = job.flight.subscribers, []
            freed = 0
            for run, task in subscribers:
                run.executing -= 1
                mine = run is job.run and task == job.task
                run.values[task] = dict(enumerate(values))
                run.writing += quiet
                self._record(run, task, state if mine else "cached", seconds if mine else 0.0, place, quiet=quiet, values=values)
                freed += len(run.queue.complete(task)) if task in run.queue.open else 0
                self._release(run, task)
                self._settle(run)
            if self._idle and (freed > 1 or (freed and place != HOST) or self._wants_device(subscribers)):
                self._ready.notify_all()
            return subscribers

    @staticmethod
    def _wants_device(subscribers: Iterable[tuple[ActiveRun, int]]) -> bool:
        return any(run.queue.has_ready("") for run, _ in subscribers)

    def _release(self, run: ActiveRun, task: int) -> None:
        """Drop the values that this task was the last to read."""
        for ref in run.tasks.refs[task]:
            run.uses[ref.task] -= 1
            if not run.uses[ref.task] and ref.task not in run.printed:
                run.values.pop(ref.task, None)
        if not run.uses.get(task) and task not in run.printed:
            run.values.pop(task, None)

    def _fail(self, job: _Job, place: str, error: BaseException, seconds: float) -> None:
        kind, message, trace = failure_of(error)
        said = sentence_of(job.run, job.task, place, kind, message)
        error.__traceback__ = None  # frames would keep tensors alive
        self._end(job, place, "failed", seconds, Failure(said, code_of(error, kind, message), trace))

    def _end(self, job: _Job, place: str, state: NodeStateName, seconds: float, failure: Failure | None = None) -> None:
        """A task gave nothing: cancelled or failed. Others that wait for the same work try it themselves."""
        with self._ready:
            self._free(job.run.queue, place, seconds)
            run = job.run
            self._ready.notify_all()
            if not self._leave(job):
                return  # this run was cancelled and has left; those that went on waiting try it themselves
            if run.cancelled:
                state = "cancelled"
            self._record(run, job.task, state, seconds, place, failure)
            self._release(run, job.task)
            for dropped in run.queue.drop_descendants(job.task):
                self._record(
                    run, dropped, "cancelled" if run.cancelled else "skipped", message=f"{run.tasks.id_of(job.task)} {state}"
                )
                self._release(run, dropped)
            self._settle(run)

    def _record(
        self,
        run: ActiveRun,
        task: int,
        state: NodeStateName,
        seconds: float = 0.0,
        place: str = "",
        failure: Failure | None = None,
        *,
        message: str = "",
        quiet: bool = False,
        values: Sequence[Value] = (),
    ) -> None:
        tasks = run.tasks
        id, element = tasks.id_of(task), tasks.element[task]
        said, code, trace = failure or (message, "", "")
        digests = tuple([value.digest.hex() for value in values])
        run.results[task] = NodeResult(
            id, element, tasks.spec_of(task).id, state, seconds, place, run.key_of(task), said, run.notes.pop(task, ""),
            code, trace, digests,
        )  # fmt: skip
        if not quiet:
            run.tell(NodeEvent(id, element, state, run.now, place, seconds, said))

    def _settle(self, run: ActiveRun) -> None:
        """End the run if nothing of it is open, running or being written."""
        if run.state != "running" or run.queue.open or run.executing or run.writing:
            return
        for message in self.memory.damage():
            run.say(message)
        if self.memory.memo.off is not None:
            run.say(f"nothing more is cached in this run: {self.memory.memo.off}")
        states = {result.state for result in run.results.values()}
        run.seconds = run.now
        self.schedule.remove(run.queue)
        self._owners.pop(id(run.queue), None)
        self._trims.update(run.places)
        self._ready.notify_all()
        if time.monotonic() - self._flushed > FLUSH_SECONDS and not self._closing:
            self._flushed = time.monotonic()
            self._writer.submit(self._flush)
        run.end("cancelled" if run.cancelled else "failed" if "failed" in states else "done")

    def _flush(self) -> None:
        """Write what is only counted so far: uses of entries, learned costs."""
        with suppress(StoreUnavailable):
            self.memory.memo.flush()
            self.memory.history.flush()


def _finished(job: _Job, values: Sequence[Value], action: Action, environment: str) -> Finished:
    """The row to write. It also stands under the node's own name, with the parts of its key, for `why`."""
    run, task, tasks = job.run, job.task, job.run.tasks
    name = last_key(tasks.compiled.document.name, tasks.id_of(task), tasks.element[task])
    notes = parts_of(
        tasks, task, environment, lambda above, port: run.values[above][port].digest if above in run.values else None
    )
    return Finished((*job.keys, name), action._replace(notes=notes), tuple([(value.digest, value.packed()) for value in values]))
