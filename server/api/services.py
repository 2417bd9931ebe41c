"""What handlers work with: one object per part of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.api.binding import Binding
    from server.api.guard import Guesses
    from server.api.route import Route
    from server.api.session import Keys
    from server.configuration import Settings, Source
    from server.engine.link import EngineLink
    from server.health import Health
    from server.jobs.desk import Desk
    from server.jobs.hub import Hub
    from server.jobs.webhooks import Webhooks
    from server.library.drafts import Drafts
    from server.library.gallery import Gallery
    from server.library.model_folders import ModelFolders
    from server.library.node_types import NodeTypes
    from server.library.pictures import Pictures
    from server.library.preferences import Preferences
    from server.library.uploads import Uploads
    from server.library.values import Values
    from server.library.workflows import Workflows
    from server.metrics import Metrics


@dataclass(slots=True)
class Services:
    """The parts of a running server; `server.assembly` sets those that need each other one after the other."""

    settings: Settings
    keys: Keys
    metrics: Metrics
    health: Health
    guesses: Guesses
    bindings: Mapping[Route, Binding]
    desk: Desk = field(init=False)
    hub: Hub = field(init=False)
    engine: EngineLink = field(init=False)
    catalogue: NodeTypes = field(init=False)
    workflows: Workflows = field(init=False)
    drafts: Drafts = field(init=False)
    preferences: Preferences = field(init=False)
    models: ModelFolders = field(init=False)
    files: Uploads = field(init=False)
    outputs: Gallery = field(init=False)
    pictures: Pictures = field(init=False)
    values: Values = field(init=False)
    webhooks: Webhooks = field(init=False)
    #: Where each setting comes from.
    sources: tuple[Source, ...] = ()
    #: Documents of the interface that were made already, by what makes them.
    documents: dict[object, bytes] = field(default_factory=dict)
