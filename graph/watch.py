"""Source files that must stay as they were: an edit between reading the node types and importing one is refused.

Keys are made from the code as the catalogue read it, and modules are imported later, many only inside a call. Code that
changed in between would run under the key of the old code, and its result would be remembered for the old code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NamedTuple

from graph.errors import DeclarationError


class FileState(NamedTuple):
    """A source file as it was when it was read."""

    path: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str) -> FileState | None:
        """The state now, or None if there is no such file."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return cls(path, status.st_size, status.st_mtime_ns)


class SourceWatch(MetaPathFinder):
    """Looks at every import of this process first; finds nothing itself, and refuses a module whose file has changed."""

    def __init__(self) -> None:
        self._states: dict[str, FileState] = {}

    def expect(self, states: Mapping[str, FileState]) -> None:
        """From now on these modules, by name, must be imported from files in these states; the latest call counts."""
        self._states |= states
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """None, so that the usual finders go on. Raises DeclarationError if the file is not as expected."""
        state = self._states.get(name)
        if state is not None and FileState.of(state.path) != state:
            raise DeclarationError(
                f"{state.path} changed after the node types were read, so its results would be kept under the old code's keys; "
                "start again to use the changed code"
            )
        return None


#: The one watch of this process: modules are per process too.
WATCH = SourceWatch()
