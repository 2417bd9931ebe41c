"""Node types, drafts, models, devices, cache, settings over HTTP."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from server.configuration import Source
from server.engine.messages import Hello, Status
from server.library.model_folders import ModelFolders
from server.problems import Refusal
from tests.server.api.kit import run
from tests.server.api.library_kit import Desk, Engine, ask, library

# Node types.


def test_the_catalogue_is_sent_once_and_packed_if_the_client_can(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server, aiohttp.ClientSession(auto_decompress=False) as client:
            url = server.url + "/v1/nodes"
            async with client.get(url, headers=server.bearer | {"Accept-Encoding": "identity"}) as plain:
                body, etag = await plain.read(), plain.headers["ETag"]
                assert "Content-Encoding" not in plain.headers
            async with client.get(url, headers=server.bearer | {"Accept-Encoding": "br, gzip"}) as packed:
                assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
                assert gzip.decompress(await packed.read()) == body
            async with client.get(url, headers=server.bearer | {"Accept-Encoding": "gzip;q=0"}) as refused:
                assert "Content-Encoding" not in refused.headers
            async with client.get(url, headers=server.bearer | {"If-None-Match": etag}) as again:
                assert (again.status, await again.read()) == (304, b"")
            found = json.loads(body)
            assert found.keys() == {"version", "nodes", "types", "fits", "packs"}
            assert found["fits"]["int"]["float"] == "direct"

    run(steps())


def test_the_catalogue_has_the_declared_form(home: Path) -> None:
    from server.api.routes.nodes import NodesView

    async def steps() -> Any:
        async with library(home) as server:
            return (await ask(server, "GET", "/v1/nodes"))[2]

    NodesView.model_validate(run(steps()))


@pytest.mark.spec("R-M07")
def test_one_node_type_by_name_and_nothing_by_a_name_that_is_none(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            assert (await ask(server, "GET", "/v1/nodes/math"))[2]["title"]
            for path in ("gone", "sepia/tone", "os.system", "..%2f..%2fetc", "__import__%28%29"):
                status, _, problem = await ask(server, "GET", f"/v1/nodes/{path}")
                assert (status, problem["code"]) == (404, "not_found")

    run(steps())


def test_before_node_types_are_known_the_rest_works(home: Path) -> None:
    async def steps() -> None:
        async with library(home, load=False) as server:
            status, headers, problem = await ask(server, "GET", "/v1/nodes")
            assert (status, problem["code"], headers["Retry-After"]) == (503, "catalogue_unavailable", "2")
            _, _, listed = await ask(server, "GET", "/v1/workflows")
            assert listed["workflows"][0]["missing_types"] is None

    run(steps())


# Drafts.


def test_drafts_over_http(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            body = {"document": {"half": [1]}, "workflow": None}
            status, headers, _ = await ask(server, "PUT", "/v1/drafts/d1", body)
            assert status == 200
            assert (await ask(server, "PUT", "/v1/drafts/d1", body))[0] == 428
            assert (await ask(server, "PUT", "/v1/drafts/d1", body, If_Match='"old"'))[0] == 412
            assert (await ask(server, "PUT", "/v1/drafts/d1", body, If_Match=headers["ETag"]))[0] == 200
            _, _, draft = await ask(server, "GET", "/v1/drafts/d1")
            assert (draft["document"], draft["workflow"], draft["base"]) == ({"half": [1]}, None, None)
            assert draft["closed"] is False
            assert [entry["id"] for entry in (await ask(server, "GET", "/v1/drafts"))[2]["drafts"]] == ["d1"]
            _, headers, _ = await ask(server, "PUT", "/v1/drafts/d1", body | {"closed": True}, If_Match=headers["ETag"])
            assert [entry["closed"] for entry in (await ask(server, "GET", "/v1/drafts"))[2]["drafts"]] == [True]
            assert (await ask(server, "DELETE", "/v1/drafts/d1"))[0] == 428
            assert (await ask(server, "DELETE", "/v1/drafts/d1", If_Match=headers["ETag"]))[0] == 204
            assert (await ask(server, "GET", "/v1/drafts/d1"))[0] == 404
            assert (await ask(server, "PUT", "/v1/drafts/a.b", body))[0] == 404
            assert (await ask(server, "PUT", "/v1/drafts/d2", {"document": []}))[0] == 422

    run(steps())


# Models.


def model_folder(path: Path, pipeline: str = "ZImagePipeline") -> Path:
    (path / "vae").mkdir(parents=True)
    (path / "model_index.json").write_text(json.dumps({"_class_name": pipeline}))
    (path / "vae" / "weights.safetensors").write_bytes(b"w" * 1000)
    return path


def test_models_are_listed_by_name_without_their_folders(home: Path, tmp_path: Path) -> None:
    model_folder(home / "models" / "mine")
    model_folder(home / "models" / "maker" / "theirs", pipeline="")
    outside = model_folder(tmp_path / "elsewhere")
    (home / "models" / "linked").symlink_to(outside)

    async def steps() -> Any:
        async with library(home) as server:
            assert (await ask(server, "GET", "/v1/models/maker/theirs"))[2]["name"] == "maker/theirs"
            return (await ask(server, "GET", "/v1/models"))[2]["models"]

    found = {model["name"]: model for model in run(steps())}
    assert {name: (model["where"], model["can_be_removed"]) for name, model in found.items()} == {
        "linked": ("elsewhere", False), "maker/theirs": ("data folder", True), "mine": ("data folder", True),
        "mini": ("shipped", False),
    }  # fmt: skip
    assert (found["mine"]["pipeline"], found["mine"]["size_bytes"]) == (
        "ZImagePipeline",
        1000 + len('{"_class_name": "ZImagePipeline"}'),
    )
    assert str(tmp_path) not in json.dumps(found)


@pytest.mark.spec("K13")
def test_a_model_that_a_waiting_or_running_job_names_is_not_removed(home: Path) -> None:
    folder = model_folder(home / "models" / "mine")
    desk, engine = Desk({"mine": "job-b"}), Engine({"holders": {"devices": []}})

    async def steps() -> None:
        async with library(home, desk=desk, engine=engine) as server:
            status, _, problem = await ask(server, "DELETE", "/v1/models/mine")
            assert (status, problem["code"], problem["job"]) == (409, "in_use", "job-b")
            assert problem["detail"] == 'Model "mine" is used by job job-b. Cancel it or let it end, then remove the model.'
            assert folder.is_dir()
            assert engine.asked == []
            desk.jobs.clear()
            assert (await ask(server, "DELETE", "/v1/models/mine"))[0] == 204
            assert list((home / "models").iterdir()) == []
            assert (await ask(server, "DELETE", "/v1/models/mine"))[0] == 404

    run(steps())


@pytest.mark.spec("K13")
def test_a_model_that_devices_hold_is_removed_only_after_their_memory_was_freed(home: Path) -> None:
    folder = model_folder(home / "models" / "maker" / "mine")
    engine = Engine({"holders": {"devices": ["cuda:0", "cuda:1"]}})

    async def steps() -> None:
        async with library(home, engine=engine) as server:
            status, _, problem = await ask(server, "DELETE", "/v1/models/maker/mine")
            assert (status, problem["code"], problem["devices"]) == (409, "in_use", ["cuda:0", "cuda:1"])
            assert problem["detail"] == (
                'Weights of model "maker/mine" are in the memory of cuda:0, cuda:1. Free it with POST /v1/devices/free, '
                "then remove the model."
            )
            assert engine.asked == [("holders", {"model": "maker/mine"})]
            assert folder.is_dir()
            engine.answers["holders"] = {"devices": []}
            assert (await ask(server, "DELETE", "/v1/models/maker/mine"))[0] == 204
            assert not folder.exists()

    run(steps())


@pytest.mark.spec("K13")
def test_a_model_is_not_removed_while_nobody_can_say_what_devices_hold(home: Path) -> None:
    folder = model_folder(home / "models" / "mine")
    slow = Refusal("not_ready_in_time", "The engine did not answer within 30 s; try again.", retry_after_s=5)
    engine = Engine({"holders": slow})

    async def steps() -> None:
        async with library(home, engine=engine) as server:
            status, _, problem = await ask(server, "DELETE", "/v1/models/mine")
            assert (status, problem["code"]) == (503, "not_ready_in_time")
            assert folder.is_dir()
            engine.state = "waiting"  # its processes ended with it: there is nothing that could hold one
            assert (await ask(server, "DELETE", "/v1/models/mine"))[0] == 204

    run(steps())


@pytest.mark.spec("K13")
def test_a_model_is_removed_while_jobs_that_name_it_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_folder(home / "models" / "mine")
    desk, leaves, remove = Desk(), list[str](), ModelFolders.remove

    async def noted(models: ModelFolders, name: str) -> None:
        leaves.extend(desk.leaves)
        await remove(models, name)

    async def steps() -> None:
        monkeypatch.setattr(ModelFolders, "remove", noted)
        async with library(home, desk=desk) as server:
            assert (await ask(server, "DELETE", "/v1/models/mine"))[0] == 204
        assert (leaves, desk.leaves) == (["mine"], [])

    run(steps())


@pytest.mark.spec("L11")
@pytest.mark.spec("K7")
def test_only_what_lies_in_the_data_folder_itself_is_removed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = model_folder(tmp_path / "outside" / "linked")
    (home / "models").mkdir()
    (home / "models" / "linked").symlink_to(outside)
    (home / "models" / "maker").symlink_to(outside.parent)
    named = model_folder(tmp_path / "named" / "theirs")
    monkeypatch.setenv("LATENTGRAPH_MODELS", str(named.parent))
    inner = model_folder(home / "models" / "mine")
    (inner / "link").symlink_to(outside)

    async def steps() -> None:
        async with library(home) as server:
            for name in ("linked", "maker/linked", "theirs", "mini"):
                status, _, problem = await ask(server, "DELETE", f"/v1/models/{name}")
                assert (status, problem["code"]) == (403, "forbidden"), name
                assert problem["detail"].endswith("so it is not removed here. Remove it yourself where it lies.")
            assert (await ask(server, "DELETE", "/v1/models/mine"))[0] == 204

    run(steps())
    assert (outside / "vae" / "weights.safetensors").is_file()
    assert named.is_dir()
    assert not inner.exists()


@pytest.mark.spec("K7")
@pytest.mark.parametrize("name", ["..", "%2e%2e", "..%2f..", "a%5cb", "a/..", "a/b/c", ".removed-x", "%2fetc", "~", "C:"])
def test_names_that_would_be_paths_are_no_models(home: Path, name: str) -> None:
    async def steps() -> None:
        async with library(home) as server:
            for method in ("GET", "DELETE"):
                assert (await ask(server, method, f"/v1/models/{name}"))[0] in (404, 405)

    run(steps())


def test_a_removal_that_was_cut_off_is_finished_at_the_next_start(home: Path) -> None:
    left = model_folder(home / "models" / ".removed-0123456789abcdef")
    kept = model_folder(home / "models" / "mine")
    run(ModelFolders(home).start())
    assert not left.exists()
    assert kept.is_dir()


def test_a_model_that_may_not_be_removed_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_folder(home / "models" / "mine")

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", "/secret")

    monkeypatch.setattr(os, "rename", refused)
    with pytest.raises(Refusal, match='Model "mine" may not be removed by the server'):
        run(ModelFolders(home).remove("mine"))


# Devices and cache.


def test_devices_are_what_the_engine_last_told(home: Path) -> None:
    engine = Engine({"free_memory": {"freed_bytes": {"cpu:1": 1234, "ram": 5}}})
    engine.hello = Hello(1, ["cpu:0", "cpu:1"], "cpu:avx2:1", "x")
    place = {"name": "cpu:0", "state": "busy", "job": "j", "node": "n", "resident_bytes": 7, "budget_bytes": 9, "restarts": 2,
             "message": "", "progress_age_s": 0.5}  # fmt: skip
    engine.status = Status([place], {"memo_bytes": 5})

    async def steps() -> None:
        async with library(home, engine=engine) as server:
            _, _, found = await ask(server, "GET", "/v1/devices")
            assert (found["engine"], found["devices"], found["facts"]) == ("ready", ["cpu:0", "cpu:1"], {"memo_bytes": 5})
            assert (found["places"][0]["state"], found["places"][0]["resident_bytes"]) == ("busy", 7)
            assert (await ask(server, "POST", "/v1/devices/free", {"device": "cpu:1"}))[2] == {
                "freed_bytes": {"cpu:1": 1234, "ram": 5}
            }
            status, _, problem = await ask(server, "POST", "/v1/devices/free", {"device": "cuda:7"})
            assert (status, problem["detail"]) == (
                404, 'There is no device "cuda:7" in use; there is cpu:0, cpu:1. Name one of these.',
            )  # fmt: skip
            assert (await ask(server, "POST", "/v1/devices/free", {"device": "../x"}))[0] == 422

    run(steps())
    assert engine.asked == [("free_memory", {"device": "cpu:1"})]


def test_without_an_engine_devices_are_empty_and_memory_cannot_be_freed(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            _, _, found = await ask(server, "GET", "/v1/devices")
            assert (found["engine"], found["devices"], found["places"]) == ("waiting", [], [])
            assert (await ask(server, "POST", "/v1/devices/free", {}))[0] == 503

    run(steps())


def test_the_cache_is_told_checked_and_cleared_by_the_engine(home: Path) -> None:
    memo = {"objects": 1, "bytes": 2, "limit_bytes": 3, "quarantined": 0, "table_bytes": 4}
    stats = {"memo": memo, "disk_cache": {"texts": {"entries": 1, "bytes": 9}}}
    checked = {"memo": {"files": 1, "bytes": 2}, "disk_cache": {"texts": {"entries": 1, "bytes": 9, "made_with_others": {"torch": 1}}},
               "damaged": ["memo abc: its digest is wrong"]}  # fmt: skip
    engine = Engine({"cache_stats": stats, "cache_verify": checked, "cache_clear": {"freed_bytes": 11}})

    async def steps() -> None:
        async with library(home, engine=engine) as server:
            assert (await ask(server, "GET", "/v1/cache"))[2] == stats
            assert (await ask(server, "POST", "/v1/cache/verify"))[2] == checked
            assert (await ask(server, "POST", "/v1/cache/clear", {"disk_cache": True}))[2] == {"freed_bytes": 11}
            assert (await ask(server, "POST", "/v1/cache/clear", {"all": True}))[0] == 422

    run(steps())
    assert engine.asked[-1] == ("cache_clear", {"disk_cache": True})


# Settings.


@pytest.mark.spec("L9")
@pytest.mark.spec("L10")
def test_settings_are_told_with_their_source_and_without_secrets_or_folders(home: Path) -> None:
    webhooks = {"me": {"url": "https://me.example/hook", "secret": "canary-canary-canary"}}

    async def steps() -> Any:
        async with library(home, webhooks=webhooks, output_folder=home / "pictures", port=0, hosts="a.example") as server:
            server.services.sources = (
                Source("port", "0", "--port"), Source("hosts", "a.example", "LATENTGRAPH_HOSTS"),
                Source("webhooks", "me=***", str(home / "settings.toml")),
            )  # fmt: skip
            assert (await ask(server, "PUT", "/v1/settings", {}))[0] == 405
            return (await ask(server, "GET", "/v1/settings"))[2]["settings"]

    listed = run(steps())
    found = {setting["name"]: (setting["value"], setting["source"]) for setting in listed}
    assert found["port"] == (0, "flag")
    assert found["hosts"] == (["a.example"], "variable")
    assert found["webhooks"] == ("set", "file")
    assert (found["output_folder"], found["workflows_folder"]) == (("set", "default"), ("not set", "default"))
    assert all(setting["description"] for setting in listed)
    assert not any(secret in json.dumps(listed) for secret in ("canary", "me.example", str(home)))


def test_limits_are_those_of_the_settings(home: Path) -> None:
    async def steps() -> Any:
        async with library(home, max_nodes=12, max_body_bytes=5000) as server:
            return (await ask(server, "GET", "/v1/limits"))[2]

    limits = run(steps())
    assert (limits["workflow_nodes"], limits["body_bytes"], limits["integer"]) == (12, 5000, 2**53 - 1)
    assert (limits["unfolded_nodes"], limits["draft_bytes"], limits["preferences_bytes"]) == (12, 5000, 5000)


def test_limits_tell_what_a_job_may_hold_and_what_is_refused_beyond(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            _, _, limits = await ask(server, "GET", "/v1/limits")
            expected = {
                "text_characters": 1_000_000, "inputs": 1000, "targets": 1000, "priority": 100, "client_characters": 64,
                "idempotency_key_characters": 255, "images": 10,
            }  # fmt: skip
            assert {name: limits[name] for name in expected} == expected
            inputs = {f"i{number}": 1 for number in range(limits["inputs"] + 1)}
            for path, more, message in (
                ("workflows/validate", {"inputs": inputs}, "The body's /inputs has 1001 entries. Send at most 1000."),
                ("workflows/plan", {"inputs": inputs}, "The body's /inputs has 1001 entries. Send at most 1000."),
                ("jobs", {"inputs": inputs}, "The body's /inputs has 1001 entries. Send at most 1000."),
                ("jobs", {"targets": ["a"] * 1001}, "The body's /targets has 1001 entries. Send at most 1000."),
                ("jobs", {"priority": -101}, "The body's /priority is -101. Set it to at least -100."),
            ):
                status, _, problem = await ask(server, "POST", f"/v1/{path}", {"workflow": "a", **more})
                assert (status, problem["code"], problem["detail"]) == (422, "invalid", message)

    run(steps())


def test_a_draft_as_long_as_the_limits_say_is_kept_and_one_byte_more_is_not(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            most = (await ask(server, "GET", "/v1/limits"))[2]["draft_bytes"]
            draft = '{"document": {"text": "%s"}}'
            text = draft % ("x" * (most - len(draft % "")))
            assert (await ask(server, "PUT", "/v1/drafts/d1", text=text))[0] == 200
            status, _, problem = await ask(server, "PUT", "/v1/drafts/d2", text=text + " ")
            assert (status, problem["code"], problem["limit_bytes"]) == (413, "too_large", most)

    run(steps())


def test_preferences_of_the_page_are_kept_whole(home: Path) -> None:
    async def steps() -> None:
        async with library(home) as server:
            _, headers, nothing = await ask(server, "GET", "/v1/settings/page")
            assert nothing == {}
            assert (await ask(server, "PUT", "/v1/settings/page", {"theme": "dark"}))[2] == {"theme": "dark"}
            status, _, _ = await ask(server, "PUT", "/v1/settings/page", {"theme": "light"}, If_Match=headers["ETag"])
            assert status == 412
            assert (await ask(server, "PUT", "/v1/settings/page", [1]))[0] == 422
            status, _, problem = await ask(server, "PUT", "/v1/settings/page", {"a": "x" * 65536})
            assert (status, problem["code"]) == (413, "too_large")
            assert (await ask(server, "GET", "/v1/settings/page"))[2] == {"theme": "dark"}
        async with library(home) as server:
            assert (await ask(server, "GET", "/v1/settings/page"))[2] == {"theme": "dark"}
            (home / "page.json").write_text("{")
            assert (await ask(server, "GET", "/v1/settings/page"))[2] == {}

    run(steps())
