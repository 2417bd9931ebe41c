"""What an engine process works with: the node types, and what its worker processes set themselves up with.

Nothing here imports torch: what only torch knows of an accelerator is asked of a child process.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from hashlib import sha256
from typing import Final, NamedTuple

from graph.catalogue import load_catalogue
from graph.child import child_environment
from graph.engine import DEFAULT_LIMITS, Library, Limits
from graph.errors import LatentgraphError
from nodes.builtin import MODULES
from nodes.runtime import device_class, memory_budget
from server.engine.options import EngineOptions

#: How long a child may take to load torch and look at the devices.
LOOK_S: Final = 300.0


class Unusable(LatentgraphError):
    """The engine cannot work with these devices."""


class Equipment(NamedTuple):
    """Node types, the "module:function" that worker processes call, the class of the devices, their byte budget."""

    library: Library
    setup: str
    device_class: str
    device_bytes: int
    #: A digest of the catalogue.
    catalogue: str


def equipment_of(options: EngineOptions) -> Equipment:
    """The equipment of an engine with these options. Raises DeclarationError or Unusable, with what to do."""
    if options.library:
        module, _, name = options.library.partition(":")
        made: Equipment = getattr(importlib.import_module(module), name)(options)
        return made
    return builtin(options)


def builtin(options: EngineOptions) -> Equipment:
    """The built-in node types and, unless they are left out, those of installed packs."""
    catalogue = load_catalogue(options.home, MODULES, packs=options.packs)
    digest = sha256(json.dumps(catalogue.to_json()).encode()).hexdigest()
    setup = "nodes.runtime:worker" if options.packs else "nodes.runtime:worker_without_packs"
    kind, budget = devices_facts(options.devices)
    return Equipment(catalogue.registry(), setup, kind, options.device_bytes or budget, digest)


def limits_of(options: EngineOptions, device_bytes: int) -> Limits:
    """The byte budgets."""
    given = {"memo": options.memo_bytes, "ram": options.ram_bytes, "disk_cache": options.disk_cache_bytes}
    return DEFAULT_LIMITS._replace(device=device_bytes, **{name: value for name, value in given.items() if value is not None})


def devices_facts(devices: tuple[str, ...]) -> tuple[str, int]:
    """The class of the devices and the bytes each may hold. Raises Unusable."""
    if not any(device.startswith("cuda") for device in devices):
        return _facts(devices)
    command = [sys.executable, "-P", "-m", "server.engine.equipment", *devices]
    try:
        child = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=child_environment(),
            timeout=LOOK_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        kind, budget = json.loads(child.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise Unusable(
            f"The devices {', '.join(devices)} cannot be looked at; check the driver with `latentgraph doctor`."
        ) from error
    if budget is None:
        raise Unusable(kind)
    return kind, budget


def _facts(devices: tuple[str, ...]) -> tuple[str, int]:
    try:
        return device_class(devices), memory_budget(devices[0], len(devices))
    except ValueError as error:
        raise Unusable(f"{error}.") from error


if __name__ == "__main__":
    try:
        print(json.dumps(_facts(tuple(sys.argv[1:]))))
    except Unusable as unusable:
        print(json.dumps([str(unusable), None]))
