"""The command `latentgraph`: what can be asked, in what words. What a command does lies in the modules beside.

Only typer is imported here: the rest is imported by the command that needs it, so that `--help` and `validate` are
quick and nothing but a run ever imports torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.report import DONE, FAILED, print_data, print_json, reported, tell

if TYPE_CHECKING:
    from server.workspace import Workspace

app = typer.Typer(
    name="latentgraph",
    help="Run diffusion models as typed node graphs. What has been computed is remembered and not computed again.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
cache_app = typer.Typer(
    help="Look at, check or empty what is remembered.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
app.add_typer(cache_app, name="cache")


def _named(path: str) -> Path | None:
    """A folder; "" counts as not given, as an empty variable does (typer would take it for the current folder)."""
    return Path(path) if path else None


def _print_version(wanted: bool) -> None:
    if wanted:
        from server.version import own_version

        print_data(f"latentgraph {own_version()}")
        raise typer.Exit


WorkflowFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A workflow file (JSON), or the name of a saved one or a template.", show_default=False),
]
Home = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The data folder. Default: LATENTGRAPH_HOME, else the user's data folder.",
        show_default=False,
        parser=_named,
    ),
]
NoPacks = Annotated[bool, typer.Option("--no-packs", help="Leave installed packs out.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a named input; may be repeated.", show_default=False)
]
Devices = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="cpu, cpu:0,cpu:1, cuda:0, ... Default: the GPUs, else the CPU.", show_default=False),
]


def main() -> None:
    """Entry point of the command."""
    app()


@app.callback()
def _whole(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What may stand before a command."""


@app.command()
@reported
def run(
    file: WorkflowFile,
    set: Assignments = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where saved files go. Default: outputs.", show_default=False),
    ] = None,
    gallery: Annotated[bool, typer.Option("--gallery", help="Save into the gallery of `latentgraph serve` instead.")] = False,
    devices: Devices = None,
    home: Home = None,
    no_packs: NoPacks = False,
    json: AsJson = False,
) -> int:
    """Run a workflow and print its named outputs."""
    from server.run import gallery_folder
    from server.run import run as run_workflow
    from server.settings import WrongUsage

    if gallery and output is not None:
        raise WrongUsage("--gallery and --output name two places for saved files; give one of them.")
    workspace = _workspace(home, no_packs)
    place = gallery_folder(workspace.home) if gallery else output or Path("outputs")
    return run_workflow(workspace, file, set or [], place, devices, json)


@app.command()
@reported
def plan(
    file: WorkflowFile,
    set: Assignments = None,
    devices: Devices = None,
    home: Home = None,
    no_packs: NoPacks = False,
    json: AsJson = False,
) -> int:
    """Tell what a run would do: what is remembered, what runs, where, how long, how much memory."""
    from server.planning import plan as plan_workflow

    return plan_workflow(_workspace(home, no_packs), file, set or [], devices, json)


@app.command()
@reported
def why(
    file: WorkflowFile,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The id of a node.", show_default=False)],
    set: Assignments = None,
    devices: Devices = None,
    home: Home = None,
    no_packs: NoPacks = False,
    json: AsJson = False,
) -> int:
    """Tell why a node would run again, or why not."""
    from server.planning import why as why_node

    return why_node(_workspace(home, no_packs), file, node, set or [], devices, json)


@app.command()
@reported
def validate(file: WorkflowFile, home: Home = None, no_packs: NoPacks = False, json: AsJson = False) -> int:
    """Check a workflow file and tell every problem; runs nothing."""
    from server.run import check

    compiled = check(_workspace(home, no_packs), file).compiled
    if json:
        print_json({"state": "valid", "problems": [], "nodes": len(compiled.ids)})
    else:
        print_data(f"{file}: valid, {len(compiled.ids)} nodes")
    return DONE


@app.command()
@reported
def nodes(
    type: Annotated[str | None, typer.Argument(metavar="TYPE", help="Show one node type.", show_default=False)] = None,
    home: Home = None,
    no_packs: NoPacks = False,
    json: AsJson = False,
) -> int:
    """List the node types, or show one."""
    from graph.errors import nearest
    from server.catalogue_text import node_list, node_page
    from server.settings import WrongUsage

    registry = _workspace(home, no_packs).registry
    for broken in registry.broken.values():
        tell(f"Pack {broken.pack.name} gives no nodes: {broken.reason}. See: latentgraph doctor")
    if type is None:
        specs = registry.specs.values()
        print_json([spec.to_json() for spec in specs]) if json else print_data(node_list(specs))
        return DONE
    spec = registry.specs.get(registry.former.get(type, type))
    if spec is None:
        raise WrongUsage(f'There is no node type "{type}".{nearest(type, registry.specs)}')
    print_json(spec.to_json()) if json else print_data(node_page(spec))
    return DONE


@app.command()
@reported
def models(home: Home = None, json: AsJson = False) -> int:
    """List the models that workflows can name."""
    from nodes.models import list_models
    from server.settings import home_folder
    from server.text import columns

    found = list_models(home_folder(home))
    if json:
        print_json([{"name": model.name, "folder": str(model.folder)} for model in found])
    else:
        print_data(columns([("NAME", "FOLDER"), *((model.name, str(model.folder)) for model in found)]))
    return DONE


@app.command()
@reported
def doctor(home: Home = None, no_packs: NoPacks = False, json: AsJson = False) -> int:
    """Look whether everything that a run needs is in place."""
    from server.doctor import examine
    from server.text import columns

    findings = examine(_workspace(home, no_packs))
    print_json([finding._asdict() for finding in findings]) if json else print_data(columns(findings))
    return FAILED if any(finding.state == "wrong" for finding in findings) else DONE


@app.command()
@reported
def reproduce(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="A PNG that a run saved.", show_default=False)],
    devices: Devices = None,
    home: Home = None,
    no_packs: NoPacks = False,
    json: AsJson = False,
) -> int:
    """Render a saved picture again from what it carries and compare the pixels."""
    from server.reproduce import reproduce as reproduce_image

    return reproduce_image(_workspace(home, no_packs), image, devices, json)


@app.command()
@reported
def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, outside the data folder.", show_default=False)],
    home: Home = None,
    json: AsJson = False,
) -> int:
    """Copy jobs, workflows, drafts, uploads, outputs and settings; the server may run."""
    from server.backup import backup as make_backup
    from server.settings import home_folder

    return make_backup(home_folder(home), folder, json)


@app.command()
@reported
def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `backup` made.", show_default=False)],
    home: Home = None,
    json: AsJson = False,
) -> int:
    """Copy a backup into an empty data folder."""
    from server.backup import restore as restore_backup
    from server.settings import home_folder

    return restore_backup(home_folder(home), folder, json)


@app.command()
@reported
def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on. Default: 127.0.0.1.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: any. Default: 8765.", show_default=False)
    ] = None,
    devices: Devices = None,
    workflows: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder of saved workflows beside the data folder's.", show_default=False)
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name clients may call the server by; may be repeated.", show_default=False),
    ] = None,
    reload_nodes: Annotated[
        bool, typer.Option("--reload-nodes", help="Start the engine anew when a node's source changes.")
    ] = False,
    home: Home = None,
    no_packs: NoPacks = False,
    json: Annotated[bool, typer.Option("--json", help='Print one line {"url", "token"} instead of a link.')] = False,
) -> int:
    """Serve the page and the API; prints one link, then logs to stderr."""
    from server.serve import serve as run_server
    from server.settings import home_folder

    flags = {
        "host": host,
        "port": port,
        "devices": devices,
        "workflows_folder": workflows,
        "hosts": tuple(allow_host) if allow_host else None,
        "reload_nodes": True if reload_nodes else None,
        "packs": False if no_packs else None,
    }
    return run_server(home_folder(home), flags, json)


@app.command()
@reported
def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="engine, store, fidelity, ...; all if not given.", show_default=False)
    ] = None,
) -> int:
    """Measure: print tables of times and sizes with their bars. Needs the checkout."""
    from server.bench import bench as run_benches

    return run_benches(name)


@cache_app.command("stats")
@reported
def cache_stats(home: Home = None, json: AsJson = False) -> int:
    """Tell how much is kept."""
    from server.cache import stats
    from server.settings import home_folder

    return stats(home_folder(home), json)


@cache_app.command("verify")
@reported
def cache_verify(home: Home = None, json: AsJson = False) -> int:
    """Read everything that is kept and check it; what is damaged is set aside."""
    from server.cache import verify
    from server.settings import home_folder

    return verify(home_folder(home), json)


@cache_app.command("clear")
@reported
def cache_clear(
    disk_cache: Annotated[bool, typer.Option("--disk-cache", help="Remove the entries of disk_cache nodes too.")] = False,
    home: Home = None,
    json: AsJson = False,
) -> int:
    """Forget what is remembered; the entries of disk_cache nodes stay, unless asked for."""
    from server.cache import clear
    from server.settings import home_folder

    return clear(home_folder(home), disk_cache, json)


def _workspace(home: Path | None, no_packs: bool) -> Workspace:
    from server.settings import home_folder
    from server.workspace import Workspace

    return Workspace(home_folder(home), not no_packs)
