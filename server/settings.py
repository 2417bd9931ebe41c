"""Where things lie and what computes: the data folder and the devices, from flags, the environment or the machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from graph.errors import LatentgraphError

HOME_VARIABLE: Final = "LATENTGRAPH_HOME"

_DEVICE = re.compile(r"cpu(:\d+)?|cuda:\d+|mps(:0)?")


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


def parse_devices(text: str) -> tuple[str, ...]:
    """The devices named in "cpu:0,cpu:1". Raises WrongUsage for an unknown form, a repetition or a mix that overlaps."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not _DEVICE.fullmatch(name):
            raise WrongUsage(f'--devices got "{name}"; a device is cpu, cpu:0, cuda:0 or mps. Separate several by commas.')
        if names.count(name) > 1:
            raise WrongUsage(f"--devices names {name} twice; number virtual devices: cpu:0,cpu:1.")
    return names


def machine_devices(device_files: Path = Path("/dev")) -> tuple[str, ...]:
    """What `run` uses if nobody says: every NVIDIA GPU if the installed torch can use one, else the CPU.

    Found without importing torch, so that a remembered run stays quick.
    """
    gpus = sorted(int(path.name[6:]) for path in device_files.glob("nvidia[0-9]*") if path.name[6:].isdigit())
    return tuple(f"cuda:{index}" for index in gpus) if gpus and _torch_is_built_for_cuda() else ("cpu",)


def _torch_is_built_for_cuda() -> bool:
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^cuda\b[^=]*= *['\"]", text, re.M) is not None
