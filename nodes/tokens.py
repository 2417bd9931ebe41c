"""Nodes that leave out a text embedding's padding before it is stored, and put it back."""

from __future__ import annotations

from typing import Annotated

from graph.context import Context
from graph.node import node
from graph.spec import Doc, Range
from nodes.tensors import WireTensor
from nodes.values import EmbeddedText, TextEmbedding


@node(title="Prune tokens", version=1, category="text", place="host", output="embedding")
def prune_tokens(ctx: Context, embedding: TextEmbedding) -> TextEmbedding:
    """Keep the real tokens only. Raises ValueError for a family whose denoiser reads padding as text."""
    if not embedding.prunable:
        advice = "store this family's embeddings whole: remove prune_tokens"
        raise ValueError(f"the denoiser of {embedding.family} reads padding, so it cannot be pruned; {advice}")
    return TextEmbedding(tuple(map(_pruned, embedding.texts)), embedding.length, embedding.family, embedding.prunable)


@node(title="Pad tokens", version=1, category="text", place="host", output="embedding")
def pad_tokens(
    ctx: Context,
    embedding: TextEmbedding,
    length: Annotated[int | None, Range(1, 8192), Doc("Tokens to pad to; as long as before pruning if not set")] = None,
) -> TextEmbedding:
    """Put padding back as zeros, to the length before pruning. Raises ValueError for a text longer than `length`."""
    wanted = embedding.length if length is None else length
    texts = tuple(_padded(text, wanted) for text in embedding.texts)
    return TextEmbedding(texts, wanted, embedding.family, embedding.prunable)


def _pruned(text: EmbeddedText) -> EmbeddedText:
    kept = text.mask.torch().bool()
    count = int(kept.sum())
    if count == text.length:
        return text
    hidden, ids, mask = (WireTensor.of(part.torch()[kept]) for part in (text.hidden, text.ids, text.mask))
    # Tokens that do not stand together at the start (a suffix after padding, padding on the left) would move.
    trailing = bool(kept[:count].all())
    return EmbeddedText(hidden, ids, mask, None if trailing else WireTensor.of(kept.nonzero().flatten()))


def _padded(text: EmbeddedText, length: int) -> EmbeddedText:
    if text.positions is None and text.length == length:
        return text
    places = None if text.positions is None else text.positions.torch()
    reach = text.length if places is None else int(places.max()) + 1
    if reach > length:
        raise ValueError(f"a text of {reach} tokens does not fit into length {length}; set length to at least {reach}")
    return EmbeddedText(*(_spread(part, places, length) for part in (text.hidden, text.ids, text.mask)))


def _spread(part: WireTensor, places: object, length: int) -> WireTensor:
    """The rows of `part` at `places` (at the start if None) among `length` rows of zeros."""
    rows = part.torch()
    whole = rows.new_zeros((length, *rows.shape[1:]))
    whole[slice(len(rows)) if places is None else places] = rows  # type: ignore[index]  # a slice or a tensor
    return WireTensor.of(whole)
