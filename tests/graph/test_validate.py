"""What is refused before planning: each problem's code, place and message, and many at once."""

import time
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph import flatten
from graph.compile import compile_document
from graph.document import Document, Node
from graph.errors import WorkflowError
from graph.validate import validate
from tests.graph.small_nodes import SHA, catalogue, link, n, workflow

CATALOGUE = catalogue()
PICTURE = {"pic": n("draw", prompt="x")}


def found(nodes: dict[str, Any], **fields: Any) -> list[tuple[str, str | None, str | None, str]]:
    """Code, node, port and message of every problem."""
    return [(p.code, p.node, p.port, p.message) for p in validate(workflow(nodes, **fields), CATALOGUE)]


def test_a_right_workflow_has_no_problems() -> None:
    nodes = {**PICTURE, "s": n("save", picture=link("pic.picture"))}
    assert found(nodes, inputs={"prompt": {"to": "pic.prompt"}}, outputs={"p": {"from": "pic.picture"}}) == []


def test_an_empty_workflow_has_no_problems() -> None:
    assert found({}) == []


@pytest.mark.parametrize(
    ("type", "inputs", "code", "port", "message"),
    [
        ("draw", {"prompt": 5}, "wrong_type", "prompt", "x.prompt got 5; it takes a text. Write it in quotes."),
        ("add", {"a": "1"}, "wrong_type", "a", 'x.a got "1"; it takes a number. Write the number without quotes.'),
        ("add", {"a": True}, "wrong_type", "a", "x.a got true; it takes a number. Write a number."),
        ("whole", {"value": True}, "wrong_type", "value", "x.value got true; it takes a whole number. Write a whole number."),
        ("whole", {"value": 1.5}, "wrong_type", "value", "x.value got 1.5; it takes a whole number. Write a whole number."),
        ("whole", {"value": 2.0**60}, "out_of_range", "value", "x.value got 1.152921504606847e+18; it takes a whole number. Set value to at most 9007199254740991."),
        ("draw", {"prompt": "", "tiled": 1}, "wrong_type", "tiled", "x.tiled got 1; it takes true or false. Write true or false."),
        ("number", {"value": None}, "wrong_type", "value", "x.value got null; it takes a number. Set a value, or leave the input out to take its default."),
        ("number", {"value": [1, 2]}, "wrong_type", "value", "x.value got [1, 2]; it takes a number. Write one value; to run the node once per value, link a node that gives a list."),
        ("number", {"value": float("nan")}, "not_finite", "value", "x.value got NaN; it takes a number. Set value to a finite number."),
        ("texts", {"values": "a"}, "wrong_type", "values", 'x.values got "a"; it takes a list of texts. Write a list, or link an output that gives one.'),
        ("texts", {"values": ["a", 1]}, "wrong_type", "values", 'x.values got ["a", 1]; it takes a list of texts. Write it in quotes.'),
        ("sharpen", {"picture": "p"}, "wrong_type", "picture", 'x.picture got "p"; it takes a value of type Picture. Link an output of type Picture to it.'),
        ("keep", {"value": [1]}, "wrong_type", "value", "x.value got [1]; it takes one value. Write a number, a text, true or false, or link an output."),
        ("draw", {"prompt": "", "steps": 0}, "out_of_range", "steps", "x.steps got 0; it takes whole numbers 1 to 200. Set steps to at least 1."),
        ("draw", {"prompt": "", "steps": 201}, "out_of_range", "steps", "x.steps got 201; it takes whole numbers 1 to 200. Set steps to at most 200."),
        ("draw", {"prompt": "", "guidance": 31}, "out_of_range", "guidance", "x.guidance got 31; it takes 0 to 30. Set guidance to at most 30."),
        ("draw", {"prompt": "", "size": 100}, "not_a_multiple", "size", "x.size got 100; it takes whole numbers 64 to 512 in steps of 64. Set size to 64 or 128."),
        ("draw", {"prompt": "", "seed": -1}, "bad_seed", "seed", "x.seed got -1; it takes a seed, 0 to 9007199254740991, or a random one. Set seed to at least 0."),
        ("draw", {"prompt": "", "seed": "random"}, "wrong_type", "seed", 'x.seed got "random"; it takes a seed, 0 to 9007199254740991, or a random one. Write the number without quotes, or {"random": true} for a random one.'),
        ("draw", {"prompt": "", "method": "eular"}, "not_a_choice", "method", 'x.method got "eular"; it takes one of "euler", "heun". Choose one of them.'),
        ("draw", {"prompt": "", "steps": {"random": True}}, "random_not_allowed", "steps", 'x.steps got {"random": true}; it takes whole numbers 1 to 200. Write a value; only a seed can be random.'),
        ("draw", {"prompt": "", "seed": {"random": False}}, "bad_object", "seed", 'x.seed got {"random": false}; it takes a seed, 0 to 9007199254740991, or a random one. An object here is one of {"link": "node.port"}, {"file": name, "sha256": hex}, {"random": true}.'),
        ("text", {"value": {"file": "a", "sha256": SHA}}, "file_not_allowed", "value", f'x.value got {{"file": "a", "sha256": "{SHA[:32]}...; it takes a text. Write a value; only a file input takes a file.'),
        ("text", {"value": {}}, "bad_object", "value", 'x.value got {}; it takes a text. An object here is one of {"link": "node.port"}, {"file": name, "sha256": hex}, {"random": true}.'),
        ("open_picture", {"file": "cat.png"}, "bad_file", "file", 'x.file got "cat.png"; it takes a file (image). Write {"file": name, "sha256": hex}, as POST /v1/files answers it (in Python: client.upload); the command line takes a path.'),
        ("open_picture", {"file": {"file": "c", "sha256": "AB"}}, "bad_file", "file", 'x.file got {"file": "c", "sha256": "AB"}; it takes a file (image). Write the SHA-256 of its bytes as 64 small hex digits.'),
        ("load", {"model": 3}, "wrong_type", "model", "x.model got 3; it takes the name of a lora model. Write it in quotes."),
        ("add", {}, "missing_input", "a", "x.a has no value; it takes a number. Set it or link it."),
        ("sharpen", {}, "missing_input", "picture", "x.picture has no value; it takes a value of type Picture. Link an output of type Picture to it."),
        ("add", {"a": 1, "zz": 2}, "unknown_port", "zz", 'x (add) has no input "zz". Known: a, b.'),
        ("draw", {"prompt": "", "step": 2}, "unknown_port", "step", 'x (draw) has no input "step". Did you mean "steps"?'),
        ("add", {"a": link("y.value")}, "unknown_source", "a", 'x.a is linked to "y.value", and no node is called "y". Known: x.'),
        ("add", {"a": link("here")}, "bad_link", "a", 'x.a got {"link": "here"}; a link reads {"link": "node.port"}. Write it so.'),
        ("add", {"a": {"link": 5}}, "bad_link", "a", 'x.a got {"link": 5}; a link reads {"link": "node.port"}. Write it so.'),
        ("add", {"a": {"link": "x.value", "to": 1}}, "bad_link", "a", 'x.a got {"link": "x.value", "to": 1}; a link reads {"link": "node.port"}. Write it so.'),
        ("nmber", {}, "unknown_type", None, 'x has the unknown node type "nmber". Did you mean "number"?'),
        ("other/node", {}, "missing_pack", None, 'x has the type "other/node", and the node pack "other" gives no nodes here. Install it, see `latentgraph doctor` if it is installed, or remove the node.'),
        ("acme/glw", {}, "unknown_type", None, 'x has the unknown node type "acme/glw". Did you mean "acme/glow"?'),
        ("#nowhere", {}, "unknown_subgraph", None, 'x is an instance of "#nowhere", which this workflow does not define. Define it under `subgraphs`, or remove the node.'),
    ],
)  # fmt: skip
def test_a_wrong_input_is_told_with_place_and_advice(type: str, inputs: dict, code: str, port: str, message: str) -> None:
    assert found({"x": n(type, **inputs)}) == [(code, "x", port, message)]


@pytest.mark.spec("R-P01")
@pytest.mark.parametrize("name", ["../a.png", "/etc/passwd", "a\\b", "..", "C:\\x", "a\0b", "x" * 300])
def test_a_file_name_with_a_folder_is_refused(name: str) -> None:
    ((code, _, _, message),) = found({"x": n("open_picture", file={"file": name, "sha256": SHA})})
    assert code == "bad_file"
    assert message.endswith("Write a plain file name, without a folder.")


@pytest.mark.spec("L6", "R-M07")
@pytest.mark.parametrize("kind", ["os.system", "__import__", "graph.node:node", "py:x", "{{7*7}}", "${x}", "a/b/c", "../x"])
def test_a_type_that_names_code_is_no_type(kind: str) -> None:
    with pytest.raises(WorkflowError, match=r"Write a node type|has the unknown node type"):
        compile_document(workflow({"x": n(kind)}), CATALOGUE)


@pytest.mark.spec("R-M07")
@pytest.mark.parametrize("name", ["__class__", "__init__", "${x}", "a b", ""])
def test_an_odd_port_name_is_only_an_unknown_port(name: str) -> None:
    nodes = {**PICTURE, "x": n("sharpen", picture=link(f"pic.{name}")), "y": {"type": "number", "inputs": {name: 1}}}
    assert [code for code, *_ in found(nodes)] == ["unknown_output", "unknown_port"]


def test_a_node_of_a_newer_version_asks_for_an_update() -> None:
    nodes = {
        "x": {"type": "add", "type_version": 3, "inputs": {"a": 1}},
        "y": {"type": "add", "type_version": 2, "inputs": {"a": 1}},
    }
    message = "x was saved with version 3 of add; version 2 is here. Update Latentgraph."
    assert found(nodes) == [("newer_type", "x", None, message)]


def test_a_link_to_an_unknown_output_names_the_nearest() -> None:
    nodes = {**PICTURE, "s": n("split", picture=link("pic.pictur"))}
    message = 's.picture is linked to "pic.pictur", and pic (draw) has no output "pictur". Did you mean "picture"?'
    assert found(nodes) == [("unknown_output", "s", "picture", message)]


def test_a_link_from_a_node_without_outputs_says_so() -> None:
    nodes = {**PICTURE, "s": n("save", picture=link("pic.picture")), "t": n("sharpen", picture=link("s.file"))}
    message = 't.picture is linked to "s.file", and s (save) has no output "file". It has no outputs.'
    assert found(nodes) == [("unknown_output", "t", "picture", message)]


def test_a_link_of_the_wrong_type_says_both_types() -> None:
    nodes = {**PICTURE, "a": n("add", a=link("pic.picture"))}
    message = "a.a is linked to pic.picture of type Picture; it takes float. Link an output of type float."
    assert found(nodes) == [("wrong_link_type", "a", "a", message)]


def test_a_number_does_not_enter_a_whole_number_port() -> None:
    nodes = {"a": n("number"), "w": n("whole", value=link("a.value"))}
    message = "w.value is linked to a.value of type float; it takes int. Link an output of type int."
    assert found(nodes) == [("wrong_link_type", "w", "value", message)]


def test_one_value_does_not_enter_a_list_port() -> None:
    nodes = {"t": n("text", value="x"), "j": n("join", values=link("t.value"))}
    message = "j.values is linked to t.value of type text; it takes list[text]. Link a list of it."
    assert found(nodes) == [("wrong_link_type", "j", "values", message)]


def test_a_list_of_lists_is_refused() -> None:
    nodes = {"t": n("texts", values=["a"]), "r": n("repeat", value=link("t.value"))}
    message = "r.value would give a list of lists: it runs once per element and gives list[text] each time. Join or pick first."
    assert found(nodes) == [("nested_list", "r", "value", message)]


def test_a_switch_between_two_types_is_refused() -> None:
    nodes = {**PICTURE, "s": n("switch", first=True, a=link("pic.picture"), b="x")}
    message = "s got Picture at a and text at b; these inputs take values of one type. Give all of them the same type."
    assert found(nodes) == [("mixed_types", "s", "b", message)]


def test_a_wrong_type_is_seen_through_generic_nodes() -> None:
    nodes = {**PICTURE, "k": n("keep", value=link("pic.picture")), "j": n("draw", prompt=link("k.value"))}
    message = "j.prompt is linked to k.value of type Picture; it takes text. Link an output of type text."
    assert found(nodes) == [("wrong_link_type", "j", "prompt", message)]


def test_a_file_input_is_chosen_and_not_linked() -> None:
    nodes = {"t": n("text", value="x"), "o": n("open_picture", file=link("t.value"))}
    message = "o.file is linked; it takes a file (image). Choose the file there."
    assert found(nodes) == [("file_linked", "o", "file", message)]


def test_a_port_under_two_of_its_names_is_refused() -> None:
    nodes = {**PICTURE, "r": n("resize", picture=link("pic.picture"), factor=2.0, ratio=3.0)}
    message = "r sets factor twice, as factor and as ratio. Keep factor."
    assert found(nodes) == [("input_twice", "r", "factor", message)]


# Cycles.


@pytest.mark.spec("R-I04")
def test_a_cycle_of_three_is_named() -> None:
    nodes = {
        "free": n("number"),
        "a": n("add", a=link("c.value")),
        "b": n("add", a=link("a.value"), b=link("free.value")),
        "c": n("add", a=link("b.value")),
        "below": n("add", a=link("c.value")),
    }
    message = "These nodes wait for each other: a -> b -> c -> a. Remove one of the links."
    assert found(nodes) == [("cycle", "a", None, message)]


@pytest.mark.spec("R-I04")
def test_a_node_that_waits_for_itself_is_named() -> None:
    message = "These nodes wait for each other: a -> a. Remove one of the links."
    assert found({"a": n("add", a=link("a.value"))}) == [("cycle", "a", None, message)]


@pytest.mark.spec("R-I04")
def test_a_cycle_of_ten_thousand_is_told_shortly() -> None:
    size = 10_000
    nodes = {f"n{i}": Node("add", {"a": {"link": f"n{(i + 1) % size}.value"}}) for i in range(size)}
    (problem,) = validate(Document(nodes=nodes), CATALOGUE)
    assert problem.code == "cycle"
    assert "n0 -> n9999 -> n9998" in problem.message
    assert "(9991 more)" in problem.message
    assert len(problem.message) < 200


@pytest.mark.spec("R-I04")
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_cycles_are_found_where_networkx_finds_them(edges: list[tuple[int, int]]) -> None:
    inputs: dict[int, dict] = {i: {"a": 1.0} for i in range(8)}
    taken = set()
    for start, end in edges:
        port = "a" if (end, "a") not in taken else "b"
        taken.add((end, port))
        inputs[end][port] = link(f"n{start}.value")
    nodes = {f"n{i}": n("add", **values) for i, values in inputs.items()}
    graph = networkx.DiGraph()
    graph.add_edges_from(
        (value["link"], f"n{i}.value") for i, ports in inputs.items() for value in ports.values() if value != 1.0
    )
    assert [code for code, *_ in found(nodes)] == ([] if networkx.is_directed_acyclic_graph(graph) else ["cycle"])


# Named inputs and outputs.


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("pi.prompt", 'Named input p goes to "pi.prompt", and no node is called "pi". Did you mean "pic"?'),
        ("pic.promt", 'Named input p goes to "pic.promt", and draw has no input "promt". Did you mean "prompt"?'),
        ("s.picture", 'Named input p goes to "s.picture", which is linked to "pic.picture". Remove the link or the target.'),
        ("pic.start", 'Named input p goes to "pic.start", which takes a Picture and no literal. Choose another port.'),
    ],
)
def test_a_named_input_must_reach_a_literal_port(to: str, message: str) -> None:
    nodes = {**PICTURE, "s": n("save", picture=link("pic.picture"))}
    assert found(nodes, inputs={"p": {"to": to}})[0] == ("bad_named_input", None, "p", message)


def test_two_named_inputs_may_not_share_a_port() -> None:
    message = 'Named inputs a and b both go to "pic.prompt". Keep one of them.'
    inputs = {"a": {"to": "pic.prompt"}, "b": {"to": ["pic.prompt"]}}
    assert found(PICTURE, inputs=inputs) == [("bad_named_input", None, "b", message)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("pi.picture", 'Output o comes from "pi.picture", which is not there. Did you mean "pic"? Name the output of a node.'),
        ("pic.pictur", 'Output o comes from "pic.pictur", and draw has no output "pictur". Did you mean "picture"?'),
    ],
)
def test_a_named_output_must_come_from_an_output(source: str, message: str) -> None:
    assert found(PICTURE, outputs={"o": {"from": source}}) == [("bad_named_output", None, "o", message)]


# Bypassed nodes.


def test_a_bypass_without_a_fitting_input_names_the_port() -> None:
    nodes = {
        **PICTURE,
        "s": n("split", "bypassed", picture=link("pic.picture")),
        "w": n("whole", value=link("s.count")),
        "t": n("sharpen", picture=link("s.picture")),
    }
    message = (
        "s is bypassed, and no linked input of it fits its output count of type int. Link such an input, or mute it instead."
    )
    assert found(nodes) == [("bypass_without_input", "s", "count", message)]


def test_a_bypass_need_not_fill_outputs_that_nobody_reads() -> None:
    nodes = {**PICTURE, "s": n("split", "bypassed", picture=link("pic.picture")), "t": n("sharpen", picture=link("s.picture"))}
    assert found(nodes) == []


def test_a_bypassed_node_of_unknown_type_is_a_problem() -> None:
    assert [code for code, *_ in found({"x": n("mystery", "bypassed")})] == ["unknown_type"]


# Subgraphs.

GROW = {
    "nodes": {"grow": n("resize")},
    "inputs": {"picture": {"to": ["grow.picture"]}},
    "outputs": {"picture": {"from": "grow.picture"}},
}


def test_a_subgraph_in_itself_is_refused_with_the_way() -> None:
    a = {"nodes": {"x": n("#b")}, "inputs": {}, "outputs": {}}
    b = {"nodes": {"y": n("#a"), "z": n("number")}, "inputs": {}, "outputs": {}}
    message = "A subgraph contains itself: #a -> #b -> #a. Take one of these instances out."
    assert found({"i": n("#a")}, subgraphs={"a": a, "b": b}) == [("subgraph_recursion", None, None, message)]


def test_subgraphs_nested_too_deep_are_refused() -> None:
    subgraphs = {f"s{i}": {"nodes": {"x": n(f"#s{i + 1}")}, "inputs": {}, "outputs": {}} for i in range(40)}
    subgraphs["s40"] = {"nodes": {"x": n("number")}, "inputs": {}, "outputs": {}}
    message = "Subgraphs nest more than 32 deep, below #s0. Flatten them."
    assert found({"i": n("#s0")}, subgraphs=subgraphs) == [("too_deep", None, None, message)]


def doubling(levels: int, leaf: dict[str, object]) -> dict[str, dict[str, object]]:
    subgraphs = {f"s{i}": {"nodes": {"x": n(f"#s{i + 1}"), "y": n(f"#s{i + 1}")}} for i in range(levels)}
    return {**subgraphs, f"s{levels}": leaf}


def test_subgraphs_that_double_are_refused_before_anything_is_unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten._Unfolding, "unfold", lambda *_: pytest.fail("unfolded"))
    message = "The subgraphs unfold into more than 50000 nodes. Take some instances out."
    for leaf in ({"nodes": {}}, {"nodes": {"v": n("number")}}):
        assert found({"i": n("#s0")}, subgraphs=doubling(30, leaf)) == [("too_large", None, None, message)]


def test_the_ports_of_what_subgraphs_unfold_into_are_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten._Unfolding, "unfold", lambda *_: pytest.fail("unfolded"))
    leaf = {"nodes": {"v": n("number")}, "outputs": {f"o{i}": {"from": "v.value"} for i in range(1000)}}
    message = "The subgraphs unfold into more than 1000000 inputs and outputs. Take some instances out."
    assert found({"i": n("#s0")}, subgraphs=doubling(13, leaf)) == [("too_large", None, None, message)]


def test_the_limit_counts_what_is_unfolded_and_not_what_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten, "MAX_UNFOLDED", 14)
    plain = {f"n{i}": n("number") for i in range(50)}
    subgraphs = doubling(2, {"nodes": {"v": n("number"), "w": n("number")}})
    assert found({**plain, "i": n("#s0")}, subgraphs=subgraphs) == []  # 2 + 4 instances, 8 numbers
    monkeypatch.setattr(flatten, "MAX_UNFOLDED", 13)
    assert [code for code, *_ in found({**plain, "i": n("#s0")}, subgraphs=subgraphs)] == ["too_large"]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"inputs": {"p": {"to": "gro.picture"}}}, "unknown_target", '#up: input p names "gro.picture", and no node inside is called "gro". Did you mean "grow"?'),
        ({"inputs": {"p": {"to": "grow.pictur"}}}, "unknown_port", '#up: input p goes to "grow.pictur", and resize has no such input. Did you mean "picture"?'),
        ({"outputs": {"o": {"from": "x.picture"}}}, "unknown_target", '#up: output o names "x.picture", and no node inside is called "x". Known: grow.'),
        ({"outputs": {"o": {"from": "grow.pic"}}}, "unknown_output", '#up: output o comes from "grow.pic", and resize has no such output. Did you mean "picture"?'),
    ],
)  # fmt: skip
def test_a_wrong_interface_is_told_even_without_an_instance(change: dict, code: str, message: str) -> None:
    assert found(PICTURE, subgraphs={"up": {**GROW, **change}}) == [(code, None, None, message)]


def test_wrong_inputs_and_links_of_an_instance_are_told_at_it() -> None:
    nodes = {**PICTURE, "up": n("#up", picture=link("pic.picture"), facto=1), "s": n("save", picture=link("up.pictur"))}
    assert found(nodes, subgraphs={"up": GROW}, inputs={"f": {"to": "up.factor"}}) == [
        ("unknown_port", "up", "facto", 'up (#up) has no input "facto". Known: picture.'),
        (
            "unknown_output",
            "s",
            "picture",
            's.picture is linked to "up.pictur", and up has no output "pictur". Did you mean "picture"?',
        ),
        ("bad_named_input", None, "f", 'Named input f goes to "up.factor", and #up has no input "factor". Known: picture.'),
    ]


def test_problems_inside_an_instance_carry_its_path() -> None:
    assert found({"up": n("#up")}, subgraphs={"up": GROW}) == [
        (
            "missing_input",
            "up/grow",
            "picture",
            "up/grow.picture has no value; it takes a value of type Picture. Link an output of type Picture to it.",
        )
    ]


def test_a_link_may_not_reach_into_an_instance() -> None:
    nodes = {**PICTURE, "up": n("#up", picture=link("pic.picture")), "s": n("save", picture=link("up/grow.picture"))}
    message = 's.picture is linked to "up/grow.picture"; a link reads "node.port" and stays in its graph. Write it so.'
    assert found(nodes, subgraphs={"up": GROW}) == [("bad_link", "s", "picture", message)]


# Many at once.


def test_all_problems_are_told_at_once_in_the_order_of_the_nodes() -> None:
    nodes = {
        "a": n("add", a="x", c=1),
        "b": n("nothing"),
        "c": n("sharpen", picture=link("a.value"), amount=None),
        "d": n("draw", steps=0, seed=-1, prompt="x"),
        "e": n("add", a=link("e.value")),
    }
    problems = found(nodes, outputs={"o": {"from": "z.z"}})
    assert [(code, node, port) for code, node, port, _ in problems] == [
        ("wrong_type", "a", "a"),
        ("unknown_port", "a", "c"),
        ("unknown_type", "b", None),
        ("wrong_type", "c", "amount"),
        ("wrong_link_type", "c", "picture"),
        ("out_of_range", "d", "steps"),
        ("bad_seed", "d", "seed"),
        ("cycle", "e", None),
        ("bad_named_output", None, "o"),
    ]


def test_ten_thousand_mistakes_are_told_quickly() -> None:
    nodes = {f"node{i}": Node(f"typo{i}", {"a": {"link": f"nodo{i}.value"}}) for i in range(10_000)}
    start = time.perf_counter()
    problems = validate(Document(nodes=nodes), CATALOGUE)
    assert len(problems) == 20_000
    assert time.perf_counter() - start < 5


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.sampled_from(["", "a.value", "x", "euler"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["link", "file", "sha256", "random", "x"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
NODES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.builds(
        lambda kind, inputs, state: Node(kind, inputs, state=state),
        st.sampled_from([*CATALOGUE, "#s", "#t", "gone"]),
        st.dictionaries(
            st.sampled_from(["a", "b", "value", "values", "picture", "seed", "file", "prompt", "first"]), VALUES, max_size=4
        ),
        st.sampled_from([None, None, "muted", "bypassed"]),
    ),
)


@settings(max_examples=150, deadline=None)
@given(NODES, NODES)
def test_no_inputs_whatever_break_the_check(nodes: dict, inner: dict) -> None:
    part = {"inputs": {"value": {"to": ["a.value", "b.a"]}}, "outputs": {"value": {"from": "a.value"}}}
    document = workflow({}, subgraphs={"s": {"nodes": {}, **part}, "t": {"nodes": {}, **part}})
    subgraphs = {"s": document.subgraphs["s"]._replace(nodes=inner), "t": document.subgraphs["t"]}
    whole = Document(nodes=nodes, subgraphs=subgraphs)
    if problems := validate(whole, CATALOGUE):
        assert all(problem.message.endswith((".", "?")) for problem in problems)
    else:
        assert compile_document(whole, CATALOGUE).document is whole
