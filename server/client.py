"""A client of the server for Python programs: submit workflows, follow them, fetch what came out.

    with Client("http://127.0.0.1:8765", token) as client:
        outcome = client.run("portrait.json", prompt="a cat")
        client.download(outcome, "pictures")

`AsyncClient` is the same with `await`. Lost answers and restarts of the server are lived through: every request may be
sent twice (a submission carries a key, so it stays one job), and events go on where they stopped. Imports neither torch
nor anything else of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import time
import uuid
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp

T = TypeVar("T")
#: Plain JSON.
Json: TypeAlias = Any
State = Literal["queued", "running", "done", "failed", "cancelled"]
#: A document, the path of a workflow file, or the name of a workflow that is saved on the server. A string is a path if it
#: ends with ".json".
Workflow: TypeAlias = "Mapping[str, Json] | os.PathLike[str] | str"

FINAL: Final = frozenset(("done", "failed", "cancelled"))
#: How long an unreachable or restarting server is waited for, unless the caller says otherwise.
PATIENCE_S: Final = 60.0
#: Seconds without a byte of an event stream, which sends a sign of life every 15.
_SILENCE_S: Final = 45.0
_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 120.0
_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_CHUNK_BYTES: Final = 256 * 1024
#: Answers after which the same request is sent again: the server is restarting or busy with others.
_AGAIN: Final = frozenset((502, 503, 504))
#: Codes of 503 that waiting does not mend within the patience of a client.
_NOT_AGAIN: Final = frozenset(("not_ready_in_time",))


class ClientError(Exception):
    """The server refused, or could not be reached.

    `code` is stable (`invalid_workflow`, `queue_full`, ..., `unreachable`); `problem` is the whole problem document.
    """

    def __init__(self, problem: Mapping[str, Json]) -> None:
        self.problem = dict(problem)
        #: The request had been sent before, without a usable answer: what it asks for may have been done then.
        self.is_repeat = False
        super().__init__(str(problem.get("detail") or problem.get("title") or problem.get("code") or "the server refused"))

    @property
    def code(self) -> str:
        """What kind of refusal it is."""
        return str(self.problem.get("code", "internal"))

    @property
    def status(self) -> int:
        """The HTTP status; 0 if there was no answer."""
        return int(self.problem.get("status", 0))

    @property
    def node(self) -> str | None:
        """The node at fault."""
        return self.problem.get("node")

    @property
    def port(self) -> str | None:
        """The port or named input at fault."""
        return self.problem.get("port")

    @property
    def pointer(self) -> str | None:
        """The place in the request (RFC 6901)."""
        return self.problem.get("pointer")

    @property
    def problems(self) -> list[dict[str, str]]:
        """Every problem of a workflow: code, message, node and port."""
        return list(self.problem.get("problems", ()))

    @property
    def retry_after_s(self) -> float | None:
        """When to come back."""
        return self.problem.get("retry_after_s")


class Unreachable(ClientError):
    """There was no answer, however often it was asked."""


class JobFailed(ClientError):
    """The job ended without being done; `outcome` has the details."""

    def __init__(self, outcome: JobOutcome) -> None:
        code = "cancelled" if outcome.state == "cancelled" else "node_failed"
        super().__init__({"code": code, "detail": f"Job {outcome.id} was {outcome.state}.", **(outcome.problem or {})})
        self.outcome = outcome


class WaitedTooLong(TimeoutError):
    """The job goes on; only the waiting has ended. `id` names it."""

    def __init__(self, id: str, seconds: float) -> None:
        super().__init__(f"Job {id} had not ended after {seconds:g} s. It goes on: client.job({id!r}).wait() waits again.")
        self.id = id


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something a job told. `kind`: snapshot, job, planned, cached, node, progress, note, end (also queue and deleted of all jobs)."""

    kind: str
    job: str
    #: Grows with every change; progress carries the last one's.
    seq: int
    #: Every member, as the server sent it.
    members: Mapping[str, Json]

    @property
    def node(self) -> str:
        """The node it is about; "" if about the whole job."""
        return str(self.members.get("node", ""))

    @property
    def element(self) -> int | None:
        """The element of a mapped node."""
        return self.members.get("element")

    @property
    def state(self) -> str:
        """The state that the node or the job entered; "" if none."""
        return str(self.members.get("state", ""))

    @property
    def step(self) -> int:
        """Steps done, of a progress event."""
        return int(self.members.get("step", 0))

    @property
    def total(self) -> int:
        """Steps in all, of a progress event."""
        return int(self.members.get("total", 0))

    @property
    def eta_seconds(self) -> float | None:
        """Seconds that the node is expected to go on."""
        return self.members.get("eta_seconds")


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job is, or how it ended."""

    id: str
    state: State
    workflow: str
    seeds: Mapping[str, int] = field(default_factory=dict)
    #: The named outputs: plain values as they are, others described.
    outputs: Mapping[str, Json] = field(default_factory=dict)
    #: Named outputs that do not exist, and why.
    absent: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    #: One row per node.
    nodes: Sequence[Mapping[str, Json]] = ()
    problem: Mapping[str, Json] | None = None
    messages: Sequence[str] = ()
    #: Everything that the server says of it.
    view: Mapping[str, Json] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, view: Mapping[str, Json]) -> JobOutcome:
        """From the server's answer."""
        names = ("seeds", "outputs", "absent", "seconds", "nodes", "problem", "messages")
        told = {name: view[name] for name in names if name in view}
        return cls(view["id"], view["state"], view.get("workflow", ""), view=view, **told)

    @property
    def has_ended(self) -> bool:
        """Whether the state is final."""
        return self.state in FINAL

    def raise_unless_done(self) -> Self:
        """Itself. Raises JobFailed if the job failed or was cancelled."""
        if self.state in ("failed", "cancelled"):
            raise JobFailed(self)
        return self


class Upload(NamedTuple):
    """A file that the server has; `literal` stands for it in a workflow."""

    sha256: str
    name: str

    @property
    def literal(self) -> dict[str, str]:
        """The value of an input that takes a file."""
        return {"file": self.name, "sha256": self.sha256}


class AsyncClient:
    """The server at `url`. The URL may be the link that the server prints, with its token.

    `name`: who asks, for fairness between clients. `patience_s`: how long a server that cannot be reached is waited for.
    """

    def __init__(self, url: str, token: str = "", *, name: str = "", patience_s: float = PATIENCE_S) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"{url!r} is no address of a server; it looks like http://127.0.0.1:8765. Give that.")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        token = token or parts.fragment.removeprefix("token=")
        self._headers = {"Authorization": f"Bearer {token}"} | ({"Latentgraph-Client": name} if name else {})
        self.patience_s = patience_s
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    # Jobs.

    async def submit(
        self,
        workflow: Workflow,
        *,
        inputs: Mapping[str, Json] | None = None,
        targets: Iterable[str] | None = None,
        priority: int = 0,
        webhook: str | None = None,
        idempotency_key: str | None = None,
        **named: Json,
    ) -> AsyncSubmittedJob:
        """Have a workflow run; the answer comes when it is safely accepted. `named` are further inputs.

        A path given for an input is uploaded. Sent again after a lost answer it stays one job; with a key of your own it
        stays one job across programs too.
        """
        body = await self._request_body(workflow, {**(inputs or {}), **named}, targets)
        body |= {"priority": priority} | ({"webhook": webhook} if webhook is not None else {})
        view = await self._send("POST", "/v1/jobs", json=body, key=idempotency_key or uuid.uuid4().hex)
        return AsyncSubmittedJob(self, view["id"], JobOutcome.of(view))

    async def run(
        self,
        workflow: Workflow,
        *,
        inputs: Mapping[str, Json] | None = None,
        targets: Iterable[str] | None = None,
        priority: int = 0,
        on_event: Callable[[JobEvent], object] | None = None,
        timeout_s: float | None = None,
        **named: Json,
    ) -> JobOutcome:
        """Submit and wait for the end. Raises JobFailed if it is not done, WaitedTooLong after `timeout_s`."""
        job = await self.submit(workflow, inputs=inputs, targets=targets, priority=priority, **named)
        return (await job.wait(on_event=on_event, timeout_s=timeout_s)).raise_unless_done()

    def job(self, id: str) -> AsyncSubmittedJob:
        """A job by its id, also one of another program or an earlier day."""
        return AsyncSubmittedJob(self, id)

    async def jobs(
        self, *, states: Iterable[State] = (), client: str | None = None, workflow: str | None = None
    ) -> AsyncGenerator[JobOutcome, None]:
        """The jobs, newest first, without their nodes."""
        query: list[tuple[str, str]] = [("state", state) for state in states]
        query += [(name, value) for name, value in (("client", client), ("workflow", workflow)) if value is not None]
        async for job in self._pages("/v1/jobs", "jobs", query):
            yield JobOutcome.of(job)

    def events(self) -> AsyncGenerator[JobEvent, None]:
        """What happens to all jobs and to the queue, from now on, without end."""
        return self._events("/v1/events")

    async def download(self, job: str | JobOutcome, folder: str | os.PathLike[str]) -> list[Path]:
        """Fetch every file that a job published into a folder; the paths. Files that are there already are left."""
        id = job if isinstance(job, str) else job.id
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        found = []
        async for output in self._pages("/v1/outputs", "outputs", [("job", id)]):
            name = Path(str(output["file"])).name  # never a folder of the server's choice
            found.append(await self._fetch(f"/v1/outputs/{quote(output['id'], safe='')}/file", target / name))
        return sorted(found)

    # Workflows, node types and files.

    async def validate(self, workflow: Workflow, *, inputs: Mapping[str, Json] | None = None, **named: Json) -> dict[str, Json]:
        """Whether a workflow could run, and every problem: {"valid", "problems", ...}. `named` are further inputs."""
        body = await self._request_body(workflow, {**(inputs or {}), **named}, None)
        return dict(await self._send("POST", "/v1/workflows/validate", json=body))

    async def plan(
        self,
        workflow: Workflow,
        *,
        inputs: Mapping[str, Json] | None = None,
        targets: Iterable[str] | None = None,
        **named: Json,
    ) -> dict[str, Json]:
        """What a run would do: which nodes run, what is remembered, how long it may take. `named` are further inputs."""
        body = await self._request_body(workflow, {**(inputs or {}), **named}, targets)
        return dict(await self._send("POST", "/v1/workflows/plan", json=body))

    async def nodes(self) -> dict[str, Json]:
        """The catalogue of node types."""
        return dict(await self._send("GET", "/v1/nodes"))

    async def upload(self, file: str | os.PathLike[str] | bytes, name: str = "") -> Upload:
        """Give the server a file; what it holds already is not kept twice."""
        content = file if isinstance(file, bytes) else Path(file)
        shown = name or (content.name if isinstance(content, Path) else "file")
        headers = {"Content-Type": "application/octet-stream", "X-File-Name": quote(shown)}
        found = await self._send("POST", "/v1/files", data=content, headers=headers)
        return Upload(found["sha256"], found.get("name") or shown)

    async def _request_body(
        self, workflow: Workflow, inputs: Mapping[str, Json], targets: Iterable[str] | None
    ) -> dict[str, Json]:
        body: dict[str, Json] = {"workflow": await _document_of(workflow), "inputs": await self._with_files(inputs)}
        return body if targets is None else body | {"targets": list(targets)}

    async def _with_files(self, inputs: Mapping[str, Json]) -> dict[str, Json]:
        """The inputs with each path, and each upload, as the literal of an uploaded file."""
        found: dict[str, Json] = {}
        for name, value in inputs.items():
            given = await self.upload(value) if isinstance(value, os.PathLike) else value
            found[name] = given.literal if isinstance(given, Upload) else given
        return found

    # Requests.

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                connector=aiohttp.TCPConnector(limit=0),
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        json: Json = None,
        data: bytes | Path | None = None,
        headers: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Json:
        """The answer's JSON; {} for none. Sent again while there is no answer: whatever is sent may be sent twice."""
        sent = dict(headers or {}) | ({"Idempotency-Key": key} if key is not None else {})
        sendings = _Sendings()
        options: dict[str, Any] = {"params": list(query), "headers": sent, "middlewares": (sendings,)}
        options |= {"json": json} if json is not None else {}

        async def attempt() -> Json:
            with contextlib.ExitStack() as files:
                if data is not None:  # a file is opened for every attempt, and sent as it is read
                    options["data"] = files.enter_context(data.open("rb")) if isinstance(data, Path) else data
                return await self._answer(method, path, options)

        try:
            return await self._until_answered(attempt)
        except ClientError as error:
            error.is_repeat = sendings.count > 1
            raise

    async def _until_answered(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What an attempt gives; made again while there is no answer, or one that says to come again."""
        patience = _Patience(self.patience_s)
        while True:
            try:
                return await attempt()
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as lost:  # no other OSError: those are of our own files
                error: ClientError = Unreachable(_unreachable(self.url, lost))
            except ClientError as refused:
                if refused.status not in _AGAIN or refused.code in _NOT_AGAIN:
                    raise
                error = refused
            await patience.pause(error)

    async def _answer(self, method: str, path: str, options: Mapping[str, Any]) -> Json:
        limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_ANSWER_S)
        async with self._opened().request(method, self.url + path, timeout=limits, allow_redirects=False, **options) as answer:
            content = await answer.read()
            if answer.status >= 400:
                raise _error_of(answer.status, content)
            return _read_json(content)

    async def _pages(self, path: str, name: str, query: Sequence[tuple[str, str]]) -> AsyncGenerator[dict[str, Json], None]:
        cursor: list[tuple[str, str]] = []
        while True:
            page = await self._send("GET", path, query=[*query, *cursor, ("limit", "100")])
            for entry in page[name]:
                yield entry
            if page.get("next") is None:
                return
            cursor = [("cursor", str(page["next"]))]

    async def _fetch(self, path: str, target: Path) -> Path:
        """A file into a place of its own, whole or not at all."""
        if target.exists():
            return target
        part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            await self._until_answered(lambda: self._receive(path, part))
            os.replace(part, target)
            return target
        finally:
            part.unlink(missing_ok=True)

    async def _receive(self, path: str, part: Path) -> None:
        limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S)
        async with self._opened().get(self.url + path, timeout=limits, allow_redirects=False) as answer:
            if answer.status >= 400:
                raise _error_of(answer.status, await answer.read())
            with part.open("wb") as file:
                async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
                    await asyncio.to_thread(file.write, chunk)

    async def _events(self, path: str) -> AsyncGenerator[JobEvent, None]:
        """The events of a stream; goes on where it stopped when the connection or the server is lost."""
        last_id, patience = "", _Patience(self.patience_s)
        while True:
            lost: ClientError = Unreachable(_unreachable(self.url, None))
            try:
                async with self._open_stream(path, last_id) as answer:
                    if answer.status == 204:
                        return
                    if answer.status >= 400:
                        raise _error_of(answer.status, await answer.read())
                    async for id, event in _read_events(answer.content):
                        patience.renew()
                        last_id = id
                        yield event
                        if event.kind == "end" and path != "/v1/events":
                            return
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                lost = Unreachable(_unreachable(self.url, error))
            except ClientError as error:
                if error.status not in _AGAIN:
                    raise
                lost = error
            await patience.pause(lost)

    def _open_stream(self, path: str, last_id: str) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
        limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S)
        return self._opened().get(self.url + path, headers=headers, timeout=limits, allow_redirects=False)


class AsyncSubmittedJob:
    """A job on the server, by its id."""

    def __init__(self, client: AsyncClient, id: str, accepted: JobOutcome | None = None) -> None:
        self._client, self.id = client, id
        #: What the submission was answered with; None for a job that was looked up.
        self.accepted = accepted
        self._path = f"/v1/jobs/{quote(id, safe='')}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    async def read(self) -> JobOutcome:
        """The job as it is now."""
        return JobOutcome.of(await self._client._send("GET", self._path))

    async def outputs(self) -> Mapping[str, Json]:
        """The named outputs; empty until the job is done."""
        return (await self.read()).outputs

    async def document(self) -> dict[str, Json]:
        """The workflow document that it runs."""
        return dict(await self._client._send("GET", f"{self._path}/document"))

    def events(self) -> AsyncGenerator[JobEvent, None]:
        """What happens to it: a snapshot, every change, its end. A lost connection or server is lived through."""
        return self._client._events(f"{self._path}/events")

    async def wait(self, *, on_event: Callable[[JobEvent], object] | None = None, timeout_s: float | None = None) -> JobOutcome:
        """How it ended. Raises WaitedTooLong; the job goes on then."""
        until = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s

        async def in_time(step: Awaitable[T]) -> T:
            try:
                async with asyncio.timeout_at(until):
                    return await step
            except TimeoutError as error:
                raise WaitedTooLong(self.id, timeout_s or 0.0) from error

        async with contextlib.aclosing(self.events()) as events:
            while (event := await in_time(anext(events, None))) is not None:
                if on_event is not None:
                    on_event(event)  # not within the limit: a TimeoutError of the caller's is none of ours
        return await in_time(self.read())

    async def cancel(self) -> JobOutcome:
        """End it; it may go on for a step. One that has ended already is refused (code `conflict`)."""
        try:
            return JobOutcome.of(await self._client._send("POST", f"{self._path}/cancel"))
        except ClientError as error:
            if error.is_repeat and error.problem.get("state") == "cancelled":
                return await self.read()
            raise

    async def retry(self) -> AsyncSubmittedJob:
        """Run it again with the same document and seeds, as a new job."""
        view = await self._client._send("POST", f"{self._path}/retry", json={}, key=uuid.uuid4().hex)
        return AsyncSubmittedJob(self._client, view["id"], JobOutcome.of(view))

    async def delete(self) -> None:
        """Have the server forget it; it must have ended."""
        try:
            await self._client._send("DELETE", self._path)
        except ClientError as error:
            if not (error.is_repeat and error.status == 404):
                raise

    async def download(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Fetch every file that it published into a folder; the paths."""
        return await self._client.download(self.id, folder)


class Client:
    """The same without `await`, for scripts, notebooks and threads.

    An event loop in a thread of its own does the work, so it may be used where another loop runs, and by many threads.
    """

    def __init__(self, url: str, token: str = "", *, name: str = "", patience_s: float = PATIENCE_S) -> None:
        self._async = AsyncClient(url, token, name=name, patience_s=patience_s)
        self._loop = _Loop()
        self._end = weakref.finalize(self, _close, self._loop, self._async)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the thread; at the end of the program this happens by itself."""
        self._end()

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._async.url

    def submit(
        self,
        workflow: Workflow,
        *,
        inputs: Mapping[str, Json] | None = None,
        targets: Iterable[str] | None = None,
        priority: int = 0,
        webhook: str | None = None,
        idempotency_key: str | None = None,
        **named: Json,
    ) -> SubmittedJob:
        """See `AsyncClient.submit`."""
        job = self._loop.run(
            self._async.submit(
                workflow,
                inputs=inputs,
                targets=targets,
                priority=priority,
                webhook=webhook,
                idempotency_key=idempotency_key,
                **named,
            )
        )
        return SubmittedJob(self, job)

    def run(
        self,
        workflow: Workflow,
        *,
        inputs: Mapping[str, Json] | None = None,
        targets: Iterable[str] | None = None,
        priority: int = 0,
        on_event: Callable[[JobEvent], object] | None = None,
        timeout_s: float | None = None,
        **named: Json,
    ) -> JobOutcome:
        """See `AsyncClient.run`. `on_event` is called in the calling thread."""
        job = self.submit(workflow, inputs=inputs, targets=targets, priority=priority, **named)
        return job.wait(on_event=on_event, timeout_s=timeout_s).raise_unless_done()

    def job(self, id: str) -> SubmittedJob:
        """A job by its id, also one of another program or an earlier day."""
        return SubmittedJob(self, self._async.job(id))

    def jobs(
        self, *, states: Iterable[State] = (), client: str | None = None, workflow: str | None = None
    ) -> Iterator[JobOutcome]:
        """The jobs, newest first, without their nodes."""
        return self._loop.each(self._async.jobs(states=states, client=client, workflow=workflow))

    def events(self) -> Iterator[JobEvent]:
        """What happens to all jobs and to the queue, from now on, without end."""
        return self._loop.each(self._async.events())

    def download(self, job: str | JobOutcome, folder: str | os.PathLike[str]) -> list[Path]:
        """Fetch every file that a job published into a folder; the paths. Files that are there already are left."""
        return self._loop.run(self._async.download(job, folder))

    def validate(self, workflow: Workflow, *, inputs: Mapping[str, Json] | None = None, **named: Json) -> dict[str, Json]:
        """Whether a workflow could run, and every problem: {"valid", "problems", ...}. `named` are further inputs."""
        return self._loop.run(self._async.validate(workflow, inputs=inputs, **named))

    def plan(
        self,
        workflow: Workflow,
        *,
        inputs: Mapping[str, Json] | None = None,
        targets: Iterable[str] | None = None,
        **named: Json,
    ) -> dict[str, Json]:
        """What a run would do: which nodes run, what is remembered, how long it may take. `named` are further inputs."""
        return self._loop.run(self._async.plan(workflow, inputs=inputs, targets=targets, **named))

    def nodes(self) -> dict[str, Json]:
        """The catalogue of node types."""
        return self._loop.run(self._async.nodes())

    def upload(self, file: str | os.PathLike[str] | bytes, name: str = "") -> Upload:
        """Give the server a file; what it holds already is not kept twice."""
        return self._loop.run(self._async.upload(file, name))


class SubmittedJob:
    """A job on the server, by its id."""

    def __init__(self, client: Client, job: AsyncSubmittedJob) -> None:
        self._client, self._job = client, job
        self.id = job.id
        #: What the submission was answered with; None for a job that was looked up.
        self.accepted = job.accepted

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @property
    def outputs(self) -> Mapping[str, Json]:
        """The named outputs, asked for now; empty until the job is done."""
        return self._client._loop.run(self._job.outputs())

    def read(self) -> JobOutcome:
        """The job as it is now."""
        return self._client._loop.run(self._job.read())

    def document(self) -> dict[str, Json]:
        """The workflow document that it runs."""
        return self._client._loop.run(self._job.document())

    def events(self) -> Iterator[JobEvent]:
        """What happens to it: a snapshot, every change, its end. A lost connection or server is lived through."""
        return self._client._loop.each(self._job.events())

    def wait(self, *, on_event: Callable[[JobEvent], object] | None = None, timeout_s: float | None = None) -> JobOutcome:
        """How it ended. `on_event` is called in this thread. Raises WaitedTooLong; the job goes on then."""
        if on_event is None:
            return self._client._loop.run(self._job.wait(timeout_s=timeout_s))
        for event in self._events_within(timeout_s):
            on_event(event)
        return self.read()

    def _events_within(self, timeout_s: float | None) -> Iterator[JobEvent]:
        until = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            yield from self._client._loop.each(self._job.events(), until)
        except TimeoutError as error:
            raise WaitedTooLong(self.id, timeout_s or 0.0) from error

    def cancel(self) -> JobOutcome:
        """End it; it may go on for a step."""
        return self._client._loop.run(self._job.cancel())

    def retry(self) -> SubmittedJob:
        """Run it again with the same document and seeds, as a new job."""
        return SubmittedJob(self._client, self._client._loop.run(self._job.retry()))

    def delete(self) -> None:
        """Have the server forget it; it must have ended."""
        self._client._loop.run(self._job.delete())

    def download(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Fetch every file that it published into a folder; the paths."""
        return self._client._loop.run(self._job.download(folder))


class _Loop:
    """An event loop in a thread that ends with the program."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="latentgraph client", daemon=True)
        self._thread.start()
        self._process = os.getpid()

    def run(self, step: Coroutine[Any, Any, T], until: float | None = None) -> T:
        """What a coroutine gives; it is cancelled if the caller is interrupted. Raises TimeoutError at `until` (monotonic)."""
        if self._process != os.getpid() or not self._thread.is_alive():
            step.close()
            raise RuntimeError("This client was closed, or made before a fork. Make a new Client here.")
        future = asyncio.run_coroutine_threadsafe(step, self._loop)
        try:
            return future.result(None if until is None else max(0.0, until - time.monotonic()))
        except BaseException:
            future.cancel()
            raise

    def each(self, steps: AsyncGenerator[T, None], until: float | None = None) -> Iterator[T]:
        """What an asynchronous generator gives, one by one."""
        is_free = asyncio.Lock()  # one that was interrupted may still be ending its step when it is closed

        async def next_one() -> T:
            async with is_free:
                return await anext(steps)

        async def end() -> None:
            async with is_free:
                await steps.aclose()

        try:
            while True:
                try:
                    yield self.run(next_one(), until)
                except StopAsyncIteration:
                    return
        finally:
            with contextlib.suppress(RuntimeError):  # the client was closed meanwhile
                self.run(end())

    def close(self) -> None:
        """Stop the thread."""
        if self._process == os.getpid() and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def _close(loop: _Loop, client: AsyncClient) -> None:
    with contextlib.suppress(RuntimeError):  # the thread is gone: after a fork, or at the very end
        loop.run(client.close())
    loop.close()


class _Patience:
    """How long failures are lived with: pauses that grow, until they have lasted `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """It works again."""
        self._count = 0
        self._since: float | None = None

    async def pause(self, error: ClientError) -> None:
        """Wait before the next attempt. Raises the error when it has lasted too long."""
        now = time.monotonic()
        self._since = self._since if self._since is not None else now
        seconds = _PAUSES_S[min(self._count, len(_PAUSES_S) - 1)]
        if error.retry_after_s is not None and self._count == 0:
            seconds = max(seconds, min(error.retry_after_s, _PAUSES_S[-1]))
        if now - self._since + seconds > self._seconds:
            raise error
        self._count += 1
        await asyncio.sleep(seconds)


class _Sendings:
    """Counts how often a request goes out. aiohttp too sends one again by itself, if its kind allows that."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        self.count += 1
        return await send(request)


async def _document_of(workflow: Workflow) -> Json:
    """What the request says: the document, or the name of a saved workflow."""
    if isinstance(workflow, Mapping):
        return dict(workflow)
    if isinstance(workflow, str) and not workflow.endswith(".json"):
        return workflow
    return json.loads(await asyncio.to_thread(Path(workflow).read_bytes))


async def _read_events(content: aiohttp.StreamReader) -> AsyncGenerator[tuple[str, JobEvent], None]:
    """The events of a stream, each with its id."""
    fields: dict[str, str] = {}
    buffer = b""
    async for chunk in content.iter_any():
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            if line:
                name, _, value = line.decode().partition(": ")
                fields[name] = value
            elif "data" in fields:
                members = json.loads(fields["data"])
                event = JobEvent(members["event"], members.get("job", ""), members.get("seq", 0), members)
                yield fields.get("id", ""), event
                fields = {}


def _read_json(content: bytes) -> Json:
    return json.loads(content) if content else {}


def _error_of(status: int, content: bytes) -> ClientError:
    try:
        problem = json.loads(content)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or "code" not in problem:
        problem = {"code": "internal", "detail": f"The server answered {status} without saying why."}
    return ClientError({"status": status, **problem})


def _unreachable(url: str, error: BaseException | None) -> dict[str, Json]:
    reason = f" ({type(error).__name__}: {error})" if error is not None and str(error) else ""
    return {"code": "unreachable", "detail": f"No answer came from {url}{reason}. Is the server running there?"}
