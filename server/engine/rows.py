"""What the nodes of a run that has ended gave, for looking at later: digests, and the small plain values themselves.

The values of most nodes lie in the memo and are found there by digest. What was too quick to be written is told here, if it
is small and plain; what stands above a remembered node was not even looked at, so it is looked up now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from graph.active import ActiveRun, NodeResult
from graph.engine import Handle
from graph.expand import Pending, Tasks, Undrawn
from graph.types import encode
from graph.workers import SMALL_BYTES, is_small
from server.library.value_pictures import described

#: Remembered nodes that are looked up at the end of a run, and elements of a remembered node that get a row each.
MOST_LOOKED_UP: Final = 1000
MOST_ELEMENTS: Final = 1000

Values = dict[str, Any]  # Any: plain JSON, by port


class _Row(NamedTuple):
    """A row and its task; None for a light node, and where one row stands for very many elements."""

    result: NodeResult
    task: int | None


def rows_of(handle: Handle, results: Sequence[NodeResult]) -> list[tuple[NodeResult, Values]]:
    """The rows with the digests of remembered nodes, and the small values of each row by port.

    A mapped node that was remembered as a whole gets a row per element.
    """
    run = handle.run
    rows = [row for result in results for row in _rows_of(run.tasks, result)]
    digests = _digests(handle, run, rows)
    in_memory = handle.small_values([digest for outputs in digests.values() for digest in outputs])
    told: list[tuple[NodeResult, Values]] = []
    for result, task in rows:
        if task is None:
            told.append((result, _light(run.tasks, result)))
            continue
        outputs = digests.get(task, ())
        small = run.small.get(task) or [in_memory.get(digest) for digest in outputs]
        known = tuple([digest.hex() for digest in outputs]) or result.outputs
        told.append((result._replace(outputs=known), _by_port(run.tasks, result.id, small)))
    return told


def _rows_of(tasks: Tasks, result: NodeResult) -> list[_Row]:
    index = tasks.compiled.index.get(result.id)
    if index is None or result.note == "light":
        return [_Row(result, None)]
    made = tasks.produced[index]
    if isinstance(made, int):
        return [_Row(result, made)]
    mine = tasks.unrolled.get(index, [])
    if result.element is not None:
        at = result.element  # tasks of a mapped node lie in the order of their elements
        return [_Row(result, mine[at] if at < len(mine) and tasks.element[mine[at]] == at else None)]
    if result.state != "cached" or len(mine) > MOST_ELEMENTS:
        return [_Row(result, None)]
    return [_Row(result._replace(element=tasks.element[task]), task) for task in mine]


def _digests(handle: Handle, run: ActiveRun, rows: Sequence[_Row]) -> dict[int, Sequence[bytes]]:
    """The outputs of remembered tasks: those that the plan found, and those above them."""
    found: dict[int, Sequence[bytes]] = {}
    above: dict[int, bytes] = {}
    for result, task in rows:
        if task is None or result.state != "cached" or result.outputs:
            continue
        known = run.plan.hits.get(task)
        if known is not None:
            found[task] = known
        elif key := run.key_of(task):
            above[task] = bytes.fromhex(key)
    wanted = dict(islice(above.items(), MOST_LOOKED_UP))
    remembered = handle.outputs_under(list(dict.fromkeys(wanted.values()))) if wanted else {}
    return found | {task: remembered[key] for task, key in wanted.items() if key in remembered}


def _light(tasks: Tasks, result: NodeResult) -> Values:
    """What a node that planning evaluated gave."""
    index = tasks.compiled.index.get(result.id)
    if index is None or index not in tasks.light:
        return {}
    values = {port: _plain(value) for port, value in _ports(tasks, index, tasks.outputs_of(index)).items()}
    return {port: value for port, value in values.items() if value is not None and len(json.dumps(value)) <= SMALL_BYTES}


def _plain(value: object) -> Any:  # Any: plain JSON
    """A plain value or a list of these as it is, a record described; None for what cannot be told."""
    if is_small(value):
        return value
    if isinstance(value, list):
        return value if all(is_small(one) for one in value) else None
    if value is None or isinstance(value, (Pending, Undrawn, int, float, str, dict)):
        return None
    packed = encode(value)
    return None if packed.tensors else described(packed)


def _by_port(tasks: Tasks, id: str, values: Sequence[Any]) -> Values:
    found = _ports(tasks, tasks.compiled.index[id], values)
    return {port: value for port, value in found.items() if value is not None}


def _ports(tasks: Tasks, index: int, values: Sequence[Any]) -> Mapping[str, Any]:
    return dict(zip([output.name for output in tasks.compiled.specs[index].outputs], values, strict=False))
