"""How commands tell their result: data on stdout, problems and progress on stderr, one JSON document with --json."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec

import typer

from graph.errors import LatentgraphError, Problem, WorkflowError
from server.settings import WrongUsage

P = ParamSpec("P")

DONE, FAILED, INVALID, CANCELLED = 0, 1, 2, 130


def print_json(document: Any) -> None:  # Any: plain JSON
    """One JSON document on stdout, ASCII, two spaces, a line end."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_data(text: str) -> None:
    """A line of the command's result on stdout."""
    print(text, flush=True)


def tell(text: str) -> None:
    """Text for the person, on stderr. Control characters are shown, not sent: it may quote a file of anybody."""
    print("".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text), file=sys.stderr, flush=True)


def problems_json(problems: Iterable[Problem]) -> list[dict[str, str | None]]:
    """Problems as `--json` gives them."""
    return [
        {"code": problem.code, "message": problem.message, "node": problem.node, "port": problem.port, "file": problem.file}
        for problem in problems
    ]


def reported(command: Callable[P, int]) -> Callable[P, None]:
    """End the program with the code that `command` gives, or with that of what it raises on purpose, told on stderr.

    An invalid workflow (every problem, one line each) and wrong usage give 2, other errors of ours 1. With `--json`
    (a keyword argument `json`) the problems are also the JSON document.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except WorkflowError as error:
            code = _tell_invalid(error, bool(kwargs.get("json")))
        except LatentgraphError as error:
            tell(str(error))
            if kwargs.get("json"):
                print_json({"state": "failed", "error": str(error)})
            code = INVALID if isinstance(error, WrongUsage) else FAILED
        raise typer.Exit(code)

    return run


def _tell_invalid(error: WorkflowError, json: bool) -> int:
    for problem in error.problems:
        tell(_with_file(problem))
    if json:
        print_json({"state": "invalid", "problems": problems_json(error.problems)})
    return INVALID


def _with_file(problem: Problem) -> str:
    if problem.file is None or problem.message.startswith(problem.file):
        return problem.message
    return f"{problem.file}: {problem.message}"
