"""Schemathesis sends what the OpenAPI document allows and forbids: no 5xx, no undocumented answer (Must show 3).

It knows some jobs, files, outputs and workflows that are there, so that it gets behind the 404s. Event streams and the
socket never end by themselves; they have tests of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.rig.serving import Server, chain, n, running, workflow
from tests.server.whole.conftest import MakeServer

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
STREAMS = r"/events$|/v1/ws$"

#: Which of the things that are there each parameter may name, by a part of the path.
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "^/v1/jobs/": {"path.id": "jobs", "path.node": "nodes", "path.port": "ports"},
    "^/v1/jobs(/.*/move)?$": {"query.cursor": "numbers", "body.before": "jobs", "body.after": "jobs"},
    "^/v1/outputs/": {"path.id": "outputs"},
    "^/v1/files/": {"path.sha256": "files"},
    "^/v1/drafts/": {"path.id": "drafts"},
    "^/v1/models/": {"path.name": "models"},
    "^/v1/nodes/": {"path.type": "types", "path.pack": "packs"},
    "^/assets/": {"path.name": "assets"},
    "^/v1/workflows/[{]": {"path.name": "workflows", "path.version": "numbers", "body.version": "numbers"},
    "^/v1/(jobs|workflows/plan|workflows/why|workflows/validate)$": {"body.workflow": "workflows", "body.node": "nodes"},
    "^/v1/images/generations$": {"body.model": "workflows", "body.size": "sizes"},
}


@pytest.fixture
def server(make_server: MakeServer) -> Iterator[Server]:
    """Pictures are waited for only briefly: who asks many things cannot wait for each."""
    with running(make_server(environment={"LATENTGRAPH_IMAGES_WAIT_S": "4"})) as one:
        yield one


def furnish(server: Server) -> dict[str, Sequence[str | int]]:
    """Jobs, files, outputs, drafts and workflows to ask for, by kind."""
    picture = workflow(
        {"picture": "paint.image", "file": "save.file"}, {"prompt": "text.value", "value": "paint.value"},
        text=n("text", value="a circle"), paint=n("fake/paint", value=1.0),
        save=n("save_image", image="@paint.image"),
    )  # fmt: skip
    jobs = [server.submit(picture, inputs={"value": float(number)})["id"] for number in range(6)]
    jobs += [server.submit(chain(3, float(number)))["id"] for number in range(6)]
    jobs.append(server.submit(workflow({"last": "fail.value"}, fail=n("fake/fail", value=1.0)))["id"])
    for job in jobs:
        server.ended(job)
    for name, document in (("picture", picture), ("chain", chain(3, 1.0)), ("third", picture)):
        assert server.request("PUT", f"/v1/workflows/{name}", document).status == 200
    assert server.request("PUT", "/v1/drafts/draft", {"document": picture}).status == 200
    for content in (b"plain", b"GIF89a nearly a picture"):
        assert server.request("POST", "/v1/files", content, {"Content-Type": "application/octet-stream"}).status == 201
    return {
        "jobs": jobs,
        "outputs": [output["id"] for output in server.get("/v1/outputs").json["outputs"]],
        "files": [file["sha256"] for file in server.get("/v1/files").json["files"]],
        "drafts": ["draft"],
        "models": ["mini"],
        "types": ["save_image", "math", "paint"],
        "packs": ["fake"],
        "assets": ["page.js", "page.css"],
        "workflows": ["picture", "chain", "third", "mini_text_to_image"],
        "nodes": ["paint", "save", "s0", "s1", "text"],
        "ports": ["image", "value", "file"],
        "sizes": ["64x64", "auto"],
        "numbers": [1, 2, 7],
    }


def configured(there: Mapping[str, Sequence[str | int]]) -> str:
    """The configuration that names what is there: half of the values come from it."""
    lines = [CONFIGURATION.read_text()]
    lines += [f"[dictionaries.{kind}]\nvalues = {json.dumps(values)}" for kind, values in there.items()]
    for paths, parameters in PARAMETERS.items():
        lines.append(f"[[operations]]\ninclude-path-regex = {json.dumps(paths)}\n[operations.parameters]")
        lines += [f'"{name}" = {{ dictionary = "{kind}", probability = 0.5 }}' for name, kind in parameters.items()]
    return "\n".join(lines)


def fuzz(server: Server, folder: Path, seconds: int, examples: int, phases: str) -> None:
    """Run schemathesis against the server; it must find nothing."""
    configuration = folder / "schemathesis.toml"
    configuration.write_text(configured(furnish(server)))
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration), "run", f"{server.url}/v1/openapi.json",
        "--header", f"Authorization:Bearer {server.token}", "--checks", "all", "--max-response-time", "40", "--phases", phases,
        "--exclude-path-regex", STREAMS, "--max-time", str(seconds), "--max-examples", str(examples), "--seed", "1",
        "--request-timeout", "60", "--continue-on-failure", "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert server.get("/readyz").status == 200


@pytest.mark.slow
@pytest.mark.spec("R-I01")
@pytest.mark.proves(22)
def test_the_api_answers_as_its_document_says(server: Server, tmp_path: Path) -> None:
    fuzz(server, tmp_path, 35, 5, "examples,coverage,fuzzing")


@pytest.mark.long
@pytest.mark.spec("R-I01")
def test_the_api_answers_as_its_document_says_for_long(server: Server, tmp_path: Path) -> None:
    fuzz(server, tmp_path, 600, 200, "examples,coverage,fuzzing,stateful")
