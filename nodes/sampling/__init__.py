"""Denoising: the loop all families share, step caches, previews. The loop knows no family; the adapters know no loop."""
