"""Places where tasks run: a lane with its worker each, the job it is at, and when one that did not come up is tried again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from graph.active import ActiveRun, Flight, FlightReport
from graph.leases import Lease
from graph.schedule import HOST
from graph.spec import NodeSpec
from graph.workers import Worker

PlaceState = Literal["idle", "busy", "starting", "waiting", "disabled"]

#: After so many deaths at start in a row a place is disabled: whatever is wrong does not go away by itself.
MOST_STARTS: Final = 5
#: Restarts are at most this far apart.
LONGEST_PAUSE_SECONDS: Final = 30.0
NEVER: Final = math.inf


class Bounds(NamedTuple):
    """How often and how long tasks are tried."""

    #: A task whose worker died fails when so many processes in a row died under its run.
    most_tries: int = 1
    #: Seconds by node type id, and for all others.
    time_limits: Mapping[str, float] = {}
    default_time_limit: float = NEVER

    @property
    def most_starts(self) -> int:
        """Deaths at start in a row that disable a place. Who tries a task once has no patience for a start either."""
        return MOST_STARTS if self.most_tries > 1 else 1

    def limit_of(self, type_id: str) -> float:
        """The seconds that a node of this type may run."""
        return self.time_limits.get(type_id, self.default_time_limit)


class PlaceStatus(NamedTuple):
    """What a place does now. `message` says why it waits or is disabled, or how its process died last."""

    name: str
    state: PlaceState
    #: The run and the node it is at; "" if it is idle.
    run: str
    node: str
    resident_bytes: int
    budget_bytes: int
    #: How often its process died.
    restarts: int
    message: str
    #: Seconds since the node under way began or told a step; 0 if there is none.
    progress_age_s: float


@dataclass(eq=False)
class Job:
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


@dataclass(eq=False)
class Lane:
    """A thread of the executor and its worker. Changed by that thread, or under the executor's lock."""

    #: "cuda:0", "host:1".
    name: str
    #: What the scheduler calls it: a device, or "host" for all host lanes.
    place: str
    worker: Worker
    #: Of the ledger.
    slot: int
    #: What the scheduler is told that a start takes.
    start_seconds: float = 0.0
    activity: Literal["idle", "busy", "starting"] = "idle"
    run: str = ""
    node: str = ""
    report: FlightReport | None = None
    restarts: int = 0
    #: Deaths at start in a row.
    failed_starts: int = 0
    #: It takes no task before; NEVER: it is disabled.
    available_at: float = 0.0
    message: str = ""

    @property
    def is_host(self) -> bool:
        """Whether it takes host tasks."""
        return self.place == HOST

    @property
    def is_disabled(self) -> bool:
        """Whether it takes nothing until somebody enables it."""
        return self.available_at == NEVER

    def began(self, run: str, node: str, report: FlightReport) -> None:
        """It is at a task now, beginning with the start of its worker if that is not there."""
        self.activity, self.run, self.node, self.report = "starting", run, node, report

    def ended(self) -> None:
        """It is at nothing now."""
        self.activity, self.run, self.node, self.report = "idle", "", "", None

    def status(self, now: float, budget_bytes: int) -> PlaceStatus:
        """What it does; `now` by the executor's clock."""
        state: PlaceState = "disabled" if self.is_disabled else "waiting" if self.available_at > now else self.activity
        report, resident = self.report, sum(self.worker.resident().values())
        age = report.idle_seconds() if report is not None else 0.0
        return PlaceStatus(self.name, state, self.run, self.node, resident, budget_bytes, self.restarts, self.message, age)


def pause_seconds(failed_starts: int) -> float:
    """How long a place is left alone after so many deaths at start in a row: 0, 1, 2, 4, ... at most 30."""
    return 0.0 if failed_starts < 2 else min(2.0 ** (failed_starts - 2), LONGEST_PAUSE_SECONDS)
