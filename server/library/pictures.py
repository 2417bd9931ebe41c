"""Pictures as the server knows them: what a child process with limits says of them. The server itself decodes nothing.

Children start when they are needed and end when nobody has asked for a while. One that takes too long or dies over a
picture is replaced; the picture is then one that cannot be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack  # type: ignore[import-untyped]  # has no stubs

from graph.document import Document, read_document
from graph.errors import WorkflowError
from server.library.confine import Root
from server.problems import Refusal

DEADLINE_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
#: Children at once: a hostile picture that takes its whole time must not hold up all others.
CHILDREN: Final = 2
#: 8000 x 8000: decoded, 256 MB.
MOST_PIXELS: Final = 64_000_000
#: Sides of thumbnails in pixels; what is asked for is rounded up to one of them.
SIDES: Final = (128, 256, 512)
MOST_ANSWER_BYTES: Final = 256 << 20
#: Bytes of all thumbnails that are kept; looked after at the start and after so many new ones.
MOST_KEPT_BYTES, WRITES_PER_SWEEP = 256 << 20, 200
_PROJECT: Final = Path(__file__).parents[2]

Answer = dict[str, Any]  # Any: plain values, as `picture_child` has them


class Probe(NamedTuple):
    """What a picture is, from its header: format ("PNG"), size in pixels, Pillow's mode, frames."""

    format: str
    width: int
    height: int
    mode: str
    frames: int


class Pictures:
    """Asks the child processes. Files are given open and stay the caller's; all methods raise Refusal.

    `unreadable_picture` says why; `not_implemented` that the codec is missing here.
    """

    def __init__(
        self, home: Path, *, most_pixels: int = MOST_PIXELS, deadline_s: float = DEADLINE_SECONDS, idle_s: float = IDLE_SECONDS,
        most_kept_bytes: int = MOST_KEPT_BYTES,
    ) -> None:  # fmt: skip
        self._most_pixels, self._deadline_s, self._idle_s = most_pixels, deadline_s, idle_s
        self._thumbnails = Root(home / "thumbnails")
        self._most_kept_bytes, self._writes = most_kept_bytes, 0
        self._threads = ThreadPoolExecutor(CHILDREN, "pictures")
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._under_way = 0
        self._ending: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Bring the kept thumbnails under their bound."""
        await asyncio.to_thread(self._sweep)

    async def probe(self, file: int) -> Probe:
        """What the picture is, from its header."""
        return Probe(**await self.ask("probe", file, most_pixels=self._most_pixels))

    async def thumbnail(self, name: str, file: int, side: int) -> bytes:
        """A WebP with sides of at most 128, 256 or 512 pixels, kept under `name` (fit for a file's name, e.g. "output-<id>")."""
        side = next((one for one in SIDES if one >= side), SIDES[-1])
        kept = _thumbnail_name(name, side)
        with contextlib.suppress(FileNotFoundError):
            return await asyncio.to_thread(self._thumbnails.read, kept, MOST_ANSWER_BYTES)
        image = bytes((await self.ask("thumbnail", file, most_pixels=self._most_pixels, side=side))["image"])
        with contextlib.suppress(OSError):  # a full disk costs the keeping alone
            await asyncio.to_thread(self._keep, kept, image)
        return image

    def forget(self, name: str) -> None:
        """Remove the thumbnails kept under `name`, and no others: by their exact names, never by a pattern."""
        for side in SIDES:
            with contextlib.suppress(FileNotFoundError):
                self._thumbnails.remove(_thumbnail_name(name, side))

    async def workflow(self, file: int) -> Document:
        """The workflow that a picture carries, read as strictly as any that a client sends. It is not run.

        Raises Refusal `not_found` if it carries none, `invalid_workflow` for one that cannot be read.
        """
        text = (await self.ask("workflow", file))["text"]
        if text is None:
            raise Refusal("not_found", "The picture carries no workflow. Give one as Latentgraph saved it.")
        try:
            return read_document(text)
        except WorkflowError as error:
            raise Refusal.of_workflow(error) from None

    async def without_notes(self, file: int) -> bytes:
        """The same picture, byte for byte where its pixels are, without workflow, settings and other notes."""
        return bytes((await self.ask("strip", file, most_pixels=self._most_pixels))["image"])

    async def ask(self, question: str, file: int, **arguments: Any) -> Answer:  # Any: plain values
        """The child's answer to a question about an open file."""
        own = os.dup(file)  # the caller may go away, and close its own, while a thread is still at it
        self._under_way += 1
        asked = self._threads.submit(self._ask, question, own, arguments)
        asked.add_done_callback(lambda _: os.close(own))
        try:
            answer = await asyncio.wrap_future(asked)
        finally:
            self._under_way -= 1
            self._end_when_idle()
        if "unreadable" in answer:
            raise Refusal("unreadable_picture", f"The picture {answer['unreadable']}. Use another, or save it again.")
        if "missing" in answer:
            raise Refusal("not_implemented", f"{answer['missing']} cannot be written here. Install pillow with it.")
        return answer

    def close(self) -> None:
        """End the children and wait for what is under way."""
        if self._ending is not None:
            self._ending.cancel()
        self._threads.shutdown()
        self._end_children()
        self._thumbnails.close()

    def _keep(self, name: str, image: bytes) -> None:
        self._thumbnails.write(name, image)
        self._writes += 1
        if self._writes % WRITES_PER_SWEEP == 0:
            self._sweep()

    def _sweep(self) -> None:
        """Remove the oldest thumbnails beyond the bound: they are made again when asked for."""
        kept: list[tuple[int, str, int]] = []
        with self._thumbnails.entries() as found:
            for entry in found:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    kept.append((status.st_mtime_ns, entry.name, status.st_size))
        left = sum(size for _, _, size in kept)
        for _, name, size in sorted(kept):
            if left <= self._most_kept_bytes:
                return
            with contextlib.suppress(OSError):  # somebody else removed it, or it is none of ours
                self._thumbnails.remove(name)
                left -= size

    def _ask(self, question: str, file: int, arguments: dict[str, Any]) -> Answer:
        """In a thread: with a child that waits, or a new one."""
        try:
            try:
                child = self._idle.get_nowait()
            except queue.Empty:
                child = _Child()
            try:
                answer = child.ask(question, file, arguments, self._deadline_s)
            except BaseException:
                child.end()
                raise
            self._idle.put(child)
            return answer
        except TimeoutError:
            return {"unreadable": f"takes longer than {self._deadline_s:g} s to look at"}
        except (EOFError, ConnectionError):
            return {"unreadable": "takes more memory or time than may be spent on looking at it"}

    def _end_when_idle(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        if not self._under_way:
            self._ending = asyncio.get_running_loop().call_later(self._idle_s, self._end_children)

    def _end_children(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().end()


class _Child:
    """One process of `picture_child`, asked by one thread at a time."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", "server.library.picture_child", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=_environment(),
            )

    def ask(self, question: str, file: int, arguments: dict[str, Any], deadline_s: float) -> Answer:
        """The answer. Raises TimeoutError, or EOFError or ConnectionError if the process died over it."""
        due = time.monotonic() + deadline_s
        socket.send_fds(self._line, [msgpack.packb([question, arguments])], [file])
        (size,) = struct.unpack(">I", self._receive(4, due))
        if size > MOST_ANSWER_BYTES:
            raise EOFError
        answer: Answer = msgpack.unpackb(self._receive(size, due), max_bin_len=MOST_ANSWER_BYTES)
        return answer

    def _receive(self, size: int, due: float) -> bytearray:
        data = bytearray(size)
        at = 0
        while at < size:
            self._line.settimeout(max(0.001, due - time.monotonic()))
            count = self._line.recv_into(memoryview(data)[at:])
            if not count:
                raise EOFError
            at += count
        return data

    def end(self) -> None:
        """Kill it with what it may have started, and collect it."""
        self._line.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _environment() -> dict[str, str]:
    """Nothing of the server's own (it may hold secrets), and one thread: each would take address space."""
    return {"PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _thumbnail_name(name: str, side: int) -> str:
    return f"{name}.{side}.webp"
