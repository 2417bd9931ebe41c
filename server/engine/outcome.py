"""What the engine tells of a job, as plain JSON for messages: its plan, its events, its result.

Nothing here is decoded: a picture that is only told about stays bytes on the disk. Texts of nodes are told without the
folders of this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from graph.active import NodeResult
from graph.blob import digest_of
from graph.errors import Problem, WorkflowError
from graph.events import Event, kind_of
from graph.plan import Plan
from graph.types import encode
from graph.workers import Value
from server.engine.failures import job_problem
from server.values import packed_json, value_json

#: A text of a node is cut to this length.
LONGEST_TEXT: Final = 8000
#: A named output of more characters of JSON is only described.
LARGEST_OUTPUT: Final = 256 * 1024

#: An absolute path of two parts or more. Not what follows "http:/", and not "a/b".
_PATH: Final = re.compile(r"(?<![\w./~-])(?:/[^\s/'\":,;()<>]+){2,}/?")
_PLAIN: Final = frozenset(("int", "float", "text", "bool", "none"))


class Teller:
    """Says things about jobs as anybody may read them: `folders` are named by their short names, other paths by their last part."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {str(path): name for name, path in folders.items() if len(path.parts) > 1}

    def text(self, said: str) -> str:
        """A text without folders of this machine, not too long."""
        if "/" in said:
            for folder, name in self._folders.items():
                said = said.replace(folder, name)
            said = _PATH.sub(lambda found: ".../" + found[0].rstrip("/").rpartition("/")[2], said)
        return said if len(said) <= LONGEST_TEXT else said[: LONGEST_TEXT - 4] + " ..."

    def problems(self, error: WorkflowError) -> list[Problem]:
        """The problems of a workflow."""
        return [Problem(one.code, self.text(one.message), one.node, one.port) for one in error.problems]

    def event(self, event: Event) -> dict[str, Any]:  # Any: plain JSON
        """An event of a run."""
        found = {"event": kind_of(event), **event._asdict()}
        if "message" in found:
            found["message"] = self.text(found["message"])
        return found

    def node(self, result: NodeResult, values: Mapping[str, Any] | None = None) -> dict[str, Any]:  # Any: plain JSON
        """How one task ended, without what is for logs only; `values`: those of its outputs that are told with it."""
        found = result._asdict() | ({"values": dict(values)} if values else {})
        del found["trace"], found["key"]
        return found | {"error": self.text(result.error), "note": self.text(result.note)}

    def failure(self, nodes: Sequence[NodeResult]) -> dict[str, Any] | None:  # Any: plain JSON
        """The problem of a failed run: the first node that failed."""
        for one in nodes:
            if one.state == "failed":
                return job_problem(one.code or "node_failed", self.text(one.error), node=one.id, element=one.element)
        return None


def planned_rows(plan: Plan) -> list[dict[str, Any]]:  # Any: plain JSON
    """One row per node of the document. What was evaluated while planning counts as cached, what is not wanted as skipped."""
    tasks, compiled = plan.tasks, plan.tasks.compiled
    running, above = set(plan.run), set(plan.skipped)
    rows = []
    for index, spec in enumerate(compiled.specs):
        mine = tasks.tasks_of(index)
        if any(task in running for task in mine):
            state = "waiting"
        elif index in tasks.light or any(task in above for task in mine):
            state = "cached"
        else:
            state = "skipped"
        rows.append({"id": compiled.ids[index], "type": spec.id, "state": state, "elements": len(mine)})
    return rows + [{"id": id, "type": "", "state": "skipped", "elements": 0} for id in compiled.skipped]


def output_json(value: object) -> Any:  # Any: plain JSON
    """A named output: a plain value as it is; others, and what is too large, by type, digest, fields and shapes."""
    found = _described(value)
    if len(json.dumps(found)) <= LARGEST_OUTPUT:
        return found
    if isinstance(value, list):
        return {"type": "list", "length": len(value), "truncated": True}
    packed = value.packed() if isinstance(value, Value) else encode(value)
    digest = value.digest if isinstance(value, Value) else digest_of(packed)
    return {"type": packed.type, "digest": digest.hex(), "truncated": True}


def _described(value: object) -> Any:  # Any: plain JSON
    if isinstance(value, list):
        return [_described(item) for item in value]
    if not isinstance(value, Value):
        return value_json(value)
    packed = value.packed()
    if packed.type in _PLAIN:
        return value_json(packed.fields["value"])
    return packed_json(packed) | {"digest": value.digest.hex()}
