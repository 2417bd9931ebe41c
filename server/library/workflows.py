"""Saved workflows: plain files that people may also edit, copy and keep under version control themselves.

One file per workflow, `NAME.json`, in folders the operator named, in the data folder's `workflows/`, and, to read only, among
the shipped templates; of two of one name the first in this order counts, and new ones go into the first folder. What a save
replaces is kept as a version, in the data folder. The version of a content is the SHA-256 of its bytes, so an edit from
outside is noticed like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar

from graph.document import Document, Node, read_document, write_document
from graph.errors import WorkflowError
from graph.spec import Model
from nodes.models import list_models
from server import shipped
from server.assignments import PickedFile
from server.files import bring
from server.library.changes import Changes
from server.library.confine import Root
from server.library.folder import Content, Folder, Stamp
from server.library.names import is_fit_name
from server.library.node_types import Known, NodeTypes
from server.library.precondition import CREATE, Precondition, etag_of
from server.problems import Refusal
from server.usable import named_folder

_log: Final = logging.getLogger("latentgraph.library")

#: Larger files are listed and not read.
MOST_BYTES: Final = 16 << 20
#: Versions kept beside the current one.
MOST_VERSIONS: Final = 50
#: Files in the folder that new workflows go to.
MOST_WORKFLOWS: Final = 10_000

SHIPPED: Final = shipped.templates()
_SUFFIX: Final = ".json"
_SCHEMA_SUFFIX: Final = ".schema.json"
_LONGEST_MODEL_NAME: Final = 200
_VERSION: Final = re.compile(r"([0-9]{6})-([0-9a-f]{64})\.json")
_SHA256: Final = re.compile(rb'"sha256"\s*:\s*"([0-9a-f]{64})"')

T = TypeVar("T")
Source = Literal["own", "folder", "template"]


class Saved(NamedTuple):
    """A saved workflow as it lies there. `etag` is the version of `text`."""

    name: str
    text: bytes
    etag: str
    modified: float
    source: Source

    @property
    def is_read_only(self) -> bool:
        """Whether it is a shipped template; saving one makes a copy in the data folder."""
        return self.source == "template"

    def document(self) -> Document:
        """The document. Raises Refusal `invalid_workflow` with every problem of its form."""
        try:
            return read_document(self.text)
        except WorkflowError as error:
            raise Refusal.of_workflow(error) from error


class Entry(NamedTuple):
    """A row of the list. `problem` says why a file is no workflow; then title and what follows it is empty.

    `missing_types` and `missing_models` are what this machine does not have; None while the node types are not known.
    """

    name: str
    etag: str
    modified: float
    size_bytes: int
    source: Source
    title: str = ""
    description: str = ""
    nodes: int = 0
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    missing_types: tuple[str, ...] | None = None
    missing_models: tuple[str, ...] | None = None
    problem: str | None = None


class Version(NamedTuple):
    """A version of a workflow; the current one has the highest number."""

    number: int
    etag: str
    modified: float
    size_bytes: int
    is_current: bool


class _Place(NamedTuple):
    folder: Folder
    source: Source


class _Found(NamedTuple):
    """What a name stands for now."""

    place: _Place
    content: Content
    etag: str

    def saved(self, name: str) -> Saved:
        return Saved(name, self.content.data, self.etag, self.content.stamp.modified, self.place.source)


class _Reading(NamedTuple):
    """What the list needs of a file's content; kept while the file is unchanged."""

    etag: str
    facts: _Facts | None
    problem: str | None


class _Facts(NamedTuple):
    title: str
    description: str
    nodes: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: frozenset[str]
    #: (node type, port, text): what may be the name of a model, decided when the node types are known.
    texts: frozenset[tuple[str, str, str]]


class Workflows:
    """The saved workflows of a data folder. Methods work in threads, one change at a time; all raise Refusal."""

    def __init__(
        self, home: Path, node_types: NodeTypes, *, folders: Iterable[Path] = (), templates: Path | None = SHIPPED
    ) -> None:
        self._home, self._node_types = home, node_types
        self._own = _Place(Folder(Root(home), "workflows", "the workflows folder"), "own")
        named = [_Place(_named_folder(path), "folder") for path in folders]
        self._templates = templates if templates is not None and templates.is_dir() else None
        read_only = [_Place(Folder(Root(one), "", "the shipped workflows"), "template") for one in (self._templates,) if one]
        self._places = [*named, self._own, *read_only]
        self._versions = self._own.folder.inner(".versions")
        self._lock = threading.Lock()
        self._readings: dict[tuple[int, str], tuple[Stamp, _Reading]] = {}
        self._changes = Changes(self._stamps)

    # What others ask.

    async def start(self) -> None:
        """Remove what a killed server left half-written, and bring the files that the shipped workflows name."""
        await asyncio.to_thread(self._own.folder.sweep)
        await asyncio.to_thread(self._bring_shipped)

    async def entries(self) -> list[Entry]:
        """Every workflow, by name; files that cannot be read as one too, with the problem."""
        return await asyncio.to_thread(self._entries)

    async def read(self, name: str) -> Saved:
        """The workflow of this name, whatever its content. Raises Refusal `not_found`."""
        return (await asyncio.to_thread(self._find, name)).saved(name)

    async def document(self, name: str) -> Document:
        """The document saved under this name. Raises Refusal `not_found`, `invalid_workflow`."""
        return await asyncio.to_thread(lambda: self._find(name).saved(name).document())

    async def save(self, name: str, document: Document, precondition: Precondition) -> Saved:
        """Save under this name; what was there becomes a version. The same content again changes nothing.

        Raises Refusal `invalid` for a name that is none, `precondition_required`, `precondition_failed`, `disk_full`.
        """
        return await self._change(lambda: self._save(_checked(name), _text(document), precondition))

    async def delete(self, name: str, precondition: Precondition) -> None:
        """Remove the file; its content becomes a version, so that `restore` brings it back.

        Raises Refusal `not_found`, `forbidden` for a template, `precondition_required`, `precondition_failed`.
        """
        await self._change(lambda: self._delete(name, precondition))

    async def copy(self, name: str, new: str) -> Saved:
        """The same content under a new name, without its versions. Raises Refusal `precondition_failed` if that is taken."""
        return await self._change(lambda: self._copy(name, _checked(new)))

    async def rename(self, name: str, new: str, precondition: Precondition) -> Saved:
        """The workflow and its versions under a new name. Raises Refusal like `copy` and `delete`."""
        return await self._change(lambda: self._rename(name, _checked(new), precondition))

    async def versions(self, name: str) -> list[Version]:
        """The current version and those it replaced, newest first; also of a deleted workflow. Raises `not_found`."""
        return await asyncio.to_thread(self._version_list, name)

    async def version(self, name: str, number: int) -> Saved:
        """One version. Raises Refusal `not_found`."""
        return await asyncio.to_thread(self._version, name, number)

    async def restore(self, name: str, number: int, precondition: Precondition) -> Saved:
        """Save an earlier version as the newest one. Raises Refusal like `save`, and `not_found`."""
        return await self._change(lambda: self._restore(name, number, precondition))

    async def files(self) -> frozenset[str]:
        """SHA-256 (hex) of every upload that a saved workflow or a version of one names. Raises Refusal rather than miss one."""
        return await asyncio.to_thread(self._files)

    def changes(self) -> AsyncGenerator[frozenset[str], None]:
        """The names of workflows that were made, changed or removed, here or by another program, within about a second."""
        return self._changes.listen()

    # In threads.

    async def _change(self, step: Callable[[], T]) -> T:
        def locked() -> T:
            with self._lock:
                return step()

        try:
            return await asyncio.to_thread(locked)
        finally:
            self._changes.look_soon()

    def _find(self, name: str) -> _Found:
        found = self._look_up(name)
        if found is None:
            raise Refusal("not_found", f'There is no workflow "{name[:130]}". GET /v1/workflows lists all.')
        return found

    def _look_up(self, name: str) -> _Found | None:
        if not _is_name(name):
            return None
        for place in self._places:
            with contextlib.suppress(FileNotFoundError):
                content = place.folder.read(f"{name}{_SUFFIX}", MOST_BYTES)
                return _Found(place, content, etag_of(content.data))
        return None

    def _save(self, name: str, text: bytes, precondition: Precondition) -> Saved:
        found = self._look_up(name)
        precondition.check(found.etag if found else None, f'Workflow "{name}"')
        if found and found.content.data == text and found.place.source != "template":
            return found.saved(name)
        place = self._places[0] if found is None or found.place.source == "template" else found.place
        if found is None:
            self._refuse_many()
        elif place is found.place:
            self._keep(name, found)
        stamp = place.folder.write(f"{name}{_SUFFIX}", text)
        return Saved(name, text, etag_of(text), stamp.modified, place.source)

    def _refuse_many(self) -> None:
        count = len(self._places[0].folder.names())
        if count >= MOST_WORKFLOWS:
            raise Refusal("too_large", f"There are {count} saved workflows; at most {MOST_WORKFLOWS} are kept. Delete some.")

    def _delete(self, name: str, precondition: Precondition) -> None:
        found = self._find(name)
        _refuse_template(found, name)
        precondition.check(found.etag, f'Workflow "{name}"')
        self._keep(name, found)
        found.place.folder.remove(f"{name}{_SUFFIX}")

    def _copy(self, name: str, new: str) -> Saved:
        found = self._find(name)
        return self._save(new, found.content.data, CREATE)

    def _rename(self, name: str, new: str, precondition: Precondition) -> Saved:
        found = self._find(name)
        _refuse_template(found, name)
        precondition.check(found.etag, f'Workflow "{name}"')
        CREATE.check(self._etag(new), f'Workflow "{new}"')
        # The new name first: whatever breaks in between leaves the workflow under both rather than under none.
        stamp = found.place.folder.write(f"{new}{_SUFFIX}", found.content.data)
        self._move_versions(name, new)
        found.place.folder.remove(f"{name}{_SUFFIX}")
        return Saved(new, found.content.data, found.etag, stamp.modified, found.place.source)

    def _etag(self, name: str) -> str | None:
        found = self._look_up(name)
        return found.etag if found else None

    def _entries(self) -> list[Entry]:
        kinds = self._node_types.known if self._node_types.is_known else None
        models = {model.name for model in list_models(self._home)}
        seen: dict[str, Entry] = {}
        current: dict[tuple[int, str], tuple[Stamp, _Reading]] = {}
        for position, place in enumerate(self._places):
            for name, stamp in _workflow_stamps(place).items():
                if name in seen:
                    continue
                reading = self._reading(position, name, stamp)
                if reading is not None:
                    current[position, name] = (stamp, reading)
                    seen[name] = _entry(name, place.source, stamp, reading, kinds, models)
        self._readings = current
        return [seen[name] for name in sorted(seen, key=lambda name: (name.casefold(), name))]

    def _reading(self, position: int, name: str, stamp: Stamp) -> _Reading | None:
        """What the list needs of a file, read only if it changed; None if it is gone again."""
        kept = self._readings.get((position, name))
        if kept is not None and kept[0] == stamp:
            return kept[1]
        try:
            content = self._places[position].folder.read(f"{name}{_SUFFIX}", MOST_BYTES)
        except FileNotFoundError:
            return None
        except Refusal as refusal:
            return _Reading("", None, refusal.message)
        return _read(content.data)

    def _stamps(self) -> Mapping[str, object]:
        found: dict[str, object] = {}
        for position, place in enumerate(self._places):
            for name, stamp in _workflow_stamps(place).items():
                found.setdefault(name, (position, stamp))
        return found

    def _bring_shipped(self) -> None:
        """A template's files lie beside it; a job needs them among the uploads."""
        if self._templates is None:
            return
        folder = self._templates
        named: set[tuple[str, str]] = set()
        for text in contents(self._places[-1].folder):
            with contextlib.suppress(WorkflowError):  # it is listed with its problem
                named |= _named_files(read_document(text))
        for one in [PickedFile(folder / name, digest) for name, digest in named if name and (folder / name).is_file()]:
            try:
                bring(self._home, [one])
            except WorkflowError as error:
                _log.warning("A shipped workflow lacks a file: %s", error)

    def _files(self) -> frozenset[str]:
        named: set[str] = set()
        for place in self._places:
            named.update(*map(file_names, contents(place.folder)))
        for name in self._versions.names():
            named.update(*map(file_names, contents(self._versions.inner(name))))
        return frozenset(named)

    # Versions.

    def _kept(self, name: str) -> list[tuple[int, str, Stamp]]:
        """The replaced versions: number, etag, stamp; oldest first."""
        found = []
        for file, stamp in self._versions.inner(name).stamps().items():
            match = _VERSION.fullmatch(file)
            if match:
                found.append((int(match[1]), match[2], stamp))
        return sorted(found)

    def _keep(self, name: str, found: _Found) -> None:
        """Make what is about to be replaced a version; the oldest beyond `MOST_VERSIONS` go."""
        kept = self._kept(name)
        if kept and kept[-1][1] == found.etag:
            return  # kept before a crash, or deleted and brought back
        folder = self._versions.inner(name)
        folder.write(_version_file(kept[-1][0] + 1 if kept else 1, found.etag), found.content.data)
        for number, etag, _ in kept[: len(kept) + 1 - MOST_VERSIONS] if len(kept) >= MOST_VERSIONS else ():
            folder.remove(_version_file(number, etag))

    def _version_list(self, name: str) -> list[Version]:
        current = self._look_up(name)
        kept = self._kept(name) if _is_name(name) else []
        if current is None and not kept:
            raise Refusal("not_found", f'There is no workflow "{name[:130]}". GET /v1/workflows lists all.')
        found = [Version(number, etag, stamp.modified, stamp.size_bytes, False) for number, etag, stamp in reversed(kept)]
        if current is None:
            return found
        stamp = current.content.stamp
        if found and found[0].etag == current.etag:
            del found[0]  # a crash came between keeping it and replacing it
        number = found[0].number + 1 if found else 1
        return [Version(number, current.etag, stamp.modified, stamp.size_bytes, True), *found]

    def _version(self, name: str, number: int) -> Saved:
        for version in self._version_list(name):
            if version.number == number and version.is_current:
                return self._find(name).saved(name)
            if version.number == number:
                content = self._versions.inner(name).read(_version_file(number, version.etag), MOST_BYTES)
                return Saved(name, content.data, etag_of(content.data), content.stamp.modified, "own")
        raise Refusal("not_found", f'Workflow "{name}" has no version {number}. GET /v1/workflows/{name}/versions lists them.')

    def _restore(self, name: str, number: int, precondition: Precondition) -> Saved:
        text = _text(self._version(name, number).document())
        return self._save(name, text, precondition)

    def _move_versions(self, name: str, new: str) -> None:
        source = self._versions.inner(name)
        taken = self._kept(new)
        first = taken[-1][0] + 1 if taken else 1
        for offset, (number, etag, _) in enumerate(self._kept(name)):
            file = _version_file(number, etag)
            self._versions.inner(new).write(_version_file(first + offset, etag), source.read(file, MOST_BYTES).data)
            source.remove(file)


def _named_folder(path: Path) -> Folder:
    """A folder that the operator named. Raises WrongUsage if there is none; a link is refused when it is read."""
    path = named_folder(path, "workflows_folder")
    return Folder(Root(path.parent), path.name, f'the workflows folder "{path.name}"')


def _is_name(name: str) -> bool:
    """Whether a workflow can have this name (spec L3); a JSON Schema beside the workflows is none."""
    return is_fit_name(name) and not f"{name}{_SUFFIX}".endswith(_SCHEMA_SUFFIX)


#: Names that are taken by addresses beside those of workflows: POST /v1/workflows/plan and the like.
_TAKEN: Final = frozenset(("plan", "validate", "why"))


def _checked(name: str) -> str:
    if name.lower() in _TAKEN:
        raise Refusal(
            "invalid", f'"{name}" cannot be the name of a workflow: the API has an address of that name. Choose another name.'
        )
    if not _is_name(name):
        message = (
            f'"{name[:130]}" cannot be the name of a workflow: a letter or digit, then up to 127 letters, digits, spaces, "_", '
            '"-" and dots, never two dots in a row, none at the end, and no name that Windows keeps. Choose another name.'
        )
        raise Refusal("invalid", message)
    return name


def _refuse_template(found: _Found, name: str) -> None:
    if found.place.source == "template":
        message = f'Workflow "{name}" is a shipped template, which stays as it is. Save or copy it, and change your own.'
        raise Refusal("forbidden", message)


def _text(document: Document) -> bytes:
    try:
        return write_document(document).encode()
    except WorkflowError as error:
        raise Refusal.of_workflow(error) from error


def _workflow_stamps(place: _Place) -> dict[str, Stamp]:
    """The stamp of each workflow file of a place, by the workflow's name."""
    stamps = place.folder.stamps().items()
    found = {file.removesuffix(_SUFFIX): stamp for file, stamp in stamps if file.endswith(_SUFFIX)}
    return {name: stamp for name, stamp in found.items() if _is_name(name)}


def _version_file(number: int, etag: str) -> str:
    return f"{number:06}-{etag}{_SUFFIX}"


def contents(folder: Folder) -> Iterator[bytes]:
    """Every workflow or draft file's bytes, too large ones left out. Raises Refusal if one cannot be read now.

    So that whoever asks which uploads are named does not take a file that cannot be read for one that names none.
    """
    for name, stamp in folder.stamps().items():
        if name.endswith(_SUFFIX) and stamp.size_bytes <= MOST_BYTES:
            with contextlib.suppress(FileNotFoundError):
                yield folder.read(name, MOST_BYTES).data


def file_names(text: bytes) -> frozenset[str]:
    """SHA-256 (hex) of the files that a document's text names, whatever else it is: rather one too many than one too few."""
    return frozenset(digest.decode() for digest in _SHA256.findall(text))


# What the list shows.


def _read(text: bytes) -> _Reading:
    try:
        document = read_document(text)
    except WorkflowError as error:
        return _Reading(etag_of(text), None, error.problems[0].message)
    return _Reading(etag_of(text), _facts(document), None)


def _facts(document: Document) -> _Facts:
    nodes = _all_nodes(document)
    return _Facts(
        title=document.name,
        description=document.description,
        nodes=len(nodes),
        inputs=tuple(document.inputs),
        outputs=tuple(document.outputs),
        types=frozenset(node.type for node in nodes if node.type[1:] not in document.subgraphs or node.type[0] != "#"),
        texts=_texts_of(document),
    )


def _texts_of(document: Document) -> frozenset[tuple[str, str, str]]:
    """(node type, port, text) of every short text that is written at an input, those of subgraphs too."""
    return frozenset(
        (node.type, port, value)
        for node in _all_nodes(document)
        for port, value in node.inputs.items()
        if type(value) is str and len(value) <= _LONGEST_MODEL_NAME
    )


def _named_files(document: Document) -> set[tuple[str, str]]:
    """(name, SHA-256) of the files at the document's inputs."""
    values = [value for node in _all_nodes(document) for value in node.inputs.values() if type(value) is dict]
    found = ((value.get("file"), value.get("sha256")) for value in values)
    return {(name, digest) for name, digest in found if type(name) is type(digest) is str and "/" not in name}


def _all_nodes(document: Document) -> list[Node]:
    inner = (node for subgraph in document.subgraphs.values() for node in subgraph.nodes.values())
    return [*document.nodes.values(), *inner]


def _entry(name: str, source: Source, stamp: Stamp, reading: _Reading, kinds: Known | None, models: set[str]) -> Entry:
    head = Entry(name, reading.etag, stamp.modified, stamp.size_bytes, source, problem=reading.problem)
    facts = reading.facts
    if facts is None:
        return head
    return head._replace(
        title=facts.title,
        description=facts.description,
        nodes=facts.nodes,
        inputs=facts.inputs,
        outputs=facts.outputs,
        missing_types=None if kinds is None else tuple(sorted(kind for kind in facts.types if kinds.find(kind) is None)),
        missing_models=None if kinds is None else tuple(sorted(_model_names(facts, kinds) - models)),
    )


def _model_names(facts: _Facts, kinds: Known) -> set[str]:
    """The models that the document names at inputs that take one."""
    found = set()
    for kind, port, text in facts.texts:
        spec = kinds.find(kind)
        place = spec.port(port) if spec is not None else None
        if place is not None and isinstance(place.hint, Model):
            found.add(text)
    return found
