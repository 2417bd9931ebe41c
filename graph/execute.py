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

from graph.active import ActiveRun, Failure, Flight, FlightReport, NodeResult, inputs_of, keys_of, sentence_of, summary_of
from graph.disk_cache import DiskCacheFolder
from graph.errors import Cancelled
from graph.events import CachedEvent, NodeEvent, NodeStateName, RunEvent, TriedEvent
from graph.faults import code_of, is_device_fault
from graph.folder import StoreUnavailable
from graph.history import History
from graph.leases import Lease, Leases
from graph.memo import Action, Finished, Memo
from graph.needs import loading_signature, weights_of
from graph.places import NEVER, Bounds, Lane, PlaceStatus, pause_seconds
from graph.plan import signature_of
from graph.provenance import recorded_of
from graph.schedule import HOST, Schedule
from graph.spec import NodeSpec
from graph.trials import FIRST_WORKER, Ledger
from graph.why import last_key, parts_of
from graph.workers import InputChanged, Request, StartFailed, Value, Worker, WorkerLost, failure_of, said_of

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
    #: Heard while it runs.
    report: FlightReport
    #: Held until what the job gave is written down, so that other processes find it or wait.
    lease: Lease | None = None


class Executor:
    """The lanes of one engine."""

    def __init__(
        self, schedule: Schedule, workers: Mapping[str, Worker], hosts: Sequence[Worker], memory: Memory,
        environment: str, home: Path, *, bounds: Bounds | None = None, ledger: Ledger | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`hosts`: the worker of each host lane, which may be the same one."""
        self.schedule, self.memory = schedule, memory
        self.environment, self.home = environment, home
        self.bounds, self._ledger = bounds or Bounds(), ledger
        self._clock = clock
        self._lock = threading.Lock()
        #: Where idle lanes of devices wait, and those of the host: a lane that is woken for nothing costs more than a quick node.
        self._ready, self._host_ready = threading.Condition(self._lock), threading.Condition(self._lock)
        #: Where lanes wait whose worker did not come up: they would only take wake-ups from others.
        self._away = threading.Condition(self._lock)
        self._has_disabled = False
        self._flights: dict[bytes, Flight] = {}
        self._unshared: set[Flight] = set()
        self._owners: dict[int, ActiveRun] = {}
        self._trims: set[Worker] = set()
        self._idle: set[Lane] = set()
        #: Idle host lanes that look soon by themselves whether the one at quick nodes is away.
        self._watching = 0
        #: Host lanes at a node that is quick, by thread, and since when. One lane is enough for quick nodes: two would take
        #: turns at the lock and the interpreter (60 us a node against 27 on two free cores, and an event loop late by 26 ms).
        self._quick: dict[int, float] = {}
        self._closing = False
        #: Seconds that a node type may take, as seen here: one quick run does not make a type quick, a slow one makes it slow.
        self._usual: dict[str, float] = {}
        self._flushed = time.monotonic()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="latentgraph-writer")
        places = [(name, name, worker) for name, worker in workers.items()]
        places += [(f"{HOST}:{at}", HOST, worker) for at, worker in enumerate(hosts)]
        self.lanes = [
            Lane(name, place, worker, slot, schedule.devices[place].start_seconds if place != HOST else 0.0)
            for slot, (name, place, worker) in enumerate(places, FIRST_WORKER)
        ]
        self._threads = [
            threading.Thread(target=self._lane, args=(lane,), name=f"latentgraph-{lane.name}", daemon=True) for lane in self.lanes
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
        run.pass_on = run.pass_on or self._heard.put
        run.tell(RunEvent("running", 0.0))
        self._tell_planned(run)
        with self._ready:
            self._owners[id(run.queue)] = run
            self.schedule.add(run.queue)
            self._settle(run)
            if run.queue.has_ready(""):
                self._ready.notify_all()
            if run.queue.has_ready(HOST) and not (self._quick and self._watching):
                self._host_ready.notify_all()

    def _wake_lanes(self) -> None:
        """Let every idle lane look again; the lock is held."""
        self._ready.notify_all()
        self._host_ready.notify_all()

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

    def prioritise(self, run: ActiveRun, priority: int) -> None:
        """Give a run another priority; what it has begun goes on."""
        with self._ready:
            self.schedule.prioritise(run.queue, priority)
            self._wake_lanes()

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
                self._note_tries(flight)
        return alone

    def close(self) -> None:
        """Cancel everything and end the lanes that are idle; a lane inside a long operation is a daemon thread."""
        with self._lock:
            runs = list(self._owners.values())
        for run in runs:
            self.cancel(run)
        with self._ready:
            self._closing = True
            self._wake_lanes()
            self._away.notify_all()
        self._heard.put(None)
        if self._started:
            for thread in self._threads:
                thread.join(timeout=2)
        self._writer.shutdown(wait=True)

    # ---- lanes ----

    def _lane(self, lane: Lane) -> None:
        while self._step(lane):
            pass

    def _step(self, lane: Lane) -> bool:
        """Wait for one thing to do and do it; False to end. A call of its own, so that an idle lane keeps no run alive."""
        with self._ready:
            job = self._next(lane)
        if job is None:
            return False
        if isinstance(job, str):
            lane.worker.trim()
        else:
            self._carry_out(job, lane)
        return True

    def _next(self, lane: Lane) -> _Job | str | None:
        """The next job of a lane, "trim", or None to end. Waits; the lock is held."""
        me, place = threading.get_ident(), lane.place
        while not self._closing:
            if lane.worker in self._trims and place != HOST:
                self._trims.discard(lane.worker)
                return "trim"
            now = self._clock()
            self._quick.pop(me, None)
            if lane.available_at > now:
                self._away.wait(None if lane.is_disabled else lane.available_at - now)
                continue
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
                    if self._idle and assignment.run.has_ready(""):
                        self._ready.notify()
                    if self._idle and not is_quick and (len(self.schedule.runs) > 1 or assignment.run.has_ready(HOST)):
                        self._wake_another()
                    return job
                self._free(run, place, 0.0)
                continue
            if lane.worker in self._trims:  # of the host only now: it holds no model, and quick runs end by the hundred
                self._trims.discard(lane.worker)
                return "trim"
            self._rest(lane, now, is_left_to_another)
        return None

    def _wake_another(self) -> None:
        """Let a lane of each kind look for what is ready; the lock is held."""
        self._ready.notify()
        self._host_ready.notify()

    def _rest(self, lane: Lane, now: float, watches: bool) -> None:
        """Wait until there may be something for a lane; one that `watches` looks soon by itself. The lock is held."""
        until = self.schedule.next_time(lane.place, now)
        left = None if until is None else max(until - now, 0.0)
        if watches:
            left = AWAY_SECONDS if left is None else min(left, AWAY_SECONDS)
        self._idle.add(lane)
        self._watching += watches
        (self._host_ready if lane.is_host else self._ready).wait(left)
        self._watching -= watches
        self._idle.discard(lane)

    def _join(self, run: ActiveRun, task: int) -> _Job | None:
        """Make a job of a task, or let it wait for the same work under way elsewhere."""
        tasks = run.tasks
        spec = tasks.spec_of(task)
        run.executing += 1
        if not spec.cache or spec.persist:
            flight = Flight(b"", run, task)
            self._unshared.add(flight)
            return self._job(run, task, spec, flight, ())
        found = keys_of(run, task)
        content = found[-1]
        if tasks.structural[task] is None:
            run.content_keys[task] = content
        under_way = self._flights.get(content)
        if under_way is not None and not under_way.cancelled:
            under_way.subscribers.append((run, task))
            self._note_tries(under_way)
            return None
        self._flights[content] = flight = Flight(content, run, task)
        return self._job(run, task, spec, flight, found)

    def _job(self, run: ActiveRun, task: int, spec: NodeSpec, flight: Flight, keys: tuple[bytes, ...]) -> _Job:
        return _Job(run, task, spec, flight, keys, FlightReport(flight, self.bounds.limit_of(spec.id)))

    def _note_tries(self, flight: Flight) -> None:
        """Write down whom the death of the process that is at this work would be charged to."""
        if self._ledger is not None and flight.slot is not None:
            runs = {run.id: run.tries for run, _ in flight.subscribers}
            run, task = flight.subscribers[0]
            self._ledger.open(flight.slot, list(runs.items()), run.tasks.id_of(task))

    def _broken(self, run: ActiveRun, task: int, place: str, error: Exception) -> None:
        run.executing -= 1
        self._free(run, place, 0.0)
        kind, message, trace = failure_of(error)
        said = f"{run.tasks.id_of(task)} could not be started: {kind}: {message}"
        self._record(run, task, "failed", 0.0, place, Failure(said, "node_failed", trace))
        for dropped in run.queue.drop_descendants(task):
            self._record(run, dropped, "skipped", message=f"{run.tasks.id_of(task)} failed")
        self._settle(run)

    def _land(self, flight: Flight) -> None:
        self._close_slot(flight)
        if flight.key:
            if self._flights.get(flight.key) is flight:  # a cancelled one may have been replaced meanwhile
                del self._flights[flight.key]
        else:
            self._unshared.discard(flight)

    def _free(self, run: ActiveRun, place: str, seconds: float) -> None:
        """A lane is free again after so many seconds for this run."""
        self.schedule.finished(run.queue, place, seconds, self._clock())
        if place != HOST:
            run.device_seconds += seconds

    @staticmethod
    def _payer(job: _Job) -> ActiveRun:
        """Whom the seconds of a job are charged to: who began it, or, if that has left, the first that still waits for it."""
        runs = [run for run, _ in job.flight.subscribers]
        return runs[0] if runs and job.run not in runs else job.run

    # ---- one job ----

    def _carry_out(self, job: _Job, lane: Lane) -> None:
        started = time.perf_counter()
        try:
            if not (job.keys and self._is_elsewhere(job, lane.place)):
                self._run(job, lane)
        except StartFailed as error:
            self._not_started(job, lane, error)
        except BaseException as error:  # whatever a node raises is the node's result; the lane lives on
            self._end_badly(job, lane, error, time.perf_counter() - started)
        finally:
            self._give_up(job)

    def _is_elsewhere(self, job: _Job, place: str) -> bool:
        """Whether a job is dealt with: it is remembered, or another process is at it."""
        if self._hit(job, place):
            return True
        if not self._worth_a_lease(job.spec):
            return False
        try:
            job.lease = self.memory.leases.acquire(job.flight.key)
        except StoreUnavailable as error:
            job.run.say(f"work is not shared with other processes in this run: {error}")
            return False
        if job.lease is None:
            self._put_back(job, place)
            return True
        return self._hit(job, place, again=True)

    def _end_badly(self, job: _Job, lane: Lane, error: BaseException, seconds: float) -> None:
        """A call gave nothing: what follows from it."""
        if isinstance(error, WorkerLost):
            self.died(lane, error)
        if isinstance(error, (Cancelled, WorkerLost)):
            if job.report.timed_out and not job.flight.cancelled:
                self._time_out(job, lane.place, seconds)
            elif isinstance(error, WorkerLost):
                self._lose(job, lane, error, seconds)
            elif job.flight.cancelled:
                self._end(job, lane.place, "cancelled", seconds)
            else:  # its own doing: a run that nobody cancelled must not end as done without its result
                self._fail(job, lane.place, error, seconds)
        elif is_device_fault(*failure_of(error)[:2]) and lane.worker.replace():
            self._try_in_new_process(job, lane, error, seconds)
        else:
            if isinstance(error, InputChanged):
                self._forget_changed(job, error)
            self._fail(job, lane.place, error, seconds)

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
            wanted = self._leave(job)
            if wanted and job.run.cancelled:
                self._give_nothing(job.run, job.task, "cancelled", 0.0, place, None)
            elif wanted:
                self.schedule.delay(job.run.queue, job.task, self._clock() + LEASE_POLL_SECONDS)
            self._free(job.run, place, 0.0)
            self._settle(job.run)
            self._wake_another()

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

    def _run(self, job: _Job, lane: Lane) -> None:
        run, task, spec, place = job.run, job.task, job.spec, lane.place
        id, element = run.tasks.id_of(task), run.tasks.element[task]
        inputs = inputs_of(run, task)
        report = job.report
        if report.cancelled():
            raise Cancelled
        for owner, its_task in list(job.flight.subscribers):  # a run that was cancelled meanwhile has left
            owner.tell(NodeEvent(owner.tasks.id_of(its_task), owner.tasks.element[its_task], "running", owner.now, place))
        run.workers.add(lane.worker)
        request = Request(spec, inputs, id, element, self.home, run.output_folder, lambda: run.resolved(run, task))
        lane.began(run.id, id, report)
        try:
            lane.worker.start(report.cancelled)
            lane.activity, lane.failed_starts = "busy", 0
            self._open_slot(job, lane)
            report.begin()
            result = lane.worker.run(request, report)
        finally:  # also what a failed call loaded or lost; before the run goes on, since its next task may be placed by it
            if place != HOST:
                self.schedule.devices[place].resident = dict(lane.worker.resident())
            lane.ended()
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
        # Nor what processes died under: that it has come further is only true once it is on the disk.
        was_tried = any(run.tries for run, _ in list(job.flight.subscribers))
        if seconds < GROUP_SECONDS and not is_way_to_others and not was_tried:
            memo.remember(job.keys, action)
            self._finish(job, place, values, "done", seconds)
        elif seconds < KEEP_SECONDS and job.lease is None and not was_tried:
            memo.commit_later(_finished(job, values, action, self.environment))
            self._finish(job, place, values, "done", seconds)
        elif sum(value.nbytes for value in values) <= LANE_WRITE_BYTES:
            is_kept = self._commit(job, values, action)
            self._finish(job, place, values, "done", seconds, is_kept=is_kept)
        else:
            memo.remember(job.keys, action)
            lease, job.lease = job.lease, None  # the writer's from here on
            waiting = self._finish(job, place, values, "done", seconds, quiet=True)
            written = _Job(job.run, job.task, job.spec, job.flight, job.keys, job.report, lease)
            self._writer.submit(self._write_large, written, values, action, waiting)

    def _commit(self, job: _Job, values: Sequence[Value], action: Action) -> bool:
        """Write a result down; whether it was."""
        try:
            self.memory.memo.commit([_finished(job, values, action, self.environment)])
        except StoreUnavailable as error:
            job.run.say(f"nothing more is cached in this run: {error}")
            return False
        return True

    def _write_large(self, job: _Job, values: Sequence[Value], action: Action, waiting: Sequence[tuple[ActiveRun, int]]) -> None:
        is_kept = False
        try:
            is_kept = self._commit(job, values, action)
        except Exception as error:  # the run has its value; it must end, whatever became of the copy on disk
            job.run.say(f"a result of {job.run.tasks.id_of(job.task)} was not kept: {said_of(error)}")
        self._give_up(job)
        with self._ready:
            for run, task in waiting:
                run.writing -= 1
                if is_kept:
                    self._clear_tries(run, task)
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
        self, job: _Job, place: str, values: tuple[Value, ...], state: NodeStateName, seconds: float,
        quiet: bool = False, is_kept: bool = False,
    ) -> list[tuple[ActiveRun, int]]:  # fmt: skip
        """Give the values to all who waited for them; returns these. With `quiet` they are told when it is written.

        `is_kept`: it was written down, so whatever comes, the run has come further.
        """
        with self._ready:
            self._free(self._payer(job), place, seconds)
            self._land(job.flight)
            subscribers, job.flight.subscribers = job.flight.subscribers, []
            freed = 0
            for run, task in subscribers:
                run.executing -= 1
                mine = run is job.run and task == job.task
                if is_kept:
                    self._clear_tries(run, task)
                run.values[task] = dict(enumerate(values))
                run.writing += quiet
                self._record(run, task, state if mine else "cached", seconds if mine else 0.0, place, quiet=quiet, values=values)
                freed += len(run.queue.complete(task)) if task in run.queue.open else 0
                self._release(run, task)
                self._settle(run)
            if self._idle and self._wants_device(subscribers):
                self._ready.notify_all()
            if self._idle and (freed > 1 or (freed and place != HOST)):
                self._host_ready.notify_all()
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
            self._free(self._payer(job), place, seconds)
            self._wake_lanes()
            if not self._leave(job):
                return  # this run was cancelled and has left; those that went on waiting try it themselves
            self._give_nothing(job.run, job.task, state, seconds, place, failure)
            self._settle(job.run)

    def _give_nothing(
        self, run: ActiveRun, task: int, state: NodeStateName, seconds: float, place: str, failure: Failure | None
    ) -> None:
        """Record a task that is cancelled or has failed, and drop what needs it."""
        if run.cancelled:
            state = "cancelled"
        self._record(run, task, state, seconds, place, failure)
        self._release(run, task)
        for dropped in run.queue.drop_descendants(task):
            self._record(run, dropped, "cancelled" if run.cancelled else "skipped", message=f"{run.tasks.id_of(task)} {state}")
            self._release(run, dropped)

    def _time_out(self, job: _Job, place: str, seconds: float) -> None:
        """A node ran for too long. So it would under the others that wait for it: it fails for all."""
        type_id, limit = job.spec.id, job.report.limit_s
        with self._ready:
            self._free(self._payer(job), place, seconds)
            self._wake_lanes()
            subscribers = self._take_subscribers(job)
            for run, task in subscribers:
                said = (
                    f"{run.tasks.id_of(task)} ({type_id}) was stopped: it ran for longer than {limit:g} s, the time limit of "
                    f'its type. If it needs longer, write "{type_id}" = SECONDS under [time_limits_s] in settings.toml.'
                )
                self._give_nothing(run, task, "failed", seconds, place, Failure(said, "timed_out", ""))
            self._settle_all(subscribers)

    def _take_subscribers(self, job: _Job) -> list[tuple[ActiveRun, int]]:
        """End a job's flight; who waited for it."""
        self._land(job.flight)
        subscribers, job.flight.subscribers = job.flight.subscribers, []
        for run, _ in subscribers:
            run.executing -= 1
        return subscribers

    def _settle_all(self, subscribers: Iterable[tuple[ActiveRun, int]]) -> None:
        for run in {id(run): run for run, _ in subscribers}.values():
            self._settle(run)

    # ---- deaths of workers ----

    def _open_slot(self, job: _Job, lane: Lane) -> None:
        if self._ledger is not None:
            with self._lock:
                if job.flight.subscribers:
                    job.flight.slot = lane.slot
                    self._note_tries(job.flight)

    def _close_slot(self, flight: Flight) -> None:
        if self._ledger is not None and flight.slot is not None:
            self._ledger.close_slot(flight.slot)
            flight.slot = None

    def _lose(self, job: _Job, lane: Lane, error: WorkerLost, seconds: float) -> None:
        """The worker process died under a job: every run that shares it is charged one try, no other is."""
        with self._ready:
            self._free(self._payer(job), lane.place, seconds)
            self._wake_lanes()
            was_wanted = not job.flight.cancelled
            subscribers = self._take_subscribers(job)
            for run in {id(run): run for run, _ in subscribers if was_wanted}.values():
                run.tries += 1
                run.deaths.append(f"{error.how} on {lane.name}")
            for run, task in subscribers:
                if not was_wanted or run.cancelled:
                    self._give_nothing(run, task, "cancelled", seconds, lane.place, None)
                else:
                    self._try_again(run, task, lane, error, seconds, job.spec.id)
            self._settle_all(subscribers)

    def _try_again(self, run: ActiveRun, task: int, lane: Lane, error: WorkerLost, seconds: float, type_id: str) -> None:
        """Put a task whose worker died among the ready ones, unless that happened too often."""
        id, element = run.tasks.id_of(task), run.tasks.element[task]
        run.tell(TriedEvent(id, element, run.tries, run.deaths[-1], run.now))
        if run.tries < self.bounds.most_tries:
            self._push_back(run, task, lane.place)
            return
        said = f"{id} ({type_id}) failed: WorkerLost: {error}\n  inputs: {summary_of(run, task)}"
        if self.bounds.most_tries > 1:
            said = (
                f"{id} ({type_id}) failed: {run.tries} worker processes in a row died under this run ({'; '.join(run.deaths)}), so "
                f"it is not tried again. Look for what ends the process: memory, or native code.\n  inputs: {summary_of(run, task)}"
            )
        self._give_nothing(run, task, "failed", seconds, lane.place, Failure(said, code_of(error, "", ""), ""))

    def _clear_tries(self, run: ActiveRun, task: int) -> None:
        """A result of the run was written down: what comes next has all its tries."""
        if run.tries:
            run.tries = 0
            run.deaths.clear()
            run.tell(TriedEvent(run.tasks.id_of(task), run.tasks.element[task], 0, "", run.now))

    def _try_in_new_process(self, job: _Job, lane: Lane, error: BaseException, seconds: float) -> None:
        """The device failed for good in that process, which is gone: the task is tried once more in another."""
        run, task = job.run, job.task
        with self._lock:
            self._count_death(lane, WorkerLost(said_of(error)[:200]))
        if task in run.faulted:
            self._fail(job, lane.place, error, seconds)
            return
        run.faulted.add(task)
        error.__traceback__ = None
        said = f"{run.tasks.id_of(task)} is tried again: the device {lane.name} failed ({said_of(error)[:200]}) and has a new process"
        run.say(said)
        with self._ready:
            self._free(run, lane.place, seconds)
            if self._leave(job):
                self._push_back(run, task, lane.place)
            self._settle(run)
            self._wake_lanes()

    def _push_back(self, run: ActiveRun, task: int, place: str) -> None:
        """Put a task that was begun among the ready ones again, unless its run was cancelled meanwhile."""
        if run.cancelled:
            self._give_nothing(run, task, "cancelled", 0.0, place, None)
        elif task in run.queue.open:
            run.tell(NodeEvent(run.tasks.id_of(task), run.tasks.element[task], "waiting", run.now))
            run.queue.push(task)

    def _not_started(self, job: _Job, lane: Lane, error: StartFailed) -> None:
        """The worker did not come up: the task, which is not to blame, goes back, and the place is left alone for a while."""
        with self._ready:
            self._count_death(lane, error)
            lane.failed_starts += 1
            lane.available_at = self._clock() + pause_seconds(lane.failed_starts)
            if lane.failed_starts >= self.bounds.most_starts:
                lane.available_at, self._has_disabled = NEVER, True
            if not lane.is_host:
                self.schedule.devices[lane.place].available_at = lane.available_at
            self._free(job.run, lane.place, 0.0)
            run, task = job.run, job.task
            if self._leave(job):
                self._push_back(run, task, lane.place)
            for one in [run, *self._owners.values()] if lane.is_disabled else [run]:
                self._settle(one)
            self._wake_lanes()

    def _count_death(self, lane: Lane, error: WorkerLost) -> None:
        """A worker's process is gone, and what it held with it; the lock is held."""
        lane.restarts += 1
        lane.message = str(error)
        if not lane.is_host:
            device = self.schedule.devices[lane.place]
            device.resident, device.start_seconds = {}, lane.start_seconds

    def died(self, lane: Lane, error: WorkerLost) -> None:
        """A worker's process is gone; also called when it had nothing to do."""
        with self._lock:
            self._count_death(lane, error)

    def _fail_stranded(self, run: ActiveRun) -> None:
        """Fail the ready tasks of a run that no place takes any more; the lock is held."""
        disabled = [lane for lane in self.lanes if lane.is_disabled]
        without_host = all(lane.is_disabled for lane in self.lanes if lane.is_host)
        for task in self.schedule.stranded(run.queue, without_host=without_host):
            needs = run.queue.needs.get(task)
            place = HOST if needs is None else needs.device
            reasons = [f"{lane.name} is disabled: {lane.message}" for lane in disabled if place in (None, lane.place)]
            said = f"{run.tasks.id_of(task)} ({run.tasks.spec_of(task).id}) cannot run: {'; '.join(reasons)}"
            self._give_nothing(run, task, "failed", 0.0, "", Failure(said, "worker_lost", ""))

    def enable(self, name: str) -> None:
        """Let a disabled place take tasks again. Raises ValueError if there is no such place."""
        with self._ready:
            lanes = [lane for lane in self.lanes if lane.name == name]
            if not lanes:
                raise ValueError(f"there is no place {name}; the places are {', '.join(lane.name for lane in self.lanes)}")
            lanes[0].failed_starts, lanes[0].available_at, lanes[0].message = 0, 0.0, ""
            self._has_disabled = any(lane.is_disabled for lane in self.lanes)
            if not lanes[0].is_host:
                self.schedule.devices[name].available_at = 0.0
            self._away.notify_all()

    def released(self, device: str) -> None:
        """A device's worker has ended because it was told to: it holds nothing, and must start again."""
        with self._lock:
            (lane,) = [lane for lane in self.lanes if lane.name == device]
            self.schedule.devices[device].resident = {}
            self.schedule.devices[device].start_seconds = lane.start_seconds

    def places(self) -> list[PlaceStatus]:
        """What every place does now."""
        with self._lock:
            now, devices = self._clock(), self.schedule.devices
            return [lane.status(now, 0 if lane.is_host else devices[lane.place].budget_bytes) for lane in self.lanes]

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
        if values and run.id:
            run.keep_small(task, values)
        run.results[task] = NodeResult(
            id, element, tasks.spec_of(task).id, state, seconds, place, run.key_of(task), said, run.notes.pop(task, ""),
            code, trace, digests,
        )  # fmt: skip
        if not quiet:
            run.tell(NodeEvent(id, element, state, run.now, place, seconds, said))

    def _settle(self, run: ActiveRun) -> None:
        """End the run if nothing of it is open, running or being written."""
        if self._has_disabled and run.state == "running":
            self._fail_stranded(run)
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
        self._trims.update(run.workers)
        if any(lane.worker in run.workers for lane in self._idle):
            self._wake_lanes()
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
