"""A server that may have few files open: connections of strangers must not take those that requests need."""

from __future__ import annotations

import http.client
import json
import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from server.api.connections import Limits
from tests.rig.serving import PATIENCE_S, Server, chain, running, until
from tests.server.whole.conftest import MakeServer

pytestmark = [pytest.mark.slow, pytest.mark.spec("R-L03")]

#: Of 160 files a quarter is for connections.
FILES, CONNECTIONS, STRANGERS = 160, 40, 200


def under(limit: str) -> list[str]:
    """To run a server with, under `ulimit` with these arguments."""
    return ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh"]


class Kept:
    """A connection that is kept for one request after the other."""

    def __init__(self, server: Server) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        self._token = server.token

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        """One request with the token: status and JSON."""
        headers = {"Authorization": f"Bearer {self._token}", "X-File-Name": "a.txt"} | ({"Content-Type": kind} if body else {})
        self.connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


def is_taken(server: Server) -> bool:
    """Whether a new connection gets an answer; one too many may be gone before it has sent its request."""
    try:
        return server.get("/healthz").status == 200
    except ConnectionError:
        return False


@pytest.mark.proves(22)
def test_idle_strangers_leave_the_files_that_requests_need(make_server: MakeServer) -> None:
    with running(make_server(under=under(f"-n {FILES}"))) as server, ExitStack() as stack:
        kept = Kept(server)
        stack.callback(kept.connection.close)
        assert kept.ask("GET", "/v1/limits")[1]["connections"] == CONNECTIONS
        strangers = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)) for _ in range(STRANGERS)
        ]
        for refused in strangers[CONNECTIONS:]:
            assert refused.recv(12) == b"HTTP/1.1 503"
        for path in ("outputs", "models", "workflows", "jobs", "limits"):
            assert kept.ask("GET", f"/v1/{path}")[0] == 200, path
        assert kept.ask("POST", "/v1/files", b"notes", "application/octet-stream")[0] == 201
        assert kept.ask("PUT", "/v1/workflows/sum", chain(2, 1.0))[0] == 200
        status, job = kept.ask("POST", "/v1/jobs", {"workflow": "sum"})
        assert status == 202
        until(lambda: kept.ask("GET", f"/v1/jobs/{job['id']}")[1]["state"] == "done", "the job to end")
        for stranger in strangers:
            stranger.close()
        until(lambda: is_taken(server), "room for a new connection")
        assert (
            "The system allows the server 160 open files, so it takes 40 connections at a time instead of max_connections = 4096. "
            "Raise that limit to 4352 (`ulimit -n`; LimitNOFILE of a systemd unit), or lower max_connections."
        ) in server.log()
        assert "open files in system" not in server.log()
        assert "Too many open files" not in server.log()


def test_a_server_allows_itself_and_its_children_the_files_that_it_needs(make_server: MakeServer, home: Path) -> None:
    needed = Limits(max_connections=500).open_files
    (home / "settings.toml").write_text("max_connections = 500\n")
    with running(make_server(under=under("-S -n 200"))) as server:
        assert server.ended(server.submit(chain(2, 1.0, "fake/device_step"))["id"])["outputs"] == {"last": 3.0}
        for pid in (server.pid, server.engine_pid(), *server.worker_pids()):
            assert resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == needed
        assert server.get("/v1/limits").json["connections"] == 500
        assert "open files" not in server.log()
