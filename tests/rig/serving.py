"""A real server in processes of its own, on a data folder of the test, with the fake pack installed."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
#: `latentgraph`, of this checkout.
PROGRAM = (sys.executable, "-c", "from server.start import main; main()")
#: Nothing here takes that long unless it hangs, however busy the machine is.
PATIENCE_S = float(os.environ.get("RIG_PATIENCE_S", "180"))


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def install_pack(folder: Path) -> Path:
    """The fake pack as an installed distribution; the folder goes on PYTHONPATH. Written once: the catalogue goes by times."""
    if (folder / "fake_nodes.py").exists():
        return folder
    metadata = folder / "fake_nodes-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-nodes\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[latentgraph.nodes]\nfake = fake_nodes\n")
    shutil.copy(ROOT / "tests/rig/fake_nodes.py", folder / "fake_nodes.py")
    return folder


def make_catalogue(home: Path, pack: Path) -> None:
    """Put the catalogue with the fake pack into a data folder (imports every node module in a child: seconds)."""
    program = (
        "import pathlib, sys; from graph.catalogue import load_catalogue; from nodes.builtin import MODULES;"
        "load_catalogue(pathlib.Path(sys.argv[1]), MODULES)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, pack)))}
    subprocess.run([sys.executable, "-c", program, str(home)], env=environment, check=True, cwd=home.parent)


def until(found: Any, what: str, patience_s: float = PATIENCE_S) -> Any:
    """Call `found` until it gives something true, less and less often: looking takes time from what is waited for."""
    end, pause, pause_s = time.monotonic() + patience_s, threading.Event(), 0.01
    while True:
        value = found()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience_s:.0f} s in vain: {what}")
        pause.wait(pause_s)
        pause_s = min(1.2 * pause_s, 0.2)


def children_of(pid: int) -> list[int]:
    """All descendants of a process, by the kernel's own lists, parents first."""
    found: list[int] = []
    stack = [pid]
    while stack:
        at = stack.pop()
        for task in _listed(Path(f"/proc/{at}/task")):
            with suppress(OSError):
                children = [int(child) for child in Path(f"/proc/{at}/task/{task}/children").read_text().split()]
                found.extend(children)
                stack.extend(children)
    return found


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def command_of(pid: int) -> str:
    """The command line of a process; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


class Server:
    """`latentgraph serve` on one data folder; may be killed and started again."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        pack: Path,
        devices: str = "cpu:0",
        environment: Mapping[str, str] | None = None,
        under: Sequence[str] = (),
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """`under`: a command that carries out the one after it in the same process, with `exec`."""
        self.home, self.arguments, self.devices, self.under, self.program = home, arguments, devices, under, program
        self.witness = home.parent / "witness"
        self.environment = {
            **os.environ,
            "LATENTGRAPH_HOME": str(home),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, pack))),
            "RIG_WITNESS": str(self.witness),
            "OMP_NUM_THREADS": "1",
            **(environment or {}),
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.url = self.token = ""
        self.port = 0
        self.log_path = home.parent / "server.log"

    # ---- life ----

    def start(self, *more: str) -> Server:
        """Start it and wait until it has printed its address."""
        port = str(self.port)  # the same again after a restart
        command = [*self.under, *self.program, "serve", "--json", "--port", port]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--devices", self.devices, *self.arguments, *more],
                stdout=subprocess.PIPE, stderr=log, env=self.environment, cwd=self.home.parent,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith(b'{"url"'):  # an error is one JSON document too
            raise AssertionError(f"the server did not start (exit {self.process.wait()}):\n{self.log()[-4000:]}")
        said = json.loads(line)
        self.url, self.token = said["url"].rstrip("/"), said["token"]
        self.port = int(self.url.rpartition(":")[2])
        return self

    def ready(self) -> Server:
        """Wait until the engine takes jobs."""
        until(lambda: self.get("/readyz").status == 200, "the server to be ready")
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def engine_pid(self) -> int:
        """The engine's process."""
        return int(
            until(lambda: next((p for p in children_of(self.pid) if "server.engine.process" in command_of(p)), 0), "an engine")
        )

    def worker_pids(self) -> list[int]:
        """The worker processes, host ones included."""
        return [pid for pid in children_of(self.pid) if "graph.worker" in command_of(pid)]

    def kill(self) -> None:
        """kill -9 of the server process; what it started must go by itself."""
        assert self.process is not None
        below = children_of(self.pid)
        self.process.kill()
        self.process.wait()
        until(lambda: not [pid for pid in below if is_alive(pid)], f"the children of the killed server to be gone: {below}")

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            below = children_of(self.pid)
            self.process.kill()
            for pid in below:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"the server did not end:\n{self.log()[-4000:]}") from None

    def log(self) -> str:
        """All it said on stderr."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # ---- requests ----

    def request(
        self,
        method: str,
        path: str,
        body: bytes | Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = PATIENCE_S,
    ) -> Reply:
        """One request with the token; `body` bytes as they are, else as JSON."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, data, {key: value for key, value in sent.items() if value})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Reply:
        return self.request("GET", path)

    def submit(self, workflow: Any, headers: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
        """POST a job; the accepted one."""
        reply = self.request("POST", "/v1/jobs", {"workflow": workflow, **more}, headers)
        assert reply.status in (200, 202), (reply.status, reply.body[:2000])
        accepted: dict[str, Any] = reply.json
        return accepted

    def job(self, id: str) -> dict[str, Any]:
        reply = self.get(f"/v1/jobs/{id}")
        assert reply.status == 200, (reply.status, reply.body[:2000])
        found: dict[str, Any] = reply.json
        return found

    def ended(self, id: str, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for a job's end."""
        final = ("done", "failed", "cancelled")
        found: dict[str, Any] = until(
            lambda: job if (job := self.job(id))["state"] in final else None, f"job {id} to end", patience_s
        )
        return found

    def open_gate(self, name: str) -> None:
        """Let the nodes go on that wait at this gate."""
        self.witness.with_name(f"{self.witness.name}.{name}").touch()

    def witnessed(self) -> list[list[str]]:
        """The lines of the witness file."""
        return [line.split() for line in self.witness.read_text().splitlines()] if self.witness.exists() else []


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, started and ready; ended, with all it started, when the block ends."""
    try:
        yield server.start().ready()
    finally:
        below = children_of(server.pid) if server.process is not None and server.process.poll() is None else []
        server.stop()
        left = [pid for pid in below if is_alive(pid)]
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        assert not left, f"the server left processes behind: {[command_of(pid) for pid in left]}"


def n(type: str, **inputs: Any) -> dict[str, Any]:
    """A node; "@a.b" is a link."""
    return {
        "type": type,
        "inputs": {
            name: {"link": value[1:]} if isinstance(value, str) and value.startswith("@") else value
            for name, value in inputs.items()
        },
    }


def workflow(outputs: Mapping[str, str] | None = None, inputs: Mapping[str, str] | None = None, **nodes: Any) -> dict[str, Any]:
    """A document of these nodes."""
    return {
        "format": "latentgraph/workflow", "version": "1.0", "name": "rig", "nodes": nodes,
        "inputs": {name: {"to": to} for name, to in (inputs or {}).items()},
        "outputs": {name: {"from": source} for name, source in (outputs or {}).items()},
    }  # fmt: skip


def chain(length: int, start: float, type: str = "fake/step", **more: Any) -> dict[str, Any]:
    """A chain of steps with one named output: start + length."""
    nodes = {"s0": n(type, value=start, **more)}
    nodes |= {f"s{at}": n(type, value=f"@s{at - 1}.value", **more) for at in range(1, length)}
    return workflow({"last": f"s{length - 1}.value"}, **nodes)
