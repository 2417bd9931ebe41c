"""A process that takes jobs through their lives on a bare store and writes down what was asked and what was answered.

It forks a child for each life, which waits until the test has attached strace to it: so a sweep counts the store's own
system calls and none of Python's start, and a point costs milliseconds. All is done in one thread, because strace counts
per thread; what one `Batch` holds is one transaction.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from server.jobs.record import JobResult, NewJob
from server.jobs.store import FILE_NAME, JobStore
from server.jobs.writer import Act, Committer, ReaderThread, Write
from server.problems import Refusal

#: So that a test that is no parent of ours may attach (Yama).
_PR_SET_PTRACER, _ANY = 0x59616D61, ctypes.c_ulong(-1)


class Batch:
    """A lane that carries out what was submitted when `commit` is called, in this thread."""

    def __init__(self, committer: Committer) -> None:
        self.committer = committer
        self.writes: list[Write] = []

    def submit(self, act: Act[Any], undo: Act[None] | None = None) -> Future[Any]:
        self.writes.append(Write(act, Future(), undo))
        return self.writes[-1].future

    def commit(self) -> None:
        writes, self.writes = self.writes, []
        self.committer.commit(writes)

    def close(self) -> None:
        self.committer.close()


class Reads(ReaderThread):
    """Reads in this thread."""

    def submit(self, act: Act[Any], undo: Act[None] | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self._read(act))
        return future

    def close(self) -> None:
        self._let_go()


class Life:
    """One child's work: every step is told before it is asked, and its answer in the moment of the answer."""

    def __init__(self, folder: Path, told: int) -> None:
        self.told = told
        self.store = self.opened(folder)

    def tell(self, *words: object) -> None:
        os.write(self.told, (" ".join(map(str, words)) + "\n").encode())

    def opened(self, folder: Path) -> JobStore:
        while True:
            try:
                return JobStore(folder / FILE_NAME, lanes=(Batch, Reads))
            except Refusal as refusal:
                self.tell("unopened", refusal.code)
                if refusal.code != "disk_full" or (self.count_unopened() > 3):
                    raise

    def count_unopened(self) -> int:
        self.unopened = getattr(self, "unopened", 0) + 1
        return self.unopened

    def step(self, *asked: tuple[str, int, Callable[[], Future[Any]]]) -> None:
        for what, number, ask in asked:
            self.tell("ask", what, number)
            ask().add_done_callback(partial(self.answered, what, number))
        self.store._writes.commit()  # type: ignore[attr-defined]

    def answered(self, what: str, number: int, future: Future[Any]) -> None:
        error = future.exception()
        if isinstance(error, Refusal):
            self.tell("refused", what, number, error.code)
        elif error is not None:
            self.tell("broken", what, number, repr(error))
        elif future.result() or what == "place":
            self.tell("ack", what, number)
        else:
            self.tell("nothing", what, number)  # there is no such job: its acceptance was refused

    # The steps.

    def accept(self, number: int, **fields: Any) -> tuple[str, int, Callable[[], Future[Any]]]:
        return "accept", number, lambda: self.store.accept(job(number, **fields))

    def start(self, number: int) -> tuple[str, int, Callable[[], Future[Any]]]:
        return "start", number, lambda: self.store.start(id_of(number))

    def end(self, number: int, state: str) -> tuple[str, int, Callable[[], Future[Any]]]:
        result = JobResult(1.0, nodes=({"id": "n", "number": number},), problem={"code": "x"} if state == "failed" else None)
        return state, number, lambda: self.store.end(id_of(number), state, result)  # type: ignore[arg-type]

    def live(self) -> None:
        store = self.store
        for first in (10, 20, 30):
            a, b, c, d = range(first, first + 4)
            self.step(self.accept(a), self.accept(b, document=os.urandom(9000)))
            self.step(self.start(a), self.accept(c, webhook="site", files=("ab" * 32,)))
            self.step(self.end(a, "done"), self.start(b))
            self.step(
                ("try", b, lambda b=b: store.tried(id_of(b), 1, "died")),  # type: ignore[misc]
                ("place", c, lambda c=c: store.place({id_of(c): (1, 0.5)})),  # type: ignore[misc]
            )
            self.step(self.end(b, "failed"), self.end(c, "cancelled"), self.accept(d))
            self.step(("delete", a, lambda a=a: store.delete(id_of(a))))  # type: ignore[misc]
            self.step(self.start(d))
        store.close()
        self.tell("lived")


def id_of(number: int) -> str:
    return f"{number:026d}"


def key_of(number: int) -> tuple[str, bytes]:
    return f"key{number}", b"%d" % number


def job(number: int, **fields: Any) -> NewJob:
    plain: dict[str, Any] = {"id": id_of(number), "workflow": "w", "document": b"{}", "inputs": {}, "targets": None, "seeds": {}}
    return NewJob(**plain | {"idempotency": key_of(number)} | fields)


def main() -> None:
    """For each line "folder": fork a child, print its number, let it go at the next line, print how it ended."""
    for line in sys.stdin:
        folder = Path(line.strip())
        folder.mkdir(parents=True, exist_ok=True)
        told = os.open(folder / "told", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        wait, go = os.pipe()
        child = os.fork()
        if not child:
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY, 0, 0, 0)
            os.read(wait, 1)
            code = 1
            try:
                Life(folder, told).live()
                code = 0
            finally:
                os._exit(code)
        print(child, flush=True)
        sys.stdin.readline()
        os.write(go, b"!")
        for file in (told, wait, go):
            os.close(file)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
