"""Carries a plan out: long-lived lanes pull tasks from the schedule under one lock, call workers, and remember results.

One lane per device and a few for host nodes. A lane takes, runs, completes and takes again without a hop to any event
loop; listeners are told at most once per batch. Work that is the same is done once: in this process by the table of
flights, across processes by leases. How a task ends, and what a dead worker means for it, is told in the layers below.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from graph.active import ActiveRun, Flight, FlightReport, inputs_of, keys_of
from graph.deaths import Deaths
from graph.errors import Cancelled
from graph.events import CachedEvent, NodeEvent, RunEvent
from graph.faults import is_device_fault
from graph.folder import StoreUnavailable
from graph.memo import Action
from graph.places import Bounds, Job, Lane
from graph.results import Memory, Results
from graph.schedule import HOST, Schedule
from graph.spec import NodeSpec
from graph.trials import FIRST_WORKER, Ledger
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


class Executor(Deaths):
    """The lanes of one engine."""

    def __init__(
        self, schedule: Schedule, workers: Mapping[str, Worker], hosts: Sequence[Worker], memory: Memory,
        environment: str, home: Path, *, bounds: Bounds | None = None, ledger: Ledger | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`hosts`: the worker of each host lane, which may be the same one."""
        places = [(name, name, worker) for name, worker in workers.items()]
        places += [(f"{HOST}:{at}", HOST, worker) for at, worker in enumerate(hosts)]
        lanes = [
            Lane(name, place, worker, slot, schedule.devices[place].start_seconds if place != HOST else 0.0)
            for slot, (name, place, worker) in enumerate(places, FIRST_WORKER)
        ]
        super().__init__(schedule, lanes, memory, bounds or Bounds(), ledger, clock)
        self.results, self.home = Results(memory, environment), home
        #: Idle host lanes that look soon by themselves whether the one at quick nodes is away.
        self._watching = 0
        #: Host lanes at a node that is quick, by thread, and since when. One lane is enough for quick nodes: two would take
        #: turns at the lock and the interpreter (60 us a node against 27 on two free cores, and an event loop late by 26 ms).
        self._quick: dict[int, float] = {}
        #: Seconds that a node type may take, as seen here: one quick run does not make a type quick, a slow one makes it slow.
        self._usual: dict[str, float] = {}
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

    def _next(self, lane: Lane) -> Job | str | None:
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

    def _join(self, run: ActiveRun, task: int) -> Job | None:
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

    def _job(self, run: ActiveRun, task: int, spec: NodeSpec, flight: Flight, keys: tuple[bytes, ...]) -> Job:
        return Job(run, task, spec, flight, keys, FlightReport(flight, self.bounds.limit_of(spec.id)))

    # ---- one job ----

    def _carry_out(self, job: Job, lane: Lane) -> None:
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

    def _is_elsewhere(self, job: Job, place: str) -> bool:
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

    def _hit(self, job: Job, place: str, again: bool = False) -> bool:
        """Whether the same work is remembered. Then the task is `cached` without running."""
        is_quick = self._usual.get(job.spec.id, UNKNOWN_SECONDS) < GROUP_SECONDS
        values = self.results.find(job, again=again, is_quick=is_quick)
        if values is not None:
            self._finish(job, place, values, "cached", 0.0)
        return values is not None

    def _end_badly(self, job: Job, lane: Lane, error: BaseException, seconds: float) -> None:
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
                self.results.forget_changed(job, error)
            self._fail(job, lane.place, error, seconds)

    def _give_up(self, job: Job) -> None:
        """Let go of a job's lease, if it still has one."""
        lease, job.lease = job.lease, None
        if lease is not None:
            with suppress(StoreUnavailable):  # then it ends with this process, or by its time
                self.memory.leases.release(lease)

    def _worth_a_lease(self, spec: NodeSpec) -> bool:
        return self._usual.get(spec.id, UNKNOWN_SECONDS) >= KEEP_SECONDS

    def _put_back(self, job: Job, place: str) -> None:
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

    def _run(self, job: Job, lane: Lane) -> None:
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
            self.results.note_loading(spec, inputs, result.loading)
        if spec.persist:
            self.results.persist(job, result.values[0])
        if result.seconds >= GROUP_SECONDS:
            self.results.note_seconds(job, result.seconds, result.peak_bytes)
        if not job.keys:
            self._finish(job, place, result.values, "done", result.seconds)
            return
        self._remember(job, place, result.values, result.seconds)

    def _remember(self, job: Job, place: str, values: tuple[Value, ...], seconds: float) -> None:
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
            memo.commit_later(self.results.finished(job, values, action))
            self._finish(job, place, values, "done", seconds)
        elif sum(value.nbytes for value in values) <= LANE_WRITE_BYTES:
            is_kept = self.results.commit(job, values, action)
            self._finish(job, place, values, "done", seconds, is_kept=is_kept)
        else:
            memo.remember(job.keys, action)
            lease, job.lease = job.lease, None  # the writer's from here on
            waiting = self._finish(job, place, values, "done", seconds, quiet=True)
            written = Job(job.run, job.task, job.spec, job.flight, job.keys, job.report, lease)
            self._writer.submit(self._write_large, written, values, action, waiting)

    def _write_large(self, job: Job, values: Sequence[Value], action: Action, waiting: Sequence[tuple[ActiveRun, int]]) -> None:
        is_kept = False
        try:
            is_kept = self.results.commit(job, values, action)
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
