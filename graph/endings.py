"""How tasks and runs end: done, cached, failed, cancelled, skipped; who else waited for the same work, and what follows.

The lowest layer of the executor: it has the state that lanes share, under one lock, and calls nothing of the layers above
(`graph.deaths`, `graph.execute`). It runs nothing itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from graph.active import ActiveRun, Failure, Flight, NodeResult, sentence_of
from graph.events import NodeEvent, NodeStateName, TriedEvent
from graph.faults import code_of
from graph.folder import StoreUnavailable
from graph.places import Bounds, Job, Lane
from graph.results import Memory
from graph.schedule import HOST, Schedule
from graph.trials import Ledger
from graph.workers import Value, Worker, failure_of

#: Uses and learned costs are written at the end of a run, at most this often (and when the engine closes).
FLUSH_SECONDS: Final = 5.0


class Endings:
    """What is under way in one engine, and how each part of it ends."""

    def __init__(
        self, schedule: Schedule, lanes: list[Lane], memory: Memory, bounds: Bounds, ledger: Ledger | None,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self.schedule, self.lanes, self.memory = schedule, lanes, memory
        self.bounds, self._ledger, self._clock = bounds, ledger, clock
        self._lock = threading.Lock()
        #: Where idle lanes of devices wait, and those of the host: a lane that is woken for nothing costs more than a quick node.
        self._ready, self._host_ready = threading.Condition(self._lock), threading.Condition(self._lock)
        #: Where lanes wait whose worker did not come up: they would only take wake-ups from others.
        self._away = threading.Condition(self._lock)
        self._idle: set[Lane] = set()
        self._has_disabled = False
        self._flights: dict[bytes, Flight] = {}
        self._unshared: set[Flight] = set()
        self._owners: dict[int, ActiveRun] = {}
        self._trims: set[Worker] = set()
        self._closing = False
        self._flushed = time.monotonic()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="latentgraph-writer")

    def _wake_lanes(self) -> None:
        """Let every idle lane look again; the lock is held."""
        self._ready.notify_all()
        self._host_ready.notify_all()

    # ---- with a result ----

    def _finish(
        self, job: Job, place: str, values: tuple[Value, ...], state: NodeStateName, seconds: float,
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

    def _clear_tries(self, run: ActiveRun, task: int) -> None:
        """A result of the run was written down: what comes next has all its tries."""
        if run.tries:
            run.tries = 0
            run.deaths.clear()
            run.tell(TriedEvent(run.tasks.id_of(task), run.tasks.element[task], 0, "", run.now))

    # ---- without one ----

    def _fail(self, job: Job, place: str, error: BaseException, seconds: float) -> None:
        kind, message, trace = failure_of(error)
        said = sentence_of(job.run, job.task, place, kind, message)
        error.__traceback__ = None  # frames would keep tensors alive
        self._end(job, place, "failed", seconds, Failure(said, code_of(error, kind, message), trace))

    def _end(self, job: Job, place: str, state: NodeStateName, seconds: float, failure: Failure | None = None) -> None:
        """A task gave nothing: cancelled or failed. Others that wait for the same work try it themselves."""
        with self._ready:
            self._free(self._payer(job), place, seconds)
            self._wake_lanes()
            if not self._leave(job):
                return  # this run was cancelled and has left; those that went on waiting try it themselves
            self._give_nothing(job.run, job.task, state, seconds, place, failure)
            self._settle(job.run)

    def _time_out(self, job: Job, place: str, seconds: float) -> None:
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

    def _broken(self, run: ActiveRun, task: int, place: str, error: Exception) -> None:
        run.executing -= 1
        self._free(run, place, 0.0)
        kind, message, trace = failure_of(error)
        said = f"{run.tasks.id_of(task)} could not be started: {kind}: {message}"
        self._record(run, task, "failed", 0.0, place, Failure(said, "node_failed", trace))
        for dropped in run.queue.drop_descendants(task):
            self._record(run, dropped, "skipped", message=f"{run.tasks.id_of(task)} failed")
        self._settle(run)

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

    # ---- the work itself: who waits for it, who pays ----

    def _leave(self, job: Job) -> bool:
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

    def _take_subscribers(self, job: Job) -> list[tuple[ActiveRun, int]]:
        """End a job's flight; who waited for it."""
        self._land(job.flight)
        subscribers, job.flight.subscribers = job.flight.subscribers, []
        for run, _ in subscribers:
            run.executing -= 1
        return subscribers

    def _push_back(self, run: ActiveRun, task: int, place: str) -> None:
        """Put a task that was begun among the ready ones again, unless its run was cancelled meanwhile."""
        if run.cancelled:
            self._give_nothing(run, task, "cancelled", 0.0, place, None)
        elif task in run.queue.open:
            run.tell(NodeEvent(run.tasks.id_of(task), run.tasks.element[task], "waiting", run.now))
            run.queue.push(task)

    def _land(self, flight: Flight) -> None:
        self._close_slot(flight)
        if flight.key:
            if self._flights.get(flight.key) is flight:  # a cancelled one may have been replaced meanwhile
                del self._flights[flight.key]
        else:
            self._unshared.discard(flight)

    def _note_tries(self, flight: Flight) -> None:
        """Write down whom the death of the process that is at this work would be charged to."""
        if self._ledger is not None and flight.slot is not None:
            runs = {run.id: run.tries for run, _ in flight.subscribers}
            run, task = flight.subscribers[0]
            self._ledger.open(flight.slot, list(runs.items()), run.tasks.id_of(task))

    def _close_slot(self, flight: Flight) -> None:
        if self._ledger is not None and flight.slot is not None:
            self._ledger.close_slot(flight.slot)
            flight.slot = None

    def _free(self, run: ActiveRun, place: str, seconds: float) -> None:
        """A lane is free again after so many seconds for this run."""
        self.schedule.finished(run.queue, place, seconds, self._clock())
        if place != HOST:
            run.device_seconds += seconds

    @staticmethod
    def _payer(job: Job) -> ActiveRun:
        """Whom the seconds of a job are charged to: who began it, or, if that has left, the first that still waits for it."""
        runs = [run for run, _ in job.flight.subscribers]
        return runs[0] if runs and job.run not in runs else job.run

    def _release(self, run: ActiveRun, task: int) -> None:
        """Drop the values that this task was the last to read."""
        for ref in run.tasks.refs[task]:
            run.uses[ref.task] -= 1
            if not run.uses[ref.task] and ref.task not in run.printed:
                run.values.pop(ref.task, None)
        if not run.uses.get(task) and task not in run.printed:
            run.values.pop(task, None)

    # ---- what is told ----

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

    def _settle_all(self, subscribers: Iterable[tuple[ActiveRun, int]]) -> None:
        for run in {id(run): run for run, _ in subscribers}.values():
            self._settle(run)

    def _flush(self) -> None:
        """Write what is only counted so far: uses of entries, learned costs."""
        with suppress(StoreUnavailable):
            self.memory.memo.flush()
            self.memory.history.flush()
