"""What a port of a job's node held, for looking: found by its digest in the memo's store, never computed and never published.

The memo's files are opened for reading only and belong to the engine: a value may be gone at any moment, which is no error.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from graph.blob import Damaged, read_image
from graph.store import SUFFIXES
from graph.table import content_of_row
from graph.types import PLAIN_NAMES
from server.jobs.record import Job
from server.library.confine import Root
from server.library.pictures import Pictures
from server.problems import Refusal

#: Values up to some kilobytes lie in the memo's table, the others in files.
_TABLE: Final = "cache.db"
_BUSY_SECONDS: Final = 5.0
_GONE: Final = "Run the job again with this node as its target; what is remembered of it is not computed twice."

Answer = dict[str, Any]  # Any: plain JSON, and the bytes of a picture


class Values:
    """Looks into the values of jobs. Methods are called on the event loop and raise Refusal."""

    def __init__(self, home: Path, pictures: Pictures) -> None:
        self._home, self._pictures = home, pictures

    async def look(self, digest: bytes, index: int, form: Literal["png", "webp", "facts"]) -> Answer:
        """What the value looks like: {"image": bytes, "width", "height", "count"} for pictures, of which number `index` is
        drawn, else {"type", ...} (see `value_pictures.described`). Raises Refusal `not_found` if it is not kept any more."""
        small = await asyncio.to_thread(self._small, digest)
        answer = small if small is not None else await self._large(digest, index, form)
        if "outside" in answer:
            raise Refusal(
                "not_found", f"The value holds {answer['outside']} pictures, counted from 0; there is no number {index}."
            )
        return answer

    def _small(self, digest: bytes) -> Answer | None:
        """A plain value from the memo's table."""
        path = self._home / "memo" / _TABLE
        try:
            connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
        except sqlite3.Error:
            return None
        try:
            row = connection.execute("SELECT value FROM Cache WHERE raw = 1 AND key = ?", (b"v" + digest,)).fetchone()
        except sqlite3.Error:
            return None
        finally:
            connection.close()
        content = None if row is None else content_of_row(b"v" + digest, row[0])
        if content is None:
            return None
        from server.library.value_pictures import described  # plain values need nothing heavy of it

        try:
            return described(read_image(memoryview(content)).packed)
        except Damaged:
            return None

    async def _large(self, digest: bytes, index: int, form: str) -> Answer:
        file = self._open(digest.hex())
        if file is None:
            raise _gone()
        try:
            answer = await self._pictures.ask("value", file, digest=digest, index=index, picture=form)
        finally:
            os.close(file)
        if "lost" in answer:
            raise _gone()
        return answer

    def _open(self, name: str) -> int | None:
        if not (self._home / "memo").is_dir():
            return None  # nothing was kept yet; the folder is the engine's to make
        root = Root(self._home / "memo")
        try:
            for suffix in SUFFIXES:
                try:
                    return root.open(f"objects/{name[:2]}/{name}{suffix}").file
                except FileNotFoundError:
                    continue
            return None
        finally:
            root.close()


def find_port(job: Job, node: str, element: int | None, outputs: Mapping[str, tuple[str, ...]], port: str) -> bytes | Answer:
    """What `node.port` gave in a job that has ended: the value itself, as `Values.look` tells it, if the job's result holds
    it, else its digest. `outputs` are the output names of each node type.

    Raises Refusal `not_found` for a node or port that is not there or gave nothing, `conflict` while the job has not ended.
    """
    if job.result is None:
        raise Refusal("conflict", f"The job is {job.state}; its values can be looked at when it has ended.")
    rows = [row for row in job.result.nodes if row.get("id") == node]
    if not rows:
        raise Refusal("not_found", f"The job has no node {node}, or it was not wanted. GET /v1/jobs/{job.id} lists its nodes.")
    row = next((row for row in rows if row.get("element") == element), None)
    if row is None and element is not None and rows[0].get("element") is None:
        answer = _of_list(rows[0], port, element)  # evaluated while planning, all elements together
        if answer is not None:
            return answer
    if row is None:
        elements = [row["element"] for row in rows if row.get("element") is not None]
        known = f"it ran for elements {min(elements)} to {max(elements)}" if elements else "it ran once, without elements"
        raise Refusal("not_found", f"{node} has no such element: {known}. Set `element` accordingly.")
    names = outputs.get(str(row.get("type")), ())
    if port not in names:
        raise Refusal("not_found", f"{node} has no output {port}. It has: {', '.join(names) or 'none'}.")
    if port in row.get("values", {}):
        return _told(row["values"][port])
    digests = row.get("outputs") or ()
    if row.get("state") not in ("done", "cached") or len(digests) <= names.index(port):
        raise _not_looked_up(node, str(row.get("state")))
    return bytes.fromhex(digests[names.index(port)])


def _of_list(row: Mapping[str, Any], port: str, element: int) -> Answer | None:
    value = row.get("values", {}).get(port)
    return _told(value[element]) if isinstance(value, list) and element < len(value) else None


def _told(value: Any) -> Answer:  # Any: plain JSON
    """A value of a job's result in the form of `value_pictures.described`, which a record has already."""
    if isinstance(value, dict):
        return value
    return {"type": PLAIN_NAMES.get(type(value), "list"), "value": value, "is_cut": False}


def _not_looked_up(node: str, state: str) -> Refusal:
    if state in ("done", "cached"):
        return Refusal("not_found", f"What {node} gave was not looked at in this job. {_GONE}")
    return Refusal("not_found", f"{node} was {state} in this job and gave nothing.")


def _gone() -> Refusal:
    return Refusal("not_found", f"The value is not kept: it took no time to make, or it made room for others. {_GONE}")
