"""Problems as they are found, told in the order of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from graph.errors import Problem, nearest

_SUGGESTIONS: Final = 50  # difflib is slow; a file with more unknown names has another trouble
_NAMES: Final = 1000


class Report:
    """The problems of one workflow; nodes are given by their position in `ids`."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._found: list[tuple[int, Problem]] = []
        self._suggestions = 0

    def note(self, position: int, code: str, message: str, port: str | None = None) -> None:
        """A problem of a node."""
        self._found.append((position, Problem(code, message, self._ids[position], port)))

    def note_whole(self, code: str, message: str, name: str | None = None) -> None:
        """A problem of the workflow's interface: of the named input or output `name`."""
        self._found.append((len(self._ids), Problem(code, message, None, name)))

    def near(self, name: str, known: Iterable[str]) -> str:
        """`nearest`, for the first few unknown names; of very many known ones only those that begin alike."""
        self._suggestions += 1
        if self._suggestions > _SUGGESTIONS:
            return ""
        names = list(known)
        if len(names) > _NAMES:
            names = [other for other in names if other[:2] == name[:2]][:_NAMES]
        return nearest(name, names)

    def problems(self) -> list[Problem]:
        """All problems, by node; those of the interface last."""
        return [problem for _, problem in sorted(self._found, key=lambda entry: entry[0])]
