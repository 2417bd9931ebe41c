"""`latentgraph reproduce`: render a saved picture again from what it carries, from nothing, and compare the pixels."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from json import dumps as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graph.compile import compile_document
from graph.document import Document, read_document
from graph.environment import library_versions
from graph.errors import LatentgraphError, Problem, WorkflowError, nearest
from graph.spec import MAX_SEED
from server.files import refuse_missing
from server.report import DONE, FAILED, print_data, print_json, tell
from server.run import EXIT, carry_out, open_engine
from server.settings import chosen_devices, unusable_home
from server.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np

    from graph.engine import Engine


class Saved(NamedTuple):
    """A saved picture: its pixels, the document that drew it, and of its run what is needed to draw it again.

    `node` is the node that saved it, `element` which of its executions (None if it had one alone); `versions` and
    `environment` are what it ran with, as far as it says.
    """

    pixels: np.ndarray[Any, Any]  # Any: (H, W, 3) int16
    document: Document
    node: str
    element: int | None
    seeds: Mapping[str, int]
    versions: Mapping[str, str]
    environment: str

    @property
    def target(self) -> str:
        """What the planner is asked for."""
        return self.node if self.element is None else f"{self.node}[{self.element}]"


class Difference(NamedTuple):
    """How two pictures differ. Counts are of pixels; `largest` is over all channels, 0..255."""

    pixels: int
    different_pixels: int
    largest: int
    sizes: tuple[tuple[int, int], tuple[int, int]]

    @property
    def is_none(self) -> bool:
        """Whether every pixel is the same."""
        return self.different_pixels == 0 and self.sizes[0] == self.sizes[1]


def reproduce(workspace: Workspace, image: Path, devices: str | None, json: bool) -> int:
    """Render `image` again and tell whether the pixels are identical; gives the exit code (0 identical, 1 not).

    Nothing remembered is used. Raises WorkflowError if the picture carries no workflow, or one that cannot run here.
    """
    names = chosen_devices(devices)
    saved = _read(image)
    changed = _changes(saved)
    with _fresh(workspace) as scratch, open_engine(scratch, names) as engine:
        if saved.environment != engine.environment and not changed:
            changed = [f"device: {saved.environment or 'unknown'} then, {engine.environment} now"]
        for change in changed:
            tell(change)
        output = scratch.home / "outputs"
        code = _render(engine, scratch, image, saved, output)
        if code != DONE:
            return code
        difference = _nearest(saved, output)
    _tell(image, difference, changed, json)
    return DONE if difference.is_none else FAILED


def _read(image: Path) -> Saved:
    """Read a picture and what it carries. Raises WorkflowError unless all of it has the form that `save_image` writes."""
    from nodes.save import read_png

    try:
        data = image.read_bytes()
        carried = read_png(data)
        run, workflow = carried["run"], carried["workflow"]
        if not workflow or not run:
            raise _refusal(image, f"carries no workflow; {_ADVICE} (other programs drop what it carries)")
        return Saved(_pixels(data), _document(image, workflow), *_run(run))
    except OSError as error:
        reason = error.strerror or error
        raise _refusal(image, f"cannot be read ({reason}); give the path of a PNG that Latentgraph saved") from None
    except ValueError as error:
        raise _refusal(image, f"cannot be read ({error}); {_ADVICE}") from None


_ADVICE = "give a PNG as Latentgraph saved it"


def _document(image: Path, workflow: dict[str, Any]) -> Document:  # Any: plain JSON
    """By way of text: the strict reader knows every way in which a stranger's JSON can be wrong."""
    try:
        text = json_text(workflow)
    except RecursionError:
        raise ValueError("its workflow is nested too deeply") from None
    return read_document(text, file=str(image))


def _run(run: Mapping[str, Any]) -> tuple[str, int | None, dict[str, int], dict[str, str], str]:  # Any: plain JSON
    """Node, element, seeds, versions and environment. Raises ValueError if one of them is not what it should be."""
    node, element, seeds, versions = run.get("node"), run.get("element"), run.get("seeds", {}), run.get("versions", {})
    if not isinstance(node, str) or not node:
        raise ValueError("its run does not say which node saved it")
    if element is not None and (type(element) is not int or element < 0):
        raise ValueError("its run says no number for the element that it is")
    if not isinstance(seeds, dict) or not all(type(seed) is int and 0 <= seed <= MAX_SEED for seed in seeds.values()):
        raise ValueError(f"its run has seeds that are not whole numbers from 0 to {MAX_SEED}")
    if not isinstance(versions, dict) or not all(isinstance(version, str) for version in versions.values()):
        raise ValueError("its run has versions that are no texts")
    return node, element, seeds, versions, str(run.get("environment", ""))


def _refusal(image: Path, message: str) -> WorkflowError:
    return WorkflowError([Problem("not_reproducible", f"{image} {message}.", file=str(image))])


def _changes(saved: Saved) -> list[str]:
    then, now = saved.versions, library_versions()
    return [f"{name}: {then.get(name, 'unknown')} then, {now[name]} now" for name in now if then.get(name) != now[name]]


@contextmanager
def _fresh(workspace: Workspace) -> Iterator[Workspace]:
    """A data folder that remembers nothing, with the models and files of the real one; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="latentgraph-reproduce-") as folder:
        home = Path(folder)
        for name in ("models", "files"):
            try:
                (workspace.home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise unusable_home(workspace.home, error) from error
            (home / name).symlink_to(workspace.home / name, target_is_directory=True)
        _ = workspace.catalogue  # made now if it is missing, so that the copy spares making it again
        for catalogue in workspace.home.glob("*catalogue.json"):
            shutil.copy(catalogue, home)
        yield Workspace(home, workspace.packs)


def _render(engine: Engine, scratch: Workspace, image: Path, saved: Saved, output: Path) -> int:
    compiled = compile_document(saved.document, scratch.registry.specs, file=str(image))
    index = compiled.index.get(saved.node)
    if index is None or not compiled.specs[index].effect:
        effects = [id for id, spec in zip(compiled.ids, compiled.specs, strict=True) if spec.effect]
        known = nearest(saved.node, effects)
        raise _refusal(image, f'says that "{saved.node}" saved it, which is no saving node of its workflow; {_ADVICE}.{known}')
    refuse_missing(compiled, scratch.home, (), str(image))
    result = carry_out(engine, engine.plan(compiled, targets=[saved.target], seeds=saved.seeds), output)
    for node in result.nodes:
        if node.state == "failed":
            tell(node.error)
    return EXIT[result.state]


def _nearest(saved: Saved, output: Path) -> Difference:
    """The difference to the picture that was made; of a batch, to the one that is most alike."""
    made = [_pixels(path.read_bytes()) for path in sorted(output.glob("*.png"))]
    if not made:
        raise LatentgraphError("the run saved no picture to compare with; look at the workflow with `latentgraph plan`")
    return min((_difference(saved.pixels, pixels) for pixels in made), key=lambda found: found.different_pixels)


def compare(first: bytes, second: bytes) -> Difference:
    """Compare two pictures by their RGB pixels. Raises ValueError if one is damaged."""
    return _difference(_pixels(first), _pixels(second))


def _pixels(data: bytes) -> np.ndarray[Any, Any]:  # Any: (H, W, 3) int16, so that differences have a sign
    import io

    import numpy as np
    from PIL import Image

    try:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int16)
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"its pixels are damaged: {error}") from error


def _difference(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> Difference:  # Any: as _pixels
    import numpy as np

    sizes = ((first.shape[1], first.shape[0]), (second.shape[1], second.shape[0]))
    count = sizes[0][0] * sizes[0][1]
    if sizes[0] != sizes[1]:
        return Difference(count, count, 255, sizes)
    apart = np.abs(first - second).max(axis=2)
    return Difference(count, int((apart > 0).sum()), int(apart.max()), sizes)


def _tell(image: Path, difference: Difference, changed: list[str], json: bool) -> None:
    state = "identical" if difference.is_none else "different"
    if json:
        print_json({"state": state, **difference._asdict(), "changed": changed})
    elif difference.is_none:
        print_data(f"{image}: identical, all {difference.pixels} pixels")
    elif difference.sizes[0] != difference.sizes[1]:
        (width, height), (new_width, new_height) = difference.sizes
        print_data(f"{image}: different, {width}x{height} pixels and rendered again {new_width}x{new_height}")
    else:
        print_data(
            f"{image}: different, {difference.different_pixels} of {difference.pixels} pixels, at most by {difference.largest} of 255"
        )
