"""Workflow documents: reading, canonical writing, named inputs, digests, versions and renames."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.document import Document, document_from_json, read_document, write_document
from graph.errors import WorkflowError
from graph.migrations import rename, upgrade
from tests.graph.small_nodes import catalogue, link, n, workflow

VECTORS = json.loads((Path(__file__).parent / "json_vectors.json").read_text())
HEAD = {"format": "latentgraph/workflow", "version": "1.0"}


def problems(raw: Any, file: str | None = None) -> list[str]:
    """The messages with which a JSON value is refused."""
    with pytest.raises(WorkflowError) as caught:
        document_from_json(raw, file=file)
    return [str(problem) for problem in caught.value.problems]


# Writing.


@pytest.mark.parametrize(("source", "canonical"), VECTORS["documents"])
def test_documents_are_written_canonically(source: str, canonical: str) -> None:
    assert write_document(read_document(source)) == canonical
    assert write_document(read_document(canonical)) == canonical


def test_a_changed_value_changes_one_line() -> None:
    document = workflow({"a": n("number", value=1.5), "b": n("add", a=link("a.value"))}, inputs={"v": {"to": "a.value"}})
    before, after = (write_document(d).split("\n") for d in (document, document.with_inputs({"v": 2.5})))
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
        ('        "value": 1.5', '        "value": 2.5')
    ]


def test_the_view_is_kept_untouched() -> None:
    view = {"nodes": {"z": {"x": 1, "y": -2.5}, "a": {}}, "frames": [{"title": "<b>"}], "notes": []}
    assert read_document(write_document(workflow({}, view=view))).view == view


def test_a_document_that_json_cannot_carry_is_refused() -> None:
    document = workflow({"a": n("number")}, inputs={"v": {"to": "a.value"}}).with_inputs({"v": float("nan")})
    with pytest.raises(WorkflowError) as caught:
        write_document(document)
    message = "The workflow cannot be written. At nodes.a.inputs.value: nan is not a finite number, and JSON has no other. Use a finite number."
    assert [(p.code, p.message) for p in caught.value.problems] == [("unwritable", message)]


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.none() | st.booleans() | NUMBERS | TEXTS | st.lists(NUMBERS, max_size=3) | st.builds(link, NAMES)
EXTRAS = st.dictionaries(st.builds(lambda name: f"x-{name}", NAMES), VALUES, max_size=2)
NODES = st.dictionaries(
    NAMES,
    st.builds(
        lambda kind, inputs, state, extra: {"type": kind, "inputs": inputs} | state | extra,
        NAMES,
        st.dictionaries(NAMES, VALUES, max_size=3),
        st.sampled_from([{}, {"state": "muted"}, {"state": "bypassed"}, {"type_version": 3}]),
        EXTRAS,
    ),
    max_size=4,
)
REFERENCES = st.builds(lambda node, port: f"{node}.{port}", NAMES, NAMES)
INTERFACE = st.fixed_dictionaries(
    {},
    optional={
        "inputs": st.dictionaries(
            NAMES, st.builds(lambda to: {"to": to}, REFERENCES | st.lists(REFERENCES, min_size=1)), max_size=2
        ),
        "outputs": st.dictionaries(
            NAMES, st.builds(lambda of, label: {"from": of, "label": label}, REFERENCES, TEXTS), max_size=2
        ),
        "view": st.dictionaries(TEXTS, VALUES, max_size=2),
    },
)
DOCUMENTS = st.builds(
    lambda nodes, interface, rest, subgraphs, extra: (
        HEAD | {"nodes": nodes} | interface | rest | {"subgraphs": subgraphs} | extra
    ),
    NODES,
    INTERFACE,
    st.fixed_dictionaries({}, optional={"name": TEXTS, "description": TEXTS, "requires": st.just({"models": [], "packs": []})}),
    st.dictionaries(NAMES, st.builds(lambda nodes, interface: {"nodes": nodes} | interface, NODES, INTERFACE), max_size=2),
    EXTRAS,
)


@pytest.mark.spec("R-I06")
@settings(max_examples=80, deadline=None)
@given(DOCUMENTS, st.randoms())
def test_reading_what_was_written_and_writing_it_again_gives_its_bytes(raw: dict, random: Any) -> None:
    items = list(raw.items())
    random.shuffle(items)
    document = read_document(json.dumps(dict(items), ensure_ascii=random.random() < 0.5))
    text = write_document(document)
    again = read_document(text.encode())
    assert write_document(again) == text
    assert again == document


# Reading.


def test_a_document_is_read_with_all_its_parts() -> None:
    raw = HEAD | {
        "name": "demo",
        "nodes": {"a": {"type": "add", "type_version": 2, "inputs": {"a": 1}, "state": "muted"}, "b": {"type": "number"}},
        "inputs": {"v": {"to": ["a.a", "b.value"], "label": "Value"}},
        "outputs": {"o": {"from": "a.value"}},
    }
    document = read_document(json.dumps(raw))
    assert document.name == "demo"
    assert document.nodes["a"] == ("add", {"a": 1}, 2, "muted", None)
    assert document.nodes["b"] == ("number", {}, None, None, None)
    assert document.inputs["v"] == (("a.a", "b.value"), "Value", None)
    assert document.outputs["o"] == ("a.value", "", None)


def test_unknown_node_types_do_not_stop_a_file_from_opening() -> None:
    document = workflow({"a": n("gone/away", x=1)})
    assert document.nodes["a"].type == "gone/away"


COMFYUI = "This is a workflow of ComfyUI, whose format is not read here. Build it anew from Latentgraph's nodes."


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "The document is a list; a workflow is a JSON object. Start it with {."),
        ({}, 'This is no workflow: it has no `format`. Set `format` to "latentgraph/workflow".'),
        ({"3": {"class_type": "KSampler", "inputs": {}}, "extra": 1}, COMFYUI),
        ({"nodes": [], "links": [], "version": 0.4}, COMFYUI),
        ({"nodes": {}, "links": {}}, 'This is no workflow: it has no `format`. Set `format` to "latentgraph/workflow".'),
        ({"format": "other"}, 'This is no workflow: its `format` is "other". Set `format` to "latentgraph/workflow".'),
        (
            {"format": HEAD["format"], "version": "\u0661.\u0660"},
            '`version` is "\u0661.\u0660"; it reads "major.minor". Set it to "1.0".',
        ),
        ({"format": HEAD["format"], "version": 1}, '`version` is 1; it reads "major.minor". Set it to "1.0".'),
        (HEAD | {"version": "2.0"}, "The workflow has version 2.0; this program reads up to 1.x. Update Latentgraph to open it."),
        (HEAD | {"version": "0.9"}, "The workflow has version 0.9, which no release wrote. Save it as 1.0."),
        (HEAD, "nodes is missing. Write an object: one member for each."),
        (HEAD | {"nodes": []}, "nodes is a list. Write an object: one member for each."),
        (HEAD | {"nodes": {"A": n("x")}}, '"A" in nodes is no node id (a small letter first, then small letters, digits and _, 64 at most). Rename it.'),
        (HEAD | {"nodes": {"a": 5}}, "nodes.a is a number; a node is an object with `type` and `inputs`."),
        (HEAD | {"nodes": {"a": {}}}, "nodes.a has no `type`. Write a node type: `name`, `pack/name` or `#subgraph`."),
        (HEAD | {"nodes": {"a": n("a b")}}, 'nodes.a has the type "a b". Write a node type: `name`, `pack/name` or `#subgraph`.'),
        (HEAD | {"nodes": {"a": {"type": "x", "inputs": []}}}, "nodes.a.inputs is a list. Write an object: values by input name."),
        (HEAD | {"nodes": {"a": n("x", "off")}}, 'nodes.a.state is "off". Write "muted" or "bypassed", or leave it out.'),
        (HEAD | {"nodes": {"a": n("x") | {"type_version": 0}}}, "nodes.a.type_version is 0. Write a whole number from 1, or leave it out."),
        (HEAD | {"nodes": {"a": n("x") | {"stat": "muted"}}}, 'nodes.a has the unknown field "stat". Did you mean "state"? Fields of your own start with x-.'),
        (HEAD | {"nodes": {}, "input": {}}, 'the document has the unknown field "input". Did you mean "inputs"? Fields of your own start with x-.'),
        (HEAD | {"nodes": {}, "inputs": {"p": "a.b"}}, "inputs.p is a text. Write an object with `to`."),
        (HEAD | {"nodes": {}, "inputs": {"p": {"to": []}}}, 'inputs.p.to is []. Write "node.port", or a list of such targets.'),
        (HEAD | {"nodes": {}, "inputs": {"p": {"to": "a"}}}, 'inputs.p.to is "a". Write "node.port", or a list of such targets.'),
        (HEAD | {"nodes": {}, "inputs": {"p q": {"to": "a.b"}}}, '"p q" in inputs is no input id (a small letter first, then small letters, digits and _, 64 at most). Rename it.'),
        (HEAD | {"nodes": {}, "outputs": {"o": {"from": 5}}}, 'outputs.o.from is 5. Write "node.port".'),
        (HEAD | {"nodes": {}, "outputs": {"o": {"from": "a.b", "label": 5}}}, "outputs.o.label is a number. Write a text."),
        (HEAD | {"nodes": {}, "name": None}, "name is null. Write a text."),
        (HEAD | {"nodes": {}, "view": []}, "view is a list. Write an object with what is only looks."),
        (HEAD | {"nodes": {}, "requires": {"packs": {}}}, "requires.packs is an object. Write a list."),
        (HEAD | {"nodes": {}, "subgraphs": {"s": []}}, "subgraphs.s is a list. Write an object with `nodes`, `inputs` and `outputs`."),
        (HEAD | {"nodes": {}, "subgraphs": {"s": {"nodes": {"a": {}}}}}, "subgraphs.s.nodes.a has no `type`. Write a node type: `name`, `pack/name` or `#subgraph`."),
    ],
)  # fmt: skip
def test_a_wrong_form_is_told_with_its_place(raw: Any, message: str) -> None:
    assert message in problems(raw)


def test_all_problems_of_form_are_told_at_once_with_the_file() -> None:
    raw = HEAD | {"nodes": {"A": n("x"), "b": {}, "c": n("x", "off")}, "outputs": {"o": {}}, "extra": 1}
    found = problems(raw, "flow.json")
    assert len(found) == 5
    assert all(message.startswith("flow.json: ") for message in found)


def test_flaws_of_the_json_are_told_with_node_and_port() -> None:
    text = '{"format": "latentgraph/workflow", "version": "1.0",\n "nodes": {"a": {"type": "x", "inputs": {"seed": 9007199254740993}}}}'
    with pytest.raises(WorkflowError) as caught:
        read_document(text, file="flow.json")
    (problem,) = caught.value.problems
    assert (problem.code, problem.node, problem.port, problem.file) == ("integer_too_large", "a", "seed", "flow.json")
    assert problem.message == (
        "flow.json: The integer 9007199254740993, which is beyond 2^53-1, at nodes.a.inputs.seed (line 2, column 50). "
        "Write a smaller number; other programs would round this one."
    )


@pytest.mark.spec("R-I06")
def test_fields_of_a_newer_minor_version_are_kept() -> None:
    raw = HEAD | {"version": "1.7", "nodes": {"a": n("x") | {"device": "cuda"}}, "sharing": {"open": True}}
    written = json.loads(write_document(document_from_json(raw)))
    assert written["version"] == "1.7"
    assert written["sharing"] == {"open": True}
    assert written["nodes"]["a"]["device"] == "cuda"


@settings(max_examples=100, deadline=None)
@given(DOCUMENTS, st.data())
def test_a_spoilt_document_is_read_or_refused_with_reasons(raw: dict, data: st.DataObject) -> None:
    path: Any = raw
    for _ in range(data.draw(st.integers(1, 4))):
        key = data.draw(st.sampled_from(sorted(path))) if isinstance(path, dict) and path else None
        if key is None or not isinstance(path[key], dict) or data.draw(st.booleans()):
            break
        path = path[key]
    if key is not None:
        path[key] = data.draw(
            st.none() | st.integers(-3, 3) | st.text(max_size=3) | st.just([]) | st.just({}) | st.just({"a": []})
        )
    told = None
    try:
        read_document(json.dumps(raw))
    except WorkflowError as error:
        told = [problem.message for problem in error.problems]
    assert told is None or all(message.endswith((".", "`.", "{.")) for message in told)


@pytest.mark.spec("R-I11")
@settings(max_examples=100, deadline=None)
@given(
    st.text()
    | st.binary()
    | st.recursive(st.none() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(json.dumps)
)
def test_garbage_raises_nothing_but_workflow_errors(source: str | bytes) -> None:
    with pytest.raises(WorkflowError):
        read_document(source)


# Named inputs.


def test_a_named_input_sets_all_its_ports_and_nothing_else() -> None:
    nodes = {"a": n("number", value=1.0), "b": n("add", a=1.0, b=2.0)}
    document = workflow(nodes, inputs={"v": {"to": ["a.value", "b.b"]}})
    changed = document.with_inputs({"v": 5})
    assert changed.nodes["a"].inputs == {"value": 5}
    assert changed.nodes["b"].inputs == {"a": 1.0, "b": 5}
    assert document.nodes["b"].inputs == {"a": 1.0, "b": 2.0}


def test_unknown_named_inputs_are_refused_all_at_once() -> None:
    document = workflow({"a": n("number")}, inputs={"prompt": {"to": "a.value"}, "gone": {"to": "z.value"}})
    with pytest.raises(WorkflowError) as caught:
        document.with_inputs({"promt": 1, "q": 2, "gone": 3})
    assert [(p.code, p.port, p.message) for p in caught.value.problems] == [
        ("unknown_input", "promt", '"promt" is no named input of this workflow. Did you mean "prompt"?'),
        ("unknown_input", "q", '"q" is no named input of this workflow. Known: gone, prompt.'),
        ("unknown_target", "gone", 'Named input gone goes to "z.value", and no node is called "z". Known: a.'),
    ]


def test_a_named_input_takes_no_link() -> None:
    document = workflow({"a": n("number"), "b": n("number")}, inputs={"v": {"to": "a.value"}})
    message = 'Named input v got {"link": "b.value"}; it takes a value, and links are made in the workflow. Give the value.'
    with pytest.raises(WorkflowError, match=f"^{message}$"):
        document.with_inputs({"v": link("b.value")})


def test_a_workflow_without_named_inputs_says_how_to_add_one() -> None:
    message = '"p" is no named input of this workflow. This workflow has no named inputs; add one under `inputs`.'
    with pytest.raises(WorkflowError, match=f"^{message}$"):
        Document().with_inputs({"p": 1})


# Digest.


def test_looks_and_labels_stay_out_of_the_digest() -> None:
    plain = workflow({"a": n("number")}, outputs={"o": {"from": "a.value"}})
    dressed = workflow(
        {"a": n("number") | {"x-note": 1}},
        outputs={"o": {"from": "a.value", "label": "Out"}},
        name="n",
        description="d",
        view={"nodes": {"a": {"x": 1}}},
    )
    assert plain.digest == dressed.digest


def test_the_order_of_members_stays_out_of_the_digest() -> None:
    one = workflow({"a": n("number"), "b": n("add", a=1, b=2)})
    two = workflow({"b": n("add", b=2, a=1), "a": n("number")})
    assert one.digest == two.digest


@pytest.mark.parametrize(
    "other",
    [
        workflow({"a": n("number", value=2)}),
        workflow({"a": n("number", value=True)}),
        workflow({"a": n("whole", value=1)}),
        workflow({"b": n("number", value=1)}),
        workflow({"a": n("number", "muted", value=1)}),
        workflow({"a": n("number", value=1)}, outputs={"o": {"from": "a.value"}}),
        workflow({"a": n("number", value=1)}, inputs={"o": {"to": "a.value"}}),
        workflow({"a": n("number", value=1)}, subgraphs={"s": {"nodes": {}}}),
    ],
)
def test_what_a_run_depends_on_is_in_the_digest(other: Document) -> None:
    assert workflow({"a": n("number", value=1)}).digest != other.digest


# Migrations.


def test_older_versions_go_through_every_step() -> None:
    steps = {
        "1.0": ("1.1", lambda raw: raw | {"a": [*raw["a"], 1]}),
        "1.1": ("1.2", lambda raw: raw | {"a": [*raw["a"], 2]}),
    }
    assert upgrade({"version": "1.0", "a": [0]}, steps) == {"version": "1.2", "a": [0, 1, 2]}
    assert upgrade({"version": "1.1", "a": [0]}, steps) == {"version": "1.2", "a": [0, 2]}


def test_renamed_types_and_ports_are_rewritten_and_told() -> None:
    subgraphs = {"s": {"nodes": {"r": n("resize", by=2)}, "inputs": {"f": {"to": "r.by"}}, "outputs": {}}}
    nodes = {"r": n("scale", ratio=3, picture=link("a.picture")), "a": n("draw", prompt="x")}
    document, changes = rename(workflow(nodes, inputs={"f": {"to": ["r.ratio"]}}, subgraphs=subgraphs), catalogue())
    assert document.nodes["r"] == ("resize", {"factor": 3, "picture": link("a.picture")}, None, None, None)
    assert document.inputs["f"].to == ("r.factor",)
    assert document.subgraphs["s"].nodes["r"].inputs == {"factor": 2}
    assert document.subgraphs["s"].inputs["f"].to == ("r.factor",)
    assert changes == [
        "r: scale is now resize",
        "r: ratio is now factor",
        "named input f: r.ratio is now r.factor",
        "s/r: by is now factor",
        "s/named input f: r.by is now r.factor",
    ]


def test_a_current_document_is_given_back_as_it_is() -> None:
    document = workflow({"a": n("resize", factor=2), "b": n("unknown", x=1)})
    assert rename(document, catalogue()) == (document, [])
