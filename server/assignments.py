"""`--set name=value`: named inputs of a workflow from the command line, parsed by the type of the port they go to."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from graph.document import Document, Node
from graph.errors import Problem, WorkflowError, nearest
from graph.spec import File, NodeSpec, Port, Seed
from nodes.written import real_number, whole_number


class PickedFile(NamedTuple):
    """A file of the user that a value names: it is copied into the data folder once the workflow is found valid."""

    path: Path
    sha256: str


class Assigned(NamedTuple):
    """The document with the values set, and the files that they name."""

    document: Document
    files: tuple[PickedFile, ...]


def assign(document: Document, specs: Mapping[str, NodeSpec], assignments: Iterable[str]) -> Assigned:
    """Set named inputs from texts of the form name=value.

    Raises WorkflowError with every problem: a text without "=", an unknown name, a value that its port's type does
    not read, a file that is not there. Whether a value is in range is validation's business.
    """
    values: dict[str, Any] = {}  # Any: a JSON literal of the port's type
    files: list[PickedFile] = []
    problems: list[Problem] = []
    for text in assignments:
        name, found, value = text.partition("=")
        name = name.strip()
        if not found:
            problems.append(Problem("bad_assignment", f'--set got "{text}"; write --set name=value.'))
        elif name not in document.inputs:
            problems.append(_unknown(name, document))
        elif name in values:
            problems.append(Problem("bad_assignment", f"--set gives {name} twice; give it once.", port=name))
        else:
            try:
                values[name] = parse(value, _port_of(document, specs, name), files)
            except ValueError as error:
                problems.append(Problem("bad_value", f"--set {name}: {error}", port=name))
    if problems:
        raise WorkflowError(problems)
    return Assigned(document.with_inputs(values), tuple(files))


def _unknown(name: str, document: Document) -> Problem:
    known = nearest(name, document.inputs) or " The workflow has no named inputs; add one under `inputs`."
    return Problem("unknown_input", f'--set {name}: the workflow has no named input "{name}".{known}', port=name)


def parse(text: str, port: Port | None, files: list[PickedFile]) -> Any:  # Any: a JSON literal of the port's type
    """The literal that `text` means for `port`; a port that is not known takes JSON, or else the text as it is.

    Raises ValueError, with what was found and what to write, if the port's type cannot be read from it. A File port
    takes a path: the file is read here and appended to `files`.
    """
    if port is None:
        return _json_or_text(text)
    if port.optional and text == "null":
        return None
    if isinstance(port.hint, File):
        return _file(text, files)
    if isinstance(port.hint, Seed) and text == "random":
        return {"random": True}
    if port.type.is_list:
        return _list(text, port)
    return _READERS.get(port.type.name, _json_or_text)(text)


def _int(text: str) -> int:
    try:
        return whole_number(text)
    except ValueError:
        raise ValueError(f'"{text}" is no whole number; write digits, like 30.') from None


def _float(text: str) -> float:
    try:
        number = real_number(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f'"{text}" is no number; write one like 3.5.')
    return number


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f'"{text}" is neither true nor false; write one of the two.')
    return text == "true"


def _list(text: str, port: Port) -> list[Any]:  # Any: JSON
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list):
        raise ValueError(f'"{text}" is no JSON list; it takes {port.type}. Write it like \'["a", "b"]\'.')
    return value


def _json_or_text(text: str) -> Any:  # Any: JSON
    try:
        return json.loads(text)
    except ValueError:
        return text


_READERS: Final[dict[str, Callable[[str], Any]]] = {"int": _int, "float": _float, "bool": _bool, "text": str}  # Any: JSON


def _file(text: str, files: list[PickedFile]) -> dict[str, str]:
    path = Path(text).expanduser()
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ValueError(f"{text} cannot be read ({error.strerror}); give the path of a file.") from None
    files.append(PickedFile(path, digest))
    return {"file": path.name, "sha256": digest}


def _port_of(document: Document, specs: Mapping[str, NodeSpec], name: str) -> Port | None:
    """The first port that a named input reaches whose node type is known; through subgraphs."""
    return next(_ports(document, specs, document.nodes, document.inputs[name].to, len(document.subgraphs)), None)


def _ports(
    document: Document, specs: Mapping[str, NodeSpec], nodes: Mapping[str, Node], targets: Iterable[str], deeper: int
) -> Iterator[Port]:
    """`deeper` is how many subgraphs may still be entered: one inside itself is refused later, by validation."""
    for target in targets:
        node_id, _, port_name = target.partition(".")
        node = nodes.get(node_id)
        if node is None:
            continue
        subgraph = document.subgraphs.get(node.type[1:]) if node.type.startswith("#") else None
        if subgraph is not None and port_name in subgraph.inputs and deeper:
            yield from _ports(document, specs, subgraph.nodes, subgraph.inputs[port_name].to, deeper - 1)
        elif node.type in specs:
            port = specs[node.type].port(port_name)
            if port is not None:
                yield port
