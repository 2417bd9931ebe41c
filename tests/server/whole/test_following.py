"""Following jobs of a whole server: across its death, over the socket with previews, and by webhook."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import msgpack
import pytest

from server.client import AsyncClient, Client, ClientError, JobEvent
from tests.rig.serving import ROOT, Server, chain, n, running, workflow
from tests.server.api.test_client import proxy
from tests.server.whole.conftest import MakeServer


@pytest.mark.slow
@pytest.mark.spec("I3", "I8", "I13")
def test_the_client_runs_a_workflow_and_hears_every_node(server: Server) -> None:
    with Client(server.url, server.token) as client:
        heard: list[JobEvent] = []
        outcome = client.run(chain(3, 1.0, seconds=0.05), on_event=heard.append)
        assert (outcome.state, outcome.outputs) == ("done", {"last": 4.0})
        states = [(event.node, event.state) for event in heard if event.kind == "node"]
        assert states == [(f"s{at}", state) for at in range(3) for state in ("running", "done")]
        numbers = [event.seq for event in heard if event.kind != "progress"]
        assert numbers == sorted(numbers)
        again = client.run(chain(3, 1.0, seconds=0.05))
        assert {row["state"] for row in again.nodes} == {"cached"}
        with pytest.raises(ClientError) as caught:
            client.submit(workflow({"out": "a.value"}, a=n("fake/nothing", value=1.0)))
        assert (caught.value.code, caught.value.node) == ("invalid_workflow", "a")


@pytest.mark.slow
@pytest.mark.spec("I8", "R-L11")
@pytest.mark.proves(1)
def test_a_client_follows_its_job_across_kill_9_of_the_server(make_server: MakeServer) -> None:
    with running(make_server()) as server, Client(server.url, server.token) as client:
        job = client.submit(chain(4, 1.0, seconds=0.3))
        kinds: list[str] = []
        killed = False
        for event in job.events():
            kinds.append(event.kind)
            if event.kind == "node" and event.node == "s1" and event.state == "done" and not killed:
                killed = True
                server.kill()
                threading.Thread(target=server.start).start()
        assert killed
        assert (kinds.count("end"), kinds[-1], kinds.count("snapshot") >= 2) == (1, "end", True)
        outcome = job.wait()
        assert (outcome.state, outcome.outputs) == ("done", {"last": 5.0})
        assert [one.id for one in client.jobs()] == [job.id]


@pytest.mark.slow
@pytest.mark.spec("R-C07", "R-L11")
@pytest.mark.proves(6)
def test_a_job_that_was_committed_and_never_told_is_the_one_that_is_asked_for_again(make_server: MakeServer) -> None:
    """The answer is lost on the way, and the server is killed; the client's second attempt finds the job."""

    async def check() -> None:
        async with proxy() as way:
            server = make_server("--allow-host", f"127.0.0.1:{way.port}")
            started = await asyncio.to_thread(lambda: server.start().ready())
            try:
                way.target = started.port
                async with AsyncClient(f"http://127.0.0.1:{way.port}", started.token) as client:
                    way.cut(0)
                    asking = asyncio.ensure_future(client.submit(chain(1, 1.0)))
                    while not way.cuts:
                        await asyncio.sleep(0)
                    way.target = None
                    await asyncio.to_thread(server.kill)
                    way.target = (await asyncio.to_thread(lambda: server.start().ready())).port
                    job = await asking
                    assert (await job.wait()).outputs == {"last": 2.0}
                    assert [one.id async for one in client.jobs()] == [job.id]
            finally:
                await asyncio.to_thread(server.stop)

    asyncio.run(check())


@pytest.mark.slow
def test_previews_come_from_the_worker_to_the_socket(server: Server) -> None:
    document = json.loads((ROOT / "workflows/mini_text_to_image.json").read_text())

    async def check() -> list[dict[str, Any]]:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(headers=headers) as session, session.ws_connect(server.url + "/v1/ws") as socket:
            job = await asyncio.to_thread(server.submit, document, inputs={"steps": 3})
            await socket.send_bytes(msgpack.packb({"do": "subscribe", "jobs": [job["id"]], "previews": True}))
            frames: list[dict[str, Any]] = []
            while not frames or frames[-1]["event"] != "end":
                frames.append(msgpack.unpackb((await socket.receive(60)).data))
            return frames

    frames = asyncio.run(check())
    assert frames[-1]["state"] == "done"
    previews = [frame for frame in frames if frame["event"] == "preview"]
    assert previews
    assert all(frame["image"][:4] == b"RIFF" and frame["image"][8:12] == b"WEBP" for frame in previews)


@contextmanager
def receiving() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]], threading.Event]]:
    """A webhook's target: its address, what came, and whether something did."""
    got: list[tuple[dict[str, str], bytes]] = []
    came = threading.Event()

    class Target(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            came.set()

        def log_message(self, *_: object) -> None:
            pass

    target = ThreadingHTTPServer(("127.0.0.1", 0), Target)
    thread = threading.Thread(target=target.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{target.server_port}/hook", got, came
    finally:
        target.shutdown()
        thread.join()
        target.server_close()


@pytest.mark.slow
def test_a_webhook_hears_of_the_end(make_server: MakeServer) -> None:
    with receiving() as (url, got, came):
        server = make_server()
        settings = Path(server.home / "settings.toml")
        settings.write_text(f'[webhooks.mine]\nurl = "{url}"\nsecret = "{"s" * 32}"\n')
        settings.chmod(0o600)
        with running(server), Client(server.url, server.token) as client:
            job = client.submit(chain(2, 1.0), webhook="mine")
            assert job.wait().state == "done"
            assert came.wait(30)
            with pytest.raises(ClientError, match='There is no webhook "other"'):
                client.submit(chain(2, 1.0), webhook="other")
        ((headers, body),) = got
        signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
        assert headers["Webhook-Signature"] == "v1=" + hmac.digest(b"s" * 32, signed, "sha256").hex()
        assert (json.loads(body)["id"], json.loads(body)["state"]) == (job.id, "done")


@pytest.mark.slow
def test_a_picture_is_uploaded_used_and_what_was_made_of_it_downloaded(server: Server, tmp_path: Path) -> None:
    document = workflow(
        {"name": "save.file"}, {"picture": "load.file"}, load=n("load_image"), save=n("save_image", image="@load.image")
    )
    picture = ROOT / "workflows/mini_input.png"
    with Client(server.url, server.token) as client:
        assert client.validate(document, picture=picture)["valid"]
        assert {node["id"] for node in client.plan(document, picture=picture)["nodes"]} == {"load", "save"}
        outcome = client.run(document, picture=picture)
        (path,) = client.download(outcome, tmp_path / "pictures")
        assert path.name == outcome.outputs["name"]
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert client.job(outcome.id).download(tmp_path / "pictures") == [path]
        assert sorted(one.name for one in path.parent.iterdir()) == [path.name]
