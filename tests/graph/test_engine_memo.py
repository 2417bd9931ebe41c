"""What is remembered: nothing runs twice, and nothing is remembered that should not be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graph import environment
from graph.context import Context
from graph.node import node
from graph.registry import Registry
from tests.graph.engine_kit import PATIENCE, Lab, add, chain, costly_clock, n, ran, registry, with_specs, workflow

DIAMOND = workflow(
    "sum",
    left=n("add", a=1.0, b=2.0),
    right=n("add", a=3.0, b=4.0),
    below_left=n("add", a="@left", b=0.5),
    sum=n("add", a="@below_left", b="@right"),
)


def changed(text: str, node: str, port: str, value: object) -> str:
    document = json.loads(text)
    document["nodes"][node]["inputs"][port] = value
    return json.dumps(document)


def test_a_second_run_executes_nothing(lab: Lab) -> None:
    first, second = lab.run(DIAMOND), lab.run(DIAMOND)
    assert sorted(first.ran) == ["below_left", "left", "right", "sum"]
    assert second.ran == []
    assert first.output == second.output == 10.5
    assert set(second.states.values()) == {"cached"}


def test_work_of_5_ms_is_remembered_by_a_later_process(open_lab: Callable[..., Lab]) -> None:
    with open_lab(clock=costly_clock()) as first:
        expected = first.run(DIAMOND).output
    again = open_lab().run(DIAMOND)
    assert again.ran == []
    assert again.output == expected


@pytest.mark.parametrize("seconds", [0.001, 0.0049])
def test_work_of_a_millisecond_is_remembered_by_a_later_process(open_lab: Callable[..., Lab], seconds: float) -> None:
    with open_lab(clock=costly_clock(seconds), host_lanes=1) as first:
        first.run(DIAMOND)
    assert open_lab().run(DIAMOND).ran == []


def test_quick_work_runs_again_after_a_restart(open_lab: Callable[..., Lab]) -> None:
    with open_lab(clock=costly_clock(0.0)) as first:
        first.run(DIAMOND)
    assert len(open_lab().run(DIAMOND).ran) == 4


def test_quick_work_above_a_hit_is_not_run_again(open_lab: Callable[..., Lab]) -> None:
    """Quick results are not written, but what was made from them is found without them."""
    text = workflow("slow", quick=n("add", a=1.0), slow=n("say_slowly", a="@quick"))
    time = [0.0]

    @node(title="Say slowly", version=1)
    def say_slowly(ctx: Context, a: float) -> float:
        time[0] += 0.1
        return a

    library = Registry.of(add, say_slowly)
    with open_lab(library, clock=lambda: time[0]) as first:
        assert first.run(text).states == {"quick": "done", "slow": "done"}
    again = open_lab(library, clock=lambda: time[0]).run(text)
    assert again.ran == []
    assert again.states == {"quick": "cached", "slow": "cached"}


@pytest.mark.parametrize(
    ("node", "port", "expected"),
    [
        ("left", "b", {"left", "below_left", "sum"}),
        ("right", "a", {"right", "sum"}),
        ("below_left", "b", {"below_left", "sum"}),
    ],
)
def test_a_changed_literal_runs_exactly_its_descendants_again(lab: Lab, node: str, port: str, expected: set[str]) -> None:
    lab.run(DIAMOND)
    assert set(lab.run(changed(DIAMOND, node, port, 77.0)).ran) == expected


def test_an_equal_intermediate_value_stops_the_re_run(lab: Lab) -> None:
    text = workflow("end", top=n("add", a=1.25), cut=n("floor", a="@top"), mid=n("add", a="@cut"), end=n("add", a="@mid"))
    lab.run(text)
    outcome = lab.run(changed(text, "top", "a", 1.75))
    assert outcome.ran == ["top", "cut"]
    assert outcome.states == {"top": "done", "cut": "done", "mid": "cached", "end": "cached"}


def test_an_equal_intermediate_value_stops_the_re_run_in_a_later_process(open_lab: Callable[..., Lab]) -> None:
    text = workflow("end", top=n("add", a=1.25), cut=n("floor", a="@top"), end=n("add", a="@cut", b=4.0))
    with open_lab(clock=costly_clock()) as first:
        first.run(text)
    with open_lab(clock=costly_clock()) as second:
        assert second.run(changed(text, "top", "a", 1.75)).ran == ["top", "cut"]
    assert open_lab().run(changed(text, "top", "a", 1.75)).ran == []  # both keys are known by now


def test_ids_view_and_titles_are_not_part_of_a_key(lab: Lab) -> None:
    lab.run(DIAMOND)
    renamed = workflow(
        {"other": "d"},
        d=n("add", a="@c", b="@b"),
        c=n("add", a="@a", b=0.5),
        b=n("add", a=3.0, b=4.0),
        a=n("add", a=1.0, b=2.0),
        more={"name": "renamed", "description": "moved about", "view": {"nodes": {"a": {"x": 5, "y": 6}}}},
    )
    outcome = lab.run(renamed)
    assert outcome.ran == []
    assert outcome.outputs == {"other": 10.5}


def test_equal_work_of_two_workflows_is_shared(lab: Lab) -> None:
    lab.run(DIAMOND)
    assert lab.run(workflow("x", l=n("add", a=1.0, b=2.0), x=n("floor", a="@l"))).ran == ["x"]


@pytest.mark.parametrize("change", [{"version": 2}, {"code": "edited"}])
def test_a_node_whose_version_or_code_changed_runs_again(open_lab: Callable[..., Lab], change: dict[str, object]) -> None:
    with open_lab(clock=costly_clock()) as first:
        first.run(chain(3))
    with open_lab(registry, clock=costly_clock()) as same:
        assert same.run(chain(3)).ran == []
    # The values come out equal, so only the first node's own work is repeated for each: its key says it is other code.
    assert len(open_lab(with_specs(registry, **change)).run(chain(3)).ran) == 3


DEVICE = workflow("d", h=n("add", a=1.0), d=n("device_add", a="@h"))


@pytest.mark.spec("O")
def test_another_device_class_is_a_miss_for_device_nodes_only(open_lab: Callable[..., Lab]) -> None:
    with open_lab(clock=costly_clock(), device_class="cpu:avx2:1") as first:
        assert first.run(DEVICE).ran == ["h", "d"]
    with open_lab(clock=costly_clock(), device_class="cpu:avx2:1", devices=("cpu:7",)) as renamed:
        assert renamed.run(DEVICE).ran == []  # a device's name is no part of what it computes
    assert open_lab(device_class="cuda:sm_90").run(DEVICE).ran == ["d"]


def test_another_library_version_is_a_miss_for_device_nodes_only(
    open_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_lab(clock=costly_clock(), device_class="x") as first:
        first.run(DEVICE)
    versions = environment.library_versions() | {"diffusers": "99.0"}
    monkeypatch.setattr(environment, "library_versions", lambda: versions)
    assert open_lab(device_class="x").run(DEVICE).ran == ["d"]


@pytest.mark.parametrize("value", [True, 1, 1.0, "1"])
def test_true_and_the_three_ones_are_four_values(lab: Lab, value: object) -> None:
    others = [other for other in (True, 1, 1.0, "1") if type(other) is not type(value)]
    for other in others:
        lab.run(workflow("x", x=n("show", value=other)))
    outcome = lab.run(workflow("x", x=n("show", value=value)))
    assert outcome.ran == ["x"]
    assert outcome.output == repr(value)


def test_an_effect_runs_each_time_and_its_inputs_do_not(lab: Lab) -> None:
    text = workflow(s=n("save", value="@a"), a=n("add", a=1.0))
    assert lab.run(text).ran == ["a", "s"]
    second = lab.run(text)
    assert second.ran == ["s"]
    assert second.states == {"s": "done", "a": "cached"}


def test_what_reads_an_effect_goes_by_content(home: Path) -> None:
    files = iter(["a", "a", "b"])
    seen: list[str] = []

    @node(title="Write", version=1, effect=True)
    def write(ctx: Context, value: float) -> str:
        return next(files)

    @node(title="Read", version=1)
    def read(ctx: Context, file: str) -> str:
        seen.append(file)
        return file.upper()

    with Lab(home, Registry.of(write, read)) as lab:
        text = workflow("r", w=n("write", value=1.0), r=n("read", file="@w"))
        assert [lab.run(text).output for _ in range(3)] == ["A", "A", "B"]
    assert seen == ["a", "b"]


def test_effects_of_equal_runs_and_equal_nodes_all_happen(lab: Lab) -> None:
    text = workflow(s=n("save", value="@a"), t=n("save", value="@a"), a=n("add", a=1.0))
    handles = [lab.start(text) for _ in range(3)]
    assert all(handle.wait(PATIENCE) is not None for handle in handles)
    assert sorted(ran) == ["a"] + ["s"] * 3 + ["t"] * 3


def test_a_mapped_effect_happens_for_every_element(lab: Lab) -> None:
    text = workflow(r=n("numbers", n=3), s=n("save", value="@r"))
    assert sorted(lab.run(text).ran) == ["s[0]", "s[1]", "s[2]"]
    assert sorted(lab.run(text).ran) == ["s[0]", "s[1]", "s[2]"]


def test_an_uncached_node_runs_each_time_and_what_follows_goes_by_content(lab: Lab) -> None:
    text = workflow("after", top=n("add", a=1.0), u=n("unkept", a="@top"), after=n("add", a="@u"))
    assert lab.run(text).ran == ["top", "u", "after"]
    second = lab.run(text)
    assert second.ran == ["u"]
    assert second.states == {"top": "cached", "u": "done", "after": "cached"}


@pytest.mark.spec("O", "R-K08")
def test_a_failed_node_stores_nothing(lab: Lab) -> None:
    text = workflow("f", f=n("fail_if", a=1.0, fail=True))
    for _ in range(2):
        outcome = lab.run(text)
        assert outcome.ran == ["f"]
        assert outcome.state == "failed"
    assert lab.engine.memories.memo.find([bytes.fromhex(outcome.node("f").key)]) == {}


def tree(leaves: int) -> tuple[str, int]:
    """A binary tree of `add` nodes with so many leaves; also its size."""
    nodes = {f"l{i}": n("add", a=float(i), b=0.5) for i in range(leaves)}
    level = list(nodes)
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        level = [f"m{len(nodes) + at}" for at in range(len(pairs))]
        nodes |= {id: n("add", a=f"@{a}", b=f"@{b}") for id, (a, b) in zip(level, pairs, strict=True)}
    return workflow(level[0], **nodes), len(nodes)


@pytest.mark.slow
def test_one_changed_leaf_of_a_tree_of_8191_runs_13_nodes(lab: Lab) -> None:
    text, size = tree(4096)
    first = lab.run(text)
    assert len(first.ran) == size == 8191
    assert len(lab.run(changed(text, "l17", "a", 5000.0)).ran) == 13


def test_memory_of_one_home_is_not_another_s(open_lab: Callable[..., Lab], tmp_path: Path) -> None:
    with open_lab(clock=costly_clock()) as first:
        first.run(chain(2))
    with Lab(tmp_path / "elsewhere") as other:
        assert len(other.run(chain(2)).ran) == 2


def test_a_value_with_bytes_comes_back_equal_from_disk(open_lab: Callable[..., Lab]) -> None:
    text = workflow(["s", "t.tensor"], t=n("make_tensor", fill=3, size=100_000), s=n("tensor_sum", tensor="@t.tensor"))
    with open_lab(clock=costly_clock()) as first:
        expected = first.run(text).outputs
    again = open_lab().run(text)
    assert again.ran == []
    assert again.outputs["s"] == expected["s"] == 300_000
    assert again.outputs["t_tensor"].data == expected["t_tensor"].data


def test_only_the_last_result_missing_is_computed_from_the_nearest_value(open_lab: Callable[..., Lab]) -> None:
    """A lost result must not make everything above it run: the value just above is still there."""
    text = workflow(
        "s",
        t=n("make_tensor", fill=3),
        b=n("brighten", tensor="@t.tensor"),
        c=n("brighten", tensor="@b.tensor"),
        s=n("tensor_sum", tensor="@c.tensor"),
    )
    with open_lab(clock=costly_clock()) as first:
        assert first.run(text).ran == ["t", "b", "c", "s"]
        digests = {one.id: first.engine.memories.memo.find([bytes.fromhex(one.key)]) for one in first.run(text).result.nodes}
    (t,), (s,) = ([d for a in digests[id].values() for d in a.outputs] for id in ("t", "s"))
    with open_lab() as second:
        memo = second.engine.memories.memo
        memo.table.remove(b"v", [s])
        for path in (memo.store.folder / "objects").rglob(f"{t.hex()}*"):
            path.unlink()
        assert not memo.has_values([s, t])
        assert second.run(text).ran == ["s"]


def test_a_quick_run_of_a_node_type_does_not_hide_what_a_slow_one_left_on_disk(open_lab: Callable[..., Lab]) -> None:
    seconds, time = [0.1], [0.0]

    def clock() -> float:
        time[0] += seconds[0]
        return time[0]

    def text(top: float) -> str:
        return workflow(
            ["end", "x"], top=n("add", a=top), cut=n("floor", a="@top"), end=n("show", value="@cut"), x=n("show", value=top)
        )

    with open_lab(clock=clock, host_lanes=1) as first:
        first.run(text(1.25))
    with open_lab(clock=clock, host_lanes=1) as second:
        seconds[0] = 0.0
        second.run(workflow("q", q=n("show", value="quick")))
        assert "end" not in second.run(text(1.75)).ran
