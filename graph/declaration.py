"""What can be wrong with a node's declaration beyond its annotations, each with its fix. Checked at registration."""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Iterator

from graph.errors import DeclarationError
from graph.spec import MAX_SEED, MISSING, Choice, File, Model, NodeSpec, Port, Range, Seed, Text

_PYTHON = {"int": (int,), "float": (int, float), "text": (str,), "bool": (bool,)}


def refuse_wrong(spec: NodeSpec) -> None:
    """Raise DeclarationError with everything wrong in `spec`, one line each; return if nothing is."""
    found = [f"node {spec.id} ({spec.entry}): {message}" for message in _wrong(spec)]
    if found:
        raise DeclarationError("\n".join(found))


def _wrong(spec: NodeSpec) -> Iterator[str]:
    if not spec.title.strip():
        yield 'title is empty; write what the node is called, title="..."'
    if spec.version < 1:
        yield f"version is {spec.version}; start at 1"
    if spec.devices < 1:
        yield f"devices is {spec.devices}; a node takes at least 1"
    if spec.light and spec.effect:
        yield "it is light and an effect; planning evaluates light nodes, so an effect cannot be one"
    if spec.light and spec.place == "device":
        yield "it is light and runs on a device; planning has no device, so drop light=True or the recipe input"
    if spec.persist and (spec.light or spec.effect):
        yield "persist=True is for heavy nodes without effects; drop it"
    letters = {port.type.name for port in spec.inputs if port.type.is_generic}
    for output in spec.outputs:
        if output.type.is_generic and output.type.name not in letters:
            yield f"output {output.name} is generic and no input has its type letter; use the type it has"
    for port in spec.inputs:
        for message in _wrong_port(port):
            yield f"input {port.name} {message}"
    names = [name for port in spec.inputs for name in (port.name, *port.was)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"the input name {name} is used twice, once as a former name; drop it from Was"


def _wrong_port(port: Port) -> Iterator[str]:
    if keyword.iskeyword(port.name):
        yield "is named by a word of Python; rename it"
    yield from _wrong_hint(port)
    if port.default == MISSING or (port.default is None and port.optional):
        return
    if port.type.is_list or port.type.name not in _PYTHON:
        if port.default is not None and not _is_json(port.default):
            yield f"has the default {port.default!r}, which JSON cannot hold; make it `| None = None` and fill it in the body"
        return
    allowed = _PYTHON[port.type.name]
    if not isinstance(port.default, allowed) or (isinstance(port.default, bool) and bool not in allowed):
        yield f"takes {port.type} and has the default {port.default!r}; write a {port.type}, or `| None = None`"
    elif isinstance(port.default, float) and not math.isfinite(port.default):
        yield f"has the default {port.default!r}; JSON has finite numbers only"
    else:
        yield from _default_outside(port)


def _wrong_hint(port: Port) -> Iterator[str]:
    hint, name = port.hint, port.type.name
    if isinstance(hint, Range) and name not in ("int", "float"):
        yield f"has a Range and takes {port.type}; a Range is for int and float"
    if isinstance(hint, Range) and not hint.low <= hint.high:
        yield f"has the Range {hint.low} to {hint.high}; the low end comes first"
    if isinstance(hint, Range) and hint.step is not None and hint.step <= 0:
        yield f"has a Range with step {hint.step}; it must be above 0"
    if isinstance(hint, Choice) and not hint.options:
        yield "has a Choice of nothing; name the options"
    if isinstance(hint, Seed) and name != "int":
        yield f"has a Seed and takes {port.type}; a Seed is an int"
    if isinstance(hint, (Choice, Text, Model)) and name != "text":
        yield f"has a {type(hint).__name__} and takes {port.type}; it is for str"


def _default_outside(port: Port) -> Iterator[str]:
    hint, default = port.hint, port.default
    if isinstance(hint, Range) and not hint.low <= default <= hint.high:
        yield f"has the default {default}, outside its Range of {hint.low} to {hint.high}; change one of them"
    if isinstance(hint, Choice) and default not in hint.options:
        yield f'has the default "{default}", which is none of {", ".join(hint.options)}; change one of them'
    if isinstance(hint, Seed) and not 0 <= default <= MAX_SEED:
        yield f"has the default {default}; a Seed is 0 to {MAX_SEED}"
    if isinstance(hint, File):
        yield "is a File and has a default; a file is given by the workflow, so leave the default out or make it `| None = None`"


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
