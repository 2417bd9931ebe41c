"""The first import of the model libraries, by one thread of a process at a time.

transformers and diffusers put another module in their own place while they are imported. A thread that waits for an
import that another began is then given the module that was replaced, and told "cannot import name" (seen with
transformers 5.24: two threads at once, in every second process). Whoever imports from one of them calls this before.
"""

from __future__ import annotations

import threading
from typing import Final

_TURN: Final = threading.RLock()


def import_transformers() -> None:
    """Have transformers imported, or wait until it is."""
    with _TURN:
        import transformers  # noqa: F401  # heavy; importing it is all that is wanted


def import_diffusers() -> None:
    """Have diffusers, and transformers which it imports from, imported, or wait until they are."""
    with _TURN:
        import_transformers()
        import diffusers  # noqa: F401  # as above
