"""What goes in and out as JSON: the base of all models and the forms that several routes share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Model(BaseModel):
    """A record at the border: strict, no unknown members, never changed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


#: A job's id (`server.jobs.record.new_id`).
JobId = Annotated[str, StringConstraints(pattern=r"^[0-9a-hjkmnp-tv-z]{26}$")]
#: SHA-256 in small hexadecimal digits: the id of an upload.
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
#: A node's id in a workflow.
NodeId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}(?:/[a-z][a-z0-9_]{0,63}){0,15}$")]
#: The name of a port or an input.
PortName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
#: A name that becomes a file's name: a workflow's, a draft's.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,127}$")]


class WorkflowProblem(Model):
    """One thing wrong with a workflow."""

    code: str
    message: str
    node: str | None = None
    port: str | None = None


class FieldError(Model):
    """One value of a request that cannot be used."""

    pointer: str
    """Place in the body (RFC 6901), or the parameter's name."""
    message: str


class ProblemDocument(Model):
    """A refusal (RFC 9457): what was found, where, and what to do."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, use_attribute_docstrings=True)

    type: str
    title: str
    status: int = Field(ge=400, le=599)
    code: str
    """Stable: programs go by it."""
    detail: str
    node: str | None = None
    port: str | None = None
    pointer: str | None = None
    retry_after_s: float | None = None
    problems: list[WorkflowProblem] | None = None
    errors: list[FieldError] | None = None


JsonObject = dict[str, Any]  # Any: plain JSON
