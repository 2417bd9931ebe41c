"""The node types as the server knows them: from the catalogue in the data folder, without importing any.

The one remembered from the last time is used at once, even if sources have changed since, so that the page opens while
the engine starts; the engine makes it anew where needed, says so (`Hello`), and it is read again.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from graph.catalogue import FILE_NAME, Catalogue
from graph.schema import node_schema
from graph.spec import NodeSpec
from graph.types import PLAIN_NAMES, TypeRef, fits
from server.problems import Refusal

#: A first start imports torch, diffusers and transformers: 5 to 12 s measured on two busy cores.
RETRY_AFTER_S: Final = 2.0
_LETTER: Final = "T"
#: Absolute paths up to their last part: where things lie here is nobody's business.
_FOLDERS: Final = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\":,()]+[/\\])*(?=[^\s/\\'\":,()]+)")


@dataclass(frozen=True)
class Known:
    """One reading of the catalogue."""

    catalogue: Catalogue
    #: Digest of the file's bytes.
    version: str

    @cached_property
    def specs(self) -> Mapping[str, NodeSpec]:
        """Node types by id, sorted."""
        return {spec.id: spec for spec in sorted(self.catalogue.specs, key=lambda spec: spec.id)}

    @cached_property
    def former(self) -> Mapping[str, str]:
        """Today's id by former id."""
        return {was: spec.id for spec in self.specs.values() for was in spec.was}

    def find(self, type_id: str) -> NodeSpec | None:
        """The node type of this id or former id."""
        return self.specs.get(self.former.get(type_id, type_id))

    @cached_property
    def body(self) -> bytes:
        """What `GET /v1/nodes` answers, as JSON."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def packed(self) -> bytes:
        """The same, gzipped."""
        return gzip.compress(self.body, 6, mtime=0)

    @cached_property
    def etag(self) -> str:
        """Changes whenever `body` does."""
        return hashlib.sha256(self.body).hexdigest()[:32]

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON
        """The whole catalogue for clients: node types with their schemas, wire types, who fits whom, packs."""
        return {
            "version": self.version,
            "nodes": [type_json(spec) for spec in self.specs.values()],
            "types": [{"name": name, "plain": name in PLAIN_NAMES.values()} for name in self._wire_names()],
            "fits": fit_table(self._port_types()),
            "packs": self._packs(),
        }

    def _wire_names(self) -> list[str]:
        named = {ref.name for ref in self._port_types() if not ref.is_generic}
        return sorted(named | self.catalogue.wire_entries.keys() | set(PLAIN_NAMES.values()))

    def _port_types(self) -> set[TypeRef]:
        specs = self.specs.values()
        inputs = {port.type for spec in specs for port in spec.inputs}
        return inputs | {port.type for spec in specs for port in spec.outputs}

    def _packs(self) -> list[dict[str, Any]]:
        broken = {entry.pack.name: entry.reason for entry in self.catalogue.broken}
        packs = {pack.name: pack for pack in (*self.catalogue.packs, *(entry.pack for entry in self.catalogue.broken))}
        return [
            {
                "name": name,
                "distribution": pack.distribution,
                "version": pack.version,
                "nodes": sum(type_id.startswith(f"{name}/") for type_id in self.specs),
                "problem": without_folders(broken[name]) if name in broken else None,
            }
            for name, pack in sorted(packs.items())
        ]


class NodeTypes:
    """The node types of the data folder `home`; nothing is read before `load`."""

    def __init__(self, home: Path, *, packs: bool = True) -> None:
        self._path = home / (FILE_NAME if packs else f"no-packs-{FILE_NAME}")
        self._known: Known | None = None

    async def load(self) -> bool:
        """Read the catalogue file, in a thread; whether there is a usable one. One that is not leaves all as it was."""
        found = await asyncio.to_thread(_read, self._path)
        if found is not None and (self._known is None or found.version != self._known.version):
            self._known = found
        return found is not None

    @property
    def is_known(self) -> bool:
        """Whether there are node types yet."""
        return self._known is not None

    @property
    def known(self) -> Known:
        """The reading in use. Raises Refusal `catalogue_unavailable` before there is any."""
        if self._known is None:
            message = "The node types are not known yet: the engine reads them at its first start. Try again in a moment."
            raise Refusal("catalogue_unavailable", message, retry_after_s=RETRY_AFTER_S)
        return self._known

    @property
    def specs(self) -> Mapping[str, NodeSpec]:
        """Node types by id. Raises Refusal `catalogue_unavailable`."""
        return self.known.specs

    @property
    def version(self) -> str:
        """A digest of the catalogue in use; "" before there is any."""
        return self._known.version if self._known else ""

    def find(self, type_id: str) -> NodeSpec:
        """The node type of this id or former id. Raises Refusal `not_found` or `catalogue_unavailable`."""
        spec = self.known.find(type_id)
        if spec is None:
            raise Refusal("not_found", f'There is no node type "{type_id[:130]}". GET /v1/nodes lists all.')
        return spec


def _read(path: Path) -> Known | None:
    try:
        data = path.read_bytes()
        known = Known(Catalogue.from_json(json.loads(data)), hashlib.sha256(data).hexdigest())
        known.packed  # noqa: B018  # made here, in the thread: the page asks for it first
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # missing, damaged or of another version: the engine makes it again
    return known


def type_json(spec: NodeSpec) -> dict[str, Any]:  # Any: plain JSON
    """A node type as clients see it: the catalogue's form without what only a worker needs, and its JSON Schema."""
    found = spec.to_json()
    for name in ("entry", "code", "resolves"):
        del found[name]
    return {**found, "pack": spec.id.partition("/")[0] if "/" in spec.id else None, "node_schema": node_schema(spec)}


def fit_table(types: Iterable[TypeRef]) -> dict[str, dict[str, str]]:
    """Which type may go into which port: by the output's type, by the port's: "direct", or "map" (runs once per element).

    What is not there does not fit. A mapped node gives lists, so each type is here as a list too. T stands for any
    letter: as an output, what its ports T are linked to (unknown: it fits all); ports T of one node take one type, and
    int beside float becomes float.
    """
    names = {_LETTER if ref.is_generic else ref.name for ref in types}
    refs = [TypeRef(name, is_list) for name in sorted(names) for is_list in (False, True)]
    return {str(source): {str(target): fit for target in refs if (fit := fits(source, target)) != "no"} for source in refs}


def without_folders(text: str) -> str:
    """The text with each absolute path cut down to its last part."""
    return _FOLDERS.sub("", text)
