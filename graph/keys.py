"""Keys: what makes two executions the same, as 32-byte SHA-256 digests.

A task's *skeleton* is the digest of node type, code version, environment and every literal or light value, with holes
where heavy inputs go. The *structural key* fills the holes with the upstream tasks' structural keys, the *content key*
with the digests of the values themselves. The *declared key* (for `disk_cache`) is the structural key with declared
versions only. Positions, titles, colours and the places of files never enter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from graph.blob import digest_of
from graph.canonical import canonical
from graph.spec import NodeSpec
from graph.types import encode

#: Raised whenever the meaning of a key changes: old entries are then never found.
FORMAT = b"latentgraph key 1\0"


def prefix_of(spec: NodeSpec, environment: str) -> bytes:
    """What all executions of a node type share. `environment` counts only for nodes that borrow a model part."""
    place = environment if spec.place == "device" or spec.borrows else ""
    return FORMAT + canonical([spec.id, spec.version, spec.code, place])


def declared_prefix_of(spec: NodeSpec) -> bytes:
    """The same with the declared version only, so that an entry survives upgrades."""
    return FORMAT + canonical([spec.id, spec.version])


def token(value: Any) -> bytes:
    """A literal or light value by content. Any: whatever a light node may give. Raises TypeError for unknown kinds."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return b"p" + canonical(value)
    if isinstance(value, (list, tuple)):
        return b"l" + len(value).to_bytes(4, "big") + b"".join(map(token, value))
    if isinstance(value, dict):  # a file literal: what it holds counts, not what it is called
        return b"f" + canonical({name: item for name, item in value.items() if name != "file"})
    packed = encode(value, key=True)
    if not packed.tensors:
        return b"r" + canonical([packed.type, packed.fields])
    return b"d" + digest_of(packed)


def skeleton_of(prefix: bytes, constants: Iterable[tuple[str, bytes]], holes: Sequence[tuple[str, int | None]]) -> bytes:
    """The digest of everything but the heavy inputs. `constants`: port and token, in signature order.

    `holes` are the heavy inputs' ports in the order in which their keys or digests will follow; in a list port, with
    the position.
    """
    parts = [prefix]
    for name, value in constants:
        parts.append(name.encode())
        parts.append(b"=")
        parts.append(value)
    if holes:
        parts.append(b"\1holes")
        parts.extend(f"{name}\0{position}\0".encode() for name, position in holes)
    return sha256(b"".join(parts)).digest()


def structural_key(skeleton: bytes, upstream: Iterable[tuple[bytes, int]]) -> bytes:
    """The key by how the inputs are made: each (upstream structural key, output index)."""
    return sha256(skeleton + b"s" + b"".join([key + port.to_bytes(2, "big") for key, port in upstream])).digest()


def content_key(skeleton: bytes, digests: Iterable[bytes]) -> bytes:
    """The key by what the inputs are: their digests."""
    return sha256(skeleton + b"c" + b"".join(digests)).digest()
