"""Jobs over HTTP: accept, list, read, cancel, retry, move, delete; and the queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal, NotRequired, cast

from aiohttp import web
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from server.api.models import JobId, JsonObject, Model, Name
from server.api.route import JSON, Answer, Call, route
from server.jobs.desk import Key, Order
from server.jobs.hub import rows_of
from server.jobs.orders import DEFAULT_LIMITS
from server.jobs.record import Accepted, Job, JobFilter, JobState
from server.jobs.rows import Rows
from server.library.checking import pointer_in_body, read_object
from server.problems import Refusal

#: Documents with more nodes are read in a thread.
_QUICK_NODES: Final = 500
_REPLAYED: Final = {200: "The job of the first time: the Idempotency-Key is known."}
_EXAMPLE: Final[JsonObject] = {"workflow": "mini_text_to_image", "inputs": {"prompt": "a small green ring on a white background"}}

ClientName = Annotated[str, StringConstraints(pattern=r"^[!-~](?:[ -~]{0,62}[!-~])?$")]
"""1 to 64 visible ASCII characters."""
WorkflowName = Annotated[str, StringConstraints(max_length=200)]
RowId = Annotated[str, StringConstraints(max_length=1100)]
NodeState = Literal["waiting", "cached", "running", "done", "failed", "skipped", "cancelled"]
Priority = Annotated[int, Field(ge=-DEFAULT_LIMITS.priority, le=DEFAULT_LIMITS.priority)]
Inputs = Annotated[JsonObject, Field(max_length=DEFAULT_LIMITS.inputs)]


def _some(targets: list[str]) -> list[str]:
    if not targets:
        raise ValueError("it is empty; name at least one node or port, or leave it out for the named outputs and every effect")
    return targets


Targets = Annotated[
    list[Annotated[str, StringConstraints(max_length=1200)]],
    Field(max_length=DEFAULT_LIMITS.targets, json_schema_extra={"minItems": 1}),
    AfterValidator(_some),
]


class JobRequest(Model):
    """What is to run."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    workflow: JsonObject | Name
    """A workflow document, or the name of a saved workflow."""
    inputs: Inputs = Field(default_factory=dict)
    """Values of the workflow's named inputs."""
    targets: Targets | None = None
    """Nodes ("node") or ports ("node.port") that are wanted; without: the named outputs and every effect."""
    priority: Priority = 0
    """Higher goes first."""
    client: ClientName | None = None
    """Who asks, for fairness between clients. It gives no rights."""
    webhook: Annotated[str, StringConstraints(max_length=64)] | None = None
    """Name of a webhook of the settings file that is told of the end."""


class MoveRequest(Model):
    """Where a queued job is to go, or its new priority: one of the three."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    before: JobId | None = None
    """Directly before this queued job of the same client."""
    after: JobId | None = None
    """Directly after it."""
    priority: Priority | None = None


class RetryRequest(Model):
    """Who asks for the job again."""

    client: ClientName | None = None


class JobQuery(Model):
    """Which jobs."""

    state: list[JobState] = Field([], max_length=5)
    """Only these states; may be given several times."""
    client: ClientName | None = None
    workflow: WorkflowName | None = None
    retry_of: JobId | None = None
    """Only the retries of this job."""
    cursor: int | None = Field(None, ge=0, le=2**53 - 1)
    """`next` of the page before."""
    limit: int = Field(50, ge=1, le=200)


class NodeQuery(Model):
    """Which rows."""

    node: RowId | None = None
    """The rows of this mapped node's elements instead of those of the nodes."""
    state: NodeState | None = None
    offset: int = Field(0, ge=0, le=2**53 - 1)
    limit: int = Field(200, ge=1, le=1000)


class ProgressFacts(TypedDict):
    """Steps of a node that runs."""

    step: int
    total: int
    eta_seconds: float | None
    element: NotRequired[int]


class NodeRow(TypedDict):
    """How far a node is. Members that say nothing are left out."""

    id: str
    type: str
    state: NodeState
    element: NotRequired[int]
    seconds: NotRequired[float]
    device: NotRequired[str]
    progress: NotRequired[ProgressFacts]
    note: NotRequired[str]
    message: NotRequired[str]
    code: NotRequired[str]
    #: Of a mapped node: "total", and how many elements are in each state.
    elements: NotRequired[dict[str, int]]


class Links(TypedDict):
    """Addresses of a job."""

    self: str
    events: str
    nodes: str
    document: str
    cancel: str
    retry: str


class JobSummary(Model):
    """A job. Times are seconds since 1970."""

    id: JobId
    state: JobState
    workflow: str
    """The saved workflow's name, or the document's own."""
    priority: int
    client: str
    created: float
    started: float | None
    ended: float | None
    seeds: dict[str, int]
    """The drawn seeds by "node.port": they stay the same in a retry."""
    inputs: JsonObject
    targets: list[str] | None
    tries: int
    """Tries in a row that ended with the death of a process; at 3 the job is failed."""
    estimated_seconds: float
    """Estimated device-seconds of the job itself, from past times of its node types."""
    position: int | None
    """Place in the queue as it is expected now, 1 is next; null if it does not wait or more than 1000 jobs are before it."""
    retry_of: JobId | None
    webhook: str | None
    seconds: float | None
    """How long it ran; null until it has ended."""
    problem: JsonObject | None
    """Why it failed: a problem document."""
    links: Links


class JobView(JobSummary):
    """A job with what became of its nodes and its outputs."""

    device_seconds: float | None
    nodes: list[NodeRow]
    """One row per node, at most 1000; see `omitted`."""
    counts: dict[str, int]
    """How many nodes are in each state."""
    omitted: int
    """How many more rows `/v1/jobs/{id}/nodes` has."""
    messages: list[str]
    """Sentences about the run as a whole."""
    outputs: JsonObject
    """The named outputs, once it has ended: plain values, other values described."""
    absent: dict[str, str]
    """Named outputs that do not exist, and why."""


class JobPage(Model):
    """Jobs, newest first."""

    jobs: list[JobSummary]
    next: int | None
    """`cursor` of the next page; null on the last."""


class NodePage(Model):
    """Rows of nodes, or of a mapped node's elements."""

    rows: list[NodeRow]
    total: int
    next: int | None
    """`offset` of the next page; null on the last."""


class QueueView(Model):
    """The queue in numbers."""

    queued: int
    running: int
    seconds: float
    """Estimated device-seconds that wait or are under way."""
    most_jobs: int
    most_seconds: float
    """More than these are refused with `queue_full`."""
    is_paused: bool
    is_draining: bool
    order: list[str]
    """Ids of the jobs next in line, in the order they are expected to start; at most 200."""


@route(
    "POST",
    "/v1/jobs",
    answers=202,
    tags=("jobs",),
    refuses=(
        "not_found", "invalid", "invalid_workflow", "idempotency_mismatch", "conflict", "queue_full", "draining",
        "catalogue_unavailable", "disk_full",
    ),
    idempotent=True,
    also=_REPLAYED,
)  # fmt: skip
async def create_job(call: Call, body: JobRequest) -> Answer[JobView]:
    """Accept a job.

    It is on disk before this answers: an accepted job reaches exactly one final state, whatever dies meanwhile. Sent
    again with the same Idempotency-Key, the answer is 200 with the job of the first time and `Idempotency-Replayed: true`.
    """
    key = key_of(call, lambda: body.model_dump(mode="json"))
    if key is None:  # the quick way
        return _accepted(call, await _submit(call, body, None))
    return await _once(call, body.client or call.client, key, lambda: _submit(call, body, key))


@route("GET", "/v1/jobs", tags=("jobs",))
async def list_jobs(call: Call, query: JobQuery) -> JobPage:
    """List jobs, newest first."""
    filters = JobFilter(tuple(query.state), query.client, query.workflow, query.cursor, query.limit, query.retry_of)
    page = await call.services.desk.page(filters)
    return JobPage.model_construct(jobs=[JobSummary.model_construct(**_summary(call, job)) for job in page.jobs], next=page.next)


@route("GET", "/v1/jobs/{id}", tags=("jobs",), refuses=("not_found",))
async def read_job(call: Call, id: JobId) -> JobView:
    """Read a job: its state, its nodes' states and times, its place in the queue, its outputs."""
    job, rows = await _look(call, id)
    return _view(call, job, rows)


@route("GET", "/v1/jobs/{id}/nodes", tags=("jobs",), refuses=("not_found",))
async def read_nodes(call: Call, id: JobId, query: NodeQuery) -> NodePage:
    """Read the rows of a job's nodes in pages, or those of a mapped node's elements."""
    _, rows = await _look(call, id)
    if query.node is None:
        found, total = rows.page(query.state, query.offset, query.limit)
    elif rows.get(query.node) is None:
        raise Refusal("not_found", f'Job {id} has no row of a node "{query.node}". Read its nodes without `node`.')
    else:
        found, total = rows.elements(query.node, query.state, query.offset, query.limit)
    end = query.offset + len(found)
    return NodePage.model_construct(rows=found, total=total, next=end if found and end < total else None)


@route("GET", "/v1/jobs/{id}/document", tags=("jobs",), refuses=("not_found",))
async def read_job_document(call: Call, id: JobId) -> Answer[JsonObject]:
    """Read the workflow document that the job runs: the frozen copy, named inputs set."""
    content = await call.services.desk.document(id)
    return cast("Answer[JsonObject]", web.Response(body=content, content_type=JSON))  # as it lies there: reading takes time


@route("POST", "/v1/jobs/{id}/cancel", tags=("jobs",), refuses=("not_found", "conflict"))
async def cancel_job(call: Call, id: JobId) -> JobView:
    """Cancel a job.

    A queued one is cancelled in the answer; of a running one the answer still says `running`, and it ends at its next
    step. A job that has ended is left as it is (409, with its `state`).
    """
    return _view(call, *_newest(call, await call.services.desk.cancel(id)))


@route(
    "POST",
    "/v1/jobs/{id}/retry",
    answers=202,
    tags=("jobs",),
    refuses=(
        "not_found",
        "conflict",
        "invalid_workflow",
        "idempotency_mismatch",
        "queue_full",
        "draining",
        "catalogue_unavailable",
        "disk_full",
    ),
    idempotent=True,
    also=_REPLAYED,
)
async def retry_job(call: Call, id: JobId, body: RetryRequest) -> Answer[JobView]:
    """Accept a new job from an ended one's frozen copy.

    Same document, inputs, targets and seeds, so it draws the same picture; what is remembered is not run again.
    """
    key = key_of(call, lambda: {"retry": id, **body.model_dump(mode="json")})
    client, desk = body.client or call.client, call.services.desk
    if key is None:
        return _accepted(call, await desk.retry(id, client))
    return await _once(call, client, key, lambda: desk.retry(id, client, key))


@route("POST", "/v1/jobs/{id}/move", tags=("jobs",), refuses=("not_found", "conflict", "invalid"))
async def move_job(call: Call, id: JobId, body: MoveRequest) -> JobView:
    """Move a queued job before or after another of the same client, or change a job's priority."""
    given = sum(value is not None for value in (body.before, body.after, body.priority))
    if given != 1:
        raise Refusal("invalid", f"The body has {given} of before, after and priority. Give one of them.", pointer="")
    job = await call.services.desk.move(id, before=body.before, after=body.after, priority=body.priority)
    return _view(call, *_newest(call, job))


@route("DELETE", "/v1/jobs/{id}", answers=204, tags=("jobs",), refuses=("not_found", "conflict"))
async def delete_job(call: Call, id: JobId) -> None:
    """Forget a job that has ended. Its outputs stay in the gallery."""
    await call.services.desk.delete(id)


@route("GET", "/v1/queue", tags=("jobs",))
async def read_queue(call: Call) -> QueueView:
    """Read the queue in numbers, and which jobs are next."""
    return QueueView(**call.services.hub.queue_json())


@route("POST", "/v1/queue/pause", tags=("jobs",))
async def pause_queue(call: Call) -> QueueView:
    """Start no more jobs until `resume`, also after a restart; what runs goes on, and new jobs are accepted."""
    await call.services.desk.pause()
    return QueueView(**call.services.hub.queue_json())


@route("POST", "/v1/queue/resume", tags=("jobs",))
async def resume_queue(call: Call) -> QueueView:
    """Start jobs again."""
    await call.services.desk.resume()
    return QueueView(**call.services.hub.queue_json())


async def _submit(call: Call, body: JobRequest, key: Key | None) -> Accepted:
    """Have a job accepted. What is wrong with it is refused with its place in the body."""
    workflow = body.workflow
    if isinstance(workflow, str):
        document, name = await call.services.workflows.document(workflow), workflow
    elif _is_quick(workflow):
        document, name = read_object(workflow, "/workflow"), ""
    else:
        document, name = await asyncio.get_running_loop().run_in_executor(None, read_object, workflow, "/workflow"), ""
    if body.webhook is not None:
        call.services.webhooks.check(body.webhook)
    targets = None if body.targets is None else tuple(body.targets)
    client = body.client or call.client
    try:
        return await call.services.desk.submit(
            Order(document, name, body.inputs, targets, body.priority, client, body.webhook, key)
        )
    except Refusal as refusal:
        if refusal.problems:
            refusal.pointer = pointer_in_body(refusal.problems[0], workflow, document, body.inputs)
        raise


def _is_quick(workflow: JsonObject) -> bool:
    nodes = workflow.get("nodes")
    return not isinstance(nodes, dict) or len(nodes) <= _QUICK_NODES


def key_of(call: Call, matter: Callable[[], Any]) -> Key | None:
    """The Idempotency-Key and a digest of what was asked (plain JSON): the same key for something else is refused."""
    key = call.idempotency_key
    if key is None:
        return None
    text = json.dumps(matter(), sort_keys=True, separators=(",", ":"))
    return key, sha256(text.encode()).digest()


async def submit_once(
    call: Call, client: str, keys: Sequence[Key], submit: Callable[[], Coroutine[Any, Any, list[Accepted]]]
) -> list[Accepted]:
    """What `submit` gives, or the jobs of the first time where the keys are known: those are told whatever is refused now."""

    async def first() -> list[Accepted]:
        call.services.health.check(call.route.refuses)  # the front left it to us
        return await submit()

    return await call.services.desk.once(client, keys, first)


async def _once(call: Call, client: str, key: Key, submit: Callable[[], Coroutine[Any, Any, Accepted]]) -> Answer[JobView]:
    async def one() -> list[Accepted]:
        return [await submit()]

    [accepted] = await submit_once(call, client, [key], one)
    return _accepted(call, accepted)


def _accepted(call: Call, accepted: Accepted) -> Answer[JobView]:
    job = accepted.job
    headers = {"Location": f"/v1/jobs/{job.id}"}
    if accepted.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Answer(_view(call, *_newest(call, job)), status=200 if accepted.replayed else 202, headers=headers)


async def _look(call: Call, id: str) -> tuple[Job, Rows]:
    """A job and its rows: from memory while it is under way or just ended, else from the store."""
    facts = call.services.hub.look(id)
    if facts is not None:
        return facts.job, facts.rows
    return _newest(call, await call.services.desk.get(id))


def _newest(call: Call, job: Job) -> tuple[Job, Rows]:
    """The job with its rows. State and outcome always come from one record, so no reader sees a mixture."""
    facts = call.services.hub.look(job.id)
    if facts is not None and (facts.job.is_final or not job.is_final):
        return (facts.job if facts.job.is_final else job), facts.rows
    return job, rows_of(job)


def _summary(call: Call, job: Job) -> dict[str, Any]:
    result = job.result
    return {
        "id": job.id,
        "state": job.state,
        "workflow": job.workflow,
        "priority": job.priority,
        "client": job.client,
        "created": job.created,
        "started": job.started,
        "ended": job.ended,
        "seeds": dict(job.seeds),
        "inputs": dict(job.inputs),
        "targets": None if job.targets is None else list(job.targets),
        "tries": job.tries,
        "estimated_seconds": job.cost_s,
        "position": call.services.hub.position(job.id) if job.state == "queued" else None,
        "retry_of": job.retry_of,
        "webhook": job.webhook,
        "seconds": result.seconds if result is not None else None,
        "problem": dict(result.problem) if result is not None and result.problem is not None else None,
        "links": links_of(job.id),
    }


def _view(call: Call, job: Job, rows: Rows) -> JobView:
    shown, omitted = rows.shown()
    result = job.result
    return JobView.model_construct(
        **_summary(call, job),
        device_seconds=result.device_seconds if result is not None else None,
        nodes=shown,
        counts=rows.counts(),
        omitted=omitted,
        messages=list(rows.messages),
        outputs=dict(result.outputs) if result is not None else {},
        absent=dict(result.absent) if result is not None else {},
    )


def links_of(id: str) -> dict[str, str]:
    """The addresses of a job."""
    own = f"/v1/jobs/{id}"
    return {"self": own} | {name: f"{own}/{name}" for name in ("events", "nodes", "document", "cancel", "retry")}
