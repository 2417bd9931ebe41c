"""A job inside the engine, from the moment it was submitted until its end was told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from graph.active import NodeResult, values_of
from graph.engine import Handle
from graph.events import RunEvent, TriedEvent
from server.engine.failures import INTERNAL, job_problem
from server.engine.log import Log
from server.engine.messages import Ended, Submit, Tried
from server.engine.outbox import Told
from server.engine.outcome import Teller, output_json
from server.engine.rows import rows_of


class Work:
    """One job. Whoever ends it first ends it: a cancel while it is being planned, a refusal, its run."""

    def __init__(self, submit: Submit, number: int, teller: Teller, log: Log, on_over: Callable[[Work], object]) -> None:
        #: How many were submitted before it, and itself.
        self.number = number
        self.submit, self._teller, self._log, self._on_over = submit, teller, log, on_over
        #: Set before the run exists, these hold for it.
        self.priority, self.watched = submit.priority, False
        self.lock = threading.Lock()
        self.handle: Handle | None = None
        self.is_over = False
        #: It was stopped because the engine ends, which is no end of the job: nothing is told.
        self.is_left = False

    def end(self, state: str, result: dict[str, Any]) -> Ended | None:  # Any: plain JSON
        """The end of a job that has no run; None if it has ended already."""
        with self.lock:
            if self.is_over:
                return None
            self.is_over = True
        self._on_over(self)
        return Ended(self.submit.job, state, result)

    def collect(self) -> Told:
        """What its run has told since the last call, and its end. Called by one thread."""
        handle, job = self.handle, self.submit.job
        if handle is None or self.is_over:
            return Told(job, [], [], None)
        has_ended = handle.state != "running"
        events, tried = [], []
        for event in handle.drain():
            if isinstance(event, TriedEvent):
                tried.append(Tried(job, event.tries, self._teller.text(event.message)))
            elif not isinstance(event, RunEvent):  # its states are the job's, which have messages of their own
                events.append(self._teller.event(event))
        ended = None
        if has_ended and not (self.is_left and handle.state == "cancelled"):
            ended = self.end(*self._outcome(handle))
        return Told(job, events, tried, ended)

    def _outcome(self, handle: Handle) -> tuple[str, dict[str, Any]]:  # Any: plain JSON
        try:
            return handle.state, self._result(handle)
        except Exception as error:  # a mistake of ours; the job must end for the server all the same
            self._log.mistake(error, self.submit.job)
            return "failed", {"problem": job_problem("internal", INTERNAL)}

    def _result(self, handle: Handle) -> dict[str, Any]:  # Any: plain JSON
        run, nodes, say = handle.run, handle.nodes(), self._teller.text
        self._log_failures(nodes)
        found = {
            "seconds": run.seconds,
            "device_seconds": run.device_seconds,
            "nodes": [self._teller.node(*row) for row in self._rows(handle, nodes)],
            "outputs": {name: output_json(value) for name, value in values_of(run).items()},
            "absent": {name: say(reason) for name, reason in run.plan.absent.items()},
            "messages": [say(message) for message in run.messages],
        }
        return found | {"problem": self._teller.failure(nodes)} if handle.state == "failed" else found

    def _rows(self, handle: Handle, nodes: list[NodeResult]) -> Sequence[tuple[NodeResult, dict[str, Any]]]:  # Any: plain JSON
        try:
            return rows_of(handle, nodes)
        except Exception as error:  # what is only for looking at must not fail the job
            self._log.mistake(error, self.submit.job)
            return [(node, {}) for node in nodes]

    def _log_failures(self, nodes: list[NodeResult]) -> None:
        for node in nodes:
            if node.state == "failed":  # its sentence quotes what the node was given: that is for the job's owner
                said = f"{node.type} failed: {node.code or 'node_failed'}. GET /v1/jobs/{self.submit.job} says more."
                self._log.write("warning", said, job=self.submit.job, node=node.id, trace=node.trace)
