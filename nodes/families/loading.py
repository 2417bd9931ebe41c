"""Loading a part by its library, and refusing weights that are not all of it.

The libraries fill what a file lacks with random numbers and say so in a log; here it is an error.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def load_whole(model: Any, folder: Path, dtype: torch.dtype | None, extra: Collection[str] = ()) -> Any:
    """`model.from_pretrained(folder)`, of safetensors files only (Any: a class of diffusers or transformers).

    Raises ValueError if the weights lack a tensor of the model, hold one of another shape, or hold one that the model
    has no place for and that is not named in `extra`.
    """
    try:
        live, told = model.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
    except RuntimeError as error:
        if "mismatch" not in str(error):
            raise
        first = str(error).strip().splitlines()
        shown = next((line.strip() for line in first if "size mismatch" in line), first[0])
        raise ValueError(f"the weights in {folder.name} do not fit its config.json ({shown}). {ADVICE}") from error
    _refuse(folder, "lack", told["missing_keys"], "of the model")
    _refuse(folder, "have the wrong shape for", told["mismatched_keys"], "of the model")
    _refuse(folder, "hold", set(map(str, told["unexpected_keys"])) - set(extra), "that the model has no place for")
    return live


#: What helps against parts that do not fit each other.
ADVICE = "Copy the model folder again, all files from one model"


def _refuse(folder: Path, what: str, keys: Collection[object], which: str) -> None:
    if keys:
        names = sorted(str(key[0]) if isinstance(key, tuple) else str(key) for key in keys)
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        tensors = "1 tensor" if len(names) == 1 else f"{len(names)} tensors"
        raise ValueError(f"the weights in {folder.name} {what} {tensors} {which} ({shown}). {ADVICE}")
