"""Files of the user in the data folder, by content: `files/<sha256>`."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from graph.compile import Compiled
from graph.errors import Problem, WorkflowError
from nodes.models import unknown_models
from server.assignments import PickedFile

_CHUNK_BYTES = 1 << 20


def file_path(home: Path, sha256: str) -> Path:
    """Where a file of this content lies."""
    return home / "files" / sha256


def beside(compiled: Compiled, folder: Path) -> tuple[PickedFile, ...]:
    """Files that the workflow names and that lie in `folder`, the one of the workflow file, with the right content."""
    found = []
    for name, digest in {(name, digest) for _, _, name, digest in needed_files(compiled)}:
        path = folder / name  # a plain name: validation lets no folder pass
        with contextlib.suppress(OSError), path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == digest:
                found.append(PickedFile(path, digest))
    return tuple(found)


def refuse_missing(compiled: Compiled, home: Path, picked: Iterable[PickedFile], file: str | None) -> None:
    """Raise WorkflowError naming every file that is neither here nor being brought, and every model that is not here.

    Both as far as the workflow names them itself. `file` is the workflow's, named in the problems.
    """
    problems = [*_missing_files(compiled, home, {entry.sha256 for entry in picked}), *unknown_models(compiled, home)]
    if problems:
        raise WorkflowError(
            replace(problem, message=f"{file}: {problem.message}", file=file) if file else problem for problem in problems
        )


def _missing_files(compiled: Compiled, home: Path, brought: Container[str]) -> Iterator[Problem]:
    for node, port, name, digest in needed_files(compiled):
        if digest not in brought and not file_path(home, digest).is_file():
            what = f"{name!r} (sha256 {digest[:12]}...)"
            message = f"{node}.{port} needs {what}, which is not in {home / 'files'}. Give its path with --set."
            yield Problem("missing_file", message, node, port)


def needed_files(compiled: Compiled) -> Iterator[tuple[str, str, str, str]]:
    """Node, port, name and SHA-256 of every file literal; an optional one that is not set is none."""
    for index, port in compiled.files:
        values = compiled.literals[index].get(port)
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):  # validation lets nothing but {"file", "sha256"} pass
                yield compiled.ids[index], port, str(value.get("file") or "a file"), str(value["sha256"])


def bring(home: Path, picked: Iterable[PickedFile]) -> None:
    """Copy files into the data folder; one that is there already is left alone.

    Raises WorkflowError if a file changed since it was read, or cannot be read or written.
    """
    for entry in picked:
        target = file_path(home, entry.sha256)
        if target.is_file():
            continue
        try:
            _copy(entry, target)
        except OSError as error:
            message = f"{entry.path} cannot be copied to {target.parent} ({error.strerror or error}); look at the disk."
            raise WorkflowError([Problem("unwritable_file", message, file=str(entry.path))]) from error


def _copy(entry: PickedFile, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".bring-")
    try:
        digest = hashlib.sha256()
        with os.fdopen(descriptor, "wb") as out, entry.path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != entry.sha256:
            raise OSError("it changed while it was read")
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
