"""Pictures in the OpenAI form: fields become named inputs, jobs are waited for, and go on without the client."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from types import SimpleNamespace

import aiohttp
import pytest

from graph.blob import digest_of
from graph.memo import Action, Finished, Memo
from graph.types import TypeRef
from nodes.image import from_picture
from server.api.routes import images
from server.jobs.record import JobResult
from server.problems import Refusal
from tests.server.api.files_kit import SavedWorkflows, library, save
from tests.server.api.kit import TOKEN, run
from tests.server.library.picture_corpus import encoded, picture


def document(**nodes):
    inputs = {
        "prompt": {"to": ["prompt.value"]}, "seed": {"to": ["sample.seed"]}, "steps": {"to": ["sample.steps"]},
        "width": {"to": ["size.width"]}, "height": {"to": ["size.height"]}, "image": {"to": ["open.file"]}, "mask": {"to": ["open.mask"]},
    }  # fmt: skip
    found = {
        "prompt": {"type": "text", "inputs": {"value": "x"}}, "sample": {"type": "denoise", "inputs": {"seed": 10, "steps": 5}},
        "size": {"type": "size", "inputs": {"width": 8, "height": 8}}, "open": {"type": "load_image", "inputs": {}}, "decode": {"type": "decode"},
    } | nodes  # fmt: skip
    return json.dumps({
        "format": "latentgraph/workflow", "version": "1.0", "nodes": found, "inputs": inputs,
        "outputs": {"picture": {"from": "decode.image"}},
    })  # fmt: skip


WORKFLOWS = {
    "draw": document(),
    "lucky": document(sample={"type": "denoise", "inputs": {"seed": {"random": True}}}),
    "plain": json.dumps({
        "format": "latentgraph/workflow", "version": "1.0", "nodes": {"prompt": {"type": "text", "inputs": {"value": "x"}}},
        "inputs": {"prompt": {"to": ["prompt.value"]}},
    }),
}  # fmt: skip


def prepared(front):
    front.services.workflows = SavedWorkflows(WORKFLOWS)
    ports = {"steps": SimpleNamespace(type=TypeRef("int")), "seed": SimpleNamespace(type=TypeRef("int"))}
    front.services.catalogue = SimpleNamespace(
        specs={
            "denoise": SimpleNamespace(port=ports.get, outputs=()),
            "decode": SimpleNamespace(port=ports.get, outputs=(SimpleNamespace(name="image"),)),
        }
    )
    return front.services.desk


def saves(home):
    """An ending: each job saves a picture of its own."""

    def ending(number, job):
        save(home, f"image-{job.id}-0a", picture(seed=number), job=job.id)
        return "done", JobResult()

    return ending


async def generate(front, headers=None, **body):
    asked = {"model": "draw", "prompt": "a cat"} | body
    return await front.ask("POST", "/v1/images/generations", json=asked, headers=front.bearer | (headers or {}))


def test_fields_go_to_the_named_inputs_and_the_pictures_come_back(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = saves(home)
            status, _, body = await generate(front, n=3, size="640x480", steps=4, user="me")
            assert status == 200
            assert [order.inputs for order in desk.orders] == [
                {"prompt": "a cat", "steps": 4, "width": 640, "height": 480},
                {"prompt": "a cat", "steps": 4, "width": 640, "height": 480, "seed": 11},
                {"prompt": "a cat", "steps": 4, "width": 640, "height": 480, "seed": 12},
            ]
            assert [order.workflow for order in desk.orders] == ["draw"] * 3
            contents = [base64.b64decode(one["b64_json"]) for one in body["data"]]
            assert contents == [(home / "outputs" / f"image-{id}-0a.png").read_bytes() for id in desk.jobs]
            assert body["created"] > 0

    run(scenario())


@pytest.mark.parametrize(("model", "given", "seeds"), [("draw", 2**53 - 1, [2**53 - 1, 0]), ("lucky", None, [None, None])])
def test_seeds_count_up_from_the_given_one_or_are_drawn(home, model, given, seeds):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = saves(home)
            await generate(front, n=2, model=model, **({} if given is None else {"seed": given}))
            assert [order.inputs.get("seed") for order in desk.orders] == seeds

    run(scenario())


def test_an_address_leads_to_the_file(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = saves(home)
            _, _, body = await generate(front, response_format="url")
            ((name, url),) = body["data"][0].items()
            assert name == "url"
            assert url.startswith(f"{front.url}/v1/outputs/image-")
            status, _, content = await front.ask("GET", url.removeprefix(front.url), headers=front.bearer)
            assert (status, content) == (200, (home / "outputs" / f"image-{next(iter(desk.jobs))}-0a.png").read_bytes())

    run(scenario())


def test_a_picture_that_is_only_a_named_output_is_given_too(home):
    packed = from_picture(picture()).write()
    memo = Memo(home / "memo", 2**30, 2**20)
    memo.commit([Finished((b"k" * 32,), Action((digest_of(packed),), ("image",), 1.0, "x", 1.0), ((digest_of(packed), packed),))])
    memo.close()

    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            digest = digest_of(packed).hex()
            row = {"id": "sub/decode", "element": 0, "type": "decode", "state": "done", "outputs": (digest,)}
            result = JobResult(nodes=(row,), outputs={"picture": [{"type": "Image", "digest": digest}]})
            desk.ending = lambda number, job: ("done", result)
            _, _, body = await generate(front)
            from io import BytesIO

            from PIL import Image as Pillow

            assert Pillow.open(BytesIO(base64.b64decode(body["data"][0]["b64_json"]))).tobytes() == picture().tobytes()
            _, _, body = await generate(front, response_format="url")
            id = list(desk.jobs)[-1]
            assert body["data"][0]["url"] == f"{front.url}/v1/jobs/{id}/values/sub%2Fdecode/image?form=png&element=0"

    run(scenario())


def test_a_workflow_without_a_picture_is_told(home):
    async def scenario():
        async with library(home) as front:
            prepared(front)
            status, _, body = await generate(front, model="plain")
            assert (status, body["code"]) == (422, "invalid_workflow")
            assert (
                body["detail"] == "The workflow flow gave no picture. Add a save_image node, or name a picture under `outputs`."
            )

    run(scenario())


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"model": "nothing"}, 404, 'There is no workflow "nothing". `model` is the name of a saved workflow here.'),
        ({"stepps": 3}, 422, 'The workflow draw has no named input "stepps".'),
        ({"size": "64x64", "model": "plain"}, 422, "The workflow has no named inputs `width` and `height`. Add them"),
        ({"size": "0x64"}, 422, 'The body\'s /size is "0x64". Write width x height in pixels, as 1024x768, or auto.'),
        ({"size": "64x"}, 422, 'The body\'s /size is "64x". Write width x height in pixels, as 1024x768, or auto.'),
        ({"n": 11}, 422, "The body's /n is 11. Set it to at most 10."),
        ({"n": 0}, 422, "The body's /n is 0. Set it to at least 1."),
        ({"response_format": "tiff"}, 422, 'The body\'s /response_format is "tiff". Known: b64_json, url.'),
        ({"model": "../x"}, 422, 'The body\'s /model is "../x". Write the name of a workflow: 1 to 128 letters, digits,'),
    ],
)
def test_what_does_not_fit_is_refused_before_any_job(home, body, status, detail):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            found, _, answer = await generate(front, **body)
            assert found == status
            assert answer["detail"].startswith(detail)
            if "stepps" in body:
                assert "steps" in answer["detail"]
                assert answer["pointer"] == "/stepps"
            assert desk.orders == []

    run(scenario())


def test_pictures_that_are_not_ready_in_time_are_503_with_the_jobs_which_go_on(home):
    async def scenario():
        async with library(home, images_wait_s=0.2) as front:
            desk = prepared(front)
            desk.ending = lambda number, job: None
            status, headers, body = await generate(front, n=2)
            assert (status, body["code"]) == (503, "not_ready_in_time")
            assert body["jobs"] == list(desk.jobs)
            assert ("Retry-After" in headers, headers["X-Should-Retry"]) == (False, "false")
            assert {job.state for job in desk.jobs.values()} == {"queued"}
            assert front.services.hub.reader_count == 0

    run(scenario())


KEY = {"Idempotency-Key": "k" * 255}


@pytest.mark.spec("R-C06")
def test_pictures_asked_for_again_with_their_key_are_those_of_the_first_jobs(home):
    async def scenario():
        async with library(home, images_wait_s=0.2) as front:
            desk = prepared(front)
            desk.ending = lambda number, job: None
            status, headers, body = await generate(front, KEY, n=2)
            assert (status, body["jobs"], headers["Retry-After"]) == (503, list(desk.jobs), "5")
            assert "X-Should-Retry" not in headers
            assert body["detail"].endswith("Sent again with its Idempotency-Key, the request waits for them.")
            for number, job in enumerate(list(desk.jobs.values())):
                saves(home)(number, job)
                desk.end(job, "done", JobResult())
            front.services.workflows = SavedWorkflows({})  # it was deleted meanwhile
            status, headers, body = await generate(front, KEY, n=2)
            assert (status, headers["Idempotency-Replayed"], len(desk.orders)) == (200, "true", 2)
            contents = [base64.b64decode(one["b64_json"]) for one in body["data"]]
            assert contents == [(home / "outputs" / f"image-{id}-0a.png").read_bytes() for id in desk.jobs]

    run(scenario())


def test_each_picture_has_a_key_of_its_own_and_only_the_first_is_the_clients(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = saves(home)
            _, headers, _ = await generate(front, KEY, n=3)
            assert "Idempotency-Replayed" not in headers
            keys = [order.idempotency[0] for order in desk.orders]
            assert (keys[0], len(set(keys)), [" " in key for key in keys]) == (KEY["Idempotency-Key"], 3, [False, True, True])
            assert max(len(key) for key in keys) <= 255
            assert len({order.idempotency[1] for order in desk.orders}) == 1
            await generate(front, KEY, n=2)
            assert desk.orders[3].idempotency[0] == keys[0]
            assert desk.orders[3].idempotency[1] != desk.orders[0].idempotency[1]
            await generate(front, n=1)
            assert desk.orders[-1].idempotency is None

    run(scenario())


def test_pictures_that_have_no_room_together_leave_no_job(home):
    """Of three one was accepted and went on, and the answer said to send it again."""

    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.refusal = Refusal("queue_full", "The queue is too full for 3 jobs.", retry_after_s=5)
            status, headers, body = await generate(front, n=3)
            assert (status, body["code"], headers["Retry-After"], desk.jobs) == (429, "queue_full", "5", {})

    run(scenario())


def test_a_job_that_ends_later_is_waited_for(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            begun = asyncio.Event()

            def ending(number, job):
                begun.set()

            desk.ending = ending
            asking = asyncio.create_task(generate(front))
            await begun.wait()
            (job,) = desk.jobs.values()
            while not front.services.hub.reader_count:
                await asyncio.sleep(0)
            save(home, f"image-{job.id}-0a", picture(), job=job.id)
            desk.end(job, "done", JobResult())
            status, _, body = await asking
            assert (status, len(body["data"])) == (200, 1)

    run(scenario())


def test_a_client_that_goes_away_cancels_nothing(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            begun = asyncio.Event()
            desk.ending = lambda number, job: begun.set()
            asking = asyncio.create_task(generate(front))
            await begun.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            (job,) = desk.jobs.values()
            assert job.state == "queued"
            assert not hasattr(desk, "cancelled")

    run(scenario())


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        ({"code": "refused", "detail": "size is too large", "node": "size"}, 422, "invalid_workflow"),
        ({"code": "invalid_workflow", "detail": "no such model"}, 422, "invalid_workflow"),
        ({"code": "out_of_memory", "detail": "no memory", "node": "sample"}, 422, "job_failed"),
        ({"code": "worker_lost", "detail": "died"}, 422, "job_failed"),
    ],
)
def test_a_failed_job_is_told_with_its_problem(home, problem, status, code):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = lambda number, job: ("failed", JobResult(problem=problem))
            found, _, body = await generate(front)
            assert (found, body["code"], body["detail"], body["problem"]) == (status, code, problem["detail"], problem)
            assert body["job"] == next(iter(desk.jobs))
            desk.ending = lambda number, job: ("cancelled", JobResult())
            found, headers, body = await generate(front)
            assert (found, headers["X-Should-Retry"]) == (409, "false")
            assert body["detail"] == "The job was cancelled. Send the request again, with another Idempotency-Key if it had one."

    run(scenario())


async def edit(front, headers=None, **fields):
    form = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        filename = f"{name}.png" if isinstance(value, bytes) else None
        form.add_field(name, value, filename=filename)
    return await front.ask("POST", "/v1/images/edits", data=form, headers=headers or front.bearer)


def test_an_edit_uploads_its_pictures_and_names_them(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = saves(home)
            image, mask = encoded(picture()), encoded(picture(mode="L"))
            status, _, body = await edit(
                front, model="draw", prompt="a cat", n="2", image=image, mask=mask, steps="4", size="64x32"
            )
            assert (status, len(body["data"])) == (200, 2)
            named = {
                "image": {"file": "image.png", "sha256": hashlib.sha256(image).hexdigest()},
                "mask": {"file": "mask.png", "sha256": hashlib.sha256(mask).hexdigest()},
            }
            assert desk.orders[0].inputs == {"prompt": "a cat", "steps": 4, "width": 64, "height": 32, **named}
            assert desk.orders[1].inputs["seed"] == 11
            assert (home / "files" / hashlib.sha256(image).hexdigest()).read_bytes() == image

    run(scenario())


def test_an_edit_with_its_key_is_known_by_its_fields_and_the_contents_of_its_files(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            desk.ending = saves(home)
            keyed = front.bearer | KEY
            image, other = encoded(picture()), encoded(picture(seed=5))
            await edit(front, keyed, model="draw", prompt="a cat", image=image)
            status, headers, _ = await edit(front, keyed, model="draw", prompt="a cat", image=image)
            assert (status, headers["Idempotency-Replayed"], len(desk.orders)) == (200, "true", 1)
            await edit(front, keyed, model="draw", prompt="a cat", image=other)
            await edit(front, keyed, model="draw", prompt="a dog", image=image)
            digests = [order.idempotency[1] for order in desk.orders]
            assert len(set(digests)) == 3

    run(scenario())


def test_an_edit_is_for_bearers_only_and_says_what_is_wrong(home):
    async def scenario():
        async with library(home) as front:
            desk = prepared(front)
            image = encoded(picture())
            assert (await edit(front, headers=front.session, model="draw", prompt="x", image=image))[0] == 401
            for fields, detail in (
                ({"model": "draw", "prompt": "x"}, "There is no part `image`. Send the picture to start from as a file."),
                ({"model": "draw", "image": image}, "The part `prompt` is missing. Add it."),
                ({"model": "draw", "prompt": "x", "n": "many", "image": image}, 'The part `n` is "many". Write a whole number.'),
                (
                    {"model": "draw", "prompt": "x", "size": "64x", "image": image},
                    'The part `size` is "64x". Write width x height in pixels, as 1024x768, or auto.',
                ),
                (
                    {"model": "draw", "prompt": "x", "response_format": "urls", "image": image},
                    'The part `response_format` is "urls". Known: b64_json, url. Did you mean "url"?',
                ),
                ({"model": "draw", "prompt": "x", "other": "1", "image": image}, 'The workflow draw has no named input "other".'),
                ({"model": "plain", "prompt": "x", "image": image}, 'The workflow plain has no named input "image".'),
            ):
                status, _, body = await edit(front, **fields)
                assert status == 422
                assert body["detail"].startswith(detail)
            assert desk.orders == []
            form = aiohttp.FormData(default_to_multipart=True)
            for _ in range(2):
                form.add_field("prompt", "x")
            _, _, body = await front.ask("POST", "/v1/images/edits", data=form, headers={"Authorization": f"Bearer {TOKEN}"})
            assert body["code"] in ("invalid", "unsupported_type")

    run(scenario())


def test_every_field_of_the_form_has_a_place():
    assert set(images.ImagesRequest.model_fields) > images._OWN
