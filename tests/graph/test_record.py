"""Workflows recorded from Python calls."""

from collections.abc import Callable
from typing import Any

import pytest

from graph.compile import compile_document
from graph.context import Context
from graph.document import document_to_json, read_document, write_document
from graph.node import node, recording
from graph.record import Graph, RecordingError, file, random_seed
from tests.graph.small_nodes import (
    SHA,
    Picture,
    add,
    blend,
    catalogue,
    draw,
    glow,
    join,
    keep,
    number,
    open_picture,
    save,
    sharpen,
    split,
    text,
    texts,
)


def test_calls_become_nodes_and_results_become_links() -> None:
    with Graph(name="demo", description="A demo.") as g:
        picture = draw("a circle", steps=5)
        g.output("picture", sharpen(picture=picture), label="Picture")
    assert document_to_json(g.document()) == {
        "$schema": "latentgraph/workflow-1.json",
        "format": "latentgraph/workflow",
        "version": "1.0",
        "name": "demo",
        "description": "A demo.",
        "nodes": {
            "draw": {"type": "draw", "type_version": 1, "inputs": {"prompt": "a circle", "steps": 5}},
            "sharpen": {"type": "sharpen", "type_version": 1, "inputs": {"picture": {"link": "draw.picture"}}},
        },
        "outputs": {"picture": {"from": "sharpen.picture", "label": "Picture"}},
    }


def test_a_recorded_workflow_is_valid_and_reads_back() -> None:
    with Graph() as g:
        prompts = texts(["a", "b"])
        parts = split(keep(draw(prompt=prompts)))  # a list into a single port: mapped
        save(parts.picture)
        add(parts.count, b=number(2.0))
    document = g.document()
    compiled = compile_document(document, catalogue())
    assert compiled.ids == ["texts", "draw", "keep", "split", "save", "number", "add"]
    assert read_document(write_document(document)) == document


def test_outside_a_graph_a_node_is_the_plain_function() -> None:
    with Graph():
        pass
    assert recording.get() is None
    assert add(1.0, b=2.0) == 3.0


def test_recording_ends_even_when_the_block_fails() -> None:
    with pytest.raises(KeyError), Graph():
        raise KeyError
    assert recording.get() is None


def test_ids_come_from_the_node_types() -> None:
    with Graph() as g:
        for _ in range(3):
            number(1.0)
        glow(draw("x"))
    assert list(g.document().nodes) == ["number", "number_2", "number_3", "draw", "glow"]


def test_a_node_may_be_named_and_links_follow() -> None:
    with Graph() as g:
        base = g.name(draw("x"), "base")
        sharpen(base)
        draw("y")
    document = g.document()
    assert list(document.nodes) == ["base", "sharpen", "draw"]
    assert document.nodes["sharpen"].inputs == {"picture": {"link": "base.picture"}}


def test_a_named_input_goes_to_every_port_it_is_handed_to() -> None:
    with Graph() as g:
        prompt = g.input("prompt", "a circle", label="Prompt")
        seed = g.input("seed", random_seed())
        draw(prompt, seed=seed)
        draw(prompt=prompt, seed=seed)
    document = g.document()
    assert document.inputs["prompt"] == (("draw.prompt", "draw_2.prompt"), "Prompt", None)
    assert document.inputs["seed"].to == ("draw.seed", "draw_2.seed")
    assert document.nodes["draw_2"].inputs == {"prompt": "a circle", "seed": {"random": True}}


def test_a_file_is_named_by_its_content() -> None:
    with Graph() as g:
        open_picture(file("cat.png", SHA))
    assert g.document().nodes["open_picture"].inputs == {"file": {"file": "cat.png", "sha256": SHA}}


def test_none_at_an_optional_input_is_left_out() -> None:
    with Graph() as g:
        draw("x", start=None)
    assert g.document().nodes["draw"].inputs == {"prompt": "x"}


USES: list[tuple[Callable[[Any], Any], str]] = [
    (bool, "<draw.picture> has no value while the workflow is recorded, so it cannot be tested. Let a node work on the value."),
    (len, "<draw.picture> has no value while the workflow is recorded, so it cannot be counted. Let a node work on the value."),
    (lambda p: p + 1, "<draw.picture> has no value while the workflow is recorded, so it cannot be calculated with. Let a node work on the value."),
    (lambda p: 2 * p, "<draw.picture> has no value while the workflow is recorded, so it cannot be calculated with. Let a node work on the value."),
    (lambda p: -p, "<draw.picture> has no value while the workflow is recorded, so it cannot be calculated with. Let a node work on the value."),
    (lambda p: p == 1, "<draw.picture> has no value while the workflow is recorded, so it cannot be compared. Let a node work on the value."),
    (lambda p: p < 1, "<draw.picture> has no value while the workflow is recorded, so it cannot be compared. Let a node work on the value."),
    (lambda p: p[0], "<draw.picture> has no value while the workflow is recorded, so it cannot be indexed. Let a node work on the value."),
    (lambda p: 1 in p, "<draw.picture> has no value while the workflow is recorded, so it cannot be searched. Let a node work on the value."),
    (lambda p: p(), "<draw.picture> has no value while the workflow is recorded, so it cannot be called. Let a node work on the value."),
    (int, "<draw.picture> has no value while the workflow is recorded, so it cannot be converted. Let a node work on the value."),
    (list, "<draw.picture> cannot be unpacked or iterated while the workflow is recorded. Let a node work on the value."),
    (lambda p: p.name, "<draw.picture> has no value while the workflow is recorded, so .name cannot be read. Let a node work on the value."),
    (lambda p: setattr(p, "name", 1), "<draw.picture> cannot be changed (.name); values on wires are frozen. Let a node work on the value."),
]  # fmt: skip


@pytest.mark.parametrize(("use", "message"), USES)
def test_a_stand_in_has_no_value_to_work_on(use: Callable[[Any], Any], message: str) -> None:
    with Graph(), pytest.raises(RecordingError) as caught:
        use(draw("x"))
    assert str(caught.value) == message


def test_a_stand_in_can_be_shown_and_probed_by_tools() -> None:
    with Graph():
        parts = split(draw("x"))
        assert repr(parts) == "<split>"
        assert repr(parts.count) == "<split.count>"
        assert not hasattr(parts, "__array__")
        assert parts in {parts}


def wrong_unpack(g: Graph) -> None:
    _picture, _count = split(draw("x"))


def wrong_output(g: Graph) -> None:
    split(draw("x")).pictur  # type: ignore[attr-defined]


def all_outputs(g: Graph) -> None:
    sharpen(split(draw("x")))  # type: ignore[arg-type]


def no_outputs(g: Graph) -> None:
    g.output("x", save(draw("x")))  # type: ignore[func-returns-value]


def live_object(g: Graph) -> None:
    sharpen(Picture("x"))


def list_of_results(g: Graph) -> None:
    join([text("a"), "b"])


def other_graph(g: Graph) -> None:
    with Graph():
        picture = draw("x")
    sharpen(picture)


def other_input(g: Graph) -> None:
    draw(Graph().input("prompt", "x"))


def result_as_input(g: Graph) -> None:
    g.input("prompt", text("x"))


def unused_input(g: Graph) -> None:
    g.input("prompt", "x")
    g.document()


def input_twice(g: Graph) -> None:
    g.input("prompt", "x")
    g.input("prompt", "y")


def bad_input_name(g: Graph) -> None:
    g.input("A prompt", "x")


def taken_id(g: Graph) -> None:
    number(1.0)
    g.name(draw("x"), "number")


def bad_id(g: Graph) -> None:
    g.name(draw("x"), "Base")


def plain_output(g: Graph) -> None:
    g.output("x", 5)


def entered_twice(g: Graph) -> None:
    with g:
        pass


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (wrong_unpack, "<split> cannot be unpacked or iterated while the workflow is recorded. Take its outputs by name: .picture, .count."),
        (wrong_output, 'split (split) has no output pictur. Did you mean "picture"?'),
        (all_outputs, "sharpen.picture got all of <split>. Take one of its outputs: .picture, .count."),
        (no_outputs, 'output("x", ...) got all of <save>. It gives nothing that could be linked.'),
        (live_object, "sharpen.picture got a Picture, which a workflow file cannot hold. Link a node that gives it."),
        (list_of_results, "join.values got a list with results of nodes in it. Join them with a list node."),
        (other_graph, "sharpen.picture got <draw.picture>, which another Graph recorded. Call that node in this one."),
        (other_input, 'draw.prompt got the input "prompt" of another Graph. Use g.input of this one.'),
        (result_as_input, 'Input "prompt" got <text.value>, the result of a node. Give it a plain value.'),
        (unused_input, "Input prompt goes to no node. Hand what g.input(...) gives to a node, or leave it out."),
        (input_twice, 'There is an input "prompt" already. Choose another name.'),
        (bad_input_name, '"A prompt" is no input name: a small letter first, then small letters, digits and _. Choose another.'),
        (taken_id, '"number" is taken by another node. Choose another id.'),
        (bad_id, '"Base" is no node id: a small letter first, then small letters, digits and _. Choose another.'),
        (plain_output, 'output("x", ...) got a int, which is no result of a recorded node. Call the node in `with Graph()`.'),
        (entered_twice, "This Graph is being recorded already. Make a new one for another workflow."),
    ],
)  # fmt: skip
def test_what_a_file_cannot_say_is_refused_with_advice(build: Callable[[Graph], None], message: str) -> None:
    with Graph() as g, pytest.raises(RecordingError) as caught:
        build(g)
    assert str(caught.value) == message


def test_ids_of_odd_type_names_are_made_right() -> None:
    @node(title="Odd", version=1, id="acme/2Big_")
    def odd(ctx: Context) -> int:
        """Odd."""
        return 1

    with Graph() as g:
        odd()
        odd()
    assert list(g.document().nodes) == ["node_2big", "node_2big_2"]


def test_two_graphs_do_not_mix() -> None:
    with Graph() as outer:
        number(1.0)
        with Graph() as inner:
            blend(1.0, draw("x"))
        number(2.0)
    assert list(outer.document().nodes) == ["number", "number_2"]
    assert list(inner.document().nodes) == ["draw", "blend"]
