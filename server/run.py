"""`latentgraph run`: the engine in this process, shown on stderr, its result on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graph.compile import Compiled, compile_document
from graph.errors import Problem, WorkflowError
from graph.publish import remove_unfinished
from nodes.files import picked_files
from server.assignments import PickedFile, assign
from server.display import ResultRow, RunDisplay, closing_table
from server.files import beside, bring, refuse_missing
from server.interruption import Interruption
from server.report import CANCELLED, DONE, FAILED, print_data, print_json, tell
from server.settings import WrongUsage, chosen_devices, unusable_home
from server.usable import why_unwritable
from server.values import value_json, value_text
from server.workspace import Workspace, read_workflow

if TYPE_CHECKING:
    from graph.active import NodeResult, RunResult
    from graph.engine import Engine
    from graph.plan import Plan

#: Exit codes by the state a run ends in.
EXIT = {"done": DONE, "failed": FAILED, "cancelled": CANCELLED}


class Prepared(NamedTuple):
    """A valid workflow with the values of `--set`, and the files that are to be copied into the data folder."""

    file: Path
    compiled: Compiled
    files: tuple[PickedFile, ...]


def check(workspace: Workspace, file: Path, assignments: Sequence[str] = ()) -> Prepared:
    """Read, set and validate a workflow; writes nothing. Raises WorkflowError with every problem."""
    file = workspace.workflow_file(file)
    document = read_workflow(file)
    specs = workspace.registry.specs
    assigned = assign(document, specs, assignments)
    compiled = compile_document(assigned.document, specs, file=str(file))
    files = assigned.files + beside(compiled, file.parent)
    refuse_missing(compiled, workspace.home, files, str(file))
    return Prepared(file, compiled, files)


@contextmanager
def planning(checked: Prepared) -> Iterator[None]:
    """Planning sees the workflow's files where they lie, and what it refuses is told with the workflow's name.

    So no file is copied for a workflow that is refused. An input that a light node gives is told with that node's own
    inputs: there is the value to change.
    """
    with picked_files({entry.sha256: entry.path for entry in checked.files}):
        try:
            yield
        except WorkflowError as error:
            raise WorkflowError(_placed(problem, checked) for problem in error.problems) from error


def _placed(problem: Problem, checked: Prepared) -> Problem:
    compiled, message = checked.compiled, problem.message
    index = compiled.index.get(problem.node or "")
    link = None if index is None else compiled.links[index].get(problem.port or "")
    if link is not None and compiled.specs[link.node].light and compiled.literals[link.node]:
        source = compiled.ids[link.node]
        ports = " or ".join(f"{source}.{name}" for name in compiled.literals[link.node])
        message = f"{message}{'' if message.endswith(('.', '?')) else '.'} {problem.node}.{problem.port} comes from {ports}."
    return replace(problem, message=f"{checked.file}: {message}", file=str(checked.file))


def open_engine(workspace: Workspace, devices: Sequence[str]) -> Engine:
    """The engine of this process on these devices. Raises WrongUsage for devices or a home that it cannot use."""
    from graph.collector import relax_collector
    from graph.engine import DEFAULT_LIMITS, Engine
    from nodes.runtime import DeviceRuntime, device_class, memory_budget

    relax_collector()
    names = tuple(devices)
    setup = "nodes.runtime:worker" if workspace.packs else "nodes.runtime:worker_without_packs"
    try:
        kind, budget = device_class(names), memory_budget(names[0], len(names))
        return Engine(
            workspace.registry, workspace.home, devices=names, device_class=kind, setup=setup,
            runtime=partial(DeviceRuntime, budget_bytes=budget), limits=DEFAULT_LIMITS._replace(device=budget),
        )  # fmt: skip
    except ValueError as error:
        raise WrongUsage(f"--devices: {error}.") from error
    except OSError as error:
        raise unusable_home(workspace.home, error) from error


def gallery_folder(home: Path) -> Path:
    """Where the server on this data folder keeps its outputs, by its settings. Raises WrongUsage if they cannot be used."""
    from server.configuration import load_settings

    return load_settings(home, {}).settings.output_folder or home / "outputs"


def run(workspace: Workspace, file: Path, assignments: Sequence[str], output: Path, devices: str | None, json: bool) -> int:
    """Run a workflow; gives the exit code. Raises WorkflowError if it is refused before it starts."""
    names = chosen_devices(devices)
    checked = check(workspace, file, assignments)
    compiled = checked.compiled
    if any(spec.effect for spec in compiled.specs):
        _refuse_unwritable(output)
    with open_engine(workspace, names) as engine:
        with planning(checked):
            plan = engine.plan(compiled, seeds=engine.draw_seeds(compiled))
        bring(workspace.home, checked.files)
        result = carry_out(engine, plan, output)
        tell(closing_table([_row(node) for node in result.nodes], result.seconds))
        _tell_drawn(compiled, result.seeds)
        _tell_ending(result)
        outputs = with_paths(compiled, result.outputs, output)
        if json:
            print_json(run_json(result, outputs, file))
        else:
            _print_outputs(outputs, bool(result.absent))
    return EXIT[result.state]


def _refuse_unwritable(output: Path) -> None:
    """Raise WrongUsage if nothing can be written to `output`, which need not exist yet; nothing is made."""
    reason = why_unwritable(output)
    if reason:
        raise WrongUsage(f"Nothing can be saved to {output} ({reason}); give another folder with --output.")


def carry_out(engine: Engine, plan: Plan, output: Path) -> RunResult:
    """Start a plan and wait for its end, showing it on stderr; Ctrl-C and SIGTERM cancel it."""
    display = RunDisplay(len(plan.run), engine.home / "previews")

    def clean() -> None:
        display.remove_previews()
        remove_unfinished(output)
        engine.abandon()

    # What a node prints belongs to the progress, not to the results.
    with redirect_stdout(sys.stderr), Interruption(clean) as interruption, display:
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


def _tell_drawn(compiled: Compiled, seeds: Mapping[str, int]) -> None:
    """A line for each seed that was drawn, with how to have it again; ports under one named input have one."""
    inputs, drawn = compiled.document.inputs, dict[str, int]()
    for node, port, name in compiled.random:
        place = f"{compiled.ids[node]}.{port}"
        if place in seeds:
            drawn[name if name is not None and name in inputs else place] = seeds[place]
    for name, seed in drawn.items():
        advice = f"--set {name}={seed} repeats it" if name in inputs else "write it there to repeat it"
        tell(f"{name} drawn: {seed}; {advice}")


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


def with_paths(compiled: Compiled, outputs: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Named outputs with the path in place of the name of a file that an effect wrote into `folder`."""

    def path_of(value: object) -> object:
        if isinstance(value, list):
            return [path_of(item) for item in value]
        return str(folder / value) if isinstance(value, str) and value and (folder / value).is_file() else value

    effects = {name for name, link in compiled.outputs.items() if link is not None and compiled.specs[link.node].effect}
    return {name: path_of(value) if name in effects else value for name, value in outputs.items()}


def _print_outputs(outputs: Mapping[str, object], some_absent: bool) -> None:
    """One output: its value alone, ready for a script; several: a line each."""
    if len(outputs) == 1 and not some_absent:
        print_data(value_text(next(iter(outputs.values()))))
        return
    for name, value in outputs.items():
        print_data(f"{name}: {value_text(value)}")


def run_json(result: RunResult, outputs: Mapping[str, object], file: Path) -> dict[str, Any]:  # Any: plain JSON
    """What `run --json` prints."""
    return {
        "state": result.state,
        "workflow": str(file),
        "outputs": {name: value_json(value) for name, value in outputs.items()},
        "absent": result.absent,
        "nodes": [node._asdict() for node in result.nodes],
        "seeds": result.seeds,
        "seconds": result.seconds,
        "messages": result.messages,
    }
