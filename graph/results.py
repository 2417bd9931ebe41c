"""What is known of results: found again in memory, in the store or in a `disk_cache` folder, written there, and what they cost.

Knows jobs, and nothing of lanes, locks or runs that wait: `graph.execute` decides when something is looked up or written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from graph.disk_cache import DiskCacheFolder
from graph.folder import StoreUnavailable
from graph.history import History
from graph.leases import Leases
from graph.memo import Action, Finished, Memo
from graph.needs import loading_signature, weights_of
from graph.places import Job
from graph.plan import signature_of
from graph.provenance import recorded_of
from graph.spec import NodeSpec
from graph.why import last_key, parts_of
from graph.workers import InputChanged, Value


class Memory(Protocol):
    """What the executor remembers with: see graph.memo, graph.leases, graph.history, graph.disk_cache."""

    memo: Memo
    leases: Leases
    history: History

    def disk_cache(self, constants: Mapping[str, Any]) -> DiskCacheFolder:
        """The folder that a `disk_cache` node with these inputs writes to. Raises StoreUnavailable."""

    def damage(self) -> list[str]:
        """What was found damaged since the last call, a sentence each."""


class Results:
    """Finds, keeps and counts the results of jobs."""

    def __init__(self, memory: Memory, environment: str) -> None:
        self.memory, self.environment = memory, environment

    def find(self, job: Job, *, again: bool, is_quick: bool) -> tuple[Value, ...] | None:
        """Early cut-off: what the same work gave, remembered by content. `is_quick`: such a result was never written."""
        memo = self.memory.memo
        wanted = job.keys if again else job.keys[-1:]
        if is_quick:
            known = memo.known(job.keys[-1])
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
            if key != job.keys[0]:
                memo.remember(job.keys[:1], action)
            return tuple([loaded[digest] for digest in action.outputs])
        return None

    def load(self, digests: Sequence[bytes]) -> dict[bytes, Value]:
        """Those values that are in memory or whole in the store."""
        memo = self.memory.memo
        kept = {digest: value for digest, value in memo.values.find(digests).items() if isinstance(value, Value)}
        if len(kept) < len(digests):
            for digest, packed in memo.get_values([digest for digest in digests if digest not in kept]).items():
                value = kept[digest] = Value(digest, packed=packed)
                memo.values.put(digest, value, value.nbytes)
        return kept

    def commit(self, job: Job, values: Sequence[Value], action: Action) -> bool:
        """Write a result down; whether it was. The run is told why not."""
        try:
            self.memory.memo.commit([self.finished(job, values, action)])
        except StoreUnavailable as error:
            job.run.say(f"nothing more is cached in this run: {error}")
            return False
        return True

    def persist(self, job: Job, value: Value) -> None:
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

    def forget_changed(self, job: Job, error: InputChanged) -> None:
        """A node wrote into values that others read: they are read again from the store, or lost if they are not there."""
        memo = self.memory.memo
        memo.values.drop_until(0)
        for ref in job.run.tasks.refs[job.task]:
            value = job.run.values[ref.task][ref.output]
            if value.digest in error.digests:
                value.replace(memo.get_value(value.digest), f"its memory was changed by {job.run.tasks.id_of(job.task)}")

    def note_loading(self, spec: NodeSpec, inputs: Mapping[str, Any], seconds: float) -> None:
        """Learn how long these weights take to load."""
        for weights in sorted(weights_of(spec, inputs)):
            self.memory.history.record(loading_signature(weights), "load", seconds / len(weights_of(spec, inputs)))

    def note_seconds(self, job: Job, seconds: float, peak_bytes: int) -> None:
        """Learn what a node like this takes."""
        signature = signature_of(job.run.tasks, job.task, self.environment)
        self.memory.history.record(signature, job.spec.id, seconds, peak_bytes)

    def finished(self, job: Job, values: Sequence[Value], action: Action) -> Finished:
        """The row to write. It also stands under the node's own name, with the parts of its key, for `why`."""
        run, task, tasks = job.run, job.task, job.run.tasks
        name = last_key(tasks.compiled.document.name, tasks.id_of(task), tasks.element[task])
        notes = parts_of(
            tasks, task, self.environment, lambda above, port: run.values[above][port].digest if above in run.values else None
        )
        return Finished(
            (*job.keys, name), action._replace(notes=notes), tuple([(value.digest, value.packed()) for value in values])
        )
