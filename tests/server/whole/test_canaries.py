"""No secret, path, trace or prompt is where it does not belong, over a whole run of everything (spec L9, L10)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rig.every_request import DOCUMENT, requests, send
from tests.rig.serving import Reply, Server, n, running, workflow
from tests.server.whole.conftest import MakeServer
from tests.server.whole.test_paths import furnished

pytestmark = [pytest.mark.slow, pytest.mark.spec("L9", "L10")]

HOME = "data-folder-of-the-canary"
WEBHOOK = "webhook-canary-5b1d9c"
PROMPT = "prompt-canary-77aa31"
ENVIRONMENT = "environment-canary-a90f3e"
#: Files of the data folder that hold a secret because they are there for it.
THEIR_PLACES = ("token", "secret", "settings.toml")


def test_no_secret_path_or_trace_leaves_the_server(make_server: MakeServer, tmp_path: Path) -> None:
    server = make_server(name=HOME, environment={"HF_TOKEN": ENVIRONMENT, "LATENTGRAPH_IMAGES_WAIT_S": "0.05"})
    server.home.joinpath("settings.toml").write_text(
        f'log_level = "debug"\n[webhooks.studio]\nurl = "https://127.0.0.1:1/{WEBHOOK}"\nsecret = "{WEBHOOK}-{WEBHOOK}"\n'
    )
    server.home.joinpath("settings.toml").chmod(0o600)
    with running(server):
        there = furnished(server)
        replies = [*troubled(server), *swept(server, there)]
        assert len(replies) > 400
        secrets = {
            "the token": server.token, "the key of sessions": (server.home / "secret").read_text().strip(),
            "a webhook": WEBHOOK, "the environment": ENVIRONMENT,
        }  # fmt: skip
        told = [(reply.status, *reply.headers.items(), reply.body.decode("utf-8", "replace")) for reply in replies]
    for what, secret in {**secrets, "the data folder": HOME, "a trace": "Traceback (most recent", "a file": 'File "/'}.items():
        around = [str(one).partition(secret)[0][-200:] for one in told if secret in str(one)]
        assert around == [], f"an answer tells {what}"
    log = server.log()
    for what, secret in {**secrets, "a prompt": PROMPT, "a trace": "Traceback (most recent"}.items():
        assert [line for line in log.splitlines() if secret in line] == [], f"the log tells {what}"
    assert all(line.startswith("{") and json.loads(line) for line in log.splitlines())
    files = [path for path in server.home.rglob("*") if path.is_file() and path.name not in THEIR_PLACES]
    assert {".png", ".sqlite"} <= {path.suffix for path in files}
    for what, secret in secrets.items():
        assert [path for path in files if secret.encode() in path.read_bytes()] == [], f"a file holds {what}"


def swept(server: Server, there: dict[str, str]) -> list[Reply]:
    """Answers to good and bad requests of every kind."""
    document = server.get("/v1/openapi.json").json
    return [send(server, request) for text in ("x", "/", "\0") for request in requests(document, there, text)]


def troubled(server: Server) -> list[Reply]:
    """Answers about jobs that fail over paths, damaged pictures and files that are gone."""
    replies = []
    sent = server.request("POST", "/v1/files", b"GIF89a no picture", {"Content-Type": "application/octet-stream"}).json
    load = {"type": "load_image", "inputs": {"file": {"file": "a.gif", "sha256": sent["sha256"]}}}
    for document in (
        workflow(
            {"a": "fail.value"}, fail=n("fake/fail", value=1.0, message="[Errno 2] No such file or directory: 'HOME/memo/x.bin'")
        ),
        workflow({"a": "load.image"}, load=load),
        workflow({"a": "text.value"}, text=n("text", value=PROMPT)),
        workflow({"a": "fail.value"}, fail=n("fake/fail", value=1.0, message=PROMPT)),
        workflow({"a": "die.value"}, die=n("fake/die", value=1.0, how="exit1", times=1)),
        DOCUMENT,
    ):
        reply = server.request("POST", "/v1/jobs", {"workflow": document, "webhook": "studio"})
        replies.append(reply)
        if reply.status == 202:
            id = server.ended(reply.json["id"])["id"]
            ends = ("", "/nodes", "/document", "/events", "/values/text/value", "/values/load/image")
            replies += [server.get(f"/v1/jobs/{id}{end}") for end in ends]
        replies.append(server.request("POST", "/v1/workflows/plan", {"workflow": document}))
    replies += [server.get(f"/v1/files/{sent['sha256']}/thumbnail"), server.get("/readyz"), server.get("/metrics")]
    replies += [server.request("GET", "/v1/jobs", None, {"Authorization": "Bearer wrong"}), server.get("/v1/devices")]
    (server.home / "workflows" / "broken.json").write_text("{")
    for folder in ("memo", "disk_cache"):
        for blob in sorted((server.home / folder).rglob("*"))[:50]:
            if blob.is_file() and blob.stat().st_size and blob.suffix not in (".db", ".sqlite"):
                damaged = bytearray(blob.read_bytes())
                damaged[-1] ^= 255
                blob.chmod(0o600)
                blob.write_bytes(damaged)
    replies += [server.request("POST", "/v1/cache/verify"), server.get("/v1/workflows"), server.get("/v1/workflows/broken")]
    return replies
