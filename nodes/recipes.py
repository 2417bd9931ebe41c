"""Recipes: frozen descriptions of model parts. They travel on wires and into keys; a worker builds the live part.

A recipe says what numbers will come out (weights identity, dtype, family) and, outside of keys and comparison, where
the files lie. It imports neither torch nor the model libraries; `build` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graph.errors import Refused
from graph.types import record
from nodes.configs import config_identity, read_config, short
from nodes.libraries import import_diffusers, import_transformers
from nodes.vocabulary import check_vocabulary, tokenizer_identity
from nodes.weights import part_identity, weights_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Dtype = Literal["float32", "bfloat16", "float16"]


def location(default: Any = "") -> Any:  # Any: stands for the annotated field type, as dataclasses.field does
    """A field that says where something lies or what was advised: it travels, but enters neither key nor comparison."""
    return field(default=default, compare=False, metadata={"key": False})


@record("Tokenizer", recipe=True)
@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A tokenizer of the transformers library. `weights` is the identity of its files."""

    family: str
    weights: str
    folder: str = location()
    nbytes: int = location(0)

    def build(self, device: str) -> PreTrainedTokenizerBase:
        """Load it on the host; `device` is ignored. Raises `Refused` if its files are not those that were planned with."""
        import_transformers()
        from transformers import AutoTokenizer

        folder = Path(self.folder)
        _refuse_other(self, tokenizer_identity(folder))
        check_vocabulary(folder)
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            self.folder, local_files_only=True, trust_remote_code=False
        )
        return tokenizer


@record("Scheduler", recipe=True)
@dataclass(frozen=True, slots=True)
class Scheduler:
    """A noise schedule. `weights` is the identity of its configuration. It is built anew for every run: it has state."""

    family: str
    weights: str
    folder: str = location()
    nbytes: int = location(0)

    def build(self, device: str) -> Any:  # Any: diffusers types its classes in part only
        """Load it on the host; `device` is ignored. Raises `Refused` if its file is not the one that was planned with."""
        from nodes.families import family

        import_diffusers()
        _refuse_other(self, config_identity(read_config(Path(self.folder) / "scheduler_config.json")))
        return family(self.family).load("scheduler", Path(self.folder), None)


@record("TextEncoder", device_recipe=True)
@dataclass(frozen=True, slots=True)
class TextEncoder:
    """A text encoder."""

    family: str
    weights: str
    dtype: Dtype
    folder: str = location()
    nbytes: int = location(0)

    def build(self, device: str) -> PreTrainedModel:
        """Load it onto `device`, in evaluation mode."""
        model: PreTrainedModel = _loaded(self, "text_encoder", device)
        return model


@record("Denoiser", device_recipe=True)
@dataclass(frozen=True, slots=True)
class Denoiser:
    """The model that predicts what to remove from noisy latents.

    `steps` and `guidance` are what its makers advise; `max_side` (pixels) and `max_text` (tokens) are what its
    position table reaches. They do not enter keys: the values used do.
    """

    family: str
    weights: str
    dtype: Dtype
    folder: str = location()
    nbytes: int = location(0)
    steps: int = location(20)
    guidance: float = location(4.0)
    max_side: int = location(2048)
    max_text: int = location(512)

    def build(self, device: str) -> Any:  # Any: diffusers types its classes in part only
        """Load it onto `device`, in evaluation mode."""
        return _loaded(self, "denoiser", device)


@record("Vae", device_recipe=True)
@dataclass(frozen=True, slots=True)
class Vae:
    """The autoencoder between pictures and latents."""

    family: str
    weights: str
    dtype: Dtype
    folder: str = location()
    nbytes: int = location(0)

    def build(self, device: str) -> Any:  # Any: diffusers types its classes in part only
        """Load it onto `device`, in evaluation mode."""
        return _loaded(self, "vae", device)


def _loaded(recipe: TextEncoder | Denoiser | Vae, role: str, device: str) -> Any:  # Any: each role has its own class
    """The live part. Raises `Refused` if the files are not, before and after, those that the recipe was made from.

    A memory of what a recipe gave would else answer for other weights; and a file cut short under the library's mapping
    ends the process with a signal, which only the time between the two looks is left for.
    """
    import torch

    from nodes.families import family
    from nodes.quiet import quiet_libraries
    from nodes.tensors import torch_device

    adapter, folder = family(recipe.family), Path(recipe.folder)
    _refuse_other(recipe, _identity_now(folder, adapter.components[role].stem))
    with quiet_libraries():
        model = adapter.load(role, folder, getattr(torch, recipe.dtype))
    _refuse_other(recipe, _identity_now(folder, adapter.components[role].stem))
    return model.to(torch_device(device)).eval()


def _identity_now(folder: Path, stem: str) -> str:
    return part_identity(read_config(folder / "config.json"), weights_of(folder, stem))


def _refuse_other(recipe: Tokenizer | Scheduler | TextEncoder | Denoiser | Vae, found: str) -> None:
    if found != recipe.weights:
        text = f"the files of {short(Path(recipe.folder))} changed after this run was planned"
        raise Refused(f"{text}; run again to use them as they are now", code="changed_file")
