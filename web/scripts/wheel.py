"""Puts the built page and the workflow templates into the wheel: pyproject.toml names this for setuptools' step `build_py`.

`make wheel` builds the page first. `pip install .` without a page makes what runs files and serves the API; a small page and
`latentgraph doctor` say what is missing. A page that is older than its sources would not fit the server: no wheel is made.
An editable install copies nothing and needs no page: server/shipped.py finds both in the checkout.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

PAGE: Final = Path("web", "dist")
WORKFLOWS: Final = Path("workflows")
#: Where server/shipped.py looks in a wheel.
CANVAS: Final = Path("server", "canvas")
TEMPLATES: Final = Path("server", "templates")
_THIS: Final = "web/scripts/wheel.py"
#: What the page is built from, as in the Makefile, and the versions of its packages. A source archive has none of it.
SOURCES: Final = ("src", "index.html", "vite.config.ts", "tsconfig.json", "package-lock.json")


class BuildWithPage(build_py):
    """`build_py`, and then the page and the templates beside the modules."""

    def run(self) -> None:
        """Build from nothing: what an earlier build left in `build/lib` would be in the wheel though it was removed since."""
        if self.editable_mode:
            super().run()
            return
        changed = newer_than_page()
        if changed is not None:
            raise SetupError(
                f"{changed} is newer than the built page in {PAGE.as_posix()}. Run `make wheel`, or `make page` first."
            )
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        for target, source in self._copies().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target, preserve_mode=False)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Every file that `run` makes."""
        return [*super().get_outputs(include_bytecode), *([] if self.editable_mode else self._copies())]

    def get_output_mapping(self) -> dict[str, str]:
        """Sources by the files made of them."""
        return {**super().get_output_mapping(), **({} if self.editable_mode else self._copies())}

    def get_source_files(self) -> list[str]:
        """What a source archive takes along so that a wheel can be built from it: the page as it was built, no Node needed."""
        return [*super().get_source_files(), *self._copies().values(), _THIS]

    def _copies(self) -> dict[str, str]:
        lib = Path(self.build_lib)
        return {str(lib / target): source.as_posix() for target, source in shipped()}


def shipped(root: Path = Path()) -> Iterator[tuple[Path, Path]]:
    """Each file that goes along, as its place in the wheel and where it lies now; no hidden file does."""
    for target, folder in ((CANVAS, root / PAGE), (TEMPLATES, root / WORKFLOWS)):
        for source in sorted(folder.rglob("*")):
            name = source.relative_to(folder)
            if source.is_file() and not any(part.startswith(".") for part in name.parts):
                yield target / name, source


def newer_than_page(root: Path = Path()) -> str | None:
    """A source of the page that was changed since it was built; None if there is none, or no page."""
    built = root / PAGE / "index.html"
    if not built.is_file():
        return None
    built_ns = built.stat().st_mtime_ns
    changed = next((path for path in _page_sources(root) if path.stat().st_mtime_ns > built_ns), None)
    return None if changed is None else changed.relative_to(root).as_posix()


def _page_sources(root: Path) -> Iterator[Path]:
    for name in SOURCES:
        at = root / "web" / name
        folders = os.walk(at) if at.is_dir() else [(str(at.parent), [], [name] if at.is_file() else [])]
        for folder, _, names in folders:
            yield from (Path(folder, one) for one in sorted(names) if not one.endswith((".test.ts", ".test.tsx")))
