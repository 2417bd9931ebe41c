"""Nodes from text to tokens to what the denoiser is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from graph.context import Context
from graph.errors import Refused
from graph.node import node
from graph.spec import Doc, Text
from nodes.families import family
from nodes.recipes import TextEncoder, Tokenizer
from nodes.tensors import WireTensor
from nodes.values import EmbeddedText, TextEmbedding, Tokens


@node(title="Tokenize", version=1, category="text", output="tokens")
def tokenize(
    ctx: Context,
    tokenizer: Tokenizer,
    prompt: Annotated[str, Text(), Doc("What the picture should show")] = "",
) -> Tokens:
    """Text as the model's tokens, in its prompt template, padded to its full length."""
    from nodes.pool import exclusively

    with ctx.borrow(tokenizer) as live, exclusively(live):
        ids, mask, truncated = family(tokenizer.family).tokenize(live, prompt)
    if truncated:
        ctx.note(f"The prompt is longer than the {ids.shape[1]} tokens this model reads; its end was left out.")
    return Tokens(WireTensor.of(ids), WireTensor.of(mask), tokenizer.family)


def _same_family(inputs: dict[str, Any]) -> Mapping[str, Any]:  # Any: see graph.node.Resolve
    tokens, encoder = inputs.get("tokens"), inputs.get("text_encoder")
    if tokens is not None and encoder is not None and tokens.family != encoder.family:
        text = f"the tokens were made for {tokens.family}, the text encoder belongs to {encoder.family}"
        raise Refused(f"{text}; use the tokenizer of the same model", port="tokens", code="family_mismatch")
    return {}


@node(title="Encode text", version=1, category="text", output="embedding", resolve=_same_family)
def encode_text(ctx: Context, text_encoder: TextEncoder, tokens: Tokens) -> TextEmbedding:
    """What the text encoder makes of the tokens: one row per token, padding included.

    Raises `NotFinite` if one of a real token is no finite number.
    """
    import torch

    from nodes.finite import demand_finite
    from nodes.pool import exclusively

    _same_family({"tokens": tokens, "text_encoder": text_encoder})
    adapter = family(text_encoder.family)
    local = tokens.to(ctx.device)
    with ctx.borrow(text_encoder) as live, exclusively(live), torch.no_grad():
        hidden = adapter.encode(live, local.ids.torch(), local.mask.torch())
        demand_finite(hidden[local.mask.torch().bool()], "embedding", "the real tokens")  # of padding a model may make anything
    texts = tuple(
        EmbeddedText(WireTensor.of(row), WireTensor.of(ids), WireTensor.of(mask))
        for row, ids, mask in zip(hidden, tokens.ids.torch(), tokens.mask.torch(), strict=True)
    )
    return TextEmbedding(texts, hidden.shape[1], adapter.name, adapter.prunable)
