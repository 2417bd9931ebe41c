"""The errors that cross the engine's border. Each says what was found, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a workflow, a node declaration or an input.

    `code` is stable and meant for machines (`unknown_node`, `out_of_range`, ...); `message` is the one sentence that
    the command line, the API and the canvas all show: what was found, where, and what to do.
    """

    code: str
    message: str
    node: str | None = None
    port: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        return self.message


class LatentgraphError(Exception):
    """Base of all errors that the engine raises on purpose."""


class DeclarationError(LatentgraphError):
    """A node or wire type is declared wrongly; the message names the fix. Raised at registration."""


class WorkflowError(LatentgraphError):
    """A workflow cannot be read, validated or planned. Holds every problem found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Refused(LatentgraphError):
    """Raised by a light node or by a node's `resolve` while planning: these inputs cannot work, and why.

    The planner turns it into a `Problem` with the node's id, so the message need not name the node. `port` names the
    input at fault, if one is.
    """

    def __init__(self, message: str, *, port: str | None = None, code: str = "refused") -> None:
        super().__init__(message)
        self.port = port
        self.code = code


class Cancelled(BaseException):
    """The run was cancelled; raised by `ctx.progress`. A BaseException so that `except Exception` cannot swallow it."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause that helps with an unknown name: ' Did you mean "x"?' or ' Known: a, b, c.'."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f' Did you mean "{close[0]}"?'
    return f" Known: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}." if names else ""
