"""No name leads out of a folder: the same refusals by the kernel and by walking, in races too."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from server.library import confine
from server.library.confine import Root

CANARY = b"the content outside: canary"


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(CANARY)
    return folder


@pytest.fixture(params=[True, False], ids=["openat2", "walk"])
def root(request, tmp_path, outside):
    made = Root(tmp_path / "root", by_kernel=request.param)
    if request.param and made._open is not confine._by_kernel:
        pytest.skip("this kernel has no openat2")
    (made.folder / "plain").write_bytes(b"inside")
    (made.folder / "sub").mkdir()
    (made.folder / "sub" / "deep").write_bytes(b"deep inside")
    yield made
    made.close()


ATTACKS = [
    "../outside/secret", "..", ".", "", "/etc/passwd", "//etc/passwd", "sub/../../outside/secret", "sub/../plain", "./plain",
    "sub//deep", "plain/", "..\\outside\\secret", "..%2foutside%2fsecret", "%2e%2e/outside/secret", "C:\\plain", "\\\\srv\\x",
    "file:///etc/passwd", "~", "~/plain", "$HOME", "plain\0.png", "a" * 300, "sub/" * 2000 + "x", "plain ", "plain.", "plain/x",
    "\udc80", "/proc/self/root/etc/passwd",
]  # fmt: skip


@pytest.mark.spec("J5", "L3", "R-P01", "R-P04")
@pytest.mark.proves(21)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_name_that_leads_elsewhere_is_missing(root, name):
    with pytest.raises(FileNotFoundError, match="there is no plain file"):
        root.open(name)
    assert not root.has(name)
    with pytest.raises(FileNotFoundError):
        root.remove(name)
    assert (root.folder / "plain").exists()


def test_a_plain_file_is_opened_read_and_listed(root):
    assert root.read("plain", 100) == b"inside"
    assert root.read("sub/deep", 11) == b"deep inside"
    assert root.has("sub/deep")
    assert sorted(root.names()) == ["plain", "sub"]
    assert root.names("sub") == ["deep"]
    assert root.names("absent") == []
    with root.opened("plain") as found:
        assert (found.size, os.get_blocking(found.file)) == (6, True)
    with pytest.raises(ValueError, match="deep has more than 10 bytes"):
        root.read("sub/deep", 10)


def plant(folder: Path, outside: Path) -> list[str]:
    """Everything that is no plain file of this folder."""
    (folder / "link").symlink_to(outside / "secret")
    (folder / "up").symlink_to("..")
    (folder / "inner").symlink_to("plain")
    (folder / "loop").symlink_to("loop")
    previous = "plain"
    for number in range(50):
        (folder / f"chain{number}").symlink_to(previous)
        previous = f"chain{number}"
    (folder / "folder_link").symlink_to(outside)
    (folder / "magic").symlink_to("/proc/self/fd/0")
    (outside / "other").write_bytes(CANARY)  # not the one that links lead to: two names alone would have it refused
    os.link(outside / "other", folder / "hard")
    os.mkfifo(folder / "pipe")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)  # a socket's path has a short limit
    server.bind("socket")
    os.chdir(here)
    server.close()
    return ["link", "up", "up/outside/secret", "inner", "loop", "chain49", "folder_link", "folder_link/secret", "magic", "hard",
            "pipe", "socket", "sub"]  # fmt: skip


@pytest.mark.spec("L4", "R-P02", "R-P04")
@pytest.mark.proves(21)
@pytest.mark.timeout(20)  # a pipe would be waited for without end
def test_what_is_no_plain_file_is_missing_at_once(root, outside):
    for name in plant(root.folder, outside):
        with pytest.raises(FileNotFoundError, match="there is no plain file"):
            root.open(name)


@pytest.mark.spec("R-P02")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_missing(root):
    try:
        os.mknod(root.folder / "zero", 0o20666, os.makedev(1, 5))
    except OSError:
        pytest.skip("devices cannot be made here")
    with pytest.raises(FileNotFoundError):
        root.open("zero")


@pytest.mark.spec("L4")
def test_nothing_is_written_or_removed_through_a_link(root, outside):
    plant(root.folder, outside)
    with pytest.raises(FileNotFoundError):
        root.write("folder_link/secret", b"changed")
    with pytest.raises(FileNotFoundError):
        root.remove("folder_link/secret")
    root.write("link", b"a file of its own now")
    root.remove("inner")
    with pytest.raises(FileNotFoundError):
        root.remove("sub")
    assert (outside / "secret").read_bytes() == CANARY
    assert (root.folder / "plain").read_bytes() == b"inside"
    assert not (root.folder / "link").is_symlink()


def test_a_file_that_is_being_published_has_two_names_and_is_open_to_all(root):
    os.link(root.folder / "plain", root.folder / ".plain.tmp")
    assert root.read("plain", 10) == b"inside"


def test_the_folder_is_the_one_that_was_opened(root, outside):
    root.folder.rename(root.folder.with_name("moved"))
    root.folder.symlink_to(outside)
    assert not root.has("secret")
    assert root.read("plain", 10) == b"inside"


def test_writing_is_whole_private_and_makes_folders(root, monkeypatch):
    root.write("new/er/file", b"content")
    path = root.folder / "new" / "er" / "file"
    assert path.read_bytes() == b"content"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    monkeypatch.setattr(os, "rename", lambda *args, **options: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        root.write("plain", b"half")
    assert (root.folder / "plain").read_bytes() == b"inside"
    assert sorted(root.names()) == ["new", "plain", "sub"]


def race(root: Root, outside: Path, rounds: int) -> tuple[int, int]:
    """Swap a file and a link to the outside while it is read; how often it was read, and refused."""
    name, ready = "swapped", threading.Event()
    plain, link = root.folder / "file_of_ours", root.folder / "link_out"
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            plain.write_bytes(b"inside")
            os.replace(plain, root.folder / name)
            ready.set()
            link.symlink_to(outside / "secret")
            os.replace(link, root.folder / name)

    def swap_folder() -> None:
        (root.folder / "real").mkdir(exist_ok=True)
        (root.folder / "real" / "secret").write_bytes(b"inside")
        while not over.is_set():
            os.rename(root.folder / "real", root.folder / "place")
            os.rename(root.folder / "place", root.folder / "real")
            (root.folder / "place").symlink_to(outside)
            (root.folder / "place").unlink()

    threads = [threading.Thread(target=swap), threading.Thread(target=swap_folder)]
    for thread in threads:
        thread.start()
    ready.wait(20)
    read = refused = 0
    try:
        for number in range(rounds):
            try:
                assert root.read(name if number % 2 else "place/secret", 100) == b"inside"
                read += 1
            except FileNotFoundError:
                refused += 1
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return read, refused


@pytest.mark.slow
@pytest.mark.spec("R-P03", "R-P04")
@pytest.mark.proves(21)
def test_a_swapped_link_never_gives_the_content_outside(root, outside):
    read, refused = race(root, outside, 4_000)
    assert read
    assert refused


@pytest.mark.long
@pytest.mark.spec("R-P03")
def test_a_hundred_thousand_swaps_never_give_the_content_outside(root, outside):
    read, refused = race(root, outside, 100_000)
    assert read
    assert refused


@pytest.mark.spec("R-P04")
@pytest.mark.parametrize("code", [38, 1], ids=["ENOSYS", "EPERM"])
def test_a_kernel_without_the_call_is_noticed_at_the_start(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(confine, "_by_kernel", refuse)
    root = Root(tmp_path / "root")
    (root.folder / "plain").write_bytes(b"inside")
    assert root.read("plain", 10) == b"inside"
    root.close()


PROBE = """
import sys
from pathlib import Path
from server.library.confine import Root
root = Root(Path(sys.argv[1]), by_kernel=sys.argv[2] == "kernel")
names = sys.stdin.read().split("\\n")
root.folder.stat()  # where the log begins to count
for name in names:
    for step in (root.open, root.remove, root.names, lambda name: root.write(name, b"x")):
        try:
            step(name)
        except (OSError, ValueError):
            pass
"""
TAKES_A_PATH = "trace=open,openat,openat2,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,creat,link,linkat,symlink"


@pytest.mark.tool("strace")
@pytest.mark.spec("R-P01", "R-P04")
@pytest.mark.proves(21)
@pytest.mark.parametrize("way", ["kernel", "walk"])
def test_no_system_call_names_anything_outside(tmp_path, outside, way):
    """What the kernel was asked for, from strace: only names below the open folder, none absolute, none upwards."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "folder_link").symlink_to(outside)
    names = [name for name in ATTACKS if "\0" not in name and "\udc80" not in name] + ["folder_link/secret", "fine"]
    log = tmp_path / "log"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-s", "400", "-e", f"{TAKES_A_PATH},newfstatat,stat,statx", "-o", str(log),
         sys.executable, "-c", PROBE, str(folder), way],
        input="\n".join(names), text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0
    asked = log.read_text().rpartition(f'"{folder}"')[2].splitlines()[1:]
    calls = [line for line in asked if re.match(r"\d+ +(open|unlink|rename|mkdir|creat|link|symlink)", line)]
    assert len(calls) > 20
    for line in calls:
        for path in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            assert not path.startswith("/"), line
            assert ".." not in path.split("/"), line
    assert (outside / "secret").read_bytes() == CANARY
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
