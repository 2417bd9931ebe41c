"""How mini is meant to be run, for whoever renders with it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

WEIGHTS: Final = Path(__file__).parent / "weights"
"""A diffusers pipeline folder."""

STEPS: Final = 10
GUIDANCE: Final = 1.0
"""Z-Image's scale: velocity = pos + GUIDANCE * (pos - neg); 0 is off.
On the validation captions 0.5 to 2 are alike (94-96 of 100) and more is worse."""

WIDTH_PX: Final = 64
HEIGHT_PX: Final = 64
