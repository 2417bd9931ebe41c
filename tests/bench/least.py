"""The least that an HTTP server in Python does to accept something durably: what `tests.bench.server` sets our server beside.

`python -m tests.bench.least DATABASE` prints its port. A POST's body is read as JSON and committed as one row (WAL,
synchronous=FULL), nothing is checked, and two bytes are answered; a GET is answered at once.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from itertools import count

from aiohttp import web


def opened(path: str) -> sqlite3.Connection:
    """A database that takes bare commits."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE jobs (id TEXT PRIMARY KEY, document BLOB)")
    return database


def commit(database: sqlite3.Connection, number: int, document: bytes) -> None:
    """A bare commit of one row of a job's size."""
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO jobs VALUES (?, ?)", (str(number), document))
    database.execute("COMMIT")


async def serve(path: str) -> None:
    """Serve until killed."""
    database, numbers = opened(path), count()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return web.Response(body=b"{}", content_type="application/json")
        body = await request.read()
        json.loads(body)
        commit(database, next(numbers), body)
        return web.Response(status=202, body=b"{}", content_type="application/json")

    server = await asyncio.get_running_loop().create_server(web.Server(handle), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
