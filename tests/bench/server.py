"""Benchmark of the server: its start, its memory, accepting a job, and trivial jobs a second, durably (Must show 5).

`python -m tests.bench.server`. Everything over real HTTP on loopback, clients in this process.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.bench import least
from tests.bench.table import BusyElsewhere, Row, row, show
from tests.rig.serving import ROOT, Server, chain, install_pack, make_catalogue, running

STARTS, ACCEPTS, ROUNDS = 9, 200, 3
JOBS, CLIENTS, NODES = 500, 16, 5


class Connection:
    """One kept-alive connection with the token."""

    def __init__(self, server: Server) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request; the answer's JSON."""
        self._http.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._http.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} gave {answer.status}: {text[:500]!r}")
        return json.loads(text)


class OnePacket:
    """One kept-alive connection that sends head and body together, as curl and browsers do (`http.client` sends two packets)."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    def seconds(self, method: str, path: str, body: Any = None) -> float:
        """Seconds from the first byte of a request until its answer has come whole; what is good is 2xx."""
        content = b"" if body is None else json.dumps(body).encode()
        request = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode() + content
        started = time.perf_counter()
        self._socket.sendall(request)
        answer = b""
        while not _is_whole(answer):
            part = self._socket.recv(65536)
            if not part:
                raise RuntimeError(f"{method} {path}: the server closed the connection after {answer[:500]!r}")
            answer += part
        took_s = time.perf_counter() - started
        if not answer.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{method} {path} gave {answer[:500]!r}")
        return took_s


def _is_whole(answer: bytes) -> bool:
    head, end, content = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: ([0-9]+)", head)
    return bool(end) and length is not None and len(content) == int(length[1])


def resident_mb(pid: int) -> float:
    """Resident memory of a process, MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


def first_answer_s(server: Server) -> float:
    """Seconds from the start of the process to its first HTTP answer, asked for as soon as the port is open."""
    port = _free_port()
    command = [sys.executable, "-c", "from server.start import main; main()", "serve", "--json", "--port", str(port)]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--devices", "cpu:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=server.environment
    )
    try:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            try:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                return time.perf_counter() - started
            except OSError:
                time.sleep(0.002)
            finally:
                connection.close()
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Accepting(NamedTuple):
    """Medians of one round, in seconds."""

    #: A commit in turn with the POSTs: each comes after the same moment of rest, when little is hot in any cache.
    bare: float
    post: float
    #: A request that touches neither disk nor engine, likewise: HTTP's own part in `post`.
    get: float
    #: A POST to a server that does nothing but such a commit (`tests.bench.least`), likewise.
    least: float
    #: A commit upon the other, as no request meets it.
    upon_another: float


def accepting(server: Server, folder: Path) -> list[Accepting]:
    """POST to 202, a bare commit, a GET and a POST to the least server, by turns, in some rounds."""
    connection, client, rounds = Connection(server), OnePacket(server.port, server.token), []
    document = json.dumps(chain(NODES, 1.0, "fake/quick")).encode()
    for round_number in range(ROUNDS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        database, numbers = least.opened(str(folder / "bare.sqlite")), itertools.count()

        def bare_commit() -> float:
            started = time.perf_counter()
            least.commit(database, next(numbers), document)
            return time.perf_counter() - started

        with least_server(folder) as beside:
            bare, posts, gets, leasts = [], [], [], []
            for at in range(ACCEPTS):
                body = {"workflow": chain(NODES, 1e6 * (round_number + 1) + at * 2 * NODES, "fake/quick")}
                posts.append(client.seconds("POST", "/v1/jobs", body))
                _idle(connection)
                bare.append(bare_commit())
                _idle(connection)
                gets.append(client.seconds("GET", "/v1/limits"))
                beside.seconds("GET", "/")
                leasts.append(beside.seconds("POST", "/", body))
                _idle(connection)
        hot = [bare_commit() for _ in range(ACCEPTS)]
        database.close()
        rounds.append(Accepting(*(median(times) for times in (bare, posts, gets, leasts, hot))))
    return rounds


@contextmanager
def least_server(folder: Path) -> Iterator[OnePacket]:
    """A connection to `tests.bench.least`, which runs in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.least", str(folder / "least.sqlite")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield OnePacket(int(process.stdout.readline()), "")
        finally:
            process.kill()


def _idle(connection: Connection) -> None:
    """Wait until no job is left, asking as a patient client does."""
    while connection.ask("GET", "/v1/jobs?state=queued&state=running&limit=1")["jobs"]:
        time.sleep(0.002)


def jobs_per_second(server: Server, first: float) -> float:
    """Send the jobs with 16 clients, wait until all are done; jobs a second from the first byte to the last end.

    Their inputs lie so far apart that no node of one job computes what a node of another does.
    """
    numbers: Iterator[int] = iter(range(JOBS))
    lock = threading.Lock()

    def client(_: int) -> None:
        connection = Connection(server)
        while True:
            with lock:
                at = next(numbers, None)
            if at is None:
                return
            document = chain(NODES, first + at * 2 * NODES, "fake/quick")
            connection.ask("POST", "/v1/jobs", {"workflow": document, "client": f"c{at % CLIENTS}"})

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
    _idle(Connection(server))
    return JOBS / (time.perf_counter() - started)


@contextmanager
def prepared() -> Iterator[Server]:
    """A server on a data folder of its own that has its catalogue, not started."""
    with tempfile.TemporaryDirectory(prefix="latentgraph-bench-") as folder:
        pack = install_pack(Path(folder, "pack"))
        home = Path(folder, "server", "home")
        home.parent.mkdir()
        make_catalogue(home, pack)
        home.chmod(0o700)
        yield Server(home, pack=pack)


def rows() -> list[Row]:
    """All measurements."""
    found: list[Row] = []
    with prepared() as server, BusyElsewhere() as busy:
        starts = [first_answer_s(server) for _ in range(STARTS)]
        with running(server):
            time.sleep(2)
            memory = resident_mb(server.pid)
            rounds = accepting(server, server.home.parent / "bare")
            rates = [jobs_per_second(server, 1e9 * (at + 1)) for at in range(ROUNDS)]
            after = resident_mb(server.pid)
    note = f"others used {busy.cores:.1f} cores"
    found.append(row("start to first answer", starts, "s", at_most=0.5, note=note))
    found.append(row("memory of the idle server process", [memory], "MiB", at_most=80, note=f"{after:.0f} after all jobs"))
    bare, post, get, other, hot = (1000 * median(times) for times in zip(*rounds, strict=True))
    parts = (
        f"n {ACCEPTS} each in {ROUNDS} rounds, by turns; commit {bare:.2f} ms, POST {post:.2f} ms, a GET without disk {get:.2f} ms; "
        f"a server that does nothing but such a commit {other:.2f} ms ({other / bare:.1f} x); "
        f"commits one upon the other {hot:.2f} ms each ({post / hot:.1f} x); met where a commit takes {post - bare:.1f} ms or longer"
    )
    found.append(row("POST to 202 / bare commit", [one.post / one.bare for one in rounds], "x", at_most=2, note=parts))
    found.append(row(f"{JOBS} jobs of {NODES} nodes, {CLIENTS} clients", rates, "jobs/s", at_least=250, note=note))
    return found


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(not show(rows()))
