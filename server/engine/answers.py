"""What the engine answers when it is asked: plans, reasons, what is kept. No answer draws a seed or runs a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from server.problems import Refusal

if TYPE_CHECKING:
    from graph.compile import Compiled
    from graph.engine import Engine
    from graph.plan import Plan

Arguments = Mapping[str, Any]  # Any: plain JSON
Answer = dict[str, Any]  # Any: plain JSON


def plan_json(plan: Plan) -> Answer:
    """A described plan; times in seconds, null where nothing is known yet."""
    return {
        "nodes": [node._asdict() for node in plan.nodes],
        "seconds": plan.seconds,
        "peak_bytes": plan.peak_bytes,
        "absent": plan.absent,
    }


def plan(engine: Engine, arguments: Arguments) -> Answer:
    """What a run of a document would do. Raises WorkflowError."""
    compiled = _load(engine, arguments)
    return plan_json(engine.described(engine.plan(compiled, targets=arguments.get("targets"))))


def why(engine: Engine, arguments: Arguments) -> Answer:
    """Why a node would run, or not. Raises WorkflowError, also for an unknown node."""
    reasons = engine.why(_load(engine, arguments), str(arguments["node"]))
    return {"reasons": [reason._asdict() for reason in reasons]}


def _load(engine: Engine, arguments: Arguments) -> Compiled:
    document: bytes = arguments["document"]
    return engine.load(document)


def cache_stats(engine: Engine, arguments: Arguments) -> Answer:
    """How much is kept."""
    from server.cached import stats_json  # graph.engine: the command line imports this module before it needs that

    return stats_json(engine.memories)


def cache_verify(engine: Engine, arguments: Arguments) -> Answer:
    """Whether what is kept is whole."""
    from server.cached import verify_json

    return verify_json(engine.memories, lambda: engine.library.specs)


def cache_clear(engine: Engine, arguments: Arguments) -> Answer:
    """Forget what is kept and not in use."""
    from server.cached import clear_json

    return clear_json(engine.memories, arguments.get("disk_cache") is True)


def free_memory(engine: Engine, arguments: Arguments) -> Answer:
    """Drop what is resident and not in use. Raises Refusal for a device that is not there, or is at a node."""
    device = arguments.get("device")
    if device is not None and device not in engine.devices:
        raise Refusal("not_found", f'There is no device "{device}"; the devices are {", ".join(engine.devices)}.')
    freed = engine.release(device)
    if device is not None and device not in freed:
        raise Refusal("in_use", f"{device} is at a node; free its memory when that has ended, or cancel its job.")
    return {"freed_bytes": freed}


def holders(engine: Engine, arguments: Arguments) -> Answer:
    """The devices that hold weights of a model; of models with the same weights, whichever they were read for."""
    from nodes.load import model_weights  # the command line imports this module before it needs that

    return {"devices": engine.holders(model_weights(str(arguments["model"]), engine.memories.home))}


Question = Callable[["Engine", Arguments], Answer]

#: Answered by threads of their own, so that a plan waits for no reading of the whole cache.
QUICK: Final[Mapping[str, Question]] = {"plan": plan, "why": why, "holders": holders}
SLOW: Final[Mapping[str, Question]] = {
    "cache_stats": cache_stats,
    "cache_verify": cache_verify,
    "cache_clear": cache_clear,
    "free_memory": free_memory,
}
