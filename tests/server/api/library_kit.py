"""A front with the library's routes over a data folder with the catalogue in it, and stand-ins for desk and engine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server.library.drafts import Drafts
from server.library.model_folders import ModelFolders
from server.library.node_types import NodeTypes
from server.library.preferences import Preferences
from server.library.uploads import Uploads
from server.library.workflows import SHIPPED, Workflows
from server.problems import Refusal
from tests.server.api.kit import Served, served


class Engine:
    """An engine that answers what a test gives it, and notes what it was asked."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.answers, self.asked = answers or {}, []
        self.state = "ready" if answers is not None else "waiting"
        self.hello: Any = None
        self.status: Any = None

    async def ask(self, question: str, *, timeout_s: float = 30, **arguments: Any) -> dict[str, Any]:
        self.asked.append((question, arguments))
        answer = self.answers.get(question)
        if answer is None:
            raise Refusal("engine_unavailable", "The engine is not running.", retry_after_s=2)
        if isinstance(answer, Refusal):
            raise answer
        found: dict[str, Any] = answer
        return found


class Desk:
    """A desk where a job names each of these models."""

    def __init__(self, jobs: dict[str, str] | None = None) -> None:
        self.jobs, self.leaves = jobs or {}, list[str]()

    @asynccontextmanager
    async def leaving(self, model: str) -> AsyncIterator[str | None]:
        self.leaves.append(model)
        yield self.jobs.get(model)
        self.leaves.remove(model)


@asynccontextmanager
async def library(
    home: Path, *, engine: Engine | None = None, desk: Desk | None = None, load: bool = True, **settings: Any
) -> AsyncIterator[Served]:
    async with served(home, whole=True, **settings) as server:
        services = server.services
        services.catalogue = NodeTypes(home)
        if load:
            assert await services.catalogue.load()
        services.workflows = Workflows(home, services.catalogue, templates=SHIPPED)
        services.drafts, services.preferences = Drafts(home), Preferences(home)
        services.models, services.engine, services.desk = ModelFolders(home), engine or Engine(), desk or Desk()
        services.files = Uploads(home)
        try:
            yield server
        finally:
            await services.files.close()


Ask = Callable[..., Any]


async def ask(server: Served, method: str, path: str, body: Any = None, text: str | None = None, **headers: str) -> Any:
    """Status, headers, body; `body` is sent as JSON, `text` as it is. Header names with _ for -."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()} | server.bearer
    if body is not None or text is not None:
        sent["Content-Type"] = "application/json"
        return await server.ask(method, path, data=text if text is not None else json.dumps(body), headers=sent)
    return await server.ask(method, path, headers=sent)
