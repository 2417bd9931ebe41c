"""Every file in workflows/ is valid, canonical, and names everything a caller needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph.compile import compile_document
from graph.document import read_document, write_document
from graph.registry import Registry
from nodes.builtin import MODULES
from server.files import beside, refuse_missing

FOLDER = Path(__file__).parents[1] / "workflows"
FILES = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".schema.json"))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry.load(MODULES, packs=False)


def test_the_five_workflows_are_here() -> None:
    names = ["mini_image_to_image", "mini_inpaint", "mini_prompt_grid", "mini_text_to_image", "mini_two_devices"]
    assert [path.stem for path in FILES] == names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_valid_and_its_files_are_at_hand(path: Path, registry: Registry, tmp_path: Path) -> None:
    compiled = compile_document(read_document(path.read_bytes(), file=path.name), registry.specs, file=path.name)
    refuse_missing(compiled, tmp_path, beside(compiled, FOLDER), path.name)
    assert compiled.absent == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_written_canonically_under_its_own_name(path: Path) -> None:
    document = read_document(path.read_bytes())
    assert write_document(document) == path.read_text(encoding="utf-8")
    assert document.name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_has_a_picture_a_place_for_every_node_and_labels(path: Path) -> None:
    document = read_document(path.read_bytes())
    assert list(document.outputs) == ["image"]
    assert document.view["nodes"].keys() == document.nodes.keys()
    assert all(tied.label for tied in document.inputs.values())
    assert document.description.endswith(".")


def test_the_mask_beside_the_inpainting_is_the_right_half_of_a_picture_of_64_pixels() -> None:
    from PIL import Image

    drawn = Image.new("L", (64, 64), 0)
    drawn.paste(255, (32, 0, 64, 64))
    mask = Image.open(FOLDER / "mini_mask.png")
    assert (mask.mode, mask.size) == ("L", (64, 64))
    assert mask.tobytes() == drawn.tobytes()
