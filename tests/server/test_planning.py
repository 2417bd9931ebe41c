"""A plan as people read it."""

from __future__ import annotations

from types import SimpleNamespace

from graph.plan import PlannedNode
from server.planning import plan_text

DENOISE = PlannedNode("denoise", "denoise", "run", 12, 9, "not remembered", "device", 2.5, 3 * 2**20)
SAVE = PlannedNode("save", "save_image", "run", 1, 1, "writes its result each time", "host", None, None)
TOKENS = PlannedNode("tokens", "tokenize", "cached", 1, 0, "remembered", "host", None, None)


def shown(nodes: list[PlannedNode], seconds: float | None, peaks: dict[str, int]) -> list[str]:
    return plan_text(SimpleNamespace(nodes=nodes, seconds=seconds, peak_bytes=peaks)).splitlines()


def test_it_has_a_line_per_node_and_the_totals() -> None:
    assert shown([TOKENS, DENOISE, SAVE], 2.6, {"cpu": 3 * 2**20, "cpu:1": 0}) == [
        "NODE     TYPE        STATE        PLACE   TIME   PEAK     REASON",
        "tokens   tokenize    cached       host                    remembered",
        "denoise  denoise     run 9 of 12  device  2.5 s  3.0 MiB  not remembered",
        "save     save_image  run          host                    writes its result each time",
        "2 of 3 nodes run; about 2.6 s, without 1 that never ran yet; peak 3.0 MiB on cpu",
    ]


def test_nothing_to_run_and_nothing_known_are_said() -> None:
    assert shown([TOKENS], None, {})[-1] == "0 of 1 nodes run; nothing to compute"
    assert shown([SAVE], None, {})[-1] == "1 of 1 nodes run; time unknown before the first run"
