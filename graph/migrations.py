"""Older workflow documents become current ones: steps per format version, and renames that nodes declare (`was=`).

All of it is data: any process that has the catalogue migrates, none needs a node's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

#: A raw document of one version becomes one of the next; the step need not set `version`.
Step: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]  # Any: JSON values

#: version -> (next version, step). A released version's step never changes. 1.0 is the first version.
STEPS: Final[Mapping[str, tuple[str, Step]]] = {}


def upgrade(raw: dict[str, Any], steps: Mapping[str, tuple[str, Step]] = STEPS) -> dict[str, Any]:
    """The raw document carried to the newest version that `steps` lead to; the given one is not changed."""
    while raw["version"] in steps:
        version, step = steps[raw["version"]]
        raw = {**step(dict(raw)), "version": version}
    return raw
