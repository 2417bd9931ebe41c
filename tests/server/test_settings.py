"""The data folder and the devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from server import settings
from server.settings import WrongUsage, home_folder, machine_devices, parse_devices


def test_the_flag_beats_the_environment_and_that_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    environment = {"LATENTGRAPH_HOME": "/from/environment", "XDG_DATA_HOME": "/data"}
    assert home_folder(Path("/flag"), environment) == Path("/flag")
    assert home_folder(None, environment) == Path("/from/environment")
    assert home_folder(None, {"XDG_DATA_HOME": "/data"}) == Path("/data/latentgraph")
    assert home_folder(None, {}) == Path.home() / ".local" / "share" / "latentgraph"


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert home_folder(Path("here"), {}) == tmp_path / "here"


@pytest.mark.parametrize("text", ["cpu", "cpu:0,cpu:1", "cuda:0, cuda:1", "mps", "cuda:0,cpu"])
def test_device_names_are_read(text: str) -> None:
    assert parse_devices(text) == tuple(part.strip() for part in text.split(","))


@pytest.mark.parametrize("text", ["", "gpu", "cuda", "cpu:", "cpu:0,,cpu:1", "cpu:-1"])
def test_other_device_names_are_refused_with_the_form(text: str) -> None:
    with pytest.raises(WrongUsage, match=r"a device is cpu, cpu:0, cuda:0 or mps\. Separate several by commas"):
        parse_devices(text)


def test_a_device_named_twice_is_refused() -> None:
    with pytest.raises(WrongUsage, match="--devices names cpu twice; number virtual devices: cpu:0,cpu:1"):
        parse_devices("cpu,cpu")


def test_the_machines_gpus_are_taken_in_order_if_torch_can_use_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.setattr(settings, "_torch_is_built_for_cuda", lambda: True)
    assert machine_devices(tmp_path) == ("cuda:2", "cuda:10")
    monkeypatch.setattr(settings, "_torch_is_built_for_cuda", lambda: False)
    assert machine_devices(tmp_path) == ("cpu",)


@pytest.mark.parametrize(
    ("line", "built"),
    [("cuda: Optional[str] = '12.8'", True), ("cuda: Optional[str] = None", False), ("hip: Optional[str] = '6'", False)],
)
def test_what_torch_is_built_for_is_read_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, built: bool
) -> None:
    (tmp_path / "__init__.py").touch()
    (tmp_path / "version.py").write_text(f"debug = False\n{line}\n")
    spec = type("Spec", (), {"origin": str(tmp_path / "__init__.py")})()
    monkeypatch.setattr(settings, "find_spec", lambda name: spec)
    assert settings._torch_is_built_for_cuda() is built
