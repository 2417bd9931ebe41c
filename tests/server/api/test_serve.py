"""`latentgraph serve` as a process: where it listens, what it refuses to start on, what it prints, how it ends."""

from __future__ import annotations

import errno
import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from graph.errors import LatentgraphError
from server.lock import HomeLock, ServerRuns, private_home
from server.serve import Place, bind, check_place, link_host, serve
from server.settings import WrongUsage

ROOT = Path(__file__).parents[3]
LIMIT_S = 60
COMMAND = [sys.executable, "-c", "from server.start import main; main()", "serve"]


class Process:
    """A server process on a data folder."""

    def __init__(self, home: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LATENTGRAPH_")}
        variables |= {"LATENTGRAPH_HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | dict(environment or {})
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            cwd=home.parent,
        )
        self.url = self.token = ""
        self.port = 0

    def listen(self) -> Process:
        """Wait for its line."""
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        self.url, self.token = said["url"], said["token"]
        self.port = int(self.url.rpartition(":")[2])
        return self

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"} | headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Tell it to stop: exit code, the rest of stdout, stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.result()

    def result(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out.decode(), err.decode()


Start = Callable[..., Process]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts servers on the test's data folder; ends them all."""
    home.chmod(0o700)
    started: list[Process] = []

    def start(*arguments: str, **options: Any) -> Process:
        started.append(Process(home, *arguments, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


# ---- what is refused at the start ----


@pytest.mark.slow
@pytest.mark.spec("R-N07", "L1")
@pytest.mark.proves(18)
@pytest.mark.parametrize("how", ["flag", "variable", "file"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_does_not_listen_on_every_network_without_a_name(start: Start, home: Path, host: str, how: str) -> None:
    port = free_port()
    arguments = ["--port", str(port)] + (["--host", host] if how == "flag" else [])
    if how == "file":
        (home / "settings.toml").write_text(f'host = "{host}"\n')
    process = start(*arguments, environment={"LATENTGRAPH_HOST": host} if how == "variable" else {})
    code, out, err = process.result()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"The host {host} listens on every network of this machine, and no name is allowed" in err
    assert not listens(port)


@pytest.mark.slow
@pytest.mark.spec("R-N07", "R-P08")
@pytest.mark.proves(18)
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize(("token", "mode"), [("", 0o600), ("short", 0o600), ("x" * 43, 0o644)])
def test_it_does_not_listen_without_a_usable_token(start: Start, home: Path, host: str, token: str, mode: int) -> None:
    (home / "token").write_text(token)
    (home / "token").chmod(mode)
    port = free_port()
    code, out, err = start("--port", str(port), "--host", host, "--allow-host", "canvas.example").result()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "holds the token, " in err
    assert not listens(port)


@pytest.mark.spec("R-N07")
@pytest.mark.proves(18)
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_of_the_whole_machine_needs_a_name(host: str) -> None:
    with pytest.raises(WrongUsage, match="--allow-host NAME"):
        check_place(Place(host, 0))
    check_place(Place(host, 0, hosts=("canvas.example",)))


def test_the_link_names_what_the_server_is_called() -> None:
    assert link_host(Place("127.0.0.1", 0), 8) == "127.0.0.1:8"
    assert link_host(Place("::1", 0), 8) == "[::1]:8"
    assert link_host(Place("0.0.0.0", 0, ("canvas.example",)), 8) == "canvas.example:8"
    assert link_host(Place("0.0.0.0", 0, ("canvas.example:443",)), 8) == "canvas.example:443"


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Exception, match=f"127.0.0.1:{port} cannot be listened on .* or give another --port"):
            bind(Place("127.0.0.1", port))


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EADDRNOTAVAIL, "This machine does not have that address now: give one it has with --host, as 127.0.0.1."),
        (errno.EACCES, "Give a --port that needs no rights, as 8765, and put a proxy before it."),
        (errno.EAFNOSUPPORT, "Give another --host or --port."),
    ],
)
def test_what_to_do_about_an_address_goes_by_what_the_system_says(
    monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(LatentgraphError) as error:
        bind(Place("127.0.0.1", 80))
    assert str(error.value) == f"127.0.0.1:80 cannot be listened on ({os.strerror(number)}). {advice}"
    assert not isinstance(error.value, WrongUsage)  # a unit starts it again: the address may come yet


@pytest.fixture
def no_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be bound, let alone answered, before the settings are known to be good."""

    def bind(place: Place) -> None:
        raise AssertionError(f"it would have listened on {place}")

    monkeypatch.setattr("server.serve.bind", bind)
    monkeypatch.setattr("nodes.devices.accelerators_at_once", lambda: ())


WRONG = {
    'devices = "cuda:0"': "HOME/settings.toml: devices names cuda:0, which this machine does not offer; it has cpu.",
    'devices = "gpu"': 'HOME/settings.toml: devices got "gpu"; a device is cpu, cpu:0, cuda:0 or mps.',
    'workflows_folder = "/nosuch"': "HOME/settings.toml: workflows_folder names /nosuch, which is no folder.",
    'output_folder = "HOME/server.lock/x"': "HOME/settings.toml: output_folder names HOME/server.lock/x, where nothing can be saved "
    "(HOME/server.lock is no folder).",
    '[webhooks.studio]\nurl = "http://studio.example"\nsecret = "0123456789abcdef"': "The address of webhook studio in the settings "
    "is not https. Only this machine itself may be reached by http; write https://host/path. It stands in HOME/settings.toml: webhooks.",
}  # fmt: skip


@pytest.mark.usefixtures("no_listening")
@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_settings_that_cannot_be_used_end_the_start_before_it_listens(
    home: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    home.chmod(0o700)
    (home / "settings.toml").write_text(text.replace("HOME", str(home)))
    with pytest.raises(WrongUsage) as error:
        serve(home, {"port": 0}, as_json=True)
    assert str(error.value).startswith(message.replace("HOME", str(home)))
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("no_listening")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"devices": "cuda:0"}, "--devices names cuda:0, which this machine does not offer"),
        ({"workflows_folder": Path("/nosuch")}, "--workflows names /nosuch, which is no folder"),
    ],
)
def test_flags_that_cannot_be_used_end_the_start_before_it_listens(home: Path, flags: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongUsage, match=f"^{message}"):
        serve(home, {"port": 0, **flags}, as_json=True)


@pytest.mark.usefixtures("no_listening")
def test_a_variable_that_cannot_be_used_is_told_by_its_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATENTGRAPH_DEVICES", "cuda:0")
    with pytest.raises(WrongUsage, match="^LATENTGRAPH_DEVICES names cuda:0"):
        serve(home, {"port": 0}, as_json=True)


@pytest.mark.slow
def test_what_is_mistyped_and_stops_nothing_is_logged_once(start: Start, home: Path) -> None:
    (home / "settings.toml").write_text("port = 0\n[time_limits_s]\ndenois = 600\n")
    process = start("--json", "--devices", "cpu", environment={"LATENTGRAPH_PROT": "9"}).listen()
    until = time.monotonic() + LIMIT_S
    while process.get("/readyz")[0] != 200 and time.monotonic() < until:
        pass
    code, _, err = process.end()
    lines = map(json.loads, err.splitlines())
    assert (code, [line["message"] for line in lines if line["level"] == "warning"]) == (
        0,
        [
            'LATENTGRAPH_PROT does nothing here: there is no setting "prot". Did you mean "port"? Rename or unset it.',
            f'{home / "settings.toml"}: time_limits_s names "denois", which is no node type here, so nothing has that limit. '
            'Did you mean "denoise"?',
        ],
    )


@pytest.mark.slow
def test_of_a_start_that_ends_there_is_one_document(start: Start, home: Path) -> None:
    code, out, err = start("--port", "0", "--json", "--workflows", "/nosuch").result()
    assert (code, json.loads(out)) == (2, {"state": "failed", "error": err.strip()})
    assert err == "--workflows names /nosuch, which is no folder. Name the folder that holds your workflow files.\n"


@pytest.mark.parametrize("host", ["no such host", "256.0.0.1"])
def test_a_host_that_is_none_is_told(host: str) -> None:
    with pytest.raises(WrongUsage, match="is no address of this machine"):
        bind(Place(host, 0))


# ---- the data folder ----


@pytest.mark.spec("R-P08")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_data_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(WrongUsage, match=f"can be written by others.*chmod 700 {folder}"):
        private_home(folder)


@pytest.mark.spec("R-P08")
def test_a_data_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(WrongUsage, match="belongs to user [0-9]+, who could plant files there. Give one of your own with --home"):
        private_home(tmp_path)


@pytest.mark.spec("R-P08")
def test_a_file_or_an_unwritable_place_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WrongUsage, match="cannot be used"):
        private_home(tmp_path / "file")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WrongUsage, match="it is read-only"):
        private_home(tmp_path)


@pytest.mark.spec("R-K02")
def test_a_second_server_is_told_who_has_the_data_folder(tmp_path: Path) -> None:
    with (
        HomeLock(tmp_path),
        pytest.raises(ServerRuns, match=rf"Another server \(process {os.getpid()}\) uses the data folder {tmp_path}\. Stop it"),
    ):
        HomeLock(tmp_path).__enter__()
    with HomeLock(tmp_path):
        pass


# ---- a server from start to end ----


@pytest.mark.slow
@pytest.mark.spec("R-K02", "R-P08", "L10", "R-O03")
def test_it_says_one_line_keeps_its_token_and_ends_with_0(start: Start, home: Path) -> None:
    before = os.umask(0)
    try:
        first = start("--port", "0", "--json", "--devices", "cpu").listen()
    finally:
        os.umask(before)
    assert first.url == f"http://127.0.0.1:{first.port}"
    assert first.get("/healthz", Authorization="")[0] == 200
    assert first.get("/v1/server", Authorization="")[0] == 401
    assert first.get("/v1/server")[0] == 200

    code, out, err = start("--port", "0", "--json").result()
    assert code == 1
    assert f"Another server (process {first.process.pid}) uses the data folder {home}" in err
    assert json.loads(out)["state"] == "failed"

    code, out, err = first.end()
    assert (code, out) == (0, "")
    lines = [json.loads(line) for line in err.splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    assert first.token not in err
    loose = [
        path for path in home.rglob("*") if path.stat().st_mode & 0o077 and not path.is_symlink() and "catalogue" not in path.name
    ]
    assert loose == []

    second = start("--port", "0", "--json", "--devices", "cpu").listen()
    assert second.token == first.token
    assert second.end(signal.SIGINT)[0] == 0


@pytest.mark.slow
def test_without_json_it_prints_the_link_that_opens_the_page(start: Start, home: Path) -> None:
    process = start("--port", "0", "--devices", "cpu")
    assert process.process.stdout is not None
    line = process.process.stdout.readline().decode()
    assert line.startswith("http://127.0.0.1:")
    assert line.rstrip().endswith(f"/#token={(home / 'token').read_text().strip()}")
    assert process.end()[0] == 0


@pytest.mark.slow
def test_the_server_process_holds_no_heavy_module(home: Path) -> None:
    """What is loaded when everything is up; torch, numpy and Pillow belong to workers."""
    program = (
        "import asyncio, sys, threading\n"
        "from server import serve\n"
        "told = serve.Running._open\n"
        "async def opened(self, *rest):\n"
        "    found = await told(self, *rest)\n"
        "    heavy = sorted({name.partition('.')[0] for name in sys.modules} & {'torch', 'numpy', 'PIL', 'diffusers', 'transformers', 'networkx'})\n"
        "    print('heavy:', heavy, file=sys.stderr, flush=True)\n"
        "    self._stop.set()\n"
        "    return found\n"
        "serve.Running._open = opened\n"
        "from server.start import main; main()\n"
    )
    home.chmod(0o700)
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", "--port", "0", "--json", "--devices", "cpu"],
        env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "heavy: []" in done.stderr.splitlines()


@pytest.mark.slow
@pytest.mark.spec("R-L10")
def test_without_file_descriptors_it_waits_and_recovers(start: Start) -> None:
    """12 connections more than it can take: the loop does not spin on them, and they are served when there is room."""
    process = start("--port", "0", "--json", "--devices", "cpu").listen()
    assert process.get("/v1/server")[0] == 200
    pid = process.process.pid
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")) + 4, hard))
    began = time.monotonic()
    kept = [socket.create_connection(("127.0.0.1", process.port), timeout=LIMIT_S) for _ in range(12)]
    for one in kept:
        one.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{process.port}\r\nConnection: close\r\n\r\n".encode())
    for one in kept:
        assert one.recv(64).startswith(b"HTTP/1.1 200 ")
        one.close()
    code, _, err = process.end()
    assert code == 0, err[-3000:]
    waits = [line for line in err.splitlines() if "out of system resource" in json.loads(line)["message"]]
    assert 1 <= len(waits) <= 2 + (time.monotonic() - began) / 10


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(start: Start) -> None:
    process = start("--port", "0", "--json", "--devices", "cpu").listen()
    until = time.monotonic() + LIMIT_S
    while process.get("/readyz")[0] != 200 and time.monotonic() < until:
        pass
    process.process.send_signal(signal.SIGTERM)
    process.process.send_signal(signal.SIGTERM)
    assert process.result()[0] in (0, 130)


@pytest.mark.slow
@pytest.mark.spec("R-O02")
@pytest.mark.proves(11)
def test_what_cannot_be_mended_gives_another_exit_code(start: Start, home: Path) -> None:
    (home / "settings.toml").write_text("port = 0\nprot = 1\n")
    code, out, err = start().result()
    assert (code, out) == (2, "")
    assert '"prot", which is no setting' in err
    (home / "settings.toml").unlink()
    (home / "jobs.sqlite").mkdir()
    code, _, err = start("--port", "0").result()
    assert code == 1
    assert "Traceback" not in err.splitlines()[-1]
