"""What nodes gave is looked at over HTTP, however quick they were and whatever was remembered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rig.serving import Server, n, running, workflow
from tests.server.whole.conftest import MakeServer

#: A light node, quick ones, one slow enough to be kept (50 ms), a mapped light one, a mapped one, a record of a light one.
DOCUMENT = workflow(
    {"out": "end.value", "text": "say.value"},
    start=n("number", value=2.5),
    quick=n("fake/quick", value="@start.value"),
    slow=n("fake/step", value="@quick.value", seconds=0.05),
    end=n("fake/quick", value="@slow.value"),
    say=n("fake/long_text", value="@slow.value", length=20),
    many=n("numbers", written="1, 2, 3"),
    mapped=n("fake/step", value="@many.values", seconds=0.05),
    after=n("fake/quick", value="@mapped.value"),
    size=n("empty_latents", width=64, height=32),
)
DOCUMENT["outputs"]["after"] = {"from": "after.value"}


def seen(server: Server, job: str) -> dict[str, Any]:
    """What every port of interest shows; a number is its HTTP status."""
    places = {
        "start": "start/value", "quick": "quick/value", "slow": "slow/value", "end": "end/value", "say": "say/value",
        "many": "many/values", "many[1]": "many/values?element=1", "mapped[0]": "mapped/value?element=0",
        "mapped[2]": "mapped/value?element=2", "after[1]": "after/value?element=1",
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, place in places.items():
        reply = server.get(f"/v1/jobs/{job}/values/{place}")
        found[name] = reply.json["value"] if reply.status == 200 else (reply.status, reply.json["detail"])
    return found


AGAIN = "Run the job again with this node as its target; what is remembered of it is not computed twice."
SHOWN = {
    "start": 2.5, "quick": 3.5, "slow": 4.5, "end": 5.5, "say": "x" * 20, "many": [1.0, 2.0, 3.0], "many[1]": 2.0,
    "mapped[0]": 2.0, "mapped[2]": 4.0, "after[1]": 4.0,
}  # fmt: skip


@pytest.mark.slow
def test_values_of_quick_light_mapped_and_remembered_nodes_are_shown(make_server: MakeServer) -> None:
    """Also in a job of which nothing ran, and after the engine's memory of quick nodes is gone."""
    with running(make_server()) as server:
        first, second = (server.ended(server.submit(DOCUMENT)["id"]) for _ in range(2))
        assert (first["state"], second["state"]) == ("done", "done")
        assert seen(server, first["id"]) == SHOWN
        assert seen(server, second["id"]) == SHOWN
        shown = server.get(f"/v1/jobs/{second['id']}/values/size/latents").json
        assert (shown["type"], shown["fields"]["width"], shown["tensors"]) == ("Latents", 64, [])
        server.kill()
        server.start().ready()
        third = server.ended(server.submit(DOCUMENT)["id"])
        assert seen(server, first["id"]) == SHOWN
        assert seen(server, second["id"]) == SHOWN
        # Above what is remembered, a node that was too quick to be written is not run for being looked at.
        quick = (404, f"What quick gave was not looked at in this job. {AGAIN}")
        assert seen(server, third["id"]) == SHOWN | {"quick": quick}
