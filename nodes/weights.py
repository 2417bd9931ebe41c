"""Which weights a folder holds, read from file headers: identity, size, dtype, and what is missing.

The identity is a SHA-256 over each file's content, or, of files too large to read for every plan, over the header, the
size and blocks spread over every tensor; so it costs a fraction of a second for a model of any size. It does not depend
on where the folder lies.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from graph.errors import Refused
from nodes.tensors import DTYPES

#: Files up to this size are hashed whole.
WHOLE_BYTES: Final = 64 * 2**20
BLOCK_BYTES: Final = 4096
#: Blocks of a tensor that are chosen by its name, besides the first, the middle and the last.
CHOSEN_BLOCKS: Final = 4
#: safetensors refuses larger headers too; a garbage length must not make us allocate.
MAX_HEADER_BYTES: Final = 100_000_000
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


def files_identity(folder: Path, names: tuple[str, ...]) -> str:
    """SHA-256 (hex) over the names and bytes of those of the small files `names` that `folder` has."""
    digest = hashlib.sha256()
    for name in sorted(names):
        path = folder / name
        if path.is_file():
            digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def read_config(path: Path) -> dict[str, Any]:  # Any: the library's JSON, each family reads what it knows
    """A component's JSON file. Raises `Refused` if it is missing or not a JSON object."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(f"{_short(path)} is missing; the model folder is incomplete, copy it again", code="missing_file") from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{_short(path)} is not readable JSON ({error}); copy the file again", code="damaged_file") from error
    if not isinstance(config, dict):
        raise Refused(f"{_short(path)} holds no JSON object; copy the file again", code="damaged_file")
    return config


def config_identity(config: dict[str, Any]) -> str:  # Any: as read_config
    """SHA-256 (hex) of a configuration, without the notes that libraries leave in it (`_diffusers_version`, ...)."""
    kept = {key: value for key, value in config.items() if not key.startswith("_") or key == "_class_name"}
    kept.pop("transformers_version", None)
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _placed(folder: Path, stem: str) -> dict[str, frozenset[str] | None]:
    """The weight files, each with the tensors that an index says it holds (None without an index)."""
    single, index = folder / f"{stem}.safetensors", folder / f"{stem}.safetensors.index.json"
    if single.is_file() and index.is_file():
        text = f"{_short(single)} stands beside {index.name}, and only one of them can be the model"
        raise Refused(f"{text}; remove the one that does not belong, or copy the folder again", code="ambiguous_files")
    if single.is_file():
        return {single.name: None}
    if not index.is_file():
        others = sorted(path.name for path in folder.glob("*") if path.suffix in (".bin", ".pt", ".pth", ".ckpt"))
        hint = f"; {others[0]} is a pickle, which is never loaded: convert it to safetensors" if others else ""
        raise Refused(
            f"{_short(single)} is missing{hint or '; the model folder is incomplete, copy it again'}", code="missing_file"
        )
    found = read_config(index).get("weight_map")
    if not isinstance(found, dict) or not found or not all(isinstance(name, str) for name in found.values()):
        raise Refused(f"{_short(index)} lists no shards; copy the file again", code="damaged_file")
    names = sorted(set(found.values()))
    missing = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    if missing:
        text = f"{_short(index)} lists {len(names)} shards, of which {', '.join(missing[:3])} is missing"
        raise Refused(f"{text}; copy the model folder again", code="missing_file")
    return {name: frozenset(tensor for tensor, shard in found.items() if shard == name) for name in names}


def _compare(index: Path, shard: str, said: frozenset[str] | None, held: Collection[str]) -> None:
    """Raise `Refused` unless a shard holds the tensors that the index says it does."""
    apart = sorted(said.symmetric_difference(held)) if said is not None else []
    if apart and said is not None:
        which = "does not hold" if apart[0] in said else "holds, unlike the index says,"
        text = f"{_short(index)} and {shard} do not belong together: {shard} {which} {apart[0]}"
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
    """Header and content, or blocks of it. What `stat` says is the cache's key; `size` is also the limit."""
    digest = hashlib.sha256(f"{size}\n".encode())
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise _damaged(path, f"its header says {length} bytes")
        raw = file.read(length)
        try:
            tensors = json.loads(raw)
            tensors.pop("__metadata__", None)
            spans = {name: _span(entry) for name, entry in tensors.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(path, f"its header cannot be read ({error})") from error
        digest.update(raw)
        body = 8 + length
        if not spans or max(end for _, end, _ in spans.values()) + body != size:
            raise _damaged(path, f"it is {size} bytes long, its header says otherwise")
        if size <= WHOLE_BYTES:
            digest.update(hashlib.file_digest(file, "sha256").digest())
        else:
            for start, count in _samples(spans):
                file.seek(body + start)
                digest.update(file.read(count))
    dtypes: Counter[str] = Counter()
    for begin, end, dtype in spans.values():
        dtypes[dtype] += end - begin
    return _File(digest.hexdigest(), size - body, tuple(sorted(dtypes.items())), tuple(sorted(spans)))


def _samples(spans: Mapping[str, tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """Where to read in a large file: (offset, bytes) of each tensor's first, middle, last and some chosen blocks."""
    for name in sorted(spans, key=lambda name: spans[name][0]):
        begin, end, _ = spans[name]
        blocks = -(-(end - begin) // BLOCK_BYTES)
        if not blocks:
            continue
        # by the name: an edit of every n-th element, or of one half, cannot fall between all of them
        drawn = hashlib.sha256(name.encode()).digest()
        chosen = {int.from_bytes(drawn[4 * at : 4 * at + 4], "little") % blocks for at in range(CHOSEN_BLOCKS)}
        for block in sorted({0, blocks // 2, blocks - 1} | chosen):
            start = begin + block * BLOCK_BYTES
            yield start, min(BLOCK_BYTES, end - start)


def _span(entry: dict[str, Any]) -> tuple[int, int, str]:  # Any: a header entry as it stands in the file
    begin, end = entry["data_offsets"]
    dtype, shape = entry["dtype"], entry["shape"]
    if dtype in DTYPES and end - begin != math.prod(shape) * DTYPES[dtype][1]:
        raise ValueError(f"{dtype} {shape} does not take {end - begin} bytes")
    return int(begin), int(end), str(dtype)


def _damaged(path: str, why: str) -> Refused:
    return Refused(f"{_short(Path(path))} is damaged: {why}. Copy the file again", code="damaged_file")


def _short(path: Path) -> str:
    """The last two parts of a path: messages go to pages and logs, which need not know where the models lie."""
    return "/".join(path.parts[-2:])
