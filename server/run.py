"""`latentgraph run`: the engine in this process, shown on stderr, its result on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graph.compile import Compiled, compile_document
from server.assignments import assign
from server.display import ResultRow, RunDisplay, closing_table
from server.files import bring, refuse_missing
from server.interruption import Interruption
from server.report import CANCELLED, DONE, FAILED, print_data, print_json, tell
from server.settings import machine_devices, parse_devices
from server.values import value_json, value_text
from server.workspace import Workspace, read_workflow

if TYPE_CHECKING:
    from graph.engine import Engine
    from graph.execute import NodeResult, RunResult
    from graph.plan import Plan

#: Exit codes by the state a run ends in.
EXIT = {"done": DONE, "failed": FAILED, "cancelled": CANCELLED}


class Prepared(NamedTuple):
    """A valid workflow with the values of `--set`; its files lie in the data folder."""

    compiled: Compiled
    file: Path


def prepare(workspace: Workspace, file: Path, assignments: Sequence[str]) -> Prepared:
    """Read, set, validate; only then copy the files that `--set` names into the data folder.

    Raises WorkflowError with every problem; nothing is written then.
    """
    document = read_workflow(file)
    specs = workspace.registry.specs
    assigned = assign(document, specs, assignments)
    compiled = compile_document(assigned.document, specs, file=str(file))
    refuse_missing(compiled, workspace.home, assigned.files, str(file))
    bring(workspace.home, assigned.files)
    return Prepared(compiled, file)


def open_engine(workspace: Workspace, devices: str | None) -> Engine:
    """The engine of this process on the named devices, or on the machine's."""
    from graph.engine import Engine

    names = parse_devices(devices) if devices is not None else machine_devices()
    return Engine(workspace.registry, workspace.home, devices=names)


def run(workspace: Workspace, file: Path, assignments: Sequence[str], output: Path, devices: str | None, json: bool) -> int:
    """Run a workflow; gives the exit code. Raises WorkflowError if it is refused before it starts."""
    prepared = prepare(workspace, file, assignments)
    with open_engine(workspace, devices) as engine:
        plan = engine.plan(prepared.compiled, seeds=engine.draw_seeds(prepared.compiled))
        result = carry_out(engine, plan, output)
        tell(closing_table([_row(node) for node in result.nodes], result.seconds))
        _tell_ending(result)
        if json:
            print_json(run_json(result, file))
        else:
            _print_outputs(result)
    return EXIT[result.state]


def carry_out(engine: Engine, plan: Plan, output: Path) -> RunResult:
    """Start a plan and wait for its end, showing it on stderr; Ctrl-C and SIGTERM cancel it."""
    display = RunDisplay(len(plan.run), engine.home / "previews")

    def clean() -> None:
        display.remove_previews()
        engine.abandon()

    with Interruption(clean) as interruption, display:
        handle = engine.start(plan, output_folder=output.absolute())
        handle.watch_previews(display.is_live)
        interruption.watch(handle.cancel)
        result = handle.wait(on_events=display.on_events)
    assert result is not None  # it waits for the end
    return result


def _row(node: NodeResult) -> ResultRow:
    return ResultRow(node.id, node.element, node.state, node.seconds, node.device, node.note or _first_line(node.error))


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _tell_ending(result: RunResult) -> None:
    for message in result.messages:
        tell(message)
    for node in result.nodes:
        if node.state == "failed":
            tell(node.error)
    for name, reason in result.absent.items():
        tell(f"output {name} is absent: {reason}")
    if result.state == "cancelled":
        tell("cancelled")


def _print_outputs(result: RunResult) -> None:
    """One output: its value alone, ready for a script; several: a line each."""
    if len(result.outputs) == 1 and not result.absent:
        print_data(value_text(next(iter(result.outputs.values()))))
        return
    for name, value in result.outputs.items():
        print_data(f"{name}: {value_text(value)}")


def run_json(result: RunResult, file: Path) -> dict[str, Any]:  # Any: plain JSON
    """What `run --json` prints."""
    return {
        "state": result.state,
        "workflow": str(file),
        "outputs": {name: value_json(value) for name, value in result.outputs.items()},
        "absent": result.absent,
        "nodes": [node._asdict() for node in result.nodes],
        "seeds": result.seeds,
        "seconds": result.seconds,
        "messages": result.messages,
    }
