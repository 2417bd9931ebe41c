"""The child process of a `ProcessWorker`: one device, one compute thread. Started as `python -m graph.worker`."""

from __future__ import annotations

import importlib
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from graph.context import Preview
from graph.errors import Cancelled, DeclarationError
from graph.store import Store
from graph.workers import Channel, Request, Result, ThreadWorker, failure_of, from_wire, to_wire

#: Previews are made at the first step and then at most this often.
PREVIEW_SECONDS = 0.2


class _Remote:
    """The report of a call: sends frames, and knows which calls were cancelled and which are watched."""

    def __init__(self, channel: Channel, call: int, cancelled: set[int], watched: set[int]) -> None:
        self.channel, self.call, self._cancelled, self._watched = channel, call, cancelled, watched
        self._preview_at = float("-inf")

    def cancelled(self) -> bool:
        return self.call in self._cancelled

    def watched(self) -> bool:
        return self.call in self._watched

    def progress(self, step: int, total: int, preview: Preview | None) -> None:
        now = time.monotonic()
        image = None
        if preview is not None and self.watched() and now - self._preview_at >= PREVIEW_SECONDS:
            self._preview_at = now
            image = preview()
        self.channel.send("progress", step, total, image)

    def note(self, message: str) -> None:
        self.channel.send("note", message)


def main(arguments: list[str]) -> None:
    """Serve calls until the parent says quit or is gone."""
    fileno, device, threads, setup, home, *folders = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent cancels us
    channel = Channel(socket.socket(fileno=int(fileno)))
    module, _, name = setup.partition(":")
    try:
        functions, runtime = getattr(importlib.import_module(module), name)(device, int(threads), Path(home))
    except Exception as error:  # told to the parent, which names it in its own error
        channel.send("failed", *failure_of(error))
        return
    stores = [Store(Path(folder), int(limit)) for limit, _, folder in (entry.partition(":") for entry in folders)]
    worker = ThreadWorker(device, functions, lambda: runtime)
    cancelled: set[int] = set()
    watched: set[int] = set()
    calls: list[list[Any]] = []
    arrived = threading.Condition()

    def listen() -> None:
        try:
            while True:
                message = channel.receive()
                if message[0] == "cancel":
                    cancelled.add(message[1])
                    continue
                if message[0] == "watch":
                    (watched.add if message[2] else watched.discard)(message[1])
                    continue
                with arrived:
                    calls.append(message)
                    arrived.notify()
        except (EOFError, OSError):
            with arrived:
                calls.append(["quit"])
                arrived.notify()

    threading.Thread(target=listen, daemon=True).start()
    channel.send("ready")
    while True:
        with arrived:
            while not calls:
                arrived.wait()
            message = calls.pop(0)
        if message[0] == "quit":
            return
        if message[0] == "trim":
            worker.trim()
        elif message[0] == "run":
            _serve(channel, worker, functions, stores, message, (cancelled, watched))


def _serve(
    channel: Channel,
    worker: ThreadWorker,
    functions: Any,
    stores: list[Store],
    message: list[Any],
    marked: tuple[set[int], set[int]],
) -> None:
    _, call, (type_id, code), inputs, (node_id, element, home, output_folder), resolved = message
    report = _Remote(channel, call, *marked)
    try:
        spec = functions.function(type_id).spec
        if spec.code != code:  # this process started later, and read the node types itself
            raise DeclarationError(
                f"the code of {type_id} changed after this run was planned; start again to use the changed code"
            )
        given = {name: from_wire(value, stores) for name, value in inputs.items()}
        request = Request(spec, given, node_id, element, Path(home), Path(output_folder), lambda: resolved)
        result: Result = worker.run(request, report)
        outputs = [to_wire(value, stores) for value in result.values]
        channel.send("done", outputs, result.seconds, result.loading, result.peak_bytes, dict(worker.resident()))
    except Cancelled:
        channel.send("cancelled")
    except BaseException as error:  # whatever a node raises fails its task alone; the models here are kept
        channel.send("failed", *failure_of(error))


if __name__ == "__main__":
    main(sys.argv[1:])
