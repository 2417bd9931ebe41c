"""The wheel: it has everything that serves, runs and is looked at, nothing else, and works where there is no checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from server.shipped import CANVAS, TEMPLATES
from tests.rig.serving import Server, running
from web.scripts import wheel

ROOT = Path(__file__).parents[2]
#: Of web/ what a build looks at.
PAGE_PARTS = ("scripts", "src", "index.html", "vite.config.ts", "tsconfig.json", "package-lock.json")
CACHES = shutil.ignore_patterns("__pycache__", ".*")


def a_tree(folder: Path) -> Path:
    """A copy of what a build needs, without a page; files keep their times."""
    for name in ("graph", "nodes", "server", "workflows", *(f"web/{part}" for part in PAGE_PARTS)):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=CACHES)
        else:
            shutil.copy2(ROOT / name, folder / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


def add_page(tree: Path) -> None:
    """A page that stands in for the built one."""
    (tree / "web/dist/assets").mkdir(parents=True)
    (tree / "web/dist/assets/page-1.js").write_text("// the page")
    (tree / "web/dist/.built").touch()
    (tree / "web/dist/index.html").write_text("<!doctype html>")


def build(tree: Path) -> subprocess.CompletedProcess[str]:
    """`pip wheel` with the setuptools that is here, so that nothing is fetched; the wheel goes to `dist/`."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "-w",
        "dist",
        ".",
    ]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def built_wheel(tree: Path) -> Path:
    done = build(tree)
    assert done.returncode == 0, done.stderr
    (found,) = (tree / "dist").glob("*.whl")
    return found


def files_under(folder: Path, shown_as: Path | str) -> set[str]:
    return {(shown_as / path.relative_to(folder)).as_posix() for path in folder.rglob("*") if path.is_file()}


def litter(tree: Path) -> None:
    """What lies about where people work, and must stay there."""
    for name in (
        "tests/test_a.py", "web/node_modules/a/index.js", "nodes/mini/__pycache__/a.pyc", "nodes/mini/weights/.DS_Store",
        "server/__pycache__/cli.pyc", "server/.mypy_cache/a.json", "graph/.ruff_cache/a", "build/lib/server/removed.py",
        "build/lib/server/canvas/assets/page-0.js", ".latentgraph/token",
    ):  # fmt: skip
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()


@pytest.mark.slow
def test_it_holds_modules_mini_page_and_templates_and_nothing_else(tmp_path: Path) -> None:
    tree = a_tree(tmp_path)
    add_page(tree)
    wanted = {name for package in ("graph", "nodes", "server") for name in files_under(tree / package, package)}
    wanted |= {f"{CANVAS}/index.html", f"{CANVAS}/assets/page-1.js"} | files_under(tree / "workflows", TEMPLATES)
    litter(tree)
    with zipfile.ZipFile(built_wheel(tree)) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert held == wanted
        assert archive.read("server/templates/mini_input.png") == (ROOT / "workflows/mini_input.png").read_bytes()
    assert "nodes/mini/weights/transformer/diffusion_pytorch_model.safetensors" in held


@pytest.mark.slow
def test_without_a_page_it_holds_the_rest(tmp_path: Path) -> None:
    with zipfile.ZipFile(built_wheel(a_tree(tmp_path))) as archive:
        held = archive.namelist()
    assert not [name for name in held if name.startswith(f"{CANVAS}/")]
    assert {"server/cli.py", "server/api/page/index.html", f"{TEMPLATES}/mini_input.png"} <= set(held)


@pytest.mark.slow
def test_one_with_a_page_older_than_its_sources_is_refused_in_a_sentence(tmp_path: Path) -> None:
    add_page(a_tree(tmp_path))
    (tmp_path / "web/index.html").touch()
    os.utime(tmp_path / "web/index.html", (2e9, 2e9))
    done = build(tmp_path)
    assert done.returncode != 0
    assert "web/index.html is newer than the built page in web/dist. Run `make wheel`, or `make page` first." in done.stderr
    assert not (tmp_path / "dist").exists() or not list((tmp_path / "dist").iterdir())


def set_times(tree: Path, times: Mapping[str, int]) -> None:
    for name, time_s in times.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
        os.utime(tree / name, (time_s, time_s))


def test_a_page_older_than_its_sources_is_none(tmp_path: Path) -> None:
    set_times(tmp_path, {"web/src/ui/a.ts": 10, "web/index.html": 10, "web/dist/index.html": 20})
    assert wheel.newer_than_page(tmp_path) is None
    set_times(
        tmp_path, {"web/src/ui/a.test.ts": 30, "web/src/a.test.tsx": 30, "web/tests/run.test.ts": 30, "web/dist/.built": 30}
    )
    assert wheel.newer_than_page(tmp_path) is None
    for name in ("web/src/ui/a.ts", "web/index.html", "web/vite.config.ts", "web/tsconfig.json", "web/package-lock.json"):
        set_times(tmp_path, {name: 30})
        assert wheel.newer_than_page(tmp_path) == name
        set_times(tmp_path, {name: 10})


def test_the_makefile_builds_the_page_again_for_the_same_files() -> None:
    (line,) = re.findall(r"^PAGE_SOURCES := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name.removeprefix("web/") for name in re.findall(r"web/[\w./-]+", line)}
    assert named | {"package-lock.json"} == set(wheel.SOURCES)


def test_the_build_and_the_program_mean_the_same_places() -> None:
    assert (wheel.CANVAS, wheel.TEMPLATES) == (CANVAS, TEMPLATES)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel of this checkout and its page; other packages come from the one that runs the tests.

    A path in a .pth file is searched, and .pth files there are not read: so no editable install of a checkout is seen.
    """
    changed = wheel.newer_than_page(ROOT)
    reason = f"{changed} is newer than the built page" if changed else None
    if not (ROOT / "web/dist/index.html").is_file():
        reason = "web/dist has no built page"
    if reason is not None and os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI may not skip this", pytrace=False)
    if reason is not None:
        pytest.skip(f"{reason}: run make page")
    folder = tmp_path_factory.mktemp("installed")
    tree = a_tree(folder / "tree")
    shutil.copytree(ROOT / "web/dist", tree / "web/dist")
    found = built_wheel(tree)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], cwd=folder, check=True)
    python = folder / "env" / "bin" / "python"
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    install = ["install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", str(found)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    shutil.rmtree(tree)
    return folder / "env"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": "", **more}


def call(env: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`latentgraph` of the installed copy, called from a folder that has nothing to do with it."""
    command = [str(env / "bin" / "latentgraph"), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_installed_it_serves_the_canvas_and_the_templates(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    program = [str(installed / "bin" / "latentgraph")]
    with running(Server(home, pack=tmp_path, program=program, environment={"PYTHONPATH": ""})) as server:
        page = server.request("GET", "/", headers={"Authorization": ""}).body
        assert page == (ROOT / "web/dist/index.html").read_bytes()
        named = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.decode())
        assert {name.rpartition(".")[2] for name in named} >= {"js", "css"}
        for path in (ROOT / "web/dist/assets").iterdir():
            assert server.get(f"/assets/{path.name}").body == path.read_bytes()
        assert all(server.get(name).status == 200 for name in named)
        listed = {entry["name"]: entry["source"] for entry in server.get("/v1/workflows").json["workflows"]}
        shipped = [path.stem for path in (ROOT / "workflows").glob("*.json") if not path.name.endswith(".schema.json")]
        assert listed == dict.fromkeys(shipped, "template")
        files = [file["sha256"] for file in server.get("/v1/files").json["files"]]
        brought = {server.get(f"/v1/files/{sha256}/content").body for sha256 in files}
        assert brought == {path.read_bytes() for path in (ROOT / "workflows").glob("*.png")}


@pytest.mark.slow
def test_installed_it_draws_a_template_with_the_shipped_model(installed: Path, tmp_path: Path) -> None:
    (template,) = installed.glob(f"lib/python*/site-packages/{TEMPLATES}/mini_image_to_image.json")
    done = call(installed, tmp_path, "run", str(template), "--set", "steps=2", "--devices", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    (drawn,) = (tmp_path / "outputs").glob("*.png")
    assert drawn.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_installed_its_other_commands_work_or_say_what_they_need(installed: Path, tmp_path: Path) -> None:
    assert "Usage: latentgraph" in call(installed, tmp_path, "--help").stdout
    doctor = call(installed, tmp_path, "doctor", "--json")
    found = {finding["subject"]: finding for finding in json.loads(doctor.stdout)}
    (site,) = installed.glob("lib/python*/site-packages")
    assert found["page"]["message"] == f"the canvas in {site / CANVAS}"
    assert found["templates"]["message"].endswith(f" in {site / TEMPLATES}")
    assert [name for name, finding in found.items() if finding["state"] == "wrong"] == []
    bench = call(installed, tmp_path, "bench")
    assert (bench.returncode, "bench needs the checkout, not an installed copy. Run it there." in bench.stderr) == (2, True)
