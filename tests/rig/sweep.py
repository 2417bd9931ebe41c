"""Lives of one server, each killed at the N-th system call of one name, one after the other on the same data folder.

So each life is the recovery of the one before. Only the server process itself is counted: what it starts is let go of
by strace when it becomes another program.
"""

from __future__ import annotations

import signal
from hashlib import sha256
from http.client import HTTPException
from typing import Any

from nodes.image import to_pictures
from tests.rig.fake_nodes import paint
from tests.rig.serving import Server, n, until, workflow
from tests.rig.storm import FINAL, Storm, pictures

JOBS_PER_LIFE = 2


def small_painting(value: float) -> dict[str, Any]:
    """A step, a picture of one colour and its publication: none needs torch."""
    return workflow(
        {"file": "save.file"},
        a=n("fake/step", value=value),
        picture=n("fake/paint", value="@a.value"),
        save=n("save_image", image="@picture.image"),
    )


def colour(value: float) -> str:
    """What `pictures` says of the picture that `small_painting` publishes."""
    (picture,) = to_pictures(paint(value=value + 1.0))
    return sha256(repr(picture.size).encode() + picture.convert("RGB").tobytes()).hexdigest()


class Sweep:
    """What was asked for by key, and what was answered."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.asked: list[str] = []
        self.answered: dict[str, str] = {}
        self.told: dict[str, dict[str, Any]] = {}
        self.kills = 0

    def live(self, name: str, number: int) -> bool:
        """A life that is killed at this call; whether there was none such."""
        self.server.under = [
            "strace", "-D", "-f", "--seccomp-bpf", "--detach-on=execve", "-o", "/dev/null",
            "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={number}",
        ]  # fmt: skip
        try:
            self.server.start()
            self._ask()
            until(self._all_ended, f"the jobs to end, or the server ({name} {number})")
            code = self.server.stop()
        except (OSError, HTTPException, ValueError):  # cut off in an answer
            code = self._code()
        except AssertionError:
            code = self._code()
            if code == 0:
                raise
        assert code in (0, -signal.SIGKILL), (
            f"killed at {name} {number}, the server ended with {code}: {self.server.log()[-3000:]}"
        )
        self.kills += code != 0
        return code == 0

    def _code(self) -> int:
        assert self.server.process is not None
        return until(lambda: (self.server.process.poll(),) if self.server.process.poll() is not None else None, "its end")[0]  # type: ignore[union-attr, no-any-return]

    def _ask(self) -> None:
        """Two new jobs, and those again whose answer was cut off."""
        self.asked += [str(len(self.asked) + at) for at in range(JOBS_PER_LIFE)]
        for key in [key for key in self.asked if key not in self.answered]:
            accepted = self.server.submit(small_painting(float(key)), {"Idempotency-Key": key})
            self.answered[key] = accepted["id"]

    def _all_ended(self) -> bool:
        assert self.server.process is not None
        if self.server.process.poll() is not None:
            raise ConnectionError
        for id in [id for id in self.answered.values() if id not in self.told]:
            job = self.server.job(id)
            if job["state"] in FINAL:
                self.told[id] = job
        return len(self.told) == len(self.answered)

    def check(self) -> None:
        """An undisturbed life: every job that was asked for is there once, done, unchanged, its picture whole and as it should be."""
        self.server.under = []
        self.server.start().ready()
        for key in self.asked:
            accepted = self.server.submit(small_painting(float(key)), {"Idempotency-Key": key})
            assert self.answered.setdefault(key, accepted["id"]) == accepted["id"]
        storm = Storm(self.server, list(self.answered.values()), 0)
        storm.told.update(self.told)
        storm.end(300)
        found = pictures(self.server)
        assert found == {id: colour(float(key)) for key, id in self.answered.items()}
        ids, cursor = [], ""
        while cursor is not None:
            page = self.server.get(f"/v1/jobs?limit=200{cursor}").json
            ids += [job["id"] for job in page["jobs"]]
            cursor = f"&cursor={page['next']}" if page["next"] is not None else None
        assert sorted(ids) == sorted(self.answered.values())
        outputs = self.server.home / "outputs"
        assert [path.name for path in outputs.iterdir() if path.name.startswith(".") and path.is_file()] == []
