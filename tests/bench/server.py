"""Benchmark of the server: its start, its memory, accepting a job, and trivial jobs a second, durably (Must show 5).

`python -m tests.bench.server`. Everything over real HTTP on loopback, clients in this process.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import sqlite3
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

from tests.bench.table import BusyElsewhere, Row, row, show
from tests.rig.serving import Server, chain, install_pack, make_catalogue, running

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

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")
        self._head = (
            f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
        )

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request; the answer's JSON."""
        content = b"" if body is None else json.dumps(body).encode()
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        status, length = int(self._answers.readline().split()[1]), 0
        while (line := self._answers.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        text = self._answers.read(length)
        if status >= 300:
            raise RuntimeError(f"{method} {path} gave {status}: {text[:500]!r}")
        return json.loads(text)


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


def bare_commits_s(folder: Path, count: int) -> list[float]:
    """Seconds of each of `count` commits of one row of a job's size, WAL and synchronous=FULL, nothing else."""
    database = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE jobs (id TEXT PRIMARY KEY, document BLOB)")
    document = json.dumps(chain(NODES, 1.0, "fake/quick")).encode()
    found = []
    for at in range(count):
        started = time.perf_counter()
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO jobs VALUES (?, ?)", (str(at), document))
        database.execute("COMMIT")
        found.append(time.perf_counter() - started)
    database.close()
    return found


class Accepting(NamedTuple):
    """Medians of one round, in seconds."""

    bare: float
    post: float
    #: A request that touches neither disk nor engine: HTTP's own part in `post`.
    get: float


def accepting(server: Server, folder: Path) -> list[Accepting]:
    """POST to 202 and a bare commit, interleaved, in some rounds."""
    connection, client, rounds = Connection(server), OnePacket(server), []
    for round_number in range(ROUNDS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        bare, posts, gets = [], [], []
        for at in range(ACCEPTS // 10):
            bare += bare_commits_s(_fresh(folder, at), 10)
            for each in range(10):
                body = {"workflow": chain(NODES, 1e6 * (round_number + 1) + (at * 10 + each) * 2 * NODES, "fake/quick")}
                started = time.perf_counter()
                client.ask("POST", "/v1/jobs", body)
                posts.append(time.perf_counter() - started)
                _idle(connection)
                started = time.perf_counter()
                client.ask("GET", "/v1/limits")
                gets.append(time.perf_counter() - started)
        rounds.append(Accepting(*(median(times) for times in (bare, posts, gets))))
    return rounds


def _fresh(folder: Path, at: int) -> Path:
    path = folder / str(at)
    path.mkdir()
    return path


def _idle(connection: Connection) -> None:
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
    bare, post, get = (1000 * median(times) for times in zip(*rounds, strict=True))
    parts = (
        f"n {ACCEPTS} each in {ROUNDS} rounds; commit {bare:.2f} ms, POST {post:.2f} ms, a GET without disk {get:.2f} ms; "
        f"met where a commit takes {post - bare:.1f} ms or longer"
    )
    found.append(row("POST to 202 / bare commit", [one.post / one.bare for one in rounds], "x", at_most=2, note=parts))
    found.append(row(f"{JOBS} jobs of {NODES} nodes, {CLIENTS} clients", rates, "jobs/s", at_least=250, note=note))
    return found


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(not show(rows()))
