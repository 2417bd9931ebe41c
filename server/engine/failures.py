"""Why a job failed, as the problem document that it keeps: like `Refusal.document()`, without an HTTP status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from graph.errors import Problem
from server.problems import KINDS, problem_json

#: By code, beside those of `server.problems.KINDS`. Codes are stable: programs go by them.
TITLES: Final = {
    "node_failed": "A node failed",
    "out_of_memory": "There is not enough memory",
    "worker_lost": "The process that it ran in died",
    "timed_out": "A node took too long",
    "input_changed": "A node changed its input",
    "refused": "A node refused its inputs",
}
#: What anybody is told of a mistake of ours; the log has the rest.
INTERNAL: Final = "The engine made a mistake and could not carry the job out; its log says more. Retry the job."


def job_problem(
    code: str,
    detail: str,
    *,
    node: str | None = None,
    element: int | None = None,
    port: str | None = None,
    problems: Iterable[Problem] = (),
) -> dict[str, Any]:  # Any: plain JSON
    """The problem document of a failed job; `problems` are all those of a workflow that planning refused."""
    title = TITLES[code] if code in TITLES else KINDS[code].title
    found: dict[str, Any] = {"type": f"urn:latentgraph:problem:{code}", "title": title, "code": code, "detail": detail}
    places = {"node": node, "element": element, "port": port, "problems": [problem_json(problem) for problem in problems] or None}
    return found | {name: value for name, value in places.items() if value is not None}
