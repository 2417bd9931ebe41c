"""kill -9 of server, engine and workers while jobs run: nothing lost, nothing twice, every file whole, the same pixels."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rig.serving import ROOT, Server, n, running, workflow
from tests.rig.storm import Storm, Target, pictures
from tests.server.whole.conftest import MakeServer

#: Of each process, in the long storms.
KILLS = int(os.environ.get("RIG_KILLS", "100"))
MINI: dict[str, Any] = json.loads((ROOT / "workflows/mini_text_to_image.json").read_text())


def painting(value: float, seconds: float) -> dict[str, Any]:
    """A few nodes on both kinds of places, then a published picture."""
    return workflow(
        {"file": "save.file"},
        a=n("fake/step", value=value, seconds=seconds),
        b=n("fake/device_step", value="@a.value", seconds=seconds),
        c=n("fake/device_step", value="@b.value", seconds=seconds),
        picture=n("fake/paint", value="@c.value"),
        save=n("save_image", image="@picture.image", name="storm"),
    )


Submit = Callable[[Server, int], str]


def submit_mini(server: Server, at: int) -> str:
    colours = ("red", "green", "yellow", "white")
    prompt = f"a large {colours[at % len(colours)]} circle on a blue background"
    id: str = server.submit(MINI, inputs={"seed": at, "steps": 2, "prompt": prompt})["id"]
    return id


def submit_painting(server: Server, at: int) -> str:
    id: str = server.submit(painting(float(at), 0.1), client=f"client{at % 4}")["id"]
    return id


def by_order(server: Server, jobs: list[str]) -> list[str]:
    found = pictures(server)
    assert sorted(found) == sorted(jobs)
    return [found[id] for id in jobs]


def weather(
    make_server: MakeServer, submit: Submit, count: int, kills: list[Target], most_seconds: float, seed: int, devices: str
) -> None:
    """The same jobs without and with kills. In the storm they come a few before each kill, so that something always runs."""
    with running(make_server(name="calm/home", devices=devices)) as calm:
        jobs = [submit(calm, at) for at in range(count)]
        Storm(calm, jobs, seed).end(300)
        expected = by_order(calm, jobs)
    with running(make_server(name="storm/home", devices=devices)) as server:
        storm = Storm(server, [], seed)
        for number, target in enumerate(kills, 1):
            while len(storm.jobs) * len(kills) < count * number:
                storm.jobs.append(submit(server, len(storm.jobs)))
            storm.kill(target, most_seconds)
        storm.end(300 + 10 * len(kills))
        assert by_order(server, storm.jobs) == expected
        assert left_over(server.home / "outputs") == []


def left_over(folder: Path) -> list[str]:
    """Temporary files in the outputs folder."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".") and path.is_file())


@pytest.mark.slow
@pytest.mark.spec("R-C01")
@pytest.mark.proves(1, 3, 4)
def test_kills_lose_no_job_and_double_none(make_server: MakeServer) -> None:
    weather(make_server, submit_painting, 9, ["worker", "engine", "server"] * 2, 0.3, 1, "cpu:0,cpu:1")


@pytest.mark.slow
@pytest.mark.spec("R-C01")
def test_kills_under_the_mini_model_change_no_pixel(make_server: MakeServer) -> None:
    weather(make_server, submit_mini, 3, ["worker", "engine", "server"] * 3, 1.5, 2, "cpu:0")


@pytest.mark.long
@pytest.mark.spec("R-C01")
def test_a_hundred_kills_of_each_lose_no_job_and_double_none(make_server: MakeServer) -> None:
    weather(make_server, submit_painting, 100, ["worker", "engine", "server"] * KILLS, 0.6, 3, "cpu:0,cpu:1")


@pytest.mark.long
@pytest.mark.spec("R-C01")
def test_a_hundred_kills_of_each_under_mini_change_no_pixel(make_server: MakeServer) -> None:
    weather(make_server, submit_mini, 100, ["worker", "engine", "server"] * KILLS, 2.0, 4, "cpu:0,cpu:1")
