"""A name is found wherever a workflow may get it from, as a whole, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from graph.document import pack_document
from server.jobs.mentions import Mention
from tests.graph.small_nodes import link, n, workflow


@pytest.mark.parametrize(
    "value",
    [
        "mini",
        "mini2\nmini",
        "mini\r\nother",
        "a\tmini, b",
        '"mini"',
        "model=mini;",
        ["other", ["mini"]],
        {"file": "mini"},
        "ümini",
    ],
)
@pytest.mark.spec("K13")
def test_a_name_is_found_among_lines_words_and_lists(value: Any) -> None:
    document = workflow({"a": n("text", text=value)})
    assert Mention("mini").is_in(document)
    assert Mention("mini").is_in_text(pack_document(document))


@pytest.mark.parametrize("value", ["mini2", "mini-2", "mini.v2", "maker/mini", "mini/other", "_mini", "", 3, link("mini.mini")])
def test_other_names_that_hold_it_links_and_ids_are_not_found(value: Any) -> None:
    document = workflow({"mini": n("text", text=value)}, name="mini")
    assert not Mention("mini").is_in(document)
    assert not Mention("mini").is_in_text(pack_document(document))


def test_a_name_is_taken_literally() -> None:
    document = workflow({"a": n("text", text="maker/v1x0")})
    assert not Mention("maker/v1.0").is_in(document)
    assert Mention("maker/v1.0").is_in(workflow({"a": n("text", text="use maker/v1.0 now")}))


def test_a_name_is_found_inside_a_subgraph() -> None:
    inner = {"nodes": {"a": n("text", text="one\nmini")}, "inputs": {}, "outputs": {"text": {"from": "a.text"}}}
    assert Mention("mini").is_in(workflow({"s": n("#part")}, subgraphs={"part": inner}))
