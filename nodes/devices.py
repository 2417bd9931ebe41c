"""Which accelerators there are, found without loading torch."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path


def accelerators(device_files: Path = Path("/dev"), environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The accelerators that torch can use here, by its names: "cuda:0", "cuda:1", ..., "mps".

    Found without importing torch, so that a remembered run stays quick; only where a system has no device files for
    GPUs (Windows, also below Linux) a torch that is built for them is asked.
    """
    found = accelerators_at_once(device_files, environment)
    if found is not None:
        return found
    import torch

    return tuple(f"cuda:{index}" for index in range(torch.cuda.device_count()))


def accelerators_at_once(
    device_files: Path = Path("/dev"), environment: Mapping[str, str] = os.environ
) -> tuple[str, ...] | None:
    """The same; None where torch would have to be asked, which takes seconds."""
    if sys.platform == "darwin":
        return ("mps",) if platform.machine() == "arm64" else ()
    if not _torch_is_built_for_cuda():
        return ()
    if sys.platform == "win32" or (device_files / "dxg").exists():
        return None
    count = sum(path.name[6:].isdigit() for path in device_files.glob("nvidia[0-9]*"))
    return tuple(f"cuda:{index}" for index in range(_visible(count, environment.get("CUDA_VISIBLE_DEVICES"))))


def _visible(count: int, chosen: str | None) -> int:
    """How many of `count` GPUs CUDA_VISIBLE_DEVICES lets through; CUDA stops at the first that is not there."""
    if chosen is None:
        return count
    seen = 0
    for part in chosen.split(","):
        name = part.strip()
        if not (name.startswith(("GPU-", "MIG-")) or (name.isdecimal() and int(name) < count)):
            break
        seen += 1
    return seen if count else 0


def _torch_is_built_for_cuda() -> bool:
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^cuda\b[^=]*= *['\"]", text, re.M) is not None
