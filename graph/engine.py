"""The engine's face: load a document, plan it, start it, ask why. Used by the command line and by the server alike."""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar

from graph.active import ActiveRun, NodeResult, RunResult, outputs_of
from graph.blob import digest_of
from graph.compile import Compiled, compile_document, draw_seeds
from graph.disk_cache import DEFAULT_FOLDER, FOLDER, DiskCacheFolder
from graph.document import document_to_json, read_document
from graph.environment import cpu_class, environment_of, host_memory_bytes, library_versions, threads_per_device
from graph.errors import Problem, WorkflowError, nearest
from graph.events import Event
from graph.execute import Executor
from graph.expand import Expander, Functions, Tasks
from graph.folder import StoreUnavailable, unavailable
from graph.forecast import forecast
from graph.history import Estimate, History
from graph.leases import Leases
from graph.lights import LightCaller
from graph.memo import Memo
from graph.needs import loading_signature, needs_of, queue_of
from graph.places import NEVER, Bounds, PlaceStatus
from graph.plan import Plan, describe, resolve, roots_of, signature_of
from graph.processes import CANCEL_GRACE_SECONDS, HEARTBEAT_SECONDS, Courier, ProcessWorker, Spool
from graph.schedule import HOST, Schedule
from graph.spec import NodeSpec
from graph.trials import Ledger
from graph.types import encode
from graph.why import Reason, explain
from graph.workers import PlainRuntime, Runtime, ThreadWorker, Value, Worker

WorkerKind = Literal["auto", "thread", "process"]
P = TypeVar("P", bound=ProcessWorker)


#: What starting a worker process is assumed to take (importing the model libraries: measured 4 to 6 s).
PROCESS_START_SECONDS: Final = 5.0


class Limits(NamedTuple):
    """Byte budgets: the memo on disk, live values in RAM, a `disk_cache` folder whose node sets none, and each device's weights.

    `device` None: four fifths of the machine's memory, shared by the devices.
    """

    memo: int = 20 * 2**30
    ram: int = 2 * 2**30
    disk_cache: int = 50 * 2**30
    device: int | None = None


DEFAULT_LIMITS: Final = Limits()


class Library(Functions, Protocol):
    """A registry: functions, wire types and specs by id."""

    specs: Mapping[str, NodeSpec]


class Memories:
    """Everything that outlives a run, under one home folder."""

    def __init__(self, home: Path, limits: Limits) -> None:
        self.home, self._limits = home, limits
        self.memo = Memo(home / "memo", limits.memo, limits.ram)
        self.leases = Leases(home / "memo")
        self.history = History(self.memo.table)
        self._folders: dict[tuple[str, int], DiskCacheFolder] = {}

    def disk_cache(self, constants: Mapping[str, Any]) -> DiskCacheFolder:
        """The folder of a `disk_cache` node with these inputs: `folder` under home/disk_cache, at most `limit_gb` (10^9 bytes).

        Raises StoreUnavailable if it cannot be made or its name is none.
        """
        name, limit_gb = constants.get("folder", DEFAULT_FOLDER), constants.get("limit_gb")
        path = self.home / "disk_cache"
        if type(name) is not str or not FOLDER.fullmatch(name):  # a path would lead out of the data folder
            raise unavailable(path, ValueError(f"{name!r} is no folder name (1 to 64 of a-z, 0-9, _ and -)"))
        limit = int(limit_gb * 1e9) if limit_gb is not None else self._limits.disk_cache
        folder = self._folders.get((name, limit))
        if folder is None:
            folder = self._folders[name, limit] = DiskCacheFolder(path / name, limit)
        return folder

    def damage(self) -> list[str]:
        """What was found damaged since the last call, a sentence each."""
        found: list[str] = []
        store, table = self.memo.store, self.memo.table
        while store.damaged:
            damage = store.damaged.pop(0)
            found.append(f"a damaged cache entry was set aside and is computed again ({damage.digest[:12]}: {damage.reason})")
        if table.damaged:
            table.damaged = 0
            found.append("damaged rows of the cache were removed and are computed again")
        for folder in self._folders.values():
            while folder.damaged:
                bad = folder.damaged.pop(0)
                found.append(f"a damaged disk_cache entry is computed again ({bad.path}: {bad.reason})")
        return found

    def close(self) -> None:
        """Write what is waiting and let go of the files."""
        self.history.flush()
        self.memo.close()
        self.leases.close()


class Remembered:
    """What planning asks: actions of the memo, values in RAM or on disk."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self.find = memo.find

    def has_values(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those that are here."""
        live = set(self._memo.values.find(digests))
        return (
            live | self._memo.has_values([digest for digest in digests if digest not in live])
            if len(live) < len(digests)
            else live
        )


class Handle:
    """A started run."""

    def __init__(self, engine: Engine, run: ActiveRun) -> None:
        self._engine, self._run = engine, run

    @property
    def state(self) -> str:
        """The run's state now."""
        return self._run.state

    def cancel(self) -> None:
        """End the run: nothing new starts, what runs stops at its next step."""
        self._engine.executor.cancel(self._run)

    def prioritise(self, priority: int) -> None:
        """Give the run another priority: what of it has not begun is taken in its new order."""
        self._engine.executor.prioritise(self._run, priority)

    def watch_previews(self, wanted: bool = True) -> None:
        """Whether previews are made."""
        self._run.wants_previews = wanted

    def wait(self, timeout: float | None = None, on_events: Callable[[list[Event]], None] | None = None) -> RunResult | None:
        """Wait for the end, handing events to `on_events` in this thread; None if `timeout` seconds passed first."""
        run = self._run
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            while not run.events and run.state == "running":
                left = 3600.0 if until is None else until - time.monotonic()
                if left <= 0:
                    return None
                run.wait(left)
            ended = run.state != "running"
            events = run.drain()
            if on_events is not None and events:
                on_events(events)
            if ended and not run.events:
                return self._engine.result_of(run)

    async def stream(self) -> AsyncIterator[list[Event]]:
        """Batches of events until the run ends; the loop is told at most once per batch. One consumer per run."""
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        self._run.listener = partial(loop.call_soon_threadsafe, arrived.set)
        try:
            while True:
                ended = self._run.state != "running"
                events = self._run.drain()
                if events:
                    yield events
                elif ended:
                    return
                else:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(arrived.wait(), 0.5)
                    arrived.clear()
        finally:
            self._run.listener = None

    def drain(self) -> list[Event]:
        """The events since the last call; waits for none."""
        return self._run.drain()

    @property
    def run(self) -> ActiveRun:
        """What the executor knows of the run: for looking at, not for changing."""
        return self._run

    def nodes(self) -> list[NodeResult]:
        """How the nodes of a run that has ended did, without making its outputs live."""
        return self._engine.nodes_of(self._run)

    def result(self) -> RunResult:
        """The result of a run that has ended."""
        return self._engine.result_of(self._run)

    def outputs_under(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, ...]]:
        """The digests of what is remembered under keys of nodes, in port order."""
        return {key: action.outputs for key, action in self._engine.memories.memo.find(keys).items()}

    def small_values(self, digests: Sequence[bytes]) -> dict[bytes, int | float | str | bool]:
        """Those of these values that are small and plain (see `Value.small`) and in RAM now."""
        found = self._engine.memories.memo.values.find(digests)
        return {
            digest: small for digest, value in found.items() if isinstance(value, Value) and (small := value.small()) is not None
        }


class _Loaded(NamedTuple):
    compiled: Compiled
    plans: dict[Any, Tasks]


class Engine:
    """Plans and runs workflows on a set of devices, remembering results under `home`.

    `runtime` makes a worker's runtime (how functions are called, the model pool) for a device name and a thread count;
    `setup` is the same for worker processes, as "module:function" (see `graph.worker`). `workers`: "thread" runs
    devices in this process, "process" gives each a child, "auto" uses processes for two devices or more (if there is a
    `setup`). `device_class` is what decides the bits of results; it must be given unless all devices are CPUs.

    For a server: `host_workers` gives so many host lanes a worker process each; `ledger` is where tries are noted
    (`graph.trials`); a task whose worker died is tried until `most_tries` processes in a row died under its run. A node
    may run for `time_limits[type id]` or `default_time_limit` seconds, then it is told to stop, as if nobody wanted it;
    a call that goes on `cancel_grace_s` after that, and a process that is silent for `heartbeat_s`, are ended.
    """

    def __init__(
        self, library: Library, home: Path, *, devices: Sequence[str] = ("cpu",), workers: WorkerKind = "auto",
        runtime: Callable[[str, int], Runtime] = PlainRuntime, setup: str | None = None, limits: Limits = DEFAULT_LIMITS,
        device_class: str | None = None, host_lanes: int = 2, host_workers: int = 0, ledger: Path | None = None,
        most_tries: int = 1, time_limits: Mapping[str, float] | None = None, default_time_limit: float = NEVER,
        cancel_grace_s: float = CANCEL_GRACE_SECONDS, heartbeat_s: float = HEARTBEAT_SECONDS,
        clock: Callable[[], float] = time.perf_counter, lane_clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        _make_home(home)
        self.library, self.home, self.devices = library, home, tuple(devices)
        self.memories = Memories(home, limits)
        threads = threads_per_device(len(devices))
        self.environment = environment_of(device_class or _cpu_class(devices))
        budget = limits.device or host_memory_bytes() * 4 // 5 // len(devices)
        schedule = Schedule(dict.fromkeys(devices, budget))
        self.ledger = Ledger(ledger) if ledger is not None else None
        self._spool: Spool | None = None
        are_processes = setup is not None and (workers == "process" or (workers == "auto" and len(devices) > 1))
        if setup is None and (workers == "process" or host_workers):
            raise ValueError("worker processes need `setup`, the name of what sets them up; give it, or workers='thread'")

        def process(kind: type[P], name: str, place: str, threads: int, budget: int) -> P:
            assert setup is not None
            self._spool = self._spool or Spool.under(home / "spool")
            courier = Courier(self._spool, self.memories.memo.store)
            return kind(name, threads, budget, setup, home, courier, place, heartbeat_s, cancel_grace_s)

        #: Under a server the code of packs is called in other processes only, also while planning.
        self._lights = process(LightCaller, "packs", HOST, 1, 0) if host_workers else None
        self.expander = Expander(library, home, self.environment, self._lights)
        self.workers: dict[str, Worker] = {}
        for device in devices:
            if are_processes:
                self.workers[device] = process(ProcessWorker, device, device, threads, budget)
                schedule.devices[device].start_seconds = PROCESS_START_SECONDS
            else:
                self.workers[device] = ThreadWorker(device, library, _once(partial(runtime, device, threads)), clock)
        here = ThreadWorker("cpu", library, _once(partial(runtime, "host", 1)), clock)
        host_bytes = host_memory_bytes() * 4 // 5
        self.hosts: list[Worker] = [process(ProcessWorker, f"{HOST}:{at}", HOST, 1, host_bytes) for at in range(host_workers)]
        self.hosts = self.hosts or [here] * host_lanes
        self.executor = Executor(
            schedule,
            self.workers,
            self.hosts,
            self.memories,
            self.environment,
            home,
            bounds=Bounds(most_tries, dict(time_limits or {}), default_time_limit),
            ledger=self.ledger,
            clock=lane_clock,
        )
        for lane in self.executor.lanes:
            if isinstance(lane.worker, ProcessWorker):
                lane.worker.on_idle_death = partial(self.executor.died, lane)
                lane.worker.slot = self.ledger.slot(lane.slot) if self.ledger is not None else None
        self._lookup = Remembered(self.memories.memo)
        self._loaded: OrderedDict[bytes, _Loaded] = OrderedDict()
        self._lock = threading.Lock()

    # ---- documents ----

    def load(self, text: str | bytes, *, file: str | None = None) -> Compiled:
        """Read, validate and compile a document; the same bytes again cost one hash. Raises WorkflowError."""
        content = text.encode() if isinstance(text, str) else text
        digest = sha256(content).digest()
        with self._lock:
            known = self._loaded.get(digest)
            if known is not None:
                self._loaded.move_to_end(digest)
                return known.compiled
        compiled = compile_document(read_document(content, file=file), self.library.specs, file=file)
        with self._lock:
            self._loaded[digest] = _Loaded(compiled, {})
            while len(self._loaded) > 8:
                self._loaded.popitem(last=False)
        return compiled

    def draw_seeds(self, compiled: Compiled) -> dict[str, int]:
        """See `graph.compile.draw_seeds`."""
        return draw_seeds(compiled)

    # ---- planning ----

    def plan(
        self, compiled: Compiled, *, targets: Sequence[str] | None = None, seeds: Mapping[str, int] | None = None,
        run_id: str = "", tries: int = 0,
    ) -> Plan:  # fmt: skip
        """What a run would do. Without `seeds` random seeds stay undrawn and their nodes are said to run.

        Evaluates light nodes and reads file headers; runs nothing. Raises WorkflowError with all problems. With `run_id`
        the ledger says meanwhile under which run this process dies, if it does.
        """
        if self.ledger is not None and run_id:
            with self.ledger.planning(run_id, tries):
                return self._plan(compiled, targets, seeds)
        return self._plan(compiled, targets, seeds)

    def _plan(self, compiled: Compiled, targets: Sequence[str] | None, seeds: Mapping[str, int] | None) -> Plan:
        given = self._seeds(compiled, seeds or {})
        tasks = self.expander.expand(compiled, given) if self._must_expand(compiled) else self._kept(compiled)
        roots = tasks.roots.get(None) if targets is None else None
        if roots is None:
            roots = roots_of(tasks, targets)
            if targets is None:
                tasks.roots[None] = roots
        found = resolve(tasks, roots, self._lookup, self._in_disk_cache(tasks))
        plan = Plan(tasks, roots, found.run, found.hits, found.above, given, dict(compiled.absent))
        return plan

    def described(self, plan: Plan) -> Plan:
        """The same plan with `nodes` and the estimates filled in, for showing."""
        estimate = partial(self._estimate, plan.tasks)
        describe(plan, estimate)
        queue = queue_of(plan, needs_of(plan.tasks, plan.run, estimate), priority=0, client="", now=0.0)
        found = forecast(queue, self.executor.schedule.devices, estimate, self._loading_seconds, host_lanes=len(self.hosts))
        if found is not None:
            plan.seconds, plan.busy_seconds, plan.peak_bytes = found
        return plan

    def _loading_seconds(self, weights: str) -> float:
        known = self.memories.history.estimate(loading_signature(weights), "load")
        return known.seconds if known is not None else 0.0

    def why(self, compiled: Compiled, node: str, *, seeds: Mapping[str, int] | None = None) -> list[Reason]:
        """Why a node would run now, or not. Raises WorkflowError for an unknown node."""
        plan = self.plan(compiled, targets=[node], seeds=seeds)
        return explain(plan, node, self.environment, self.memories.memo)

    def _must_expand(self, compiled: Compiled) -> bool:
        return bool(compiled.random) or any(
            spec.light or spec.resolves for spec in {id(spec): spec for spec in compiled.specs}.values()
        )

    def _kept(self, compiled: Compiled) -> Tasks:
        """The tasks of a document without light nodes, seeds or planning hooks: they are the same each time."""
        with self._lock:
            loaded = next((entry for entry in self._loaded.values() if entry.compiled is compiled), None)
            if loaded is not None and "tasks" in loaded.plans:
                return loaded.plans["tasks"]
        tasks = self.expander.expand(compiled, {})
        if loaded is not None:
            loaded.plans["tasks"] = tasks
        return tasks

    def _seeds(self, compiled: Compiled, seeds: Mapping[str, int]) -> dict[tuple[int, str], int]:
        places = {f"{compiled.ids[node]}.{port}": (node, port) for node, port, _ in compiled.random}
        unknown = [name for name in seeds if name not in places]
        if unknown:
            raise WorkflowError(
                [Problem("unknown_seed", f'seed "{name}" has no random port.{nearest(name, places)}') for name in unknown]
            )
        return {places[name]: seed for name, seed in seeds.items()}

    def _in_disk_cache(self, tasks: Tasks) -> Callable[[int, bytes], bytes | None]:
        def find(task: int, key: bytes) -> bytes | None:
            try:
                return self.memories.disk_cache(tasks.constants[task]).digest(key)
            except StoreUnavailable:  # told when the node's value cannot be written either
                return None

        return find

    def _estimate(self, tasks: Tasks, task: int) -> Estimate | None:
        return self.memories.history.estimate(signature_of(tasks, task, self.environment), tasks.spec_of(task).id)

    # ---- running ----

    def start(
        self, plan: Plan, *, output_folder: Path = Path("outputs"), priority: int = 0, client: str = "", listener: Callable[[], object] | None = None,
        run_id: str = "", tries: int = 0, sequence: int = 0, is_quick_listener: bool = False,
    ) -> Handle:  # fmt: skip
        """Start a planned run. Every seed must be drawn. `listener` is called (from a thread for that) once per batch of events.

        `is_quick_listener`: it waits for nothing, calls nothing of the engine and never raises. So whoever tells the event
        calls it, maybe with a lock of the engine held, which saves waking a thread.
        `run_id` is the id of the server's job: it names the run in the ledger and in `places`, and its outputs are named by it,
        so that a job that is tried again publishes once; `tries`: how often in a row a process died under it before.
        `sequence` is its place in its client's order, for who plans several at once; without it, that of being started.
        """
        undrawn = [plan.tasks.compiled.ids[node] for node in sorted(plan.tasks.undrawn)]
        if undrawn:
            raise ValueError(f"the seeds of {', '.join(undrawn)} are not drawn; plan with seeds=engine.draw_seeds(compiled)")
        values = self._materialise(plan)
        needs = needs_of(plan.tasks, plan.run, lambda task: self._estimate(plan.tasks, task))
        self._refuse_too_big(plan, needs)
        queue = queue_of(plan, needs, priority=priority, client=client, now=time.perf_counter())
        queue.sequence = sequence
        run = ActiveRun(plan, queue, values, output_folder, self._resolved, run_id, tries)
        run.listener = listener
        run.pass_on = _call if is_quick_listener else None
        self.executor.start(run)
        return Handle(self, run)

    def run(
        self,
        compiled: Compiled,
        *,
        output_folder: Path = Path("outputs"),
        targets: Sequence[str] | None = None,
        seeds: Mapping[str, int] | None = None,
    ) -> RunResult:
        """Plan, start and wait: the whole way in one call."""
        drawn = self.draw_seeds(compiled) | dict(seeds or {})
        result = self.start(self.plan(compiled, targets=targets, seeds=drawn), output_folder=output_folder).wait()
        assert result is not None
        return result

    def places(self) -> list[PlaceStatus]:
        """What every device and every host lane does now. Cheap, and for any thread."""
        return self.executor.places()

    def enable(self, place: str) -> None:
        """Let a place that was disabled take tasks again. Raises ValueError if there is no such place."""
        self.executor.enable(place)

    def release(self, device: str | None = None) -> dict[str, int]:
        """Give back what devices hold that have nothing to do (all, or this one), and values in RAM that nobody uses.

        Bytes of weights by device, and of values under "ram". A device that is at a node is left out.
        """
        freed: dict[str, int] = {}
        for name, worker in self.workers.items():
            held = sum(worker.resident().values())
            if device in (None, name) and isinstance(worker, ProcessWorker) and worker.release():
                self.executor.released(name)
                freed[name] = held
        return freed | {"ram": self.memories.memo.values.drop_until(0)}

    def holders(self, weights: Collection[str]) -> list[str]:
        """Devices that hold one of these weights (identities), as each told when its last call ended."""
        return [name for name, worker in self.workers.items() if not worker.resident().keys().isdisjoint(weights)]

    def _materialise(self, plan: Plan) -> dict[int, dict[int, Value]]:
        """Fetch the remembered values that the run reads or prints; a damaged one makes its task run after all."""
        tasks, lost = plan.tasks, set[bytes]()
        while True:
            wanted = [printed for printed in plan.roots.printed if printed[0] in plan.hits]
            if plan.run:
                read = {(ref.task, ref.output) for task in plan.run for ref in tasks.refs[task] if ref.task in plan.hits}
                wanted.extend(read.difference(wanted))
            values: dict[int, dict[int, Value]] = {}
            before = len(lost)
            digests = [plan.hits[task][port] for task, port in wanted]
            loaded = self.executor.results.load(digests)
            for (task, port), digest in zip(wanted, digests, strict=True):
                value = loaded.get(digest) or self._from_disk_cache(tasks, task, digest)
                if value is None:
                    lost.add(digest)
                elif task in values:
                    values[task][port] = value
                else:
                    values[task] = {port: value}
            if len(lost) == before:
                return values
            found = resolve(tasks, plan.roots, self._lookup, self._in_disk_cache(tasks), frozenset(lost))
            plan.run, plan.hits, plan.skipped = found.run, found.hits, found.above

    def _from_disk_cache(self, tasks: Tasks, task: int, digest: bytes) -> Value | None:
        declared = tasks.declared.get(task)
        entry = self.memories.disk_cache(tasks.constants[task]).get(declared) if declared is not None else None
        return Value(digest, packed=entry.packed) if entry is not None and entry.digest == digest else None

    def _refuse_too_big(self, plan: Plan, needs: Mapping[int, Any]) -> None:
        problems = []
        for task, need in needs.items():
            reason = self.executor.schedule.too_big(need)
            if reason is not None:
                id = plan.tasks.id_of(task)
                problems.append(Problem("too_big", f"{id} cannot run: {reason}", id))
        if problems:
            raise WorkflowError(problems)

    def result_of(self, run: ActiveRun) -> RunResult:
        """The result of a run that has ended, its outputs as live values."""
        tasks, plan = run.tasks, run.plan
        seeds = {f"{tasks.compiled.ids[node]}.{port}": seed for (node, port), seed in plan.seeds.items()}
        outputs = outputs_of(run, self.library.wire_types)
        nodes = self.nodes_of(run)
        return RunResult(run.state, nodes, outputs, dict(plan.absent), seeds, run.seconds, list(run.messages), run.device_seconds)

    def nodes_of(self, run: ActiveRun) -> list[NodeResult]:
        """How a run that has ended did: one line per node that was wanted, or per element."""
        tasks, plan = run.tasks, run.plan
        nodes: list[NodeResult] = []
        above = set(plan.skipped)
        for index, spec in enumerate(tasks.compiled.specs):
            id = tasks.compiled.ids[index]
            made = tasks.produced[index]
            if isinstance(made, int) and made in above and made not in run.results:  # the quick way of the common case
                kept = tasks.remembered.get(made)
                if kept is None:
                    kept = NodeResult(id, None, spec.id, "cached", 0.0, "", run.key_of(made))
                    if tasks.structural[made] is not None:  # else its key is by content, and another one next time
                        tasks.remembered[made] = kept
                nodes.append(kept)
                continue
            mine = tasks.tasks_of(index)
            if index in tasks.light and not mine:
                nodes.append(NodeResult(id, None, spec.id, "done", 0.0, "", "", note="light"))
            results = [run.results[task] for task in mine if task in run.results]
            remembered = [task for task in mine if task in above and task not in run.results]
            if remembered and not results:
                nodes.append(NodeResult(id, None, spec.id, "cached", 0.0, "", run.key_of(remembered[0])))
            else:
                nodes.extend(
                    NodeResult(id, tasks.element[task], spec.id, "cached", 0.0, "", run.key_of(task)) for task in remembered
                )
                nodes.extend(results)
        nodes.extend(NodeResult(id, None, "", "skipped", 0.0, "", "", reason) for id, reason in tasks.compiled.skipped.items())
        return nodes

    def _resolved(self, run: ActiveRun, task: int) -> Mapping[str, Any]:
        """The record of a run for an effect that stores it: enough to run it again and to say what made it."""
        tasks = run.tasks
        nodes: dict[str, Any] = {}
        stack, seen = [task], set[int]()
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            stack.extend(ref.task for ref in tasks.refs[at])
            nodes[_name(tasks, at)] = {
                "type": tasks.spec_of(at).id,
                "key": run.key_of(at),
                "inputs": {name: _plain(value) for name, value in tasks.constants[at].items()},
                "links": _links(tasks, at),
                "note": run.notes.get(at, "") or (run.results[at].note if at in run.results else ""),
            }
        return ({"job": run.id} if run.id else {}) | {
            "format": "latentgraph/run-1",
            "workflow": document_to_json(tasks.compiled.document),
            "seeds": {f"{tasks.compiled.ids[node]}.{port}": seed for (node, port), seed in run.plan.seeds.items()},
            "node": tasks.id_of(task),
            "element": tasks.element[task],
            "versions": library_versions(),
            "environment": self.environment,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "nodes": dict(sorted(nodes.items())),
        }

    def close(self) -> None:
        """Cancel what runs, end the workers, write what waits."""
        self.executor.close()
        for worker in self._all_workers():
            worker.close()
        self.memories.close()
        if self._spool is not None:
            self._spool.close()
        if self.ledger is not None:
            self.ledger.clear()

    def blame(self, run_id: str) -> None:
        """Before leaving at once because of one plan: the ledger blames that run only, not others that are planned now."""
        if self.ledger is not None:
            self.ledger.blame(run_id)

    def abandon(self) -> None:
        """Before leaving at once: kill the worker processes and remove temporary files. Nothing is waited for.

        Leases of a process that is gone are taken over by others.
        """
        if self.ledger is not None:
            self.ledger.clear()  # no run is to blame
        for worker in self._all_workers():
            worker.kill()
        if self._spool is not None:
            self._spool.close()

    def _all_workers(self) -> list[Worker]:
        return [*self.workers.values(), *self.hosts, *([self._lights] if self._lights is not None else [])]

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _call(listener: Callable[[], object]) -> None:
    listener()


def _make_home(home: Path) -> None:
    """Make the data folder. Raises OSError where it cannot be one; on a full or read-only disk runs remember in RAM only."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
            raise


def _cpu_class(devices: Sequence[str]) -> str:
    others = [device for device in devices if device != "cpu" and not device.startswith("cpu:")]
    if others:
        raise ValueError(f"{', '.join(others)} is no CPU: give the engine its device_class, which is part of every key")
    return cpu_class(len(devices))


def _once(make: Callable[[], Runtime]) -> Callable[[], Runtime]:
    """Make a runtime once, however many lanes ask first."""
    lock, made = threading.Lock(), list[Runtime]()

    def get() -> Runtime:
        with lock:
            if not made:
                made.append(make())
            return made[0]

    return get


def _name(tasks: Tasks, task: int) -> str:
    element = tasks.element[task]
    return tasks.id_of(task) if element is None else f"{tasks.id_of(task)}[{element}]"


def _links(tasks: Tasks, task: int) -> dict[str, list[str]]:
    links: dict[str, list[str]] = {}
    for ref in tasks.refs[task]:
        links.setdefault(ref.port, []).append(_name(tasks, ref.task))
    return links


def _plain(value: Any) -> Any:
    """A constant of a task as plain JSON for the record: recipes as their fields, other wire values as their digest."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if hasattr(type(value), "__wire__"):
        packed = encode(value, key=True)
        return {"digest": digest_of(packed).hex()} if packed.tensors else packed.fields
    return value
