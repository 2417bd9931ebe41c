"""Which weights a folder holds, read from file headers: identity, size, dtype, and what is missing.

The identity is a SHA-256 over each file's content, or, of files too large to read for every plan, over the header, the
size and blocks spread over every tensor; so it costs a fraction of a second for a model of any size. It does not depend
on where the folder lies.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from graph.errors import Refused
from nodes.configs import config_identity, read_config, short
from nodes.file_kinds import is_safetensors, kind_of, start_of
from nodes.tensor_header import BadHeader, TensorEntry, read_tensor_header
from nodes.tensors import DTYPES

#: Files up to this size are hashed whole.
WHOLE_BYTES: Final = 64 * 2**20
BLOCK_BYTES: Final = 4096
#: Blocks of a tensor that are chosen by its name, besides the first, the middle and the last.
CHOSEN_BLOCKS: Final = 4
#: Two writes within the clock tick of a file system leave the same mtime; a file this young is read again.
SETTLED_S: Final = 2.0


class Weights(NamedTuple):
    """The weights of one model part: identity (hex), bytes of its tensors, and the dtype most of them have ("F32")."""

    identity: str
    nbytes: int
    dtype: str


class _File(NamedTuple):
    digest: str
    nbytes: int
    dtypes: tuple[tuple[str, int], ...]
    names: tuple[str, ...]


def weights_of(folder: Path, stem: str) -> Weights:
    """The weights in `folder`: `<stem>.safetensors`, or the shards that `<stem>.safetensors.index.json` lists.

    Raises `Refused` if a file is missing, cut short or no safetensors file, if the shards hold other tensors than the
    index says, or if there are both a single file and an index.
    """
    placed = _placed(folder, stem)
    files = {name: _read(folder / name) for name in placed}
    for name, tensors in placed.items():
        _compare(folder / f"{stem}.safetensors.index.json", name, tensors, files[name].names)
    dtypes: Counter[str] = Counter()
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name} {files[name].digest}\n".encode())
        dtypes.update(dict(files[name].dtypes))
    unknown = sorted(dtypes.keys() - DTYPES)
    if unknown:
        text = f"the weights in {folder.name} hold numbers of the type {unknown[0]}, which is not known here"
        raise Refused(f"{text}; take the model in one of {', '.join(DTYPES)}", code="unknown_dtype")
    return Weights(digest.hexdigest(), sum(file.nbytes for file in files.values()), dtypes.most_common(1)[0][0])


def part_identity(config: Mapping[str, Any], weights: Weights) -> str:  # Any: the library's JSON
    """SHA-256 (hex) of a part with weights: its configuration and its weights."""
    return hashlib.sha256(f"{config_identity(config)} {weights.identity}".encode()).hexdigest()


def _placed(folder: Path, stem: str) -> dict[str, frozenset[str] | None]:
    """The weight files, each with the tensors that an index says it holds (None without an index)."""
    single, index = folder / f"{stem}.safetensors", folder / f"{stem}.safetensors.index.json"
    if single.is_file() and index.is_file():
        text = f"{short(single)} stands beside {index.name}, and only one of them can be the model"
        raise Refused(f"{text}; remove the one that does not belong, or copy the folder again", code="ambiguous_files")
    if single.is_file():
        return {single.name: None}
    if not index.is_file():
        raise Refused(f"{short(single)} is missing; {_instead(folder, single.name)}", code="missing_file")
    found = read_config(index).get("weight_map")
    if not isinstance(found, dict) or not found or not all(isinstance(name, str) for name in found.values()):
        raise Refused(f"{short(index)} lists no shards; copy the file again", code="damaged_file")
    names = sorted(set(found.values()))
    missing = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    if missing:
        text = f"{short(index)} lists {len(names)} shards, of which {', '.join(missing[:3])} is missing"
        raise Refused(f"{text}; copy the model folder again", code="missing_file")
    return {name: frozenset(tensor for tensor, shard in found.items() if shard == name) for name in names}


def _instead(folder: Path, wanted: str) -> str:
    """What lies there in place of a weight file, by content and not by name, and what to do."""
    for path in sorted(folder.glob("*")):
        if path.suffix.lower() in (".json", ".txt", ".md", ".jinja") or not path.is_file():
            continue
        start = start_of(path)
        known = kind_of(start)
        if known is not None:
            return f"{path.name} is {known[0]}: {known[1]}"
        if is_safetensors(start):
            return f"{path.name} is a safetensors file: rename it to {wanted} if it is the model"
    return "the model folder is incomplete, copy it again"


def _compare(index: Path, shard: str, said: frozenset[str] | None, held: Collection[str]) -> None:
    """Raise `Refused` unless a shard holds the tensors that the index says it does."""
    apart = sorted(said.symmetric_difference(held)) if said is not None else []
    if apart and said is not None:
        which = "does not hold" if apart[0] in said else "holds, unlike the index says,"
        text = f"{short(index)} and {shard} do not belong together: {shard} {which} {apart[0]}"
        raise Refused(f"{text}; copy the model folder again", code="damaged_file")


def _read(path: Path) -> _File:
    """The file's description, remembered by what `stat` says of it."""
    stat = os.stat(path)
    # ctime too: a write in place whose mtime is set back moves it
    known = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    if time.time() - max(stat.st_mtime, stat.st_ctime) < SETTLED_S:
        return _describe.__wrapped__(str(path), *known)
    return _describe(str(path), *known)


@lru_cache(maxsize=4096)
def _describe(path: str, device: int, inode: int, size: int, mtime_ns: int, ctime_ns: int) -> _File:
    """Header and content, or blocks of it. What `stat` says is the cache's key; what is open must still be that."""
    digest = hashlib.sha256(f"{size}\n".encode())
    with open(path, "rb") as file:
        _refuse_other(path, file, inode, size)
        try:
            header = read_tensor_header(file, size)
        except BadHeader as error:
            raise _damaged(path, str(error)) from None
        digest.update(header.raw)
        if size <= WHOLE_BYTES:
            digest.update(hashlib.file_digest(file, "sha256").digest())
        else:
            for start, count in _samples(header.tensors):
                file.seek(header.size + start)
                digest.update(file.read(count))
        _refuse_other(path, file, inode, size)
    dtypes: Counter[str] = Counter()
    for entry in header.tensors.values():
        dtypes[entry.dtype] += entry.end - entry.begin
    return _File(digest.hexdigest(), size - header.size, tuple(sorted(dtypes.items())), tuple(sorted(header.tensors)))


def _refuse_other(path: str, file: BinaryIO, inode: int, size: int) -> None:
    """Raise `Refused` if what is open is not, or no longer, the file that was looked at."""
    stat = os.fstat(file.fileno())
    if (stat.st_ino, stat.st_size) != (inode, size):
        raise Refused(f"{short(Path(path))} changed while it was read; try again when it is copied whole", code="changed_file")


def _samples(tensors: Mapping[str, TensorEntry]) -> Iterator[tuple[int, int]]:
    """Where to read in a large file: (offset, bytes) of each tensor's first, middle, last and some chosen blocks."""
    for name, (_, _, begin, end) in sorted(tensors.items(), key=lambda item: item[1].begin):
        blocks = -(-(end - begin) // BLOCK_BYTES)
        if not blocks:
            continue
        # by the name: an edit of every n-th element, or of one half, cannot fall between all of them
        drawn = hashlib.sha256(name.encode()).digest()
        chosen = {int.from_bytes(drawn[4 * at : 4 * at + 4], "little") % blocks for at in range(CHOSEN_BLOCKS)}
        for block in sorted({0, blocks // 2, blocks - 1} | chosen):
            start = begin + block * BLOCK_BYTES
            yield start, min(BLOCK_BYTES, end - start)


def _damaged(path: str, why: str) -> Refused:
    return Refused(f"{short(Path(path))} is damaged or no safetensors file: {why}", code="damaged_file")
