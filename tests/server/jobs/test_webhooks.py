"""Webhooks: signed, tried again until taken, never led into a private network, and telling nothing of what was asked."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from server.configuration import Settings, WebhookTarget
from server.jobs import webhooks as module
from server.jobs.record import Delivery, Job, JobResult, new_id
from server.jobs.webhooks import ATTEMPT_S, NOTE_AGAIN_S, RETRY_S, Target, Webhooks, body_of
from server.problems import Refusal
from server.settings import WrongUsage

SECRET = b"k" * 32
#: What the documents say of webhooks.
SECTION = (
    (Path(__file__).parents[3] / "docs" / "operation.md")
    .read_text(encoding="utf-8")
    .partition("\n## Webhooks\n")[2]
    .partition("\n## ")[0]
)


def a_job(**changes: Any) -> Job:
    problem = {"code": "node_failed", "node": "sample", "detail": "the prompt: a secret cat"}
    result = JobResult(2.5, 2.0, (), {"text": "a secret cat"}, problem=problem)
    job = Job(
        new_id(),
        "portrait",
        "failed",
        {"prompt": "a secret cat"},
        None,
        {},
        (),
        0,
        "ann",
        1.0,
        2.0,
        0,
        1000.0,
        1001.0,
        1002.0,
        None,
        "hook",
        result,
    )
    return replace(job, **changes)


class Store:
    """Deliveries in memory, by a clock that the test turns."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs = {job.id: job for job in jobs}
        self.now = 0.0
        self.due: dict[int, tuple[float, Delivery]] = {
            number: (0.0, Delivery(number, job.id, "hook", 0)) for number, job in enumerate(jobs, 1)
        }
        self.marks: list[tuple[int, float | None, str]] = []
        self.marked = asyncio.Event()
        #: So many outcomes, and reads of a job, the full disk does not let it take.
        self.refused_marks = self.refused_reads = 0
        self.given_up: list[tuple[set[str], str]] = []

    def get(self, id: str) -> Future[Job | None]:
        if self.refused_reads > 0:
            self.refused_reads -= 1
            return full()
        return done(self.jobs.get(id))

    def due_deliveries(self, targets: Collection[str], most_each: int) -> Future[list[Delivery]]:
        due = [delivery for due, delivery in self.due.values() if due <= self.now]
        return done([one for name in targets for one in [one for one in due if one.target == name][:most_each]])

    def next_delivery_in(self, targets: Collection[str]) -> Future[float | None]:
        waiting = (max(0.0, due - self.now) for due, delivery in self.due.values() if delivery.target in targets)
        return done(min(waiting, default=None))

    def give_up_deliveries(self, targets: Collection[str], message: str) -> Future[None]:
        self.given_up.append((set(targets), message))
        return done(None)

    def mark_delivery(self, id: int, *, again_in_s: float | None, message: str = "") -> Future[None]:
        if self.refused_marks > 0:
            self.refused_marks -= 1
            return full()
        _, delivery = self.due.pop(id)
        if again_in_s is not None:
            self.due[id] = (self.now + again_in_s, delivery._replace(attempts=delivery.attempts + 1))
        self.marks.append((id, again_in_s, message))
        self.marked.set()
        return done(None)

    async def marks_after(self, count: int) -> list[tuple[int, float | None, str]]:
        while len(self.marks) < count:
            self.marked.clear()
            await asyncio.wait_for(self.marked.wait(), 20)
        return self.marks


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def full() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(Refusal("disk_full", "The disk is full."))
    return future


@asynccontextmanager
async def receiver(answer: Callable[[web.Request], Awaitable[web.StreamResponse]], host: str = "127.0.0.1") -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/hook", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    try:
        yield f"http://{host}:{runner.addresses[0][1]}/hook"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def running(url: str, store: Store, is_private: bool = False, **more: Any) -> AsyncIterator[Webhooks]:
    webhooks = Webhooks({"hook": Target(url, SECRET, is_private)}, store, **more)
    await webhooks.start()
    try:
        yield webhooks
    finally:
        await webhooks.stop()


def run(step: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await step

    asyncio.run(bounded())


def test_the_end_of_a_job_is_told_once_with_a_signature_that_can_be_checked() -> None:
    got: list[tuple[dict[str, str], bytes]] = []

    async def take(request: web.Request) -> web.Response:
        got.append((dict(request.headers), await request.read()))
        return web.Response(status=204)

    async def check() -> None:
        store = Store(job := a_job())
        async with receiver(take) as url, running(url, store):
            assert await store.marks_after(1) == [(1, None, "delivered")]
        (headers, body) = got[0]
        assert (headers["Webhook-Id"], headers["Content-Type"]) == (f"{job.id}-1", "application/json")
        signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
        assert headers["Webhook-Signature"] == "v1=" + hmac.digest(SECRET, signed, "sha256").hex()
        assert json.loads(body)["id"] == job.id
        assert len(got) == 1

    run(check())


def test_the_check_that_the_documents_show_takes_a_delivery_and_nothing_else() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    shown: dict[str, Any] = {}
    exec(source, shown)
    is_genuine = shown["is_genuine"]
    got: list[tuple[dict[str, str], bytes]] = []

    async def take(request: web.Request) -> web.Response:
        got.append((dict(request.headers), await request.read()))
        return web.Response(status=204)

    async def check() -> None:
        store = Store(a_job())
        async with receiver(take) as url, running(url, store):
            await store.marks_after(1)

    run(check())
    ((headers, body),) = got
    assert is_genuine(headers, body, SECRET.decode())
    assert not is_genuine(headers, body + b" ", SECRET.decode())
    assert not is_genuine(headers, body, "another secret of 32 characters.")
    assert not is_genuine(headers | {"Webhook-Id": "other"}, body, SECRET.decode())
    assert not is_genuine(headers | {"Webhook-Signature": "v1=\u00e9"}, body, SECRET.decode())
    long_ago = module.signed("x", 1_000, body, SECRET)
    assert not is_genuine(long_ago, body, SECRET.decode())
    assert set(long_ago) - {"Content-Type", "User-Agent"} == set(re.findall(r"^\| `(Webhook-\w+)` ", SECTION, re.MULTILINE))


def test_the_documents_say_what_the_body_holds_and_when_it_is_tried_again() -> None:
    (shown,) = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", SECTION, re.DOTALL))
    real = json.loads(body_of(a_job()))
    assert (list(shown), set(shown["problem"])) == (list(real), set(real["problem"]))

    def told(seconds: float) -> str:
        return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min" if seconds < 3600 else f"{seconds / 3600:g} h"

    *some, last = map(told, RETRY_S)
    said = " ".join(SECTION.split())
    assert f"pauses of {', '.join(some)} and {last}, and then given up" in said
    assert f"within {told(ATTEMPT_S)} takes" in said


def test_the_body_tells_how_it_ended_and_nothing_of_what_was_asked() -> None:
    said = json.loads(body_of(a_job(id="x")))
    assert said == {
        "id": "x", "state": "failed", "workflow": "portrait", "client": "ann", "created": 1000.0, "started": 1001.0, "ended": 1002.0,
        "retry_of": None, "seconds": 2.5, "problem": {"code": "node_failed", "node": "sample"},
    }  # fmt: skip
    assert b"cat" not in body_of(a_job())


def test_a_delivery_is_tried_again_later_and_later_and_then_given_up(caplog: pytest.LogCaptureFixture) -> None:
    count = 0

    async def refuse(_: web.Request) -> web.Response:
        nonlocal count
        count += 1
        return web.Response(status=500)

    async def check() -> None:
        store = Store(a_job())
        async with receiver(refuse) as url, running(url, store) as webhooks:
            for number in range(1, len(RETRY_S) + 2):
                marks = await store.marks_after(number)
                store.now += 4000
                webhooks.job_ended(a_job())
            assert [again for _, again, _ in marks] == [*RETRY_S, None]
            assert (marks[0][2], marks[-1][2]) == ("it answered 500", "given up: it answered 500")
        assert count == len(RETRY_S) + 1
        assert [record.getMessage() for record in caplog.records[-2:]] == [
            "Webhook hook failed: it answered 500.",
            "Webhook hook failed: given up: it answered 500.",
        ]

    assert (RETRY_S[0], RETRY_S[-1], len(RETRY_S)) == (1.0, 3600.0, 8)
    run(check())


@pytest.mark.spec("R-N11")
def test_a_redirect_is_not_followed() -> None:
    followed = False

    async def lead_on(request: web.Request) -> web.Response:
        nonlocal followed
        followed = followed or request.query_string == "next"
        return web.Response(status=307, headers={"Location": "/hook?next"})

    async def check() -> None:
        store = Store(a_job())
        async with receiver(lead_on) as url, running(url, store):
            assert (await store.marks_after(1))[0] == (1, 1.0, "it answered 307")
        assert not followed

    run(check())


@pytest.mark.spec("R-N11")
def test_an_endless_answer_is_not_read() -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while True:
                await answer.write(bytes(65536))
        except ConnectionError:
            return answer

    async def check() -> None:
        store = Store(a_job())
        async with receiver(flood) as url, running(url, store):
            assert await store.marks_after(1) == [(1, None, "delivered")]

    run(check())


@pytest.mark.parametrize(("status", "noted"), [(204, (1, None, "delivered")), (500, (1, 1.0, "it answered 500"))])
def test_what_was_posted_is_not_posted_again_because_the_disk_is_full(
    status: int, noted: tuple[int, float | None, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Only the note of it is tried again, with pauses."""
    posts, pauses = 0, list[float]()

    async def take(_: web.Request) -> web.Response:
        nonlocal posts
        posts += 1
        return web.Response(status=status)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    async def check() -> None:
        store = Store(job := a_job())
        store.refused_marks = 3
        async with receiver(take) as url, running(url, store, sleep=sleep) as webhooks:
            webhooks.job_ended(job)
            assert await store.marks_after(1) == [noted]

    run(check())
    assert (posts, pauses) == (1, [NOTE_AGAIN_S] * 3)
    assert [line for line in caplog.messages if "noted" in line] == [
        "What became of a webhook cannot be noted: The disk is full."
    ]


def test_an_answer_of_the_store_that_is_older_than_the_end_of_a_delivery_does_not_repeat_it() -> None:
    posts = 0

    class Late(Store):
        """Its second answer waits until it is let go."""

        def __init__(self, job: Job) -> None:
            super().__init__(job)
            self.asked = [asyncio.Event() for _ in range(3)]
            self.let_go: Callable[[], None] = lambda: None

        def due_deliveries(self, targets: Collection[str], most_each: int) -> Future[list[Delivery]]:
            number = [event.is_set() for event in self.asked].index(False)
            self.asked[number].set()
            found, late = super().due_deliveries(targets, most_each), Future[list[Delivery]]()
            self.let_go = lambda: late.set_result(found.result())
            return late if number == 1 else found

    async def check() -> None:
        store = Late(job := a_job())

        async def take(_: web.Request) -> web.Response:
            nonlocal posts
            posts += 1
            webhooks.job_ended(job)
            await store.asked[1].wait()
            return web.Response()

        async with receiver(take) as url, running(url, store) as webhooks:
            await store.marks_after(1)
            while webhooks._under_way:
                await asyncio.sleep(0)
            store.let_go()
            await store.asked[2].wait()
            assert not webhooks._under_way
        assert posts == 1

    run(check())


def test_a_job_that_cannot_be_read_is_not_asked_for_without_pause() -> None:
    async def check() -> None:
        store = Store(a_job())
        store.refused_reads = 1000
        async with running("https://hooks.example", store):
            for _ in range(500):
                await asyncio.sleep(0)
        assert store.refused_reads == 999

    run(check())


def test_a_target_that_never_answers_delays_no_other() -> None:
    async def check() -> None:
        held = asyncio.Event()

        async def silent(_: web.Request) -> web.Response:
            await held.wait()
            return web.Response()

        async def take(_: web.Request) -> web.Response:
            return web.Response()

        store = Store(*[a_job() for _ in range(200)])
        silents = [f"silent {number}" for number in range(20)]
        for number, (_, delivery) in store.due.items():
            store.due[number] = (0.0, delivery._replace(target="other" if number == 200 else silents[number % 20]))
        async with receiver(silent) as slow, receiver(take) as quick:
            webhooks = Webhooks({name: Target(slow, SECRET) for name in silents} | {"other": Target(quick, SECRET)}, store)
            await webhooks.start()
            try:
                assert await store.marks_after(1) == [(200, None, "delivered")]
            finally:
                held.set()
                await webhooks.stop()

    run(check())


def test_no_answer_in_time_is_a_failed_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ATTEMPT_S", 0.05)

    async def check() -> None:
        held = asyncio.Event()

        async def silent(_: web.Request) -> web.Response:
            await held.wait()
            return web.Response()

        store = Store(a_job())
        async with receiver(silent) as url, running(url, store):
            assert await store.marks_after(1) == [(1, 1.0, "no answer within 0.05 s")]
            held.set()

    run(check())


#: One address of each private network.
PRIVATE = ("10.1.2.3", "192.168.0.1", "172.16.0.1", "100.64.0.1", "fc00::1")


@pytest.mark.spec("R-N11")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1", "::1", "::",
        "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "::127.0.0.1", "fec0::1", "2002:7f00:1::", "2001::1", "ff02::1",
    ],
)  # fmt: skip
def test_a_name_that_leads_into_a_private_network_is_refused_before_anything_is_sent(address: str) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        assert (host, port) == ("hooks.example", 443)
        return ["93.184.216.34", address]  # one good answer does not help

    async def check() -> None:
        store = Store(a_job())
        async with running("https://hooks.example/hook", store, resolve=resolve):
            ((_, again_in_s, message),) = await store.marks_after(1)
            assert again_in_s == 1.0
            assert message.startswith("its host's address is in a private network")
            assert ("private = true in its settings allows" in message) == (address in PRIVATE)

    run(check())


@pytest.mark.parametrize("address", PRIVATE)
def test_a_target_may_lead_into_a_private_network_where_its_settings_say_so(address: str) -> None:
    module._check([address, "93.184.216.34"], is_local=False, is_private=True)
    host = f"[{address}]" if ":" in address else address
    settings = Settings(webhooks={"hook": WebhookTarget(url=f"https://{host}/hook", secret=SecretStr("k" * 32), private=True)})
    Webhooks.of(settings.webhooks, Store()).check("hook")


@pytest.mark.spec("R-N11")
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "::1", "fe80::1%eth0", "::ffff:10.0.0.1"]
)
def test_what_is_no_network_of_anybodys_is_refused_even_then(address: str) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return [address]

    async def check() -> None:
        store = Store(a_job())
        async with running("https://hooks.example/hook", store, True, resolve=resolve):
            assert await store.marks_after(1) == [(1, 1.0, "its host's address is in a private network")]

    run(check())


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1"])
def test_public_addresses_are_none_of_these(address: str) -> None:
    module._check([address], is_local=False, is_private=False)


def test_a_local_target_may_lead_only_to_this_machine() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.1"]

    async def check() -> None:
        store = Store(a_job())
        async with running("http://localhost:1/hook", store, resolve=resolve):
            assert await store.marks_after(1) == [(1, 1.0, "its host's address is in a private network")]

    run(check())


@pytest.mark.spec("R-N11")
def test_the_address_that_was_checked_is_the_one_that_is_called() -> None:
    """The name is looked up once: a second answer (rebinding) is never asked for."""
    asked = 0

    async def take(_: web.Request) -> web.Response:
        return web.Response()

    async def check() -> None:
        store = Store(a_job())

        async def resolve(host: str, port: int) -> list[str]:
            nonlocal asked
            asked += 1
            return ["127.0.0.2"]  # another look-up would say 127.0.0.1, where nobody listens

        async with receiver(take, "127.0.0.2") as url, running(url.replace("127.0.0.2", "localhost"), store, resolve=resolve):
            assert await store.marks_after(1) == [(1, None, "delivered")]
        assert asked == 1

    run(check())


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/x",
        "ftp://hooks.example",
        "https://",
        "http://10.0.0.1/x",
        "https://host:99999999/",
        "file:///etc/passwd",
    ],
)
def test_targets_that_cannot_be_are_refused_at_the_start(url: str) -> None:
    with pytest.raises(WrongUsage, match=r"webhook hook in the settings .*https://host/path"):
        Webhooks({"hook": Target(url, SECRET)}, Store())


@pytest.mark.parametrize("host", [*(f"[{one}]" if ":" in one else one for one in PRIVATE), "10.66051", "0xc0a80001"])
def test_a_private_address_that_the_settings_do_not_allow_is_refused_at_the_start(host: str) -> None:
    said = r"webhook hook in the settings is \S+, which is in a private network.*write private = true under \[webhooks.hook\]"
    with pytest.raises(WrongUsage, match=said):
        Webhooks({"hook": Target(f"https://{host}/hook", SECRET)}, Store())


@pytest.mark.parametrize("host", ["169.254.169.254", "0.0.0.0", "2130706433", "224.0.0.1", "[::]", "[::ffff:10.0.0.1]"])
def test_an_address_where_nothing_can_be_delivered_is_refused_at_the_start(host: str) -> None:
    with pytest.raises(
        WrongUsage, match="webhook hook in the settings is .*in no network that webhooks go to. Give a public address"
    ):
        Webhooks({"hook": Target(f"https://{host}/hook", SECRET, True)}, Store())


def test_a_job_can_name_only_targets_of_the_settings() -> None:
    webhooks = Webhooks({"hook": Target("https://hooks.example", SECRET)}, Store())
    webhooks.check("hook")
    with pytest.raises(Refusal, match=r'There is no webhook "hok". Did you mean "hook"\?'):
        webhooks.check("hok")
    with pytest.raises(Refusal, match="None are set up"):
        Webhooks({}, Store()).check("hook")


def test_the_webhook_of_a_deleted_job_is_given_up() -> None:
    async def check() -> None:
        store = Store(a_job())
        store.jobs.clear()
        async with running("https://hooks.example", store):
            assert await store.marks_after(1) == [(1, None, "given up: the job was deleted")]

    run(check())


@pytest.mark.parametrize("names", [(), ("hook",)])
def test_what_waits_for_a_target_that_is_gone_is_given_up_at_the_start(names: tuple[str, ...]) -> None:
    async def check() -> None:
        store = Store()
        webhooks = Webhooks({name: Target("https://hooks.example", SECRET) for name in names}, store)
        await webhooks.start()
        await webhooks.stop()
        assert store.given_up == [(set(names), "given up: the settings name no such target any more")]

    run(check())


def test_a_full_disk_at_the_start_does_not_keep_webhooks_from_being_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def take(_: web.Request) -> web.Response:
        return web.Response()

    async def check() -> None:
        store = Store(a_job())
        monkeypatch.setattr(store, "give_up_deliveries", lambda *_: full())
        async with receiver(take) as url, running(url, store):
            assert await store.marks_after(1) == [(1, None, "delivered")]

    run(check())


def test_without_targets_nothing_runs() -> None:
    async def check() -> None:
        webhooks = Webhooks({}, Store())
        before = asyncio.all_tasks()
        await webhooks.start()
        assert asyncio.all_tasks() == before
        await webhooks.stop()

    run(check())
