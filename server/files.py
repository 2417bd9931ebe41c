"""Files of the user in the data folder, by content: `files/<sha256>`."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from graph.compile import Compiled
from graph.errors import Problem, WorkflowError
from server.assignments import PickedFile

_CHUNK_BYTES = 1 << 20


def file_path(home: Path, sha256: str) -> Path:
    """Where a file of this content lies."""
    return home / "files" / sha256


def refuse_missing(compiled: Compiled, home: Path, picked: Iterable[PickedFile], file: str | None) -> None:
    """Raise WorkflowError naming every file that the workflow needs and that is neither here nor being brought."""
    here = {entry.sha256 for entry in picked}
    problems = []
    for index, port in compiled.files:
        value = compiled.literals[index][port]
        if not isinstance(value, dict):
            continue
        digest = cast(str, value["sha256"])  # validation lets nothing else pass
        if digest in here or file_path(home, digest).is_file():
            continue
        node, name = compiled.ids[index], value.get("file") or "a file"
        message = f"{node}.{port} needs {name!r} (sha256 {digest[:12]}...), which is not in {home / 'files'}. Give it with --set."
        problems.append(Problem("missing_file", f"{file}: {message}" if file else message, node, port, file))
    if problems:
        raise WorkflowError(problems)


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
