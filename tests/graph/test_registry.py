"""The registry: what is a node type, whose name wins, and what a pack may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest

from graph.context import Context
from graph.errors import DeclarationError
from graph.node import node
from graph.registry import Loading, Registry
from graph.spec import Doc
from graph.types import record

SEPIA = '''
from graph.context import Context
from graph.node import node

@node(title="Sepia", version=1)
def tone(ctx: Context, strength: float = 0.5) -> float:
    """Tone it."""
    return strength * 2
'''


@record("Colour")
@dataclass(frozen=True)
class Colour:
    red: float


@record("Shade")
@dataclass(frozen=True)
class Shade:
    grey: float


class Pair(NamedTuple):
    first: Annotated[Colour, Doc("The first.")]
    rest: list[Shade]


@node(title="Pick", version=3, was=("choose",))
def pick(ctx: Context, colour: Colour | None = None) -> Pair:
    return Pair(colour or Colour(1.0), [])


@node(title="Number", version=1, light=True)
def number(ctx: Context, value: int) -> int:
    return value


MakePack = Callable[..., Path]


@pytest.fixture
def make_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakePack:
    """Makes a distribution with a pack, as an installer would leave it, on the path."""

    def make(name: str, source: str, *, distribution: str = "", module: str = "") -> Path:
        distribution, module = distribution or f"{name}-nodes", module or f"{name}_pack_module"
        folder = tmp_path / distribution
        metadata = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[latentgraph.nodes]\n{name} = {module}\n")
        (folder / f"{module}.py").write_text(source)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    return make


def test_functions_become_node_types_with_their_code_digest() -> None:
    registry = Registry.of(pick, number)
    assert list(registry.specs) == ["number", "pick"]
    assert len(registry.specs["pick"].code) == 64
    assert registry.function("pick").call(Context(), Colour(0.5)) == Pair(Colour(0.5), [])


def test_wire_types_are_found_in_every_place_of_a_signature() -> None:
    registry = Registry.of(pick)
    assert {name: registry.wire_types[name].python for name in ("Colour", "Shade")} == {"Colour": Colour, "Shade": Shade}
    assert set(registry.wire_types) == {"Colour", "Shade", "int", "float", "text", "bool"}


def test_former_names_point_to_the_present_one() -> None:
    assert Registry.of(pick).former == {"choose": "pick"}


def test_an_unknown_type_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(DeclarationError, match=r'no node type numbr\. Did you mean "number"\?'):
        Registry.of(number).function("numbr")


def test_a_function_without_the_decorator_is_refused() -> None:
    with pytest.raises(DeclarationError, match="is not decorated with @node"):
        Registry.of(lambda ctx: 1)


def test_an_id_used_twice_is_refused_naming_both() -> None:
    @node(title="Number", version=1, id="number")
    def other(ctx: Context, value: int) -> int:
        return value

    with pytest.raises(DeclarationError, match=r"node id number \(\S+:other\) is taken by \S+:number; give one"):
        Registry.of(number, other)


def test_a_former_name_that_is_in_use_is_refused() -> None:
    @node(title="New", version=1, was=("number",))
    def newer(ctx: Context, value: int) -> int:
        return value

    with pytest.raises(DeclarationError, match=r"node id number .* is taken by"):
        Registry.of(number, newer)


def test_two_classes_under_one_wire_name_are_refused() -> None:
    @record("Colour")
    @dataclass(frozen=True)
    class Other:
        red: float

    with pytest.raises(DeclarationError, match=r"wire type Colour is declared by .*Colour and by .*Other; rename one"):
        Registry.of(pick, classes=[Other])


@pytest.mark.parametrize("id", ["Pick", "a/b", "1st", "a-b", ""])
def test_ids_that_are_no_names_are_refused(id: str) -> None:
    def tone(ctx: Context) -> int:
        return 1

    with pytest.raises(DeclarationError, match="is not lower case letters, digits and _"):
        Registry.of(node(title="Tone", version=1, id=id or "é")(tone))


def test_a_pack_gives_its_nodes_under_its_name(make_pack: MakePack) -> None:
    make_pack("sepia", SEPIA)
    registry = Registry.load([])
    assert list(registry.specs) == ["sepia/tone"]
    assert registry.function("sepia/tone").call(Context(), 2.0) == 4.0
    assert registry.packs["sepia"] == ("sepia", "sepia-nodes", "1.0", "sepia_pack_module")


@pytest.mark.spec("R-M08")
def test_packs_can_be_left_out(make_pack: MakePack) -> None:
    make_pack("sepia", SEPIA)
    assert dict(Registry.load([], packs=False).specs) == {}


@pytest.mark.spec("R-M08")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import missing_library_xyz", "ModuleNotFoundError: No module named 'missing_library_xyz'"),
        ("raise SystemExit('no')", "SystemExit: no"),
        ("def broken(:", "SyntaxError: "),
        ("x = 1", "has no function decorated with @node"),
        (SEPIA.replace('title="Sepia"', 'title=""'), "title is empty"),
        (SEPIA.replace("version=1", 'version=1, id="sepia/tone"'), "leave the pack's name out"),
        ("raise KeyError('no')", "KeyError: 'no'"),
        ("class Own(BaseException): pass\nraise Own('no')", "Own: no"),
        (SEPIA + SEPIA.replace("def tone", "def other").replace("version=1", 'version=1, id="tone"'), "node id bad/tone"),
        (
            "from dataclasses import dataclass\nfrom graph.types import record\n@record('Colour')\n@dataclass(frozen=True)\n"
            "class Mine:\n    red: float\n"
            + SEPIA.replace("strength: float = 0.5) -> float", "strength: Mine | None = None) -> float"),
            "wire type Colour is declared by",
        ),
    ],
)
def test_a_pack_that_fails_is_told_and_the_rest_works(make_pack: MakePack, source: str, reason: str) -> None:
    make_pack("sepia", SEPIA, module="sepia_that_works")
    make_pack("bad", source, module=f"bad_pack_{abs(hash(source))}")
    loading = Loading()
    loading.add_class(Colour)
    loading.add_packs()
    registry = loading.registry()
    assert list(registry.specs) == ["sepia/tone"]
    assert reason in registry.broken["bad"].reason


def test_a_second_pack_of_one_name_is_refused_naming_the_first(make_pack: MakePack) -> None:
    make_pack("sepia", SEPIA, distribution="a-first", module="sepia_first")
    make_pack("sepia", SEPIA, distribution="b-second", module="sepia_second")
    registry = Registry.load([])
    assert registry.packs["sepia"].distribution == "a-first"
    assert "taken by the pack of a-first 1.0" in registry.broken["sepia"].reason


def test_a_pack_node_that_imports_a_builtin_does_not_own_it(make_pack: MakePack) -> None:
    make_pack("sepia", SEPIA + "\nfrom tests.graph.test_registry import number\n", module="sepia_with_import")
    assert list(Registry.load([]).specs) == ["sepia/tone"]


@pytest.mark.spec("R-M08")
@pytest.mark.parametrize("name", ["number", "sharpen", "graph"])
def test_a_pack_cannot_take_the_place_of_a_builtin_node(make_pack: MakePack, name: str) -> None:
    """Its nodes stand under its own name, whatever they and it are called."""
    make_pack(name, SEPIA.replace("def tone", "def number"), module=f"pack_called_{name}")
    loading = Loading()
    loading.add_function(number)
    loading.add_packs()
    registry = loading.registry()
    assert list(registry.specs) == sorted(["number", f"{name}/number"])
    assert registry.function("number").call(Context(), 7) == 7


@pytest.mark.spec("R-M08")
@pytest.mark.parametrize("module", ["json", "os", "graph.node"])
def test_a_pack_that_names_a_module_of_the_library_gets_that_module_and_is_refused(make_pack: MakePack, module: str) -> None:
    make_pack("shadow", SEPIA, module=module.replace(".", "_dot_"))
    folder = make_pack("sneaky", SEPIA, distribution="sneaky-nodes", module="sneaky_pack")
    entry = next(folder.glob("*.dist-info")) / "entry_points.txt"
    entry.write_text(f"[latentgraph.nodes]\nsneaky = {module}\n")
    registry = Registry.load([])
    assert "sneaky/tone" not in registry.specs
    assert f"module {module} has no function decorated with @node" in registry.broken["sneaky"].reason
