"""What an adapter says about its family. See design section 7; `zimage` is the example to copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import torch

    from nodes.recipes import Denoiser
    from nodes.values import EmbeddedText, Mask


class Component(NamedTuple):
    """A part of a pipeline folder: its subfolder, the weight files' stem ("" for none), the classes it may be.

    `extra` names tensors that its files may hold and that the model made from them has no use for.
    """

    subfolder: str
    stem: str
    classes: tuple[str, ...]
    extra: tuple[str, ...] = ()


class Bounds(NamedTuple):
    """What a family accepts: sides in pixels (a multiple of `multiple` from `low` to `high`), steps, tokens of text."""

    multiple: int
    low: int
    high: int
    steps: int
    text: int


class Defaults(NamedTuple):
    """What a family's makers advise; `inpaint_strength` is the strength where a mask says what to change."""

    steps: int
    guidance: float
    strength: float
    inpaint_strength: float


class Schedule(NamedTuple):
    """A schedule ready to run: the library's scheduler, set up for this run, and the timesteps it will walk."""

    scheduler: Any  # Any: the library's schedulers share no typed base
    timesteps: torch.Tensor
    #: How many of the full schedule's steps were left out at the start (image to image).
    skipped: int


@dataclass(frozen=True, slots=True)
class Stack:
    """A denoiser call cut open around its blocks, so that a step cache can leave some out.

    `streams` are what enters the first block (image tokens somewhere in the first one); each block maps streams to
    streams; `finish` turns the last block's streams into what the denoiser's own call returns. `image` gives the
    image tokens of streams, (B, N, D): changes are measured on them.
    """

    streams: tuple[torch.Tensor, ...]
    blocks: Sequence[Callable[[tuple[torch.Tensor, ...]], tuple[torch.Tensor, ...]]]
    image: Callable[[tuple[torch.Tensor, ...]], torch.Tensor]
    finish: Callable[[tuple[torch.Tensor, ...]], list[torch.Tensor]]


class Conditioning(NamedTuple):
    """Text as the denoiser takes it: for each picture (L, D), real tokens only; `negative` is None without guidance."""

    positive: list[torch.Tensor]
    negative: list[torch.Tensor] | None


#: One denoiser call: (branch name, latents per picture, timestep (B,), captions) -> prediction per picture.
Forward = Callable[[str, "list[torch.Tensor]", "torch.Tensor", "list[torch.Tensor]"], "list[torch.Tensor]"]


class Family(Protocol):
    """A model family's conventions. Live parts (Any) are the library's own objects, built by `load`."""

    @property
    def name(self) -> str:
        """How recipes, values and messages call it."""

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The library's pipeline classes whose folders it reads."""

    @property
    def components(self) -> Mapping[str, Component]:
        """The parts of a pipeline folder by role: tokenizer, text_encoder, denoiser, vae, scheduler."""

    @property
    def bounds(self) -> Bounds:
        """What it accepts."""

    @property
    def prunable(self) -> bool:
        """Whether padding of the text may be removed without changing the picture (spec A5)."""

    def defaults(self, name: str) -> Defaults:
        """What is advised for the model of this name."""

    def check(self, configs: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise `Refused` if the parts do not fit together, from their configurations by role."""

    def reach(self, config: Mapping[str, Any]) -> tuple[int, int]:
        """The largest side in pixels and the longest text in tokens that a denoiser of this configuration can place."""

    def load(self, role: str, folder: Path, dtype: torch.dtype | None) -> Any:
        """Load a part from its folder as the library's own pipeline would."""

    def tokenize(self, tokenizer: Any, text: str) -> tuple[torch.Tensor, torch.Tensor, bool]:
        """Ids and mask (1, L), and whether the text was too long and lost its end."""

    def encode(self, encoder: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Hidden states (B, L, D) of tokens (B, L)."""

    def condition(self, text: EmbeddedText, denoiser: Denoiser, device: str) -> torch.Tensor:
        """What the denoiser is given for a text, whole or pruned alike."""

    def noise_shape(self, net: Any, width: int, height: int) -> tuple[int, int, int, int]:
        """(1, C, h, w) of the latents for a picture of this size."""

    def inpaint_mask(self, mask: Mask, width: int, height: int, shape: tuple[int, ...]) -> torch.Tensor:
        """A mask of one picture for latents of this shape, on the host: (1, 1, h, w), 1 where they are drawn anew, else 0."""

    def left_out(self, steps: int, strength: float) -> int:
        """How many of `steps` are left out at the start to change a picture by `strength` (0..1)."""

    def schedule(self, scheduler: Any, steps: int, shape: tuple[int, ...], strength: float, device: str) -> Schedule:
        """Set a scheduler of this run up for `steps` steps, of which the last `strength` part is walked."""

    def predict(
        self, net: Any, latents: torch.Tensor, timestep: torch.Tensor, text: Conditioning, guidance: float, forward: Forward,
        split_branches: bool,
    ) -> torch.Tensor:  # fmt: skip
        """What the scheduler's step takes, guided; `forward` is called for one batch, or per branch."""

    def open_stack(self, net: Any, latents: list[torch.Tensor], timestep: torch.Tensor, captions: list[torch.Tensor]) -> Stack:
        """A denoiser call cut open around its blocks."""

    def from_latents(self, vae: Any, samples: torch.Tensor) -> torch.Tensor:
        """Latents in the scale and dtype that the VAE decodes."""

    def to_pixels(self, decoded: torch.Tensor) -> torch.Tensor:
        """Decoded pictures as (B, 3, H, W), float32, 0..1."""

    def to_vae_input(self, vae: Any, pixels: torch.Tensor) -> torch.Tensor:
        """Pictures (B, 3, H, W), 0..1, as the VAE encodes them."""
