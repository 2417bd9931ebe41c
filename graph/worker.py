"""The child process of a `ProcessWorker`: one device, one compute thread. Started as `python -m graph.worker`."""

from __future__ import annotations

import importlib
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from graph.channel import Channel
from graph.child import die_with_parent, note_child
from graph.context import Preview
from graph.errors import Cancelled, DeclarationError, Refused
from graph.events import PREVIEW_SECONDS
from graph.expand import LightContext, outputs_in
from graph.lights import Letters, StandIn
from graph.node import Declaration
from graph.processes import Courier, Spool, shown
from graph.schedule import HOST
from graph.spec import NodeSpec
from graph.trials import Slot
from graph.workers import Request, ThreadWorker, failure_of, said_of


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
            try:
                image = preview()
            except Exception as error:  # a picture nobody needs must not fail the work
                self.note(f"no preview could be made: {said_of(error)}")
        self.channel.send("progress", self.call, step, total, image)

    def note(self, message: str) -> None:
        self.channel.send("note", self.call, shown(str(message)))


class _Child:
    """Serves calls one after another, and hears of cancels meanwhile."""

    def __init__(self, channel: Channel, courier: Courier, slot: Slot | None) -> None:
        self.channel, self.courier, self.slot = channel, courier, slot
        self.cancelled: set[int] = set()
        self.watched: set[int] = set()
        self.calls: list[list[Any]] = []
        self.known: set[str] = set()
        self.arrived = threading.Condition()

    def listen(self) -> None:
        """Take frames in. Without a parent there is nothing to go on for: the device's memory is wanted by the next child."""
        try:
            while True:
                message = self.channel.receive()
                if message[0] == "cancel":
                    self.cancelled.add(message[1])
                elif message[0] == "watch":
                    (self.watched.add if message[2] else self.watched.discard)(message[1])
                elif message[0] == "ping":
                    self.channel.send("pong")
                else:
                    with self.arrived:
                        self.calls.append(message)
                        self.arrived.notify()
                    if message[0] == "quit":
                        return
        except BaseException:  # the end of the stream, or a frame that is not ours
            self.leave()

    def leave(self) -> NoReturn:
        """End at once: the parent is gone. Whatever ended it, it was not the node that is called here."""
        if self.slot is not None:
            self.slot.release()
        os._exit(1)

    def serve(self, worker: ThreadWorker) -> None:
        """Do what arrives until the parent says quit."""
        try:
            self._serve(worker)
        except OSError:  # nobody takes what is said; the listening thread is about to find out
            self.leave()

    def _serve(self, worker: ThreadWorker) -> None:
        while True:
            with self.arrived:
                while not self.calls:
                    self.arrived.wait()
                message = self.calls.pop(0)
            if message[0] == "quit":
                return
            if message[0] == "trim":
                worker.trim()
            elif message[0] == "plan":
                self.plan(worker, *message[1:])
            elif message[0] == "run":
                self.call(worker, *message[1:])

    def call(
        self, worker: ThreadWorker, number: int, node_type: list[str], inputs: dict[str, Any], place: list[Any], resolved: dict[str, Any]
    ) -> None:  # fmt: skip
        """Carry one call out and tell its end, whatever it is. `node_type`: its id, and the digest of its code as planned."""
        type_id, code = node_type
        node_id, element, home, output_folder = place
        report = _Remote(self.channel, number, self.cancelled, self.watched)
        try:
            spec = self.prepared(worker, number, type_id, code)
            given = {name: self.courier.resolve(value) for name, value in inputs.items()}
            request = Request(spec, given, node_id, element, Path(home), Path(output_folder), lambda: resolved)
            result = worker.run(request, report)
            outputs = [self.courier.hand_over(value) for value in result.values]
            resident = dict(worker.resident())
            self.channel.send("done", number, outputs, result.seconds, result.loading, result.peak_bytes, resident)
        except Cancelled:
            self.channel.send("cancelled", number, dict(worker.resident()))
        except BaseException as error:  # whatever a node raises fails its task alone; the models here are kept
            self.channel.send("failed", number, *map(shown, failure_of(error)), dict(worker.resident()))
        self.cancelled.discard(number)
        self.watched.discard(number)

    def prepared(self, worker: ThreadWorker, number: int, type_id: str, code: str) -> NodeSpec:
        """The node type, with everything imported that it needs; the parent knows that this may take long."""
        if type_id in self.known:
            return _declared(worker, type_id, code).spec
        self.channel.send("preparing", number)
        spec = _declared(worker, type_id, code).spec
        worker.runtime.prepare(spec)
        self.channel.send("prepared", number)
        self.known.add(type_id)
        return spec

    def plan(
        self, worker: ThreadWorker, number: int, hook: str, node_type: list[str], node_id: str, home: str, inputs: dict[str, Any]
    ) -> None:  # fmt: skip
        """Call a light node, or with `hook` "resolve" a planning hook, and tell what it gave. See `graph.lights`."""
        letters = Letters(self.courier, worker.functions.wire_types, StandIn)
        try:
            declaration = _declared(worker, *node_type)
            given = {name: letters.read(reference) for name, reference in inputs.items()}
            if hook == "resolve":
                assert declaration.resolve is not None
                self.channel.send(
                    "planned", number, {name: letters.write(one) for name, one in declaration.resolve(given).items()}
                )
            else:
                made = outputs_in(declaration.spec, declaration.call(LightContext(Path(home), node_id), **given))
                self.channel.send("planned", number, [letters.write(one) for one in made])
        except Refused as refusal:
            self.channel.send("refused", number, shown(str(refusal)), refusal.port, refusal.code)
        except BaseException as error:  # whatever a pack raises is told
            self.channel.send("failed", number, *map(shown, failure_of(error)))


def _declared(worker: ThreadWorker, type_id: str, code: str) -> Declaration:
    """The declaration of a node type. Raises DeclarationError if it is not the one that was planned with."""
    declaration = worker.functions.function(type_id)
    if declaration.spec.code != code:  # this process started later, and read the node types itself
        raise DeclarationError(f"the code of {type_id} changed after this run was planned; start again to use the changed code")
    return declaration


def main(arguments: list[str]) -> None:
    """Serve calls until the parent says quit or is gone."""
    fileno, place, threads, budget, setup, home, spool, ledger, slot = arguments
    stream = socket.socket(fileno=int(fileno))
    stream.set_inheritable(False)  # what nodes start must not keep the stream open
    die_with_parent()
    note_child(Path(spool))
    os.environ.pop("PYTHONPATH", None)  # it was for us, not for what nodes start
    channel = Channel(stream)
    child = _Child(channel, Courier(Spool(Path(spool)), None), Slot(Path(ledger), int(slot)) if ledger else None)
    threading.Thread(target=child.listen, daemon=True).start()  # before the imports below, which may take long
    module, _, name = setup.partition(":")
    try:
        functions, runtime = getattr(importlib.import_module(module), name)(place, int(threads), int(budget), Path(home))
    except Exception as error:  # told to the parent, which names it in its own error
        channel.send("failed", *map(shown, failure_of(error)))
        return
    channel.send("ready")
    child.serve(ThreadWorker("cpu" if place == HOST else place, functions, lambda: runtime))


if __name__ == "__main__":
    main(sys.argv[1:])
