"""What follows when a worker's process dies, does not start, or its device fails: tries, pauses, places that are disabled.

The middle layer of the executor, between `graph.endings` and `graph.execute`, which calls it.
"""

from __future__ import annotations

from graph.active import ActiveRun, Failure, summary_of
from graph.endings import Endings
from graph.events import TriedEvent
from graph.faults import code_of
from graph.places import NEVER, Job, Lane, PlaceStatus, pause_seconds
from graph.workers import StartFailed, WorkerLost, said_of


class Deaths(Endings):
    """The endings that are a process's, and the state of the places."""

    def _open_slot(self, job: Job, lane: Lane) -> None:
        if self._ledger is not None:
            with self._lock:
                if job.flight.subscribers:
                    job.flight.slot = lane.slot
                    self._note_tries(job.flight)

    def _lose(self, job: Job, lane: Lane, error: WorkerLost, seconds: float) -> None:
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

    def _try_in_new_process(self, job: Job, lane: Lane, error: BaseException, seconds: float) -> None:
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

    def _not_started(self, job: Job, lane: Lane, error: StartFailed) -> None:
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
