"""`latentgraph nodes`: node types as people read them."""

from __future__ import annotations

from collections.abc import Iterable

from graph.spec import MISSING, Choice, File, Model, NodeSpec, Port, Range, Seed, Text
from server.text import columns


def node_list(specs: Iterable[NodeSpec]) -> str:
    """One line per node type: id, title, what goes in and comes out."""
    rows = [
        (spec.id, spec.title, f"{_types(port.type for port in spec.inputs)} -> {_types(out.type for out in spec.outputs)}")
        for spec in specs
    ]
    return columns([("TYPE", "TITLE", "INPUTS -> OUTPUTS"), *rows])


def node_page(spec: NodeSpec) -> str:
    """Everything about one node type: doc, inputs with range and default, outputs, where it runs."""
    marks = [spec.place, *(name for name in ("light", "effect", "persist") if getattr(spec, name))]
    lines = [f"{spec.id}  {spec.title}, version {spec.version} ({', '.join(marks)})"]
    if spec.doc:
        lines += ["", spec.doc]
    lines += ["", "Inputs:", _indented(columns([_input_row(port) for port in spec.inputs]) or "none")]
    outputs = columns([(output.name, str(output.type), output.doc) for output in spec.outputs])
    return "\n".join([*lines, "", "Outputs:", _indented(outputs or "none")])


def _types(refs: Iterable[object]) -> str:
    return ", ".join(map(str, refs)) or "nothing"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _input_row(port: Port) -> tuple[str, str, str, str]:
    return port.name, str(port.type), _default(port), " ".join(filter(None, (_hint(port), port.doc)))


def _default(port: Port) -> str:
    if port.default != MISSING:
        return f"= {port.default!r}"
    return "optional" if port.optional else "required"


def _hint(port: Port) -> str:
    match port.hint:
        case Range(low=low, high=high, step=step, strict=strict):
            return f"{low:g} to {high:g}{f' in steps of {step:g}' if strict and step else ''}."
        case Choice(options=options):
            return f"One of {', '.join(options)}."
        case Seed():
            return "A seed, or random."
        case File(kinds=kinds):
            return f"A file of kind {' or '.join(kinds)}." if kinds else "A file."
        case Model(kind=kind):
            return f"The name of a model ({kind})."
        case Text() | None:
            return ""
