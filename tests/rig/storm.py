"""Kills processes of a server at random moments while jobs run, and checks what must hold afterwards."""

from __future__ import annotations

import io
import os
import random
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal

from tests.rig.serving import Server, children_of, command_of, until

Target = Literal["server", "engine", "worker"]
FINAL = ("done", "failed", "cancelled")


class Storm:
    """Kills, and what clients saw meanwhile. Everything random comes from one seed, which a failure prints."""

    def __init__(self, server: Server, jobs: Sequence[str], seed: int) -> None:
        self.server, self.jobs, self.seed = server, list(jobs), seed
        self.random = random.Random(seed)
        self.killed: dict[str, int] = {}
        #: The final records that a client was told; they may never change again.
        self.told: dict[str, Mapping[str, Any]] = {}

    def kill(self, target: Target, most_seconds: float) -> None:
        """Wait a random time, then kill -9. A server is started again; engine and workers must come back by themselves."""
        self._let_tries_pass(target)
        until(self._is_at_work, f"a node to run (seed {self.seed})")
        threading.Event().wait(self.random.uniform(0.02, most_seconds))
        self.look()
        if target == "server":
            self.server.kill()
            self.server.start()
        else:
            name = "server.engine.process" if target == "engine" else "graph.worker"
            found = [pid for pid in children_of(self.server.pid) if name in command_of(pid)]
            if found:
                with suppress(ProcessLookupError):
                    os.kill(self.random.choice(found), signal.SIGKILL)
        self.killed[target] = self.killed.get(target, 0) + 1

    def _let_tries_pass(self, target: Target) -> None:
        """A third death in a row under one job would fail it, as it should: wait until its count is back."""
        if target == "worker":
            until(lambda: all(self.server.job(id)["tries"] < 2 for id in self.jobs), "no job to be at its last try", 180)

    def _is_at_work(self) -> bool:
        """Whether a node runs, or nothing is left to run."""
        jobs = [self.server.job(id) for id in self.jobs if id not in self.told]
        return all(job["state"] in FINAL for job in jobs) or any(job["counts"].get("running") for job in jobs)

    def look(self) -> bool:
        """Read every job; whether all have ended. What was final must be unchanged."""
        for id in self.jobs:
            job = self.server.job(id)
            if id in self.told:
                assert job == self.told[id], f"job {id} changed after its end (seed {self.seed})"
            elif job["state"] in FINAL:
                self.told[id] = job
        return len(self.told) == len(self.jobs)

    def end(self, patience_s: float) -> None:
        """Wait until every job has ended, and check that all are done."""
        until(self.look, f"all jobs to end after {self.killed} (seed {self.seed})", patience_s)
        wrong = {id: (job["state"], job.get("problem")) for id, job in self.told.items() if job["state"] != "done"}
        assert not wrong, f"after {self.killed} (seed {self.seed}): {wrong}"


def pictures(server: Server) -> dict[str, str]:
    """The published pictures by the job that made them: a digest of their pixels. One picture a job, each whole."""
    from PIL import Image

    found: dict[str, str] = {}
    cursor = "?limit=200"
    while cursor:
        page = server.get(f"/v1/outputs{cursor}").json
        for output in page["outputs"]:
            file = server.get(f"/v1/outputs/{output['id']}/file")
            assert file.status == 200
            with Image.open(io.BytesIO(file.body), formats=("PNG",)) as picture:
                picture.load()
                digest = sha256(repr(picture.size).encode() + picture.convert("RGB").tobytes()).hexdigest()
            assert output["job"] not in found, f"job {output['job']} published twice"
            found[output["job"]] = digest
        cursor = f"?limit=200&cursor={page['next']}" if page.get("next") else ""
    return found
