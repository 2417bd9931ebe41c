"""How commands tell their result: data on stdout, problems and progress on stderr, one JSON document with --json."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, ParamSpec

import typer

from graph.errors import LatentgraphError, Problem, WorkflowError
from server.settings import WrongUsage

P = ParamSpec("P")

DONE, FAILED, INVALID, CANCELLED = 0, 1, 2, 130


def print_json(document: Any) -> None:  # Any: plain JSON
    """One JSON document on stdout, ASCII, two spaces, a line end."""
    print_data(json.dumps(document, indent=2, allow_nan=False))


def print_data(text: str) -> None:
    """A line of the command's result on stdout."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise  # who read it has seen enough: typer ends the program without a word
    except OSError as error:
        raise _ResultLost(f"The result cannot be written to standard output ({error.strerror}). Send it elsewhere.") from error


class _ResultLost(Exception):
    """Standard output took no more of the result. Not one of the errors that `--json` tells there."""


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
    (a keyword argument `json`) the problems are also the JSON document. A result that stdout does not take gives 1.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = _code_of(partial(command, *args, **kwargs), bool(kwargs.get("json")))
        except _ResultLost as error:
            tell(str(error))
            _give_up_stdout()
            code = FAILED
        raise typer.Exit(code)

    return run


def _code_of(command: Callable[[], int], json: bool) -> int:
    try:
        return command()
    except WorkflowError as error:
        return _tell_invalid(error, json)
    except LatentgraphError as error:
        tell(str(error))
        if json:
            print_json({"state": "failed", "error": str(error)})
        return INVALID if isinstance(error, WrongUsage) else FAILED


def _give_up_stdout() -> None:
    """Python writes what stdout still holds when it ends, and would fail again: so that goes nowhere."""
    with contextlib.suppress(OSError, ValueError):  # it may be no file at all
        out = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out)
        os.close(nowhere)


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
