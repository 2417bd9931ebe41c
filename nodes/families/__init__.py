"""Model families: one adapter each. An adapter knows a family's conventions; the denoise loop and the nodes do not.

Adapters import without torch, since planning asks them for defaults and bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from graph.errors import Refused, nearest
from nodes.families.family import Family
from nodes.families.zimage import ZImage

FAMILIES: Final[Mapping[str, Family]] = MappingProxyType({adapter.name: adapter for adapter in (ZImage(),)})


def family(name: str) -> Family:
    """The adapter of this name. Raises `Refused` for an unknown one."""
    if name not in FAMILIES:
        raise Refused(f'model family "{name}" is not known here.{nearest(name, FAMILIES)}', code="unknown_family")
    return FAMILIES[name]


def family_of_pipeline(class_name: str) -> Family:
    """The adapter for a pipeline folder whose model_index.json names this class. Raises `Refused` if there is none."""
    known = {pipeline: adapter for adapter in FAMILIES.values() for pipeline in adapter.pipelines}
    if class_name not in known:
        raise Refused(
            f'the model folder is a "{class_name}", which no model family here can run.{nearest(class_name, known)}',
            code="unknown_family",
        )
    return known[class_name]
