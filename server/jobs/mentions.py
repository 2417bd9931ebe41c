"""Whether a workflow names something at its inputs: as a text, in a list, or among the words and lines of a text.

It knows no node types, so it rather finds one too many than one too few. A name that nodes put together is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from graph.document import Document, read_document


class Mention:
    """A name of letters, digits and "._/-" that is looked for as a whole: "mini" is neither in "mini-2" nor in "maker/mini"."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._whole = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", re.ASCII)

    def is_in(self, document: Document) -> bool:
        """Whether the document names it. Takes time by the length of its texts."""
        return any(self.name in text and self._whole.search(text) is not None for text in _texts_in(document))

    def is_in_text(self, text: bytes) -> bool:
        """The same of a document as it is kept."""
        return self.name.encode() in text and self.is_in(read_document(text))


def _texts_in(document: Document) -> Iterator[str]:
    """Every text at an input, those in lists and of subgraphs too; links are none."""
    for nodes in (document.nodes, *(subgraph.nodes for subgraph in document.subgraphs.values())):
        for node in nodes.values():
            for value in node.inputs.values():
                if type(value) is not dict or "link" not in value:
                    yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:  # Any: plain JSON
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) is str:
            yield one
        elif type(one) is list:
            stack.extend(one)
        elif type(one) is dict:
            stack.extend(one.values())
