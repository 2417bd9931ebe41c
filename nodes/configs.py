"""The JSON files of a model folder: read whole, their identity, and what in them is refused before a library sees them.

A model's files describe numbers. What names code, asks a library for other loaders or other places, or asks for more
than any machine holds is refused by its key, whatever the library would make of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from graph.errors import Refused
from nodes.file_kinds import kind_of

MAX_CONFIG_BYTES: Final = 16 * 2**20
MAX_DEPTH: Final = 32
#: Keys that make a library load code, another repository, or weights by a way of their own.
CODE_KEYS: Final = frozenset(
    (
        "auto_map", "custom_pipeline", "custom_pipelines", "custom_code", "trust_remote_code", "code_revision",
        "attn_implementation", "_attn_implementation", "experts_implementation", "_experts_implementation",
        "quantization_config", "base_model_name_or_path", "adapter_kwargs",
    )
)  # fmt: skip
#: The largest number by what its key contains; the first that fits counts. A config.json of 10^9 layers must not be built.
LIMITS: Final = (("theta", 10**12), ("layer", 1000), ("timesteps", 100_000), ("axes_lens", 2**17), ("head", 2**14), ("", 2**25))
MAX_ITEMS: Final = 10_000


def read_config(path: Path, limit: int = MAX_CONFIG_BYTES) -> dict[str, Any]:  # Any: JSON, each family reads what it knows
    """A component's JSON file. Raises `Refused` if it is missing, too large or not a JSON object."""
    if not path.is_file():
        raise Refused(f"{short(path)} is missing; the model folder is incomplete, copy it again", code="missing_file")
    with open(path, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Refused(f"{short(path)} is larger than {limit >> 20} MiB; copy the file again", code="damaged_file")
    known = kind_of(data)
    if known is not None:
        raise Refused(f"{short(path)} is no JSON but {known[0]}: {known[1]}", code="damaged_file")
    try:
        config = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"{short(path)} is not readable JSON ({str(error)[:200]}); copy the file again", code="damaged_file"
        ) from error
    if not isinstance(config, dict):
        raise Refused(f"{short(path)} holds no JSON object; copy the file again", code="damaged_file")
    return config


def config_identity(config: Mapping[str, Any]) -> str:  # Any: as read_config
    """SHA-256 (hex) of a configuration, without the notes that libraries leave in it (`_diffusers_version`, ...)."""
    kept = {key: value for key, value in config.items() if not key.startswith("_") or key == "_class_name"}
    kept.pop("transformers_version", None)
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def class_of(config: Mapping[str, Any]) -> str:  # Any: as read_config
    """The class that a configuration describes, as diffusers or as transformers notes it; what is no text is shown as JSON."""
    found = config.get("_class_name")
    if not found:
        named = config.get("architectures")
        found = named[0] if isinstance(named, list) and named else named or ""
    return found if isinstance(found, str) else json.dumps(found)[:80]


def refuse_dangerous(config: Mapping[str, Any], where: Path) -> None:  # Any: as read_config
    """Raise `Refused` for a configuration that asks for code, or for a number or a list beyond all reason."""
    for key, value, depth in _walk(config):
        if key in CODE_KEYS and value is not None and value is not False:
            text = f'{short(where)} sets "{key}", which makes a library load other code or weights than those of this folder'
            raise Refused(f"{text}. Take the model in the plain layout of its family", port="model", code="code_in_model")
        limit = next(most for part, most in LIMITS if part in key)
        if isinstance(value, (int, float)) and not -limit <= value <= limit:
            text = f"{short(where)} sets {key[:60]} to {str(value)[:30]}; up to {limit} is taken"
            raise Refused(f"{text}. Copy the file again", port="model", code="out_of_range")
        if isinstance(value, (list, dict)) and (len(value) > MAX_ITEMS or depth > MAX_DEPTH):
            text = f"{short(where)} holds {len(value)} items under {key[:60]} at depth {depth}"
            raise Refused(
                f"{text}; up to {MAX_ITEMS} at depth {MAX_DEPTH} are taken. Copy the file again",
                port="model",
                code="out_of_range",
            )


def refuse_code_files(folder: Path) -> None:
    """Raise `Refused` if a model folder holds a file that a library would run or be led elsewhere by."""
    for path in sorted(folder.iterdir() if folder.is_dir() else ()):
        if path.suffix.lower() in (".py", ".pyc", ".so", ".pyd", ".dll") or path.name == "adapter_config.json":
            text = f"{short(path)} is code, or leads to other files, and a model of data alone is taken"
            raise Refused(
                f"{text}. Remove it if the model works without, else choose another model", port="model", code="code_in_model"
            )


def short(path: Path) -> str:
    """The last two parts of a path: messages go to pages and logs, which need not know where the models lie."""
    return "/".join(path.parts[-2:])


def _walk(config: Mapping[str, Any]) -> Iterator[tuple[str, Any, int]]:  # Any: as read_config
    """Every (key, value, depth); the elements of a list go by the list's key. Without recursion."""
    waiting: list[tuple[str, Any, int]] = [("", config, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        yield key, value, depth
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, Mapping):
            waiting.extend((name, item, depth + 1) for name, item in value.items())
        elif isinstance(value, list):
            waiting.extend((key, item, depth + 1) for item in value)
