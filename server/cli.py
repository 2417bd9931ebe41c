"""The command `latentgraph`: what can be asked, in what words. What a command does lies in the modules beside.

Only typer is imported here: the rest is imported by the command that needs it, so that `--help` and `validate` are
quick and nothing but a run ever imports torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from server.report import DONE, FAILED, print_data, print_json, reported, tell

app = typer.Typer(
    name="latentgraph",
    help="Run diffusion models as typed node graphs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Workflow = Annotated[Path, typer.Argument(metavar="FILE", help="A workflow file (JSON).", show_default=False)]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="The data folder. Default: LATENTGRAPH_HOME, else the user's data folder.", show_default=False),
]
NoPacks = Annotated[bool, typer.Option("--no-packs", help="Leave installed packs out.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a named input; may be repeated.", show_default=False)
]


def main() -> None:
    """Entry point of the command."""
    app()


@app.command()
def validate(file: Workflow, home: Home = None, no_packs: NoPacks = False, json: Json = False) -> None:
    """Check a workflow file and tell every problem; runs nothing."""
    raise typer.Exit(_validate(file, home=home, no_packs=no_packs, json=json))


@reported
def _validate(file: Path, *, home: Path | None, no_packs: bool, json: bool) -> int:
    from graph.compile import compile_document
    from server.files import refuse_missing
    from server.settings import home_folder
    from server.workspace import Workspace, read_workflow

    workspace = Workspace(home_folder(home), not no_packs)
    document = read_workflow(file)
    compiled = compile_document(document, workspace.registry.specs, file=str(file))
    refuse_missing(compiled, workspace.home, (), str(file))
    if json:
        print_json({"state": "valid", "problems": [], "nodes": len(compiled.ids)})
    else:
        print_data(f"{file}: valid, {len(compiled.ids)} nodes")
    return DONE


@app.command()
def nodes(
    type: Annotated[str | None, typer.Argument(metavar="[TYPE]", help="Show one node type.", show_default=False)] = None,
    home: Home = None,
    no_packs: NoPacks = False,
    json: Json = False,
) -> None:
    """List the node types, or show one."""
    raise typer.Exit(_nodes(type, home=home, no_packs=no_packs, json=json))


@reported
def _nodes(type: str | None, *, home: Path | None, no_packs: bool, json: bool) -> int:
    from graph.errors import nearest
    from server.catalogue_text import node_list, node_page
    from server.settings import WrongUsage, home_folder
    from server.workspace import Workspace

    registry = Workspace(home_folder(home), not no_packs).registry
    for broken in registry.broken.values():
        tell(f"pack {broken.pack.name} gives no nodes: {broken.reason}. See: latentgraph doctor")
    if type is None:
        print_json([spec.to_json() for spec in registry.specs.values()]) if json else print_data(
            node_list(registry.specs.values())
        )
        return DONE
    spec = registry.specs.get(registry.former.get(type, type))
    if spec is None:
        raise WrongUsage(f'there is no node type "{type}".{nearest(type, registry.specs)}')
    print_json(spec.to_json()) if json else print_data(node_page(spec))
    return DONE


@app.command()
def doctor(home: Home = None, no_packs: NoPacks = False, json: Json = False) -> None:
    """Look whether everything that a run needs is in place."""
    from server.doctor import examine
    from server.settings import home_folder
    from server.text import columns
    from server.workspace import Workspace

    findings = examine(Workspace(home_folder(home), not no_packs))
    if json:
        print_json([finding._asdict() for finding in findings])
    else:
        print_data(columns(findings))
    raise typer.Exit(FAILED if any(finding.state == "wrong" for finding in findings) else DONE)
