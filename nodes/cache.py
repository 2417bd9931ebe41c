"""The node behind which results are kept for months."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from graph.context import Context
from graph.disk_cache import DEFAULT_FOLDER, FOLDER
from graph.errors import Refused
from graph.node import node
from graph.spec import Doc, Range

T = TypeVar("T")


def _resolve(inputs: dict[str, Any]) -> Mapping[str, Any]:  # Any: see graph.node.Resolve
    for port in ("folder", "limit_gb"):
        if port not in inputs:
            raise Refused("its value is not known before the run; give it as a literal", port=port, code="unknown_value")
    folder = inputs["folder"]
    if not FOLDER.fullmatch(folder):
        text = f'"{folder}" is no folder name'
        raise Refused(f"{text}; use 1 to 64 of a-z, 0-9, _ and -, it lies in the data folder", port="folder", code="bad_folder")
    return {}


@node(title="Disk cache", version=1, category="cache", persist=True, place="host", resolve=_resolve)
def disk_cache(
    ctx: Context,
    value: T,
    folder: Annotated[str, Doc("Name of the folder under disk_cache in the data folder")] = DEFAULT_FOLDER,
    limit_gb: Annotated[
        float, Range(0.001, 100_000), Doc("Gigabytes (10^9 bytes) the folder may take; the least used go")
    ] = 50.0,
) -> T:
    """Keep a value in a folder of its own, so that nothing above it runs again; it survives upgrades.

    Storing and finding is the engine's work (`persist`); the node itself hands the value on. Where it is kept and how
    much fits say nothing about the value, so neither enters its key. Two nodes may share a folder; each keeps it within
    its own limit.
    """
    return value
