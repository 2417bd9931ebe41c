"""Where things lie and what computes: the data folder and the devices, from flags, the environment or the machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from graph.errors import LatentgraphError

HOME_VARIABLE: Final = "LATENTGRAPH_HOME"
#: Where `serve` listens if nothing else is said.
DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8765
#: The flag of `latentgraph serve` that stands for a setting, by name.
FLAGS: Final = {
    "host": "--host", "port": "--port", "hosts": "--allow-host", "devices": "--devices", "packs": "--no-packs",
    "reload_nodes": "--reload-nodes", "workflows_folder": "--workflows",
}  # fmt: skip

_DEVICE: Final = re.compile(r"(?P<kind>cpu(?=:|$)|cuda(?=:)|mps(?=:0$|$))(:(?P<number>[0-9]{1,4}))?")


class WrongUsage(LatentgraphError):
    """A flag or a variable has a value that cannot be used; exit code 2."""


def unusable_home(home: Path, error: OSError) -> WrongUsage:
    """The error for a data folder that cannot be read or written, and why."""
    reason = error.strerror or error
    return WrongUsage(f"The data folder {home} cannot be used ({reason}); set LATENTGRAPH_HOME or give --home.")


def home_folder(flag: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The data folder: `--home`, else LATENTGRAPH_HOME, else this system's folder for a user's application data."""
    if flag is not None:
        return flag.expanduser().absolute()
    named = environment.get(HOME_VARIABLE, "")
    if named:
        return Path(named).expanduser().absolute()
    return _data_folder(environment) / "latentgraph"


def _data_folder(environment: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def chosen_devices(text: str | None, where: str = "--devices") -> tuple[str, ...]:
    """The devices of `--devices`, or without it the machine's. Raises WrongUsage for what cannot be used here."""
    from nodes.devices import accelerators

    return machine_devices() if text is None else parse_devices(text, accelerators(), where)


def parse_devices(text: str, present: Sequence[str] | None, where: str = "--devices") -> tuple[str, ...]:
    """The devices named in "cpu:0,cpu:1"; `present` names the accelerators of this machine, None: not known yet.

    Raises WrongUsage for an unknown form, a device that is not there, a repetition, or `cpu` beside numbered ones; `where`
    is what it names as the place to mend.
    """
    names: list[str] = []
    for part in text.split(","):
        found = _DEVICE.fullmatch(part.strip())
        if found is None:
            shown = f'{where} got "{part.strip()}"; a device is cpu, cpu:0, cuda:0 or mps'
            raise WrongUsage(f"{shown}. Separate several by commas.")
        kind, number = found["kind"], found["number"]
        name = kind if number is None or kind == "mps" else f"{kind}:{int(number)}"
        if name in names:
            raise WrongUsage(f"{where} names {name} twice; number virtual devices: cpu:0,cpu:1.")
        if kind != "cpu" and present is not None and name not in present:
            there = ", ".join(("cpu", *present))
            raise WrongUsage(f"{where} names {name}, which this machine does not offer; it has {there}. Name one of these.")
        names.append(name)
    if "cpu" in names and any(name.startswith("cpu:") for name in names):
        raise WrongUsage(f"{where} names cpu and parts of it; either name cpu alone or number all: cpu:0,cpu:1.")
    return tuple(names)


def machine_devices() -> tuple[str, ...]:
    """What `run` uses if nobody says: every NVIDIA GPU that torch can use, else the CPU."""
    from nodes.devices import accelerators

    return tuple(name for name in accelerators() if name.startswith("cuda")) or ("cpu",)
