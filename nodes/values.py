"""What travels on the wires of a diffusion workflow: pictures, masks, latents, tokens and text embeddings.

Values are frozen. They import without torch; their tensors are `WireTensor`s, which may still be stored bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self, cast

from graph.types import Packed, Plain, TensorBytes, wire
from nodes.tensors import WireTensor


class _Tensors:
    """The parts of `graph.types.WireValue` that follow from a value's tensors."""

    __slots__ = ()

    def tensors(self) -> dict[str, WireTensor]:
        """The value's tensors by name, in a fixed order."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.nbytes for tensor in self.tensors().values())

    @property
    def version(self) -> int:
        """Sum of torch's write counters; grows when any tensor is written to."""
        return sum(tensor.version for tensor in self.tensors().values())

    def _pack(self, name: str, fields: dict[str, Plain]) -> Packed:
        return Packed(name, fields, {key: tensor.bytes() for key, tensor in self.tensors().items()})


_FLOATS: Final = ("F64", "F32", "F16", "BF16")


def _demand(what: str, tensor: WireTensor | None, shape: tuple[int | None, ...], dtypes: tuple[str, ...] = ("F32",)) -> None:
    """Raise TypeError unless a tensor has these sides (None: any) and one of these dtypes.

    Looked at where a value is made, so that the node which made it is told, and not one three nodes on.
    """
    if tensor is None:
        return
    sides = tensor.shape
    fits = len(sides) == len(shape) and all(wanted in (None, found) for wanted, found in zip(shape, sides, strict=True))
    if not fits or tensor.dtype not in dtypes:
        asked = ", ".join("any" if side is None else str(side) for side in shape)
        raise TypeError(f"{what} is {tensor.dtype} {sides}; it has to be {' or '.join(dtypes)} ({asked}). Give it that")


def _moved(tensors: Iterable[WireTensor], device: str) -> list[WireTensor] | None:
    """The tensors on `device`, or None if all are there already."""
    before = list(tensors)
    after = [tensor.to(device) for tensor in before]
    return None if all(a is b for a, b in zip(after, before, strict=True)) else after


@wire("Image")
@dataclass(frozen=True, eq=False, slots=True)
class Image(_Tensors):
    """Pictures: (B, 3, H, W), float32, 0..1."""

    pixels: WireTensor

    def __post_init__(self) -> None:
        _demand("Image.pixels", self.pixels, (None, 3, None, None))

    @property
    def width(self) -> int:
        """Pixels across."""
        return self.pixels.shape[3]

    @property
    def height(self) -> int:
        """Pixels down."""
        return self.pixels.shape[2]

    def tensors(self) -> dict[str, WireTensor]:
        """The pixels."""
        return {"pixels": self.pixels}

    def write(self) -> Packed:
        """Take apart for the store."""
        return self._pack("Image", {})

    @classmethod
    def read(cls, packed: Packed) -> Self:
        """Build from what `write` gave."""
        return cls(WireTensor.stored(packed.tensors["pixels"]))

    def to(self, device: str) -> Self:
        """The same on `device`."""
        moved = self.pixels.to(device)
        return self if moved is self.pixels else type(self)(moved)


@wire("Mask")
@dataclass(frozen=True, eq=False, slots=True)
class Mask(_Tensors):
    """Masks: (B, 1, H, W), float32, 0..1; 1 is where something is to happen."""

    values: WireTensor

    def __post_init__(self) -> None:
        _demand("Mask.values", self.values, (None, 1, None, None))

    @property
    def width(self) -> int:
        """Pixels across."""
        return self.values.shape[3]

    @property
    def height(self) -> int:
        """Pixels down."""
        return self.values.shape[2]

    def tensors(self) -> dict[str, WireTensor]:
        """The mask's values."""
        return {"values": self.values}

    def write(self) -> Packed:
        """Take apart for the store."""
        return self._pack("Mask", {})

    @classmethod
    def read(cls, packed: Packed) -> Self:
        """Build from what `write` gave."""
        return cls(WireTensor.stored(packed.tensors["values"]))

    def to(self, device: str) -> Self:
        """The same on `device`."""
        moved = self.values.to(device)
        return self if moved is self.values else type(self)(moved)


@dataclass(frozen=True, eq=False, slots=True)
class Posterior:
    """An encoded picture before its random draw: mean and deviation (B, C, h, w) in the VAE's own scale.

    The draw belongs to `denoise`, which has the seed: the reference draws it and the noise from one generator.
    A draw z becomes latents as (z - shift) * scale, in this order of operations.
    """

    mean: WireTensor
    std: WireTensor
    shift: float
    scale: float

    def __post_init__(self) -> None:
        _demand("Posterior.mean", self.mean, (None, None, None, None), _FLOATS)
        _demand("Posterior.std", self.std, (None, None, None, None), _FLOATS)


@wire("Latents")
@dataclass(frozen=True, eq=False, slots=True)
class Latents(_Tensors):
    """A picture in latent space, or the empty place for one.

    Exactly one of three: empty (a size in pixels only, from `empty_latents`), `samples` (B, C, h, w), float32, in the
    denoiser's scale (from `denoise`), or a `posterior` (from `encode_image`). `family` is "" while empty.
    """

    width: int
    height: int
    family: str = ""
    samples: WireTensor | None = None
    posterior: Posterior | None = None

    def __post_init__(self) -> None:
        _demand("Latents.samples", self.samples, (None, None, None, None))

    @property
    def is_empty(self) -> bool:
        """Whether this is only a size."""
        return self.samples is None and self.posterior is None

    def tensors(self) -> dict[str, WireTensor]:
        """The tensors there are."""
        if self.posterior is not None:
            return {"mean": self.posterior.mean, "std": self.posterior.std}
        return {} if self.samples is None else {"samples": self.samples}

    def write(self) -> Packed:
        """Take apart for the store."""
        fields: dict[str, Plain] = {"width": self.width, "height": self.height, "family": self.family}
        if self.posterior is not None:
            fields |= {"shift": self.posterior.shift, "scale": self.posterior.scale}
        return self._pack("Latents", fields)

    @classmethod
    def read(cls, packed: Packed) -> Self:
        """Build from what `write` gave."""
        fields, stored = packed.fields, {name: WireTensor.stored(data) for name, data in packed.tensors.items()}
        posterior = None
        if "mean" in stored:
            scale, shift = cast(float, fields["scale"]), cast(float, fields["shift"])
            posterior = Posterior(stored["mean"], stored["std"], shift, scale)
        width, height = cast(int, fields["width"]), cast(int, fields["height"])
        return cls(width, height, cast(str, fields["family"]), stored.get("samples"), posterior)

    def to(self, device: str) -> Self:
        """The same on `device`."""
        moved = _moved(self.tensors().values(), device)
        if moved is None:
            return self
        if self.posterior is None:
            return type(self)(self.width, self.height, self.family, moved[0])
        mean, std = moved
        posterior = Posterior(mean, std, self.posterior.shift, self.posterior.scale)
        return type(self)(self.width, self.height, self.family, None, posterior)


@wire("Tokens")
@dataclass(frozen=True, eq=False, slots=True)
class Tokens(_Tensors):
    """Texts as token ids: ids and mask (B, L), int64; mask is 1 where a token is real. `family` made them."""

    ids: WireTensor
    mask: WireTensor
    family: str

    def __post_init__(self) -> None:
        _demand("Tokens.ids", self.ids, (None, None), ("I64",))
        _demand("Tokens.mask", self.mask, self.ids.shape, ("I64",))

    def tensors(self) -> dict[str, WireTensor]:
        """Ids and mask."""
        return {"ids": self.ids, "mask": self.mask}

    def write(self) -> Packed:
        """Take apart for the store."""
        return self._pack("Tokens", {"family": self.family})

    @classmethod
    def read(cls, packed: Packed) -> Self:
        """Build from what `write` gave."""
        ids, mask = (WireTensor.stored(packed.tensors[name]) for name in ("ids", "mask"))
        return cls(ids, mask, cast(str, packed.fields["family"]))

    def to(self, device: str) -> Self:
        """The same on `device`."""
        moved = _moved(self.tensors().values(), device)
        return self if moved is None else type(self)(moved[0], moved[1], self.family)


@dataclass(frozen=True, eq=False, slots=True)
class EmbeddedText:
    """One text: hidden (L, D), ids (L,) int64, mask (L,) int64.

    `positions` (L,) int64 is set after pruning if the kept tokens did not stand together at the start: padding puts
    them back exactly there.
    """

    hidden: WireTensor
    ids: WireTensor
    mask: WireTensor
    positions: WireTensor | None = None

    def __post_init__(self) -> None:
        _demand("EmbeddedText.hidden", self.hidden, (None, None), _FLOATS)
        _demand("EmbeddedText.ids", self.ids, (self.length,), ("I64",))
        _demand("EmbeddedText.mask", self.mask, (self.length,), ("I64", *_FLOATS))

    @property
    def length(self) -> int:
        """Positions held, real or not."""
        return self.hidden.shape[0]

    def to(self, device: str) -> EmbeddedText:
        """The same on `device`."""
        positions = None if self.positions is None else self.positions.to(device)
        return EmbeddedText(self.hidden.to(device), self.ids.to(device), self.mask.to(device), positions)


@wire("TextEmbedding")
@dataclass(frozen=True, eq=False, slots=True)
class TextEmbedding(_Tensors):
    """What a text encoder says about each text of a batch, with padding (whole) or without it (pruned).

    `length` is the whole length in tokens; a text shorter than that is pruned, and `pad_tokens` restores it.
    """

    texts: tuple[EmbeddedText, ...]
    length: int
    family: str
    #: Whether the family's denoiser never reads padding, so that it may be pruned (see spec A5).
    prunable: bool = field(default=False)

    def tensors(self) -> dict[str, WireTensor]:
        """All tensors, as `hidden.0`, `ids.0`, `mask.0`, (`positions.0`), `hidden.1`, ..."""
        named: dict[str, WireTensor] = {}
        for index, text in enumerate(self.texts):
            named |= {f"hidden.{index}": text.hidden, f"ids.{index}": text.ids, f"mask.{index}": text.mask}
            if text.positions is not None:
                named[f"positions.{index}"] = text.positions
        return named

    def write(self) -> Packed:
        """Take apart for the store."""
        fields: dict[str, Plain] = {"length": self.length, "family": self.family, "prunable": self.prunable}
        return self._pack("TextEmbedding", fields | {"texts": len(self.texts)})

    @classmethod
    def read(cls, packed: Packed) -> Self:
        """Build from what `write` gave."""
        count = cast(int, packed.fields["texts"])
        texts = tuple(_text(packed.tensors, index) for index in range(count))
        length, family = cast(int, packed.fields["length"]), cast(str, packed.fields["family"])
        return cls(texts, length, family, bool(packed.fields["prunable"]))

    def to(self, device: str) -> Self:
        """The same on `device`."""
        if _moved(self.tensors().values(), device) is None:
            return self
        texts = tuple(text.to(device) for text in self.texts)
        return type(self)(texts, self.length, self.family, self.prunable)


def _text(stored: dict[str, TensorBytes], index: int) -> EmbeddedText:
    hidden, ids, mask = (WireTensor.stored(stored[f"{name}.{index}"]) for name in ("hidden", "ids", "mask"))
    positions = stored.get(f"positions.{index}")
    return EmbeddedText(hidden, ids, mask, None if positions is None else WireTensor.stored(positions))
