"""The models of this machine, by name: what they are, how large, and removing one that lies in the data folder.

Only what lies in the data folder itself is ever removed: not what a link leads to, not the shipped miniature, not folders
the operator named (spec L11). A name is resolved folder by folder, without following links (spec K7).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from graph.compile import Compiled
from graph.errors import Problem, nearest
from graph.jsontext import JsonError, read_json
from nodes.models import MINI, ModelFolder, list_models, mini_folder, unknown_models
from server.problems import Refusal

Where = Literal["data folder", "elsewhere", "shipped"]

_INDEX: Final = "model_index.json"
_MOST_INDEX_BYTES: Final = 1 << 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: What is being removed has such a name: it is no model's, and the next start removes what is left of it.
_REMOVED: Final = re.compile(r"\.removed-[0-9a-f]{16}")


class ModelEntry(NamedTuple):
    """A model. `pipeline` is the class its index names, "" if that cannot be read; `where` says where it lies, roughly."""

    name: str
    pipeline: str
    size_bytes: int
    where: Where

    @property
    def can_be_removed(self) -> bool:
        """Whether it lies in the data folder itself."""
        return self.where == "data folder"


class ModelFolders:
    """The models that workflows can name; async methods work in threads and raise Refusal."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def start(self) -> None:
        """Finish removals that a killed server had begun."""
        await asyncio.to_thread(self._sweep)

    async def entries(self) -> list[ModelEntry]:
        """Every model, by name."""
        return await asyncio.to_thread(lambda: [self._entry(model) for model in list_models(self._home)])

    async def read(self, name: str) -> ModelEntry:
        """One model. Raises Refusal `not_found`."""
        return await asyncio.to_thread(self._read, name)

    async def demand_removable(self, name: str) -> None:
        """Raise Refusal as `remove` would, and remove nothing."""
        await asyncio.to_thread(self._demand_removable, name)

    def missing(self, compiled: Compiled) -> list[Problem]:
        """One problem per model that a workflow names and that is not here; called in any thread."""
        return list(unknown_models(compiled, self._home))

    async def remove(self, name: str) -> None:
        """Remove a model's folder for good. Raises Refusal `not_found`, and `forbidden` for what is not in the data folder.

        Whether something uses it is for the caller to know.
        """
        await asyncio.to_thread(self._remove, name)

    def _read(self, name: str) -> ModelEntry:
        models = {model.name: model for model in list_models(self._home)}
        if name not in models:
            raise Refusal("not_found", f'There is no model "{name[:200]}".{nearest(name, models)}')
        return self._entry(models[name])

    def _entry(self, model: ModelFolder) -> ModelEntry:
        return ModelEntry(model.name, _pipeline(model.folder), _size(model.folder), self._where(model))

    def _where(self, model: ModelFolder) -> Where:
        if model.name == MINI and model.folder == mini_folder():
            return "shipped"
        try:
            with self._opened(model.name) as (_, last, above):
                os.close(os.open(last, _FOLDER, dir_fd=above))
        except OSError:
            return "elsewhere"
        return "data folder"

    def _demand_removable(self, name: str) -> None:
        entry = self._read(name)
        if not entry.can_be_removed:
            where = "is shipped with the program" if entry.where == "shipped" else "does not lie in the data folder"
            raise Refusal("forbidden", f'Model "{name}" {where}, so it is not removed here. Remove it yourself where it lies.')

    def _remove(self, name: str) -> None:
        self._demand_removable(name)
        hidden = f".removed-{secrets.token_hex(8)}"
        try:
            with self._opened(name) as (models, last, above):
                os.rename(last, hidden, src_dir_fd=above, dst_dir_fd=models)  # from now on nobody finds it
                os.fsync(models)
                shutil.rmtree(hidden, dir_fd=models)
        except FileNotFoundError:
            raise Refusal("not_found", f'Model "{name}" was removed meanwhile.') from None
        except OSError as error:
            message = f'Model "{name}" may not be removed by the server. Change the permissions of its folder.'
            raise Refusal("forbidden", message) from error

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[int, str, int]]:
        """The models folder, the last part of the name, and the folder that part is in, each opened without following links."""
        *folders, last = name.split("/")
        with contextlib.ExitStack() as open_:

            def enter(part: str, folder: int | None) -> int:
                handle = os.open(part, _FOLDER, dir_fd=folder)
                open_.callback(os.close, handle)
                return handle

            home = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            open_.callback(os.close, home)
            models = above = enter("models", home)
            for part in folders:
                above = enter(part, above)
            yield models, last, above

    def _sweep(self) -> None:
        with contextlib.suppress(OSError), self._opened("-") as (models, _, _):
            for name in os.listdir(models):
                if _REMOVED.fullmatch(name):
                    shutil.rmtree(name, ignore_errors=True, dir_fd=models)


def _pipeline(folder: Path) -> str:
    try:
        with (folder / _INDEX).open("rb") as file:
            index = read_json(file.read(_MOST_INDEX_BYTES))
    except (OSError, JsonError):
        return ""
    name = index.get("_class_name") if isinstance(index, dict) else None
    return name[:200] if isinstance(name, str) else ""


def _size(folder: Path) -> int:
    """Bytes of its files. Links to files count as what they are."""
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(above, name)).st_size
    return total
