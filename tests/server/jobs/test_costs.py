"""What a job is expected to cost, and what is learned from those that ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.compile import compile_document
from graph.document import Document
from graph.spec import NodeSpec
from server.jobs.costs import WRITE_EVERY, Costs
from server.jobs.orders import roots_of
from tests.graph.small_nodes import catalogue, link, n, workflow

SPECS: dict[str, NodeSpec] = {
    **catalogue(),
    "draw": replace(catalogue()["draw"], place="device"),
    "blend": replace(catalogue()["blend"], place="device", devices=2),
}


def cost(costs: Costs, document: Document, targets: tuple[str, ...] | None = None) -> float:
    compiled = compile_document(document, SPECS)
    return costs.of(compiled, roots_of(compiled, targets))


def row(id: str, type: str, seconds: float, state: str = "done", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": type, "state": state, "seconds": seconds} | more


DRAWING = workflow(
    {
        "draw": n("draw", prompt="x"),
        "sharp": n("sharpen", picture=link("draw.picture")),
        "save": n("save", picture=link("sharp.picture")),
        "other": n("draw", prompt="y"),
    }
)


def test_what_never_ran_costs_ten_seconds_on_a_device_and_a_hundredth_on_the_host() -> None:
    assert cost(Costs({}), DRAWING) == pytest.approx(10.0 + 0.01 + 0.01)


def test_only_what_is_wanted_counts_and_what_it_needs() -> None:
    assert cost(Costs({}), DRAWING, ("draw",)) == 10.0
    assert cost(Costs({}), DRAWING, ("sharp.picture", "other")) == pytest.approx(20.01)


def test_light_nodes_cost_nothing_and_two_devices_twice() -> None:
    document = workflow({"one": n("draw", prompt="x"), "mix": n("blend", weight=1.0, first=link("one.picture"))})
    assert cost(Costs({}), document, ("mix",)) == 10.0 + 20.0
    assert Costs({}).seconds_of(SPECS["number"]) == 0.0


def test_past_seconds_are_believed_and_the_newest_most() -> None:
    costs = Costs({"draw": [100.0, 2.0, 2.0, 2.0]})
    assert costs.seconds_of(SPECS["draw"]) == 2.0
    for _ in range(6):
        costs.learn([row("d", "draw", 5.0)])
    assert costs.seconds_of(SPECS["draw"]) == 5.0


def test_elements_of_a_node_count_together() -> None:
    costs = Costs({})
    costs.learn([row("d", "draw", 1.0, element=0), row("d", "draw", 2.0, element=1)])
    assert costs.seconds_of(SPECS["draw"]) == 3.0


def test_remembered_failed_and_light_nodes_teach_nothing() -> None:
    costs = Costs({})
    costs.learn(
        [
            row("a", "draw", 0.0, "cached"), row("b", "draw", 1.0, "failed"), row("c", "draw", 0.0, note="light"),
            row("d", "draw", 1.0), row("d", "draw", 0.0, "cached"),
        ]
    )  # fmt: skip
    assert costs.seconds_of(SPECS["draw"]) == 10.0


def test_what_was_learned_is_written_down_now_and_then() -> None:
    costs = Costs({})
    written = [costs.learn([row("d", "draw", 1.0)]) for _ in range(WRITE_EVERY)]
    assert written[:-1] == [{}] * (WRITE_EVERY - 1)
    assert written[-1] == {"draw": [1.0] * 16}
    assert costs.unwritten() == {}
