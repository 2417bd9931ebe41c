"""Pictures in the form of OpenAI's API: `model` is a saved workflow, and every field goes to its named input of that name."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, StringConstraints, ValidationError
from typing_extensions import TypedDict

from graph.document import Document
from graph.errors import nearest
from graph.spec import MAX_SEED
from server.api.models import JsonObject, Model, Name
from server.api.route import Answer, Call, route
from server.api.routes.jobs import key_of, submit_once
from server.api.sentences import faults_of
from server.jobs.desk import Key, Order
from server.jobs.record import Accepted, Job
from server.library.gallery import Filter, Output
from server.problems import Refusal

#: Pictures of one request.
MOST_IMAGES: Final = 10
_FIELD_BYTES: Final = 256 * 1024
#: A whole file is read into memory to be written as base64.
_PICTURE_BYTES: Final = 256 << 20
_EXAMPLE: Final[JsonObject] = {
    "model": "mini_text_to_image",
    "prompt": "a small green ring on a white background",
    "size": "64x64",
}
#: Fields of the form itself; every other one is a named input of the workflow.
_OWN: Final = frozenset(("model", "n", "size", "response_format", "user"))
_OF_THE_WORKFLOW: Final = ("refused", "invalid_workflow", "input_changed")
_REFUSES: Final = (
    "not_found", "invalid", "invalid_workflow", "queue_full", "draining", "catalogue_unavailable", "disk_full", "job_failed",
    "conflict", "not_ready_in_time", "too_large", "idempotency_mismatch",
)  # fmt: skip


class ImagesRequest(Model):
    """What is to be drawn. Fields that are not here are named inputs of the workflow: `seed`, `steps`, ..."""

    model_config = ConfigDict(
        extra="allow", strict=True, frozen=True, use_attribute_docstrings=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    model: Name
    """Name of a saved workflow."""
    prompt: Annotated[str, StringConstraints(max_length=1_000_000)]
    """Goes to the named input `prompt`."""
    n: int = Field(1, ge=1, le=MOST_IMAGES)
    """So many jobs, with the seeds seed, seed + 1, ..."""
    size: Annotated[str, StringConstraints(pattern=r"^(auto|[1-9][0-9]{0,4}x[1-9][0-9]{0,4})$")] = "auto"
    """Width x height in pixels: goes to the named inputs `width` and `height`, or `size`; auto: as the workflow has it."""
    response_format: Literal["b64_json", "url"] = "b64_json"
    user: Annotated[str, StringConstraints(max_length=256)] | None = None
    """Not used."""

    @property
    def inputs(self) -> dict[str, Any]:  # Any: plain JSON
        """The fields that are named inputs."""
        return {"prompt": self.prompt, **(self.__pydantic_extra__ or {})}


class ImageView(TypedDict, total=False):
    """One picture: its content, or its address on this server."""

    b64_json: str
    url: str


class ImagesView(Model):
    """The pictures, in the order of their seeds."""

    created: int
    data: list[ImageView]


#: Accepts the jobs of a request.
_Submit = Callable[[], Coroutine[Any, Any, list[Accepted]]]


@route("POST", "/v1/images/generations", tags=("images",), refuses=_REFUSES, idempotent=True)
async def generate_images(call: Call, body: ImagesRequest) -> Answer[ImagesView]:
    """Draw pictures with a saved workflow, and wait for them.

    Either all `n` jobs are accepted, or none is. Waits at most as long as the setting `images_wait_s` says; then it answers
    503 `not_ready_in_time` with the jobs' ids while the jobs go on. They also go on if the client goes away. Sent again with
    the same Idempotency-Key, it waits for the jobs of the first time; without a key it would draw anew, so that answer says
    `X-Should-Retry: false`.
    """
    keys = _keys(call, body.n, lambda: {"generations": body.model_dump(mode="json")})

    async def submit() -> list[Accepted]:
        document = await _workflow(call, body.model)
        return await _submit(call, document, body, dict(body.inputs) | _size_inputs(document, body.size), keys)

    return await _draw(call, body, keys, submit)


@route(
    "POST", "/v1/images/edits", tags=("images",), takes="multipart/form-data", bearer_only=True, idempotent=True,
    refuses=(*_REFUSES, "malformed", "unsupported_type"),
)  # fmt: skip
async def edit_images(call: Call) -> Answer[ImagesView]:
    """Draw pictures from a picture with a saved workflow, and wait for them.

    The fields of /v1/images/generations as parts, and the files `image` and `mask`, which go to the named inputs of these
    names. Files are kept as by POST /v1/files. A node `load_mask` reads a mask as OpenAI's API wants it: transparent places
    are drawn anew; of one without transparency the white ones. Without `mask` the workflow's own is used.
    """
    fields, files = await _parts(call)
    try:
        body = ImagesRequest.model_validate(
            {name: value for name, value in fields.items() if name in _OWN or name == "prompt"}, strict=False
        )
    except ValidationError as error:
        first = faults_of(error, fields, ImagesRequest.model_fields, lambda path: f"The part `{path[0]}`")[0]
        raise Refusal("invalid", first.message, pointer=f"/{first.path[0]}") from None
    if "image" not in files:
        raise Refusal("invalid", "There is no part `image`. Send the picture to start from as a file.", pointer="/image")
    digests = {name: file["sha256"] for name, file in files.items()}
    keys = _keys(call, body.n, lambda: {"edits": fields, "files": digests})

    async def submit() -> list[Accepted]:
        document = await _workflow(call, body.model)
        extra = {name: value for name, value in fields.items() if name not in _OWN and name != "prompt"}
        typed = {name: _typed(call, document, name, value) for name, value in extra.items()}
        inputs = {"prompt": body.prompt, **typed, **files, **_size_inputs(document, body.size)}
        return await _submit(call, document, body, inputs, keys)

    return await _draw(call, body, keys, submit)


async def _parts(call: Call) -> tuple[dict[str, str], dict[str, JsonObject]]:
    """The plain fields, and the files as workflows name them."""
    fields: dict[str, str] = {}
    files: dict[str, JsonObject] = {}
    limit = call.services.settings.max_upload_bytes
    async for part in call.parts(limit):
        name = part.name.removesuffix("[]")
        if name in fields or name in files:
            raise Refusal("invalid", f"The part `{name[:40]}` is there twice. Send it once.", pointer=f"/{name[:40]}")
        if name in ("image", "mask"):
            upload = await call.services.files.store(part.chunks(), part.filename or name)
            files[name] = {"file": upload.name, "sha256": upload.sha256}
        else:
            try:
                fields[name] = (await part.read(_FIELD_BYTES)).decode()
            except UnicodeDecodeError:
                raise Refusal("malformed", f"The part `{name[:40]}` is no UTF-8 text. Send text.") from None
    return fields, files


def _typed(call: Call, document: Document, name: str, text: str) -> Any:  # Any: a literal of the port's type
    """A field of a form, which is text, as the port that it goes to takes it; left as it is where that is not known."""
    named = document.inputs.get(name)
    if named is None or not named.to:
        return text
    node, _, port = named.to[0].partition(".")
    spec = call.services.catalogue.specs.get(document.nodes[node].type) if node in document.nodes else None
    found = spec.port(port) if spec is not None else None
    try:
        if found is not None and found.type.name == "int":
            return int(text)
        if found is not None and found.type.name == "float":
            return float(text)
    except ValueError:
        return text  # validation says what the port takes
    if found is not None and found.type.name == "bool" and text in ("true", "false"):
        return text == "true"
    return text


def _size_inputs(document: Document, size: str) -> dict[str, Any]:  # Any: plain JSON
    """The size as named inputs. Raises Refusal `invalid` if the workflow takes none."""
    if size == "auto":
        return {}
    width, _, height = size.partition("x")
    if "width" in document.inputs and "height" in document.inputs:
        return {"width": int(width), "height": int(height)}
    if "size" in document.inputs:
        return {"size": size}
    raise Refusal(
        "invalid", "The workflow has no named inputs `width` and `height`. Add them, or leave `size` out.", pointer="/size"
    )


async def _workflow(call: Call, name: str) -> Document:
    """The workflow that `model` names. Raises Refusal as the library does; the field's name makes one think of models."""
    try:
        return await call.services.workflows.document(name)
    except Refusal as refusal:
        if refusal.code == "not_found":
            refusal.message += " `model` is the name of a saved workflow here."
            refusal.pointer = "/model"
        raise


def _keys(call: Call, n: int, matter: Callable[[], Any]) -> list[Key]:  # Any: plain JSON
    """A key for each job of a request with an Idempotency-Key; none without.

    The first one's is the client's own, so that it stands for one request of all routes. No client can send the others: they
    hold a space.
    """
    key = key_of(call, matter)
    if key is None:
        return []
    name, digest = sha256(key[0].encode()).hexdigest(), key[1]
    return [key, *((f"{name} {number}", digest) for number in range(1, n))]


async def _submit(
    call: Call, document: Document, body: ImagesRequest, inputs: Mapping[str, Any], keys: Sequence[Key]
) -> list[Accepted]:  # Any: plain JSON
    """Accept a job for each picture, or none."""
    for name in inputs:
        if name not in document.inputs:
            known = nearest(name, document.inputs) or " It has none."
            raise Refusal(
                "invalid", f'The workflow {body.model} has no named input "{name[:64]}".{known}', pointer=f"/{name[:64]}"
            )
    wanted = [
        Order(document, body.model, _with_seed(document, inputs, number), client=call.client, idempotency=key)
        for number, key in enumerate(keys or [None] * body.n)
    ]
    return await call.services.desk.submit_all(wanted)


async def _draw(call: Call, body: ImagesRequest, keys: Sequence[Key], submit: _Submit) -> Answer[ImagesView]:
    """Accept the jobs, or find those that the keys stand for; wait for their ends, and give a picture of each."""
    until = time.monotonic() + call.services.settings.images_wait_s
    accepted = await (submit_once(call, call.client, keys, submit) if keys else submit())
    ended = await _wait(call, [one.job for one in accepted], until, may_ask_again=bool(keys))
    for job in ended:
        _refuse_failed(job)
    pictures = [await _picture(call, job, body.response_format) for job in ended]
    headers = {"Idempotency-Replayed": "true"} if all(one.replayed for one in accepted) else {}
    return Answer(ImagesView(created=int(time.time()), data=pictures), headers=headers)


def _with_seed(document: Document, inputs: Mapping[str, Any], number: int) -> Mapping[str, Any]:  # Any: plain JSON
    """The inputs of job `number`: the seed that is given, or else stands in the workflow, and as many more."""
    if number == 0 or "seed" not in document.inputs:
        return inputs
    node, _, port = document.inputs["seed"].to[0].partition(".")
    seed = inputs.get("seed", document.nodes[node].inputs.get(port) if node in document.nodes else None)
    return {**inputs, "seed": (seed + number) % (MAX_SEED + 1)} if type(seed) is int else inputs  # else each job draws its own


async def _wait(call: Call, jobs: Sequence[Job], until: float, *, may_ask_again: bool) -> list[Job]:
    """The jobs as they ended. Raises Refusal `not_ready_in_time` with all their ids; the jobs go on.

    `may_ask_again`: the same request would wait for these jobs and not make others.
    """
    ids = [job.id for job in jobs]
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            return [await _ended(call, job) for job in jobs]
    except TimeoutError:
        seconds = call.services.settings.images_wait_s
        message = (
            f"The pictures are not ready after {seconds:g} s; the jobs go on. Follow them at /v1/jobs/ID/events, see `jobs`."
        )
        if may_ask_again:
            message += " Sent again with its Idempotency-Key, the request waits for them."
        raise Refusal("not_ready_in_time", message, retry_after_s=5.0 if may_ask_again else None, jobs=ids) from None


async def _ended(call: Call, job: Job) -> Job:
    """A job when it has ended."""
    hub, transport = call.services.hub, call.request.transport
    if transport is None:
        raise ConnectionResetError("the client is gone")
    reader = hub.reader(transport, transport.abort)
    try:
        stream = hub.stream(job)
        reader.add(stream)
        current: Job = await call.services.desk.get(job.id)
        while not current.is_final:
            await reader.wait()
            reader.take()
            if stream.has_ended or reader.is_over:
                current = await call.services.desk.get(job.id)
            if reader.is_over and not current.is_final:
                raise TimeoutError  # the server stops; the job goes on when it is back
        return current
    finally:
        reader.close()


def _refuse_failed(job: Job) -> None:
    """Raise the refusal of a job that gave nothing."""
    if job.state == "done":
        return
    problem = dict(job.result.problem or {}) if job.result is not None else {}
    if job.state == "cancelled":
        raise Refusal(
            "conflict", "The job was cancelled. Send the request again, with another Idempotency-Key if it had one.", job=job.id
        )
    code = "invalid_workflow" if problem.get("code") in _OF_THE_WORKFLOW else "job_failed"
    detail = str(problem.get("detail") or "The job failed.")
    raise Refusal(code, detail, node=problem.get("node"), port=problem.get("port"), job=job.id, problem=problem)


async def _picture(call: Call, job: Job, form: str) -> ImageView:
    """The picture of a job: the newest that it saved, or else the first of its named outputs that is one."""
    page = await call.services.outputs.page(Filter(job=job.id, kind="image", limit=1))
    if page.outputs:
        output: Output = page.outputs[0]
        if form == "url":
            return ImageView(url=_address(call, f"/v1/outputs/{output.id}/file"))
        return ImageView(b64_json=await asyncio.to_thread(_encoded, call.services.outputs.root, output.file))
    assert job.result is not None
    for value in job.result.outputs.values():
        one = value[0] if isinstance(value, list) and value else value
        if not isinstance(one, dict) or one.get("type") != "Image" or "digest" not in one:
            continue
        address = _value_address(call, job, one["digest"]) if form == "url" else None
        if address is not None:
            return ImageView(url=address)
        answer = await call.services.values.look(bytes.fromhex(one["digest"]), 0, "png")
        return ImageView(b64_json=base64.b64encode(answer["image"]).decode())
    raise Refusal(
        "invalid_workflow",
        f"The workflow {job.workflow} gave no picture. Add a save_image node, or name a picture under `outputs`.",
        job=job.id,
    )


def _value_address(call: Call, job: Job, digest: str) -> str | None:
    """Where a value of a job can be looked at; None if no row of it says that it gave it."""
    for row in job.result.nodes if job.result is not None else ():
        spec = call.services.catalogue.specs.get(row.get("type", ""))
        if spec is not None and digest in row.get("outputs", ()):
            port = spec.outputs[list(row["outputs"]).index(digest)].name
            element = "" if row.get("element") is None else f"&element={row['element']}"
            return _address(call, f"/v1/jobs/{job.id}/values/{quote(row['id'], safe='')}/{port}?form=png{element}")
    return None


def _encoded(root: Any, file: str) -> str:  # Any: server.library.confine.Root
    return base64.b64encode(root.read(file, _PICTURE_BYTES)).decode()


def _address(call: Call, path: str) -> str:
    """An address on this server, by the name that the client used (which the guard let pass)."""
    return f"{call.request.scheme}://{call.request.host}{path}"
