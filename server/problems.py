"""Refusals: what the server answers when it will not do something, as data (RFC 9457), the same over HTTP and in a job.

Knows nothing of HTTP beyond the status that each kind of refusal has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from graph.errors import LatentgraphError, Problem, WorkflowError


class Kind(NamedTuple):
    """What all refusals of one code share."""

    status: int
    title: str


#: By code. Codes are stable: programs go by them. One that is not here is a mistake of ours.
KINDS: Final[dict[str, Kind]] = {
    "malformed": Kind(400, "The request cannot be read"),
    "unauthorized": Kind(401, "No valid token or session"),
    "forbidden_origin": Kind(403, "The request comes from another site"),
    "forbidden": Kind(403, "This may not be done"),
    "not_found": Kind(404, "There is no such thing"),
    "method_not_allowed": Kind(405, "This address takes other methods"),
    "too_slow": Kind(408, "The request comes too slowly"),
    "conflict": Kind(409, "The state does not allow this"),
    "in_use": Kind(409, "It is in use"),
    "precondition_failed": Kind(412, "It was changed meanwhile"),
    "too_large": Kind(413, "It is too large"),
    "unsupported_type": Kind(415, "This content type is not taken"),
    "range_not_satisfiable": Kind(416, "The file has no such part"),
    "wrong_host": Kind(421, "This server does not go by that name"),
    "invalid": Kind(422, "A value cannot be used"),
    "invalid_workflow": Kind(422, "The workflow cannot run"),
    "unreadable_picture": Kind(422, "The picture cannot be read"),
    "idempotency_mismatch": Kind(422, "The Idempotency-Key stands for another request"),
    "precondition_required": Kind(428, "Say which version you change"),
    "queue_full": Kind(429, "The queue is full"),
    "too_many_requests": Kind(429, "Too many requests"),
    "job_failed": Kind(422, "The job failed"),
    "internal": Kind(500, "A mistake of the server"),
    "not_implemented": Kind(501, "This server cannot do that"),
    "draining": Kind(503, "The server is shutting down"),
    "engine_unavailable": Kind(503, "The engine is not running"),
    "catalogue_unavailable": Kind(503, "The node types are still being read"),
    "too_many_connections": Kind(503, "Too many connections"),
    "not_ready_in_time": Kind(503, "It takes longer than this request may wait"),
    "disk_full": Kind(507, "The disk is full"),
}


class Refusal(LatentgraphError):
    """The server will not do this. `message` says what was found, where, and what to do; it names no path and no secret.

    `problems` are those of a workflow; `pointer` (RFC 6901) the place in the JSON body; `retry_after_s` when to come
    back; `facts` are further members of the document (plain JSON).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        problems: Iterable[Problem] = (),
        node: str | None = None,
        port: str | None = None,
        pointer: str | None = None,
        retry_after_s: float | None = None,
        **facts: Any,  # Any: plain JSON
    ) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.problems = tuple(problems)
        self.node, self.port, self.pointer = node, port, pointer
        self.retry_after_s = retry_after_s
        self.facts = facts

    @classmethod
    def of_workflow(cls, error: WorkflowError) -> Refusal:
        """The refusal of a workflow, with every problem; the first one's place is the refusal's own."""
        first = error.problems[0]
        count = len(error.problems)
        message = first.message if count == 1 else f"{first.message} (and {count - 1} more, see `problems`)"
        return cls("invalid_workflow", message, problems=error.problems, node=first.node, port=first.port)

    @property
    def status(self) -> int:
        """The HTTP status of this kind."""
        return KINDS[self.code].status

    def document(self) -> dict[str, Any]:  # Any: plain JSON
        """The problem document: what HTTP answers and what a failed job keeps."""
        found: dict[str, Any] = {
            "type": f"urn:latentgraph:problem:{self.code}",
            "title": KINDS[self.code].title,
            "status": self.status,
            "code": self.code,
            "detail": self.message,
        }
        places = {"node": self.node, "port": self.port, "pointer": self.pointer}
        found |= {name: value for name, value in places.items() if value is not None}
        if self.retry_after_s is not None:
            found["retry_after_s"] = self.retry_after_s
        if self.problems:
            found["problems"] = [problem_json(problem) for problem in self.problems]
        return found | self.facts


def problem_json(problem: Problem) -> dict[str, str]:
    """A problem of a workflow as it stands in a document: code, message and, where known, node and port."""
    found = {"code": problem.code, "message": problem.message, "node": problem.node, "port": problem.port}
    return {name: value for name, value in found.items() if value is not None}


def too_many_nodes(found: str, most: int) -> Refusal:
    """The refusal of a workflow that has more nodes (`found`: "11 nodes") than the setting `max_nodes` says."""
    message = f"The workflow has {found}; at most {most} are taken. Split it, or raise max_nodes in the settings."
    return Refusal("too_large", message, max_nodes=most)


def pointer_of(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
