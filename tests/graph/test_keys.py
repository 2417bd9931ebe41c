"""Memo soundness: what changes bytes changes the key, and what cannot change them does not."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from graph import environment, keys
from graph.blob import digest_of
from graph.context import Context
from graph.document import Node
from graph.node import node
from graph.registry import Registry
from graph.spec import Choice, File, NodeSpec, Range, Seed
from graph.types import encode, record
from graph.workers import Request
from tests.graph.engine_kit import Lab, Settings, Tensor, costly_clock, disk_cache, make_list, n, numbers, with_specs, workflow

# ---- the parts ----

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**53 - 1, 0.0, -0.0, 1.0, 1.5, "", "1", "a", "ä", b"", b"a", [], [1], [1.0], [True], ["1"],
    [1, 2], [2, 1], [[1], 2], [1, [2]], [[], []], [None], {"sha256": "0" * 64},
    {"file": "a", "sha256": "1" * 64},
    Settings("a"), Settings("b"), Settings("a", (1,)), Settings("a", (1, 2)), Tensor.of(1, 3), Tensor.of(1, 4), Tensor.of(2, 3),
]  # fmt: skip


@pytest.mark.spec("O", "R-K04")
def test_different_values_have_different_tokens() -> None:
    tokens = [keys.token(value) for value in VALUES]
    assert [(VALUES[a], VALUES[b]) for a, b in itertools.combinations(range(len(VALUES)), 2) if tokens[a] == tokens[b]] == []
    assert tokens == [keys.token(value) for value in VALUES]


def test_no_two_lists_of_tokens_run_into_one_another() -> None:
    """Tokens are joined without a separator, so none may be the beginning of another."""
    tokens = [keys.token(value) for value in VALUES]
    for one, two in itertools.permutations(tokens, 2):
        assert not two.startswith(one)


def test_unknown_kinds_are_refused_and_not_guessed() -> None:
    for value in (object(), {1, 2}, 1j, [object()], range(3)):
        with pytest.raises(TypeError):
            keys.token(value)


def test_a_tuple_is_the_list_it_holds() -> None:
    assert keys.token((1, "a")) == keys.token([1, "a"])


def test_a_file_is_what_it_holds_wherever_it_lies() -> None:
    one, two = ({"file": name, "sha256": "ab" * 32} for name in ("a.png", "elsewhere/b.png"))
    assert keys.token(one) == keys.token(two) == keys.token({"sha256": "ab" * 32})
    assert keys.token(one) != keys.token({**one, "sha256": "cd" * 32})


@record("Located", recipe=True)
@dataclass(frozen=True)
class Located:
    weights: str
    folder: str = field(default="", metadata={"key": False})


def test_where_a_recipe_s_files_lie_is_no_part_of_its_key() -> None:
    assert keys.token(Located("w", "/a")) == keys.token(Located("w", "/b")) != keys.token(Located("v", "/a"))


def skeleton(*constants: tuple[str, Any], holes: tuple[tuple[str, int | None], ...] = (), prefix: bytes = b"p") -> bytes:
    return keys.skeleton_of(prefix, [(name, keys.token(value)) for name, value in constants], holes)


@pytest.mark.spec("O", "R-K04")
def test_ports_values_and_holes_cannot_be_taken_for_one_another() -> None:
    several = [
        skeleton(),
        skeleton(prefix=b"q"),
        skeleton(("a", 1)),
        skeleton(("b", 1)),
        skeleton(("a", 1), ("b", 2)),
        skeleton(("a", 2), ("b", 1)),
        skeleton(("a", [1]), ("b", 2)),
        skeleton(("a", None)),
        skeleton(holes=(("a", None),)),
        skeleton(holes=(("a", 0),)),
        skeleton(holes=(("a", 0), ("a", 1))),
        skeleton(holes=(("a", None), ("b", None))),
        skeleton(holes=(("ab", None),)),
        skeleton(("a", None), holes=(("a", 0),)),
    ]
    assert len(set(several)) == len(several)


def test_a_structural_key_names_the_output_it_reads_and_is_never_a_content_key() -> None:
    up, down = b"u" * 32, b"d" * 32
    several = [
        keys.structural_key(up, [(down, 0)]),
        keys.structural_key(up, [(down, 1)]),
        keys.structural_key(up, [(down, 0), (down, 0)]),
        keys.structural_key(up, []),
        keys.content_key(up, [down]),
        keys.content_key(up, [down, down]),
        keys.content_key(up, []),
        keys.content_key(down, [up]),
    ]
    assert len(set(several)) == len(several)


# ---- a tiny graph, every control of which is changed ----


@node(title="Paint", version=1)
def paint(
    ctx: Context,
    fill: int,
    size: Annotated[int, Range(1, 100)] = 4,
    gain: float = 1.0,
    invert: bool = False,
    mode: Annotated[str, Choice(("flat", "ramp"))] = "flat",
    order: Literal["up", "down"] = "up",
    seed: Annotated[int, Seed()] = 0,
    name: str = "",
    settings: Settings | None = None,
    weights: list[float] = [1.0],
    picture: Annotated[str | None, File(("image",))] = None,
) -> Tensor:
    """Bytes that depend on every one of its inputs."""
    given: Any = picture
    parts = [fill, gain, invert, mode, order, seed, name, settings, weights, given and given["sha256"]]
    ramp = repr(parts).encode()
    return Tensor(bytearray(ramp[at % len(ramp)] for at in range(size * 100)), [0])


@node(title="Finish", version=1, place="device", output="tensor")
def finish(ctx: Context, tensor: Tensor, other: Tensor | None = None, by: int = 0) -> Tensor:
    second = bytes(other.data) if other is not None else b""
    return Tensor(bytearray((byte + by) % 256 for byte in bytes(tensor.data) + second), [0])


@node(title="Settings", version=1, light=True, output="settings")
def make_settings(ctx: Context, name: str, size: int = 1) -> Settings:
    return Settings(name, (size,))


LIBRARY = Registry.of(paint, finish, make_settings, make_list, numbers)

BASE: dict[str, Any] = {
    "format": "latentgraph/workflow",
    "version": "1.0",
    "name": "tiny",
    "nodes": {
        "p": n("paint", fill=1, settings="@s.settings"),
        "q": n("paint", fill=2),
        "s": n("make_settings", name="x"),
        "f": n("finish", tensor="@p", other="@q"),
    },
    "outputs": {"r": {"from": "f.tensor"}},
}


def edited(*path_and_value: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(BASE))
    *path, value = path_and_value
    at = document
    for step in path[:-1]:
        at = at.setdefault(step, {})
    if value is DELETED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


DELETED = object()
A_FILE = {"file": "a.png", "sha256": "ab" * 32}


def literal(port: str, value: Any) -> dict[str, Any]:
    return edited("nodes", "p", "inputs", port, value)


CONTROLS: dict[str, dict[str, Any]] = {
    "fill": literal("fill", 3),
    "size": literal("size", 5),
    "gain": literal("gain", 1.0000001),
    "gain minus zero": literal("gain", -0.0),
    "invert": literal("invert", True),
    "mode": literal("mode", "ramp"),
    "order": literal("order", "down"),
    "seed": literal("seed", 2**53 - 1),
    "name": literal("name", "1"),
    "weights": literal("weights", [1.0, 1.0]),
    "weights nested order": literal("weights", [0.5, 1.0]),
    "picture": literal("picture", A_FILE),
    "another picture": literal("picture", {**A_FILE, "sha256": "cd" * 32}),
    "settings gone": literal("settings", DELETED),
    "a light node's input": edited("nodes", "s", "inputs", "name", "y"),
    "a light node's other input": edited("nodes", "s", "inputs", "size", 2),
    "the second branch": edited("nodes", "q", "inputs", "fill", 9),
    "by": edited("nodes", "f", "inputs", "by", 1),
    "swapped links": edited("nodes", "f", "inputs", {"tensor": {"link": "q.value"}, "other": {"link": "p.value"}}),
    "one link less": edited("nodes", "f", "inputs", {"tensor": {"link": "p.value"}}),
    "the same link twice": edited("nodes", "f", "inputs", {"tensor": {"link": "p.value"}, "other": {"link": "p.value"}}),
    "a muted branch": edited("nodes", "q", "state", "muted"),
    "a bypassed end": edited("nodes", "f", "state", "bypassed"),
}

NEUTRAL: dict[str, dict[str, Any]] = {
    "view": edited("view", {"nodes": {"p": {"x": 7, "y": 9, "color": "#f00"}}, "frames": [], "notes": []}),
    "title": edited("name", "another name"),
    "description": edited("description", "words"),
    "a named input": edited("inputs", {"fill": {"to": ["p.fill"], "label": "Fill"}}),
    "a default said": literal("gain", 1.0),
    "an int for a float": literal("gain", 1),
    "order of nodes": {**BASE, "nodes": dict(reversed(BASE["nodes"].items()))},
    "order of inputs": edited("nodes", "f", "inputs", {"other": {"link": "q.value"}, "tensor": {"link": "p.value"}}),
    "a muted bystander": edited("nodes", "z", {**n("paint", fill=77), "state": "muted"}),
}


def renamed_ids() -> dict[str, Any]:
    text = json.dumps(BASE)
    for id in "pqsf":
        text = text.replace(f'"{id}":', f'"long_{id}":').replace(f'"{id}.', f'"long_{id}.')
    return json.loads(text)  # type: ignore[no-any-return]


NEUTRAL["ids"] = renamed_ids()


class Prober:
    """Key and bytes of the tiny graph's output under some engine. Bytes are computed afresh each time."""

    def __init__(self, folder: Path) -> None:
        self.homes = (folder / str(at) for at in itertools.count())
        self.known: dict[str, tuple[str, bytes]] = {}

    def __call__(self, document: dict[str, Any], library: Registry = LIBRARY, **options: Any) -> tuple[str, bytes]:
        text = json.dumps(document)
        if library is LIBRARY and not options and text in self.known:
            return self.known[text]
        with Lab(next(self.homes), library, **({"device_class": "one"} | options)) as lab:
            outcome = lab.run(text)
            assert outcome.state == "done", [one.error for one in outcome.result.nodes]
            plan = lab.engine.plan(lab.engine.load(text))
            (root,) = plan.roots.tasks
            key = plan.tasks.structural[root]
            assert key is not None
            found = key.hex(), digest_of(encode(outcome.output))
            if library is LIBRARY and not options:
                self.known[text] = found
            return found


@pytest.fixture
def probe(tmp_path: Path) -> Prober:
    return Prober(tmp_path)


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Prober:
    """Each document once, on a home of its own."""
    return Prober(tmp_path_factory.mktemp("cold"))


@pytest.fixture(scope="module")
def base(cold: Prober) -> tuple[str, bytes]:
    return cold(BASE)


@pytest.mark.spec("O", "R-K04")
@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_that_changes_bytes_changes_the_key(cold: Prober, base: tuple[str, bytes], name: str) -> None:
    key, content = cold(CONTROLS[name])
    assert content != base[1]  # else the control would be no control
    assert key != base[0]


@pytest.mark.spec("O", "R-K04")
@pytest.mark.parametrize("name", NEUTRAL)
def test_what_is_only_looks_changes_neither_key_nor_bytes(cold: Prober, base: tuple[str, bytes], name: str) -> None:
    assert cold(NEUTRAL[name]) == base


@pytest.mark.spec("O", "R-K04")
def test_what_a_file_is_called_changes_neither_key_nor_bytes(probe: Prober) -> None:
    assert probe(literal("picture", A_FILE)) == probe(literal("picture", {**A_FILE, "file": "b.png"}))


@pytest.mark.spec("O", "R-K04")
@pytest.mark.proves(9)
def test_one_memo_for_all_variants_gives_each_its_own_bytes(home: Path, cold: Prober) -> None:
    """Equal keys mean equal bytes, whatever was remembered before."""
    with Lab(home, LIBRARY, device_class="one") as lab:
        for document in [*CONTROLS.values(), BASE, *NEUTRAL.values()]:
            outcome = lab.run(json.dumps(document))
            assert digest_of(encode(outcome.output)) == cold(document)[1]
    found = {cold(document)[0] for document in CONTROLS.values()}
    assert len(found) == len(CONTROLS) - 1  # "one link less" is what "a muted branch" leaves


@pytest.fixture
def new_diffusers(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = environment.library_versions() | {"diffusers": "99.0"}
    monkeypatch.setattr(environment, "library_versions", lambda: versions)


@pytest.mark.spec("O", "R-K04")
@pytest.mark.parametrize(
    ("library", "options"),
    [
        (with_specs(LIBRARY, code="edited"), {}),
        (with_specs(LIBRARY, version=2), {}),
        (LIBRARY, {"device_class": "two"}),
    ],
)
def test_what_computes_it_is_part_of_the_key(
    probe: Prober, base: tuple[str, bytes], library: Registry, options: dict[str, Any]
) -> None:
    assert probe(BASE, library, **options)[0] != base[0]


@pytest.mark.spec("O", "R-K04")
def test_library_versions_are_part_of_the_key(probe: Prober, base: tuple[str, bytes], new_diffusers: None) -> None:
    assert probe(BASE)[0] != base[0]


@pytest.mark.spec("O", "R-K04")
@pytest.mark.parametrize(
    "options",
    [{"devices": ("cpu:5",)}, {"devices": ("other",)}, {"host_lanes": 5}, {"clock": costly_clock()}, {"workers": "thread"}],
)
def test_how_it_is_computed_is_not(probe: Prober, base: tuple[str, bytes], options: dict[str, Any]) -> None:
    assert probe(BASE, **options) == base


@pytest.mark.spec("O", "R-K04")
def test_priority_client_output_folder_and_previews_are_not(home: Path, tmp_path: Path, base: tuple[str, bytes]) -> None:
    with Lab(home, LIBRARY, device_class="one") as lab:
        lab.run(json.dumps(BASE))
        compiled = lab.engine.load(json.dumps(BASE))
        handle = lab.engine.start(lab.engine.plan(compiled), output_folder=tmp_path / "out", priority=7, client="someone")
        handle.watch_previews()
        result = handle.wait(20)
    assert result is not None
    assert {one.state for one in result.nodes if one.type != "make_settings"} == {"cached"}
    assert digest_of(encode(result.outputs["r"])) == base[1]


@pytest.mark.spec("O", "R-K04")
def test_an_undrawn_seed_has_no_key_and_a_drawn_one_is_a_literal(home: Path) -> None:
    text = json.dumps(literal("seed", {"random": True}))
    with Lab(home, LIBRARY) as lab:
        compiled = lab.engine.load(text)
        undrawn, seven = lab.engine.plan(compiled), lab.engine.plan(compiled, seeds={"p.seed": 7})
        fixed = lab.engine.plan(lab.engine.load(json.dumps(literal("seed", 7))))
    assert undrawn.tasks.structural[-1] is None
    assert seven.tasks.structural == fixed.tasks.structural


def test_an_element_has_the_key_of_the_same_work_alone(home: Path) -> None:
    @node(title="Tint", version=1)
    def tint(ctx: Context, a: float) -> float:
        return a

    with Lab(home, Registry.of(tint, numbers)) as lab:
        lab.run(workflow("t", r=n("numbers", n=3), t=n("tint", a="@r")))
        assert lab.run(workflow("t", t=n("tint", a=2.0))).states == {"t": "cached"}


def test_the_declared_key_knows_declared_versions_only(open_lab: Callable[..., Lab]) -> None:
    library = Registry.of(paint, finish, disk_cache)
    text = workflow({"r": "d.value"}, p=n("paint", fill=1), f=n("finish", tensor="@p"), d=n("disk_cache", value="@f.tensor"))

    def declared(library: Registry, **options: Any) -> bytes:
        lab = open_lab(library, **options)
        (key,) = lab.engine.plan(lab.engine.load(text)).tasks.declared.values()
        return key

    first = declared(library, device_class="one")
    assert declared(with_specs(library, code="edited"), device_class="two") == first
    assert declared(with_specs(library, version=2), device_class="one") != first


#: Every field of what makes a task, and how it comes into the key. A new field has to be put here, after thought.
CLASSIFIED = {
    "node type": (
        NodeSpec,
        {
            "id": "key", "version": "key", "code": "key",
            "inputs": "their values, and the code that names them", "outputs": "the code; which output is read stands in the key of the reader",
            "place": "whether the environment counts", "borrows": "whether the environment counts",
            "light": "the code", "effect": "never remembered", "cache": "never remembered", "persist": "the declared key",
            "resolves": "what it resolves is a value", "devices": "how many at once, not what comes out",
            "title": "looks", "doc": "looks", "category": "looks", "entry": "where the code lies", "was": "former names", "_ports": "inputs again",
        },
    ),
    "node of a document": (
        Node,
        {
            "type": "key", "inputs": "key", "type_version": "a wish, checked before", "state": "changes the graph", "extra": "looks",
        },
    ),
    "call": (
        Request,
        {
            "spec": "key", "inputs": "key", "node_id": "for messages", "element": "its values are in the key", "home": "where files lie",
            "output_folder": "read by effects", "resolved": "read by effects only (WorkerContext)",
        },
    ),
}  # fmt: skip


@pytest.mark.spec("R-K04")
@pytest.mark.proves(9)
@pytest.mark.parametrize("name", CLASSIFIED)
def test_every_field_is_known_to_be_in_the_key_or_not(name: str) -> None:
    kind, fields = CLASSIFIED[name]
    found = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else list(kind._fields)
    assert set(found) == fields.keys()
