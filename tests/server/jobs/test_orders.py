"""Orders are checked before anything is accepted: limits, the workflow, targets, files, seeds."""

from __future__ import annotations

from typing import Any

import pytest

from graph.document import Document, read_document
from graph.spec import MAX_SEED
from server.jobs.orders import MOST_NESTED, Limits, Order, Prepared, check_form, prepare
from server.problems import Refusal
from tests.graph.small_nodes import SHA, link, n, workflow
from tests.server.jobs.jobs_kit import FakeCatalogue, a_drawing, order

LIMITS = Limits(nodes=5, text=20, inputs=2, targets=2)


def prepared(document: Document, targets: tuple[str, ...] | None = None, **inputs: Any) -> Prepared:
    return prepare(document, inputs, targets, FakeCatalogue.specs, LIMITS)


@pytest.mark.parametrize(
    ("fields", "message", "pointer"),
    [
        ({"priority": 101}, "`priority` is 101; it takes -100 to 100. Choose one of these.", "/priority"),
        ({"client": "x" * 65}, "`client` has 65 characters; the most is 64. Send less; GET /v1/limits has every limit.", "/client"),
        ({"inputs": dict.fromkeys("abc")}, "`inputs` has 3 entries; the most is 2.", "/inputs"),
        ({"targets": ("a", "b", "c")}, "`targets` has 3 entries; the most is 2.", "/targets"),
        ({"idempotency": ("k" * 256, b"")}, "The Idempotency-Key has 256 characters; it takes 1 to 255.", None),
    ],
)  # fmt: skip
@pytest.mark.spec("L7")
def test_what_is_over_a_limit_is_refused_with_its_place(fields: dict[str, Any], message: str, pointer: str | None) -> None:
    with pytest.raises(Refusal, match=message) as caught:
        check_form(order(**fields), LIMITS)
    assert (caught.value.code, caught.value.pointer) == ("invalid", pointer)


@pytest.mark.spec("L7")
def test_more_nodes_than_are_taken_are_too_large() -> None:
    with pytest.raises(Refusal, match="The workflow has 6 nodes; at most 5 are taken. Split it, or raise max_nodes") as caught:
        check_form(order(document=workflow({f"n{i}": n("number") for i in range(6)})), LIMITS)
    assert (caught.value.code, caught.value.status) == ("too_large", 413)


def test_what_is_at_the_limits_passes() -> None:
    document = workflow({f"n{i}": n("number") for i in range(5)})
    check_form(
        Order(
            document,
            inputs=dict.fromkeys("ab"),
            targets=("a", "b"),
            priority=-100,
            client="x" * 64,
            idempotency=("k" * 255, b""),
        ),
        LIMITS,
    )


@pytest.mark.spec("L7")
def test_a_long_text_is_a_problem_of_its_port_wherever_it_stands() -> None:
    message = r"draw.prompt got a text of 21 characters; it takes 20 at most. Shorten it.$"
    for document, inputs in ((a_drawing(), {"prompt": "x" * 21}), (a_drawing("x" * 21), {})):
        with pytest.raises(Refusal, match=message) as caught:
            prepared(document, **inputs)
        assert [(one.code, one.node, one.port) for one in caught.value.problems] == [("too_long", "draw", "prompt")]
    prepared(a_drawing("x" * 20))


@pytest.mark.spec("L7")
def test_a_long_text_among_others_in_a_list_is_refused() -> None:
    with pytest.raises(Refusal, match="join.values got a text of 21 characters; it takes 20 at most"):
        prepared(workflow({"join": n("join", values=["x", "x" * 21, "x"])}, outputs={"text": {"from": "join.value"}}))


@pytest.mark.spec("L7")
def test_a_value_that_would_nest_the_document_too_deep_is_refused() -> None:
    """A muted node's inputs are not checked, and what was accepted could not be read again by the engine."""
    muted = workflow(
        {"draw": {**n("draw", prompt="x"), "state": "muted"}, "more": n("draw", prompt="y"), "save": n("save", picture=link("more.picture"))},
        inputs={"prompt": {"to": "draw.prompt"}},
    )  # fmt: skip
    value: Any = 1
    for _ in range(MOST_NESTED):
        value = [value]
    read_document(prepared(muted, prompt=value).document)
    with pytest.raises(Refusal, match="The value of prompt nests more than 60 deep. Flatten it.") as caught:
        prepared(muted, prompt=[value])
    assert [(one.code, one.port) for one in caught.value.problems] == [("bad_named_input", "prompt")]


@pytest.mark.spec("L7")
def test_a_workflow_that_unfolds_beyond_the_limit_is_refused() -> None:
    inner = {"nodes": {"a": n("number"), "b": n("number")}, "inputs": {}, "outputs": {"x": {"from": "a.number"}}}
    document = workflow(
        {"one": n("#part"), "two": n("#part"), "three": n("#part"), "save": n("save", picture=link("draw.picture")), "draw": n("draw", prompt="x")},
        subgraphs={"part": inner | {"outputs": {}}},
    )  # fmt: skip
    with pytest.raises(Refusal, match="The workflow has 8 nodes when its subgraphs are unfolded; at most 5 are") as caught:
        prepared(document)
    assert caught.value.code == "too_large"


def test_an_invalid_workflow_is_refused_with_every_problem() -> None:
    document = workflow({"draw": n("drawn", prompt="x"), "save": n("save")})
    with pytest.raises(
        Refusal, match=r'draw has the unknown type "drawn"|draw.*"drawn".*\(and 1 more, see `problems`\)'
    ) as caught:
        prepared(document)
    assert (caught.value.code, caught.value.node) == ("invalid_workflow", "draw")
    assert [problem.node for problem in caught.value.problems] == ["draw", "save"]


def test_unknown_inputs_and_targets_are_refused_with_the_nearest() -> None:
    with pytest.raises(Refusal, match='"promt" is no named input of this workflow. Did you mean "prompt"?'):
        prepared(a_drawing(), promt="x")
    with pytest.raises(Refusal, match='target "drw": there is no node "drw". Did you mean "draw"?'):
        prepared(a_drawing(), ("drw",))
    with pytest.raises(Refusal, match='target "draw.picure": draw has no output "picure". Did you mean "picture"?'):
        prepared(a_drawing(), ("draw.picure",))


def test_a_workflow_with_nothing_to_run_is_refused() -> None:
    with pytest.raises(Refusal, match="the workflow has no named output and no node with an effect; name one under"):
        prepared(workflow({"draw": n("draw", prompt="x")}))


def test_inputs_are_set_in_the_frozen_document() -> None:
    made = prepared(a_drawing(), prompt="a blue square")
    assert read_document(made.document).nodes["draw"].inputs["prompt"] == "a blue square"


def test_named_outputs_and_effects_are_wanted_and_targets_alone() -> None:
    document = workflow(
        {"draw": n("draw", prompt="x"), "more": n("draw", prompt="y"), "save": n("save", picture=link("draw.picture"))},
        outputs={"second": {"from": "more.picture"}},
    )
    made = prepared(document)
    assert {made.compiled.ids[at] for at in made.roots} == {"more", "save"}
    made = prepared(document, ("draw[0].picture",))
    assert {made.compiled.ids[at] for at in made.roots} == {"draw"}


@pytest.mark.spec("I12")
def test_random_seeds_are_drawn_with_53_bits_and_given_ones_left_alone() -> None:
    drawn = {prepared(a_drawing()).seeds["draw.seed"] for _ in range(20)}
    assert len(drawn) == 20
    assert all(0 <= seed <= MAX_SEED for seed in drawn)
    assert prepared(a_drawing(), seed=5).seeds == {}


def test_files_are_found_by_content() -> None:
    document = workflow(
        {"open": n("open_picture", file={"file": "a.png", "sha256": SHA}), "save": n("save", picture=link("open.picture"))}
    )
    assert prepare(document, {}, None, FakeCatalogue.specs, Limits()).files == (SHA,)
