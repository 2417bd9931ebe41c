"""The `disk_cache` node: a hit skips everything above it, for months and across upgrades."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from graph import environment
from graph.context import Context
from graph.disk_cache import DiskCacheFolder
from graph.node import node
from graph.provenance import differences
from graph.registry import Registry
from tests.graph.engine_kit import Lab, add, costly_clock, n, registry, with_specs, workflow

TEXT = workflow(
    "end", top=n("device_add", a=1.0), mid=n("add", a="@top"), kept=n("disk_cache", value="@mid"), end=n("add", a="@kept", b=5.0)
)


def entries(home: Path) -> list[Path]:
    return sorted((home / "disk_cache" / "default").glob("*.msgpack"))


def forget(home: Path) -> None:
    """Leave only the disk_cache folder."""
    for path in sorted((home / "memo").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()


def test_a_hit_skips_everything_above_it(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab() as first:
        assert first.run(TEXT).ran == ["top", "mid", "kept", "end"]
    assert len(entries(home)) == 1
    forget(home)
    second = open_lab().run(TEXT)
    assert second.ran == ["end"]
    assert second.output == 6.0
    assert second.states == {"top": "cached", "mid": "cached", "kept": "cached", "end": "done"}


def test_the_plan_shows_it_as_cached(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab() as first:
        assert set(first.states(TEXT).values()) == {"run"}
        first.run(TEXT)
    forget(home)
    assert open_lab().states(TEXT) == {"top": "cached", "mid": "cached", "kept": "cached", "end": "run"}


def test_a_hit_survives_changed_code_and_libraries_and_another_device(
    open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_lab(clock=costly_clock(), device_class="cpu:a:1") as first:
        first.run(TEXT)
    versions = environment.library_versions() | {"torch": "99.0"}
    monkeypatch.setattr(environment, "library_versions", lambda: versions)
    second = open_lab(with_specs(registry, code="edited"), device_class="cuda:sm_90").run(TEXT)
    assert second.ran == ["end"]  # its own code is new; nothing above ran
    assert second.output == 6.0


def test_a_declared_version_above_is_part_of_its_key(open_lab: Callable[..., Lab]) -> None:
    with open_lab() as first:
        first.run(TEXT)
    assert "kept" in open_lab(with_specs(registry, version=2)).run(TEXT).ran


def test_a_changed_literal_above_is_another_entry(lab: Lab, home: Path) -> None:
    lab.run(TEXT)
    other = TEXT.replace('"a": 1.0', '"a": 2.0')
    assert lab.run(other).output == 7.0
    assert len(entries(home)) == 2


def test_what_follows_goes_by_content(lab: Lab) -> None:
    lab.run(TEXT)
    assert lab.run(TEXT).ran == []
    elsewhere = workflow("end", v=n("add", a=0.25, b=0.75), kept=n("disk_cache", value="@v"), end=n("add", a="@kept", b=5.0))
    outcome = lab.run(elsewhere)  # another way to the same value
    assert outcome.ran == ["v", "kept"]
    assert outcome.states["end"] == "cached"


def test_it_works_behind_another_disk_cache(open_lab: Callable[..., Lab], home: Path) -> None:
    text = workflow(
        "end",
        a=n("add", a=1.0),
        one=n("disk_cache", value="@a"),
        b=n("add", a="@one"),
        two=n("disk_cache", value="@b"),
        end=n("floor", a="@two"),
    )
    with open_lab() as first:
        first.run(text)
    forget(home)
    assert open_lab().run(text).ran == ["end"]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap"])
def test_a_damaged_entry_is_computed_again_and_mended(open_lab: Callable[..., Lab], home: Path, damage: str) -> None:
    with open_lab() as first:
        first.run(TEXT)
        first.run(TEXT.replace('"a": 1.0', '"a": 2.0'))
    forget(home)
    one, two = entries(home)
    for path in (one, two):
        path.chmod(0o600)
    content = one.read_bytes()
    if damage == "flip":
        one.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    elif damage == "cut":
        one.write_bytes(content[:-4])
    elif damage == "empty":
        one.write_bytes(b"")
    else:
        one.write_bytes(two.read_bytes())
    if damage == "swap":
        two.write_bytes(content)
    with open_lab() as second:
        outcomes = [second.run(TEXT), second.run(TEXT.replace('"a": 1.0', '"a": 2.0'))]
    assert [outcome.output for outcome in outcomes] == [6.0, 7.0]
    damaged = [outcome for outcome in outcomes if "top" in outcome.ran]
    assert len(damaged) == (2 if damage == "swap" else 1)
    assert any("damaged" in message for message in damaged[0].result.messages)
    forget(home)
    assert open_lab().run(TEXT).ran == ["end"]


def test_a_mapped_disk_cache_keeps_one_entry_per_element(open_lab: Callable[..., Lab], home: Path) -> None:
    text = workflow(
        "sum", r=n("numbers", n=3), top=n("add", a="@r"), kept=n("disk_cache", value="@top"), sum=n("total", values="@kept")
    )
    with open_lab() as first:
        assert first.run(text).output == 3.0
    assert len(entries(home)) == 3
    forget(home)
    entries(home)[0].unlink()
    outcome = open_lab().run(text)
    assert outcome.output == 3.0
    assert len([id for id in outcome.ran if id.startswith("top")]) == 1


def test_a_random_seed_above_is_cached_by_what_was_drawn(lab: Lab, home: Path) -> None:
    text = workflow("kept", d=n("draw", seed={"random": True}), kept=n("disk_cache", value="@d"))
    assert lab.run(text, seeds={"d.seed": 7}).output == 7.0
    assert lab.run(text, seeds={"d.seed": 8}).output == 8.0
    assert lab.run(text, seeds={"d.seed": 7}).ran == []
    assert len(entries(home)) == 2


def test_a_folder_that_cannot_be_written_does_not_fail_the_run(lab: Lab, home: Path) -> None:
    (home / "disk_cache").write_text("a file where the folder should be")
    outcome = lab.run(TEXT)
    assert outcome.state == "done"
    assert outcome.output == 6.0
    assert any("cannot be used for caching" in message for message in outcome.result.messages)


def kept_in(**inputs: object) -> str:
    return workflow("end", top=n("add", a=1.0), kept=n("disk_cache", value="@top", **inputs), end=n("add", a="@kept", b=5.0))


def test_the_node_says_in_which_folder_and_neither_name_nor_limit_is_part_of_the_key(lab: Lab, home: Path) -> None:
    lab.run(kept_in(folder="texts-2024", limit_gb=1.0))
    (made,) = (home / "disk_cache" / "texts-2024").glob("*.msgpack")
    assert entries(home) == []
    lab.run(kept_in(limit_gb=2.0))
    assert [path.name for path in entries(home)] == [made.name]
    forget(home)
    assert lab.run(kept_in(folder="texts-2024", limit_gb=3.0)).ran == []


def test_the_folder_keeps_to_the_limit_of_its_node(lab: Lab, home: Path) -> None:
    for a in range(40):
        outcome = lab.run(kept_in(limit_gb=2e-6).replace('"a": 1.0', f'"a": {a}.5'))
        assert outcome.output == a + 5.5
        assert sum(path.stat().st_size for path in entries(home)) <= 2000
    assert entries(home)


@pytest.mark.parametrize("folder", ["../../outside", "/tmp/outside", "", ".", "a/b", "A", "x" * 65, "a\n"])
def test_a_path_in_place_of_a_folder_name_is_never_followed(lab: Lab, home: Path, folder: str) -> None:
    before = {path for path in home.parent.rglob("*") if "memo" not in path.parts}
    outcome = lab.run(kept_in(folder=folder))
    assert outcome.output == 6.0
    said = "is no folder name (1 to 64 of a-z, 0-9, _ and -)"
    assert [message for message in outcome.result.messages if said in message]
    assert {path for path in home.parent.rglob("*") if "memo" not in path.parts} == before


def test_a_plan_takes_a_kept_value_at_its_word_and_the_run_checks_it(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab() as first:
        first.run(TEXT)
    forget(home)
    (path,) = entries(home)
    path.chmod(0o600)
    content = path.read_bytes()
    assert content.count(struct.pack(">d", 1.0)) == 1
    path.write_bytes(content.replace(struct.pack(">d", 1.0), struct.pack(">d", 2.0)))
    lab = open_lab()
    assert lab.states(TEXT) == {"top": "cached", "mid": "cached", "kept": "cached", "end": "run"}
    outcome = lab.run(TEXT)
    assert outcome.ran == ["top", "mid", "kept", "end"]
    assert outcome.output == 6.0
    assert any("a damaged disk_cache entry is computed again" in message for message in outcome.result.messages)


def test_an_entry_records_what_made_it_all_the_way_up(open_lab: Callable[..., Lab], home: Path) -> None:
    with open_lab(device_class="cpu:a:1") as lab:
        lab.run(TEXT)
    ((_, recorded),) = DiskCacheFolder(home / "disk_cache" / "default", 10**9).verify().entries.items()
    assert recorded == {
        "code": {name: registry.specs[name].code for name in ("add", "device_add")},
        "libraries": environment.library_versions(),
        "environment": environment.environment_of("cpu:a:1"),
    }
    assert differences(recorded, registry.specs, {"cpu:a:1"}) == []
    edited = with_specs(registry, code="edited").specs
    assert differences(recorded, edited, {"cpu:b:1"}) == ["device cpu:a:1", "other code of add", "other code of device_add"]


def test_an_entry_that_no_device_made_records_no_libraries(lab: Lab, home: Path) -> None:
    lab.run(kept_in())
    ((_, recorded),) = DiskCacheFolder(home / "disk_cache" / "default", 10**9).verify().entries.items()
    assert recorded == {"code": {"add": registry.specs["add"].code}}


@pytest.mark.parametrize("folder", ["../escaped", "/tmp/escaped", "a/b", "..", "a" * 65])
def test_entries_stay_under_the_home_whatever_a_workflow_calls_their_folder(home: Path, folder: str) -> None:
    @node(title="Keep", version=1, persist=True)
    def keep(ctx: Context, value: float, folder: str) -> float:
        return value

    with Lab(home, Registry.of(keep, add)) as lab:
        outcome = lab.run(workflow("k", a=n("add", a=1.0), k=n("keep", value="@a", folder=folder)))
        assert outcome.output == 1.0
        assert any("is no folder name (1 to 64 of a-z, 0-9, _ and -)" in said for said in outcome.result.messages)
        assert not (home / "disk_cache").exists()
        lab.run(workflow("k", a=n("add", a=1.0), k=n("keep", value="@a", folder="texts-2")))
        assert len(list((home / "disk_cache" / "texts-2").glob("*.msgpack"))) == 1
