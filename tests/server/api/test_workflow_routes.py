"""Saved workflows, validation and plans over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.document import document_from_json, write_document
from graph.errors import Problem
from server.jobs.orders import DEFAULT_LIMITS
from server.library import folder
from server.library.checking import pointer_to
from server.problems import Refusal
from tests.server.api.kit import run
from tests.server.api.library_kit import Engine, ask, library


def flow(nodes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, **fields}


NUMBER = {"type": "number", "inputs": {"value": 3}}
SUM = flow(
    {"first": NUMBER, "sum": {"type": "math", "inputs": {"operation": "add", "a": {"link": "first.value"}, "b": 4}}},
    inputs={"first": {"to": "first.value"}},
    outputs={"sum": {"from": "sum.value"}},
)


def canonical(raw: dict[str, Any]) -> str:
    return write_document(document_from_json(raw))


def validated(home: Path, body: Any) -> Any:
    async def steps() -> Any:
        async with library(home) as server:
            return await ask(server, "POST", "/v1/workflows/validate", body)

    status, _, answer = run(steps())
    assert status == 200, answer
    return answer


def test_a_workflow_is_saved_read_changed_and_deleted_with_its_etag(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            status, headers, saved = await ask(server, "PUT", "/v1/workflows/my%20sum", SUM)
            assert (status, saved["name"], saved["source"], headers["ETag"]) == (200, "my sum", "own", f'"{saved["etag"]}"')
            status, headers, document = await ask(server, "GET", "/v1/workflows/my%20sum")
            assert (status, document, headers["ETag"]) == (200, json.loads(canonical(SUM)), f'"{saved["etag"]}"')
            assert (await ask(server, "GET", "/v1/workflows/my%20sum", If_None_Match=headers["ETag"]))[0] == 304
            changed = {**SUM, "name": "other"}
            assert (await ask(server, "PUT", "/v1/workflows/my%20sum", changed))[0] == 428
            assert (await ask(server, "PUT", "/v1/workflows/my%20sum", changed, If_None_Match="*"))[0] == 412
            assert (await ask(server, "PUT", "/v1/workflows/my%20sum", changed, If_Match='"stale"'))[0] == 412
            status, headers, saved = await ask(server, "PUT", "/v1/workflows/my%20sum", changed, If_Match=headers["ETag"])
            assert status == 200
            _, _, listed = await ask(server, "GET", "/v1/workflows/my%20sum/versions")
            assert [(one["version"], one["current"]) for one in listed["versions"]] == [(2, True), (1, False)]
            assert (await ask(server, "GET", "/v1/workflows/my%20sum/versions/1"))[2] == json.loads(canonical(SUM))
            restore = "/v1/workflows/my%20sum/restore"
            assert (await ask(server, "POST", restore, {"version": 1}))[0] == 428
            assert (await ask(server, "POST", restore, {"version": 1}, If_Match=headers["ETag"]))[0] == 200
            assert (await ask(server, "POST", restore, {"version": 9}, If_Match="*"))[0] == 404
            assert (await ask(server, "DELETE", "/v1/workflows/my%20sum"))[0] == 428
            assert (await ask(server, "DELETE", "/v1/workflows/my%20sum", If_Match="*"))[0] == 204
            status, _, problem = await ask(server, "GET", "/v1/workflows/my%20sum")
            assert (status, problem["code"]) == (404, "not_found")

    run(steps())


def test_the_list_holds_templates_and_files_that_are_none(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            (home / "workflows").mkdir()
            (home / "workflows" / "broken.json").write_text("{")
            status, _, listed = await ask(server, "GET", "/v1/workflows")
            found = {entry["name"]: entry for entry in listed["workflows"]}
            assert status == 200
            assert found["mini_text_to_image"]["source"] == "template"
            assert found["mini_text_to_image"]["missing_types"] == found["mini_text_to_image"]["missing_models"] == []
            assert "No valid JSON" in found["broken"]["problem"]
            status, _, problem = await ask(server, "GET", "/v1/workflows/broken")
            assert (status, problem["code"]) == (422, "invalid_workflow")
            status, headers, content = await ask(server, "GET", "/v1/workflows/broken/file")
            assert (status, content, headers["Content-Type"]) == (200, b"{", "application/octet-stream")
            assert headers["Content-Disposition"].startswith('attachment; filename="broken.json"')

    run(steps())


def test_rename_and_copy_over_http(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            await ask(server, "PUT", "/v1/workflows/a", SUM)
            assert (await ask(server, "POST", "/v1/workflows/a/copy", {"name": "b"}))[2]["name"] == "b"
            assert (await ask(server, "POST", "/v1/workflows/a/copy", {"name": "b"}))[0] == 412
            assert (await ask(server, "POST", "/v1/workflows/a/rename", {"name": "c"}, If_Match="*"))[2]["name"] == "c"
            assert (await ask(server, "POST", "/v1/workflows/b/rename", {"name": "../c"}, If_Match="*"))[0] == 422
            assert (await ask(server, "POST", "/v1/workflows/b/rename", {"name": "a..c"}, If_Match="*"))[0] == 422
            names = [entry["name"] for entry in (await ask(server, "GET", "/v1/workflows"))[2]["workflows"]]
            assert [name for name in names if not name.startswith("mini")] == ["b", "c"]

    run(steps())


@pytest.mark.spec("L3")
@pytest.mark.proves(21)
@pytest.mark.spec("R-P01")
@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc%2fpasswd", "%2e%2e", "%252e%252e", "a%00b", ".versions", "a%2fb", "~", "%5c%5csrv%5cx"]
)
def test_names_that_would_be_paths_are_not_found(home: Path, tmp_path: Path, name: str) -> None:
    async def steps() -> None:
        async with library(home) as server:
            assert (await ask(server, "GET", f"/v1/workflows/{name}"))[0] == 404
            assert (await ask(server, "PUT", f"/v1/workflows/{name}", SUM))[0] in (404, 405)

    before = {path for path in tmp_path.rglob("*") if "home" not in path.parts}
    run(steps())
    assert {path for path in tmp_path.rglob("*") if "home" not in path.parts} == before
    assert not list((home / "workflows").glob("**/*.json"))


def test_what_cannot_be_saved_says_where(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:

            async def put(body: Any = None, text: str | None = None) -> tuple[int, Any]:
                status, _, answer = await ask(server, "PUT", "/v1/workflows/a", body, text)
                return status, answer

            status, problem = await put({"nodes": {}})
            assert (status, problem["code"], problem["pointer"]) == (422, "invalid_workflow", "")
            status, problem = await put(flow({"a": {"type": "number", "inputs": 5}}))
            assert (status, problem["node"], problem["pointer"]) == (422, "a", "/nodes/a")
            status, problem = await put(flow({"a": {"type": "os.system"}}))
            assert (status, problem["problems"][0]["code"]) == (422, "bad_type")
            assert (await put(text="{"))[0] == (await put(text='{"a": 1, "a": 2}'))[0] == (await put(text="[" * 10_000))[0] == 400
            assert (await put(text='{"a": NaN}'))[0] == (await put(text='{"a": 9007199254740993}'))[0] == 400
            assert (await put([]))[0] == 422
            assert (await put(flow({"a": {"type": "gone/sepia", "inputs": {"x": 1}}})))[0] == 200  # unknown types are fine
            assert list((home / "workflows").iterdir()) == [home / "workflows" / "a.json"]

    run(steps())


@pytest.mark.spec("R-I06")
def test_what_is_read_and_sent_back_changes_no_byte_and_makes_no_version(home: Path) -> None:
    newer = {**SUM, "version": "1.7", "shiny": {"x": [1.5, "\u00e9"]}, "x-own": None}

    async def steps() -> None:
        async with library(home) as server:
            _, headers, saved = await ask(server, "PUT", "/v1/workflows/a", newer)
            _, _, text = await ask(server, "GET", "/v1/workflows/a/file")
            _, _, document = await ask(server, "GET", "/v1/workflows/a")
            assert (document["shiny"], document["x-own"], document["version"]) == ({"x": [1.5, "\u00e9"]}, None, "1.7")
            assert (await ask(server, "PUT", "/v1/workflows/a", document, If_Match=headers["ETag"]))[2]["etag"] == saved["etag"]
            assert (home / "workflows" / "a.json").read_bytes() == text
            assert len((await ask(server, "GET", "/v1/workflows/a/versions"))[2]["versions"]) == 1

    run(steps())


@pytest.mark.spec("R-I07")
@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.0", "The workflow has version 2.0; this program reads up to 1.x. Update Latentgraph to open it."),
        ("0.9", "The workflow has version 0.9, which no release wrote. Save it as 1.0."),
        ("one", '`version` is "one"; it reads "major.minor". Set it to "1.0".'),
    ],
)
def test_versions_nobody_here_reads_are_refused_by_name(home: Path, version: str, said: str) -> None:
    answer = validated(home, {"workflow": {**SUM, "version": version}})
    assert (answer["valid"], answer["problems"][0]["message"]) == (False, said)


# Validate.


def test_a_valid_workflow_is_told_so_with_inputs_and_by_name(home: Path) -> None:
    assert validated(home, {"workflow": SUM}) == {"valid": True, "problems": [], "nodes": 2}
    assert validated(home, {"workflow": SUM, "inputs": {"first": 8}})["valid"]
    assert validated(home, {"workflow": "mini_text_to_image"})["nodes"] == 15
    answer = validated(home, {"workflow": SUM, "inputs": {"frist": 8}})
    assert answer["problems"][0] == {
        "code": "unknown_input", "message": answer["problems"][0]["message"], "node": None, "port": "frist",
    }  # fmt: skip
    assert 'Did you mean "first"?' in answer["problems"][0]["message"]


@pytest.mark.spec("R-I04")
def test_a_model_that_is_not_here_is_told_and_one_that_came_meanwhile_is_not(home: Path) -> None:
    body = {"workflow": flow({"model": {"type": "load_pipeline", "inputs": {"model": "z-image"}}})}
    (problem,) = validated(home, body)["problems"]
    assert (problem["code"], problem["node"], problem["port"]) == ("unknown_model", "model", "model")
    assert problem["message"].endswith(
        "Put its folder into models/ of the data folder, or name its parent in LATENTGRAPH_MODELS."
    )
    (home / "models" / "z-image").mkdir(parents=True)
    (home / "models" / "z-image" / "model_index.json").write_text("{}")
    assert validated(home, body)["valid"]


def test_a_workflow_of_comfyui_is_told_as_one(home: Path) -> None:
    answer = validated(home, {"workflow": {"3": {"class_type": "KSampler", "inputs": {}}}})
    assert [problem["message"] for problem in answer["problems"]] == [
        "This is a workflow of ComfyUI, whose format is not read here. Build it anew from Latentgraph's nodes."
    ]


def test_an_unknown_name_or_a_body_that_is_none_is_refused(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            for body, expected in (
                ({"workflow": "gone"}, 404),
                ({}, 422),
                ({"workflow": 5}, 422),
                ({"workflow": SUM, "x": 1}, 422),
            ):
                assert (await ask(server, "POST", "/v1/workflows/validate", body))[0] == expected
            assert (await ask(server, "POST", "/v1/workflows/validate", text='{"workflow": '))[0] == 400

    run(steps())


def test_before_node_types_are_known_validation_says_when_to_come_back(home: Path) -> None:
    (home / "catalogue.json").unlink()

    async def steps() -> None:
        async with library(home, load=False) as server:
            status, headers, problem = await ask(server, "POST", "/v1/workflows/validate", {"workflow": SUM})
            assert (status, problem["code"], headers["Retry-After"]) == (503, "catalogue_unavailable", "2")

    run(steps())


def math(a: str, b: str = "") -> dict[str, Any]:
    inputs: dict[str, Any] = {"operation": "add", "a": {"link": a}, "b": {"link": b} if b else 1}
    return {"type": "math", "inputs": inputs}


@pytest.mark.spec("R-I04")
@pytest.mark.parametrize(
    ("nodes", "code", "node", "port", "said"),
    [
        ({"a": math("a.value")}, "cycle", "a", None, "These nodes wait for each other: a -> a."),
        ({"a": math("b.value"), "b": math("a.value")}, "cycle", "a", None, "These nodes wait for each other: a -> b -> a."),
        ({"a": math("gone.value")}, "unknown_source", "a", "a", 'no node is called "gone"'),
        ({"a": NUMBER, "b": math("a.valeu")}, "unknown_output", "b", "a", 'has no output "valeu". Did you mean "value"?'),
        ({"a": {"type": "number", "inputs": {"valeu": 1}}}, "unknown_port", "a", "valeu", 'has no input "valeu"'),
        ({"a": {"type": "text", "inputs": {"value": "x"}}, "b": math("a.value")}, "wrong_link_type", "b", "a", "of type text; it takes"),
        ({"a": {"type": "nubmer"}}, "unknown_type", "a", None, 'unknown node type "nubmer". Did you mean "number"?'),
        ({"a": {"type": "math", "inputs": {"operation": "add", "a": {"link": ["x.value", "y.value"]}, "b": 1}}},
         "bad_link", "a", "a", 'a link reads {"link": "node.port"}'),
        ({"a": {"type": "number", "inputs": {"value": "3"}}}, "wrong_type", "a", "value", "Write the number without quotes."),
    ],
)  # fmt: skip
def test_each_fault_of_a_graph_is_told_with_its_place(
    home: Path, nodes: Any, code: str, node: str, port: str | None, said: str
) -> None:
    answer = validated(home, {"workflow": flow(nodes)})
    problem = answer["problems"][0]
    assert (answer["valid"], problem["code"], problem["node"], problem["port"]) == (False, code, node, port)
    assert said in problem["message"]


@pytest.mark.spec("R-I04")
def test_two_links_into_one_input_are_doubled_keys_and_malformed(home: Path) -> None:
    body = '{"workflow": {"nodes": {"a": {"inputs": {"b": {"link": "x.value"}, "b": {"link": "y.value"}}}}}}'

    async def steps() -> None:
        async with library(home) as server:
            status, _, problem = await ask(server, "POST", "/v1/workflows/validate", text=body)
            assert (status, problem["code"], problem["pointer"]) == (400, "malformed", "/workflow/nodes/a/inputs/b")

    run(steps())


@pytest.mark.spec("R-I04")
def test_a_workflow_of_no_nodes_is_valid_and_one_without_outputs_too(home: Path) -> None:
    assert validated(home, {"workflow": flow({})}) == {"valid": True, "problems": [], "nodes": 0}
    assert validated(home, {"workflow": flow({"a": NUMBER})})["valid"]


EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from("ab")), max_size=14)


@pytest.mark.spec("R-I04")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDGES)
def test_cycles_are_found_exactly_where_networkx_finds_them(home: Path, edges: list[tuple[int, int, str]]) -> None:
    """The nodes named are those of one cycle, in the direction of the links."""
    from server.library.checking import check

    links = {(target, port): source for source, target, port in edges}  # one link per input
    nodes = {
        f"n{node}": {"type": "math", "inputs": {"operation": "add"} | {
            port: {"link": f"n{links[node, port]}.value"} if (node, port) in links else 1 for port in "ab"
        }}
        for node in range(8)
    }  # fmt: skip
    graph = networkx.DiGraph((f"n{source}", f"n{target}") for (target, _), source in links.items())
    problems = check(document_from_json(flow(nodes)), {}, specs_of(home), DEFAULT_LIMITS).problems
    assert [problem.code for problem in problems] == ([] if networkx.is_directed_acyclic_graph(graph) else ["cycle"])
    for problem in problems:
        named = problem.message.removeprefix("These nodes wait for each other: ").partition(". ")[0].split(" -> ")
        assert named[0] == named[-1] == problem.node
        assert all(graph.has_edge(source, target) for source, target in zip(named, named[1:], strict=False))
        assert len(set(named)) == len(named) - 1


_SPECS: dict[str, Any] = {}


def specs_of(home: Path) -> Any:
    if not _SPECS:
        data = json.loads((home / "catalogue.json").read_bytes())
        from graph.spec import NodeSpec

        _SPECS.update({spec["id"]: NodeSpec.from_json(spec) for spec in data["specs"]})
    return _SPECS


def chain(count: int) -> dict[str, Any]:
    return {f"n{at}": math(f"n{at - 1}.value") if at else NUMBER for at in range(count)}


def fan(count: int) -> dict[str, Any]:
    return {"n": NUMBER} | {f"n{at}": math("n.value") for at in range(count - 1)}


def diamond(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"n0": NUMBER}
    for level in range(1, levels + 1):
        found |= {
            f"l{level}": math(f"n{level - 1}.value"), f"r{level}": math(f"n{level - 1}.value"),
            f"n{level}": math(f"l{level}.value", f"r{level}.value"),
        }  # fmt: skip
    return found


@pytest.mark.slow
@pytest.mark.spec("R-I05")
@pytest.mark.parametrize(
    ("nodes", "count"),
    [(chain(10_000), 10_000), (dict(reversed(chain(10_000).items())), 10_000), (fan(10_000), 10_000), (diamond(400), 1201)],
    ids=["chain", "chain written backwards", "fan", "diamond"],
)
def test_deep_and_wide_graphs_are_checked_without_recursion(home: Path, nodes: Any, count: int) -> None:
    """2^400 paths and 10,000 levels: work grows with nodes and links only. (Measured 0.07 to 0.8 s on two busy cores.)"""
    assert validated(home, {"workflow": flow(nodes)}) == {"valid": True, "problems": [], "nodes": count}


@pytest.mark.slow
@pytest.mark.spec("R-I04")
@pytest.mark.spec("R-I05")
def test_a_cycle_of_ten_thousand_nodes_is_told_in_one_short_sentence(home: Path) -> None:
    nodes = chain(10_000) | {"n0": math("n9999.value")}
    answer = validated(home, {"workflow": flow(nodes)})
    (problem,) = answer["problems"]
    assert problem["message"] == (
        "These nodes wait for each other: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> ... (9991 more) -> n9999 -> n0. "
        "Remove one of the links."
    )


@pytest.mark.spec("R-I05")
@pytest.mark.proves(22)
@pytest.mark.spec("L7")
@pytest.mark.parametrize("path", ["/v1/workflows/validate", "/v1/workflows/plan", "/v1/workflows/a"])
def test_above_the_limit_of_nodes_a_workflow_is_too_large_everywhere(home: Path, path: str) -> None:
    inner = {"s": {"nodes": chain(6), "inputs": {}, "outputs": {}}}

    async def steps() -> None:
        async with library(home, max_nodes=10) as server:
            for document in (flow(chain(11)), flow(chain(5), subgraphs=inner)):
                method, body = ("PUT", document) if path.endswith("/a") else ("POST", {"workflow": document})
                status, _, problem = await ask(server, method, path, body)
                assert (status, problem["code"], problem["max_nodes"]) == (413, "too_large", 10)
                assert problem["detail"] == (
                    "The workflow has 11 nodes; at most 10 are taken. Split it, or raise max_nodes in the settings."
                )

    run(steps())


@pytest.mark.spec("L7")
def test_a_workflow_that_unfolds_beyond_the_limit_is_too_large_before_it_is_a_job(home: Path) -> None:
    document = flow(
        {f"part{n}": {"type": "#s"} for n in range(3)}, subgraphs={"s": {"nodes": chain(4), "inputs": {}, "outputs": {}}}
    )

    async def steps() -> None:
        async with library(home, max_nodes=10) as server:
            for path in ("validate", "plan"):
                status, _, problem = await ask(server, "POST", f"/v1/workflows/{path}", {"workflow": document})
                assert (status, problem["code"], problem["max_nodes"]) == (413, "too_large", 10)
                assert problem["detail"].startswith(
                    "The workflow has 12 nodes when its subgraphs are unfolded; at most 10 are taken."
                )

    run(steps())


def text_of(length: int) -> dict[str, Any]:
    """A body whose workflow gives a node a text so long."""
    node = {"type": "text", "inputs": {"value": "x" * length}}
    return {"workflow": flow({"a": node}, inputs={"text": {"to": "a.value"}}, outputs={"text": {"from": "a.value"}})}


@pytest.mark.proves(22)
@pytest.mark.spec("L7")
@pytest.mark.parametrize("body", [text_of(1_000_001), text_of(1) | {"inputs": {"text": "x" * 1_000_001}}], ids=["node", "input"])
def test_a_text_that_no_job_may_hold_is_a_problem_with_its_place_before_it_is_a_job(home: Path, body: Any) -> None:
    message = "a.value got a text of 1000001 characters; it takes 1000000 at most. Shorten it."

    async def steps() -> None:
        async with library(home, engine=Engine({"plan": PLAN})) as server:
            _, _, found = await ask(server, "POST", "/v1/workflows/validate", body)
            problem = {"code": "too_long", "message": message, "node": "a", "port": "value"}
            assert found == {"valid": False, "problems": [problem], "nodes": 1}
            status, _, refused = await ask(server, "POST", "/v1/workflows/plan", body)
            assert (status, refused["code"], refused["problems"]) == (422, "invalid_workflow", [problem])
            assert (await ask(server, "POST", "/v1/workflows/plan", text_of(1_000_000)))[0] == 200

    run(steps())


@pytest.mark.proves(22)
@pytest.mark.spec("L7")
def test_an_input_that_would_nest_the_document_too_deep_is_a_problem_of_that_input(home: Path) -> None:
    muted = flow(
        {"a": {"type": "text", "inputs": {"value": "x"}, "state": "muted"}, "b": NUMBER}, inputs={"text": {"to": "a.value"}}
    )
    value: Any = 1
    for _ in range(61):
        value = [value]

    async def steps() -> None:
        async with library(home, engine=Engine({"plan": PLAN})) as server:
            body = {"workflow": muted, "inputs": {"text": value}}
            _, _, found = await ask(server, "POST", "/v1/workflows/validate", body)
            message = "The value of text nests more than 60 deep. Flatten it."
            assert found["problems"] == [{"code": "bad_named_input", "message": message, "node": None, "port": "text"}]
            status, _, problem = await ask(server, "POST", "/v1/workflows/plan", body)
            assert (status, problem["code"], problem["detail"]) == (422, "invalid_workflow", message)
            assert (await ask(server, "POST", "/v1/workflows/plan", body | {"inputs": {"text": value[0]}}))[0] == 200

    run(steps())


@pytest.mark.spec("R-I05")
def test_a_million_links_are_refused_by_size_before_they_are_read(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            text = '{"workflow": {"nodes": {' + '"a": {"link": "b.value"}, ' * 1_000_000
            status, _, problem = await ask(server, "POST", "/v1/workflows/validate", text=text)
            assert (status, problem["code"]) == (413, "too_large")

    run(steps())


@pytest.mark.proves(19)
@pytest.mark.spec("R-M07")
@pytest.mark.parametrize(
    "kind",
    ["os.system", "os:system", "__import__", "builtins/eval", "nodes.primitives:number", "../x", "{{7*7}}", "${HOME}", "py:eval", "a b",
     "subprocess/Popen", "__class__", "#__init__", "number.__globals__"],
)  # fmt: skip
def test_a_node_type_that_looks_like_code_is_a_name_nobody_knows(home: Path, kind: str) -> None:
    answer = validated(home, {"workflow": flow({"a": {"type": kind, "inputs": {}}})})
    assert answer["valid"] is False
    assert {problem["code"] for problem in answer["problems"]} <= {"bad_type", "unknown_type", "missing_pack", "unknown_subgraph"}


@pytest.mark.proves(19)
@pytest.mark.spec("R-M07")
@pytest.mark.parametrize(
    "text", ["__import__('os').system('id')", "{{7*7}}", "${jndi:x}", "py:1+1", "{0.__class__}", "%(x)s", "\x1b[2J"]
)
def test_texts_that_look_like_code_stay_texts(home: Path, text: str) -> None:
    document = flow({"a": {"type": "text", "inputs": {"value": text}}}, name=text, description=text, view={"title": text})

    async def steps() -> None:
        async with library(home) as server:
            assert (await ask(server, "PUT", "/v1/workflows/a", document))[0] == 200
            _, _, found = await ask(server, "GET", "/v1/workflows/a")
            assert (found["name"], found["nodes"]["a"]["inputs"]["value"], found["view"]) == (text, text, {"title": text})
            assert (await ask(server, "POST", "/v1/workflows/validate", {"workflow": "a"}))[2]["valid"]

    run(steps())


@pytest.mark.spec("R-M07")
@pytest.mark.parametrize("port", ["__class__", "__init__", "__globals__", "was", "_ports"])
def test_a_port_called_like_an_attribute_is_an_unknown_port(home: Path, port: str) -> None:
    answer = validated(home, {"workflow": flow({"a": {"type": "number", "inputs": {port: 1}}})})
    assert [problem["code"] for problem in answer["problems"]] == ["unknown_port"]
    linked = flow({"a": NUMBER, "b": math(f"a.{port}")})
    assert [problem["code"] for problem in validated(home, {"workflow": linked})["problems"]] == ["unknown_output"]


# Plan and why.

PLAN = {
    "nodes": [
        {"id": "sum", "type": "math", "state": "run", "tasks": 1, "running": 1, "reason": "never run", "place": "host", "seconds": None,
         "peak_bytes": None}
    ],
    "seconds": None, "peak_bytes": {}, "absent": {},
}  # fmt: skip


def test_a_plan_asks_the_engine_with_inputs_set(home: Path) -> None:
    engine = Engine({"plan": PLAN})

    async def steps() -> Any:
        async with library(home, engine=engine) as server:
            body = {"workflow": SUM, "inputs": {"first": 8}, "targets": ["sum"], "priority": 3, "client": "me"}
            return await ask(server, "POST", "/v1/workflows/plan", body)

    status, _, answer = run(steps())
    assert (status, answer) == (200, PLAN)
    ((question, arguments),) = engine.asked
    expected = document_from_json(SUM).with_inputs({"first": 8})
    assert (question, arguments) == ("plan", {"document": write_document(expected).encode(), "targets": ["sum"]})


def test_what_planning_refuses_and_what_validation_refuses_is_an_invalid_workflow(home: Path) -> None:
    found = Problem("refused", "model got an unknown name. Choose another.", "a", "model")
    refusal = Refusal("invalid_workflow", found.message, problems=[found], node="a", port="model")
    engine = Engine({"plan": refusal, "why": refusal})

    async def steps() -> None:
        async with library(home, engine=engine) as server:
            status, _, problem = await ask(server, "POST", "/v1/workflows/plan", {"workflow": SUM})
            assert (status, problem["code"], problem["node"], problem["port"]) == (422, "invalid_workflow", "a", "model")
            bad = flow({"a": math("gone.value")})
            status, _, problem = await ask(server, "POST", "/v1/workflows/plan", {"workflow": bad})
            assert (status, problem["code"], problem["pointer"]) == (422, "invalid_workflow", "/workflow/nodes/a/inputs/a")
            body = {"workflow": SUM, "inputs": {"frist": 8}}
            status, _, problem = await ask(server, "POST", "/v1/workflows/plan", body)
            assert (status, problem["code"], problem["pointer"]) == (422, "invalid_workflow", "/inputs/frist")
            assert len(engine.asked) == 1

    run(steps())


def test_why_gives_the_engines_reasons(home: Path) -> None:
    reasons = [{"node": "sum", "part": "a", "message": "sum.a is new."}]

    async def steps() -> Any:
        async with library(home, engine=Engine({"why": {"reasons": reasons}})) as server:
            return await ask(server, "POST", "/v1/workflows/why", {"workflow": SUM, "node": "sum"})

    status, _, answer = run(steps())
    assert (status, answer) == (200, {"node": "sum", "reasons": reasons})


def test_without_an_engine_plan_and_why_are_503_and_validate_works(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            for path, body in (("plan", {"workflow": SUM}), ("why", {"workflow": SUM, "node": "sum"})):
                status, _, problem = await ask(server, "POST", f"/v1/workflows/{path}", body)
                assert (status, problem["code"]) == (503, "engine_unavailable")
            assert (await ask(server, "POST", "/v1/workflows/validate", {"workflow": SUM}))[0] == 200

    run(steps())


def test_pointers_go_as_far_as_the_place_exists() -> None:
    raw = flow({"a": {"type": "x", "inputs": {"p": 1}}}, outputs={"o": {}})
    places = [("a", "p"), ("a", "q"), ("b", None), ("a/inner", "p"), (None, "o"), (None, "gone"), (None, None)]
    assert [pointer_to(Problem("c", "m", node, port), raw) for node, port in places] == [
        "/nodes/a/inputs/p", "/nodes/a/inputs", "/nodes", "/nodes/a", "/outputs/o", "/outputs", "",
    ]  # fmt: skip


def test_no_answer_names_a_folder_of_this_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the disk says stays here."""

    def broken(self: Any, name: str) -> Any:
        raise PermissionError(13, "Permission denied", str(home / "workflows" / name))

    async def steps() -> list[Any]:
        async with library(home) as server:
            await ask(server, "PUT", "/v1/workflows/a", SUM)
            monkeypatch.setattr(folder.Root, "opened", broken)
            paths = ["/v1/workflows", "/v1/workflows/a", "/v1/workflows/a/versions", "/v1/drafts/a"]
            return [await ask(server, "GET", path) for path in paths]

    answers = run(steps())
    assert [status for status, _, _ in answers] == [403] * 4
    assert not any(str(home) in json.dumps(body) for _, _, body in answers)


def test_the_published_schema_is_answered(home: Path) -> None:
    async def steps() -> Any:
        async with library(home) as server:
            return await ask(server, "GET", "/v1/workflow.schema.json")

    status, _, schema = run(steps())
    assert (status, schema) == (200, json.loads((Path("workflows/workflow-1.schema.json")).read_text()))


def test_saving_the_same_name_at_once_lets_one_through(home: Path) -> None:
    async def steps() -> list[int]:
        async with library(home) as server:
            tries = [ask(server, "PUT", "/v1/workflows/a", {**SUM, "name": f"n{at}"}, If_None_Match="*") for at in range(8)]
            return [status for status, _, _ in await asyncio.gather(*tries)]

    assert sorted(run(steps())) == [200, *[412] * 7]
