"""What a `disk_cache` entry was made with, beside its key: recorded when it is put, compared when it is verified.

None of it enters the key, so that an entry survives upgrades; `cache verify` tells which entries are older than what is
installed now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from graph.environment import library_versions
from graph.expand import Tasks
from graph.plan import ancestors_of
from graph.spec import NodeSpec
from graph.types import Plain


def recorded_of(tasks: Tasks, task: int, environment: str) -> dict[str, Plain]:
    """The code digests of the node types that made a task's value and, if one runs on a device, libraries and environment."""
    made_by = {tasks.node[above] for above in ancestors_of(tasks, [task])}
    specs = {spec.id: spec for node in made_by if not (spec := tasks.compiled.specs[node]).persist}
    recorded: dict[str, Plain] = {"code": {id: spec.code for id, spec in sorted(specs.items())}}
    if any(spec.place == "device" for spec in specs.values()):
        recorded |= {"libraries": dict[str, Plain](library_versions()), "environment": environment}
    return recorded


def differences(recorded: Mapping[str, Plain], specs: Mapping[str, NodeSpec], device_classes: Collection[str]) -> list[str]:
    """How what made an entry differs from what is here now, a few words each; nothing is said of what was not recorded.

    `device_classes` are those that this machine gives (see `graph.environment.cpu_class`).
    """
    found = []
    now = library_versions()
    for name, version in _facts(recorded, "libraries"):
        if isinstance(version, str) and now.get(name, version) != version:
            found.append(f"{name} {version}")
    environment = recorded.get("environment")
    device_class = environment.rpartition(";")[2] if isinstance(environment, str) else ""
    if device_class and device_class not in device_classes:
        found.append(f"device {device_class}")
    for id, code in _facts(recorded, "code"):
        spec = specs.get(id)
        if spec is None:
            found.append(f"{id}, which is not installed")
        elif spec.code != code:
            found.append(f"other code of {id}")
    return found


def _facts(recorded: Mapping[str, Plain], kind: str) -> list[tuple[str, Plain]]:
    """Whatever an entry holds there: it may come from anywhere."""
    facts = recorded.get(kind)
    return list(facts.items()) if isinstance(facts, dict) else []
