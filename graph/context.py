"""What a node is given first: progress, cancellation, models, its place, and the record of the run it is part of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)

#: Makes an encoded preview (WebP bytes) when someone is looking; it is not called otherwise.
Preview = Callable[[], bytes]


@runtime_checkable
class Recipe(Protocol[M_co]):
    """A frozen description of a model part. `build` is called by a worker's pool only, never by a node.

    Typed by what it builds, so that `with ctx.borrow(denoiser) as net:` knows the live module's type.
    """

    @property
    def weights(self) -> str:
        """The identity of the weights (hex): what residency and sharing go by."""

    def build(self, device: str) -> M_co:
        """Build the live object whole, or raise; never a half-built one."""


class Context:
    """The first argument of every node. This base class is the one a plain call outside a graph gets.

    Workers use a subclass. Everything a node needs beside its inputs comes through here: no globals.
    """

    #: "cpu", "cpu:1", "cuda:0", ...: where this node runs; host nodes get "cpu".
    device: str = "cpu"
    #: Id of the node in its workflow (a path `upscale/sampler` in subgraphs); "" outside a run.
    node_id: str = ""
    #: Which element of a mapped node this is, or None.
    element: int | None = None
    #: Folder for outputs of effects, and the data folder.
    output_folder: Path = Path("outputs")
    home: Path = Path(".latentgraph")

    def progress(self, step: int, total: int, preview: Preview | None = None) -> None:
        """Tell that `step` of `total` steps are done. Raises `Cancelled` if the run was cancelled meanwhile."""

    def check_cancelled(self) -> None:
        """Raise `Cancelled` if the run was cancelled. Call it between pieces of work that have no step count."""

    def note(self, message: str) -> None:
        """Tell the user one sentence about this node's result ("computed 17 of 30 steps"); kept in the run's record."""

    @property
    def resolved(self) -> Mapping[str, Any]:  # Any: plain JSON
        """The record of the run for an effect that stores it: workflow, seeds, keys, versions. Empty outside a run."""
        return {}

    @property
    def job(self) -> str:
        """The id of the server's job that an effect runs in; "" on the command line and outside a run."""
        return str(self.resolved.get("job", ""))

    def borrow(self, recipe: Recipe[M]) -> AbstractContextManager[M]:
        """The live model part of `recipe` on this device, kept from eviction while the block runs."""
        return _built(recipe, self.device)


@contextmanager
def _built(recipe: Recipe[M], device: str) -> Iterator[M]:
    yield recipe.build(device)
