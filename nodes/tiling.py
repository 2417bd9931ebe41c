"""Cut latents into overlapping tiles of one size, and blend what they decode to. Knows no VAE.

The library's own tiling leaves ragged last tiles and lets the first column of a tile come from its neighbour alone;
here every tile is full size and weights are never zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch


class Span(NamedTuple):
    """A tile along one axis, in latents, and how far it overlaps its neighbours (0: none on that side)."""

    begin: int
    end: int
    before: int
    after: int


def needs_tiles(height: int, width: int, tile: int) -> bool:
    """Whether latents of this size are decoded in tiles: by size alone, so that the same graph gives the same pixels."""
    return max(height, width) > tile


def spans(length: int, tile: int, overlap: int) -> list[Span]:
    """Tiles over `length` latents: every (tile - overlap), the last one pulled back flush with the end.

    An axis no longer than a tile is one span. Raises ValueError unless 0 <= overlap < tile.
    """
    if not 0 <= overlap < tile:
        raise ValueError(f"overlap is {overlap}; it takes 0 to {tile - 1} at tile {tile}")
    if length <= tile:
        return [Span(0, length, 0, 0)]
    begins = [*range(0, length - tile, tile - overlap), length - tile]
    found = []
    for index, begin in enumerate(begins):
        before = begins[index - 1] + tile - begin if index else 0
        after = begin + tile - begins[index + 1] if index + 1 < len(begins) else 0
        found.append(Span(begin, begin + tile, before, after))
    return found


def decode_in_tiles(
    latents: torch.Tensor,
    decode: Callable[[torch.Tensor], torch.Tensor],
    tile: int,
    overlap: int,
    on_tile: Callable[[int, int], None],
) -> torch.Tensor:
    """Decode (B, C, h, w) in tiles and blend: a weighted mean in float32, cast back to the decoder's dtype.

    `on_tile(done, total)` is called after each tile; what it raises ends the work.
    """
    rows, columns = spans(latents.shape[2], tile, overlap), spans(latents.shape[3], tile, overlap)
    total, done = len(rows) * len(columns), 0
    blended = weights = None
    dtype = latents.dtype
    for row in rows:
        for column in columns:
            decoded = decode(latents[:, :, row.begin : row.end, column.begin : column.end])
            dtype = decoded.dtype
            factor = decoded.shape[2] // (row.end - row.begin)
            if blended is None or weights is None:
                size = (latents.shape[2] * factor, latents.shape[3] * factor)
                blended = decoded.new_zeros((*decoded.shape[:2], *size), dtype=torch.float32)
                weights = decoded.new_zeros(size, dtype=torch.float32)
            down, across = (_ramp(span, factor, decoded.device) for span in (row, column))
            weight = down[:, None] * across[None, :]
            window = (slice(row.begin * factor, row.end * factor), slice(column.begin * factor, column.end * factor))
            blended[:, :, *window] += decoded.float() * weight
            weights[window] += weight
            done += 1
            on_tile(done, total)
    assert blended is not None
    assert weights is not None
    return (blended / weights).to(dtype)


def _ramp(span: Span, factor: int, device: torch.device) -> torch.Tensor:
    """Weights along one axis in pixels: rising as (i + 1) / (overlap + 1) from a neighbour, 1 elsewhere."""
    length = (span.end - span.begin) * factor
    ramp = torch.ones(length, device=device)
    for overlap, reverse in ((span.before * factor, False), (span.after * factor, True)):
        if overlap:
            rising = torch.arange(1, overlap + 1, device=device) / (overlap + 1)
            part = slice(length - overlap, length) if reverse else slice(0, overlap)
            ramp[part] = torch.minimum(ramp[part], rising.flip(0) if reverse else rising)
    return ramp
