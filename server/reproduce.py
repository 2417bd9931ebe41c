"""`latentgraph reproduce`: render a saved picture again from what it carries, from nothing, and compare the pixels."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graph.compile import compile_document
from graph.document import document_from_json
from graph.environment import library_versions
from graph.errors import LatentgraphError, Problem, WorkflowError
from server.files import refuse_missing
from server.report import DONE, FAILED, print_data, print_json, tell
from server.run import EXIT, carry_out, open_engine
from server.workspace import Workspace

if TYPE_CHECKING:
    from graph.engine import Engine

Record = Mapping[str, Any]  # Any: plain JSON, as nodes.save wrote it


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
    data, record = _read(image)
    run = record["run"]
    changed = _changes(run)
    with _fresh(workspace) as scratch, open_engine(scratch, devices) as engine:
        if run.get("environment") != engine.environment and not changed:
            changed = [f"device: {run.get('environment', 'unknown')} then, {engine.environment} now"]
        for change in changed:
            tell(change)
        output = scratch.home / "outputs"
        code = _render(engine, scratch, image, record, output)
        if code != DONE:
            return code
        difference = _nearest(data, output, run.get("element"))
    _tell(image, difference, changed, json)
    return DONE if difference.is_none else FAILED


def _read(image: Path) -> tuple[bytes, Record]:
    from nodes.save import read_png

    try:
        data = image.read_bytes()
        record = read_png(data)
    except OSError as error:
        raise _refusal(image, f"cannot be read ({error.strerror}); give the path of a PNG that Latentgraph saved") from None
    except ValueError as error:
        raise _refusal(image, f"cannot be read ({error}); give a PNG that Latentgraph saved") from None
    if not record["workflow"] or not record["run"]:
        raise _refusal(image, "carries no workflow; give a PNG as Latentgraph saved it (other programs drop what it carries)")
    return data, record


def _refusal(image: Path, message: str) -> WorkflowError:
    return WorkflowError([Problem("not_reproducible", f"{image} {message}.", file=str(image))])


def _changes(run: Record) -> list[str]:
    then, now = run.get("versions", {}), library_versions()
    return [f"{name}: {then.get(name, 'unknown')} then, {now[name]} now" for name in now if then.get(name) != now[name]]


@contextmanager
def _fresh(workspace: Workspace) -> Iterator[Workspace]:
    """A data folder that remembers nothing, with the models and files of the real one; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="latentgraph-reproduce-") as folder:
        home = Path(folder)
        for name in ("models", "files"):
            (workspace.home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            (home / name).symlink_to(workspace.home / name, target_is_directory=True)
        _ = workspace.catalogue  # made now if it is missing, so that the copy spares making it again
        for catalogue in workspace.home.glob("*catalogue.json"):
            shutil.copy(catalogue, home)
        yield Workspace(home, workspace.packs)


def _render(engine: Engine, scratch: Workspace, image: Path, record: Record, output: Path) -> int:
    document = document_from_json(record["workflow"], file=str(image))
    compiled = compile_document(document, scratch.registry.specs, file=str(image))
    refuse_missing(compiled, scratch.home, (), str(image))
    plan = engine.plan(compiled, targets=[record["run"]["node"]], seeds=record["run"].get("seeds", {}))
    result = carry_out(engine, plan, output)
    for node in result.nodes:
        if node.state == "failed":
            tell(node.error)
    return EXIT[result.state]


def _nearest(data: bytes, output: Path, element: int | None) -> Difference:
    """The difference to the picture of the same element; of a batch, to the one that is most alike."""
    from nodes.save import read_png

    made = [path.read_bytes() for path in sorted(output.glob("*.png"))]
    same = [picture for picture in made if read_png(picture)["run"].get("element") == element]
    if not same:
        raise LatentgraphError("the run saved no picture to compare with; look at the workflow with `latentgraph plan`")
    return min((compare(data, picture) for picture in same), key=lambda found: found.different_pixels)


def compare(first: bytes, second: bytes) -> Difference:
    """Compare two pictures by their RGB pixels."""
    import io

    import numpy as np
    from PIL import Image

    pixels = [np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int16) for data in (first, second)]
    sizes = [(array.shape[1], array.shape[0]) for array in pixels]
    count = sizes[0][0] * sizes[0][1]
    if sizes[0] != sizes[1]:
        return Difference(count, count, 255, (sizes[0], sizes[1]))
    apart = np.abs(pixels[0] - pixels[1]).max(axis=2)
    return Difference(count, int((apart > 0).sum()), int(apart.max()), (sizes[0], sizes[1]))


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
