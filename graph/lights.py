"""Light nodes and planning hooks of packs, called in a process of their own.

Under a server the engine's process calls only what is built in: a pack's code may crash or hang, and then this process
is lost or ended, the plan is refused with the reason, and the next plan has a new one. Stand-ins for values that do not
exist yet cross by number, so a node that hands such a value on works there too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graph.blob import digest_of
from graph.channel import NotOurs
from graph.child import Child, Silent
from graph.errors import Refused
from graph.expand import FailedElsewhere, Pending, Undrawn
from graph.processes import POLL_SECONDS, Courier, ProcessWorker
from graph.spec import NodeSpec
from graph.types import WireType, encode
from graph.workers import Value, WorkerLost

#: A light node is quick; one that takes this long hangs. It includes importing its pack.
LIGHT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class StandIn:
    """What the child has in place of a value that does not exist yet. No NamedTuple: that would be several outputs."""

    number: int


class Letters:
    """Writes live values as references that the other process reads, and back. One per call."""

    def __init__(self, courier: Courier, wire_types: Mapping[str, WireType], stand_in: Callable[[int], Any]) -> None:
        """`stand_in` gives what a number stands for on this side."""
        self._courier, self._wire_types, self._stand_in = courier, wire_types, stand_in
        #: What the numbers that were written stand for.
        self.stand_ins: list[Pending | Undrawn] = []

    def write(self, value: Any) -> list[Any]:
        """A reference to a value, or to what is inside a list. Raises TypeError for what cannot travel."""
        if isinstance(value, (Pending, Undrawn)):
            self.stand_ins.append(value)
            return ["s", len(self.stand_ins) - 1]
        if isinstance(value, StandIn):
            return ["s", value.number]
        if isinstance(value, list):
            return ["l", [self.write(item) for item in value]]
        if isinstance(value, dict):  # a file literal
            return ["j", value]
        packed = encode(value)
        return self._courier.hand_over(Value(digest_of(packed), packed=packed))

    def read(self, reference: list[Any]) -> Any:
        """What the other side wrote."""
        if reference[0] == "s":
            return self._stand_in(reference[1])
        if reference[0] == "l":
            return [self.read(item) for item in reference[1]]
        value = self._courier.resolve(reference, own=True)
        return value.get(self._wire_types) if isinstance(value, Value) else value


@dataclass(eq=False)
class LightCaller(ProcessWorker):
    """Calls light nodes and planning hooks in a child of its own, one at a time. See `graph.expand.Elsewhere`."""

    limit_s: float = LIGHT_SECONDS

    def light(self, spec: NodeSpec, node: str, inputs: Mapping[str, Any], wire_types: Mapping[str, WireType]) -> list[Any]:
        """The outputs of a light node. Raises Refused as the node does, FailedElsewhere for whatever else goes wrong."""
        made: list[Any] = self._ask("light", spec, node, inputs, wire_types)
        return made

    def resolve(self, spec: NodeSpec, node: str, known: Mapping[str, Any], wire_types: Mapping[str, WireType]) -> dict[str, Any]:
        """What a planning hook gives. Raises the same."""
        made: dict[str, Any] = self._ask("resolve", spec, node, known, wire_types)
        return made

    def _ask(self, hook: str, spec: NodeSpec, node: str, inputs: Mapping[str, Any], wire_types: Mapping[str, WireType]) -> Any:
        try:
            with self._talking:
                child = self._start(lambda: False)
                self._calls += 1
                letters = Letters(self.courier, wire_types, lambda number: letters.stand_ins[number])
                written = {name: letters.write(value) for name, value in inputs.items()}
                try:
                    child.channel.send("plan", self._calls, hook, [spec.id, spec.code], node, str(self.home), written)
                    return self._answer(child, letters)
                except (EOFError, OSError, LookupError) as error:
                    raise self._lost(f"while it planned {node}", error) from error
        except WorkerLost as error:
            raise FailedElsewhere(str(error)) from error

    def _answer(self, child: Child, letters: Letters) -> Any:
        until = time.monotonic() + self.limit_s
        while time.monotonic() < until:
            message = child.receive(POLL_SECONDS)
            match message:
                case None:
                    child.check_pulse()
                case ["pong"]:
                    pass
                case ["planned", self._calls, list(made)]:
                    return [letters.read(one) for one in made]
                case ["planned", self._calls, dict(made)]:
                    return {name: letters.read(one) for name, one in made.items()}
                case ["refused", self._calls, str(said), None | str() as port, str(code)]:
                    raise Refused(said, port=port, code=code)
                case ["failed", self._calls, str(kind), str(said), str()]:
                    raise FailedElsewhere(f"{kind}: {said}")
                case _:
                    raise NotOurs("it answered in a way that is not ours, so it was ended")
        raise Silent(f"it took more than {self.limit_s:g} s, so it was ended")
