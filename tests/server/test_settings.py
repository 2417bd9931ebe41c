"""The data folder and the devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.settings import WrongUsage, chosen_devices, home_folder, machine_devices, parse_devices


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


HERE = ("cuda:0", "cuda:1", "mps")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cpu", ("cpu",)),
        ("cpu:0,cpu:1", ("cpu:0", "cpu:1")),
        ("cuda:0, cuda:1", ("cuda:0", "cuda:1")),
        ("mps", ("mps",)),
        ("mps:0", ("mps",)),
        ("cuda:00,cpu", ("cuda:0", "cpu")),
    ],
)
def test_device_names_are_read_and_written_in_one_way(text: str, names: tuple[str, ...]) -> None:
    assert parse_devices(text, HERE) == names


@pytest.mark.parametrize("text", ["", "gpu", "cuda", "cpu:", "cpu:0,,cpu:1", "cpu:-1", "mps:1", "cpux", "cuda:0x", "cpu:\u0660"])
def test_other_device_names_are_refused_with_the_form(text: str) -> None:
    with pytest.raises(WrongUsage, match=r"a device is cpu, cpu:0, cuda:0 or mps\. Separate several by commas"):
        parse_devices(text, HERE)


@pytest.mark.parametrize(("text", "name"), [("cpu,cpu", "cpu"), ("mps,mps:0", "mps"), ("cpu:1,cpu:01", "cpu:1")])
def test_a_device_named_twice_is_refused(text: str, name: str) -> None:
    with pytest.raises(WrongUsage, match=f"--devices names {name} twice; number virtual devices: cpu:0,cpu:1"):
        parse_devices(text, HERE)


def test_what_is_to_be_mended_is_named_where_it_stands() -> None:
    for text in ("gpu", "cpu,cpu", "cuda:7", "cpu,cpu:0"):
        with pytest.raises(WrongUsage, match="^LATENTGRAPH_DEVICES (got|names) "):
            parse_devices(text, HERE, "LATENTGRAPH_DEVICES")


def test_a_device_passes_while_it_is_not_known_which_there_are() -> None:
    assert parse_devices("cuda:7", None) == ("cuda:7",)


def test_the_cpu_beside_parts_of_it_is_refused() -> None:
    with pytest.raises(WrongUsage, match="names cpu and parts of it; either name cpu alone or number all: cpu:0,cpu:1"):
        parse_devices("cpu,cpu:0", HERE)


@pytest.mark.parametrize(
    ("text", "present", "message"),
    [
        ("cuda:7", HERE, "names cuda:7, which this machine does not offer; it has cpu, cuda:0, cuda:1, mps. Name one of these"),
        ("cpu:0,mps", (), "names mps, which this machine does not offer; it has cpu. Name one of these"),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(text: str, present: tuple[str, ...], message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        parse_devices(text, present)


@pytest.mark.parametrize(("present", "chosen"), [(HERE, ("cuda:0", "cuda:1")), (("mps",), ("cpu",)), ((), ("cpu",))])
def test_the_machines_gpus_are_taken_or_else_its_cpu(
    monkeypatch: pytest.MonkeyPatch, present: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    monkeypatch.setattr("nodes.devices.accelerators", lambda: present)
    assert machine_devices() == chosen_devices(None) == chosen
