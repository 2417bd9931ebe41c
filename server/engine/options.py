"""How an engine process is set up: what the server decides once and hands over as one JSON argument.

No request can reach any of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

#: A node that runs for longer is cancelled, and its worker killed if it does not stop.
TIME_LIMIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where the engine keeps its data, what it computes on, and its bounds."""

    home: Path
    output_folder: Path
    devices: tuple[str, ...] = ("cpu",)
    #: Whether installed node packs count.
    packs: bool = True
    #: "module:function" of what gives the node types instead of the built-in ones, for tests; see `server.engine.equipment`.
    library: str = ""
    host_workers: int = 2
    #: Byte budgets: see `graph.engine.Limits`; None: its defaults.
    memo_bytes: int | None = None
    ram_bytes: int | None = None
    disk_cache_bytes: int | None = None
    device_bytes: int | None = None
    #: How long a node may run: by node type, and all others.
    time_limits_s: Mapping[str, float] = field(default_factory=dict)
    time_limit_s: float = TIME_LIMIT_S
    #: How long a cancelled node may go on before its worker is killed.
    cancel_grace_s: float = 10.0
    #: How long a worker may be silent before it is killed.
    worker_silent_s: float = 30.0
    #: How long one plan may take. What packs do in it has limits of its own (`graph.lights`); this is for what nothing
    #: can interrupt, a disk that does not answer: the engine ends, and the job is charged a try.
    plan_limit_s: float = 600.0

    @property
    def spool(self) -> Path:
        """Where engines keep values on their way, and the notes of their child processes."""
        return self.home / "spool"

    @property
    def ledger(self) -> Path:
        """Where is noted which jobs' nodes are being called."""
        return self.home / "tries"

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps({**asdict(self), "home": str(self.home), "output_folder": str(self.output_folder)})

    @classmethod
    def from_json(cls, text: str) -> EngineOptions:
        """What `to_json` gave."""
        found = json.loads(text)
        found |= {name: Path(found[name]) for name in ("home", "output_folder")} | {"devices": tuple(found["devices"])}
        return cls(**found)
