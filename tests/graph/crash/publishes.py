"""A child that publishes two files of a job, as a node does: `python -m tests.graph.crash.publishes FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graph.context import Context
from graph.publish import origin_of, output_name, publish

CONTENT = b"pixels" * 50_000


class InJob(Context):
    """A node's surroundings in a job."""

    node_id = "save"

    @property
    def resolved(self) -> Mapping[str, Any]:
        return {"job": "01job"}


def main(folder: Path) -> None:
    """Publish, then say so."""
    folder.stat()  # where the sweep begins to count
    for index in range(2):
        ctx = InJob()
        publish(folder, output_name(ctx, "image", index), ".png", CONTENT, {"bytes": len(CONTENT), **origin_of(ctx, index)})
    print("published", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
