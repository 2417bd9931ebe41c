"""Whether what the settings name can be used on this machine: `serve` refuses to start where it cannot, `doctor` tells.

Whether a value has the right form is for `server.configuration` to say. Needs neither pydantic nor anything else that is
heavy: `serve` looks before it prints its link, and the link must come at once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from graph.errors import nearest
from server.settings import FLAGS, WrongUsage, parse_devices


class Given(NamedTuple):
    """A setting's name and value, and the flag, the variable or the file that gives it."""

    name: str
    value: Any  # Any: each setting has its own
    source: str

    @property
    def where(self) -> str:
        """What is to be mended: the flag or the variable, or the file and the setting's name in it."""
        return f"{self.source}: {self.name}" if os.sep in self.source else self.source


def given_by_flags(flags: Mapping[str, Any]) -> dict[str, Given]:  # Any: plain values
    """The settings of `serve` where nothing but flags says anything; those that are None do not count."""
    return {name: Given(name, value, FLAGS[name]) for name, value in flags.items() if value is not None}


def refuse_unusable(settings: Mapping[str, Given]) -> None:
    """Raises WrongUsage for the first setting that cannot be used here, with its place and what to do."""
    for error in unusable(settings):
        raise error


def unusable(settings: Mapping[str, Given]) -> Iterator[WrongUsage]:
    """Every setting that cannot be used here. Leaves nothing behind on the disk."""
    for name, check in _CHECKS.items():
        setting = settings.get(name)
        if setting is not None and setting.value is not None:
            try:
                check(setting.value, setting.where)
            except WrongUsage as error:
                yield error


def named_folder(path: Path, where: str) -> Path:
    """The absolute path of a folder of workflows that the operator named. Raises WrongUsage if there is none."""
    path = path.expanduser().absolute()
    if not path.is_dir() or path.name in ("", ".."):
        raise WrongUsage(f"{where} names {path}, which is no folder. Name the folder that holds your workflow files.")
    return path


def why_unwritable(folder: Path) -> str:
    """Why nothing can be written to a folder, which need not exist yet; "" if something can. Leaves nothing behind."""
    place = folder.absolute()
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    try:
        if not place.is_dir():
            return f"{place} is no folder"
        if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
            return f"{place} is not yours to write"
        with tempfile.TemporaryDirectory(dir=place):  # tried: in /proc nothing is made, whatever its permissions say
            return ""
    except OSError as error:
        return f"{place} takes nothing new: {error.strerror or error}"


def unknown_limits(limits: Given, known: Collection[str]) -> Iterator[str]:
    """A sentence on each name under `time_limits_s` that is no node type. They stop nothing: a pack may come back."""
    for name in sorted(set(limits.value) - set(known)):
        yield f'{limits.where} names "{name}", which is no node type here, so nothing has that limit.{nearest(name, known)}'


def _check_devices(text: str, where: str) -> None:
    from nodes.devices import accelerators_at_once

    parse_devices(text, accelerators_at_once(), where)


def _check_output_folder(folder: Path, where: str) -> None:
    reason = why_unwritable(folder)
    if reason:
        raise WrongUsage(f"{where} names {folder}, where nothing can be saved ({reason}). Name a folder that can be written.")


def _check_webhooks(targets: Mapping[str, Any], where: str) -> None:  # Any: the settings' own type, which needs pydantic
    if not targets:
        return
    from server.jobs.webhooks import Deliveries, Webhooks

    try:
        Webhooks.of(targets, cast(Deliveries, None))  # it judges each address when it is made, and asks the store nothing
    except WrongUsage as error:
        raise WrongUsage(f"{error} It stands in {where}.") from None


_CHECKS: Final[Mapping[str, Callable[[Any, str], object]]] = {  # Any: the value, see Given
    "devices": _check_devices,
    "workflows_folder": named_folder,
    "output_folder": _check_output_folder,
    "webhooks": _check_webhooks,
}
