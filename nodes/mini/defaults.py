"""How mini is meant to be run, for whoever renders with it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

WEIGHTS: Final = Path(__file__).parent / "weights"
"""A diffusers pipeline folder."""

STEPS: Final = 10
GUIDANCE: Final = 1.0
"""Z-Image's scale: velocity = pos + GUIDANCE * (pos - neg); 0 is off."""

WIDTH_PX: Final = 64
HEIGHT_PX: Final = 64
