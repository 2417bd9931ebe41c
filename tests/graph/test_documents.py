"""The frozen documents of every version: read to what they ran then, written again as they are, or refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph.document import read_document, write_document
from graph.errors import WorkflowError

FOLDER = Path(__file__).parent / "documents"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("[0-9]*/*.json"))
DIGESTS = json.loads((FOLDER / "digests.json").read_text(encoding="utf-8"))


def test_every_document_has_its_digest_and_every_digest_its_document() -> None:
    assert sorted(DIGESTS) == FILES
    assert len(FILES) >= 7


@pytest.mark.spec("R-I07")
@pytest.mark.parametrize("name", FILES)
def test_a_document_of_any_version_reads_to_what_it_ran_then(name: str) -> None:
    assert read_document((FOLDER / name).read_bytes()).digest.hex() == DIGESTS[name]


@pytest.mark.spec("R-I06", "R-I07")
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("1.")])
def test_a_document_of_this_major_version_is_written_byte_for_byte(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert write_document(read_document(text)) == text


@pytest.mark.spec("R-I07")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("too_new", "The workflow has version 2.0; this program reads up to 1.x. Update Latentgraph to open it."),
        ("too_old", "The workflow has version 0.9, which no release wrote. Save it as 1.0."),
        (
            "of_another_program",
            "This is a workflow of ComfyUI, whose format is not read here. Build it anew from Latentgraph's nodes.",
        ),
        ("without_a_version", '`version` is null; it reads "major.minor". Set it to "1.0".'),
    ],
)
def test_what_cannot_be_read_says_why(name: str, message: str) -> None:
    with pytest.raises(WorkflowError) as refusal:
        read_document((FOLDER / "refused" / f"{name}.json").read_bytes())
    assert str(refusal.value) == message
