"""`latentgraph backup` and `restore`: what a data folder holds that nothing can make again, copied while the server runs.

The job store is copied first, as one moment of it (SQLite's backup interface), then the files: what the jobs of that moment
name was there before them and stays. Left out is what is made again (memo, catalogue, thumbnails) and what its owner put
there (models) or keeps elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from graph.folder import write_all
from server.report import DONE, print_data, print_json
from server.settings import WrongUsage
from server.text import size_text

FORMAT: Final = "latentgraph/backup"
VERSION: Final = 1
MARKER: Final = "backup.json"
JOBS: Final = "jobs.sqlite"
#: Single files, and folders with all that is in them; hidden files are temporary ones, hidden folders are not.
FILES: Final = ("token", "secret", "closed_sessions", "settings.toml", "page.json")
FOLDERS: Final = ("workflows", "drafts", "files", "outputs")

_CHUNK_BYTES: Final = 1 << 20


class Copied(NamedTuple):
    """What a backup holds."""

    jobs: int
    files: int
    bytes: int


def backup(home: Path, target: Path, json: bool) -> int:
    """Copy the data folder to `target`, which must not exist or be empty; gives the exit code. Raises WrongUsage."""
    target = target.expanduser().absolute()
    _refuse_unfit(home, target)
    try:
        copied = _back_up(home, target)
    except OSError as error:
        raise WrongUsage(f"The backup to {target} failed ({error.strerror or error}). Mend that and try again.") from error
    _tell(copied, f"in {target}", json)
    return DONE


def _back_up(home: Path, target: Path) -> Copied:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        copied = _copy_all(home, partial, "mode=ro")
        _write(partial / MARKER, _marker(copied))
        _sync_folder(partial)
        os.rename(partial, target)  # in place of an empty folder too; before this there is no backup
        _sync_folder(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return copied


def restore(home: Path, source: Path, json: bool) -> int:
    """Copy a backup into `home`, which must not exist or be empty; gives the exit code. Raises WrongUsage."""
    source = source.expanduser().absolute()
    named = _named(source)
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise WrongUsage(f"{home} is not empty, and nothing is overwritten. Give an empty folder with --home, or move it away.")
    try:
        with _nothing_left_of_a_failure(home):
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            home.chmod(0o700)
            copied = _copy_all(source, home, _way_to_open(source / JOBS))
            _refuse_incomplete(source, named, copied)
    except OSError as error:
        raise WrongUsage(f"Restoring to {home} failed ({error.strerror or error}). Mend that and try again.") from error
    _tell(copied, f"restored to {home}", json)
    return DONE


def _refuse_unfit(home: Path, target: Path) -> None:
    if not home.is_dir():
        raise WrongUsage(f"There is no data folder {home}; give the right one with --home.")
    if target == home or target.is_relative_to(home.resolve()) or target.resolve().is_relative_to(home.resolve()):
        raise WrongUsage(f"{target} lies in the data folder itself. Give a folder elsewhere, best on another disk.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise WrongUsage(f"{target} is not empty, and nothing is overwritten. Give a new folder.")


def _named(source: Path) -> Copied:
    """What a backup says that it holds. Raises WrongUsage for what is none, or none that this version knows."""
    try:
        marker = json.loads((source / MARKER).read_bytes())
        is_known = marker["format"] == FORMAT and marker["version"] <= VERSION
        named = Copied(*(int(marker[name]) for name in Copied._fields)) if is_known else None
    except (OSError, ValueError, KeyError, TypeError):
        raise WrongUsage(
            f"{source} is no backup: it has no readable {MARKER}. Give a folder `latentgraph backup` made."
        ) from None
    if named is None:
        raise WrongUsage(f"{source} was made by a newer version (or something else). Update Latentgraph to restore it.")
    return named


def _refuse_incomplete(source: Path, named: Copied, copied: Copied) -> None:
    """Raises WrongUsage if less was found than there was: a copy of the backup that was cut short, say."""
    if copied.jobs < named.jobs or copied.files < named.files:
        raise WrongUsage(
            f"{source} is not whole: {MARKER} names {named.jobs} jobs and {named.files} files, and {copied.jobs} and "
            f"{copied.files} are there. Nothing was restored. Copy the backup again, or write what is there into {MARKER} to "
            "restore that alone."
        )


def _way_to_open(jobs: Path) -> str:
    """How to open a backup's job store: as a file that nobody writes to, unless somebody left a log beside it.

    Older backups ask for a log, which SQLite cannot make on a read-only medium.
    """
    return "mode=ro" if Path(f"{jobs}-wal").exists() else "immutable=1"


@contextlib.contextmanager
def _nothing_left_of_a_failure(home: Path) -> Iterator[None]:
    """Empty `home` again if the block fails, and remove it if it was not there before."""
    was_there = home.exists()
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for path in home.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not was_there:
                home.rmdir()
        raise


def _marker(copied: Copied) -> bytes:
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({"format": FORMAT, "version": VERSION, "made": made, **copied._asdict()}, indent=2).encode() + b"\n"


def _tell(copied: Copied, where: str, json: bool) -> None:
    if json:
        print_json(copied._asdict())
    else:
        print_data(f"{copied.jobs} jobs and {copied.files} files ({size_text(copied.bytes)}) {where}")


def _copy_all(source: Path, target: Path, way: str) -> Copied:
    jobs = _copy_jobs(source / JOBS, target / JOBS, way)
    files = size = 0
    for path in (*_single_files(source), *_tree(source)):
        place = target / path.relative_to(source)
        _make_folders(place.parent, target)
        with contextlib.suppress(FileNotFoundError):  # removed while we copy: then it is not part of the backup
            size += _copy_file(path, place)
            files += 1
    return Copied(jobs, files, size)


def _copy_jobs(source: Path, target: Path, way: str) -> int:
    """Copy the store, opened this way, as it is at one moment, whoever writes to it meanwhile; the number of jobs in it.

    The copy needs no log beside it to be read; a server that opens it has one again.
    """
    if not source.is_file():
        return 0
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{source.as_uri()}?{way}", uri=True, timeout=60)) as old,
            contextlib.closing(sqlite3.connect(target)) as new,
        ):
            old.backup(new)
            (verdict,) = new.execute("PRAGMA quick_check").fetchone()
            if verdict != "ok":
                raise OSError(f"the job store is damaged: {verdict}")
            (count,) = new.execute("SELECT COUNT(*) FROM jobs").fetchone()
            new.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise OSError(f"the job store cannot be read: {error}") from error
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return int(count)


def _single_files(source: Path) -> Iterator[Path]:
    return (source / name for name in FILES if (source / name).is_file() and not (source / name).is_symlink())


def _tree(source: Path) -> Iterator[Path]:
    """Every plain file of the folders; links are not followed, and temporary files are not there yet."""
    for name in FOLDERS:
        for folder, inner, files in os.walk(source / name, followlinks=False):
            inner[:] = sorted(one for one in inner if not Path(folder, one).is_symlink())
            for file in sorted(files):
                path = Path(folder, file)
                if not file.startswith(".") and not path.is_symlink() and path.is_file():
                    yield path


def _make_folders(folder: Path, root: Path) -> None:
    missing = []
    while folder != root and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700)


def _copy_file(source: Path, target: Path) -> int:
    """Copy a file's bytes and its time, for this user only; gives its size. Raises FileNotFoundError if it is gone."""
    with source.open("rb") as old:
        status = os.fstat(old.fileno())
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            while chunk := old.read(_CHUNK_BYTES):
                write_all(file, chunk)
            os.fsync(file)
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(file)
    return status.st_size


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        path.chmod(0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
