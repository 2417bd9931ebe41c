"""The server put together: settings, job store, desk, hub, engine, libraries, in the order in which they need each other.

Imports everything that is heavy; `server.serve` loads it in a thread while the page is already served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from graph.catalogue import FILE_NAME
from graph.collector import relax_collector
from server.api.front import Front
from server.api.services import Services
from server.api.session import Keys
from server.api.table import Table, whole_table
from server.configuration import Loaded, load_settings
from server.engine.link import EngineLink
from server.engine.messages import Ended, Hello, Planned, Status, Tried
from server.engine.options import EngineOptions
from server.engine.sources import watch_sources
from server.health import Health
from server.jobs.desk import Desk
from server.jobs.hub import Hub
from server.jobs.orders import Limits
from server.jobs.record import Job
from server.jobs.store import JobStore
from server.jobs.webhooks import Webhooks
from server.library.drafts import Drafts
from server.library.gallery import Gallery
from server.library.model_folders import ModelFolders
from server.library.node_types import NodeTypes
from server.library.pictures import Pictures
from server.library.preferences import Preferences
from server.library.uploads import Uploads
from server.library.values import Values
from server.library.workflows import Workflows
from server.metrics import Metrics
from server.pulse import MARGIN_S, DatabasePulse, EnginePulse
from server.settings import chosen_devices
from server.usable import Given, unknown_limits

_log: Final = logging.getLogger("latentgraph.serve")

DATABASE: Final = "jobs.sqlite"


class Relay:
    """Hears the engine: the node types are read again before the desk gives it work, and what nodes did is counted."""

    #: Set before the engine is started: these need the link, and the link needs its listener.
    desk: Desk
    catalogue: NodeTypes
    pulse: EnginePulse

    def __init__(self, metrics: Metrics, limits: Given) -> None:
        """`limits`: the setting `time_limits_s`, whose names are compared with the node types."""
        self._metrics, self._limits = metrics, limits
        self._limits_are_compared = False
        self._reading: asyncio.Task[None] | None = None

    def on_ready(self, hello: Hello) -> None:
        """An engine is there, and with it the catalogue that it works with."""
        self._reading = asyncio.create_task(self._read())
        self.desk.on_ready(hello)

    async def _read(self) -> None:
        if await self.catalogue.load() and not self._limits_are_compared:
            self._tell_unknown_limits()
        self.pulse.found()  # not before: what was known from the last time may lack a node type that is here now

    def _tell_unknown_limits(self) -> None:
        self._limits_are_compared = True  # once: the engine may be started many times
        for sentence in unknown_limits(self._limits, self.catalogue.specs):
            _log.warning("%s", sentence)

    def on_lost(self, reason: str) -> None:
        """The engine is gone."""
        if self._reading is not None:
            self._reading.cancel()
        self.pulse.lost()
        self.desk.on_lost(reason)

    def on_planned(self, message: Planned) -> None:
        """A job has begun."""
        self.desk.on_planned(message)

    def on_events(self, batch: list[list[Any]]) -> None:  # Any: plain JSON
        """What jobs told."""
        self.desk.on_events(batch)

    def on_ended(self, message: Ended) -> None:
        """A job has ended."""
        self._count(message)
        self.desk.on_ended(message)

    def on_tried(self, message: Tried) -> None:
        """A job's number of tries changed."""
        self.desk.on_tried(message)

    def on_status(self, message: Status) -> None:
        """Places and memory changed; the link keeps it."""
        self.desk.on_status(message)

    def _count(self, ended: Ended) -> None:
        for row in ended.result.get("nodes", ()):
            if row.get("state") == "cached":
                self._metrics.cached()
            elif row.get("state") in ("done", "failed"):
                self._metrics.node(row.get("type", "other"), row.get("seconds", 0.0))


@dataclass
class Assembly:
    """The parts of one server. Made in a thread; started, drained and closed on the event loop."""

    home: Path
    loaded: Loaded
    devices: tuple[str, ...]
    table: Table
    store: JobStore
    services: Services | None = None
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)

    async def start(self, front: Front, keys: Keys, fail: Callable[[BaseException], None]) -> None:
        """Start every part and serve all routes."""
        settings, home = self.loaded.settings, self.home
        metrics, health = Metrics(), Health(home, settings.min_free_bytes)
        services = Services(settings, keys, metrics, health, front.guesses, self.table.bindings)
        relay = Relay(metrics, self.loaded.given()["time_limits_s"])
        services.catalogue = relay.catalogue = NodeTypes(home, packs=settings.packs)
        services.engine = EngineLink(
            self._options(), relay, ping_s=settings.heartbeat_s, ping_deadline_s=settings.heartbeat_lost_s
        )
        services.hub = Hub()
        services.files = Uploads(
            home, most_bytes=settings.max_upload_bytes, quota_bytes=settings.max_uploads_bytes, floor_bytes=health.floor_bytes,
            uptime=lambda: self.store.uptime_s,
        )  # fmt: skip
        pictures = services.pictures = Pictures(home, most_pixels=settings.max_pixels)
        services.outputs = Gallery(home, lambda id: pictures.forget(f"output-{id}"), folder=settings.output_folder)
        services.values = Values(home, pictures)
        services.desk = relay.desk = self._desk(services)
        services.webhooks = Webhooks.of(settings.webhooks, self.store)
        services.hub.connect(services.engine.watch, services.desk, _hears_of_ends(metrics, services.webhooks))
        folders = () if settings.workflows_folder is None else (settings.workflows_folder,)
        services.workflows = Workflows(home, services.catalogue, folders=folders)
        services.drafts, services.preferences = Drafts(home), Preferences(home)
        services.models, services.sources = ModelFolders(home), self.loaded.sources
        self._keep_files(services)
        relay.pulse = EnginePulse(services.engine, lambda: _has_work(services.desk), self._longest_s())
        health.pulses += [relay.pulse, DatabasePulse(home / DATABASE)]
        _gauges(metrics, services)
        await services.catalogue.load()
        await services.desk.start()
        for part in (services.workflows, services.drafts, services.models, services.files, services.webhooks):
            await part.start()
        self.services = services
        front.open(self.table, services)
        relax_collector()
        await services.engine.start()
        await pictures.start()  # looks at every kept thumbnail: nobody waits for that
        if settings.reload_nodes:
            watching = watch_sources(home, settings.packs, services.engine.reload)
            self.tasks.append(asyncio.create_task(watching, name="sources"))
        for task in self.tasks:
            task.add_done_callback(lambda done: _report(done, fail))

    def _options(self) -> EngineOptions:
        settings = self.loaded.settings
        return EngineOptions(
            self.home, settings.output_folder or self.home / "outputs", self.devices, settings.packs,
            time_limits_s=settings.time_limits_s, time_limit_s=settings.time_limit_s, cancel_grace_s=settings.cancel_grace_s,
            worker_silent_s=settings.worker_silent_s,
        )  # fmt: skip

    def _desk(self, services: Services) -> Desk:
        settings = self.loaded.settings
        return Desk(
            self.store, services.catalogue, services.files, services.engine, services.hub,
            limits=Limits(nodes=settings.max_nodes), most_jobs=settings.max_queued_jobs, most_hours=settings.max_queued_s / 3600,
        )  # fmt: skip

    def _keep_files(self, services: Services) -> None:
        services.files.kept_by("a job", services.desk.files_named)
        services.files.kept_by("a saved workflow", services.workflows.files)
        services.files.kept_by("a draft", services.drafts.files)

    def _longest_s(self) -> float:
        settings = self.loaded.settings
        longest_s: float = max(settings.time_limit_s, *settings.time_limits_s.values(), 0.0)
        return longest_s + settings.cancel_grace_s + MARGIN_S

    async def drain(self) -> None:
        """Take nothing new, give running jobs their time, and leave the rest queued."""
        services = self.services
        if services is None:
            return
        services.health.is_draining = True
        services.desk.drain()
        await services.engine.stop(self.loaded.settings.drain_s)
        services.hub.close()

    async def close(self) -> None:
        """End every part; what was accepted is on the disk."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        services = self.services
        if services is None:
            self.store.close()
            return
        await services.webhooks.stop()
        await services.files.close()
        services.outputs.close()
        services.pictures.close()
        await services.desk.close()


def load(home: Path, flags: Mapping[str, Any], loaded: Loaded | None) -> Assembly:  # Any: plain values
    """Everything that reads files and may take a while. Raises LatentgraphErrors with what to do."""
    loaded = loaded or load_settings(home, flags)
    settings = loaded.settings
    devices = chosen_devices(settings.devices, loaded.given()["devices"].where)
    table = whole_table()
    store = JobStore(home / DATABASE, keep_jobs=settings.keep_jobs)
    for sentence in store.told:
        _log.warning("%s", sentence)
    return Assembly(home, loaded, devices, table, store)


def _catalogue_file(home: Path, packs: bool) -> Path:
    return home / (FILE_NAME if packs else f"no-packs-{FILE_NAME}")


def _hears_of_ends(metrics: Metrics, webhooks: Webhooks) -> Callable[[Job], None]:
    """Counts every end, also of jobs that the engine never had."""

    def ended(job: Job) -> None:
        metrics.job(job.state)
        webhooks.job_ended(job)

    return ended


def _has_work(desk: Desk) -> bool:
    facts = desk.queue_facts()
    return facts.queued + facts.running > 0


def _gauges(metrics: Metrics, services: Services) -> None:
    desk = services.desk
    metrics.gauge("queued_jobs", "Jobs that wait.", lambda: desk.queue_facts().queued)
    metrics.gauge("running_jobs", "Jobs under way.", lambda: desk.queue_facts().running)
    metrics.gauge("queued_seconds", "Estimated device-seconds of these.", lambda: desk.queue_facts().seconds)
    metrics.gauge("engine_restarts", "How many engines were started anew.", lambda: services.engine.restarts)


def _report(task: asyncio.Task[Any], fail: Callable[[BaseException], None]) -> None:
    """A task that should go on for ever has ended: by a cancel at the end, or by a mistake, which ends the server."""
    if not task.cancelled() and (error := task.exception()) is not None:
        fail(error)
