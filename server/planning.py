"""`latentgraph plan` and `why`: what a run would do, and why a node would run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graph.errors import nearest
from server.engine.answers import plan_json
from server.report import DONE, print_data, print_json
from server.run import check, open_engine, planning
from server.settings import WrongUsage, chosen_devices
from server.text import columns, seconds_text, size_text
from server.workspace import Workspace

if TYPE_CHECKING:
    from graph.plan import Plan, PlannedNode


def plan(workspace: Workspace, file: Path, assignments: Sequence[str], devices: str | None, json: bool) -> int:
    """Print the plan of a workflow; gives the exit code. Raises WorkflowError if it is refused."""
    names = chosen_devices(devices)
    checked = check(workspace, file, assignments)
    with open_engine(workspace, names) as engine, planning(checked):
        made = engine.described(engine.plan(checked.compiled))
    print_json({"workflow": str(file), **plan_json(made)}) if json else print_data(plan_text(made))
    return DONE


def why(workspace: Workspace, file: Path, node: str, assignments: Sequence[str], devices: str | None, json: bool) -> int:
    """Print why a node would run or not; gives the exit code. Raises WrongUsage for an unknown node."""
    names = chosen_devices(devices)
    checked = check(workspace, file, assignments)
    compiled = checked.compiled
    if node not in compiled.index:
        raise WrongUsage(f'{file}: there is no node "{node}".{nearest(node, compiled.ids)}')
    with open_engine(workspace, names) as engine, planning(checked):
        reasons = engine.why(compiled, node)
    if json:
        print_json({"node": node, "reasons": [reason._asdict() for reason in reasons]})
    else:
        print_data("\n".join(reason.message for reason in reasons))
    return DONE


def plan_text(plan: Plan) -> str:
    """The plan as people read it: a line per node, and a line of totals."""
    rows = [
        (
            node.id,
            node.type,
            node.state if node.tasks in (0, 1) else f"{node.state} {node.running} of {node.tasks}",
            node.place,
            "" if node.seconds is None else seconds_text(node.seconds),
            "" if node.peak_bytes is None else size_text(node.peak_bytes),
            node.reason,
        )
        for node in plan.nodes
    ]
    running = [node for node in plan.nodes if node.state == "run"]
    table = columns([("NODE", "TYPE", "STATE", "PLACE", "TIME", "PEAK", "REASON"), *rows])
    peaks = [f"peak {size_text(size)} on {place}" for place, size in plan.peak_bytes.items() if size]
    totals = "; ".join([f"{len(running)} of {len(plan.nodes)} nodes run", _time_text(plan, running), *peaks])
    return f"{table}\n{totals}"


def _time_text(plan: Plan, running: Sequence[PlannedNode]) -> str:
    if not running:
        return "nothing to compute"
    if plan.seconds is None:
        return "time unknown before the first run"
    unknown = sum(node.seconds is None for node in running)
    return f"about {seconds_text(plan.seconds)}" + (f", without {unknown} that never ran yet" if unknown else "")
