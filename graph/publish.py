"""The one way a file gets into an output folder: whole, under a name of its own, its sidecar last.

A reader that takes only files with a readable sidecar never sees a torn one, whatever kills the writer (spec J1, J2).
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from graph.context import Context
from graph.owner import Owner, is_gone

#: What a published name looks like, without its suffix.
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
SIDECAR_SUFFIX: Final = ".json"

#: A temporary of `a.png` is `.a.png.<owner>.<random>.tmp`, of its sidecar `.a.png.json.<owner>.<random>.tmp`.
_TEMPORARY: Final = re.compile(
    r"\.(?P<media>[A-Za-z0-9_-]+\.[a-z0-9]+)(?P<sidecar>\.json)?\.(?P<owner>[^.]+)\.[0-9a-f]+\.tmp", re.ASCII
)
#: What file systems without hard links, or without locks, answer.
_NO_LINKS: Final = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK)
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_swept: Final[set[Path]] = set()


def unique_name(prefix: str) -> str:
    """A name that no earlier call gave: the prefix (its unfit characters as "_"), the UTC time, 48 random bits."""
    return f"{_fit(prefix, 80)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(6)}"


def output_name(ctx: Context, prefix: str, index: int = 0) -> str:
    """The name of a node's output number `index`: in a job always the same, so that a retry publishes once; else a unique one.

    The job's id stands in the name: its outputs are found by name. A prefix is text and nothing in it is replaced.
    """
    origin = _origin(ctx, index)
    if origin is None:
        return unique_name(prefix)
    mark = sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest()[:12]
    return f"{_fit(prefix, 40)}-{_fit(ctx.job, 64)}-{mark}"


def origin_of(ctx: Context, index: int = 0) -> dict[str, Any]:  # Any: plain JSON
    """What a sidecar says of where its file came from: {"origin": ...} in a job, else nothing."""
    origin = _origin(ctx, index)
    return {} if origin is None else {"origin": origin}


def _origin(ctx: Context, index: int) -> dict[str, Any] | None:  # Any: plain JSON
    return {"job": ctx.job, "node": ctx.node_id, "element": ctx.element, "index": index} if ctx.job else None


def _fit(text: str, longest: int) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:longest] or "output"


def publish(folder: Path, name: str, suffix: str, content: bytes | memoryview, sidecar: Mapping[str, Any]) -> Path:
    """Write `name + suffix` and its sidecar `name + ".json"` (Any: plain JSON); gives the file's path.

    Both are written to dot-files beside their places and synced, then given their names, the sidecar last: it is the
    commit marker. Whatever goes wrong, interrupts included, leaves none of the four; what a killed process left is
    removed by a later one. If the name is taken by a file of the same `origin_of`, that one stays and is given: a job
    that is tried again publishes once, and completes what a power cut left. Raises ValueError for an unfit name or suffix,
    FileExistsError if the name is taken (of two writers at once, for one), OSError as the disk does.
    """
    if not NAME.fullmatch(name) or not re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) or suffix == SIDECAR_SUFFIX:
        raise ValueError(f'"{name}{suffix}" cannot be published; a name is {NAME.pattern}, a suffix a dot and small letters')
    folder.mkdir(parents=True, exist_ok=True)
    media, note = folder / f"{name}{suffix}", folder / f"{name}{SIDECAR_SUFFIX}"
    _sweep_once(folder)
    with _locked(folder):
        known = not _to_give(media, note, content, sidecar)  # before anything large is written; again when the names are given
    if known:
        _sync_folder(folder)  # whoever gave the names may have died before they were durable
        return media
    token = f"{Owner.current()}.{secrets.token_hex(4)}.tmp"
    pairs = [(folder / f".{media.name}.{token}", media), (folder / f".{media.name}{SIDECAR_SUFFIX}.{token}", note)]
    placed: list[Path] = []
    try:
        for (temporary, _), data in zip(pairs, (content, _json(sidecar)), strict=True):
            _write(temporary, data)
        with _locked(folder):
            to_give = _to_give(media, note, content, sidecar)
            for temporary, path in pairs:
                if path in to_give:
                    _place(temporary, path, placed)
        _sync_folder(folder)
    except BaseException:
        for temporary, path in reversed(pairs):
            if path in placed:
                path.unlink(missing_ok=True)
            temporary.unlink(missing_ok=True)
        raise
    for temporary, _ in reversed(pairs):
        temporary.unlink(missing_ok=True)
    return media


def remove_unfinished(folder: Path) -> None:
    """Remove what this process has not finished publishing: for one that leaves without waiting for what it is writing."""
    with suppress(OSError), _locked(folder, wait=False):
        _sweep(folder, lambda owner: owner == str(Owner.current()))


def _to_give(media: Path, note: Path, content: bytes | memoryview, sidecar: Mapping[str, Any]) -> tuple[Path, ...]:
    """The names that an earlier try of the same work did not give; for the holder of the lock.

    After a power cut a file may have its name and neither its sidecar nor a temporary one: if it holds what is to be
    published, it is taken over. Raises FileExistsError if anything else has one of the names.
    """
    if media.exists() and not note.exists():  # perhaps what a killed process left
        _sweep(media.parent, is_gone)
    is_retry = "origin" in sidecar and media.exists()
    if is_retry and _origin_in(note) == sidecar["origin"]:
        return ()
    if is_retry and not note.exists() and media.read_bytes() == content:
        return (note,)
    for path in (media, note):
        if path.exists():
            raise FileExistsError(
                f"{path.name} exists already in {path.parent.name}; outputs are never overwritten, use another name"
            )
    return media, note


def _origin_in(note: Path) -> Any:  # Any: whatever stands there
    try:
        found = json.loads(note.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found.get("origin") if isinstance(found, dict) else None


def _place(temporary: Path, path: Path, placed: list[Path]) -> None:
    """Give a file its name, noted in `placed`. Raises FileExistsError if another has it."""
    try:
        os.link(temporary, path)  # a rename would replace
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise FileExistsError(f"{path.name} was made by another program just now; use another name") from None
        os.rename(temporary, path)
    placed.append(path)


def _sweep_once(folder: Path) -> None:
    """Remove what dead processes left, at the first publication of this process into the folder."""
    if folder not in _swept:
        with _locked(folder):
            _sweep(folder, is_gone)
        _swept.add(folder)


def _sweep(folder: Path, is_left: Callable[[str], bool]) -> None:
    """Remove the temporary files of the owners that `is_left` names, and a file they had named without its sidecar.

    Both temporaries are whole before the first name is given. A sidecar still temporary whose file has its name (the
    same inode, or the temporary is gone where it had to be renamed) tells an unfinished pair from a file of the user's.
    """
    for temporary in sorted(folder.glob(".*.tmp"), reverse=True):  # a sidecar's before its file's
        found = _TEMPORARY.fullmatch(temporary.name)
        if found is None or not is_left(found["owner"]):
            continue
        media = folder / found["media"]
        if found["sidecar"] and media.exists() and not media.with_suffix(SIDECAR_SUFFIX).exists():
            whole = folder / temporary.name.replace(found["sidecar"], "", 1)
            if not whole.exists() or whole.samefile(media):
                media.unlink(missing_ok=True)
        temporary.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """One process or thread at a time; it ends with its holder. Raises OSError if `wait` is False and it is taken."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(handle)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False).encode()


def _write(path: Path, data: bytes | memoryview) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the names durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
