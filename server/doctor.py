"""`latentgraph doctor`: is everything that a run needs in place on this machine?"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from graph.errors import LatentgraphError
from nodes.configs import class_of, read_config
from nodes.families import family_of_pipeline
from nodes.models import MINI, ROOTS_VARIABLE, list_models, named_roots
from server import shipped
from server.open_files import open_files
from server.problems import Refusal
from server.settings import WrongUsage, machine_devices
from server.shadow import shadows
from server.text import size_text
from server.usable import Given, unknown_limits, unusable
from server.version import own_version
from server.workspace import Workspace

if TYPE_CHECKING:
    from server.configuration import Settings

#: Below this a run may end up without its cache.
LOW_SPACE_BYTES: Final = 1 << 30

#: How the settings show that nothing is set.
_NOTHING: Final = ("", "None", "{}")
_LIBRARIES: Final = ("torch", "diffusers", "transformers", "torchao", "safetensors")
_PROBE: Final = "import torch; print(torch.__version__, torch.cuda.device_count(), torch.get_num_threads())"


class Finding(NamedTuple):
    """One thing looked at. "wrong" makes the command fail; "note" is worth knowing; `message` says what to do."""

    state: Literal["ok", "note", "wrong"]
    subject: str
    message: str


def examine(workspace: Workspace) -> list[Finding]:
    """Look at everything; each check gives at least one finding and none raises."""
    checks: list[Callable[[Workspace], Iterator[Finding]]] = [
        _version,
        _python,
        _libraries,
        _names,
        _home,
        _settings,
        _use,
        _keys,
        _jobs,
        _node_types,
        _packs,
        _models,
        _page,
        _templates,
        _devices,
    ]
    return [finding for check in checks for finding in check(workspace)]


def _version(_: Workspace) -> Iterator[Finding]:
    yield Finding("ok", "latentgraph", own_version())


def _python(_: Workspace) -> Iterator[Finding]:
    state: Literal["ok", "wrong"] = "ok" if sys.version_info >= (3, 11) else "wrong"
    need = "" if state == "ok" else "; install Python 3.11 or newer"
    yield Finding(state, "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}{need}")


def _libraries(_: Workspace) -> Iterator[Finding]:
    for name in _LIBRARIES:
        try:
            yield Finding("ok", name, version(name))
        except PackageNotFoundError:
            yield Finding("wrong", name, f"is not installed; {_again()}")


def _names(_: Workspace) -> Iterator[Finding]:
    found = shadows(Path(__file__).parents[1])
    for shadow in found:
        effect = "Python imports it instead of ours" if shadow.wins else "ours comes first on the path"
        what = "take that folder off the path or uninstall what brought it" if shadow.wins else "nothing to do"
        yield Finding(
            "wrong" if shadow.wins else "note", "import names", f"{shadow.path} is called {shadow.name} too; {effect}: {what}"
        )
    if not found:
        yield Finding("ok", "import names", "graph, nodes and server are ours alone")


def _home(workspace: Workspace) -> Iterator[Finding]:
    home = workspace.home
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        yield Finding("wrong", "data folder", f"{home} cannot be written ({error.strerror}); set LATENTGRAPH_HOME or give --home")
        return
    if os.name == "posix":
        yield from _privacy(home)
    free = shutil.disk_usage(home).free
    low = free < LOW_SPACE_BYTES
    advice = "; runs may end up without their cache: free some space, or run `latentgraph cache clear`" if low else ""
    yield Finding("note" if low else "ok", "data folder", f"{home}, {size_text(free)} free{advice}")


def _privacy(home: Path) -> Iterator[Finding]:
    """What is said against a data folder that others can use; nothing if it is ours alone."""
    from server.lock import private_home  # not on Windows

    try:
        private_home(home)
    except WrongUsage as error:
        yield Finding("wrong", "data folder", str(error))
        return
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        yield Finding("note", "data folder", f"{home} can be entered by other users; run: chmod 700 {home}")


def _settings(workspace: Workspace) -> Iterator[Finding]:
    """Every setting of the server, its value and where that comes from; then what follows for open files and free space."""
    from server.configuration import load_settings  # pydantic: only this command and `serve` need it
    from server.health import Health

    try:
        loaded = load_settings(workspace.home, {})
    except WrongUsage as error:
        yield Finding("wrong", "settings", str(error))
        return
    for name, value, source in loaded.sources:
        yield Finding("ok", f"setting {name}", f"{'none' if value in _NOTHING else value} ({source})")
    most = open_files().most
    shortage = loaded.settings.limits().shortage(most)
    enough = f"the system allows {most}, which is enough for max_connections"
    yield Finding("note" if shortage else "ok", "open files", shortage or enough)
    if not workspace.home.is_dir():
        return
    try:
        Health(workspace.home, loaded.settings.min_free_bytes).check_disk()
    except Refusal as refusal:
        yield Finding("wrong", "disk floor", f"{refusal.message} Or lower min_free_bytes.")
    else:
        yield Finding("ok", "disk floor", "there is more free space than the server needs to take jobs and uploads")


def _use(workspace: Workspace) -> Iterator[Finding]:
    """Whether settings that can be read can also be used here: what `serve` refuses to start on, and what it warns of."""
    from server.configuration import load_settings

    try:
        loaded = load_settings(workspace.home, {})
    except WrongUsage:
        return  # told under settings
    given = loaded.given()
    wrong = [str(error) for error in unusable(given)]
    notes = [*loaded.warnings, *_unknown_limits(workspace, given["time_limits_s"])]
    yield from (Finding("wrong", "settings", message) for message in wrong)
    yield from (Finding("note", "settings", message) for message in notes)
    if not wrong:
        yield Finding("ok", "settings", "what they name can be used here")
    yield from _address(loaded.settings)


def _unknown_limits(workspace: Workspace, limits: Given) -> Iterator[str]:
    with contextlib.suppress(LatentgraphError):  # told under node types
        yield from unknown_limits(limits, workspace.registry.specs)


def _address(settings: Settings) -> Iterator[Finding]:
    """Whether `serve` could listen where these settings say."""
    from server.serve import Place, PortTaken, bind, check_place

    place = Place.of(settings)
    shown = f"{place.host}:{place.port}"
    try:
        check_place(place)
        for one in bind(place):
            one.close()
    except PortTaken:
        yield Finding("note", "address", f"{shown} is in use, by a server that runs or by something else")
    except LatentgraphError as error:
        yield Finding("wrong", "address", str(error))
    else:
        yield Finding("ok", "address", f"{shown} is free")


def _keys(workspace: Workspace) -> Iterator[Finding]:
    from server.api.session import missing_keys

    try:
        missing = missing_keys(workspace.home)
    except (WrongUsage, OSError) as error:
        yield Finding("wrong", "token", str(error))
        return
    if missing:
        yield Finding("note", "token", f"no {' and no '.join(missing)} yet; `latentgraph serve` makes what is missing")
    else:
        yield Finding("ok", "token", "token and secret are there, for this user alone")


def _jobs(workspace: Workspace) -> Iterator[Finding]:
    """The server's job store, read beside a server that may run."""
    path = workspace.home / "jobs.sqlite"
    aside = sorted(one.name for one in workspace.home.glob("jobs.sqlite.damaged*"))
    if aside:
        yield Finding("note", "jobs", f"{', '.join(aside)} was damaged and set aside; look through it, or remove it")
    if not path.exists():
        yield Finding("note", "jobs", "no job store yet; the first `latentgraph serve` makes it")
        return
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as store:
            (verdict,) = store.execute("PRAGMA quick_check(1)").fetchone()
            counts = store.execute("SELECT state, COUNT(*) FROM jobs GROUP BY state ORDER BY state").fetchall()
    except sqlite3.Error as error:
        yield Finding("wrong", "jobs", f"{path} cannot be read ({error}); restore a backup, or move the file away")
        return
    if verdict != "ok":
        yield Finding("wrong", "jobs", f"{path} is damaged ({verdict}); restore a backup: the server sets it aside at its start")
        return
    shown = ", ".join(f"{count} {state}" for state, count in counts) or "no jobs"
    yield Finding("ok", "jobs", f"{shown}; {size_text(path.stat().st_size)}, whole")


def _node_types(workspace: Workspace) -> Iterator[Finding]:
    try:
        registry = workspace.registry
    except LatentgraphError as error:
        yield Finding("wrong", "node types", str(error))
        return
    yield Finding("ok", "node types", f"{len(registry.specs)} known, {len(registry.wire_types)} wire types")


def _packs(workspace: Workspace) -> Iterator[Finding]:
    if not workspace.packs:
        yield Finding("note", "packs", "left out by --no-packs")
        return
    try:
        registry = workspace.registry
    except LatentgraphError:
        return  # told under node types
    for pack in registry.packs.values():
        count = sum(type_id.startswith(f"{pack.name}/") for type_id in registry.specs)
        yield Finding("ok", f"pack {pack.name}", f"{count} node types from {pack.distribution} {pack.version}")
    for broken in registry.broken.values():
        reason = " ".join(broken.reason.split())
        yield Finding(
            "wrong", f"pack {broken.pack.name}", f"of {broken.pack.distribution} {broken.pack.version} gives no nodes: {reason}"
        )
    if not registry.packs and not registry.broken:
        yield Finding("ok", "packs", "none installed")


def _models(workspace: Workspace) -> Iterator[Finding]:
    models = list_models(workspace.home)
    names = [model.name for model in models]
    for root in named_roots():
        if not root.is_dir():
            yield Finding("wrong", "models", f"{ROOTS_VARIABLE} names {root}, which is no folder; make it, or take it out")
    for model in models:
        if refused := _refused_model(model.folder):
            yield Finding("note", f"model {model.name}", f"no run can use it: {refused}")
    if MINI in names:
        yield Finding("ok", "models", ", ".join(names))
    else:
        yield Finding(
            "note",
            "models",
            f"{', '.join(names) or 'none'}; the shipped {MINI} is missing; {_again()}",
        )


def _refused_model(folder: Path) -> str:
    """Why no family here can run this model, as far as its index tells; "" if one can."""
    try:
        family_of_pipeline(class_of(read_config(folder / "model_index.json")))
    except (LatentgraphError, OSError) as error:
        return f"{error} ({folder})"
    return ""


def _page(_: Workspace) -> Iterator[Finding]:
    folder = shipped.canvas()
    if folder is None:
        advice = "run `make page`" if shipped.is_checkout() else _again()
        yield Finding("note", "page", f"the canvas is not here, `latentgraph serve` shows a small page instead; {advice}")
    else:
        yield Finding("ok", "page", f"the canvas in {folder}")


def _templates(_: Workspace) -> Iterator[Finding]:
    folder = shipped.templates()
    if folder is None:
        yield Finding("note", "templates", f"none here; {_again()}")
    else:
        names = [path.stem for path in sorted(folder.glob("*.json")) if not path.name.endswith(".schema.json")]
        yield Finding("ok", "templates", f"{', '.join(names) or 'none'} in {folder}")


def _again() -> str:
    """What to do about a part that is missing."""
    if shipped.is_checkout():
        return "take a whole checkout and run: pip install -c constraints.txt -e ."
    return "install Latentgraph again, from its wheel and with its dependencies"


def _devices(_: Workspace) -> Iterator[Finding]:
    yield Finding("ok", "devices", f"{', '.join(machine_devices())}; {os.cpu_count()} CPU cores")
    try:
        probe = subprocess.run([sys.executable, "-P", "-c", _PROBE], capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("wrong", "torch", f"cannot be tried ({error}); reinstall it")
        return
    if probe.returncode != 0:
        reason = (probe.stderr.strip().splitlines() or ["no reason given"])[-1]
        yield Finding("wrong", "torch", f"cannot be imported ({reason}); reinstall it")
        return
    release, gpus, threads = probe.stdout.split()
    yield Finding("ok", "torch", f"{release} imports; {gpus} CUDA devices, {threads} CPU threads")
