"""kill -9 of the server process at its system calls, one name at a time: what was answered is there, and ends once (R-C02)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from tests.rig.serving import Server
from tests.rig.sweep import Sweep
from tests.server.whole.conftest import MakeServer

pytestmark = [pytest.mark.spec("R-C02", "R-C07"), pytest.mark.tool("strace")]

#: Calls by which something becomes durable or known: every one of a life (strace counts each thread by itself; in one life
#: some 90 pwrite64, 10 fdatasync, a few of the others).
EVERY = ("pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "unlink", "mkdir", "write")
#: Of answers and wake-ups (some 220), and of opening files (550, nearly all while starting), these.
PARTS = {"sendto": 7, "openat": 25}
#: In the middle of a commit, between a commit and its answer, while starting.
SOME = (("pwrite64", 25), ("fdatasync", 3), ("openat", 300))


def swept(server: Server, points: Iterable[tuple[str, int]]) -> Sweep:
    sweep = Sweep(server)
    try:
        for name, number in points:
            if sweep.live(name, number):
                break
        sweep.check()
    finally:
        server.stop()
    return sweep


@pytest.mark.slow
@pytest.mark.proves(1)
def test_killed_at_some_of_its_system_calls_the_server_keeps_what_it_answered(make_server: MakeServer) -> None:
    assert swept(make_server(), SOME).kills == len(SOME)


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_killed_at_each_of_its_system_calls_the_server_keeps_what_it_answered(make_server: MakeServer, name: str) -> None:
    swept(make_server(), ((name, number) for number in itertools.count(1)))


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
def test_killed_at_many_of_its_system_calls_the_server_keeps_what_it_answered(make_server: MakeServer, name: str) -> None:
    swept(make_server(), ((name, number) for number in itertools.count(1, PARTS[name])))
