"""Whole servers for the tests of this folder. The catalogue with the fake pack is made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.rig.serving import Server, install_pack, make_catalogue, running

MakeServer = Callable[..., Server]


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_pack(tmp_path_factory.mktemp("pack"))


@pytest.fixture(scope="session")
def catalogue_with_pack(tmp_path_factory: pytest.TempPathFactory, pack: Path) -> Path:
    folder = tmp_path_factory.mktemp("catalogue-with-pack") / "home"
    make_catalogue(folder, pack)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, catalogue_with_pack: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of this test, with the catalogue in it. Not the one of the tests above: its catalogue has no pack."""
    folder = tmp_path / "home"
    shutil.copytree(catalogue_with_pack, folder)
    folder.chmod(0o700)
    monkeypatch.setenv("LATENTGRAPH_HOME", str(folder))
    return folder


@pytest.fixture
def make_server(tmp_path: Path, pack: Path, catalogue_with_pack: Path) -> MakeServer:
    """Makes a server that is not started yet, on a fresh data folder with the catalogue in it."""

    def make(*arguments: str, name: str = "home", **more: object) -> Server:
        home = tmp_path / name
        if not home.exists():
            shutil.copytree(catalogue_with_pack, home)
            home.chmod(0o700)
        return Server(home, *arguments, pack=pack, **more)  # type: ignore[arg-type]  # passed on as given

    return make


@pytest.fixture
def server(make_server: MakeServer) -> Iterator[Server]:
    """A running server of one device."""
    with ExitStack() as stack:
        yield stack.enter_context(running(make_server()))
