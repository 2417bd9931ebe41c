"""No text of a request becomes a path outside the data folder or an address that is fetched, wherever it stands (R-P01)."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.rig.every_request import RUNNING, requests, send
from tests.rig.serving import Server, n, running, until, workflow
from tests.server.whole.conftest import MakeServer

pytestmark = [pytest.mark.tool("strace"), pytest.mark.slow, pytest.mark.spec("R-P01", "L4", "L5")]

#: Stands in the name of the file outside and in every attack; nothing else is called so.
MARK = "kanarie"
#: A name that is told apart from what requests carry themselves.
HOME = "data-folder-of-the-server"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FOLDER = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>, \"")


def attacks(outside: Path, port: int) -> list[str]:
    target = str(outside / MARK)
    return [
        f"../outside/{MARK}", f"../../../../../../../../..{target}", target, f"/{target}", f"file://{target}",
        f"..%2foutside%2f{MARK}", f"%252e%252e%252foutside%252f{MARK}", f"..\\outside\\{MARK}", f"~/{MARK}", f"$HOME/{MARK}",
        f"C:\\{MARK}", f"\\\\server\\{MARK}", f"{MARK}\0.png", f"{MARK}{'x' * 300}", f"{MARK}. ", f"http://127.0.0.1:{port}/{MARK}",
        f"outside/../../outside/{MARK}", f"link/{MARK}", f".{MARK}", f"--{MARK}",
    ]  # fmt: skip


@contextmanager
def listener() -> Iterator[socket.socket]:
    """An address that nobody may ask."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        one.setblocking(False)
        yield one


def sweep(make_server: MakeServer, tmp_path: Path, every: int) -> None:
    """Send each attack in each field, every `every`th of these; nothing outside may be opened and nothing may break."""
    outside, log = tmp_path / "outside", tmp_path / "syscalls"
    outside.mkdir()
    (outside / MARK).write_text("what nobody may read")
    strace = ["strace", "-DDD", "-f", "--seccomp-bpf", "-y", "-s", "400", "-e", "trace=%file", "-o", str(log)]
    environment = {"HOME": str(outside), "LATENTGRAPH_IMAGES_WAIT_S": "0.05"}
    server = make_server(name=HOME, under=strace, environment=environment)
    for below in ("", "files", "workflows", "outputs", "models", "drafts"):
        (server.home / below).mkdir(exist_ok=True, mode=0o700)
        (server.home / below / "link").symlink_to(outside)
    with listener() as nobody, running(server):
        port = nobody.getsockname()[1]
        there = furnished(server)
        document = server.get("/v1/openapi.json").json
        broken = []
        for count, text in enumerate(attacks(outside, port)):
            for number, request in enumerate(requests(document, there, text)):
                if (number + count) % every == 0:
                    reply = send(server, request)
                    if reply.status >= 500 and reply.status not in (501, 503):
                        broken.append(f"{request.field} with {text!r}: {reply.status} {reply.body[:300]!r}")
                    if b"what nobody may read" in reply.body:
                        broken.append(f"{request.field} with {text!r} read the file")
        assert not broken, "\n".join(broken)
        until(lambda: server.get("/v1/queue").json["queued"] == 0, "the accepted jobs to run", 120)
        assert server.get("/readyz").status == 200
        with pytest.raises(BlockingIOError):
            nobody.accept()
        pid = server.pid
    until(lambda: f"{pid} +++ exited" in log.read_text(errors="replace"), "strace to have written all")
    found = [line for line in log.read_text(errors="replace").splitlines() if MARK in line and not is_inside(line, server.home)]
    assert (outside / MARK).read_text() == "what nobody may read"
    assert found == []


def furnished(server: Server) -> dict[str, str]:
    """What the parameters name where they are left as they are."""
    assert server.request("PUT", "/v1/workflows/swept", RUNNING).status == 200
    job = server.submit(workflow(paint=n("fake/paint", value=1.0), save=n("save_image", image="@paint.image")))
    server.ended(job["id"])
    sent = server.request("POST", "/v1/files", b"plain", {"Content-Type": "application/octet-stream"}).json
    output = server.get("/v1/outputs").json["outputs"][0]["id"]
    return {
        "jobs.id": job["id"], "outputs.id": output, "drafts.id": "draft", "sha256": sent["sha256"], "node": "paint",
        "port": "image", "workflows.name": "swept", "models.name": "mini", "maker": "maker", "type": "paint", "pack": "fake",
        "version": "1", "name": "page.js",
    }  # fmt: skip


def is_inside(line: str, home: Path) -> bool:
    """Whether every path with the mark in a line of strace lies in the data folder."""
    if "+++" in line or "execve(" in line:
        return True
    folders = _FOLDER.findall(line)
    for number, text in enumerate(_QUOTED.findall(line)):
        if MARK in text:
            folder = folders[min(number, len(folders) - 1)] if folders else str(home.parent)
            if ".." in text.split("/") or not Path(os.path.normpath(Path(folder, text))).is_relative_to(home):
                return False
    return True


def test_strace_lines_are_understood(tmp_path: Path) -> None:
    """The sweep sees nothing if its reading of strace's lines is wrong."""
    home = tmp_path / HOME
    home.mkdir()
    log = tmp_path / "log"
    program = (
        f"import os; f = os.open({str(home)!r}, os.O_RDONLY)\n"
        f"for name in ('{MARK}', '../outside/{MARK}', '/etc/{MARK}'):\n"
        "    try: os.open(name, os.O_RDONLY, dir_fd=f)\n"
        "    except OSError: pass\n"
        f"os.path.exists('/tmp/{MARK}')"
    )
    strace = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "400", "-e", "trace=%file", "-o", str(log), "python3", "-c", program]
    subprocess.run(strace, check=True)
    lines = [line for line in log.read_text().splitlines() if MARK in line and "execve(" not in line]
    assert [is_inside(line, home) for line in lines] == [True, False, False, False]


def test_no_text_of_a_request_becomes_a_path_or_an_address(make_server: MakeServer, tmp_path: Path) -> None:
    sweep(make_server, tmp_path, every=12)


@pytest.mark.long
def test_no_text_of_any_request_becomes_a_path_or_an_address(make_server: MakeServer, tmp_path: Path) -> None:
    sweep(make_server, tmp_path, every=1)
