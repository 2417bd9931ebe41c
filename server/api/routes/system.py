"""The server itself: readiness, figures, and the documents of its own interface."""

from __future__ import annotations
