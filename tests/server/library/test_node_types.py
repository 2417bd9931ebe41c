"""The catalogue as the server uses it: at once, even if outdated, and never by importing a node."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from graph.registry import BrokenPack, Pack
from graph.types import TypeRef, fits
from server.library.node_types import Known, NodeTypes, fit_table, without_folders
from server.problems import Refusal


def loaded(home: Path) -> NodeTypes:
    types = NodeTypes(home)
    assert asyncio.run(types.load())
    return types


def test_before_any_catalogue_exists_the_refusal_says_when_to_come_back(tmp_path: Path) -> None:
    types = NodeTypes(tmp_path)
    assert not asyncio.run(types.load())
    with pytest.raises(Refusal) as caught:
        types.specs
    assert (caught.value.code, caught.value.retry_after_s, types.version) == ("catalogue_unavailable", 2.0, "")
    assert caught.value.message.endswith("Try again in a moment.")


def test_an_outdated_catalogue_is_used_at_once(home: Path) -> None:
    path = home / "catalogue.json"
    data = json.loads(path.read_bytes())
    data["files"] = [["/gone/node.py", 1, 2]]
    data["specs"] = [spec for spec in data["specs"] if spec["id"] != "math"]
    path.write_text(json.dumps(data))
    specs = loaded(home).specs
    assert "number" in specs
    assert "math" not in specs


def test_it_is_read_again_when_told_and_a_damaged_one_changes_nothing(home: Path) -> None:
    types = loaded(home)
    version, etag = types.version, types.known.etag
    path = home / "catalogue.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    assert not asyncio.run(types.load())
    assert (types.version, types.known.etag) == (version, etag)
    data = json.loads(whole)
    data["specs"] = data["specs"][1:]
    path.write_text(json.dumps(data))
    assert asyncio.run(types.load())
    assert types.version != version
    assert types.known.etag != etag


def test_without_packs_the_other_file_is_read(home: Path) -> None:
    (home / "catalogue.json").unlink()
    assert asyncio.run(NodeTypes(home, packs=False).load())
    assert not asyncio.run(NodeTypes(home).load())


def test_clients_get_each_type_with_its_schema_and_nothing_a_worker_alone_needs(home: Path) -> None:
    known = loaded(home).known
    body = json.loads(known.body)
    assert json.loads(gzip.decompress(known.packed)) == body
    math = next(node for node in body["nodes"] if node["id"] == "math")
    assert math["node_schema"]["properties"]["type"] == {"const": "math"}
    assert not {"entry", "code"} & math.keys()
    assert b"/work" not in known.body
    assert {"name": "int", "plain": True} in body["types"]
    assert {"name": "Latents", "plain": False} in body["types"]


def test_a_former_name_finds_its_type_and_an_unknown_one_is_told(home: Path) -> None:
    types = loaded(home)
    renamed = types.known.catalogue.specs[0]
    known = Known(types.known.catalogue, "x")
    assert known.find(renamed.id) == renamed
    with pytest.raises(Refusal, match=r'There is no node type "os.system". GET /v1/nodes lists all.'):
        types.find("os.system")


def test_the_type_table_says_what_the_engine_says(home: Path) -> None:
    refs = loaded(home).known._port_types()
    table = fit_table(refs)
    for source in refs:
        for target in refs:
            assert table[as_t(source)].get(as_t(target), "no") == fits(source, target)
    assert table["list[int]"]["float"] == "map"
    assert "text" not in table["int"]
    assert fit_table([TypeRef("A"), TypeRef("int")])["int"]["T"] == "direct"


def as_t(ref: TypeRef) -> str:
    """The table knows one letter."""
    return str(ref._replace(name="T") if ref.is_generic else ref)


def test_why_a_pack_is_broken_is_told_without_folders(home: Path) -> None:
    catalogue = loaded(home).known.catalogue
    pack = Pack("sepia", "sepia-pack", "1.2", "sepia.nodes")
    reason = "No module named 'x' (/home/ann/secret/venv/lib/sepia.py, line 3)"
    body = Known(catalogue._replace(broken=(BrokenPack(pack, reason),)), "v").to_json()
    assert body["packs"] == [
        {
            "name": "sepia",
            "distribution": "sepia-pack",
            "version": "1.2",
            "nodes": 0,
            "problem": "No module named 'x' (sepia.py, line 3)",
        }
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /a/b/c.py: no", "at c.py: no"),
        ("C:\\Users\\ann\\x.py", "x.py"),
        ("pack/name and a/b stay", "pack/name and a/b stay"),
        ("'/tmp/x'", "'x'"),
        ("1 / 2", "1 / 2"),
    ],
)
def test_absolute_paths_are_cut_to_their_last_part(text: str, shown: str) -> None:
    assert without_folders(text) == shown
