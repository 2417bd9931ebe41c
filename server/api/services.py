"""What handlers work with: one object per part of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server.api.binding import Binding
    from server.api.guard import Guesses
    from server.api.route import Route
    from server.api.session import Keys
    from server.configuration import Settings, Source
    from server.health import Health
    from server.metrics import Metrics


@dataclass(slots=True)
class Services:
    """The parts of a running server. Any: the parts that are not assembled yet."""

    settings: Settings
    keys: Keys
    metrics: Metrics
    health: Health
    guesses: Guesses
    bindings: Mapping[Route, Binding]
    desk: Any = None
    hub: Any = None
    engine: Any = None
    catalogue: Any = None
    workflows: Any = None
    drafts: Any = None
    preferences: Any = None
    models: Any = None
    files: Any = None
    outputs: Any = None
    pictures: Any = None
    values: Any = None
    webhooks: Any = None
    #: Where each setting comes from.
    sources: tuple[Source, ...] = ()
    #: Documents of the interface that were made already, by what makes them.
    documents: dict[object, bytes] = field(default_factory=dict)
