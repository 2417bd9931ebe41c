"""The files of a tokenizer: which there are, their identity, and limits before the library builds anything of them.

A chat template among them is text that enters the identity and is never rendered: families write their prompts themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from graph.errors import Refused
from nodes.configs import read_config, refuse_code_files, refuse_dangerous, short

FILES: Final = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
)
MAX_FILE_BYTES: Final = 64 * 2**20
MAX_TOKENS: Final = 1_000_000
MAX_ID: Final = 2**24
#: The longest pattern by which a text is cut up; those of published tokenizers have some 150 characters.
MAX_PATTERN: Final = 10_000
_VOCABULARIES: Final = (("tokenizer.json",), ("vocab.json", "merges.txt"))


def check_tokenizer(folder: Path, classes: tuple[str, ...]) -> None:
    """Look at the files that planning may look at: names, sizes, the configuration.

    Raises `Refused` unless there is a vocabulary, in one file or in two, and a configuration of one of `classes`.
    """
    refuse_code_files(folder)
    config = read_config(folder / "tokenizer_config.json")
    refuse_dangerous(config | {"model_max_length": 0}, folder / "tokenizer_config.json")  # 10^30 there means "no limit"
    found = config.get("tokenizer_class")
    if found not in classes:
        text = f'{short(folder)}/tokenizer_config.json describes a "{str(found)[:60]}", and {" or ".join(classes)} is taken'
        raise Refused(f"{text}; use parts of one model", port="model", code="family_mismatch")
    if not any(all((folder / name).is_file() for name in names) for names in _VOCABULARIES):
        text = f"{folder.name} holds neither tokenizer.json nor vocab.json with merges.txt"
        raise Refused(f"{text}; the model folder is incomplete, copy it again", code="missing_file")
    for name in FILES:
        path = folder / name
        if path.is_file() and path.stat().st_size > MAX_FILE_BYTES:
            text = f"{short(path)} has {path.stat().st_size} bytes, and {MAX_FILE_BYTES} are taken"
            raise Refused(f"{text}; copy the file again", port="model", code="out_of_range")


def tokenizer_identity(folder: Path) -> str:
    """SHA-256 (hex) over the names and bytes of the tokenizer's files."""
    digest = hashlib.sha256()
    for name in sorted(FILES):
        path = folder / name
        if path.is_file():
            digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def check_vocabulary(folder: Path) -> None:
    """Look into the vocabulary, in the worker that is about to build it. Raises `Refused` for one beyond the limits."""
    for name in ("tokenizer.json", "vocab.json", "added_tokens.json"):
        path = folder / name
        if path.is_file():
            config = read_config(path, MAX_FILE_BYTES)
            _check_ids(path, _entries(config) if name == "tokenizer.json" else config.items())
            if name == "tokenizer.json":
                _check_patterns(path, config)


def _entries(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:  # Any: JSON
    """Every (token, id) of a tokenizer.json; tokens without an id of their own are numbered."""
    model = config.get("model")
    words = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(words, dict):
        yield from words.items()
    elif isinstance(words, list):
        yield from (("", number) for number in range(len(words)))
    added = config.get("added_tokens")
    for token in added if isinstance(added, list) else ():
        yield ("", token.get("id")) if isinstance(token, dict) else ("", None)


def _check_ids(path: Path, entries: Any) -> None:  # Any: pairs of token and whatever stands there for its id
    count = 0
    for count, (token, id) in enumerate(entries, 1):
        if count > MAX_TOKENS:
            raise Refused(f"{short(path)} holds more than {MAX_TOKENS} tokens; copy the file again", code="out_of_range")
        if type(id) is not int or not 0 <= id < MAX_ID:
            text = f'{short(path)} gives the token "{token[:40]}" the id {str(id)[:30]}; ids are from 0 to {MAX_ID - 1}'
            raise Refused(f"{text}. Copy the file again", code="out_of_range")


def _check_patterns(path: Path, config: Mapping[str, Any]) -> None:  # Any: JSON
    waiting: list[Any] = [config.get(part) for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            pattern = value.get("Regex")
            if isinstance(pattern, str) and len(pattern) > MAX_PATTERN:
                text = f"{short(path)} holds a pattern of {len(pattern)} characters, and {MAX_PATTERN} are taken"
                raise Refused(f"{text}. Copy the file again", code="out_of_range")
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
