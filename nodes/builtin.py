"""The modules that declare the built-in nodes; the registry reads the nodes off them."""

from __future__ import annotations

from typing import Final

MODULES: Final = (
    "nodes.load",
    "nodes.text",
    "nodes.tokens",
    "nodes.cache",
    "nodes.latents",
    "nodes.denoise",
    "nodes.curves",
    "nodes.decode",
    "nodes.image",
    "nodes.mask",
    "nodes.save",
    "nodes.primitives",
)
