"""Where the page and the workflow templates lie: what comes with the program and is no module.

A checkout has them where they are made: `web/dist` (once `make page` has built it) and `workflows/`. A wheel carries copies
of both beside this module; web/scripts/wheel.py puts them there. The checkout counts first, so that a copy left there by
a build never hides a page built since. Nothing here knows what is in them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: Parts of the wheel's path under the folder of our packages. web/scripts/wheel.py has the same.
CANVAS: Final = Path("server", "canvas")
TEMPLATES: Final = Path("server", "templates")
_OURS: Final = Path(__file__).parents[1]


def canvas(ours: Path = _OURS) -> Path | None:
    """The folder of the built page; None in a checkout where it was not built. `ours` is the folder that holds our packages."""
    places = (ours / "web" / "dist", ours / CANVAS) if is_checkout(ours) else (ours / CANVAS,)
    return next((place for place in places if (place / "index.html").is_file()), None)


def templates(ours: Path = _OURS) -> Path | None:
    """The folder of the workflow templates; None where somebody took it away."""
    places = (ours / "workflows", ours / TEMPLATES) if is_checkout(ours) else (ours / TEMPLATES,)
    return next((place for place in places if place.is_dir()), None)


def is_checkout(ours: Path = _OURS) -> bool:
    """Whether our packages lie in a checkout: beside installed ones, `web` and `workflows` would be somebody else's."""
    try:
        return '\nname = "latentgraph"\n' in (ours / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
